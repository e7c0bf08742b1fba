"""Dot-product attention on all measures on a ball: constants free of the number of tokens, and their exponents."""

import math
from fractions import Fraction
from functools import cache

import sympy

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    sup_over,
    verifies,
    zero,
)
from theory.lipschitz import studies
from verify.lipschitz import clouds
from verify.textbook import balls, hull

LEADING = 3 * Interval.exactly(3).sqrt() / 8
REFEREED = ("derived", "refereed")
sup = cache(sup_over)  # once for the claim and its twins, which change what is claimed of it


def measures(run, *, quick, paper):
    """Yield random measures on the unit ball, then those a search finds, then opposite atoms, few against many."""
    yield from (clouds.drawn(rng) for rng in run.streams(run.pick(quick=quick, paper=paper)))
    yield from clouds.hunted(run)
    yield from (clouds.led(alpha, ratio, 2.0 * alpha) for alpha in (0.5, 1.0, 3.0) for ratio in (4.0, 1e3, 2.0**40))


@verifies(
    Claim(
        "dot-product.published",
        "the published mean-field constant is valid in every Wasserstein distance, and twice its exponent is needed in the first",
        r"$W_p(T\mu, T\nu) \le \|V\|(1 + 3\alpha)e^{2\alpha}\,W_p(\mu, \nu)$ on $B_R$, since $e^{2\alpha}(1 + 2\alpha) + \alpha$ and $e^\alpha(1+\alpha) + \alpha$ are no larger; locally at least $2824$ for $\alpha = 3$, $p = 1$",
        assumptions=(r"$\alpha = \|B\|R^2$", r"$p \in \{1, 2, \infty\}$ for the local norms", r"$\alpha \le 100$"),
        spec=("MA.K4",),
        cites=("castin2024",),
        provenance=("recalled", "derived", "refereed"),
    ),
    constant("half-exponent", "the exponent is alpha", exponent=1),
    constant("two", "the factor is 1 + 2 alpha", slope=2),
    hypothesis("outside", "tokens leave the ball by half its radius", reach=1.5),
)
def test_published(run, *, exponent=2, slope=3, reach=1.0):
    for name, text in (
        ("first", "(1 + 2*a + a*exp(-2*a))/(1 + {s}*a)"),
        ("second", "(exp(-a)*(1 + a) + a*exp(-2*a))/(1 + {s}*a)"),
    ):
        yield at_most(
            sup(text.format(s=slope), a=(0, 100), tolerance=1e-4), 1, part="order of the constants", constant=name
        )
    for mu, score, value in measures(run, quick=12, paper=150):
        alpha, size = clouds.sizes(mu, score, value)
        bound = hull(size * (1 + slope * alpha) * (exponent * alpha).exp())
        wide = mu if reach == 1.0 else mu.push_forward(lambda x: reach * x)
        for p in (1, 2, math.inf):
            yield at_most(clouds.norm_of(wide, score, value, p), bound, alpha=float(alpha.mid()), n=mu.size, p=p)
    yield at_least(clouds.norm_of(*clouds.led(3.0, 2.0**40, 6.0), 1), 2824, part="needed")


@verifies(
    Claim(
        "dot-product.mean-field",
        "a constant with half the published exponent serves all measures on the ball in the second Wasserstein distance",
        r"$W_2(T\mu, T\nu) \le \|V\|\big(e^\alpha(1 + \alpha) + \alpha\big)W_2(\mu, \nu)$ on $B_R$, $\alpha = \|B\|R^2$; $\alpha = 9$: at least $5.0898 \cdot 10^4$, at most $8.1040 \cdot 10^4$",
        assumptions=("local norms of finitely many atoms",),
        spec=("FR.F04", "MA.K3", "MA.K4"),
        cites=("castin2024",),
        provenance=REFEREED,
    ),
    constant("half-exponent", "the exponent is alpha / 2", exponent=Fraction(1, 2)),
    constant("smaller", "0.62 of it is enough", factor=Fraction(62, 100)),
    hypothesis("outside", "tokens leave the ball by half its radius", reach=1.5),
    bug("unweighted", "the number of tokens is that of the atoms", counted=True),
)
def test_mean_field(run, *, exponent=1, factor=1, reach=1.0, counted=False):
    for mu, score, value in measures(run, quick=20, paper=300):
        alpha, size = clouds.sizes(mu, score, value)
        bound = hull(size * balls(factor).item() * clouds.free(alpha, exponent=balls(exponent).item()))
        if counted:
            bound = hull(size) * clouds.least(alpha, mu.size)
        wide = mu if reach == 1.0 else mu.push_forward(lambda x: reach * x)
        yield at_most(clouds.norm_of(wide, score, value, 2), bound, alpha=float(alpha.mid()), n=mu.size, d=mu.dim)
    table = run.study(studies.growth).where(part="minority")
    for alpha, value in zip(table["alpha"].tolist(), table.intervals("value"), strict=True):
        most = balls(factor).item() * clouds.free(balls(alpha).item(), exponent=balls(exponent).item())
        yield at_most(value, hull(most), alpha=alpha, part="two atoms")
        if alpha == 9.0:
            yield equals(value, Interval.printed("5.0898e4"), part="printed", alpha=alpha)
            yield equals(hull(clouds.free(balls(9).item())), Interval.printed("8.1040e4"), part="printed bound")


