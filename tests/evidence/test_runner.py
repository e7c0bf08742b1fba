"""The claim and its twins run the same code on the same draws under the same conditions; the worst case is kept."""

import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from theory.evidence import (
    ROOT,
    Claim,
    Interval,
    Kind,
    Run,
    Table,
    Verdict,
    Verification,
    at_least,
    at_most,
    bug,
    constant,
    decide,
    equals,
    hypothesis,
    stream,
)
from theory.evidence.enclosure import PRECISION

CLAIM = Claim("demo.claim", "a claim for demonstration", "$x = 1$")
TWINS = (constant("two", "the value is two", value=2.0), bug("minus", "the sign", sign=-1.0))


def decided(check, *twins, run=None, **options):
    """Decide a check with however many twins; that there are two of different type is for ``verifies`` to demand."""
    return decide(Verification(CLAIM, twins, check), run or Run(CLAIM.id), **options)


def constants(*measured, kind=Kind.NUMERIC, width=1e-15):
    """Make a check that measures these values of a claimed one."""

    def check(run, *, value=1.0, sign=1.0):
        for k, m in enumerate(measured):
            yield equals(Interval.within(sign * m, width, kind), value, k=k)

    return check


def test_claim_that_stands():
    evidence = decided(constants(1.0, 1.0 + 1e-16), *TWINS)
    assert evidence.verdict is Verdict.SUPPORTED
    assert (evidence.claim, evidence.cases, evidence.scale, evidence.root) == (CLAIM, 2, "quick", ROOT)
    assert evidence.kind is Kind.NUMERIC
    assert [f.twin.id for f in evidence.twins] == ["two", "minus"]
    assert [(f.catches, f.cases) for f in evidence.twins] == [(2, 2), (2, 2)]
    assert evidence.nearest.twin.id == "two"


def test_parts_have_their_own_twins():
    def check(run, *, value=1.0, least=0.9):
        yield equals(Interval.within(1.0, 1e-9), value, part="value")
        yield at_least(Interval.within(1.0, 1e-15), least, part="bound")

    far = constant("two", "the value is two", value=2.0)
    near = hypothesis("near", "the bound is beyond", least=1.001)
    evidence = decided(check, far, near)
    assert evidence.verdict is Verdict.SUPPORTED
    assert [dict(f.refuted) for f in evidence.twins] == [
        {"value": pytest.approx(0.5, rel=1e-8, abs=0.0)}, {"bound": pytest.approx(1e-3, rel=1e-2, abs=0.0)}
    ]  # fmt: skip
    assert evidence.nearest.twin.id == "near"
    assert evidence.tightest is evidence.parts["value"]
    loose = decided(check, far)
    assert loose.verdict is Verdict.VACUOUS
    assert loose.parts["bound"].gap == 0.0
    assert not loose.stated
    assert decided(check, far, case=0).verdict is Verdict.SUPPORTED  # of one case its own part is judged
    assert decided(check, far, case=1).verdict is Verdict.VACUOUS


def test_a_twin_is_judged_on_the_parts_of_the_claim():
    def check(run, *, value=1.0, part="value"):
        yield equals(Interval.within(1.0, 1e-9), value, part="value")
        yield equals(Interval.within(1.0, 1e-9), value if part == "value" else 3.0, part=part)

    two = constant("two", "the value is two", value=2.0)
    renamed = decided(check, two, bug("renamed", "another part is refuted", part="other"))
    assert renamed.verdict is Verdict.VACUOUS
    assert renamed.nearest.twin.id == "renamed"
    assert [(f.cases, f.catches, dict(f.refuted)) for f in renamed.twins[1:]] == [(1, 0, {})]


def test_a_claim_that_is_refuted_as_stated_has_a_twin_for_every_part():
    def check(run, *, value=1.0, other=3.0):
        yield equals(Interval.within(2.0, 1e-9), value, part="value")
        yield equals(Interval.within(3.0, 1e-9), other, part="other")

    claim = replace(CLAIM, finds=(Verdict.REFUTED,))
    four = constant("four", "it is four", value=4.0)
    five = hypothesis("five", "the other is", value=1.5, other=5.0)
    assert [decide(Verification(claim, (four, five)[:k], check), Run(claim.id)).stated for k in (1, 2)] == [False, True]


