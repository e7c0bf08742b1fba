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
triangles in OFF, OBJ or PLY; labels are the numbers 1 to 8, one a line, in the order of the faces, and are returned
from 0. Nothing is decimated, welded, turned or repaired.

References
----------
H. Maron et al., *Convolutional neural networks on surfaces via seamless toric covers*, ACM Transactions on Graphics 36,
2017. The layout is that which the loader of N. Sharp et al., DiffusionNet (2022), reads.
"""

from __future__ import annotations

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
        If a PLY file is read without trimesh.
    """
    vertices, faces = read_mesh(entry.mesh)
    labels = read_labels(entry.labels)
    if len(labels) != len(faces):
        raise ValueError(
            f"{entry.labels}: expected {len(faces)} labels, one for each face of {entry.mesh.name}, got {len(labels)}"
        )
    return Body(vertices, faces, labels)


def read_mesh(path: Path) -> tuple[Array, Integers]:
    """Read vertices (V, 3) and triangles (F, 3) of an OFF, OBJ or PLY file."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"{path}: expected a file ending in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise ValueError(f"{path}: expected a mesh, found no such file")
    if kind == ".ply":
        vertices, faces = _ply(path)
    else:
        lines = [line.split("#")[0].split() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        try:
            vertices, faces = (_off if kind == ".off" else _obj)([line for line in lines if line])
        except (ValueError, IndexError) as error:
            raise ValueError(
                f"{path}: expected the vertices and triangles of an {kind[1:].upper()} file: {error}"
            ) from error
    if not len(faces) or not np.isfinite(vertices).all() or faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(
            f"{path}: expected finite vertices and triangles between them, got {len(vertices)} vertices, "
            f"{len(faces)} triangles"
        )
    return vertices, faces


def read_labels(path: Path) -> Integers:
    """Read the labels of a mesh, from 0."""
    try:
        values = np.array(path.read_text(encoding="utf-8", errors="replace").split(), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{path}: expected a number from 1 to {CLASSES} for every face: {error}") from error
    wrong = np.flatnonzero(~np.isin(values, np.arange(1, CLASSES + 1)))
    if wrong.size:
        raise ValueError(f"{path}: expected numbers from 1 to {CLASSES}, got {values[wrong[0]]} at face {wrong[0]}")
    return values.astype(np.int64) - 1


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
    found = sorted(path for path in _folder(folder).iterdir() if path.suffix.lower() in SUFFIXES)
    if not found:
        raise ValueError(f"{folder}: expected meshes ending in {', '.join(SUFFIXES)}, found none")
    return found


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise ValueError(f"{path}: expected this folder of the human segmentation data, found none")
    return path


def _off(lines: list[list[str]]) -> tuple[Array, Integers]:
    """Read the words of an OFF file; what follows the corners of a face, a colour, is left out."""
    if not lines or lines[0][0].upper() != "OFF":
        raise ValueError(f"the first word is {lines[0][0][:20]!r}" if lines else "it is empty")
    rest = lines[1:] if len(lines[0]) == 1 else [lines[0][1:], *lines[1:]]
    vertices, faces = int(rest[0][0]), int(rest[0][1])
    body = rest[1:]
    if len(body) < vertices + faces:
        raise ValueError(f"it announces {vertices} vertices and {faces} faces, and has {len(body)} lines for them")
    corners = [_triangle(line[1 : 1 + int(line[0])]) for line in body[vertices : vertices + faces]]
    return np.array([line[:3] for line in body[:vertices]], dtype=np.float64), np.array(corners, dtype=np.int64)


def _obj(lines: list[list[str]]) -> tuple[Array, Integers]:
    """Read the words of an OBJ file; of a corner written v/vt/vn only the vertex counts, from 1, or back from -1."""
    vertices: list[list[str]] = []
    corners: list[list[int]] = []
    for word, *rest in lines:
        if word == "v":
            vertices.append(rest[:3])
        elif word == "f":
            numbers = [int(corner) for corner in _triangle([corner.split("/")[0] for corner in rest])]
            if 0 in numbers:
                raise ValueError("a face has corner 0")
            corners.append([n - 1 if n > 0 else len(vertices) + n for n in numbers])
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), np.array(corners, dtype=np.int64).reshape(-1, 3)


def _ply(path: Path) -> tuple[Array, Integers]:
    trimesh = extra("trimesh")
    try:
        mesh = trimesh.load_mesh(path, process=False)
        vertices = np.array(mesh.vertices, dtype=np.float64)
        faces = np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # its reader raises whatever it stumbles over
        raise ValueError(f"{path}: expected a PLY file with vertices and triangles: {error!r}") from error
    return vertices, faces


def _triangle(corners: list[str]) -> list[str]:
    if len(corners) != 3:
        raise ValueError(f"a face has {len(corners)} corners")
    return corners
