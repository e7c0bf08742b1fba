"""What the choice of the regularised map does to a trained model: paired splits of the handwritten digits.

The digits are those of scikit-learn (1797 images of 8 by 8 pixels, UCI 1998), each a sequence of eight rows. A split
draws training, validation and held-out examples and the start of the optimisation; every map is trained on the same
ones, by the same optimiser, with the decay that does best on the validation examples. ``uniform`` averages the rows
without a look at them. No theorem rests on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.evidence import Kind, Table, stream, sweep
from theory.maxent.batch import Array
from theory.maxent.gibbs.softmax import log_softmax
from theory.maxent.layers.predictor import Predictor
from theory.maxent.layers.row_map import RowMap, row_map

CLASSES = 10
TRAIN = VALIDATE = 200
ITERATIONS = 60
STRENGTH = 0.1  # taken: of the fusion, a tenth of what one unit of score is worth
DECAYS = (3e-4, 1e-3, 3e-3)
USUAL = {"uniform": 3e-4, "softmax": 1e-3, "entmax15": 1e-3, "sparsemax": 3e-3, "fusedmax": 3e-3}
SIZES = {"quick": (32, ("uniform", "softmax", "entmax15", "sparsemax")), "paper": (48, tuple(USUAL))}


def prediction(*, scale: str, root: int) -> Table:
    """Return held-out accuracy and loss, and how many rows have weight, per split and map.

    ``shuffled`` is the accuracy against the labels of other examples. At quick scale every map has the decay that paper
    scale chooses most often; ``decay`` tells which one it was.
    """
    splits, names = SIZES[scale]
    x, y = digits()
    cases: list[dict[str, Any]] = [
        {"x": x, "y": y, "name": name, "split": split, "root": root, "decays": DECAYS if scale == "paper" else ()}
        for split in range(splits)
        for name in names
    ]
    rows = sweep(trained, cases) if scale == "paper" else [trained(**case) for case in cases]
    units = {"map": "1", "split": "1", "decay": "1", "accuracy": "1", "shuffled": "1", "loss": "nat", "rows": "1"}
    return Table(Kind.STATISTICAL, units, {name: [row[name] for row in rows] for name in units})


def digits() -> tuple[Array, NDArray[np.int64]]:
    """Return the images, (1797, 8, 8), with pixels in [0, 1], and their classes."""
    loaded = import_module("sklearn.datasets").load_digits()
    return np.asarray(loaded.images, dtype=np.float64) / 16.0, np.asarray(loaded.target, dtype=np.int64)


def trained(
    *, x: Array, y: NDArray[np.int64], name: str, split: int, root: int, decays: tuple[float, ...]
) -> dict[str, Any]:
    """Train one map on one split and measure it on what was held out."""
    model = Predictor(_map(name), x.shape[1], x.shape[2], CLASSES, width=8, heads=4)
    rng = stream("studies.prediction", split, root=root)
    order = rng.permutation(len(x))
    start = int(rng.integers(2**31))
    train, validate, held = np.split(order, [TRAIN, TRAIN + VALIDATE])
    target = np.eye(CLASSES)[y]
    best: dict[str, Any] = {}
    for decay in decays or (USUAL[name],):
        fit = model.fit(x[train], target[train], decay=decay, iterations=ITERATIONS, rng=np.random.default_rng(start))
        logs = log_softmax(model.predict(fit.parameters, x[validate]).scores)
        loss = -float(logs[np.arange(len(validate)), y[validate]].mean())
        if not best or loss < best["validation"]:
            best = {"validation": loss, "decay": decay, "parameters": fit.parameters}
    scores, weights = model.predict(best["parameters"], x[held])
    guess = scores.argmax(axis=1)
    logs = log_softmax(scores)
    return {
        "map": name,
        "split": split,
        "decay": best["decay"],
        "accuracy": float((guess == y[held]).mean()),
        "shuffled": float((guess == np.roll(y[held], 1)).mean()),
        "loss": -float(logs[np.arange(len(held)), y[held]].mean()),
        "rows": float((weights > 0.0).sum(axis=2).mean()),
    }


def _map(name: str) -> RowMap:
    if name == "uniform":
        return RowMap(_uniform, _still)
    return row_map(name, strength=STRENGTH, alpha=2.0) if name == "fusedmax" else row_map(name)


def _uniform(scores: ArrayLike) -> Array:
    s = np.asarray(scores, dtype=np.float64)
    return np.full(s.shape, 1.0 / s.shape[-1])


def _still(law: ArrayLike, cotangent: ArrayLike) -> Array:  # noqa: ARG001  the law does not move
    return np.zeros(np.shape(cotangent))
