"""Attention over all keys from attention over parts of them, see :mod:`theory.engine.streaming`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theory import engine
from theory.engine import AttentionResult
from theory.evidence import as_intervals, is_enclosed
from theory.evidence.intervals import cover


def merge_attention(parts: Sequence[AttentionResult]) -> AttentionResult:
    """Return what the same queries read from all keys of the ``parts`` together.

    Parameters
    ----------
    parts : sequence of AttentionResult
        As of :func:`theory.attention.read`; if one is enclosed, so is what they make together.

    Raises
    ------
    ValueError
        If there is no part, the shapes differ, or a log-partition is not finite.
    TypeError
        If a part is something else.
    """
    given = parts if isinstance(parts, (list, tuple)) else ()
    if not any(isinstance(part, AttentionResult) and is_enclosed(*part[:2]) for part in given):
        return engine.merge(parts)
    floats = engine.merge([
        part._replace(output=as_intervals(part.output).mid, log_partition=as_intervals(part.log_partition).mid)
        for part in parts
    ])  # fmt: skip
    logs: Any = np.stack([as_intervals(part.log_partition) for part in parts])
    outputs: Any = np.stack([as_intervals(part.output) for part in parts])
    peak = floats.log_partition
    masses = np.exp(logs - peak)
    total = masses.sum(axis=0)
    output = ((masses / total)[:, :, np.newaxis] * outputs).sum(axis=0)
    log_partition = np.log(total) + peak
    return floats._replace(
        output=cover(output, floats.output), log_partition=cover(log_partition, floats.log_partition)
    )
