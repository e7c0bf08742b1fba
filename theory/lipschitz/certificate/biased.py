r"""Constants of attention with a query bias, on the ball of radius :math:`R`: the score is affine in the query.

With biases the score is :math:`\langle W_Qx + b_Q, W_Ky + b_K\rangle\sigma = \langle B^\top x + c, y\rangle` and a term
that does not depend on the key y, :math:`B = \sigma W_Q^\top W_K`, :math:`c = \sigma W_K^\top b_Q`. What is constant in
y multiplies all weights of a row alike and drops out of the softmax, so the key bias changes no output. A law has mass
one: the value bias adds :math:`W_Ob_V` to every output, the bias of the output matrix itself, and a translation of all
outputs changes no distance between them. The query bias alone matters.

Let :math:`b(x) = B^\top x + c`, :math:`\alpha = \|B\|R^2` and :math:`\beta = (\|B\|R + |c|)R \ge R\sup_x|b(x)|`. Along
a displacement h, with :math:`\pi_x` the law of the query x and :math:`m_x` its mean,

.. math:: dF(x) = V\bigl[\pi_x(h) + \mathrm{Cov}_{\pi_x}B^\top h(x) + \pi_x\bigl((y - m_x)\langle b(x),
          h(y)\rangle\bigr)\bigr].

The query's own part, the second, does not see c: at most :math:`\alpha|h(x)|`. The others see x through b(x) only, by
its length, and the weights do, which lie within :math:`e^{\pm2\beta}` of one another. So each bound that treats the two
parts on their own keeps :math:`\alpha` in the first and has :math:`\beta` for :math:`\alpha` in the rest:
:func:`largest`, :func:`squares`, :func:`masked`, :func:`counted`, :func:`together`. In :math:`W_1` the two are
bounded at once, and

.. math:: C = e^{2\beta}(1 + 2\beta).

Proof, with :math:`R = 1`, t, m and E as in :func:`~theory.lipschitz.constants.refined.sharp_w1_constant` at
:math:`\beta`, and :math:`r = \alpha/\beta \in [0, 1]`. For :math:`\beta \ge 0.6` that proof bounds the query's part by
:math:`\alpha\min(1, Et(2 - t))`, which is no larger than the one with :math:`\beta`. For :math:`\beta \le 0.6` and
:math:`L = \beta(2 - t)`, the mean of :math:`\langle b(x), y - m\rangle` over x is :math:`\langle B^\top m + c, y -
m\rangle \le (\beta - \alpha t)(2 - t)`, so that the chord of the exponential gives :math:`\int\rho_x(y)\mu(dx) \le
e^L - rt\sinh L`. The cost is at most

.. math:: K_r = (1 + \beta D)(e^L - rt\sinh L) + r\beta Et(2 - t),\quad D = 2 - t + \tfrac{E - 1}2t(2 - t) \le 2 +
          (E - 2)t,

affine in r. :math:`K_1 \le E(1 + 2\beta)` is that proof, and :math:`K_0 = E(1 + \beta D)e^{-\beta t} \le E(1 + 2\beta)`
as :math:`e^{-\beta t} \le 1/(1 + \beta t)` and :math:`E - 2 \le 1 + 2\beta` up to 0.6, where a convex function is below
a linear one at both ends. Without a bias :math:`\beta = \alpha`, and all constants are those of
:mod:`theory.lipschitz.constants`.

**Rotary positions** turn queries and keys by isometries :math:`T_i` of their positions: the score of tokens i and j is
:math:`\langle b_{ij}(x_i), x_j\rangle`, :math:`b_{ij}(x) = B_{ij}^\top x + c_{ij}`, :math:`B_{ij} = \sigma W_Q^\top
T_i^\top T_jW_K`, :math:`c_{ij} = \sigma W_K^\top T_j^\top T_ib_Q`, without a key bias. At all positions
:math:`\|B_{ij}\| \le \sigma\|W_Q\|\|W_K\|` and :math:`|c_{ij}| \le \sigma\|W_K\||b_Q|`; let these make :math:`\alpha`
and :math:`\beta`. Displacements move outputs by

.. math:: dF_i = V\Bigl[\sum_jP_{ij}h_j + \sum_jP_{ij}(x_j - m_i)\bigl(\langle h_i, B_{ij}x_j\rangle + \langle
          b_{ij}(x_i), h_j\rangle\bigr)\Bigr],

of which the query's part is at most :math:`\sum_jP_{ij}|x_j - m_i|\,\|B_{ij}\|R|h_i| \le \alpha|h_i|`, no more a
covariance but bounded as one, while :math:`|b_{ij}(x_i)| \le \beta/R`, and scores within :math:`\pm\beta` make
:math:`P_{ij} \le e^{2\beta}/n`, or over i under a causal mask. A key bias does not drop out: it adds
:math:`\sigma\langle T_i(W_Qx_i + b_Q), T_jb_K\rangle` to the score, which moves with the query by at most
:math:`\sigma\|W_Q\||b_K||h_i|`, and with no key; so, with :math:`\kappa = \|W_K\|R + |b_K|`, the same holds for
:math:`\alpha = \sigma\|W_Q\|R\kappa` and :math:`\beta = \sigma(\|W_Q\|R + |b_Q|)\kappa`, which bounds all scores. So
:func:`largest`, :func:`masked`, :func:`counted`, and :func:`together` for the largest displacement hold as they are,
and :func:`joint` for the mean. Measures of tokens have no positions: nothing is said of Wasserstein distances.

**Columns.** The block of key j in row i of the Jacobian is :math:`P_{ij}V(I + (x_j - m_i)b_{ij}(x_i)^\top)`, and
:math:`m_i = P_{ij}x_j + (1 - P_{ij})m'` with :math:`m'` in the ball, so that :math:`|x_j - m_i| \le 2R(1 - P_{ij})`.
Scores within :math:`\pm\beta` of i tokens leave :math:`P_{ij} \le p_i = 1/(1 + (i - 1)e^{-2\beta})`. The block is at
most :math:`\phi(p_i) = \max_{P \le p_i}P(1 + 2\beta(1 - P))`, attained at :math:`p_i` or at :math:`\frac{1 +
2\beta}{4\beta}`. Without a mask a column has n of them and once the query's part: :func:`columns`. Under a causal mask
row i sees i tokens, and in the first row the block is V and the query's part nothing: :func:`masked`, which is attained
for :math:`\alpha = \beta \le \frac12` by a first token opposite to all others. Rows sum to at most :func:`largest`, and
Schur's test is :func:`schur`. All of it holds with positions and biases.
"""

