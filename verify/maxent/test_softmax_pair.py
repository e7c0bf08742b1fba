"""The Jacobian of softmax is largest at two equal weights, and what the other weights hold is lost."""

from fractions import Fraction

import numpy as np
import sympy

from theory.evidence import Claim, at_most, bug, constant, equals, exact, hypothesis, sup_over, verifies, zero
from theory.maxent.sparse import entmax_norm

MANY = 100_000


def largest(law, outer):
    """Enclose the largest eigenvalue of J from its secular equation, or that of the diagonal matrix alone."""
    return entmax_norm(law, 1.0) if outer else law.max()


def heavy_pairs(run):
    """Yield masses of which the two largest hold three quarters or more: named cases, then random ones."""
    yield np.array([0.5, 0.5])
    yield np.array([0.5, 0.25, 0.25])
    yield np.array([0.4, 0.4, 0.2])
    yield np.array([0.375, 0.375, 0.125, 0.125])
    for rng in run.draws(quick=60, paper=2000):
        rest = float(rng.uniform(0.0, 0.25))
        first = float(rng.uniform(0.5, 0.75)) if rng.random() < 0.5 else 0.5
        pair = (1.0 - rest) * np.array([first, 1.0 - first])
        others = rest * rng.dirichlet(np.full(int(rng.integers(1, 6)), 0.5))
        if others.max() <= pair.min():
            yield np.concatenate([pair, others])
    yield np.append([0.4, 0.4], np.full(MANY, 0.2 / MANY))
    yield np.append([0.7, 0.1], np.full(MANY, 0.2 / MANY))


@verifies(
    Claim(
        "softmax.pair",
        "the largest eigenvalue of the Jacobian of softmax is at most half of what the two largest weights hold, if that is three quarters or more",
        r"$\epsilon = 1 - p_1 - p_2 \le \frac14$, $p_1, p_2$ the largest weights: $\lambda_1(\mathrm{diag}(p) - pp^\top) \le \frac{1 - \epsilon}2$, with equality if $p_1 = p_2$; so $\frac12$ needs two weights $\frac12$; no $\epsilon$ above $\frac14$ will do: at $(p, \frac{1-p}2, \frac{1-p}2)$, $\frac13 < p < \frac12$, the bound is exceeded by $\frac14(1 - 2p)(3p - 1)$",
        assumptions=("temperature one",),
        spec=("FR.F06",),
        cites=("gao2017", "golub1973", "nair2025"),
        source_status=("derived", "refereed"),
    ),
    constant("quarter", "the bound is half as large, the constant of one sigmoid", factor=0.5),
    constant("near", "five quarters of what the other weights hold are lost", lost=1.25),
    hypothesis("spread", "the two largest weights hold less than half", spread=True),
    hypothesis("further", "the other weights hold up to 0.26", most="0.26"),
    bug("diagonal", "the outer product is forgotten", outer=False),
)
def test_pair(run, *, factor=1.0, lost=1.0, spread=False, most="1/4", outer=True):
    past = [np.array([p, (1.0 - p) / 2.0, (1.0 - p) / 2.0]) for p in (0.375, 0.4375, 0.484375)]
    laws = [*heavy_pairs(run), *([np.array([0.3, *np.full(70, 0.01)])] if spread else [])]
    for law in [*laws, *(law for law in past if law[2] <= Fraction(most))]:
        falling = exact(np.sort(law)[::-1])
        weights = falling / falling.sum()
        rest = weights[2:].sum()
        found = largest(weights, outer)
        bound = factor * (1.0 - lost * rest) / 2
        yield at_most(found, bound, part="bound", n=law.size, rest=rest.mid)
        if np.sort(law)[-1] == np.sort(law)[-2]:
            yield equals(found, bound, part="attained", n=law.size, rest=rest.mid)
    for law in past:
        first, rest = exact(law[0]), exact(law[2])
        excess = (1 - 2 * first) * (3 * first - 1) / 4
        over = largest(exact(law), outer) - factor * (1.0 - lost * rest) / 2
        yield equals(over, excess, scale=1, part="beyond a quarter", rest=rest.mid)
    # with c = (x1 + x2) / 2 the variance is at most (1 - e) ((x1^2 + x2^2) / 2 - c^2) + sum of p_i (x_i - c)^2 over the
    # others, where (x_i - c)^2 <= (1 + s) x_i^2 + (1 + 1/s) c^2 and p_i <= e; s = e / (1 - 2 e) takes c away
    e, s, c = sympy.symbols("e s c", positive=True)
    left = (e * (1 + 1 / s) - (1 - sympy.Rational(lost) * e)).subs(s, e / (1 - 2 * e)) * c
    yield equals(zero(left, {e: sympy.Rational(1, 5), c: 1}), 0, scale=1, part="proof: c drops out")
    widest = sup_over("e/(1 - 2*e)", e=(0, most), tolerance=1e-5)  # what p_i (1 + s) <= (1 - e) / 2 comes down to
    yield at_most(widest, 0.5, part="proof: the others")
