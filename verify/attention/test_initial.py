"""The spectrum of attention whose scores are noise."""

import math
from functools import cache

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, exact, hull, hypothesis, stream, verifies
from theory.evidence.spectra import singular_values

SIZE = 400
NEAR = 0.05


@cache
def drawn(case, root, sigma, *, product=False):
    """The weights of scores that are independent, or products of vectors of a quarter of the length, and their values."""
    rng = stream("initial.spectrum", case, root=root)
    if product:
        inner = SIZE // 4
        scores = rng.normal(size=(SIZE, inner)) @ rng.normal(size=(inner, SIZE)) / math.sqrt(inner)
    else:
        scores = rng.normal(size=(SIZE, SIZE))
    terms = np.exp(sigma * scores)
    weights = terms / terms.sum(axis=1, keepdims=True)
    return weights, singular_values(weights)[:2]


@verifies(
    Claim(
        "initial.spectrum",
        "independent scores give one singular value near one and the others within the law of the circle; scores of a head do not",
        r"scores $\sigma z_{ij}$, $n = 400$, $\sigma = \frac14, \frac12$, on drawn instances: $1 \le s_1 \le \sqrt{\max_j\sum_ip_{ij}}$, $s_1 \le 1.01$, $0.95 \le \frac{s_2\sqrt n}{2\sqrt{e^{\sigma^2} - 1}} \le 1.05$; with scores of queries and keys of dimension $\frac n4$ and the same variance the quotient is at least $1.3$",
        assumptions=("entries independent and Gaussian", "up to the rounding of rows, whose sums are one up to it"),
        spec=("FN.N10",),
        cites=("naitsaada2025",),
        remark="at deviation one and this size the quotient is between 1.0 and 2.1, as a few large entries decide",
        source_status=("recalled", "derived"),
    ),
    hypothesis("product", "the scores are products of queries and keys", product=True),
    constant("uncentred", "the constant is the root of the second moment", less=0.0),
    constant("circle", "products obey the same law", least=2.5),
    constant("farther", "the first is above one by a thousandth", floor=1.001),
    constant("nearer", "the first is one up to a hundred-thousandth", most=1.00001),
    bug("mean-column", "the mean of the sums of columns bounds the first", largest=False),
)
def test_spectrum(run, *, product=False, less=1.0, least=1.3, floor=1.0, most=1.01, largest=True):
    for case in range(run.pick(quick=2, paper=8)):
        for sigma in (0.25, 0.5):
            unit = 2.0 * np.sqrt(hull(ball(sigma * sigma).exp()) - less) / math.sqrt(SIZE)
            weights, (first, second) = drawn(case, run.root, sigma, product=product)
            sums = exact(weights).sum(axis=0)
            columns = np.sqrt(sums.max() if largest else sums.sum() / SIZE)
            yield at_least(first, floor - 1e-12, part="first", sigma=sigma)
            yield at_most(first, columns * (1.0 + 1e-9), part="columns", sigma=sigma)
            yield at_most(first, most, part="first", sigma=sigma)
            yield at_most(second, (1.0 + NEAR) * unit, part="second", sigma=sigma)
            yield at_least(second, (1.0 - NEAR) * unit, part="second", sigma=sigma)
        _, (_, second) = drawn(case, run.root, 0.5, product=True)
        yield at_least(second, least * 2.0 * np.sqrt(hull(ball(0.25).exp()) - 1.0) / math.sqrt(SIZE), part="heads")
