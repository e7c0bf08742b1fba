"""Many layers with the same weights: the semigroup of the drift-diffusion, with the rate, the clock and the drift.

The drift-diffusion is solved in balls, from its matrix in Fourier or Legendre modes: they fall faster than
geometrically, and those that are left out are far below rounding.
"""

from fractions import Fraction
from functools import cache

import numpy as np
from flint import acb, acb_mat
from numpy.polynomial import legendre

from theory.attention import SquaredDistance
from theory.diffusion import CircleDensity, TokenLayer, apply_layers, chordal, propagate, studies
from theory.diffusion.layers import chain_spectrum, count_layers
from theory.diffusion.limits import extrapolate, largest_errors, read_levels
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from verify.textbook import balls

RUAN = ("ruan2024", "coifman2006")
LOG_P = (0.8, 0.0), (0.0, 0.3)  # cosines and sines
WAVES = {1: acb(ball("0.4")), -1: acb(ball("0.4")), 2: acb(0, ball("-0.15")), -2: acb(0, ball("0.15"))}  # of log p
DERIVED = ("derived", "refereed")
TIMES = (0.125, 0.25, 0.5, 1.0)
MODES = 20
DEGREES = 48


@cache
def flow(way, kappa, clock):
    """The solutions at the times of the study, at its places, in balls: L has the drift 2 kappa."""
    start, eighth, waves = on_sphere(kappa) if way == "sphere" else on_circle(kappa)
    step = eighth**clock
    found = []
    for _ in TIMES:
        found.append(np.array([value.real for value in (waves * (step * start)).entries()]))
        step = step * step
    return found


@cache
def on_circle(kappa):
    """Return sin x + cos(2x) / 2 in Fourier modes, the matrix of exp(L / 8), and that of values at the places."""
    modes = range(-MODES, MODES + 1)
    start, generator = acb_mat(len(modes), 1), acb_mat(len(modes), len(modes))
    for k, value in {1: acb(0, -0.5), -1: acb(0, 0.5), 2: acb(0.25), -2: acb(0.25)}.items():
        start[k + MODES, 0] = value
    for at, k in enumerate(modes):
        generator[at, at] = -k * k
        for wave, size in WAVES.items():
            if 0 <= at + wave < len(modes):
                generator[at + wave, at] += -2 * ball(kappa) * size * (wave * k)
    waves = [[acb((k * ball(x)).cos(), (k * ball(x)).sin()) for k in modes] for x in places_of("circle")]
    return start, (generator / 8).exp(), acb_mat(waves)


@cache
def on_sphere(kappa):
    """Return z + z^2 / 2 in Legendre polynomials, exp(L / 8) for p = 1 + 0.6 z, and the matrix of values at the places."""
    slope = ball(0.6)
    start = acb_mat(DEGREES, 1)
    density = acb_mat(DEGREES, DEGREES)
    scaled = acb_mat(DEGREES, DEGREES)
    for degree, share in enumerate((Fraction(1, 6), Fraction(1), Fraction(1, 3))):
        start[degree, 0] = ball(share)
    for n in range(DEGREES):
        rate = -n * (n + 1)
        up = ball(Fraction(n + 1, 2 * n + 1)) * slope
        down = ball(Fraction(n, 2 * n + 1)) * slope
        pull = 2 * ball(kappa) * slope * ball(Fraction(n * (n + 1), 2 * n + 1))
        density[n, n], scaled[n, n] = 1, rate
        if n + 1 < DEGREES:
            density[n + 1, n], scaled[n + 1, n] = up, rate * up - pull
        if n > 0:
            density[n - 1, n], scaled[n - 1, n] = down, rate * down + pull
    waves = [[ball(z).legendre_p(n) for n in range(DEGREES)] for z in places_of("sphere")]
    return start, (density.solve(scaled) / 8).exp(), acb_mat(waves)


def places_of(way):
    """Places of the study."""
    if way == "sphere":
        return legendre.leggauss(48)[0][::4].tolist()
    return (2 * np.pi * np.arange(0, 512, 32) / 512).tolist()


def settled(errors):
    """The errors, coarse to fine, until rounding is more than a tenth; four at least, which carry theirs."""
    return list(errors)[: max(4, sum(error.width <= 0.1 * error.lo for error in errors))]


