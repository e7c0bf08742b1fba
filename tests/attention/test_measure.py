"""A measure is a law on a finite set: its invariants, its moments in exact arithmetic, and what it refuses."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.attention.inputs import DISGUISES, disguised
from theory import Measure
from theory.evidence import stream
from theory.evidence.roundoff import gamma

POINTS = np.array([[1.0, 2.0], [3.0, -4.0], [0.0, 5.0]])
LAW = np.array([0.5, 0.25, 0.25])
CLOUDS = st.lists(
    st.tuples(st.integers(-64, 64), st.integers(-64, 64), st.integers(0, 9)), min_size=1, max_size=9
).filter(lambda rows: any(w for *_, w in rows))


def cloud(rows):
    return Measure.normalised([[x / 8, y / 8] for x, y, _ in rows], [w for *_, w in rows])


def exact_mean(mu, values):
    """The integral of float values against the float weights, in rational arithmetic."""
    return sum(Fraction(w) * Fraction(v) for w, v in zip(mu.weights.tolist(), values.tolist(), strict=True))


@given(CLOUDS)
@settings(deadline=None, derandomize=True)
def test_invariants(rows):
    mu = cloud(rows)
    assert mu.points.shape == (mu.size, mu.dim) == (len(rows), 2)
    assert mu.weights.shape == (mu.size,)
    assert mu.weights.min() >= 0.0
    assert abs(math.fsum(mu.weights) - 1.0) <= gamma(mu.size)
    for array in (mu.points, mu.weights):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable


@given(CLOUDS)
@settings(deadline=None, derandomize=True)
def test_moments_against_rationals(rows):
    mu = cloud(rows)
    n = mu.size
    mean = mu.mean()
    for k in range(2):
        assert abs(Fraction(mean[k]) - exact_mean(mu, mu.points[:, k])) <= gamma(n) * 8.0
    covariance = mu.covariance()
    total = sum(Fraction(w) for w in mu.weights.tolist())
    exact = [exact_mean(mu, mu.points[:, k]) for k in range(2)]
    for i in range(2):
        for j in range(2):
            centred = sum(
                Fraction(w) * (Fraction(p[i]) - exact[i]) * (Fraction(p[j]) - exact[j])
                for w, p in zip(mu.weights.tolist(), mu.points.tolist(), strict=True)
            )
            assert abs(Fraction(covariance[i, j]) - centred) <= 2 * gamma(2 * n + 8) * 256.0
    assert abs(mu.variance() - np.trace(covariance)) <= gamma(2 * n + 8) * 512.0
    assert abs(total - 1) <= gamma(n)
    assert mu.variance() >= 0.0


def test_closed_forms():
    mu = Measure([[0.0, 0.0], [4.0, 8.0]], [0.75, 0.25])
    assert np.array_equal(mu.mean(), [1.0, 2.0])
    assert np.array_equal(mu.covariance(), [[3.0, 6.0], [6.0, 12.0]])
    assert mu.variance() == 15.0
    assert np.array_equal(mu.integrate(lambda y: y[:, 0] * y[:, 1]), [8.0])
    assert np.array_equal(mu.integrate(lambda y: y**2), [4.0, 16.0])
    assert np.array_equal(mu.linear_image([[1.0, 1.0]]).points, [[0.0], [12.0]])
    assert np.array_equal(mu.linear_image([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]]).points[1], [8.0, 4.0, 8.0])
    assert repr(mu) == "Measure(size=2, dim=2)"


def test_variance_of_nearly_merged_points_keeps_its_digits():
    """Centred points, not the difference of two second moments, which would be zero or negative here."""
    step = 2.0**-30
    mu = Measure([[1.0 - step], [1.0 + step]])
    assert mu.variance() == step**2
    assert mu.covariance()[0, 0] == step**2


def test_equal_weights_unless_given():
    assert np.array_equal(Measure(POINTS).weights, np.full(3, 1 / 3))
    assert np.array_equal(Measure.dirac([1, 2]).points, [[1.0, 2.0]])
    assert np.array_equal(Measure.dirac([1, 2]).weights, [1.0])


def test_normalised_divides_by_the_sum():
    mu = Measure.normalised(POINTS, [2, 1, 1])
    assert np.array_equal(mu.weights, LAW)
    tiny = Measure.normalised(POINTS, [2e-300, 1e-300, 1e-300])
    assert np.abs(tiny.weights - LAW).max() <= gamma(3)
    assert np.array_equal(Measure.normalised([[0.0]], [5e-324]).weights, [1.0])


def test_read_only_and_owned():
    points, weights = POINTS.copy(), LAW.copy()
    mu = Measure(points, weights)
    points[0, 0], weights[0] = 99.0, 99.0
    assert np.array_equal(mu.points, POINTS)
    assert np.array_equal(mu.weights, LAW)
    for array in (mu.points, mu.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        mu.points = POINTS


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda mu: pickle.loads(pickle.dumps(mu))])  # noqa: S301
def test_copies_are_read_only_too(duplicate):
    mu = duplicate(Measure(POINTS, LAW))
    assert np.array_equal(mu.points, POINTS)
    assert np.array_equal(mu.weights, LAW)
    assert not mu.points.flags.writeable
    assert not mu.weights.flags.writeable


@pytest.mark.parametrize("kind", DISGUISES)
def test_arrays_taken_exactly(kind):
    points = np.array([[1.0, 2.0], [3.0, -4.0]])
    mu = Measure(disguised(points)[kind], disguised(np.array([1.0, 0.0]))[kind])
    assert np.array_equal(mu.points, points)
    assert np.array_equal(mu.weights, [1.0, 0.0])
    assert np.array_equal(
        Measure.normalised(disguised(points)[kind], disguised(np.array([1.0, 3.0]))[kind]).weights, [0.25, 0.75]
    )
    assert np.array_equal(Measure.dirac(disguised(points[0])[kind]).points, points[:1])
    assert np.array_equal(mu.linear_image(disguised(points)[kind]).points, mu.linear_image(points).points)


@pytest.mark.parametrize("bad", [[0.5, 0.5, -1e-300], [0.0, 0.0, 0.0], [0.5, 0.25, 0.5], [0.5, 0.25, 0.2], [0.5, 0.5]])
def test_bad_weights(bad):
    with pytest.raises(ValueError, match=r"^weights: expected "):
        Measure(POINTS, bad)


@pytest.mark.parametrize("bad", [[0.5, 0.5, -1e-300], [0.0, 0.0, 0.0], [1.0, 1.0], [1e308, 1e308, 1e308]])
def test_bad_masses(bad):
    with pytest.raises(ValueError, match=r"^masses: expected "):
        Measure.normalised(POINTS, bad)


@pytest.mark.parametrize(
    "function", [lambda y: 1j * y[:, 0], lambda y: y[:1], lambda y: y.T, lambda _: 1.0, lambda _: ["1", "2", "3"]]
)
def test_integrand_of_the_wrong_sort(function):
    with pytest.raises((ValueError, TypeError), match=r"^function: expected "):
        Measure(POINTS).integrate(function)


def test_matrix_of_the_wrong_width():
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(n, 2\), got shape \(2, 3\)$"):
        Measure(POINTS).linear_image(np.ones((2, 3)))


def test_overflow_is_refused():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"^points: expected finite numbers, got inf"):
        Measure([[1e308]]).linear_image([[10.0]])


@given(CLOUDS, CLOUDS, st.integers(0, 8))
@settings(deadline=None, derandomize=True)
def test_mixture(left, right, eighths):
    mu = cloud(left)
    nu = cloud(right)
    share = eighths / 8
    mixed = mu.mix(nu, share)
    assert np.array_equal(mixed.points, np.concatenate([mu.points, nu.points]))
    expected = np.concatenate([(1.0 - share) * mu.weights, share * nu.weights])
    assert np.abs(mixed.weights - expected).max() <= gamma(mixed.size + 2)
    assert np.abs(mixed.mean() - (1.0 - share) * mu.mean() - share * nu.mean()).max() <= 24.0 * gamma(mixed.size + 4)


@pytest.mark.parametrize("share", [-1e-9, 1.0 + 1e-9, math.nan, "half", None])
def test_bad_share(share):
    with pytest.raises((ValueError, TypeError), match=r"^share: expected a number"):
        Measure([[0.0]]).mix(Measure([[1.0]]), share)


def test_mixture_of_what_does_not_mix():
    with pytest.raises(ValueError, match=r"^other: expected dimension 1, got 2$"):
        Measure([[0.0]]).mix(Measure([[1.0, 2.0]]), 0.5)
    with pytest.raises(TypeError, match=r"^other: expected a Measure, got list$"):
        Measure([[0.0]]).mix([[1.0]], 0.5)


@pytest.mark.parametrize("times", [1, 2, 3, 10])
def test_replicas_are_the_same_law(times):
    mu = Measure(POINTS, LAW)
    copies = mu.replicate(times)
    assert copies.size == 3 * times
    assert np.array_equal(copies.points, np.repeat(POINTS, times, axis=0))
    assert np.abs(copies.weights - np.repeat(LAW, times) / times).max() <= gamma(3 * times)
    for bad in (0, -1):
        with pytest.raises(ValueError, match=r"^times: expected an integer of at least 1"):
            mu.replicate(bad)
    with pytest.raises(TypeError, match=r"^times: expected an integer, got float$"):
        mu.replicate(2.0)


def test_push_forward_keeps_weights_and_order():
    image = Measure(POINTS, LAW).push_forward(lambda y: y[:, :1] ** 2)
    assert np.array_equal(image.points, [[1.0], [9.0], [0.0]])
    assert np.array_equal(image.weights, LAW)
    with pytest.raises(ValueError, match=r"^function: expected shape \(3, d\), got shape \(2, 2\)$"):
        Measure(POINTS).push_forward(lambda y: y[:2])


def test_sample_is_empirical():
    mu = Measure([[0.0], [1.0], [2.0]], [0.75, 0.25, 0.0])
    drawn = mu.sample(4000, stream("tests.measure.sample", 0))
    assert drawn.size == 4000
    assert np.array_equal(drawn.weights, np.full(4000, 1 / 4000))
    ones = int(drawn.points.sum())
    assert 2.0 not in drawn.points
    assert abs(ones - 1000) <= 6 * math.sqrt(4000 * 0.25 * 0.75)  # six deviations, of a fixed stream
    again = mu.sample(4000, stream("tests.measure.sample", 0))
    assert np.array_equal(drawn.points, again.points)
    with pytest.raises(ValueError, match=r"^size: expected an integer of at least 1, got 0$"):
        mu.sample(0, stream("tests.measure.sample", 1))


@pytest.mark.parametrize("points", [[[1e200], [-1e200]], [[1.7e308], [-1.7e308]]])
def test_second_moments_that_overflow_are_refused(points):
    for name in ("variance", "covariance"):
        with pytest.raises(ValueError, match=rf"^points: expected a {name} that float64 can hold, got (inf|nan)$"):
            getattr(Measure(points), name)()
    assert Measure([[1e150], [-1e150]]).variance() == Measure([[1e150], [-1e150]]).covariance()[0, 0] == 1e150**2


def test_weights_of_another_sum_are_told_what_to_do():
    rounded = np.full(3, 1 / 3, dtype=np.float32)
    with pytest.raises(ValueError, match=r"^weights: expected masses with sum 1 .*; Measure\.normalised divides by"):
        Measure(POINTS, rounded)
    assert Measure.normalised(POINTS, rounded).size == 3


class Tracked:
    """Refuses to become an array, as a tensor does that tracks gradients."""

    def __init__(self, fault):
        self.fault = fault

    def __array__(self, *args, **kwargs):
        raise self.fault("use detach() first")


@pytest.mark.parametrize("fault", [RuntimeError, TypeError])
def test_tensor_that_cannot_be_read_is_refused_by_name(fault):
    with pytest.raises(TypeError, match=r"^points: expected an array that NumPy can read, got Tracked: use detach"):
        Measure(Tracked(fault))


def test_tensors_of_another_library():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"^points: expected an array that NumPy can read, got Tensor: .*detach"):
        Measure(torch.ones((2, 2), dtype=torch.float64, requires_grad=True))
    assert np.array_equal(Measure(torch.ones((2, 2), dtype=torch.float64)).points, np.ones((2, 2)))
