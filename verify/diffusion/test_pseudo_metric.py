"""Which of the scores that attention uses are pseudo-metrics, decided axiom by axiom."""

from fractions import Fraction

import numpy as np
import sympy

from theory.diffusion.similarity import (
    GraphScore,
    angles,
    cosine_gaps,
    defects,
    distances,
    kernel_distances,
    relaxed_excess,
)
from theory.evidence import (
    Claim,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    norm,
    verifies,
    zero,
)

RUAN = ("ruan2024",)
REFEREED = ("derived", "refereed on paper")
WIDE = np.array([[1.0, -0.5, 0.25], [0.5, 1.0, -1.0]])
LINE = np.array([[0.0], [1.0], [2.0]])
ARC = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # directions at 0, 45 and 90 degrees
TILT = np.array([[1.0, 2.0], [0.0, 1.0]])
AXES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])

# a dissimilarity: its values on a cloud, a named cloud, and which axioms hold (sign, diagonal, symmetry, triangle)
KINDS = {
    "distance": (distances, ARC, (1, 1, 1, 1)),
    "angle": (angles, ARC, (1, 1, 1, 1)),
    "kernel distance": (kernel_distances, ARC, (1, 1, 1, 1)),
    "linear": (lambda x: distances(x @ WIDE[:, : x.shape[1]].T), ARC, (1, 1, 1, 1)),
    "features": (lambda x: distances(np.tanh(x @ WIDE[:, : x.shape[1]].T)), ARC, (1, 1, 1, 1)),
    "squared distance": (lambda x: distances(x) ** 2, LINE, (1, 1, 1, 0)),
    "squared angle": (lambda x: angles(x) ** 2, ARC, (1, 1, 1, 0)),
    "squared kernel distance": (lambda x: kernel_distances(x) ** 2, LINE, (1, 1, 1, 0)),
    "1 - cos": (cosine_gaps, ARC, (1, 1, 1, 0)),
    "bilinear": (lambda x: -x @ TILT[: x.shape[1], : x.shape[1]] @ x.T, ARC, (0, 0, 0, 0)),
    "graph": (lambda x: -GraphScore([1.0, 2.0], [-2.0, 0.5]).matrix(x, x), AXES, (0, 0, 0, 0)),
    "-x.y on the sphere": (lambda x: -unit(x) @ unit(x).T, AXES, (0, 0, 1, 0)),
}
AXIOMS = ("negative", "diagonal", "asymmetry", "triangle")
MARGIN = Fraction(1, 10)  # every failing axiom fails by at least this at the named cloud


def unit(x):
    """Directions."""
    return x / norm(x, axis=1, keepdims=True)


def clouds(run, dim, *, quick=2, paper=40):
    """Random points, with one of them on a segment between two others, where the triangle inequality is sharp."""
    for rng in run.draws(quick=quick, paper=paper):
        x = rng.normal(size=(12, dim))
        x[2] = 0.5 * (x[0] + x[1])
        yield x


def dissimilarities(run):
    """Every kind with its named cloud, which is number zero, and with random ones."""
    for name, (values, named, holds) in KINDS.items():
        for number, x in enumerate([named, *clouds(run, max(named.shape[1], 2))]):
            yield name, number, values(exact(x)), holds


@verifies(
    Claim(
        "pipeline.axioms",
        "distances, angles and distances of images obey all four axioms; squares and 1 - cos all but the triangle's; bilinear and graph scores none",
        r"non-negative, zero on the diagonal, symmetric, triangle inequality: all for $|x - y|$, $\arccos$, $\sqrt{2 - 2k}$, $|Wx - Wy|$, $|\tilde f(x) - \tilde f(y)|$",
        remark=r"the first three for their squares and $1 - \cos$; none for $-x^\top Ay$ and the score of graph attention; symmetry alone for $-x\cdot y$ on the sphere",
        assumptions=("a dissimilarity f is what attention exponentiates",),
        spec=("DL.A4",),
        cites=RUAN,
        source_status=REFEREED,
    ),
    hypothesis("textbook", "every such function is a pseudo-metric in the textbook's sense", textbook=True),
    hypothesis("squares", "squares obey the triangle inequality too", squares=True),
    bug("signed", "the bilinear score enters without its sign, and is a distance", positive=True),
    constant("fails-more", "an axiom that fails at the named points fails by three at least", margin=3),
    hypothesis("off-sphere", "one in a hundred off the sphere", length=1.01),
)
def test_axioms(run, *, textbook=False, squares=False, positive=False, margin=MARGIN, length=1.0):
    for name, number, values, holds in dissimilarities(run):
        signed = positive and name == "bilinear"
        square = squares and name.startswith(("squared", "1 -"))
        obeyed = (1, 1, 1, 1) if textbook or signed else (*holds[:3], 1) if square else holds
        found = defects(-values if signed else values)._asdict()
        case = {"f": name, "cloud": number}
        if name == "-x.y on the sphere":
            # of the first point
            at = np.arange(len(values))
            lengths = np.array([length, *np.ones(len(values) - 1)])
            own = values[at, at] * lengths**2
            yield equals(own.max() - own.min(), 0, scale=1, part="diagonal", f=name)
        for axiom, true in zip(AXIOMS, obeyed, strict=True):
            if true:
                yield at_most(found[axiom], 0, scale=1, part=f"obeyed: {axiom}", axiom=axiom, **case)
            elif number == 0:
                yield at_least(found[axiom], margin, scale=1, part=f"not obeyed: {axiom}", axiom=axiom, **case)


