"""What an instrument answers to floats lies inside what it answers to the same numbers, known exactly.

Claims ask with ``exact(x)`` and are answered enclosures; users ask with floats. Where an instrument has a branch of its
own for enclosures, no claim sees the other one. So every valid call of ``tests/bad_input`` is made twice, at several
sizes and scales: with floats, and with each argument, all arrays, and all numbers replaced by exactly known ones. An
enclosure must hold the float that is answered at its place and be narrow, as one that is widened until it holds a wrong
float would be wide. What answers no enclosure is listed in ``tests/float_answers``, with the reason.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import theory
from tests.bad_input.driver import called, cases
from tests.float_answers import MORE, NO_ENCLOSURE, WIDE
from theory.attention import Measure
from theory.attention.measure import EnclosedMeasure
from theory.evidence import Interval, Intervals, as_intervals, exact, is_enclosed

NARROW = 1e-6  # chosen: of the largest entry; widths are near 1e-13, planted bugs move answers by more than this
SMALL = 1e-6  # of sums that vanish; the data are near one
SEED = 12


# --- what is asked ---


def asked(value: Any) -> Any:
    """Return what an argument becomes when its numbers are known exactly, or None if it has none."""
    if is_enclosed(value) or isinstance(value, (EnclosedMeasure, type)):
        return None
    if isinstance(value, (float, np.ndarray)):
        return exact(value) if np.asarray(value).dtype.kind == "f" else None
    if isinstance(value, Measure):
        return value.enclosed()
    if isinstance(value, (tuple, list)):
        return _listed(value)
    return _rebuilt(value) if dataclasses.is_dataclass(value) else None


def _listed(value: Any) -> Any:
    """Return a sequence of which the parts are known exactly, in a record the arrays alone; None if it has none."""
    record = hasattr(value, "_fields")
    found = [None if record and isinstance(part, float) else asked(part) for part in value]
    known = [part if seen is None else seen for part, seen in zip(value, found, strict=True)]
    if all(seen is None for seen in found):
        return None
    return type(value)(*known) if record else type(value)(known)


def _rebuilt(value: Any) -> Any:
    """Return a record with its arrays known exactly; None if it takes no enclosures."""
    given = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    try:
        known = {name: asked(part) for name, part in given.items() if not isinstance(part, float)}
        known = {name: part for name, part in known.items() if part is not None}
        return type(value)(**{**given, **known}) if known else None
    except (TypeError, ValueError, AttributeError):
        return None


def questions(valid: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what of a call is replaced: one argument at a time, all arrays, all numbers."""
    known = {name: asked(value) for name, value in valid.items()}
    known = {name: value for name, value in known.items() if value is not None}
    arrays = {name: value for name, value in known.items() if not isinstance(valid[name], float)}
    seen: list[set[str]] = []
    for chosen in [*({name: value} for name, value in known.items()), arrays, known]:
        if chosen and set(chosen) not in seen:
            seen.append(set(chosen))
            yield chosen


def turned(x: Any) -> Any:
    """Return the rows in reverse order, smaller by a power of two unless they are laws."""
    return x[::-1] if _is_law(x) else 0.25 * x[::-1]


def moved(x: Any) -> Any:
    """Return numbers with all their digits; a law stays one."""
    y = x * (1.0 + 0.0625 * np.random.default_rng(SEED).random(x.shape))
    return y / y.sum(axis=-1, keepdims=True) if _is_law(x) else y


def longer(x: Any) -> Any:
    """Return four times as many rows; a law stays one."""
    if _is_law(x) and x.ndim == 1:
        return np.concatenate([x, x[::-1], x, x]) / 4.0
    return np.concatenate([x, -0.75 * x[::-1], x * x - 0.5, 0.5 * x]) if (x < 0).any() else np.concatenate([x] * 4)


def _is_law(x: Any) -> bool:
    return bool(x.min() >= 0.0 and np.allclose(x.sum(axis=-1), 1.0, rtol=0.0, atol=1e-12))


