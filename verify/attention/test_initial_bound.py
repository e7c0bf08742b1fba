"""A bound of the second singular value of attention whose scores are noise, for every number of tokens."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    constant,
    equals,
    hull,
    hypothesis,
    stream,
    verifies,
)
from theory.evidence.spectra import singular_values
from theory.maxent.gibbs import lognormal_moments, second_value_bound, trace_moment

SIZE = 1000
POWER = 6
RISK = 1 / 64
SLACK = 1e-9  # rows are rounded


@cache
def enumerated(rows, columns, power):
    """The mean of the trace over entries that are 3 once in four times and -1 else."""
    entries = np.array(list(product((3, -1), repeat=rows * columns))).reshape(-1, rows, columns)
    square = entries @ entries.swapaxes(1, 2)
    turned = np.linalg.matrix_power(square, power).trace(axis1=1, axis2=2)
    often = 3 ** (entries == -1).sum(axis=(1, 2))
    total = sum(int(trace) * int(weight) for trace, weight in zip(turned, often, strict=True))
    return Interval.exactly(Fraction(total, 4 ** (rows * columns)))


@cache
def lower_tail(size, chance, share):
    """The probability that a binomial number is at most a share of its mean."""
    hit, part = chance.numerator, chance.denominator
    most = math.floor(share * size * chance)
    ways = sum(math.comb(size, j) * hit**j * (part - hit) ** (size - j) for j in range(most + 1))
    return Fraction(ways, part**size)


def closed(size, sigma, power, rows):
    """The bound of two or four factors, whose walks are counted by hand, where so many rows share the risk."""
    e, n, risk = ball(sigma * sigma).exp(), ball(size), ball(RISK)
    second, fourth = e - 1, e**6 - 4 * e**3 + 6 * e - 3
    trace = n**2 * (second if power == 1 else fourth + 2 * (n - 1) * second**2)
    t = (2 * e / n * (2 * rows / risk).log()).sqrt()
    return hull((2 * trace / risk).root(2 * power) / (n * (1 - t)))


@cache
def drawn(case, root, sigma):
    """The norm of the noise, the least sum of a row over its mean, and two singular values of the weights."""
    rng = stream("initial.bound", case, root=root)
    terms = np.exp(sigma * rng.normal(size=(SIZE, SIZE)) - sigma * sigma / 2)
    sums = terms.sum(axis=1)
    return singular_values(terms - 1.0)[0], sums.min() / SIZE, singular_values(terms / sums[:, None])[:2]


@verifies(
    Claim(
        "initial.bound",
        "independent scores leave attention of many tokens near rank one, by a bound with a stated probability",
        r"weights of $\sigma z_{ij}$, $X_{ij} = e^{\sigma z_{ij} - \sigma^2/2} - 1$, $(n)_j$ falling factorials, for all $n$, $k$, $\epsilon$ with $t < 1$: with a probability of at least $1 - \epsilon$ $s_2 \le \frac{(2T_k/\epsilon)^{1/2k}}{n(1 - t)}$ where $T_k = \mathbb E\,\mathrm{tr}(XX^\top)^k = \sum_{\pi,\varrho}(n)_{|\pi|}(n)_{|\varrho|}\prod_e\mathbb EX^{m_e}$ over partitions of the visits of rows and of columns of a walk that uses the entry $e$ $m_e$ times, and $t^2 = \frac{2e^{\sigma^2}}n\log\frac{2n}\epsilon$; at $k = 6$, $\epsilon = \frac1{64}$ and $\sigma = \frac14, \frac12, 1$ this is at most $3.3$ times $2\sqrt{(e^{\sigma^2} - 1)/n}$ for $n = 10^5$, and for $n = 10^{10}$ $(C_k\frac{2n}\epsilon)^{1/2k}/2$ times up to a thousandth, $C_k = \frac1{k + 1}\binom{2k}k$",
        assumptions=("z independent and standard normal",),
        spec=("FN.N10",),
        cites=("naitsaada2025",),
        remark="the rank-one limit is cited; the bound is a calculation with moments and Markov's inequality, whose factor is no sharp one",
        source_status=("derived",),
    ),
    hypothesis("pairs", "walks use no entry more than twice", most=2),
    constant("variance", "the variance bounds the lower tail of a sum", central=1),
    constant("once", "the exponent of the lower tail is twice as large", halves=2),
    hypothesis("typical", "the norm is that of a typical singular value", typical=True),
    hypothesis("first", "the first singular value is small too", rank=0),
    constant("fourth", "moments of the order eight do as well", power=4),
    constant("one-row", "every row may have all of the risk", together=False),
)
def test_bound(run, *, most=2 * POWER, central=0, halves=1, typical=False, rank=1, power=POWER, together=True):
    for rows, columns in ((3, 3), (1, 6), (6, 1), (2, 4), (4, 2)):
        moments = [Fraction(3**r + 3 * (-1) ** r, 4) if r <= most else 0 for r in range(2 * POWER + 1)]
        for k in range(1, POWER + 1):
            claimed = trace_moment(rows, columns, k, moments[: 2 * k + 1])
            found = enumerated(rows, columns, k)
            yield equals(found, claimed, scale=found, part="trace", rows=rows, columns=columns, power=k)

    for size, chance in ((2000, Fraction(1, 100)), (200, Fraction(1, 2)), (20, Fraction(9, 10))):
        for t in (Fraction(1, 2), Fraction(1)):
            exponent = -2 * ball(lower_tail(size, chance, 1 - t)).log() / ball(size * t * t)
            claimed = halves / (1 / chance - central)
            yield at_least(hull(exponent), Interval.exactly(claimed), part="rows", n=size, chance=float(chance))

    for case in range(run.pick(quick=1, paper=4)):
        for sigma in run.pick(quick=(0.5,), paper=(0.25, 0.5)):
            norm, least, values = drawn(case, run.root, sigma)
            moment = trace_moment(SIZE, SIZE, POWER, lognormal_moments(sigma * sigma, 2 * POWER))
            within = second_value_bound(SIZE, sigma * sigma, power=POWER, risk=RISK)
            here = {"n": SIZE, "sigma": sigma}
            yield at_most(norm ** (2 * POWER), moment * (1.0 / SIZE if typical else 2.0 / RISK), part="norm", **here)
            yield at_most(values[rank], norm / (SIZE * least) * (1.0 + SLACK), part="second", **here)
            yield at_most(values[rank], within, part="bound", **here)

    for sigma, size, k in product((0.25, 0.5), (SIZE, 10**5), (1, 2)):
        found = second_value_bound(size, sigma * sigma, power=k, risk=RISK)
        claimed = closed(size, sigma, k, size if together else 1)
        yield equals(found, claimed, scale=claimed, part="formula", n=size, sigma=sigma, power=k)

    for sigma in (0.25, 0.5, 1.0):
        for size in (10**5, 10**10):
            unit = hull(2 * ((ball(sigma * sigma).exp() - 1) / size).sqrt())
            times = second_value_bound(size, sigma * sigma, power=power, risk=RISK) / unit
            if size == 10**5:
                yield at_most(times, 3.3, part="size", n=size, sigma=sigma)
            else:
                catalan = ball(math.comb(2 * POWER, POWER) // (POWER + 1))
                claimed = hull((catalan * 2 * size / ball(RISK)).root(2 * POWER) / 2)
                yield at_most(times, claimed * 1.001, part="size", n=size, sigma=sigma)
                yield at_least(times, claimed, part="size", n=size, sigma=sigma)
