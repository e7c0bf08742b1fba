"""What softmax and its value are accurate to in floating point, against balls; and what they are not."""

from fractions import Fraction

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.roundoff import SUBNORMAL, U
from theory.maxent import softmax, softmax_value
from verify import textbook
from verify.textbook import balls, hull

MANY = 100_000  # at which what is said of any number of scores is judged, too
LEVELS = np.array([0.1, -2.3, 3.7])


def many(size=1.0):
    """So many scores, on three levels."""
    return size * LEVELS[np.arange(MANY) % LEVELS.size]


def law(scores, tau):
    """Softmax as it is printed, in balls; equal scores are computed once."""
    levels, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    weights = textbook.exp(balls(levels) / ball(tau))
    return (weights / (weights * balls(counts)).sum())[place]


def value(scores, tau):
    """The logarithm of the sum of exponentials times the temperature, as it is printed; ball."""
    levels, counts = np.unique(scores, return_counts=True)
    return ball(tau) * (balls(counts) * textbook.exp(balls(levels) / ball(tau))).sum().log()


EPS = 2.0 * U  # the distance from 1 to the next number
FAR = (np.array([0.1, -464.4]), 0.7)  # a range of 664, where nothing is rounded well
OVERFLOW = (np.array([1000.0, 0.0, -5.0]), 1.0)
LOW = (np.array([-740.0, -741.0]), 1.0)  # exponentials of these are subnormal
NEAR_ZERO = np.array([-np.log(2.0) + 1e-9, -np.log(2.0)])  # where the value is 5e-10


def unshifted(scores, tau):
    """Divide exponentials by their sum, without a shift."""
    with np.errstate(all="ignore"):
        weights = np.exp(scores / tau)
        return weights / weights.sum()


def cases(run, *, quick, paper):
    """Yield scores and temperatures of all ranges that leave the weights normal numbers."""
    yield from (FAR, LOW, (many(50.0), 1.0))
    for rng in run.draws(quick=quick, paper=paper):
        n = int(rng.choice([2, 3, 11, 40]))
        tau = float(rng.choice([1.0, rng.uniform(0.2, 4.0)]))
        s = rng.uniform(size=n)
        yield (s - s.min()) / np.ptp(s) * tau * 10.0 ** rng.uniform(-2.0, 2.83) + rng.normal() * 100.0, tau


@verifies(
    Claim(
        "softmax.rounding",
        "a computed weight is off by a relative error that grows with the range of the scores over the temperature",
        r"$|\hat p_i - p_i| \le \epsilon\big(\frac R\tau + \log n + \frac n2 + 9\big)p_i$ and $\le \big(3(1 + \frac R\tau) + n\big)\epsilon\,p_i$ with $\epsilon = 2^{-52}$; at $R/\tau = 664$ the error is above $390\epsilon$",
        assumptions=(
            "weights are normal numbers",
            "the exponential is within 4 units in the last place, for the second bound within one",
            r"$n \le 10^7$, so that what is of second order in $nu$ is within the 9",
        ),
        spec=("RA.B9",),
        cites=("blanchard2021",),
        source_status=("derived", "refereed"),
    ),
    constant("few-ulp", "every weight is within 8 units in the last place", derived=(0.0, 8.0)),
    constant("quarter", "the range counts only a quarter", derived=(0.25, 9.0)),
    bug("unshifted", "the scores are not shifted before the exponential", shifted=False),
    hypothesis("subnormal", "a range of 740 is admitted", more=((np.array([0.0, -740.0]), 1.0),)),
)
def test_rounding(run, *, derived=(1.0, 9.0), shifted=True, more=()):
    way = softmax if shifted else unshifted
    for s, tau in [*cases(run, quick=40, paper=600), *more]:
        n = s.size
        span = np.ptp(exact(s)) / tau
        reach = span.mid
        found = way(s, tau=tau)
        held = np.isfinite(found)
        yield equals(int(held.sum()), n, part="finite", n=n, range=reach)
        _, places = np.unique(found[held] + 1j * s[held], return_index=True)  # equal weights of equal scores, once
        pairs = zip(balls(found[held][places]), law(s, tau)[held][places], strict=True)
        error = Interval.largest([Interval.exactly(0), *(hull(abs(a / b - 1)) for a, b in pairs)])
        steep, rest = derived
        bound = EPS * (steep * span + (np.log(ball(n)) + n / 2 if steep > 0.0 else 0) + rest)
        yield outcome(at_most(error, bound, scale=bound, part="derived", n=n, range=reach))
        most = EPS * (3.0 * (1.0 + span) + n)
        yield outcome(at_most(error, most, part="round numbers", n=n, range=reach))
        if s is FAR[0]:
            yield outcome(at_least(error, 390.0 * EPS, part="witness", n=n, range=reach))
    yield equals(int(np.isfinite(way(OVERFLOW[0], tau=OVERFLOW[1])).sum()), 3, part="finite")


