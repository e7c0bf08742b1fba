"""The drift identifies the normalisation: whole for softmax, half for Sinkhorn, none where density is divided out."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import doubly_normalised, partition_error, rounding
from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    balance_tokens,
    chordal,
    chordal_multiplier,
    convolve,
    convolve_reweighted,
    heat_multiplier,
    propagate,
)
from theory.diffusion.limits import balance_error, extrapolate, largest_errors, sinkhorn_change, sweep_law
from theory.diffusion.studies.normalisers import ALPHAS
from theory.evidence import Claim, Interval, Kind, at_most, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U

COIFMAN = ("ruan2024", "coifman2006")
MARSHALL = (*COIFMAN, "marshall2019")
CHECKED = ("recalled", "derived", "refereed")
KERNELS = {"heat": heat_multiplier, "chordal": chordal_multiplier}
GRID = PeriodicGrid((256,))
LAW = CircleDensity([0.8, 0.0], [0.0, 0.3])
X = GRID.axes[0]
P, H = LAW(X), np.sin(X) + 0.5 * np.cos(2 * X)
CHOSEN = slice(None, None, 32)


def half(drift, uniform=False):
    """Half of h'' + drift (log p)' h' at the chosen places, by hand."""
    x = X[CHOSEN]
    slope = 0.0 if uniform else -0.8 * np.sin(x) + 0.6 * np.cos(2 * x)
    values = 0.5 * (-np.sin(x) - 2 * np.cos(2 * x) + float(drift) * slope * (np.cos(x) - np.sin(2 * x)))
    return [Interval.within(v, 1e3 * U) for v in values.tolist()]


def ladder(averaged, levels):
    """(P h - h) / epsilon at the chosen places for falling bandwidths; ``averaged`` gives P h and its error."""
    rows = []
    for level in range(levels):
        epsilon = 0.08 * 0.5**level
        found, width = averaged(epsilon)
        change = (found - H)[CHOSEN]
        rows.append([Interval.within(v, width + 64 * U) / epsilon for v in change.tolist()])
    return rows


@cache
def weighted(kernel, alpha, levels, swapped=False):
    """The ladder of attention to keys weighted by q^-alpha."""

    def averaged(epsilon):
        multiplier = KERNELS[kernel](epsilon)
        smooth = GRID.multiply(P, multiplier)
        found = convolve_reweighted(GRID, P, H, multiplier, alpha=0.0 if swapped else alpha)
        masses = P * smooth**-alpha
        relative = alpha * (GRID.rounding(P) / float(smooth.min()) + 64 * U) + 64 * U
        own = (GRID.rounding(H * masses) + 2.0 * GRID.rounding(masses)) / float(masses.min())
        return found, 2.0 * own + 4.0 * relative

    return ladder(averaged, levels)


def judged(levels, drift, uniform=False, **case):
    """Yield the findings on one ladder: the limit, orders 1 and 2, and what one extrapolation leaves."""
    truth = half(drift, uniform)
    for at, target in enumerate(truth):
        yield equals(limit([level[at] for level in levels[-5:]], order=1), target, scale=1, place=at, **case)
    yield equals(order(largest_errors(levels, truth)[-4:]), 1, scale=1, extrapolations=0, **case)
    errors = largest_errors(
        extrapolate(levels[:_COARSE]), truth
    )  # the finest are left out: there rounding begins to show
    yield equals(order(errors[-4:]), 2, scale=1, extrapolations=1, **case)
    yield at_most(errors[-1], Fraction(1, 5000), scale=1, part="left after one extrapolation", **case)


_LEVELS, _COARSE = {"quick": 10, "paper": 11}, 7


@verifies(
    Claim(
        "normaliser.drift",
        "keys weighted by their smoothed density to the power -alpha have the drift 2(1 - alpha)",
        r"$\frac{P^{(\alpha)}_\varepsilon h - h}\varepsilon = \frac12(\Delta h + 2(1 - \alpha)\langle\nabla\log p, \nabla h\rangle) + O(\varepsilon)$ for keys weighted by $(K_\varepsilon p)^{-\alpha}$, $\alpha = 0, \frac14, \frac12, 1$, with an error of order 1, after extrapolation 2; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, heat and chordal kernels; through quantile tokens the same",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "the second order at the seven widest bandwidths, before rounding shows",
        ),
        spec=("DL.C5", "FR.F25"),
        cites=COIFMAN,
        provenance=CHECKED,
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
            levels = weighted(kernel, alpha, run.pick(**_LEVELS), swapped)
            yield from judged(levels, drift, uniform, kernel=kernel, alpha=alpha)
    rough = 8.0 * (GRID.rounding(H * P) + 3.0 * GRID.rounding(P)) / float(P.min())
    exact = convolve_reweighted(GRID, P, H, chordal_multiplier(WIDE), alpha=0.0 if swapped else 0.5)
    yield _tokens(run, "alpha 0.5", exact, rough)


WIDE = 0.02  # the bandwidth at which real attention is compared


def _tokens(run, way, exact, off):
    """Real attention among quantile tokens, weighted or doubly normalised, against what the multipliers give."""
    n = run.pick(quick=200, paper=800)
    (other, _), (found, width) = (_attended(size, WIDE)[way] for size in (n, 2 * n))
    width += off + 2.0 * float(np.abs(found - other).max())
    gap = Interval.within(float(np.abs(found - exact[CHOSEN]).max()), width, Kind.ESTIMATED)
    return equals(gap, 0, scale=1, part="tokens", N=2 * n)


@cache
def _attended(n, epsilon):
    """What the chosen places read from n quantile tokens, with what rounding and the residual may do."""
    tokens, score = LAW.tokens(n), chordal(epsilon)
    values, queries = np.sin(tokens) + 0.5 * np.cos(2 * tokens), GRID.nodes[CHOSEN]
    scaled = balance_tokens(tokens, score=score)
    masses = {"alpha 0.5": np.exp(-0.5 * _log_density(tokens, score)), "sinkhorn": np.exp(scaled.g)}
    found = {}
    for way, weights in masses.items():
        width = rounding(queries, tokens, values, score=score, weights=weights)
        width += 4.0 * partition_error(tokens, tokens, score)
        if way == "sinkhorn":
            width += float(balance_error(scaled, values, queries).max())
        found[way] = (propagate(queries, tokens, values, epsilon, score=score, weights=weights)[:, 0], width)
    return found


def _log_density(tokens, score):
    """The logarithm of the smoothed density at the tokens, up to a constant."""
    return -doubly_normalised(tokens, tokens, score=score, sweeps=0).f


@cache
def scaled_ladder(kernel, levels):
    """The ladder of Sinkhorn's attention."""
    return ladder(lambda epsilon: sinkhorn_change(GRID, P, H, KERNELS[kernel](epsilon)), levels)


