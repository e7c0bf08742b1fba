"""The plugin as a reader of another repository meets it: verdicts, paragraphs, commands, options, bytes."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from theory.evidence import board, enclosure, record  # noqa: F401  loaded once, not anew in every run below

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
    for k, rng in enumerate(run.streams(run.pick(quick=3, paper=5))):
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
def suite(pytester):
    """Return a function that writes test files and runs pytest on them, in this process."""

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
        'constant("same", "nothing at all", value=1.0)',
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


def test_twins_that_are_missing_or_of_one_type_fail_at_import(suite):
    lonely = '@verifies(Claim("demo.lonely", "no twin", "$x$"))\ndef test_l(run):\n    yield equals(1, 1)\n'
    result = suite(test_a=lonely, test_b=check().replace("    bug(", "    constant("))
    assert result.ret == 2
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*twins: expected at least two of different type for demo.lonely, got none*"])
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
    one, two = check("demo.same"), check("demo.same", words="another claim").replace("def test_", "def test_other_")
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
    assert suite("--record", test_a=check()).ret == 0
    path = pytester.path / "evidence" / "demo.stands.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole["scales"]["quick"] |= {"departure": [0.25, 0.5], "compared": [0.25, 0.5]}
    path.write_text(json.dumps(whole), encoding="utf-8")
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
