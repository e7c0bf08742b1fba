r"""Integrals in ball arithmetic: Taylor polynomials on panels, with the remainder enclosed.

If :math:`f` has :math:`n` derivatives on a panel with centre :math:`c` and half-width :math:`r`, then
:math:`f(c + t) = \sum_{k<n} f_k(c)t^k + f_n(\xi)t^n` with Taylor coefficients :math:`f_k = f^{(k)}/k!` and
:math:`\xi` between; for even :math:`n` the last term integrates to an element of :math:`f_n(\text{panel})\cdot
2r^{n+1}/(n+1)`. Coefficients at a point and over a panel both come from power series of balls. A panel is halved until
its remainder is small. An algebraic factor :math:`(x - a)^q` at the left end :math:`a` is integrated exactly against
the Taylor polynomial of the first panel, so that it costs nothing that it is not smooth there.

References
----------
R. E. Moore, *Methods and Applications of Interval Analysis*, SIAM 1979, chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theory._validate import as_callable
from theory.evidence.enclosure import as_ball, variable

_ORDER = 40  # taken: even, so that the remainder has one sign; a panel half as wide as its distance from a singularity
_SMALL = 2.0**-96  # taken: of a remainder beside the panels so far, far below what float64 resolves
_DEPTH = 96  # taken: halvings after which a panel is left as it is, wider and still valid


def integral_over(f: Callable[[Any], Any], lo: Any, hi: Any, *, exponent: Any = 0) -> Any:
    r"""Enclose :math:`\int_{lo}^{hi} (x - lo)^q f(x)\,dx`.

    Parameters
    ----------
    f : callable
        Takes a power series of balls and returns one; smooth on the closed interval. Where it raises ``ValueError`` or
        ``ZeroDivisionError``, as a division by a series that may vanish does, nothing is known of it.
    lo, hi : ball, int, float or Fraction
        Ends, ``lo < hi``.
    exponent : ball, int, float or Fraction, default 0
        The power :math:`q > -1` of the factor at the left end.

    Returns
    -------
    ball
        Not finite if the series of ``f`` stays unbounded on a panel however small.

    Raises
    ------
    ValueError
        If the ends are not certainly in order or the exponent is not certainly above -1.
    """
    as_callable(f, "f")
    a = as_ball(lo, "lo")
    b = as_ball(hi, "hi")
    q = as_ball(exponent, "exponent")
    if not a < b:
        raise ValueError(f"lo, hi: expected lo < hi, got {lo}, {hi}")
    if not q > -1:
        raise ValueError(f"exponent: expected more than -1, got {exponent}")
    weighted = f if q == 0 else lambda x: (x - a) ** q * f(x)
    t = variable(_ORDER + 1).item()
    done = a * 0
    left = [(a, b, 0)]
    while left:
        start, end, depth = left.pop()
        first = q != 0 and start is a
        value = rest = (a * 0).log()
        try:
            rest, most = (_edge_rest if first else _panel_rest)(f if first else weighted, start, end, q, t)
            if depth >= _DEPTH or not most.is_finite() or abs(rest) <= _SMALL * (1 + abs(done) + most.upper()):
                value = _edge(f, start, end, q, t) if first else _panel(weighted, start, end, t)
        except (ValueError, ZeroDivisionError):
            value = rest = (a * 0).log()
        # without the integral it is known already whether so large a remainder is too large
        small = value.is_finite() and rest.is_finite() and abs(rest) <= _SMALL * (1 + abs(done) + abs(value))
        if small or depth >= _DEPTH:
            done += value + rest
            if not done.is_finite():
                return done
        else:
            middle = (start + end) / 2
            left += [(middle, end, depth + 1), (start, middle, depth + 1)]
    return done


def _panel(f: Callable[[Any], Any], start: Any, end: Any, t: Any) -> Any:
    """Return the integral of the Taylor polynomial about the middle."""
    centre, r = (start + end) / 2, (end - start) / 2
    at = f(centre + t)
    return 2 * sum((at[k] * r ** (k + 1) / (k + 1) for k in range(2, _ORDER, 2)), at[0] * r)


def _panel_rest(f: Callable[[Any], Any], start: Any, end: Any, _q: Any, t: Any) -> tuple[Any, Any]:
    """Return an enclosure of the remainder, and what that integral is at most in size."""
    r = (end - start) / 2
    over = f(start.union(end) + t)
    rest = over[_ORDER] * 2 * r ** (_ORDER + 1) / (_ORDER + 1)
    return rest, 2 * r * abs(over[0]) + abs(rest)


def _edge(f: Callable[[Any], Any], start: Any, end: Any, q: Any, t: Any) -> Any:
    """Do the same about the left end, against the factor that is singular there."""
    w = end - start
    at = f(start + t)
    return sum((at[k] * w ** (q + k + 1) / (q + k + 1) for k in range(1, _ORDER)), at[0] * w ** (q + 1) / (q + 1))


def _edge_rest(f: Callable[[Any], Any], start: Any, end: Any, q: Any, t: Any) -> tuple[Any, Any]:
    w = end - start
    over = f(start.union(end) + t)
    rest = over[_ORDER] * w ** (q + _ORDER + 1) / (q + _ORDER + 1)
    return rest, abs(over[0]) * w ** (q + 1) / (q + 1) + abs(rest)
