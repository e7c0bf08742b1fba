r"""Constants of distance attention on the ball of radius :math:`R`, by what is near and by variances.

Score :math:`-\langle x - y, A(x - y)\rangle`, outputs :math:`A\sum_jP_{ij}x_j`; the constants are those over
:math:`\|A\|`, in terms of :math:`o = 4\|A\|R^2`, the most by which two scores differ. Along a displacement h

.. math:: dF_i = A\Bigl[\sum_jP_{ij}h_j + 2\,\mathrm{Cov}_iAh_i - 2\sum_jP_{ij}(x_j - m_i)
          \langle A(x_j - x_i), h_j\rangle\Bigr],

:math:`m_i` and :math:`\mathrm{Cov}_i` mean and covariance under row i. Let :math:`R = 1`, :math:`s = |m_i|`. As
:math:`\sum_jP_{ij}|x_j|^2 \le 1`, the variance :math:`\sum_jP_{ij}|x_j - m_i|^2` is at most :math:`1 - s^2`, and
:math:`\sum_jP_{ij}|x_j - x_i|^2 \le 1 - s^2 + (1 + s)^2 = 2(1 + s)`.

*Largest displacement*, any law and any mask: by Cauchy and Schwarz the last sum is at most :math:`(1 + s)\sqrt{2(1 -
s)}`, and the bracket less one is at most :math:`2\|A\|` times

.. math:: 1 - s^2 + (1 + s)\sqrt{2(1 - s)} \le 1 - s^2 + (1 + s)\bigl(\tfrac{57}{40} - \tfrac45s\bigr)
          = \tfrac{97}{40} + \tfrac58s - \tfrac95s^2 < \tfrac52,

by :math:`\sqrt z \le \frac25z + \frac58` at :math:`z = 2(1 - s)`; its largest value is :math:`2.47926`.
So :math:`1 + 5\|A\|R^2 = 1 + \frac54o` bounds it: :func:`largest`. The slope 5 is sharp to a hundredth: two heavy atoms
:math:`se \pm \sqrt{1 - s^2}f` and a query :math:`-e` attain the first form, of which the largest value is 2.4787.

*Mean displacement* and W_1 without a mask, by what all queries together give to y, :math:`c(y) =
\int\rho_x(y)\mu(dx)` for a density :math:`\rho_x(y)`: let :math:`\nu = \rho_x(y)\mu(dx)/c(y)`, of mean m and variance
:math:`v = \int\langle x - m, A(x - m)\rangle d\nu \le \|A\|R^2 = \frac o4`, and :math:`w = \langle y - m, A(y -
m)\rangle`. By the Gibbs principle the logarithm of the denominator of :math:`\rho_x` is at least :math:`-\int\langle
x - z, A(x - z)\rangle\nu(dz) - \mathrm{KL}(\nu|\mu)`, so that

.. math:: \log c(y) \le \iint\langle x - z, A(x - z)\rangle d\nu d\nu - \int\langle x - y, A(x - y)\rangle d\nu
          = 2v - (v + w) = v - w .

With :math:`t^2 = \langle x - y, A(x - y)\rangle`, :math:`|A(x - y)| \le \|A\|^{1/2}t`, :math:`|y - m_x| \le 2R` and
:math:`\int t\,d\nu \le (v + w)^{1/2}` what is answered to the displacement at y is at most :math:`c(y)(1 + 2\sqrt o\int
t\,d\nu) \le e^{v - w}(1 + 2\sqrt o(v + w)^{1/2})`, which grows with v, and so at most

.. math:: K(o) = \max_{s \ge \sqrt o/2}e^{o/2 - s^2}(1 + 2\sqrt os)
          = \begin{cases}\frac{1 + q}2e^{o/2 - (q - 1)^2/(16o)},\ q = \sqrt{1 + 8o}, & o \le 1,\\
          e^{o/4}(1 + o), & o \ge 1,\end{cases}

at :math:`s^2 = \frac o4 + w`; the query's own part is at most :math:`2\|A\|R^2 = \frac o2`. *In* :math:`W_p`, by
Schur's test between columns of :math:`K(o)` and rows of :math:`1 + 2\|A\|R^2\max_s(1 + s)\sqrt{2(1 - s)} = 1 +
\frac{4}{3\sqrt3}o`, at :math:`s = \frac13`: :func:`power`. Couple optimally and move along segments, which stay in the
ball.

*Anywhere*, n tokens and any mask, with :math:`y = A^{1/2}x`: rows :math:`1 + 4c_n` and columns :math:`K_1`
(:mod:`theory.lipschitz.constants.distance`), whose proofs use of a mask only that a token sees itself: row i has
:math:`c_i \le c_n`, and the weight of another token is at most :math:`1/(1 + e^s)`. A column under a mask has fewer
blocks: :func:`anywhere`.
"""

from __future__ import annotations

import math

from theory.lipschitz.constants.distance import atoms_constant, column_constant, distance_constant

_ROW = 4.0 / (3.0 * math.sqrt(3.0))


def largest(spread: float) -> float:
    r"""Return :math:`1 + \frac54o`, in W_inf and of the largest displacement under any mask."""
    return 1.0 + 1.25 * spread


def power(spread: float, p: float) -> float:
    r"""Return :math:`(1 + \frac4{3\sqrt3}o)^{1 - 1/p}K(o)^{1/p} + \frac o2`, in W_p without a mask."""
    if spread == 0.0:
        return 1.0
    if spread < 1.0:
        q = math.sqrt(1.0 + 8.0 * spread)
        column = 0.5 * (1.0 + q) * math.exp(spread * (0.5 - 4.0 / (1.0 + q) ** 2))
    else:
        column = (1.0 + spread) * math.exp(0.25 * spread)
    return float((1.0 + _ROW * spread) ** (1.0 - 1.0 / p) * column ** (1.0 / p)) + 0.5 * spread


def anywhere(n: int) -> tuple[float, float, float]:
    """Return the constants of the largest, the mean and the Frobenius displacement of n tokens anywhere."""
    if n == 1:
        return 1.0, 1.0, 1.0
    return distance_constant(n), column_constant(n), atoms_constant(n, 2.0)
