"""Admissible and adversarial inputs, the same ones for every claim that speaks of all clouds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.attention import Measure
from theory.evidence import exact
from theory.metric import ResidualFeatures

UNITS = (1.0, 2.0**-40, 2.0**40)  # what is claimed in one unit of length is claimed in all


@dataclass(frozen=True)
class Problem:
    """Queries, keys, values and masses of the keys, with a name for the record."""

    name: str
    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    masses: np.ndarray

    @property
    def size(self):
        """The largest value, which is the scale of an output."""
        return float(np.abs(self.values).max())

    @property
    def case(self):
        """What the record keeps."""
        return {"input": self.name, "n": self.keys.shape[0], "d": self.keys.shape[1]}


def random(rng):
    """Draw a cloud of up to 40 keys in dimension 1 to 6, with scores up to a few tens."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    scale = float(rng.uniform(0.3, 3.0))
    masses = rng.dirichlet(np.ones(n))
    queries = rng.normal(size=(3, d))
    keys = scale * rng.normal(size=(n, d))
    values = rng.normal(size=(n, 2))
    return Problem("random", queries, keys, values, masses)


def adversarial():
    """Return the inputs on which attention code tends to be wrong."""
    line = np.linspace(-1.0, 1.0, 5)[:, np.newaxis]
    plane = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    even = np.full(3, 1 / 3)
    tiny = np.array([1.0, 1e-300, 1e-9])
    return [
        Problem("one token", np.array([[0.3, -0.2]]), plane[:1], np.array([[2.5]]), np.ones(1)),
        Problem("repeated keys", np.array([[0.3, -0.2]]), plane, np.array([[1.0], [3.0], [0.0]]), even),
        Problem("weights of 1e-300", np.array([[0.3, -0.2]]), plane + line[:3], np.array([[1.0], [3.0], [0.0]]), tiny),
        Problem("tiny weight wins", np.array([[30.0]]), 30.0 * line[[0, 4]], line[[0, 4]], np.array([1.0, 1e-300])),
        Problem("scores of 1e3", np.array([[1e3], [-1e3]]), line, line**3 + 1.0, np.full(5, 0.2)),
        Problem("equal scores of 1e4", np.array([[1e4, 0.0]]), plane[:2], np.array([[1.0], [-1.0]]), np.ones(2) / 2),
        Problem(
            "weight zero", np.array([[0.3, -0.2]]), plane, np.array([[1.0], [3.0], [9.0]]), np.array([0.5, 0.5, 0.0])
        ),
    ]


def problems(run, *, quick, paper):
    """Yield the adversarial problems, then random ones."""
    yield from adversarial()
    for rng in run.draws(quick=quick, paper=paper):
        yield random(rng)


def crowded(rng, n=100_000):
    """Draw five keys and how often each is written, ``n`` times together, which are its mass."""
    counts = np.array([n // 2, n // 3, n // 8, n // 50])
    counts = np.append(counts, n - counts.sum()).astype(float)
    keys, values = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    return Problem("written often", rng.normal(size=(1, 2)), keys, values, counts)


def rising(rng, n):
    """Draw keys whose scores grow from the first to the last, so that each tile of a pass finds a larger one."""
    keys = np.sort(rng.normal(size=(n, 2)), axis=0)
    return Problem("rising", np.array([[2.0, 1.0]]), keys, keys[:, ::-1] + 1.0, rng.dirichlet(np.full(n, 2.0)))


INSIDE = 1.0 - 2.0**-40  # of a radius: rounded points of this length are in the ball
FLOOR = 1e-8  # of the size of a pair: nearer inputs are rejected, for there rounding alone stretches distances


def draw_cloud(rng, n, d, radius):
    """Draw a cloud in a ball, half of it near the sphere."""
    points = rng.normal(size=(n, d))
    lengths = radius * np.minimum(rng.uniform(0.0, 2.0, size=(n, 1)), INSIDE)
    return lengths * points / np.linalg.norm(points, axis=1, keepdims=True)


def square_corners(mean, root):
    """The law of four atoms with this mean and covariance, of which every coordinate is plus or minus one."""
    signs = np.array([[i, j] for i in (-1.0, 1.0) for j in (-1.0, 1.0)])
    return Measure(mean + signs @ root.T)


def draw_on_sphere(rng, n, d):
    """Draw tokens of length one up to rounding."""
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def push_within(rng, points, radius):
    """Push all tokens by anything from 1e-4 to 1 radii, or the first one only, and project them back to the ball."""
    step = 10.0 ** rng.uniform(-4.0, 0.0) * radius * rng.normal(size=points.shape)
    if rng.uniform() < 0.3:
        step[1:] = 0.0
    there = points + step
    length = np.linalg.norm(there, axis=1, keepdims=True)
    return there * np.minimum(1.0, INSIDE * radius / np.maximum(length, radius / 2))


def draw_layer(rng, d, radius):
    """Draw a form of which the norm times the squared radius is up to about 3, and a value matrix."""
    form = rng.normal(size=(d, d)) * rng.choice([0.1, 0.5, 1.0]) / radius**2
    return form, rng.normal(size=(d, d))


def draw_pair(rng, d, unit=1.0):
    """Draw a law and its perturbation, or two laws of nothing in common; lengths in a unit."""
    n = int(rng.integers(1, 7))
    mu = Measure.normalised(unit * rng.normal(size=(n, d)), rng.dirichlet(np.full(n, 0.4)) + 1e-12)
    if rng.uniform() < 0.5:
        step = unit * 10.0 ** rng.uniform(-4.0, 0.0) * rng.normal(size=(n, d))
        return mu, Measure(mu.points + step, mu.weights)
    return mu, Measure.normalised(unit * rng.normal(size=(4, d)), rng.dirichlet(np.full(4, 0.4)) + 1e-12)


def draw_tilted(rng, unit=1.0):
    """Draw two laws on common atoms, near or far, and a potential: ramp, linear, V-shaped or rough; lengths in a unit."""
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    points = rng.uniform(-1.0, 1.0, size=(n, d))
    if rng.uniform() < 0.5:
        points = np.concatenate([points, points + 10.0 ** rng.uniform(-4.0, 0.0) * rng.normal(size=(n, d))])
    shapes = (np.abs(points[:, 0]), points[:, 0], np.maximum(points[:, 0], 0.5), rng.normal(size=len(points)))
    potential = rng.uniform(0.2, 3.0) * shapes[int(rng.integers(4))]
    masses = [rng.dirichlet(np.full(len(points), 0.3)) + 1e-12 for _ in range(2)]
    return [Measure.normalised(unit * points, w) for w in masses], potential


def draw_residual(rng, dim, width, branch, unit=1.0):
    """Draw residual features with the norms of the two matrices multiplying to about ``branch``; lengths in a unit."""
    inner, outer = rng.normal(size=(dim, width)), rng.normal(size=(width, dim))
    outer *= branch / (np.linalg.norm(inner, 2) * np.linalg.norm(outer, 2))
    return ResidualFeatures(inner / unit, rng.normal(size=width), unit * outer, unit * rng.normal(size=dim))


def whole_numbers(*counts):
    """All vectors of whole numbers up to these sizes, exact: a lattice, up to its steps."""
    sides = (np.arange(-float(count), float(count) + 1.0) for count in counts)
    return exact(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(counts)))
