"""Three trained networks to look at, with dot-product, distance and metric-attention, and a linear map beside them.

``python -m theory.experiments.analysis.example`` trains them again, in a minute, and writes them into the package. They
tell the parts of bodies. The tokens of a set are all faces of one of 16 generated bodies; 40 epochs, at the learning
rate 0.003: of 0.001, 0.003 and 0.01, that at which the dot product does best with this seed. The linear map tells every
face by itself: it minimises the cross-entropy and half its squared coefficients over the number of faces. Training
magnifies rounding, so that another machine makes other networks.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from theory._extra import extra
from theory.evidence.files import write_whole
from theory.evidence.streams import stream
from theory.experiments.data.bodies import LABELS, Body, draw_bodies
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.published import published_network, train_network
from theory.metric import InformationPropagation

Array = NDArray[np.float64]

PATH = Path(__file__).parent.parent / "results" / "segmentation-example.npz"
ATTENTIONS = ("self", "l2", "metric")
CLASSIFIERS = ("linear", *ATTENTIONS)
BODIES, EPOCHS = 16, 40
RATE = 3e-3
WIDTH = 64  # also the dimension of a token


class Example(NamedTuple):
    """Mean and deviation of the inputs over the training meshes, and trained parameters by attention."""

    centre: Array
    scales: Array
    parameters: dict[str, Array]

    def labels(self, name: str, body: Body) -> NDArray[np.int64]:
        """Return what one of the ``CLASSIFIERS`` takes the faces of a body for."""
        inputs = (describe_faces(body.vertices, body.faces) - self.centre) / self.scales
        theta = self.parameters[name]
        linear = name == "linear"
        scores = inputs @ theta[:-1] + theta[-1] if linear else example_network(name).predict(theta, inputs)
        return np.asarray(scores.argmax(axis=-1))


def example_network(attention: str) -> InformationPropagation:
    """Return the network, without parameters."""
    return published_network(attention, len(NAMES), len(LABELS), width=WIDTH)


def draw_example_bodies() -> list[Body]:
    """Return the bodies of the training."""
    return draw_bodies(stream("metric.segmentation", 0), BODIES)


def train_example(epochs: int = EPOCHS) -> Example:
    """Fit the linear map and train the networks."""
    bodies = draw_example_bodies()
    described = [describe_faces(body.vertices, body.faces) for body in bodies]
    known = np.concatenate(described)
    linear = _fit((known - known.mean(axis=0)) / known.std(axis=0), np.concatenate([body.labels for body in bodies]))
    made = Example(known.mean(axis=0), known.std(axis=0), {"linear": linear})
    x = (np.stack(described) - made.centre) / made.scales
    y = np.stack([body.labels for body in bodies])
    for attention in ATTENTIONS:
        network = example_network(attention)
        made.parameters[attention] = train_network(
            network, network.initial(stream("metric.segmentation.start", 0)), (x, y), rate=RATE, epochs=epochs,
            order=stream("metric.segmentation.order", 0), regroup=False,
        )  # fmt: skip
    return made


def store_example(example: Example, path: Path = PATH) -> None:
    """Write an example; parameters keep the digits of single precision."""
    single = {name: theta.astype(np.float32) for name, theta in example.parameters.items()}
    stored = io.BytesIO()
    arrays: dict[str, Any] = {"centre": example.centre, "scales": example.scales, **single}
    np.savez_compressed(stored, **arrays)
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


def _fit(inputs: Array, parts: NDArray[np.int64]) -> Array:
    """Return the coefficients of the linear map with its constants below them, (inputs + 1, classes)."""
    fitted = extra("sklearn.linear_model").LogisticRegression(max_iter=10_000).fit(inputs, parts)
    return np.vstack([fitted.coef_.T, fitted.intercept_])


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        store_example(train_example())
