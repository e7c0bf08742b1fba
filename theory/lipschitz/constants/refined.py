r"""Constants of dot-product attention on a ball with nothing to spare in W_1, and less than before in W_2.

Throughout :math:`R = 1`, :math:`\|B\| = \alpha`, :math:`V = I` (general ones by scaling). A displacement h of the atoms
moves the output at x by :math:`\pi_x(h + (y - m_x)\langle B^\top x, h\rangle) + \mathrm{Cov}_{\pi_x} B^\top h(x)`,
with :math:`\pi_x(dy) = \rho_x(y)\mu(dy)` the attention law and :math:`m_x` its mean; m is the mean of :math:`\mu`. A
bound of this map in :math:`L^p(\mu)` for all measures is one of the Lipschitz constant in :math:`W_p`: couple optimally
and integrate along the segments, which stay in the ball. Where several segments leave or cross at one place, h is
random there; the bounds below never use that it is a function of the place.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Interval, is_enclosed
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import as_float, exponential, finite, lower, nonnegative, upper

_ROUNDING = gamma(64)  # derived: the exponential is within four units, its argument exact, twenty operations follow
_GRID = 4096  # taken: intervals of the search for the best share before it is refined


def sharp_w1_constant(alpha: float) -> float:
    r"""Return :math:`e^{2\alpha}(1 + 2\alpha)`, the least Lipschitz constant in W_1 for all forms of norm alpha.

    A constant of :math:`\mu \mapsto \mu A_\mu` for each form, and no smaller number is one for all of them, at every
    :math:`\alpha \ge 0` in every dimension (derived here): atoms :math:`(1 - \epsilon)\delta_e + \epsilon\delta_{-e}`,
    e a unit vector, :math:`B = -\alpha ee^\top`, reach it as :math:`\epsilon \to 0`; for another V, where :math:`|Ve| =
    \|V\|`. A single form may have a smaller one. Proof of the bound. To displace what lies at y costs at most
    :math:`(1 + \alpha\sup_x|y - m_x|)\int\rho_x(y)\mu(dx) + \alpha\|\mathrm{Cov}_{\pi_y}\|` per length. Let :math:`t =
    1 - |m|`, so that :math:`|y - m| \le 2 - t`, and :math:`E = e^{2\alpha}`. By Jensen's inequality :math:`\rho_x(y)
    \le e^{\langle x, B(y - m)\rangle}`; since :math:`\mu(|z - m|^2) = \mu(|z|^2) - |m|^2 \le t(2 - t)`, also
    :math:`\|\mathrm{Cov}_{\pi_y}\| \le \min(1, Et(2 - t))`.

    For :math:`\alpha \ge 0.6`: by :math:`|y - m_x| \le 2` it remains that :math:`\alpha\min(1, Et(2 - t)) \le
    E(1 + 2\alpha)(1 - e^{-\alpha t})`, which follows from :math:`1 - e^{-s} \ge s/(1 + s)` and :math:`\alpha/E \le
    2\alpha - 1`; from :math:`\alpha = 1` on the left side of the last is below 1 and the right one is not. For
    :math:`\alpha \le 0.6`: the chord of the exponential gives :math:`\int\rho_x(y)\mu(dx) \le e^{\alpha(2 - t)} -
    t\sinh(\alpha(2 - t))`, and :math:`|y - m_x| \le 2 - t + \frac{E - 1}2t(2 - t)`, as the mean of the law tilted by
    :math:`\tau B^\top x` moves at a speed of at most :math:`\alpha e^{2\alpha\tau}t(2 - t)`, :math:`0 \le \tau \le 1`.
    The bound less the cost is then, with :math:`e^{-s} \le 1 - s + \frac{s^2}2` and :math:`\sinh s \ge s`, at least
    :math:`\alpha tQ`,

    .. math:: Q = E\bigl(1 - (2 - t)\tfrac{E + 1}2\bigr) + \bigl(E(1 - \tfrac{\alpha t}2) + 2 - t\bigr)\bigl(1 +
              2\alpha - \alpha t + \alpha t\tfrac{E - 1}2(2 - t)\bigr),

    which is positive on the box :math:`[0, 0.6] \times [0, 1]`.

    Raises
    ------
    ValueError
        If ``alpha`` is negative, not finite, or too large for float64.
    """
    a = nonnegative(alpha, "alpha")
    return finite(exponential(2.0 * a) * (1.0 + 2.0 * a), "alpha")


def refined_w2_constant(alpha: float) -> float:
    r"""Return :math:`\alpha + \max_{0 \le u \le 1}\sqrt{(e^{2\alpha}(1 - u) + u)(1 + 4\alpha^2u(1 - u))}`, for W_2.

    Derived here; below :math:`e^\alpha(1 + \alpha) + \alpha` for every :math:`\alpha > 0`, and for large ones
    :math:`\frac4{3\sqrt3}\alpha e^\alpha`, of which two atoms reach :math:`\frac{27}{32}`. Proof. Let :math:`b =
    B^\top x` and v be a unit vector. Since :math:`y - m_x` has mean zero under :math:`\pi_x`, the square of the v-th
    component of :math:`\pi_x(h + (y - m_x)\langle b, h\rangle)` is at most :math:`(1 + |b|^2\mathrm{Var}_{\pi_x}\langle
    v, y\rangle)\,\pi_x(|h|^2)`. Let :math:`e = b/|b|` and u be the mean of :math:`\frac12(1 + \langle e, y\rangle)`
    under :math:`\pi_x`. The variance is at most :math:`\pi_x(|y + e|^2) - |m_x + e|^2 \le 4u - 4u^2`, and the density
    :math:`\rho_x \le e^{|b|}\pi_x(e^{-\langle b, y\rangle}) \le e^{2|b|}(1 - u) + u` by the chord of the exponential.
    Integrate over x; the term of the query adds :math:`\alpha`.

    Raises
    ------
    ValueError
        If ``alpha`` is negative, not finite, or too large for float64.
    """
    a = nonnegative(alpha, "alpha")
    if is_enclosed(a):  # it rises with alpha
        low, high = (refined_w2_constant(end) for end in (lower(a), upper(a)))
        return as_float(Interval(Interval.within(low, _ROUNDING * low).lo, Interval.within(high, _ROUNDING * high).hi))
    finite(math.inf if a >= 340.0 else 0.0, "alpha")
    growth = math.exp(2.0 * a)
    low, high = 0.0, 1.0
    for _ in range(4):  # the largest value of the last grid misses the supremum by less than its rounding
        u = np.linspace(low, high, _GRID + 1)
        values = (growth * (1.0 - u) + u) * (1.0 + 4.0 * a * a * u * (1.0 - u))
        at = int(values.argmax())
        low, high = float(u[max(at - 1, 0)]), float(u[min(at + 1, _GRID)])
    return a + math.sqrt(float(values.max()))
