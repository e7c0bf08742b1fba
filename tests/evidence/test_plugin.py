"""The plugin as a reader of another repository meets it: verdicts, paragraphs, commands, options, bytes."""

import contextlib
import csv
import errno
import io
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import time
from xml.etree import ElementTree as ET

import pytest

import theory.evidence.cited  # loaded once, as all below, not anew in every run
import theory.evidence.claim
import theory.evidence.runner  # noqa: F401
from theory.evidence import board, enclosure, plugin, record  # noqa: F401
from theory.evidence.record import locators, reading, writing  # noqa: F401

pytest_plugins = ["pytester"]

HEAD = """
from theory.evidence import Claim, Interval, Kind, Table, at_most, bug, constant, equals, verifies
"""
CHECK = """
@verifies(
    Claim("{id}", "{words}", "$x = 1$"),
    constant("far", "the value is a thousand", value=1000.0),
    bug("minus", "the sign is wrong", sign=-1.0),
    {more}
)
def test_{name}(run, *, value=1.0, sign=1.0):
    for k, rng in enumerate(run.draws(quick=3, paper=5)):
        u = rng.random()
        {body}
"""
STANDS = "yield equals(Interval.within(sign * 1.0, 1e-15 * (1.0 + u)), value, k=k, u=u)"
OFF = "yield equals(Interval.within(sign * (1.1 if k == 1 else 1.0), 1e-15), value, k=k, u=u)"
WIDE = "yield equals(Interval.within(sign * 1.0, 0.3 if k == 2 else 1e-15), value, k=k, u=u)"


def check(id="demo.stands", body=STANDS, *, words="a claim for demonstration", more=""):  # noqa: A002
    """Return the text of one verification."""
    return CHECK.format(id=id, words=words, body=body, more=more, name=re.sub(r"\W", "_", id))


@pytest.fixture
def suite(pytester, monkeypatch):
    """Return a function that writes test files and runs pytest on them, in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)  # a worker has it

    def run(*options, **files):
        for name, checks in files.items():
            pytester.path.joinpath(f"{name}.py").write_text(HEAD + checks, encoding="utf-8")
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", *options)

    return run


def paragraph(result, claim):
    """Return the one line that says why a claim does not stand."""
    lines = [line for line in result.outlines if line.startswith(f"{claim} is ")]
    assert len(lines) == 1
    return lines[0]


def rows(result):
    """Return the closing table, by claim."""
    at = next(k for k, line in enumerate(result.outlines) if line.startswith("id "))
    table = {}
    for line in result.outlines[at + 1 :]:
        if "claims supported" in line:
            return table
        table[line.split()[0]] = line
    raise AssertionError(result.outlines)


def evidence(pytester):
    return {path.name: path.read_bytes() for path in sorted(pytester.path.joinpath("evidence").glob("*.json"))}


# --- verdicts ---


def test_claim_that_stands_passes(suite):
    result = suite(test_a=check())
    assert result.ret == 0
    result.assert_outcomes(passed=1)
    assert rows(result)["demo.stands"].split()[:3] == ["demo.stands", "SUPPORTED", "numeric"]
    assert rows(result)["demo.stands"].endswith("a claim for demonstration")
    assert " 2/2 " in rows(result)["demo.stands"]
    result.stdout.fnmatch_lines(["1 of 1 claims supported"])


UNFOUNDED = {
    "refuted": (OFF, "", "REFUTED", 1, "departure is certainly positive"),
    "inconclusive": (WIDE, "", "INCONCLUSIVE", 2, "the intervals are too wide"),
    "survivor": (
        STANDS,
        'constant("same", "next to nothing", value=1.0 + 2.0**-52)',
        "VACUOUS",
        None,
        "twin same is refuted nowhere",
    ),
}


@pytest.mark.parametrize("name", UNFOUNDED)
def test_claim_that_does_not_stand_says_why_and_how_to_see_it(suite, name):
    body, more, verdict, number, reason = UNFOUNDED[name]
    result = suite(test_a=check(f"demo.{name}", body, more=more))
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    assert rows(result)[f"demo.{name}"].split()[1] == verdict
    text = paragraph(result, f"demo.{name}")
    assert f"demo.{name} is {verdict}: a claim for demonstration." in text
    assert reason in text
    assert "(equals)" in text
    assert re.search(r"Nearest twin: \w+ \([a-z ]+\), caught in \d of 3 cases\.", text)
    case = re.search(r"Worst of 3 cases is number (\d) \((k=\d, u=0\.\d+)\): measured (\[[^]]*\]|[^,]+), claimed", text)
    assert number in (None, int(case[1]))

    command = shlex.split(text.partition("See that case again: ")[2])
    assert command[0] == "pytest"
    again = suite(*command[1:])
    assert again.ret == 1
    same = paragraph(again, f"demo.{name}")
    assert f"Worst of 1 cases is number {case[1]} ({case[2]}): measured {case[3]}, claimed" in same
    assert verdict in same


@pytest.mark.parametrize("when", ["False", "value == 1000.0 or sign < 0.0"])
def test_check_without_cases_is_vacuous_and_has_no_margin(suite, when):
    result = suite(test_a=check("demo.empty", f"if {when}: {STANDS}"))
    assert result.ret == 1
    assert "is VACUOUS" in paragraph(result, "demo.empty")
    assert "yielded no case" in paragraph(result, "demo.empty")
    assert rows(result)["demo.empty"].split()[1:5] == ["VACUOUS", "certified", "-", "0.0e+00"]


def test_twin_that_survives_leaves_no_margin(suite):
    result = suite(test_a=check("demo.blind", "yield equals(1, value * 0.0 + 1.0)"))
    assert rows(result)["demo.blind"].split()[1:5] == ["VACUOUS", "certified", "-", "0.0e+00"]


def test_a_part_that_no_twin_refutes_leaves_no_margin(suite):
    result = suite(test_a=check("demo.loose", f"{STANDS}\n        yield equals(0, 0, scale=1, part='loose')"))
    assert "No twin refutes the part loose" in paragraph(result, "demo.loose")
    assert rows(result)["demo.loose"].split()[1:5] == ["VACUOUS", "numeric", "-", "0.0e+00"]


def test_twins_that_are_missing_or_of_one_type_fail_at_import(suite):
    without_twin = '@verifies(Claim("demo.without-twin", "no twin", "$x$"))\ndef test_l(run):\n    yield equals(1, 1)\n'
    result = suite(test_a=without_twin, test_b=check().replace("    bug(", "    constant("))
    assert result.ret == 2
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*twins: expected at least two of different type for demo.without-twin, got none*"])
    result.stdout.fnmatch_lines(["*for demo.stands, got far (constant), minus (constant)*"])


@pytest.mark.parametrize("when", ["True", "value == 1000.0"])
def test_exception_is_an_error_not_a_refutation(suite, when):
    body = STANDS + f"\n        if {when}: raise RuntimeError('boom')"
    result = suite(test_a=check("demo.error", body) + check())
    assert result.ret == 1
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["E *RuntimeError: boom"])
    assert rows(result)["demo.error"].split()[1:6] == ["ERROR", "-", "-", "-", "-"]
    assert not any("REFUTED" in line for line in result.outlines)
    result.stdout.fnmatch_lines(["1 of 2 claims supported*"])


BROKEN = """
import pytest
@pytest.fixture
def cannot_be_made():
    raise RuntimeError("no such data")
