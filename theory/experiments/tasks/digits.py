"""Images of handwritten digits: every image is a token, which attends to the others of its set.

By default the 1797 images of 8 x 8 pixels that come with scikit-learn, split anew for every seed into 1000 for
training, 297 for validation and 500 for testing; so two seeds share images, an interval over seeds is one over
splits of these images, and those that choose a learning rate are among those of a final run's test. From a folder,
MNIST or a relative of it in four IDX files, packed or not; a sixth of its training images, other ones for every seed,
are kept for validation. Pixels lie between 0 and 1.

From the paper, for MNIST: queries, keys and hidden layer of width 100, Adam with learning rate 0.0001 and weight decay
0.0001, cross-entropy. It does not say which images attend to each other, the dimension of a token, or how long
training took. Here a token set is a batch of 100 images (three sets of 99 in the validation of the small images): an
epoch deals the training images to new sets and takes a step with each. There are two blocks of attention; tokens have
the dimension 100 on MNIST, while the small images have dimension and width 32, half the number of their pixels.

``noisy_1`` and ``noisy_2`` are the accuracies on the test images with Gaussian noise in every pixel, of standard
deviation 0.2 and 0.5, that training has not seen; noise may leave the range of a pixel.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, appendix A; E. Alpaydin and C. Kaynak, *Optical recognition of handwritten
digits*, UCI machine learning repository, 1998 (the small images); Y. LeCun, L. Bottou, Y. Bengio, P. Haffner,
*Gradient-based learning applied to document recognition*, Proc. IEEE 86 (1998) (MNIST).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from theory.evidence.streams import ROOT, stream
from theory.experiments.data.idx import find_idx, read_idx
from theory.experiments.data.images import TOKENS, Images, group_images, small_images
from theory.experiments.tasks.propagation import PropagationLearner, permute_labels, propagation_network
from theory.experiments.tasks.task import Setting, Variant, variants_without

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
SPLIT = (1000, 297, 500)  # of the small images, for training, validation and testing
FURTHER = {"noisy_1": 0.2, "noisy_2": 0.5}  # standard deviations
DECAY = 1e-4


@dataclass(frozen=True, slots=True)
class Digits:
    """The task.

    Parameters
    ----------
    data : path, optional
        Folder with MNIST's four files; the small images of scikit-learn unless given.
    root : int
        Entropy of every random stream.

    Raises
    ------
    FileNotFoundError
        If one of the files is missing; the message names it.
    """

    data: Path | None = None
    root: int = ROOT

    def __post_init__(self) -> None:
        if self.data is not None:
            for name in FILES:
                find_idx(self.data, name)

    @property
    def name(self) -> str:
        """The word by which the command line knows it."""
        return "digits"

    @property
    def columns(self) -> Mapping[str, str]:
        """What a learner measures, with units."""
        return {"train_loss": "nat", "test_loss": "nat"} | dict.fromkeys(("accuracy", *FURTHER), "1")

    @property
    def variants(self) -> tuple[Variant, ...]:
        """What is compared: all but self-attention from another start, which takes as long as any other."""
        return variants_without("again")

    def epochs(self, scale: str) -> int:
        """Return the budget of a run; an epoch of MNIST has fifty times as many steps."""
        if self.data is not None:
            return 20 if scale == "paper" else 1
        return 300 if scale == "paper" else 20

    def every(self, scale: str) -> int:
        """Return after how many epochs a curve has its next point."""
        if self.data is not None:
            return 1
        return 25 if scale == "paper" else 10

    def seeds(self, scale: str) -> int:
        """Return how many runs there are of every kind."""
        return 24 if scale == "paper" else 16

    def tuning_seeds(self, scale: str) -> int:
        """Return how many runs decide on a rate."""
        return 5 if scale == "paper" else 2

    @property
    def published_rate(self) -> float:
        """The learning rate that the paper states."""
        return 1e-4

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates among which every attention may choose, on validation data."""
        return 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2

    def images(self, seed: int, *, validation: bool = False) -> tuple[Images, Images]:
        """Return the images and labels of training, and those of test or of validation.

        Raises
        ------
        ModuleNotFoundError
            If scikit-learn is needed and missing; the message says how to install it.
        ValueError
            If a file is damaged or holds something else; the message names it.
        """
        rng = stream("metric.digits", seed, root=self.root)
        if self.data is None:
            x, y = small_images()
            first, second, third = np.split(rng.permutation(y.size), np.cumsum(SPLIT)[:-1])
            chosen = second if validation else third
            return (x[first], y[first]), (x[chosen], y[chosen])
        (x, y), test = read_mnist(self.data)
        order = rng.permutation(y.size)
        kept = y.size // 6
        train = x[order[kept:]], y[order[kept:]]
        return train, ((x[order[:kept]], y[order[:kept]]) if validation else test)

    def learner(self, setting: Setting, *, validation: bool = False) -> PropagationLearner:
        """Make the learner of a setting at epoch zero; with ``validation`` the test data are validation data.

        Raises
        ------
        ValueError
            If the setting has an attention that this network has not; or as :meth:`images`.
        """
        seed = setting.seed
        size = 32 if self.data is None else 100
        (x, y), (test, truth) = (group_images(*images) for images in self.images(seed, validation=validation))
        if setting.labels == "permuted":
            y = permute_labels(y, stream("metric.digits.permuted", seed, root=self.root))
        noise = stream("metric.digits.noise", seed, root=self.root).standard_normal(test.shape)
        start = "metric.digits.again" if setting.attention == "again" else "metric.digits.start"
        return PropagationLearner(
            propagation_network(setting, x.shape[-1], 10, dim=size, width=size),
            (x, y),
            (test, truth),
            {name: (test + level * noise, truth) for name, level in FURTHER.items()},
            rate=setting.rate,
            decay=DECAY,
            start=stream(start, seed, root=self.root),
            order=stream("metric.digits.order", seed, root=self.root),
            regroup=True,
        )


@lru_cache(maxsize=1)
def read_mnist(folder: Path) -> tuple[Images, Images]:
    """Read MNIST: the images for training, and those for testing.

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing, damaged or holds something else; the message names it.
    """
    both = []
    for images, labels, step in ((*FILES[:2], 6 * TOKENS), (*FILES[2:], TOKENS)):
        place, answers = find_idx(folder, images), find_idx(folder, labels)
        x, y = read_idx(place), read_idx(answers)
        if x.dtype != np.uint8 or x.ndim != 3 or not x.size or len(x) % step:
            raise ValueError(
                f"{place}: expected bytes of shape (n, rows, columns), n a multiple of {step}, "
                f"got {x.dtype} of shape {x.shape}"
            )
        if y.dtype != np.uint8 or y.shape != x.shape[:1] or y.max() > 9:
            raise ValueError(
                f"{answers}: expected bytes of shape ({len(x)},) from 0 to 9, got {y.dtype} of shape {y.shape}"
                + (f", up to {y.max()}" if y.size else "")
            )
        both.append((x.reshape(len(x), -1).astype(np.float64) / 255.0, y.astype(np.int64)))
    if both[0][0].shape[1] != both[1][0].shape[1]:
        raise ValueError(f"{place}: expected {both[0][0].shape[1]} pixels as for training, got {both[1][0].shape[1]}")
    return both[0], both[1]
