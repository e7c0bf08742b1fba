"""The first clusters out of tokens spread evenly: how fast each harmonic grows, and which one wins."""

import math
from functools import cache

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    found,
    hypothesis,
    limit,
    verifies,
)
from theory.particles import studies
from theory.particles.mean_field import crossover_beta, growth_rates
from verify.textbook import hull

SEEN = ("seen", "derived", "refereed")
ASSUMED = ("equal masses", r"$V = I$", r"$\beta > 0$")
WINNERS = {1.0: 1, 5.0: 3, 20.0: 6}
rates, tied = cache(growth_rates), cache(crossover_beta)


def bessel(beta, order):
    """The ball I_order(beta)."""
    return ball(beta).bessel_i(order)


def multiplier(beta, degree, dim):
    """Gamma(d/2) (2/beta)^{d/2 - 1} I_{l + d/2 - 1}(beta), by which the kernel multiplies harmonics of degree l."""
    half = ball(dim) / 2
    b = ball(beta)
    return half.lgamma().exp() * (2 / b) ** (half - 1) * bessel(beta, degree + half - 1)


def growth(beta, degree, *, dim=2, normalised=True, divided=True, power=1):
    """The rate as it is printed; a twin takes another power of the eigenvalue, or leaves SA undivided."""
    eigenvalue = ball(degree * (degree + dim - 2))
    rate = eigenvalue ** ball(power) / ball(beta) * multiplier(beta, degree, dim)
    return rate / multiplier(beta, 0, dim) if normalised and divided else rate


@verifies(
    Claim(
        "onset.rates",
        "out of the uniform law a harmonic grows at its Laplace eigenvalue times its Bessel function over beta",
        r"$\lambda_\ell = \frac{\ell(\ell + d - 2)}\beta\Gamma(\tfrac d2)(\tfrac2\beta)^{d/2 - 1}I_{\ell + d/2 - 1}(\beta)$ for USA, which is $\ell^2I_\ell(\beta)/\beta$ on the circle; SA divides by the coefficient of $\ell = 0$, $I_0(\beta)$ on the circle",
        assumptions=ASSUMED,
        spec=("FR.F20",),
        cites=("geshkovski2025",),
        source_status=SEEN,
    ),
    constant("first-order", "the rate is l I_l / beta", power=0.5),
    bug("undivided", "SA does not divide", divided=False),
    hypothesis("circle", "the sphere has the rates of the circle", flat=True),
)
def test_rates(run, *, power=1, divided=True, flat=False):
    for dim in run.pick(quick=(2, 3), paper=(2, 3, 4, 8)):
        for beta in run.pick(quick=(1.0, 5.0), paper=(0.1, 1.0, 5.0, 20.0)):
            for normalised in (True, False):
                found = rates(beta, 8, dim=dim, normalised=normalised)
                for ell, rate in enumerate(found, start=1):
                    claimed = growth(
                        beta, ell, dim=2 if flat else dim, normalised=normalised, divided=divided, power=power
                    )
                    yield equals(rate, hull(claimed), dim=dim, beta=beta, ell=ell, normalised=normalised)


@verifies(
    Claim(
        "onset.tokens",
        "modes of tokens on the circle grow at these rates",
        r"tokens at the quantiles of $1 + \epsilon\cos\ell\theta$, $z_\ell = \frac1n\sum_je^{i\ell\theta_j}$: $\frac d{dt}\log|z_\ell| = \ell^2I_\ell(\beta)/\beta$ for USA at every $\epsilon$, and for SA $\ell^2I_\ell/(\beta I_0)$ up to a part $\epsilon^2/(16(1 - \epsilon))$",
        assumptions=(*ASSUMED, r"$d = 2$", r"$n \gg \beta, \ell$"),
        spec=("FR.F20",),
        cites=("geshkovski2025",),
        source_status=SEEN,
    ),
    constant("first-order", "the rate is l I_l / beta", power=0.5),
    bug("undivided", "SA does not divide", divided=False),
)
def test_tokens(run, *, power=1, divided=True):
    table = run.study(studies.onset).where(part="rate")
    columns = (table[name].tolist() for name in ("beta", "degree", "tokens", "normalised", "epsilon"))
    for beta, ell, n, normalised, epsilon, rate in zip(*columns, table.intervals("value"), strict=True):
        claimed = hull(growth(beta, ell, normalised=bool(normalised), divided=divided, power=power))
        # of a law 1 + e cos, SA sees e^2 c (1 - c) / (4 (1 - e)) less, 0 < c < 1; a sum over n quantiles is off by
        # what an analytic function leaves of its n-th coefficient in a strip, here of half-width 1/4 and free of 1 + e cos = 0
        rest = (epsilon**2 / (16.0 * (1.0 - epsilon)) if normalised else 0.0) + math.exp(2.0 * beta - n / 4.0 + 64.0)
        yield equals(rate, claimed * Interval(1.0 - rest, 1.0 + rest), beta=beta, ell=ell, n=n, normalised=normalised)