@verifies(
    Claim(
        "softmax.row-sum",
        "computed weights sum to one up to n roundings, and not exactly",
        r"$|\sum_i\hat p_i - 1| \le \gamma_n = nu/(1 - nu)$ with $u = 2^{-53}$",
        assumptions=("finite scores",),
        spec=("RA.B9",),
        cites=("higham2002",),
        source_status=("derived", "refereed"),
    ),
    constant("exact", "the weights sum to one exactly", factor=0.0),
    hypothesis("single", "the weights are kept in single precision", single=True),
    bug("divisor", "the divisor is kept in single precision", precise=False),
)
def test_row_sum(run, *, factor=1.0, single=False, precise=True):
    drawn = [
        rng.normal(size=int(rng.choice([3, 11, 300, 1000]))) * float(rng.choice([0.1, 1.0, 100.0]))
        for rng in run.draws(quick=15, paper=200)
    ]
    for s in [np.arange(5) / 11.0, np.arange(10) / 25.0, many(), np.zeros(MANY), *drawn]:
        n = s.size
        weights = np.exp(s - s.max())
        law = softmax(s) if precise else weights / np.float64(np.float32(weights.sum()))
        kept, counts = np.unique(law.astype(np.float32) if single else law, return_counts=True)
        terms = (Fraction(p) * count for p, count in zip(kept.tolist(), counts.tolist(), strict=True))
        sum_off = abs(sum(terms, start=Fraction(-1)))
        size = n * exact(U) / (1.0 - n * U) + n * SUBNORMAL
        yield outcome(at_most(sum_off, factor * size, scale=size, n=n))


@verifies(
    Claim(
        "softmax.value-rounding",
        "the computed value is accurate to a few units of its summands, but near zero not of itself",
        r"$|\hat V - V| \le u\big(|V| + \tau(n + 11\log n + 8)\big)$; at $s = (10^{-9} - \log 2, -\log 2)$, where $V = 5\cdot10^{-10}$, the relative error exceeds $10^{-7}$",
        assumptions=("the exponential and the logarithm are within 4 units in the last place", r"$n \le 10^7$"),
        spec=("RA.B9",),
        cites=("blanchard2021",),
        source_status=("derived", "refereed"),
    ),
    constant("relative", "the value is within 8 units in the last place", own=16.0, rest=0.0),
    bug("unshifted", "the scores are not shifted before the exponential", shifted=False),
    hypothesis("subtracted", "half a thousand is added to the scores and subtracted from the value", moved=500.0),
)
def test_value_rounding(run, *, own=1.0, rest=1.0, shifted=True, moved=0.0):
    for s, tau in [*cases(run, quick=30, paper=400), (NEAR_ZERO, 1.0)]:
        n = s.size
        if shifted:
            found = float(softmax_value(s + moved, tau=tau)) - moved
        else:
            with np.errstate(all="ignore"):
                found = float(tau * np.log(np.maximum(np.exp(np.minimum(s / tau, 700.0)).sum(), 1e-320)))
        true = value(s, tau)
        error = hull(abs(ball(found) - true))
        size = abs(hull(true)) + tau * (n + 11.0 * float(np.log(n)) + 8.0)
        bound = U * (own * abs(hull(true)) + rest * tau * (n + 11.0 * np.log(ball(n)) + 8.0))
        yield outcome(at_most(error, bound, scale=U * size, n=n, tau=tau))
        if s is NEAR_ZERO:
            yield outcome(at_least(error / abs(hull(true)), 1e-7, part="relative", n=n))
