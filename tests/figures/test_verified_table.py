"""Only judged tables are drawn as verified, and the caption says what the evidence says."""

import re

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests.figures.toys import ROOT, lay, toy_module, toy_study, verify
from theory.evidence import Claim, Run, Table, Verdict, at_most as at_most_claimed, bug, constant, decide, verifies
from theory.evidence.record import write
from theory.evidence.runner import title_of
from theory.figures import caption, registry
from theory.report.digits import at_most


def test_a_study_is_computed_as_when_it_was_judged(tmp_path):
    """On one thread of linear algebra, whose number moves last digits, and with faults as errors."""
    seen = []

    def watched(*, scale, root):
        seen.append(({pool["num_threads"] for pool in threadpool_info()}, np.geterr()["over"]))
        return toy_study()(scale=scale, root=root)

    verify(tmp_path, toy_module(watched))
    assert seen == [({1}, "raise")]


def test_the_fresh_table_passes_if_its_claims_stand_on_it(tmp_path):
    lay(tmp_path / "evidence")
    verdict = verify(tmp_path, toy_module())
    assert (verdict.reason, verdict.remedy) == (None, None)
    assert verdict.table.sha256 == toy_study()(scale="quick", root=ROOT).sha256
    assert [record.claim.id for record in verdict.records] == ["toy.double"]