def test_identity_that_is_off_is_refuted_however_far_its_twins_are():
    far = (constant("far", "the value is a million", value=1e6), bug("minus", "the sign", sign=-1e6))
    evidence = decided(constants(1.0, 1.1, 1.0), *far)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.number == 1
    assert dict(evidence.finding.case) == {"k": 1}
    assert 0.1 < evidence.departure.hi < 0.1 + 1e-14


def test_draws_are_those_of_the_claim_for_every_twin():
    drawn = []

    def check(run, *, value=1.0, sign=1.0):
        drawn.append([rng.normal() for rng in run.draws(quick=3, paper=5)])
        yield equals(int(sign), value)

    decided(check, *TWINS)
    assert drawn == [[stream(CLAIM.id, case).normal() for case in range(3)]] * 3
    drawn.clear()
    decided(check, *TWINS, run=Run(CLAIM.id, "paper", 7))
    assert drawn == [[stream(CLAIM.id, case, root=7).normal() for case in range(5)]] * 3


def test_worst_case_refutes_most_clearly_or_leaves_most_room():
    def wide(run, *, value=0.0):
        for k, (lo, hi) in enumerate([(-1.0, 1e-3), (-2.0, 5e-3), (-1e-9, 1e-9)]):
            yield at_most(Interval(lo, hi), value, scale=1.0, k=k)

    evidence = decided(wide, constant("less", "the bound is minus one", value=-1.0))
    assert (evidence.verdict, evidence.number) == (Verdict.SUPPORTED, 1)
    assert evidence.departure.lo == pytest.approx(-1e-9, rel=1e-12, abs=0.0)  # end by end: not of case 1

    def refuted(run, *, value=0.0):
        for k, (lo, hi) in enumerate([(-1.0, 9.0), (0.1, 0.2), (0.3, 0.31)]):
            yield at_most(Interval(lo, hi), value, scale=1.0, k=k)

    evidence = decided(refuted, constant("less", "the bound is minus one", value=-1.0))
    assert (evidence.verdict, evidence.number) == (Verdict.REFUTED, 2)


@pytest.mark.parametrize("case", [0, 1, 2])
def test_one_case_is_judged_as_it_was(case):
    evidence = decided(constants(1.0, 1.1, 1.0), *TWINS, case=case)
    assert evidence.verdict is (Verdict.REFUTED if case == 1 else Verdict.SUPPORTED)
    assert (evidence.number, evidence.cases) == (case, 1)
    assert dict(evidence.finding.case) == {"k": case}


@pytest.mark.parametrize("case", [-1, 3])
def test_case_that_is_not_there(case):
    with pytest.raises(ValueError, match=r"^case: expected one of the 3 cases of demo\.claim, got"):
        decided(constants(1.0, 1.1, 1.0), *TWINS, case=case)


@pytest.mark.parametrize(
    ("check", "twins", "verdict"),
    [
        (constants(), TWINS, Verdict.VACUOUS),
        (constants(1.0), (), Verdict.VACUOUS),
        (constants(1.0), (*TWINS, constant("same", "nothing", value=1.0)), Verdict.VACUOUS),
        (constants(1.0, width=0.1), TWINS, Verdict.INCONCLUSIVE),
        (constants(1.0, width=0.1, kind=Kind.TREND), TWINS, Verdict.SUPPORTED),
    ],
)
def test_verdicts(check, twins, verdict):
    evidence = decided(check, *twins)
    assert evidence.verdict is verdict
    assert evidence.number == (0 if evidence.cases else None)
    assert (evidence.finding is None) == (evidence.cases == 0)
    assert (evidence.nearest is None) == (not twins)


# --- scales ---


def scaled(*cases):
    """Make a check of findings that say relation, measured, claimed, scale."""

    def check(run, *, shift=0.0):
        for relation, measured, claimed, unit in cases:
            yield relation(measured + shift, claimed, scale=unit)

    return check


FAR = constant("far", "all is a thousand more", shift=1e3)
VAGUE = Interval.within(17.0, 1e9)


