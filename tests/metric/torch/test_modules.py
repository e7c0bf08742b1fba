"""Attention in PyTorch: against the engine to its rounding, against the network of NumPy, and against differences."""

import math
import subprocess
import sys

import numpy as np
import pytest

from theory.attention import DotProduct, attend, rounding
from theory.evidence import stream
from theory.evidence.roundoff import average_error, gamma, softmax_error
from theory.maxent import entmax as numpy_entmax
from theory.metric import MetricScore, attention_weights, make_similarity, vjp

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.metric.torch.modules import ATTENTIONS, attention_module  # noqa: E402  it imports PyTorch
from theory.metric.torch.parametrised import Affine, load, parameters_of  # noqa: E402

DENSE = ("self", "l2", "metric")


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def rng(case=0):
    return stream("tests.metric.modules", case)


def made(kind, dim=6, width=4, **options):
    """Return a module in float64 with all parameters drawn, biases too."""
    module = attention_module(kind, dim, width, **options).double()
    load(module, rng(1).normal(0.0, 0.6, parameters_of(module).size))
    return module


def tokens(m=5, n=7, dim=6, values=8):
    draw = rng(2)
    return tuple(torch.from_numpy(draw.normal(size=shape)) for shape in ((m, dim), (n, dim), (n, values)))


def rows_of(scores, visible=None):
    """Return the softmax, written once more."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    e = e if visible is None else e * visible
    return e / e.sum(axis=-1, keepdims=True)


def by_hand(kind, theta, x, y, heads, dim, width):
    """Return the scores of all heads, (heads, m, n), by differences and einsum."""
    if kind in ("self", "entmax"):
        q, k = theta.reshape(2, dim, width)
        left, right = np.split(x @ q, heads, axis=1), np.split(y @ k, heads, axis=1)
        return np.stack([np.einsum("ik,jk->ij", a, b) for a, b in zip(left, right, strict=True)]) / math.sqrt(
            width / heads
        )
    features = make_similarity(kind, dim, width).features(theta)
    left = np.split(features(x), heads, axis=1)
    right = np.split(features(y), heads, axis=1)
    return np.stack([-np.sum((a[:, None] - b[None]) ** 2, axis=-1) for a, b in zip(left, right, strict=True)])


def own_rounding(kind, theta, x, y, v):
    """Bound the error of the module with one head: of features, of a score up to the query's number, of its row."""
    norms = lambda z: float(np.linalg.norm(z, axis=1).max())  # noqa: E731
    if kind == "self":
        q, k = np.abs(theta.reshape(2, x.shape[1], -1))
        size = float((np.abs(x) @ q @ k.T @ np.abs(y).T).max()) / math.sqrt(q.shape[1])
        error = 2.0 * gamma(2 * x.shape[1] + 2 * q.shape[1] + 8) * size  # twice: the form of the engine rounds too
    else:
        features = make_similarity(kind, x.shape[1], 4).features(theta)
        a, b = norms(features(x)), norms(features(y))
        size = 2.0 * a * b + b * b
        slip = max(features.rounding(x), features.rounding(y))
        error = gamma(x.shape[1] + 5) * size + (2.0 * a + 4.0 * b) * slip * 1.001
    return average_error(float(np.abs(v).max()), len(y), relative=softmax_error(error, 2.0 * size, len(y)))


@pytest.mark.parametrize("kind", DENSE)
def test_equal_to_the_engine_up_to_rounding(kind):
    module, (x, y, v) = made(kind), tokens()
    theta, (q, k, values) = parameters_of(module), (t.numpy() for t in (x, y, v))
    if kind == "self":
        query, key = theta.reshape(2, 6, 4)
        score = DotProduct(form=query @ key.T / math.sqrt(4))
    else:
        score = MetricScore(make_similarity(kind, 6, 4).features(theta))
    bound = rounding(q, k, values, score=score) + own_rounding(kind, theta, q, k, values)
    engine = attend(q, k, values, score=score)
    assert np.abs(module(x, y, v).detach().numpy() - engine).max() <= bound
    load(module, theta * (1.0 + 1e-9))
    assert np.abs(module(x, y, v).detach().numpy() - engine).max() > bound  # which one part in 1e9 would break
    load(module, theta)
    bound = rounding(q, q, q, score=score, causal=True) + own_rounding(kind, theta, q, q, q)
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    assert np.abs(module(x, x, x, seen).detach().numpy() - attend(q, q, q, score=score, causal=True)).max() <= bound


