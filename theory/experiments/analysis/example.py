"""Three trained networks to look at, with dot-product, distance and metric-attention, and a linear classifier.

``python -m theory.experiments.analysis.example`` trains them again, in minutes, and writes them into the package. Data
and starts are those of seed 0, but all faces of a body are tokens, as when they are drawn; 40 epochs, at the learning
rate 0.003: of 0.001, 0.003 and 0.01, that at which the dot product does best with this seed. The classifier, by which
every face is told by itself, minimises the same loss with a penalty of half its squared coefficients over the number of
faces. Training magnifies rounding, so that another machine makes other networks.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from theory._extra import extra
from theory.evidence.files import write_whole
from theory.experiments.data.bodies import LABELS, Body
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.tasks.propagation import propagation_network
from theory.experiments.tasks.segmentation import DIM, WIDTH, Segmentation
from theory.experiments.tasks.task import Setting

Array = NDArray[np.float64]

PATH = Path(__file__).parent.parent / "results" / "segmentation-example.npz"
ATTENTIONS = ("self", "l2", "metric")
CLASSIFIERS = ("linear", *ATTENTIONS)
RATE = 3e-3


class Example(NamedTuple):
    """Mean and deviation of the inputs over the training meshes, and trained parameters by attention."""

    centre: Array
    scales: Array
    parameters: dict[str, Array]

    def labels(self, name: str, body: Body) -> NDArray[np.int64]:
        """Return what one of the ``CLASSIFIERS`` takes the faces of a body for."""
        inputs = (describe_faces(body.vertices, body.faces) - self.centre) / self.scales
        theta = self.parameters[name]
        if name == "linear":
            scores = inputs @ theta[:-1] + theta[-1]
        else:
            network = propagation_network(_setting(name), len(NAMES), len(LABELS), dim=DIM, width=WIDTH)
            scores = network.predict(theta, inputs)
        return np.asarray(scores.argmax(axis=-1))


def train_example(scale: str = "paper") -> Example:
    """Train all networks, and fit the classifier."""
    task = Segmentation()
    bodies = task.bodies(0, scale)[0]
    known = np.concatenate([describe_faces(body.vertices, body.faces) for body in bodies])
    parameters = {"linear": _fit((known - known.mean(axis=0)) / known.std(axis=0), [body.labels for body in bodies])}
    for attention in ATTENTIONS:
        learner = task.learner(_setting(attention, scale), tokens=len(known))  # all faces, since all are drawn
        for _ in range(task.epochs(scale)):
            learner.advance()
        parameters[attention] = learner.theta
    return Example(known.mean(axis=0), known.std(axis=0), parameters)


def store_example(example: Example, path: Path = PATH) -> None:
    """Write an example; parameters keep the digits of single precision."""
    single = {name: theta.astype(np.float32) for name, theta in example.parameters.items()}
    stored = io.BytesIO()
    np.savez_compressed(stored, centre=example.centre, scales=example.scales, **single)
    write_whole(path, stored.getvalue())


def load_example(path: Path = PATH) -> Example:
    """Read an example.

    Raises
    ------
    FileNotFoundError
        If there is none; the message names the command that makes it.
    ValueError
        If the file is something else; the message names it.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: expected trained networks, found no such file; python -m theory.experiments.analysis.example"
        )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            parts = {name: np.asarray(stored[name], dtype=np.float64) for name in ("centre", "scales", *CLASSIFIERS)}
    except Exception as error:  # NumPy and zipfile raise whatever they stumble over
        raise ValueError(f"{path}: expected trained networks, got a damaged file: {error!r}") from error
    return Example(parts.pop("centre"), parts.pop("scales"), parts)


def _fit(inputs: Array, parts: list[NDArray[np.int64]]) -> Array:
    """Return the coefficients of the linear classifier, its constant below them, (inputs + 1, classes)."""
    fitted = extra("sklearn.linear_model").LogisticRegression(max_iter=10_000).fit(inputs, np.concatenate(parts))
    return np.vstack([fitted.coef_.T, fitted.intercept_])


def _setting(attention: str, scale: str = "paper") -> Setting:
    return Setting("segmentation", attention, 0, RATE, scale=scale)


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        store_example(train_example())
