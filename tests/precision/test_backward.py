"""Gradients in tiles against PyTorch, and their bound against a calculator."""

import math

import mpmath
import numpy as np
import pytest

from theory.precision import gradient_error, slope_power, stream_gradients
from theory.precision.backward import KEPT
from theory.precision.formats import FORMATS


def drawn(rows=3, length=9):
    rng = np.random.default_rng(7)
    shapes = ((rows, 4), (length, 4), (length, 2), (rows, 2))
    return [rng.integers(-8, 8, shape) / 8.0 for shape in shapes]


@pytest.mark.parametrize("form", KEPT)
def test_gradients_are_near_those_of_pytorch(form):
    torch = pytest.importorskip("torch")
    q, k, v, g = drawn()
    mask = np.ones((3, 9), dtype=bool)
    mask[1, 4:] = False
    leaves = [torch.tensor(part, requires_grad=True) for part in (q, k, v)]
    scores = (leaves[0] @ leaves[1].T / 2.0).masked_fill(~torch.tensor(mask), -math.inf)
    output = torch.softmax(scores, dim=1) @ leaves[2]
    (output * torch.tensor(g)).sum().backward()
    logs = torch.logsumexp(scores, dim=1).detach().numpy()
    means = (output.detach().numpy() * g).sum(axis=1)
    near = 16.0 * {"float64": 2.0**-52, "float32": 2.0**-23}.get(form, FORMATS[form].unit)
    for plan in ([range(9)], ([[8, 2], [], [5]], [[0, 1, 3, 4, 6, 7]])):
        found = stream_gradients(q, k, v, g, logs, means, plan, form=form, mask=mask)
        for part, leaf in zip(found, leaves, strict=True):
            assert np.abs(part - leaf.grad.numpy()).max() <= near


def test_a_query_that_sees_nothing_moves_nothing():
    q, k, v, g = drawn()
    found = stream_gradients(q, k, v, g, np.zeros(3), np.zeros(3), [range(9)], mask=np.zeros((3, 9), dtype=bool))
    assert not any(part.any() for part in found)


def test_logarithms_of_another_row_are_refused():
    q, k, v, g = drawn()
    with pytest.raises(ValueError, match="partitions: expected at least the scores"):
        stream_gradients(q, k, v, g, np.full(3, -40.0), np.zeros(3), [range(9)])


def test_bounds_have_their_values():
    """As a calculator finds them."""
    n, m, e, size, spread, away, eta, score = 1024, 64, 128, 3.0, 0.75, 2.0**-20, 2.0**-9, 2.0**-22
    with mpmath.workdps(40):
        u, coarse = mpmath.mpf(2) ** -24, 1 / mpmath.mpf(257)
        tilt = (1 + u) * (away + 2 * score) - mpmath.log1p(-4 * u)
        each = mpmath.exp(tilt) - 1
        epsilon = mpmath.exp(tilt) * mpmath.mpf(n) ** u - 1
        delta = (1 + u) * (e * u / (1 - e * u) * size + eta) + 2 * u * spread
        off = epsilon * (2 * spread + delta) + delta
        whole = (1 + u) * (spread + off)
        slopes = off + u * (spread + off) + coarse * whole
        right = {
            "queries": slopes + (n + 2) * u / (1 - (n + 2) * u) * (1 + coarse) * whole,
            "keys": m * (slopes + (m + 2) * u / (1 - (m + 2) * u) * (1 + coarse) * whole),
            "values": m * (each + coarse * (1 + each) + m * u / (1 - m * u) * (1 + coarse) * (1 + each)),
        }
    found = gradient_error(
        n, m, form="bfloat16", depth=e, size=size, spread=spread, partition=away, mean=eta, score=score
    )
    for part, value in right.items():
        assert getattr(found, part).mid == pytest.approx(float(value), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("spread", [0.0, 2.0**-99, 1.0, 3.5, 3.6, 4.0, 896.0, 897.0, 1e20])
def test_the_power_of_slopes_is_the_largest_that_serves(spread):
    power = slope_power(spread)
    assert spread * 2.0**power <= 896.0
    assert power == 100 or spread * 2.0 ** (power + 1) > 896.0


def test_slopes_beyond_the_largest_number_become_it():
    two = np.array([[1.0], [-1.0]])
    given = [np.zeros((1, 1)), two, two, np.ones((1, 1)), [math.log(2.0)], [0.0], [[0, 1]]]
    assert slope_power(1.0) == 9
    exact, cut = (stream_gradients(*given, form="e4m3", scale=1.0, power=power).queries[0, 0] for power in (9, 10))
    assert exact == 1.0
    assert cut == 0.875  # 448 in place of 512, of both slopes


@pytest.mark.parametrize("form", ["bfloat16", "float16", "e4m3"])
def test_a_hundred_thousand_keys_stay_within_the_bound(form):
    n = 100_000
    rng = np.random.default_rng(8)
    q, g = np.ones((1, 1)), np.ones((1, 1))
    k, v = rng.integers(-16, 16, (n, 1)) / 8.0, rng.integers(-16, 16, (n, 1)) / 16.0
    weights = np.exp(k[:, 0])
    log = np.log(weights.sum())
    p = weights / weights.sum()
    mean = p @ v[:, 0]
    saved = float(np.float32(log))
    kept = float(np.float32(mean + 2.0**-9))
    power = slope_power(1.0) if form == "e4m3" else 0
    found = stream_gradients(q, k, v, g, [saved], [kept], [range(n)], form=form, scale=1.0, power=power)
    slopes = p * (v[:, 0] - mean)
    bound = gradient_error(
        n, 1, form=form, depth=1, size=1.0, spread=1.0, partition=abs(saved - log) + 1e-12, mean=abs(kept - mean)
    )
    assert abs(found.queries[0, 0] - slopes @ k[:, 0]) <= 2.0 * bound.queries.hi
    assert np.abs(found.keys[:, 0] - slopes).max() <= bound.keys.hi
    assert np.abs(found.values[:, 0] - p).max() <= bound.values.hi


@pytest.mark.parametrize("form", ["float32", "bfloat16", "e4m3"])
def test_products_that_underflow_before_the_factor_of_scores_are_within_the_bound(form):
    """With keys below two to minus 60 they need not be, however large their product with the factor is."""
    inside = []
    for size in (2.0**-60, 2.0**-89):
        spread, scale = 2.0**-151 / size * 2.0, 2.0**29
        k, v = np.array([[size], [-size]]), np.array([[spread], [-spread]])
        power = slope_power(spread) if form == "e4m3" else 0
        given = [np.zeros((1, 1)), k, v, np.ones((1, 1)), [float(np.float32(math.log(2.0)))], [0.0], [[0, 1]]]
        found = stream_gradients(*given, form=form, scale=scale, power=power).queries[0, 0]
        assert found == 0.0
        bound = gradient_error(2, 1, form=form, depth=1, size=spread, spread=spread, partition=2.0**-24)
        inside.append(scale * size * spread <= scale * size * bound.queries.hi)
    assert inside == [True, False]