@pytest.mark.parametrize("shift", [2.0**12, 2.0**30])
def test_weights_of_tokens_far_from_the_origin_are_those_near_it(shift):
    module = attention_module("l2", 4, 4).double()
    load(module, np.eye(4).ravel())
    x = torch.from_numpy(np.round(rng(4).normal(size=(3, 5, 4)) * 2**8) / 2**8)  # exact after the shift
    near, far = (module.weights(z, z).detach() for z in (x, x + shift))
    torch.testing.assert_close(far, near, rtol=1e-13, atol=0.0)
    single, z = module.float(), (x + shift).float()
    apart = torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    torch.testing.assert_close(single.weights(z, z).squeeze(-3), (-apart).softmax(-1), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("kind", ATTENTIONS)
def test_heads_and_masks_against_differences_by_hand(kind, heads):
    module, (x, y, v) = made(kind, heads=heads), tokens()
    seen = rng(3).random((3, 5, 7)) < 0.5
    seen[..., 2] = True
    scores = by_hand(kind, parameters_of(module), x.numpy(), y.numpy(), heads, 6, 4)
    stack = torch.stack([x] * 3), torch.stack([y] * 3)
    wide = np.where(seen[:, None], scores[None], -np.inf)
    expected = numpy_entmax(wide, 1.5) if kind == "entmax" else rows_of(scores[None], seen[:, None])
    law = module.weights(*stack, torch.from_numpy(seen)).detach().numpy()
    assert law.shape == (3, heads, 5, 7)
    assert np.allclose(law, expected, rtol=1e-12, atol=1e-14)
    assert not law[np.broadcast_to(~seen[:, None], law.shape)].any()
    means = module(*stack, torch.stack([v] * 3), torch.from_numpy(seen)).detach().numpy()
    slices = np.stack(np.split(v.numpy(), heads, axis=1))
    assert np.allclose(means, np.concatenate(list((expected @ slices).swapaxes(0, 1)), axis=-1), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", DENSE)
def test_as_many_queries_as_keys_are_not_the_keys(kind):
    module, (x, y, _) = made(kind), tokens(7)
    expected = rows_of(by_hand(kind, parameters_of(module), x.numpy(), y.numpy(), 1, 6, 4))
    assert np.allclose(module.weights(x, y).detach().numpy(), expected, rtol=1e-12, atol=1e-14)


def test_entmax_of_other_orders():
    x, y, _ = tokens()
    for alpha in (1.0, 1.2, 2.0):
        module = made("entmax", alpha=alpha)
        expected = numpy_entmax(by_hand("self", parameters_of(module), x.numpy(), y.numpy(), 1, 6, 4), alpha)
        assert np.allclose(module.weights(x, y).detach().numpy(), expected, rtol=1e-12, atol=1e-14)
    lost = module.weights(x * math.nan, y)
    assert lost.isnan().all()


@pytest.mark.parametrize("kind", ["l2", "metric"])
def test_single_precision_keeps_its_bound(kind):
    """The scores of the docstring, with unit roundoff 2**-24, between tokens as far apart as those of a transformer."""
    module = made(kind, dim=16, width=16, heads=2).float()
    u = 2.0**-24
    x, y = (torch.from_numpy(3.0 * rng(4).normal(size=(9, 16))).float() for _ in range(2))
    with torch.no_grad():
        f, g = (module.features(z).double().unflatten(-1, (2, 8)) for z in (x, y))
        f, g = f - g[:1], g - g[:1]
        exact = 2.0 * torch.einsum("ihk,jhk->hij", f, g) - g.square().sum(-1).T.unsqueeze(-2)
        size = 2.0 * f.norm(dim=-1).T.unsqueeze(-1) * g.norm(dim=-1).T.unsqueeze(-2) + g.square().sum(-1).T.unsqueeze(
            -2
        )
        off = (module.scores(x, y).double() - exact).abs()
    assert (off <= 13 * u / (1 - 13 * u) * size).all()
    assert off.max() > 0.0


def test_queries_and_keys_share_their_map():
    """Up to the numbers that rows do not see, the score is symmetric, and vanishes between equals: a pseudo-metric."""
    x, y, _ = tokens()
    for kind in ("l2", "metric"):
        module = made(kind, heads=2)
        f, g = (module.features(z).unflatten(-1, (2, -1)) for z in (x, y))
        f, g = (a.sub(b[:1]).square().sum(-1).T for a, b in ((f, g), (g, f)))  # from the first key
        there = module.scores(x, y) - f.unsqueeze(-1)
        back = module.scores(y, x) - g.unsqueeze(-1)
        assert torch.allclose(there, back.transpose(-1, -2), rtol=1e-12, atol=1e-13)
        assert there.max() < 0.0
        own = module.features(x).unflatten(-1, (2, -1))
        f = (own - own[:1]).square().sum(-1).T
        equal = torch.diagonal(module.scores(x, x.clone()) - f.unsqueeze(-1), dim1=-2, dim2=-1)
        assert torch.allclose(equal, torch.zeros_like(equal), rtol=0.0, atol=1e-13)


# --- derivatives ---


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("kind", ATTENTIONS)
def test_gradients_are_those_of_differences(kind, heads, masked):
    module = made(kind, dim=4, width=2, heads=heads)
    given = tokens(3, 4, 4, 4)
    seen = torch.from_numpy(rng(5).random((3, 4)) < 0.6).index_fill(1, torch.tensor([1]), True) if masked else None
    names = [name for name, _ in module.named_parameters()]

    def means(x, y, v, *own):
        return torch.func.functional_call(module, dict(zip(names, own, strict=True)), (x, y, v, seen))

    arguments = [t.clone().requires_grad_() for t in (*given, *module.parameters())]
    assert torch.autograd.gradcheck(means, arguments)
    if not masked:  # of tokens with themselves, whose features are computed once
        assert torch.autograd.gradcheck(lambda x, *own: means(x, x, x, *own), (arguments[0], *arguments[3:]))


@pytest.mark.parametrize("kind", DENSE)
def test_the_products_of_numpy_are_those_of_autograd_and_of_differences(kind):
    compared = make_similarity(kind, 4, 3)
    draw = rng(6)
    module = made(kind, dim=4, width=3)
    theta = parameters_of(module)
    h, pull = draw.normal(size=(2, 5, 4)), draw.normal(size=(2, 5, 4))
    seen = (draw.random((2, 5, 5)) < 0.6) | np.eye(5, dtype=bool)
    x = torch.from_numpy(h).requires_grad_()
    y = module(x, x, x, torch.from_numpy(seen))
    y.backward(torch.from_numpy(pull))
    slope, own = vjp(compared, theta, h, pull, mask=seen)
    assert np.allclose(slope, x.grad.numpy(), rtol=1e-12, atol=1e-13)
    autograd = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
    assert np.allclose(own, autograd, rtol=1e-12, atol=1e-13)

    def value(step, along_h, along_theta):
        shifted = h + step * along_h
        return np.sum(pull * (attention_weights(compared, theta + step * along_theta, shifted, mask=seen) @ shifted))

    for _ in range(3):
        a = draw.normal(size=h.shape)
        b = draw.normal(size=theta.shape)
        step = 1e-3
        by = [(value(k * step, a, b) - value(-k * step, a, b)) / (2 * k * step) for k in (1, 2)]
        fourth = (4.0 * by[0] - by[1]) / 3.0  # errors of order four
        assert fourth == pytest.approx(np.sum(slope * a) + own @ b, rel=1e-7, abs=1e-8)


# --- starts, sizes, refusals ---


def test_the_number_of_parameters():
    for heads in (1, 4):
        sizes = {k: parameters_of(attention_module(k, 64, 64, heads=heads)).size for k in ATTENTIONS}
        assert sizes == {"self": 8192, "entmax": 8192, "l2": 4096, "metric": 2 * 64 * 64 + 64 + 64}
        matched = {
            k: parameters_of(attention_module(k, 64, 64, heads=heads, matching="parameters")).size for k in ATTENTIONS
        }
        assert matched == {"self": 8192, "entmax": 8192, "l2": 8192, "metric": 63 * 129 + 64}


def test_starts_come_from_the_generator_alone():
    state = torch.get_rng_state()
    for kind in ATTENTIONS:
        a, b, c = (attention_module(kind, 6, 4) for _ in range(3))
        assert np.isnan(parameters_of(a)).all()
        for module, case in ((a, 15), (b, 15), (c, 16)):
            module.reset(rng(case))
        assert np.array_equal(parameters_of(a), parameters_of(b))
        assert not np.array_equal(parameters_of(a), parameters_of(c))
    assert torch.equal(state, torch.get_rng_state())
    affine = Affine(100, 50)
    affine.reset(rng(17))
    assert 0.099 < affine.matrix.abs().max() <= 0.1
    assert not affine.bias.any()


def test_the_branch_at_the_start_is_as_stated():
    products = []
    for case in range(5):
        module = attention_module("metric", 64, 64)
        module.reset(rng(20 + case))
        products.append(make_similarity("metric", 64, 64).features(parameters_of(module)).branch)
    assert 1.1 < np.mean(products) < 1.5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: attention_module("again", 4, 2), ValueError, "kind: expected one of self, l2, metric, entmax, got 'a"),
        (lambda: attention_module("l2", 4, 3, heads=2), ValueError, "heads: expected a divisor of the 3 features"),
        (lambda: attention_module("metric", 5, 4, heads=2), ValueError, "heads: expected a divisor of the 5 features"),
        (lambda: attention_module("self", 4, 2, heads=0), ValueError, "heads: expected an integer of at least 1"),
        (lambda: attention_module("entmax", 4, 2, alpha=0.0), ValueError, "alpha: expected a positive"),
        (lambda: attention_module("self", 4, 2, matching="time"), ValueError, "matching: expected"),
        (lambda: made("self")(*tokens(dim=5)), ValueError, r"queries: expected shape \(..., n, 6\)"),
        (lambda: made("l2")(tokens()[0], tokens(dim=5)[1], tokens()[2]), ValueError, r"keys: expected shape \(..., n"),
        (lambda: made("l2")(*tokens()[:2], tokens(n=3)[2]), ValueError, r"values: expected shape \(..., 7, a mul"),
        (lambda: made("l2", heads=2)(*tokens(values=3)), ValueError, r"values: .* a multiple of 2\), got"),
        (lambda: made("self")(*tokens(), torch.ones(5, 7)), TypeError, "mask: expected booleans, got torch.float32"),
        (lambda: made("self")(*tokens(), torch.ones(7, 5) > 0), ValueError, r"mask: expected shape \(5, 7\)"),
        (lambda: made("self")(*tokens(), torch.eye(5, 7) > 1), ValueError, "mask: expected a visible key for every"),
        (lambda: load(Affine(2, 1), [0.0, 1.0]), ValueError, r"theta: expected shape \(3,\), got shape \(2,\)"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


@pytest.mark.parametrize("module", ["modules", "parametrised", "transformer"])
def test_without_pytorch_they_say_what_to_install(module):
    code = f"import sys\nsys.modules['torch'] = None\nimport theory.metric\nimport theory.metric.torch.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: torch: ")
    assert last.endswith('pip install "attention-theory[learn]"')
