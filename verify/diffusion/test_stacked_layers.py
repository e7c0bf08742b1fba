"""Many layers with the same weights: the semigroup of the drift-diffusion, with the rate, the clock and the drift."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import SquaredDistance, rounding
from theory.diffusion import CircleDensity, TokenLayer, apply_layers, chordal, propagate, studies
from theory.diffusion.layers import chain_spectrum, count_layers, line_tokens
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    gamma,
    hypothesis,
    limit,
    order,
    verifies,
)
from verify.diffusion.schroedinger import evolved_on_circle, evolved_on_sphere
from verify.textbook import exp, hull

RUAN = ("ruan2024", "coifman2006")
LOG_P = (0.8, 0.0), (0.0, 0.3)
DERIVED = ("derived", "refereed")


@cache
def truth(way, kappa, clock):
    """The semigroup at times, as intervals by time and place."""
    times, places = grid_of(way)
    at = tuple(clock * t for t in times)
    if way == "sphere":
        found, error = evolved_on_sphere(0.6, kappa, lambda z: z + z**2 / 2, at, np.array(places))
    else:
        found, error = evolved_on_circle(
            *LOG_P, kappa, lambda x: np.sin(x) + np.cos(2 * x) / 2, at, np.array(places)
        )  # fmt: skip
    return [[Interval.within(float(v), error) for v in row] for row in found]


@cache
def grid_of(way):
    """Times and places of the study."""
    if way == "sphere":
        return (0.125, 0.25, 0.5, 1.0), tuple(np.polynomial.legendre.leggauss(48)[0][::4].tolist())
    return (0.125, 0.25, 0.5, 1.0), tuple((2 * np.pi * np.arange(0, 512, 32) / 512).tolist())


def ladder_of(table, way, t):
    """The values at one time, coarse to fine."""
    part = table.where(way=way, t=t)
    epsilons = sorted(set(part["epsilon"].tolist()), reverse=True)
    return [part.where(epsilon=e).intervals("value") for e in epsilons]


def settled(errors):
    """The errors, coarse to fine, until rounding is more than a tenth; four at least, which carry theirs."""
    return errors[: max(4, sum(error.width <= 0.1 * error.lo for error in errors))]


def converges(table, way, kappa, clock, orders):
    """Orders, plain and extrapolated, on ladders that stop where rounding is seen; and the limit of the largest error."""
    times, _ = grid_of(way)
    target = truth(way, kappa, clock)
    for at, t in enumerate(times):
        levels = ladder_of(table, way, t)
        yield equals(
            limit(largest_errors(levels, target[at])[-4:], order=1), 0, scale=1, way=way, t=t, part="largest error"
        )
        for k in orders:
            errors = settled(largest_errors(levels, target[at]))
            yield equals(order(errors[-4:]), k, scale=1, way=way, t=t, extrapolations=k - 1, part="order")
            levels = extrapolate(levels, order=k)


@verifies(
    Claim(
        "layers.stack",
        "a stack of layers with the same weights runs the drift-diffusion: error of order one in the bandwidth at a fixed time",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL}h\| = O(\varepsilon)$, $L = \partial^2 + 2(\log p)'\partial$, order exactly 1, after extrapolation 2 and 3; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, $h = \sin x + \frac12\cos 2x$, heat and chordal kernels, $t = \frac18, \frac14, \frac12, 1$",
        assumptions=(
            "circle, in the limit of many tokens",
            "p positive and analytic",
            "weights computed once",
            "orders at the bandwidths at which rounding is not yet seen",
        ),
        spec=("DL.B8",),
        cites=RUAN,
        provenance=DERIVED,
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
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL}h\| = O(\varepsilon)$ on $S^2$ with squared distances in space, by the multipliers $i_l(1/\varepsilon)/i_0(1/\varepsilon)$; $p \propto 1 + 0.6z$, $h = z + \frac12z^2$; order 1, after extrapolation 2",
        assumptions=("unit sphere of three dimensions, in the limit of many tokens", "weights computed once"),
        spec=("DL.B8", "DL.B5"),
        cites=RUAN,
        provenance=DERIVED,
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


@verifies(
    Claim(
        "layers.carried",
        "through n layers that average and are off by e each, values of size one are off by n e, and eigenvalues of one layer by e",
        r"$\|\tilde P^nh - P^nh\|_\infty \le ne(1 + e)^n\|h\|_\infty$ for $|\tilde P_{ij} - P_{ij}| \le eP_{ij}$, and $|\tilde\mu_k - \mu_k| \le e$ for P reversible: what is reported of stacks and spectra; attained to first order by $\tilde P = (1 + e)P$",
        assumptions=("rows of P are weights", "symmetric scores for the eigenvalues"),
        spec=("DL.B8", "DL.B9"),
    ),
    constant("near", "one per cent less", share=Fraction(99, 100)),
    bug("once", "a stack is taken to be off by what one layer is", layers=lambda _count: 1),
    hypothesis("expanding", "a layer doubles what it averages", times=2.0),
    hypothesis("one-way", "the layer is not reversible: tokens look to the next one", ahead=4.0),
    hypothesis("farther", "layers are off by fifty times what is said", push=50.0),
)
def test_carried(run, *, share=1, layers=lambda count: count, times=1.0, push=1.0, ahead=0.0):
    tokens, count = CircleDensity(*LOG_P).tokens(24), 200
    exact = TokenLayer(tokens, 0.125, score=chordal(0.125)).rows
    exact /= exact.sum(axis=1, keepdims=True)
    slip = Interval.within(0.0, 4.0 * gamma(count * 32))  # of two stacks in float64, far below what is put in
    for part, signs, start in (
        ("attained", np.ones_like(exact), np.ones(24)),
        ("drawn", None, np.sign(np.sin(tokens[:, 0]))),
    ):
        for rng in run.streams(1 if signs is not None else run.pick(quick=4, paper=40)):
            turn = np.sign(rng.normal(size=exact.shape) + start) if signs is None else signs  # mostly that of values
            rough = Rough(exact, push * turn, times)
            (found,), (bound,) = apply_layers(rough, start, [count])
            right = np.linalg.matrix_power(times * exact, count) @ start
            off = Interval.exactly(float(np.abs(found - right).max())) + times**count * slip
            claimed = share * layers(count) * Interval.exactly(bound) / count
            yield at_most(off, claimed, scale=bound, part=f"stack, {part}")
    rows = np.array([[0.75, 0.25], [0.25, 0.75]]) * (1.0 + Rough.error)
    found, bound = chain_spectrum(rows, error=Rough.error)
    for value, right in zip(found.tolist(), (1.0, 0.5), strict=True):
        off = abs(Interval.exactly(value) - Interval.exactly(right))
        yield at_most(off, share * Interval.exactly(bound), scale=bound, part="eigenvalues, attained", right=right)
    for rng in run.draws(quick=4, paper=40):
        weights = rng.uniform(0.5, 1.5, size=(6, 6))
        weights = weights + weights.T + ahead * np.roll(np.eye(6), 1, axis=1)
        exact = weights / weights.sum(axis=1, keepdims=True)
        found, bound = chain_spectrum(exact * (1.0 + Rough.error * np.sign(rng.normal(size=(6, 6)))), error=Rough.error)
        apart = float(np.abs(found - np.sort(np.linalg.eigvals(exact).real)[::-1]).max())
        off = Interval.exactly(apart) + Interval.within(0.0, gamma(4096))
        yield at_most(off, share * Interval.exactly(bound), scale=bound, part="eigenvalues, drawn")


@verifies(
    Claim(
        "layers.tokens",
        "stacked softmax among quantile tokens is the stack of the whole law, to rounding",
        r"$N = 32/\sqrt\varepsilon$ tokens $F^{-1}((j + \frac12)/N)$, at least 128, that attend to each other through $2t/\varepsilon$ layers with the chordal kernel, against the exact $P_\varepsilon^{2t/\varepsilon}h$, $\varepsilon = \frac18, \dots, \frac1{64}$",
        assumptions=("circle", "p positive and analytic", "weights computed once"),
        spec=("DL.B8",),
        cites=("ruan2024",),
        provenance=("derived",),
    ),
    constant("one-less", "the stack of half the time", half=True),
    bug("ends", "tokens are the quantiles at j / (N - 1)", ends=True),
    hypothesis("heat", "the kernel of the law is the heat kernel", other="heat"),
)
def test_tokens(run, *, half=False, ends=False, other="chordal"):
    table = run.study(studies.stacking)
    times, places = grid_of("tokens")
    levels = sorted(set(table.where(way="tokens")["epsilon"].tolist()), reverse=True)
    for at, t in enumerate(times):
        for epsilon in levels:
            read = table.where(way="tokens", t=t, epsilon=epsilon).intervals("value")
            law = table.where(way=other, t=times[max(0, at - 1)] if half else t, epsilon=epsilon).intervals("value")
            if ends:
                read = between_ends(epsilon, count_layers(t, epsilon), places)
            for place, value, exact in zip(places, read, law, strict=True):
                yield equals(value, exact, scale=1, t=t, epsilon=epsilon, x=round(place, 3))


@cache
def between_ends(epsilon, layers, places):
    """The stack of tokens of which two lie at the ends of the turn."""
    density = CircleDensity(*LOG_P)
    tokens = density.quantiles(np.linspace(0.0, 1.0, 192))[:, np.newaxis]
    among = TokenLayer(tokens, epsilon, score=chordal(epsilon))
    asked = TokenLayer(tokens, epsilon, score=chordal(epsilon), queries=np.array(places)[:, np.newaxis])
    values = np.sin(tokens[:, 0]) + np.cos(2 * tokens[:, 0]) / 2
    found, errors = apply_layers(among, values, [layers - 1])
    return [Interval.within(float(v), errors[0] + 2 * asked.error) for v in asked(found[0])]


def hermite(k, x, variance):
    """Probabilists' Hermite polynomials of the normal law with this variance, in balls."""
    before, now = ball(0), ball(1)
    for j in range(k):
        before, now = now, x * now - j * variance * before
    return now


