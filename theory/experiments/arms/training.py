"""Training of all runs of one arm at one rate, with PyTorch's Adam, for a number of steps that is fixed before.

Runs are measured at ten equally spaced times and at the start. One whose training or test loss is not finite at some
time has diverged: from there on all that would have been measured is ``inf`` for losses and ``nan`` for scores, so
that no mean over runs can lose it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._extra import extra
from theory._validate import as_count, as_number, as_positive
from theory.experiments.arms.arm import Arm
from theory.experiments.arms.lessons import Lessons
from theory.experiments.arms.network import Networks

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

Array = NDArray[np.float64]
TIMES = 10  # so that the last of them tell what the last tenth of the training changed
COLUMNS = ("train_loss", "test_loss", "score", "noisy")  # losses in nat, shares of tokens recognised
_TOGETHER = 2  # sets measured at a time, for the memory


class Trained(NamedTuple):
    """What came of some runs.

    ``epochs`` are the ``TIMES + 1`` epochs at which they were measured; ``measured`` has shape (runs, times, columns);
    ``parameters`` is how many numbers one run trains.
    """

    epochs: tuple[int, ...]
    measured: Array
    parameters: int

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which runs have diverged, (runs,)."""
        return np.asarray(~np.isfinite(self.measured[:, -1, 0]))


def train(arm: Arm, lessons: Lessons, *, rate: float, epochs: int, decay: float) -> Trained:
    """Train.

    Parameters
    ----------
    arm : Arm
    lessons : Lessons
        Data, order and starts of the runs.
    rate : float
        Learning rate, positive.
    epochs : int
        A positive multiple of ``TIMES``. A step sees one set of every run.
    decay : float
        Of the weights, as Adam has it, not negative.

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range.
    """
    rate = as_positive(rate, "rate")
    epochs = as_count(epochs, "epochs", least=TIMES)
    if epochs % TIMES:
        raise ValueError(f"epochs: expected a multiple of {TIMES}, got {epochs}")
    if as_number(decay, "decay") < 0.0:
        raise ValueError(f"decay: expected a number that is not negative, got {decay}")
    networks = Networks(arm, lessons.sizes, lessons.starts(), lessons.inner(arm))
    adam = torch.optim.Adam(networks.parameters(), lr=rate, weight_decay=decay)
    sets = {part: _tensors(*pair) for part, pair in lessons.sets().items()}
    orders = lessons.orders()
    times = tuple(range(0, epochs + 1, epochs // TIMES))
    rows = [_measure(networks, sets)]
    for epoch in range(1, epochs + 1):
        x, y = sets["train"]
        for points, classes in _epoch(x, y, lessons.deal(orders, *y.shape[1:])):
            adam.zero_grad()
            losses(networks(points), classes).sum().backward()
            adam.step()
        if epoch in times:
            rows.append(_measure(networks, sets))
    return Trained(times, _marked(np.stack(rows, axis=1)), networks.parameters_each)


def losses(scores: Tensor, classes: Tensor) -> Tensor:
    """Return the mean cross-entropy of every run, in nat, of scores (runs, sets, n, classes)."""
    each = torch.nn.functional.cross_entropy(scores.flatten(0, -2), classes.flatten(), reduction="none")
    mean: Tensor = each.view(len(classes), -1).mean(dim=1)
    return mean


def _epoch(x: Tensor, y: Tensor, places: NDArray[np.int64]) -> list[tuple[Tensor, Tensor]]:
    """Return the steps of an epoch: one set of every run each."""
    flat = x.flatten(1, 2)
    labels = y.flatten(1, 2)
    runs = torch.arange(len(x))[:, None]
    dealt = torch.from_numpy(places)
    steps = range(dealt.shape[1])
    return [(flat[runs, dealt[:, step]][:, None], labels[runs, dealt[:, step]][:, None]) for step in steps]


@torch.no_grad()
def _measure(networks: Networks, sets: dict[str, tuple[Tensor, Tensor]]) -> Array:
    """Return the columns of every run now, (runs, columns)."""
    found = {part: _judged(networks, *pair) for part, pair in sets.items()}
    columns = (found["train"][0], found["test"][0], found["test"][1], found["noisy"][1])
    return np.stack(columns, axis=1)


def _judged(networks: Networks, x: Tensor, y: Tensor) -> tuple[Array, Array]:
    """Return the mean loss of every run, and the share of tokens that it recognises."""
    loss = np.zeros(len(y))
    right = np.zeros(len(y))
    for first in range(0, y.shape[1], _TOGETHER):
        part = slice(first, first + _TOGETHER)
        scores = networks(x[:, part])
        share = y[:, part].shape[1] / y.shape[1]
        loss += share * losses(scores, y[:, part]).double().numpy()
        right += share * (scores.argmax(dim=-1) == y[:, part]).double().mean(dim=(1, 2)).numpy()
    return loss, right


def _marked(measured: Array) -> Array:
    """Mark runs from where a loss was not finite."""
    lost = ~np.isfinite(measured[..., :2]).all(axis=-1)
    lost = np.logical_or.accumulate(lost, axis=1)
    marks = np.array([np.inf, np.inf, np.nan, np.nan])
    return np.where(lost[..., None], marks, measured)


def _tensors(points: Array, classes: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    return torch.tensor(points, dtype=torch.float32), torch.from_numpy(classes)