@pytest.fixture
def cannot_be_cleaned():
    yield
    raise RuntimeError("left behind")
"""


def test_every_claim_that_was_to_be_decided_has_a_row(suite, pytester):
    pytester.makeconftest(BROKEN)
    late = check("demo.late").replace("(run, *", "(run, cannot_be_cleaned, *")
    early = check("demo.early").replace("(run, *", "(run, cannot_be_made, *")
    skipped = check("demo.skipped", "__import__('pytest').skip('not today')\n        yield")
    excused = check("demo.excused", "__import__('pytest').xfail('not today')\n        yield")
    for workers in ("0", "2"):
        result = suite("-n", workers, test_a=check() + early + late + skipped + excused)
        assert result.ret == 1
        assert {name: line.split()[1] for name, line in rows(result).items()} == {
            "demo.stands": "SUPPORTED", "demo.early": "ERROR", "demo.late": "ERROR", "demo.skipped": "UNDECIDED",
            "demo.excused": "UNDECIDED",
        }  # fmt: skip
        result.stdout.fnmatch_lines(["1 of 5 claims supported*"])


@pytest.mark.parametrize("mark", ["xfail", "xfail(strict=True)", "skip", "skipif(True, reason='x')"])
@pytest.mark.parametrize("place", ["check", "module"])
def test_claim_that_may_not_fail_is_refused(suite, mark, place):
    line = f"import pytest\n{{}}pytest.mark.{mark}\n"
    if place == "module":
        text = line.format("pytestmark = ") + check(body=OFF)
    else:
        text = check(body=OFF).replace("def test_", line.format("@").partition("\n")[2] + "def test_")
        text = "import pytest\n" + text
    result = suite(test_a=text)
    assert result.ret == 2
    said = f"marks: expected a claim that must be supported, got {mark.partition('(')[0]} on test_a.py::demo.stands"
    assert any(said in line for line in result.outlines + result.errlines)


MALFORMED = {
    "no-run": ("(run, *", "(rum, *", 2, "*check: expected the check of demo.stands to take 'run' first, got (rum*"),
    "no-default": ("value=1.0", "value", 2, "*check: expected the true value as the default*got none for value*"),
    "truth": (STANDS, "yield True", 1, "*TypeError: check: expected the check of demo.stands to yield*got bool"),
    "text": (STANDS, "yield 'x'", 1, "*TypeError: check: expected the check of demo.stands to yield*got str"),
    "nothing": (STANDS, "pass", 1, "*TypeError: check: expected the check of demo.stands to yield*got NoneType"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_check_says_what_is_wrong(suite, name):
    old, new, code, message = MALFORMED[name]
    result = suite(test_a=check().replace(old, new))
    assert result.ret == code
    result.stdout.fnmatch_lines([message])


def test_twin_that_names_no_parameter_fails_at_import(suite):
    result = suite(test_a=check(more='constant("typo", "a typo", vallue=2.0)'))
    assert result.ret == 2
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*twins: expected 'typo' to change keyword-only parameters*got vallue*"])


# --- open questions ---

STATES = "from theory.evidence import Verdict\n"
STATED = '"$x = 1$", finds=(Verdict.{},)),'
HALF = "yield equals(Interval.within(sign * 1.0, 0.3), value, k=k, u=u)"


def open_question(verdict, body, id="demo.open"):  # noqa: A002
    """Return the text of a verification that states which verdict it finds."""
    return STATES + check(id, body).replace('"$x = 1$"),', STATED.format(verdict))


@pytest.mark.parametrize(("verdict", "body"), [("REFUTED", OFF), ("INCONCLUSIVE", HALF)])
def test_verdict_that_is_stated_passes_and_is_not_counted_as_support(suite, verdict, body):
    result = suite("--record", test_a=check() + open_question(verdict, body))
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert rows(result)["demo.open"].split()[1:5] == [f"{verdict},", "as", "stated", "numeric"]
    result.stdout.fnmatch_lines([f"1 of 2 claims supported, 1 {verdict.lower()} as stated"])
    assert suite().ret == 0  # it agrees with its record
    assert any("\x1b[36m" in line and verdict in line for line in suite("--color=yes").outlines)


@pytest.mark.parametrize(
    ("stated", "body", "found"),
    [
        ("REFUTED", STANDS, "SUPPORTED"),
        ("REFUTED", HALF, "INCONCLUSIVE"),
        ("INCONCLUSIVE", OFF, "REFUTED"),
        ("REFUTED", "yield equals(1, value * 0.0 + 1.0)", "VACUOUS"),
    ],
)
def test_verdict_other_than_the_stated_one_fails(suite, stated, body, found):
    result = suite(test_a=open_question(stated, body))
    assert result.ret == 1
    text = paragraph(result, "demo.open")
    assert f"demo.open is {found}: " in text
    assert f"It states that it finds {stated}." in text
    assert rows(result)["demo.open"].split()[1:3] == [found, "certified" if found == "VACUOUS" else "numeric"]
    assert f"0 of 1 claims supported; failed: 1 {found.lower()}" in result.outlines


def test_refutation_that_is_stated_needs_its_twins(suite):
    never = open_question("REFUTED", "yield equals(Interval.within(1.25 + 0.25 * sign, 1e-15), value)")
    result = suite(test_a=never)
    assert result.ret == 1
    assert rows(result)["demo.open"].split()[1:3] == ["REFUTED", "numeric"]
    assert "The departure is certainly positive, but not that of every twin." in paragraph(result, "demo.open")


def test_open_question_with_another_record_is_told(suite, pytester):
    assert suite("--record", test_a=open_question("REFUTED", OFF)).ret == 0
    result = suite(test_a=open_question("REFUTED", OFF).replace("1.1 if", "1.2 if"))
    assert result.ret == 1
    assert "demo.open is refuted, but contradicts demo.open.json: " in paragraph(result, "demo.open")


# --- collection ---


def test_claims_are_selected_by_id_and_by_place(suite):
    files = {"test_a": check("demo.one") + check("demo.two"), "test_b": check("demo.two-more")}
    assert set(rows(suite("-k", "demo.two", **files))) == {"demo.two", "demo.two-more"}
    assert set(rows(suite("-k", "one or more"))) == {"demo.one", "demo.two-more"}
    assert set(rows(suite("test_a.py::demo.two"))) == {"demo.two"}
    result = suite("--collect-only", "-q")
    assert {"test_a.py::demo.one", "test_a.py::demo.two", "test_b.py::demo.two-more"} <= set(result.outlines)


@pytest.mark.parametrize("together", [True, False])
def test_claim_id_is_met_once(suite, together):
    one = check("demo.same")
    two = check("demo.same", words="another claim").replace("def test_", "def test_other_")
    files = {"test_a": one + two} if together else {"test_a": one, "test_b": two}
    result = suite(**files)
    assert result.ret not in (0, 1)
    assert any("claim id: expected it once, got" in line for line in result.outlines + result.errlines)


def test_checks_may_ask_for_fixtures(suite, pytester):
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef one():\n    return 1.0\n")
    body = STANDS.replace("sign * 1.0", "sign * one")
    assert suite(test_a=check(body=body).replace("(run, *", "(run, one, tmp_path, *")).ret == 0


# --- options ---


def test_scale_and_root(suite):
    result = suite("--scale", "paper", test_a=check("demo.off", OFF))
    assert "Worst of 5 cases" in paragraph(result, "demo.off")
    result.stdout.fnmatch_lines(["*theorems (scale paper, root 20070)*"])
    draws = {re.search(r"u=(0\.\d+)", paragraph(suite("--root", root), "demo.off"))[1] for root in ("20070", "1", "1")}
    assert len(draws) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--record", "--case", "1"), "--record: expected a whole run, got --case"),
        (("--record", "--root", "1"), "--record: expected the root of every record, 20070, got 1"),
        (("--scale", "big"), "invalid choice: 'big'"),
        (("--root", "one"), "invalid int value: 'one'"),
    ],
)
def test_options_that_make_no_sense(suite, options, message):
    result = suite(*options, test_a=check())
    assert result.ret == 4
    assert any(message in line for line in result.errlines)


def test_case_that_is_not_there(suite):
    result = suite("--case", "9", test_a=check())
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*case: expected one of the 3 cases of demo.stands, got 9"])


def test_options_are_explained(suite):
    result = suite("--help")
    for option in ("--scale", "--root", "--record", "--case"):
        result.stdout.fnmatch_lines([f"*{option}*"])


# --- the closing table ---


def test_table_is_plain_in_a_log_and_coloured_under_a_terminal(suite):
    plain = suite(test_a=check() + check("demo.off", OFF))
    assert not any("\x1b" in line for line in plain.outlines)
    coloured = suite("--color=yes")
    assert any("\x1b[" in line and "SUPPORTED" in line for line in coloured.outlines)
    assert any("\x1b[" in line and "REFUTED" in line for line in coloured.outlines)


@pytest.mark.parametrize("words", ["x lies in [a, b]", "a :smile: and [/b]", "[red]x[/red]", "an id \\\\[x]"])
def test_words_are_printed_as_they_are(suite, words):
    result = suite(test_a=check(words=words))
    assert result.ret == 0
    assert rows(result)["demo.stands"].endswith(words.replace("\\\\", "\\"))


def test_run_without_claims_has_no_table(suite):
    result = suite(test_a="def test_plain(): pass\n")
    assert result.ret == 0
    assert not any("theorems" in line for line in result.outlines)


# --- evidence ---


def test_default_run_writes_nothing(suite, pytester):
    assert suite(test_a=check()).ret == 0
    assert not pytester.path.joinpath("evidence").exists()


def test_missing_record_is_told(suite, pytester):
    said = "no record, so nothing was compared (--record writes it): "
    result = suite(test_a=check(), test_b=check("demo.other"))
    assert f"{said}demo.other, demo.stands" in result.outlines
    assert suite("--record", "-k", "stands").ret == 0
    assert f"{said}demo.other" in suite().outlines
    assert f"{said}demo.other, demo.stands" in suite("--scale", "paper").outlines
    assert suite("--record").ret == 0
    for options in ((), ("--root", "1"), ("--case", "0"), ("--record",)):
        assert not any("no record" in line for line in suite(*options).outlines)


def test_recording_twice_writes_the_same_bytes(suite, pytester):
    assert suite("--record", test_a=check(), test_b=check("demo.other")).ret == 0
    first = evidence(pytester)
    assert set(first) == {"demo.stands.json", "demo.other.json"}
    assert json.loads(first["demo.other.json"])["test"] == "test_b.py"
    assert suite().ret == 0  # agrees with its record
    assert suite("--record", "-k", "demo.other").ret == 0
    assert evidence(pytester) == first


def test_workers_and_order_change_no_byte(suite, pytester):
    study = "def study(*, scale, root):\n    return Table(Kind.CERTIFIED, {'x': '1'}, {'x': [0.1 * root]})\n" + check(
        "demo.study", "yield equals(int(run.study(study)['x'][0] * 0 + sign), value, k=k, u=u)"
    )
    files = {"test_a": check() + check("demo.other"), "test_b": check("demo.third") + study}
    found = []
    for options in (
        ("-n", "0"),
        ("-n", "2"),
        ("test_b.py::demo.study", "test_b.py::demo.third", "test_a.py::demo.other", "test_a.py::demo.stands"),
    ):
        result = suite("--record", *options, **files)
        assert result.ret == 0
        assert len(rows(result)) == 4
        found.append(evidence(pytester))
        for path in pytester.path.joinpath("evidence").iterdir():
            path.unlink()
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 4


def test_claim_that_does_not_stand_leaves_no_record_of_support(suite, pytester):
    assert suite("--record", test_a=check()).ret == 0
    result = suite("--record", test_a=check(body=OFF), test_b=check("demo.new", OFF))
    assert result.ret == 1
    for content in evidence(pytester).values():
        assert json.loads(content)["verdict"] == "refuted"
        assert json.loads(content)["scales"]["quick"]["verdict"] == "refuted"


def test_error_leaves_no_record(suite, pytester):
    assert suite("--record", test_a=check(body="raise RuntimeError")).ret == 1
    assert not pytester.path.joinpath("evidence").exists()


def test_number_that_moved_is_noticed(suite, pytester):
    body = "yield at_most(Interval.within(-sign * {}, 1e-15), -value, k=k)"
    assert suite("--record", test_a=check(body=body.format("1.5"))).ret == 0
    pytester.path.joinpath("test_a.py").write_text(HEAD + check(body=body.format("1.500000001")), encoding="utf-8")
    result = suite()
    assert result.ret == 1
    text = paragraph(result, "demo.stands")
    assert "contradicts demo.stands.json" in text
    assert "a number moved" in text
    assert suite("--root", "1").ret == 0  # an audit compares verdicts only
    assert suite("--case", "0").ret == 0


def test_stale_statement_is_noticed(suite):
    assert suite("--record", test_a=check()).ret == 0
    result = suite(test_a=check(words="the claim reads differently now"))
    assert result.ret == 1
    assert "the record states another words" in paragraph(result, "demo.stands")


def test_record_that_is_no_record_is_an_error(suite, pytester):
    assert suite("--record", test_a=check()).ret == 0
    (pytester.path / "evidence" / "demo.stands.json").write_text("{", encoding="utf-8")
    assert suite().ret == 1


# --- from the shell ---


def shell(folder, *command, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "THEORY_"))}
    call = [sys.executable, "-m", *command]
    return subprocess.run(  # noqa: S603
        call, cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_printed_command_works_where_pytest_was_called(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "test_a.py").write_text(HEAD + check("demo.off", OFF), encoding="utf-8")
    options = ("-p", "no:cacheprovider")
    done = shell(tmp_path / "proofs", "pytest", *options, THEORY_BACKEND="reference")
    assert done.returncode == 1, done.stderr
    text = next(line for line in done.stdout.splitlines() if line.startswith("demo.off is REFUTED"))
    command = shlex.split(text.partition("See that case again: ")[2])
    assert command[:2] == ["THEORY_BACKEND=reference", "pytest"]
    again = shell(tmp_path / "proofs", *command[1:], *options, THEORY_BACKEND="reference")
    assert again.returncode == 1, again.stderr
    same = next(line for line in again.stdout.splitlines() if line.startswith("demo.off is REFUTED"))
    assert re.search(r"\(k=1, u=0\.\d+\)", text)[0] in same


# --- nothing is dropped in silence ---

LEAVING = {
    "skip": "__import__('pytest').skip('not today')",
    "xfail": "__import__('pytest').xfail('not today')",
    "exit": "__import__('pytest').exit('not today', returncode=0)",
    "unittest": "raise __import__('unittest').SkipTest('not today')",
}
FIXTURES = """
import pytest
@pytest.fixture
def other():
    return 1.0
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("place", ["check", "fixture", "hook"])
def test_claim_that_leaves_undecided_fails(suite, pytester, place, workers):
    ways = {way: text for way, text in LEAVING.items() if place != "hook" or way != "exit"}  # a conftest may end a run
    leave = "".join(f"    if item.name == 'demo.{way}': {text}\n" for way, text in ways.items())
    fixtures = "".join(f"@pytest.fixture\ndef {way}():\n    {text}\n" for way, text in ways.items())
    pytester.makeconftest(
        f"def pytest_runtest_setup(item):\n{leave}" if place == "hook" else f"import pytest\n{fixtures}"
    )
    text = check()
    for way, line in ways.items():
        one = check(f"demo.{way}", f"{line}\n        yield" if place == "check" else STANDS)
        text += one.replace("(run, *", f"(run, {way}, *") if place == "fixture" else one
    result = suite("-n", workers, test_a=text)
    assert result.ret == 1
    assert {name: line.split()[1] for name, line in rows(result).items()} == {
        "demo.stands": "SUPPORTED",
        **{f"demo.{way}": "UNDECIDED" for way in ways},
    }
    for way in ways:
        said = paragraph(result, f"demo.{way}")
        kind = "skip" if way == "unittest" else way
        assert said.startswith(f"demo.{way} is UNDECIDED: its check or a fixture ended in {kind} (not today). A claim")
    assert f"1 of {len(ways) + 1} claims supported; failed: {len(ways)} undecided" in result.outlines


