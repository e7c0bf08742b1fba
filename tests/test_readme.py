"""README and its neighbours claim nothing that does not work."""

import doctest
import re
from pathlib import Path

import pytest

from theory.__main__ import main
from theory.evidence import Verdict
from theory.evidence.interval import Kind

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "paper_notes.md")


def test_examples_run():
    done = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted >= 4
    assert done.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_links_resolve(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        table = (ROOT / target).with_suffix(".csv")  # all that a source distribution has of a picture
        assert (ROOT / target).exists() or ((ROOT / "PKG-INFO").exists() and table.exists()), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:theory|tests|verify|figures|\.ci)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path


def test_commands_about_claims_work(capsys):
    commands = re.findall(r"^python -m theory (\w+ ?[\w.-]*)", README, re.MULTILINE)
    assert {c.split()[0] for c in commands} == {"list", "explain", "cite", "certify", "doctor"}
    for command in (c for c in commands if not c.startswith(("certify", "doctor"))):  # which have tests of their own
        assert main(command.split()) == 0
        assert capsys.readouterr().out


def test_every_claim_named_in_the_notes_has_evidence():
    text = (ROOT / "paper_notes.md").read_text(encoding="utf-8").partition("## Errata")[2].partition("## Log")[0]
    claims = re.findall(r"`([a-z]+\.[a-z-]+)`", text)
    assert len(claims) >= 9
    for claim in claims:
        assert (ROOT / "verify" / "evidence" / f"{claim}.json").exists(), claim


def test_every_option_exists(pytestconfig):
    named = re.findall(r"^\| `(--[a-z]+)", README, re.MULTILINE)
    assert set(named) == {"--scale", "--root", "--case", "--table", "--tokens", "--record", "--dask"}
    for option in set(named) - {"--tokens"}:  # that one is the verify suite's own
        pytestconfig.getoption(option)
    assert '"--tokens"' in (ROOT / "verify" / "conftest.py").read_text(encoding="utf-8")


def test_every_verdict_and_kind_is_explained():
    for verdict in Verdict:
        assert f"`{verdict.name}`" in README
    for kind in Kind:
        assert f"`{kind.name.lower()}`" in README
