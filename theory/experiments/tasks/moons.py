r"""Two moons: points of the plane on two interleaved half circles, labelled by the half circle they belong to.

With angles :math:`t` at equal steps on :math:`[0, \pi]`, class 0 is :math:`(\cos t, \sin t)` and class 1 is
:math:`(1 - \cos t, \tfrac12 - \sin t)`, half of the points each, in random order, with Gaussian noise of standard
deviation 0.2 in every coordinate.

From the paper: 400 points for training and 100 for testing, queries, keys and hidden layer of width 10, Adam with
learning rate 0.001 and weight decay 0.0001, cross-entropy. It does not say which points attend to each other, the
dimension of a token, or how long training took. Here a token set is a batch of 100 points: an epoch deals the 400
points to four sets and takes a step with each. Tokens have dimension 10, there are two blocks of attention.

One set of 100 test points would leave a standard error of up to 0.05 in an accuracy. So the test data are ten sets of
100 points; the first is the paper's, with a column of its own, ``accuracy_100``. ``noisy_1`` and ``noisy_2`` are the
accuracies on the same ten sets with more noise, of standard deviation 0.1 and 0.3, that training has not seen.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theory.evidence.streams import ROOT, stream
from theory.experiments.data.moons import draw_two_moons
from theory.experiments.tasks.propagation import Array, Labels, PropagationLearner, permute_labels, propagation_network
from theory.experiments.tasks.task import Setting

NOISE = 0.2
TOKENS = 100  # points that attend to each other
TRAIN, TEST = 4, 10  # token sets
FURTHER = {"noisy_1": 0.1, "noisy_2": 0.3}  # standard deviations
DIM = WIDTH = 10
DECAY = 1e-4


@dataclass(frozen=True, slots=True)
class Moons:
    """The task.

    Parameters
    ----------
    data : path, optional
        There are no published data; anything but ``None`` is refused.
    root : int
        Entropy of every random stream.

    Raises
    ------
    ValueError
        If ``data`` is given.
    """

    data: Path | None = None
    root: int = ROOT

    def __post_init__(self) -> None:
        if self.data is not None:
            raise ValueError(f"data: expected none, since the moons are drawn, got {self.data}")

    @property
    def name(self) -> str:
        """The word by which the command line knows it."""
        return "moons"

    @property
    def columns(self) -> Mapping[str, str]:
        """What a learner measures, with units."""
        scores = ("accuracy", "accuracy_100", *FURTHER)
        return {"train_loss": "nat", "test_loss": "nat"} | dict.fromkeys(scores, "1")

    def epochs(self, scale: str) -> int:
        """Return the budget of a run.

        In 16 pilots at the published rate, with seeds that no run has, dot-product attention answered at random for 50
        epochs, from some starts for 100 or 250, from none for 500; the training loss of metric-attention still fell by
        a tenth from 250 to 500, its accuracy rose no more.
        """
        return 500 if scale == "paper" else 100

    def every(self, scale: str) -> int:
        """Return after how many epochs a curve has its next point."""
        return 25 if scale == "paper" else 50

    def seeds(self, scale: str) -> int:
        """Return how many runs there are of every kind."""
        return 128 if scale == "paper" else 16

    def tuning_seeds(self, scale: str) -> int:
        """Return how many runs decide on a rate: some of dot-product attention end on a plateau, by chance."""
        return 24 if scale == "paper" else 2

    @property
    def published_rate(self) -> float:
        """The learning rate that the paper states."""
        return 1e-3

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates among which every attention may choose, on validation data."""
        return 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1

    def sets(self, seed: int, *, validation: bool = False) -> dict[str, tuple[Array, Labels]]:
        """Return ``train`` and ``test``, and further test data by the column of their accuracy.

        All validation data are fresh points; they share none with the test data.
        """
        rng = stream("metric.moons", seed, root=self.root)
        x, y = draw_two_moons(TRAIN * TOKENS, NOISE, rng)
        if validation:
            rng = stream("metric.moons.validation", seed, root=self.root)
        drawn = [draw_two_moons(TOKENS, NOISE, rng) for _ in range(TEST)]
        test = np.stack([points for points, _ in drawn])
        labels = np.stack([classes for _, classes in drawn])
        noise = rng.standard_normal(test.shape)
        return {
            "train": (x.reshape(TRAIN, TOKENS, 2), y.reshape(TRAIN, TOKENS)),
            "test": (test, labels),
            "accuracy_100": (test[:1], labels[:1]),
        } | {name: (test + size * noise, labels) for name, size in FURTHER.items()}

    def learner(self, setting: Setting, *, validation: bool = False) -> PropagationLearner:
        """Make the learner of a setting at epoch zero; with ``validation`` the test data are validation data.

        Raises
        ------
        ValueError
            If the setting has an attention that this network has not.
        """
        sets = self.sets(setting.seed, validation=validation)
        (x, y), test = sets.pop("train"), sets.pop("test")
        if setting.labels == "permuted":
            y = permute_labels(y, stream("metric.moons.permuted", setting.seed, root=self.root))
        start = "metric.moons.again" if setting.attention == "again" else "metric.moons.start"
        return PropagationLearner(
            propagation_network(setting, 2, 2, dim=DIM, width=WIDTH),
            (x, y),
            test,
            sets,
            rate=setting.rate,
            decay=DECAY,
            start=stream(start, setting.seed, root=self.root),
            order=stream("metric.moons.order", setting.seed, root=self.root),
            regroup=True,
        )
