"""What networks that were trained once take the faces of newly drawn bodies for; nothing is trained here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, Table, stream
from theory.experiments.analysis.example import CLASSIFIERS, Example, load_example
from theory.experiments.data.bodies import Body, draw_body
from theory.experiments.data.faces import normalise

DRAWN = 3
BODIES = {"quick": 24, "paper": 96}
_DIGITS = 4  # of coordinates, for a drawing


def segmented_bodies(*, scale: str, root: int) -> Table:  # noqa: ARG001  the same bodies at either scale
    """Return a row per face of three bodies: its part, what the networks take it for, and its corners.

    Parts are numbers of :data:`theory.experiments.data.bodies.LABELS`. ``x0`` to ``z2`` are the corners of a body of
    unit area, to four digits. None of these bodies has a part in training.
    """
    example = load_example()
    columns = dict[str, list[NDArray[np.generic]]]()
    for number in range(DRAWN):
        body, taken = _seen(example, number, root)
        points, faces = normalise(body.vertices, body.faces)
        row: dict[str, NDArray[np.generic]] = {"body": np.full(len(faces), number), "part": body.labels, **taken}
        corners = np.round(points[faces], _DIGITS) + 0.0
        row |= {f"{axis}{k}": corners[:, k, a] for k in range(3) for a, axis in enumerate("xyz")}
        for name, values in row.items():
            columns.setdefault(name, []).append(values)
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), {n: np.concatenate(v) for n, v in columns.items()})


def named_faces(*, scale: str, root: int) -> Table:
    """Return a row per body, of which :func:`segmented_bodies` has the first: its faces, and how many are right."""
    example = load_example()
    rows = []
    for number in range(BODIES[scale]):
        body, taken = _seen(example, number, root)
        right = {name: int((labels == body.labels).sum()) for name, labels in taken.items()}
        rows.append({"body": number, "faces": len(body.faces), **right})
    return Table(Kind.STATISTICAL, dict.fromkeys(rows[0], "1"), {name: [row[name] for row in rows] for name in rows[0]})


def _seen(example: Example, number: int, root: int) -> tuple[Body, dict[str, NDArray[np.int64]]]:
    """Draw a body, and let the networks see it."""
    body = draw_body(stream("studies.segmented_bodies", number, root=root))
    return body, {name: example.labels(name, body) for name in CLASSIFIERS}
