"""Continuous attention of order below one: Student densities, and which of their integrals are finite."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, bug, constant, equals, hypothesis, verifies
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import U
from theory.maxent import BetaGaussian
from verify.maxent.quadratic_scores import SOURCES, eliminated, measured_density, pi, radial, scatters, slack, sphere
from verify.textbook import balls, hull

PAPER = ("recalled", "refereed on paper")
ORDERS = {1: (0.2, 0.5, 0.75, 0.9), 2: (0.3, 0.5, 0.9), 3: (0.5, 0.7), 5: (0.65, 0.9)}


def freedoms(alpha, dim):
    """The degrees of freedom that belong to an order."""
    return 2 / (1 - Fraction(alpha)) - dim


@verifies(
    Claim(
        "density.student",
        "below order one a quadratic score gives a Student density",
        r"$0 < \alpha < 1$: $p = [(1-\alpha)(A-f)]^{-1/(1-\alpha)}$ is Student's density with $\nu = \frac2{1-\alpha} - d$ degrees of freedom, of mass one, with covariance $\frac{\nu}{\nu-2}s^2\Sigma$ if $\nu > 2$",
        assumptions=(r"$\alpha > 1 - \frac2d$", "positive definite scatter"),
        spec=("RA.F1", "RA.F3"),
        cites=SOURCES,
        provenance=PAPER,
    ),
    constant("plain", "it has 1/(1 - alpha) degrees of freedom", freedom=lambda alpha, _: 1 / (1 - Fraction(alpha))),
    hypothesis(
        "line",
        "the dimension does not count: 2/(1 - alpha) - 1 everywhere",
        freedom=lambda alpha, _: freedoms(alpha, 1),
    ),
    bug("scale", "the scatter itself is the scale of the Student density", scaled=False),
)
def test_student(run, *, freedom=freedoms, scaled=True):
    cases = [(BetaGaussian([0.0], [[1.0]], 0.5), next(run.streams(1)))]
    for _ in range(run.pick(quick=1, paper=8)):
        for (dim, orders), rng in zip(ORDERS.items(), run.streams(len(ORDERS)), strict=True):
            cases += [(BetaGaussian(rng.normal(size=dim), scatters(rng, dim)[1], alpha), rng) for alpha in orders]
    for number, (law, rng) in enumerate(cases):
        d, case = law.dim, {"d": law.dim, "alpha": law.alpha, "law": number}
        nu, det = balls(freedom(law.alpha, d)).item(), balls(eliminated(law.scatter, law.mean)[0]).item()
        unit = ((nu + d) / 2).gamma() / ((nu / 2).gamma() * (nu * pi()) ** (d / balls(2).item()) * det.sqrt())
        # stationarity: the peak to the power alpha - 1 = -2 / (nu + d) fixes the square of the scale
        square = ((nu + d) / nu) ** ((nu + d) / nu) * unit ** (-2 / nu) if scaled else balls(1).item()
        peak = unit / square ** (d / balls(2).item())
        whole = radial(d - 1, nu / 2 - 1)
        mass = peak * sphere(d) * det.sqrt() * (nu * square) ** (d / balls(2).item()) * whole
        yield equals(hull(mass), 1, part="mass", **case)
        for stretch in (0.0, *rng.exponential(2.0, size=3)):
            way = rng.normal(size=d)
            x = law.mean + stretch * way
            apart = [Fraction(p) - Fraction(m) for p, m in zip(x.tolist(), law.mean.tolist(), strict=True)]
            form = sum(a * s for a, s in zip(apart, eliminated(law.scatter, apart)[1], strict=True))
            claimed = peak * (1 + balls(form).item() / (nu * square)) ** (-(nu + d) / 2)
            yield equals(
                measured_density(law, x, -float(form) / 2), hull(claimed), scale=hull(peak), part="density", **case
            )
        if freedoms(law.alpha, d) > 2 and nu > 2:
            factor = nu / (nu - 2) * square
            yield equals(
                hull(nu * square * radial(d + 1, nu / 2 - 2) / whole / d), hull(factor), part="covariance", **case
            )
            relative = slack(law)[1] + 64 * U / (2.0 + (law.alpha - 1.0) * (d + 2))
            for i in range(d):
                entry = law.covariance()[i, i]
                found = Interval.within(entry, relative * entry) / Interval.exactly(law.scatter[i, i])
                yield equals(found, hull(factor), part="its entry", **case)


def refused(ask):
    """Tell whether an instrument says that there is no such number."""
    try:
        ask()
    except ValueError:
        return 1
    return 0


@cache
def growth(power, exponent):
    """By which factor the integral of r^power (1 + r^2)^-exponent grows from reach 2^12 to 2^24."""
    decay = balls(-exponent).item()
    near, rest = (
        integral_over(lambda r: r**power * (1 + r * r) ** decay, a, b) for a, b in ((0, 2**12), (2**12, 2**24))
    )
    return hull(1 + rest / near)


@verifies(
    Claim(
        "density.tails",
        "below order one mass needs one threshold, covariance and objective a higher one",
        r"$\int(A-f)^{-1/(1-\alpha)} < \infty$ iff $\alpha > 1 - \frac2d$; $\int |x|^2p$, $\int p^\alpha$ and $\int pf$ finite iff $\alpha > \frac d{d+2}$",
        assumptions=(
            "partial integrals up to radius $2^{24}$: finite ones grow by less than 1 % over the last half of the octaves",
        ),
        spec=("RA.F3",),
        cites=SOURCES,
        provenance=PAPER,
    ),
    hypothesis("one-threshold", "a density that is normalisable has a covariance", second=lambda d: 1 - Fraction(2, d)),
    constant("near", "the covariance is finite from d/(d + 1) on", second=lambda d: Fraction(d, d + 1)),
    constant("line", "every order is normalisable, as on the line", first=lambda _: Fraction(0)),
)
def test_tails(run, *, first=lambda d: 1 - Fraction(2, d), second=lambda d: Fraction(d, d + 2)):
    orders = {1: ("1/4", "1/3", "9/20", "1/2"), 2: ("2/5", "1/2", "3/5"), 3: ("1/4", "1/3", "1/2", "3/5", "7/10")}
    for d, texts in orders.items():
        for alpha in map(Fraction, texts):
            tail, case = 1 / (1 - alpha), {"d": d, "alpha": float(alpha)}
            parts = [
                ("mass", first, d - 1, tail),
                ("second moment", second, d + 1, tail),
                ("objective", second, d - 1, tail * alpha),
            ]
            for part, threshold, power, exponent in parts:
                finite = alpha > threshold(d)
                seen = growth(power, exponent)
                yield at_most(seen, 1.01, part=part, **case) if finite else at_least(seen, 1.5, part=part, **case)
            law = (np.zeros(d), np.eye(d), float(alpha))
            yield equals(
                refused(lambda law=law: BetaGaussian(*law)), int(alpha <= first(d)), scale=1, part="density", **case
            )
            for part in ("covariance", "entropy"):
                answer = refused(lambda law=law, part=part: getattr(BetaGaussian(*law), part)())
                yield equals(answer, int(alpha <= max(first(d), second(d))), scale=1, part=part, **case)
