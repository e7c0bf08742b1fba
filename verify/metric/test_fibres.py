"""Features that are not injective: a layer averages over a fibre, with the weight that the coarea formula gives it."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory import attend
from theory.attention import rounding
from theory.diffusion.limits import extrapolated, worst
from theory.evidence import Claim, Interval, Kind, ball, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import U
from theory.metric import LinearFeatures, MetricScore, ResidualFeatures, fibre_mean, find_fibre
from verify.textbook import balls, hull

RUAN = ("ruan2024",)
COAREA = ("ruan2024", "federer1969")
BITS = 256
PROJECTION = np.array([[1.0], [0.5]])  # W
MEAN, ROOT = np.array([0.5, -0.25]), np.array([[1.0, 0.0], [0.75, 0.5]])  # of Gaussian tokens
QUERY = np.array([1.0, 0.5])


@cache
def measured(where, level):
    """Attention at the query to a quadrature of tokens, for features that are not injective."""
    epsilon = 0.25 * 0.5**level
    found = []
    for share in (1.0, 1.25):
        query, keys, values, masses, features = where(epsilon, share)
        score = MetricScore(features, epsilon)
        found.append(attend(query, keys, values, score=score, weights=masses)[0])
    error = rounding(query, keys, values, score=score, weights=masses) + 512.0 * U * (1.0 + 16.0 / epsilon)
    pairs = zip(*(f.tolist() for f in found), strict=True)
    # the coarser lattice is off by far more than the finer one: twice what separates them, and the rounding of one
    return [Interval.within(b, error + 2.0 * abs(b - a), Kind.ESTIMATED) for a, b in pairs]


def gaussian_tokens(epsilon, share):
    """A lattice of the Gaussian law, along the direction that W sees fine enough for the weights."""
    seen = ROOT.T @ PROJECTION[:, 0]
    turn = np.array([[seen[0], -seen[1]], [seen[1], seen[0]]]) / np.hypot(*seen)
    steps = [min(0.4, 0.4 * np.sqrt(epsilon) / np.hypot(*seen)) / share, 0.4 / share]
    z, t = (h * np.arange(-np.ceil(11 / h), np.ceil(11 / h) + 1) for h in steps)
    grid = np.stack(np.meshgrid(z, t, indexing="ij"), axis=-1).reshape(-1, 2)
    keys = MEAN + grid @ (ROOT @ turn).T
    return QUERY[np.newaxis], keys, keys, np.exp(-0.5 * (grid**2).sum(axis=1)), LinearFeatures(PROJECTION)


@verifies(
    Claim(
        "metric.conditional",
        "if the features are a projection, a layer replaces a token by the conditional mean given what the projection sees",
        r"$f = |W(x - y)|^2$ of lower rank, tokens $\mathcal N(m, \Sigma)$: $P_\varepsilon(x) = m + \Sigma W^\top(W\Sigma W^\top + \varepsilon)^{-1}W(x - m) \to \mathbb E[Y \mid WY = Wx]$, error of order 1; equal for all queries with the same $Wx$",
        assumptions=("Gaussian tokens in the plane", "W of rank one"),
        spec=("DL.E2", "DL.D5", "DL.D8"),
        cites=RUAN,
        provenance=("derived",),
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
            return [hull(b) for b in balls(QUERY)]
        return [hull(b) for b in balls(MEAN) + (sigma @ w) * (away / (w @ sigma @ w + ball(share) * ball(epsilon)))]

    for level, found in enumerate(levels, start=1):
        for axis, (value, claimed) in enumerate(zip(found, mean(Fraction(1, 4 * 2**level)), strict=True)):
            yield equals(value, claimed, scale=1, level=level, axis=axis)
    limits = mean(0)
    for axis, claimed in enumerate(limits):
        found = limit([level[axis] for level in levels[-5:]], order=1)
        yield equals(found, claimed, scale=1, part="limit", axis=axis)
    yield equals(order(worst(levels, limits)[-4:]), 1, scale=1, part="order")
    step = np.array([other])  # W sends (1/2, -1) to zero
    _, keys, values, masses, features = gaussian_tokens(0.25, 1.0)
    score, query = MetricScore(features, 0.25), QUERY[np.newaxis]
    found = [attend(x, keys, values, score=score, weights=masses)[0] for x in (query, query + 2.0 * step)]
    loose = 2.0 * rounding(query + 2.0 * step, keys, values, score=score, weights=masses)
    for a, b in zip(*(f.tolist() for f in found), strict=True):
        yield equals(Interval.within(b, loose), a, scale=1, part="same feature")


SLICE = np.array([[1.0], [0.0], [0.5], [0.0]])  # the feature of (cos x, sin x, cos y, sin y) is cos x + cos y / 2
ANGLES = np.array([[1.2, 2.3]])


def torus_tokens(epsilon, share):
    n = int(share * (48 + 14 / np.sqrt(epsilon)))
    turn = 2 * np.pi * np.arange(n) / n
    x = np.stack(np.meshgrid(turn, turn, indexing="ij"), axis=-1).reshape(-1, 2)

    def points(at):
        return np.stack([part(at[:, k]) for k in (0, 1) for part in (np.cos, np.sin)], axis=1)

    values = np.sin(x[:, 0]) + np.cos(x[:, 0] - x[:, 1])
    masses = np.exp(0.5 * np.cos(x[:, 1]) + 0.4 * np.sin(x[:, 0]))
    return points(ANGLES), points(x), values[:, np.newaxis], masses, LinearFeatures(SLICE)


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
            above, below = above + p * (x.sin() + (x - y).cos()) / nodes, below + p / nodes
    return above, below


@cache
def smoothed(where, weight):
    """The limit N / D and the first-order term (N'' D - N D'') / 2 D^2 of sums that are smoothed in the feature."""
    found = []
    with precision(BITS):
        sums, z = (slice_sums, sliced(balls(ANGLES[0]))) if where == "slice" else (fold_sums, folded(ball(HERE))[0])
        dz = ball(Fraction(1, 2**40))  # of which the square is what the second difference is off
        for nodes in (80, 100):
            (n0, d0), (n1, d1), (n2, d2) = (sums(z + k * dz, weight, nodes) for k in (-1, 0, 1))
            n, d = ((a - 2 * b + c) / (dz * dz) for a, b, c in ((n0, n1, n2), (d0, d1, d2)))
            found.append((hull(n1 / d1), hull((n * d1 - n1 * d) / (2 * d1 * d1))))
    return tuple(f + Interval.within(0.0, 2.0 * abs(f.mid - c.mid) + 1e-15) for c, f in zip(*found, strict=True))


def judged(levels, zeroth, first, **case):
    """Find the limit with order one, and after division by the bandwidth the first-order term."""
    yield equals(limit([level[0] for level in levels[-5:]], order=1), zeroth, scale=1, part="limit", **case)
    errors = [level[0] - zeroth for level in levels]
    yield equals(order(errors[-4:]), 1, scale=1, part="order", **case)
    yield equals(order(worst(extrapolated(levels), [zeroth])[-4:]), 2, scale=1, part="extrapolated", **case)
    count = len(levels)
    rates = [e * 2.0 ** (k + 2) for k, e in enumerate(errors, start=case.get("start", 0))]
    yield equals(limit(rates[count - 5 :], order=1), first, scale=abs(first) + 1, part="first order", **case)


@verifies(
    Claim(
        "metric.fibre",
        "the fibre of a projection is averaged over with the density divided by how fast the feature changes across it",
        r"$A_x = \{y : Wy = Wx\}$, $P_\varepsilon h \to \int_{A_x}\frac{hp}{\sqrt{\det JJ^\top}}\Big/\int_{A_x}\frac p{\sqrt{\det JJ^\top}}$, the mean with $m_0 \propto (\det c)^{-1/2}$, $c = 2JJ^\top$, since $P_\varepsilon h = (G_\varepsilon * N)/(G_\varepsilon * D)$ in the feature; next term $\varepsilon\frac{N''D - ND''}{2D^2}$: $W$ of rank one, feature $\cos x + \frac12\cos y$ of the torus in four dimensions",
        assumptions=(
            "in the limit of many tokens",
            "p positive and analytic",
            "no critical point of the feature on the fibre",
        ),
        spec=("DL.E2", "DL.D5"),
        cites=COAREA,
        provenance=("derived", "refereed on paper"),
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
    h = 0.1 * np.sqrt(epsilon) / share
    x = (HERE + h * np.arange(-np.ceil(9 / h), np.ceil(9 / h) + 1))[:, np.newaxis]
    return np.array([[HERE]]), x, np.cos(x) + 0.5 * x, np.exp(-0.5 * x[:, 0] ** 2 + 0.5 * np.sin(x[:, 0])), FOLD


def folded(x):
    """The feature and its derivative, in balls."""
    t = (2 * x + ball(Fraction(1, 4))).tanh()
    return x - t * 3 / 2, 1 - 3 * (1 - t * t)


def fold_sums(z, weight, nodes):
    """Sums of h p and of p over the preimages of z, with a weight."""
    del nodes  # there is nothing to integrate
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
        r"$g(x) = x - \frac32\tanh(2x + \frac14)$: $P_\varepsilon h \to \sum_k\frac{hp}{|g'|}(x_k)\Big/\sum_k\frac p{|g'|}(x_k)$ over $g(x_k) = g(x)$, three points; next term $\varepsilon\frac{N''D - ND''}{2D^2}$ with N and D these sums as functions of the feature",
        assumptions=("tokens on the line, in the limit of many", "p positive and analytic", "the fibre has no fold"),
        spec=("DL.E2", "DL.D5", "DL.D1"),
        cites=COAREA,
        provenance=("derived",),
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
    count = find_fibre(FOLD, HERE, SPAN).size
    yield equals(count, 1 if weight == "own" else 3, part="sheets")
    mean = fibre_mean(FOLD, HERE, lambda x: np.cos(x) + 0.5 * x, lambda x: np.exp(-0.5 * x**2 + 0.5 * np.sin(x)), SPAN)
    # a root is off by twice the rounding of g, over the least slope; there the slope bends by at most 4.7, the logarithm
    # of the density by 3 and h by 1.5 per unit, and h is below 1.5
    slip = 2.0 * FOLD.rounding([[-1.75], [HERE], [1.25]]) / 0.9 + 32.0 * U
    found = Interval.within(mean, slip * (1.5 + 2.0 * 1.5 * (4.7 / 0.9 + 3.0)) + 512.0 * U)
    yield equals(found, zeroth, scale=1, part="instrument")
