r"""Attention over a set of keys from attention over its parts.

Let a part have log-partition :math:`\ell_p` and output :math:`o_p`. With :math:`\ell = \log \sum_p e^{\ell_p}`,

.. math:: o = \sum_p e^{\ell_p - \ell}\, o_p,

whatever the parts and in whatever order they are merged. This is how keys that arrive one after another, or lie on
different machines, are attended to without being brought together.

References
----------
M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory.engine.pairs import AttentionResult


def merge(parts: Sequence[AttentionResult]) -> AttentionResult:
    """Return what the same queries read from all keys of the ``parts`` together.

    Parameters
    ----------
    parts : sequence of AttentionResult
        At least one; outputs of one shape, of disjoint sets of keys.

    Returns
    -------
    AttentionResult
        Its ``method`` names those of the parts. Its ``error`` is the largest of theirs, which bounds what their outputs
        bring; what their log-partitions are off by, up to the accuracy of a fast method, moves their shares besides.

    Raises
    ------
    ValueError
        If there is no part, the shapes differ, or a log-partition is not finite.
    TypeError
        If a part is something else.
    """
    if not isinstance(parts, Sequence):
        raise TypeError(f"parts: expected a sequence of results of attention, got {type(parts).__name__}")
    if not parts:
        raise ValueError("parts: expected at least one, got none")
    for part in parts:
        if not isinstance(part, AttentionResult):
            raise TypeError(f"parts: expected results of attention, got {type(part).__name__}")
        if part.output.shape != parts[0].output.shape or part.log_partition.shape != part.output.shape[:1]:
            got = part.output.shape, part.log_partition.shape
            raise ValueError(f"parts: expected one shape of outputs and a log-partition for each row, got {got}")
        if not np.isfinite(part.log_partition).all():
            raise ValueError("parts: expected finite log-partitions, got one that is not")
    logs = np.stack([part.log_partition for part in parts])
    peak = logs.max(axis=0)
    masses = np.exp(logs - peak)
    total = masses.sum(axis=0)
    output = np.einsum("pi,pic->ic", masses / total, np.stack([part.output for part in parts]))
    method = "+".join(sorted({name for part in parts for name in part.method.split("+")}))
    return AttentionResult(output, peak + np.log(total), method, max(part.error for part in parts))
