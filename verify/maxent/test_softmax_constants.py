"""The constants of softmax, proved over whole boxes of laws or scores."""

from fractions import Fraction
from functools import cache

import sympy

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_most,
    bug,
    constant,
    equals,
    hypothesis,
    sup_over,
    verifies,
    zero,
)

sup = cache(sup_over)  # once for the claim and its twins, which change what is claimed of it


@cache
def decided(expression):
    """Decide whether an expression vanishes, at numbers between 0 and 1 should it not."""
    names = sorted(expression.free_symbols, key=str)
    return zero(expression, {name: sympy.Rational(1, k + 3) for k, name in enumerate(names)})


@verifies(
    Claim(
        "softmax.pinsker",
        "between two outcomes the divergence is at least half the squared distance, with no larger constant",
        r"$\mathrm{KL}(p\|q) \ge \frac12\|p - q\|_1^2$ on $\{1, 2\}$: $\partial_p^2\,\mathrm{KL} = 1/p_1p_2 \ge 4$, attained at $p_1 = \frac12$",
        assumptions=("two outcomes",),
        spec=("RA.B3",),
        cites=("csiszar2011",),
        source_status=("recalled", "refereed on paper"),
    ),
    constant("near", "the constant is 0.51", factor="51/100"),
    bug("reversed", "the second derivative is taken of KL(q||p)", reverse=True),
    hypothesis("unbalanced", "the first weight is at most 0.45, where a larger constant holds", largest="9/20"),
    hypothesis("unnormalised", "the second law has mass 1.1", mass="11/10"),
)
def test_pinsker(run, *, factor="1/2", reverse=False, largest="1", mass="1"):
    p, q = sympy.symbols("p q", positive=True)
    a, b = (q, p) if reverse else (p, q)
    kl = a * sympy.log(a / b) + (1 - a) * sympy.log((1 - a) / (sympy.Rational(mass) - b))
    # a function that vanishes with its slope at p = q is at least half the least second derivative times (p - q)^2,
    # and the distance of the laws is 2 |p - q|: constant c needs a second derivative of 8 c, and no p in between less
    second = sympy.diff(kl, p, 2) - 1 / (p * (1 - p))
    for part, expression in (("value", kl), ("slope", sympy.diff(kl, p))):
        yield equals(decided(expression.subs(p, q)), 0, scale=1, part=f"{part} at p = q")
    yield equals(decided(second), 0, scale=1, part="second derivative")
    yield equals(sup("1/4 - (p - 1/2)**2", p=(0, largest)), 1 / (8 * Fraction(factor)), part="largest p (1 - p)")


@verifies(
    Claim(
        "softmax.two-point",
        "over all pairs of two scores the best constant in front of that tanh is one",
        r"$n = 2$: $\sup\,\frac12\|p - q\|_1/\tanh\frac\varrho{4\tau} = 1$, with ratio $(1 + \cosh\frac\varrho2)/(\cosh c + \cosh\frac\varrho2)$ at mid-score $c$",
        assumptions=("two scores", r"$\varrho \le 8\tau$, $|c| \le 20$", "temperature one"),
        spec=("RA.B8",),
        cites=("cohen2023",),
        source_status=("derived", "refereed"),
    ),
    constant("near", "the best constant is 0.98", claimed=0.98),
    hypothesis("off-centre", "the mid-score is at least one", least=1),
    bug("half", "the range is halved once too often", quarters=1),
)
def test_two_point(run, *, claimed=1.0, least=0, quarters=2):
    a, b = sympy.symbols("a b", positive=True)  # e^c and e^(r/4), in which tanh and cosh are fractions
    upper = a * b**2
    lower = a / b**2
    half = (b**quarters + b**-quarters) / 2
    variation = ((upper - 1) / (upper + 1) - (lower - 1) / (lower + 1)) / 2
    ratio = (1 + half) / ((a + 1 / a) / 2 + half)
    yield equals(decided(variation - (b**2 - 1) / (b**2 + 1) * ratio), 0, scale=1, part="ratio")
    text = f"1/(1 + 2*sinh(c/2)**2/(1 + cosh({quarters}*r/4)))"
    yield equals(sup(text, tolerance=5e-5, c=(least, 20), r=(0, 8)), claimed, scale=1, part="supremum")