def converges(table, way, kappa, clock, orders):
    """Orders, plain and extrapolated, at bandwidths before rounding is seen; and the limit of the largest error."""
    for t, target in zip(TIMES, flow(way, kappa, clock), strict=True):
        _, levels = read_levels(table.where(way=way, t=t), "value")
        errors = largest_errors(levels, target)
        yield equals(limit(errors[-4:], order=1), 0, scale=1, way=way, t=t, part="largest error")
        for k in orders:
            errors = settled(largest_errors(levels, target))
            yield equals(order(errors[-4:]), k, scale=1, way=way, t=t, extrapolations=k - 1, part="order")
            levels = extrapolate(levels, order=k)


@verifies(
    Claim(
        "layers.stack",
        "a stack of layers with the same weights runs the drift-diffusion: error of order one in the bandwidth at a fixed time",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL}h\| = O(\varepsilon)$, $L = \partial^2 + 2(\log p)'\partial$, order exactly 1, after extrapolation 2 and 3",
        remark=r"$p \propto e^{0.8\cos x + 0.3\sin 2x}$, $h = \sin x + \frac12\cos 2x$, heat and chordal kernels, $t = \frac18, \frac14, \frac12, 1$",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "weights computed once",
            "orders at the bandwidths at which rounding is not yet seen",
        ),
        spec=("DL.B8",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("drift", "the drift coefficient is one", kappa=0.5),
    constant("clock", "a layer takes the time epsilon", clock=2),
    hypothesis("uniform", "the density is taken to be constant in the limit", kappa=0.0),
)
def test_stack(run, *, kappa=1.0, clock=1):
    table = run.study(studies.stacking)
    for way in ("heat", "chordal"):
        yield from converges(table, way, kappa, clock, (1, 2, 3))


@verifies(
    Claim(
        "layers.sphere",
        "on the sphere, too, a stack of layers runs the drift-diffusion to first order",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL}h\| = O(\varepsilon)$ on $S^2$ with squared distances in space, by the multipliers $i_l(1/\varepsilon)/i_0(1/\varepsilon)$",
        remark=r"$p \propto 1 + 0.6z$, $h = z + \frac12z^2$; order 1, after extrapolation 2",
        assumptions=("unit sphere of three dimensions, in the limit of many tokens", "weights computed once"),
        spec=("DL.B8", "DL.B5"),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("drift", "the drift coefficient is one", kappa=0.5),
    constant("clock", "a layer takes the time epsilon", clock=2),
    hypothesis("uniform", "the density is taken to be constant in the limit", kappa=0.0),
)
def test_sphere(run, *, kappa=1.0, clock=1):
    table = run.study(studies.stacking)
    yield from converges(table, "sphere", kappa, clock, (1, 2))


class Rough:
    """A layer of given rows of which every average is off by its bound in a direction."""

    error = 2.0**-20

    def __init__(self, rows, signs, times=1.0):
        self.rows = times * rows * (1.0 + self.error * signs)

    def __call__(self, values):
        """Average."""
        return self.rows @ values


def rough_stacks(run, rows, push):
    """Where every weight is too large, and where they are off at random, mostly in the direction of the values."""
    ones = np.ones(len(rows))
    yield "stack, attained", push * np.ones_like(rows), ones
    start = np.sign(np.sin(CircleDensity(*LOG_P).tokens(len(rows))[:, 0]))
    for rng in run.draws(quick=4, paper=40):
        yield "stack, drawn", push * np.sign(rng.normal(size=rows.shape) + start), start


def rough_chains(run, ahead):
    """Weights that are off, enclosed, and eigenvalues by number of what they should be."""
    off = Rough.error
    around = 1 / Interval(1.0 - off, 1.0 + off, Kind.CERTIFIED)
    rows = np.array([[0.75, 0.25], [0.25, 0.75]]) * (1.0 + off)
    for index, value in enumerate((1, Fraction(1, 2))):
        yield "eigenvalues, attained", exact(rows) * around, {index: value}
    for rng in run.draws(quick=4, paper=40):
        weights = rng.uniform(0.5, 1.5, size=(6, 6))
        weights = weights + weights.T + ahead * np.roll(np.eye(6), 1, axis=1)
        rows = weights / weights.sum(axis=1, keepdims=True)
        values = acb_mat(rows.tolist()).eig()
        falling = sorted((value.real for value in values), key=lambda value: -float(value.mid()))
        rough = rows * (1.0 + off * np.sign(rng.normal(size=(6, 6))))
        yield "eigenvalues, drawn", exact(rough, Kind.NUMERIC) * around, dict(enumerate(falling))


