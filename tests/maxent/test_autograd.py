"""The bridge to PyTorch: equal to the maps it wraps, with gradients that differences confirm."""

import math

import numpy as np
import pytest

from theory import maxent
from theory.evidence import stream

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")
from theory.maxent import autograd  # noqa: E402  it imports PyTorch

MAPS = {
    "softmax": (autograd.softmax, maxent.softmax, {"tau": 0.7}),
    "sparsemax": (autograd.sparsemax, maxent.sparsemax, {"tau": 1.3}),
    "entmax15": (autograd.entmax15, maxent.entmax15, {}),
    "fusedmax": (autograd.fusedmax, maxent.fusedmax, {"strength": 0.2, "alpha": 1.5}),
    "entmax": (autograd.entmax, maxent.entmax, {"alpha": 1.3, "tau": 0.5}),
}


def scores(name, shape=(3, 4, 5)):
    return torch.from_numpy(stream(f"tests.autograd.{name}", 0).normal(size=shape)).requires_grad_()


@pytest.mark.parametrize("dim", [-1, 1])
@pytest.mark.parametrize("name", MAPS)
def test_law_and_gradient(name, dim):
    mapped, plain, options = MAPS[name]
    s = scores(name)
    law = mapped(s, dim=dim, **options)
    assert np.array_equal(law.detach().numpy(), plain(s.detach().numpy(), axis=dim, **options))
    assert torch.autograd.gradcheck(lambda x: mapped(x, dim=dim, **options), (s,))


def test_the_order_learns():
    s = scores("order")
    alpha = torch.tensor([[1.2], [1.0], [1.7]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(autograd.entmax, (s, alpha))
    one = torch.tensor(1.4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(autograd.entmax, (s, one))
    autograd.entmax(s, one).square().sum().backward()
    assert one.grad.shape == ()
    with pytest.raises(ValueError, match=r"^alpha: expected a shape that adds no axes to the rows"):
        autograd.entmax(s, torch.ones(2, 1, 1, 1, dtype=torch.float64))


def test_against_what_pytorch_has():
    s = scores("torch", (6, 9))
    ours, theirs = autograd.softmax(s), torch.softmax(s, dim=-1)
    assert torch.allclose(ours, theirs, rtol=1e-13, atol=1e-15)
    label = torch.arange(6)
    target = torch.nn.functional.one_hot(label, 9).double()
    mine = autograd.fenchel_young_loss(s, target, 1.0)
    reference = torch.nn.functional.cross_entropy(s, label, reduction="none")
    assert torch.allclose(mine, reference, rtol=1e-12, atol=1e-14)
    slopes = [torch.autograd.grad(loss.sum(), s, retain_graph=True)[0] for loss in (mine, reference)]
    assert torch.allclose(*slopes, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_loss(alpha):
    s = scores("loss", (4, 6))
    target = torch.from_numpy(stream("tests.autograd.target", 0).dirichlet(np.ones(6), size=4))
    assert torch.autograd.gradcheck(lambda x: autograd.fenchel_young_loss(x, target, alpha, tau=0.8), (s,))
    with pytest.raises(ValueError, match=r"^target: expected a tensor that requires no gradient"):
        autograd.fenchel_young_loss(s, target.requires_grad_(), alpha)


def test_masks_precision_and_second_derivatives():
    s = torch.tensor([[0.5, -math.inf, 0.25], [-math.inf] * 3], dtype=torch.float32, requires_grad=True)
    law = autograd.sparsemax(s)
    assert law.dtype is torch.float32
    assert law.tolist() == [[0.625, 0.0, 0.375], [0.0, 0.0, 0.0]]
    (slope,) = torch.autograd.grad(law[0, 0], s, retain_graph=True)
    assert slope.tolist() == [[0.5, 0.0, -0.5], [0.0, 0.0, 0.0]]
    (slope,) = torch.autograd.grad(law.square().sum(), s, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_neighbours_of_a_mask_fuse():
    masked = torch.tensor([1.0, -math.inf, 0.9, -0.5], dtype=torch.float64, requires_grad=True)
    plain = torch.tensor([1.0, 0.9, -0.5], dtype=torch.float64, requires_grad=True)
    pull = torch.tensor([1.0, 5.0, -2.0, 0.3], dtype=torch.float64)
    (autograd.fusedmax(masked, 0.2) * pull).sum().backward()
    (autograd.fusedmax(plain, 0.2) * pull[[0, 2, 3]]).sum().backward()
    assert torch.equal(masked.grad[[0, 2, 3]], plain.grad)


def test_a_law_may_be_overwritten_before_the_gradient():
    s = torch.tensor([1.0, 0.9, -0.5], dtype=torch.float64, requires_grad=True)
    law = autograd.softmax(s)
    law.detach().zero_()
    law.backward(torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64))
    assert s.grad[0] > 0.2
