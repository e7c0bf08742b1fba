"""What queries, keys and values are off is in the enclosures of attention, where it does the most that it can."""

import math

import numpy as np
import pytest

from theory.attention import DotProduct
from theory.attention.enclosed import enclose_outputs, enclose_weights
from theory.evidence import exact, within

PLAIN = DotProduct(scale=1.0)
KEYS = np.array([[0.0], [1.0]])
OFF = 2.0**-10
WIDEST = 16.0 * OFF  # the widest score is charged to every weight, above and below
ONCE = 1.0 + 1e-9  # what rounding may add to a width that is attained


def test_outputs_move_with_all_values():
    values = np.array([[1.0], [3.0]])
    floats = enclose_outputs(PLAIN, exact([[0.5]]), exact(KEYS), exact(values)).output.mid
    found = enclose_outputs(PLAIN, exact([[0.5]]), exact(KEYS), within(values, OFF)).output
    assert (floats + OFF <= found.hi).all()
    assert (found.hi <= floats + OFF * ONCE).all()
    assert (found.lo <= floats - OFF).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_all_that_a_score_moves_is_in_the_answers(side):
    """The query may stand at either end of what is known of it."""
    query = 0.5 + side * OFF
    given = within([[0.5]], OFF)
    weight = 1.0 / (1.0 + math.exp(-query))
    weights = enclose_weights(PLAIN, given, exact(KEYS))
    assert weights.lo[0, 1] <= weight <= weights.hi[0, 1]
    assert weights.hi[0, 1] - weights.lo[0, 1] < WIDEST
    found = enclose_outputs(PLAIN, given, exact(KEYS), exact(KEYS))
    assert found.output.lo[0, 0] <= weight <= found.output.hi[0, 0]
    alone = enclose_outputs(PLAIN, given, exact(KEYS[1:]), exact(KEYS[1:])).log_partition
    assert alone.lo[0] <= query <= alone.hi[0]
    assert alone.hi[0] - alone.lo[0] < WIDEST


def test_what_a_mass_is_off_is_in_the_log_partition():
    masses = within([0.0], OFF)
    alone = enclose_outputs(PLAIN, exact([[0.5]]), exact(KEYS[1:]), exact(KEYS[1:]), log_weights=masses).log_partition
    assert alone.lo[0] <= 0.5 - OFF < 0.5 + OFF <= alone.hi[0]
    assert alone.hi[0] - alone.lo[0] < WIDEST