def test_plain_tests_may_be_skipped_and_claims_left_out(suite):
    result = suite(
        "--deselect", "test_a.py::demo.off", test_a=check() + check("demo.off", OFF)
        + "\nimport pytest\ndef test_plain(): pytest.skip('not today')\n"
    )  # fmt: skip
    assert result.ret == 0
    result.assert_outcomes(passed=1, skipped=1, deselected=1)


MARK = "import pytest\n"


def above(mark, text):
    """Put a mark above ``@verifies``."""
    assert text.count("@verifies") == 1
    return MARK + text.replace("@verifies", f"{mark}\n@verifies")


@pytest.mark.parametrize(
    "mark", ["skip", "skip(reason='x')", "skipif(True, reason='x')", "xfail", "xfail(strict=True)"]
)
def test_excuse_above_verifies_is_refused(suite, mark):
    result = suite(test_a=above(f"@pytest.mark.{mark}", check()))
    assert result.ret == 2
    said = f"marks: expected a claim that must be supported, got {mark.partition('(')[0]} on test_a.py::demo.stands"
    assert said in result.outlines


@pytest.mark.parametrize("under", [True, False])
def test_parametrised_claim_is_refused(suite, under):
    mark = "@pytest.mark.parametrize('k', [1, 2])"
    text = MARK + check().replace("def test_", f"{mark}\ndef test_") if under else above(mark, check())
    result = suite(test_a=text)
    assert result.ret == 2
    assert "marks: expected the cases in the check itself, got parametrize on test_a.py::demo.stands" in result.outlines