@verifies(
    Claim(
        "softmax.variance",
        "the variance of three numbers in an interval is at most a quarter of its squared length, attained at its ends",
        r"$\mathrm{Var}_p(x) \le \frac14(\max x - \min x)^2$ for all $p$ and $x$, $n = 3$",
        assumptions=("three outcomes",),
        spec=("RA.B7",),
        cites=("popoviciu1935",),
        source_status=("recalled", "refereed"),
    ),
    constant("near", "the bound is a tenth smaller", factor="9/40"),
    bug("sample", "the sum of squares is divided by n - 1 instead of n", bessel="3/2"),
    hypothesis("inner", "a third of the mass at least lies in the middle half", least="1/3", furthest="1/4"),
)
def test_variance(run, *, factor="1/4", bessel="1", least=0, furthest="1/2"):
    # masses b at y and (1 - b)(1/2 -+ c) at -+1/2; reflected, if need be, so that y is not positive
    b, c, y = sympy.symbols("b c y")
    mean = b * y + (1 - b) * c
    square = b * y**2 + (1 - b) / 4
    rewritten = sympy.Rational(1, 4) - mean**2 - b * (sympy.Rational(1, 4) - y**2)
    yield equals(decided(sympy.Rational(bessel) * (square - mean**2) - rewritten), 0, scale=1, part="variance")
    text = f"{bessel}*(1/4 - (b*y + (1 - b)*c)**2 - b*(1/4 - y**2))"
    half = Fraction(1, 2)
    largest = sup(text, tolerance=1e-4, b=(least, 1), c=(-half, half), y=(-Fraction(furthest), 0))
    yield equals(largest, Fraction(factor), part="supremum")


@verifies(
    Claim(
        "softmax.hoeffding",
        "between two outcomes the log-partition exceeds its tangent by at most an eighth of the squared range",
        r"$L(z) = \log(1 - w + we^z) \le wz + \frac{z^2}8$: $L''(z) = 1/(2 + 2\cosh a) \le \frac14$, $a = z + \log\frac w{1 - w}$",
        assumptions=("two outcomes", r"$|a| \le 100$"),
        spec=("RA.B4",),
        cites=("hoeffding1963",),
        source_status=("recalled", "refereed"),
    ),
    constant("near", "the constant is two per cent smaller than an eighth", factor="49/400"),
    bug("no-log", "the exponential average stands for its logarithm", logarithm=False),
    hypothesis("biased", "the odds are at least two to one, where a smaller constant holds", least="0.69"),
    hypothesis("unnormalised", "the law has mass 1.1", whole="11/10"),
)
def test_hoeffding(run, *, factor="1/8", logarithm=True, least=-100, whole="1"):
    z, w = sympy.symbols("z w", positive=True)
    mass = sympy.Rational(whole) - w + w * sympy.exp(z)
    value = sympy.log(mass) if logarithm else mass - 1
    odds = sympy.exp(z) * w / (1 - w)
    # 2 cosh a is the odds plus their inverse
    second = sympy.diff(value, z, 2) - 1 / (2 + odds + 1 / odds)
    for part, expression in (("value", value), ("slope", sympy.diff(value, z) - w)):
        yield equals(decided(expression.subs(z, 0)), 0, scale=1, part=f"{part} at zero")
    yield equals(decided(second), 0, scale=1, part="second derivative")
    yield equals(sup("1/(2 + 2*cosh(a))", a=(least, 100)) / 2, Fraction(factor), part="half the second derivative")


# norms of the Jacobian with pq = p (1 - p), and u = (r - 1/2)^2 for shares r and 1 - r of the other two of three
# weights; suprema a sqrt(b) as a, b
OTHERS = "{pq}*sqrt(3/2 + 2*u)"
SUPREMA = {
    "inf to inf, 1 to 1": ("2*{pq}", Fraction(1, 2), 1),
    "1 to inf": ("{pq}", Fraction(1, 4), 1),
    "inf to 1": ("4*{pq}", Fraction(1), 1),
    "2 to 2, n = 2": ("2*{pq}", Fraction(1, 2), 1),
    "1 to 2, 2 to inf, n = 3": (OTHERS, Fraction(1, 4), 2),
    "inf to 2, 2 to 1, n = 3": (f"2*{OTHERS}", Fraction(1, 2), 2),
}
# the characteristic polynomial at c, without its factor, for weights e <= 1/3 and (1 - e)(1 +- d)/2, v = 1 - d^2;
# the larger root is at most c if this is not positive, since half the sum of the roots is at most 1/3
QUADRATIC = "2*{c}*((1 - e)**2*v/4 + e*(1 - e)) - ({c})**2 - 3*e*(1 - e)**2*v/4"