def test_other_last_digits_pass_on_the_committed_table(tmp_path):
    lay(tmp_path / "evidence")
    judged = toy_study()(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(judged.to_csv(), encoding="utf-8")
    elsewhere = toy_module(toy_study(moved=1e-9))
    verdict = verify(tmp_path, elsewhere, folders=(tmp_path / "none", tmp_path))
    assert verdict.reason is None
    assert verdict.table.sha256 == judged.sha256
    assert verify(tmp_path, elsewhere).reason == "the table is not the judged one"


@pytest.mark.parametrize("study", [toy_study(moved=1e-3), toy_study(rows=9)])
def test_a_number_that_moved_does_not_pass(tmp_path, study):
    lay(tmp_path / "evidence")
    (tmp_path / "toy.csv").write_text(toy_study()(scale="quick", root=ROOT).to_csv(), encoding="utf-8")
    verdict = verify(tmp_path, toy_module(study), folders=(tmp_path,))
    assert verdict.reason.startswith("the table differs from the judged one: ")
    assert verdict.table.sha256 == study(scale="quick", root=ROOT).sha256


def test_a_committed_table_that_nobody_judged_does_not_pass(tmp_path):
    lay(tmp_path / "evidence")
    near = toy_study(moved=1e-9)(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(near.to_csv(), encoding="utf-8")
    assert verify(tmp_path, toy_module(toy_study(moved=2e-9)), folders=(tmp_path,)).reason is not None
    far = toy_study(moved=1.0)(scale="quick", root=ROOT)
    (tmp_path / "toy.csv").write_text(far.to_csv(), encoding="utf-8")
    assert (
        "against the CSV: column y.lo"
        in verify(tmp_path, toy_module(toy_study(moved=2e-9)), folders=(tmp_path,)).reason
    )


def test_every_claim_must_stand_at_this_scale_and_root(tmp_path):
    lay(tmp_path / "evidence")
    lay(tmp_path / "evidence", claim="toy.wrong", factor=2.5)
    lay(tmp_path / "evidence", claim="toy.worse", factor=3.5)
    lay(tmp_path / "evidence", claim="toy.large", scale="paper")
    (tmp_path / "evidence" / "toy.broken.json").write_text("{", encoding="utf-8")

    def reason(*claims, **options):
        return verify(tmp_path, toy_module(claims=claims), **options).reason

    assert reason("toy.wrong") == "toy.wrong is refuted"
    assert reason("toy.double", "toy.wrong") == "toy.wrong is refuted"
    assert reason("toy.double", root=7) == f"toy.double was decided with root {ROOT}, not 7"
    assert reason("toy.large") == "no evidence for toy.large at scale quick"
    assert reason("toy.large", scale="paper") is None
    assert reason("toy.none") == "no evidence for toy.none"
    assert reason("none.*") == "no evidence for any claim"
    assert reason("toy.broken") == "the record of toy.broken cannot be read"
    assert reason("toy.*").endswith("and 1 more")


def test_claims_judged_on_another_study_or_on_different_tables_do_not_pass(tmp_path):
    def other(*, scale, root):
        return toy_study()(scale=scale, root=root)

    lay(tmp_path / "evidence", study=other)
    assert verify(tmp_path, toy_module()).reason == f"toy.double was not judged on a table of {title_of(toy_study())}"
    lay(tmp_path / "evidence")
    lay(tmp_path / "evidence", claim="toy.twice", study=toy_study(moved=1e-9))
    both = toy_module(claims=("toy.double", "toy.twice"))
    assert verify(tmp_path, both).reason == "its claims were judged on different tables"


def test_the_mending_command_names_claims_and_scale(tmp_path):
    lay(tmp_path / "evidence")
    remedy = verify(tmp_path, toy_module(claims=("toy.a", "toy.b")), scale="paper", root=7).remedy
    assert remedy == f"pytest {tmp_path} -k 'toy.a or toy.b' --scale paper --record"


def test_a_study_of_the_evidence_is_judged_by_its_verdicts(tmp_path):
    lay(tmp_path / "evidence")
    board = registry.figure_module("board")
    assert verify(tmp_path, board).reason is None
    lay(tmp_path / "evidence", claim="toy.wrong", factor=2.5)
    verdict = verify(tmp_path, board)
    assert verdict.reason == "toy.wrong is refuted"
    assert verdict.table.levels("claim") == ["toy.double", "toy.wrong"]
    assert Table.from_csv(verdict.table.to_csv()).sha256 == verdict.table.sha256


def test_a_claim_that_states_its_refutation_vouches_for_its_table(tmp_path):
    lay(tmp_path / "evidence", factor=2.5, finds=(Verdict.REFUTED,))
    verdict = verify(tmp_path, toy_module())
    assert verdict.reason is None
    first, second = caption.caption_lines(verdict)
    assert first == f"toy.double: refuted, as stated, numeric (scale quick, root {ROOT})."
    assert second.startswith(r"Worst departure $\geq0.19")
    assert verify(tmp_path, registry.figure_module("board")).reason is None
    lay(tmp_path / "evidence", finds=(Verdict.REFUTED,))
    assert verify(tmp_path, toy_module()).reason == "toy.double is supported"


def test_the_caption_says_what_the_evidence_says(tmp_path):
    lay(tmp_path / "evidence")
    verdict = verify(tmp_path, toy_module())
    (entry,) = verdict.records[0].entries.values()
    first, second = caption.caption_lines(verdict)
    assert first == f"toy.double: supported, numeric (scale quick, root {ROOT})."
    assert at_most(entry.departure.hi, tex=True) in second
    assert "nearest twin (triple) fails by" in second
    assert caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.none",)))) == ["No evidence at scale quick."]


def test_the_caption_has_the_numbers_that_are_cited_and_says_at_which_scale_the_figure_was_drawn(tmp_path):
    for claim in ("toy.double", "toy.twice"):
        lay(tmp_path / "evidence", claim=claim)
    lay(tmp_path / "evidence", scale="paper")
    first, second, third = caption.caption_lines(verify(tmp_path, toy_module()))
    assert first == f"toy.double: supported, numeric (scale paper, root {ROOT})."
    assert second.startswith("Worst departure ")
    assert third == "Drawn at quick scale."
    assert len(caption.caption_lines(verify(tmp_path, toy_module(), scale="paper"))) == 2
    assert caption.footers(verify(tmp_path, toy_module()))[1] == "toy.double: supported, numeric (scale quick)."
    both = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.double", "toy.twice"))))
    assert [line for line in both if "scale" in line] == [
        f"toy.{name}: supported, numeric (scale quick, root {ROOT})." for name in ("double", "twice")
    ]  # one scale in a caption: that at which all are recorded


def test_a_case_that_stays_away_from_the_claim_keeps_a_margin(tmp_path):
    def check(run, *, factor=1.0, power=1):
        table = run.study(toy_study())
        for x, y in zip(table["x"].tolist(), table.intervals("y"), strict=True):
            yield at_most_claimed(y, 3.0 * factor * x**power)

    twins = constant("half", "half of it", factor=0.5), bug("square", "the argument is under a root", power=0.5)
    for name in ("a", "b", "c", "d"):
        verification = verifies(Claim(f"toy.{name}", "less than thrice", "$y < 3x$"), *twins)(check)
        decided = decide(verification, Run(f"toy.{name}", scale="quick", root=ROOT))
        write(tmp_path / "evidence", decided, "verify/test_toy.py")
    _, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.a",))))
    assert second.startswith(r"It keeps a margin of $\geq0.33$; the nearest twin ")
    _, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.*",))))
    assert re.fullmatch(r"Nearest to its limit: toy\.\w, which keeps a margin of \$\\geq0\.33\$\.", second)


def test_many_claims_are_counted(tmp_path):
    for number in range(4):
        lay(tmp_path / "evidence", claim=f"toy.n{number}", factor=2.5 if number == 2 else 2.0)
    first, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.*",))))
    assert first == f"4 claims at scale quick, root {ROOT}: 3 supported, 1 refuted (4 numeric)."
    assert "toy.n2" in second
    lay(tmp_path / "evidence", claim="toy.n2", factor=2.5, finds=(Verdict.REFUTED,))
    first, second = caption.caption_lines(verify(tmp_path, toy_module(claims=("toy.*",))))
    assert first == f"4 claims at scale quick, root {ROOT}: 3 supported, 1 refuted, as stated (4 numeric)."
    assert "toy.n2" not in second
