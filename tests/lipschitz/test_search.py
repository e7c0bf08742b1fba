"""The search: its gradient, what it finds where the answer is known, what it returns, and shrinking."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from theory.attention import DotProduct, Measure, SquaredDistance
from theory.lipschitz import certified_stretch
from theory.lipschitz.search import LEAST_WEIGHT, search_worst_cloud, simplify_cloud
from theory.lipschitz.search.objective import Gradient, State, log_stretch
from theory.lipschitz.search.parameters import Parameters


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("norm", [2.0, None])
@pytest.mark.parametrize("radius", [1.5, None])
def test_gradient_is_that_of_differences(p, causal, norm, radius):
    parameters = Parameters(3, 2, radius, None, norm, 1e-3)
    z = parameters.draw(np.random.default_rng(5), sign=1)

    def value(z):
        at = parameters.read(z)
        found, gradient, _ = log_stretch(State(at.points, at.log_weights, at.direction, 1, at.form, 0.7, causal), p)
        return found, parameters.pull(z, at, gradient)

    step = 1e-5
    differences = [(value(z + e)[0] - value(z - e)[0]) / (2 * step) for e in step * np.eye(z.size)]
    np.testing.assert_allclose(value(z)[1], differences, rtol=1e-6, atol=1e-7)


def test_finds_the_exact_constants():
    rng = np.random.default_rng(0)
    # over two atoms in W_1, exp(2 alpha) (1 + 2 alpha), approached with the floor of the weights
    found = search_worst_cloud(rng, 1.0, p=1, atoms=2, starts=4)
    assert found.bound.lo > (1.0 - 1e-4) * 3.0 * math.exp(2.0)
    assert found.bound.hi < 3.0 * math.exp(2.0)
    assert found.measure.weights.min() > 0.9 * LEAST_WEIGHT
    # without scores attention is an average: nothing is stretched in W_1
    flat = search_worst_cloud(rng, DotProduct(form=np.zeros((2, 2))), p=1, atoms=3, dim=2, starts=2)
    assert flat.bound.mid == pytest.approx(1.0, rel=1e-12, abs=0)
    # a causal mask without scores: the first of three equal tokens is felt by 1 + 1/2 + 1/3
    masked = search_worst_cloud(
        rng, DotProduct(form=[[0.0]]), p=1, atoms=3, weights=np.full(3, 1 / 3), causal=True, starts=3
    )
    assert masked.bound.mid == pytest.approx(11 / 6, rel=1e-12, abs=0)


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("dim", [1, 2])
def test_returns_what_it_certifies(p, dim):
    found = search_worst_cloud(np.random.default_rng(1), 0.5, p=p, atoms=3, dim=dim, radius=2.0, starts=3)
    assert np.linalg.norm(found.measure.points, axis=1).max() <= 2.0 * (1.0 + 1e-12)
    assert np.linalg.norm(found.score.form, 2) <= 0.5 * (1.0 + 1e-12)
    assert len(found.reached) == 3
    assert found.evaluations >= 3
    assert abs(found.bound.mid / max(found.reached) - 1.0) <= 2.0**-15  # few bits cost what is of second order
    again = certified_stretch(found.measure, found.score, found.tangent, p)
    assert (again.lo, again.hi) == (found.bound.lo, found.bound.hi)


@pytest.mark.parametrize("p", [1, math.inf])
def test_unequal_weights_may_come_in_any_order(p):
    best = [
        search_worst_cloud(
            np.random.default_rng(0), DotProduct(form=[[-1.0]]), p=p, atoms=2, weights=w, starts=4
        ).bound.lo
        for w in ([0.99, 0.01], [0.01, 0.99])
    ]
    assert best[0] == pytest.approx(best[1], rel=1e-4, abs=0)


def test_the_same_generator_gives_the_same_cloud():
    twice = [
        search_worst_cloud(np.random.default_rng(3), SquaredDistance(2.0), p=2, atoms=3, radius=None, starts=2)
        for _ in "ab"
    ]
    np.testing.assert_array_equal(twice[0].measure.points, twice[1].measure.points)
    np.testing.assert_array_equal(twice[0].tangent, twice[1].tangent)


def perturbed(rng):
    """The objective as another processor might round it, and singular vectors of the other sign now and then."""

    def objective(state, p):
        value, gradient, h = log_stretch(state, p)
        parts = (part if part is None else part * rng.uniform(1 - 1e-14, 1 + 1e-14, part.shape) for part in gradient)
        return value * rng.uniform(1 - 1e-14, 1 + 1e-14), Gradient(*parts), h * (rng.choice([-1, 1]) if p == 2 else 1)

    return objective


@pytest.mark.parametrize(
    ("p", "dim", "options"),
    [
        (1, 1, {"score": DotProduct(form=[[-3.0]])},),
        (2, 1, {"score": DotProduct(form=[[2.0]])}),
        (2, 2, {"score": 1.0, "weights": np.full(3, 1 / 3)}),
        (math.inf, 1, {"score": SquaredDistance(1.0), "radius": None}),
    ],
)  # fmt: skip
def test_the_cloud_is_the_same_however_the_objective_is_rounded(p, dim, options, monkeypatch):
    module = importlib.import_module("theory.lipschitz.search.worst_cloud")

    def found(objective):
        monkeypatch.setattr(module, "log_stretch", objective)
        return search_worst_cloud(np.random.default_rng(7), **options, p=p, atoms=3, dim=dim, starts=3)

    first, *others = (
        found(objective) for objective in (log_stretch, *map(perturbed, np.random.default_rng(0).spawn(3)))
    )
    for other in others:
        assert other.reached != first.reached  # the climbs themselves do end elsewhere
        np.testing.assert_array_equal(other.measure.points, first.measure.points)
        np.testing.assert_array_equal(other.measure.weights, first.measure.weights)
        np.testing.assert_array_equal(other.tangent, first.tangent)
        assert (other.bound.lo, other.bound.hi) == (first.bound.lo, first.bound.hi)


def test_starts_from_a_given_cloud():
    first = Measure([[1.0], [-1.0]], [1e-6, 1.0 - 1e-6])
    found = search_worst_cloud(
        np.random.default_rng(0), DotProduct(form=[[-2.0]]), p=1, atoms=2, starts=1, steps=1, first=first
    )
    assert found.bound.lo > 0.98 * 5.0 * math.exp(4.0)
    with pytest.raises(ValueError, match="first: expected 3 atoms"):
        search_worst_cloud(np.random.default_rng(0), 1.0, p=1, atoms=3, first=first)
    with pytest.raises(ValueError, match=r"first: expected atoms within 0\.5"):
        search_worst_cloud(np.random.default_rng(0), 1.0, p=1, atoms=2, radius=0.5, first=first)


def test_shrinking_keeps_the_bound_and_drops_what_is_idle():
    found = search_worst_cloud(np.random.default_rng(2), 1.0, p=1, atoms=4, starts=4)
    simple = simplify_cloud(found, loss=1e-2)
    assert simple.measure.size == 2
    assert simple.bound.lo >= 0.99 * found.bound.lo
    assert np.abs(simple.measure.points).max() <= 1.0
    even = search_worst_cloud(
        np.random.default_rng(2), SquaredDistance(), p=math.inf, atoms=3, radius=None, weights=np.full(3, 1 / 3)
    )
    assert simplify_cloud(even).measure.size == 3
    np.testing.assert_array_equal(simplify_cloud(even).measure.weights, even.measure.weights)
    with pytest.raises(ValueError, match="loss: expected a number below 1"):
        simplify_cloud(found, loss=1.0)


def test_bad_input():
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError, match=r"rng: expected a numpy.random.Generator"):
        search_worst_cloud(0, 1.0, p=1, atoms=2)
    with pytest.raises(ValueError, match="p: expected 1, 2 or inf"):
        search_worst_cloud(rng, 1.0, p=1.5, atoms=2)
    with pytest.raises(ValueError, match="score: expected a positive"):
        search_worst_cloud(rng, -1.0, p=1, atoms=2)
    with pytest.raises(ValueError, match="radius: expected a positive"):
        search_worst_cloud(rng, 1.0, p=1, atoms=2, radius=0.0)
    with pytest.raises(ValueError, match="weights: expected shape"):
        search_worst_cloud(rng, 1.0, p=1, atoms=2, weights=[1.0])
    with pytest.raises(ValueError, match="weights: expected positive masses"):
        search_worst_cloud(rng, 1.0, p=1, atoms=2, weights=[1.0, 0.0])
    with pytest.raises(ValueError, match="starts: expected an integer of at least 1"):
        search_worst_cloud(rng, 1.0, p=1, atoms=2, starts=0)
