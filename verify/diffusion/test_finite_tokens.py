"""An output over finitely many drawn tokens: its integrals against the sum over all outcomes, in rational numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np

from theory.diffusion import SampledOutput
from theory.evidence import Claim, bug, constant, equals, hypothesis, verifies


@verifies(
    Claim(
        "rate.finite",
        "mean and variance of an output over finitely many tokens, as integrals of Laplace transforms",
        r"$\varphi = \mathbb Ee^{-tK}$, $\beta = \mathbb E[K(h - c)e^{-tK}]$: $\mathbb E\hat Ph - c = N\int_0^\infty\beta\varphi^{N-1}dt$ and $\mathbb E(\hat Ph - c)^2 = \int_0^\infty t(N\,\mathbb E[K^2(h - c)^2e^{-tK}]\varphi^{N-1} + N(N - 1)\beta^2\varphi^{N-2})dt$; and $\int_0^\infty(N\beta\varphi^{N-1} + (h(x) - c)\varphi^N)e^{-t}dt$ with the query among the keys; against all outcomes of $N = 2, 3, 5$ draws from three tokens",
        assumptions=("independent tokens", "positive weights"),
        spec=("DL.B6",),
        cites=("owen2013",),
        source_status=("derived",),
    ),
    constant("more", "the outcomes are those of one draw more", more=1),
    hypothesis("apart", "the query is not among the keys", among=False),
    bug("normaliser", "the query adds to the sum of the values only", counted=0),
)
def test_finite(run, *, more=0, among=True, counted=1):
    k = (Fraction(1), Fraction(1, 4), Fraction(5, 8))
    w = (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    h = (1, -2, 3)
    own = Fraction(3, 2)
    c = sum(map(math.prod, zip(w, k, h, strict=True))) / sum(map(math.prod, zip(w, k, strict=True)))
    output = SampledOutput(*(np.repeat([float(v) for v in a], 2) / share for a, share in ((k, 1), (w, 2), (h, 1))))
    for n in run.pick(quick=(2, 3, 5), paper=(2, 3, 5, 7)):
        for part, query in (("drawn", 0), ("among", 1)):
            [(bias, variance)] = output.moments((n,), own=float(own) if query else None)
            first = second = Fraction(0)
            for picks in itertools.product(range(3), repeat=n + more):
                top = sum(k[i] * h[i] for i in picks) + query * among * own
                off = top / (sum(k[i] for i in picks) + query * among * counted) - c
                mass = math.prod(w[i] for i in picks)
                first, second = first + mass * off, second + mass * off**2
            yield equals(bias, first, scale=1, N=n, part=part, of="mean")
            if not query:
                yield equals(variance, second - first**2, scale=1, N=n, part=part, of="variance")
