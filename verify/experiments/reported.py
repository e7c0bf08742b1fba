"""One shape for what was reported of metric-attention: a task, a quantity, an opponent, and the verdict that was found.

The margins are the smallest effects that would matter to a user, fixed before the runs were made: a tenth of the loss,
two points of score, half a point of spread. A margin is the scale as well, so that support leaves room for no less than
half of it. A claim speaks of all comparisons of its pair: at the published rate, at rates that each attention chose by
the same search, at equal width, and at the chosen rate also at equal numbers of parameters. So one that fails refutes it, and what is refuted
is the gain by the margin, not any gain.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from scipy.optimize import brentq

from theory.evidence import (
    Claim,
    Twin,
    Verdict,
    Verification,
    at_least,
    bug,
    constant,
    hypothesis,
    statistics,
    verifies,
)
from theory.evidence.table import Table
from theory.experiments import analysis, studies

OPPONENTS = {"self": "dot-product attention", "l2": "distance attention"}


class Task(NamedTuple):
    """Words for a task, its settings, and what was fixed before: how many pairs of runs, in how many circumstances."""

    name: str
    words: str
    settings: tuple[str, ...]
    pairs: int
    circumstances: int


class Quantity(NamedTuple):
    """What is compared and by how much; ``factor`` is 1 but for a mistake."""

    column: str
    gains: Callable[[analysis.Pairs, float], np.ndarray]
    margin: float
    words: str
    statement: str
    twins: tuple[Twin, ...]


QUANTITIES = {
    "loss": Quantity(
        "train_loss",
        lambda found, factor: analysis.loss_gains(found._replace(ours=factor * found.ours)),
        math.log(1.1),
        "the training loss after a fixed budget is lower by a tenth",
        r"$\mathbb E[\log L_{\mathrm{OTHER}} - \log L_{\mathrm{metric}}] \ge \log 1.1$ for the training loss $L$ at the end of a fixed number of epochs",
        (
            constant("thousandth", "the loss is a thousandth of the other one", margin=math.log(1000.0)),
            bug("added", "its loss is added up over a thousand examples, not averaged", factor=1000.0),
        ),
    ),
    "score": Quantity(
        "score",
        lambda found, factor: analysis.score_gains(found._replace(ours=factor * found.ours)),
        0.02,
        "the test score is higher by two points of a hundred",
        r"$\mathbb E[a_{\mathrm{metric}} - a_{\mathrm{OTHER}}] \ge 0.02$ for the test score $a \in [0, 1]$ at the end of training",
        (
            constant("all", "the score is higher by ninety-nine points", margin=0.99),
            bug("percent", "its score is taken for one in percent", factor=0.01),
        ),
    ),
    "spread": Quantity(
        "score",
        lambda found, factor: analysis.spread_gains(found, about=factor * float(np.median(found.ours))),
        0.005,
        "the test score varies less between runs, by half a point of a hundred",
        r"$\mathbb E|a_{\mathrm{OTHER}} - m_{\mathrm{OTHER}}| - \mathbb E|a_{\mathrm{metric}} - m_{\mathrm{metric}}| \ge 0.005$ for the test score $a \in [0, 1]$ and its median $m$ over runs",
        (
            constant("all", "it varies less by fifty points", margin=0.5),
            bug("uncentred", "its deviations are from zero, not from its median", factor=0.0),
        ),
    ),
}
AGAIN = bug(
    "again", "it is self-attention from another start, against self-attention", ours="again", theirs="self", number=2
)
ITSELF = bug("itself", "it is metric-attention, each run against the next one", theirs="metric", shift=1)
PERMUTED = hypothesis("permuted", "the labels are those of other examples", labels="permuted", theirs="self", number=1)


def reported(task: Task, quantity: str, opponent: str, finds: Verdict, *more: Twin) -> Verification:
    """Return the claim that metric-attention does better than ``opponent``, and what comes of it.

    Parameters
    ----------
    task : Task
        What is learned.
    quantity : str
        Key of ``QUANTITIES``.
    opponent : str
        Key of ``OPPONENTS``.
    finds : Verdict
        What comes out.
    *more : Twin
        Twins that these runs are enough to refute, besides the two that a few runs refute.
    """
    what = QUANTITIES[quantity]
    stated = Claim(
        f"reported.{task.name}-{quantity}-{opponent}",
        f"{task.words}, metric-attention against {OPPONENTS[opponent]}: in each comparison {what.words}",
        what.statement.replace("OTHER", opponent),
        assumptions=(
            *task.settings,
            state_power(task),
            state_normality(task),
            *(state_resolution(task) if quantity == "spread" else ()),
        ),
        spec=("DL.E3",),
        cites=("ruan2024",),
        provenance=("derived",),  # the paper prints curves and violin plots, no number
        finds=(finds,),
    )
    return compared(stated, studies.finals, task, quantity, opponent, *more)


def compared(
    stated: Claim, study: Callable[..., Table], task: Task, quantity: str, opponent: str, *more: Twin
) -> Verification:
    """Return the verification of a claim about the pairs of runs in the table of a study."""
    what = QUANTITIES[quantity]

    @verifies(stated, *what.twins, *more)
    def check(
        run,
        *,
        ours="metric",
        theirs=opponent,
        labels="true",
        margin=what.margin,
        factor=1.0,
        shift=0,
        number=task.circumstances,
    ):
        table = run.study(study).where(task=task.name)
        where = analysis.list_circumstances(table, ours, theirs, labels=labels)
        if len(where) != number:
            raise ValueError(f"finals: expected {number} comparisons of {ours} with {theirs}, got {len(where)}")
        for each in where:
            found = analysis.pair_runs(table, what.column, ours, theirs, each, labels=labels)
            found = found._replace(theirs=np.roll(found.theirs, shift))
            if len(found.ours) != task.pairs:
                raise ValueError(f"finals: expected {task.pairs} pairs of runs of {task.name}, got {len(found.ours)}")
            gain = analysis.mean_gain(found, lambda pairs: what.gains(pairs, factor), among=len(where))
            yield at_least(gain, margin, scale=what.margin, **each._asdict(), pairs=task.pairs)

    return check


def detectable_difference(task: Task) -> float:
    """Return the mean difference, in units of the spread of differences, that is told from none with odds of 0.99."""
    free, root = task.pairs - 1, math.sqrt(task.pairs)
    edge = scipy.stats.t.isf(statistics.ALPHA / 10.0 / task.circumstances / 2.0, free)
    least = brentq(lambda d: scipy.stats.nct.sf(edge, free, d * root) - 0.99, 0.0, 10.0 * edge / root)
    return math.ceil(100.0 * least) / 100.0


def state_power(task: Task) -> str:
    """Say which mean difference the pairs of a task tell from none, in units of the spread of the differences."""
    return (
        f"{task.pairs} pairs of runs, which tell a mean difference of {detectable_difference(task):.2f} standard "
        "deviations among pairs from none with probability 0.99 in one comparison"
    )


def state_resolution(task: Task) -> tuple[str]:
    """Say how little runs would have to vary for the margin of spread to be told by the pairs of a task."""
    most = QUANTITIES["spread"].margin / detectable_difference(task)
    return (
        f"half a point is told from none if deviations differ by at most {100.0 * most:.2f} points from pair to pair; "
        "these runs vary by more, so that the margin, fixed before, is finer than so many pairs can decide",
    )


def state_normality(task: Task) -> str:
    """Say what the intervals assume, and how little the pairs of a task know of runs that fail seldom."""
    return (
        "differences within pairs are nearly normal; a failure of one run in fifty is in none of the pairs with "
        f"probability {0.98**task.pairs:.2f}"
    )
