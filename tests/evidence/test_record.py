"""A record is strict JSON, equal on every run, and notices a number, a verdict or a statement that moved."""

import errno
import json
import math
import multiprocessing
import os
from dataclasses import replace

import numpy as np
import pytest

from tests.specimen import edited
from theory.evidence import (
    ROOT,
    Claim,
    Interval,
    Kind,
    Run,
    Table,
    Verdict,
    at_least,
    at_most,
    bug,
    constant,
    decide,
    equals,
    found,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.claim import departure_of
from theory.evidence.record import RecordError, compare, entry_of, path_of, read, recorded as has_record, write

CLAIM = Claim("demo.claim", "a claim for demonstration", "$x = 1$", ("one", "two"), ("MA.L6",), ("key2020",))


TWINS = (constant("two", "the value is two", value=2.0), bug("minus", "the sign", sign=-1.0))


def verification(claim=CLAIM, shift=0.0, width=1e-15, case=None, kind=Kind.NUMERIC, twins=TWINS, count=1, studies=()):
    @verifies(claim, *twins)
    def check(run, *, value=1.0, sign=1.0):
        for study in studies:
            run.study(study)
        for rng in run.streams(count):
            yield equals(Interval.within(sign * (1.0 + shift), width, kind), value, u=rng.random(), **(case or {}))

    return check


def study(*, scale, root):
    return Table(Kind.CERTIFIED, {"x": "1"}, {"x": [1.0]})


def evidence(scale="quick", root=ROOT, **options):
    made = verification(**options)
    return decide(made, Run(made.claim.id, scale, root))


def strict(text):
    """Read JSON that has neither NaN nor infinities."""

    def refuse(token):
        raise AssertionError(token)

    return json.loads(text, parse_constant=refuse)


def recorded(folder, claim=CLAIM):
    return strict(path_of(folder, claim).read_text(encoding="utf-8"))


def test_record_says_everything(tmp_path):
    folder = tmp_path / "deep" / "evidence"
    write(folder, evidence(), "verify/test_demo.py")
    assert [path.name for path in folder.iterdir()] == ["demo.claim.json"]
    record = recorded(folder)
    assert record["id"] == "demo.claim"
    assert record["words"] == "a claim for demonstration"
    assert record["assumptions"] == ["one", "two"]
    assert (record["spec"], record["cites"], record["source_status"]) == (["MA.L6"], ["key2020"], ["derived"])
    assert (record["verdict"], record["test"]) == ("supported", "verify/test_demo.py")
    entry = record["scales"]["quick"]
    assert (entry["verdict"], entry["kind"], entry["cases"], entry["root"]) == ("supported", "numeric", 1, ROOT)
    assert [twin["id"] for twin in entry["twins"]] == ["two", "minus"]
    assert entry["worst"]["number"] == 0
    assert entry["worst"]["relation"] == "equals"
    assert 0.0 <= entry["worst"]["case"]["u"] < 1.0
    found = evidence()
    assert entry["departure"] == [found.departure.lo, found.departure.hi]  # floats round-trip
    assert entry["worst"]["measured"] == [found.finding.measured.lo, found.finding.measured.hi]


def test_two_runs_write_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        for scale in ("quick", "paper") if name == "a" else ("paper", "quick"):
            write(tmp_path / name, evidence(scale), "specimen_t.py")
    assert path_of(tmp_path / "a", CLAIM).read_bytes() == path_of(tmp_path / "b", CLAIM).read_bytes()
    assert b"\r" not in path_of(tmp_path / "a", CLAIM).read_bytes()
    text = path_of(tmp_path / "a", CLAIM).read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"


def test_parameters_of_any_kind_are_written_plainly(tmp_path):
    case = {
        "i": np.int64(3), "f": np.float32(0.5), "b": np.bool_(True), "nan": math.nan, "inf": np.float64(np.inf),
        "array": np.arange(3), "none": None, "text": "é\n", "big": 10**30, "pair": (1, 2), "w": Interval(0.0, 1.0),
    }  # fmt: skip
    write(tmp_path, evidence(case=case), "specimen_t.py")
    found = recorded(tmp_path)["scales"]["quick"]["worst"]["case"]
    assert (found["i"], found["f"], found["b"], found["text"], found["big"]) == (3, 0.5, True, "é\n", 10**30)
    assert (found["nan"], found["inf"], found["none"], found["pair"]) == ("nan", "inf", "None", "(1, 2)")


@pytest.mark.parametrize("relation", [at_most, at_least, equals])
def test_what_is_not_known_is_written_as_text(tmp_path, relation):
    @verifies(CLAIM, constant("two", "the value is two", value=1e300), bug("minus", "the sign", sign=-1.0))
    def check(run, *, value=1.0, sign=1.0):
        yield relation(sign * Interval.unknown(), value, scale=1.0)
        yield relation(sign * Interval(5e-324, math.inf), value, scale=1.0)

    write(tmp_path, decide(check, Run(CLAIM.id)), "specimen_t.py")
    entry = recorded(tmp_path)["scales"]["quick"]
    assert "inf" in entry["departure"]
    assert [float(end) for end in entry["departure"]][1] == math.inf


@pytest.mark.parametrize("text", ['{"scales": 5}', "[" * 100_000])
def test_what_is_no_record_is_told_as_one_that_contradicts(tmp_path, text):
    path_of(tmp_path, CLAIM).write_text(text)
    assert has_record(tmp_path, evidence())
    assert compare(tmp_path, evidence())


def test_statistical_evidence_names_its_level():
    assert entry_of(evidence(kind=Kind.STATISTICAL))["alpha"] == 1e-6
    assert entry_of(evidence())["alpha"] is None


def test_scales_are_kept_apart(tmp_path):
    write(tmp_path, evidence("quick"), "specimen_t.py")
    write(tmp_path, evidence("paper", width=1e-12), "specimen_t.py")
    record = recorded(tmp_path)
    assert set(record["scales"]) == {"quick", "paper"}
    entry = {name: value for name, value in record["scales"]["quick"].items() if name != "seal"}
    assert entry == entry_of(evidence("quick"))  # there is no such file that could be followed
    assert compare(tmp_path, evidence("quick")) is None


def test_the_other_scale_is_kept_when_the_test_file_moves(tmp_path):
    write(tmp_path, evidence("paper", width=1e-12), "specimen_t.py")
    write(tmp_path, evidence("quick"), "moved.py")
    record = read(path_of(tmp_path, CLAIM))
    assert (record["test"], set(record["scales"])) == ("moved.py", {"quick", "paper"})


def test_evidence_for_another_statement_is_not_kept(tmp_path):
    write(tmp_path, evidence("paper"), "specimen_t.py")
    other = replace(CLAIM, statement="$x = 2$")
    write(tmp_path, evidence("quick", claim=other), "specimen_t.py")
    assert set(recorded(tmp_path)["scales"]) == {"quick"}


def test_verdict_of_the_whole_is_the_weakest(tmp_path):
    write(tmp_path, evidence("quick", shift=0.1), "specimen_t.py")
    write(tmp_path, evidence("paper"), "specimen_t.py")
    assert recorded(tmp_path)["verdict"] == "refuted"


OPEN = replace(CLAIM, finds=(Verdict.REFUTED,))


def test_another_verdict_than_support_is_part_of_the_statement(tmp_path):
    write(tmp_path, evidence(), "specimen_t.py")
    assert "finds" not in recorded(tmp_path)
    assert compare(tmp_path, evidence(claim=OPEN)) == "the record states another finds"
    write(tmp_path, evidence("paper"), "specimen_t.py")
    write(tmp_path, evidence(claim=OPEN, shift=0.1), "specimen_t.py")
    record = recorded(tmp_path)
    assert (record["finds"], record["verdict"], set(record["scales"])) == (["refuted"], "refuted", {"quick"})
    assert compare(tmp_path, evidence(claim=OPEN, shift=0.1)) is None
    assert compare(tmp_path, evidence(shift=0.1)) == "the record states another finds"
    assert compare(tmp_path, evidence(claim=OPEN)) == "the record's verdict is refuted, this run's is supported"


def test_same_run_agrees_with_its_record(tmp_path):
    assert compare(tmp_path, evidence()) is None  # nothing is recorded yet
    write(tmp_path, evidence(), "specimen_t.py")
    before = path_of(tmp_path, CLAIM).read_bytes()
    assert compare(tmp_path, evidence()) is None
    assert compare(tmp_path, evidence("paper")) is None
    assert compare(tmp_path, evidence(root=2)) is None
    assert path_of(tmp_path, CLAIM).read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shift": 0.1}, "the record's verdict is supported, this run's is refuted"),
        ({"width": 0.1}, "the record's verdict is supported, this run's is inconclusive"),
        ({"kind": Kind.TREND}, "the record's kind is numeric, this run's is trend"),
        ({"claim": replace(CLAIM, statement="$x = 2$")}, "the record states another statement"),
        ({"claim": replace(CLAIM, assumptions=())}, "the record states another assumptions"),
        ({"claim": replace(CLAIM, words="other", cites=())}, "the record states another words, cites"),
        ({"count": 2}, "the record's case count is 1, this run's is 2"),
        ({"studies": (study,)}, "the record's list of tables is none, this run's is tests.evidence.test_record.study"),
    ],
)
def test_what_moved_is_told(tmp_path, options, message):
    write(tmp_path, evidence(), "specimen_t.py")
    assert compare(tmp_path, evidence(**options)) == message


