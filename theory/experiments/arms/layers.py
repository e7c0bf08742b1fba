"""Layers of attention of a block that is trained here, with the tokens that reach them, as a file for certificates.

The network is the arm ``block-dot`` of one task, with the data, the starts and the budget of its first run and the rate
that its search chose. Tokens are those of the first test set, after the normalisation of each layer; after it no token
of any data is longer than root d times the largest scale plus the length of the shift, which is the radius.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theory._extra import extra
from theory._validate import as_count, as_positive
from theory.evidence.files import write_whole
from theory.experiments.arms.arm import find_arm
from theory.experiments.arms.lessons import Lessons
from theory.experiments.arms.network import Networks
from theory.experiments.arms.plan import budget
from theory.experiments.arms.training import losses

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

_ARM = "block-dot"


class _Watched(Networks):
    """Networks that keep what their layers of attention are given."""

    given: list[Tensor]

    def _means(self, h: Tensor, scored: list[Tensor], values: Tensor) -> Tensor:
        self.given.append(h.detach())
        return super()._means(h, scored, values)


def train_layers(path: Path, task: str, *, rate: float, epochs: int | None = None) -> float:
    """Train the network of a task and write its layers; return the share of test tokens that it recognises.

    Parameters
    ----------
    path : Path
        File of NumPy's ``.npz``: for every layer, numbered from 1, ``1.w_query`` and so on, ``1.tokens``,
        ``1.radius``; and ``score``, the share.
    task : str
        One of the plan with data of its own.
    rate : float
        Learning rate.
    epochs : int, optional
        Those of the plan unless given.

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range, or there is no such task.
    """
    own = budget(task, "paper")
    lessons = Lessons(task, (0,))
    arm = find_arm(_ARM)
    networks = _Watched(arm, lessons.sizes, lessons.starts(), lessons.inner(arm))
    adam = torch.optim.Adam(networks.parameters(), lr=as_positive(rate, "rate"), weight_decay=own.decay)
    sets = {
        part: (torch.tensor(x, dtype=torch.float32), torch.from_numpy(y)) for part, (x, y) in lessons.sets().items()
    }
    x, y = sets["train"]
    orders = lessons.orders()
    for _ in range(own.epochs if epochs is None else as_count(epochs, "epochs")):
        for places in lessons.deal(orders, *y.shape[1:])[0]:
            networks.given = []
            adam.zero_grad()
            points, classes = x.flatten(1, 2)[:, places][:, None], y.flatten(1, 2)[:, places][:, None]
            losses(networks(points), classes).sum().backward()
            adam.step()
    with torch.no_grad():
        networks.given = []
        x, y = sets["test"]
        score = float((networks(x).argmax(dim=-1) == y).double().mean())
    stored = {"score": np.array(score)}
    pairs = zip(networks.mixed, networks.scored, networks.given, strict=True)
    for number, (mixed, scored, given) in enumerate(pairs, start=1):
        scale, shift, value, output = (_array(p) for p in [*mixed.parameters()][:4])
        query, key = (_array(p) for p in scored.parameters())
        radius = np.sqrt(scale.size) * np.abs(scale).max() + np.linalg.norm(shift)
        layer = {"w_query": query.T, "w_key": key.T, "w_value": value.T, "w_out": output.T}
        layer |= {"tokens": given[0, 0].double().numpy(), "radius": np.nextafter(radius, np.inf)}
        stored |= {f"{number}.{name}": array for name, array in layer.items()}
    out = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(array, dtype=np.float64) for name, array in stored.items()}
    np.savez_compressed(out, **arrays)
    write_whole(path, out.getvalue())
    return score


def _array(parameter: Tensor) -> np.ndarray:
    return np.asarray(parameter.detach()[0].double().numpy())