@verifies(
    Claim(
        "dot-product.minority",
        "what a minority of atoms can do to a majority is largest when it draws a quarter of the attention",
        r"$\max_{p \in [0, 1]} 2\sqrt p(1 - p)^{3/2} = \frac{3\sqrt3}8$, attained at $p = \frac14$ alone",
        spec=("FR.F04",),
        cites=("castin2024",),
        provenance=REFEREED,
    ),
    constant("near", "the maximum is 0.64", square="4096/10000"),
    bug("variance", "the second factor is the root", power=1),
    hypothesis("rare", "it draws at most a fifth of the attention", most="1/5"),
)
def test_minority(run, *, square="27/64", power=3, most="1"):
    p = sympy.Symbol("p", real=True)
    yield equals(
        sup(f"4*p*(1 - p)**{power}", p=(0, most), tolerance=1e-5), Fraction(square), part="square of the maximum"
    )
    rest = (
        sympy.Rational(square)
        - 4 * p * (1 - p) ** power
        - (p - sympy.Rational(1, 4)) ** 2 * (4 * p**2 - 10 * p + sympy.Rational(27, 4))
    )
    yield equals(zero(rest, {p: sympy.Rational(2, 3)}), 0, scale=1, part="what is missing")
    yield at_least(-sup("-(4*p**2 - 10*p + 27/4)", p=(0, most)), Fraction(3, 4), part="its factor")  # positive


@verifies(
    Claim(
        "dot-product.mean-field-exponent",
        "the exponent of the mean-field constant is exactly alpha, with a known factor in front",
        r"$B = -\alpha$, atoms $\epsilon\delta_{-1} + (1-\epsilon)\delta_1$: $\sup_\epsilon\|dF\| = \big(\frac{3\sqrt3}8 + o(1)\big)\alpha e^\alpha$; over the constant $0.477, 0.549, 0.599, 0.619, 0.628$ at $\alpha = 1, 2.25, 4, 6.25, 9$",
        assumptions=("the line", "local norm in squares"),
        spec=("FR.F04",),
        cites=("castin2024",),
        provenance=REFEREED,
    ),
    constant("published", "the exponent is 2 alpha", rate=2),
    constant("half", "the exponent is alpha / 2", rate=Fraction(1, 2)),
    constant("near", "the factor is 0.7", factor=Interval.exactly(Fraction(7, 10))),
    hypothesis("even", "both atoms have the same mass", even=True),
)
def test_exponent(run, *, rate=1, factor=LEADING, even=False):
    table = run.study(studies.growth).where(part="minority")
    found = dict(zip(table["alpha"].tolist(), table.intervals("value"), strict=True))
    if even:
        found = {alpha: clouds.norm_of(*clouds.led(alpha, 1.0, 2.0 * alpha), 2) for alpha in found}
    levels = [supremum(alpha, found[alpha]) for alpha in (8.0, 16.0, 32.0, 64.0)]
    shares = [value / (alpha * growing) for alpha, value, growing in levels]
    yield equals(limit(shares, order=1), factor, part="factor")
    exponents = [logarithm(value / alpha) / alpha for alpha, value, _ in levels]
    yield equals(limit(exponents, order=1), rate, scale=1, part="exponent")
    for alpha, digits in ((1.0, "0.477"), (2.25, "0.549"), (4.0, "0.599"), (6.25, "0.619"), (9.0, "0.628")):
        share = found[alpha] / hull(clouds.free(balls(alpha).item()))
        yield equals(share, Interval.printed(digits), part="printed", alpha=alpha)


def supremum(alpha, found):
    """Return alpha, what is between the norm found and a bound of all, and the exponential of alpha.

    Of the four entries one is e^alpha sqrt(p (1 - p)) (1 + 2 alpha (1 - p)); by symmetry the minority has at most half
    the mass, and then the others are at most 1 + 6 alpha, 1 + 6 alpha and 1 + 2 alpha.
    """
    a, growing = balls(alpha).item(), hull(balls(alpha).item().exp())
    entry = sup(f"p*(1 - p)*(1 + 2*{alpha}*(1 - p))**2", p=(0, 1), tolerance=1e-5) * hull((2 * a).exp())
    most = (entry + hull(2 * (1 + 6 * a) ** 2 + (1 + 2 * a) ** 2)).sqrt()
    return alpha, Interval(found.lo, max(most.hi, found.hi), Kind.NUMERIC), growing


def logarithm(value):
    """Enclose the logarithm of an enclosed positive number."""
    low, high = (hull(balls(end).item().log()) for end in (value.lo, value.hi))
    return Interval(low.lo, high.hi, value.kind)
