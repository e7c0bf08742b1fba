"""What a paper takes of many claims: macros that compile, lists, JSON as its schema says, completion that runs."""

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.specimen import lay
from theory.__main__ import _parser, main
from theory.evidence.interval import Interval
from theory.report.archive import read_all
from theory.report.citation import addressed, bibliography, entries
from theory.report.citing import SCHEMA, as_macros, as_markdown, as_results, macro_name, numbers_of, schema
from theory.report.completion import SHELLS, script
from theory.report.csl import as_csl
from theory.report.digits import common
from theory.report.proofs import read_proofs

ROOT = Path(__file__).parents[2]
RECORDS = read_all(ROOT / "verify" / "evidence")
SOURCES = bibliography(ROOT / "paper_notes.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("repository"))


def said(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_every_claim_has_a_macro_of_its_own():
    names = [macro_name(record.claim.id) for record in RECORDS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[A-Za-z]+", name) for name in names)


def test_macros_print_the_digits_that_cite_prints():
    record = next(record for record in RECORDS if record.claim.id == "lipschitz.sharp-w1")
    told = numbers_of(record)
    assert told["departure"] == r"\ensuremath{2.8\times10^{-15}}"
    assert told["gap"] == r"\ensuremath{0.0082}"
    for record in RECORDS:
        departure = float(numbers_of(record)["departure"][12:-1].replace(r"\times10^{", "e").rstrip("}"))
        lo, hi = record.best.departure.lo, record.best.departure.hi
        assert departure <= lo if record.best.verdict.value == "refuted" else departure >= hi, record.claim.id


def number(text):
    """Return the number that a line of LaTeX or of plain text prints."""
    return float(re.sub(r"\\times10\^\{(-?\d+)\}", r"e\1", text.removeprefix(r"\ensuremath{").removesuffix("}")))


def raw_of(record):
    """Return what the file of a record says at its largest scale, read by itself."""
    whole = json.loads((ROOT / "verify" / "evidence" / f"{record.claim.id}.json").read_text(encoding="utf-8"))
    return whole["scales"]["paper" if "paper" in whole["scales"] else "quick"]


@pytest.mark.parametrize("record", RECORDS[::3], ids=lambda record: record.claim.id)
def test_numbers_are_those_of_the_file_rounded_away_from_the_truth(record):
    raw, told = raw_of(record), numbers_of(record)
    gap = min(min(map(float, twin["refuted"].values())) for twin in raw["twins"])
    assert 0.9 * gap <= number(told["gap"]) <= gap
    if raw["tightness"] is not None:
        assert 0.0 <= number(told["tightness"]) / float(raw["tightness"]) - 1.0 < 1e-6
    for name in ("measured", "claimed"):
        lo, hi = (float(end) for end in raw["worst"][name])
        assert told[name] == rf"\ensuremath{{{common(Interval(lo, hi), tex=True)}}}"
    lo, hi = (float(end) for end in raw["departure"])
    (line,) = as_markdown([record]).splitlines()
    if raw["verdict"] == "refuted":
        assert number(re.search(r"departs by at least (\S+),", line)[1]) <= lo
    elif hi > 0.0:
        assert number(re.search(r"no departure above (\S+),", line)[1]) >= hi
    assert number(re.search(r"version fails by at least (\S+) \[@", line)[1]) <= gap
    assert raw["verdict"] in line or "stated" in line


def test_a_list_says_what_twins_do_not_refute():
    record = next(record for record in RECORDS if record.claim.id == "lipschitz.sharp-w1")
    twins = tuple(replace(twin, refuted={}, departure=Interval(-1.0, 0.0)) for twin in record.best.twins)
    for some, told in ((twins, "but a wrong version is not refuted [@"), ((), "and it has no twin [@")):
        entries = {"paper": replace(record.best, twins=some)}
        assert told in as_markdown([replace(record, entries=entries)])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="compiling needs pdflatex")
def test_macros_compile(tmp_path):
    (tmp_path / "numbers.tex").write_text(as_macros(RECORDS), encoding="utf-8")
    text = r"\documentclass{article}\input{numbers}\begin{document}\LipschitzSharpWOne, $x<\MaxentGibbs[gap]$, "
    text += r"\theorynumber[verdict]{maxent.gibbs}\end{document}"
    (tmp_path / "paper.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout[-2000:]
    wrong = text.replace("[verdict]{maxent.gibbs}", "[verdict]{maxent.gibs}")
    (tmp_path / "paper.tex").write_text(wrong, encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert "no verdict of maxent.gibs" in done.stdout


def test_a_list_in_markdown_names_all_sources():
    text = as_markdown(RECORDS)
    assert text.count("\n") == len(RECORDS)
    keys = set(re.findall(r"@([\w-]+)", " ".join(re.findall(r"\[(@[^]]*)\]", text))))
    assert keys == {key for record in RECORDS for key in record.claim.cites} | {"attention-theory"}


def test_results_are_as_their_schema_says():
    jsonschema = pytest.importorskip("jsonschema")
    proofs = read_proofs(ROOT / "verify" / "evidence", [record.claim.id for record in RECORDS])
    whole = json.loads(as_results(RECORDS, proofs, "0.1.0"))
    used = next(claim for claim in whole["claims"] if claim["id"] == "lipschitz.sharp-w1")
    assert (used["proof"], used["uses"]) == (proofs["lipschitz.sharp-w1"].level, ["lipschitz.joint-witness"])
    jsonschema.Draft7Validator(SCHEMA).validate(whole)
    assert [claim["id"] for claim in whole["claims"]] == [record.claim.id for record in RECORDS]
    assert json.loads(schema()) == SCHEMA
    for claim, record in zip(whole["claims"], RECORDS, strict=True):
        entry, raw = claim["scales"][record.best.scale], raw_of(record)
        assert entry["departure"] == [float(end) for end in raw["departure"]]
        assert entry["gap"] == min(min(map(float, twin["refuted"].values())) for twin in raw["twins"])
        assert [entry[name] for name in ("verdict", "cases", "tightness")] == [
            raw[name] for name in ("verdict", "cases", "tightness")
        ]
    whole["claims"][0]["scales"]["paper"]["verdict"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(whole)


def test_results_without_an_end_are_json_still():
    jsonschema = pytest.importorskip("jsonschema")
    record = next(record for record in RECORDS if record.claim.id == "lipschitz.sharp-w1")
    entry = replace(record.best, departure=Interval(-math.inf, math.inf), tightness=math.inf)
    text = as_results([replace(record, entries={"paper": entry})], {}, "0.1.0")
    whole = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    jsonschema.Draft7Validator(SCHEMA).validate(whole)
    found = whole["claims"][0]["scales"]["paper"]
    assert (found["departure"], found["tightness"]) == ([None, None], None)


def test_all_sources_are_whole():
    """Each has author, title and year; what is on arXiv has its number and address."""
    for key, entry in SOURCES.items():
        fields = set(re.findall(r"^\s*(\w+)\s*=", entry, re.MULTILINE))
        assert {"title", "year"} <= fields, key
        assert fields & {"author", "editor"}, key
        assert ("arXiv:" in entry) <= ({"eprint", "url"} <= fields), key
        assert entry.count("{") == entry.count("}"), key
    cited = {key for record in RECORDS for key in record.claim.cites}
    assert cited <= set(SOURCES)
    assert len(entries(RECORDS, ROOT / "paper_notes.md", whole=True)) == len(SOURCES) + 1


# of which no address was seen beside its title
WITHOUT_ADDRESS = {"coifman2008", "desouza1997", "gray2004", "popoviciu1935", "sidi2004"}


def test_every_source_is_found_by_an_address():
    """Each has a DOI or a URL that was seen beside its title, or is of arXiv; those for which none was are named."""
    addresses = {
        key: dict(re.findall(r"^\s*(doi|url|eprint)\s*=\s*\{([^}]*)\}", e, re.M)) for key, e in SOURCES.items()
    }
    assert {key for key, fields in addresses.items() if not {"doi", "url"} & set(fields)} == WITHOUT_ADDRESS
    for key, fields in addresses.items():
        assert ("eprint" in fields) <= ("doi" in fields), key
        assert re.fullmatch(r"10\.\d{4,}/\S+", fields.get("doi", "10.1000/x")), key
        assert fields.get("url", "https://").startswith(("https://", "http://")), key


@pytest.mark.parametrize(
    ("entry", "fields"),
    [
        ("@book{a,\n  title = {b},\n  year = {2000},\n}", ()),
        ("@misc{a,\n  note = {arXiv:math/0309001}\n}", ("eprint = {math/0309001}", "abs/math/0309001}")),
        ("@article{a,\n  doi = {10.1/2},\n}", ("url = {https://doi.org/10.1/2}",)),
        ("@misc{a,\n  eprint = {2001.00001}\n}", ("abs/2001.00001}", "doi = {10.48550/arXiv.2001.00001}")),
        ("@misc{a,\n  eprint = {2001.00001},\n  doi = {10.1/2},\n}", ("url = {https://doi.org/10.1/2}",)),
        ("@misc{a,\n  note = {arXiv:2001.00001},\n  eprint = {2001.00001},\n}", ("archiveprefix = {arXiv}",)),
    ],
)
def test_addresses_are_added_once(entry, fields):
    made = addressed(entry)
    assert all(field in made for field in fields)
    assert made == entry if not fields else made.count("eprint = ") <= 1
    assert addressed(made) == made


@pytest.mark.parametrize("format_", ["latex", "markdown", "numbers", "bibtex"])
def test_all_claims_are_cited_at_once(capsys, folder, format_):
    status, out, _ = said(capsys, "cite", "--all", "--evidence", folder, "--format", format_)
    assert status == 0
    assert ("other1999" in out) == (format_ == "bibtex")  # the source of a method
    assert "higham2002" in out or format_ == "numbers"


def test_csl_has_people_and_year(capsys, folder):
    pytest.importorskip("pybtex")
    (book, suite) = json.loads(said(capsys, "cite", "sums.two", "--evidence", folder, "--format", "csl")[1])
    assert book["author"] == [{"family": "Higham", "given": "Nicholas J."}]
    assert book["title"] == "Accuracy and Stability of Numerical Algorithms"
    (paper,) = json.loads(
        as_csl(["@article{a, author={B, C}, title={D}, volume={1}, number={2}, pages={3--4}, year={2020}}"])
    )
    assert [paper[name] for name in ("volume", "issue", "page")] == ["1", "2", "3-4"]
    assert paper["issued"] == {"date-parts": [[2020]]}
    assert suite["author"] == [{"literal": "The attention-theory developers"}]


def test_csl_of_all_sources_has_no_tex():
    pytest.importorskip("pybtex")
    items = json.loads(as_csl(SOURCES.values()))
    assert [item["id"] for item in items] == list(SOURCES)
    for item in items:
        texts = [text for text in item.values() if isinstance(text, str)]
        people = [name for person in item["author"] for name in person.values()]
        assert not [text for text in (*texts, *people) if re.search(r"[\\\\${}]", text)], item["id"]


def test_what_is_cited_must_be_said(capsys, folder):
    for arguments in ([], ["--all", "sums.two"]):
        status, _, err = said(capsys, "cite", *arguments, "--evidence", folder)
        assert status == 2
        assert "expected ids of claims or --all" in err


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_script_that_the_shell_reads(tmp_path, shell):
    text = script(_parser(), shell, ["sums.two"])
    assert "sums.two" in text
    assert "completion" in text
    if (found := shutil.which(shell)) is not None:
        (tmp_path / "script").write_text(text, encoding="utf-8")
        done = subprocess.run([found, "-n", str(tmp_path / "script")], capture_output=True, timeout=30, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("theory ci", ["cite"]),
        ("theory cite sums.t", ["sums.two"]),
        ("theory list --kind pr", ["proved"]),
        ("theory list --proof f", ["formal\\ in\\ part", "formal"]),  # as it has to be typed
        ("theory cite --format c", ["csl"]),
        ("theory list zzz", []),
    ],
)
def test_bash_completes(tmp_path, words, found):
    (tmp_path / "script").write_text(script(_parser(), "bash", ["sums.two", "sums.half"]), encoding="utf-8")
    at = len(words.split()) - 1
    program = (
        f'source {tmp_path}/script; COMP_WORDS=({words}); COMP_CWORD={at}; _theory; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603, S607
    assert [*filter(None, done.stdout.split("\n"))] == found


def test_a_shell_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="shell: expected one of bash, zsh, fish, got 'tcsh'"):
        script(_parser(), "tcsh", [])
