r"""The largest detour of a form, :math:`\varepsilon = \max_{|x|, |y| \le R}\langle x, B(y - x)\rangle`, from above.

Its exponential, not that of twice the norm, is the growth of the constants of one form (``lipschitz.single-form``):
without a mask, a bias or positions

.. math:: C_1 = e^\varepsilon(1 + 2\alpha) + \alpha,\qquad C_2 = e^{\varepsilon/2}\sqrt{1 + \alpha^2} + \alpha.

The bound behind them is one of what all queries together give to a key, not of each weight. So heads add up, and the
constants of heads taken together, which need weights one by one, know nothing of it.

*From above.* Let :math:`R = 1`. The best y makes it :math:`\max_{|x| \le 1}|B^\top x| - \langle x, Bx\rangle`, and
:math:`|b| \le \tau|b|^2 + \frac1{4\tau}` for every :math:`\tau > 0`, with equality at :math:`2\tau|b| = 1`. So

.. math:: \varepsilon \le \tfrac1{4\tau} + \lambda_{\max}\bigl(\tau BB^\top - \tfrac{B + B^\top}2\bigr)_+ ,

and the least over :math:`\tau` is :math:`\varepsilon`: pairs :math:`(|B^\top x|^2, \langle x, Bx\rangle)` fill a convex
set as x fills the ball (Brickman for the sphere of at least three dimensions; below, the segments from zero to an
ellipse or to a point), on which :math:`\sqrt p - q` is concave, so that minimum and maximum may be exchanged. As
:math:`x = \frac u2` at the left singular vector u of the largest singular value has
:math:`\varepsilon \ge \frac\alpha2 - \frac\alpha4`, and :math:`\varepsilon \le 2|B^\top x|`, the best :math:`\tau` lies
in :math:`[\frac1{2\alpha}, \frac4\alpha]`. Any :math:`\tau` gives a bound, and its eigenvalue is charged with its
rounding as norms are.

*Few rows.* Let :math:`W_Q^\top = PU_1 + E_1` and :math:`W_K^\top = PU_2 + E_2`, P with columns that are orthonormal up
to :math:`\eta \ge \|P^\top P - 1\|`. The form differs from :math:`PU_1U_2^\top P^\top` by at most
:math:`\|E\|(2\|W\| + \|E\|)`, W and E being both matrices together; a change D of the form moves the detour by at most
:math:`2\|D\|`, and :math:`P^\top` maps the unit ball into that of radius :math:`(1 + \eta)^{1/2}`. As in
:mod:`theory.lipschitz.certificate.thin` nothing is believed of the library that finds P.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from theory._validate import as_matrix
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import exponential
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.thin import factored
from theory.lipschitz.certificate.weights import _SPECTRAL, Array, AttentionWeights, in_range

_STEPS = 60  # taken: of the search for the multiplier, which any number may end
_NEAR = 1e-8  # taken: its width in logarithms


def first(alpha: float, detour: float) -> float:
    r"""Return :math:`e^\varepsilon(1 + 2\alpha) + \alpha`, in W_1."""
    return exponential(detour) * (1.0 + 2.0 * alpha) + alpha


def squares(alpha: float, detour: float) -> float:
    r"""Return :math:`e^{\varepsilon/2}\sqrt{1 + \alpha^2} + \alpha`, in W_2."""
    return exponential(0.5 * detour) * math.hypot(1.0, alpha) + alpha


def detours(layer: AttentionWeights) -> tuple[Interval, ...]:
    """Enclose the largest detours of the forms of heads on the ball of radius one; none where no theorem uses them."""
    if layer.causal or layer.score != "dot" or layer.b_query is not None:
        return ()
    tell(f"detours of {layer.heads} forms")
    root = Interval.exactly(layer.w_query.shape[1]).sqrt()
    if layer.scale is not None:
        root = 1.0 / Interval.exactly(layer.scale)
    pairs = zip(layer.w_query, layer.w_key, strict=True)
    return tuple(_largest_detour(query, key) / root for query, key in pairs)


def largest_detour(query: ArrayLike, key: ArrayLike) -> Interval:
    """Enclose the largest detour of the form ``query.T @ key`` on the ball of radius one, from below by zero.

    Parameters
    ----------
    query, key : array_like, shape (k, d)

    Returns
    -------
    Interval
        Its upper end is the detour, up to rounding and a search that ends near the best bound.

    Raises
    ------
    ValueError
        If shapes do not fit or a number is out of range.
    TypeError
        If a matrix is of the wrong type.
    """
    first, second = as_matrix(query, "query"), as_matrix(key, "key")
    if first.shape != second.shape:
        raise ValueError(f"key: expected shape {first.shape}, that of query, got {second.shape}")
    in_range(first, "query")
    in_range(second, "key")
    return _largest_detour(first, second)


def _largest_detour(query: Array, key: Array) -> Interval:
    """Return what :func:`largest_detour` does, for matrices that were checked."""
    powers = [math.frexp(float(np.sqrt((matrix * matrix).sum())))[1] for matrix in (query, key)]
    one, other = (np.ldexp(m.T, -power) for m, power in zip((query, key), powers, strict=True))
    missed, skew = Interval.exactly(0.0), 0.0
    if 2 * query.shape[0] < query.shape[1]:
        factors = factored(np.concatenate([one, other], axis=1))
        one, other = np.split(factors.upper, 2, axis=1)
        missed = 2.0 * factors.residual * (2.0 * factors.size + factors.residual)
        skew = factors.skew
    sizes = [float(np.sqrt((m * m).sum())) for m in (one, other)]
    form = one @ other.T
    rounding = 2.0 * gamma(one.shape[1] + 4) * sizes[0] * sizes[1]
    most = (_from_above(form) + rounding) * (1.0 + skew) * (1.0 + gamma(8))
    found = Interval.within(most, 0.0) + missed
    return Interval(0.0, found.hi, found.kind) * math.ldexp(1.0, powers[0]) * math.ldexp(1.0, powers[1])


def _from_above(form: Array) -> float:
    """Bound the largest detour of a matrix of floats."""
    size = float(np.sqrt((form * form).sum()))
    if size == 0.0:
        return 0.0
    square, mean = form @ form.T, 0.5 * (form + form.T)

    def bound(way: float) -> float:
        scale = math.exp(way)
        return 0.25 / scale + max(float(np.linalg.eigvalsh(scale * square - mean)[-1]), 0.0)

    start = -math.log(float(np.linalg.norm(form, 2)))  # the best of a positive form
    search = scipy.optimize.minimize_scalar(
        bound,
        bounds=(start - math.log(2.0), start + math.log(4.0)),
        method="bounded",
        options={"maxiter": _STEPS, "xatol": _NEAR},
    )
    way = min((start, float(search.x)), key=bound)
    scale = math.exp(way)
    error = gamma((_SPECTRAL + 4) * len(form) + 16) * (scale * size * size + size + 0.25 / scale)
    return (bound(way) + error) * (1.0 + gamma(16))