def test_marks_above_verifies_hold(suite, pytester):
    pytester.makeini("[pytest]\nmarkers =\n    slow: takes long\n    level(n): of a claim\n")
    pytester.makeconftest(
        FIXTURES
        + "def pytest_collection_modifyitems(items):\n"
        + "    print([[(m.name, m.args) for m in item.iter_markers()] for item in items])\n"
    )
    marks = "@pytest.mark.slow\n@pytest.mark.level(3)\n@pytest.mark.usefixtures('other')"
    options = ("--strict-markers", "-W", "error", "-s")
    result = suite(*options, test_a=above(marks, check()), test_b=check("demo.quick"))
    assert result.ret == 0
    assert set(rows(result)) == {"demo.stands", "demo.quick"}
    result.stdout.fnmatch_lines(["*('usefixtures', ('other',)), ('level', (3,)), ('slow', ())*"])
    assert set(rows(suite(*options, "-m", "slow and level"))) == {"demo.stands"}
    assert set(rows(suite(*options, "-m", "not slow"))) == {"demo.quick"}
    assert set(rows(suite(*options, "-k", "slow"))) == {"demo.stands"}


def test_unknown_mark_is_refused(suite):
    result = suite("--strict-markers", test_a=above("@pytest.mark.slwo", check()))
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*'slwo' not found in `markers` configuration option*"])


