"""The page of the comparison, ``docs/arms.md``: what every arm scores, and every gain with its intervals and p-values.

``python -m theory.experiments.studies.page > docs/arms.md`` writes it again from the recorded runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from theory.evidence import ROOT, Interval, Table
from theory.experiments.analysis import arms
from theory.experiments.arms.arm import ARCHITECTURES, SIMILARITIES
from theory.experiments.studies.arms import arm_runs, summarise_arms, summarise_gains

_HEAD = """# What the arms came to

Written by `python -m theory.experiments.studies.page` from the recorded runs; a test compares. What an arm is, and how
it was trained, is said in [the library](library.md); what is claimed of it are `arms.*` and `reported.*`.

## Scores

The mean test score over the runs with its 95 % interval, of numerals the share of translations without a fault; in
brackets the learning rate that the arm chose, the numbers that one run trains, and by which factor the mean training
loss changed in the last tenth of the training. Those of `digits-long` and `meshes-long` had five times as many epochs,
and were planned when the scores of the shorter ones were known. An interval is unknown where all runs score the same.
"""
_MIDDLE = """
## Gains

What the first arm gains over the second: of scores the difference, of losses the logarithm of their ratio. The first
interval holds by itself with probability 0.95, the second one with all others at once, if the gains of pairs scatter
symmetrically. What was found is told by the second one: whether it lies above the margin, below it, or on both sides.
The p-values answer another question, whether there is any gain or loss at all: p is two-sided, by sign flips, and
beside it adjusted after Holm over all comparisons. Of more than 16 pairs 131071 subsets are drawn, so no p is below
1.5e-5. *Pairs needed* would tell a gain of this size from the margin, among all comparisons, with probability 0.9, if
gains were normal and intervals Student's; the intervals of this page need twelve in any case.

| task | of | first | second | pairs | gain | alone | with all | p | Holm | margin | found | pairs needed |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""
_NEVER = 10**6
_NUDGE = 1e-9  # taken: half a thousandth is rounded alike on every machine


def write_page() -> str:
    """Return the page in Markdown."""
    runs = arm_runs(scale="paper", root=ROOT)
    means, gains = summarise_arms(runs), summarise_gains(runs)
    scores = "".join(_scores(task, means.where(task=task)) for task in arms.TASKS)
    return f"{_HEAD}{scores}{_MIDDLE}{''.join(_gains(gains))}"


def _scores(task: str, means: Table) -> str:
    epochs, runs = int(means["epochs"][0]), int(means["runs"][0])
    linear = _cell(means.where(architecture="linear"))
    lines = [
        f"\n**{task}**: {runs} runs of {epochs} epochs. Linear map without attention: {linear}.\n",
        "| similarity | weighted means alone | with residual connections | pre-LN block |",
        "|---|---|---|---|",
    ]
    for similarity in SIMILARITIES:
        cells = [_cell(means.where(architecture=each, similarity=similarity)) for each in ARCHITECTURES]
        if any(cells):
            lines.append(f"| {similarity} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(one: Table) -> str:
    if not len(one):
        return ""
    (score,) = one.intervals("score")
    (mean,), (rate,), (parameters,), (settled,) = (one[name] for name in ("mean", "rate", "parameters", "settled"))
    lost = int(one["diverged"][0])
    told = f"{lost} diverged" if lost else f"{_number(mean)} {_ends(score)}"
    return f"{told} ({rate:.2g}, {parameters}, {math.exp(-settled):.2f})"


def _gains(gains: Table) -> Iterable[str]:
    columns = ("task", "quantity", "ours", "theirs", "pairs", "mean", "value", "holm", "margin", "needed")
    rows = zip(*(gains[name].tolist() for name in columns), strict=True)
    for row, alone, together in zip(rows, gains.intervals("alone"), gains.intervals("gain"), strict=True):
        task, quantity, ours, theirs, pairs, mean, value, holm, margin, needed = row
        found = "gains it" if together.lo >= margin else "does not" if together.hi < margin else "undecided"
        cells = (
            task, quantity, ours, theirs, pairs, _number(mean), _ends(alone), _ends(together), _share(value),
            _share(holm), f"{margin:g}", found, "never" if needed >= _NEVER else needed,
        )  # fmt: skip
        yield _row(cells)


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _number(value: float) -> str:
    return f"{value + _NUDGE:.3f}"


def _ends(interval: Interval) -> str:
    low, high = 1e3 * (interval.lo + _NUDGE), 1e3 * (interval.hi - _NUDGE)
    if not (math.isfinite(low) and math.isfinite(high)):
        return "[unknown]"
    return f"[{math.floor(low) / 1e3:.3f}, {math.ceil(high) / 1e3:.3f}]"


def _share(p: float) -> str:
    return f"{p:.1e}"


if __name__ == "__main__":
    sys.stdout.write(write_page())
