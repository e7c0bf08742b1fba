"""Keys attended to part by part: any split, in any order, joined in any way, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory import engine
from theory.attention import DotProduct, SquaredDistance, partition_error, weight_error
from theory.engine import AttentionResult, merge
from theory.evidence import stream
from theory.evidence.roundoff import average_error, gamma

N = 24


def bounds(score, x, y, v, added, parts):
    """Bound the errors of a merged output and log-partition.

    A part's log-partition moves its share by as much; each joining adds an exponential, a product, a quotient, a sum.
    """
    relative = weight_error(x, y, score, added)
    share = partition_error(x, y, score, added) + relative
    size = score.bounds(x, y)[0] + float(np.abs(added).max()) + 5.0
    first_order = share + gamma(32 * parts) * (1.0 + size)
    largest = float(np.abs(v).max())
    return 2.0 * average_error(largest, len(y), relative=math.expm1(2.0 * first_order)), 2.0 * first_order


def problem(case, size=1.0):
    rng = stream("tests.streaming", case)
    x = rng.normal(size=(3, 2))
    y = size * rng.normal(size=(N, 2))
    v = rng.normal(size=(N, 2))
    return x, y, v, 5.0 * rng.normal(size=N)


def part_of(score, x, y, v, added, chosen):
    pairs = score.pairs(x, np.ascontiguousarray(y[chosen]))
    return engine.attention(pairs, np.ascontiguousarray(v[chosen]), log_weights=added[chosen])


def joined(parts, draw):
    """Join neighbours, a few at a time, until one is left."""
    while len(parts) > 1:
        at = draw(st.integers(0, len(parts) - 2))
        stop = draw(st.integers(at + 2, len(parts)))
        parts = [*parts[:at], merge(parts[at:stop]), *parts[stop:]]
    return parts[0]


@given(st.data(), st.sampled_from(["dot", "distance"]), st.sampled_from([0.1, 1.0, 30.0]))
def test_any_split_in_any_order(data, form, size):
    score = DotProduct(scale=1.0) if form == "dot" else SquaredDistance(1.0)
    x, y, v, added = problem(0, size)
    order = data.draw(st.permutations(range(N)))
    cuts = sorted(data.draw(st.sets(st.integers(1, N - 1), max_size=5)))
    parts = [part_of(score, x, y, v, added, list(chosen)) for chosen in np.split(order, cuts)]
    found = joined(parts, data.draw)
    whole = engine.attention(score.pairs(x, y), v, log_weights=added)
    outputs, logs = bounds(score, x, y, v, added, 2 * len(parts))
    assert np.abs(found.output - whole.output).max() <= 2.0 * outputs
    assert np.abs(found.log_partition - whole.log_partition).max() <= 2.0 * logs


def test_one_part_is_itself():
    whole = part_of(SquaredDistance(1.0), *problem(1), list(range(N)))
    again = merge([whole])
    assert np.array_equal(again.output, whole.output)
    assert np.array_equal(again.log_partition, whole.log_partition)


def test_parts_far_apart():
    """A part lighter by more than floats can say is not seen; equal ones are averaged, whatever their size."""
    for base in (-1e6, 0.0, 1e6):
        heavy = AttentionResult(np.array([[1.0]]), np.array([base]))
        light = AttentionResult(np.array([[5.0]]), np.array([base - 2000.0]))
        for parts in ([heavy, light], [light, heavy]):
            found = merge(parts)
            assert (found.output.item(), found.log_partition.item()) == (1.0, base)
        half = merge([heavy, AttentionResult(np.array([[3.0]]), np.array([base]))])
        assert half.output.item() == 2.0
        assert abs(half.log_partition.item() - base - math.log(2.0)) <= 2.0**-52 * (abs(base) + 1.0)


def test_rows_are_merged_one_by_one():
    left = AttentionResult(np.array([[1.0, 0.0], [0.0, 2.0]]), np.log([1.0, 3.0]))
    right = AttentionResult(np.array([[4.0, 4.0], [4.0, 4.0]]), np.log([3.0, 1.0]))
    assert np.abs(merge([left, right]).output - [[3.25, 3.0], [1.0, 2.5]]).max() <= gamma(32) * 4.0


def test_method_and_error_are_those_of_the_parts():
    parts = [
        AttentionResult(np.ones((1, 1)), np.zeros(1), *rest)
        for rest in (("local", 1e-6), ("dense", 0.0), ("local", 1e-3))
    ]
    found = merge([merge(parts[:2]), parts[2]])
    assert (found.method, found.error) == ("dense+local", 1e-3)


def test_nothing_to_merge_and_shapes_that_differ():
    with pytest.raises(ValueError, match=r"^parts: expected at least one, got none$"):
        merge([])
    one = AttentionResult(np.ones((1, 1)), np.zeros(1))
    two = AttentionResult(np.ones((2, 1)), np.zeros(2))
    with pytest.raises(
        ValueError, match=r"^parts: expected one shape of outputs and a log-partition for each row, got "
    ):
        merge([one, two])
    with pytest.raises(
        ValueError, match=r"^parts: expected one shape of outputs and a log-partition for each row, got "
    ):
        merge([AttentionResult(np.ones((1, 1)), np.zeros(2))])
    with pytest.raises(ValueError, match=r"^parts: expected finite log-partitions, got one that is not$"):
        merge([AttentionResult(np.ones((1, 1)), np.full(1, -np.inf))])
    with pytest.raises(TypeError, match=r"^parts: expected results of attention, got tuple$"):
        merge([(np.ones((1, 1)), np.zeros(1))])
