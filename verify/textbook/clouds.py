"""Clouds in a ball under a random form and value matrix, their local norms, and the constants as they are printed."""

from functools import cache

import numpy as np

from theory.attention import DotProduct, Measure
from theory.evidence import ball, balls, hull
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import enclosed_jacobian, local_norm
from theory.lipschitz.constants import leader
from theory.lipschitz.search import search_worst_cloud


def drawn(rng, *, equal=False):
    """Draw up to six atoms in dimension one to three, with a form and a value matrix, all of any size.

    Most atoms lie on a sphere; the norm of the form times its squared radius is up to ten.
    """
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    points = rng.normal(size=(n, d))
    points *= (rng.choice([1.0, 1.0, 0.7], size=n) / np.linalg.norm(points, axis=1))[:, np.newaxis]
    form, value = rng.normal(size=(d, d)), rng.normal(size=(d, d))
    form *= float(rng.choice([0.1, 0.5, 1.0, 2.0, 4.0])) / np.linalg.norm(form, 2)
    radius = 2.0 ** int(rng.integers(-9, 10))
    size = 2.0 ** int(rng.integers(-9, 10))
    points, form, value = radius * points, form / radius**2, size * value
    masses = np.ones(n) if equal else rng.dirichlet(np.full(n, 0.4)) + 1e-6
    return Measure.normalised(points, masses), DotProduct(form=form), value


def led(alpha, ratio, gap):
    """Return the witness with leaders, and the value matrix 1."""
    return *leader(alpha, ratio, gap), np.eye(1)


_HUNTED = {}  # searched once for a claim and its twins


def hunted(run, *, equal=False):
    """Yield the clouds of a few atoms at which a search finds the largest norm in squares."""
    quick = ((0.25, 6, 1) if equal else (0.25, 2, 1),)
    problems = run.pick(
        quick=quick, paper=[(alpha, n, d) for alpha in (0.25, 1.0, 3.0) for n, d in ((2, 1), (3, 2), (6, 1))]
    )
    for rng, (alpha, n, d) in zip(run.streams(len(problems)), problems, strict=True):
        key = (run.claim, run.scale, run.root, alpha, n, d)
        if key not in _HUNTED:
            found = search_worst_cloud(
                rng, alpha, p=2, atoms=n, dim=d, weights=np.full(n, 1.0 / n) if equal else None, starts=3
            )
            _HUNTED[key] = found.measure, found.score, np.eye(d)
        yield _HUNTED[key]


def measures(run, *, quick, paper):
    """Yield random measures in balls, then those a search finds, then opposite atoms, few against many."""
    yield from (drawn(rng) for rng in run.draws(quick=quick, paper=paper))
    yield from hunted(run)
    yield from (led(alpha, ratio, 2.0 * alpha) for alpha in (0.5, 1.0, 3.0) for ratio in (4.0, 1e3, 2.0**40))


def norm_of(mu, score, value, p):
    """Enclose the local norm, once for a claim and its twins."""
    parts = (mu.points, mu.weights, score.form, value)
    return _norm(*(tuple(map(tuple, np.atleast_2d(part).tolist())) for part in parts), p)


@cache
def _norm(points, weights, form, value, p):
    mu = Measure(points, weights[0])
    blocks = hull(enclosed_jacobian(mu, DotProduct(form=form), value=value))
    return local_norm(blocks.mid, mu.weights, p, error=blocks.radius)


def sizes(mu, score, value):
    """Enclose alpha, the norm of the form times the largest squared length, and the norm of the value matrix; balls."""
    square = max(((balls(mu.points) ** 2).sum(axis=1)).tolist(), key=lambda ball: float(ball.mid()))
    form, out = (ball(norm.lo).union(ball(norm.hi)) for norm in (spectral_norm(score.form), spectral_norm(value)))
    return form * square, out


def triangle(alpha, n):
    """The sum of the three terms."""
    root = ball(n).sqrt()
    return root + alpha * (1 + root)


def squares(alpha, n, *, times=1):
    """The root of three times the squares."""
    return (3 * (alpha**2 * (times * n + 1) + n)).sqrt()


def schur(alpha, n):
    """Schur's test."""
    column = 1 if 2 * alpha <= 1 else (1 + 2 * alpha) ** 2 / (8 * alpha)
    return ((1 + 2 * alpha) * (n * column + alpha)).sqrt()


def free(alpha, *, exponent=1):
    """The constant of all measures, free of the number of tokens."""
    return (alpha * exponent).exp() * (1 + alpha) + alpha


def least(alpha, n):
    """The best of the constants of n tokens."""
    forms = [hull(form) for form in (triangle(alpha, n), schur(alpha, n), free(alpha))]
    return min(forms, key=lambda form: form.hi)
