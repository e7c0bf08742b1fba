r"""The norm of a product through a small dimension: of query and key, or of output and value, of one head.

Let A have m rows and B n columns, and let k, the number of columns of A and of rows of B, be far below both. The
product has :math:`mn` entries, but its norm is that of a matrix of k rows: with :math:`A \approx QR` and :math:`B^\top
\approx PS`, where Q and P have nearly orthonormal columns, :math:`\|AB\| \approx \|RS^\top\|`. Unlike Gram matrices,
which would square the condition, these factors lose nothing; and nothing is believed of the library that finds them.
Whatever Q, R, P, S are, let

.. math:: E = A - QR,\quad F = B^\top - PS,\quad \|Q^\top Q - 1\|_F \le \eta,\quad \|P^\top P - 1\|_F \le \theta.

Then :math:`AB = QRS^\top P^\top + QRF^\top + EB`, for :math:`B = S^\top P^\top + F^\top`, and so

.. math:: \bigl|\,\|AB\| - \|QRS^\top P^\top\|\,\bigr| \le (\|A\|_F + \|E\|_F)\|F\|_F + \|E\|_F\|B\|_F,

while :math:`\|QX\|^2` is the largest eigenvalue of :math:`X^\top Q^\top QX`, hence between :math:`(1 \mp \eta)\|X\|^2`,
and likewise on the other side, so that

.. math:: \sqrt{(1 - \eta)_+(1 - \theta)_+}\,\|RS^\top\| \le \|QRS^\top P^\top\| \le \sqrt{(1 + \eta)(1 +
          \theta)}\,\|RS^\top\|.

The residuals are computed, :math:`\gamma_{k + 2}(|Q|_F|R|_F + |A|_F)` is added for their rounding, and
:math:`\gamma_{m + 1}(|Q|_F^2 + k)` to that of :math:`Q^\top Q - 1`; Frobenius norms of N entries are computed up to
:math:`1 \pm \gamma_N`, as their squares are a sum of N terms. What underflows is smaller by far than the rounding of
matrices with entries of at least 1e-70, as they are here, and is charged with one more unit in every :math:`\gamma`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval
from theory.evidence.roundoff import gamma

Array: TypeAlias = NDArray[np.float64]
_SAVES = 8  # taken: so much smaller is the inner dimension before factors are cheaper than the product


def is_thin(first: Array, second: Array) -> bool:
    """Tell whether a product goes through a dimension far below its own."""
    return bool(first.shape[1] * _SAVES <= min(first.shape[0], second.shape[1]))


def thin_product_norm(first: Array, second: Array, norm: Callable[[Array, Array], Interval]) -> Interval:
    """Enclose the spectral norm of a product; ``norm`` encloses that of a product of small matrices."""
    left, right = factored(first), factored(np.ascontiguousarray(second.T))
    middle = norm(left.upper, np.ascontiguousarray(right.upper.T))
    reached = middle
    for factors in (left, right):
        square = Interval.within(1.0, factors.skew)
        reached = reached * Interval(max(square.lo, 0.0), square.hi, square.kind).sqrt()
    missed = (left.size + left.residual) * right.residual + left.residual * right.size
    return Interval((reached - missed).lo, (reached + missed).hi, reached.kind)


class _Factors(NamedTuple):
    upper: Array
    size: Interval  # of the matrix, by Frobenius
    residual: Interval  # its upper end bounds what the product of the factors misses
    skew: float  # how far the columns of the first factor are from orthonormal


def factored(matrix: Array) -> _Factors:
    """Return the factors of a matrix with few columns, and how far their product and orthonormality are off."""
    rows, columns = matrix.shape
    basis, upper = np.linalg.qr(matrix)
    size, width, height = _frobenius(matrix), _frobenius(basis), _frobenius(upper)
    missed = _frobenius(matrix - basis @ upper) + gamma(columns + 3) * (width * height + size)
    turned = _frobenius(basis.T @ basis - np.eye(columns)) + gamma(rows + 2) * (width * width + float(columns))
    return _Factors(upper, size, missed, turned.hi)


def _frobenius(matrix: Array) -> Interval:
    size = float(np.sqrt((matrix * matrix).sum()))
    return Interval.within(size, size * gamma(matrix.size + 4))
