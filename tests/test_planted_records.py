"""Plant a change in what is committed, and see it noticed in one readable line that names the file or the claim.

A small repository with a claim of its own is recorded and changed; a run of pytest on it, or ``python -m theory``, must
say so. Changes of figures and their tables are planted in ``tests/figures``.
"""

import json
import os

import pytest

from tests import specimen
from tests.specimen import edited
from theory.__main__ import main
from theory.engine import dense  # noqa: F401  loaded once, as are those below, not anew in every run
from theory.evidence import Interval, at_least, board, enclosure, plugin, record  # noqa: F401

pytest_plugins = ["pytester"]

CHECK = """
from theory.evidence import Claim, Interval, at_least, at_most, bug, constant, equals, hypothesis, verifies

import shared


@verifies(
    Claim("demo.{name}", "half of three is at least one", r"$\\\\frac32 \\\\ge 1$"),
    constant("less", "the bound is two", bound=2.0),
    bug("minus", "the sign is wrong", sign=-1.0),
    hypothesis("third", "it is a third of three", part=3.0),
)
def test_{name}(run, *, bound=1.25, sign=1.0, part=2.0):
    for k in range({cases}):
        yield at_least(Interval.within(sign * shared.WHOLE / part, 1e-13), bound, k=k)
"""
SHARED = "WHOLE = {whole!r}  # the whole\n"


@pytest.fixture
def repository(pytester):
    """Lay a repository of two claims, recorded; return the function that runs pytest on it."""

    def lay(name="one", whole=3.0, cases=3):
        (pytester.path / "verify" / f"test_{name}.py").write_text(CHECK.format(name=name, cases=cases))
        (pytester.path / "verify" / "shared.py").write_text(SHARED.format(whole=whole))

    def run(*options):
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", *options)

    (pytester.path / "verify").mkdir()
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    (pytester.path / "paper_notes.md").write_text(specimen.NOTES)
    lay("one")
    lay("two")
    assert run("--record").ret == 0
    assert main(["report", "--evidence", str(pytester.path / "verify" / "evidence")]) == 0
    run.lay = lay
    run.folder = pytester.path / "verify" / "evidence"
    return run


@pytest.fixture
def one(repository):
    return repository.folder / "demo.one.json"


def noticed(result, *words, claim="demo.one"):
    """Return the one line of a failed run that says what was noticed, and see that nothing was raised through it."""
    assert result.ret == 1
    lines = [line for line in result.outlines if line.startswith((f"{claim} is ", words[0]))]
    assert len(lines) == 1, result.outlines
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    return lines[0]


def told(capsys, *words, verb="list", folder):
    """See that ``python -m theory`` says it too, in one line and with a status."""
    capsys.readouterr()
    status = main([verb, *(["--check"] if verb == "report" else []), "--evidence", str(folder)])
    shown = capsys.readouterr()
    text = shown.err if status == 2 else shown.out
    assert status == (1 if verb == "report" and not shown.err else 2)
    lines = [line for line in text.splitlines() if all(word in line for word in words)]
    assert len(lines) == 1, text


def quick(whole):
    return whole["scales"]["quick"]


def test_nothing_planted_nothing_noticed(repository, capsys):
    assert repository().ret == 0
    assert main(["report", "--check", "--evidence", str(repository.folder)]) == 0


def test_a_defined_number_moved_in_the_ninth_digit(repository):
    repository.lay(whole=3.0 * (1.0 + 1e-9))
    result = repository()
    assert result.ret == 1
    for claim in ("demo.one", "demo.two"):
        said = [line for line in result.outlines if line.startswith(f"{claim} is ")]
        assert len(said) == 1
        assert f"contradicts {claim}.json: the record's worst departure is" in said[0]
        assert "a number moved" in said[0]


def test_a_verdict(repository, one, capsys):
    edited(one, lambda whole: (quick(whole).update(verdict="refuted"), whole.update(verdict="refuted")))
    noticed(repository(), "demo.one is ", "demo.one.json: scale quick says refuted, but departures")
    told(capsys, "demo.one.json: scale quick says refuted", folder=repository.folder)


def test_how_clearly_a_part_is_refuted(repository, one, capsys):
    edited(one, lambda whole: quick(whole)["parts"][""].update(gap=0.9))
    noticed(repository(), "demo.one is ", "has the part (unnamed) refuted by 0.9, its twins refute it by")
    told(capsys, "demo.one.json", "has the part (unnamed) refuted by 0.9", folder=repository.folder)


