"""The public door: attention in closed form and in ball arithmetic, masks, weights, bounds, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.attention import exact
from tests.attention.inputs import DISGUISES, disguised
from theory import attend
from theory.attention import (
    Additive,
    DotProduct,
    SquaredDistance,
    partition_error,
    prepare,
    read,
    rounding,
    weight_error,
)
from theory.engine import TILE
from theory.evidence import stream
from theory.evidence.roundoff import EXP_ULPS, gamma

QUERIES = np.array([[1.0, 0.0], [0.0, -2.0], [3.0, 1.0]])
KEYS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])
VALUES = np.array([[1.0, 0.0, 4.0], [2.0, 2.0, 0.0], [0.0, -3.0, 1.0]])
MASSES = np.array([2.0, 0.0, 1.0])
PLAIN = DotProduct(scale=1.0)


@pytest.fixture(params=["compiled", "reference"])
def backend(request, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", request.param)
    return request.param


class Negative:
    """A score of a user's own, with nothing but its matrix: minus the sum of absolute differences."""

    def matrix(self, x, y):  # noqa: D102
        return -np.abs(x[:, np.newaxis, :] - y[np.newaxis, :, :]).sum(axis=2)


def test_closed_forms(backend):
    assert np.array_equal(attend([[0.0]], [[1.0], [2.0]], [[1.0], [3.0]]), [[2.0]])
    assert np.array_equal(attend([[7.0]], [[1.0]], [[5.0, 6.0]]), [[5.0, 6.0]])  # one key has all the weight
    third = attend([[math.log(2.0)]], [[1.0], [0.0]], [[1.0], [4.0]])  # weights 2/3 and 1/3
    assert np.abs(third - 2.0).max() <= rounding([[1.0]], [[1.0], [0.0]], [[1.0], [4.0]])
    half = attend(np.zeros((1, 4)), np.zeros((2, 4)), [[1.0], [2.0]], weights=[3, 1])
    assert np.abs(half - 1.25).max() <= rounding(np.zeros((1, 4)), np.zeros((2, 4)), [[1.0], [2.0]], weights=[3, 1])


def test_default_score_is_divided_by_the_root_of_the_dimension(backend):
    """In dimension four a dot product of 2 log 3 is a score of log 3."""
    keys = np.zeros((2, 4))
    keys[0] = math.log(3.0) / 2.0
    queries = np.ones((1, 4))
    values = np.array([[1.0], [0.0]])
    error = rounding(queries, keys, values) + gamma(16)
    assert abs(attend(queries, keys, values)[0, 0] - 0.75) <= error


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "score", [DotProduct(), PLAIN, SquaredDistance(0.7), Additive(np.eye(3), 2.0 * np.eye(3), np.arange(3.0))]
)
def test_output_against_balls(score, weighted, causal, backend):
    for case, n in enumerate((1, 2, 5, 40)):
        rng = stream("tests.output.balls", case)
        x, y, v = rng.normal(size=(3, n, 3))
        masses = rng.integers(0, 4, size=n).astype(float) + (np.arange(n) == 0) if weighted else None
        visible = np.arange(1, n + 1) if causal else None
        scores = exact.scores(score, x, y)
        claimed = exact.average(scores, v, masses, visible)
        measured = attend(x, y, v, score=score, weights=masses, causal=causal)
        error = rounding(x, y, v, score=score, weights=masses, causal=causal)
        assert exact.apart(measured, claimed) <= error
        assert error <= 1e-11 * np.abs(v).max()  # the bound says something