def versions(function: Any, valid: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield calls made of the valid one, with their answers; of a change that is refused, what is taken alone."""
    yield valid, called(function, valid)
    arrays = {n: x for n, x in valid.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size}
    for change in (turned, moved, longer):
        together = {name: change(x) for name, x in arrays.items()}
        for changed in [together, *({name: x} for name, x in together.items())]:
            try:
                answer = called(function, {**valid, **changed})
            except Exception:  # noqa: S112  no valid call
                continue
            yield {**valid, **changed}, answer
            if changed is together:
                break


# --- what is answered ---


def parts(value: Any) -> dict[str, Any]:
    """Return what an answer is made of, by name."""
    if isinstance(value, dict):
        return {str(name): part for name, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._asdict()
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.dtype == object):
        return {str(at): part for at, part in enumerate(np.ravel(value) if isinstance(value, np.ndarray) else value)}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, (type, ModuleType)):
        return vars(value)
    return {}


def departures(floats: Any, enclosed: Any, depth: int = 6) -> Iterator[str]:
    """Yield, for each enclosure of an answer, what is wrong with it; nothing is wrong if it is empty."""
    if isinstance(enclosed, EnclosedMeasure):
        yield departure(floats.points, enclosed.points)
        yield departure(floats.law() if isinstance(floats, EnclosedMeasure) else floats.weights, enclosed.law())
    elif is_enclosed(enclosed):
        yield departure(floats[0] if isinstance(floats, tuple) else floats, enclosed)  # a value beside its error
    elif depth:
        own = parts(floats)
        for name, part in parts(enclosed).items():
            for wrong in departures(own.get(name), part, depth - 1):
                yield wrong and f"{name}: {wrong}"


def departure(floats: Any, enclosed: Any) -> str:
    """Say how floats fail to lie inside an enclosure, or how that is wide."""
    lo, hi = np.asarray(enclosed.lo), np.asarray(enclosed.hi)
    if np.shape(getattr(floats, "lo", floats)) != lo.shape:
        return f"expected shape {lo.shape}, got {np.shape(floats)}"
    if is_enclosed(floats):  # what is enclosed in any case
        low, high = np.asarray(floats.lo), np.asarray(floats.hi)
        return "" if ((lo <= high) & (low <= hi)).all() else f"apart: {floats}, {enclosed}"
    numbers = np.asarray(floats, dtype=np.float64)
    if not (np.isfinite(lo) & np.isfinite(hi)).all():
        return "unbounded"
    off = np.maximum(lo - numbers, numbers - hi).max(initial=0.0)
    if not off <= 0.0:
        return f"off by {off:.1e} of a width of {(hi - lo).max():.1e}"
    if (hi - lo).max(initial=0.0) > NARROW * max(np.abs(numbers).max(initial=0.0), SMALL):
        return f"wide: {(hi - lo).max():.1e} of {np.abs(numbers).max():.1e}"
    return ""


def judged(function: Any, valid: dict[str, Any]) -> list[str]:
    """Return what is wrong with each enclosure that any version of a call is answered."""
    found: list[str] = []
    for version, floats in versions(function, valid):
        for question in questions(version):
            try:
                enclosed = called(function, {**version, **question})
            except (TypeError, ValueError, AttributeError):  # no rule for it, or not what an array has
                continue
            found += [wrong and f"{', '.join(question)}: {wrong}" for wrong in departures(floats, enclosed)]
        if not found:
            break  # other numbers are refused as well
    return found


CALLS = {f"{case.room}.{case.name}": (case.function, case.valid) for case in cases()} | MORE


@pytest.mark.parametrize("name", CALLS)
def test_floats_are_answered_inside_what_is_enclosed(name):
    function, valid = CALLS[name]
    found = judged(function, valid)
    assert bool(found) == (name not in NO_ENCLOSURE and any(questions(valid)))  # what encloses is not listed
    faults = {wrong for wrong in found if wrong}
    if name in WIDE:
        assert any("wide" in wrong for wrong in faults)  # what is narrow is not listed
        faults = {wrong for wrong in faults if "wide" not in wrong}
    assert faults == set()


def test_every_branch_is_reached_with_floats_and_with_enclosures(monkeypatch):
    reached: set[tuple[Path, int, bool]] = set()

    def noted(*values):
        frame = inspect.currentframe().f_back
        reached.add((Path(frame.f_code.co_filename), frame.f_lineno, is_enclosed(*values)))
        return is_enclosed(*values)

    for module in [module for name, module in sys.modules.items() if name.startswith("theory.")]:
        if vars(module).get("is_enclosed") is is_enclosed:
            monkeypatch.setattr(module, "is_enclosed", noted)
    for function, valid in CALLS.values():
        judged(function, valid)
    asks = {
        (path, node.lineno)
        for path in Path(theory.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "is_enclosed"
    }
    assert {(*ask, known) for ask in asks for known in (False, True)} - reached == set()


def test_only_what_is_called_is_listed():
    assert {*NO_ENCLOSURE, *WIDE} <= {*CALLS}


# --- the guard can fail ---


class Toy(NamedTuple):
    """What a toy answers."""

    law: Any
    total: Any


def toy(fault):
    """Return an instrument with a branch for enclosures, and a fault in the other one."""

    def instrument(x, flag=False):
        if is_enclosed(x):
            return Toy(Measure.normalised(x, np.ones(len(x))), np.exp(x).sum())
        return Toy(fault(Measure(x)), float(np.exp(x).sum()))

    return instrument


ROWS = {"x": np.array([[0.5], [1.5], [-0.75]]), "flag": True}


def test_a_right_instrument_has_no_fault():
    found = judged(toy(lambda law: law), ROWS)
    assert len(found) == 3 * 4
    assert set(found) == {""}


@pytest.mark.parametrize(
    "fault",
    [
        lambda law: Measure(law.points * (1.0 + 1e-12)),
        lambda law: Measure(law.points[:-1]),
        lambda law: Measure(law.points, np.eye(law.size)[0]),
        lambda law: law if law.size < 4 else Measure(law.points[::-1]),  # seen at another size only
        lambda law: law if law.points[0, 0] == 0.5 else Measure(-law.points),  # and elsewhere only
    ],
)
def test_a_fault_of_the_floats_is_noticed(fault):
    assert any(judged(toy(fault), ROWS))


def widened(x):
    """Widen an enclosure to hold a wrong float, which hides it."""
    floats = 1.001 * (as_intervals(x).mid if is_enclosed(x) else x)
    if not is_enclosed(x):
        return floats
    held = as_intervals(1.0 * x)
    return Intervals(np.minimum(held.lo, floats), np.maximum(held.hi, floats))


def test_an_enclosure_that_is_widened_to_hold_a_wrong_float_is_noticed():
    assert all("wide" in wrong for wrong in judged(widened, {"x": ROWS["x"]}))
    assert {*judged(lambda x: Interval.unknown() if is_enclosed(x) else 1.0, {"x": ROWS["x"]})} == {"x: unbounded"}


def test_floats_beside_enclosures_and_pairs_are_read():
    assert list(departures((2.0, 1e-9), exact(2.0))) == [""]
    assert list(departures({"a": 1.0, "b": [2.0]}, {"a": exact(1.0), "b": [exact(2.5)]}))[1].startswith("b: 0: off by")
    assert next(departures(exact(1.0), exact(2.0))).startswith("apart")