@verifies(
    Claim(
        "layers.carried",
        "through n layers that average and are off by e each, values of size one are off by n e, and eigenvalues of one layer by e",
        r"$\|\tilde P^nh - P^nh\|_\infty \le ne(1 + e)^n\|h\|_\infty$ for $|\tilde P_{ij} - P_{ij}| \le eP_{ij}$, and $|\tilde\mu_k - \mu_k| \le e$ in order for P reversible, $\tilde\mu$ of the symmetric matrix $(\tilde P_{ij}\tilde P_{ji})^{1/2}$",
        remark=r"what is reported of stacks and spectra; attained to first order by $\tilde P = (1 + e)P$",
        assumptions=("rows of P are weights", "symmetric scores and e < 1 for the eigenvalues"),
        spec=("DL.B8", "DL.B9"),
    ),
    constant("near", "one per cent less", share=Fraction(99, 100)),
    bug("once", "a stack is taken to be off by what one layer is", layers=lambda _count: 1),
    hypothesis("expanding", "a layer doubles what it averages", times=2.0),
    hypothesis("one-way", "the layer is not reversible: tokens look to the next one", ahead=4.0),
    hypothesis("farther", "layers are off by fifty times what is said", push=50.0),
)
def test_carried(run, *, share=1, layers=lambda count: count, times=1.0, push=1.0, ahead=0.0):
    tokens = CircleDensity(*LOG_P).tokens(24)
    count = 200
    rows = TokenLayer(tokens, 0.125, score=chordal(0.125)).rows
    rows = rows / rows.sum(axis=1, keepdims=True)
    power = np.array((acb_mat((times * rows).tolist()) ** count).tolist())
    for part, signs, start in rough_stacks(run, rows, push):
        (found,) = apply_layers(Rough(rows, signs, times), exact(start), [count])
        bound = float(found.radius.max())
        right = np.array([value.real for value in power @ balls(start)])
        off = abs(exact(found.mid, Kind.NUMERIC) - right).max()
        yield at_most(off, share * layers(count) * exact(bound) / count, scale=bound, part=part)
    for part, chain, right in rough_chains(run, ahead):
        found = chain_spectrum(chain)
        bound = float(found.radius.max())
        values = exact(found.mid, chain.kind)
        off = Interval.largest(abs(values[k] - value) for k, value in right.items())
        yield at_most(off, share * exact(bound), scale=bound, part=part)


@verifies(
    Claim(
        "layers.tokens",
        "stacked softmax among quantile tokens is the stack of the whole law, to rounding",
        r"$N = 32/\sqrt\varepsilon$ tokens $F^{-1}((j + \frac12)/N)$, at least 128, that attend to each other through $2t/\varepsilon$ layers with the chordal kernel, against the exact $P_\varepsilon^{2t/\varepsilon}h$, $\varepsilon = \frac18, \dots, \frac1{64}$",
        assumptions=("circle", "p positive and analytic", "weights computed once"),
        spec=("DL.B8",),
        cites=("ruan2024",),
        source_status=("derived",),
    ),
    constant("one-less", "the stack of half the time", half=True),
    bug("ends", "tokens are the quantiles at j / (N - 1)", ends=True),
    hypothesis("heat", "the kernel of the law is the heat kernel", other="heat"),
)
def test_tokens(run, *, half=False, ends=False, other="chordal"):
    table = run.study(studies.stacking)
    places = places_of("circle")
    for before, t in zip((TIMES[0], *TIMES), TIMES, strict=False):
        for epsilon in reversed(table.where(way="tokens").levels("epsilon")):
            law = table.where(way=other, t=before if half else t, epsilon=epsilon)["value"]
            read = table.where(way="tokens", t=t, epsilon=epsilon)["value"]
            if ends:
                read = between_ends(epsilon, count_layers(t, epsilon))
            for place, value, claimed in zip(places, read, law, strict=True):
                yield equals(value, claimed, scale=1, t=t, epsilon=epsilon, x=round(place, 3))


