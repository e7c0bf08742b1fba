"""The page of all scores and gains is what the recorded runs say."""

import math
from pathlib import Path

import numpy as np

from tests.experiments import arm_tables
from theory.experiments import studies
from theory.experiments.analysis import TASKS
from theory.experiments.analysis.paired import ALL, DRAWN
from theory.experiments.studies.page import write_page

PAGE = Path(__file__).parents[3] / "docs" / "arms.md"


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == write_page(), "python -m theory.experiments.studies.page > docs/arms.md"


def test_the_words_of_the_page_tell_the_level_that_all_comparisons_leave():
    """At that level eleven pairs have no interval, and no p-value of drawn subsets is smaller than is said."""
    assert [math.isfinite(studies.enclose_together(np.arange(float(pairs))).hi) for pairs in (11, 12)] == [False, True]
    assert (ALL, DRAWN) == (16, 131071)
    assert f"{2.0 / (DRAWN + 1):.1e}" == "1.5e-05"
    page = " ".join(write_page().split())
    for words in (
        "intervals of this page need twelve",
        "more than 16 pairs 131071 subsets are drawn",
        "so no p is below 1.5e-5",
    ):
        assert words in page


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
