"""Softmax attention on Gaussians in the long run: blow-up and collapse of the covariance; mixtures."""

import math
from itertools import pairwise

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure, gaussian, lattice
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import U, average_error
from theory.particles import flow, studies
from theory.particles.mean_field import (
    SoftmaxClosure,
    blow_up_time,
    collapse_shape,
    enclose_hermite,
    enclose_lattice,
    gauss_hermite,
    hermite,
    mixture_field,
    moment_field,
)
from verify.particles.normal import eigenvalues, inverse, lengths, symmetric
from verify.textbook import balls, exp, hull

CAP = ("castin2025",)
DERIVED = ("derived", "refereed")
SPEC = ("FR.F07",)
IDENTITY, UNEVEN = np.eye(2), np.diag([1.0, 0.5])
DOUBLINGS = 13


def turned(rng, first, second):
    """A symmetric matrix with these eigenvalues, and an antisymmetric one beside it."""
    angle = float(rng.uniform(0.0, math.pi))
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return (rotation * [first, second]) @ rotation.T, float(rng.normal()) * np.array([[0.0, 0.5], [-0.5, 0.0]])


def doubled(form, start, value):
    """When the trace of the covariance has doubled so many times: its logarithm takes the place of time."""
    rate = moment_field(SoftmaxClosure(form, value))

    def velocity(state):
        moving = rate(np.column_stack([np.zeros(2), state[:, 1:]]))
        growth = np.trace(moving[:, 1:]) / np.trace(state[:, 1:])
        moving[:, 0] = [1.0, 0.0]  # the time, in the place of the mean
        return moving / growth

    state = np.column_stack([np.zeros(2), start])
    return flow(velocity, state, math.log(2.0) * np.arange(DOUBLINGS)).observe(lambda state: float(state[0, 0]))


@verifies(
    Claim(
        "gaussian-flow.blow-up",
        "the covariance blows up in finite time if the scores have a positive direction, and in which time",
        r"$t^\star = 1/\lambda_{\max}(\Sigma_0^{1/2}(A + A^\top)\Sigma_0^{1/2})$, if that is positive, for $V = I$; $1/(2v\alpha s_0)$ on the line",
        assumptions=("V is the identity, or a positive number on the line",),
        spec=("FR.F07", "FR.F08"),
        cites=CAP,
        provenance=DERIVED,
    ),
    constant("halved", "A + A' is halved, which doubles the time", share=0.5),
    bug("unsymmetrised", "A stands for A + A'", sides=lambda form: form),
    hypothesis("value", "V is diagonal with entries 1 and 1/2", value=UNEVEN),
)
def test_blow_up(run, *, share=1.0, sides=lambda form: form + form.T, value=IDENTITY):
    cases = [("drawn", studies.FORM, studies.START), ("indefinite", np.array([[1.0, 1.0], [-0.5, -0.5]]), IDENTITY)]
    for rng in run.draws(quick=2, paper=20):
        even, skew = turned(rng, 1.0, float(rng.uniform(0.1, 1.0)))
        start = turned(rng, *rng.uniform(0.2, 1.0, size=2))[0]
        cases.append(("random", even + skew, (start + start.T) / 2.0))
    for name, form, start in cases:
        claimed = hull(1 / (ball(share) * eigenvalues(sides(balls(form)) @ balls(start))[0]))
        times = doubled(form, start, value)
        yield equals(limit(times[6:], ratio=2.0, order=1), claimed, scale=1, input=name)
        told = blow_up_time(exact(form), exact(start))
        yield equals(told, claimed, scale=1, input=name, part="formula")
    drawn = run.study(studies.gaussian_ellipses).where(kernel="softmax", form="symmetric")
    key = np.vectorize(Interval.exactly)(studies.KEY)  # A^(1/2) is K times root two
    for k, t in enumerate(drawn["t"].tolist()):
        left = 1.0 / (4.0 * lengths(key @ symmetric(drawn, k) @ key)[0])  # 1 / (2 lambda) is the time that is left
        claimed = 1 / (ball(share) * eigenvalues(sides(balls(studies.FORM)) @ balls(studies.START))[0])
        yield equals(left + t, hull(claimed), scale=1, input="time left", t=t)
    table = run.study(studies.gaussian_growth).where(kernel="softmax")
    for v, alpha, s0 in sorted(set(zip(*(table[name].tolist() for name in ("value", "first", "start")), strict=True))):
        if alpha > 0.0:
            times = table.where(value=v, first=alpha, start=s0).intervals("t")
            claimed = 1.0 / (Interval.exactly(2.0 * v) * share * alpha * s0)
            yield equals(limit(times, ratio=2.0, order=1), claimed, scale=1, input="line", v=v, alpha=alpha)