# --- selection ---


def test_keywords_are_ids_not_folders(suite, pytester):
    pytester.mkdir("maxent").joinpath("test_gibbs.py").write_text(
        HEAD + check("demo.one") + check("maxent.two") + "\ndef test_plain(): pass\n", encoding="utf-8"
    )
    for words, claims in {
        "maxent": {"maxent.two"},
        "gibbs": set(),
        "not maxent": {"demo.one"},
        "MAX": {"maxent.two"},
    }.items():
        result = suite("-k", f"({words}) and not plain")
        assert (set(rows(result)) if claims else set()) == claims, words
        assert result.ret == (0 if claims else 5)
    suite("-k", "maxent").assert_outcomes(passed=2, deselected=1)  # a plain test keeps the names of its folders
    suite("-n", "2", "-k", "maxent").assert_outcomes(passed=2)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_printed_node_ids_are_node_ids(tmp_path, workers):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "proofs").mkdir()
    text = HEAD + check("demo.one") + check("demo.two-more", OFF)
    (tmp_path / "proofs" / "test_a.py").write_text(text, encoding="utf-8")
    for folder in (tmp_path, tmp_path / "proofs"):
        done = shell(folder, "pytest", "-v", "-rA", "-p", "no:cacheprovider", "-n", workers)
        printed = {node.strip("'") for node in re.findall(r"\S*test_a\.py::\S+", done.stdout)}
        assert len(printed) == 2, done.stdout
        for node in printed:
            again = shell(folder, "pytest", node, "-q", "-p", "no:cacheprovider")
            assert again.returncode in (0, 1)
            assert f"{node.partition('::')[2]} " in again.stdout


