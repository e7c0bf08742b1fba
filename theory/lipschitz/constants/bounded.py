r"""How much attention moves a measure on a bounded set: constants in closed form.

Dot-product attention :math:`a(x, y) = x^\top By` with value matrix :math:`V` on the ball :math:`B_R`;
:math:`\alpha = \|B\|R^2`, :math:`v = \|V\|`, and :math:`T\mu = (\Gamma_\mu)_\#\mu`. Everything rests on the derivative
of one output along a path of tokens with velocities :math:`h`, with :math:`m_i` and :math:`\mathrm{Cov}_i` the mean and
covariance of the keys under the law :math:`P_i` of query :math:`i`:

.. math:: dF_i = V\Big[\sum_j P_{ij}h_j + \mathrm{Cov}_i B^\top h_i
          + \sum_j P_{ij}(x_j - m_i)\langle B^\top x_i, h_j\rangle\Big].

All constants are derived here, by the proofs in the docstrings, and hold for weighted atoms and any number of them.
A constant multiplies by :math:`v`. Asked with floats it is a float64 evaluation, a few roundings from the formula;
asked with intervals it is enclosed.

References
----------
J. Vuckovic, A. Baratin, R. Tachet des Combes, *On the regularity of attention*, arXiv:2102.05628 (such constants, on
compact sets and in the metric :math:`W_1`).
"""

from __future__ import annotations

import math

from theory._validate import as_count
from theory.attention.score import Constants
from theory.evidence import Interval, is_enclosed
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import (
    as_constants,
    as_float,
    exponent,
    exponential,
    finite,
    larger,
    like,
    logarithm,
    nonnegative,
    power,
    smaller,
    tanh,
    upper,
)

_DEEPEST = 600  # derived: 3**600 is below the largest double


def query_constant(alpha: float, value: float = 1.0) -> float:
    r"""Return :math:`v\alpha`: how fast an output moves with its query, the measure held fixed.

    :math:`W_p(\mu A_\nu, \mu'A_\nu) \le v\alpha\,W_p(\mu, \mu')` for every p: the derivative is
    :math:`V\,\mathrm{Cov}\,B^\top` and :math:`\|\mathrm{Cov}\| \le R^2`. Derived. Sharp: half the mass
    at :math:`-R` and at R, query 0.
    """
    return finite(nonnegative(value, "value") * nonnegative(alpha, "alpha"), "alpha")


def measure_constant(alpha: float, value: float = 1.0) -> float:
    r"""Return :math:`v e^{2\alpha}(1 + 2\alpha)`: how fast an output moves with the measure, the query held fixed.

    :math:`|\Gamma_\mu(x) - \Gamma_\nu(x)| \le v e^{2\alpha}(1 + 2\alpha)\,W_1(\mu, \nu)`: the density of the law is at
    most :math:`e^{2\alpha}`, the score has oscillation :math:`2\alpha` and Lipschitz constant :math:`\alpha/R`, the
    diameter is 2R. Derived. Sharp in the limit at :func:`theory.lipschitz.witnesses.far_atom`.
    """
    a = nonnegative(alpha, "alpha")
    return finite(nonnegative(value, "value") * exponential(2.0 * a) * (1.0 + 2.0 * a), "alpha")


def joint_constant(alpha: float, value: float = 1.0) -> float:
    r"""Return :math:`v C_1`, :math:`C_1(\alpha) = e^{2\alpha}(1 + 2\alpha) + \alpha`: the constant in :math:`W_1`.

    :math:`W_p(T\mu, T\nu) \le v C_1 W_p(\mu, \nu)` for every p, by :math:`\mu A_\mu \to \nu A_\mu \to \nu A_\nu`: the
    sum of :func:`query_constant` and :func:`measure_constant`. Derived. In :math:`W_1` the atoms of
    :func:`theory.lipschitz.witnesses.far_atom` come to :math:`e^{2\alpha}(1 + 2\alpha)`, so that exponential growth is
    unavoidable there; :func:`theory.lipschitz.constants.sharp_w1_constant` does without the last term.
    """
    return finite(query_constant(alpha, value) + measure_constant(alpha, value), "alpha")


