"""Checks and functions of the plain numbers that constants take and give: floats, or enclosures of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory._validate import as_positive
from theory.attention.score import Constants
from theory.evidence import Interval


def nonnegative(value: float, name: str) -> float:
    """Return a finite number that is not negative as a float, or raise; such an enclosure stays one."""
    if isinstance(value, Interval):
        if not (value.lo >= 0.0 and value.hi < math.inf):
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
    if isinstance(value, Interval) and not value.lo > 0.0:
        raise ValueError(f"{name}: expected a positive, finite number, got {value!r}")
    return nonnegative(value, name) if isinstance(value, Interval) else as_positive(value, name)


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


def upper(number: float) -> float:
    """Return the upper end of an enclosure, or the float itself."""
    return number.hi if isinstance(number, Interval) else number


def like(number: float, *others: float) -> Any:
    """Return an exactly known number: enclosed if one of the others is, so that what becomes of it is as well."""
    return Interval.exactly(number) if any(isinstance(other, Interval) for other in others) else float(number)


def exponential(t: float) -> Any:
    """Return the exponential, infinite where it overflows."""
    if isinstance(t, Interval):
        return np.exp(t)
    try:
        return math.exp(t)
    except OverflowError:
        return math.inf


def tanh(t: float) -> Any:
    """Return the hyperbolic tangent."""
    return np.tanh(t) if isinstance(t, Interval) else math.tanh(t)


def root(t: float) -> Any:
    """Return the square root."""
    return np.sqrt(t) if isinstance(t, Interval) else math.sqrt(t)


def smaller(one: float, other: float) -> Any:
    """Return the smaller of two numbers."""
    return np.minimum(one, other) if isinstance(one, Interval) or isinstance(other, Interval) else min(one, other)


def larger(one: float, other: float) -> Any:
    """Return the larger of two numbers."""
    return np.maximum(one, other) if isinstance(one, Interval) or isinstance(other, Interval) else max(one, other)


def power(base: float, t: float) -> Any:
    """Return a power of a positive number."""
    return np.power(base, t) if isinstance(base, Interval) or isinstance(t, Interval) else base**t


def logarithm(t: float) -> Any:
    """Return the logarithm of a positive number."""
    return np.log(t) if isinstance(t, Interval) else math.log(t)
