r"""Two clusters of tokens: how long they stay apart, and where they meet.

Tokens in two clusters of masses :math:`a, b` at angle :math:`\varphi` stay in two clusters on one great circle. A token
of the first attends to the second with weight :math:`p = (1 + \tfrac ab e^{\beta(1 - \cos\varphi)})^{-1}`, one of the
second to the first with :math:`q`, where :math:`a, b` are swapped, and the angle closes at the speed
:math:`(p + q)\sin\varphi`. So the time from one angle to another, and what the first cluster travels in it, are
integrals. They are enclosed in balls, over :math:`y = \beta(1 - \cos\varphi)` and scaled by its exponential at the
start, for the time itself leaves float64 soon. Without normalisation the speed is
:math:`(a + b)e^{\beta\cos\varphi}\sin\varphi`.

References
----------
B. Geshkovski, H. Koubbi, Y. Polyanskiy, P. Rigollet, Dynamic metastability in the self-attention model,
arXiv:2410.06833 (2024). The integrals are derived here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory._validate import as_flag, as_masses, as_number, as_positive
from theory.evidence import Interval, ball, exact, is_enclosed
from theory.evidence.enclosure import hull, precision
from theory.evidence.quadrature import integral_over


def log_lifetime(
    start: float, end: float, beta: float, *, weights: tuple[float, float] = (0.5, 0.5), normalised: bool = True
) -> Interval:
    r"""Enclose the logarithm of the time in which two clusters come from one angle to another.

    Parameters
    ----------
    start, end : float
        Angles in radians, :math:`0 < ` ``end`` :math:`<` ``start`` :math:`< \pi`.
    beta : float
        Inverse temperature, positive.
    weights : tuple of two floats, default (0.5, 0.5)
        Of the clusters, positive. With normalisation only their ratio matters.
    normalised : bool, default True
        SA or USA.

    Returns
    -------
    Interval
        Of kind ``CERTIFIED``; time is in units of the depth of the flow.

    Raises
    ------
    ValueError
        If an angle, ``beta`` or a mass is out of range.
    """
    first, last = _angle(start, "start"), _angle(end, "end")
    if not last < first:
        raise ValueError(f"end: expected an angle below start = {start}, got {end}")
    (a, b), rows = _balls(weights), as_flag(normalised, "normalised")
    with precision():
        beta_ = _ball(as_positive(beta, "beta"))
        low, top = (2 * beta_ * (_ball(angle) / 2).sin() ** 2 for angle in (last, first))

        def delay(y: Any) -> Any:  # y = beta (1 - cos), dy = beta sin
            grown = (y - top).exp() / (y * (2 - y / beta_))
            return grown / _pull(y, a / b) if rows else grown / (a + b)

        return hull(integral_over(delay, low, top).log() + (top if rows else top - beta_))


def meeting_point(start: float, beta: float, *, weights: tuple[float, float] = (0.5, 0.5)) -> Interval:
    r"""Enclose the angle that the first of two clusters travels until they meet; the second travels the rest.

    Parameters and errors as for :func:`log_lifetime`, with normalisation.
    """
    a, b = _balls(weights)
    with precision():
        beta_ = _ball(as_positive(beta, "beta"))
        half = (_ball(_angle(start, "start")) / 2).sin()

        def part(y: Any) -> Any:  # of the whole angle, of which the element is dy / sqrt(y (2 beta - y))
            return 1 / (((-y).exp() + a / b) * _pull(y, a / b) * (2 * beta_ - y).sqrt())

        return hull(integral_over(part, _ball(0.0), 2 * beta_ * half**2, exponent=-0.5))


def log_asymptote(start: Any, beta: Any, *, weights: tuple[float, float] = (0.5, 0.5), corrected: bool = False) -> Any:
    r"""Return :math:`\log\frac{e^{\beta(1 - \cos\varphi_0)}}{r\beta\sin^2\varphi_0}`, :math:`r = \frac ab + \frac ba`.

    The lifetime tends to it as :math:`\beta \to \infty`; with ``corrected`` there is a factor
    :math:`1 + 2\cos\varphi_0/(\beta\sin^2\varphi_0)`. Enclosed if the angle or ``beta`` is exact. Errors as for
    :func:`log_lifetime`, and ``ValueError`` if that factor is not positive.
    """
    enclosed = is_enclosed(start, beta)
    angle = _middle(start, "start")
    _angle(angle, "start")
    size = as_positive(_middle(beta, "beta"), "beta")
    a, b = _two(weights)
    x, scale, first, second = (exact(value) if enclosed else value for value in (angle, size, a, b))
    sine = np.sin(x)
    value = 2.0 * scale * np.sin(x / 2.0) ** 2
    value = value - np.log(first / second + second / first) - np.log(scale) - 2.0 * np.log(sine)
    if as_flag(corrected, "corrected"):
        factor = 1.0 + 2.0 * np.cos(x) / sine / (scale * sine)
        if not (factor.lo if enclosed else factor) > 0.0:
            raise ValueError(f"beta: expected a factor 1 + 2 cos / (beta sin^2) above zero, got {factor}")
        value = value + np.log(factor)
    if not math.isfinite(value.mid if enclosed else value):
        raise ValueError(f"beta: expected a logarithm of the time that float64 holds, got beta = {size}")
    return value if enclosed else float(value)


def _middle(value: Any, name: str) -> float:
    return value.mid if isinstance(value, Interval) else as_number(value, name)


def _pull(y: Any, c: Any) -> Any:
    """Return how much two clusters attend to each other, in all, times the exponential of y; c is a / b."""
    shown = (-y).exp()  # so written, balls and series stay narrow where it is small
    return 1 / (shown + c) + 1 / (shown + 1 / c)


def _angle(value: float, name: str) -> float:
    angle = as_positive(value, name)
    if not angle < math.pi:
        raise ValueError(f"{name}: expected an angle below pi, got {angle}")
    return angle


def _balls(weights: tuple[float, float]) -> tuple[Any, Any]:
    a, b = _two(weights)
    return _ball(a), _ball(b)


def _two(weights: tuple[float, float]) -> tuple[float, float]:
    a, b = as_masses(weights, "weights", size=2).tolist()
    if not min(a, b) > 0.0:
        raise ValueError(f"weights: expected two positive numbers, got {weights}")
    return a, b


def _ball(value: float) -> Any:
    return ball(value)