def swept(multiplier, sweeps):
    """What a fixed number of sweeps averages, and its error."""
    law = sweep_law(GRID, P, multiplier, sweeps)
    least = float(min(law.min(), P.min()))
    off = 2.0 * (GRID.rounding(H * law) + 2.0 * GRID.rounding(law)) / least
    each = GRID.rounding(P) / least + GRID.rounding(P / law) + 64 * U
    return convolve(GRID, law, H, multiplier), off + 8.0 * sweeps * each


@cache
def swept_ladder(kernel, sweeps, levels):
    """The ladder of a fixed number of sweeps."""
    return ladder(lambda epsilon: swept(KERNELS[kernel](epsilon), sweeps), levels)


@verifies(
    Claim(
        "normaliser.sinkhorn",
        "doubly normalised attention has half of the drift, as weights of power one half have",
        r"$\frac{Ph - h}\varepsilon = \frac12(\Delta h + \langle\nabla\log p, \nabla h\rangle) + O(\varepsilon)$ for $P = uK_\varepsilon(u p\,\cdot)$, $u K_\varepsilon(up) = 1$, with an error of order 1, after extrapolation 2; circle, heat and chordal kernels; through quantile tokens the same",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "iterated to convergence",
            "the second order at the seven widest bandwidths, before rounding shows",
        ),
        spec=("DL.C5", "FR.F25"),
        cites=MARSHALL,
        provenance=CHECKED,
    ),
    constant("whole", "the drift is 2, as for softmax", drift=2),
    constant("laplacian", "the limit is the pure Laplacian", drift=0),
    hypothesis("truncated", "three sweeps are made", sweeps=3),
)
def test_sinkhorn(run, *, drift=1, sweeps=None):
    for kernel in KERNELS:
        count = run.pick(**_LEVELS)
        levels = scaled_ladder(kernel, count) if sweeps is None else swept_ladder(kernel, sweeps, count)
        yield from judged(levels, drift, kernel=kernel)
    wide = chordal_multiplier(WIDE)
    yield _tokens(run, "sinkhorn", *(sinkhorn_change(GRID, P, H, wide) if sweeps is None else swept(wide, sweeps)))


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
        provenance=("derived",),
    ),
    constant("half", "every number of sweeps has half of the drift", drift=1),
    hypothesis("converged", "the iteration is run to its end", converged=True),
    constant("shared", "k sweeps take away the share k / (k + 1) of one half", drift=Fraction(3, 2)),
)
def test_fixed_sweeps(run, *, drift=2, converged=False):
    for kernel in KERNELS:
        for sweeps in (1, 2, 4):
            count = run.pick(**_LEVELS)
            levels = scaled_ladder(kernel, count) if converged else swept_ladder(kernel, sweeps, count)
            truth = half(drift)
            for at, target in enumerate(truth):
                value = limit([level[at] for level in levels[-5:]], order=1)
                yield equals(value, target, scale=1, place=at, kernel=kernel, sweeps=sweeps)
            yield equals(order(largest_errors(levels, truth)[-4:]), 1, scale=1, kernel=kernel, sweeps=sweeps)
