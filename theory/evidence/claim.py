"""What is claimed, what would be wrong, and what was found.

A check is a generator of findings; :func:`verifies` ties it to a :class:`Claim` and to its falsification twins, changed
parameters of the same check, which never asks whether it is a twin. Three relations say every kind of theorem.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from theory.evidence.interval import Interval, Number, enclose
from theory.evidence.intervals import as_intervals
from theory.evidence.judge import Verdict

Measured: TypeAlias = Any  # intervals, balls and arrays of them; integers and fractions, which are exact

MADE_BY = ("constant", "hypothesis", "bug")
RELATIONS = ("equals", "at_most", "at_least")
SOURCE_STATUS = ("seen", "recalled", "derived", "refereed", "refereed on paper")
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*")
_ALIKE = 0.75  # of all letters in place: what one slip makes of five letters
_SPEC = re.compile(r"[A-Z]{2}\.[A-Z]\d+'?")


@dataclass(frozen=True, slots=True)
class Claim:
    """A theorem as it is decided here.

    Parameters
    ----------
    id : str
        ``subject.name`` in lower case; keys the evidence, the random streams and the citation.
    words : str
        The statement in one plain line, for the closing table.
    statement : str
        The statement in TeX.
    remark : str, default ""
        What is said besides, in TeX: where it is attained, what it does not say, how the parts hang together.
    assumptions : tuple of str
        Every hypothesis.
    spec : tuple of str
        Labels, in this suite's own list of statements, of what this claim decides, such as ``MA.L6``.
    cites : tuple of str
        Keys of the sources in ``paper_notes.md``.
    source_status : tuple of str
        Where the wording comes from: any of ``SOURCE_STATUS``.
    finds : tuple of Verdict
        What comes out and is a result: support, unless an open question is stated as a claim. Never ``VACUOUS``.

    Raises
    ------
    ValueError
        If a field is malformed.
    """

    id: str
    words: str
    statement: str
    assumptions: tuple[str, ...] = ()
    spec: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    source_status: tuple[str, ...] = ("derived",)
    finds: tuple[Verdict, ...] = (Verdict.SUPPORTED,)
    remark: str = ""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id: expected 'subject.name' in lower case, got {self.id!r}")
        if not self.words.strip() or not self.statement.strip() or len(self.words.splitlines()) > 1:
            raise ValueError(f"words, statement: expected text for {self.id}, got {self.words!r}, {self.statement!r}")
        for name in ("assumptions", "spec", "cites", "source_status", "finds"):
            if not isinstance(getattr(self, name), tuple):
                raise TypeError(f"{name}: expected a tuple for {self.id}, got {type(getattr(self, name)).__name__}")
            for item in getattr(self, name):
                if not isinstance(item, Verdict if name == "finds" else str) or not item:
                    raise TypeError(f"{name}: expected texts, or verdicts in finds, for {self.id}, got {item!r}")
        if not isinstance(self.remark, str):
            raise TypeError(f"remark: expected text for {self.id}, got {type(self.remark).__name__}")
        for item in self.spec:
            if not _SPEC.fullmatch(item):
                raise ValueError(f"spec: expected an item such as 'MA.L6', got {item!r}")
        for mark in self.source_status:
            if mark not in SOURCE_STATUS:
                raise ValueError(f"source_status: expected one of {', '.join(SOURCE_STATUS)}, got {mark!r}")
        if not self.finds or Verdict.VACUOUS in self.finds:
            raise ValueError(f"finds: expected verdicts, none of them vacuous, for {self.id}, got {self.finds!r}")


@dataclass(frozen=True, slots=True)
class Twin:
    """A wrong version of a claim: ``changes`` are keyword values of the claim's own check."""

    id: str
    made_by: str
    breaks: str
    changes: Mapping[str, Any]


def constant(id: str, breaks: str, **changes: Any) -> Twin:  # noqa: A002  the field's own name
    """Make a twin that claims another number: a bound, rate, exponent or limit."""
    return Twin(id, "constant", breaks, MappingProxyType(changes))


def hypothesis(id: str, breaks: str, **changes: Any) -> Twin:  # noqa: A002
    """Make a twin of which one hypothesis is broken just enough."""
    return Twin(id, "hypothesis", breaks, MappingProxyType(changes))


