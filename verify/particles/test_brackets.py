"""The slowest acute start without normalisation, decided bracket by bracket and in power series."""

from functools import cache

import numpy as np
import sympy

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, hypothesis, sup_over, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.symbolic import zero
from verify.particles.simplex import rate
from verify.textbook import balls, exp, hull

sup = cache(sup_over)  # once for the claim and its twins
SURVEY = ("geshkovski2025",)


@verifies(
    Claim(
        "equiangular.brackets",
        "without normalisation each third token pulls the farthest pair together at least as a token of the simplex does",
        r"$e^{\beta a}(b - am) + e^{\beta b}(a - bm) \ge e^{\beta m}(1 - m)(a + b) \ge 2e^{\beta m}m(1 - m)$; equality for $a = b = m$",
        assumptions=(r"$0 \le m \le a, b \le 1$", r"$0 \le \beta(1 - m) \le 8$"),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived", "refereed"),
    ),
    constant("near", "the bound is ten per cent larger", share="1.1"),
    hypothesis("obtuse", "the other overlaps may lie below m, down to 2m - 1", least="-1"),
    bug("sign", "the projection is added", sign=1),
)
def test_brackets(run, *, share="1", least="0", sign=-1):
    # a = m + (1 - m) u, b = m + (1 - m) v, g = beta (1 - m); exponentials are divided by exp(beta m)
    yield at_most(sup(f"{share} * exp(-g * u)", tolerance=1e-4, g=(0, 8), u=(least, 1)), 1, part="weights")
    yield at_most(sup("-v", v=(least, 1)), 0, scale=1, part="b - m")
    a, b, m, u, v = sympy.symbols("a b m u v")
    here = {a: sympy.Rational(1, 2), b: sympy.Rational(3, 4), m: sympy.Rational(1, 4)}
    yield equals(zero(b + sign * a * m + a + sign * b * m - (1 - m) * (a + b), here), 0, scale=1, part="sum")
    written = {a: m + (1 - m) * u, b: m + (1 - m) * v}
    half = (b + sign * a * m).subs(written, simultaneous=True) - (1 - m) * (v + m * (1 - u))
    yield equals(zero(half, {m: 2, u: 3, v: 5}), 0, scale=1, part="half")


@verifies(
    Claim(
        "equiangular.contact",
        "rates can agree with the simplex at the start of a path that is not equiangular, but only to first order",
        r"USA, four tokens of overlaps $m$ except $\langle x_3, x_4\rangle > m$: $\langle x_1, x_2\rangle - \rho = ct^2 + O(t^3)$, $c > 0$",
        assumptions=(r"$m = \frac14$, $\langle x_3, x_4\rangle = \frac78$, $\beta = 1$",),
        spec=("FR.F13",),
        cites=SURVEY,
        provenance=("derived",),  # the second order; that the rates agree is refereed
    ),
    constant("higher", "they agree to second order", factor=0),
    hypothesis("near-pair", "the near pair is one of the two that are watched", watched=(2, 3)),
    bug("n", "the simplex has one token less", less=1),
)
def test_contact(run, *, factor=1, watched=(0, 1), less=0):
    x = variable(3)
    overlaps = balls([[4, 1, 1, 1], [1, 4, 1, 1], [1, 1, 4, 3.5], [1, 1, 3.5, 4]]) / 4
    nothing = 0 * x[()]
    path, rho = np.frompyfunc(lambda overlap: overlap + nothing, 1, 1)(overlaps), ball("1/4") + nothing
    for _ in range(2):  # Picard: each pass is right to one order more
        path = overlaps + integral(velocity(path))
        rho = ball("1/4") + rate(1 - rho, 4 - less, 1, "USA").integral()
    apart = path[watched] - rho
    yield equals(hull(coefficient(apart, 0)), 0, scale=1, part="start")
    yield equals(hull(coefficient(apart, 1)), 0, scale=1, part="rate")
    m, p = ball("1/4"), ball("7/8")  # the other four overlaps outrun rho by ahead, and pull by the slope of a bracket
    ahead = (m.exp() * (p - m**2) + p.exp() * (m - p * m) - 2 * m.exp() * (m - m**2)) / 4
    yield equals(hull(coefficient(apart, 2)), factor * hull(m.exp() * (1 - m**2) * ahead / 2), scale=1, part="bend")
    yield at_least(hull(coefficient(apart, 2)), 0.09, scale=1, part="bend, at least")


def velocity(overlaps):
    """The growth of the overlaps of four tokens under USA, beta = 1, of power series."""
    weights = exp(overlaps) / 4
    halves = weights @ overlaps - (weights * overlaps).sum(axis=1)[:, np.newaxis] * overlaps
    return halves + halves.T


integral = np.frompyfunc(lambda series: series.integral(), 1, 1)
