r"""Segmentation of human meshes: which part of the body a face belongs to.

The tokens of a set are 200 faces of one body, drawn without replacement, and attend to each other; the cost of a run
grows with their square. What is said about a face is in :mod:`theory.experiments.data.faces`, computed on the whole
mesh; every input is standardised by mean and deviation over all faces of the training meshes.

By default bodies are generated (:mod:`theory.experiments.data.bodies`), all fresh for every seed; training,
validation and test bodies share none. With ``data`` they come from the published collection
(:mod:`theory.experiments.data.human_benchmark`): a run draws as many training meshes as of generated ones from those
for training, validation meshes from the rest of them, and test meshes from those for testing.

From the paper: queries, keys and hidden layer of width 64, Adam with learning rate 0.001 and weight decay 0.0001,
cross-entropy. It does not say which faces attend to each other, what is said about them, the dimension of a token, or
how long training took. Here tokens have dimension 64, there are two blocks of attention, and a step sees one mesh.

``noisy_1`` and ``noisy_2`` are the accuracies on the test meshes with Gaussian noise in every coordinate of the
vertices, of standard deviation 0.01 and 0.02 for a body of unit area, and everything said about faces computed from
what it makes of them; an adult has about 1.9 square metres, for whom this is 14 and 28 mm.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, section 6 and appendix A; H. Maron et al., ACM Trans. Graphics 36, 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theory.evidence.streams import ROOT, stream
from theory.experiments.data import human_benchmark
from theory.experiments.data.bodies import LABELS, Body, draw_bodies
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.data.segments import segment_sets
from theory.experiments.tasks.propagation import Array, Labels, PropagationLearner, propagation_network
from theory.experiments.tasks.task import Setting, Variant, variants_without

TRAIN = {"quick": 4, "paper": 16}  # meshes
TEST = {"quick": 4, "paper": 8}
TOKENS = 200  # of a mesh; generated ones have 408 faces
FURTHER = {"noisy_1": 0.01, "noisy_2": 0.02}  # standard deviations, in units of the square root of the area
DIM = WIDTH = 64
DECAY = 1e-4


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The task.

    Parameters
    ----------
    data : path, optional
        Folder of the published data; without, bodies are generated.
    root : int
        Entropy of every random stream.

    Raises
    ------
    ValueError
        If the folder lacks something; the message names it.
    """

    data: Path | None = None
    root: int = ROOT

    def __post_init__(self) -> None:
        if self.data is not None:
            for split in ("train", "test"):
                human_benchmark.entries(self.data, split)

    @property
    def name(self) -> str:
        """The word by which the command line knows it."""
        return "segmentation"

    @property
    def columns(self) -> Mapping[str, str]:
        """What a learner measures, with units."""
        return {"train_loss": "nat", "test_loss": "nat"} | dict.fromkeys(("accuracy", *FURTHER), "1")

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What is compared: all but self-attention from another start, which takes as long as any other."""
        return variants_without("again")

    def epochs(self, scale: str) -> int:
        """Return the budget of a run."""
        return 40 if scale == "paper" else 10

    def every(self, scale: str) -> int:
        """Return after how many epochs a curve has its next point."""
        return 8 if scale == "paper" else 5

    def seeds(self, scale: str) -> int:
        """Return how many runs there are of every kind."""
        return 24 if scale == "paper" else 16

    def tuning_seeds(self, scale: str) -> int:  # noqa: ARG002  the same at either scale
        """Return how many runs decide on a rate."""
        return 2

    @property
    def published_rate(self) -> float:
        """The learning rate that the paper states."""
        return 1e-3

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates among which every attention may choose, on validation data."""
        return 3e-4, 1e-3, 3e-3, 1e-2

    def bodies(self, seed: int, scale: str, *, validation: bool = False) -> tuple[list[Body], list[Body]]:
        """Return the meshes of a run, for training and for testing.

        Validation meshes are other ones than those for testing, and than those for training.
        """
        rng = stream("metric.segmentation", seed, root=self.root)
        train = TRAIN[scale]
        test = TEST[scale]
        if self.data is None:
            learned = draw_bodies(rng, train)
            if validation:
                rng = stream("metric.segmentation.validation", seed, root=self.root)
            return learned, draw_bodies(rng, test)
        known, held = (human_benchmark.entries(self.data, split) for split in ("train", "test"))
        chosen = _chosen(known, train + test, "train", rng)
        others = chosen[train:] if validation else _chosen(held, test, "test", rng)
        return [_read(entry) for entry in chosen[:train]], [_read(entry) for entry in others]

    def sets(
        self, seed: int, scale: str, *, validation: bool = False, tokens: int = TOKENS
    ) -> dict[str, tuple[Array, Labels]]:
        """Return ``train`` and ``test``, and further test data by the column of their accuracy.

        Each is a pair of standardised inputs, (meshes, tokens, 10), and classes, (meshes, tokens); all faces are tokens
        of a mesh that has no more than so many.
        """
        train, test = self.bodies(seed, scale, validation=validation)
        name = "metric.segmentation.tokens" + (".validation" if validation else "")
        rng = stream(name, seed, root=self.root)
        return segment_sets(train, test, FURTHER, tokens, rng)

    def learner(self, setting: Setting, *, validation: bool = False, tokens: int = TOKENS) -> PropagationLearner:
        """Make the learner of a setting at epoch zero; with ``validation`` the test data are validation data.

        Permuted labels are those of another face of the same mesh; the test labels stay.

        Raises
        ------
        ValueError
            If the setting has an attention that this network has not, or a mesh is no connected surface.
        """
        sets = self.sets(setting.seed, setting.scale, validation=validation, tokens=tokens)
        (x, y), test = sets.pop("train"), sets.pop("test")
        if setting.labels == "permuted":
            y = stream("metric.segmentation.permuted", setting.seed, root=self.root).permuted(y, axis=1)
        start = "metric.segmentation.again" if setting.attention == "again" else "metric.segmentation.start"
        return PropagationLearner(
            propagation_network(setting, len(NAMES), len(LABELS), dim=DIM, width=WIDTH),
            (x, y),
            test,
            sets,
            rate=setting.rate,
            decay=DECAY,
            start=stream(start, setting.seed, root=self.root),
            order=stream("metric.segmentation.order", setting.seed, root=self.root),
        )


def _chosen(
    entries: Sequence[human_benchmark.Entry], count: int, split: str, rng: np.random.Generator
) -> list[human_benchmark.Entry]:
    if len(entries) < count:
        raise ValueError(f"data: expected at least {count} meshes in meshes/{split}, got {len(entries)}")
    return [entries[place] for place in rng.permutation(len(entries))[:count].tolist()]


def _read(entry: human_benchmark.Entry) -> Body:
    """Read a mesh, and refuse it by name if its faces cannot be described or are too few."""
    body = human_benchmark.read(entry)
    if len(body.faces) < TOKENS:
        raise ValueError(f"{entry.mesh}: expected at least {TOKENS} faces, got {len(body.faces)}")
    try:
        describe_faces(body.vertices, body.faces)
    except ValueError as error:
        raise ValueError(f"{entry.mesh}: {error}") from error
    return body