@verifies(
    Claim(
        "onset.flow",
        "along the nonlinear flow a small mode keeps its rate, up to the square of its size",
        r"SA on the circle: $\frac1T\log\frac{|z_\ell(T)|}{|z_\ell(0)|} \to \ell^2I_\ell(\beta)/(\beta I_0(\beta))$ as $|z_\ell(0)| \to 0$, at the rate $|z_\ell(0)|^2$",
        assumptions=(*ASSUMED, r"$d = 2$", r"the start has the density $1 + \epsilon\cos\ell\theta$"),
        spec=("FR.F20",),
        cites=("geshkovski2025",),
        source_status=SEEN,
    ),
    constant("first-order", "the rate is l I_l / beta", power=0.5),
    bug("undivided", "SA does not divide", divided=False),
)
def test_flow(run, *, power=1, divided=True):
    table = run.study(studies.onset).where(part="window")
    for ell in table.levels("degree"):
        part = table.where(degree=ell)
        beta = float(part["beta"][0])
        assert part["epsilon"].tolist() == sorted(part["epsilon"].tolist(), reverse=True)
        claimed = hull(growth(beta, ell, divided=divided, power=power))
        yield equals(limit(part.intervals("value"), ratio=2.0, order=2), claimed, beta=beta, ell=ell)


@verifies(
    Claim(
        "onset.winner",
        "the fastest harmonic on the circle is the first, third and sixth at beta 1, 5 and 20",
        r"$\lambda_{\ell_{\max}} \ge \lambda_\ell$ for all $\ell$ with $\ell_{\max} = 1, 3, 6$ at $\beta = 1, 5, 20$, where $\sqrt{2\beta} = 1.41, 3.16, 6.32$; measured on tokens and in ball arithmetic",
        assumptions=(
            *ASSUMED,
            r"$d = 2$",
            r"seen up to $\ell = 24$; $I_{\ell + 1}/I_\ell$ decreases in $\ell$, so beyond too",
        ),
        spec=("FR.F20",),
        cites=("geshkovski2025",),
        source_status=SEEN,
    ),
    constant("beta", "the winner is the integer next to beta, not to its root", at=round),
    bug("unrounded", "the winner is the root rounded up", at=lambda beta: math.ceil(math.sqrt(2.0 * beta))),
)
def test_winner(run, *, at=WINNERS.__getitem__):
    table = run.study(studies.onset).where(part="rate", normalised=1)
    for beta in WINNERS:
        best = at(beta)
        found = rates(beta, 24)
        for ell, rate in enumerate(found, start=1):
            yield at_least(found[best - 1] / rate, 1, beta=beta, ell=ell, way="balls")
        part = table.where(beta=beta)
        seen = dict(zip(part["degree"].tolist(), part.intervals("value"), strict=True))
        if best in seen:
            for ell, rate in seen.items():
                yield at_least(seen[best] / rate, 1, beta=beta, ell=ell, way="tokens")


def raised(interval, power):
    """A positive interval to a positive power."""
    ends = [hull(ball(end) ** ball(power)) for end in (interval.lo, interval.hi)]
    return Interval(ends[0].lo, ends[1].hi, interval.kind)


def nearest(value):
    """The degree on the circle of which the Laplace eigenvalue is nearest to a value."""
    root = math.isqrt(int(value))
    return min(root, root + 1, key=lambda ell: abs(ell * ell - value))


