"""The drift identifies the normalisation: whole for softmax, half for Sinkhorn, none where density is divided out."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import read
from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    chordal,
    chordal_multiplier,
    convolve,
    convolve_reweighted,
    heat_multiplier,
    propagate,
)
from theory.diffusion.limits import average_balanced, extrapolate, largest_errors, sinkhorn_change, sweep_law
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hypothesis,
    limit,
    order,
    verifies,
)
from verify.textbook import balls

COIFMAN = ("ruan2024", "coifman2006")
MARSHALL = (*COIFMAN, "marshall2019")
CHECKED = ("recalled", "derived", "refereed")
KERNELS = {"heat": heat_multiplier, "chordal": chordal_multiplier}
GRID = PeriodicGrid((256,))
X = exact(GRID.axes[0])
LAW = CircleDensity([0.8, 0.0], [0.0, 0.3])
CHOSEN = slice(None, None, 32)
ALPHAS = (0.0, 0.25, 0.5, 1.0)
WIDE = 0.02  # the bandwidth at which real attention is compared


def function(x):
    return np.sin(x) + 0.5 * np.cos(2 * x)


P = LAW(X)
H = function(X)


def half(drift, uniform=False):
    """Half of h'' + drift (log p)' h' at the chosen places, by hand."""
    x = balls(X.mid[CHOSEN])
    slope = 0 if uniform else ball("-0.8") * np.sin(x) + ball("0.6") * np.cos(2 * x)
    return (-np.sin(x) - 2 * np.cos(2 * x) + ball(drift) * slope * (np.cos(x) - np.sin(2 * x))) / 2


def changes(averaged, levels):
    """(P h - h) / epsilon at the chosen places for falling bandwidths; ``averaged`` gives P h."""
    epsilons = [0.08 * 0.5**level for level in range(levels)]
    return np.stack([(averaged(epsilon) - H)[CHOSEN] / epsilon for epsilon in epsilons])


@cache
def weighted(kernel, alpha, levels):
    """The changes by attention to keys weighted by q^-alpha."""
    return changes(lambda epsilon: convolve_reweighted(GRID, P, H, KERNELS[kernel](epsilon), alpha=alpha), levels)


@cache
def scaled(kernel, levels):
    """The changes by Sinkhorn's attention."""
    return changes(lambda epsilon: sinkhorn_change(GRID, P, H, KERNELS[kernel](epsilon)), levels)


@cache
def swept(kernel, sweeps, levels):
    """The changes by attention that is normalised in so many sweeps."""
    return changes(lambda epsilon: sweep(KERNELS[kernel](epsilon), sweeps), levels)


def sweep(multiplier, sweeps):
    """P h after a fixed number of sweeps."""
    return convolve(GRID, sweep_law(GRID, P, multiplier, sweeps), H, multiplier)


def judged(levels, drift, uniform=False, **case):
    """Yield the findings on falling bandwidths: the limit, orders 1 and 2, and what one extrapolation leaves."""
    truth = half(drift, uniform)
    for at, target in enumerate(truth):
        yield equals(limit(levels[-5:, at], order=1), target, scale=1, place=at, **case)
    yield equals(order(largest_errors(levels, truth)[-4:]), 1, scale=1, extrapolations=0, **case)
    errors = largest_errors(extrapolate(levels[:_COARSE]), truth)  # in the finest ones rounding begins to show
    yield equals(order(errors[-4:]), 2, scale=1, extrapolations=1, **case)
    yield at_most(errors[-1], Fraction(1, 5000), scale=1, part="left after one extrapolation", **case)


_LEVELS = {"quick": 10, "paper": 11}
_COARSE = 7


def tokens_agree(run, way, claimed):
    """Real attention among quantile tokens has the values of the whole law."""
    n = run.pick(quick=200, paper=800)
    found, other = among_tokens(2 * n)[way], among_tokens(n)[way]
    gaps = [
        abs(estimated(*pair, times=2.0) - value) for *pair, value in zip(found, other, claimed[CHOSEN], strict=True)
    ]
    return equals(Interval.largest(gaps), 0, scale=1, part="tokens", N=2 * n)


@cache
def among_tokens(n):
    """What the chosen places read from n quantile tokens, weighted or doubly normalised."""
    tokens = LAW.tokens(n)
    score = chordal(WIDE)
    places = GRID.nodes[CHOSEN]
    values = function(exact(tokens))
    log_density = read(exact(tokens), tokens, values, score=score).log_partition
    halved = propagate(places, tokens, values, WIDE, score=score, weights=np.exp(-0.5 * log_density))
    balanced = average_balanced(places, tokens, values, score=score)
    return {"alpha 0.5": halved[:, 0], "sinkhorn": balanced[:, 0]}


