"""Identities decided by exact algebra (SymPy): an expression is zero, or here is where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Number
from typing import Any

import sympy
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.evalf import PrecisionExhausted

from theory._validate import as_instance
from theory.evidence.interval import Interval, Kind

_DIGITS = 40
_SLACK = Fraction(1, 10**38)  # a hundred times what 40 correct digits leave


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
    TypeError
        If the expression, or a key or number of ``concrete``, is a text or anything else but an expression or a number:
        SymPy would read a text by running it.
    ValueError
        If ``concrete`` leaves a symbol free, or a number in it or in the expression is a float.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> zero((x + 1) ** 2 - x**2 - 2 * x - 1, {x: 3})
    Interval(lo=0.0, hi=0.0, kind=<Kind.PROVED: 0>)
    """
    left = _read(expression, "expression")
    point = {k: _read(v, "concrete") for k, v in as_instance(concrete, "concrete", Mapping).items()}
    for name, value in (("expression", left), *(("concrete", v) for v in point.values())):
        if value.atoms(sympy.Float):
            raise ValueError(f"{name}: expected exact numbers, got the float {min(value.atoms(sympy.Float), key=str)}")
    free = left.free_symbols - set(point)
    if free:
        raise ValueError(f"concrete: expected a value for every symbol, got none for {sorted(map(str, free))}")
    for key in point:
        if not isinstance(key, sympy.Expr):
            raise TypeError(f"concrete: expected symbols as keys, got {type(key).__name__}")
    found = _value(_at(left, point))
    if found is not None and not found.lo <= 0.0 <= found.hi:
        return found  # it shows at this point, so that no algebra is needed
    if sympy.simplify(left) == 0:
        return Interval.exactly(0, Kind.PROVED)
    return Interval.unknown(Kind.CERTIFIED) if found is None else found


def _at(expression: Any, point: Mapping[Any, Any]) -> Any:
    """Return an expression with numbers for its symbols, in one pass where none of them is bound."""
    binding = (sympy.Derivative, sympy.Subs, sympy.Lambda, ExprWithLimits)
    if all(isinstance(key, sympy.Symbol) for key in point) and not expression.has(*binding):
        return expression.xreplace(point)
    return expression.subs(point, simultaneous=True)


def _read(value: Any, name: str) -> Any:
    """Return an expression or a number as SymPy has it, and nothing that SymPy would have to parse."""
    if isinstance(value, bool) or not isinstance(value, (sympy.Expr, Number)):
        raise TypeError(f"{name}: expected an expression of SymPy or a number, got {type(value).__name__}")
    return sympy.sympify(value, strict=True)


def _value(number: Any) -> Interval | None:
    """Enclose a number without free symbols; None if its digits cannot be had, as of a zero in disguise."""
    try:
        value = number.evalf(_DIGITS, strict=True, chop=False)
    except PrecisionExhausted:
        return None
    if not value.is_real or not value.is_finite:
        return None
    rational = sympy.Rational(value)
    near = Fraction(int(rational.p), int(rational.q))
    slack = abs(near) * _SLACK
    return Interval(Interval.exactly(near - slack).lo, Interval.exactly(near + slack).hi, Kind.CERTIFIED)