def bug(id: str, breaks: str, **changes: Any) -> Twin:  # noqa: A002
    """Make a twin that computes with a mistake people make."""
    return Twin(id, "bug", breaks, MappingProxyType(changes))


class Sort(Enum):
    """What a number is, and so what of it two machines have in common.

    ``DEFINED``: enclosures of one number that the inputs define; they overlap everywhere. ``FOUND``: what a search of
    this run came upon; it ends elsewhere on another processor. ``OUTCOME``: what an implementation did or says of
    itself; only whether it keeps within its allowance, and the allowance, are the same.
    """

    DEFINED = "defined"
    FOUND = "found"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class Finding:
    """One case: what was measured, what is claimed, and how far beyond the claim the truth may lie.

    ``departure`` is in units of ``scale``; positive means that the claim fails here. Whatever its ``sort``, a finding
    enters the verdict; with the record of another machine only what is defined is compared.
    """

    relation: str
    measured: Interval
    claimed: Interval
    scale: Interval
    departure: Interval
    case: Mapping[str, Any] = field(default_factory=dict)
    sort: Sort = Sort.DEFINED


def _measured(value: Measured) -> Interval:
    """Enclose what was measured: integers and fractions are exact, while the error of a bare float is not known."""
    if isinstance(value, Interval) or hasattr(value, "rad"):  # an interval or a ball
        return enclose(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer, Fraction)):
        got = type(value).__name__
        raise TypeError(f"measured: expected an Interval (Interval.exactly for an exact number), got {got}")
    return Interval.exactly(value if isinstance(value, Fraction) else int(value))


def _found(relation: str, measured: Any, claimed: Any, scale: Any, case: dict[str, Any]) -> Finding:
    """Make the finding of two numbers, or of two arrays at the entry that is worst."""
    for name in case:
        _know(name)
    if any(_axes(value) for value in (measured, claimed, scale)):
        measured, claimed, scale = _worst_entry(relation, measured, claimed, scale)
    return _found_at(relation, _measured(measured), enclose(claimed), scale, case)


def _axes(value: Any) -> int:
    """Return how many axes a value has; an interval, a ball and a number have none."""
    return int(getattr(value, "ndim", 1 if isinstance(value, (list, tuple)) else 0))


def _worst_entry(relation: str, measured: Any, claimed: Any, scale: Any) -> tuple[Interval, Interval, Interval | None]:
    """Return the entry that refutes most clearly, or else the one that leaves most room; none has axes left."""
    if _of_floats(measured) or not _axes(measured):
        raise TypeError(f"measured: expected enclosures (exact(x) for exact numbers), got {_named(measured)}")
    values = as_intervals(measured, "measured")
    bounds = as_intervals(claimed, "claimed")
    units = as_intervals(abs(bounds)) if scale is None else as_intervals(scale, "scale")
    for name, array in (("claimed", bounds), ("scale", units)):
        if array.shape not in ((), values.shape):
            raise ValueError(
                f"{name}: expected the shape of measured, {values.shape}, or one number, got {array.shape}"
            )
    if not values.size:
        raise ValueError(f"measured: expected at least one entry, got shape {values.shape}")
    off = {"equals": lambda: abs(values - bounds), "at_most": lambda: values - bounds,
           "at_least": lambda: bounds - values}[relation]()  # fmt: skip
    if not (units.lo > 0.0).all():
        least = units.lo.min()
        raise ValueError(f"scale: expected a positive scale (the claimed value may vanish), got at least {least}")
    departures = as_intervals(off / units)
    certain = as_intervals(off).lo > 0.0  # also where the quotient underflows
    least = np.where(certain, np.maximum(departures.lo, math.ulp(0.0)), departures.lo)
    entry = int(np.argmax(least if certain.any() else departures.hi))
    worst = np.unravel_index(entry, values.shape)
    own = [array[worst] if array.ndim else array[()] for array in (values, bounds, units)]
    return own[0], own[1], None if scale is None else own[2]


