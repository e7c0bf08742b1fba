"""Attention on Gaussian measures in closed form: affine fields, and what they do to the spread."""

import numpy as np
import sympy

from theory.attention import AttentionKernel, DotProduct, SquaredDistance, gaussian, lattice, rounding, studies
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    discrepancy,
    equals,
    hypothesis,
    limit,
    slope,
    sup_over,
    verifies,
    zero,
)
from theory.evidence.roundoff import gamma

CAP = ("castin2024",)
REFEREED = ("derived", "refereed")
QUERIES = np.array([[0.4, -0.9], [-1.1, 0.2], [0.0, 0.0]])


def random_gaussian(rng):
    """A mean and a root of a covariance, small enough for the lattice's error bound."""
    return rng.normal(size=2) / 2, rng.normal(size=(2, 2)) / 3 + 0.4 * np.eye(2)


def field_error(mu, values, score):
    """How far a field computed on the lattice may lie from that of the Gaussian: rounding and lattice error."""
    return (
        rounding(QUERIES, mu.points, values, score=score, key_weights=mu.weights) + lattice.ERROR * np.abs(values).max()
    )


@verifies(
    Claim(
        "transport.gaussian-dot",
        "dot-product attention on a Gaussian is affine, and the image is Gaussian with the stated covariance",
        r"$\Gamma_\mu(x) = V(m + \Sigma B^\top x)$ and $T(\mu) = N(V(m + \Sigma B^\top m), V\Sigma B^\top\Sigma B\Sigma V^\top)$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"$a(x, y) = x^\top B y$"),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    bug("transposed", "B stands where its transpose belongs", transposed=True),
    bug("squared-once", "the covariance of the image has one factor Sigma too few", factors=0),
)
def test_gaussian_dot(run, *, transposed=False, factors=1):
    for rng in run.streams(run.pick(quick=4, paper=40)):
        mean, root = random_gaussian(rng)
        form, value = rng.normal(size=(2, 2)) / 4, rng.normal(size=(2, 2))
        mu, sigma, score = gaussian(mean, root), root @ root.T, DotProduct(form=form)
        kernel = AttentionKernel(score, mu, value)
        tilt = sigma @ (form if transposed else form.T)
        size = 2.0 * float(np.abs(value).sum())
        error = field_error(mu, mu.linear_image(value).points, score) + gamma(64) * size
        claimed = (mean + QUERIES @ tilt.T) @ value.T
        yield equals(discrepancy(kernel.output(QUERIES), claimed, error), 0, scale=size, part="field")
        image = kernel.push(mu)
        yield equals(discrepancy(image.mean(), value @ (mean + tilt @ mean), 4 * error), 0, scale=size, part="mean")
        covariance = value @ tilt @ (sigma if factors else np.eye(2)) @ tilt.T @ value.T
        spread = 8 * error * float(np.abs(image.points).max() + 1.0)
        yield equals(discrepancy(image.covariance(), covariance, spread), 0, scale=size**2, part="covariance")


@verifies(
    Claim(
        "transport.gaussian-distance",
        "distance attention on a Gaussian is the posterior mean",
        r"$\Gamma_\mu(x) = (\Sigma^{-1} + 2\beta I)^{-1}(\Sigma^{-1}m + 2\beta x)$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"$a(x, y) = -\beta|x - y|^2$"),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    constant("half", "beta where twice beta belongs", factor=1.0),
    bug("no-prior", "the mean is not weighted by the precision", weighted=False),
)
def test_gaussian_distance(run, *, factor=2.0, weighted=True):
    for rng in run.streams(run.pick(quick=4, paper=40)):
        mean, root = random_gaussian(rng)
        beta = float(rng.uniform(0.2, 0.6))
        mu, precision, score = gaussian(mean, root), np.linalg.inv(root @ root.T), SquaredDistance(beta)
        prior = precision @ mean if weighted else mean
        claimed = np.linalg.solve(precision + factor * beta * np.eye(2), (prior + factor * beta * QUERIES).T).T
        size = 1.0 + float(np.abs(claimed).max())
        error = field_error(mu, mu.points, score) + gamma(64) * size * np.linalg.cond(precision)
        yield equals(discrepancy(AttentionKernel(score, mu).output(QUERIES), claimed, error), 0, scale=size, beta=beta)


def spread_after(score, s):
    """The standard deviation of the image of the centred Gaussian on the line with standard deviation ``s``.

    The field comes from a lattice as wide as float64 masses allow, so that tilts up to 26 are exact; queries farther
    out than 7.5 deviations carry mass 7e-14 and fields below 45 s, which moves a variance by less than 3e-10 s^2.
    """
    wide, mu = gaussian([0.0], [[s]], reach=37.0), gaussian([0.0], [[s]])
    image = AttentionKernel(score, wide).push(mu)
    error = rounding(mu.points, wide.points, wide.points, score=score, key_weights=wide.weights) + 3e-10 * s
    return Interval.within(float(np.sqrt(image.variance())), 4 * error)


@verifies(
    Claim(
        "transport.distance-slope",
        "distance attention expands the spread of a Gaussian by at most 9/8, attained at 2 beta s^2 = 3",
        r"$s \mapsto 2\beta s^3/(1 + 2\beta s^2)$ has Lipschitz constant exactly $9/8$",
        assumptions=("centred Gaussians on the line",),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    constant("non-expansive", "the constant is 1", value="1"),
    hypothesis("elsewhere", "the steepest point is 2 beta s^2 = 2", where=2.0),
)
def test_distance_slope(run, *, value="9/8", where=3.0):
    claimed = float(sympy.Rational(value))
    beta = 0.5
    s = float(np.sqrt(where / (2 * beta)))
    steps = [0.2 * 2.0**-k for k in range(5)]
    ratios = [
        (spread_after(SquaredDistance(beta), s + h) - spread_after(SquaredDistance(beta), s - h)) / (2 * h)
        for h in steps
    ]
    yield equals(limit(ratios, order=2), claimed, part="slope")
    for h, ratio in zip(steps, ratios, strict=True):
        yield at_most(ratio, claimed, part="secant", h=h)


@verifies(
    Claim(
        "transport.distance-lipschitz",
        "9/8 bounds the slope of the spread map everywhere, and the slope is the derivative",
        r"$\frac{d}{ds}\frac{2\beta s^3}{1 + 2\beta s^2} = \frac{u(3 + u)}{(1 + u)^2} \le \frac98$ with $u = 2\beta s^2 \in [0, 1000]$",
        assumptions=("centred Gaussians on the line",),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    constant("non-expansive", "the slope is at most 1", bound="1"),
    bug("derivative", "the derivative lacks the factor of the cube", cube=1),
)
def test_distance_lipschitz(run, *, bound="9/8", cube=3):
    u, s, beta = sympy.symbols("u s beta", positive=True)
    derivative = sympy.diff(2 * beta * s**3 / (1 + 2 * beta * s**2), s)
    claimed = (u * (cube + u) / (1 + u) ** 2).subs(u, 2 * beta * s**2)
    yield equals(zero(derivative - claimed, {s: 2, beta: sympy.Rational(1, 3)}), 0, scale=1, part="derivative")
    yield at_most(sup_over("1 + (u - 1)/(1 + u)**2", u=(0, 1000)), float(sympy.Rational(bound)), part="supremum")


@verifies(
    Claim(
        "transport.dot-unbounded",
        "dot-product attention has no W2-Lipschitz constant on Gaussians",
        r"$s \mapsto bs^3$: the ratio of spreads after and before exceeds every $M$",
        assumptions=("centred Gaussians on the line",),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    hypothesis("distance", "the score is the distance, of which the ratio stays below 9/8", score=SquaredDistance),
    constant("quintic", "the spread grows like its fifth power", power=5),
)
def test_dot_unbounded(run, *, score=DotProduct, power=3):
    h = 0.01
    for bound in (1.0, 3.0, 10.0):
        s = float(np.sqrt(1.1 * bound / 3.0))  # the slope 3 b s^2 is ten per cent above the bound, with b = 1
        after = spread_after(score(1.0), s)
        yield at_least((spread_after(score(1.0), s + h) - after) / h, bound, bound=bound)
        yield equals(after, s**power, bound=bound)


@verifies(
    Claim(
        "transport.sampling",
        "iid tokens approach the Gaussian field at the Monte Carlo rate",
        r"$\big(\mathbb{E}|\Gamma_{m_N}(x) - \Gamma_\mu(x)|^2\big)^{1/2} \sim N^{-1/2}$ with $\Gamma_\mu(x) = \Sigma B^\top x$",
        assumptions=("tokens drawn independently from a centred Gaussian on the line", "fixed query"),
        spec=("MA.T4",),
        cites=CAP,
        provenance=REFEREED,
    ),
    constant("rate", "the error falls like 1/N", rate=-1.0),
    bug("centre", "the closed form lacks the query", centre=0.0),
)
def test_sampling(run, *, rate=-0.5, centre=1.0):
    table = run.study(studies.sampled_field)
    claimed = centre * studies.QUERY  # unit variance and B = 1
    squared = table["second"] - 2 * claimed * table["first"] + claimed**2
    sizes = np.unique(table["n"])
    yield equals(slope(sizes, np.sqrt(squared).reshape(-1, sizes.size)), rate, scale=1)