@verifies(
    Claim(
        "layers.autoregressive",
        "with Gaussian keys a layer is an autoregression: its spectrum, its stationary variance, and half the variance in the limit",
        r"$p = \mathcal N(m, s)$ on the line: $P_\varepsilon H_k = \rho^kH_k$ with $\rho = \frac s{s + \varepsilon}$ and $H_k$ the Hermite polynomials of $\mathcal N(m, v)$, $v = \frac{s(s + \varepsilon)}{2s + \varepsilon} \to \frac s2$, so that $v = \rho^2v + \frac{s\varepsilon}{s + \varepsilon}$; $\rho^{2kt/\varepsilon} \to e^{-2kt/s}$ to first order",
        assumptions=("keys Gaussian on the line, as equidistant tokens that weigh their density", "k to 6"),
        spec=("DL.B8",),
        cites=("ruan2024",),
        provenance=DERIVED,
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
    for s, e in ((Fraction(1), Fraction(1, 4)), (Fraction(2), Fraction(1, 2)), (Fraction(1, 4), Fraction(1, 2))):
        v, rho = variance(s, e), s / (s + share * e)
        narrow = float(s * e / (s + e)) ** 0.5  # the width of what a query sees; steps of 0.45 leave exp(-97)
        tokens, masses = line_tokens([float(m)], [float(s)], [1.0], 0.45 * narrow)
        queries = np.array([[-0.5], [0.5], [1.25]])
        score = SquaredDistance(0.5 / float(e))
        near = np.abs(tokens[:, 0] - float(m)) < 9 * float(s) ** 0.5  # beyond, polynomials grow and weights are nothing
        for k in range(7):
            values = np.array([float(hermite(k, ball(Fraction(y) - m), ball(v)).mid()) for y in tokens[near, 0]])
            found = propagate(queries, tokens[near], values, float(e), score=score, weights=masses[near])
            error = rounding(queries, tokens[near], values[:, np.newaxis], score=score, weights=masses[near])
            # densities are known to some hundred u; what is beyond nine deviations weighs below exp(-26) of the rest
            for query, value in zip(queries[:, 0].tolist(), found.tolist(), strict=True):
                claimed = ball(rho ** power(k)) * hermite(k, ball(Fraction(query) - m), ball(v))
                yield equals(
                    Interval.within(value, 2 * error),
                    hull(claimed),
                    scale=max(1.0, float(abs(hull(claimed)).hi)),
                    s=s,
                    epsilon=e,
                    k=k,
                    x=query,
                )
    for s in (Fraction(1), Fraction(1, 4)):
        halving = [variance(s, Fraction(1, 2**j)) for j in range(4, 12)]
        yield equals(limit(halving, order=1), s / 2, s=s, part="limit of the variance")
        for k in (1, 3):
            decays = [
                hull(ball((s / (s + share * Fraction(1, 2**j))) ** power(k)) ** (2**j)) for j in range(4, 14)
            ]  # t = 1/2
            yield equals(limit(decays, order=1), hull(exp(ball(-Fraction(k) / s))), s=s, k=k, part="limit of the decay")
