"""Seven methods at one query among the same points: each row of weights against its definition."""

from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, verifies
from verify import textbook
from verify.diffusion.test_zoo import least, squares
from verify.diffusion.test_zoo_regression import closest
from verify.textbook import balls

CENTRES = np.array([[0.5, 0.25], [2.75, 0.0], [1.25, 2.5]])
HEAT, NEAREST, FUZZIFIER = 0.5, 12, 2.0  # inverse bandwidth 1 / 2 h^2, neighbours, and the exponent of fuzzy c-means


@cache
def degrees(points, heat):
    """The sums of the rows of the Gaussian kernel among points, in balls."""
    x = np.frombuffer(points).reshape(-1, 2)
    return np.exp(textbook.distance_scores(x, x, beta=heat)).sum(axis=1)


def definitions(x, *, heat, fuzzifier, biased):
    """The name of every method, and its weights at the first centre as they are defined, in balls."""
    query = CENTRES[:1]
    near = squares(query, x)[0]
    to_centres = squares(x, CENTRES)
    kernel = np.exp(-near * ball(heat))
    memberships = np.exp(np.log(to_centres) / (1 - ball(fuzzifier)))
    share = memberships[:, 0] / memberships.sum(axis=1)
    yield "k-means", balls(np.array([float(least(row) == 0) for row in to_centres]))
    yield "fuzzy c-means", np.exp(np.log(share) * ball(fuzzifier))
    yield "mean shift", kernel
    yield "k nearest", balls(np.isin(np.arange(len(x)), closest(near, NEAREST)).astype(float))
    yield "diffusion maps", kernel / degrees(x.tobytes(), heat)
    yield "t-SNE", 1 / (1 + near)
    # the squared norms of the keys are what tells the two apart
    yield "attention", np.exp(textbook.dot_scores(query, x, beta=1.0)[0] if biased else -near / 2)


@verifies(
    Claim(
        "pipeline.zoo",
        "among the same points, seven methods are seven rows of weights for one query",
        r"k-means $N_c$ of indicators, fuzzy c-means $N_r(\Gamma_mu)$, mean shift $e^{-|x - y|^2/2h^2}$, nearest neighbours, diffusion maps $e^{-|x - y|^2/2h^2}/d_j$, t-SNE $(1 + |x - y|^2)^{-1}$, attention $e^{\langle x, y\rangle}$, each with sum one",
        assumptions=("points in the plane, three groups of unequal density",),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981", "cheng1995", "coifman2006", "maaten2008"),
        source_status=("seen", "derived"),
    ),
    constant("memberships", "fuzzy c-means with another exponent", fuzzifier=1.5),
    bug("bandwidth", "the exponent lacks its two", heat=2 * HEAT),
    hypothesis("distance", "attention ignores the norms of its keys", biased=False),
)
def test_zoo(run, *, heat=HEAT, fuzzifier=FUZZIFIER, biased=True):
    table = run.study(studies.zoo)
    first = table.where(method="attention")
    x = np.column_stack([first["x1"], first["x2"]])
    for name, weights in definitions(x, heat=heat, fuzzifier=fuzzifier, biased=biased):
        claimed = weights / weights.sum()
        measured = table.where(method=name).intervals("weight")
        for point, (weight, share) in enumerate(zip(measured, claimed, strict=True)):
            yield equals(weight, share, scale=1, method=name, point=point)