@verifies(
    Claim(
        "gaussian-flow.collapse",
        "if all scores repel, the covariance shrinks like 1/t to a shape that the start does not matter to",
        r"$t\,\Sigma(t) = -(A + A^\top)^{-1} + O(1/t)$ if $A + A^\top \prec 0$ and $V = I$",
        assumptions=("V is the identity",),
        spec=SPEC,
        provenance=DERIVED,
    ),
    constant(
        "exponential", "the covariance decays exponentially, so that twice the time leaves nothing of it", left=0.0
    ),
    bug("unsymmetrised", "A stands for A + A'", sides=lambda form: form),
    hypothesis("value", "V is diagonal with entries 1 and 1/2", value=UNEVEN),
)
def test_collapse(run, *, left=0.5, sides=lambda form: form + form.T, value=IDENTITY):
    for rng in run.draws(quick=3, paper=30):
        even, skew = turned(rng, *(-rng.uniform(0.3, 1.5, size=2)))
        form, start = even + skew, turned(rng, *rng.uniform(0.5, 2.0, size=2))[0]
        rate = moment_field(SoftmaxClosure(form, value))
        # (1 + t) Sigma(t) in the time u = log(1 + t), where it moves to a fixed point
        path = flow(lambda state, rate=rate: state + rate(state), np.column_stack([np.zeros(2), start]),
                    math.log(2.0) * np.arange(DOUBLINGS))  # fmt: skip
        claimed = -inverse(sides(balls(form)))
        for at in ((0, 0), (0, 1), (1, 1)):
            scaled = path.observe(lambda state, at=at: float(state[at[0], 1 + at[1]]))
            times = [found * (1.0 - 2.0**-k) for k, found in enumerate(scaled)][6:]  # t = 2^k - 1
            yield equals(limit(times, ratio=2.0, order=1), hull(claimed[at]), scale=1, part="shape")
        size = hull(claimed[0, 0] + claimed[1, 1])
        traces = path.observe(lambda state: float(np.trace(state[:, 1:])))
        yield equals(order([part * (1.0 - 2.0**-k) - size for k, part in enumerate(traces)][6:]), 1, part="order")
        kept = [after / before / 2.0 for before, after in pairwise(traces[6:])]
        yield equals(limit(kept, ratio=2.0, order=1), left, scale=1, part="doubling")
        yield equals(collapse_shape(exact(form)), claimed, scale=1, part="formula")


def mixture(rng, parts):
    """Weights, means, roots of the covariances, and form and value matrices in the plane."""
    roots = [turned(rng, *rng.uniform(0.3, 1.0, size=2))[0] for _ in range(parts)]
    return rng.dirichlet(np.full(parts, 4.0)), rng.normal(size=(parts, 2)), roots, rng.normal(size=(2, 2, 2)) / 2.0


@verifies(
    Claim(
        "gaussian-flow.mixture",
        "under a mixture of Gaussians the velocity is a mixture of affine ones, with weights that depend on the token",
        r"$\Gamma_\mu(x) = V\sum_k\pi_k(x)(m_k + \Sigma_kAx)$, $\pi_k \propto w_k\exp(\langle Ax, m_k\rangle + \tfrac12\langle Ax, \Sigma_kAx\rangle)$",
        assumptions=(r"$\mu = \sum_k w_kN(m_k, \Sigma_k)$",),
        spec=SPEC,
        provenance=DERIVED,
    ),
    bug("no-square", "the weights lack the square of the tilt", square=0.0),
    constant("unweighted", "every component keeps its weight", tilt=0.0, square=0.0),
    hypothesis("corners", "the components are corners of a square, with the same covariances", nodes=2),
)
def test_mixture(run, *, tilt=1.0, square=1.0, nodes=hermite.NODES):
    for rng in run.draws(quick=4, paper=40):
        parts = int(rng.integers(2, 4))
        weights, means, roots, (form, value) = mixture(rng, parts)
        x = rng.normal(size=(4, 2))
        rules = [gauss_hermite(m, root, nodes=nodes) for m, root in zip(means, roots, strict=True)]
        mu = Measure.normalised(
            np.concatenate([rule.points for rule in rules]),
            np.concatenate([w * rule.weights for w, rule in zip(weights, rules, strict=True)]),
        )
        kernel = AttentionKernel(DotProduct(form=form.T), mu, value)
        output = enclose_hermite(kernel, x, form, roots, value=value)
        slopes = balls(x) @ balls(form).T
        moved = [slopes @ balls(root) @ balls(root).T for root in roots]
        law = np.array([
            ball(w) * exp(ball(tilt) * (slopes @ balls(m)) + ball(square / 2) * (slopes * s).sum(axis=1))
            for w, m, s in zip(weights, means, moved, strict=True)
        ])  # fmt: skip
        centres = sum(p[:, np.newaxis] * (balls(m) + s) for p, m, s in zip(law, means, moved, strict=True))
        claimed = centres / law.sum(axis=0)[:, np.newaxis] @ balls(value).T
        yield equals(output, claimed, scale=1, part="field")
        told = mixture_field(form, weights, means, [root @ root.T for root in roots], value)(exact(x))
        rounding = 64 * U * float(np.abs(kernel.values).max()) ** 2  # of the covariances that it is given
        yield equals(told + Interval(-rounding, rounding), claimed, scale=1, part="formula")


