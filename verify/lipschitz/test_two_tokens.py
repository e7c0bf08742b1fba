"""Two tokens on a line contract by a hyperbolic tangent, wherever they lie: proved for attention as it is run here."""

from fractions import Fraction
from functools import cache

import numpy as np
import sympy

from theory.evidence import Claim, bug, constant, equals, hypothesis, verifies, zero
from theory.lipschitz.certificate import as_attention_weights

PLACE = {"x": Fraction(2, 3), "y": Fraction(-1, 5), "r": Fraction(7, 4), "a": Fraction(5, 3), "b": Fraction(9, 4)}
x, y = sympy.symbols("x y", real=True)
r, a, b = sympy.symbols("r a b", positive=True)  # the root of |B|, and the exponentials of u and v
tanh_v, sinh_u, cosh_v = (b**2 - 1) / (b**2 + 1), (a - 1 / a) / 2, (b + 1 / b) / 2


@cache
def decided(expression):
    """Decide whether an expression vanishes, at numbers that no symmetry favours should it not."""
    return zero(expression, {name: PLACE[name.name] for name in expression.free_symbols})


def exact(values):
    """Floats as rational numbers, symbols as they are."""
    return np.frompyfunc(lambda value: sympy.Rational(Fraction(float(value))), 1, 1)(np.asarray(values, dtype=float))


@cache
def outputs(sign, masses, residual):
    """Attention's outputs at r x and r y over r, value one and the form of a sign: those at x and y for B = sign r^2."""
    layer = as_attention_weights(
        [[1.0]], [[sign]], [[1.0]], None, heads=1, causal=False, residual=residual, score="dot"
    )
    tokens = np.array([[r * x], [r * y]], dtype=object)
    exp = np.frompyfunc(sympy.exp, 1, 1)
    return [out / r for out in layer.push(tokens, 0 * tokens, exact(masses), exact, exp)[0][:, 0]]


@verifies(
    Claim(
        "lipschitz.two-tokens",
        "two tokens on a line come as near as two opposite ones at the same distance, or nearer, wherever they lie",
        r"$\frac{F(x) - F(y)}{x - y} = \frac12[\tanh(u + v) - \tanh(u - v)] = \frac{\tanh v}{1 + (\sinh u/\cosh v)^2}$, $u = \frac B4(x^2 - y^2)$, $v = \frac B4(x - y)^2$; it is $\tanh v\,\frac{\sinh^2u}{\cosh^2u + \sinh^2v}$ short of $\tanh v$, hence no larger in size, and equal to it at $u = 0$",
        assumptions=("two tokens of equal weight, dimension one, $V = 1$", r"any real $x \ne y$ and $B \ne 0$"),
        spec=("MA.L9",),
        cites=("dobrushin1956",),
        source_status=("derived", "refereed"),
    ),
    constant("near", "they come nearer by one per cent", share=Fraction(99, 100)),
    hypothesis("skip", "the layer has a skip connection", residual=True),
    hypothesis("unequal", "one token weighs twice as much as the other", masses=(2.0, 1.0)),
    bug("unhalved", "the two tangents are subtracted, and the difference is not halved", half=1),
    bug("unquartered", "u and v have a half where there is a quarter", quarter=Fraction(1, 2)),
    bug("unsquared", "the ratio of the hyperbolic functions is not squared", power=1),
)
def test_two_tokens(
    run, *, share=Fraction(1), residual=False, masses=(1.0, 1.0), half=Fraction(1, 2), quarter=Fraction(1, 4), power=2
):
    share = sympy.Rational(share)
    half = sympy.Rational(half)
    quarter = sympy.Rational(quarter)
    closed = tanh_v / (1 + (sinh_u / cosh_v) ** power)
    for sign in (1, -1):
        size = sign * r**2
        u = quarter * size * (x**2 - y**2)
        v = quarter * size * (x - y) ** 2
        atoms = {sympy.exp(size * x * x): (a * b) ** 2, sympy.exp(size * y * y): (b / a) ** 2}
        for exponent, combined in ((size * x * x, 2 * (u + v)), (size * y * y, 2 * (v - u))):  # less B x y
            yield equals(decided(sympy.expand(exponent - size * x * y - combined)), 0, scale=1, part="exponents")
        one, other = (out.xreplace(atoms | {sympy.exp(size * x * y): 1}) for out in outputs(sign, masses, residual))
        tangents = half * (tanh(a * b) - tanh(a / b))
        for name, image in (("tangents", tangents), ("closed", closed)):
            gap = decided(one - other - (x - y) * image)
            yield equals(gap, 0, scale=1, part="contraction", form=name, sign=sign)
    missing = sinh_u**2 / (cosh_v**2 + sinh_u**2)  # not negative
    yield equals(decided(share * tanh_v - closed - tanh_v * missing), 0, scale=1, part="bound")
    yield equals(decided((closed - share * tanh_v).subs(a, 1)), 0, scale=1, part="bound", way="opposite")


def tanh(exponential):
    """The hyperbolic tangent of a number, from its exponential."""
    return (exponential**2 - 1) / (exponential**2 + 1)
