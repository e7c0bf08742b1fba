"""Bilinear scores on any tokens when hot, and distances between Gaussian tokens at every bandwidth."""

from fractions import Fraction
from functools import reduce

import numpy as np

from theory.attention import DotProduct, attend, gaussian, lattice
from theory.diffusion.similarity import hot_expansion
from theory.evidence import Claim, Interval, ball, balls, bug, constant, equals, exact, hypothesis, order, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import average_error, covariance_error
from theory.particles.mean_field import DistanceAttention
from verify.inputs import square_corners
from verify.textbook import exp, inverse

RUAN = ("ruan2024",)
EYE = balls(np.eye(2))


FORM = np.array([[0.75, -0.5, 0.25], [0.5, 1.0, -0.375], [-0.25, 0.625, 0.5]])


def cloud(rng, n=10):
    """Keys, values and a pull, off centre."""
    return rng.normal(size=(n, 3)) + 0.6, rng.normal(size=(n, 2)) + 0.8, rng.normal(size=3)


def witness():
    """A cloud without randomness, with scores off centre."""
    k = np.arange(10.0)[:, np.newaxis]
    return np.sin(k * [1.0, 2.0, 3.0] + [0.3, 0.9, 2.0]) + 0.6, np.cos(k * [0.7, 1.9]) + 0.8, np.array([0.8, -0.5, 0.6])


def moments(keys, values, pull, *, centred=True):
    """Exact coefficients in beta by central moments, up to the third, for the first value."""
    n = len(keys)
    s = [sum((Fraction(a) * Fraction(b) for a, b in zip(key, pull, strict=True)), Fraction(0)) for key in keys.tolist()]
    v = [Fraction(x) for x in values[:, 0].tolist()]
    mean, centre = sum(v) / n, sum(s) / n
    s, w = [x - centre for x in s], [x - mean for x in v]
    squares = s if centred else [x + centre for x in s]

    def mixed(power):
        return sum(x**power * y for x, y in zip(s, w, strict=True)) / n

    second = sum(x**2 * y for x, y in zip(squares, w, strict=True)) / (2 * n)
    spread = sum(x**2 for x in s) / n
    return mean, mixed(1), second, (mixed(3) - 3 * spread * mixed(1)) / 6


@verifies(
    Claim(
        "score.high-temperature",
        "hot attention is the mean, then the covariance of values with scores, then a third central moment",
        r"weights $e^{\beta\langle u, y\rangle}$: $\bar v + \beta\,\mathrm{Cov}(v, \langle u, y\rangle) + \frac{\beta^2}2\mathbb{E}[\langle u, y - \bar y\rangle^2(v - \bar v)] + \frac{\beta^3}6\kappa(s, s, s, v) + O(\beta^4)$, $u = A^\top x$, coefficient by coefficient",
        remark="of real softmax the remainders have orders 2 and 3",
        assumptions=("finitely many tokens; ten are decided, of three sizes",),
        spec=("DL.D7",),
        cites=RUAN,
        source_status=("derived", "refereed"),
    ),
    bug("uncentred", "the second moment is not centred", centred=False),
    constant("whole", "the second coefficient lacks its factor one half", half=2),
    hypothesis("transposed", "A is taken to be symmetric: u = A x", mirrored=True),
)
def test_high_temperature(run, *, centred=True, half=1, mirrored=False):
    clouds = [(*witness(), FORM)]
    clouds += [(*cloud(rng), rng.integers(-8, 9, size=(3, 3)) / 8.0) for rng in run.draws(quick=2, paper=30)]
    sizes = [(1.0, 1.0)] * len(clouds) + [(2.0**30, 2.0**-30), (2.0**-30, 2.0**30)]  # of keys and of values
    keys, values, place, _ = clouds[0]
    clouds += [(length * keys, size * values, place, FORM) for length, size in sizes[-2:]]
    for number, ((keys, values, place, form), (length, size)) in enumerate(zip(clouds, sizes, strict=True)):
        x = np.round(64 * place) / 64  # so that the pull is a float
        pull = x @ form
        mean, *rest = moments(keys, values, form @ x if mirrored else pull, centred=centred)
        claimed = [mean, rest[0], half * rest[1], rest[2]]
        scores = variable(4) * (balls(keys) @ balls(pull))
        weights = exp(scores)
        series = (weights * balls(values[:, 0])).sum() / weights.sum()
        for k, value in enumerate(claimed):
            yield equals(coefficient(series, k), value, scale=size * length**k, case=number, power=k)
        for k, value in enumerate(hot_expansion(exact(keys), values, pull)[:, 0]):
            yield equals(value, claimed[k], scale=size * length**k, case=number, power=k, part="instrument")
        if number == 0:
            yield from softmax(keys, values, x, form, claimed)


