"""Identities decided by exact algebra (SymPy): an expression is zero, or here is where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from theory.evidence.interval import Interval, Kind

_DIGITS = 40


def zero(expression: Any, concrete: Mapping[Any, Any]) -> Interval:
    """Enclose an expression that is claimed to vanish identically.

    Parameters
    ----------
    expression : sympy.Expr
        Left side minus right side.
    concrete : mapping of sympy.Symbol to number
        A point at which a wrong identity shows; exact numbers.

    Returns
    -------
    Interval
        Exactly zero, of kind ``PROVED``, if algebra reduces the expression to zero; otherwise its value at
        ``concrete``, of kind ``CERTIFIED``; unknown if neither is reached.

    Raises
    ------
    ValueError
        If ``concrete`` leaves a symbol free.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> zero((x + 1) ** 2 - x**2 - 2 * x - 1, {x: 3})
    Interval(lo=0.0, hi=0.0, kind=<Kind.PROVED: 0>)
    """
    left = sympy.sympify(expression)
    free = left.free_symbols - set(concrete)
    if free:
        raise ValueError(f"concrete: expected a value for every symbol, got none for {sorted(map(str, free))}")
    if sympy.simplify(left) == 0:
        return Interval.exactly(0, Kind.PROVED)
    value = left.subs(dict(concrete)).evalf(_DIGITS, strict=True, chop=False)
    if not value.is_real:
        return Interval.unknown(Kind.CERTIFIED)
    return Interval.within(float(value), abs(float(value)) * 2.0**-51, Kind.CERTIFIED)
