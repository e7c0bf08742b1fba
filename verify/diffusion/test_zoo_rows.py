"""Seven methods at one query among the same points: each row of weights against its definition."""

from functools import cache

import numpy as np

from theory.diffusion import studies
from theory.diffusion.studies.zoo import CENTRES, FUZZIFIER, HEAT, METHODS, NEAREST
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, verifies
from verify import textbook
from verify.textbook import balls, exp, hull, log


@cache
def degrees(points, heat):
    """The sums of the rows of the Gaussian kernel among points, in balls."""
    x = np.frombuffer(points).reshape(-1, 2)
    return exp(textbook.distance_scores(x, x, beta=heat)).sum(axis=1)


def printed(name, x, *, heat, fuzzifier, biased):
    """The row of a method at the first centre as it is defined, in balls."""
    query, n = CENTRES[:1], len(x)
    near, gauss = -textbook.distance_scores(query, x, beta=1.0)[0], ball(heat)
    if name in ("k-means", "fuzzy c-means"):
        apart = -textbook.distance_scores(x, CENTRES, beta=1.0)
        if name == "k-means":
            nearest = [min(range(3), key=lambda j, row=row: float(row[j].mid())) for row in apart]
            weights = balls(np.array([1.0 if j == 0 else 0.0 for j in nearest]))
        else:
            u = exp(log(apart) / (1 - ball(fuzzifier)))
            weights = exp(log(u[:, 0] / u.sum(axis=1)) * ball(fuzzifier))
    elif name == "k nearest":
        chosen = sorted(range(n), key=lambda j: float(near[j].mid()))[:NEAREST]
        weights = balls(np.isin(np.arange(n), chosen).astype(float))
    elif name == "diffusion maps":
        weights = exp(-near * gauss) / degrees(x.tobytes(), heat)
    elif name == "t-SNE":
        weights = 1 / (1 + near)
    elif name == "attention":
        weights = exp(textbook.dot_scores(query, x, beta=1.0)[0])
        if not biased:  # the squared norms of the keys are what tells the two apart
            weights = exp(-near / 2)
    else:
        weights = exp(-near * gauss)
    return weights / weights.sum()


@verifies(
    Claim(
        "pipeline.zoo",
        "among the same points, seven methods are seven rows of weights for one query",
        r"k-means $N_c$ of indicators, fuzzy c-means $N_r(\Gamma_mu)$, mean shift $e^{-|x - y|^2/2h^2}$, nearest neighbours, diffusion maps $e^{-|x - y|^2/2h^2}/d_j$, t-SNE $(1 + |x - y|^2)^{-1}$, attention $e^{\langle x, y\rangle}$, each with sum one",
        assumptions=("points in the plane, three groups of unequal density",),
        spec=("DL.A2",),
        cites=("ruan2024", "bezdek1981", "cheng1995", "coifman2006", "maaten2008"),
        provenance=("seen", "derived"),
    ),
    constant("memberships", "fuzzy c-means with another exponent", fuzzifier=1.5),
    bug("bandwidth", "the exponent lacks its two", heat=2 * HEAT),
    hypothesis("distance", "attention ignores the norms of its keys", biased=False),
)
def test_zoo(run, *, heat=HEAT, fuzzifier=FUZZIFIER, biased=True):
    table = run.study(studies.zoo)
    for name in METHODS:
        part = table.where(method=name)
        x = np.column_stack([part["x1"], part["x2"]])
        claimed = printed(name, x, heat=heat, fuzzifier=fuzzifier, biased=biased)
        for point, (weight, exact) in enumerate(zip(part.intervals("weight"), claimed, strict=True)):
            yield equals(weight, hull(exact), scale=1, method=name, point=point)