@pytest.mark.parametrize("beside", [(), ((equals, Interval.exactly(1.0), 1, 1),)])
@pytest.mark.parametrize("relation", [equals, at_most])
@pytest.mark.parametrize("shift", [1e3, 1e300])
def test_scale_that_is_a_tolerance_is_refused(relation, beside, shift):
    """What is open is 1e9 where the claim is about 1; no unit makes it small, however far the twins are."""
    twin = constant("far", "all is more", shift=shift)
    check = scaled((relation, VAGUE, 1, 1e300), *beside)
    if shift < 1e300 and not beside:
        assert decided(check, twin).verdict is Verdict.VACUOUS
    else:
        with pytest.raises(
            ValueError, match=r"^scale: expected a unit of the size of the data for case 0 of demo\.claim"
        ):
            decided(check, twin)


def test_one_scale_for_all_is_a_unit_whatever_its_size():
    verdicts = {decided(scaled((equals, Interval.within(0.0, 1e-12), 0, unit)), FAR).verdict for unit in (1e-3, 1, 900)}
    assert verdicts == {Verdict.SUPPORTED}


def test_identity_with_zero_has_the_size_of_its_nearest_twin():
    check = scaled((equals, Interval.within(0.0, 9.0), 0, 1e4), (equals, Interval.exactly(0.0), 0, 1))
    assert decided(check, FAR).verdict is Verdict.SUPPORTED  # 9 is open beside a thousand
    with pytest.raises(
        ValueError, match=r"an excess of 9 remains possible where no number is certainly larger than 100$"
    ):
        decided(check, FAR, bug("near", "all is a hundred more", shift=100.0))


def test_one_case_is_looked_at_whatever_its_scale():
    assert decided(scaled((equals, VAGUE, 1, 1e300)), constant("far", "y", shift=1e300), case=0).cases == 1


# --- what is refuted as it states ---


def test_twin_that_changes_nothing_is_seen_where_the_claim_is_refuted_as_stated():
    claim = replace(CLAIM, finds=(Verdict.REFUTED,))

    def check(run, *, value=1.0, idle=0):
        yield equals(Interval.within(3.0, 1e-9), value)

    def refuted(*twins):
        return decide(Verification(claim, twins, check), Run(claim.id))

    two = constant("two", "the value is two", value=2.0)
    five = constant("five", "the value is five", value=5.0)
    assert refuted(two, five).stated
    for twins in ((two, bug("idle", "nothing at all", idle=1)), (two, constant("again", "the same", value=2.0))):
        with pytest.raises(ValueError, match=r"^twins: expected those of demo\.claim to differ from it"):
            refuted(*twins)


@pytest.mark.parametrize("failing", [1.0, 2.0])
def test_exceptions_are_errors_not_refutations(failing):
    def check(run, *, value=1.0):
        yield equals(1, value)
        if value == failing:
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        decided(check, constant("two", "the value is two", value=2.0))


def test_floating_point_faults_are_errors():
    for fault in (
        lambda: np.array([1e308]) * 10.0,
        lambda: np.zeros(1) / np.zeros(1),
        lambda: np.ones(1) / np.zeros(1),
    ):

        def check(run, *, value=1.0, fault=fault):
            fault()
            yield equals(1, value)

        with np.errstate(all="ignore"), pytest.raises(FloatingPointError):
            decided(check, constant("two", "the value is two", value=2.0))


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ([True], "bool"), ("x", "str"), ([equals(1, 1), None], "NoneType"), (None, "NoneType"), (3, "int"),
        (equals(1, 1), "Finding"), ([[equals(1, 1)]], "list"),
    ],
)  # fmt: skip
def test_checks_that_yield_no_findings(found, name):
    """Whatever is no iterable of findings is refused under the name of the claim."""
    with pytest.raises(TypeError, match=rf"^check: expected the check of demo\.claim to yield findings .* got {name}$"):
        decided(lambda _: found)


def test_conditions_inside_a_check():
    seen = []

    def check(run, *, value=1.0):
        seen.append((flint.ctx.prec, {library["num_threads"] for library in threadpool_info()}))
        np.exp(-np.array([800.0]))  # underflow is no fault
        yield equals(1, value)

    before = flint.ctx.prec, [library["num_threads"] for library in threadpool_info()]
    decided(check, constant("two", "the value is two", value=2.0))
    assert seen == [(PRECISION, {1})] * 2
    assert before == (flint.ctx.prec, [library["num_threads"] for library in threadpool_info()])


