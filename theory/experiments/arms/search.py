"""The search for a learning rate: by validation loss alone, on a grid that grows until its best rate is inside.

Every arm has the same first grid, the same number of runs at every rate, and the same budget. A rate at which a run
diverges has the mean ``inf``. The grid grows by its own ratio at the end where the best rate lies, as often as it is
allowed to; if it still lies at an end then, the search has failed, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_callable, as_count, as_positive


class Found(NamedTuple):
    """The rate that was chosen, and the mean validation loss at every rate that was tried, by increasing rate."""

    rate: float
    means: dict[float, float]


def choose_rate(validate: Callable[[float], ArrayLike], first: Sequence[float], *, ratio: float, growths: int) -> Found:
    """Choose the rate with the smallest mean validation loss, the smaller one if two are equal.

    Parameters
    ----------
    validate : callable
        Returns the validation losses of all runs of the search at a rate; it is asked once for each.
    first : sequence of float
        Rates of the first grid, three at least, increasing.
    ratio : float
        Of neighbours in what is added, above one.
    growths : int
        How often the grid may grow.

    Raises
    ------
    RuntimeError
        If the best rate lies at an end of the last grid.
    ValueError, TypeError
        If an argument is out of its range.
    """
    as_callable(validate, "validate")
    rates = [as_positive(rate, "first") for rate in first]
    if len(rates) < 3 or rates != sorted(set(rates)):
        raise ValueError(f"first: expected three increasing rates or more, got {list(first)}")
    if as_positive(ratio, "ratio") <= 1.0:
        raise ValueError(f"ratio: expected a number above one, got {ratio}")
    left = as_count(growths, "growths", least=0)
    means = {rate: _mean(validate(rate)) for rate in rates}
    while (best := min(means, key=lambda rate: (means[rate], rate))) in (min(means), max(means)):
        if left == 0:
            raise RuntimeError(
                f"rate: expected the best one inside the grid, got {best:.3g} at an end of {_list(means)}"
            )
        left -= 1
        rate = float(f"{best / ratio if best == min(means) else best * ratio:.6g}")
        means[rate] = _mean(validate(rate))
    return Found(best, dict(sorted(means.items())))


def _mean(losses: ArrayLike) -> float:
    values = np.asarray(losses, dtype=np.float64)
    return float(values.mean()) if np.isfinite(values).all() else np.inf


def _list(means: dict[float, float]) -> str:
    return ", ".join(f"{rate:.3g}" for rate in sorted(means))
