r"""Attention asked with enclosures: what the engine computes at the middles, widened by all that may be off.

The engine rounds by at most what :mod:`theory.attention.output` derives. Queries and keys that are known up to an error
move every score by at most the width of the enclosure of that score, and log-weights by at most their radius; a weight
follows by :func:`~theory.evidence.roundoff.softmax_error`. An average moves by no more than what is averaged, and the
log-partition is 1-Lipschitz in the scores for the largest norm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory import engine
from theory.attention.output import partition_error, weight_error
from theory.attention.score import Score, bounded, pairs_of
from theory.engine import AttentionResult
from theory.evidence import Intervals, as_intervals, is_enclosed, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import TINY, average_error


def enclose_outputs(
    score: Score, queries: Any, keys: Any, values: Any, *, log_weights: Any = None,
    visible: NDArray[np.int64] | None = None, computed: AttentionResult | None = None,
) -> AttentionResult:  # fmt: skip
    """Enclose attention outputs and log-partitions, of which any argument may be enclosed.

    Parameters
    ----------
    score : Score
        One that bounds its rounding, and of which ``matrix`` answers enclosures if queries or keys have a width.
    queries, keys, values : array_like or Intervals, shapes (m, d_q), (n, d_k), (n, d_v)
    log_weights : array_like or Intervals, shape (n,), optional
        Logarithms of the positive masses of the keys.
    visible : ndarray of int, shape (m,), optional
        How many keys each query sees.
    computed : AttentionResult, optional
        What the engine was seen to answer at the middles; it is asked unless given.

    Returns
    -------
    AttentionResult
        Of :class:`~theory.evidence.Intervals`.

    Raises
    ------
    TypeError
        If the score does not bound its own rounding.
    """
    q, k, v = as_intervals(queries), as_intervals(keys), as_intervals(values)
    added = None if log_weights is None else as_intervals(log_weights)
    logs = _middle(added)
    moved = _moved(score, q, k, added)
    found = computed
    if found is None:
        found = engine.attention(pairs_of(score, q.mid, k.mid), v.mid, log_weights=logs, visible=visible)
    relative = weight_error(q.mid, k.mid, bounded(score), logs, moved=moved)
    error = average_error(float(np.abs(v.mid).max()), len(k), relative=relative)
    reach = np.nextafter(error + v.radius.max(axis=0), np.inf)
    slack = partition_error(q.mid, k.mid, bounded(score), logs) + moved
    scored = (q, k, added, getattr(score, "form", None))
    return AttentionResult(
        within(found.output, np.broadcast_to(reach, found.output.shape), weakest(v, *scored)),
        within(found.log_partition, np.nextafter(slack, np.inf), weakest(*scored)),
    )


def enclose_weights(score: Score, queries: Any, keys: Any, *, log_weights: Any = None) -> Intervals:
    """Enclose the attention weights, shape (m, n); arguments as in :func:`enclose_outputs`."""
    q, k = as_intervals(queries), as_intervals(keys)
    added = None if log_weights is None else as_intervals(log_weights)
    logs = _middle(added)
    found = engine.weights(pairs_of(score, q.mid, k.mid), log_weights=logs)
    relative = weight_error(q.mid, k.mid, bounded(score), logs, moved=_moved(score, q, k, added))
    kind = weakest(q, k, added, getattr(score, "form", None))
    enclosed: Intervals = np.minimum(np.maximum(within(found, relative * found + TINY, kind), 0.0), 1.0)
    return enclosed


def known(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers that are known exactly as floats, or raise ``ValueError`` if they have a width."""
    given = as_intervals(values)
    if not given.is_exact:
        raise ValueError(f"{name}: expected numbers that are known exactly, got radii up to {given.radius.max()}")
    return given.mid


def _middle(log_weights: Intervals | None) -> NDArray[np.float64] | None:
    return None if log_weights is None else log_weights.mid


def _moved(score: Score, queries: Intervals, keys: Intervals, log_weights: Intervals | None) -> float:
    """Bound how far a true score with its log-weight lies from the true one of the middles."""
    still = queries.is_exact and keys.is_exact and not is_enclosed(getattr(score, "form", None))
    moved = 0.0 if still else float(as_intervals(score.matrix(queries, keys)).width.max())  # type: ignore[arg-type]
    return moved if log_weights is None else moved + float(log_weights.radius.max())