# --- options of others ---


@pytest.mark.parametrize("place", ["conftest", "plugin"])
def test_options_of_others_keep_their_names(suite, pytester, place):
    text = (
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--scale', type=int, default=7)\n"
        "    parser.getgroup('mine').addoption('--record', action='store_true')\n"
    )
    pytester.path.joinpath("conftest.py" if place == "conftest" else "mine.py").write_text(text, encoding="utf-8")
    pytester.syspathinsert()
    more = () if place == "conftest" else ("-p", "mine")
    seen = "def test_plain(pytestconfig):\n    print(*map(pytestconfig.getoption, ('--scale', '--record')))\n"
    result = suite(
        *more,
        "-rP",
        "--scale",
        "3",
        "--record",
        "--theory-scale",
        "paper",
        "--root",
        "1",
        test_a=seen,
        test_b=check("demo.off", OFF),
    )
    assert result.ret == 1
    assert "3 True" in result.outlines
    result.stdout.fnmatch_lines(["*theorems (scale paper, root 1)*"])
    assert not evidence(pytester)
    command = shlex.split(paragraph(result, "demo.off").partition("See that case again: ")[2])
    assert command[2:] == ["--case", "1", "--theory-scale", "paper", "--root", "1"]
    assert suite(*more, *command[1:]).ret == 1


def test_values_of_options_are_no_test_folders(suite, pytester):
    pytester.makeini("[pytest]\ntestpaths = proofs\n")
    folder = pytester.mkdir("proofs")
    folder.joinpath("conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--mine', action='store_true')\n", encoding="utf-8"
    )
    folder.joinpath("test_a.py").write_text(HEAD + check(), encoding="utf-8")
    result = suite("--scale", "paper", "--mine")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*theorems (scale paper, root 20070)*"])


def test_plugin_may_be_loaded_by_a_conftest(tmp_path):
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['theory.evidence.plugin']\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(HEAD + check(), encoding="utf-8")
    done = shell(tmp_path, "pytest", "-p", "no:cacheprovider", "--scale", "paper", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "theorems (scale paper, root 20070)" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--table", "out.txt"), "--table: expected a file .csv or .json, got out.txt"),
        (("--table", "nowhere/out.csv"), "--table: expected a file in a folder that exists, got nowhere/out.csv"),
        (("--dask", "nonsense"), "--dask: expected the address of a scheduler, got 'nonsense': a host and a port"),
        (("--dask", "tcp://127.0.0.1:1"), "--dask: expected the address of a scheduler, got 'tcp://127.0.0.1:1': "),
    ],
)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_options_are_refused_before_anything_runs(suite, options, message, workers):
    start = time.monotonic()
    result = suite("-n", workers, *options, test_a=check(body="print('ran')\n        yield"))
    assert result.ret == 4
    assert [message in line for line in result.errlines if "ERROR" in line] == [True]
    assert not any("ran" in line or "INTERNALERROR" in line for line in result.outlines + result.errlines)
    assert time.monotonic() - start < 10.0


def test_unknown_backend_is_refused_at_once(suite, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "typo")
    result = suite(test_a=check())
    assert result.ret == 4
    assert "ERROR: THEORY_BACKEND: expected one of compiled, reference, got 'typo'" in result.errlines


