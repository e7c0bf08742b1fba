"""Written proofs: sections stand in the file of their subject, name twins that exist, and refer to what is there."""

from __future__ import annotations

import ast
import csv
import hashlib
import re
from functools import cache
from pathlib import Path

import pytest

from theory.report.citation import bibliography
from theory.report.formal import read_sources, words_of
from theory.report.proofs import places

ROOT = Path(__file__).parent.parent
PROOFS = ROOT / "proofs"
FILES = sorted(PROOFS.glob("*.md"))
PARTS = ("Statement", "Proof", "Needed", "Sharp")
CALCULATED = re.compile(r"\b(?:in|of)\s+balls\b|\bin\s+intervals\b|\bby\s+(?:SymPy|quadrature)\b")


def claims_of(path):
    """Yield id and keys of the twins of every claim in a file of ``verify/``, without importing it."""
    for item in ast.parse(path.read_text(encoding="utf-8")).body:
        for call in getattr(item, "decorator_list", ()):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "verifies":
                claim, *twins = call.args
                yield claim.args[0].value, {twin.args[0].value for twin in twins}


WORDS = {name: words for path in sorted((ROOT / "verify").rglob("test_*.py")) for name, words in words_of(path)}
CLAIMS = {name: twins for path in sorted((ROOT / "verify").rglob("test_*.py")) for name, twins in claims_of(path)}
RECORDED = {path.stem for path in (ROOT / "verify" / "evidence").glob("*.json")}


