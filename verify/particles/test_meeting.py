"""While the closest pair merges: how little the other clusters move, and where the two meet."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, exact, hypothesis, limit, verifies
from theory.evidence.quadrature import integral_over
from theory.particles import flow, on_sphere, studies
from theory.particles.exact import meeting_point
from theory.particles.studies import MERGING_BETAS as BETAS, MERGING_END as END, MERGING_STARTS as STARTS
from verify.particles.lifetimes import near, ratio_of, travelled
from verify.particles.named_clusters import angle_of, gap_of, unsure
from verify.textbook import hull

meeting_point = cache(meeting_point)
DERIVED = ("derived",)
CITES = ("geshkovski2024",)
UNIQUE = "one pair of clusters is the closest"


def neighbour(m, n, k):
    """The ratio of masses by which the third cluster is moved: its neighbour's to its own."""
    return n / k


def alike(m, n, k):
    """The same if the masses were equal."""
    return 1


@verifies(
    Claim(
        "merge.others",
        "while the closest pair merges, the other clusters move exponentially little",
        r"a cluster of mass $m_k$ travels at most $\frac{1 - m_k}{m_k}s\,e^{-\beta g}$; masses $m, n, k$ on the circle, $n$ between the others at the angles $\varphi < \theta$: $\beta e^{\beta g}$ times what the third travels tends to $\frac nk\,\frac{\sin\theta}{r\sin\varphi\,(\sin\varphi + \frac{m^2}{m^2 + n^2}\sin\theta)}$, $g = \cos\varphi - \cos\theta$; below $10^{-11}$ for $\beta \ge 40$ at $0, .8, 2.2$",
        assumptions=("SA", UNIQUE, "the gap g is smallest at the start"),
        spec=("FR.F19",),
        cites=CITES,
        provenance=DERIVED,
    ),
    constant("square", "they move like the square of that exponential", power=2),
    constant("double", "the prefactor is twice as large", factor=2),
    hypothesis("equal", "the third cluster moves as if the masses were equal", pull=alike),
    bug("frozen", "the pair is taken to stand still for the third cluster", share=0),
    hypothesis("warmer", "what is printed for beta >= 40 is claimed for beta = 20", coldest=20.0),
)
def test_others(run, *, power=1, factor=1, pull=neighbour, share=1, coldest=40.0):
    table = run.study(studies.merging)
    for start in ("three", "sphere"):
        clusters = STARTS[start]
        least = ball(min(clusters.weights[2:]))
        q, gap = hull((1 - least) / least), gap_of(start)
        scaled = []
        for beta in BETAS:
            rows = table.where(start=start, beta=beta)
            cells = (rows["angle"].tolist(), rows.intervals("running"), rows.intervals("others"))
            for angle, s, moved in zip(*cells, strict=True):
                bound = q * s * np.exp(-power * beta * gap)
                if angle < END:
                    continue
                yield at_most(moved, bound, scale=np.exp(-beta * gap), start=start, beta=beta, angle=angle)
            (moved,) = rows.where(angle=END).intervals("others")
            scaled.append(beta * moved / np.exp(-beta * gap))
            if start == "three" and beta >= coldest:
                yield at_most(moved, Fraction(1, 10**11), start=start, beta=beta, part="printed")
        if start == "three":
            m, n, k = (ball(mass) for mass in clusters.weights)
            near, far = ball("4/5"), ball("7/5")
            along = near.sin() + share * m * m / (m * m + n * n) * far.sin()
            claimed = factor * hull(pull(m, n, k) * far.sin() / (ratio_of(m, n) * near.sin() * along))
            yield equals(limit(scaled[-4:], order=1), claimed, start=start, part="prefactor")


@cache
def on_the_way(start, beta, m, n, *, squares):
    """What the first of named clusters has travelled at the end of the study, for these masses."""
    return travelled(angle_of(start), beta, (m, n), END, squares=squares)


