"""What stacks and halves of real tokens report, against softmax in plain NumPy."""

from importlib import import_module

import numpy as np
import pytest

from theory.diffusion.studies.real_sets import real_set

STUDY = import_module("theory.diffusion.studies.real_tokens")
FACES = real_set("faces", root=0)
CLOUD = FACES[::10]
VARIANCE = CLOUD.var(axis=0).sum()


def weights(queries, keys, epsilon):
    """Rows of attention, summed as they are written."""
    squares = ((queries[:, np.newaxis, :] - keys[np.newaxis, :, :]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / (2.0 * epsilon))
    return kernel / kernel.sum(axis=1, keepdims=True)


def close(found, truth, error):
    return found.width < 100.0 * error and abs(found.mid - truth) < error


@pytest.mark.parametrize("octaves", [1, 4])
def test_rates_are_those_of_the_weights(octaves):
    epsilon = VARIANCE / 2.0**octaves
    second = np.sort(np.linalg.eigvals(weights(CLOUD, CLOUD, epsilon)).real)[-2]
    found = STUDY._rates(CLOUD)[f"rate{octaves}"]
    assert close(found, VARIANCE * 2.0 * (1.0 - second) / epsilon, 1e-9)


@pytest.mark.parametrize("depth", [1, 4, 16])
def test_stacks_leave_what_they_leave(depth):
    epsilon = 0.5 * VARIANCE / depth
    first = weights(CLOUD, CLOUD, epsilon)
    moved = kept = CLOUD
    for _ in range(depth):
        moved = weights(moved, moved, epsilon) @ moved
        kept = first @ kept
    found = STUDY._moved(CLOUD, np.random.default_rng(0))
    assert close(found[f"moved{depth}"], moved.var(axis=0).sum() / VARIANCE, 1e-10)
    assert close(found[f"kept{depth}"], kept.var(axis=0).sum() / VARIANCE, 1e-12)


def test_halves_are_read_where_they_disagree_by_a_tenth():
    queries, first, second = FACES[::40], FACES[1::4], FACES[2::4]
    found = STUDY._read(queries, first, second, VARIANCE)
    smallest = VARIANCE * 2.0 ** found["smallest"].mid

    def sizes(epsilon):
        pair = [weights(queries, keys, epsilon) @ keys - queries for keys in (first, second)]
        share = ((pair[0] - pair[1]) ** 2).sum() / ((pair[0] ** 2).sum() + (pair[1] ** 2).sum())
        return share, np.linalg.norm(pair[0] + pair[1]) / epsilon

    above, below = (VARIANCE * 2.0**k for k in (np.ceil(found["smallest"].mid), np.floor(found["smallest"].mid)))
    assert sizes(above)[0] < 0.1 < sizes(below)[0]
    assert close(found["change"], np.log2(sizes(4.0 * smallest)[1] / sizes(smallest)[1]), 1e-9)
    rows = weights(queries, first, smallest)
    squares = ((queries[:, np.newaxis, :] - first[np.newaxis, :, :]) ** 2).sum(axis=2)
    assert close(found["dimension"], (rows * squares).sum(axis=1).mean() / smallest, 1e-6)