def test_what_a_part_departs_by(repository, one):
    edited(one, lambda whole: quick(whole)["parts"][""].update(departure=[-2.0, -1.0]))
    noticed(repository(), "demo.one is ", "the worst of its parts are others")


def test_by_what_right_a_part_stands(repository, one):
    edited(one, lambda whole: quick(whole)["parts"].update(more=dict(quick(whole)["parts"][""], cases=1)))
    edited(one, lambda whole: quick(whole)["parts"][""].update(cases=2))
    edited(one, lambda whole: [twin["refuted"].update(more=twin["refuted"][""]) for twin in quick(whole)["twins"]])
    noticed(repository(), "demo.one is ", "contradicts demo.one.json: the record's list of parts is (unnamed) (")


def test_a_part_that_is_left_out(repository, one):
    edited(one, lambda whole: quick(whole).update(parts={}))
    noticed(repository(), "demo.one is ", "says supported, but departures", "are vacuous")


def test_what_a_twin_refutes(repository, one):
    edited(one, lambda whole: quick(whole)["twins"][0]["refuted"].update({"": 7.0}))
    noticed(repository(), "demo.one is ", "has the twin less refuted by 7, but it fails by")


def test_the_fate_of_a_twin(repository, one, capsys):
    edited(one, lambda whole: quick(whole)["twins"][1].update(departure=[-0.5, -0.4], catches=0, refuted={}))
    noticed(repository(), "demo.one is ", "demo.one.json: scale quick says supported, but", "are vacuous")
    told(capsys, "demo.one.json", "are vacuous", folder=repository.folder)


def test_a_number_edited_by_hand(repository, one, capsys):
    one.write_text(one.read_text().replace('"tightness": 0.8', '"tightness": 0.7'))
    noticed(repository(), "demo.one is ", "demo.one.json: scale quick was edited by hand")
    for verb in ("list", "report"):
        told(capsys, "demo.one.json: scale quick was edited by hand", verb=verb, folder=repository.folder)


def test_a_number_edited_and_sealed_again(repository, one):
    def narrower(whole):
        entry = quick(whole)
        entry["worst"]["measured"] = [1.4, 1.4]
        own = at_least(Interval.exactly(1.4), 1.25).departure
        entry["departure"] = entry["compared"] = entry["parts"][""]["departure"] = [own.lo, own.hi]
        entry["tightness"] = (Interval.exactly(1.25) / Interval.exactly(1.4)).hi

    edited(one, narrower)
    noticed(repository(), "demo.one is ", "the record's worst departure is", "a number moved")


@pytest.mark.parametrize("names", [["compared"], ["compared", "departure"]])
def test_an_end_opened_and_sealed_again(repository, one, names):
    edited(one, lambda whole: [quick(whole)[name].__setitem__(0, "-inf") for name in names])  # and not that of its part
    noticed(repository(), "demo.one is ", "demo.one.json: scale quick", "but its worst case")


def test_a_test_file_that_is_gone(repository, one, capsys):
    edited(one, lambda whole: whole.update(test="verify/test_gone.py"))
    told(capsys, "before a change in its test file verify/test_gone.py", verb="report", folder=repository.folder)


@pytest.mark.parametrize("value", [{"commit": 5}, ["suite"]])
def test_provenance_of_another_type(repository, one, capsys, value):
    edited(one, lambda whole: quick(whole).update(provenance=value))
    noticed(repository(), "demo.one is ", "demo.one.json: expected the record of a claim: provenance")
    told(capsys, "demo.one.json: expected the record of a claim: provenance", folder=repository.folder)


def test_brackets_without_end(repository, one, capsys):
    one.write_text("[" * 100_000)
    noticed(repository(), "demo.one is ", "demo.one.json: expected the record of a claim: ")
    told(capsys, "demo.one.json: expected the record of a claim: ", folder=repository.folder)


def test_one_record_in_the_place_of_another(repository, one, capsys):
    one.write_bytes((repository.folder / "demo.two.json").read_bytes())
    noticed(repository(), "demo.one is ", "contradicts demo.one.json: the record states another id")
    told(capsys, "demo.one.json: expected demo.one at scales quick, paper, got demo.two", folder=repository.folder)


