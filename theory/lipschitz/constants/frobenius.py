r"""Dot-product attention in the Frobenius norm and in the mean field: constants on a ball, and a bound from below.

:math:`F_i(X) = V\sum_j P_{ij}x_j`, :math:`P_{ij} \propto e^{\langle x_i, Bx_j\rangle}`, on :math:`n` tokens of
length at most :math:`R`; :math:`\alpha = \|B\|R^2`. With :math:`m_i = \sum_j P_{ij}x_j` and :math:`C_i` the covariance
under row :math:`i`,

.. math:: dF_i = V\Big[\sum_j P_{ij}h_j + C_iB^\top h_i
          + \sum_j P_{ij}(x_j - m_i)\langle B^\top x_i, h_j\rangle\Big],
          \qquad \sum_j P_{ij}|x_j - m_i|^2 \le R^2 .

*Sum of the terms.* The middle one is at most :math:`\alpha|h_i|`. By Cauchy and Schwarz the others are at most
:math:`\sqrt c\,|h|` and :math:`\alpha\sqrt c\,|h|`, with :math:`c = \max_j\sum_i P_{ij} \in [1, n]`, since
:math:`\sum_i(\sum_j P_{ij}|h_j|)^2 \le \sum_{ij}P_{ij}|h_j|^2`. Hence :math:`\|dF\| \le \|V\|(\sqrt c(1 + \alpha) +
\alpha)`. Always :math:`c \le n`, and :math:`c \le e^{2\alpha}` since no weight exceeds :math:`e^{2\alpha}/n`: the one
makes the constant grow like :math:`\sqrt n`, the other frees it of :math:`n`, so that it holds for :math:`W_2` on all
measures on the ball.

*Schur's test.* Row sums of the norms of blocks are at most :math:`1 + 2\alpha`; an entry of a column is at most
:math:`P(1 + 2\alpha(1 - P)) \le \kappa`, with :math:`\kappa = 1` up to :math:`2\alpha = 1` and
:math:`(1 + 2\alpha)^2/8\alpha` beyond, to which the query adds at most :math:`\alpha` in all.

*From below.* On the line, :math:`B < 0`, a share :math:`1/(1 + N)` of the tokens at :math:`-R` and the others at
:math:`bR`: moving the leaders moves the outputs of the others, whose scores have the gap :math:`g = \alpha b(1 + b) \in
(0, 2\alpha]`, by the factor :math:`\sqrt N\,P(1 + (1 - P)g)`, :math:`P = 1/(1 + Ne^{-g})`. Its derivative in :math:`g`
has the sign of :math:`2 - g\tanh\frac{g - \log N}2`, which changes once. At fixed :math:`P` the factor is
:math:`e^{g/2}\sqrt{P(1 - P)}(1 + (1 - P)g)`, which grows with :math:`g`; at :math:`g = 2\alpha` it is largest where
:math:`q = 1 - P` solves :math:`8\alpha q^2 = (6\alpha - 2)q + 1`, and it is :math:`(\frac{3\sqrt3}8 + o(1))\alpha
e^\alpha`: the exponent of the constant without :math:`n` cannot be improved.

References
----------
V. Castin, P. Ablin, G. Peyré, *How smooth is attention?*, ICML 2024, for other constants on the same ball.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from theory._validate import as_count, as_positive
from theory.attention import DotProduct, Measure
from theory.lipschitz._numbers import exponential, finite, larger, like, logarithm, positive, root, upper
from theory.lipschitz.constants.bounded import interpolated_constant


class FrobeniusConstants(NamedTuple):
    r"""Valid Lipschitz constants of attention on :math:`n` tokens in a ball, in the Frobenius norm."""

    squares: float
    r""":math:`\sqrt3\,\|V\|\sqrt{\alpha^2(n + 1) + n}`."""
    terms: float
    r""":math:`\|V\|(\sqrt n(1 + \alpha) + \alpha)`, never above ``squares``."""
    schur: float
    r""":math:`\|V\|\sqrt{(1 + 2\alpha)(n\kappa + \alpha)}`."""
    free: float
    r""":math:`\|V\|(e^\alpha(1 + \alpha) + \alpha)`, for every :math:`n`; :func:`interpolated_constant` in W_2."""
    published: float
    r""":math:`\sqrt3\,\|V\|\sqrt{\alpha^2(4n + 1) + n}`, as the literature has it."""

    @property
    def least(self) -> float:
        """The constant to use."""
        return min(self.terms, self.schur, self.free)


def frobenius_constants(alpha: float, n: int, *, value: float = 1.0) -> FrobeniusConstants:
    r"""Return the constants for :math:`\|B\|R^2 =` ``alpha``, ``n`` tokens and :math:`\|V\| =` ``value``.

    Raises
    ------
    ValueError
        If ``alpha`` or ``value`` is not positive, ``n`` is below one, or a constant leaves the range of doubles.
    """
    a = positive(alpha, "alpha")
    v = positive(value, "value")
    tokens = as_count(n, "n")
    if not upper(4.0 * a * a * tokens) < math.inf:
        raise ValueError(f"alpha: expected one whose square float64 can hold, got {alpha!r}")
    column = 1.0 if 2.0 * upper(a) <= 1.0 else (1.0 + 2.0 * a) ** 2 / (8.0 * a)
    return FrobeniusConstants(
        squares=v * root(3.0 * (a * a * (tokens + 1) + tokens)),
        terms=column_sum_constant(a, tokens, value=v),
        schur=v * root((1.0 + 2.0 * a) * (tokens * column + a)),
        free=interpolated_constant(a, 2.0, v),
        published=v * root(3.0 * (a * a * (4 * tokens + 1) + tokens)),
    )


def column_sum_constant(alpha: float, column: float, *, value: float = 1.0) -> float:
    r"""Return :math:`\|V\|(\sqrt c(1 + \alpha) + \alpha)`, a bound of the Jacobian where the weights are known.

    Parameters
    ----------
    alpha : float
        :math:`\|B\|R^2`, positive.
    column : float
        The largest sum :math:`c` of a column of attention weights, at least one: their mean is one. As the computed sum
        may be short of that by its rounding, numbers from :math:`1 - 2^{-30}` on count as one.
    value : float, default 1.0
        :math:`\|V\|`, positive.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    a = positive(alpha, "alpha")
    v = positive(value, "value")
    c = positive(column, "column")
    if upper(c) < 1.0 - 2.0**-30:
        raise ValueError(f"column: expected at least 1, the mean of the sums of the columns, got {column!r}")
    return v * (root(larger(like(c, a), 1.0)) * (1.0 + a) + a)


