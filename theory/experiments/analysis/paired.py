r"""Differences of paired runs: intervals and p-values that assume symmetry and nothing else.

Let :math:`d_1, \dots, d_n` be independent, each symmetric about :math:`\mu`. Then :math:`\mu` lies with equal
probability in each gap between the sorted means of all subsets of the :math:`d_i` (Hartigan's typical values). So
quantiles of these means bound :math:`\mu` at an exact level, which is the inversion of the sign-flip test of the mean:
the sum of the differences from :math:`\mu` is exceeded by that with signs flipped on a subset if and only if the mean
of the subset lies below :math:`\mu`. No level below :math:`2^{1-n}` can be reached, and none is asked for. Of random
subsets, of which a few may be empty or equal, the level is exact but for :math:`2^{1-n}`.

References
----------
J. A. Hartigan, *Using subsample values as typical values*, J. Amer. Statist. Assoc. 64 (1969), 1303-1317.
S. Holm, *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6 (1979), 65-70.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_number, as_positive, as_vector
from theory.evidence.interval import Interval, Kind
from theory.evidence.streams import ROOT, stream

Array = NDArray[np.float64]
ALL = 16  # pairs up to which every subset is taken
DRAWN = 2**17 - 1  # random subsets of more pairs
MOST = 10**6  # pairs that are never made


def subset_means(differences: ArrayLike, *, root: int = ROOT) -> Array:
    """Return the sorted means of all non-empty subsets of at most 16 differences, or of so many random ones of more.

    Raises
    ------
    ValueError
        If there are fewer than two differences, or one is not finite.
    """
    d = as_vector(differences, "differences")
    if d.size < 2:
        raise ValueError(f"differences: expected two or more, got {d.size}")
    if d.size <= ALL:
        numbers = np.arange(1, 2**d.size)
        chosen = (numbers[:, np.newaxis] >> np.arange(d.size)) & 1
    else:
        chosen = stream("arms.subsets", d.size, root=root).integers(2, size=(DRAWN, d.size))
        chosen = chosen[chosen.any(axis=1)]
    means: Array = np.sort(chosen @ d / chosen.sum(axis=1))
    return means


def enclose_mean(differences: ArrayLike, level: float = 0.05, *, root: int = ROOT) -> Interval:
    """Enclose the centre of symmetric differences; it lies outside with probability ``level`` at most.

    Parameters
    ----------
    differences : array_like, shape (n,)
        Independent, one for each pair of runs.
    level : float, default 0.05
        Below one; unknown is what is returned if so few pairs cannot reach it.
    root : int
        Entropy of the random subsets.

    Raises
    ------
    ValueError, TypeError
        As :func:`subset_means`, or if the level is no number between 0 and 1.
    """
    if as_positive(level, "level") >= 1.0:
        raise ValueError(f"level: expected a number below one, got {level}")
    means = subset_means(differences, root=root)
    outside = math.floor(level / 2.0 * (means.size + 1))  # gaps on each side, of means.size + 1
    if outside == 0:
        return Interval.unknown(Kind.STATISTICAL)
    return Interval(float(means[outside - 1]), float(means[-outside]), Kind.STATISTICAL)


def flip_signs(differences: ArrayLike, *, margin: float = 0.0, root: int = ROOT) -> float:
    """Return the p-value of the sign-flip test that symmetric differences have a centre of at most ``margin``.

    Raises
    ------
    ValueError, TypeError
        As :func:`subset_means`, or if the margin is no finite number.
    """
    means = subset_means(differences, root=root)
    below = int(np.searchsorted(means, as_number(margin, "margin"), side="right"))
    return (below + 1) / (means.size + 1)


def adjust_holm(values: ArrayLike) -> Array:
    """Return Holm's adjusted p-values: below a level where the hypothesis is rejected at it over the whole family.

    Raises
    ------
    ValueError
        If a value does not lie between 0 and 1.
    """
    p = as_vector(values, "values")
    if not bool(((p >= 0.0) & (p <= 1.0)).all()):
        raise ValueError(f"values: expected numbers from 0 to 1, got {p.min()} to {p.max()}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def count_pairs(differences: ArrayLike, margin: float, *, level: float = 0.05, power: float = 0.9) -> int:
    """Return how many pairs would tell a mean difference as large as that seen from ``margin``, if they were normal.

    Returns
    -------
    int
        At most a million, which stands for never.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two differences, or an argument is out of its range.
    """
    d = as_vector(differences, "differences")
    if d.size < 2:
        raise ValueError(f"differences: expected two or more, got {d.size}")
    gap = abs(float(d.mean()) - as_number(margin, "margin"))
    spread = float(d.std(ddof=1))
    sizes = np.unique(np.geomspace(2, MOST, 2000).astype(int))
    edge = scipy.stats.t.isf(as_positive(level, "level") / 2.0, sizes - 1)
    reached = (
        scipy.stats.nct.sf(edge, sizes - 1, gap / spread * np.sqrt(sizes)) if spread > 0.0 else np.ones(sizes.size)
    )
    enough = sizes[reached >= as_positive(power, "power")]
    return int(enough[0]) if enough.size else MOST
