"""A record that is read was sealed by the suite, and every part of it agrees with every other."""

import json

import pytest

from tests import specimen
from tests.specimen import edited
from theory.evidence import ROOT, Interval, Run, at_most, bug, constant, decide, verifies
from theory.evidence.record import RecordError, claim_of, read, seal, write


@pytest.fixture
def path(tmp_path):
    for scale in ("quick", "paper"):
        write(tmp_path, decide(specimen.two, Run("sums.two", scale)), "verify/test_sums.py")
    return tmp_path / "sums.two.json"


def quick(**changes):
    return lambda whole: whole["scales"]["quick"].update(changes)


def twin(**changes):
    return lambda whole: whole["scales"]["quick"]["twins"][0].update(changes)


def worst(**changes):
    return lambda whole: whole["scales"]["quick"]["worst"].update(changes)


def made(**changes):
    return lambda whole: whole["scales"]["quick"]["provenance"].update(changes)


def lowered(*names):
    """Leave an interval open below, so that it overlaps with whatever a run finds."""

    def change(whole):
        for name in names:
            whole["scales"]["quick"][name][0] = "-inf"

    return change


def departing(ends, **values):
    """Let the claim depart otherwise, and its one part with it."""

    def change(whole):
        whole["scales"]["quick"].update(departure=ends, **values)
        whole["scales"]["quick"]["parts"][""]["departure"] = ends

    return change


def part(**values):
    return lambda whole: whole["scales"]["quick"]["parts"][""].update(values)


def test_what_was_written_is_read(path):
    assert read(path) == json.loads(path.read_text())


