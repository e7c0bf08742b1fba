"""In what sense weights point along the scores: on the whole, in order, and in the limit of high temperatures."""

from fractions import Fraction

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    verifies,
)
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import gamma
from theory.maxent import (
    entmax,
    entmax_gap,
    gibbs_law,
    linear_law,
    softmax,
)
from verify import textbook
from verify.textbook import balls, hull

SPARSE = ("blondel2020", "martins2016", "peters2019")


def solved(s, alpha, tau=1.0):
    """The maximiser, and a bound on the error of each weight."""
    if alpha == 1.0:
        law, error = gibbs_law(s, tau=tau)
        return law, error * law
    return entmax(s, alpha, tau=tau), np.full(len(s), gamma(4 * len(s) + 16))


def disorder(law, alpha):
    """The entropy of order alpha of a law in balls, divided out where it does not sum to one exactly."""
    p = balls(law) if law.dtype != object else law
    p, a = p / p.sum(), ball(alpha)
    if alpha == 1.0:
        return -sum(x * x.log() for x in p if x > 0)
    return (1 - sum(x**a for x in p if x > 0)) / (a * (a - 1))


def steepness(law, alpha):
    """How fast the entropy changes with each weight, on half of that weight and above; none changes it where it is zero."""
    half = np.where(law > 0.0, law / 2.0, 1.0)
    return 1.0 + np.abs(np.log(half) if alpha == 1.0 else (half ** (alpha - 1.0) - 1.0) / (alpha - 1.0))


@verifies(
    Claim(
        "naive.alignment",
        "the weights lean towards the scores by at least what their entropy has lost, for softmax by KL(u||p) more",
        r"$\langle p^* - u, s - \bar s\mathbf 1\rangle \ge \tau(H(u) - H(p^*)) \ge 0$; softmax: the difference is $\tau\,\mathrm{KL}(u\|p^*)$",
        assumptions=("H symmetric and concave",),
        spec=("RA.A4",),
        cites=SPARSE,
        provenance=("derived", "refereed"),
    ),
    constant("double", "the weights lean by twice the lost entropy", factor=2),
    hypothesis("elsewhere", "the weights are compared with a law that is not the most disordered one", centre=0.5),
    bug("reversed", "what softmax adds is KL(p||u)", reverse=True),
)
def test_alignment(run, *, factor=1, centre=0.0, reverse=False):
    cases = [(np.append(np.log(199.0), np.zeros(199)), 1.0, 1.0), (np.array([0.0, 1.0]), 1.0, 50.0)]
    for rng in run.draws(quick=12, paper=100):
        draws = [(rng.normal(size=int(rng.integers(2, 9))) * 2.0, float(rng.uniform(0.2, 5.0))) for _ in range(4)]
        cases += [(s, alpha, tau) for alpha, (s, tau) in zip((0.5, 1.0, 1.5, 2.0), draws, strict=True)]
    for s, alpha, tau in cases:
        (law, error), n, t = solved(s, alpha, tau), s.size, ball(tau)
        u = np.full(n, ball(1) / n)
        u[0], u[-1] = u[0] - ball(centre) / n, u[-1] + ball(centre) / n
        with precision(256):
            p = balls(law) / balls(law).sum()
            lost, lean = t * (disorder(u, alpha) - disorder(law, alpha)), ((p - u) * balls(s)).sum()
            a, b = (p, u) if reverse else (u, p)
            kl = t * sum(x * (x / y).log() for x, y in zip(a, b, strict=True)) if alpha == 1.0 else None
            # the excess is what the maximum is above the value at u; the computed law misses that by its own gap at most
            miss = entmax_gap(s, law, alpha, tau=tau)
            excess = hull(lean - factor * lost) + Interval(0.0, miss.hi * factor, miss.kind)
        size = 1.0 + tau + float(np.ptp(s))
        yield at_least(excess, 0, scale=size, part="lean", n=n, alpha=alpha, tau=tau)
        entropy_error = 2.0 * tau * float(error @ steepness(law, alpha))
        yield at_least(
            hull(lost) + Interval.within(0.0, entropy_error), 0, scale=size, part="entropy", n=n, alpha=alpha
        )
        if kl is not None:
            yield equals(
                excess, hull(kl) + Interval.within(0.0, entropy_error), scale=size, part="softmax", n=n, tau=tau
            )


