"""Every public function, given one bad argument at a time, is right, refuses it by name, or is listed."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest

from tests.bad_input.driver import (
    MAY_RETURN,
    MUST_REFUSE,
    Case,
    called,
    cases,
    corruptions,
    door,
    leaves,
    matches,
    tables,
)

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.room}.{case.name}")
def test_bad_input_is_right_or_refused_by_name(case):
    valid = called(case.function, case.valid)
    assert not any(isinstance(leaf, float) and np.isnan(leaf) for leaf in leaves(valid))
    listed = [key for key in getattr(case.table, "LISTED", ()) if fnmatchcase(case.name, key[0])]
    faults = {(case.name, argument, what): fault for (argument, what), fault in case.faults().items()}
    unknown = [f"{key} {fault}" for key, fault in faults.items() if not any(matches(form, key) for form in listed)]
    assert unknown == []
    mended = [form for form in listed if not any(matches(form, key) for key in faults)]
    assert [form for form in mended if "*" not in form[0]] == []  # what is mended is no longer listed


@pytest.mark.parametrize("room", tables())
def test_every_public_function_has_a_valid_call(room):
    table = tables()[room]
    driven = {name.rpartition(".")[2] for name in table.VALID}  # under the door or under its module
    known = {*driven, *getattr(table, "SKIPPED", {})}
    assert door(room) - known == set()
    for key in [*getattr(table, "LISTED", ()), *getattr(table, "ACCEPTED", ())]:
        assert any(fnmatchcase(name, key[0]) for name in table.VALID)


# --- the driver can fail ---


def careful(x, flag=False):
    """Refuse by name."""
    if isinstance(x, (str, bool)) or not isinstance(x, (float, np.floating)) or not np.isfinite(x):
        raise ValueError(f"x: expected a finite number, got {x!r}")
    if not isinstance(flag, (bool, np.bool_)):
        raise TypeError(f"flag: expected True or False, got {flag!r}")
    return 2.0 * float(x)


def narrow(x):
    """Keep the width of a number that it was given."""
    return np.float64(careful(x) and x * x)


def nameless(x):
    """Crash without naming the argument."""
    return x + 1.0


class Table:
    """A room's table of one valid call."""

    VALID = {"f": {"x": 1.2}}  # noqa: RUF012


def faults_of(function, **more):
    class Planted(Case):
        @property
        def function(self):
            return function

        @property
        def valid(self):
            return {"x": 1.2, **more}

    return Planted("room", "f", Table).faults()


def test_a_careful_function_has_no_fault():
    assert faults_of(careful, flag=True) == {}


def test_a_number_that_is_used_unconverted_is_noticed():
    assert {key[1] for key in faults_of(narrow)} >= {"float16", "1e300"}


def test_a_crash_and_a_silent_nan_are_noticed():
    assert {key[1] for key in faults_of(nameless)} >= {"text", "none", "nan", "bool", "inf"}


def test_every_kind_of_argument_is_corrupted():
    for value in (True, 2, 0.5, np.ones((2, 2)), "soft", np.random.default_rng(0)):
        kinds = {must for _, _, must, _ in corruptions(value, None)}
        assert MUST_REFUSE in kinds
    assert MAY_RETURN in {must for _, _, must, _ in corruptions(0.5, None)}
