"""What a claim and its twins ask for with the same arguments, computed once.

A twin changes a parameter of the check, and most of what the check measures stays. ``functools.cache`` serves where
arguments can be hashed; :func:`once` where they are arrays, enclosures, measures or scores, of which it compares what
is in them.
"""

from __future__ import annotations

import os
import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import partial, wraps
from threading import Lock
from types import BuiltinFunctionType, FunctionType, MappingProxyType, ModuleType
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

    The precision of balls and the backend in force are part of the question. A function is known by its identity: what
    it closes over must not change. Answers live as long as the process: what replaces a part of the program to see a
    claim fail asks in a process of its own.

    Parameters
    ----------
    function : callable
        Deterministic and without effect; its arguments are numbers, texts, arrays, enclosures, balls, functions,
        records of these such as measures and scores, or lists, tuples and mappings of them. The next caller gets the
        same answer, so that arrays in it are handed out as read-only copies, lists as tuples, mappings to be read only.

    Raises
    ------
    TypeError
        When called with anything else.
    """
    as_callable(function, "function")
    answers: OrderedDict[Hashable, T] = OrderedDict()
    lock = Lock()

    @wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        key = bits_in_force(), os.environ.get("THEORY_BACKEND"), content(args), content(kwargs)
        with lock:
            if key in answers:
                answers.move_to_end(key)
                return answers[key]
        answer: T = _sealed(function(*args, **kwargs))
        with lock:
            answers[key] = answer
            if len(answers) > _KEPT:
                answers.popitem(last=False)
        return answer

    return remembered


def _sealed(answer: Any) -> Any:
    """Return an answer that no caller can change for the next one."""
    if isinstance(answer, np.ndarray):
        copy = answer.copy(order="K")
        copy.setflags(write=False)
        return copy
    if type(answer) in (list, tuple):
        return tuple(map(_sealed, answer))
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return type(answer)(*map(_sealed, answer))
    if type(answer) is dict:
        return MappingProxyType({name: _sealed(part) for name, part in answer.items()})
    return answer


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
    """Return the numbers and how they lie in memory, by which sums of them may differ in the last bit."""
    entries = tuple(map(content, value.ravel().tolist())) if value.dtype == object else value.tobytes()
    return value.shape, value.strides, value.dtype, entries


def _of_builtin(value: Any) -> Hashable:
    """Return a function of a module, or the name of a method and the content of its owner, which may change."""
    owner = value.__self__
    return value if owner is None or isinstance(owner, ModuleType) else (value.__qualname__, content(owner))


_SAME = (str, bytes, int, Enum, Fraction, type, FunctionType, np.ufunc, type(None))
_CONTENT: tuple[tuple[Any, Callable[[Any], Hashable]], ...] = (  # the first that fits
    (np.ndarray, _of_array),
    (Intervals, lambda value: (content(value.lo), content(value.hi), value.kind)),
    (np.generic, lambda value: (value.dtype, value.tobytes())),
    (float, lambda value: struct.pack("d", value)),  # tells zeros of either sign apart, and what is no number
    (complex, lambda value: struct.pack("dd", value.real, value.imag)),
    ((list, tuple), lambda value: tuple(map(content, value))),
    (dict, lambda value: tuple((content(name), content(part)) for name, part in value.items())),
    (partial, lambda value: (content(value.func), content(value.args), content(value.keywords))),
    (BuiltinFunctionType, _of_builtin),
    (_SAME, lambda value: value),
)
