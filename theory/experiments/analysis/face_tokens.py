"""Faces of three bodies as the last layer of a trained network meets them, for those who know no networks.

``python -m theory.experiments.analysis.face_tokens`` writes the table that :mod:`theory.diffusion.studies` reads. The
network is that of :mod:`theory.experiments.analysis.example` with metric-attention; the bodies have no part in its
training, and each is a set of tokens of its own. ``described`` is what the network is told about a face, ``learned``
are the features whose distances the last layer turns into weights, :math:`e^{-|G(x) - G(y)|^2}`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import theory
from theory.evidence import stream
from theory.experiments.analysis.example import example_network, load_example
from theory.experiments.data.bodies import draw_body
from theory.experiments.data.faces import describe_faces
from theory.metric import sizes_of
from theory.metric.similarity import MetricSimilarity

PATH = Path(theory.__file__).parent / "diffusion" / "studies" / "trained_faces.npz"
BODIES = 3


def face_tokens() -> dict[str, NDArray[np.float16]]:
    """Return the tokens, one face in a row: ``described``, shape (n, 10), and ``learned``, shape (n, 64)."""
    example = load_example()
    theta = example.parameters["metric"]
    network = example_network("metric")
    similarity = network.similarity
    if not isinstance(similarity, MetricSimilarity):
        raise TypeError(f"similarity: expected MetricSimilarity, got {type(similarity).__name__}")
    features = similarity.features(theta[-sum(sizes_of(similarity.shapes)) :])  # parameters of the last block are last
    found: dict[str, list[NDArray[np.float64]]] = {"described": [], "learned": []}
    for number in range(BODIES):
        body = draw_body(stream("studies.segmented_bodies", number))
        described = (describe_faces(body.vertices, body.faces) - example.centre) / example.scales
        found["described"].append(described)
        found["learned"].append(features(network.tokens(theta, described)[-2]))
    return {name: np.concatenate(parts).astype(np.float16) for name, parts in found.items()}


if __name__ == "__main__":
    np.savez_compressed(PATH, **face_tokens())  # type: ignore[arg-type]
