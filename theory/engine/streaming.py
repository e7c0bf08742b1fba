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

from theory.engine.pairs import Attention


def merge(parts: Sequence[Attention]) -> Attention:
    """Return what the same queries read from all keys of the ``parts`` together.

    Parameters
    ----------
    parts : sequence of Attention
        At least one; outputs of one shape, of disjoint sets of keys.

    Returns
    -------
    Attention
        Its ``method`` names those of the parts; its ``error`` is the largest of theirs, as it is an average of them.
        Parts by ``nufft`` have log-partitions that are off by up to their accuracy; their shares of the average are too.

    Raises
    ------
    ValueError
        If there is no part, or the shapes differ.
    """
    if not parts:
        raise ValueError("parts: expected at least one, got none")
    shapes = {part.output.shape for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"parts: expected outputs of one shape, got {sorted(shapes)}")
    logs = np.stack([part.log_partition for part in parts])
    peak = logs.max(axis=0)
    masses = np.exp(logs - peak)
    total = masses.sum(axis=0)
    output = np.einsum("pi,pic->ic", masses / total, np.stack([part.output for part in parts]))
    method = "+".join(sorted({name for part in parts for name in part.method.split("+")}))
    return Attention(output, peak + np.log(total), method, max(part.error for part in parts))
