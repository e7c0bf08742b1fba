"""Two trained networks to look at: one with dot-product and one with metric-attention, for the parts of bodies.

``python -m theory.experiments.analysis.example`` trains them again, in a minute, and writes them into the package. The
tokens of a set are all faces of one of 16 generated bodies; 40 epochs, at the learning rate 0.003: of 0.001, 0.003 and
0.01, that at which the dot product does best with this seed. Training magnifies rounding, so that another machine makes
other networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from theory.evidence.streams import stream
from theory.experiments.data.bodies import LABELS, Body, draw_bodies
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.published import published_network, train_network
from theory.metric import InformationPropagation

Array = NDArray[np.float64]

PATH = Path(__file__).parent.parent / "results" / "segmentation-example.npz"
ATTENTIONS = ("self", "metric")
BODIES, EPOCHS = 16, 40
RATE = 3e-3
WIDTH = 64  # also the dimension of a token


class Example(NamedTuple):
    """Mean and deviation of the inputs over the training meshes, and trained parameters by attention."""

    centre: Array
    scales: Array
    parameters: dict[str, Array]

    def labels(self, attention: str, body: Body) -> NDArray[np.int64]:
        """Return what a network takes the faces of a body for."""
        inputs = (describe_faces(body.vertices, body.faces) - self.centre) / self.scales
        network = example_network(attention)
        return np.asarray(network.predict(self.parameters[attention], inputs).argmax(axis=-1))


def example_network(attention: str) -> InformationPropagation:
    """Return the network, without parameters."""
    return published_network(attention, len(NAMES), len(LABELS), width=WIDTH)


def draw_example_bodies() -> list[Body]:
    """Return the bodies of the training."""
    return draw_bodies(stream("metric.segmentation", 0), BODIES)


def train_example(epochs: int = EPOCHS) -> Example:
    """Train both networks."""
    bodies = draw_example_bodies()
    described = [describe_faces(body.vertices, body.faces) for body in bodies]
    known = np.concatenate(described)
    made = Example(known.mean(axis=0), known.std(axis=0), {})
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
    np.savez_compressed(
        path, centre=example.centre, scales=example.scales, self=single["self"], metric=single["metric"]
    )


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
            f"{path}: expected two trained networks, found no such file; python -m theory.experiments.analysis.example"
        )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            parts = {name: np.asarray(stored[name], dtype=np.float64) for name in ("centre", "scales", *ATTENTIONS)}
    except Exception as error:  # NumPy and zipfile raise whatever they stumble over
        raise ValueError(f"{path}: expected two trained networks, got a damaged file: {error!r}") from error
    return Example(parts.pop("centre"), parts.pop("scales"), parts)


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        store_example(train_example())