@verifies(
    Claim(
        "softmax.lipschitz",
        "the Lipschitz constants of softmax over two and three scores, in nine pairs of norms",
        r"$\sup_p\|J\| = \frac12\ (\ell_2, \ell_\infty, \ell_1),\ \frac14\ (\ell_1 \to \ell_\infty),\ 1\ (\ell_\infty \to \ell_1),\ \frac{\sqrt2}4\ (\ell_1 \to \ell_2 \to \ell_\infty),\ \frac1{\sqrt2}\ (\ell_\infty \to \ell_2 \to \ell_1)$; $\ell_2$: at most $0.495$ if every $p_i \ge 0.01$, $n = 3$",
        assumptions=("two or three scores", "temperature one"),
        spec=("RA.B7", "FR.F06"),
        cites=("gao2017", "maeda2025", "nair2025"),
        source_status=("derived", "refereed"),
    ),
    constant("quarter", "the Euclidean constant is 1/4", euclidean="1/4"),
    constant("near", "the constants are two per cent smaller", factor=0.98),
    constant("interior", "the Euclidean norm is at most 0.48 if every weight is at least 0.01", interior="12/25"),
    bug("diagonal", "the outer product is forgotten", pq="p", outer=0),
    hypothesis("cooler", "the temperature is 0.9", tau="0.9"),
)
def test_lipschitz(run, *, euclidean="1/2", factor=1.0, interior="99/200", pq="(1/4 - (p - 1/2)**2)", outer=1, tau="1"):
    x, e, d, q, r = sympy.symbols("x e d q r")
    law = sympy.Matrix([e, (1 - e) * (1 + d) / 2, (1 - e) * (1 - d) / 2])
    determinant = (sympy.diag(*law) - outer * law * law.T - x * sympy.eye(3)).det()
    polynomial = sympy.sympify(QUADRATIC.format(c="x")).subs("v", 1 - d**2)
    yield equals(decided(sympy.expand(determinant - x * polynomial)), 0, scale=1, part="polynomial")
    shares = 3 * q**2 / 2 + 2 * q**2 * (r - sympy.Rational(1, 2)) ** 2
    column = (1 - outer * (1 - q)) ** 2 + outer * (
        (q * r) ** 2 + (q * (1 - r)) ** 2
    )  # over the weight, with q for 1 - p
    yield equals(decided(column - shares), 0, scale=1, part="column")
    for norm, (text, size, root) in SUPREMA.items():
        box = {"p": (0, 1), "u": (0, "1/4")} if root == 2 else {"p": (0, 1)}
        largest = sup(f"({text.format(pq=pq)})/{tau}", tolerance=2e-5, **box)
        claimed = Interval.exactly(size, Kind.PROVED) * Interval.exactly(root, Kind.PROVED).sqrt()
        yield equals(largest, factor * claimed, part=norm)
    for name, text, box in (
        ("two scores", "1/(1 + cosh(z))/{tau}", {"z": (-50, 50)}),  # z is their difference
        ("three scores", "1/(1 + cosh(m + log(2*cosh(d))))/{tau}", {"m": (-20, 20), "d": (-20, 20)}),  # m +- d, and 0
    ):
        yield at_most(sup(text.format(tau=tau), **box), factor / 2, part="inf to inf", over=name)
    for least, bound in ((0, euclidean), ("1/100", interior)):
        rest = sup(QUADRATIC.format(c=f"({bound}*{tau})"), tolerance=1e-5, e=(least, "1/3"), v=(0, 1))
        yield at_most(rest, 0, scale=1, part="2 to 2, n = 3", smallest=least)