def test_run_without_claims_loads_no_numbers(tmp_path):
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    print(sorted({'numpy', 'scipy', 'theory.evidence.claim', 'theory.evidence.board'} & set(sys.modules)))\n",
        encoding="utf-8",
    )
    done = shell(tmp_path, "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


# --- one case ---


@pytest.mark.parametrize("workers", ["0", "2"])
def test_case_of_a_supported_claim_is_shown(suite, workers):
    result = suite("-n", workers, "--case", "2", test_a=check())
    assert result.ret == 0
    line = next(line for line in result.outlines if line.startswith("demo.stands, case number 2 (k=2, u=0."))
    assert re.search(r"measured \[0\.9*\d*, 1\.0*\d*\]|measured \S+", line)
    assert "claimed 1" in line
    assert "(equals), departure [" in line


# --- data of the user's own ---

TOKENS = """
import pytest
from theory.evidence.plugin import foreign_data
@pytest.fixture
def tokens(request):
    request.node.stash[foreign_data] = "--tokens mine.npy"
    return 1.5
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_only_claims_on_foreign_data_are_not_compared(suite, pytester, workers):
    uses = check("demo.uses").replace("(run, *", "(run, tokens, *")
    pytester.makeconftest(TOKENS.replace("request.node.stash", "{}"))
    assert suite("--record", test_a=check() + uses).ret == 0
    pytester.makeconftest(TOKENS)
    uses = check("demo.uses", STANDS.replace("1e-15", "1e-16 * tokens")).replace("(run, *", "(run, tokens, *")
    for path in pytester.path.joinpath("evidence").glob("*.json"):
        whole = json.loads(path.read_text(encoding="utf-8"))
        whole["scales"]["quick"] |= {"departure": [0.25, 0.5], "compared": [0.25, 0.5]}
        path.write_text(json.dumps(whole), encoding="utf-8")
    result = suite("-n", workers, test_a=check() + uses)
    assert result.ret == 1
    assert {name: line.split()[1] for name, line in rows(result).items()} == {
        "demo.uses": "SUPPORTED",
        "demo.stands": "MOVED",
    }
    assert "decided on --tokens mine.npy, so not compared with their records: demo.uses" in result.outlines


# --- the table whole ---


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_table_is_written_whole(suite, pytester, suffix, workers):
    path = pytester.path / f"out.{suffix}"
    path.write_text("old", encoding="utf-8")
    words = "a claim, with a comma; ∥x∥"
    result = suite("-n", workers, "--table", path.name, test_a=check(words=words) + check("demo.off", OFF))
    assert result.ret == 1
    assert not [left for left in pytester.path.iterdir() if left.name.startswith(".out")]
    text = path.read_text(encoding="utf-8")
    told = json.loads(text)["claims"] if suffix == "json" else list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in told] == ["demo.off", "demo.stands"]
    assert [row["verdict"] for row in told] == ["REFUTED", "SUPPORTED"]
    assert [str(row["passed"]) for row in told] == ["False", "True"]
    assert told[1]["words"] == words
    assert told[1]["twins"] == "2/2"
    assert float(told[1]["margin"]) > 1.0
    assert float(told[1]["seconds"]) > 0.0


def test_table_that_cannot_be_written_fails_in_a_line(suite, pytester):
    pytester.mkdir("out.json")
    result = suite("--table", "out.json", test_a=check())
    assert result.ret == 1
    assert "--table out.json: not written: Is a directory" in result.outlines
    assert not any("INTERNALERROR" in line for line in result.outlines + result.errlines)


def test_table_of_nothing_is_not_written(suite, pytester):
    path = pytester.path / "out.json"
    path.write_text("old", encoding="utf-8")
    assert suite("--table", "out.json", "--collect-only", test_a=check()).ret == 0
    result = suite("--table", "out.json", "-k", "nothing")
    assert result.ret != 0
    assert "--table out.json: not written, since no claim was decided" in result.outlines
    assert path.read_text(encoding="utf-8") == "old"


# --- what travels with a report ---


@pytest.mark.parametrize("workers", ["0", "2"])
def test_properties_are_plain_values(suite, pytester, workers):
    pytester.makeconftest(
        "def pytest_runtest_logreport(report):\n"
        "    assert all(type(n) is str and type(v) in (str, int, float) for n, v in report.user_properties)\n"
    )
    result = suite("-n", workers, "--junit-xml", "out.xml", test_a=check() + check("demo.off", OFF))
    assert result.ret == 1
    tree = ET.parse(pytester.path / "out.xml")  # noqa: S314  pytest wrote it
    told = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in tree.iter("testcase")
    }
    assert {name: facts["theory-verdict"] for name, facts in told.items()} == {
        "demo.off": "REFUTED",
        "demo.stands": "SUPPORTED",
    }
    assert told["demo.stands"]["theory-twins"] == "2/2"
    assert told["demo.stands"]["theory-words"] == "a claim for demonstration"
    assert float(told["demo.stands"]["theory-margin"]) > 1.0


# --- records that cannot be written, and where they lie ---


TAKEN = os.strerror(errno.EEXIST)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_record_that_cannot_be_written_is_told_in_a_line(suite, pytester, workers):
    pytester.path.joinpath("evidence").write_text("a file", encoding="utf-8")
    result = suite("--record", "-n", workers, test_a=check())
    assert result.ret == 1
    assert rows(result)["demo.stands"].split()[1] == "UNRECORDED"
    said = rf"demo\.stands is supported, but cannot be recorded: \S+demo\.stands\.json: not written: {TAKEN}"
    assert re.fullmatch(said, paragraph(result, "demo.stands"))
    assert not any("INTERNALERROR" in line for line in result.outlines + result.errlines)


def test_claim_id_is_met_once_by_workers(suite):
    result = suite("-n", "2", test_a=check("demo.same"), test_b=check("demo.same"))
    assert result.ret == 1
    said = [line for line in result.outlines if "claim id: expected it once" in line and not line.startswith("ERROR")]
    assert said == ["claim id: expected it once, got test_a.py::demo.same and test_b.py::demo.same"]
    assert not any("INTERNALERROR" in line for line in result.outlines + result.errlines)


@pytest.mark.parametrize("options", [(), ("--rootdir", "proofs"), ("--rootdir", ".."), ("proofs/deep",)])
def test_records_lie_where_the_project_has_them(suite, pytester, options):
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")
    folder = pytester.mkdir("proofs") / "deep"
    folder.mkdir()
    folder.joinpath("test_a.py").write_text(HEAD + check(), encoding="utf-8")
    assert suite("--record", *options).ret == 0
    path = pytester.path / "proofs" / "evidence" / "demo.stands.json"
    assert json.loads(path.read_text(encoding="utf-8"))["test"] == "proofs/deep/test_a.py"


def test_a_shelf_that_is_there_is_used(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert plugin.shelf(tmp_path / "a" / "b" / "c" / "test_x.py") == tmp_path / "a" / "evidence"
    assert plugin.shelf(tmp_path / "test_x.py") == tmp_path / "evidence"
    (tmp_path / "evidence").mkdir()  # of the whole project: no shelf of its folders
    (tmp_path / "a" / "b" / "evidence").mkdir()
    assert plugin.shelf(tmp_path / "a" / "b" / "c" / "test_x.py") == tmp_path / "a" / "b" / "evidence"
    assert plugin.shelf(tmp_path / "a" / "test_x.py") == tmp_path / "a" / "evidence"
    (tmp_path / ".git").rmdir()
    assert plugin.shelf(tmp_path / "a" / "b" / "c" / "test_x.py") == tmp_path / "a" / "b" / "c" / "evidence"


# --- under a terminal ---


def on_terminal(folder, *options, columns=100):
    """Return everything that pytest writes to a terminal of so many columns."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "THEORY_", "COLUMNS", "CI"))}
    call = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *options]
    with subprocess.Popen(  # noqa: S603
        call, cwd=folder, env=kept | {"TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs
    ) as run:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # the end of a terminal, on Linux
            while more := os.read(ours, 65536):
                written += more
    os.close(ours)
    return run.returncode, written.decode()


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",), ("-n", "2"), ("-n", "2", "-v")])
def test_time_left_is_shown_under_a_terminal_and_is_gone_afterwards(tmp_path, options):
    text = HEAD + "".join(check(f"demo.n{k}") for k in range(5))
    (tmp_path / "test_a.py").write_text(text, encoding="utf-8")
    code, written = on_terminal(tmp_path, *options)
    assert code == 0, written
    assert re.search(r"about \d:\d\d left", written)
    assert "5 of 5 claims supported" in written
    if "-v" not in options:
        assert not any(re.search(r"about \d", line) for line in screen(written))
    assert json.loads((tmp_path / ".pytest_cache/v/attention-theory/seconds-quick").read_text(encoding="utf-8"))


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_run_without_claims_shows_no_time_left(tmp_path, options):
    doctest = 'def double(x):\n    """Double.\n\n    >>> double(1)\n    2\n    """\n    return 2 * x\n'
    (tmp_path / "test_a.py").write_text(doctest + "def test_a(): pass\ndef test_b(): pass\n", encoding="utf-8")
    (tmp_path / "plain.py").write_text(doctest, encoding="utf-8")
    code, written = on_terminal(tmp_path, "--doctest-modules", *options)
    assert code == 0, written
    assert "4 passed" in written
    assert not re.search(r"about \d", written)
    assert not (tmp_path / ".pytest_cache/v/attention-theory").exists()


def screen(written):
    """Return the lines that a terminal shows at the end, of what moves within a line only."""
    lines, column, kept = [[]], 0, 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78]|.", written, re.DOTALL):
        if piece == "\n":
            lines.append([])
        elif piece == "\r":
            column = 0
        elif piece == "\x1b7":
            kept = column
        elif piece == "\x1b8":
            column = kept
        elif piece == "\x1b[K":
            del lines[-1][column:]
        elif re.fullmatch(r"\x1b\[\d+G", piece):
            column = int(piece[2:-1]) - 1
        elif not piece.startswith("\x1b"):
            lines[-1] += [" "] * (column + 1 - len(lines[-1]))
            lines[-1][column] = piece
            column += 1
    return ["".join(line) for line in lines]


