"""What the instruments publish as error bounds are bounds, at laws where much of them is used and for many outcomes."""

import itertools

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, outcome, verifies
from theory.evidence.roundoff import U
from theory.maxent import (
    LinearScores,
    divergence,
    entmax_norm,
    entropy,
    expectation,
    free_energy,
    gibbs_law,
    log_partition,
)
from verify.textbook import balls, exp, hull, log

MANY = 100_000
# where the roundings of equal summands add up
EVEN = (25, 83, 131, 340, 345, 383, 1024, MANY)
FAR = (np.array([0.1, -464.4]), 0.7)  # a range of 664, where the quotient by the temperature is rounded badly

OTHER = np.array([0.7, -0.7001])  # which almost cancel


def used(interval, truth, half=None):
    """Enclose the share of the half-width of an interval that the distance of its middle to the truth takes."""
    low, high = ball(interval.lo), ball(interval.hi)
    return hull(abs(truth - (low + high) / 2) / ((high - low) / 2 if half is None else ball(half)))


def farthest(weights, exact):
    """Enclose the largest relative distance of computed weights from balls."""
    return Interval.largest([hull(abs(w / e - 1)) for w, e in zip(balls(weights), exact, strict=True)])


def levels(run):
    """Yield pairs of laws with two levels, each given by its values, the number of outcomes there, and their scores."""
    for n in EVEN:
        yield np.full(2, 1.0 / n), np.full(2, 1.0 / n), np.array([1, n - 1]), np.full(2, 0.1)
    for n in (26, 52, 140):
        for apart in (0.5, 0.1, 2.0**-10, 2.0**-20, 2.0**-30, 2.0**-40):
            yield np.full(2, 1.0 / n), np.array([1.0 + apart, 1.0 - apart]) / n, np.array([n // 2, n // 2]), OTHER
    for rng in run.draws(quick=10, paper=200):
        counts = rng.integers(1, 1000, size=2)
        first = rng.uniform(0.1, 0.9, size=2)
        yield (
            np.array([first[0], 1.0 - first[0]]) / counts,
            np.array([first[1], 1.0 - first[1]]) / counts,
            counts,
            OTHER,
        )


def drawn(run):
    """Yield scores of any range that leaves the weights above 1e-300, and temperatures."""
    for rng in run.draws(quick=20, paper=300):
        n, tau = int(rng.choice([2, 3, 40])), float(rng.uniform(0.2, 4.0))
        yield rng.uniform(size=n) * tau * 10.0 ** rng.uniform(-2.0, 2.3), tau


@verifies(
    Claim(
        "maxent.enclosures",
        "entropy, mean, divergence, free energy, log-partition, weights and norm lie within their published bounds",
        r"each of $H(p)$, $\langle p, s\rangle$, $\mathrm{KL}(p\|q)$, $\langle p, s\rangle + \tau H(p)$, $\log\mu(e^a)$ and $\|J\|_{22}$ lies in the interval that is computed for it, and each weight of $10^{-300}$ or more within its bound; a two-hundredth of it would not do",
        assumptions=("exponential and logarithm are within 4 units in the last place", "up to 100000 outcomes"),
        spec=("RA.B9",),
        cites=("higham2002",),
        provenance=("derived",),
    ),
    constant("narrow", "a two-hundredth of each bound is one", share=0.005),
    bug(
        "difference",
        "the rounding of a divergence is charged to the difference of its two sums",
        charge=lambda p, q: 12.0 * U * float(np.abs(p * np.log(p / q)).sum()) + U**2,
    ),
)
def test_enclosures(run, *, share=1.0, charge=lambda *_: None):
    for p, q, counts, scores in levels(run):
        n, law, other = int(counts.sum()), np.repeat(p, counts), np.repeat(q, counts)
        b, c, k, a = balls(p), balls(q), balls(counts), balls(scores)
        shannon, mean, s = -(k * b * log(b)).sum(), (k * b * a).sum(), np.repeat(scores, counts)
        apart, value = (k * b * log(b / c)).sum(), (k * b * exp(a)).sum().log()
        for part, taken in (
            ("entropy", used(entropy(law), shannon)),
            ("mean", used(expectation(law, s), mean)),
            ("free energy", used(free_energy(s, law, tau=0.5), mean + shannon / 2)),
            ("divergence", used(divergence(law, other), apart, charge(law, other))),
            ("log-partition", used(log_partition(s, law), value)),
        ):
            yield outcome(at_most(taken, share, scale=1, part=part, n=n))
    # scores that cancel against the logarithm of a mass, and hide the others, or have them near
    for small, far in itertools.product((1e-300, 1e-200, 1e-100), (-1000.0, -5.0)):
        mu, a = np.array([1.0 - small, small]), np.array([far, -np.log(small) + 2.0**-30])
        value = (balls(mu) * exp(balls(a))).sum().log()
        yield outcome(
            at_most(used(log_partition(a, mu), value), share, scale=1, part="log-partition", mass=small, far=far)
        )
    for number, (scores, tau) in enumerate([FAR, *drawn(run)]):
        n = scores.size
        found, error = gibbs_law(scores, tau=tau)
        exact = exp(balls(scores) / ball(tau))
        taken = farthest(found, exact / exact.sum()) / error
        yield outcome(at_most(taken, share, scale=1, part="weights", n=n, case=number))
        basis = LinearScores(np.column_stack([scores, np.cos(scores), scores / 3.0]), tau=tau)
        w = np.array([0.3, 1.0, 2.1])
        exact = exp(balls(basis.basis) @ balls(w) / ball(tau))
        taken = farthest(basis.weights(w), exact / exact.sum()) / basis.error(w)
        yield outcome(at_most(taken, share, scale=1, part="weights of a basis", n=n, case=number))
    for size in (0.1, 0.3, 0.7):  # a long sum of equal products, of which the roundings agree
        columns = 20_000
        basis = LinearScores(np.array([np.full(columns, size), np.zeros(columns)]))
        w = np.full(columns, 1e-3)
        exact = exp(np.array([columns * ball(size) * ball(1e-3), ball(0)]))
        taken = farthest(basis.weights(w), exact / exact.sum()) / basis.error(w)
        yield outcome(at_most(taken, share, scale=1, part="weights of a basis", columns=columns, size=size))
    for n in (3, 10, 1000, MANY):
        for top in (0.5, 0.7, 0.9):
            p = np.array([top, (1.0 - top) / (n - 1)])
            for alpha in (1.0, 1.3, 1.9):
                q = np.array([x ** (2 - ball(alpha)) for x in balls(p)])
                norm = n * q[0] * q[1] / (q[0] + (n - 1) * q[1]) / ball(0.7)
                found = entmax_norm(p, alpha, counts=[1, n - 1], tau=0.7)
                yield outcome(at_most(used(found, norm), share, scale=1, part="norm", n=n, top=top, alpha=alpha))
