"""How many Gaussian patterns softmax and entmax can hold apart, for one dimension and one number of patterns."""

import math
from fractions import Fraction

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, constant, equals, exact, hull, hypothesis, verifies
from theory.maxent import entmax
from theory.maxent.gibbs import retrieval_weight

FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 2))
DIM = 100
APART = Fraction(1, 10)


def load(factor):
    """The load up to which softmax keeps the pattern."""
    return factor - factor * factor / 2 if factor < 1 else Fraction(1, 2)


def held(others, factor, alpha):
    """The chance that all others are so far below the pattern that entmax gives it all the weight."""
    root = ball(DIM).sqrt()
    reach = root - 1 / (ball(factor) * ball(Fraction(alpha) - 1) * root)
    return (others * (1 - (reach / ball(2).sqrt()).erfc() / 2).log()).exp()


@verifies(
    Claim(
        "descent.load",
        "among Gaussian patterns softmax keeps one up to a load that depends on the temperature, and entmax exactly up to one half at any",
        r"$|x|^2 = d$, $n = \lfloor e^{ad}\rfloor$ patterns $x_j \sim N(0, I)$, weights of $\lambda\langle x, x_j\rangle$; $c = \lambda - \frac{\lambda^2}2$ for $\lambda \le 1$, $\frac12$ above: the mean weight of $x$ under softmax is at least $1 - 2e^{-(c - a)d}$, under $\mathrm{entmax}_\alpha$ it is one with a probability of at least $1 - e^{-(1/2 - a)d + 1/(\lambda(\alpha - 1))}$; at $d = 100$, $a = c + 0.1$ and $\lambda = \frac14, \frac12, \frac32$ the mean weight is at most $0.01$, and at $a = 0.6$ the probability is below $10^{-40}$",
        assumptions=("the query is the pattern", "others are independent of it"),
        spec=("FN.N11",),
        cites=("santos2024", "hu2023"),
        remark="so at one half of the temperature that copies a pattern entmax holds more: 1/2 against 3/8",
        source_status=("recalled", "derived"),
    ),
    hypothesis("load-of-lambda", "softmax holds a load up to the factor, at most one half", linear=True),
    constant("half-load", "softmax holds half of the load only", of_load=Fraction(1, 2)),
    hypothesis("entmax-as-softmax", "entmax holds no more than softmax", same=True),
    constant("any-gap", "entmax keeps a pattern that is the largest", margin=0),
    hypothesis("beyond", "entmax holds a load beyond one half", limit=Fraction(7, 10)),
)
def test_load(run, *, linear=False, of_load=1, same=False, margin=1, limit=Fraction(1, 2)):
    for factor in FACTORS:
        c = of_load * (min(factor, Fraction(1, 2)) if linear else load(factor))
        for share in (c - APART, c + APART):
            others = math.floor(hull((ball(share) * DIM).exp()).mid)
            weight = retrieval_weight(others, DIM, float(factor))
            if share < c:
                least = 1 - 2 * (-(ball(c) - ball(share)) * DIM).exp()
                yield at_most(1 - weight, 1 - hull(least), part="softmax holds", factor=float(factor))
            else:
                yield at_most(weight, 0.01, part="softmax loses", factor=float(factor))
        for alpha in (Fraction(3, 2), Fraction(2)):
            gap = 1 / (factor * (alpha - 1))
            few = math.floor(hull((ball(limit - APART) * DIM).exp()).mid)
            claimed = (-(ball(limit) - ball(limit - APART)) * DIM + ball(gap)).exp()
            yield at_most(1 - hull(held(few, factor, alpha)), hull(claimed), part="entmax holds", factor=float(factor))
            crowd = load(factor) + APART if same else limit + APART
            many = math.floor(hull((ball(crowd) * DIM).exp()).mid)
            yield at_most(hull(held(many, factor, alpha)), 1e-40, part="entmax loses", factor=float(factor))
            score = float(factor) * DIM
            if factor != FACTORS[0]:  # gaps of scores do not depend on it
                continue
            for away, all_of_it in ((Fraction(101, 100), True), (Fraction(99, 100), False)):
                others = score - float(away / (alpha - 1) if margin else Fraction(1, 100))
                weights = entmax(exact(np.array([score, others, others - 1.0])), float(alpha))
                missed = 1 - weights[0]
                if all_of_it:
                    yield equals(missed, 0, scale=1, part="event", factor=float(factor), alpha=float(alpha))
                elif margin:
                    yield at_least(missed, 1e-6, part="event", factor=float(factor), alpha=float(alpha))