@pytest.mark.parametrize("n", [TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
def test_causal_across_tiles(n, backend):
    """Query i averages the values 0 to i when all scores are equal: i / 2."""
    values = np.arange(float(n))[:, np.newaxis]
    output = attend(np.ones((n, 1)), np.ones((n, 1)), values, causal=True)
    error = rounding(np.ones((n, 1)), np.ones((n, 1)), values)
    assert np.abs(output - values / 2.0).max() <= error


def test_a_key_of_weight_zero_is_absent(backend):
    left = attend(QUERIES, KEYS, VALUES, weights=MASSES)
    right = attend(QUERIES, KEYS[[0, 2]], VALUES[[0, 2]], weights=MASSES[[0, 2]])
    assert np.array_equal(left, right)
    spoilt_values = VALUES.copy()
    spoilt_values[1] = 1e300
    assert np.array_equal(left, attend(QUERIES, KEYS, spoilt_values, weights=MASSES))


def test_only_ratios_of_the_weights_matter(backend):
    base = attend(QUERIES, KEYS, VALUES, weights=[3, 1, 2])
    for factor in (5e-324, 1e-300, 1e300):
        scaled = factor * np.array([3.0, 1.0, 2.0])
        error = rounding(QUERIES, KEYS, VALUES, weights=scaled) + rounding(QUERIES, KEYS, VALUES, weights=[3, 1, 2])
        assert np.abs(attend(QUERIES, KEYS, VALUES, weights=scaled) - base).max() <= error


def test_causal_weights(backend):
    """A query sees what is written up to itself, in the order of the sequence, padded tokens left out."""
    n = 6
    rng = stream("tests.output.padded", 0)
    x, v = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    masses = np.array([1.0, 0.0, 2.0, 0.0, 0.0, 1.0])
    output = attend(x, x, v, score=PLAIN, weights=masses, causal=True)
    for i in range(n):
        row = attend(x[i : i + 1], x[: i + 1], v[: i + 1], score=PLAIN, weights=masses[: i + 1])
        assert np.abs(output[i] - row[0]).max() <= 2.0 * rounding(x, x, v, score=PLAIN, weights=masses)
    with pytest.raises(ValueError, match=r"^weights: expected a key of positive weight at or before every query"):
        attend(x, x, v, weights=[0, 1, 1, 1, 1, 1], causal=True)


def test_a_score_with_nothing_but_its_matrix():
    """The numbers are those of the score that the engine knows, whatever the backend and the number of blocks."""
    for case, (m, n) in enumerate([(1, 1), (3, 7), (TILE + 1, 3), (2, TILE + 1)]):
        rng = stream("tests.output.given", case)
        x = rng.normal(size=(m, 2))
        y = rng.normal(size=(n, 2))
        v = rng.normal(size=(n, 2))

        class Given:
            def matrix(self, x, y):
                return PLAIN.matrix(x, y)

        for arguments in ({}, {"weights": np.arange(1.0, n + 1)}, *([{"causal": True}] if m == n else [])):
            error = 2.0 * rounding(x, y, v, score=PLAIN, **arguments)
            apart = attend(x, y, v, score=Given(), **arguments) - attend(x, y, v, score=PLAIN, **arguments)
            assert np.abs(apart).max() <= error
    by_hand = np.exp([-3.0, -2.0])
    expected = by_hand[1] / by_hand.sum()
    assert abs(attend([[0.0, 0.0]], [[1.0, 2.0], [1.0, 1.0]], [[0.0], [1.0]], score=Negative())[0, 0] - expected) <= (
        gamma(64)
    )


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (lambda x, y: np.zeros((y.shape[0], x.shape[0])), r"expected shape \(1, 3\), got shape \(3, 1\)"),
        (lambda x, y: np.full((x.shape[0], y.shape[0]), np.nan), r"expected finite numbers, got nan at index \(0, 0\)"),
        (lambda x, y: np.full((x.shape[0], y.shape[0]), -np.inf), r"expected finite numbers, got -inf at"),
        (
            lambda x, y: np.zeros((x.shape[0], y.shape[0]), dtype=complex),
            r"expected real numbers that float64 can hold",
        ),
        (lambda x, y: 0.0, r"expected shape \(1, 3\), got shape \(\)"),  # noqa: ARG005
    ],
)
def test_a_score_that_returns_something_else(matrix, words):
    class Given:
        pass

    Given.matrix = staticmethod(matrix)
    with pytest.raises((ValueError, TypeError), match=rf"^score.matrix: {words}"):
        attend(QUERIES[:1], KEYS, VALUES, score=Given())


@pytest.mark.parametrize("kind", DISGUISES)
@pytest.mark.parametrize("which", ["queries", "keys", "values", "weights"])
def test_arrays_taken_exactly(which, kind, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "reference")
    arguments = {"queries": QUERIES, "keys": KEYS, "values": VALUES, "weights": MASSES}
    expected = attend(**arguments)
    given = disguised(arguments[which])[kind]
    assert np.array_equal(attend(**{**arguments, which: given}), expected)