MORE = (*TWINS, hypothesis("wide", "the width", value=3.0))


@pytest.mark.parametrize("root", [ROOT, 2])
@pytest.mark.parametrize(
    "twins",
    [
        MORE,
        TWINS[::-1],
        (TWINS[0], bug("plus", "the sign", sign=-1.0)),
        (TWINS[0], bug("minus", "another sign", sign=-1.0)),
        (TWINS[0], hypothesis("minus", "the sign", sign=-1.0)),
    ],
)
def test_twin_that_came_or_went_or_changed_is_told(tmp_path, twins, root):
    for before, after in ((TWINS, twins), (twins, TWINS)):
        write(tmp_path, evidence(twins=before), "specimen_t.py")
        assert compare(tmp_path, evidence(twins=before, root=root)) is None
        told = compare(tmp_path, evidence(twins=after, root=root))
        assert told.startswith("the record's list of twins is ")
        assert f"two (constant: {TWINS[0].breaks})" in told


def test_fewer_draws_are_told(tmp_path):
    write(tmp_path, evidence(count=3), "specimen_t.py")
    assert compare(tmp_path, evidence(count=2)) == "the record's case count is 3, this run's is 2"
    assert compare(tmp_path, evidence(count=2, root=2)) is None  # fresh draws may make another number of cases


