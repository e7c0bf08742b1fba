"""What two clouds of keys make of the same queries, against mpmath and against what is known of it."""

import mpmath
import numpy as np
import pytest

from theory.diffusion.limits import compare_halves, seen_dimension, smallest_bandwidth
from theory.evidence import Interval, exact

RNG = np.random.default_rng(5)
QUERIES, FIRST, SECOND = (RNG.normal(size=(n, 3)) for n in (5, 9, 7))


def outputs(x, keys, values, epsilon):
    """Attention outputs of every query, by mpmath."""
    rows = []
    for query in x:
        weights = [
            mpmath.exp(
                -sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(query, key, strict=True)) / (2 * epsilon)
            )
            for key in keys
        ]
        total = mpmath.fsum(weights)
        rows.append([mpmath.fdot(weights, [mpmath.mpf(v) for v in column]) / total for column in values.T])
    return rows


def steps(x, keys, epsilon):
    """Steps of every query, one coordinate after the other, by mpmath."""
    rows = outputs(x, keys, keys, mpmath.mpf(epsilon))
    return [out - mpmath.mpf(a) for row, query in zip(rows, x, strict=True) for out, a in zip(row, query, strict=True)]


def holds(found, truth):
    return mpmath.mpf(found.lo) <= truth <= mpmath.mpf(found.hi)


@pytest.mark.parametrize("shift", [0.0, 10.0])
@pytest.mark.parametrize("epsilon", [1e-2, 0.3, 5.0])
def test_halves_hold_the_truth(epsilon, shift):
    x, first, second = (cloud + shift for cloud in (QUERIES, FIRST, SECOND))
    with mpmath.workdps(60):
        a, b = steps(x, first, epsilon), steps(x, second, epsilon)
        apart = mpmath.fsum((u - v) ** 2 for u, v in zip(a, b, strict=True))
        share = apart / mpmath.fsum(u * u for u in a + b)
        mean = mpmath.fsum(((u + v) / 2) ** 2 for u, v in zip(a, b, strict=True))
        size = mpmath.sqrt(mean / len(x)) / mpmath.mpf(epsilon)
        found = compare_halves(x, first, second, epsilon)
        assert holds(found.disagreement, share)
        assert holds(found.size, size)
    assert found.size.width < 1e-6 * found.size.mid


def test_what_outputs_are_off_is_in_the_halves():
    """Two equal clouds disagree by nothing, and steps that vanish have a size that rounding alone has made."""
    ring = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]) / 3.0 + 1e3
    centre = np.full((1, 2), 1e3)
    with mpmath.workdps(60):
        truth = steps(centre, ring, 0.5)
        size = mpmath.sqrt(mpmath.fsum(u * u for u in truth)) / mpmath.mpf(0.5)
        assert holds(compare_halves(centre, ring, ring, 0.5).size, size)


def test_equal_clouds_agree():
    found = compare_halves(QUERIES, FIRST, FIRST, 0.5).disagreement
    assert 0.0 in found
    assert found.width < 1e-20


def test_opposed_clouds_disagree_by_two():
    """Steps in opposite directions: the difference is twice each."""
    found = compare_halves([[0.0]], [[1.0]], [[-1.0]], 0.5)
    assert 2.0 in found.disagreement
    assert 0.0 in found.size


def test_one_key_moves_its_query_all_the_way():
    found = compare_halves([[0.0, 0.0]], [[3.0, 4.0]], [[3.0, 4.0]], 0.25)
    assert 20.0 in found.size


