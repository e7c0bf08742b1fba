"""What looking values up and projecting laws to their moments can stretch."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import Lookup, MomentSubspace, barycentres
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz.constants import lookup_constant
from verify.inputs import UNITS
from verify.lipschitz.pairs import norm, rounded
from verify.lipschitz.tilts import FLOOR, clouds, length
from verify.textbook import balls

SOURCES = ("vuckovic2020",)
ON_PAPER = ("derived", "refereed on paper")
NILPOTENT = np.array([[0.0, 1.0], [0.0, 0.0]])


@verifies(
    Claim(
        "gibbs.projection",
        "projecting laws to a moment subspace stretches W1 by at most the product of the constants of feature and section",
        r"$W_1(\Pi\mu, \Pi\nu) \le \mathrm{Lip}(F)\,\mathrm{Lip}(e)\,W_1(\mu, \nu)$; barycentre and $e(z) = \rho(\cdot - z)$: constant $1$, attained at translates",
        assumptions=("finite first moments", "feature and section Lipschitz"),
        spec=("MA.L3",),
        cites=SOURCES,
        provenance=ON_PAPER,
    ),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    hypothesis("squares", "the feature is the square, on the whole line", feature=np.square),
    bug("sum", "moments are summed over the atoms, not averaged", summed=True),
)
def test_projection(run, *, factor=1.0, feature=lambda y: 100.0 * np.sin(y), summed=False):
    def project(subspace, mu):
        if summed:
            return subspace.section(subspace.feature(mu.points).sum(axis=0))
        return subspace.project(mu)

    ends = Measure.dirac([100.0]), Measure.dirac([101.0])
    cases = [("feature", 1.0, MomentSubspace(feature, Measure.dirac), 100.0, *ends)]
    shifted = Measure([[0.0], [1.0], [3.0]]), Measure([[2.0], [3.0], [5.0]])
    cases.append(("translate", 1.0, barycentres(), 1.0, *shifted))
    for number, rng in enumerate(run.draws(quick=16, paper=150)):
        d, unit = int(rng.integers(1, 4)), UNITS[number // 3 % len(UNITS)]  # every third one is a translate
        noise = Measure.normalised(unit * rng.normal(size=(3, d)), rng.dirichlet(np.ones(3)))
        cloud = MomentSubspace(lambda y: y, lambda z, rho=noise: Measure(rho.points + z, rho.weights))
        bent = MomentSubspace(lambda y: np.abs(y) / 2.0, lambda z: Measure.dirac(3.0 * z))
        mu, nu = clouds(rng, d, unit)
        if number % 3 == 0:
            nu = Measure(mu.points + unit * rng.normal(size=d), mu.weights)
        way = "translate" if number % 3 == 0 else "pair"
        ways = ((way, barycentres(), 1.0), (way, cloud, 1.0), ("bent", bent, 1.5))
        cases += [(name, unit, subspace, rate, mu, nu) for name, subspace, rate in ways]
    for way, unit, subspace, rate, mu, nu in cases:
        before = w1(mu, nu)
        size = unit + max(float(np.abs(m.points).max()) for m in (mu, nu))
        if before.lo < FLOOR * size:
            continue
        # averages of at most six numbers, and the noise added to them; the sine is within four units
        error = Interval.within(0.0, (100.0 if way == "feature" else 10.0) * gamma(32) * size * math.sqrt(mu.dim))
        after = w1(project(subspace, mu), project(subspace, nu)) + error
        yield (equals if way == "translate" else at_most)(after, factor * rate * before, way=way, n=mu.size, d=mu.dim)


@verifies(
    Claim(
        "gibbs.lookup",
        "looking values up stretches W1 by at most the norm of the value matrix, or the steepest slope of the table",
        r"$W_1(\mu L, \nu L) \le \tau(L)W_1(\mu, \nu)$, $\tau = \|V\|_2$ or $\max_{i \ne j}|v_i - v_j|/|k_i - k_j|$, attained at Dirac masses",
        assumptions=("a table: laws on its keys, which are distinct",),
        spec=("MA.L4",),
        cites=SOURCES,
        provenance=ON_PAPER,
    ),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    bug("radius", "the spectral radius stands for the norm", radius=True),
    bug("neighbours", "only keys that follow one another in the table are compared", neighbours=True),
    hypothesis("another-table", "the second law is looked up in the table of half the values", other=0.5),
)
def test_lookup(run, *, factor=1.0, radius=False, neighbours=False, other=1.0):
    def linear(matrix):
        if radius:
            return Interval.exactly(float(np.abs(np.linalg.eigvals(matrix)).max()))
        return norm(matrix)

    origin, second = Measure.dirac([0.0, 0.0]), Measure.dirac([0.0, 1.0])
    one = w1(origin.linear_image(NILPOTENT), second.linear_image(other * NILPOTENT))
    yield equals(one, factor * linear(NILPOTENT), scale=1, way="nilpotent")
    far = np.array([[0.0], [8.0], [1.0]]), np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])  # steepest from end to end
    tables = [(*far, [Measure(far[0]), Measure(far[0], [0.5, 0.25, 0.25])])]
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        d, n, unit = int(rng.integers(1, 4)), int(rng.integers(3, 7)), UNITS[number % len(UNITS)]
        matrix, (mu, nu) = rng.normal(size=(d, d)), clouds(rng, d, unit)
        before, size = w1(mu, nu), float(max(np.abs(m.points).max() for m in (mu, nu)))
        if before.lo >= FLOOR * size:
            error = Interval.within(0.0, gamma(d + 4) * d * size * float(np.abs(matrix).sum()))
            after = w1(mu.linear_image(matrix), nu.linear_image(other * matrix)) + error
            yield at_most(after, factor * linear(matrix) * before, scale=before, way="linear", n=mu.size, d=d)
        keys, values = unit * rng.normal(size=(n, d)), rng.normal(size=(n, 2)) / unit
        laws = [Measure.normalised(keys, rng.dirichlet(np.full(n, 0.4)) + 1e-12) for _ in range(2)]
        tables.append((keys, values, laws))
    for keys, values, laws in tables:
        n, d = keys.shape
        pairs = {}
        for i, j in zip(*np.triu_indices(n, 1), strict=True):
            if not neighbours or j == i + 1:
                pairs[i, j] = length(balls(values[i]) - balls(values[j])) / length(balls(keys[i]) - balls(keys[j]))
        steepest = Interval.largest(pairs.values())
        images = [Lookup(keys, v).push(law) for v, law in zip((values, other * values), laws, strict=True)]
        error = Interval.within(0.0, 4.0 * gamma(8) * float(np.abs(values).max()))
        yield at_most(w1(*images) + error, factor * steepest * w1(*laws), way="table", n=n, d=d)
        i, j = max(pairs, key=lambda pair: pairs[pair].mid)
        ends = [Lookup(keys, v).at(keys[k]) for v, k in ((values, i), (other * values, j))]
        yield equals(w1(*ends) / w1(Measure.dirac(keys[i]), Measure.dirac(keys[j])), factor * steepest, way="pair", d=d)
        yield equals(rounded(lookup_constant(keys, values)), factor * steepest, part="constant", d=d)