@pytest.mark.parametrize("options", [("-s",), ("--color=yes", "-v"), ("-q",)])
def test_time_left_is_not_written_into_a_log(suite, options):
    result = suite(*options, test_a=check())
    assert not any(" left" in line or "\x1b7" in line for line in result.outlines)


def test_table_fits_the_terminal(tmp_path):
    long = "a statement in many words " * 5
    text = HEAD + check("demo.an-identifier-of-thirty-five-char", words=long.strip()) + check("demo.off", OFF)
    (tmp_path / "test_a.py").write_text(text, encoding="utf-8")
    for columns in (80, 160):
        code, written = on_terminal(tmp_path, columns=columns, *("-p", "no:cacheprovider"))  # noqa: B026
        assert code == 1
        lines = [line for line in screen(written) if line.strip()]
        start = next(k for k, line in enumerate(lines) if line.startswith("id "))
        end = next(k for k, line in enumerate(lines) if "1 of 2 claims supported; failed: 1 refuted" in line)
        table = lines[start:end]
        assert max(len(line) for line in table) <= columns
        assert table[-1].split()[0] == "demo.off"
        head = ["id", "verdict", "margin", "seconds"]
        assert table[0].split() == (
            head if columns == 80 else ["id", "verdict", "kind", "tightness", "margin", "twins", "seconds", "statement"]
        )
        assert (len(table) == 3) is (columns == 80)


def test_log_has_one_line_for_each_claim_unless_columns_says_otherwise(suite, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    words = "a statement in many words " * 6
    assert rows(suite(test_a=check(words=words.strip())))["demo.stands"].endswith(words.strip())
    monkeypatch.setenv("COLUMNS", "80")
    assert len(rows(suite())["demo.stands"]) <= 80


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("skip", ["pytest.importorskip('absent')", "pytest.skip('later', allow_module_level=True)"])
def test_file_of_claims_is_not_skipped_as_a_whole(suite, pytester, workers, skip):
    pytester.path.joinpath("test_b.py").write_text(f"import pytest\n{skip}\n{HEAD}{check('demo.b')}", encoding="utf-8")
    result = suite("-n", workers, test_a=check())
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*test_b.py: expected claims to be decided, got a file that is skipped*"])


@pytest.mark.parametrize("option", ["--root", "--case"])
def test_negative_numbers_are_refused_at_once(suite, option):
    result = suite(option, "-3", test_a=check())
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{option}: expected an integer of at least 0, got -3"])
