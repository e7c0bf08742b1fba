"""Every tutorial runs, draws one picture, and says no number that it does not print and no claim that there is not."""

import ast
import re
import runpy
import tempfile
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
CLAIMS = {path.stem for path in (ROOT / "verify" / "evidence").glob("*.json")}
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)")


def prose(text):
    """Return the sentences of a tutorial without their title, formulas and code."""
    said = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[2].partition(".. math::")[0]
    comments = re.findall(r"^# %%\n((?:#.*\n)+)", text, re.MULTILINE)
    return re.sub(r":\w+:`[^`]*`|``[^`]*``", " ", "\n".join([said, *comments]).replace("\n# ", " "))


def unprinted(text, printed):
    """Return the numbers that a tutorial says and does not print."""
    known = set(NUMBER.findall(printed))
    return [number for number in NUMBER.findall(prose(text)) if number not in known]


def unknown(text):
    """Return what is named as a claim and is none; subjects are those of the claims."""
    subjects = {claim.partition(".")[0] for claim in CLAIMS}
    named = re.findall(r"``([a-z-]+\.[a-z0-9-]+)``", text)
    return [name for name in named if name.partition(".")[0] in subjects and name not in CLAIMS]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return what runs a tutorial as a script does, where it leaves nothing behind, and says what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    with mpl.rc_context({"backend": "agg"}):
        from matplotlib import pyplot as plt  # noqa: PLC0415  with that backend

        plt.close("all")
        monkeypatch.setattr(plt, "show", lambda: None)

        def ran(path):
            runpy.run_path(str(path), run_name="tutorial")
            return capsys.readouterr().out, len(plt.get_fignums())

        yield ran
        plt.close("all")


def test_there_are_six():
    assert [path.name[0] for path in TUTORIALS] == list("123456")
    assert all(40 <= path.read_text(encoding="utf-8").count("\n") <= 120 for path in TUTORIALS)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_its_numbers_are_printed(path, run):
    printed, pictures = run(path)
    text = path.read_text(encoding="utf-8")
    assert unprinted(text, printed) == []
    assert pictures == 1
    assert printed.count("\n") >= 3


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_what_a_tutorial_names_as_a_claim_is_one(path):
    assert unknown(path.read_text(encoding="utf-8")) == []


def test_a_number_that_is_not_printed_is_seen():
    text = '"""\n7 Title\n=======\n\nBelow 3 there are :math:`4`.\n"""\n# %%\n# It is 0.993, ``5``.\n\nprint(0.992)\n'
    assert unprinted(text, "0.992\n3\n") == ["0.993"]
    assert unprinted(text, "0.993 3") == []
    assert unknown("``maxent.gibs`` and ``maxent.gibbs``, ``numpy.sum``") == ["maxent.gibs"]