@cache
def ahead_of(beta, best):
    """By how much a degree on the circle is ahead of its neighbours; rates have one maximum."""
    b = ball(beta)
    others = [ell for ell in (best - 1, best + 1) if ell > 0]
    heights = {ell: ell * ell * b.bessel_i(ell, scaled=True) for ell in (best, *others)}
    return [(ell, hull(heights[best] / heights[ell] - 1)) for ell in others]


@verifies(
    Claim(
        "onset.scale",
        "for large beta the fastest harmonic is the one with Laplace eigenvalue nearest to twice beta but for less and less beside ties, on the circle and the sphere",
        r"$\lambda_\ell = \lambda_{\ell + 1}$ at $\beta_\ell$ with $2\beta_\ell - \frac12(E_\ell + E_{\ell + 1}) = O(\ell^{-2})$, $E_\ell = \ell(\ell + d - 2)$; so $\ell_{\max}/\sqrt{2\beta} \to 1$, on the circle $|\ell_{\max} - \sqrt{2\beta}| \le 0.6$ for $\beta \ge 10$",
        assumptions=(
            r"$\beta \ge 10$",
            r"ties decided for $d = 2, 3$, $\ell \le 121$; the winner for $d = 2$, $\beta = 10^k$, $1 \le k \le 10$",
        ),
        spec=("FR.F20",),
        cites=("geshkovski2025",),
        source_status=("derived",),
    ),
    constant("beta", "the winner grows like beta", power=1.0),
    constant("root", "it grows like the root of beta, not of two beta", factor=1.0),
    constant("quarter", "the eigenvalue misses twice beta by a quarter", left=0.25),
    bug("first-order", "the rate is l I_l / beta", degree=0.5),
    bug("lower", "the eigenvalue of the lower of the two counts alone", mean=False),
    hypothesis("tie", "twice beta lies between a tie and the middle of two eigenvalues", more=(10.24,)),
    hypothesis("small", "beta is a twentieth", more=(0.05,)),
)
def test_scale(run, *, power=0.5, factor=2.0, left=0.0, degree=1, mean=True, more=()):
    for dim, ratio, degrees in ((2, 3.0, (1, 4, 13, 40, 121)), (3, 2.0, (3, 7, 15, 31, 63))):  # so that m = ratio^k / 2
        ties = {ell: tied(ell, dim=dim) for ell in degrees[: run.pick(quick=4, paper=5)]}
        for ell, beta in ties.items():
            ends = [
                hull(growth(end, ell + 1, dim=dim, power=degree) - growth(end, ell, dim=dim, power=degree))
                for end in (beta.lo, beta.hi)
            ]
            # a root finder chose the ends: that one lies before and one after the tie is what holds on every machine
            yield found(at_most(ends[0], 0, scale=1, dim=dim, ell=ell, part="a tie"))
            yield found(at_least(ends[1], 0, scale=1, dim=dim, ell=ell, part="a tie"))
        apart, sizes = [], []
        for ell, beta in ties.items():
            lower, upper = ell * (ell + dim - 2), (ell + 1) * (ell + dim - 1)
            apart.append(factor * beta - (0.5 * (lower + upper) if mean else lower))
            m = ell + 0.5 * (dim - 1)
            yield at_most(abs(apart[-1]), 2.0 / m**2, scale=1, dim=dim, ell=ell, part="eigenvalue")
            sizes.append(m / raised(factor * beta, power))
        yield equals(limit(apart, ratio=ratio, order=2), left, scale=1, dim=dim, part="eigenvalue, limit")
        yield equals(limit(sizes, ratio=ratio, order=2), 1, dim=dim, part="ratio, limit")
    decades = run.pick(quick=(1, 2, 4, 6), paper=tuple(range(1, 11)))
    for beta in [*(10.0**k for k in decades), *more]:
        best = nearest(factor * beta)
        target = raised(Interval.exactly(factor * beta), power)
        for ell, ahead in ahead_of(beta, best):
            yield at_least(ahead, 0, scale=1, beta=beta, ell=ell, part="winner")
        yield at_most(Interval.exactly(best) - target, 0.6, scale=1, beta=beta, part="root")
        yield at_least(Interval.exactly(best) - target, -0.6, scale=1, beta=beta, part="root")
