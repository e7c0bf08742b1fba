"""What a claim and its twins ask for with the same arguments, computed once.

A twin changes a parameter of the check, and most of what the check measures stays. ``functools.cache`` serves where
arguments can be hashed; :func:`once` where they are arrays, enclosures, measures or scores, of which it compares what
is in them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import partial, wraps
from types import BuiltinFunctionType, FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from theory._validate import as_callable
from theory.evidence.enclosure import ball_digits, bits_in_force
from theory.evidence.intervals import Intervals

P = ParamSpec("P")
T = TypeVar("T")
_KEPT = 512  # taken: answers of a function; the oldest are forgotten


def once(function: Callable[P, T]) -> Callable[P, T]:
    """Make a pure function remember its answers by the content of its arguments, down to the last bit.

    Parameters
    ----------
    function : callable
        Deterministic and without effect; its arguments are numbers, texts, arrays, enclosures, balls, functions,
        records of these such as measures and scores, or lists, tuples and mappings of them. An array that it returns
        is made read-only, since the next caller gets it, too.

    Raises
    ------
    TypeError
        When called with anything else.
    """
    as_callable(function, "function")
    answers: OrderedDict[Hashable, T] = OrderedDict()

    @wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        key = bits_in_force(), content(args), content(kwargs)
        if key in answers:
            answers.move_to_end(key)
            return answers[key]
        answer = function(*args, **kwargs)
        if isinstance(answer, np.ndarray):
            answer.setflags(write=False)
        answers[key] = answer
        if len(answers) > _KEPT:
            answers.popitem(last=False)
        return answer

    return remembered


def content(value: Any) -> Hashable:
    """Return what can be hashed and is equal for two values only if they are the same to the last bit.

    Raises
    ------
    TypeError
        If the value is none of which the content is known.
    """
    for kinds, told in _CONTENT:
        if isinstance(value, kinds) and not isinstance(value, np.ma.MaskedArray):
            return type(value), told(value)
    if (digits := ball_digits(value)) is not None:
        return type(value), digits
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(content(getattr(value, field.name)) for field in fields(value))
    raise TypeError(f"value: expected numbers, arrays, enclosures or records of them, got {type(value).__name__}")


def _of_array(value: Any) -> Hashable:
    entries = tuple(map(content, value.ravel().tolist())) if value.dtype == object else value.tobytes()
    return value.shape, value.dtype.str, entries


_SAME = (str, bytes, int, Enum, Fraction, type, FunctionType, BuiltinFunctionType, np.ufunc, type(None))
_CONTENT: tuple[tuple[Any, Callable[[Any], Hashable]], ...] = (  # the first that fits
    (np.ndarray, _of_array),
    (Intervals, lambda value: (content(value.lo), content(value.hi), value.kind)),
    (np.generic, lambda value: value.tobytes()),
    (float, lambda value: value.hex()),  # tells zeros of either sign apart
    (complex, lambda value: (value.real.hex(), value.imag.hex())),
    ((list, tuple), lambda value: tuple(map(content, value))),
    (dict, lambda value: tuple((content(name), content(part)) for name, part in value.items())),
    (partial, lambda value: (value.func, content(value.args), content(value.keywords))),
    (_SAME, lambda value: value),
)
