"""Softmax attention on Gaussians: an affine velocity, a covariance in closed form, its blow-up and its collapse."""

import math
from functools import cache

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure
from theory.evidence import Claim, Interval, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.roundoff import U, average_error, covariance_error
from theory.particles import SoftmaxField, flow, studies
from theory.particles.mean_field import (
    SoftmaxClosure,
    blow_up_time,
    enclose_hermite,
    gauss_hermite,
    hermite,
    moment_field,
    softmax_covariance,
)
from verify.particles.normal import inverse, ring, symmetric
from verify.textbook import balls, hull

CAP = ("castin2025",)
SEEN = ("seen", "derived", "refereed")
DERIVED = ("derived", "refereed")
NODES = {1: 40, 2: 40, 3: 24}
REACH, REACHED = 8.0, 20  # of the tokens on a line, in deviations; a token that is two from the middle


def corners(mean, root, *, nodes):
    """The law with the same mean and covariance of which every coordinate is plus or minus one."""
    return gauss_hermite(mean, root, nodes=2)


def affine(mean, sigma, form, value, x):
    """V (m + Sigma A x) of balls, at the queries in the rows of x."""
    return (mean + x @ form.T @ sigma.T) @ value.T


@verifies(
    Claim(
        "gaussian-flow.field",
        "under a Gaussian, tilting by a score moves the mean and nothing else: the velocity of a token is affine",
        r"$e^{\langle Ax, y\rangle}N(m, \Sigma)(dy) \propto N(m + \Sigma Ax, \Sigma)(dy)$, so $\Gamma_\mu(x) = V(m + \Sigma Ax)$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"scores $\langle Ax, y\rangle$"),
        spec=("FR.F07",),
        cites=CAP,
        provenance=SEEN,
    ),
    bug("transposed", "A stands where its transpose belongs", sides=lambda form: form.T),
    bug("swapped", "V and A change places", swapped=True),
    constant("longer", "the field is one per cent longer", stretch=1.01),
    hypothesis("corners", "every coordinate is plus or minus one, with the same covariance", law=corners),
)
def test_field(run, *, sides=lambda form: form, swapped=False, stretch=1.0, law=gauss_hermite):
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        d = 1 + number % 3
        mean, root, form, value = ring(rng, d)
        x, nodes = rng.normal(size=(3, d)), NODES[d]
        kernel = AttentionKernel(DotProduct(form=form.T), law(mean, root, nodes=nodes), value)
        output = enclose_hermite(kernel, x, form, [root], value=value, nodes=nodes)
        m, sigma, a, v = balls(mean), balls(root) @ balls(root).T, balls(sides(form)), balls(value)
        a, v = (v, a) if swapped else (a, v)
        claimed = affine(m, sigma, a, v, balls(x)) * ball(stretch)
        yield equals(output, claimed, scale=1, part="field", d=d)
        precision, y, at = inverse(sigma), balls(rng.normal(size=(2, d))), m + sigma @ a @ balls(x[0])
        square = [-(p - c) @ precision @ (p - c) / 2 for c in (m, at) for p in y]  # completed, up to a constant
        tilt = ball(stretch) * (balls(x[0]) @ balls(form).T @ (y[0] - y[1]))
        yield equals(hull(square[0] - square[1] + tilt), hull(square[2] - square[3]), scale=1, part="density", d=d)