def test_code_that_changed_since(repository, one, capsys):
    assert repository("--record").ret == 0
    shared = repository.folder.parent / "shared.py"
    shared.write_text("# a comment\n" + shared.read_text())
    assert main(["report", "--check", "--evidence", str(repository.folder)]) == 0
    shared.write_text(SHARED.format(whole=3.0) + "OTHER = 1\n")
    assert repository().ret == 0  # the number is what it was, the code is not
    told(
        capsys, "2 claims (demo.one, ...) were recorded at scale quick before", verb="report", folder=repository.folder
    )


def test_a_twin_dropped_from_the_record(repository, one):
    def by(entry):
        return min(twin["refuted"][""] for twin in entry["twins"])

    edited(one, lambda whole: (quick(whole)["twins"].pop(), quick(whole)["parts"][""].update(gap=by(quick(whole)))))
    noticed(repository(), "demo.one is ", "contradicts demo.one.json: the record's list of twins is less")


def test_both_types_of_twins_dropped_from_the_record(repository, one, capsys):
    edited(one, lambda whole: quick(whole).update(twins=quick(whole)["twins"][:1]))
    noticed(repository(), "demo.one is ", "demo.one.json: scale quick has the twins less (constant): expected at least")
    told(capsys, "demo.one.json: scale quick has the twins less", folder=repository.folder)


@pytest.mark.parametrize("name", ["departure", "compared"])
def test_an_end_that_is_no_number(repository, one, capsys, name):
    edited(one, lambda whole: quick(whole).update({name: ["nan", "nan"]}))
    noticed(repository(), "demo.one is ", "demo.one.json: expected the record of a claim: ")
    told(capsys, "demo.one.json: expected the record of a claim: ", folder=repository.folder)


def test_another_root(repository, one, capsys):
    edited(one, lambda whole: quick(whole).update(root=7))
    for options in ((), ("--root", "7")):
        noticed(
            repository(*options), "demo.one is ", "demo.one.json: scale quick is of root 7, every record is of 20070"
        )
    told(capsys, "demo.one.json: scale quick is of root 7", folder=repository.folder)


def test_recording_on_another_root(repository, one):
    before = one.read_bytes()
    result = repository("--record", "--root", "7")
    assert result.ret != 0
    assert "--record: expected the root of every record, 20070, got 7" in result.stderr.str()
    assert one.read_bytes() == before


def test_a_count_of_cases(repository, one):
    edited(one, lambda whole: [told.update(cases=1000000000) for told in (quick(whole), quick(whole)["parts"][""])])
    noticed(repository(), "demo.one is ", "the record's case count is 1000000000, this run's is 3")


def test_a_case_that_went(repository):
    repository.lay(cases=2)
    noticed(repository(), "demo.one is ", "the record's case count is 3, this run's is 2")


def test_half_a_record(repository, one, capsys):
    one.write_bytes(one.read_bytes()[: len(one.read_bytes()) // 2])
    noticed(repository(), "demo.one is ", "demo.one.json: expected JSON, got")
    told(capsys, "demo.one.json: expected JSON, got", folder=repository.folder)
    assert repository("--record").ret == 0
    assert repository().ret == 0


def test_an_evidence_folder_that_may_not_be_written(repository, one, monkeypatch):
    before = one.read_bytes()
    real = os.open

    def refused(path, flags, *rest, **named):
        if str(path).startswith(str(repository.folder)) and flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refused)  # as for anybody but root in a folder of mode 555
    result = repository("--record")
    noticed(result, "demo.one is ", "demo.one.json: not written: Permission denied")
    assert one.read_bytes() == before


def test_a_file_in_the_place_of_the_evidence_folder(repository, one):
    for path in repository.folder.iterdir():
        path.unlink()
    repository.folder.rmdir()
    repository.folder.write_text("")
    noticed(repository("--record"), "demo.one is ", "demo.one.json: not written: ")


def test_a_record_that_is_gone(repository, one, capsys):
    one.unlink()
    assert "no record, so nothing was compared (--record writes it): demo.one" in repository().outlines
    told(capsys, "the theorem index is stale", verb="report", folder=repository.folder)


def test_a_claim_in_other_words(repository, one, capsys):
    edited(one, lambda whole: whole.update(words="half of three is at least two"))
    noticed(repository(), "demo.one is ", "contradicts demo.one.json: the record states another words")
    told(capsys, "the theorem index is stale", verb="report", folder=repository.folder)


def test_every_record_is_whole_json(repository):
    for path in repository.folder.iterdir():
        assert json.loads(path.read_text())["scales"]["quick"]["seal"]