@pytest.mark.parametrize("kind", ["integers", "float32", "Fortran order", "strided", "reversed", "read-only"])
def test_compiled_kernels_take_arrays_exactly(kind, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "compiled")
    arguments = {"queries": QUERIES, "keys": KEYS, "values": VALUES, "weights": MASSES}
    expected = attend(**arguments)
    assert np.array_equal(attend(**{name: disguised(array)[kind] for name, array in arguments.items()}), expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"values": VALUES[:2]}, "values: expected shape (3, d), got shape (2, 3)"),
        ({"keys": KEYS[:, :1]}, "keys: expected dimension 2 as the queries, got 1"),
        ({"weights": [1.0, 1.0]}, "weights: expected shape (3,), got shape (2,)"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights: expected non-negative masses, got -1.0 at index 1"),
        ({"weights": [0, 0, 0]}, "weights: expected a positive, finite total mass, got 0.0"),
        ({"queries": QUERIES[:2], "causal": True}, "causal: expected as many queries as keys, got 2 and 3"),
    ],
)
def test_words(arguments, words):
    for function in (attend, rounding):
        with pytest.raises(ValueError, match=r": expected ") as caught:
            function(**{"queries": QUERIES, "keys": KEYS, "values": VALUES, **arguments})
        assert str(caught.value) == words


@pytest.mark.parametrize(("left", "right"), [(1e10, 1e10), (1e150, 1e150), (1e-200, 1e200), (1e160, 1e-160)])
def test_bound_of_extreme_scores_is_a_bound(left, right):
    """Where nothing is known of the weights the bound is large or infinite, but a number."""
    bound = rounding([[left]], [[right], [-right]], [[1.0], [2.0]])
    assert bound >= 0.0
    assert weight_error(np.array([[left]]), np.array([[right]]), PLAIN) >= 0.0


@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-308])
def test_bound_charges_products_that_are_denormal(size, backend):
    """The last digit of a denormal value is half as large as itself."""
    for case in range(20):
        rng = stream("tests.output.denormal", case)
        x = rng.normal(size=(2, 2))
        y = rng.normal(size=(7, 2))
        v = size * rng.integers(0, 9, size=(7, 1))
        truth = exact.average(exact.scores(PLAIN, x, y), v)
        assert exact.apart(attend(x, y, v, score=PLAIN), truth) <= rounding(x, y, v, score=PLAIN)


@pytest.mark.parametrize("added", [0.0, 1.0, 600.0])
@pytest.mark.parametrize("n", [1, 5, 3 * TILE + 1])
@pytest.mark.parametrize("score", [PLAIN, SquaredDistance(0.7)])
def test_no_term_of_the_bound_is_left_out(score, n, added):
    """Twice the first order of what the docstrings list, added up in fractions; the bound may only be larger.

    A score is off by its own bound, a log-weight by an exponential's error and its sum with the score by two roundings;
    in base two by fourteen more. Twice that, four roundings of the spread, the sum of n and the tiles make a weight.
    """
    rng = stream("tests.output.terms", n)
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(n, 3))
    logs = np.linspace(-added, added, n) if n > 1 else np.array([added])
    u, (size, error) = Fraction(1, 2**53), (Fraction(bound) for bound in score.bounds(x, y))
    whole = size + Fraction(added)
    off = error + 14 * u * whole + 2 * EXP_ULPS * u * Fraction(added) + 2 * u * whole
    tiles = -(-n // TILE)
    first_order = 2 * off + (4 * 2 * whole + n + 2 * EXP_ULPS + 3 + tiles * (EXP_ULPS + 3)) * u
    least = 2 * first_order * (1 - Fraction(1, 2**40))
    assert least <= Fraction(weight_error(x, y, score, logs)) <= 2 * least
    relative = weight_error(x, y, score, logs)
    logarithm = gamma(2 * EXP_ULPS + 6) * float(whole + Fraction(math.log(n)))
    assert partition_error(x, y, score, logs) >= relative + logarithm * (1.0 - 1e-12)


def test_rounding_needs_a_score_that_bounds_itself():
    with pytest.raises((TypeError, AttributeError)):
        rounding(QUERIES, KEYS, VALUES, score=Negative())


def test_positional_arguments_stop_at_the_values():
    with pytest.raises(TypeError):
        attend(QUERIES, KEYS, VALUES, PLAIN)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_mass_has_one_logarithm_wherever_it_lies(prepared):
    """Of a lone number at a negative stride NumPy may take another loop, which rounds otherwise."""
    one = np.ones((1, 1))
    masses = np.linspace(0.1, 10.0, 8000).tolist()
    unlike = [x for x in masses if np.log(np.array([1.0, x])[::-1][:1])[0] != np.log(np.array([x]))[0]]
    for x in [0.3, *unlike[:10]]:
        found = []
        for view in (np.array([x]), np.array([1.0, x])[::-1][:1], np.array([x, 1.0])[::2]):
            layer = prepare(keys=one, values=one, weights=view)
            asked = layer.read(one) if prepared else read(one, one, one, weights=view)
            found.append(asked.log_partition[0])
        assert found[0] == found[1] == found[2]