def test_fresh_draws_do_not_replace_a_record(tmp_path):
    write(tmp_path, evidence(), "specimen_t.py")
    before = path_of(tmp_path, CLAIM).read_bytes()
    with pytest.raises(RecordError, match=r"demo\.claim\.json: expected evidence of root 20070, got root 7"):
        write(tmp_path, evidence(root=7), "specimen_t.py")
    assert path_of(tmp_path, CLAIM).read_bytes() == before


def test_full_disk_leaves_the_old_record(tmp_path, monkeypatch):
    write(tmp_path, evidence(), "specimen_t.py")
    before = path_of(tmp_path, CLAIM).read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match=r"demo\.claim\.json: not written: No space left on device$"):
        write(tmp_path, evidence("paper"), "specimen_t.py")
    assert path_of(tmp_path, CLAIM).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["demo.claim.json"]


def scale_written(folder, scale):
    for _ in range(10):
        write(folder, evidence(scale), "specimen_t.py")


def test_two_writers_lose_no_scale(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=scale_written, args=(tmp_path, scale)) for scale in ("quick", "paper")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert set(recorded(tmp_path)["scales"]) == {"quick", "paper"}


def test_what_was_edited_is_not_kept(tmp_path):
    for scale in ("quick", "paper"):
        write(tmp_path, evidence(scale), "specimen_t.py")
    edited(path_of(tmp_path, CLAIM), lambda whole: whole["scales"]["paper"].update(cases=9), sealed=False)
    write(tmp_path, evidence(), "specimen_t.py")
    assert set(recorded(tmp_path)["scales"]) == {"quick"}


def test_half_a_record_is_replaced(tmp_path):
    write(tmp_path, evidence(), "specimen_t.py")
    path = path_of(tmp_path, CLAIM)
    path.write_bytes(path.read_bytes()[:200])
    assert has_record(tmp_path, evidence())
    write(tmp_path, evidence(), "specimen_t.py")
    assert compare(tmp_path, evidence()) is None