@verifies(
    Claim(
        "gaussian-flow.moments",
        "mean and covariance of a Gaussian move by closed equations",
        r"$\dot m = V(I + \Sigma A)m$, $\dot\Sigma = V\Sigma A\Sigma + \Sigma A^\top\Sigma V^\top$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"$\dot x = \Gamma_\mu(x)$ for every token"),
        spec=("FR.F07",),
        cites=CAP,
        provenance=SEEN,
    ),
    bug("not-symmetrised", "the covariance moves by twice its first term", mirrored=False),
    bug("order", "V stands behind the rest", placed=lambda v, rest: rest @ v),
    constant("mean", "the mean moves by V m", pull=0),
    hypothesis("corners", "every coordinate is plus or minus one, with the same covariance", law=corners),
)
def test_moments(run, *, mirrored=True, placed=lambda v, rest: v @ rest, pull=1, law=gauss_hermite):
    for rng in run.draws(quick=3, paper=30):
        mean, root, form, value = ring(rng, 2)
        form = form / 3.0  # so that the queries far out stay in reach
        mu = law(mean, root, nodes=40)
        kernel = AttentionKernel(DotProduct(form=form.T), mu, value)
        velocity = enclose_hermite(kernel, mu.points, form, [root], value=value)
        size = float(max(np.abs(velocity.mid).max(), np.abs(mu.points).max()))
        slack = average_error(size, mu.size, relative=hermite.ERROR)
        m, sigma, a, v = balls(mean), balls(root) @ balls(root).T, balls(form), balls(value)
        claimed = v @ (m + ball(pull) * (sigma @ a @ m))
        yield equals(mu.weights @ velocity + Interval(-slack, slack), claimed, scale=1, part="mean")
        tokens = exact(mu.points)
        half = velocity.T @ (mu.weights[:, np.newaxis] * (tokens - mu.weights @ tokens))
        slack = 2.0 * covariance_error(size, mu.size, relative=hermite.ERROR)
        first = placed(v, sigma @ a @ sigma)
        claimed = first + (first.T if mirrored else first)
        yield equals(half + half.T + Interval(-slack, slack), claimed, scale=1, part="covariance")


@verifies(
    Claim(
        "gaussian-flow.closed-form",
        "if the value matrix is one, the inverse of the covariance moves at constant speed",
        r"$\Sigma(t)^{-1} = \Sigma_0^{-1} - t(A + A^\top)$ if $V = I$",
        assumptions=("V is the identity", "before the blow-up"),
        spec=("FR.F07",),
        provenance=DERIVED,
    ),
    constant("half", "A + A' is halved", share=0.5),
    bug("one-sided", "A stands for A + A'", sides=lambda form: form),
    hypothesis(
        "value", "V is diagonal with entries 1 and 1/2, or 1, 3/4 and 1/2", value=lambda d: np.linspace(1.0, 0.5, d)
    ),
)
def test_closed_form(run, *, share=1.0, sides=lambda form: form + form.T, value=np.ones):
    def claimed(sigma, form, t):
        return inverse(inverse(sigma) - ball(share * t) * sides(form))

    for number, rng in enumerate(run.draws(quick=4, paper=40)):
        d = 2 + number % 2
        _, root, form, _ = ring(rng, d)
        cov, shares = root @ root.T, (0.5, 0.9)
        cov = (cov + cov.T) / 2.0
        end = min(blow_up_time(form, cov), 4.0)
        closure = SoftmaxClosure(form, np.diag(value(d)))
        path = flow(moment_field(closure), np.column_stack([np.zeros(d), cov]), [0.0, *(s * end for s in shares)])
        for k, t in enumerate(path.times[1:], start=1):
            wanted, scale = claimed(balls(cov), balls(form), t), float(np.abs(path.states[k]).max())
            for i in range(d):
                for j in range(i + 1):
                    measured = path.observe(lambda state, i=i, j=j: float(state[i, 1 + j]))[k]
                    yield equals(measured, hull(wanted[i, j]), scale=scale, part="flow", d=d, share=shares[k - 1])
            told = softmax_covariance(exact(form), exact(cov), float(t))
            yield equals(told, wanted, scale=scale, part="formula", d=d)
    table = run.study(studies.gaussian_ellipses).where(kernel="softmax")
    for form in ("symmetric", "skew"):
        part, a = table.where(form=form), studies.FORM + (studies.SKEW if form == "skew" else 0.0)
        for k, t in enumerate(part["t"].tolist()):
            wanted = claimed(balls(studies.START), balls(a), t)
            found = symmetric(part, k)
            for at in ((0, 0), (0, 1), (1, 1)):
                yield equals(found[at], hull(wanted[at]), scale=1, part="drawn", form=form, t=t)


