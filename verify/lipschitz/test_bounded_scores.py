"""Any score on a bounded set: attention is Lipschitz in W1, projected or not, with its own or other keys."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, Constants, DotProduct, Softmatch, SquaredDistance
from theory.evidence import (
    Claim,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz.constants import kernel_constant, measure_constant, query_constant, score_constant
from verify.inputs import FLOOR, draw_cloud, draw_layer, push_within
from verify.textbook.scores import Written

SOURCES = ("vuckovic2020",)
REFEREED = ("derived", "refereed")


class Ramp(Written):
    """A score of the key alone: level up to ``foot``, then rising."""

    def __init__(self, slope, foot):
        self.slope, self.foot = slope, foot

    def matrix(self, x, y):
        """Return the same row for every query."""
        return np.zeros((len(x), 1)) + self.slope * np.maximum(y[:, 0] - self.foot, 0.0)


class Tent(Written):
    """The score log G of the weights G = 1 + steepness |x - y|."""

    def __init__(self, steepness):
        self.steepness = steepness

    def matrix(self, x, y):
        """Return the logarithms of the weights."""
        return np.log1p(self.steepness * np.abs(x - y.T))


def general(score, diameter, *, head=1.0):
    """The constant as it is printed, for the constants of a score; a twin leaves out what the diameter adds."""
    o, query, key, mixed = score
    return np.minimum(diameter / 2 * query, diameter**2 / 4 * mixed) + np.exp(o) * (1.0 + head * diameter * key)


def of_distance(beta, diameter):
    """The constants of squared distance, as they are printed."""
    beta, size = exact(beta), exact(diameter)
    return Constants(beta * size**2, 2.0 * beta * size, 2.0 * beta * size, 2.0 * beta)


def of_ramp(slope, rise):
    """The constants of a ramp."""
    return Constants(exact(slope) * rise, exact(0.0), exact(slope), exact(0.0))


def attended(score, value, *laws):
    """W1 of the images of laws under self-attention."""
    return w1(*(AttentionKernel(score, law, value).push(law.enclosed()) for law in laws))


def matched(score, *laws):
    """W1 of the laws of the keys that queries match, which are drawn from the keys themselves."""
    return w1(*(Softmatch(score, law).push(law.enclosed()) for law in laws))


def pair_of(rng, d, radius):
    """Draw two measures on a ball, half of them near each other."""
    x = draw_cloud(rng, int(rng.integers(1, 5)), d, radius)
    y = push_within(rng, x, radius) if rng.uniform() < 0.6 else draw_cloud(rng, int(rng.integers(1, 5)), d, radius)
    masses = [rng.dirichlet(np.full(len(z), 0.4)) + 1e-12 for z in (x, y)]
    return [Measure.normalised(z, masses[0] if len(x) == len(y) else w) for z, w in zip((x, y), masses, strict=True)]


@verifies(
    Claim(
        "lipschitz.score",
        "a score with bounded oscillation and slopes on a bounded set makes attention Lipschitz in W1",
        r"$W_1(\mu A_\mu, \nu A_\nu) \le \|V\|\left[\min(\tfrac D2\ell_x, \tfrac{D^2}4\ell_{xy}) + e^o(1 + D\ell_y)\right]W_1(\mu, \nu)$, likewise for $\mu S_\mu$ with $\|V\| = 1$; $\left[D\,\mathrm{Lip}_xG + \sup G + D\,\mathrm{Lip}_yG\right]/\inf G$ for weights $G$",
        assumptions=("a set of diameter D",),
        spec=("MA.L6",),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("near", "one per cent below the constant", share=0.99),
    constant("fifth", "a fifth below the constant", share=0.8),
    hypothesis("wider", "the set has one and a half times the diameter", reach=1.5),
    bug("no-diameter", "the term with the diameter is left out", head=0.0),
)
def test_score(run, *, share=1.0, reach=1.0, head=1.0):
    for rng in run.draws(quick=8, paper=150):
        d = int(rng.integers(1, 3))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        mu, nu = pair_of(rng, d, radius)
        before = w1(mu, nu)
        if before.lo < FLOOR * radius:
            continue
        beta = float(rng.uniform(0.1, 1.0)) / radius**2
        value = 10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=(d, d))
        distance = SquaredDistance(beta)
        bound = share * general(of_distance(beta, 2 * radius), 2 * radius, head=head)
        yield at_most(attended(distance, value, mu, nu), spectral_norm(value) * bound * before, way="distance", d=d)
        yield at_most(matched(distance, mu, nu), bound * before, part="without projection", d=d)
        steep = float(rng.uniform(0.1, 8.0)) / radius
        if d == 1:  # weights that are Lipschitz in either slot, and from 1 to 1 + steep D
            most = 1.0 + 2.0 * radius * exact(steep)
            bound = share * (most + 2.0 * (most - 1.0))
            yield at_most(attended(Tent(steep), None, mu, nu), bound * before, part="weights", steep=steep)
            told = kernel_constant(exact(1.0), most, exact(steep), exact(steep), exact(2 * radius))
            yield equals(told, bound, way="weights", part="constant")
    for slope, rise, light, step in ((2.0, 0.5, 2.0**-20, 2.0**-10), (4.0, 1.0, 2.0**-20, 2.0**-10)):
        near, far = (Measure([[0.0], [reach - h]], [1.0 - light, light]) for h in (step, 0.0))
        ramp = Ramp(slope, reach - rise)
        before = w1(near, far)
        bound = share * general(of_ramp(slope, rise), 1.0, head=head)
        yield at_most(attended(ramp, None, near, far), bound * before, way="ramp", slope=slope)
        yield at_most(matched(ramp, near, far), bound * before, part="without projection", slope=slope)
        steep = slope / 8.0  # weights 1 + steep |x - y|: the same atoms stretch distances by 1 + 2 steep
        most = share * (1.0 + 3.0 * exact(steep)) * before
        yield at_most(attended(Tent(steep), None, near, far), most, part="weights", way="tent", steep=steep)
        yield equals(score_constant(of_ramp(slope, rise), 1.0), bound, way="ramp", part="constant")


@verifies(
    Claim(
        "lipschitz.cross",
        "with keys of their own, queries and keys have a constant each",
        r"$W_1(\mu A_\nu, \mu'A_{\nu'}) \le \|V\|\left[\alpha W_1(\mu, \mu') + e^{2\alpha}(1 + 2\alpha)W_1(\nu, \nu')\right]$ on $B_R$",
        assumptions=("scores x'By", "tokens in a ball of radius R"),
        spec=("MA.L6",),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("queries", "queries have the constant 0.9 alpha", queries=0.9),
    constant("keys", "keys have the constant exp(alpha)(1 + 2 alpha)", rate=1.0),
    hypothesis("outside", "the keys lie in the ball of twice the radius", reach=2.0),
)
def test_cross(run, *, queries=1.0, rate=2.0, reach=1.0):
    cases = []
    for rng in run.draws(quick=8, paper=150):
        d = int(rng.integers(1, 3))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        form, value = draw_layer(rng, d, radius)
        value *= 10.0 ** rng.uniform(-3.0, 3.0)
        cases.append((*pair_of(rng, d, radius), *pair_of(rng, d, radius), form, value, radius, "random"))
    pair = Measure([[-1.0], [1.0]])
    one = np.eye(1)
    for alpha in (0.5, 1.0, 3.0):
        form = np.array([[alpha]])
        rare = 2.0**-10 * math.exp(-2.0 * alpha)
        origin = Measure.dirac([0.0]), Measure.dirac([2.0**-12])
        cases.append((*origin, *(pair.linear_image([[reach]]) for _ in range(2)), form, one, 1.0, "balanced keys"))
        atoms = (Measure([[1.0], [-1.0 + h]], [1.0 - rare, rare]).linear_image([[reach]]) for h in (0.0, 2.0**-6))
        cases.append((Measure.dirac([1.0]), Measure.dirac([1.0]), *atoms, -form, one, 1.0, "far atom"))
    for mu, other, nu, another, form, value, radius, way in cases:
        alpha = spectral_norm(form) * exact(radius) ** 2
        asked = w1(mu, other)
        keys = w1(nu, another)
        if asked.hi + keys.hi < FLOOR * radius:
            continue
        query, key = both_constants(alpha, queries, rate)
        first, second = (AttentionKernel(DotProduct(form=form), law, value) for law in (nu, another))
        after = w1(first.push(mu.enclosed()), second.push(other.enclosed()))
        yield at_most(after, spectral_norm(value) * (query * asked + key * keys), way=way, alpha=alpha.mid)
    for alpha in (0.25, 1.0, 3.0):
        query, key = both_constants(exact(alpha), queries, rate)
        yield equals(query_constant(exact(alpha)), query, alpha=alpha, part="query constant")
        yield equals(measure_constant(exact(alpha)), key, alpha=alpha, part="measure constant")


def both_constants(alpha, queries, rate):
    """The constants of queries and of keys, as they are printed."""
    return queries * alpha, np.exp(rate * alpha) * (1.0 + 2.0 * alpha)
