"""Features that are not injective: a layer averages over a fibre, with the weight that the coarea formula gives it."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory import attend
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import (
    Claim,
    ball,
    balls,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hull,
    hypothesis,
    limit,
    norm,
    order,
    precision,
    verifies,
)
from theory.metric import LinearFeatures, MetricScore, ResidualFeatures, fibre_mean, find_fibre
from verify.inputs import whole_numbers

RUAN = ("ruan2024",)
COAREA = ("ruan2024", "federer1969")
BITS = 256
DEEPEST = -45.0  # a score below which weights are a share of 1e-19, and tokens are left out
PROJECTION = np.array([[1.0], [0.5]])  # W
MEAN, ROOT = np.array([0.5, -0.25]), np.array([[1.0, 0.0], [0.75, 0.5]])  # of Gaussian tokens
QUERY = np.array([1.0, 0.5])


@cache
def measured(where, level):
    """Attention at the query to a quadrature of tokens, for features that are not injective."""
    epsilon = 0.25 * 0.5**level
    coarse, fine = (attended(epsilon, *where(epsilon, share)) for share in (1.0, 1.25))
    # the coarser lattice is off by far more than the finer one: twice what separates them
    return [estimated(found, other, times=2.0) for found, other in zip(fine, coarse, strict=True)]


def attended(epsilon, query, keys, values, masses, features):
    """The layer at one query, for the tokens that are seen."""
    score = MetricScore(features, epsilon)
    seen = score.matrix(exact(query).mid, keys.mid)[0] > DEEPEST
    return attend(exact(query), keys[seen], values[seen], score=score, weights=masses[seen])[0]


def gaussian_tokens(epsilon, share):
    """A lattice of the Gaussian law, along the direction that W sees fine enough for the weights."""
    seen = ROOT.T @ exact(PROJECTION[:, 0])
    turn = np.stack([seen * [1.0, -1.0], seen[::-1]]) / norm(seen)
    steps = np.array([min(0.4, 0.4 * np.sqrt(epsilon) / norm(seen).mid), 0.4]) / share
    grid = whole_numbers(*np.ceil(11 / steps)) * steps
    keys = MEAN + grid @ (ROOT @ turn).T
    return QUERY[np.newaxis], keys, keys, np.exp(-0.5 * (grid * grid).sum(axis=1)), LinearFeatures(PROJECTION)


@verifies(
    Claim(
        "metric.conditional",
        "if the features are a projection, a layer replaces a token by the conditional mean given what the projection sees",
        r"$f = |W(x - y)|^2$ of lower rank, tokens $\mathcal N(m, \Sigma)$: $P_\varepsilon(x) = m + \Sigma W^\top(W\Sigma W^\top + \varepsilon)^{-1}W(x - m) \to \mathbb E[Y \mid WY = Wx]$",
        remark=r"the error is of order 1, and the layer is equal for all queries with the same $Wx$",
        assumptions=("Gaussian tokens in the plane", "W of rank one"),
        spec=("DL.E2", "DL.D5", "DL.D8"),
        cites=RUAN,
        source_status=("derived",),
    ),
    hypothesis("injective", "the features are injective: the limit is the token itself", seen=False),
    constant("bandwidth", "the bandwidth in the formula is epsilon / 2", share=Fraction(1, 2)),
    bug("orthogonal", "the fibre is averaged without the law of the tokens: an orthogonal projection", lawful=False),
    hypothesis("told-apart", "equal also for queries that the projection tells apart", other=(0.5, 1.0)),
)
def test_conditional(run, *, seen=True, share=1, lawful=True, other=(0.5, -1.0)):
    levels = [measured(gaussian_tokens, level) for level in range(1, run.pick(quick=8, paper=10))]
    w = balls(PROJECTION)[:, 0]
    sigma = balls(ROOT) @ balls(ROOT).T if lawful else balls(np.eye(2))
    away = (balls(QUERY - MEAN) * w).sum()

    def mean(epsilon):
        if not seen:
            return hull(balls(QUERY))
        return hull(balls(MEAN) + (sigma @ w) * (away / (w @ sigma @ w + ball(share) * ball(epsilon))))

    for level, found in enumerate(levels, start=1):
        for axis, (value, claimed) in enumerate(zip(found, mean(Fraction(1, 4 * 2**level)), strict=True)):
            yield equals(value, claimed, scale=1, level=level, axis=axis)
    limits = list(mean(0))
    for axis, claimed in enumerate(limits):
        found = limit([level[axis] for level in levels[-5:]], order=1)
        yield equals(found, claimed, scale=1, part="limit", axis=axis)
    yield equals(order(largest_errors(levels, limits)[-4:]), 1, scale=1, part="order")
    _, *problem = gaussian_tokens(0.25, 1.0)
    here, there = (
        attended(0.25, x, *problem) for x in (QUERY[np.newaxis], QUERY[np.newaxis] + 2.0 * np.array([other]))
    )
    yield equals(there, here, scale=1, part="same feature")  # W sends (1/2, -1) to zero


SLICE = np.array([[1.0], [0.0], [0.5], [0.0]])  # the feature of (cos x, sin x, cos y, sin y) is cos x + cos y / 2
ANGLES = np.array([[1.2, 2.3]])


def torus_tokens(epsilon, share):
    """A lattice of angles, with the points of the torus, a function and a density there."""
    n = int(share * (48 + 14 / np.sqrt(epsilon)))
    angles = exact(np.arange(float(n))) * (hull(2 * ball(-1).acos()) / n)
    cosines = np.cos(angles)
    sines = np.sin(angles)
    (x0, x1), (y0, y1) = ([spread(part, n) for part in (cosines, sines)] for spread in (np.repeat, np.tile))
    values = x1 + x0 * y0 + x1 * y1  # sin x + cos(x - y)
    masses = np.repeat(np.exp(0.4 * sines), n) * np.tile(np.exp(0.5 * cosines), n)
    query = exact(ANGLES[0])
    here = np.stack([np.cos(query), np.sin(query)], axis=1).reshape(1, 4)
    return here, np.stack([x0, x1, y0, y1], axis=1), values[:, np.newaxis], masses, LinearFeatures(SLICE)


def sliced(x):
    """The feature, in balls."""
    return x[0].cos() + x[1].cos() / 2


def slice_sums(z, weight, nodes):
    """Integrals of h p and of p over the level set at z of the feature, with a weight: trapezoidal sums around."""
    above = below = ball(0)
    for k in range(nodes):
        y = ball(-1).acos() * 2 * k / nodes
        c = z - y.cos() / 2  # of the first angle
        steep = (1 - c * c).sqrt()
        speed = (steep * steep + y.sin() * y.sin() / 4).sqrt()  # of the feature across the level set
        share = {"coarea": 1 / steep, "length": speed / steep, "angle": ball(1), "twice": 1 / (steep * speed)}[weight]
        for sign in (1, -1):
            x = sign * c.acos()
            p = (y.cos() / 2 + x.sin() * 2 / 5).exp() * share
            above = above + p * (x.sin() + (x - y).cos()) / nodes
            below = below + p / nodes
    return above, below


@cache
def smoothed(where, weight):
    """The limit N / D and the first-order term (N'' D - N D'') / 2 D^2 of sums that are smoothed in the feature."""
    found = []
    with precision(BITS):
        sums, z = (slice_sums, sliced(balls(ANGLES[0]))) if where == "slice" else (fold_sums, folded(ball(HERE))[0])
        dz = ball(Fraction(1, 2**40))  # of which the square is what the second difference is off
        for nodes in (80, 100) if where == "slice" else (1,):  # a fold has nothing to integrate
            (n0, d0), (n1, d1), (n2, d2) = (sums(z + k * dz, weight, nodes) for k in (-1, 0, 1))
            n, d = ((a - 2 * b + c) / (dz * dz) for a, b, c in ((n0, n1, n2), (d0, d1, d2)))
            found.append((hull(n1 / d1), hull((n * d1 - n1 * d) / (2 * d1 * d1))))
    if where == "fold":
        return found[0]
    return tuple(estimated(fine, coarse, times=2.0) for coarse, fine in zip(*found, strict=True))


def judged(levels, zeroth, first, **case):
    """Find the limit with order one, and after division by the bandwidth the first-order term."""
    yield equals(limit([level[0] for level in levels[-5:]], order=1), zeroth, scale=1, part="limit", **case)
    errors = [level[0] - zeroth for level in levels]
    yield equals(order(errors[-4:]), 1, scale=1, part="order", **case)
    yield equals(order(largest_errors(extrapolate(levels), [zeroth])[-4:]), 2, scale=1, part="extrapolated", **case)
    count = len(levels)
    rates = [e * 2.0 ** (k + 2) for k, e in enumerate(errors, start=case.get("start", 0))]
    yield equals(limit(rates[count - 5 :], order=1), first, scale=abs(first) + 1, part="first order", **case)


@verifies(
    Claim(
        "metric.fibre",
        "the fibre of a projection is averaged over with the density divided by how fast the feature changes across it",
        r"$A_x = \{y : Wy = Wx\}$, $P_\varepsilon h \to \int_{A_x}\frac{hp}{\sqrt{\det JJ^\top}}\Big/\int_{A_x}\frac p{\sqrt{\det JJ^\top}}$",
        remark=r"this is the mean with $m_0 \propto (\det c)^{-1/2}$, $c = 2JJ^\top$, since $P_\varepsilon h = (G_\varepsilon * N)/(G_\varepsilon * D)$ in the feature; the next term is $\varepsilon\frac{N''D - ND''}{2D^2}$; decided for $W$ of rank one and the feature $\cos x + \frac12\cos y$ of the torus in four dimensions",
        assumptions=(
            "in the limit of many tokens",
            "p positive and analytic",
            "no critical point of the feature on the fibre",
        ),
        spec=("DL.E2", "DL.D5"),
        cites=COAREA,
        source_status=("derived", "refereed on paper"),
    ),
    bug("length", "all pieces of the fibre of equal length weigh the same", weight="length"),
    bug("angle", "the weight is the density in the angle that runs along the fibre", weight="angle"),
    constant("twice", "the weight is one over the determinant, not its root", weight="twice"),
    hypothesis("injective", "the features are injective: the limit is the function's own value", own=True),
    constant("next", "the next term lacks its half", share=2),
)
def test_fibre(run, *, weight="coarea", own=False, share=1):
    start = 4
    levels = [measured(torus_tokens, level) for level in range(start, start + run.pick(quick=5, paper=6))]
    zeroth, first = smoothed("slice", weight)
    if own:
        x, y = balls(ANGLES[0])
        zeroth = hull(x.sin() + (x - y).cos())
    yield from judged(levels, zeroth, share * first, start=start)


FOLD = ResidualFeatures(np.array([[2.0]]), np.array([0.25]), np.array([[-1.5]]), np.zeros(1))  # g' = -2 at the middle
HERE = -0.0625
SPAN = (-8.0, 8.0)


def fold_tokens(epsilon, share):
    """A lattice of the line, with a function and a density there."""
    step = 0.1 * np.sqrt(epsilon) / share
    x = HERE + whole_numbers(np.ceil(9 / step)) * step
    return np.array([[HERE]]), x, wave(x), bump(x[:, 0]), FOLD


def wave(x):
    """The function that is averaged."""
    return np.cos(x) + 0.5 * x


def bump(x):
    """The density of the tokens, up to a factor."""
    return np.exp(-0.5 * x * x + 0.5 * np.sin(x))


def folded(x):
    """The feature and its derivative, in balls."""
    t = (2 * x + ball(Fraction(1, 4))).tanh()
    return x - t * 3 / 2, 1 - 3 * (1 - t * t)


def fold_sums(z, weight, nodes):
    """Sums of h p and of p over the preimages of z, with a weight."""
    del nodes
    above = below = ball(0)
    for guess in (-1.75, HERE, 1.25) if weight != "own" else (HERE,):
        x = ball(guess)
        for _ in range(12):
            value, slope = folded(x)
            x = (x - (value - z) / slope).mid()
        value, slope = folded(x)
        x = x - (value - z).union(ball(0)) / slope  # the rest is far below what the differences see
        share = {"even": ball(1), "signed": 1 / slope, "twice": 1 / (slope * slope)}.get(weight, 1 / abs(slope))
        p = (-x * x / 2 + x.sin() / 2).exp() * share
        above, below = above + p * (x.cos() + x / 2), below + p
    return above, below


@verifies(
    Claim(
        "metric.fold",
        "where a residual network folds, a layer mixes the sheets by density over slope, however far apart their tokens are",
        r"$g(x) = x - \frac32\tanh(2x + \frac14)$: $P_\varepsilon h \to \sum_k\frac{hp}{|g'|}(x_k)\Big/\sum_k\frac p{|g'|}(x_k)$ over $g(x_k) = g(x)$, three points",
        remark=r"the next term is $\varepsilon\frac{N''D - ND''}{2D^2}$ with N and D these sums as functions of the feature",
        assumptions=("tokens on the line, in the limit of many", "p positive and analytic", "the fibre has no fold"),
        spec=("DL.E2", "DL.D5", "DL.D1"),
        cites=COAREA,
        source_status=("derived",),
    ),
    hypothesis("injective", "only the token's own sheet counts", weight="own"),
    bug("even", "the sheets weigh by their density alone", weight="even"),
    bug("signed", "the slope enters with its sign", weight="signed"),
    constant("twice", "the weight is one over the squared slope", weight="twice"),
    constant("next", "the next term lacks its half", share=2),
)
def test_fold(run, *, weight="coarea", share=1):
    del run
    start = 4
    levels = [measured(fold_tokens, level) for level in range(start, start + 6)]
    zeroth, first = smoothed("fold", weight)
    yield from judged(levels, zeroth, share * first, start=start)
    yield equals(find_fibre(FOLD, HERE, SPAN).size, 1 if weight == "own" else 3, part="sheets")
    yield equals(fibre_mean(FOLD, exact(HERE), wave, bump, SPAN), zeroth, scale=1, part="instrument")