def max_norm_constant(alpha: float, value: float = 1.0) -> float:
    r"""Return :math:`v(1 + 2\alpha)`: the constant in :math:`W_\infty`, and of the largest displacement of a token.

    :math:`\max_i|F_i(X) - F_i(Y)| \le v(1 + 2\alpha)\max_i|x_i - y_i|` for any number of tokens, any weights and any
    mask, since :math:`\|\mathrm{Cov}_i\| \le R^2` and :math:`\sum_j P_{ij}|x_j - m_i| \le R`. Derived. The row of
    :func:`theory.lipschitz.witnesses.balanced_query` has the sum :math:`2\alpha`, so the bound is sharp as
    :math:`\alpha` grows; a law of :math:`\frac12 + \frac1{8\alpha}` at the query's own side makes it :math:`2\alpha +
    \frac1{8\alpha}`.
    """
    return finite(nonnegative(value, "value") * (1.0 + 2.0 * nonnegative(alpha, "alpha")), "alpha")


def interpolated_constant(alpha: float, p: float, value: float = 1.0) -> float:
    r"""Return :math:`v C_p`, :math:`C_p = e^{2\alpha/p}(1 + 2^{(2/p - 1)_+}\alpha) + \alpha`, the constant in W_p.

    It is :func:`joint_constant` at :math:`p = 1`, :math:`v(e^\alpha(1 + \alpha) + \alpha)` at :math:`p = 2` and
    :func:`max_norm_constant` at :math:`p = \infty`. Derived: couple optimally and move along straight lines, with
    velocity h. The query term is at most :math:`\alpha|h(x)|`. With :math:`\pi_x` the law of the query and
    :math:`1/p + 1/q = 1`, Hölder's inequality gives :math:`\pi_x(|h|) \le \pi_x(|h|^p)^{1/p}` and
    :math:`\pi_x(|y - m_x||h|) \le \pi_x(|y - m_x|^q)^{1/q}\pi_x(|h|^p)^{1/p}`, where :math:`\pi_x(|y - m_x|^q)` is at
    most :math:`R^q` for :math:`q \le 2` and :math:`(2R)^{q-2}R^2` beyond; and
    :math:`\int\pi_x(|h|^p)\,\mu(dx) \le e^{2\alpha}\mu(|h|^p)`.

    Raises
    ------
    ValueError
        If ``p`` is below one; it may be infinite.
    """
    a = nonnegative(alpha, "alpha")
    inverse = _inverse(p, a)
    spread = power(2.0, larger(2.0 * inverse - 1.0, 0.0))
    return finite(nonnegative(value, "value") * (exponential(2.0 * a * inverse) * (1.0 + spread * a) + a), "alpha")


def schur_constant(alpha: float, p: float, value: float = 1.0) -> float:
    r"""Return :math:`v(1 + 2\alpha)^{1 - 1/p}C_1^{1/p}`, the constant in :math:`W_p` that Schur's test gives.

    Rows of the derivative sum to at most :math:`1 + 2\alpha`, columns to :math:`C_1`; with
    :func:`theory.lipschitz.constants.sharp_w1_constant` for the columns it is :math:`v(1 + 2\alpha)e^{2\alpha/p}`.
    Derived. The former is never below :func:`interpolated_constant`: by Hölder's inequality :math:`((1 + \alpha) +
    \alpha)^{1 - 1/p}(e^{2\alpha}(1 + 2\alpha) + \alpha)^{1/p} \ge e^{2\alpha/p}(1 + \alpha)^{1 - 1/p}(1 +
    2\alpha)^{1/p} + \alpha`, and likewise :math:`(1 + \alpha)^{1 - 1/p}(1 + 2\alpha)^{1/p} \ge 1 + 2^{1/p}\alpha`,
    where :math:`1/p \ge 2/p - 1`.
    """
    inverse = _inverse(p, alpha)
    rows = max_norm_constant(alpha)
    columns = joint_constant(alpha)
    return finite(nonnegative(value, "value") * power(rows, 1.0 - inverse) * power(columns, inverse), "alpha")


def causal_constant(alpha: float, n: int, value: float = 1.0) -> float:
    r"""Return :math:`v(\alpha + e^{2\alpha}(1 + 2\alpha)H_n)`: the constant of n tokens under a causal mask.

    In the mean displacement :math:`\frac1n\sum_i|x_i - y_i|`, positions fixed, :math:`H_n = \sum_{i \le n} 1/i`: the
    measure that query i sees moves by at most :math:`\frac1i\sum_{j \le i}|h_j|`. Derived. Sharp at :math:`\alpha = 0`,
    where the first token enters every average.
    """
    harmonic = math.fsum(1.0 / i for i in range(1, as_count(n, "n") + 1))
    if is_enclosed(alpha, value):  # quotients and their sum are rounded correctly
        harmonic = as_float(Interval.within(harmonic, gamma(2) * harmonic))
    return finite(query_constant(alpha, value) + measure_constant(alpha, value) * harmonic, "alpha")


