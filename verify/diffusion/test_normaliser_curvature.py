"""Curvature at a single minimiser: in the normaliser of attention, not in what it returns."""

from fractions import Fraction

import flint

from theory.evidence import Claim, ball, bug, constant, equals, hull, hypothesis, limit, verifies

GRAY = ("ruan2024", "gray2004")
MANIFOLDS = (  # the dimension of every sphere, and the factor of |x - y|^2 there
    *(("sphere", ((n, 1),)) for n in (1, 2, 3, 4)),
    ("product of two spheres", ((2, 1), (2, 3))),
    ("product of two spheres", ((1, 2), (3, 1))),
    ("product of two spheres", ((2, 1), (4, 2))),
)


@verifies(
    Claim(
        "score.curvature",
        "at one minimiser the curvature enters the normaliser with a sixth before integration, a third after",
        r"$\int e^{-f/2\varepsilon}d\mathrm{vol} = (4\pi\varepsilon)^{n/2}|c|^{-1/2}\big(1 + \varepsilon[\ldots - \frac13\mathrm{tr}\,C\,\mathrm{Ric}] + O(\varepsilon^2)\big)$, from $1 - \frac16\mathrm{Ric}(v, v)$ and $\mathbb{E}vv^\top = 2\varepsilon C$",
        remark=r"on $S^n$ with $f = |x - y|^2$: $\frac{n(n + 2)}{24} - \frac{n(n - 1)}6$ in all, $n = 1$ to 4, and the sum of two such terms over $a_i$ on $S^{n_1} \times S^{n_2}$ with $f = a_1|x_1 - y_1|^2 + a_2|x_2 - y_2|^2$",
        assumptions=(
            "one minimiser",
            "it cancels in the average, and is seen in the normaliser only",
            "decided on spheres and on products of two, whose curvature and C are no multiples of the metric",
        ),
        spec=("DL.D5", "DL.D6"),
        cites=GRAY,
        source_status=("derived",),
    ),
    constant("third", "a third before integration", before=Fraction(1, 3)),
    bug(
        "sixth",
        "the variance of the Gaussian is taken to be epsilon C: a sixth after integration",
        before=Fraction(1, 12),
    ),
    hypothesis("flat", "the sphere is taken to be flat", before=0),
)
def test_curvature(run, *, before=Fraction(1, 6)):
    inverses = [20 * 2**level for level in range(run.pick(quick=8, paper=12))]  # of epsilon
    for part, factors in MANIFOLDS:
        values = [hull((normaliser(factors, inverse) - 1) * inverse) for inverse in inverses]
        claimed = 0
        for n, weight in factors:
            trace = Fraction(n * (n - 1), 2 * weight)  # of C Ric, with C = I / 2 over the weight
            claimed += Fraction(n * (n + 2), 24 * weight) - 2 * before * trace
        yield equals(limit(values, order=1), claimed, scale=1, n=sum(n for n, _ in factors), part=part)


def normaliser(factors, inverse):
    """The integral of the exponential over spheres, divided by that over their tangent spaces, in balls."""
    whole = ball(1)
    for n, weight in factors:
        b = ball(inverse * weight)  # the squared radius times the factor of |x - y|^2, over epsilon
        whole = whole * (2 * flint.arb.pi() * b).sqrt() * (-b).exp() * b.bessel_i(ball(Fraction(n - 1, 2)))
    return whole
