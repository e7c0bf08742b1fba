"""Fusedmax: denoising before entmax, by a certificate of optimality that needs no maximiser, and its derivative."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, exact, hypothesis, outcome, verifies
from theory.evidence.enclosure import coefficient, sqrt, variable
from theory.evidence.roundoff import U
from theory.maxent import entmax, entmax_vjp, frank_wolfe_gap, fusedmax, fusedmax_vjp, softmax
from theory.maxent.sparse import total_variation_prox
from verify import textbook
from verify.textbook import balls, fractions

DERIVED = ("recalled", "derived", "refereed")
STEPS = np.array([1.0, 0.9, 0.1, 0.3, -0.5, -0.4])  # neighbours that fuse, on and off the support


def variation_gap(s, law, alpha, strength, prior=None):
    """Enclose how far the penalised objective can still rise from a law, by concavity and one subgradient.

    For any multipliers |w_k| <= 1, TV(q) >= <D'w, q>, so F(q) - F(p) <= <g - strength D'w, q - p> + strength
    (TV(p) - <D'w, p>) with g the gradient of the rest at p. Those of the prox are taken, cut to [-1, 1].
    """
    scores = fractions(s)
    p = fractions(law)
    reach = Fraction(strength)
    smooth = fractions(total_variation_prox(s, strength))
    sums = itertools.accumulate(a - b for a, b in zip(smooth[:-1], scores[:-1], strict=True))
    w = [max(min(x / reach, Fraction(1)), Fraction(-1)) for x in sums]
    pull = [a - b for a, b in zip([Fraction(0), *w], [*w, Fraction(0)], strict=True)]
    total = sum(p)
    p = [x / total for x in p]
    slack = sum(abs(b - a) for a, b in itertools.pairwise(p)) - sum(a * b for a, b in zip(pull, p, strict=True))
    e = ball(alpha) - 1
    base = np.ones(len(s)) if prior is None else prior
    x = balls(np.array(p, dtype=object))
    if alpha == 1.0:
        slope = np.array([(y / b).log() for y, b in zip(x, balls(base), strict=True)], dtype=object)
    else:
        slope = np.array([(y**e if y > 0 else y * 0) / e for y in x], dtype=object)
    gradient = balls(np.array([a - reach * b for a, b in zip(scores, pull, strict=True)], dtype=object)) - slope
    return frank_wolfe_gap(gradient, law) + Interval.exactly(reach * slack)


@verifies(
    Claim(
        "fusedmax.composition",
        "fusedmax is entmax after total-variation denoising of the scores",
        r"$\arg\max_\Delta\langle p, s\rangle - \Omega(p) - \lambda\sum|p_{i+1} - p_i| = y_\Omega(\mathrm{prox}_{\lambda\mathrm{TV}}(s))$ for symmetric, strictly convex $\Omega$",
        assumptions=(r"$\Omega = -H_\alpha$, $1 \le \alpha \le 2$", r"$\lambda > 0$"),
        spec=("RA.D10",),
        cites=("niculae2017", "blondel2020"),
        source_status=DERIVED,
    ),
    bug("swapped", "the scores are denoised after entmax instead of before", swapped=True),
    constant("halved", "they are denoised with half the strength", share=0.5),
    hypothesis("asymmetric", "the entropy is relative to a law that is not uniform", prior=True),
)
def test_composition(run, *, swapped=False, share=1.0, prior=False):
    cases = [(STEPS, 0.2), (np.array([3.0, 0.0, 0.0, 1.0]), 0.5)]
    for rng in run.draws(quick=6, paper=120):
        n = int(rng.integers(2, 30))
        cases.append((rng.normal(size=n) * float(rng.choice([0.3, 2.0])), float(rng.uniform(0.05, 0.8))))
    waves = np.round(2**10 * (np.sin(0.05 * np.arange(400.0)) + 0.3 * np.cos(1.7 * np.arange(400.0)))) / 2**10
    for alpha in (1.0, 1.25, 1.5, 2.0):
        for s, strength in [*cases, *[(waves, 0.5)] * (alpha == 1.5)]:
            reference = np.arange(1.0, s.size + 1.0) / (s.size * (s.size + 1.0) / 2.0) if prior else None
            if swapped:
                law = total_variation_prox(entmax(s, alpha), strength)
            elif prior and alpha == 1.0:
                law = softmax(total_variation_prox(s, share * strength), prior=reference)
            else:
                law = fusedmax(s, share * strength, alpha=alpha)
            n = s.size
            size = 1.0 + strength + float(np.abs(s).max())
            # the mean of a run is off by (n + 8) u of the range, and a multiplier by n times that; gradient and variation
            # see it twice. A deformed logarithm of a weight is off by eight roundings of itself and of one.
            span = float(np.ptp(s))
            bound = 4 * (n * (n + 8) * span + 8 * (1 + span + np.log(ball(n)))) * U
            missed = variation_gap(s, law / law.sum() if swapped else law, alpha, strength, reference)
            yield outcome(at_most(missed, bound, scale=size, alpha=alpha, n=n))


@cache
def denoised(scores, strength):
    """Total-variation denoising in rational numbers: every way to cut the row into runs that rise or fall is tried."""
    best = None
    for bends in itertools.product((0, 1, -1), repeat=len(scores) - 1):
        ends = [k + 1 for k, side in enumerate(bends) if side]
        runs = list(zip([0, *ends], [*ends, len(scores)], strict=True))
        sides = [0, *(side for side in bends if side), 0]
        x = []
        for r, (a, b) in enumerate(runs):
            x += [(sum(scores[a:b]) + strength * (sides[r + 1] - sides[r])) / (b - a)] * (b - a)
        cost = sum((a - b) ** 2 for a, b in zip(x, scores, strict=True)) / 2
        cost += strength * sum(abs(a - b) for a, b in itertools.pairwise(x))
        best = (cost, x) if best is None or cost < best[0] else best
    return np.array(best[1], dtype=object)


def moved(scores, way, alpha):
    """The derivative of the law along ``way``, from its closed form on the support as a power series."""
    law = textbook.entmax(balls(scores), alpha)
    on = np.array([x > 0 for x in law])
    z = balls(scores[on]) + balls(way[on]) * variable(2)
    if alpha == 1.0:
        weights = textbook.laws(z[np.newaxis])[0]
    elif alpha == 2.0:
        weights = z + (1 - z.sum(keepdims=True)) / int(on.sum())
    else:  # order 3/2: sum (z / 2 - theta)^2 = 1, solved for theta
        z = z / 2
        k = int(on.sum())
        mean = z.sum(keepdims=True) / k
        spread = ((z - mean) * (z - mean)).sum(keepdims=True)
        weights = (z - mean + sqrt((1 - spread) / k)) ** 2
    out = balls(np.zeros(on.size))
    out[on] = [coefficient(x, 1) for x in weights]
    return out


@verifies(
    Claim(
        "fusedmax.jacobian",
        "the Jacobian of fusedmax is that of entmax at the denoised scores times averaging over their runs",
        r"$J = J_\Omega(\hat s)\,\Pi$, $\Pi$ the mean over each run of equal $\hat s$; $\Pi$ commutes with $J_\Omega$",
        assumptions=("runs and support locally constant", r"$\alpha \in \{1, \frac32, 2\}$"),
        spec=("RA.D10",),
        cites=("niculae2017",),
        source_status=DERIVED,
    ),
    bug("plain", "the runs are not averaged", averaged=False),
    constant("near", "the derivative is one in a thousand larger", factor=1.001),
    hypothesis("undenoised", "the Jacobian of entmax is taken at the scores, not at the denoised ones", smooth=False),
)
def test_jacobian(run, *, averaged=True, factor=1.0, smooth=True):
    cases = [(STEPS, np.array([0.3, -1.0, 0.5, 0.2, 0.1, 0.7]))]
    for rng in run.draws(quick=3, paper=30):
        n = int(rng.integers(3, 7))
        cases.append((rng.normal(size=n) * 0.5, rng.normal(size=n)))
    step = Fraction(1, 2**40)
    strength = Fraction(1, 5)
    for s, way in cases:
        rows = [tuple(a + k * step * b for a, b in zip(fractions(s), fractions(way), strict=True)) for k in (0, 1)]
        here, there = (denoised(row, Fraction(float(strength))) for row in rows)
        along = (there - here) / step  # exact: denoising is piecewise linear
        for alpha in (1.0, 1.5, 2.0):
            law = exact(fusedmax(s, float(strength), alpha=alpha) if smooth else entmax(s, alpha))
            found = fusedmax_vjp(law, way, alpha=alpha) if averaged else entmax_vjp(law, way, alpha)
            claimed = moved(here, along, alpha) * ball(factor)
            yield equals(found, claimed, scale=1, alpha=alpha, n=s.size)