@verifies(
    Claim(
        "naive.order",
        "larger scores get no smaller weights and equal scores equal ones; for softmax the logarithms differ as the scores",
        r"$s_i > s_j \Rightarrow p_i \ge p_j$, $s_i = s_j \Rightarrow p_i = p_j$; $\alpha = 1$: $\log p_i - \log p_j = (s_i - s_j)/\tau$",
        assumptions=("H symmetric and strictly concave",),
        spec=("RA.A4",),
        cites=SPARSE,
        provenance=("derived", "refereed"),
    ),
    hypothesis("linear", "H vanishes: any law on the largest scores is a maximiser", strict=False),
    hypothesis("prior", "H is not symmetric: softmax has a prior that falls where the scores rise", prior=True),
    constant("steeper", "the logarithms differ by one per cent more", factor=1.01),
)
def test_order(run, *, strict=True, prior=False, factor=1.0):
    cases = [(np.array([2.0, 2.0, -1.0]), 1.0), (np.array([1.0, 0.9, 0.0]), 1.0)]
    rngs = run.draws(quick=12, paper=100)
    cases += [(rng.integers(-8, 9, int(rng.integers(2, 12))) / 4, float(rng.uniform(0.2, 3.0))) for rng in rngs]
    for given, tau in cases:
        s, n = np.sort(given)[::-1], given.size
        laws = {f"entmax {alpha:g}": solved(s, alpha, tau) for alpha in (0.5, 1.0, 1.5, 2.0)}
        if prior:
            laws["prior"] = (
                softmax(s, prior=np.arange(1.0, n + 1) / (n * (n + 1) / 2), tau=tau),
                np.full(n, gamma(4 * n + 64)),
            )
        if not strict:
            laws["mean score"] = linear_law(s), np.zeros(n)
        for name, (law, error) in laws.items():
            for i in range(n - 1):
                step = Interval.within(float(law[i]), float(error[i])) - Interval.within(
                    float(law[i + 1]), float(error[i + 1])
                )
                if s[i] == s[i + 1]:
                    yield equals(step, 0, scale=1, best=name, n=n)
                else:
                    yield at_least(step, 0, scale=1, best=name, n=n)
        law, error = gibbs_law(s, tau=tau)
        logs = hull(textbook.log(ball(law[0]) / ball(law[-1]))) + Interval.within(0.0, 4.0 * error)
        yield equals(
            logs, Interval.exactly(factor) * float(s[0] - s[-1]) / tau, scale=1.0 + float(np.ptp(s)) / tau, n=n
        )


@verifies(
    Claim(
        "naive.hot",
        "for high temperatures the weights leave equality along the centred scores, and bend away at second order",
        r"$p^* - u = \frac{n^{\alpha-2}}{\tau}z + \frac{2-\alpha}{2}\frac{n^{2\alpha-3}}{\tau^2}w + O(\tau^{-3})$, $z = s - \bar s\mathbf 1$, $w = z^2 - \overline{z^2}$; $\tau^2(1 - \cos(p^* - u, z)) \to \frac{(2-\alpha)^2}8 n^{2\alpha-2}\|w_\perp\|^2/\|z\|^2$",
        assumptions=("order positive",),
        spec=("RA.A4",),
        cites=SPARSE,
        provenance=("derived", "refereed"),
    ),
    constant("power", "the leading factor has one power of n more", lead=-1),
    constant("bend", "the second order does not depend on the order of the entropy", curved=False),
    bug("uncentred", "the scores are not centred", centred=False),
)
def test_hot(run, *, lead=-2, curved=True, centred=True):
    cases = [
        np.array([1.0, 0.5, -0.5]),
        *(rng.normal(size=int(rng.integers(3, 7))) for rng in run.draws(quick=2, paper=15)),
    ]
    for s in cases:
        n, exact = s.size, balls(s)
        z = exact - exact.sum() / n if centred else exact
        spread = z * z - (z * z).sum() / n
        for alpha in (0.5, 1.0, 1.25, 1.5, 2.0):
            a = ball(alpha)
            first, bend = ball(n) ** (a + lead) * z, (2 - (a if curved else 1)) / 2
            second = bend * ball(n) ** (2 * a - 3) * spread
            odd: list[list[Interval]] = [[] for _ in s]
            even: list[list[Interval]] = [[] for _ in s]
            turns = []
            for tau in (2.0 ** np.arange(5, 11) * float(np.ptp(s)) * n).tolist():
                (up, up_error), (down, down_error) = solved(s, alpha, tau), solved(-s, alpha, tau)
                errors = up_error + down_error
                errors = errors + gamma(2)
                for k in range(n):
                    odd[k].append(tau / 2 * Interval.within(float(up[k] - down[k]), float(errors[k])))
                    both = Interval.within(float(up[k] + down[k]), float(errors[k]))
                    even[k].append(tau**2 * (both / 2 - Interval.exactly(Fraction(1, n))))
                turns.append(tau**2 * turn(up, up_error, s))
            for k in range(n):
                scale = 2.0 * float(np.ptp(s)) * n**alpha
                yield equals(limit(odd[k], order=2), hull(first[k]), scale=scale, part="first order", n=n, alpha=alpha)
                yield equals(
                    limit(even[k], order=2), hull(second[k]), scale=scale**2, part="second order", n=n, alpha=alpha
                )
            # the part of the second order across the first turns the weights away from the scores
            across = (spread * spread).sum() - (spread * z).sum() ** 2 / (z * z).sum()
            bent = ((2 - a) / 2 * ball(n) ** (a - 1)) ** 2 * across / (z * z).sum() / 2
            scale = (2.0 * float(np.ptp(s)) * n**alpha) ** 2
            yield equals(limit(turns, order=1), hull(bent), scale=scale, part="angle", n=n, alpha=alpha)


def turn(law, error, s):
    """Enclose 1 - cos of the angle between a law less its mean and the centred scores, as half a squared distance."""
    n, centre = len(s), balls(s).sum() / len(s)
    moved = [
        Interval.within(float(p), float(e)) - Interval.exactly(Fraction(1, n)) for p, e in zip(law, error, strict=True)
    ]
    z = [hull(x - centre) for x in balls(s)]
    norms = [sum((x**2 for x in v), Interval.exactly(0)).sqrt() for v in (moved, z)]
    return sum(((x / norms[0] - y / norms[1]) ** 2 for x, y in zip(moved, z, strict=True)), Interval.exactly(0)) / 2
