r"""Published data in a folder in place of what is drawn: MNIST for ``digits``, human meshes for ``meshes``.

A run on MNIST draws 2000 images for training and 1000 of those for testing, in sets of 100; another 1000 of the
training images, the same for every seed, are held for validation. Tokens and widths are 100, as in the paper. A run on
human meshes draws 16 for training and 8 of those for testing; another 8 training meshes are held for validation. More
noise, orders and starts are as those of drawn data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence.streams import stream
from theory.experiments.arms.arm import Sizes
from theory.experiments.arms.lessons import DIGITS, MESHES, SUBJECTS, Lessons, Sets
from theory.experiments.data import human_benchmark
from theory.experiments.data.bodies import Body
from theory.experiments.data.faces import describe_faces
from theory.experiments.data.idx import find_idx, read_idx
from theory.experiments.data.images import group_images
from theory.experiments.data.segments import segment_sets

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
IMAGES = {"held": 1000, "train": 2000, "test": 1000}
HUMANS = {"held": 8, "train": 16, "test": 8}
WIDTH = 100
Bytes = NDArray[np.uint8]
Images = tuple[Bytes, Bytes]  # (n, pixels) and (n,)


class Folder(NamedTuple):
    """Where data are, and the fingerprint of the files that are read there."""

    path: Path
    sha256: str


def open_folder(task: str, path: Path) -> Folder:
    """Read and check every file that any run may need, before the first one, and fingerprint these files alone.

    Parameters
    ----------
    task : {"digits", "meshes"}
    path : path

    Raises
    ------
    ValueError
        If there are no published data of the task, or a file is missing, damaged or holds something else; the message
        names it.
    """
    if task not in _READERS:
        raise ValueError(f"data: expected none for {task}, which draws its own, got {path}")
    path = Path(path).resolve()
    if not path.is_dir():
        raise ValueError(f"data: expected a folder, found none at {path}")
    digest = hashlib.sha256()
    for file in _READERS[task](path):
        digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return Folder(path, digest.hexdigest())


@dataclass(frozen=True, slots=True, eq=False)
class FolderLessons(Lessons):
    """Lessons with the data of a folder that :func:`open_folder` has checked.

    Parameters
    ----------
    task : {"digits", "meshes"}
    seeds, validation, labels, start, root
        As :class:`theory.experiments.arms.Lessons` has them.
    folder : path
    """

    folder: Path = Path()

    @property
    def sizes(self) -> Sizes:
        """Of the task, with as many inputs as the images have pixels."""
        if self.task == "digits":
            return Sizes(read_mnist(self.folder)[0][0].shape[1], 10, WIDTH, WIDTH)
        return SUBJECTS[self.task].sizes

    def sets(self) -> Sets:
        """Return the data: points (runs, sets, n, inputs) and classes (runs, sets, n) by part."""
        choose = _choose_images if self.task == "digits" else _choose_meshes
        each = [choose(self.folder, seed, self.validation, self.root) for seed in self.seeds]
        stacked = {
            name: (np.stack([s[name][0] for s in each]), np.stack([s[name][1] for s in each])) for name in each[0]
        }
        if self.labels == "permuted":
            points, classes = stacked["train"]
            generators = self._streams("permuted")
            mixed = [rng.permutation(own.ravel()) for own, rng in zip(classes, generators, strict=True)]
            stacked["train"] = points, np.stack(mixed).reshape(classes.shape)
        return stacked


@lru_cache(maxsize=1)
def read_mnist(folder: Path) -> tuple[Images, Images]:
    """Read MNIST, or a relative of it in four IDX files: the images for training, and those for testing.

    Raises
    ------
    ValueError
        As :func:`open_folder`.
    """
    both: list[Images] = []
    for images, labels, least in ((*FILES[:2], IMAGES["held"] + IMAGES["train"]), (*FILES[2:], IMAGES["test"])):
        place, answers = find_idx(folder, images), find_idx(folder, labels)
        x, y = read_idx(place), read_idx(answers)
        if x.ndim != 3 or len(x) < least or (both and x[0].size != both[0][0].shape[1]):
            wanted = f"of {both[0][0].shape[1]} pixels" if both else "(n, rows, columns)"
            raise ValueError(f"{place}: expected at least {least} images {wanted}, got shape {x.shape}")
        if y.shape != x.shape[:1] or y.max() > 9:
            raise ValueError(f"{answers}: expected {len(x)} labels from 0 to 9, got others, of shape {y.shape}")
        both.append((x.reshape(len(x), -1), y))
    return both[0], both[1]


def _images(folder: Path) -> Iterable[Path]:
    """Check the files of MNIST, and return them."""
    read_mnist.cache_clear()  # they may be other ones than before
    read_mnist(folder)
    return [find_idx(folder, name) for name in FILES]


def _choose_images(folder: Path, seed: int, validation: bool, root: int) -> Sets:
    (x, y), (test, truth) = read_mnist(folder)
    order = stream("arms.digits.mnist.held", 0, root=root).permutation(len(y))
    rng = stream("arms.digits.mnist", seed, root=root)
    known = rng.permutation(order[IMAGES["held"] :])[: IMAGES["train"]]
    others = rng.permutation(len(truth))[: IMAGES["test"]]
    if validation:
        test, truth, others = x, y, order[: IMAGES["held"]]
    points, classes = _grouped(test[others], truth[others])
    moved = points + DIGITS["more"] * rng.standard_normal(points.shape)
    return {"train": _grouped(x[known], y[known]), "test": (points, classes), "noisy": (moved, classes)}


def _grouped(x: Bytes, y: Bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return group_images(x.astype(np.float64) / 255.0, y.astype(np.int64))


def _meshes(folder: Path) -> Iterable[Path]:
    """Check all meshes with their labels, and return the files in which they are."""
    files: list[Path] = []
    for split, least in (("train", HUMANS["held"] + HUMANS["train"]), ("test", HUMANS["test"])):
        entries = human_benchmark.entries(folder, split)
        if len(entries) < least:
            raise ValueError(f"{folder}: expected at least {least} meshes in meshes/{split}, got {len(entries)}")
        for entry in entries:
            body = human_benchmark.read(entry)
            if len(body.faces) < MESHES["tokens"]:
                raise ValueError(f"{entry.mesh}: expected {MESHES['tokens']} faces or more, got {len(body.faces)}")
            try:
                describe_faces(body.vertices, body.faces)
            except ValueError as error:
                raise ValueError(f"{entry.mesh}: {error}") from error
            files += entry
    return sorted(set(files))


def _choose_meshes(folder: Path, seed: int, validation: bool, root: int) -> Sets:
    train, test = (human_benchmark.entries(folder, split) for split in ("train", "test"))
    order = stream("arms.meshes.humans.held", 0, root=root).permutation(len(train))
    rng = stream("arms.meshes.humans", seed, root=root)
    known = rng.permutation(order[HUMANS["held"] :])[: HUMANS["train"]]
    others = rng.permutation(len(test))[: HUMANS["test"]]
    if validation:
        test, others = train, order[: HUMANS["held"]]
    learned, asked = _read(train, known), _read(test, others)
    return segment_sets(learned, asked, {"noisy": MESHES["more"]}, int(MESHES["tokens"]), rng)


def _read(entries: list[human_benchmark.Entry], places: NDArray[np.int64]) -> list[Body]:
    return [human_benchmark.read(entries[place]) for place in places.tolist()]


_READERS = {"digits": _images, "meshes": _meshes}