@cache
def between_ends(epsilon, layers):
    """The stack of tokens of which two lie at the ends of the turn, at the places."""
    tokens = CircleDensity(*LOG_P).quantiles(np.linspace(0.0, 1.0, 192))[:, np.newaxis]
    places = np.array(places_of("circle"))[:, np.newaxis]
    among = TokenLayer(tokens, epsilon, score=chordal(epsilon))
    asked = TokenLayer(tokens, epsilon, score=chordal(epsilon), queries=places)
    angles = exact(tokens[:, 0])
    (found,) = apply_layers(among, np.sin(angles) + np.cos(2 * angles) / 2, [layers - 1])
    return asked(found)


def hermite(k, x, variance):
    """Probabilists' Hermite polynomials of the normal law with this variance, in balls."""
    before, now = ball(0), ball(1)
    for j in range(k):
        before, now = now, x * now - j * variance * before
    return now


def gaussian_keys(mean, variance, epsilon):
    """Equidistant tokens on the line, up to nine deviations, and their masses."""
    step = 0.45 * float(variance * epsilon / (variance + epsilon)) ** 0.5  # of what a query sees; it leaves exp(-97)
    reach = int(9 * float(variance) ** 0.5 / step)  # beyond, polynomials grow and weights are nothing
    tokens = float(mean) + step * np.arange(-reach, reach + 1)
    return tokens, np.exp(-((exact(tokens) - float(mean)) ** 2) / (2 * float(variance)))


@verifies(
    Claim(
        "layers.autoregressive",
        "with Gaussian keys a layer is an autoregression: its spectrum, its stationary variance, and half the variance in the limit",
        r"$p = \mathcal N(m, s)$ on the line: $P_\varepsilon H_k = \rho^kH_k$ with $\rho = \frac s{s + \varepsilon}$ and $H_k$ the Hermite polynomials of $\mathcal N(m, v)$, $v = \frac{s(s + \varepsilon)}{2s + \varepsilon} \to \frac s2$",
        remark=r"so that $v = \rho^2v + \frac{s\varepsilon}{s + \varepsilon}$; $\rho^{2kt/\varepsilon} \to e^{-2kt/s}$ to first order",
        assumptions=("keys Gaussian on the line, as equidistant tokens that weigh their density", "k to 6"),
        spec=("DL.B8",),
        cites=("ruan2024",),
        source_status=DERIVED,
    ),
    constant("half", "the stationary variance is s / 2 at every bandwidth", variance=lambda s, _: s / 2),
    constant("keys", "the stationary law is that of the keys", variance=lambda s, _: s),
    constant("ratio", "rho is s / (s + 2 epsilon)", share=2),
    bug("power", "every polynomial is multiplied by rho", power=lambda k: min(k, 1)),
)
def test_autoregressive(
    run, *, variance=lambda s, e: s * (s + e) / (2 * s + e), share=1, power=lambda k: k
):  # fmt: skip
    m = Fraction(1, 2)
    queries = (-0.5, 0.5, 1.25)
    for s, e in ((Fraction(1), Fraction(1, 4)), (Fraction(2), Fraction(1, 2)), (Fraction(1, 4), Fraction(1, 2))):
        v = ball(variance(s, e))
        rho = s / (s + share * e)
        tokens, masses = gaussian_keys(m, s, e)
        keys = tokens[:, np.newaxis]
        asked = exact(queries)[:, np.newaxis]
        for k in range(7):
            values = exact([float(hermite(k, ball(y) - ball(m), v).mid()) for y in tokens])
            found = propagate(asked, keys, values, float(e), score=SquaredDistance(0.5 / float(e)), weights=masses)
            for x, value in zip(queries, found, strict=True):
                claimed = ball(rho ** power(k)) * hermite(k, ball(x) - ball(m), v)
                size = max(1.0, abs(hull(claimed)).hi)
                yield equals(value, claimed, scale=size, s=s, epsilon=e, k=k, x=x)
    for s in (Fraction(1), Fraction(1, 4)):
        halving = [variance(s, Fraction(1, 2**j)) for j in range(4, 12)]
        yield equals(limit(halving, order=1), s / 2, s=s, part="limit of the variance")
        for k in (1, 3):
            factors = [ball((s / (s + share * Fraction(1, 2**j))) ** power(k)) ** (2**j) for j in range(4, 14)]
            decay = np.exp(-ball(Fraction(k) / s))  # at t = 1/2
            yield equals(limit(factors, order=1), decay, s=s, k=k, part="limit of the decay")