@cache
def moved(alpha, s0, end, even):
    """Tokens with the masses of a centred Gaussian, 0 to 8 deviations out, and their flow under attention."""
    z = np.linspace(-REACH, REACH, 33)  # a step of half a deviation
    mu = Measure.normalised(math.sqrt(s0) * z[:, np.newaxis], np.exp(-0.5 * z * z))
    field = SoftmaxField(DotProduct(form=[[alpha]]), weights=None if even else mu.weights)
    return mu, flow(field, mu.points, [0.0, end / 2.0, end])


def followed(mu, alpha, s0, t):
    """How far tokens may leave those of the Gaussian, in units of the first deviation: the error of the field, grown.

    In the largest displacement the field has the slope 1 + |alpha| (|x| E|y - Gamma(x)| + s): a row moves with its keys
    by one, with its scores by the rest. At the true tokens x = z sqrt(s) its error is that of a lattice of step h
    and reach L under the tilt c = alpha s z: the tail beyond L - |c| and q = exp(-2 pi^2 / h^2).
    """
    s = 1.0 / (1.0 / s0 - 2.0 * alpha * t)
    ends = [mu.linear_image([[math.sqrt(part / s0)]]) for part in (s0, s)]
    rounding = max(AttentionKernel(DotProduct(form=[[alpha]]), nu).rounding(nu.points) for nu in ends) / math.sqrt(s0)
    inside, top = REACH * (1.0 - abs(alpha) * max(s, s0)), math.sqrt(max(s / s0, 1.0))
    field = (3.0 * math.exp(-0.5 * inside**2) + 8.0 * math.pi * math.exp(-8.0 * math.pi**2)) * top + rounding
    growth = t + 0.5 * abs(math.log(s / s0)) * (1.0 + 0.8 * REACH)  # alpha s dt is half the change of log s
    return math.expm1(growth) * field + 8.0 * mu.size * U


@verifies(
    Claim(
        "gaussian-flow.tokens",
        "tokens that carry the masses of a Gaussian keep its shape, and their variance follows the closed form",
        r"$x_i(t) = x_i(0)\sqrt{s(t)/s_0}$ and $\sum_i m_ix_i(t)^2 = s(t)$, $1/s(t) = 1/s_0 - 2\alpha t$",
        assumptions=(r"$d = 1$, $V = 1$", "33 tokens, 0 to 8 standard deviations out"),
        spec=("FR.F07",),
        provenance=DERIVED,
    ),
    constant("no-factor-two", "the inverse of the variance moves by alpha t", rate=1.0),
    hypothesis("even", "all tokens have the same mass", even=True),
    bug("linear", "the variance itself moves at constant speed", inverted=False),
)
def test_tokens(run, *, rate=2.0, even=False, inverted=True):
    cases = ((1.0, 0.125, 1.5), (-1.0, 0.25, 2.0), (2.0, 0.0625, 1.5), (-0.5, 0.375, 3.0))
    for alpha, s0, end in run.pick(quick=cases[:2], paper=cases):
        mu, path = moved(alpha, s0, end, even)
        law = np.full(mu.size, 1.0 / mu.size) if even else mu.weights
        found = path.observe(lambda x, law=law: float(law @ x[:, 0] ** 2))
        token = path.observe(lambda x: float(x[REACHED, 0]))
        for k, t in enumerate(path.times.tolist()):
            speed = ball(rate * alpha) * ball(t) * ball(s0)
            growth = 1 / (1 - speed) if inverted else 1 + speed
            apart = followed(mu, alpha, s0, t) * Interval(-1.0, 1.0)
            tail = 3.0 * REACH**2 * math.exp(-0.5 * REACH**2) * Interval(-1.0, 1.0)  # of the variance at the start
            stretch = token[k] / float(mu.points[REACHED, 0]) + apart / 2.0
            yield equals(stretch, hull(growth.sqrt()), scale=1, alpha=alpha, t=t, part="token")
            width = abs(hull(growth)).sqrt() if inverted else 1
            ratio = found[k] / s0 + 2.0 * apart * (width + abs(apart)) + tail * hull(growth)
            yield equals(ratio, hull(growth), scale=1, alpha=alpha, t=t, part="variance")