SEEN = {
    "departure": (departing([0.5, 0.6]), "says supported, but departures"),
    "departure, smaller": (quick(departure=[0.0, 1e-17], compared=[0.0, 1e-17]), "but its worst case departs by"),
    "departure, larger": (quick(departure=[0.0, 1e-3]), "but its worst case departs by"),
    "departure, too wide": (departing([0.0, 0.6]), "are inconclusive"),
    "departure, its part": (part(departure=[0.0, 1e-17]), "the worst of its parts are others"),
    "part, gap": (part(gap=0.3), "has the part \\(unnamed\\) refuted by 0.3, its twins refute it by"),
    "part, cases": (part(cases=2), "has 3 cases, its parts have 2"),
    "part, none": (quick(parts={}), "are vacuous"),
    "part, empty": (
        lambda w: w["scales"]["quick"]["parts"].update(more=dict(w["scales"]["quick"]["parts"][""], cases=0)),
        "has the part more refuted by|are vacuous|its parts have 3, 0",
    ),
    "parts": (quick(parts=[]), "parts: expected names and values, got list"),
    "refuted": (twin(refuted=[1.0]), "refuted: expected names and values, got list"),
    "refuted, nowhere": (twin(refuted={}), "refuted by 0.333, its twins refute it by 1"),
    "refuted, elsewhere": (
        lambda w: w["scales"]["quick"]["twins"][0]["refuted"].update(more=0.1),
        "refuted in more, which is no part of it",
    ),
    "refuted, undefined": (twin(refuted={"": "nan"}), "has the part \\(unnamed\\) refuted by"),
    "refuted, negative": (twin(refuted={"": -1.0}), "has the part|has the twin three refuted by"),
    "verdict": (quick(verdict="refuted"), "says refuted, but departures"),
    "inconclusive": (quick(verdict="inconclusive"), "are supported"),
    "no twins": (quick(twins=[]), r"has the twins none: expected at least two of different type"),
    "one twin": (lambda w: w["scales"]["quick"]["twins"].pop(), r"has the twins three \(constant\): expected at least"),
    "two of a type": (twin(made_by="bug"), "expected at least two of different type"),
    "two of a name": (twin(id="minus"), "expected at least two of different type"),
    "strange type": (twin(made_by="whim"), "expected at least two of different type"),
    "gap": (twin(departure=[-1.0, -0.5]), "has the twin three caught in 3 of 3 cases"),
    "gap and catches": (twin(departure=[-1.0, -0.5], catches=0), "are vacuous"),
    "catches": (twin(catches=4), "has the twin three caught in 4 of 3 cases"),
    "catches, none": (twin(catches=0), "has the twin three caught in 0 of 3 cases"),
    "cases, a float": (quick(cases=1e9), "counts 1000000000.0, 3, 3"),
    "cases, negative": (quick(cases=-1), "counts -1, 3, 3"),
    "cases, none": (quick(cases=0), "has a worst case among 0"),
    "cases, a flag": (quick(cases=True), "counts True"),
    "nan end": (quick(departure=["nan", 1e-15]), "expected the record of a claim"),
    "nan ends": (quick(compared=["nan", "nan"]), "expected the record of a claim"),
    "nan of a twin": (twin(departure=["nan", "nan"]), "expected the record of a claim"),
    "crossed ends": (quick(departure=[1.0, 0.0]), "expected the record of a claim"),
    "root": (quick(root=7), f"is of root 7, every record is of {ROOT}"),
    "worst, beyond": (worst(number=3), "has the worst case 3 among 3"),
    "worst, before": (worst(number=-1), "has the worst case -1 among 3"),
    "worst, none": (quick(worst=None), "has no worst case among 3"),
    "worst, relation": (worst(relation="near"), "has the relation 'near'"),
    "worst, other relation": (worst(relation="at_most"), None),  # of this sum it departs as far
    "worst, measured": (worst(measured=[2.5, 2.5]), "but its worst case departs by"),
    "worst, scale": (worst(scale=[200.0, 200.0]), "but its worst case departs by"),
    "compared, beyond": (quick(compared=[0.0, 1.0]), "compares departures"),
    "worst, sort": (worst(sort="odd"), "has the sort 'odd'"),
    "worst, outcome": (worst(sort="outcome"), "has an outcome as its worst case and no allowance"),
    "departure, open below": (lowered("departure", "compared"), "but its worst case departs by"),
    "compared, open below": (lowered("compared"), r"compares departures \[-inf, .* but its worst case, a defined one"),
    "compared, none": (quick(compared=None), "compares departures None, but its worst case, a defined one"),
    "tightness, nan": (quick(tightness="nan"), "has tightness 'nan': expected a positive number or none"),
    "tightness, negative": (quick(tightness=-5.0), "has tightness -5.0: expected"),
    "tightness, flag": (quick(tightness=True), "has tightness True: expected"),
    "strange key": (lambda whole: whole.update(comment="seen"), "no other keys than those of a record, got comment"),
    "strange key of an entry": (quick(remark="seen"), "scale quick has remark, which no entry has"),
    "provenance, commit": (made(commit=5), "expected text, got 5"),
    "provenance, list": (quick(provenance=["suite"]), "provenance: expected names and values, got list"),
    "provenance, text": (quick(provenance="suite"), "provenance: expected names and values, got str"),
    "worst, case": (worst(case=[1, 2]), "case: expected names and values, got list"),
    "case of a twin": (twin(case="n"), "case: expected names and values, got str"),
    "tables": (quick(tables=[]), "tables: expected names and values, got list"),
    "digest of a table": (quick(tables={"x": 3}), "expected text, got 3"),
    "end beyond all floats": (quick(departure=[0, 10**400]), "expected the record of a claim"),
    "kind": (quick(kind="statistical"), "has level None, a check of kind statistical has 1e-06"),
    "level": (quick(alpha=0.05), "has level 0.05"),
    "whole verdict": (lambda whole: whole.update(verdict="refuted"), "expected verdict supported"),
    "another claim": (lambda whole: whole.update(id="sums.too"), r"expected sums\.two at scales quick, paper, got"),
    "no processor": (lambda w: w["scales"]["quick"]["provenance"].pop("processor"), "what made it: processor"),
}


@pytest.mark.parametrize("edit", [name for name, (_, message) in SEEN.items() if message])
def test_what_contradicts_itself_is_refused_however_it_is_sealed(path, edit):
    change, message = SEEN[edit]
    edited(path, change)
    with pytest.raises(RecordError, match=message) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_what_was_written_before_parts_were_told_is_to_be_recorded_again(path):
    edited(path, lambda whole: whole["scales"]["quick"].pop("parts"))
    with pytest.raises(RecordError, match="tells no parts: no present version of the suite wrote it, record it again"):
        read(path)


@pytest.mark.parametrize("edit", [name for name, (_, message) in SEEN.items() if "nan" not in name])
def test_every_edit_by_hand_breaks_the_seal(path, edit):
    edited(path, SEEN[edit][0], sealed=False)
    with pytest.raises(RecordError, match=r"was edited by hand|expected"):
        read(path)