def test_fixtures_reach_the_claim_and_its_twins():
    def check(run, tokens, *, value=1.0):
        yield equals(Interval.exactly(float(tokens.sum())), value)

    evidence = decided(
        check, constant("two", "the value is two", value=2.0), fixtures={"tokens": np.array([0.25, 0.75])}
    )
    assert evidence.verdict is Verdict.SUPPORTED


# --- tightness ---


@pytest.mark.parametrize(
    ("relation", "measured", "bound", "tightness"),
    [
        (at_most, 0.5, 2.0, 0.25),
        (at_most, -0.5, 2.0, -0.25),
        (at_least, 4.0, 1.0, 0.25),
        (equals, 2.0, 2.0, None),
        (at_most, -3.0, -2.0, None),
        (at_least, 4.0, -1.0, None),
    ],
)
def test_tightness_is_of_one_sided_bounds(relation, measured, bound, tightness):
    def check(run, *, shift=0.0):
        yield relation(Interval.exactly(measured), bound + shift, scale=1.0)

    found = decided(check, constant("off", "the bound is off", shift=1e3 if relation is at_least else -1e3)).tightness
    assert found == tightness if tightness is None else math.isclose(found, tightness, rel_tol=1e-12, abs_tol=0.0)


# --- studies ---


def expensive(*, scale, root, n=1):
    expensive.calls.append((scale, root, n))
    return Table(Kind.CERTIFIED, {"n": "1", "x": "1"}, {"n": [n], "x": [float(root)]})


expensive.calls = []


def test_study_is_computed_once_for_the_claim_and_its_twins():
    expensive.calls.clear()

    def check(run, *, value=1.0, n=1):
        table = run.study(expensive, n=n)
        assert run.study(expensive, n=n) is table
        yield equals(Fraction(table["x"][0]) / ROOT, value)
        yield equals(table["n"][0], 1.0)

    other = (*TWINS[:1], bug("other", "another study", n=2))
    runs = [Run(CLAIM.id) for _ in range(2)]
    evidence = [decided(check, *other, run=run) for run in runs]
    assert expensive.calls == [("quick", ROOT, 1), ("quick", ROOT, 2)]
    mine, twin = (expensive(scale="quick", root=ROOT, n=n).sha256 for n in (1, 2))
    for found in evidence:
        assert list(found.tables.values()) == [mine]  # what a twin looked at does not vouch for the claim
        assert twin not in found.tables.values()


def test_studies_with_other_parameters_are_other_tables():
    def check(run, *, value=1.0):
        for n in (1, 2):
            table = run.study(expensive, n=n)
        yield equals(Fraction(int(table["n"][0]), 2), value)

    evidence = decided(check, constant("two", "the value is two", value=2.0))
    assert len(evidence.tables) == 2
    assert len(set(evidence.tables.values())) == 2


def test_scale_and_root_make_another_study():
    prints = {
        (scale, root): Run(CLAIM.id, scale, root).study(expensive).sha256
        for scale in ("quick", "paper")
        for root in (1, 2)
    }
    assert prints["quick", 1] != prints["quick", 2]
    assert {call[:2] for call in expensive.calls} >= set(prints)


def test_run_is_at_a_known_scale():
    assert Run("a.b", "paper").pick(quick=1, paper=2) == 2
    with pytest.raises(ValueError, match=r"^scale: expected one of quick, paper, got 'big'$"):
        Run("a.b", "big")


def test_a_library_loaded_inside_has_one_thread():
    code = (
        "import sys\n"
        "from theory.evidence.runner import conditions\n"
        "assert 'scipy' not in sys.modules\n"
        "with conditions():\n"
        "    import scipy.linalg\n"
        "    import threadpoolctl\n"
        "    found = [lib for lib in threadpoolctl.threadpool_info() if lib['user_api'] == 'blas']\n"
        "print({lib['num_threads'] for lib in found}, len(found))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)  # noqa: S603
    assert done.stdout.startswith("{1} ")