def _of_floats(values: Any) -> bool:
    """Tell whether an array holds a bare float, whose error nobody derived."""
    if isinstance(values, (list, tuple)):
        return any(map(_of_floats, values))
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "f" or (values.dtype == object and any(map(_of_floats, values.ravel().tolist())))
    return isinstance(values, (float, np.floating))


def _named(value: Any) -> str:
    return f"{type(value).__name__} of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def _found_at(
    relation: str, measured: Interval, claimed: Interval, scale: Number | None, case: dict[str, Any]
) -> Finding:
    unit = abs(claimed) if scale is None else enclose(scale)
    if not unit.lo > 0.0:
        raise ValueError(f"scale: expected a positive scale (the claimed value may vanish: {claimed}), got {scale}")
    return Finding(relation, measured, claimed, unit, departure_of(relation, measured, claimed, unit), case)


@cache
def _know(name: str) -> None:
    """Refuse the name of a case's parameter that must be ``scale`` misspelt, which would set no scale."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    like = difflib.SequenceMatcher(None, letters, "scale").ratio() >= _ALIKE or sorted(letters) == sorted("scale")
    if like and not letters.endswith("scaled"):  # another word, and in use
        raise TypeError(
            f"{name}: expected the keyword 'scale', or a parameter whose name is less like it, got {name!r}"
        )


def beyond(relation: str, measured: Interval, claimed: Interval) -> Interval:
    """Return how far the truth may lie beyond the claim, in the unit of both."""
    return {"equals": lambda: abs(measured - claimed), "at_most": lambda: measured - claimed,
            "at_least": lambda: claimed - measured}[relation]()  # fmt: skip


def departure_of(relation: str, measured: Interval, claimed: Interval, unit: Interval) -> Interval:
    """Return the departure of one finding, in units of its positive scale."""
    off = beyond(relation, measured, claimed)
    departure = off / unit
    if off.lo > 0.0 >= departure.lo:  # the quotient underflows; a refutation must not
        departure = Interval(math.ulp(0.0), max(departure.hi, math.ulp(0.0)), departure.kind)
    return departure


def equals(measured: Measured, claimed: Measured, /, *, scale: Measured = None, **case: Any) -> Finding:
    """Find an identity: ``measured`` is ``claimed``.

    Parameters
    ----------
    measured : Interval, ball, int or Fraction, or an array of them
        What was measured, with its width; integers and fractions are exact. Of an array the worst entry is found.
    claimed : Interval, ball or real, or an array of them
        What is claimed, in the same unit and of the same shape or one number; a bare number is exactly what is claimed.
    scale : Interval, ball or real, or an array of them, optional
        Unit of the departure; the size of ``claimed`` unless given, and demanded when that may vanish. It is derived
        from the data and is no tolerance: :func:`~theory.evidence.runner.decide` refuses one that hides what the
        numbers of the check leave open.
    **case
        The parameters of this case, kept for the record; none may be named like ``scale``.

    Returns
    -------
    Finding
        Departure ``|measured - claimed| / scale``.

    Raises
    ------
    TypeError
        If ``measured`` is a bare float, or an array of them, whose error nobody derived, or a keyword is ``scale``
        misspelt.
    ValueError
        If the scale is not certainly positive, or the shapes differ.
    """
    return _found("equals", measured, claimed, scale, case)


def at_most(measured: Measured, bound: Measured, /, *, scale: Measured = None, **case: Any) -> Finding:
    """Find an upper bound: departure ``(measured - bound) / scale``; parameters as in :func:`equals`."""
    return _found("at_most", measured, bound, scale, case)


def at_least(measured: Measured, bound: Measured, /, *, scale: Measured = None, **case: Any) -> Finding:
    """Find a lower bound: departure ``(bound - measured) / scale``; parameters as in :func:`equals`."""
    return _found("at_least", measured, bound, scale, case)


def found(finding: Finding) -> Finding:
    """Mark what a search of this run came upon: it may refute the claim, and is not compared with the record.

    The point where a search ends is data. What a claim rests on is judged at a witness of few bits
    (:func:`~theory.evidence.witness.coarse`), which is the same everywhere; a fresh search may only add to it.

    Parameters
    ----------
    finding : Finding
        A one-sided finding, made by :func:`at_most` or :func:`at_least`.

    Raises
    ------
    ValueError
        If it is an equation, which nothing that was merely found can satisfy everywhere.
    """
    if finding.relation == "equals":
        raise ValueError("finding: expected a one-sided finding (at_most, at_least) of a search, got equals")
    return replace(finding, sort=Sort.FOUND)


def outcome(finding: Finding) -> Finding:
    """Mark what an implementation did or reports of itself: what is compared with the record is its allowance.

    Parameters
    ----------
    finding : Finding
        A one-sided finding whose bound, the allowance, is what the inputs define.

    Raises
    ------
    ValueError
        If it is an equation.
    """
    if finding.relation == "equals":
        raise ValueError("finding: expected a one-sided finding (at_most, at_least) with an allowance, got equals")
    return replace(finding, sort=Sort.OUTCOME)


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values of a parameter are one: the same object, or equal and of one type."""
    if one is other:
        return True
    if type(one) is not type(other):
        return bool(isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and np.array_equal(one, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, (bool, int, float, complex, str, bytes, Fraction, Enum, Interval)) and bool(one == other)


@dataclass(frozen=True, slots=True, eq=False)
class Verification:
    """A claim, its twins and the one check that decides them all."""

    claim: Claim
    twins: tuple[Twin, ...]
    check: Callable[..., Iterable[Finding]]


def verifies(claim: Claim, *twins: Twin) -> Callable[[Callable[..., Iterable[Finding]]], Verification]:
    """Tie a check to the claim that it decides and to the twins that it must refute.

    Parameters
    ----------
    claim : Claim
        What the check decides.
    *twins : Twin
        At least two of different type, made by :func:`constant`, :func:`hypothesis` or :func:`bug`.

    Returns
    -------
    callable
        A decorator that turns the check, a generator function ``(run, ..., *, parameter=true_value)``, into a
        :class:`Verification`, which the pytest plugin collects as one item named by the claim.

    Raises
    ------
    ValueError
        If there are no two twins of different type, two share an id or their changes, or one changes nothing (all its
        values are the true ones) or names no keyword-only parameter of the check; if the check has no parameter
        ``run``, or a keyword-only one without a default.
    """

    def decorate(check: Callable[..., Iterable[Finding]]) -> Verification:
        parameters = inspect.signature(check).parameters
        own = {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
        if "run" not in set(parameters) - own:
            got = ", ".join(parameters)
            raise ValueError(f"check: expected the check of {claim.id} to take 'run' first, got ({got})")
        open_ = sorted(name for name in own if parameters[name].default is inspect.Parameter.empty)
        if open_:
            raise ValueError(
                f"check: expected the true value as the default of every keyword-only parameter of the check of "
                f"{claim.id}, got none for {', '.join(open_)}"
            )
        for twin in twins:
            if not twin.changes or not set(twin.changes) <= own:
                raise ValueError(
                    f"twins: expected {twin.id!r} to change keyword-only parameters of the check of {claim.id} "
                    f"({', '.join(sorted(own)) or 'it has none'}), got {', '.join(sorted(twin.changes)) or 'no change'}"
                )
            if all(_same(value, parameters[name].default) for name, value in twin.changes.items()):
                raise ValueError(
                    f"twins: expected {twin.id!r} of {claim.id} to change something, "
                    f"got the true value of {', '.join(twin.changes)}"
                )
        for one, other in combinations(twins, 2):
            if set(one.changes) == set(other.changes) and all(
                _same(v, other.changes[n]) for n, v in one.changes.items()
            ):
                raise ValueError(
                    f"twins: expected {one.id!r} and {other.id!r} of {claim.id} to differ, got equal changes"
                )
        if len({twin.id for twin in twins}) < len(twins):
            raise ValueError(f"twins: expected distinct ids for {claim.id}, got {', '.join(t.id for t in twins)}")
        if len({twin.made_by for twin in twins}) < 2:
            made = ", ".join(f"{twin.id} ({twin.made_by})" for twin in twins)
            raise ValueError(f"twins: expected at least two of different type for {claim.id}, got {made or 'none'}")
        return Verification(claim, twins, check)

    return decorate
