"""The page of all scores and gains is what the recorded runs say."""

from pathlib import Path

from tests.experiments import arm_tables
from theory.experiments.analysis import TASKS
from theory.experiments.studies.page import write_page

PAGE = Path(__file__).parents[3] / "docs" / "arms.md"


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == write_page(), "python -m theory.experiments.studies.page > docs/arms.md"


def test_the_page_shows_what_was_put_in(tmp_path, monkeypatch):
    arm_tables.lay(tmp_path, monkeypatch, scores={"published-metric": 0.3}, diverged=("block-dot",))
    lines = write_page().splitlines()
    scores = [line for line in lines if line.startswith("| metric |")]
    assert [abs(float(line.split()[3]) - 0.9) < 0.005 for line in scores] == [True] * len(TASKS)
    assert sum("1 diverged" in line for line in lines) == 4  # of the tasks with blocks
    (gain,) = [line for line in lines if line.startswith("| moons | score | published-metric | published-dot |")]
    assert gain.split("|")[12].strip() == "gains it"
    (lost,) = [line for line in lines if line.startswith("| moons | score | block-metric | block-dot |")]
    assert "[unknown]" in lost
