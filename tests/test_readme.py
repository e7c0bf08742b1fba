"""README, the pages of docs and their neighbours claim nothing that does not work."""

import doctest
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES as BENCHMARKS
from theory.__main__ import main
from theory.evidence import Verdict
from theory.evidence.interval import Kind
from theory.figures.registry import titles
from theory.report.archive import find
from theory.report.notes import read_notes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
DOCS = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
LONG = tuple(f"docs/notes/{path.name}" for path in sorted((ROOT / "docs" / "notes").glob("*.md")))
PAGES = ("README.md", *DOCS, *LONG, "CONTRIBUTING.md", "CHANGELOG.md", "paper_notes.md")


@pytest.mark.parametrize(("page", "least"), [("README.md", 3), ("docs/library.md", 20), ("docs/certificates.md", 8)])
def test_examples_run(page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one of them writes pictures
    done = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted >= least
    assert done.failed == 0


def test_readme_is_short_and_leads_to_every_page():
    assert README.count("\n") <= 120
    assert all(f"({page})" in README for page in DOCS)


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path = (ROOT / page).parent / target
        table = path.with_suffix(".csv")  # all that a source distribution has of a picture
        assert path.exists() or ((ROOT / "PKG-INFO").exists() and table.exists()), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:theory|tests|verify|figures|docs|\.ci)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", ["README.md", *DOCS, "CONTRIBUTING.md"])
def test_modules_and_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in re.findall(r"`(theory(?:\.\w+)+)`", text):
        door, _, own = name.rpartition(".")
        assert find_spec(name) is not None or own in dir(import_module(door)), name


def test_what_the_library_is_said_to_have_is_handed_out():
    """Every name in backticks is a function or class of some door, a parameter or a figure."""
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / "library.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    named = set(re.findall(r"`([A-Za-z_]\w+)(?:\(.*?\))?`", text))
    parameters = {
        "dense",
        "nufft",
        "local",
        "cells",
        "relative_width",
        "auto",
        "method",
        "mask",
        "prior",
        "tau",
        "w_query",
        "w_key",
        "w_value",
        "w_out",
    }
    folders = (path.parent.relative_to(ROOT) for path in (ROOT / "theory").rglob("__init__.py"))
    doors = [import_module(".".join(folder.parts)) for folder in folders if "torch" not in folder.parts]
    handed_out = {name for door in doors for name in getattr(door, "__all__", ())}
    others = {"_vjp", "FILE", "scaled_dot_product_attention"}
    assert named - handed_out - parameters - set(titles()) - set(BENCHMARKS) - others == set()


@pytest.mark.parametrize(
    ("page", "verbs"),
    [
        ("README.md", {"list", "explain", "cite", "certify", "doctor", "prove"}),
        ("docs/citing.md", {"list", "explain", "cite", "bundle", "completion"}),
    ],
)
def test_commands_about_claims_work(capsys, page, verbs):
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall(r"^python -m theory (\w+ ?[\w.-]*)", text, re.MULTILINE)
    assert {command.split()[0] for command in commands} == verbs
    for command in commands:
        if not command.startswith(("bundle", "certify", "doctor", "prove")):  # which have tests of their own
            assert main(command.split()) == 0
            assert capsys.readouterr().out


def test_ten_theorems_have_the_verdicts_that_readme_gives_them():
    lines = re.findall(r"^\| `([a-z]+[.\w-]+)` \| .* \| (\w+), (\w+) \|$", README, re.MULTILINE)
    assert len(lines) == 10
    for claim, verdict, kind in lines:
        entry = find(ROOT / "verify" / "evidence", claim).best
        assert (entry.verdict.value, entry.kind.name.lower()) == (verdict, kind), claim


def test_readme_counts_the_claims():
    assert f"{len(list((ROOT / 'verify' / 'evidence').glob('*.json')))} claims" in README


def test_every_claim_named_in_the_notes_has_evidence():
    text = read_notes(ROOT / "paper_notes.md").partition("## Errata")[2].partition("## Log")[0]
    claims = re.findall(r"`([a-z]+\.[a-z-]+)`", text)
    assert len(claims) >= 9
    for claim in claims:
        assert (ROOT / "verify" / "evidence" / f"{claim}.json").exists(), claim


def test_every_option_exists(pytestconfig):
    named = re.findall(r"^\| `(--[a-z]+)", RUNNING, re.MULTILINE)
    assert set(named) == {"--scale", "--root", "--case", "--table", "--tokens", "--record", "--dask"}
    for option in set(named) - {"--tokens"}:  # that one is the verify suite's own
        pytestconfig.getoption(option)
    assert '"--tokens"' in (ROOT / "verify" / "conftest.py").read_text(encoding="utf-8")


def test_every_verdict_and_kind_is_explained():
    for verdict in Verdict:
        assert f"`{verdict.name}`" in RUNNING
    for kind in Kind:
        assert f"`{kind.name.lower()}`" in RUNNING
        assert f"| `{kind.name.lower()}` |" in GLOSSARY