from __future__ import annotations

import math

import numpy as np

from theory.lipschitz._numbers import exponential
from theory.lipschitz.certificate.weights import Array
from theory.lipschitz.constants.bounded import max_norm_constant
from theory.lipschitz.constants.refined import refined_w2_constant, sharp_w1_constant


def first(alpha: float, beta: float) -> float:  # noqa: ARG001  of the same form as the others
    r"""Return :math:`e^{2\beta}(1 + 2\beta)`, in W_1."""
    return sharp_w1_constant(beta)


def joint(alpha: float, beta: float) -> float:
    r"""Return :math:`e^{2\beta}(1 + 2\beta) + \alpha`, of the mean displacement where positions turn the form."""
    return sharp_w1_constant(beta) + alpha


def squares(alpha: float, beta: float) -> float:
    r"""Return :math:`\alpha + \max_u\sqrt{(e^{2\beta}(1 - u) + u)(1 + 4\beta^2u(1 - u))}`, in W_2."""
    return refined_w2_constant(beta) - (beta - alpha)


def largest(alpha: float, beta: float) -> float:
    r"""Return :math:`1 + \alpha + \beta`, of the largest displacement under any mask."""
    return max_norm_constant((alpha + beta) / 2.0)


def columns(alpha: float, beta: float, n: int) -> float:
    r"""Return :math:`\alpha + n\phi(p_n)`, of the mean displacement of n tokens without a mask."""
    return alpha + n * float(_blocks(beta, np.array([n - 1.0]))[0])


def masked(alpha: float, beta: float, n: int) -> float:
    r"""Return :math:`\max(1, \alpha) + \sum_{i=2}^n\phi(p_i)`, of the mean displacement under a causal mask."""
    return max(1.0, alpha) + float(_blocks(beta, np.arange(1.0, n)).sum())


def schur(alpha: float, beta: float, n: int, *, causal: bool) -> float:
    r"""Return the root of the product of :func:`largest` and the constant of the mean, in the Frobenius norm."""
    return math.sqrt(largest(alpha, beta)) * math.sqrt((masked if causal else columns)(alpha, beta, n))


def _blocks(beta: float, others: Array) -> Array:
    r"""Return :math:`\phi(p_i)` for rows that see i - 1 ``others``."""
    odds = others * math.exp(-2.0 * beta)
    rest = odds / (1.0 + odds)
    values = (1.0 + 2.0 * beta * rest) / (1.0 + odds)
    if 2.0 * beta <= 1.0:
        return values
    top = (1.0 + 2.0 * beta) ** 2 / (8.0 * beta)
    return np.where(rest <= (2.0 * beta - 1.0) / (4.0 * beta), top, values)


def counted(alpha: float, beta: float, n: int) -> float:
    r"""Return the least of three constants in the Frobenius norm of n tokens.

    :math:`\sqrt n(1 + \beta) + \alpha`; :math:`e^\beta(1 + \beta) + \alpha`; and by Schur's test, of rows
    :math:`1 + \alpha + \beta` and columns :math:`n\kappa(\beta) + \alpha`, the root of their product, where
    :math:`\kappa(\beta) = \max_PP(1 + 2\beta(1 - P))`.
    """
    column = 1.0 if 2.0 * beta <= 1.0 else (1.0 + 2.0 * beta) ** 2 / (8.0 * beta)
    schur = math.sqrt(1.0 + alpha + beta) * math.sqrt(n * column + alpha)
    terms = math.sqrt(n) * (1.0 + beta) + alpha
    return min(terms, schur, _measured(beta, 2.0) + alpha)


def together(alphas: tuple[float, ...], betas: tuple[float, ...], values: list[float], out: float, p: float) -> float:
    r"""Return :math:`\|W_O\|(|\lambda|_2 + |\kappa|_2)`, for heads side by side and p one, two or infinite.

    :math:`\lambda_h = \|V_h\|\alpha_h` is what head h answers to its query and :math:`\kappa_h = \|V_h\|c_p(\beta_h)`
    to the measure, as in :func:`theory.lipschitz.depth.concatenated_bound`.
    """
    own = [value * alpha for value, alpha in zip(values, alphas, strict=True)]
    measure = [value * _measured(beta, p) for value, beta in zip(values, betas, strict=True)]
    return out * (math.hypot(*own) + math.hypot(*measure))


def _measured(beta: float, p: float) -> float:
    r"""Return :math:`e^{2\beta/p}(1 + 2^{(2/p - 1)_+}\beta)`: what is answered to the measure, in W_p."""
    return exponential(2.0 * beta / p) * (1.0 + (2.0 if p == 1.0 else 1.0) * beta)
