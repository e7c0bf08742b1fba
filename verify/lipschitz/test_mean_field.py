"""Dot-product attention on all measures on a ball: the exponent of constants free of the number of tokens."""

from fractions import Fraction
from functools import cache

import sympy

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    ball,
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
from verify.textbook import clouds, hull

LEADING = 3 * Interval.exactly(3).sqrt() / 8
REFEREED = ("derived", "refereed")
sup = cache(sup_over)  # once for the claim and its twins, which change what is claimed of it


@verifies(
    Claim(
        "dot-product.mean-field-exponent",
        "the exponent of the mean-field constant is exactly alpha, with a known factor in front",
        r"$B = -\alpha$, atoms $\epsilon\delta_{-1} + (1-\epsilon)\delta_1$: $\sup_\epsilon\|dF\| = \big(\frac{3\sqrt3}8 + o(1)\big)\alpha e^\alpha$; $\max_p2\sqrt p(1 - p)^{3/2} = \frac{3\sqrt3}8$, at $p = \frac14$ alone: what a minority does that draws a quarter of the attention; over $e^\alpha(1 + \alpha) + \alpha$ it is $0.477, 0.549, 0.599, 0.619, 0.628$ at $\alpha = 1, 2.25, 4, 6.25, 9$",
        assumptions=("the line", "local norm in squares"),
        spec=("FR.F04",),
        cites=("castin2024",),
        source_status=REFEREED,
    ),
    constant("published", "the exponent is 2 alpha", rate=2),
    constant("half", "the exponent is alpha / 2", rate=Fraction(1, 2)),
    constant("near", "the factor is 0.7", factor=Interval.exactly(Fraction(7, 10))),
    hypothesis("even", "both atoms have the same mass", even=True),
    bug("variance", "the second factor of the minority is the root", power=1),
    constant("fifth", "the minority draws a fifth of the attention", place=Fraction(1, 5)),
)
def test_exponent(run, *, rate=1, factor=LEADING, even=False, power=3, place=Fraction(1, 4)):
    most = sup(f"4*p*(1 - p)**{power}", p=(0, 1), tolerance=1e-5)
    yield equals(most, factor**2, part="square of the factor")
    yield equals(Fraction(3, 4) ** power, factor**2, part="square of the factor", way="a quarter")
    p = sympy.Symbol("p", real=True)
    half = sympy.Rational(1, 2)
    missing = sympy.Rational(27, 64) - 4 * p * (1 - p) ** power  # a square times what is at least a half
    rest = missing - (p - sympy.Rational(place)) ** 2 * ((2 * p - 5 * half) ** 2 + half)
    yield equals(zero(rest, {p: sympy.Rational(2, 3)}), 0, scale=1, part="at a quarter alone")
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
        share = found[alpha] / hull(clouds.free(ball(alpha)))
        yield equals(share, Interval.printed(digits), part="printed", alpha=alpha)


def supremum(alpha, found):
    """Return alpha, what is between the norm found and a bound of all, and the exponential of alpha.

    Of the four entries one is e^alpha sqrt(p (1 - p)) (1 + 2 alpha (1 - p)); by symmetry the minority has at most half
    the mass, and then the others are at most 1 + 6 alpha, 1 + 6 alpha and 1 + 2 alpha.
    """
    a = ball(alpha)
    growing = hull(ball(alpha).exp())
    entry = sup(f"p*(1 - p)*(1 + 2*{alpha}*(1 - p))**2", p=(0, 1), tolerance=1e-5) * hull((2 * a).exp())
    most = (entry + hull(2 * (1 + 6 * a) ** 2 + (1 + 2 * a) ** 2)).sqrt()
    return alpha, Interval(found.lo, max(most.hi, found.hi), Kind.NUMERIC), growing


def logarithm(value):
    """Enclose the logarithm of an enclosed positive number."""
    low, high = (hull(ball(end).log()) for end in (value.lo, value.hi))
    return Interval(low.lo, high.hi, value.kind)
