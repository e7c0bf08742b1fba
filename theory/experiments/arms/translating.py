"""Training of all runs of one arm on sentences: the networks of the other tasks, with a mask.

A network sees the symbols of a source and those of its target so far, as one row of tokens, and scores the next symbol
at every place of the target. Every token sees the whole source, a token of the target also itself and those before it
in the target; nothing sees a place that is only filled up. The loss is the mean cross-entropy of the symbols of the
targets, their ends included, in nat.

A greedy translation, the likeliest symbol one after the other, is without fault if and only if the likeliest symbol is
the right one at every place behind the right symbols: so the shares of ``score`` and ``noisy`` are read off the same
scores as the loss, at no cost of decoding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theory._extra import extra
from theory._validate import as_count, as_number, as_positive
from theory.experiments.arms.arm import Arm
from theory.experiments.arms.network import _SCORES, Networks, _rows
from theory.experiments.arms.sentences import END, SOURCE, TOGETHER, Sentences, symbols
from theory.experiments.arms.training import TIMES, Trained, _marked

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

Array = NDArray[np.float64]
_FAR = 100.0  # below the largest score: no law of entmax reaches farther than 2
_AT_ONCE = 100  # sentences measured at a time, for the memory


class Translators(Networks):
    """The networks of one arm, one for every run, whose tokens are symbols at their places."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the next symbol, (runs, sentences, n, classes), of symbols (runs, sentences, n)."""
        runs, sentences, n = x.shape
        self.visible = visible(x)
        places = torch.eye(n, dtype=self.dtype).expand(runs, sentences, n, n)
        tokens = torch.cat([torch.eye(self.sizes.inputs - n, dtype=self.dtype)[x], places], dim=-1)
        found: Tensor = super().forward(tokens.flatten(1, 2)[:, None])  # one long set: larger products of matrices
        return found.view(runs, sentences, n, -1)

    def _means(self, h: Tensor, scored: list[Tensor], values: Tensor) -> Tensor:
        shape = (*self.visible.shape[:2], self.visible.shape[-1], -1)
        scores = hide(_SCORES[self.arm.similarity](h.view(shape), *scored), self.visible, self.arm.similarity)
        means: Tensor = _rows(self.arm.similarity, scores) @ values.view(shape)
        return means.view(values.shape)


def visible(x: Tensor) -> Tensor:
    """Return which place of a row, the last axis, is seen from which one, (runs, sentences, n, n)."""
    n = x.shape[-1]
    source = torch.arange(n) < SOURCE
    return (source & (x != END))[..., None, :] | (~source & torch.ones(n, n, dtype=torch.bool).tril())


def hide(scores: Tensor, seen: Tensor, similarity: str) -> Tensor:
    """Return scores whose law has weight exactly 0 where nothing is to be seen."""
    hidden = scores.masked_fill(~seen, -math.inf)
    if similarity != "entmax":
        return hidden
    return (scores - hidden.amax(dim=-1, keepdim=True).detach()).masked_fill(~seen, -_FAR)  # it squares its scores


def translate(arm: Arm, lessons: Sentences, *, rate: float, epochs: int, decay: float) -> Trained:
    """Train, as :func:`theory.experiments.arms.training.train` does on the other tasks.

    Parameters
    ----------
    arm : Arm
    lessons : Sentences
        Data, order and starts of the runs.
    rate : float
        Learning rate, positive.
    epochs : int
        A positive multiple of ``TIMES``. A step sees ``TOGETHER`` sentences of every run.
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
    networks = Translators(arm, lessons.sizes, lessons.starts(), lessons.inner(arm))
    adam = torch.optim.Adam(networks.parameters(), lr=rate, weight_decay=decay)
    parts = {part: tensors(*pair) for part, pair in lessons.sets().items()}
    orders = lessons.orders()
    times = tuple(range(0, epochs + 1, epochs // TIMES))
    rows = [_measure(networks, parts)]
    x, y = parts["train"]
    runs = torch.arange(len(x))[:, None]
    for epoch in range(1, epochs + 1):
        for places in torch.from_numpy(lessons.deal(orders, x.shape[1] // TOGETHER, TOGETHER)).unbind(dim=1):
            adam.zero_grad()
            total, count, _ = judge(networks, x[runs, places], y[runs, places])
            (total / count).sum().backward()
            adam.step()
        if epoch in times:
            rows.append(_measure(networks, parts))
    return Trained(times, _marked(np.stack(rows, axis=1)), networks.parameters_each)


def judge(networks: Networks, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the cross-entropy of every run, summed, of how many symbols, and how many sentences have no fault.

    Parameters
    ----------
    networks : Networks
    x : Tensor
        Symbols (runs, sentences, SOURCE + TARGET), those of a target one place late.
    y : Tensor
        Symbols of the targets, (runs, sentences, TARGET).
    """
    scores = networks(x)[..., SOURCE:, :]
    told = x[..., SOURCE:] != END
    each = torch.nn.functional.cross_entropy(scores.flatten(0, -2), y.flatten(), reduction="none").view(y.shape)
    right = ((scores.argmax(dim=-1) == y) | ~told).all(dim=-1)
    return torch.where(told, each, 0.0).sum(dim=(1, 2)), told.sum(dim=(1, 2)), right.sum(dim=1)


@torch.no_grad()
def _measure(networks: Networks, parts: dict[str, tuple[Tensor, Tensor]]) -> Array:
    """Return the columns of every run now, (runs, columns)."""
    found = {part: _judged(networks, *pair) for part, pair in parts.items()}
    columns = (found["train"][0], found["test"][0], found["test"][1], found["noisy"][1])
    return np.stack(columns, axis=1)


def _judged(networks: Networks, x: Tensor, y: Tensor) -> tuple[Array, Array]:
    """Return the mean loss of every run, and the share of sentences without a fault."""
    pieces = zip(x.split(_AT_ONCE, dim=1), y.split(_AT_ONCE, dim=1), strict=True)
    totals, counts, rights = zip(*(judge(networks, *piece) for piece in pieces), strict=True)
    loss = sum(total.double() for total in totals) / sum(counts)
    return loss.numpy(), (sum(rights).double() / y.shape[1]).numpy()


def tensors(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    """Return what networks see, (runs, sentences, SOURCE + TARGET), and what they are to say."""
    start = np.full((*targets.shape[:-1], 1), symbols()["<start>"])
    return torch.from_numpy(np.concatenate([sources, start, targets[..., :-1]], axis=-1)), torch.from_numpy(targets)
