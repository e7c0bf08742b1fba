"""Any score on a bounded set: attention is Lipschitz in W1, projected or not, with its own or other keys."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, DotProduct, Softmatch, SquaredDistance
from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz.constants import kernel_constant, measure_constant, query_constant, score_constant
from verify.lipschitz.pairs import FLOOR, blurred, draw_cloud, image, layer, moved, norm, rounded
from verify.textbook import hull

SOURCES = ("vuckovic2020",)
REFEREED = ("derived", "refereed")


class Ramp:
    """A score of the key alone: level up to ``foot``, then rising; exact in floats for the keys used here."""

    def __init__(self, slope, foot):
        self.slope, self.foot = slope, foot

    def matrix(self, x, y):
        """Return the same row for every query."""
        return np.tile(self.slope * np.maximum(0.0, y[:, 0] - self.foot), (len(x), 1))

    def bounds(self, _, y):
        """Bound size and rounding."""
        size = self.slope * float(np.maximum(0.0, y - self.foot).max())
        return size, gamma(4) * self.slope * (size + abs(self.foot) + float(np.abs(y).max()))


class Tent:
    """The score log G of the weights G = 1 + steepness |x - y|."""

    def __init__(self, steepness):
        self.steepness = steepness

    def matrix(self, x, y):
        """Return the logarithms of the weights."""
        return np.log1p(self.steepness * np.abs(x - y.T))

    def bounds(self, x, y):
        """Bound size and rounding; the derivative of the logarithm of 1 + z times z is at most one."""
        size = math.log1p(self.steepness * float(np.abs(x).max() + np.abs(y).max()))
        return size, gamma(16) * (1.0 + size)


def general(oscillation, query, key, mixed, diameter, *, head=1.0):
    """The constant as it is printed, of floats or intervals; a twin leaves out what the diameter adds."""
    low, high = min(diameter / 2 * query, diameter**2 / 4 * mixed), ball(oscillation).exp()
    return low + hull(high) * (1.0 + head * diameter * Interval.exactly(key))


def pair_of(rng, d, radius):
    """Draw two measures on a ball, half of them near each other."""
    x = draw_cloud(rng, int(rng.integers(1, 5)), d, radius)
    y = moved(rng, x, radius) if rng.uniform() < 0.6 else draw_cloud(rng, int(rng.integers(1, 5)), d, radius)
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
        provenance=REFEREED,
    ),
    constant("near", "one per cent below the constant", share=0.99),
    constant("fifth", "a fifth below the constant", share=0.8),
    hypothesis("wider", "the set has one and a half times the diameter", reach=1.5),
    bug("no-diameter", "the term with the diameter is left out", head=0.0),
)
def test_score(run, *, share=1.0, reach=1.0, head=1.0):
    for rng in run.draws(quick=8, paper=150):
        d, radius = int(rng.integers(1, 3)), float(10.0 ** rng.uniform(-3.0, 3.0))
        mu, nu = pair_of(rng, d, radius)
        before, diameter = w1(mu, nu), Interval.exactly(radius) * 2
        if before.lo < FLOOR * radius:
            continue
        distance, value = (
            SquaredDistance(float(rng.uniform(0.1, 1.0)) / radius**2),
            10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=(d, d)),
        )
        o, query, key, mixed = distance.constants(radius)
        bound = share * general(o * (1 + gamma(8)), query, key, mixed, 2 * radius * (1 + gamma(8)), head=head)
        (one, first), (two, second) = (image(m, distance, value) for m in (mu, nu))
        yield at_most(blurred(w1(one, two), first, second), norm(value) * bound * before, way="distance", d=d)
        matches = [Softmatch(distance, m) for m in (mu, nu)]
        errors = [2 * radius * (match.error(match.nu.points) + gamma(2 * match.nu.size + 4)) for match in matches]
        free = [match.push(m) for match, m in zip(matches, (mu, nu), strict=True)]
        yield at_most(blurred(w1(*free), *errors), bound * before, part="without projection", d=d)
        steep = float(rng.uniform(0.1, 8.0)) / radius
        if d == 1:
            (one, first), (two, second) = (image(m, Tent(steep), None) for m in (mu, nu))
            weights = 1.0 + 3.0 * steep * diameter  # Lipschitz in either slot, and from 1 to 1 + steep D
            yield at_most(blurred(w1(one, two), first, second), share * weights * before, part="weights", steep=steep)
            told = rounded(kernel_constant(1.0, 1.0 + steep * 2 * radius, steep, steep, 2 * radius))
            yield equals(told, share * weights, way="weights", part="constant")
    for slope, rise, light, step in ((2.0, 0.5, 2.0**-20, 2.0**-10), (4.0, 1.0, 2.0**-20, 2.0**-10)):
        foot = reach - rise
        near, far = (Measure([[0.0], [reach - h]], [1.0 - light, light]) for h in (step, 0.0))
        (one, first), (two, second) = (image(m, Ramp(slope, foot), None) for m in (near, far))
        bound = share * general(slope * rise, 0.0, slope, 0.0, 1.0, head=head)
        yield at_most(blurred(w1(one, two), first, second), bound * w1(near, far), way="ramp", slope=slope)
        matches = [Softmatch(Ramp(slope, foot), m) for m in (near, far)]
        errors = [2 * reach * (match.error(match.nu.points) + gamma(2 * match.nu.size + 4)) for match in matches]
        free = [match.push(m) for match, m in zip(matches, (near, far), strict=True)]
        yield at_most(blurred(w1(*free), *errors), bound * w1(near, far), part="without projection", slope=slope)
        steep = slope / 8.0  # weights 1 + steep |x - y|: the same atoms stretch distances by 1 + 2 steep
        (one, first), (two, second) = (image(m, Tent(steep), None) for m in (near, far))
        most = share * (1.0 + 3.0 * Interval.exactly(steep))
        yield at_most(
            blurred(w1(one, two), first, second), most * w1(near, far), part="weights", way="tent", steep=steep
        )
        told = rounded(score_constant((slope * rise, 0.0, slope, 0.0), 1.0))
        claimed = share * general(slope * rise, 0.0, slope, 0.0, 1.0, head=head)
        yield equals(told, claimed, way="ramp", part="constant")


@verifies(
    Claim(
        "lipschitz.cross",
        "with keys of their own, queries and keys have a constant each",
        r"$W_1(\mu A_\nu, \mu'A_{\nu'}) \le \|V\|\left[\alpha W_1(\mu, \mu') + e^{2\alpha}(1 + 2\alpha)W_1(\nu, \nu')\right]$ on $B_R$",
        assumptions=("scores x'By", "tokens in a ball of radius R"),
        spec=("MA.L6",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("queries", "queries have the constant 0.9 alpha", queries=0.9),
    constant("keys", "keys have the constant exp(alpha)(1 + 2 alpha)", rate=1.0),
    hypothesis("outside", "the keys lie in the ball of twice the radius", reach=2.0),
)
def test_cross(run, *, queries=1.0, rate=2.0, reach=1.0):
    def constants(alpha):
        a = ball(alpha)
        return queries * Interval.exactly(alpha), hull((ball(rate) * a).exp() * (1 + 2 * a))

    cases = []
    for rng in run.draws(quick=8, paper=150):
        d, radius = int(rng.integers(1, 3)), float(10.0 ** rng.uniform(-3.0, 3.0))
        form, value = layer(rng, d, radius)
        value *= 10.0 ** rng.uniform(-3.0, 3.0)
        cases.append((*pair_of(rng, d, radius), *pair_of(rng, d, radius), form, value, radius, "random"))
    pair, one = Measure([[-1.0], [1.0]]), np.eye(1)
    for alpha in (0.5, 1.0, 3.0):
        form, rare = np.array([[alpha]]), 2.0**-10 * math.exp(-2.0 * alpha)
        origin = Measure.dirac([0.0]), Measure.dirac([2.0**-12])
        cases.append((*origin, *(pair.linear_image([[reach]]) for _ in range(2)), form, one, 1.0, "balanced keys"))
        atoms = (Measure([[1.0], [-1.0 + h]], [1.0 - rare, rare]).linear_image([[reach]]) for h in (0.0, 2.0**-6))
        cases.append((Measure.dirac([1.0]), Measure.dirac([1.0]), *atoms, -form, one, 1.0, "far atom"))
    for mu, other, nu, another, form, value, radius, way in cases:
        alpha = norm(form) * Interval.exactly(radius) ** 2
        (low_query, low_key), (high_query, high_key) = constants(alpha.lo), constants(alpha.hi)
        if w1(mu, other).hi + w1(nu, another).hi < FLOOR * radius:
            continue
        outputs, errors = [], []
        for asked, keys in ((mu, nu), (other, another)):
            kernel = AttentionKernel(DotProduct(form=form), keys, value)
            outputs.append(kernel.push(asked))
            errors.append(kernel.rounding(asked.points) * math.sqrt(len(form)) * (1 + gamma(4)))
        query, key = Interval(low_query.lo, high_query.hi), Interval(low_key.lo, high_key.hi)
        bound = norm(value) * (query * w1(mu, other) + key * w1(nu, another))
        yield at_most(blurred(w1(*outputs), *errors), bound, way=way, alpha=alpha.mid)
    for alpha in (0.25, 1.0, 3.0):
        for part, told, claimed in zip(
            ("query constant", "measure constant"), (query_constant, measure_constant), constants(alpha), strict=True
        ):
            yield equals(rounded(told(alpha)), claimed, alpha=alpha, part=part)