def published_constant(alpha: float, *, value: float = 1.0) -> float:
    r"""Return :math:`\|V\|(1 + 3\alpha)e^{2\alpha}`, as the literature has it: valid, twice the exponent needed.

    Raises
    ------
    ValueError
        If an argument is not positive, or the constant leaves the range of doubles.
    """
    a, v = as_positive(alpha, "alpha"), as_positive(value, "value")
    return finite(v * (1.0 + 3.0 * a) * exponential(2.0 * a), "alpha")


def leader_bound(ratio: float, gap: float) -> float:
    r"""Return :math:`\sqrt N\,P(1 + (1 - P)g)`, :math:`P = 1/(1 + Ne^{-g})`: no constant can be smaller.

    Parameters
    ----------
    ratio : float
        The number :math:`N` of other tokens per leader, positive.
    gap : float
        The gap :math:`g` of the scores, positive.

    Raises
    ------
    ValueError
        If an argument is not positive.
    """
    g = positive(gap, "gap")
    many = like(as_positive(ratio, "ratio"), g)
    share, rest = _logistic(g - logarithm(many)), _logistic(logarithm(many) - g)  # one less the other loses digits
    return root(many) * share * (1.0 + rest * g)


def leader_gap(alpha: float, ratio: float) -> float:
    r"""Return the gap in :math:`(0, 2\alpha]` at which :func:`leader_bound` is largest.

    It is :math:`2\alpha` or, if that is smaller, the one solution above :math:`\log N` of :math:`g\tanh\frac{g - \log
    N}2 = 2`.

    Raises
    ------
    ValueError
        If an argument is not positive.
    """
    most = 2.0 * as_positive(alpha, "alpha")
    shift = math.log(as_positive(ratio, "ratio"))
    low = max(shift, 0.0)
    high = low + 4.0  # derived: g tanh((g - log N) / 2) is at least 4 tanh(2) > 2 there
    return min(most, float(brentq(lambda g: g * math.tanh((g - shift) / 2.0) - 2.0, low, high, xtol=1e-15)))


def opposed_ratio(alpha: float) -> float:
    r"""Return how many other tokens per leader make :func:`leader_bound` largest at the gap :math:`2\alpha`.

    Raises
    ------
    ValueError
        If ``alpha`` is not positive, or the number leaves the range of doubles.
    """
    a = as_positive(alpha, "alpha")
    half = 3.0 * a - 1.0
    root = math.sqrt(half * half + 8.0 * a)
    rest = (half + root) / (8.0 * a) if half > 0.0 else 1.0 / (root - half)  # the same, without a difference of equals
    return finite(exponential(2.0 * a) * rest / (1.0 - rest), "alpha")


def leader(alpha: float, ratio: float, gap: float) -> tuple[Measure, DotProduct]:
    r"""Return the witness on :math:`[-1, 1]` and its score: leaders at -1, others at b, :math:`\alpha b(1 + b) = g`.

    There are ``ratio`` others per leader; n tokens, k of them leaders, are two atoms with the ratio (n - k)/k, of which
    the local norm in :math:`W_2` is that of all tokens, the ones at one place moving together.

    Raises
    ------
    ValueError
        If an argument is not positive or the gap is above :math:`2\alpha`.
    """
    a = as_positive(alpha, "alpha")
    many = as_positive(ratio, "ratio")
    g = as_positive(gap, "gap")
    if g > 2.0 * a:
        raise ValueError(f"gap: expected at most 2 alpha, {2.0 * a!r}, got {gap!r}")
    place = min((math.sqrt(1.0 + 4.0 * g / a) - 1.0) / 2.0, 1.0)
    return Measure.normalised([[-1.0], [place]], [1.0, many]), DotProduct(form=np.array([[-a]]))


def _logistic(t: float) -> float:
    """Return 1 / (1 + exp(-t)) for any t."""
    return 1.0 / (1.0 + exponential(-t)) if upper(t) > 0.0 else exponential(t) / (1.0 + exponential(t))
