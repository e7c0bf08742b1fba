"""A few claims are decided again at paper scale, others at every commit, and what contradicts its record fails."""

import pytest

from tests import specimen
from tests.specimen import edited, lay
from theory.__main__ import main
from theory.evidence import Run, decide
from theory.evidence.record import write
from theory.report.archive import ArchiveError, read_all
from theory.report.sample import choose, decide_again

CHECKS = """
from theory.evidence import Claim, Interval, at_most, bug, constant, verifies


@verifies(
    Claim("demo.{name}", "a claim for demonstration", "$x = 1$"),
    constant("more", "it is two", value=-2.0),
    bug("minus", "the sign is wrong", sign=-1.0),
)
def test_{name}(run, *, value=-1.0, sign=1.0):
    for k in range(run.pick(quick=3, paper=5)):
        yield at_most(Interval.within(-1.5 * sign, 1e-15), value, k=k)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the paper evidence of a repository with one claim."""
    root = tmp_path_factory.mktemp("repository")
    (root / "verify").mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "verify" / "test_demo.py").write_text(CHECKS.format(name="one"))
    (root / "paper_notes.md").write_text(specimen.NOTES)
    scope = {}
    exec(CHECKS.format(name="one"), scope)  # noqa: S102  the text that the file has
    write(root / "verify" / "evidence", decide(scope["test_one"], Run("demo.one", "paper")), "verify/test_demo.py")
    main(["report", "--evidence", str(root / "verify" / "evidence")])
    return root / "verify" / "evidence"


def test_what_is_as_recorded_passes(folder, capsys):
    capsys.readouterr()
    assert main(["report", "--check", "--sample", "3", "--evidence", str(folder)]) == 0
    assert "decided again at scale paper, as recorded: demo.one\n" in capsys.readouterr().out


def test_what_contradicts_its_record_fails(folder, capsys):
    path = folder / "demo.one.json"
    before = path.read_bytes()

    def another_count(whole):
        entry = whole["scales"]["paper"]
        for told in (entry, entry["parts"][""]):
            told["cases"] = 6

    edited(path, another_count)
    try:
        capsys.readouterr()
        assert main(["report", "--check", "--sample", "1", "--evidence", str(folder)]) == 1
        text = capsys.readouterr().out
        assert "the record's case count is 6, this run's is 5" in text
        assert "decided again at scale paper, NOT as recorded: one of demo.one\n" in text
    finally:
        path.write_bytes(before)


def test_no_sample_unless_asked_for(folder):
    assert decide_again(read_all(folder), folder, 0) == ("", False)


def test_counts_and_tests_that_make_no_sense(folder, tmp_path):
    with pytest.raises(ArchiveError, match=r"^--sample: expected a count of claims, got -1$"):
        decide_again(read_all(folder), folder, -1)
    other = lay(tmp_path)
    with pytest.raises(ArchiveError, match=r"^--sample: expected the tests of the claims in .*, found none$"):
        decide_again(read_all(other), other, 1)


def test_every_commit_draws_others_that_are_cheap(tmp_path):
    folder = lay(tmp_path)
    for name in ("half", "normal"):
        check = getattr(specimen, name)
        write(folder, decide(check, Run(check.claim.id, "paper")), "verify/test_sums.py")
    records = read_all(folder)
    keys = [f"{key:012x}" for key in range(40)]
    assert {choose(records, 1, key)[0].claim.id for key in keys} == {"means.normal", "sums.half", "sums.two"}
    assert choose(records, 2, "a") == choose(records[::-1], 2, "a")
    assert len(choose(records, 9, "a")) == 3
    edited(folder / "sums.two.json", lambda whole: whole["scales"]["paper"].update(tables={"x": "0" * 64}))
    assert "sums.two" not in {r.claim.id for r in choose(read_all(folder), 9, "a")}
