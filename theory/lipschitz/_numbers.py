"""Checks of the plain numbers that constants take and give."""

from __future__ import annotations

import math

import numpy as np

from theory._validate import as_positive
from theory.attention.score import Constants


def nonnegative(value: float, name: str) -> float:
    """Return a finite number that is not negative as a float, or raise."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and value == 0:
        return 0.0
    try:
        return as_positive(value, name)
    except ValueError as error:
        raise ValueError(f"{name}: expected a non-negative, finite number, got {value!r}") from error


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
    if not constant < math.inf:
        raise ValueError(f"{name}: expected one whose constant float64 can hold, got a constant of {constant}")
    return constant


def exponential(t: float) -> float:
    """Return the exponential, infinite where it overflows."""
    try:
        return math.exp(t)
    except OverflowError:
        return math.inf