@verifies(
    Claim(
        "normaliser.drift",
        "keys weighted by their smoothed density to the power -alpha have the drift 2(1 - alpha)",
        r"$\frac{P^{(\alpha)}_\varepsilon h - h}\varepsilon = \frac12(\Delta h + 2(1 - \alpha)\langle\nabla\log p, \nabla h\rangle) + O(\varepsilon)$ for keys weighted by $(K_\varepsilon p)^{-\alpha}$",
        remark=r"$\alpha = 0, \frac14, \frac12, 1$, with an error of order 1, after extrapolation 2; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, heat and chordal kernels; through quantile tokens the same",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "the second order at the seven widest bandwidths, before rounding shows",
        ),
        spec=("DL.C5", "FR.F25"),
        cites=COIFMAN,
        source_status=CHECKED,
    ),
    constant("doubled", "the drift is 2(1 - 2 alpha)", factor=2),
    constant("laplacian", "every weighting removes the drift", factor=None),
    bug("queries", "the queries are weighted, not the keys", swapped=True),
    hypothesis("uniform", "the density is taken to be constant", uniform=True),
)
def test_drift(run, *, factor=1, swapped=False, uniform=False):
    for kernel in KERNELS:
        for alpha in ALPHAS:
            drift = 0 if factor is None and alpha else 2 * (1 - (factor or 1) * Fraction(alpha))
            levels = weighted(kernel, 0.0 if swapped else alpha, run.pick(**_LEVELS))
            yield from judged(levels, drift, uniform, kernel=kernel, alpha=alpha)
    claimed = convolve_reweighted(GRID, P, H, chordal_multiplier(WIDE), alpha=0.0 if swapped else 0.5)
    yield tokens_agree(run, "alpha 0.5", claimed)


@verifies(
    Claim(
        "normaliser.sinkhorn",
        "doubly normalised attention has half of the drift, as weights of power one half have",
        r"$\frac{Ph - h}\varepsilon = \frac12(\Delta h + \langle\nabla\log p, \nabla h\rangle) + O(\varepsilon)$ for $P = uK_\varepsilon(u p\,\cdot)$, $u K_\varepsilon(up) = 1$",
        remark=r"with an error of order 1, after extrapolation 2; circle, heat and chordal kernels; through quantile tokens the same",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "iterated to convergence",
            "the second order at the seven widest bandwidths, before rounding shows",
        ),
        spec=("DL.C5", "FR.F25"),
        cites=MARSHALL,
        source_status=CHECKED,
    ),
    constant("whole", "the drift is 2, as for softmax", drift=2),
    constant("laplacian", "the limit is the pure Laplacian", drift=0),
    hypothesis("truncated", "three sweeps are made", sweeps=3),
)
def test_sinkhorn(run, *, drift=1, sweeps=None):
    for kernel in KERNELS:
        count = run.pick(**_LEVELS)
        levels = scaled(kernel, count) if sweeps is None else swept(kernel, sweeps, count)
        yield from judged(levels, drift, kernel=kernel)
    wide = chordal_multiplier(WIDE)
    claimed = sinkhorn_change(GRID, P, H, wide) if sweeps is None else sweep(wide, sweeps)
    yield tokens_agree(run, "sinkhorn", claimed)


@verifies(
    Claim(
        "normaliser.sweeps-fixed",
        "after any fixed number of sweeps the limit has softmax's drift, not half of it",
        r"$\frac{P_kh - h}\varepsilon \to \frac12(\Delta h + 2\langle\nabla\log p, \nabla h\rangle)$ with an error of order 1, after $k = 1, 2, 4$ sweeps of Sinkhorn's iteration from equal potentials, rows last",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "k is fixed as the bandwidth falls",
        ),
        spec=("DL.C5", "FR.F24"),
        cites=("marshall2019", "sander2022", "berman2020"),
        source_status=("derived",),
    ),
    constant("half", "every number of sweeps has half of the drift", drift=1),
    hypothesis("converged", "the iteration is run to its end", converged=True),
    constant("shared", "k sweeps take away the share k / (k + 1) of one half", drift=Fraction(3, 2)),
)
def test_fixed_sweeps(run, *, drift=2, converged=False):
    count = run.pick(**_LEVELS)
    truth = half(drift)
    for kernel in KERNELS:
        for sweeps in (1, 2, 4):
            levels = scaled(kernel, count) if converged else swept(kernel, sweeps, count)
            case = {"kernel": kernel, "sweeps": sweeps}
            for at, target in enumerate(truth):
                yield equals(limit(levels[-5:, at], order=1), target, scale=1, place=at, **case)
            yield equals(order(largest_errors(levels, truth)[-4:]), 1, scale=1, **case)