@verifies(
    Claim(
        "merge.meeting-point",
        "two clusters meet where the squares of their masses balance, not at their centre of mass",
        r"the first travels $\int_0^{\varphi_0}\frac{n(nE + m)}{(m^2 + n^2)E + 2mn}d\varphi$ of the angle $\varphi_0$, $E = e^{\beta(1 - \cos\varphi)}$; as $\beta \to \infty$ a share $\frac{n^2}{m^2 + n^2}$, and $\sqrt\beta$ times the rest tends to $\frac{mn(m^2 - n^2)}{m^2 + n^2}\int_0^\infty\frac{dy}{(m^2 + n^2)e^{y^2/2} + 2mn}$; without normalisation a share $\frac n{m + n}$ for all $\beta$",
        assumptions=(
            "SA, masses m and n",
            r"$0 < \varphi_0 < \pi$",
            r"the three starts of the study: the bound by $e^{-\beta g}$ is decided there, not proved for all",
        ),
        spec=("FR.F19",),
        cites=CITES,
        provenance=("derived",),
    ),
    constant("barycentre", "they meet at their centre of mass", squares=False),
    constant("half", "the next term is half as large", part="1/2"),
    bug("inverted", "the heavier cluster travels farther", turned=True),
    hypothesis("softmax", "the rows are normalised where they should not be", normalised=True),
)
def test_meeting_point(run, *, squares=True, part=1, turned=False, normalised=False):
    table = run.study(studies.merging)
    for start, clusters in STARTS.items():
        m, n = clusters.weights[:2][:: -1 if turned else 1]
        for beta in BETAS:
            rows = table.where(start=start, beta=beta, angle=END)
            claimed = hull(on_the_way(start, beta, m, n, squares=squares))
            (found,) = rows.intervals("first")
            yield from near(found, claimed, unsure(start, beta), start=start, beta=beta, part="on the way")
    betas = [100.0 * 2.0**k for k in range(run.pick(quick=8, paper=12))]
    for angle, given in ((1.0, (0.75, 0.25)), (2.5, (0.1, 0.4)), (0.5, (0.5, 0.5))):
        points = [meeting_point(angle, beta, weights=given) for beta in betas]
        a, b = (ball(mass) for mass in (given[::-1] if turned else given))
        whole, twice = a * a + b * b, 2 * a * b
        goal = hull(ball(angle) * (b * b / whole if squares else b / (a + b)))
        yield equals(limit(points, order=0.5), goal, angle=angle, masses=given, part="squares")
        for beta, found in list(zip(betas, points, strict=True))[:2]:
            alone = hull(travelled(angle, beta, (a, b), squares=squares))
            yield equals(found, alone, angle=angle, masses=given, beta=beta, part="formula")
        # beyond y = 16 the integrand is below exp(-128)
        tail = integral_over(lambda y, w=whole, t=twice: 1 / (w * (y * y / 2).exp() + t), ball(0), ball(16))
        claimed = hull(ball(part) * twice * (a * a - b * b) / (2 * whole) * tail) + Interval(-1e-50, 1e-50)
        rest = [np.sqrt(exact(beta)) * (found - goal) for beta, found in zip(betas, points, strict=True)]
        yield equals(limit(rest, order=0.5), claimed, scale=1, angle=angle, masses=given, part="next term")
    for time, found in zip((0.5, 1.0, 2.0), centres(normalised), strict=True):
        yield equals(found, hull(ball("4/5") * ball("3/2")), time=time, part="unnormalised")


@cache
def centres(normalised):
    """The centre of mass of two clusters at angles 0 and 1.5, of masses 1/5 and 4/5, at later times."""
    masses = np.array([0.2, 0.8])
    x = np.column_stack([np.cos([0.0, 1.5]), np.sin([0.0, 1.5])])
    path = flow(on_sphere(1.0, normalised=normalised, weights=masses), x, [0.0, 0.5, 1.0, 2.0])
    return path.observe(lambda z: float(masses @ np.arctan2(z[:, 1], z[:, 0])))[1:]
