"""The plan of the comparison: budgets, first grids, numbers of pairs and margins, in a file older than the runs."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from theory._validate import as_choice
from theory.experiments.arms.arm import ARMS, Arm, find_arm

FILE = Path(__file__).with_name("plan.toml")


class Budget(NamedTuple):
    """What every arm of a task has: runs of the comparison, runs of the search at each rate, epochs, decay, rates."""

    pairs: int
    search_runs: int
    epochs: int
    decay: float
    rates: tuple[float, ...]
    ratio: float
    growths: int


class Condition(NamedTuple):
    """Runs that are made at the rate of an arm: with its labels or permuted ones, from its start or another."""

    labels: str
    start: str


PLAIN = Condition("true", "paired")
TWINS = {  # which arms have further runs, to find out what the comparison calls nothing
    Condition("permuted", "paired"): ("linear", "published-metric", "block-dot", "block-metric"),
    Condition("true", "again"): ("block-dot",),
}


@cache
def read_plan() -> dict[str, dict[str, Any]]:
    """Return the file."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def tasks() -> tuple[str, ...]:
    """Return the tasks that have a budget."""
    return tuple(name for name, part in read_plan().items() if "pairs" in part)


def budget(task: str, scale: str = "paper") -> Budget:
    """Return the budget of a task.

    Parameters
    ----------
    task : str
    scale : {"quick", "paper"}
        ``quick`` has two runs of each arm and ten epochs, to see that all works.

    Raises
    ------
    ValueError
        If there is no such task or scale.
    """
    plan = read_plan()
    own = {name: value for name, value in _part(task).items() if name not in ("task", "arms")}
    found = Budget(**{**own, **plan["search"], "rates": tuple(own["rates"])})
    if as_choice(scale, "scale", ("quick", "paper")) == "paper":
        return found
    return found._replace(pairs=2, search_runs=2, epochs=10)


def lessons_of(task: str) -> str:
    """Return whose data a task has: its own, unless it is another one with a budget of its own."""
    return str(_part(task).get("task", task))


def arms_of(task: str) -> tuple[str, ...]:
    """Return the names of the arms of a task: all, unless the plan says which."""
    return tuple(_part(task).get("arms", (arm.name for arm in ARMS)))


def _part(task: str) -> dict[str, Any]:
    return read_plan()[as_choice(task, "task", tasks())]


def margin(name: str) -> float:
    """Return a margin."""
    margins = read_plan()["margins"]
    return float(margins[as_choice(name, "margin", tuple(margins))])


def conditions(arm: Arm) -> tuple[Condition, ...]:
    """Return the conditions under which an arm is run, the plain one first."""
    return (PLAIN, *(condition for condition, names in TWINS.items() if arm in map(find_arm, names)))


def comparisons(task: str) -> dict[str, tuple[str, str]]:
    """Return which arm of a task is compared with which, by the name of the comparison."""
    own = set(arms_of(task))
    return {
        name: (ours, theirs) for name, (ours, theirs) in read_plan()["comparisons"].items() if {ours, theirs} <= own
    }
