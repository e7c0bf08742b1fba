"""Checks and functions of the plain numbers that constants take and give: floats, or enclosures of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory._validate import as_positive
from theory.attention.score import Constants
from theory.evidence import Interval, is_enclosed


def nonnegative(value: float, name: str) -> float:
    """Return a finite number that is not negative as a float, or raise; such an enclosure stays one."""
    if is_enclosed(value):
        if not (lower(value) >= 0.0 and upper(value) < math.inf):
            raise ValueError(f"{name}: expected a non-negative, finite number, got {value!r}")
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and value == 0:
        return 0.0
    try:
        return as_positive(value, name)
    except ValueError as error:
        raise ValueError(f"{name}: expected a non-negative, finite number, got {value!r}") from error


def positive(value: float, name: str) -> float:
    """Return a finite, positive number as a float, or raise; such an enclosure stays one."""
    if not is_enclosed(value):
        return as_positive(value, name)
    if not lower(value) > 0.0:
        raise ValueError(f"{name}: expected a positive, finite number, got {value!r}")
    return nonnegative(value, name)


def exponent(p: float) -> float:
    """Return an exponent in [1, inf] as a float, or raise."""
    if isinstance(p, (float, np.floating)) and math.isinf(p) and p > 0.0:
        return math.inf
    try:
        power = as_positive(p, "p")
    except (TypeError, ValueError) as error:
        raise type(error)(f"p: expected a number in [1, inf], got {p!r}") from error
    if power < 1.0:
        raise ValueError(f"p: expected a number in [1, inf], got {p!r}")
    return power


def as_constants(score: Constants, name: str = "score") -> Constants:
    """Return the constants of a score, none of them negative, or raise."""
    if not isinstance(score, tuple) or len(score) != len(Constants._fields):
        raise TypeError(f"{name}: expected Constants, got {type(score).__name__}")
    return Constants(*(nonnegative(c, f"{name}.{field}") for c, field in zip(score, Constants._fields, strict=True)))


def finite(constant: float, name: str) -> float:
    """Return a constant, or raise ``ValueError`` if it leaves the range of float64."""
    if not upper(constant) < math.inf:
        raise ValueError(f"{name}: expected one whose constant float64 can hold, got a constant of {constant}")
    return constant


def lower(number: float) -> float:
    """Return the lower end of an enclosure, or the float itself."""
    return float(getattr(number, "lo", number))


def upper(number: float) -> float:
    """Return the upper end of an enclosure, or the float itself."""
    return float(getattr(number, "hi", number))


def like(number: float, *others: float) -> float:
    """Return an exactly known number: enclosed if one of the others is, so that what becomes of it is as well."""
    return as_float(Interval.exactly(number)) if is_enclosed(*others) else float(number)


def exponential(t: float) -> float:
    """Return the exponential, infinite where it overflows."""
    if is_enclosed(t):
        return as_float(np.exp(t))
    try:
        return math.exp(t)
    except OverflowError:
        return math.inf


def expm1(t: float) -> float:
    """Return the exponential less one, infinite where it overflows."""
    if is_enclosed(t):
        return as_float(np.expm1(t))
    try:
        return math.expm1(t)
    except OverflowError:
        return math.inf


def tanh(t: float) -> float:
    """Return the hyperbolic tangent."""
    return as_float(np.tanh(t)) if is_enclosed(t) else math.tanh(t)


def root(t: float) -> float:
    """Return the square root."""
    return as_float(np.sqrt(t)) if is_enclosed(t) else math.sqrt(t)


def logarithm(t: float) -> float:
    """Return the logarithm of a positive number."""
    return as_float(np.log(t)) if is_enclosed(t) else math.log(t)


def power(base: float, t: float) -> float:
    """Return a power of a positive number."""
    return as_float(np.power(base, t)) if is_enclosed(base, t) else float(base**t)


def smaller(one: float, other: float) -> float:
    """Return the smaller of two numbers."""
    return as_float(np.minimum(one, other)) if is_enclosed(one, other) else min(one, other)


def larger(one: float, other: float) -> float:
    """Return the larger of two numbers."""
    return as_float(np.maximum(one, other)) if is_enclosed(one, other) else max(one, other)


def as_float(number: Any) -> float:
    """Return a number as what callers that ask with floats take it for: an enclosure goes wherever a float goes."""
    return number  # type: ignore[no-any-return]
