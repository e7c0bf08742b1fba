"""What is done to a valid call, and the three outcomes that are known: right, refused by name, or listed.

A room's table, ``tests/bad_input/<room>.py``, holds

* ``VALID``: for each public function, class and method (``"name"``, ``"Class.method"``, ``"folder.name"`` of what the
  door of a folder shows, or ``"module.name"`` of what none does) the keyword arguments of one valid call; a method's
  instance is its ``self``;
* ``SKIPPED``: for what has no valid call here, the reason;
* ``ACCEPTED``: for (function, argument, what was done) that is valid by its documentation, the reason: minus infinity
  that masks a score, one axis more of a batch. Patterns of :mod:`fnmatch`. The result must still be lawful;
* ``LISTED``: for (function, argument, what was done) that is neither right nor refused, the reason; patterns likewise;
* ``ALIASES``: for an argument or (function, argument), the other names by which a message may call it;
* ``INFINITE``: functions of which infinity is an honest value: a bound that knows nothing.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SECONDS = 120.0  # after which a call has no answer; the first one of a kernel compiles it
MUST_REFUSE, MAY_RETURN, SAME = "must refuse", "may return", "same"
SHAPES = {"empty", "rank"}  # of these the message may name another argument, which then does not fit
WIDTHS = {"float16": np.float16, "float32": np.float32, "longdouble": np.longdouble}


class Silent(Exception):  # noqa: N818
    """A call that has no answer in time."""


# --- what is done to one argument: (what, its bad value, what must come of it, the value it must agree with) ---

Corruption = tuple[str, Any, str, Any]
ALIENS = {"text": "nonsense", "none": None, "object": object(), "dict": {}, "complex": 1j, "callable": len}


def corruptions(value: Any, default: Any) -> Iterator[Corruption]:
    """Yield everything that is done to ``value``; ``None`` is no corruption where it is the default."""
    if isinstance(value, (bool, np.bool_)):
        found = _of_flag(value)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, Enum):
        found = _of_count(value)
    elif isinstance(value, (float, np.floating)):
        found = _of_number(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim:
        found = _of_array(value)
    elif isinstance(value, str):
        found = _of_text()
    else:
        found = _of_object(value)
    for what, bad, must, twin in found:
        if what == "none" and default is None:
            continue
        yield what, bad, must, twin


def _aliens(*but: str) -> Iterator[Corruption]:
    for what, bad in ALIENS.items():
        if what not in but:
            yield what, bad, MUST_REFUSE, None


def _of_flag(value: bool) -> Iterator[Corruption]:
    yield from _aliens()
    for what, bad in {"one": 1, "zero": 0, "float": 1.0, "nan": np.nan, "array": np.array([True, False])}.items():
        yield what, bad, MUST_REFUSE, None
    yield "numpy bool", np.bool_(value), SAME, bool(value)


def _of_count(value: int) -> Iterator[Corruption]:
    yield from _aliens()
    for what, bad in {"nan": np.nan, "inf": np.inf, "bool": True, "half": value + 0.5, "rank": [value]}.items():
        yield what, bad, MUST_REFUSE, None
    yield "masked", np.ma.masked, MUST_REFUSE, None
    for what, bad in {"nil": 0, "negative": -1}.items():
        yield what, bad, MAY_RETURN, None
    yield "numpy integer", np.int32(value), SAME, int(value)


def _of_number(value: float) -> Iterator[Corruption]:
    yield from _aliens()
    for what, bad in {"nan": np.nan, "bool": True, "rank": [value, value], "empty": []}.items():
        yield what, bad, MUST_REFUSE, None
    yield "masked", np.ma.masked, MUST_REFUSE, None
    wild = {"inf": np.inf, "-inf": -np.inf, "nil": 0.0, "negative": -float(value), "1e300": 1e300, "1e200": 1e200}
    for what, bad in {**wild, "denormal": 5e-324}.items():
        yield what, bad, MAY_RETURN, None
    for what, width in WIDTHS.items():
        yield what, width(value), SAME, float(width(value))


def _of_array(value: np.ndarray[Any, Any]) -> Iterator[Corruption]:
    yield from _aliens()
    for what, bad in {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}.items():
        spoilt = value.copy()
        spoilt.flat[spoilt.size // 2] = bad
        yield what, spoilt, MUST_REFUSE, None
    yield "empty", value[:0], MUST_REFUSE, None
    yield "rank", value[None, None, None], MUST_REFUSE, None
    yield "masked", np.ma.masked_array(value, mask=np.arange(value.size).reshape(value.shape) == 0), MUST_REFUSE, None
    yield "texts", value.astype(str), MUST_REFUSE, None
    yield "bools", value > 0.0, MUST_REFUSE, None
    yield "objects", np.full(value.shape, None), MUST_REFUSE, None
    for what, factor in {"1e300": 1e300, "1e200": 1e200, "denormal": 5e-324}.items():
        signs = np.where(value < 0.0, -1.0, 1.0)
        yield what, np.where(value == 0.0, 0.0, signs * factor), MAY_RETURN, None
    fixed = value.copy()
    fixed.setflags(write=False)
    yield "read-only", fixed, SAME, value
    yield "strided", np.repeat(value, 2, axis=0)[::2], SAME, value
    for what, width in WIDTHS.items():
        narrow = value.astype(width)
        yield what, narrow, SAME, narrow.astype(np.float64)


def _of_text() -> Iterator[Corruption]:
    yield from _aliens()
    for what, bad in {"blank": "", "number": 1.0, "bytes": b"x", "list": ["x"]}.items():
        yield what, bad, MUST_REFUSE, None


def _of_object(value: Any) -> Iterator[Corruption]:
    but = [what for what, kind in (("dict", dict), ("callable", Callable)) if isinstance(value, kind)]  # type: ignore[arg-type]
    yield from _aliens(*but)
    yield "number", 1.5, MUST_REFUSE, None
    if isinstance(value, (tuple, list)) and value and all(isinstance(part, (int, float)) for part in value):
        parts = [*value[:-1], np.nan]
        yield "nan", type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts), MUST_REFUSE, None


# --- one call ---


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise :class:`Silent` in a call that has no answer after ``seconds``."""

    def ring(*_: Any) -> None:
        raise Silent(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def called(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call with copies of the arguments, so that neither a generator nor an array is used up."""
    given = {name: _copied(value) for name, value in given.items()}
    own = given.pop("self", None)
    bound = function if own is None else getattr(own, function.__name__)
    leading = []  # what can only be given by position
    for name, parameter in inspect.signature(bound).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and name in given:
            leading += given.pop(name)
        elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            leading.append(given.pop(name))
    with limited(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = bound(*leading, **given)
        if isinstance(result, AbstractContextManager):
            with result:
                return None
        return list(result) if inspect.isgenerator(result) else result


def _copied(value: Any) -> Any:
    """Return a copy, or the value where a copy would lose what makes it bad, or there is none."""
    if callable(value) or type(value) is object or isinstance(value, (np.ndarray, np.ma.core.MaskedConstant)):
        return value
    try:
        return copy.deepcopy(value)
    except TypeError:
        return value


def leaves(value: Any, seen: frozenset[int] = frozenset()) -> Iterator[Any]:
    """Yield the numbers, arrays and texts that a result is made of."""
    if id(value) in seen or isinstance(value, (type, ModuleType)):
        return
    seen = seen | {id(value)}
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, Enum)):
        yield value
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist() if value.dtype == object else [value]
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name, None), seen)
    elif isinstance(value, Mapping):
        for part in value.items():
            yield from leaves(part, seen)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part, seen)
    elif hasattr(value, "__dict__") and not callable(value):
        yield from leaves(vars(value), seen)


def agree(one: Any, other: Any) -> bool:
    """Tell whether two results are the same, digit for digit."""
    parts, others = list(leaves(one)), list(leaves(other))
    if len(parts) != len(others):
        return False
    return all(
        np.array_equal(a, b) if isinstance(a, (np.ndarray, np.generic, float)) else str(a) == str(b)
        for a, b in zip(parts, others, strict=True)
    )


def unlawful(result: Any, *, infinite: bool) -> str:
    """Say what in a result is no number: NaN, or an infinity that is not the end of an interval."""
    kind = type(result).__name__
    for leaf in leaves(result):
        if isinstance(leaf, (float, np.floating, np.ndarray)) and np.asarray(leaf).dtype.kind in "fc":
            if np.isnan(leaf).any():
                return f"returned NaN ({kind})"
            if not infinite and kind != "Interval" and np.isinf(leaf).any():
                return f"returned infinity ({kind})"
    return ""


@dataclasses.dataclass(frozen=True)
class Case:
    """One public function and the valid call from which its bad ones are made."""

    room: str
    name: str
    table: ModuleType

    @property
    def function(self) -> Callable[..., Any]:
        """What is called: from the door, a module of the room, or a class."""
        parts = self.name.split(".")
        home = f"theory.{self.room}"
        while len(parts) > 1 and hasattr(import_module(home), "__path__") and find_spec(f"{home}.{parts[0]}"):
            home = f"{home}.{parts.pop(0)}"  # the door may show a function of a module's name
        found: Any = import_module(home)
        for part in parts:
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    @property
    def valid(self) -> dict[str, Any]:
        """The keyword arguments of the valid call."""
        return self.table.VALID[self.name]  # type: ignore[no-any-return]

    def names_of(self, argument: str) -> set[str]:
        """Return the names by which a message may call an argument."""
        aliases = getattr(self.table, "ALIASES", {})
        return {argument, *aliases.get(argument, ()), *aliases.get((self.name, argument), ())}

    def accepts(self, argument: str, what: str) -> bool:
        """Tell whether the documentation makes a corruption a valid input."""
        return any(matches(key, (self.name, argument, what)) for key in getattr(self.table, "ACCEPTED", ()))

    def fault(self, argument: str, corruption: Corruption) -> str:
        """Say what is wrong with the answer to one bad call; nothing if it is right or refused by name."""
        what, bad, must, twin = corruption
        if must == MUST_REFUSE and self.accepts(argument, what):
            must = MAY_RETURN
        try:
            result = called(self.function, {**self.valid, argument: bad})
        except (ValueError, TypeError) as error:
            if must == SAME and what != "longdouble" and not self.refuses(argument, twin):
                return f"refused: {error}"
            return self.unnamed(argument, what in SHAPES or must == MAY_RETURN, error)
        except Exception as error:
            return f"crashed with {type(error).__name__}: {str(error)[:120]}"
        if must == MUST_REFUSE:
            return f"accepted, returned {str(result)[:60]}"
        if must == SAME:
            same = agree(result, called(self.function, {**self.valid, argument: twin}))
            return "" if same else f"another answer than of {str(twin)[:40]}"
        return unlawful(result, infinite=self.name in getattr(self.table, "INFINITE", ()))

    def refuses(self, argument: str, twin: Any) -> bool:
        """Tell whether the value to agree with is itself refused, as an accuracy that is zero in half precision."""
        try:
            called(self.function, {**self.valid, argument: twin})
        except ValueError:
            return True
        return False

    def unnamed(self, argument: str, others: bool, error: Exception) -> str:
        """Say that a message names neither the argument nor, where it may, another one or a part of the instance."""
        known = self.names_of(argument)
        if others:
            known = known.union(*(self.names_of(name) for name in self.valid))
            known |= {name for name in dir(self.valid.get("self")) if not name.startswith("_")}
        named, expected, rest = str(error).partition(": expected")
        if expected and "got" in rest and known & set(re.findall(r"[A-Za-z_]\w*", named)):
            return ""
        return f"{type(error).__name__} does not name it: {str(error)[:120]}"

    def faults(self) -> dict[tuple[str, str], str]:
        """Return what is wrong, by argument and by what was done to it."""
        parameters = inspect.signature(self.function).parameters
        found = {}
        for argument, value in self.valid.items():
            if argument == "self" or (argument in parameters and parameters[argument].kind in (2, 4)):
                continue
            default = parameters[argument].default if argument in parameters else inspect.Parameter.empty
            loose = "ArrayLike" in str(parameters[argument].annotation) if argument in parameters else False
            for corruption in corruptions(value, default):
                if loose and isinstance(value, float) and corruption[0] == "rank":
                    continue  # a number that may be an array
                fault = self.fault(argument, corruption)
                if fault:
                    found[argument, corruption[0]] = fault
        return found


def tables() -> dict[str, ModuleType]:
    """Return the table of every room that has one."""
    here = Path(__file__).parent
    rooms = sorted(path.stem for path in here.glob("*.py") if path.stem not in ("driver", "__init__"))
    return {room: import_module(f"tests.bad_input.{room}") for room in rooms}


def cases() -> list[Case]:
    """Return every function of every table."""
    return [Case(room, name, table) for room, table in tables().items() for name in table.VALID]


_INNER = {
    **dict.fromkeys(("studies", "settings", "stack_settings"), "studies and what they are about take no argument"),
    "kernels": "run rows that the maps have looked at; they are tested through these",
    "record": "reads and writes files; tests/evidence gives it damaged ones",
    "torch": "needs PyTorch; tests/metric judges it where that is installed",
    **dict.fromkeys(
        ("arms", "tasks", "data", "training", "analysis"), "the parts of run_experiment, which checks for them"
    ),
}


def door(room: str) -> set[str]:
    """Return the public functions and classes that a room and its folders show.

    Without exceptions, protocols and enumerations, and without the folders of ``_INNER``.
    """
    folders = Path(__file__).parents[2].joinpath("theory", room).glob("*/__init__.py")
    inner = [f"theory.{room}.{path.parent.name}" for path in folders if path.parent.name not in _INNER]
    return set().union(*(shown_by(package) for package in (f"theory.{room}", *inner)))


def shown_by(home: str) -> set[str]:
    """Return the public functions and classes of one package."""
    package = import_module(home)
    names = getattr(package, "__all__", None) or [name for name in dir(package) if not name.startswith("_")]
    shown = {name: getattr(package, name) for name in names}
    return {
        name
        for name, value in shown.items()
        if callable(value)
        and getattr(value, "__module__", "").startswith("theory.")
        and not (isinstance(value, type) and is_plain(value))
    }


def is_plain(value: type) -> bool:
    """Tell whether a class takes no argument of a caller: a record, an error, an enumeration, a description."""
    record = issubclass(value, tuple) and hasattr(value, "_fields")
    return record or issubclass(value, (BaseException, Enum)) or getattr(value, "_is_protocol", False)


def matches(pattern: tuple[str, ...], key: tuple[str, ...]) -> bool:
    """Tell whether every part of a key has the form that the pattern gives."""
    return all(fnmatchcase(part, form) for part, form in zip(key, pattern, strict=True))
