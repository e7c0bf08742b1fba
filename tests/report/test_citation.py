"""What a paper prints: BibTeX that resolves, LaTeX that compiles, one version everywhere."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.mathtext import MathTextParser

import theory
from tests.specimen import NOTES, lay
from theory.__main__ import main
from theory.evidence import Interval, Kind, Verdict
from theory.evidence.claim import SOURCE_STATUS
from theory.evidence.judge import Part
from theory.report import citation
from theory.report.archive import ArchiveError, find
from theory.report.citation import bibliography, bibtex, escape_latex, latex, suite_bibtex
from theory.report.index import MARKS
from theory.report.notes import read_notes

ROOT = Path(__file__).parents[2]
SPECIAL = re.compile(r"(?<!\\)[&%#_]|[~^<>|]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("repository"))


def compiles(line):
    """Tell whether braces balance, mathematics parses, and no special character stands bare in the text."""
    plain = line.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
    text = ""
    parser = MathTextParser("path")
    for k, piece in enumerate(re.split(r"(?<!\\)\$", line)):
        if k % 2:
            parser.parse(f"${piece}$")
        else:
            text += piece
    return not SPECIAL.search(text)


def change(record, scale, **fields):
    """Return ``record`` with other contents at one scale, and at that scale only."""
    return replace(record, entries={scale: replace(record.entries[scale], **fields)})


def test_version_has_one_value():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", cff, re.MULTILINE) == [theory.__version__] == [project["version"]]
    assert f"version {theory.__version__}" in suite_bibtex()
    assert f"- name: {project['authors'][0]['name']}\n" in cff
    assert f"license: {project['license']}\n" in cff
    assert project["authors"][0]["name"] in suite_bibtex()


def test_the_entry_of_the_suite_has_year_version_and_the_address_of_its_citation(monkeypatch):
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^  year    = \{20\d\d\},$", suite_bibtex(), re.MULTILINE)
    assert f"  version = {{{theory.__version__}}},\n" in suite_bibtex()
    assert ("url" in suite_bibtex()) == bool(re.search(r"^(url|repository-code):", cff, re.MULTILINE))
    told = 'date-released: "2031-02-03"\nrepository-code: https://example.org/code\n'
    monkeypatch.setattr(citation, "_citation_file", lambda: told)
    entry = suite_bibtex()
    assert "  year    = {2031},\n  url     = {https://example.org/code},\n" in entry
    assert len(re.findall(r"^  \w+ *= \{", entry, re.MULTILINE)) == entry.count("\n") - 1  # a field on a line
    assert citation.dated(f"{told}url: https://example.org\n", "")["url"] == "https://example.org"
    assert citation.dated("", "") == {}


def test_every_source_is_well_formed():
    notes = ROOT / "paper_notes.md"
    sources = bibliography(notes)
    blocks = re.findall(r"^@", read_notes(notes), re.MULTILINE)
    assert len(sources) == len(blocks) >= 15
    for key, entry in sources.items():
        assert re.fullmatch(r"[a-z]+(18|19|20)\d\d", key)
        assert entry.isascii()
        for field in ("author", "title", "year"):
            assert len(re.findall(rf"^  {field} *= \{{.+", entry, re.MULTILINE)) == 1, f"{key}: {field}"
        assert re.search(rf"^  year *= \{{{key[-4:]}\}},$", entry, re.MULTILINE), key
        assert re.match(r"@(article|book|incollection|inproceedings|misc|phdthesis)\{", entry)
        for line in entry.splitlines()[1:-1]:
            assert line.endswith(("},", " and")), f"{key}: {line}"


def test_every_source_status_has_a_mark():
    assert tuple(MARKS) == SOURCE_STATUS
    notes = (ROOT / "paper_notes.md").read_text(encoding="utf-8")
    for mark in MARKS.values():
        assert f"| [{mark}] |" in notes


def test_bibtex_holds_the_sources_and_the_suite(folder):
    text = bibtex(find(folder, "sums.two"), folder.parent.parent / "paper_notes.md")
    assert re.findall(r"@\w+\{([^,]+),", text) == ["higham2002", "attention-theory"]
    assert "{Numerical}" in text
    assert bibtex(find(folder, "sums.half"), folder / "no notes needed").startswith("@misc{attention-theory,")
    assert bibtex(find(folder, "sums.half"), None).startswith("@misc{attention-theory,")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@book{higham2002", "@book{higham1996", "found no BibTeX of higham2002"),
        ("other1999", "higham2002", "expected the BibTeX key higham2002 once"),
        ("{Numerical}", "{Numerical", "higham2002: expected a BibTeX entry with balanced braces"),
    ],
)
def test_bad_sources_are_named(folder, tmp_path, old, new, message):
    notes = tmp_path / "notes.md"
    notes.write_text(NOTES.replace(old, new), encoding="utf-8")
    with pytest.raises(ArchiveError, match=message):
        bibtex(find(folder, "sums.two"), notes)
    with pytest.raises(ArchiveError, match="expected the notes with the sources"):
        bibtex(find(folder, "sums.two"), tmp_path / "none.md")


def test_line_of_an_identity(folder):
    line = latex(find(folder, "sums.two"))
    assert line == (
        r"Claim \texttt{sums.two}, after \cite{higham2002}, is \emph{supported} by \cite{attention-theory} "
        r"(kind numeric, 30 cases, scale paper): no departure above $1.6\times10^{-14}$, "
        r"while the nearest twin (the sum is 3, 50\% more) fails by at least $0.33$."
    )
    assert compiles(line)


def test_line_of_a_bound_with_room(folder):
    line = latex(find(folder, "sums.half"))
    assert "(kind certified, 1 case, scale quick): every case keeps a margin of at least $0.33$, while" in line
    assert compiles(line)


def test_line_of_a_sample_states_the_level(folder):
    line = latex(find(folder, "means.normal"))
    assert line.endswith(r" (each at level $1-10^{-6}$).")
    assert compiles(line)


def test_line_of_other_verdicts(folder):
    two = find(folder, "sums.two")
    twins = two.entries["quick"].twins
    unbeaten = replace(twins[0], departure=Interval(-0.1, 0.2), refuted={})
    parts = {"sharp": Part(Interval(0.0, 1e-9), 2, 0.0)}
    loose = change(two, "quick", verdict=Verdict.VACUOUS, parts=parts)
    refuted = change(two, "quick", verdict=Verdict.REFUTED, departure=Interval(0.12345, 0.2))
    vacuous = change(two, "quick", verdict=Verdict.VACUOUS, twins=(*twins, unbeaten))
    alone = change(two, "quick", verdict=Verdict.VACUOUS, twins=(), departure=Interval(0.0, 0.0, Kind.PROVED))
    assert r"\emph{refuted}" in latex(refuted)
    assert "some case departs by at least $0.12$" in latex(refuted)
    assert r"but a twin (the sum is 3, 50\% more) is not refuted" in latex(vacuous)
    assert "but no twin refutes the part sharp." in latex(loose)
    assert "no departure, and it has no twin." in latex(alone)
    assert all(compiles(latex(record)) for record in (refuted, vacuous, loose, alone))


def test_specials_are_escaped():
    everything = "".join(chr(c) for c in range(32, 127))
    assert compiles(escape_latex(everything).replace(r"\textasciitilde{}", "").replace(r"\textasciicircum{}", ""))
    assert escape_latex("a_b") == r"a\_b"


def test_cite_prints_both(folder, capsys):
    assert main(["cite", "sums.two", "--evidence", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("@book{higham2002,")
    assert out.splitlines()[-1] == latex(find(folder, "sums.two"))
    assert main(["cite", "sums.two", "--evidence", str(folder), "--notes", str(folder / "none")]) == 2
