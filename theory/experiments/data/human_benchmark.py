r"""The published human segmentation data, in the folders and files in which they are distributed.

A folder holds the training meshes of four collections and the test meshes of one, and a label for every face:

================================================  ======================================
``meshes/train/adobe/NAME.off``                   ``segs/train/adobe/NAME.txt``
``meshes/train/faust/*``                          ``segs/train/faust/faust_corrected.txt``
``meshes/train/scape/*``                          ``segs/train/scape/scape_corrected.txt``
``meshes/train/MIT_animation/meshes_POSE/meshes/*``  ``segs/train/mit/mit_POSE_corrected.txt``
``meshes/test/shrec/NUMBER.off``                  ``segs/test/shrec/shrec_NUMBER_full.txt``
================================================  ======================================

(``12_fix_orientation.off`` has number 12.) Meshes of a collection with one label file share their faces. Meshes are
triangles in OFF, OBJ or PLY, which trimesh reads; labels are the numbers 1 to 8, one a line, in the order of the
faces, and are returned from 0. A byte-order mark is no part of either, and hidden files are none of the collection.
Nothing is decimated, welded, turned or repaired.

References
----------
H. Maron et al., *Convolutional neural networks on surfaces via seamless toric covers*, ACM Transactions on Graphics 36,
2017. The layout is that which the loader of N. Sharp et al., DiffusionNet (2022), reads.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._extra import extra
from theory.experiments.data.bodies import Body

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
CLASSES = 8
SUFFIXES = (".off", ".obj", ".ply")


class Entry(NamedTuple):
    """The files of one mesh."""

    mesh: Path
    labels: Path


def entries(folder: Path, split: str) -> list[Entry]:
    """Return the files of the meshes of a split, in the order of their names.

    Parameters
    ----------
    folder : path
        The one with ``meshes`` and ``segs``.
    split : {"train", "test"}

    Raises
    ------
    ValueError
        If a folder or a file of the layout is missing; the message names it.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split: expected one of train, test, got {split!r}")
    meshes, segs = Path(folder) / "meshes" / split, Path(folder) / "segs" / split
    found = list(_train(meshes, segs) if split == "train" else _test(meshes, segs))
    for entry in found:
        if not entry.labels.is_file():
            raise ValueError(f"{entry.labels}: expected the labels of {entry.mesh.name}, found no such file")
    return found


def read(entry: Entry) -> Body:
    """Read a mesh and its labels, from 0.

    Raises
    ------
    ValueError
        If a file is not what it should be, or the two do not belong together; the message names it.
    ModuleNotFoundError
        If trimesh is missing.
    """
    vertices, faces = read_mesh(entry.mesh)
    labels = read_labels(entry.labels)
    if len(labels) != len(faces):
        raise ValueError(
            f"{entry.labels}: expected {len(faces)} labels, one for each face of {entry.mesh.name}, got {len(labels)}"
        )
    return Body(vertices, faces, labels)


def read_mesh(path: Path) -> tuple[Array, Integers]:
    """Read vertices (V, 3) and triangles (F, 3) of an OFF, OBJ or PLY file, both in the order of the file."""
    load = extra("trimesh").load_mesh
    kind = path.suffix.lower().removeprefix(".")
    content = io.BytesIO(_content(path))
    try:
        mesh = load(content, file_type=kind, process=False, maintain_order=True, skip_materials=True)
        vertices, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # its readers raise whatever they stumble over
        raise ValueError(f"{path}: expected a whole {kind} file of triangles: {error!r}") from error
    if not len(faces) or vertices.shape[1:] != (3,) or not np.isfinite(vertices).all():
        raise ValueError(f"{path}: expected triangles between finite vertices, got {len(faces)} triangles")
    return vertices, faces


def read_labels(path: Path) -> Integers:
    """Read the labels of a mesh, from 0."""
    try:
        values = np.array(_content(path).split(), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{path}: expected a number from 1 to {CLASSES} for every face: {error}") from error
    wrong = np.flatnonzero(~np.isin(values, np.arange(1, CLASSES + 1)))
    if wrong.size:
        raise ValueError(f"{path}: expected numbers from 1 to {CLASSES}, got {values[wrong[0]]} at face {wrong[0]}")
    return values.astype(np.int64) - 1


def _content(path: Path) -> bytes:
    return path.read_bytes().removeprefix(codecs.BOM_UTF8)


def _train(meshes: Path, segs: Path) -> Iterator[Entry]:
    for mesh in _meshes(meshes / "adobe"):
        yield Entry(mesh, segs / "adobe" / f"{mesh.stem}.txt")
    for name in ("faust", "scape"):
        for mesh in _meshes(meshes / name):
            yield Entry(mesh, segs / name / f"{name}_corrected.txt")
    for pose in sorted(_folder(meshes / "MIT_animation").iterdir()):
        if pose.is_dir() and pose.name.startswith("meshes_"):
            for mesh in _meshes(pose / "meshes"):
                yield Entry(mesh, segs / "mit" / f"mit_{pose.name.removeprefix('meshes_')}_corrected.txt")


def _test(meshes: Path, segs: Path) -> Iterator[Entry]:
    for mesh in _meshes(meshes / "shrec"):
        number = re.match(r"\d+", mesh.stem)
        if number is None:
            raise ValueError(f"{mesh}: expected a name that starts with a number")
        yield Entry(mesh, segs / "shrec" / f"shrec_{number.group()}_full.txt")


def _meshes(folder: Path) -> list[Path]:
    files = (path for path in _folder(folder).iterdir() if not path.name.startswith("."))
    found = sorted(path for path in files if path.suffix.lower() in SUFFIXES)
    if not found:
        raise ValueError(f"{folder}: expected meshes ending in {', '.join(SUFFIXES)}, found none")
    return found


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"{path}: expected this folder of the human segmentation data, found none")
    return path
