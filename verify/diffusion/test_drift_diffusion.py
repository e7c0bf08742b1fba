"""One layer of attention is a step of a drift-diffusion: for every kernel, to every order, and with real tokens."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import SquaredDistance, rounding
from theory.diffusion import CircleDensity, PeriodicGrid, chordal, chordal_multiplier, convolve, propagate, studies
from theory.diffusion.limits import KERNELS, bessel_quotients, extrapolate, kernel_multiplier, largest_errors
from theory.diffusion.similarity import sphere_tokens
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    order,
    outcome,
    verifies,
)
from theory.evidence.roundoff import U, gamma
from verify.textbook import hull

RUAN = ("ruan2024", "coifman2006")
MOMENTS = {  # second moment over mass, in dimension d
    "gaussian": lambda _: Fraction(1), "narrow": lambda _: Fraction(1, 2),
    "exponential": lambda d: Fraction(d + 1), "ball": lambda d: Fraction(1, d + 2),
}  # fmt: skip
ORDERS = (1, 2, 3)  # plain, and after one and two extrapolations
WAVY = CircleDensity([0.8, 0.0], [0.0, 0.3])


@cache
def closed(places, drift, *, flat=False):
    """The limit L h / 2 and the second-order coefficient of the heat kernel, by hand, on the circle of the ladder.

    The coefficient is that of a constant density if ``flat``.
    """
    x = np.array(places)
    u1 = -0.8 * np.sin(x) + 0.6 * np.cos(2 * x)
    u2 = -0.8 * np.cos(x) - 1.2 * np.sin(2 * x)
    u3 = 0.8 * np.sin(x) - 2.4 * np.cos(2 * x)
    h = [np.sin(x) + 0.5 * np.cos(2 * x), np.cos(x) - np.sin(2 * x), -np.sin(x) - 2 * np.cos(2 * x)]
    h += [-np.cos(x) + 4 * np.sin(2 * x), np.sin(x) + 8 * np.cos(2 * x)]
    first = h[2] + drift * u1 * h[1]
    # derivatives of p = exp(u), in units of p; those of h p by Leibniz, and h p'''' falls out
    p = [1.0, u1, u2 + u1**2, u3 + 3 * u1 * u2 + u1**3]
    fourth = sum(math.comb(4, k) * h[k] * p[4 - k] for k in range(1, 5))
    second = h[4] / 8 if flat else fourth / 8 - p[2] / 4 * first
    return first / 2, second


def levels_of(table, kernel):
    """The ladder of one kernel, coarse to fine, with its places."""
    part = table.where(kernel=kernel)
    epsilons = sorted(set(part["epsilon"].tolist()), reverse=True)
    return tuple(part.where(epsilon=epsilons[0])["x"].tolist()), [
        part.where(epsilon=e).intervals("change") for e in epsilons
    ]


def near(values):
    """Closed forms of a few hundred operations on numbers below a hundred."""
    return [Interval.within(float(v), 1e5 * U) for v in values]


def averaged(levels, *, order):
    """Means of values at adjacent bandwidths."""
    return [[0.5 * (a + b) for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise(levels)]


@verifies(
    Claim(
        "limit.order",
        "a layer approximates half the drift-diffusion to first order in the bandwidth, to second and third after extrapolation",
        r"$\frac{P_\varepsilon h - h}\varepsilon = \frac12(\Delta h + 2\langle\nabla\log p, \nabla h\rangle) + O(\varepsilon)$, exactly of order 1; $2A(\varepsilon/2) - A(\varepsilon)$ of order 2, $\frac13(4R(\varepsilon/2) - R(\varepsilon))$ of order 3; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, $h = \sin x + \frac12\cos 2x$, heat and chordal kernels",
        assumptions=(
            "circle, in the limit of many tokens", "p positive and analytic", "row-normalised",
            "order 3 at four bandwidths of seven, the second to the fifth: in finer ones rounding shows",
            "limits from the four finest, as few as there may be: coarser ones may change with the other sign",
        ),
        spec=("DL.B1", "DL.B2"),
        cites=RUAN,
        provenance=("seen", "derived", "refereed"),
    ),
    constant("drift", "the drift coefficient is one", drift=1),
    constant("half", "the orders are one half of that", share=Fraction(1, 2)),
    bug("extrapolated", "the extrapolation is a mean of both values", combine=averaged),
    hypothesis("uniform", "the density is taken to be constant", drift=0),
)  # fmt: skip
def test_order(run, *, drift=2, share=1, combine=extrapolate):
    table = run.study(studies.ladder)
    for kernel in ("heat", "chordal"):
        places, levels = levels_of(table, kernel)
        truth = near(closed(places, drift)[0])
        for at, place in enumerate(places):
            found = limit([level[at] for level in levels[-4:]], order=1)
            yield equals(found, truth[at], scale=max(abs(t.mid) for t in truth), kernel=kernel, x=round(place, 3))
        for k in ORDERS:
            errors = largest_errors(levels, truth)
            judged = errors[1:5] if k == ORDERS[-1] else errors  # there rounding shows in the finest
            yield equals(order(judged), share * k, scale=1, kernel=kernel, extrapolations=k - 1, part="order")
            levels = combine(levels, order=k)


# found by searches; of the first two more than half of the bound is used
STEEP = ((0.0, 0.5489632716378222, 2), (0.0, 0.2889417152566214, 4), (0.5, 0.5256024216354108, 2))


@verifies(
    Claim(
        "limit.multipliers",
        "the multipliers of the chordal kernel and of the sphere are as accurate as is said: two roundings for each degree and two more",
        r"computed $I_{k + c}(b)/I_c(b)$, $c = 0$ and $\frac12$, is within $2(k + 1)2^{-53}$ of itself, for $k \le 40$ and $b$ from $10^{-1}$ to $10^9$: at three arguments that searches found, of which two need more than half of that, at those where the plain recurrence loses a hundred roundings, and at drawn ones",
        assumptions=("float64", "on each argument listed; what is derived for all is 5 (k + 1) + 120 roundings"),
        spec=("DL.B1",),
        cites=("ruan2024",),
        provenance=("derived",),
    ),
    constant("half", "a rounding for each degree and one more", factor=Fraction(1, 2)),
    bug("sphere", "the orders of the sphere stand for those of the circle, and the other way", swapped=True),
    hypothesis("inverse", "the bandwidth is rounded to single precision", rounded=True),
)
def test_multipliers(run, *, factor=1, swapped=False, rounded=False):
    cases = [(c, b, (k,)) for c, b, k in STEEP]
    cases += [(c, b, (1, 2, 5, 40)) for c in (0.0, 0.5) for b in (8464.737351816286, 954667827.3079548)]
    for rng in run.draws(quick=8, paper=100):
        cases += [(c, float(10.0 ** rng.uniform(-1.0, 9.0)), (1, 2, 5, 40)) for c in (0.0, 0.5)]
    for c, b, degrees in cases:
        found = bessel_quotients(max(degrees), float(np.float32(b)) if rounded else b, 0.5 - c if swapped else c)
        argument, least = ball(b), ball(c)
        base = argument.bessel_i(least, scaled=True)
        for k in degrees:
            off = ball(found[k]) * base / argument.bessel_i(k + least, scaled=True) - 1
            allowed = factor * Fraction(2 * (k + 1), 2**53)
            yield outcome(at_most(abs(hull(off)), allowed, c=c, b=b, k=k))


@verifies(
    Claim(
        "limit.transform",
        "Fourier multipliers on a grid are off by no more than what is published, and by more than a hundredth of it at a prime number of nodes",
        r"multiplied by the constant $c$, every value on $N$ nodes is within $(32\log_2N + 4)2^{-53}c\|v\|_2$ of $cv$: one spike, a wave, a ramp and a step, $N = 4, 31, 1009, 65537, 100000$, $c = 1, 2^{-40}, 2^{40}$",
        assumptions=("float64", "one dimension, on each instance listed"),
        spec=("DL.B1",),
        cites=("ruan2024",),
        provenance=("derived",),
    ),
    constant("hundredth", "a hundredth of what is published", factor=Fraction(1, 100)),
    bug("mean", "the norm is a root mean square", averaged=True),
    hypothesis("larger", "the factors are a hundred times as large as is said", size=100.0),
)
def test_transform(run, *, factor=1, averaged=False, size=1.0):
    for n in (4, 31, 1009, 65537, 10**5):
        grid, j = PeriodicGrid((n,)), np.arange(n)
        shapes = (np.eye(1, n, 1)[0], np.cos(2.0 * np.pi * j * 3 / n), 1.0 + j / n, np.where(2 * j < n, 1.0, -1.0))
        for number, values in enumerate(shapes):
            for c in (1.0, 2.0**-40, 2.0**40) if n < 10**4 else (1.0,):
                found = grid.multiply(values, lambda k, c=c: np.full_like(k, size * c))
                off = float(np.abs(found / (size * c) - values).max())  # a power of two, and size divides out
                error = Interval.within(off, 2 * U * float(np.abs(values).max())) * size * c
                allowed = grid.rounding(values, c) / (math.sqrt(n) if averaged else 1.0)
                granted = Interval.within(
                    allowed, gamma(n + 64) * allowed
                )  # a norm, which no two libraries round alike
                yield outcome(at_most(error, factor * granted, N=n, c=c, values=number))


@verifies(
    Claim(
        "limit.second-order",
        "the coefficient of the next order in closed form; on the chord it has a quarter of the operator more",
        r"$\lim\varepsilon^{-1}\bigl(\frac{P_\varepsilon h - h}\varepsilon - \frac12Lh\bigr) = B_ph = \frac{\Delta^2(hp) - h\Delta^2p}{8p} - \frac{\Delta p}{4p}Lh$ for the heat kernel, and $B_ph + \frac14Lh$ for the chordal one",
        assumptions=(
            "circle, in the limit of many tokens", "p positive and analytic", "row-normalised",
            "limits from the four finest bandwidths, as few as there may be: coarser ones may change with the other sign",
        ),
        spec=("DL.B2",),
        cites=RUAN,
        provenance=("derived", "refereed"),
    ),
    constant("chord", "the chordal kernel has the coefficient of the heat kernel", quarter=0),
    constant("doubled", "the quarter is a half", quarter=Fraction(1, 2)),
    hypothesis("uniform", "the coefficient is that of a constant density", flat=True),
)  # fmt: skip
def test_second_order(run, *, quarter=Fraction(1, 4), flat=False):
    table = run.study(studies.ladder)
    for kernel in ("heat", "chordal"):
        places, levels = levels_of(table, kernel)
        half, second = closed(places, 2, flat=flat)
        halves, seconds = near(half), near(second)
        epsilons = sorted(set(table["epsilon"].tolist()), reverse=True)
        size = max(abs(b.mid) for b in seconds)
        for at, place in enumerate(places):
            beyond = [
                (level[at] - halves[at]) / epsilon for level, epsilon in zip(levels[-4:], epsilons[-4:], strict=True)
            ]
            claimed = seconds[at] + (2 * quarter * halves[at] if kernel == "chordal" else 0)
            yield equals(limit(beyond, order=1), claimed, scale=size, kernel=kernel, x=round(place, 3))


@verifies(
    Claim(
        "limit.kernels",
        "of an isotropic kernel only the second moment over the mass enters the limit",
        r"$\frac{P_\varepsilon h - h}\varepsilon \to \frac{m_2}{2m_0}Lh$ for weights $k(|x - y|/\sqrt\varepsilon)$; $m_2/m_0 = 1, \frac12, d + 1, \frac1{d+2}$ for $e^{-r^2/2}$, $e^{-r^2}$, $e^{-r}$ and the ball, on flat tori of dimension 1 and 2",
        assumptions=("flat torus, in the limit of many tokens", "p positive and analytic", "row-normalised"),
        spec=("DL.B1",),
        cites=RUAN,
        provenance=("recalled", "derived", "refereed on paper"),
    ),
    constant("drift", "the drift coefficient is one", drift=1),
    constant(
        "moments", "every kernel has the moments of the Gaussian", moments=dict.fromkeys(KERNELS, lambda _: Fraction(1))
    ),
    bug(
        "volume",
        "the exponential's moments are those of the line in every dimension",
        moments={**MOMENTS, "exponential": lambda _: Fraction(2)},
    ),
)
def test_kernels(run, *, drift=2, moments=MOMENTS):
    for dim, nodes in ((1, 128), (2, 48)):
        grid = PeriodicGrid((nodes,) * dim)
        x = grid.axes
        p = np.broadcast_to(np.exp(0.5 * np.cos(x[0]) + 0.3 * np.sin(x[-1])), grid.shape)
        h = np.broadcast_to(np.sin(x[0]) + 0.5 * np.cos(x[-1] - x[0]), grid.shape)
        slopes = np.stack([np.broadcast_to(v, grid.shape) for v in _slopes(x, dim)])
        gradient, laplacian = _derivatives(x, dim)
        half = 0.5 * (laplacian + drift * (slopes * gradient).sum(axis=0))
        chosen = tuple(slice(None, None, nodes // 4) for _ in range(dim))
        size = float(np.abs(half).max())
        for name in KERNELS:
            values = []
            for level in range(run.pick(quick=6, paper=8)):
                epsilon = 0.01 * 0.5**level
                found = convolve(grid, p, h, kernel_multiplier(name, epsilon, dim))
                width = 2.0 * (grid.rounding(h * p) + 2.0 * grid.rounding(p)) / float(p.min()) + 512 * U
                values.append([Interval.within(v, width / epsilon) for v in ((found - h) / epsilon)[chosen].ravel()])
            ratio = moments[name](dim)
            for at, target in enumerate(near(half[chosen].ravel())):
                yield equals(
                    limit([level[at] for level in values], order=1),
                    ratio * target,
                    scale=size,
                    kernel=name,
                    d=dim,
                    place=at,
                )


def _slopes(x, dim):
    """The derivatives of log p."""
    if dim == 1:
        return [-0.5 * np.sin(x[0]) + 0.3 * np.cos(x[0])]
    return [-0.5 * np.sin(x[0]), 0.3 * np.cos(x[1])]


def _derivatives(x, dim):
    """The gradient and the Laplacian of h."""
    if dim == 1:  # cos(x - x) is constant
        return np.stack([np.cos(x[0])]), -np.sin(x[0])
    wave = np.sin(x[1] - x[0])
    return np.stack([np.cos(x[0]) + 0.5 * wave, -0.5 * wave]), -np.sin(x[0]) - np.cos(x[1] - x[0])


HEIGHTS = tuple(0.05 * k for k in range(1, 15))  # of the contours; any one bounds
AROUND, APART = 512, 0.5  # nodes on a contour, and how far from it two others are that bound what these miss


@cache
def aliases(density, epsilon, counts):
    """What the coefficients at the multiples of N of the level leave of N tokens, and what they are bounded by.

    A mean over equally spaced levels t of g(t) is the sum of the Fourier coefficients of g at multiples of N. Those of
    K(x, y) (h(y) - P h(x)) p(y) and of K(x, y) p(y), y = F^-1(t), are integrals over y of these times e^(-2 pi i m N
    F(y)), entire functions, that may be taken as far below the real axis as one likes. With the offset of a half in the
    levels their signs alternate. Returns for every N the signed quotients at 256 nodes with their widths, and
    the bound.
    """
    grid = PeriodicGrid((256,))
    x, offset = grid.axes[0], density(0.0) / np.exp(density.cosines.sum())  # u(0) is the sum of the cosines
    here = convolve(grid, density(x), np.sin(x) + 0.5 * np.cos(2 * x), chordal_multiplier(epsilon))[:, np.newaxis]
    x, y = x[:, np.newaxis], 2.0 * np.pi * np.arange(AROUND) / AROUND
    up, (nodes, weights) = density.cumulative(y), np.polynomial.legendre.leggauss(24)

    def p(z):
        return offset * np.exp(0.8 * np.cos(z) + 0.3 * np.sin(2 * z))

    @cache
    def contour(height):
        z, down = y - 1j * height, 0.5 * height * (nodes + 1.0)
        level = up - 1j * (p(y[:, np.newaxis] - 1j * down) @ (0.5 * height * weights))
        kernel = np.exp((np.cos(x - z) - 1.0) / epsilon) * p(z) * (2.0 * np.pi / AROUND)
        parts = kernel * (np.sin(z) + 0.5 * np.cos(2 * z) - here), kernel
        return parts, tuple(map(np.abs, parts)), level

    def sizes(_, lengths, level, frequency, only=slice(None)):
        return [length @ np.exp(2.0 * np.pi * frequency * level.imag) for length in lengths[only]]

    mass = contour(0.0)[0][1].real.sum(axis=1)
    made = [contour(height) for height in HEIGHTS]
    found = {}
    for n in counts:
        parts, width, above, below = [0.0 * mass, mass], [0.0, 0.0], 0.0 * mass, 0.0 * mass
        for m in range(1, 9):
            frequency = m * n
            index = min(range(len(made)), key=lambda k: float(sizes(*made[k], frequency, slice(1))[0].max()))
            top, bottom = sizes(*made[index], frequency)
            rest = float(np.exp(2.0 * np.pi * n * made[index][2].imag).max())  # of every one, the next has at most that
            above, below = above + 2.0 * top, below + 2.0 * bottom
            if float((top / mass).max()) < 2.0**-70 or m == 8:
                above, below = above + 2.0 * top * rest / (1.0 - rest), below + 2.0 * bottom * rest / (1.0 - rest)
                width = [w + 2.0 * float(t.max()) / (1.0 - rest) for w, t in zip(width, (top, bottom), strict=True)]
                break
            wave = np.exp(-2j * np.pi * frequency * made[index][2])
            # exponents are sums of terms of this size, each within 128 roundings; a trapezoidal rule of n nodes misses
            # less than exp(-n a) times the integrals of the sizes a above and below
            slip = 128.0 * U * (2.0 * math.cosh(HEIGHTS[index]) / epsilon + 2.0 * np.pi * frequency)
            beside = [contour(HEIGHTS[index] + side) for side in (-APART, APART)]
            for k, size in enumerate((top, bottom)):
                parts[k] = parts[k] + 2.0 * (-1.0) ** m * (made[index][0][k] @ wave).real
                missed = sum(float(sizes(*part, frequency)[k].max()) for part in beside) * math.exp(-AROUND * APART)
                width[k] += 2.0 * (slip * float(size.max()) + 2.0 * missed)
        off = [Interval.within(0.0, w) for w in width]
        ratios = [(t + off[0]) / (b + off[1]) for t, b in zip(*(part.tolist() for part in parts), strict=True)]
        bound = float((above / (mass - below)).max()) if float((below / mass).max()) < 1.0 else math.inf
        found[n] = ratios, bound
    return found


@cache
def through_law(epsilon):
    """The operator of the whole law at 256 nodes, and its rounding."""
    grid = PeriodicGrid((256,))
    x = grid.axes[0]
    exact = convolve(grid, WAVY(x), np.sin(x) + 0.5 * np.cos(2 * x), chordal_multiplier(epsilon))
    return exact, 2.0 * grid.rounding(3.0 * WAVY(x)) / float(WAVY(x).min())


@cache
def through_tokens(n, offset, ends):
    """Attention of quantile tokens at 256 nodes, of many at every 16th, and its rounding."""
    levels = np.linspace(0.0, 1.0, n) if ends else (np.arange(n) + offset) / n
    keys, queries = WAVY.quantiles(levels)[:, np.newaxis], PeriodicGrid((256,)).nodes[:: 1 if n <= 400 else 16]
    values = np.sin(keys) + 0.5 * np.cos(2 * keys)
    found = propagate(queries, keys, values, 0.02, score=chordal(0.02))[:, 0]
    return found, rounding(queries, keys, values, score=chordal(0.02)) + 256 * U


@verifies(
    Claim(
        "limit.tokens",
        "a softmax over quantile tokens is the operator of the whole law up to aliases of its level, which fall faster than any power of their number",
        r"real attention of $N$ tokens $F^{-1}((j + \frac12)/N)$ less $P_\varepsilon h$ is $\sum_{m \ne 0}(-1)^ma_{mN}/\sum_m(-1)^mb_{mN}$, $a_k(x) = \int K(x, y)(h(y) - P_\varepsilon h(x))p(y)e^{-2\pi ikF(y)}dy$, $b_k$ the same without $h - P_\varepsilon h$; and for any $\sigma > 0$ $|a_k| \le \int|K(h - P_\varepsilon h)p|(y - i\sigma)e^{-2\pi|k|\int_0^\sigma\mathrm{Re}\,p(y - is)ds}dy$",
        assumptions=(
            "circle, chordal kernel, bandwidth 0.02", "p positive and entire, of the ladder",
            "N from 25 to 400, and 100000; the bound is decided at N = 50 and 100, beyond which it is below rounding",
        ),
        spec=("DL.B1",),
        cites=("ruan2024",),
        provenance=("derived",),
    ),
    constant("nine-tenths", "the bound is a tenth smaller", factor=Fraction(9, 10)),
    constant("once", "of a pair of aliases one counts", share=Fraction(1, 2)),
    bug("whole", "the tokens are the quantiles at j / N", offset=0.0),
    bug("ends", "the tokens are the quantiles at j / (N - 1)", ends=True),
    hypothesis("bandwidth", "the exact operator has one per cent more bandwidth", epsilon=0.0202),
)  # fmt: skip
def test_tokens(run, *, factor=1, share=1, offset=0.5, ends=False, epsilon=0.02):
    exact, off = through_law(epsilon)
    counts = run.pick(quick=(25, 50, 100, 200, 400, 10**5), paper=(25, 37, 50, 75, 100, 150, 200, 300, 400, 10**5))
    predicted = aliases(WAVY, 0.02, counts)
    for n in counts:
        found, width = through_tokens(n, offset, ends)
        every = len(exact) // len(found)
        errors = [Interval.within(v, width + off) for v in (found - exact[::every]).tolist()]
        ratios, bound = predicted[n]
        gaps = [abs(error - share * ratio) for error, ratio in zip(errors, ratios[::every], strict=True)]
        yield equals(Interval.largest(gaps), 0, scale=1, N=n, part="aliases")
        if 50 <= n <= 100:
            yield at_most(Interval.largest(map(abs, errors)), factor * bound, N=n, part="bound")


@verifies(
    Claim(
        "limit.sphere",
        "on the sphere the dot product with tied weights has a limit twice as fast as half the drift-diffusion",
        r"$-\langle x, y\rangle = -1 + \frac12|x - y|^2$ on $S^2$, so that for weights $e^{\langle x, y\rangle/2\varepsilon}$ $\frac{P_\varepsilon h - h}\varepsilon \to L_{\mathrm{round},p}h$; with $p \propto 1 + az$: $P_\varepsilon z = \frac{a/3 + \lambda_1z + a\lambda_2(z^2 - \frac13)}{1 + a\lambda_1z}$, $\lambda_1 = \coth b - \frac1b$, $\lambda_2 = 1 - \frac{3\lambda_1}b$, $b = \frac1{2\varepsilon}$, $L z = -2z + \frac{2a(1 - z^2)}{1 + az}$; error of order 1, after extrapolation 2",
        assumptions=("unit sphere of three dimensions, in the limit of many tokens", "Q = K orthogonal", "a = 0.6"),
        spec=("DL.B5",),
        cites=("ruan2024",),
        provenance=("seen", "derived", "refereed on paper"),
    ),
    constant("printed", "the score is -2 + |x - y|^2, as printed, and the limit half as fast", speed=Fraction(1, 2)),
    constant("drift", "the drift coefficient is one", drift=1),
    bug("temperature", "b is 1 / epsilon", twice=1),
)
def test_sphere(run, *, speed=1, drift=2, twice=2):
    a = Fraction(3, 5)
    heights = [Fraction(k, 4) for k in range(-4, 5)]
    levels = []
    for level in range(run.pick(quick=12, paper=16)):
        b = ball(Fraction(2**level * 10, twice))
        one = b.coth() - 1 / b
        two = 1 - 3 * one / b
        levels.append([hull((_sphere(z, a, one, two) - ball(z)) * 10 * 2**level) for z in heights])
    truth = [speed * (-2 * z + drift * a * (1 - z * z) / (1 + a * z)) for z in heights]
    middles = slice(1, -1)  # at the poles of z the error may vanish
    errors = largest_errors([level[middles] for level in levels], [Interval.exactly(t) for t in truth[middles]])
    yield equals(order(errors), 1, scale=1, extrapolations=0, part="order")
    once = extrapolate(levels)
    errors = largest_errors([level[middles] for level in once], [Interval.exactly(t) for t in truth[middles]])
    yield equals(order(errors), 2, scale=1, extrapolations=1, part="order")
    for at, z in enumerate(heights):
        yield equals(limit([level[at] for level in levels], order=1), truth[at], scale=2, z=float(z))
    for epsilon in (0.05, 0.5):
        yield from _engine(a, heights, epsilon, twice)


def _sphere(z, a, one, two):
    """P z in closed form, in balls."""
    z, a = ball(z), ball(a)
    return (a / 3 + one * z + a * two * (z * z - ball(Fraction(1, 3)))) / (1 + a * one * z)


def _engine(a, heights, epsilon, twice):
    """The same by attention over a product quadrature of the sphere, through the engine."""
    points, areas = sphere_tokens(64, 96)
    z = points[:, 2]
    masses = areas * (1.0 + float(a) * z)
    queries = np.array([[math.sqrt(1.0 - float(h) ** 2), 0.0, float(h)] for h in heights])
    score = SquaredDistance(0.25 / epsilon)  # -<x, y> / (2 eps) up to a constant
    found = propagate(queries, points, z, epsilon, score=score, weights=masses)
    width = rounding(queries, points, z[:, np.newaxis], score=score, weights=masses) + 2.0**10 * U / epsilon
    b = ball(Fraction(1, twice) / Fraction(epsilon))
    one = b.coth() - 1 / b
    for height, value in zip(heights, found.tolist(), strict=True):
        yield equals(
            Interval.within(value, width),
            hull(_sphere(height, a, one, 1 - 3 * one / b)),
            scale=1,
            epsilon=epsilon,
            z=float(height),
            part="engine",
        )