def strip(m, sigma, alpha):
    """What the step h of a lattice moves the average of x tanh(alpha m x) by, in units of sigma: 2 M / (exp(2 pi a / h) - 1).

    The function is analytic up to the pole of tanh; at the share 0.9 of that height a (and at most 3) tanh is below
    tan(0.45 pi) < 6.4, the density below exp(a^2 / 2) times its own, and |x| on average below m + sigma + a.
    """
    a = min(0.9 * math.pi / (2.0 * alpha * m * sigma), 3.0)
    most = 6.4 * math.exp(a * a / 2.0) * (m / sigma + 1.0 + a)
    return 2.0 * most / math.expm1(2.0 * math.pi * a / lattice.STEP)


def pulled(m, sigma, alpha):
    """The integral of x tanh(alpha m x) against N(m, sigma^2), in balls, with its tails."""
    lo, hi = (ball(m + side * 16.0 * sigma) for side in (-1, 1))
    mean, variance, steep = ball(m), ball(sigma) ** 2, ball(alpha) * ball(m)

    def density(x):
        tanh = 1 - 2 / ((2 * steep * x).exp() + 1)
        return x * tanh * (-((x - mean) ** 2) / (2 * variance)).exp()

    tail = ball(0).union(ball(float(4.0 * (m + 16.0 * sigma) * math.exp(-128.0))))  # |x| <= twice its end
    return integral_over(density, lo, hi) / (2 * ball(0).acos() * 2 * variance).sqrt() + tail


@verifies(
    Claim(
        "gaussian-flow.mixture-lost",
        "a mixture of two Gaussians does not stay one: its variance grows at another rate than its tails demand",
        r"$\frac d{dt}E x^2 = 2mE[x\tanh\alpha mx] + 2\alpha\sigma^2(m^2 + \sigma^2)$ under $\frac12N(\pm m, \sigma^2)$; tails that move by $\pm m + \alpha\sigma^2x$ demand $2m^2(1 + \alpha\sigma^2) + 2\alpha\sigma^4$, which is more by $0.92574$ at $m = 1$, $\sigma = \alpha = \frac12$",
        assumptions=(r"$d = 1$, $V = 1$", r"$\alpha\sigma^2 \ne 1$"),
        spec=SPEC,
        provenance=("derived",),
    ),
    constant("preserved", "each component moves as its tail does", follows=True),
    hypothesis("balanced", "alpha is the inverse of the variance", alphas=(4.0, 4.0)),
    bug("rigid", "the components do not spread", spread=0.0),
)
def test_mixture_lost(run, *, follows=False, alphas=(0.5, 2.0), spread=1.0):
    m, sigma = 1.0, 0.5
    for alpha in alphas:
        sides = [gaussian([side * m], [[sigma]]) for side in (-1.0, 1.0)]
        mu = sides[0].mix(sides[1], 0.5)
        kernel = AttentionKernel(DotProduct(form=[[alpha]]), mu)
        x, w = mu.points[:, 0], mu.weights
        slopes = alpha * mu.points
        root = np.array([[sigma]])
        output = enclose_lattice(kernel, mu.points, slopes, root, centres=slopes * sigma, variance=1.0, parts=2)
        far = float(np.abs(x).max()) ** 2
        slack = average_error(far, mu.size, relative=lattice.ERROR) + sigma * strip(m, sigma, alpha)
        measured = 2.0 * (w @ (x * output[:, 0]) + Interval(-slack, slack))
        a, s2 = ball(alpha), ball(sigma) ** 2
        demanded = hull(2 * (1 + a * s2) + 2 * a * s2**2 * ball(spread))
        rate = hull(2 * pulled(m, sigma, alpha) + 2 * a * s2 * (1 + s2) * ball(spread))
        yield equals(measured, demanded if follows else rate, alpha=alpha, part="variance")
        yield at_least(abs(demanded - rate), 0.05, scale=1, alpha=alpha, part="apart")
        if alpha == 0.5:
            yield equals(demanded - measured, Interval.printed("0.92574"), alpha=alpha, part="by how much")
