"""The search for a rate: by validation loss and nothing else, and never at an end of its grid."""

import numpy as np
import pytest

from theory.experiments.arms import choose_rate

GRID = (1e-3, 1e-2, 1e-1)


def bowl(best):
    """Losses of three runs that are least at a rate."""

    def validate(rate):
        return np.log(rate / best) ** 2 + np.array([0.0, 0.5, 1.0])

    return validate


def test_the_best_rate_inside_is_taken():
    found = choose_rate(bowl(2e-2), GRID, ratio=10.0, growths=0)
    assert found.rate == 1e-2
    assert list(found.means) == list(GRID)


@pytest.mark.parametrize(("best", "chosen"), [(1e-5, 1e-5), (1e2, 1e2)])
def test_the_grid_grows_until_the_best_rate_is_inside(best, chosen):
    found = choose_rate(bowl(best), GRID, ratio=10.0, growths=5)
    assert found.rate == pytest.approx(chosen, rel=1e-12, abs=0.0)
    assert min(found.means) < found.rate < max(found.means)


def test_a_grid_that_may_not_grow_on_is_a_failure():
    with pytest.raises(RuntimeError, match=r"rate: expected the best one inside the grid, got 0\.001 at an end"):
        choose_rate(bowl(1e-7), GRID, ratio=10.0, growths=0)


def test_a_rate_at_which_one_run_diverges_is_worse_than_any():
    def validate(rate):
        return [0.0, np.inf] if rate == 1e-2 else bowl(3e-2)(rate)

    assert choose_rate(validate, (1e-3, 1e-2, 3e-2, 1e-1), ratio=10.0, growths=0).rate == 3e-2


def test_every_rate_is_asked_for_once():
    asked = []

    def validate(rate):
        asked.append(rate)
        return bowl(1e-5)(rate)

    choose_rate(validate, GRID, ratio=10.0, growths=5)
    assert len(asked) == len(set(asked)) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"first": (1e-3, 1e-2)}, "first: expected three increasing rates"),
        ({"first": (1e-2, 1e-3, 1e-1)}, "first: expected three increasing rates"),
        ({"first": (0.0, 1e-3, 1e-1)}, "first"),
        ({"ratio": 1.0}, "ratio: expected a number above one"),
        ({"growths": -1}, "growths"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(ValueError, match=words):
        choose_rate(bowl(1e-2), **{"first": GRID, "ratio": 10.0, "growths": 1, **arguments})