def score_constant(score: Constants, diameter: float, value: float = 1.0) -> float:
    r"""Return :math:`v[\min(\frac D2\ell_x, \frac{D^2}4\ell_{xy}) + e^o(1 + D\ell_y)]`: any score, any bounded set.

    ``score`` states oscillation :math:`o`, Lipschitz constants :math:`\ell_x, \ell_y` and mixed constant
    :math:`\ell_{xy}` on a set of diameter :math:`D`, where then :math:`W_p(\mu A_\mu, \nu A_\nu)` is at most this times
    :math:`W_p(\mu, \nu)`, for :math:`p = 1`, and for every p if outputs are means. ``value`` is the product of the
    Lipschitz constants of lookup and projection. Derived; :func:`joint_constant` is the dot product on a ball.
    """
    size = nonnegative(diameter, "diameter")
    o, query, key, mixed = as_constants(score)
    queries = smaller(size / 2.0 * query, finite(size * size, "diameter") / 4.0 * mixed)
    return finite(nonnegative(value, "value") * (queries + exponential(o) * (1.0 + size * key)), "score")


def kernel_constant(least: float, most: float, query: float, key: float, diameter: float, value: float = 1.0) -> float:
    r"""Return :math:`v[D\,\mathrm{Lip}_x(G) + \sup G + D\,\mathrm{Lip}_y(G)]/\inf G`: weights instead of scores.

    The constant of :func:`score_constant`, for :math:`G > 0` with infimum ``least`` and supremum ``most``. Derived.

    Raises
    ------
    ValueError
        If ``least`` is not positive or exceeds ``most``.
    """
    low, high, size = (nonnegative(c, n) for c, n in ((least, "least"), (most, "most"), (diameter, "diameter")))
    if not 0.0 < upper(low) <= upper(high):
        raise ValueError(f"least: expected a number in (0, {high!r}], got {least!r}")
    slopes = nonnegative(query, "query") + nonnegative(key, "key")
    return finite(nonnegative(value, "value") * (high + size * slopes) / low, "least")


def contracted_diameter(diameter: float, norm: float, value: float = 1.0) -> float:
    r"""Return :math:`v D\tanh(\|B\|D^2/4)`: no set of diameter :math:`D` has a larger image under attention.

    The laws of two queries have a log-ratio of oscillation at most :math:`\|B\|D^2` and hence a total variation of at
    most :math:`\tanh(\|B\|D^2/4)`; means of two laws differ by at most that times :math:`D`. Derived. Attained by two
    tokens. For the score :math:`-\beta|x - y|^2` take ``norm`` :math:`2\beta`.
    """
    size = nonnegative(diameter, "diameter")
    spread = nonnegative(norm, "norm") * size * size
    return finite(nonnegative(value, "value") * size * tanh(spread / 4.0), "diameter")


def log_collapsed_diameter(diameter: float, norm: float, value: float, depth: int) -> float:
    r"""Return the logarithm of :math:`(\|B\|v/4)^{(3^L - 1)/2}D_0^{3^L}`, which bounds the diameter after L layers.

    For layers of attention alone with these constants, from :func:`contracted_diameter` and :math:`\tanh z \le z`. It
    tends to zero doubly exponentially if :math:`D_0^2 < 4/(\|B\|v)`. Derived. Minus infinity if ``diameter`` is zero,
    or ``norm`` or ``value`` is and ``depth`` is positive.

    Raises
    ------
    ValueError
        If ``depth`` is above 600 or a number is negative.
    """
    size = nonnegative(diameter, "diameter")
    rates = nonnegative(norm, "norm"), nonnegative(value, "value")  # their product may leave the range of float64
    layers = as_count(depth, "depth", least=0)
    if layers > _DEEPEST:
        raise ValueError(f"depth: expected at most {_DEEPEST} layers, got {layers}")
    if upper(size) == 0.0 or (0.0 in map(upper, rates) and layers > 0):
        return -math.inf
    if not layers:
        return logarithm(size)
    power = float(3**layers)
    factor = logarithm(rates[0]) + logarithm(rates[1]) - logarithm(like(4.0, diameter, *rates))
    return power * logarithm(size) + (power - 1.0) / 2.0 * factor


def _inverse(p: float, alpha: float) -> float:
    """Return 1 / p for p in [1, inf], enclosed if alpha is."""
    order = exponent(p)
    return 0.0 if math.isinf(order) else 1.0 / like(order, alpha)
