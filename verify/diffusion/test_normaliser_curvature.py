"""Curvature at a single minimiser: in the normaliser of attention, not in what it returns."""

from fractions import Fraction

from theory.evidence import Claim, bug, constant, equals, hypothesis, limit, verifies
from verify.textbook import balls, hull

GRAY = ("ruan2024", "gray2004")


def ball(value):
    return balls(value).item()


@verifies(
    Claim(
        "score.curvature",
        "at one minimiser the curvature enters the normaliser with a sixth before integration, a third after",
        r"$\int e^{-f/2\varepsilon}d\mathrm{vol} = (4\pi\varepsilon)^{n/2}|c|^{-1/2}\big(1 + \varepsilon[\ldots - \frac13\mathrm{tr}\,C\,\mathrm{Ric}] + O(\varepsilon^2)\big)$, from $1 - \frac16\mathrm{Ric}(v, v)$ and $\mathbb{E}vv^\top = 2\varepsilon C$; on $S^n$ with $f = |x - y|^2$: $\frac{n(n + 2)}{24} - \frac{n(n - 1)}6$ in all, $n = 1$ to 4",
        assumptions=("one minimiser", "it cancels in the average, and is seen in the normaliser only"),
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
    for n in (1, 2, 3, 4):
        values = []
        for level in range(run.pick(quick=8, paper=12)):
            b = ball(20 * 2**level)
            bessel = b.bessel_i(ball(Fraction(n - 1, 2)))
            values.append(hull(((2 * ball(-1).acos() * b).sqrt() * (-b).exp() * bessel - 1) * b))
        trace = Fraction(n * (n - 1), 2)  # of C Ric, with C = I / 2
        claimed = Fraction(n * (n + 2), 24) - 2 * before * trace
        yield equals(limit(values, order=1), claimed, scale=1, n=n)
