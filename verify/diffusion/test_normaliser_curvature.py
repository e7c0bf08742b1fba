"""Curvature at a single minimiser: in the normaliser of attention, not in what it returns."""

from fractions import Fraction

from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, limit, verifies
from verify.textbook import hull

GRAY = ("ruan2024", "gray2004")


@verifies(
    Claim(
        "score.curvature",
        "at one minimiser the curvature enters the normaliser with a sixth before integration, a third after",
        r"$\int e^{-f/2\varepsilon}d\mathrm{vol} = (4\pi\varepsilon)^{n/2}|c|^{-1/2}\big(1 + \varepsilon[\ldots - \frac13\mathrm{tr}\,C\,\mathrm{Ric}] + O(\varepsilon^2)\big)$, from $1 - \frac16\mathrm{Ric}(v, v)$ and $\mathbb{E}vv^\top = 2\varepsilon C$; on $S^n$ with $f = |x - y|^2$: $\frac{n(n + 2)}{24} - \frac{n(n - 1)}6$ in all, $n = 1$ to 4, and the sum of two such terms over $a_i$ on $S^{n_1} \times S^{n_2}$ with $f = a_1|x_1 - y_1|^2 + a_2|x_2 - y_2|^2$",
        assumptions=(
            "one minimiser",
            "it cancels in the average, and is seen in the normaliser only",
            "decided on spheres and on products of two, whose curvature and C are no multiples of the metric",
        ),
        spec=("DL.D5", "DL.D6"),
        cites=GRAY,
        provenance=("derived",),
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
    levels = [20 * 2**level for level in range(run.pick(quick=8, paper=12))]  # of 1 / epsilon
    for dims, weights in (*(((n,), (1,)) for n in (1, 2, 3, 4)), ((2, 2), (1, 3)), ((1, 3), (2, 1)), ((2, 4), (1, 2))):
        values = []
        for level in levels:
            whole = ball(1)
            for n, weight in zip(dims, weights, strict=True):
                b = ball(level * weight)  # the squared radius times the factor of |x - y|^2, over epsilon
                whole = whole * (2 * ball(-1).acos() * b).sqrt() * (-b).exp() * b.bessel_i(ball(Fraction(n - 1, 2)))
            values.append(hull((whole - 1) * level))
        claimed = 0
        for n, weight in zip(dims, weights, strict=True):
            trace = Fraction(n * (n - 1), 2 * weight)  # of C Ric, with C = I / 2 over the weight
            claimed += Fraction(n * (n + 2), 24 * weight) - 2 * before * trace
        part = "sphere" if len(dims) == 1 else "product of two spheres"
        yield equals(limit(values, order=1), claimed, scale=1, n=sum(dims), part=part)