@pytest.mark.parametrize("shift", [0.0, 10.0])
@pytest.mark.parametrize("epsilon", [1e-2, 0.3, 5.0])
def test_seen_dimension_holds_the_derivative_of_the_sums(epsilon, shift):
    x, keys = QUERIES + shift, FIRST + shift
    with mpmath.workdps(60):

        def log_sum(query, log_width):
            squares = [
                mpmath.fsum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(query, key, strict=True))
                for key in keys
            ]
            return mpmath.log(mpmath.fsum(mpmath.exp(-r / (2 * mpmath.exp(log_width))) for r in squares))

        place = mpmath.log(mpmath.mpf(epsilon))
        slopes = [
            2 * mpmath.diff(lambda t, query=query: log_sum(query, t), place, h=mpmath.mpf(10) ** -20) for query in x
        ]
        found = seen_dimension(x, keys, epsilon)
        assert holds(found + Interval(-1e-15, 1e-15), mpmath.fsum(slopes) / len(x))
    assert found.width < 1e-2


def test_the_dimension_of_a_lattice_is_that_of_its_span():
    line = np.arange(-50.0, 51.0)
    plane = np.stack([axis.ravel() for axis in np.meshgrid(line, line)], axis=1)
    turned = plane @ np.linalg.qr(RNG.normal(size=(4, 4)))[0][:2]
    assert seen_dimension(turned[5100:5101], turned, 4.0).mid == pytest.approx(2.0, rel=1e-9, abs=0.0)


def test_smallest_bandwidth_is_where_the_disagreement_crosses():
    rng = np.random.default_rng(1)
    x, first, second = (rng.normal(size=(n, 2)) for n in (40, 200, 200))
    found = smallest_bandwidth(x, first, second, widest=4.0, share=0.2)
    assert found.width < 1e-9
    octave = np.floor(np.log2(found.mid))
    low, high = (compare_halves(x, first, second, 2.0 ** (octave + k)).disagreement.mid for k in (0, 1))
    assert high < 0.2 < low
    part = np.interp(np.log(0.2), np.log([high, low]), [octave + 1, octave])
    assert np.log2(found.mid) == pytest.approx(part, rel=0.0, abs=1e-9)


def test_smallest_bandwidth_scales_with_the_square_of_the_tokens():
    rng = np.random.default_rng(1)
    x, first, second = (rng.normal(size=(n, 2)) for n in (40, 200, 200))
    small = smallest_bandwidth(x, first, second, widest=4.0)
    for factor in (1e-6, 1e6):
        large = smallest_bandwidth(factor * x, factor * first, factor * second, widest=4.0 * factor**2)
        assert large.mid == pytest.approx(small.mid * factor**2, rel=1e-6, abs=0.0)


def test_smallest_bandwidth_is_unknown_where_there_is_none():
    opposed = smallest_bandwidth([[0.0]], [[1.0]], [[-1.0]], widest=4.0)
    agreed = smallest_bandwidth(QUERIES, FIRST, FIRST, widest=4.0)
    assert not np.isfinite(opposed.width)
    assert not np.isfinite(agreed.width)


@pytest.mark.parametrize("length", [1e-170, 1e-160, 1e-150])
def test_lengths_of_which_squares_underflow(length):
    """One key takes its query all the way, however short that is."""
    with mpmath.workdps(60):
        width = mpmath.mpf(1e-300)
        assert holds(compare_halves([[0.0]], [[length]], [[length]], 1e-300).size, mpmath.mpf(length) / width)
        assert holds(seen_dimension([[0.0]], [[length]], 1e-300), mpmath.mpf(length) ** 2 / width)
        assert holds(seen_dimension([[length]], [[0.0]], 1e-300), mpmath.mpf(length) ** 2 / width)


def test_points_with_a_width_are_refused():
    wide = exact(QUERIES) + Interval(-1e-3, 1e-3)
    with pytest.raises(ValueError, match="queries: expected points that are known exactly"):
        compare_halves(wide, FIRST, SECOND, 0.5)
    assert compare_halves(exact(QUERIES), FIRST, SECOND, 0.5) == compare_halves(QUERIES, FIRST, SECOND, 0.5)


def test_a_share_is_between_nothing_and_all():
    with pytest.raises(ValueError, match="share: expected a number between 0 and 1"):
        smallest_bandwidth(QUERIES, FIRST, SECOND, widest=1.0, share=1.0)
