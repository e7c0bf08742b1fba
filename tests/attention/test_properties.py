"""What holds for all admissible clouds: equivariance, invariance, and outputs inside the convex hull."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from theory import Measure, attend
from theory.attention import (
    Additive,
    DotProduct,
    SelfAttention,
    Softmatch,
    SquaredDistance,
    boltzmann_gibbs,
    rounding,
    step,
    transform_error,
)
from theory.evidence.roundoff import gamma

SCORES = [DotProduct(scale=1.0), SquaredDistance(0.5), Additive([[1.0, 2.0]], [[-1.0, 0.5]], [3.0])]
INVARIANT = SCORES[:2]
STEPS = st.integers(-32, 32).map(lambda k: k / 8.0)  # few bits, so that sums and turns are exact
TURN = np.array([[3.0, -4.0], [4.0, 3.0]])  # five times a rotation; exact on the grid


@st.composite
def clouds(draw, dim=2):
    """Points and masses of up to seven tokens."""
    n = draw(st.integers(1, 7))
    points = draw(arrays(np.float64, (n, dim), elements=STEPS))
    masses = draw(arrays(np.float64, (n,), elements=st.integers(0, 5).map(float)).filter(lambda w: w.sum() > 0.0))
    return points, masses


def common(test):
    return settings(deadline=None, derandomize=True, max_examples=40)(test)


@pytest.fixture(autouse=True, scope="module")
def _plain_backend():
    """Thousands of tiny calls; the oracle needs no compiler and is compared with the kernels elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEORY_BACKEND", "reference")
        yield


@pytest.mark.parametrize("score", SCORES)
@common
@given(cloud=clouds(), queries=arrays(np.float64, (2, 2), elements=STEPS), values=st.data())
def test_the_order_of_the_keys_does_not_matter(score, cloud, queries, values):
    keys, masses = cloud
    v = values.draw(arrays(np.float64, (len(keys), 2), elements=STEPS))
    order = np.array(values.draw(st.permutations(range(len(keys)))))
    here = attend(queries, keys, v, score=score, weights=masses)
    there = attend(queries, keys[order], v[order], score=score, weights=masses[order])
    assert np.abs(here - there).max() <= 2.0 * rounding(queries, keys, v, score=score, weights=masses)


@pytest.mark.parametrize("score", SCORES)
@common
@given(cloud=clouds(), order=st.data())
def test_a_layer_is_permutation_equivariant(score, cloud, order):
    mu = Measure.normalised(*cloud)
    chosen = np.array(order.draw(st.permutations(range(mu.size))))
    moved = step(SelfAttention(score), mu).points[chosen]
    again = step(SelfAttention(score), Measure(mu.points[chosen], mu.weights[chosen])).points
    error = rounding(mu.points, mu.points, mu.points, score=score, weights=mu.weights)
    assert np.abs(moved - again).max() <= 2.0 * error


@pytest.mark.parametrize("turn", [TURN, np.array([[0.0, 5.0], [-5.0, 0.0]]), np.diag([5.0, -5.0])])
@pytest.mark.parametrize("form", [DotProduct, SquaredDistance])
@common
@given(cloud=clouds(), queries=arrays(np.float64, (2, 2), elements=STEPS))
def test_rotation_equivariance(form, turn, cloud, queries):
    """Turning all tokens by an orthogonal map, times five to stay on the grid, turns the outputs."""
    keys, masses = cloud
    here = attend(queries, keys, keys, score=form(0.5), weights=masses)
    turned = attend(queries @ turn.T, keys @ turn.T, keys @ turn.T, score=form(0.02), weights=masses)
    # the scores agree up to the rounding of the two scales, 25 times 0.02 against 0.5
    error = rounding(queries @ turn.T, keys @ turn.T, keys @ turn.T, score=form(0.02), weights=masses)
    error += 14.0 * rounding(queries, keys, keys, score=form(0.5), weights=masses)
    assert np.abs(turned - here @ turn.T).max() <= 2.0 * error + gamma(8) * 14.0 * np.abs(keys).max()


@common
@given(cloud=clouds(dim=1), shift=STEPS, potential=st.data())
def test_potentials_may_be_shifted(cloud, shift, potential):
    nu = Measure.normalised(*cloud)
    a = potential.draw(arrays(np.float64, (nu.size,), elements=STEPS))
    here = boltzmann_gibbs(nu, a).weights
    there = boltzmann_gibbs(nu, a + shift).weights
    assert np.abs(here - there).max() <= transform_error(nu, a) + transform_error(nu, a + shift)


@pytest.mark.parametrize("score", SCORES)
@common
@given(
    cloud=clouds(),
    queries=arrays(np.float64, (3, 2), elements=STEPS),
    direction=arrays(np.float64, (2,), elements=STEPS),
)
def test_outputs_lie_in_the_convex_hull(score, cloud, queries, direction):
    """No direction sees an output beyond the values that have mass."""
    keys, masses = cloud
    output = attend(queries, keys, keys, score=score, weights=masses)
    reach = (keys[masses > 0.0] @ direction).max()
    error = rounding(queries, keys, keys, score=score, weights=masses) * np.abs(direction).sum()
    assert (output @ direction).max() <= reach + error + gamma(4) * 32.0


@pytest.mark.parametrize("score", SCORES)
@common
@given(cloud=clouds(), queries=arrays(np.float64, (2, 2), elements=STEPS), times=st.integers(1, 4))
def test_replicas_change_nothing(score, cloud, queries, times):
    mu = Measure.normalised(*cloud)
    here, there = (Softmatch(score, nu).rows(queries) @ nu.points for nu in (mu, mu.replicate(times)))
    error = sum(
        rounding(queries, nu.points, nu.points, score=score, weights=nu.weights) for nu in (mu, mu.replicate(times))
    )
    assert np.abs(here - there).max() <= error + 2.0 * gamma(8 * mu.size * times) * 4.0


@pytest.mark.parametrize("score", INVARIANT)
@common
@given(
    cloud=clouds(), queries=arrays(np.float64, (2, 2), elements=STEPS), shift=arrays(np.float64, (2,), elements=STEPS)
)
def test_keys_may_be_translated_under_the_distance_score(score, cloud, queries, shift):
    """The distance depends on differences; for the dot product a common shift of the keys shifts all scores alike."""
    keys, masses = cloud
    moved = queries + shift if isinstance(score, SquaredDistance) else queries
    here = attend(queries, keys, keys, score=score, weights=masses)
    there = attend(moved, keys + shift, keys, score=score, weights=masses)
    error = rounding(queries, keys, keys, score=score, weights=masses)
    error += rounding(moved, keys + shift, keys, score=score, weights=masses)
    assert np.abs(here - there).max() <= error


@common
@given(cloud=clouds(), depth=st.integers(2, 6))
def test_causal_outputs_do_not_see_the_future(cloud, depth):
    keys, _ = cloud
    n = len(keys)
    cut = min(depth, n)
    whole = attend(keys, keys, keys, causal=True)
    part = attend(keys[:cut], keys[:cut], keys[:cut], causal=True)
    assert np.abs(whole[:cut] - part).max() <= 2.0 * rounding(keys, keys, keys)
