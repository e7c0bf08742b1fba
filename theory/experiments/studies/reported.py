"""Runs made anew by other code, to set beside the recorded ones: the published network on two moons, in NumPy."""

from __future__ import annotations

from typing import Any

from theory.evidence import Kind, Table, sweep
from theory.experiments.analysis.arms import read_arms, runs_of
from theory.experiments.published import train_moons

EPOCHS = 50  # a tenth of the whole, which the recorded runs tell too
# of new runs: so many of those of earlier tables, drawn again, were told from half their accuracy and from that under
# permuted labels with probability 0.99; one run in twenty of metric-attention still stands at the accuracy of a guess
AFRESH = {"quick": {"distance": 16, "metric": 112}, "paper": {"distance": 32, "metric": 128}}
_NAMES = {"distance": "l2", "metric": "metric"}
_FIRST = 2_000_000  # no run of the experiments has a seed this large


def moons_afresh(*, scale: str, root: int) -> Table:
    """Train on newly drawn moons, from new starts, for a tenth of the budget: as many runs as ``AFRESH`` says.

    The rate is the one that the arm has chosen. Dot-product attention is left out: at this age some of its runs still
    stand at the loss of a guess, and few runs say little about a mean of two such kinds.
    """
    counts = AFRESH[scale]
    table = read_arms("moons")
    rates = {name: float(runs_of(table, f"published-{name}")["rate"][0]) for name in counts}
    cases = [
        {"similarity": name, "seed": _FIRST + number, "rate": rates[name], "root": root}
        for name, count in counts.items()
        for number in range(count)
    ]
    return Table.from_rows(Kind.STATISTICAL, sweep(_begun, cases, pool=scale == "paper"), units={"train_loss": "nat"})


def _begun(*, similarity: str, seed: int, rate: float, root: int) -> dict[str, Any]:
    made = train_moons(_NAMES[similarity], seed, rate=rate, epochs=EPOCHS, matching="parameters", root=root)
    return {"similarity": similarity, "seed": seed, "train_loss": made.train_loss, "score": made.accuracy}
