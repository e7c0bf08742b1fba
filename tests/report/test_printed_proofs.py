"""What printed proofs say of themselves: what they use, who read them, and that none rests on itself."""

from pathlib import Path

import pytest

from tests.specimen import lay
from theory.report.proofs import LEVELS, NONE, Proof, read_proofs, used_by, used_in
from theory.site.graph import arrows_of, draw_graph, levels_of

EVIDENCE = Path(__file__).parents[2] / "verify" / "evidence"
CLAIMS = [path.stem for path in EVIDENCE.glob("*.json")]


@pytest.fixture(scope="module")
def printed():
    return read_proofs(EVIDENCE, CLAIMS)


def test_no_proof_rests_on_itself(printed):
    levels = levels_of(arrows_of(CLAIMS, printed))
    assert max(levels.values()) >= 4
    for name, proof in printed.items():
        assert all(levels[used] < levels[name] for used in (*proof.uses, *proof.lemmas))


def test_what_a_proof_uses_is_what_it_names(printed):
    assert printed["lipschitz.sharp-w1"].uses == ("lipschitz.joint-witness",)
    assert "lipschitz.sharp-w1" in printed["certificate.valid"].uses
    assert "certificate.valid" in used_by(printed)["lipschitz.sharp-w1"]
    assert sum(len(proof.uses) for proof in printed.values()) > 250
    assert {proof.level for proof in printed.values()} <= set(LEVELS)
    assert printed["lipschitz.sharp-w1"].printed == "proof refereed"
    assert printed["lipschitz.sharp-w1"].theorems[0][0] == "formal in part"


def test_what_is_measured_only_says_where(printed):
    measured = printed["arms.moons-block"]
    assert (measured.place, measured.level, measured.printed) == ("arms", "none", "no theorem: measured only")
    assert printed["reported.moons-early"].place == "reported"
    assert not printed["reported.moons-afresh"].place
    assert {name for name in CLAIMS if not printed[name].file} == {name for name in CLAIMS if printed[name].place}


def test_a_proof_that_names_itself_in_a_circle_is_told():
    with pytest.raises(ValueError, match="rests on itself, got a of b of a"):
        levels_of([("a", "b"), ("b", "a")])


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("by `a.b` and `.c`", ("a.b", "a.c")),
        ("by [`a.c`](a.md) and [a.b](a.md)", ("a.c", "a.b")),
        ("Done. The limit is as open as in `a.b`. By `a.c`.", ("a.c",)),
        ("`numpy.sum`, twin `b`", ()),
    ],
)
def test_names_in_the_text_of_a_proof(text, uses):
    assert used_in(text, {"a.b", "a.c"})[0] == uses


def test_a_referee_and_a_section_are_found_beside_the_records(tmp_path):
    evidence = lay(tmp_path)
    (tmp_path / "proofs").mkdir()
    text = "# sums\n\n## sums.two\n\n**Statement.** `sums.half`.\n\n**Proof.** [lemma-x](lemmas.md#lemma-x).\n"
    (tmp_path / "proofs" / "sums.md").write_text(text, encoding="utf-8")
    (tmp_path / "proofs" / "refereed.csv").write_text("claim,read\nsums.two,0\n", encoding="utf-8")
    found = read_proofs(evidence, ["sums.two", "sums.half"])
    assert found == {"sums.two": Proof("sums", (), ("lemma-x",), refereed=True, formal="")}
    assert found["sums.two"].level == "refereed"
    (tmp_path / "proofs" / "refereed.csv").write_text("claim,read\n", encoding="utf-8")
    assert read_proofs(evidence, ["sums.two"])["sums.two"].level == "printed"
    assert NONE.printed == "no printed proof"


def test_a_graph_has_a_box_for_each_name_and_a_line_for_each_arrow(printed):
    arrows = arrows_of([name for name in CLAIMS if name.startswith("entmax.")], printed)
    names = {name for arrow in arrows for name in arrow}
    drawn = draw_graph("entmax", arrows, dict.fromkeys(names, "x.html"))
    assert drawn.count("<rect ") == len(names)
    assert drawn.count('<path d="M') == len(arrows) + 1  # the tip