def softmax(keys, values, x, form, claimed):
    """The orders of what is left of real attention after one and two terms."""
    betas = [2.0**-k for k in range(4, 11)]
    outputs = [attend(exact(x[np.newaxis]), keys, values, score=DotProduct(beta, form))[0, 0] for beta in betas]
    once = [found - claimed[0] - Fraction(beta) * claimed[1] for found, beta in zip(outputs, betas, strict=True)]
    yield equals(order(once), 2, scale=1, part="softmax", terms=1)
    twice = [found - Fraction(beta) ** 2 * claimed[2] for found, beta in zip(once, betas, strict=True)]
    yield equals(order(twice), 3, scale=1, part="softmax", terms=2)


NAMED = np.array([0.4, -0.3]), np.array([[0.9, 0.2], [-0.1, 0.7]])


def ring(rng, d):
    """A mean, and a root of a covariance with singular values between 0.4 and 1."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    root = left * rng.uniform(0.4, 1.0, size=d) @ right
    rng.normal(size=(2, d, d))
    return rng.normal(size=d) / 2, root


def image(mu, moved, centre, covariance, size, **case):
    """Mean and covariance of the output at every token, against what is claimed for them."""
    far = float(np.abs(moved.mid).max())
    mean = mu.weights @ moved
    rounding = average_error(far, mu.size, relative=lattice.ERROR)  # of the lattice
    yield equals(mean + Interval(-rounding, rounding), centre, scale=size, part="mean", **case)
    rounding = covariance_error(far, mu.size, relative=lattice.ERROR)
    found = (moved - mean).T @ (mu.weights[:, np.newaxis] * (moved - mean))
    yield equals(found + Interval(-rounding, rounding), covariance, scale=size, part="covariance", **case)


@verifies(
    Claim(
        "score.gaussian-keys",
        "on Gaussian keys a layer of distances keeps the mean and shrinks the covariance in closed form, at every bandwidth",
        r"$y \sim N(m, \Sigma)$, score $-|W(x - y)|^2/2\varepsilon$: the outputs at the keys have mean $m$ and covariance $S\Sigma S^\top$, $S = (\Sigma^{-1} + G)^{-1}G$, $G = W^\top W/\varepsilon$",
        remark=r"for $W = I$ that is $\Sigma^3(\Sigma + \varepsilon I)^{-2}$",
        assumptions=("infinitely many Gaussian keys, which a lattice stands for", r"$\varepsilon = \frac12$"),
        spec=("DL.D8",),
        cites=("ruan2024", "castin2025"),
        source_status=("derived", "refereed"),
    ),
    constant("squared", "the next covariance is the square of Sigma over Sigma plus epsilon", power=2),
    bug("inverse", "G is the inverse metric, (W'W)^-1 / epsilon", inverted=True),
    bug("centred", "the keys are taken to be centred: the next mean is zero", mean=0),
    hypothesis("corners", "every coordinate is plus or minus one, with the same covariance", law=square_corners),
)
def test_gaussian_keys(run, *, power=3, inverted=False, mean=1, law=gaussian):
    cases = [NAMED, *(ring(rng, 2) for rng in run.draws(quick=1, paper=12))]
    for number, (centre, root) in enumerate(cases):
        mu = law(centre, root)
        m = balls(centre) * ball(mean)
        sigma = balls(root) @ balls(root).T
        for name, metric in (("distance", np.eye(2)), ("mapped distance", WEIGHT)):
            kernel = DistanceAttention(mu, metric, metric, np.eye(2))  # epsilon is one half, so that G = 2 W'W
            moved = kernel.enclosed(mu.points, centre, root)
            square = balls(metric).T @ balls(metric)
            gram = 2 * (inverse(square) if inverted else square)
            slope = inverse(EYE + sigma @ gram) @ sigma @ gram
            spread = slope @ sigma @ slope.T
            if name == "distance":
                short = inverse(sigma + EYE / 2)
                spread = sigma @ reduce(np.matmul, [sigma @ short] * (power - 1))
            yield from image(mu, moved, m, spread, 1, score=name, case=number)


WEIGHT = np.array([[1.1, 0.4], [-0.2, 0.6]])