@pytest.mark.parametrize(
    "change",
    [
        quick(tightness=0.5),
        quick(tables={"x": "0" * 64}),
        worst(case={"n": 7}),
        lambda whole: whole["scales"]["paper"]["provenance"].update(numpy="1.0"),
        lambda whole: whole.update(statement="$1 + 1 = 3$"),
        lambda whole: whole.update(test="verify/test_gone.py"),
        lambda whole: whole["scales"].update(paper=whole["scales"]["quick"]),
    ],
)
def test_even_what_no_rule_can_see_is_sealed(path, change):
    edited(path, change, sealed=False)
    with pytest.raises(RecordError, match=r"sums\.two\.json: scale (quick|paper) was edited by hand"):
        read(path)


def test_an_entry_without_a_seal_is_none_of_this_suite(path):
    edited(path, lambda whole: whole["scales"]["quick"].pop("seal"), sealed=False)
    with pytest.raises(RecordError, match="scale quick has no seal"):
        read(path)


def test_seal_does_not_depend_on_layout(path):
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(whole.items()))))
    assert read(path) == whole
    entry = whole["scales"]["quick"]
    claim = claim_of(whole)
    test = whole["test"]
    assert entry["seal"] == seal(claim, test, "quick", entry) != seal(claim, test, "paper", entry)


def test_twins_of_what_is_refuted_as_stated_must_differ(tmp_path):
    write(tmp_path, decide(specimen.large, Run("means.large")), "verify/test_means.py")
    path = tmp_path / "means.large.json"
    read(path)
    edited(path, lambda w: w["scales"]["quick"]["twins"][0].update(departure=w["scales"]["quick"]["departure"]))
    with pytest.raises(RecordError, match="expected them to differ"):
        read(path)


@pytest.mark.parametrize("ratio", [None, 0.5, 50.0])
def test_the_ratio_of_the_only_case_is_the_recorded_one(tmp_path, ratio):
    write(tmp_path, decide(specimen.half, Run("sums.half")), "verify/test_sums.py")
    path = tmp_path / "sums.half.json"
    assert read(path)["scales"]["quick"]["tightness"] == pytest.approx(2 / 3, rel=1e-12, abs=0.0)
    edited(path, quick(tightness=ratio))
    with pytest.raises(RecordError, match=f"has tightness {ratio}, but its worst case reaches 0.6666"):
        read(path)


@pytest.mark.parametrize("ratio", [None, 0.5])
def test_no_ratio_is_below_that_of_the_worst_case(tmp_path, ratio):
    @verifies(specimen.half.claim, constant("third", "a third", bound=1 / 3), bug("double", "twice", times=2))
    def ordered(run, *, bound=0.75, times=1):
        for size in (0.1, 0.2, 0.5625):
            yield at_most(times * Interval.exactly(size), bound)

    write(tmp_path, decide(ordered, Run("sums.half")), "verify/test_sums.py")
    path = tmp_path / "sums.half.json"
    assert read(path)["scales"]["quick"]["tightness"] == pytest.approx(0.75, rel=1e-12, abs=0.0)
    edited(path, quick(tightness=ratio))
    with pytest.raises(RecordError, match=f"has tightness {ratio}, but its worst case reaches 0.75"):
        read(path)


def test_a_ratio_that_tells_nothing_is_not_recorded(tmp_path):
    @verifies(specimen.half.claim, constant("less", "below -2", bound=-2.0), bug("sign", "its sign", sign=-1.0))
    def below(run, *, bound=0.5, sign=1.0):
        yield at_most(sign * Interval.exactly(-1.0), bound)

    write(tmp_path, decide(below, Run("sums.half")), "verify/test_sums.py")
    assert read(tmp_path / "sums.half.json")["scales"]["quick"]["tightness"] is None


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"scales": 5}', "[]", "3", '{"id": NaN}', '{"id": 1}', "\udcff"]
)
def test_what_is_no_record_is_named(tmp_path, text):
    path = tmp_path / "sums.two.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: expected ")
    assert "\n" not in str(refused.value)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"gone\.json: expected the record of a claim: .*No such file"):
        read(tmp_path / "gone.json")