def sections(text):
    """Yield heading and body of every section of the second level."""
    for part in re.split(r"^(?:\([\w-]+\)=\n)?## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        yield heading, body


def head_of(text):
    """What stands before the first section: conventions that its sections share."""
    return re.split(r"^(?:\([\w-]+\)=\n)?## ", text, maxsplit=1, flags=re.MULTILINE)[0]


TEXTS = {path: path.read_text(encoding="utf-8") for path in FILES}
LEMMAS = dict(sections(TEXTS[PROOFS / "lemmas.md"]))
PROVED = [
    pytest.param(path, heading, body, id=heading)
    for path, text in TEXTS.items()
    if path.name not in ("lemmas.md", "README.md", "results.md")
    for heading, body in sections(text)
]
MEASURED = [pytest.param(path, name, id=name) for path, text in TEXTS.items() for name in places(text)]
*RESULTS, SEARCHES = sections(TEXTS[PROOFS / "results.md"])
REFEREED = PROOFS / "refereed.csv"


def what_is_read(heading, body):
    """What a referee reads: the claim, its section, what its file and all files share, and lemmas down to the last."""
    shared = [head_of(TEXTS[PROOFS / f"{heading.partition('.')[0]}.md"]), head_of(TEXTS[PROOFS / "lemmas.md"])]
    lemmas, left = {}, [body, *shared]
    while left:
        for name in re.findall(r"\]\(lemmas\.md#([\w-]+)\)", left.pop()):
            if name not in lemmas:
                lemmas[name] = LEMMAS[name]
                left.append(lemmas[name])
    return "\n".join(part.strip() for part in (WORDS[heading], body, *shared, *(lemmas[k] for k in sorted(lemmas))))


def fingerprint(heading, body):
    """What marks a claim, its section and what that rests on as read."""
    return hashlib.sha256(what_is_read(heading, body).encode()).hexdigest()[:16]


def refereed():
    """The claims whose proofs were re-derived by somebody who did not write them, with what was read."""
    with REFEREED.open(newline="", encoding="utf-8") as file:
        return {row["claim"]: row["read"] for row in csv.DictReader(file)}


every_file = pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
every_section = pytest.mark.parametrize(("path", "heading", "body"), PROVED)


@cache
def functions_of(file):
    """The functions that a file defines at its top level."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}


def unformatted(text):
    """The text without formulas and code."""
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "", text, flags=re.DOTALL)


def formulas_of(text):
    """Yield the formulas of a text, with whether they stand in a line of their own; one in a line ends in that line."""
    for formula in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL):
        yield formula, True
    for line in re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).splitlines():
        for formula in re.findall(r"\$([^$]*)\$", line):
            yield formula, False


def test_there_are_claims_and_sections_of_some():
    assert len(CLAIMS) > 500
    assert len(MEASURED) > 30
    assert len(LEMMAS) > 10


def test_no_section_stands_twice():
    headings = [heading for text in TEXTS.values() for heading, _ in sections(text)]
    assert sorted(set(headings)) == sorted(headings)


def test_every_claim_has_a_section_or_is_listed_as_measured_only():
    """Claims that are made in a loop are measured; all others have a section."""
    assert sorted(section.values[1] for section in PROVED) == sorted(CLAIMS)
    assert sorted(place.values[1] for place in MEASURED) == sorted(RECORDED - CLAIMS.keys())


@every_section
def test_section_is_in_the_file_of_its_subject(path, heading, body):
    assert path.stem == heading.partition(".")[0]


@pytest.mark.parametrize(("path", "name"), MEASURED)
def test_what_is_measured_only_is_listed_in_the_file_of_its_subject(path, name):
    assert path.stem == name.partition(".")[0]


@every_section
def test_section_has_its_parts_in_order(path, heading, body):
    found = re.findall(r"^\*\*(\w+)\.\*\*", body, re.MULTILINE)
    assert tuple(found) == PARTS


@every_section
def test_what_is_needed_names_a_twin_or_says_why_there_is_none(path, heading, body):
    needed = body.partition("**Needed.**")[2].partition("**Sharp.**")[0]
    assert re.search(r"[Tt]win\s+`[^`]+`|\bNo\s+twin\b[^.:]*: \w", needed)


@every_section
def test_twins_exist_on_the_claim(path, heading, body):
    named = re.findall(r"[Tt]win\s+`([^`]+)`", body)
    assert set(named) == CLAIMS[heading]  # and none of its twins goes without a word


@every_section
def test_other_code_is_a_claim_or_a_file(path, heading, body):
    rest = re.sub(r"[Tt]win\s+`[^`]+`", "", body)
    for code in re.findall(r"`([^`]+)`", rest):
        file, _, function = code.partition("::")
        if "/" in file:
            assert (ROOT / file).is_file(), code
            assert not function or function in functions_of(file), code
        else:
            assert code in CLAIMS, code


@every_section
def test_a_calculation_says_what_does_it(path, heading, body):
    for paragraph in body.split("\n\n"):
        for words in CALCULATED.finditer(paragraph):
            assert re.search(r"`[\w.-]+/[^`]+`", paragraph[words.end() :]), paragraph


@every_file
def test_links_lead_somewhere(path):
    for text, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", re.sub(r"\$[^$]*\$", "", TEXTS[path])):
        name, _, anchor = target.partition("#")
        there = TEXTS.get(PROOFS / name)
        if there is None:
            assert (PROOFS / name).resolve().is_file(), target
        elif anchor:
            assert f"\n({anchor})=\n" in there, target
            assert text == anchor
        else:
            assert f"\n## {text}\n" in there or there.startswith(f"# {text}:"), text


def test_every_lemma_has_its_anchor_and_is_used():
    text = TEXTS[PROOFS / "lemmas.md"]
    for name in LEMMAS:
        assert f"\n({name})=\n## {name}\n" in text
        assert any(f"(lemmas.md#{name})" in other for other in TEXTS.values()), name


@every_file
def test_formulas_are_closed_and_balanced(path):
    text = TEXTS[path]
    assert text.count("$$") % 2 == 0
    for line in re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).splitlines():
        assert line.count("$") % 2 == 0, line  # a formula within a line does not go over its end
    for formula, _ in formulas_of(text):
        bare = formula.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}"), formula
        assert len(re.findall(r"\\left\b", bare)) == len(re.findall(r"\\right\b", bare)), formula
        assert not re.search(r"\\(?:DeclareMathOperator|newcommand|def|mathrm\{\\)", formula), formula
        assert formula.strip(), text


@every_file
def test_every_formula_converts_and_leaves_no_command(path):
    """As the site shows it: a page of it needs no script."""
    pytest.importorskip("math_core", reason="the converter comes with the extra site")
    from theory.site.formulas import formula  # noqa: PLC0415

    for source, display in formulas_of(TEXTS[path]):
        assert "<math" in formula(" ".join(source.split()), display=display)  # it refuses what is left over


@every_file
def test_lines_are_short_and_no_formula_is_left_bare(path):
    for line in TEXTS[path].splitlines():
        assert len(line) <= 120, line
    assert "\\" not in unformatted(TEXTS[path])


@pytest.mark.parametrize(("heading", "body"), [pytest.param(*part, id=part[0]) for part in RESULTS])
def test_result_has_its_parts_a_figure_and_claims(heading, body):
    parts = re.findall(r"^\*\*(\w+)\.\*\*", body, re.MULTILINE)
    assert [part for part in parts if part != "Formal"] == ["Statement", "Proof", "History", "Figure", "Claims"]
    assert "Formal" not in parts or parts[2:4] == ["Formal", "History"]
    assert len(re.findall(r"!\[[^\]]+\]\(\.\./figures/\w+\.svg\)", body)) == 1
    formal = body.partition("**Formal.**")[2].partition("**History.**")[0]
    theorems = re.findall(r"`([^`]+)`", formal)
    assert theorems or "Formal" not in parts
    assert set(theorems) <= {t.name for source in read_sources(PROOFS / "formal") for t in source.theorems}
    claims = re.findall(r"`([^`]+)`", body.replace(formal, ""))
    assert claims
    assert set(claims) <= set(CLAIMS)


def test_results_name_sources_that_are_known_and_end_with_the_searches():
    known = bibliography(ROOT / "paper_notes.md")
    assert SEARCHES[0] == "Searches"
    named = set(re.findall(r"\b[a-z]+\d{4}\b", unformatted(TEXTS[PROOFS / "results.md"])))
    assert named <= set(known)
    assert len(named) > 15


def test_a_referee_reads_what_a_section_rests_on(monkeypatch):
    """A change of the claim, of its section, of a head, or of a lemma that is linked, at any depth, is seen."""
    bodies = {heading: body for _, heading, body in (section.values for section in PROVED)}
    name, lemma = "loss.bregman", "lemma-frank-wolfe"  # by lemma-threshold
    assert lemma not in bodies[name]
    seen = [fingerprint(name, bodies[name]), fingerprint(name, f"{bodies[name]} More.")]
    monkeypatch.setitem(LEMMAS, "lemma-laplace", "Another.")  # which it does not use
    assert fingerprint(name, bodies[name]) == seen[0]
    monkeypatch.setitem(LEMMAS, lemma, f"{LEMMAS[lemma]} More.")
    seen.append(fingerprint(name, bodies[name]))
    for file in ("loss.md", "lemmas.md"):
        monkeypatch.setitem(TEXTS, PROOFS / file, TEXTS[PROOFS / file].replace("\n\n", "\n\nMore.\n\n", 1))
        seen.append(fingerprint(name, bodies[name]))
    monkeypatch.setitem(WORDS, name, f"{WORDS[name]} More.")
    seen.append(fingerprint(name, bodies[name]))
    assert len(set(seen)) == 6


def test_what_was_refereed_has_not_changed_since():
    """What has changed, claim, section, head or lemma, is to be read again, and to be left out until it was."""
    now = {heading: fingerprint(heading, body) for _, heading, body in (section.values for section in PROVED)}
    listed = refereed()
    assert list(listed) == sorted(listed)
    assert [name for name, read in listed.items() if now.get(name) != read] == []
