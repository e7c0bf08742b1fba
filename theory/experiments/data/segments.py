"""Token sets of bodies: faces that are drawn from every mesh, what is said about them, and the part they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count
from theory.experiments.data.bodies import Body
from theory.experiments.data.faces import add_noise, describe_faces

Sets = dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]]


def segment_sets(
    train: Sequence[Body], test: Sequence[Body], noises: Mapping[str, float], tokens: int, rng: np.random.Generator
) -> Sets:
    """Return token sets ``train`` and ``test``, and one of the test bodies for every level of noise, by its name.

    Each is a pair of inputs, (bodies, tokens, 10), computed on the whole mesh and standardised by mean and deviation
    over all faces of the training bodies, and of classes, (bodies, tokens).

    Parameters
    ----------
    train, test : sequence of Body
        One or more each.
    noises : mapping of str to float
        Standard deviations in every coordinate of a vertex, by the name of the set.
    tokens : int
        Faces of a body, drawn without replacement; all of a body that has no more.
    rng : numpy.random.Generator
    """
    count = as_count(tokens, "tokens")
    chosen = [[np.sort(rng.permutation(len(body.faces))[:count]) for body in part] for part in (train, test)]
    described = {"train": _described(train), "test": _described(test)}
    for name, level in noises.items():
        moved = [body._replace(vertices=add_noise(body.vertices, body.faces, level, rng)) for body in test]
        described[name] = _described(moved)
    known = np.concatenate(described["train"])
    centre = known.mean(axis=0)
    scales = known.std(axis=0)
    sets = {}
    for part, faces in described.items():
        bodies, places = (train, chosen[0]) if part == "train" else (test, chosen[1])
        x = np.stack([of_body[place] for of_body, place in zip(faces, places, strict=True)])
        y = np.stack([body.labels[place] for body, place in zip(bodies, places, strict=True)])
        sets[part] = ((x - centre) / scales, y)
    return sets


def _described(bodies: Sequence[Body]) -> list[NDArray[np.float64]]:
    return [describe_faces(body.vertices, body.faces) for body in bodies]
