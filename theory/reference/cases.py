"""A file of known answers: its inputs, which are exact, its answers, and how both are laid out as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.evidence import ball
from theory.reference.digits import FORMATS, Answers, certified, hexadecimal, nearest_number

Inputs = Mapping[str, NDArray[Any]]
SCHEMA = "https://json-schema.org/draft/2020-12/schema"
PROMISED = 15  # significant digits of an answer


@dataclass(frozen=True, slots=True)
class Recurrent:
    """Numbers from a recurrence, so that a file need not list them: see :func:`recurrence`."""

    shape: tuple[int, ...]
    start: int
    bits: int
    spread: float = 2.0
    period: int = 0  # of how many numbers, after which they come again; all differ where it is zero

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the numbers."""
        size = math.prod(self.shape)
        drawn = recurrence(self.period or size, start=self.start, bits=self.bits, spread=self.spread)
        return np.resize(drawn, self.shape)

    def written(self, form: str) -> dict[str, Any]:
        """Return how a file says it."""
        rule = {"start": self.start, "bits": self.bits, "spread": hexadecimal(self.spread)}
        rule |= {"period": self.period} if self.period else {}
        return {"format": form, "shape": list(self.shape), "recurrence": rule}


@dataclass(frozen=True, slots=True)
class Repeated:
    """Numbers or booleans, each as often as is said."""

    shape: tuple[int, ...]
    data: Sequence[float | bool]
    counts: Sequence[int]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the numbers."""
        return np.repeat(np.array(self.data), self.counts).reshape(self.shape)

    def written(self, form: str) -> dict[str, Any]:
        """Return how a file says it."""
        parts = _tensor(np.array(self.data), form)
        return {**parts, "shape": list(self.shape), "counts": list(self.counts)}


@dataclass(frozen=True, slots=True)
class Case:
    """One instance: named inputs, and what computes named answers from them in balls."""

    name: str
    inputs: Mapping[str, ArrayLike | Recurrent | Repeated]
    answers: Callable[[Inputs], Answers]
    form: str = "binary64"
    note: str = ""
    answered: str = ""  # the format of the answers, where it is not that of the inputs
    counted: Sequence[str] = ()  # inputs that count or name places, in binary64 whatever the others are in


@dataclass(frozen=True, slots=True)
class Subject:
    """One file: what its inputs and answers are, in words and formulas, and its cases."""

    name: str
    title: str
    definitions: Mapping[str, str]
    cases: Sequence[Case] = field(default_factory=tuple)
    conventions: Sequence[str] = field(default_factory=tuple)


def document(subject: Subject) -> dict[str, Any]:
    """Return the file of a subject, its answers computed."""
    return {
        "$schema": "schema.json",
        "subject": subject.name,
        "title": subject.title,
        "digits": PROMISED,
        "definitions": dict(subject.definitions),
        "conventions": list(subject.conventions),
        "cases": [_case(case) for case in subject.cases],
    }


def _case(case: Case) -> dict[str, Any]:
    inputs = {name: np.asarray(values) for name, values in case.inputs.items()}
    return {
        "name": case.name,
        **({"note": case.note} if case.note else {}),
        "inputs": {
            name: _tensor(values, "binary64" if name in case.counted else case.form, case.inputs[name])
            for name, values in inputs.items()
        },
        "answers": certified(lambda: case.answers(inputs), case.answered or case.form),
    }


def _tensor(values: NDArray[Any], form: str, made: Any = None) -> dict[str, Any]:
    if values.dtype != np.bool_:
        for number in np.unique(values.astype(np.float64)).tolist():
            if math.isfinite(number) and not is_in(number, form):
                raise ValueError(f"inputs: expected numbers of the format {form}, got {number!r}")
    if isinstance(made, (Recurrent, Repeated)):
        return made.written(form)
    if values.dtype == np.bool_:
        return {"format": "boolean", "shape": list(values.shape), "data": values.ravel().tolist()}
    numbers = values.astype(np.float64).ravel().tolist()
    return {"format": form, "shape": list(values.shape), "data": [hexadecimal(x) for x in numbers]}


def is_in(number: float, form: str) -> bool:
    """Tell whether a format has a finite number."""
    return nearest_number(ball(number), FORMATS[form]) == number


def text(value: Any, indent: int = 0) -> str:
    """Return JSON in which a list of numbers or texts is one line, and every object is opened."""
    space = " " * (indent + 1)
    if isinstance(value, dict) and value:
        parts = (f"{space}{json.dumps(key)}: {text(part, indent + 1)}" for key, part in value.items())
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[\n" + ",\n".join(f"{space}{text(part, indent + 1)}" for part in value) + "\n" + " " * indent + "]"
    return json.dumps(value, ensure_ascii=False)


def _listed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(entry)}


def _object(properties: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def schema() -> dict[str, Any]:
    """Return the JSON schema of all files."""
    words = {"type": "string", "minLength": 1}
    shape = _listed({"type": "integer", "minimum": 0})
    hexadecimals = _listed({"type": "string", "pattern": "^(-?0x[01](\\.[0-9a-f]+)?p[+-][0-9]+|-?inf)$"})
    decimals = _listed({"type": "string", "pattern": "^(-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?|-?inf)$"})
    formats = {"enum": list(FORMATS)}
    whole = {"type": "integer", "minimum": 1}
    numbers = _object({"format": formats, "shape": shape, "data": hexadecimals, "counts": _listed(whole)}, ("counts",))
    flags = _object(
        {
            "format": {"enum": ["boolean"]},
            "shape": shape,
            "data": _listed({"type": "boolean"}),
            "counts": _listed(whole),
        },
        ("counts",),
    )
    rule = {"start": {"type": "integer", "minimum": 0}, "bits": whole, "spread": hexadecimals["items"], "period": whole}
    made = _object({"format": formats, "shape": shape, "recurrence": {**_object(rule, ("period",)), **RECURRENCE}})
    answer = _object({"format": formats, "shape": shape, "lo": decimals, "hi": decimals, "nearest": hexadecimals})
    case = {
        "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "note": words,
        "inputs": {"type": "object", "additionalProperties": {"anyOf": [numbers, flags, made]}},
        "answers": {"type": "object", "additionalProperties": answer},
    }
    return {
        "$schema": SCHEMA,
        "title": "known answers",
        **_object(
            {
                "$schema": {"enum": ["schema.json"]},
                "subject": {"type": "string", "pattern": "^[a-z0-9]+(_[a-z0-9]+)*$"},
                "title": words,
                "digits": {"type": "integer", "minimum": 1},
                "definitions": {"type": "object", "additionalProperties": words},
                "conventions": _listed(words),
                "cases": _listed(_object(case, ("note",))),
            }
        ),
    }


RECURRENCE = {
    "description": "x_0 = start, x_(k+1) = (1664525 x_k + 1013904223) mod 2^32; entry k in the order of C, from 0 on, "
    "is (floor(x_(k+1) / 2^(32 - bits)) - 2^(bits - 1)) spread / 2^(bits - 1); with a period it is entry k mod period"
}


def recurrence(count: int, *, start: int, bits: int, spread: float) -> NDArray[np.float64]:
    """Return multiples of ``spread / 2**(bits - 1)`` in ``[-spread, spread)`` from a linear recurrence modulo 2^32."""
    found, x = [], start
    for _ in range(count):
        x = (1664525 * x + 1013904223) % 2**32
        found.append(((x >> (32 - bits)) - 2 ** (bits - 1)) * spread / 2 ** (bits - 1))
    return np.array(found)


_MASK = 2**64 - 1


def scattered(*shape: int, seed: int, bits: int = 8, spread: float = 2.0) -> NDArray[np.float64]:
    """Return multiples of ``spread / 2**(bits - 1)`` in ``[-spread, spread)``, scattered by a formula (splitmix64).

    A generator of random numbers may change with the version of a library, and the files with it. The power of two
    ``spread`` and ``bits`` up to a format's own keep every number in that format.
    """
    found = []
    for k in range(math.prod(shape)):
        word = (seed * 0xD1342543DE82EF95 + (k + 1) * 0x9E3779B97F4A7C15) & _MASK
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        word ^= word >> 31
        found.append(((word >> (64 - bits)) - 2 ** (bits - 1)) * spread / 2 ** (bits - 1))
    return np.array(found).reshape(shape)
