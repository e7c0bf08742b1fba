r"""Intervals from samples, at a level fixed in advance.

Every stochastic check has level :math:`\alpha = 10^{-6}`: with a hundred of them a full run raises a false alarm with
probability below :math:`10^{-4}`. Several statistics in one check share the level (``among=k``). A sample can refute
a statement about all inputs, never prove it.

References
----------
C. J. Clopper and E. S. Pearson, *Biometrika* 26 (1934), 404-413 (``proportion``).
A. Maurer and M. Pontil, COLT 2009, theorem 4 (``bounded_mean``).
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_number, as_real, as_vector
from theory.evidence.interval import Interval, Kind
from theory.evidence.judge import ALPHA as ALPHA
from theory.evidence.roundoff import gamma

BATCHES = 64
PER_BATCH = 400
RUNS = 16  # taken: with two runs less Student's quantile at this level exceeds ten
_DERATE = (
    10.0  # measured: at skewness 6 the level of Student's interval over batches stays below 1.2 times the nominal one
)


def proportion(hits: int, draws: int, *, among: int = 1) -> Interval:
    """Enclose a probability by Clopper and Pearson's interval.

    Parameters
    ----------
    hits, draws : int
        Successes among independent draws.
    among : int, default 1
        How many statistics of the same check share the level.

    Raises
    ------
    ValueError
        Unless ``0 <= hits <= draws`` and ``draws >= 1``.
    """
    hits = as_count(hits, "hits", least=0)
    draws = as_count(draws, "draws")
    among = as_count(among, "among")
    if hits > draws:
        raise ValueError(f"hits, draws: expected 0 <= hits <= draws with draws >= 1, got {hits}, {draws}")
    tail = ALPHA / among / 2.0
    lo = 0.0 if hits == 0 else float(scipy.stats.beta.ppf(tail, hits, draws - hits + 1))
    hi = 1.0 if hits == draws else float(scipy.stats.beta.isf(tail, hits + 1, draws - hits))
    return Interval(lo, hi, Kind.STATISTICAL)


def bounded_mean(sample: ArrayLike, lo: float, hi: float, *, among: int = 1) -> Interval:
    """Enclose the mean of independent draws that cannot leave ``[lo, hi]``, by the empirical Bernstein inequality.

    Raises
    ------
    ValueError
        If there are fewer than two draws or one leaves the range.
    """
    x = as_vector(sample, "sample")
    lo = as_number(lo, "lo")
    hi = as_number(hi, "hi")
    if x.size < 2 or not lo < hi or not (x.min() >= lo and x.max() <= hi):
        raise ValueError(f"sample: expected at least two draws in [{lo}, {hi}], got {x.size} in [{x.min()}, {x.max()}]")
    log = math.log(4.0 * as_count(among, "among") / ALPHA)
    reach = math.sqrt(2.0 * float(x.var(ddof=1)) * log / x.size) + 7.0 * (hi - lo) * log / (3.0 * (x.size - 1))
    mean = float(x.mean())
    return Interval(max(lo, mean - reach), min(hi, mean + reach), Kind.STATISTICAL)


def _student(values: NDArray[np.float64], among: int, drift: float = 0.0) -> Interval:
    """Enclose the mean of independent, nearly normal values by Student's interval, widened by ``drift``."""
    quantile = float(scipy.stats.t.isf(ALPHA / _DERATE / as_count(among, "among") / 2.0, values.size - 1))
    reach = quantile * float(values.std(ddof=1)) / math.sqrt(values.size) + drift
    return Interval.within(float(values.mean()), reach, Kind.STATISTICAL)


def batch_mean(sample: ArrayLike, *, among: int = 1) -> Interval:
    """Enclose the mean of independent draws by Student's interval over the means of 64 batches.

    Raises
    ------
    ValueError
        If a batch would hold fewer than 400 draws.
    """
    x = as_vector(sample, "sample")
    if x.size < BATCHES * PER_BATCH:
        raise ValueError(f"sample: expected at least {BATCHES * PER_BATCH} draws, got {x.size}")
    if x.min() == x.max():
        return Interval.unknown(Kind.STATISTICAL)  # a spread that was never seen cannot be bounded
    rounding = gamma(x.size) * float(np.abs(x).max())
    return _student(np.array([batch.mean() for batch in np.array_split(x, BATCHES)]), among, rounding)


def run_mean(sample: ArrayLike, *, among: int = 1) -> Interval:
    """Enclose the mean over independent runs, each an average of many numbers, by Student's interval.

    For runs that are expensive: what the difference of two trained models is on one split, for instance. The level
    holds for normal values, and is taken ten times smaller because those are only nearly normal.

    Raises
    ------
    ValueError
        If there are fewer than 16 runs.
    """
    x = as_vector(sample, "sample")
    if x.size < RUNS:
        raise ValueError(f"sample: expected at least {RUNS} runs, got {x.size}")
    if x.min() == x.max():
        return Interval.unknown(Kind.STATISTICAL)  # as in batch_mean
    return _student(x, among, gamma(x.size) * float(np.abs(x).max()))


def slope(sizes: ArrayLike, samples: ArrayLike, *, among: int = 1) -> Interval:
    """Enclose the exponent ``p`` in ``sample ~ size**p``.

    Parameters
    ----------
    sizes : array_like, shape (k,)
        At least four increasing, positive sizes.
    samples : array_like, shape (b, k)
        Positive statistics of ``b >= 8`` independent batches at each size.
    among : int, default 1
        How many statistics of the same check share the level.

    Returns
    -------
    Interval
        Student's interval over the least-squares slopes of the batches, widened by the drift of the slope from the
        lower to the upper half of the sizes: what the next order still contributes.

    Raises
    ------
    ValueError
        If the shapes do not fit or a number is not positive.
    """
    n, y = as_real(sizes, "sizes"), as_real(samples, "samples")
    if n.ndim != 1 or n.size < 4 or y.ndim != 2 or y.shape[1] != n.size or y.shape[0] < 8:
        raise ValueError(
            f"samples: expected shape (b >= 8, {max(n.size, 4)}) for as many sizes, got {y.shape} for {n.shape}"
        )
    if not (n.min() > 0.0 and np.all(np.diff(n) > 0.0) and y.min() > 0.0):
        raise ValueError(
            "sizes, samples: expected increasing positive sizes and positive samples, "
            f"got {n.tolist()} and a least sample of {y.min()}"
        )
    log_n, log_y = np.log(n), np.log(y)

    def fit(part: slice) -> NDArray[np.float64]:
        t = log_n[part] - log_n[part].mean()
        slopes: NDArray[np.float64] = (log_y[:, part] @ t) / (t @ t)
        return slopes

    half = n.size // 2
    drift = abs(float(np.mean(fit(slice(half, None)) - fit(slice(None, n.size - half)))))
    slopes = fit(slice(None))
    t = np.abs(log_n - log_n.mean())
    size = float(np.abs(log_y).max() + np.abs(slopes).max() * np.abs(log_n).max())
    rounding = gamma(8 * n.size + 32) * size * float(t.sum() / (t @ t))
    return _student(slopes, among, drift + rounding)
