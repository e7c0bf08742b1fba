"""What the kernels see of a score: a form, the features of queries and keys, and a few coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Form(IntEnum):
    """How the score of a pair follows from its features ``q`` and ``k`` and the coefficients ``c``."""

    DOT = 0
    """``c[0] <q, k>``"""
    DISTANCE = 1
    """``-c[0] |q - k|^2``, by differences, never by the expanded square"""
    ADDITIVE = 2
    """``sum_h c[h] tanh(q[h] + k[h])``"""
    GIVEN = 3
    """whatever a function of the raw tokens returns, block by block; always on the NumPy path"""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The scores of every query with every key, not yet computed.

    Parameters
    ----------
    form : Form
        Which formula.
    queries, keys : ndarray, shapes (m, f) and (n, f)
        Contiguous float64 features; raw tokens, of any dimensions, for ``Form.GIVEN``.
    coefficients : ndarray
        As the form says; empty for ``Form.GIVEN``.
    given : callable, optional
        ``(queries (b, dx), keys (n, dy)) -> scores (b, n)``, for ``Form.GIVEN`` only.
    """

    form: Form
    queries: Array
    keys: Array
    coefficients: Array
    given: Callable[[Array, Array], Array] | None = None