@verifies(
    Claim(
        "pipeline.axiom-witnesses",
        "the points at which the triangle inequality fails, exactly: 0, 1, 2 for squares, angles 0, 45, 90 for 1 - cos",
        r"$4 > 1 + 1$; $1 > 2 - \sqrt2$; $\frac{\pi^2}4 > \frac{\pi^2}8$",
        assumptions=("the named points",),
        spec=("DL.A4",),
        cites=RUAN,
        source_status=REFEREED,
    ),
    constant("printed", "the two gaps of 45 degrees add up to 0.6", both=Fraction(3, 5)),
    bug("roots", "distances stand for their squares", power=1),
    hypothesis("obeyed", "the inequality holds there", sign=-1),
)
def test_axiom_witnesses(run, *, both=None, power=2, sign=1):
    del run
    pi = 4 * ball(1).atan()
    line = exact(LINE)
    arc = exact(ARC)
    cases = {  # its values, that of the whole, and the sum of those of the parts
        "square": (distances(line) ** power, ball(4), ball(2)),
        "1 - cos": (cosine_gaps(arc), ball(1), 2 - ball(2).sqrt() if both is None else ball(both)),
        "angle": (angles(arc) ** power, pi**2 / 4, pi**2 / 8),
    }
    for name, (f, whole, parts) in cases.items():
        yield equals(f[0, 2], whole, scale=1, f=name, part="whole")
        yield equals(f[0, 1] + f[1, 2], parts, scale=1, f=name, part="sum of the parts")
        excess = f[0, 2] - (f[0, 1] + f[1, 2])
        yield at_least(sign * excess, Fraction(2, 5), scale=1, f=name, part="excess")


@verifies(
    Claim(
        "pipeline.relaxed-triangle",
        "squares obey the triangle inequality with the constant two, and no smaller one",
        r"$d^2(x, z) \le 2d^2(x, y) + 2d^2(y, z)$, since $2a^2 + 2b^2 - (a + b)^2 = (a - b)^2$; equality at a midpoint",
        assumptions=("d obeys the triangle inequality",),
        spec=("DL.A4",),
        cites=RUAN,
        source_status=REFEREED,
    ),
    constant("three-halves", "the constant is three halves", factor=Fraction(3, 2)),
    constant("two-less", "the constant is one per cent less than two", factor=Fraction(198, 100)),
    hypothesis("fourth", "fourth powers obey it too", power=4),
    bug("one-sided", "one of the parts is counted once", once=True),
)
def test_relaxed_triangle(run, *, factor=2, power=2, once=False):
    a, b = sympy.symbols("a b", nonnegative=True)
    f = sympy.Rational(factor)
    g = 1 if once else sympy.Rational(factor)
    form = f * a**power + g * b**power - (a + b) ** power
    rest = (a - b) ** 2 if power == 2 else 0
    yield equals(zero(form - rest, {a: 1, b: 2}), 0, scale=1, part="identity")
    for x in (LINE, *clouds(run, 2)):
        for name, values in (("distance", distances), ("angle", angles), ("kernel", kernel_distances)):
            if name == "angle" and x is LINE:
                continue  # zero has no direction
            excess = relaxed_excess(values(exact(x)) ** power, float(factor))
            yield at_most(excess, 0, scale=1, part="inequality", f=name, n=len(x))
    sharp = distances(exact(LINE, Kind.NUMERIC)) ** power
    yield equals(sharp[0, 2] / (sharp[0, 1] + sharp[1, 2]), factor, scale=1, part="midpoint")


@verifies(
    Claim(
        "pipeline.pseudo-metric",
        "a learned linear distance is a metric if the map is injective, and otherwise vanishes between points of its kernel",
        r"$|Wx - Wy| \ge \sigma_{\min}(W)|x - y|$, attained; $|Wx - Wy| = 0$ for $x - y \in \ker W$; $|\tilde f(x) - \tilde f(y)| = 0$ where $\tilde f$ is not injective",
        assumptions=("all four axioms hold",),
        spec=("DL.A4",),
        cites=RUAN,
        source_status=REFEREED,
    ),
    hypothesis("injective", "one in a hundred beside a map that is not injective", beside=0.01),
    constant("more", "one per cent more than the least singular value", factor=1.01),
    bug("transposed", "the transposed map is applied", transposed=True),
)
def test_pseudo_metric(run, *, beside=0.0, factor=1.0, transposed=False):
    tall = np.array([[2.0, 0.0], [1.0, 1.0]])
    flat = np.array([[1.0, -1.0], [2.0, -2.0 + beside]])
    ends = np.array([[0.5, 0.25], [1.5, 1.25]])  # apart by (1, 1), which flat sends to zero
    images = {"kernel": ends @ (flat if transposed else flat.T), "features": np.square([[-1.0], [1.0 + beside]])}
    for part, points in images.items():
        yield equals(exact(distances(points)[0, 1]), 0, scale=1, part=part)
    bound = ball(factor) * ((6 - ball(20).sqrt()) / 2).sqrt()  # eigenvalues of W^T W are 3 +- sqrt(5)
    worst = np.array([[0.0, 0.0], [1.0, -(2.0 + np.sqrt(5.0))]])  # along the right singular vector of the least value
    for x in (worst, *clouds(run, 2)):
        pairs = np.triu_indices(len(x), 1)
        least = (distances(exact(x) @ tall.T)[pairs] / distances(exact(x))[pairs]).min()
        yield at_least(least, bound, scale=1, part="injective", n=len(x))
        if x is worst:
            yield equals(least, bound, scale=1, part="attained")
