"""What looking values up and projecting laws to their moments can stretch."""

import numpy as np

from theory import Measure, w1
from theory.attention import Lookup, MomentSubspace, barycentres
from theory.evidence import (
    Claim,
    at_most,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    norm,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz.constants import lookup_constant
from verify.inputs import FLOOR, UNITS, draw_pair

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
        source_status=ON_PAPER,
    ),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    hypothesis("squares", "the feature is the square, on the whole line", feature=np.square),
    bug("sum", "moments are summed over the atoms, not averaged", summed=True),
)
def test_projection(run, *, factor=1.0, feature=lambda y: 100.0 * np.sin(y), summed=False):
    def project(subspace, mu):
        law = mu.enclosed()
        if summed:
            return subspace.section(subspace.feature(law.points).sum(axis=0))
        return subspace.project(law)

    ends = Measure.dirac([100.0]), Measure.dirac([101.0])
    cases = [("feature", 1.0, MomentSubspace(feature, Measure.dirac), 100.0, *ends)]
    shifted = Measure([[0.0], [1.0], [3.0]]), Measure([[2.0], [3.0], [5.0]])
    cases.append(("translate", 1.0, barycentres(), 1.0, *shifted))
    for number, rng in enumerate(run.draws(quick=16, paper=150)):
        # every third one is a translate
        d = int(rng.integers(1, 4))
        unit = UNITS[number // 3 % len(UNITS)]
        noise = Measure.normalised(unit * rng.normal(size=(3, d)), rng.dirichlet(np.ones(3)))
        cloud = MomentSubspace(lambda y: y, lambda z, rho=noise: rho.enclosed().push_forward(lambda y: y + z))
        bent = MomentSubspace(lambda y: np.abs(y) / 2.0, lambda z: Measure.dirac(3.0 * z))
        mu, nu = draw_pair(rng, d, unit)
        if number % 3 == 0:
            nu = Measure(mu.points + unit * rng.normal(size=d), mu.weights)
        way = "translate" if number % 3 == 0 else "pair"
        ways = ((way, barycentres(), 1.0), (way, cloud, 1.0), ("bent", bent, 1.5))
        cases += [(name, unit, subspace, rate, mu, nu) for name, subspace, rate in ways]
    for way, unit, subspace, rate, mu, nu in cases:
        before = w1(mu, nu)
        if before.lo < FLOOR * (unit + max(float(np.abs(m.points).max()) for m in (mu, nu))):
            continue
        relation = equals if way == "translate" else at_most
        after = w1(project(subspace, mu), project(subspace, nu))
        yield relation(after, factor * rate * before, way=way, n=mu.size, d=mu.dim)


@verifies(
    Claim(
        "gibbs.lookup",
        "looking values up stretches W1 by at most the norm of the value matrix, or the steepest slope of the table",
        r"$W_1(\mu L, \nu L) \le \tau(L)W_1(\mu, \nu)$, $\tau = \|V\|_2$ or $\max_{i \ne j}|v_i - v_j|/|k_i - k_j|$, attained at Dirac masses",
        assumptions=("a table: laws on its keys, which are distinct",),
        spec=("MA.L4",),
        cites=SOURCES,
        source_status=ON_PAPER,
    ),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    bug("radius", "the spectral radius stands for the norm", radius=True),
    bug("neighbours", "only keys that follow one another in the table are compared", neighbours=True),
    hypothesis("another-table", "the second law is looked up in the table of half the values", other=0.5),
)
def test_lookup(run, *, factor=1.0, radius=False, neighbours=False, other=1.0):
    def linear(matrix):
        return exact(np.abs(np.linalg.eigvals(matrix)).max()) if radius else spectral_norm(matrix)

    origin, second = Measure.dirac([0.0, 0.0]), Measure.dirac([0.0, 1.0])
    one = w1(origin.linear_image(NILPOTENT), second.linear_image(other * NILPOTENT))
    yield equals(one, factor * linear(NILPOTENT), scale=1, way="nilpotent")
    far = np.array([[0.0], [8.0], [1.0]]), np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])  # steepest from end to end
    tables = [(*far, [Measure(far[0]), Measure(far[0], [0.5, 0.25, 0.25])])]
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        d = int(rng.integers(1, 4))
        n = int(rng.integers(3, 7))
        unit = UNITS[number % len(UNITS)]
        matrix, (mu, nu) = rng.normal(size=(d, d)), draw_pair(rng, d, unit)
        before = w1(mu, nu)
        size = float(max(np.abs(m.points).max() for m in (mu, nu)))
        if before.lo >= FLOOR * size:
            after = w1(mu.enclosed().linear_image(matrix), nu.enclosed().linear_image(other * matrix))
            yield at_most(after, factor * linear(matrix) * before, scale=before, way="linear", n=mu.size, d=d)
        keys, values = unit * rng.normal(size=(n, d)), rng.normal(size=(n, 2)) / unit
        laws = [Measure.normalised(keys, rng.dirichlet(np.full(n, 0.4)) + 1e-12) for _ in range(2)]
        tables.append((keys, values, laws))
    for keys, values, laws in tables:
        n, d = keys.shape
        pairs = [(i, j) for j in range(n) for i in range(j) if not neighbours or j == i + 1]
        slopes = [norm(balls(values[i]) - balls(values[j])) / norm(balls(keys[i]) - balls(keys[j])) for i, j in pairs]
        steepest = hull(np.array(slopes)).max()
        images = [Lookup(keys, v).push(law.enclosed()) for v, law in zip((values, other * values), laws, strict=True)]
        yield at_most(w1(*images), factor * steepest * w1(*laws), way="table", n=n, d=d)
        i, j = pairs[int(np.argmax([float(slope.mid()) for slope in slopes]))]
        ends = [Lookup(keys, v).at(keys[k]) for v, k in ((values, i), (other * values, j))]
        ratio = w1(*ends) / w1(Measure.dirac(keys[i]), Measure.dirac(keys[j]))
        yield equals(ratio, factor * steepest, way="pair", d=d)
        yield equals(lookup_constant(exact(keys), exact(values)), factor * steepest, part="constant", d=d)
