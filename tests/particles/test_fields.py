"""Fields against their definitions written out, on the sphere, in space and on the circle."""

import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.particles import CircleField, Overlap, PreNorm, SoftmaxField, Tangential, UnnormalisedField, on_sphere

BETAS = (0.0, 0.7, 6.0, -2.0)


def sphere(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def written_out(x, scores, masses, *, normalised=True, value=None):
    """Sum over the tokens one by one."""
    velocities = np.zeros_like(x)
    for i, row in enumerate(scores):
        weights = [m * np.exp(s) for m, s in zip(masses, row, strict=True)]
        total = sum(weights) if normalised else 1.0
        velocities[i] = sum(w * y for w, y in zip(weights, x, strict=True)) / total
    return velocities if value is None else np.array([value @ v for v in velocities])


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("normalised", [True, False])
def test_attention_on_the_sphere(beta, normalised):
    x = sphere(7, 3)
    masses = np.full(7, 1 / 7)
    moving = written_out(x, beta * x @ x.T, masses, normalised=normalised)
    tangent = np.array([v - (v @ t) * t for v, t in zip(moving, x, strict=True)])
    close(on_sphere(beta, normalised=normalised)(x), tangent)


@pytest.mark.parametrize("kind", [SoftmaxField, UnnormalisedField])
def test_masses_values_and_scores(kind):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 2))
    value = rng.normal(size=(2, 2))
    masses = rng.uniform(size=6)
    for score in (DotProduct(form=rng.normal(size=(2, 2))), SquaredDistance(1.3)):
        expected = written_out(x, score.matrix(x, x), masses, normalised=kind is SoftmaxField, value=value)
        close(kind(score, value=value, weights=masses)(x), expected)


def test_masses_count_by_their_ratios_with_a_denominator_and_as_they_are_without():
    x = sphere(5, 2)
    close(on_sphere(1.0, weights=3.0 * np.ones(5))(x), on_sphere(1.0)(x))
    doubled = on_sphere(1.0, weights=np.full(5, 0.4), normalised=False)(x)
    close(doubled, 2.0 * on_sphere(1.0, normalised=False)(x))


@pytest.mark.parametrize("normalised", [True, False])
def test_a_causal_token_sees_those_up_to_itself(normalised):
    x = sphere(6, 3)
    found = on_sphere(2.0, causal=True, normalised=normalised)(x)
    for k in range(6):
        masses = np.full(k + 1, 1 / 6)
        moving = written_out(x[: k + 1], 2.0 * x[: k + 1] @ x[: k + 1].T, masses, normalised=normalised)[k]
        close(found[k], moving - (moving @ x[k]) * x[k])


def test_only_the_direction_of_a_token_enters_a_layer_before_which_it_is_normalised():
    x = sphere(5, 3)
    field = SoftmaxField(Overlap(1.5))
    lengths = np.array([[0.1], [1.0], [3.0], [1e8], [1e-8]])
    close(PreNorm(field)(lengths * x), field(x))


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("n", [5, 4000])
def test_angles_move_as_points_of_the_circle(beta, normalised, n):
    theta = np.random.default_rng(2).uniform(-4.0, 9.0, size=(n, 1))
    x = np.concatenate([np.cos(theta), np.sin(theta)], axis=1)
    moving = on_sphere(beta, normalised=normalised)(x)
    turning = x[:, :1] * moving[:, 1:] - x[:, 1:] * moving[:, :1]
    np.testing.assert_allclose(CircleField(beta, normalised=normalised)(theta), turning, rtol=0, atol=1e-11)


def test_masses_on_the_circle():
    theta, masses = np.array([[0.0], [1.0], [2.5]]), np.array([0.5, 0.0, 0.25])
    found = CircleField(2.0, weights=masses)(theta)
    weights = masses * np.exp(2.0 * np.cos(theta - theta.T))
    close(found[:, 0], (weights * np.sin(theta.T - theta)).sum(axis=1) / weights.sum(axis=1))
    found = CircleField(2.0, normalised=False, weights=masses)(theta)
    close(found[:, 0], (weights * np.sin(theta.T - theta)).sum(axis=1))


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e160, 1e300])
def test_pre_norm_sees_directions_of_any_length(size):
    field = PreNorm(SoftmaxField(Overlap(1.0)))
    x = np.array([[3.0, 4.0], [-5.0, 12.0]])
    assert field(size * x) == pytest.approx(field(x), rel=1e-3 if size < 1e-300 else 1e-14, abs=0.0)


@pytest.mark.parametrize("field", [on_sphere(720.0, normalised=False), CircleField(720.0, normalised=False)])
def test_sums_that_leave_float64_are_refused(field):
    tokens = np.zeros((2, 1)) if isinstance(field, CircleField) else np.eye(2)
    with pytest.raises(OverflowError, match=r"x: expected sums below exp\(709"):
        field(tokens)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: SoftmaxField(Overlap(1.0), value=np.ones((2, 3))), ValueError, "value: expected shape (2, 2)"),
        (lambda: SoftmaxField(Overlap(1.0), value=np.eye(2))(sphere(4, 3)), ValueError, "x: expected dimension 2"),
        (lambda: SoftmaxField(Overlap(1.0), weights=[1.0, -1.0]), ValueError, "weights: expected non-negative"),
        (
            lambda: SoftmaxField(Overlap(1.0), weights=[1.0, 1.0])(sphere(4, 3)),
            ValueError,
            "weights: expected shape (4,)",
        ),
        (lambda: on_sphere(np.nan), ValueError, "beta: expected finite"),
        (lambda: on_sphere([1.0, 2.0]), TypeError, "beta: expected a number"),
        (lambda: CircleField(np.inf), ValueError, "beta: expected finite"),
        (lambda: CircleField(1.0)(np.zeros(4)), ValueError, "theta: expected shape (n, 1)"),
        (
            lambda: PreNorm(SoftmaxField(Overlap(1.0)))([[0.0, 0.0], [1.0, 0.0]]),
            ValueError,
            "x: expected tokens away from",
        ),
        (lambda: Tangential(SoftmaxField(Overlap(1.0)))([[np.nan, 0.0]]), ValueError, "x: expected finite"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_flags_are_flags():
    for given in ({"normalised": "no"}, {"causal": 1}, {"normalised": np.array([True])}):
        with pytest.raises(TypeError, match=f"{next(iter(given))}: expected True or False"):
            on_sphere(1.0, **given)
