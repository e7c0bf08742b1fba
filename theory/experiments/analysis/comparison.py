"""Two attentions in pairs of runs: same data, same order, and the same start outside attention.

Every gain is positive where the first attention does better: more of a score, less of a loss, less spread between runs.
An average over runs of which one diverged is unknown, since no finite number could stand for that run.

References
----------
M. B. Brown and A. B. Forsythe, *Journal of the American Statistical Association* 69 (1974), 364-367.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence.interval import Interval, Kind
from theory.evidence.statistics import run_mean
from theory.evidence.table import Table
from theory.experiments.tasks.task import MATCHINGS, RULES

Array = NDArray[np.float64]
_REFERENCE = ("self", "wide", "again")  # the number of parameters that is matched is theirs, at equal width


class Circumstances(NamedTuple):
    """How the learning rate was chosen, and what the attentions share."""

    rule: str
    matching: str


class Pairs(NamedTuple):
    """One number per run of either attention, seed by seed."""

    ours: Array
    theirs: Array

    @property
    def finite(self) -> bool:
        """Whether no run diverged."""
        return bool(np.isfinite(self.ours).all() and np.isfinite(self.theirs).all())


def list_circumstances(table: Table, ours: str, theirs: str, *, labels: str = "true") -> list[Circumstances]:
    """Return under which circumstances the runs of one task compare two attentions.

    Parameters
    ----------
    table : Table
        Final runs of one task.
    ours, theirs : str
        Attentions.
    labels : {"true", "permuted"}
        Of the runs.
    """
    alone = {ours, theirs} <= set(_REFERENCE)  # then equal parameters are equal widths
    each = [Circumstances(rule, matching) for rule in RULES for matching in (MATCHINGS[:1] if alone else MATCHINGS)]
    return [one for one in each if all(len(_runs(table, name, one, labels)) for name in (ours, theirs))]


def pair_runs(
    table: Table, column: str, ours: str, theirs: str, where: Circumstances, *, labels: str = "true"
) -> Pairs:
    """Return one column of the runs of two attentions in pairs.

    Raises
    ------
    ValueError
        If the runs of the two have not the same seeds, each once.
    """
    one, other = (_runs(table, name, where, labels) for name in (ours, theirs))
    orders = [np.argsort(part["seed"], kind="stable") for part in (one, other)]
    seeds = [part["seed"][order].tolist() for part, order in zip((one, other), orders, strict=True)]
    if seeds[0] != seeds[1] or len(set(seeds[0])) < len(seeds[0]):
        raise ValueError(
            f"table: expected {ours} and {theirs} with the same seeds, each once, at {where.rule}, {where.matching}, "
            f"got {len(seeds[0])} and {len(seeds[1])} runs"
        )
    return Pairs(*(part[column][order].astype(np.float64) for part, order in zip((one, other), orders, strict=True)))


def loss_gains(found: Pairs) -> Array:
    """Return, per pair, the logarithm of the second's loss over the first's.

    Raises
    ------
    ValueError
        If a loss is not positive.
    """
    least = float(np.min([found.ours, found.theirs]))
    if not least > 0.0:
        raise ValueError(f"found: expected positive losses, got {least}")
    return np.log(found.theirs) - np.log(found.ours)


def score_gains(found: Pairs) -> Array:
    """Return, per pair, what the first scores more than the second."""
    return found.ours - found.theirs


def spread_gains(found: Pairs, *, about: float | None = None) -> Array:
    """Return, per pair, how much farther the second lies from the median of its runs than the first from its own.

    The mean over the pairs compares spreads as Brown and Forsythe do. Student's interval of it, at equal spread, 16, 32
    and 256 pairs and nominal levels of 1e-2 and 1e-3, misses at most 1.2 times as often as it says, be the values
    normal, uniform, exponential, of Student's law with five degrees, shares near 1, or a tenth of them failures
    (measured); a ratio of variances by Pitman and Morgan's test, exact for normal pairs, up to three hundred times.
    Where runs of one attention fail and none of the other, no level is kept by any interval of few pairs: if three in a
    hundred fail, 32 pairs have no failure with probability 0.38, and the interval misses in a third of all samples.

    Parameters
    ----------
    found : Pairs
        Numbers of the runs.
    about : float, optional
        From where the first's deviations are taken, in place of its median.
    """
    centre = float(np.median(found.ours)) if about is None else about
    gains: Array = np.abs(found.theirs - np.median(found.theirs)) - np.abs(found.ours - centre)
    return gains


def mean_gain(found: Pairs, gains: Callable[[Pairs], Array], *, among: int = 1) -> Interval:
    """Enclose the mean gain over pairs of runs; unknown if a run diverged."""
    return run_mean(gains(found), among=among) if found.finite else Interval.unknown(Kind.STATISTICAL)


def _runs(table: Table, attention: str, where: Circumstances, labels: str) -> Table:
    matching = "width" if attention in _REFERENCE else where.matching
    return table.where(attention=attention, rule=where.rule, matching=matching, labels=labels)
