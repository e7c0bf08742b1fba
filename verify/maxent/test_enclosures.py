"""What the instruments publish as error bounds are bounds, at laws where much of them is used and for many outcomes."""

import itertools

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, outcome, verifies
from theory.evidence.once import once
from theory.evidence.roundoff import U
from theory.maxent import LinearScores
from theory.maxent.gibbs import divergence, entropy, expectation, free_energy, gibbs_law, log_partition
from theory.maxent.sparse import entmax_norm
from verify.textbook import balls, hull

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
        n = int(rng.choice([2, 3, 40]))
        tau = float(rng.uniform(0.2, 4.0))
        yield rng.uniform(size=n) * tau * 10.0 ** rng.uniform(-2.0, 2.3), tau


def shares_of_laws(run, charge):
    """Yield the shares that entropy, mean, free energy, divergence and log-partition take of their widths."""
    for p, q, counts, scores in levels(run):
        law, other, s = (np.repeat(values, counts) for values in (p, q, scores))
        b, c, k, a = (balls(values) for values in (p, q, counts, scores))
        shannon = -(k * b * np.log(b)).sum()
        mean = (k * b * a).sum()
        apart = (k * b * np.log(b / c)).sum()
        value = np.log((k * b * np.exp(a)).sum())
        for part, taken in (
            ("entropy", used(entropy(law), shannon)),
            ("mean", used(expectation(law, s), mean)),
            ("free energy", used(free_energy(s, law, tau=0.5), mean + shannon / 2)),
            ("divergence", used(divergence(law, other), apart, charge(law, other))),
            ("log-partition", used(log_partition(s, law), value)),
        ):
            yield taken, {"part": part, "n": law.size}


def shares_of_partitions():
    """Yield those of log-partitions whose scores cancel against the logarithm of a mass, and hide the others, or not."""
    for small, far in itertools.product((1e-300, 1e-200, 1e-100), (-1000.0, -5.0)):
        mu = np.array([1.0 - small, small])
        a = np.array([far, -np.log(small) + 2.0**-30])
        value = np.log((balls(mu) * np.exp(balls(a))).sum())
        yield used(log_partition(a, mu), value), {"part": "log-partition", "mass": small, "far": far}


def shares_of_weights(run):
    """Yield those of Gibbs laws, and of laws of scores in a basis, also with long sums of which the roundings agree."""
    for number, (scores, tau) in enumerate([FAR, *drawn(run)]):
        case = {"n": scores.size, "case": number}
        found, error = gibbs_law(scores, tau=tau)
        masses = np.exp(balls(scores) / ball(tau))
        yield farthest(found, masses / masses.sum()) / error, {"part": "weights", **case}
        basis = LinearScores(np.column_stack([scores, np.cos(scores), scores / 3.0]), tau=tau)
        w = np.array([0.3, 1.0, 2.1])
        masses = np.exp(balls(basis.basis) @ balls(w) / ball(tau))
        taken = farthest(basis.weights(w), masses / masses.sum()) / basis.error(w)
        yield taken, {"part": "weights of a basis", **case}
    columns = 20_000
    for size in (0.1, 0.3, 0.7):
        basis = LinearScores(np.array([np.full(columns, size), np.zeros(columns)]))
        w = np.full(columns, 1e-3)
        masses = np.exp(np.array([columns * ball(size) * ball(1e-3), ball(0)]))
        taken = farthest(basis.weights(w), masses / masses.sum()) / basis.error(w)
        yield taken, {"part": "weights of a basis", "columns": columns, "size": size}


def shares_of_norms():
    """Yield those of the norm of the derivative of entmax at one weight among equal ones, and beside a light one."""
    cases = list(itertools.product((3, 10, 1000, MANY), (0.5, 0.7, 0.9), (1.0, 1.3, 1.9)))
    light = itertools.product((1e-5, 1e-50, 1e-120), (0.1, 0.9, 1.3))  # below order one 2 - alpha is rounded
    laws = [(n, np.array([top, (1.0 - top) / (n - 1)]), top, alpha) for n, top, alpha in cases]
    laws += [(2, np.array([1.0 - small, small]), small, alpha) for small, alpha in light]
    for n, p, top, alpha in laws:
        q = np.array([x ** (2 - ball(alpha)) for x in balls(p)])
        norm = n * q[0] * q[1] / (q[0] + (n - 1) * q[1]) / ball(0.7)
        found = entmax_norm(p, alpha, counts=[1, n - 1], tau=0.7)
        yield used(found, norm), {"part": "norm", "n": n, "top": top, "alpha": alpha}


@once
def other_shares(run):
    """Return those that are not of laws, whatever a divergence is charged with."""
    return [*shares_of_partitions(), *shares_of_weights(run), *shares_of_norms()]


@verifies(
    Claim(
        "maxent.enclosures",
        "entropy, mean, divergence, free energy, log-partition, weights and norm lie within their published bounds",
        r"each of $H(p)$, $\langle p, s\rangle$, $\mathrm{KL}(p\|q)$, $\langle p, s\rangle + \tau H(p)$, $\log\mu(e^a)$ and $\|J\|_{22}$ lies in the interval that is computed for it, and each weight of $10^{-300}$ or more within its bound; a two-hundredth of it would not do",
        assumptions=(
            "exponential, logarithm and power are within 4 units in the last place, each up to 2u of the number",
            "up to 100000 outcomes",
        ),
        spec=("RA.B9",),
        cites=("higham2002",),
        source_status=("derived",),
    ),
    constant("narrow", "a two-hundredth of each bound is one", share=0.005),
    bug(
        "difference",
        "the rounding of a divergence is charged to the difference of its two sums",
        charge=lambda p, q: 12.0 * U * float(np.abs(p * np.log(p / q)).sum()) + U**2,
    ),
)
def test_enclosures(run, *, share=1.0, charge=lambda *_: None):
    for taken, case in (*shares_of_laws(run, charge), *other_shares(run)):
        yield outcome(at_most(taken, share, scale=1, **case))
