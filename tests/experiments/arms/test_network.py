"""Networks of many runs against the suite's own network and PyTorch's pieces, and that runs never mix."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.evidence.streams import stream  # noqa: E402  as all that needs PyTorch
from theory.experiments.arms import ARMS, Networks, Sizes, find_arm  # noqa: E402
from theory.experiments.arms.network import sparse_rows  # noqa: E402
from theory.experiments.arms.training import losses  # noqa: E402
from theory.maxent import softmax  # noqa: E402
from theory.maxent.autograd import entmax15  # noqa: E402
from theory.metric import InformationPropagation, ResidualFeatures, make_similarity  # noqa: E402

SIZES = Sizes(inputs=3, classes=4, dim=6, width=5)
RUNS = 3
OURS = {"dot": "self", "distance": "l2", "metric": "metric"}


def made(name, *, runs=RUNS, first=0, dtype=torch.float64):
    starts = [stream("tests.arms.start", first + run) for run in range(runs)]
    inner = [stream("tests.arms.inner", first + run) for run in range(runs)]
    return Networks(find_arm(name), SIZES, starts, inner, dtype=dtype)


def data(runs=RUNS, first=0):
    rngs = [stream("tests.arms.data", first + run) for run in range(runs)]
    x = np.stack([rng.normal(size=(2, 7, SIZES.inputs)) for rng in rngs])
    y = np.stack([rng.integers(SIZES.classes, size=(2, 7)) for rng in rngs])
    return torch.tensor(x), torch.tensor(y)


@pytest.mark.parametrize("name", OURS)
def test_published_networks_are_those_of_the_suite(name):
    networks = made(f"published-{name}")
    x, y = data()
    found = networks(x)
    losses(found, y).sum().backward()
    similarity = make_similarity(OURS[name], SIZES.dim, SIZES.width, matching="parameters")
    oracle = InformationPropagation(similarity, SIZES.inputs, SIZES.classes)
    for run in range(RUNS):
        theta = np.concatenate([p[run].detach().numpy().ravel() for p in networks.parameters()])
        slope = np.concatenate([p.grad[run].numpy().ravel() for p in networks.parameters()])
        assert found[run].detach().numpy() == pytest.approx(oracle.predict(theta, x[run].numpy()), rel=1e-9, abs=1e-12)
        _, claimed = oracle.objective(theta, x[run].numpy(), y[run].numpy())
        assert slope == pytest.approx(claimed, rel=1e-7, abs=1e-10)
        assert networks.parameters_each == oracle.size


def test_features_are_those_of_metric_attention():
    networks = made("published-features", runs=1)
    x, _ = data(runs=1)
    tokens = (x[0] @ networks.ends[0][0] + networks.ends[1][0]).detach().numpy()
    for scored in networks.scored:
        inner, inner_bias, outer, outer_bias = (p[0].detach().numpy() for p in scored.parameters())
        g = ResidualFeatures(inner, inner_bias, outer, outer_bias)
        f = np.stack([g(points) for points in tokens])
        tokens = softmax(f @ f.transpose(0, 2, 1) / np.sqrt(SIZES.dim)) @ tokens
    claimed = tokens @ networks.ends[2][0].detach().numpy() + networks.ends[3][0].detach().numpy()
    assert networks(x)[0].detach().numpy() == pytest.approx(claimed, rel=1e-9, abs=1e-12)


def test_residual_adds_the_tokens():
    with_ = made("residual-dot", runs=1)
    without = made("published-dot", runs=1)
    x, _ = data(runs=1)
    tokens = x @ with_.ends[0] + with_.ends[1]
    first, second = ([*each.parameters()] for each in with_.scored)
    one = tokens + without._means(tokens, first, tokens)
    two = one + without._means(one, second, one)
    assert torch.allclose(with_(x), two @ with_.ends[2] + with_.ends[3], rtol=1e-12, atol=0.0)


def test_blocks_are_made_of_pytorchs_pieces():
    functional = torch.nn.functional
    networks = made("block-dot", runs=1)
    x, _ = data(runs=1)
    h = x[0] @ networks.ends[0][0] + networks.ends[1][0]
    for mixed, scored in zip(networks.mixed, networks.scored, strict=True):
        scale, shift, value, output, bias, scale2, shift2, wide, wide_bias, narrow, narrow_bias = (
            p[0] for p in mixed.parameters()
        )
        query, key = (p[0] for p in scored.parameters())
        own = functional.layer_norm(h, (SIZES.dim,), scale, shift)
        h = h + functional.scaled_dot_product_attention(own @ query, own @ key, own @ value) @ output + bias
        own = functional.layer_norm(h, (SIZES.dim,), scale2, shift2)
        h = h + functional.linear(functional.relu(functional.linear(own, wide.T, wide_bias)), narrow.T, narrow_bias)
    claimed = h @ networks.ends[2][0] + networks.ends[3][0]
    assert torch.allclose(networks(x)[0], claimed, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_sparse_rows_are_those_of_the_suite(scale):
    scores = torch.tensor(scale * stream("tests.arms.rows", 0).normal(size=(4, 2, 9, 9)), requires_grad=True)
    with torch.no_grad():
        scores[0, 0, 0] = scores[0, 0, 0, 0]
        scores[0, 0, 1, :4] = 2.0 * scale
    cotangent = torch.tensor(stream("tests.arms.rows", 1).normal(size=(4, 2, 9, 9)))
    slopes = []
    laws = [rows(scores) for rows in (sparse_rows, entmax15)]
    for law in laws:
        scores.grad = None
        (law * cotangent).sum().backward()
        slopes.append(scores.grad.clone())
    assert torch.allclose(laws[0], laws[1], rtol=1e-9, atol=1e-12)
    assert torch.allclose(slopes[0], slopes[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [arm.name for arm in ARMS])
def test_a_run_is_as_if_it_were_alone(name):
    together = made(name)
    alone = made(name, runs=1, first=1)
    x, y = data()
    assert torch.allclose(together(x)[1], alone(x[1:2])[0], rtol=1e-12, atol=1e-14)
    losses(together(x), y).sum().backward()
    losses(alone(x[1:2]), y[1:2]).sum().backward()
    for many, one in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(many.grad[1], one.grad[0], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", [arm.name for arm in ARMS])
def test_a_run_that_diverges_takes_no_other_with_it(name):
    networks = made(name)
    with torch.no_grad():
        next(networks.parameters())[0] = torch.inf
    x, y = data()
    found = losses(networks(x), y)
    assert not found[0].isfinite()
    assert found[1:].isfinite().all()


def test_arms_share_what_they_can_and_have_as_many_parameters():
    networks = {arm.name: made(arm.name) for arm in ARMS if arm.architecture != "linear"}
    first = networks["published-dot"]
    for each in networks.values():
        assert all(torch.equal(a, b) for a, b in zip(first.ends, each.ends, strict=True))
    block = networks["block-dot"]
    for similarity in ("distance", "metric", "features", "entmax"):
        other = networks[f"block-{similarity}"]
        assert all(torch.equal(a, b) for a, b in zip(block.mixed.parameters(), other.mixed.parameters(), strict=True))
        assert other.parameters_each == pytest.approx(block.parameters_each, rel=0.05, abs=0.0)
    pairs = zip(networks["block-metric"].parameters(), networks["block-features"].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
