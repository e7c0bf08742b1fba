"""Two trained networks to look at: one run of the segmentation task with dot-product and one with metric-attention.

``python -m theory.experiments.analysis.example`` trains them again, in a minute, and writes them into the package. Data
and starts are those of seed 0, but all faces of a body are tokens, as when they are drawn; 40 epochs, at the learning
rate 0.003: of 0.001, 0.003 and 0.01, that at which the dot product does best with this seed. Training magnifies
rounding, so that another machine makes other networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from theory.experiments.data.bodies import LABELS, Body
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.tasks.propagation import propagation_network
from theory.experiments.tasks.segmentation import DIM, WIDTH, Segmentation
from theory.experiments.tasks.task import Setting

Array = NDArray[np.float64]

PATH = Path(__file__).parent.parent / "results" / "segmentation-example.npz"
ATTENTIONS = ("self", "metric")
RATE = 3e-3


class Example(NamedTuple):
    """Mean and deviation of the inputs over the training meshes, and trained parameters by attention."""

    centre: Array
    scales: Array
    parameters: dict[str, Array]

    def labels(self, attention: str, body: Body) -> NDArray[np.int64]:
        """Return what a network takes the faces of a body for."""
        inputs = (describe_faces(body.vertices, body.faces) - self.centre) / self.scales
        network = propagation_network(_setting(attention), len(NAMES), len(LABELS), dim=DIM, width=WIDTH)
        return np.asarray(network.predict(self.parameters[attention], inputs).argmax(axis=-1))


def train_example(scale: str = "paper") -> Example:
    """Train both networks."""
    task = Segmentation()
    known = np.concatenate([describe_faces(body.vertices, body.faces) for body in task.bodies(0, scale)[0]])
    parameters = {}
    for attention in ATTENTIONS:
        learner = task.learner(_setting(attention, scale), tokens=len(known))  # all faces, since all are drawn
        for _ in range(task.epochs(scale)):
            learner.advance()
        parameters[attention] = learner.theta
    return Example(known.mean(axis=0), known.std(axis=0), parameters)


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


def _setting(attention: str, scale: str = "paper") -> Setting:
    return Setting("segmentation", attention, 0, RATE, scale=scale)


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        store_example(train_example())