def test_record_is_of_a_scale(tmp_path):
    assert not has_record(tmp_path, evidence())
    write(tmp_path, evidence(), "specimen_t.py")
    assert has_record(tmp_path, evidence())
    assert has_record(tmp_path, evidence(root=2))
    assert not has_record(tmp_path, evidence("paper"))


def moved(entry, lo, hi):
    """Make an entry say another departure, and nothing that contradicts it."""
    ends = [lo if math.isfinite(lo) else str(lo), hi]
    own = departure_of("at_most", Interval(lo, hi), Interval.exactly(0.0), Interval.exactly(1.0))
    entry["departure"] = entry["compared"] = [own.lo if math.isfinite(lo) else str(lo), own.hi]
    entry["parts"][""]["departure"] = entry["departure"]
    entry["worst"] |= {"relation": "at_most", "measured": ends, "claimed": [0.0, 0.0], "scale": [1.0, 1.0]}


@pytest.mark.parametrize("ends", [(-2e-3, -1e-3), (-math.inf, -1e-3)])
def test_departure_that_moved_is_told(tmp_path, ends):
    write(tmp_path, evidence(), "specimen_t.py")
    edited(path_of(tmp_path, CLAIM), lambda whole: moved(whole["scales"]["quick"], *ends))
    assert "a number moved" in compare(tmp_path, evidence())
    assert compare(tmp_path, evidence(root=2)) is None  # fresh draws have another worst case


def sorted_check(*, defined=1e-9, came_upon=-1e-7, allowance=0.5, says=0.1):
    @verifies(CLAIM, *TWINS)
    def check(run, *, value=1.0, sign=1.0):
        yield at_most(Interval.within(sign * 1.0 + defined, 1e-12), value, scale=1.0)
        yield equals(Interval.within(sign * 1.0, 1e-12), value)
        yield found(at_most(Interval.within(1.0 + came_upon, 1e-12), 1.0))
        yield outcome(at_most(Interval.within(says, 1e-12), allowance))

    return decide(check, Run(CLAIM.id))


def test_what_was_found_and_what_an_implementation_says_are_not_compared(tmp_path):
    write(tmp_path, sorted_check(defined=-1e-9), "test_x.py")
    assert compare(tmp_path, sorted_check(defined=-1e-9, came_upon=-1e-12, says=0.2)) is None


def test_a_search_may_refute(tmp_path):
    assert sorted_check(defined=-1e-9, came_upon=1e-7).verdict is Verdict.REFUTED


def test_a_moved_allowance_is_noticed(tmp_path):
    write(tmp_path, sorted_check(defined=-1e-9), "test_x.py")
    assert "allowances" in compare(tmp_path, sorted_check(defined=-1e-9, allowance=0.6))


def test_an_allowance_that_is_not_the_largest_is_noticed(tmp_path):
    write(tmp_path, granted(1e-16, 1.0, 0.0), "test_x.py")
    assert compare(tmp_path, granted(1e-16, 1.0, 0.0)) is None
    assert "allowances" in compare(tmp_path, granted(1.001e-16, 1.0, 0.0))


def granted(*allowances):
    @verifies(CLAIM, *TWINS)
    def check(run, *, value=1.0, sign=1.0):
        for allowance in allowances:
            yield outcome(at_most(Interval.exactly(0.0), allowance, scale=1.0))
        yield equals(Interval.within(sign, 1e-15), value)

    return decide(check, Run(CLAIM.id, "quick", ROOT))


def test_a_defined_number_that_moves_in_the_ninth_digit_is_noticed(tmp_path):
    write(tmp_path, bounded(0.5), "test_x.py")
    moved = bounded(0.5 * (1.0 + 1e-9))
    assert moved.verdict is Verdict.SUPPORTED
    assert "a number moved" in compare(tmp_path, moved)


def bounded(value):
    @verifies(CLAIM, *TWINS)
    def check(run, *, value=value, sign=1.0):
        yield at_most(Interval.within(value, 1e-12), 0.75)
        yield at_least(Interval.within(sign, 1e-12), 0.5)

    return decide(check, Run(CLAIM.id))


@pytest.mark.parametrize("mark", [found, outcome])
def test_an_equation_is_neither_found_nor_an_outcome(mark):
    with pytest.raises(ValueError, match="finding: expected"):
        mark(equals(1, 1))
