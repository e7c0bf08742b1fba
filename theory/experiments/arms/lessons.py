"""What the runs of a task are given: data, the order in which they come, and generators of their starts.

All arms of a run have the same data in the same order, and begin from the same parameters where they share any; so
arms are compared in pairs of equal seed. Search and final runs have seeds of their own. In the search, what stands for
the test data are validation data, other ones than those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_choice, as_count
from theory.evidence.streams import ROOT, stream
from theory.experiments.arms.arm import LABELS, STARTS, Arm, Sizes
from theory.experiments.data.bodies import LABELS as PARTS, draw_bodies
from theory.experiments.data.faces import NAMES
from theory.experiments.data.images import group_images, small_images
from theory.experiments.data.moons import draw_two_moons
from theory.experiments.data.segments import segment_sets

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Sets = dict[str, tuple[Array, Labels]]  # points (sets, n, inputs) and classes (sets, n) of train, test and noisy
SEARCH = 1_000_000  # the first seed of the search; no final run has one as large


class Subject(NamedTuple):
    """A task: its sizes, how its data are drawn, and whether an epoch deals the points to new sets."""

    sizes: Sizes
    draw: Callable[[int, bool, int], Sets]  # seed, whether for the search, root
    regroup: bool


MOONS = {"noise": 0.2, "more": 0.3, "train": 4, "test": 10, "tokens": 100}  # sets, and points of a set
DIGITS = {"held": 297, "train": 1000, "more": 0.5}  # images for validation, and for training; the rest are for testing
MESHES = {"train": 16, "test": 8, "tokens": 200, "more": 0.02}  # bodies, and faces of a body
_PARTS = ("train", "test", "noisy")


def draw_moons(seed: int, validation: bool, root: int) -> Sets:
    """Draw 4 sets of 100 points for training and 10 for testing; more noise, of 0.3, moves the same test points."""
    rng = stream("arms.moons.data", seed, root=root)
    train = _moon_sets(MOONS["train"], rng)
    rng = stream("arms.moons.validation", seed, root=root) if validation else rng
    points, classes = _moon_sets(MOONS["test"], rng)
    moved = points + MOONS["more"] * rng.standard_normal(points.shape)
    return dict(zip(_PARTS, (train, (points, classes), (moved, classes)), strict=True))


def _moon_sets(count: float, rng: np.random.Generator) -> tuple[Array, Labels]:
    drawn = [draw_two_moons(int(MOONS["tokens"]), MOONS["noise"], rng) for _ in range(int(count))]
    return _stacked(drawn)


def draw_digits(seed: int, validation: bool, root: int) -> Sets:
    """Split scikit-learn's images: 297 are held for validation, the same for every seed, the others split anew.

    Of those, 1000 are for training and 500 for testing, in sets of 100, of validation 99. So no image that helped to
    choose a rate is among those of a test.
    """
    x, y = small_images()
    order = stream("arms.digits.held", 0, root=root).permutation(y.size)
    held, rest = np.split(order, [int(DIGITS["held"])])
    rng = stream("arms.digits.data", seed, root=root)
    known, others = np.split(rng.permutation(rest), [int(DIGITS["train"])])
    others = held if validation else others
    train = group_images(x[known], y[known])
    points, classes = group_images(x[others], y[others])
    moved = points + DIGITS["more"] * rng.standard_normal(points.shape)
    return dict(zip(_PARTS, (train, (points, classes), (moved, classes)), strict=True))


def draw_meshes(seed: int, validation: bool, root: int) -> Sets:
    """Draw 16 bodies for training and 8 for testing, all fresh, and 200 faces of each."""
    rng = stream("arms.meshes.data", seed, root=root)
    train = draw_bodies(rng, int(MESHES["train"]))
    rng = stream("arms.meshes.validation", seed, root=root) if validation else rng
    test = draw_bodies(rng, int(MESHES["test"]))
    return segment_sets(train, test, {"noisy": MESHES["more"]}, int(MESHES["tokens"]), rng)


SUBJECTS = {
    "moons": Subject(Sizes(2, 2, 10, 10), draw_moons, True),
    "digits": Subject(Sizes(64, 10, 32, 32), draw_digits, True),
    "meshes": Subject(Sizes(len(NAMES), len(PARTS), 64, 64), draw_meshes, False),
}


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """The data of some runs, stacked, and what draws their orders and starts.

    Parameters
    ----------
    task : str
        One of ``SUBJECTS``.
    seeds : tuple of int
        One for every run, not negative.
    validation : bool, default False
        Whether ``test`` and ``noisy`` hold validation data.
    labels : {"true", "permuted"}
        ``permuted`` gives every training token the label of another one; test labels stay.
    start : {"paired", "again"}
        Whether shared parameters are those of the other arms, or others.
    root : int
        Entropy of every random stream.

    Raises
    ------
    ValueError, TypeError
        If a word is none of these, or a seed is negative or none is given.
    """

    task: str
    seeds: tuple[int, ...]
    validation: bool = False
    labels: str = "true"
    start: str = "paired"
    root: int = ROOT

    def __post_init__(self) -> None:
        as_choice(self.task, "task", tuple(SUBJECTS))
        as_choice(self.labels, "labels", LABELS)
        as_choice(self.start, "start", STARTS)
        if not self.seeds:
            raise ValueError("seeds: expected at least one, got none")
        object.__setattr__(self, "seeds", tuple(as_count(seed, "seeds", least=0) for seed in self.seeds))

    @property
    def sizes(self) -> Sizes:
        """Of the task."""
        return SUBJECTS[self.task].sizes

    def sets(self) -> Sets:
        """Return the data: points (runs, sets, n, inputs) and classes (runs, sets, n) by part."""
        each = [SUBJECTS[self.task].draw(seed, self.validation, self.root) for seed in self.seeds]
        stacked = {part: _stacked([sets[part] for sets in each]) for part in each[0]}
        if self.labels == "permuted":
            points, classes = stacked["train"]
            generators = self._streams("permuted")
            mixed = [rng.permutation(own.ravel()) for own, rng in zip(classes, generators, strict=True)]
            stacked["train"] = points, np.stack(mixed).reshape(classes.shape)
        return stacked

    def starts(self) -> list[np.random.Generator]:
        """Return what draws the parameters that all arms share, one generator for every run."""
        return self._streams("start" if self.start == "paired" else "again")

    def inner(self, arm: Arm) -> list[np.random.Generator]:
        """Return what draws the parameters of the scores; equal for similarities with the same parameters."""
        start = "inner" if self.start == "paired" else "inner.again"
        return self._streams(f"{start}.{len(arm.scored(self.sizes))}")

    def orders(self) -> list[np.random.Generator]:
        """Return what deals the data in every epoch, one generator for every run."""
        return self._streams("order")

    def deal(self, orders: Sequence[np.random.Generator], count: int, tokens: int) -> NDArray[np.int64]:
        """Return the places of one epoch, (runs, sets, tokens), in the flattened tokens of all sets of a run."""
        places = np.arange(count * tokens).reshape(count, tokens)
        if SUBJECTS[self.task].regroup:
            dealt = [rng.permutation(places.size).reshape(places.shape) for rng in orders]
        else:
            dealt = [places[rng.permutation(count)] for rng in orders]
        return np.stack(dealt)

    def _streams(self, name: str) -> list[np.random.Generator]:
        return [stream(f"arms.{self.task}.{name}", seed, root=self.root) for seed in self.seeds]


def _stacked(each: Sequence[tuple[Array, Labels]]) -> tuple[Array, Labels]:
    return np.stack([points for points, _ in each]), np.stack([classes for _, classes in each])
