"""Attention on Gaussians: affine velocities, closed moments, blow-up and collapse, kernels of three kinds, growth."""

import math
from functools import cache
from itertools import pairwise

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure, gaussian, lattice
from theory.attention.sinkhorn import doubly_normalised, sinkhorn_error
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
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
from theory.evidence.once import once
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import U, average_error, covariance_error
from theory.particles import SoftmaxField, flow, studies
from theory.particles.mean_field import (
    DistanceAttention,
    DistanceClosure,
    SoftmaxClosure,
    blow_up_time,
    collapse_shape,
    enclose_hermite,
    enclose_lattice,
    gauss_hermite,
    hermite,
    mixture_field,
    moment_field,
    sinkhorn_coupling,
    softmax_covariance,
)
from theory.particles.studies import settings
from verify.inputs import square_corners
from verify.textbook import balls, exp, hull, inverse


def eigenvalues(matrix):
    """The two eigenvalues of a 2 x 2 array of balls, the larger first, if they are real."""
    (a, b), (c, d) = matrix
    half = (a + d) / 2
    root = (((a - d) / 2) ** 2 + b * c).sqrt()
    return half + root, half - root


def root_of(matrix):
    """The symmetric root of a positive definite 2 x 2 array of balls."""
    (a, b), (c, d) = matrix
    det = (a * d - b * c).sqrt()
    return (matrix + det * balls(np.eye(2))) / (a + d + 2 * det).sqrt()


def ring(rng, d):
    """A root of a covariance with singular values between 0.4 and 1, a mean, and two matrices of norm about one."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    root = left * rng.uniform(0.4, 1.0, size=d) @ right
    form, value = (part / np.linalg.norm(part, 2) for part in rng.normal(size=(2, d, d)))
    return rng.normal(size=d) / 2, root, form * rng.uniform(0.5, 1.0), value


def symmetric(part, row):
    """The covariance of one row of a table, in intervals."""
    xx, xy, yy = (part.intervals(name)[row] for name in ("xx", "xy", "yy"))
    return np.array([[xx, xy], [xy, yy]], dtype=object)


def lengths(matrix):
    """The two eigenvalues of a symmetric 2 x 2 array of intervals, the larger first."""
    (a, b), (_, d) = matrix
    half = (a + d) / 2
    root = (((a - d) / 2) ** 2 + b**2).sqrt()
    return half + root, half - root


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
        source_status=SEEN,
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
        x = rng.normal(size=(3, d))
        nodes = NODES[d]
        kernel = AttentionKernel(DotProduct(form=form.T), law(mean, root, nodes=nodes), value)
        output = enclose_hermite(kernel, x, form, [root], value=value, nodes=nodes)
        m = balls(mean)
        sigma = balls(root) @ balls(root).T
        a = balls(sides(form))
        v = balls(value)
        a, v = (v, a) if swapped else (a, v)
        claimed = affine(m, sigma, a, v, balls(x)) * ball(stretch)
        yield equals(output, claimed, scale=1, part="field", d=d)
        precision = inverse(sigma)
        y = balls(rng.normal(size=(2, d)))
        at = m + sigma @ a @ balls(x[0])
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
        source_status=SEEN,
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
        m = balls(mean)
        sigma = balls(root) @ balls(root).T
        a = balls(form)
        v = balls(value)
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
        source_status=DERIVED,
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
        cov = root @ root.T
        shares = (0.5, 0.9)
        cov = (cov + cov.T) / 2.0
        end = min(blow_up_time(form, cov), 4.0)
        closure = SoftmaxClosure(form, np.diag(value(d)))
        path = flow(moment_field(closure), np.column_stack([np.zeros(d), cov]), [0.0, *(s * end for s in shares)])
        for k, t in enumerate(path.times[1:], start=1):
            wanted = claimed(balls(cov), balls(form), t)
            scale = float(np.abs(path.states[k]).max())
            for i in range(d):
                for j in range(i + 1):
                    measured = path.observe(lambda state, i=i, j=j: float(state[i, 1 + j]))[k]
                    yield equals(measured, hull(wanted[i, j]), scale=scale, part="flow", d=d, share=shares[k - 1])
            told = softmax_covariance(exact(form), exact(cov), float(t))
            yield equals(told, wanted, scale=scale, part="formula", d=d)
    table = run.study(studies.gaussian_ellipses).where(kernel="softmax")
    for form in ("symmetric", "skew"):
        part = table.where(form=form)
        a = settings.FORM + (settings.SKEW if form == "skew" else 0.0)
        for k, t in enumerate(part["t"].tolist()):
            wanted = claimed(balls(settings.START), balls(a), t)
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
    inside = REACH * (1.0 - abs(alpha) * max(s, s0))
    top = math.sqrt(max(s / s0, 1.0))
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
        source_status=DERIVED,
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


SPEC = ("FR.F07",)
IDENTITY = np.eye(2)
UNEVEN = np.diag([1.0, 0.5])
DOUBLINGS = 13


def turned(rng, first, second):
    """A symmetric matrix with these eigenvalues, and an antisymmetric one beside it."""
    angle = float(rng.uniform(0.0, math.pi))
    rotation = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return (rotation * [first, second]) @ rotation.T, float(rng.normal()) * np.array([[0.0, 0.5], [-0.5, 0.0]])


@once
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
        source_status=DERIVED,
    ),
    constant("halved", "A + A' is halved, which doubles the time", share=0.5),
    bug("unsymmetrised", "A stands for A + A'", sides=lambda form: form),
    hypothesis("value", "V is diagonal with entries 1 and 1/2", value=UNEVEN),
)
def test_blow_up(run, *, share=1.0, sides=lambda form: form + form.T, value=IDENTITY):
    cases = [("drawn", settings.FORM, settings.START), ("indefinite", np.array([[1.0, 1.0], [-0.5, -0.5]]), IDENTITY)]
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
    key = np.vectorize(Interval.exactly)(settings.KEY)  # A^(1/2) is K times root two
    for k, t in enumerate(drawn["t"].tolist()):
        left = 1.0 / (4.0 * lengths(key @ symmetric(drawn, k) @ key)[0])  # 1 / (2 lambda) is the time that is left
        claimed = 1 / (ball(share) * eigenvalues(sides(balls(settings.FORM)) @ balls(settings.START))[0])
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
        source_status=DERIVED,
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
        form = even + skew
        start = turned(rng, *rng.uniform(0.5, 2.0, size=2))[0]
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
        source_status=DERIVED,
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
    mean = ball(m)
    variance = ball(sigma) ** 2
    steep = ball(alpha) * ball(m)

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
        assumptions=(r"$d = 1$, $V = 1$", r"$\alpha > 0$, $\alpha\sigma^2 \ne 1$"),
        spec=SPEC,
        source_status=("derived",),
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
        x = mu.points[:, 0]
        w = mu.weights
        slopes = alpha * mu.points
        root = np.array([[sigma]])
        output = enclose_lattice(kernel, mu.points, slopes, root, centres=slopes * sigma, variance=1.0, parts=2)
        far = float(np.abs(x).max()) ** 2
        slack = average_error(far, mu.size, relative=lattice.ERROR) + sigma * strip(m, sigma, alpha)
        measured = 2.0 * (w @ (x * output[:, 0]) + Interval(-slack, slack))
        a = ball(alpha)
        s2 = ball(sigma) ** 2
        demanded = hull(2 * (1 + a * s2) + 2 * a * s2**2 * ball(spread))
        rate = hull(2 * pulled(m, sigma, alpha) + 2 * a * s2 * (1 + s2) * ball(spread))
        yield equals(measured, demanded if follows else rate, alpha=alpha, part="variance")
        yield at_least(abs(demanded - rate), 0.05, scale=1, alpha=alpha, part="apart")
        if alpha == 0.5:
            yield equals(demanded - measured, Interval.printed("0.92574"), alpha=alpha, part="by how much")


ONE_STEP = ("FR.F08",)
EYE = balls(np.eye(2))


def posterior(mean, sigma, inner, key, x, *, cross=1):
    """Sigma_e (Sigma^-1 m + 2 K'Q x) of balls, multiplied through by the covariance; ``inner`` is K'Q, with a factor."""
    known = mean + 2 * ball(cross) * (x @ inner.T @ sigma.T)
    return known @ inverse(EYE + 2 * (sigma @ key.T @ key)).T


@verifies(
    Claim(
        "gaussian-flow.distance-field",
        "under a Gaussian, distance attention with any query and key matrices is a posterior mean",
        r"$\Gamma_\mu(x) = V\Sigma_e(\Sigma^{-1}m + 2K^\top Qx)$, $\Sigma_e = (\Sigma^{-1} + 2K^\top K)^{-1}$, for $e^{-|Qx - Ky|^2}$",
        assumptions=(r"$\mu = N(m, \Sigma)$",),
        spec=ONE_STEP,
        source_status=DERIVED,
    ),
    constant("single", "the cross term lacks its factor two", cross=0.5),
    bug("transposed", "Q'K stands for K'Q", swapped=True),
    hypothesis("corners", "every coordinate is plus or minus one, with the same covariance", law=square_corners),
)
def test_distance_field(run, *, cross=1.0, swapped=False, law=gaussian):
    for rng in run.draws(quick=4, paper=40):
        mean, root, query, value = ring(rng, 2)
        key = 0.8 * ring(rng, 2)[2]
        x = rng.normal(size=(4, 2))
        kernel = DistanceAttention(law(mean, root), query, key, value)
        m = balls(mean)
        sigma = balls(root) @ balls(root).T
        pair = (balls(query), balls(key))
        inner = pair[0].T @ pair[1] if swapped else pair[1].T @ pair[0]
        claimed = posterior(m, sigma, inner, pair[1], balls(x), cross=cross) @ balls(value).T
        yield equals(kernel.enclosed(x, mean, root), claimed, scale=1, part="field")
        _, told = DistanceClosure(query, key, value).affine(exact(mean), exact(root) @ root.T)
        slope = 2 * ball(cross) * inverse(EYE + 2 * (sigma @ pair[1].T @ pair[1])) @ sigma
        yield equals(told, balls(value) @ slope @ inner, scale=1, part="closure")


@verifies(
    Claim(
        "gaussian-flow.scaled-cross",
        "scaling the cross term of distance attention alone is the kernel with scaled queries, and no other temperature",
        r"$V\Sigma_e(\Sigma^{-1}m + 2cK^\top Qx)$ with $\Sigma_e = (\Sigma^{-1} + 2K^\top K)^{-1}$ is the field of $e^{-|cQx - Ky|^2}$, not of $e^{-c|Qx - Ky|^2}$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"$c = 1/\sqrt d$, $d \ge 2$"),
        spec=ONE_STEP,
        source_status=("derived",),
    ),
    constant("no-kernel", "there is no kernel with this field", exists=False),
    bug("temperature", "the whole score is scaled", whole=True),
    hypothesis("keys", "the keys are scaled, not the queries", on_keys=True),
)
def test_scaled_cross(run, *, exists=True, whole=False, on_keys=False):
    c = math.sqrt(0.5)
    for number, rng in enumerate(run.draws(quick=3, paper=30)):
        mean, root, query, value = ring(rng, 2)
        key = 0.8 * ring(rng, 2)[2]
        x = rng.normal(size=(4, 2))
        if number == 0:  # a named witness
            mean = np.zeros(2)
            root = np.eye(2)
            query = np.eye(2)
            key = 0.8 * np.eye(2)
            value = np.eye(2)
            x = np.eye(2)
        mu = gaussian(mean, root)
        root_c = math.sqrt(c)
        pair = (root_c * query, root_c * key) if whole else (query, c * key) if on_keys else (c * query, key)
        kernel = DistanceAttention(mu, *pair, value)
        other = DistanceAttention(mu, root_c * query, root_c * key, value)
        sigma = balls(root) @ balls(root).T
        claimed = (
            posterior(balls(mean), sigma, balls(key).T @ balls(query), balls(key), balls(x), cross=c) @ balls(value).T
        )
        rounding = 256 * U * Interval(-1.0, 1.0)  # of the products with c
        output = kernel.enclosed(x, mean, root) + rounding
        if exists:
            yield equals(output, claimed, scale=1, part="queries scaled")
        else:
            yield at_least(abs(output - hull(claimed)).max(), 0.01, scale=1, part="queries scaled")
        if number == 0:
            between = abs(output - other.enclosed(x, mean, root) + rounding).max()
            yield at_least(between, 0.08, scale=1, part="another temperature")


def coupling(sigma, form):
    """C = S 2 (1 + (1 + 4 B B')^(1/2))^-1 B S, B = S A' S, S the root of Sigma, in balls: the same without singular values."""
    root = root_of(sigma)
    inner = root @ form.T @ root
    return root @ (2 * inverse(EYE + root_of(EYE + 4 * (inner @ inner.T)))) @ inner @ root


def residual(c, sigma, form):
    """Sigma^-1 C (Sigma - C' Sigma^-1 C)^-1 - A', which is minus what the precision of the coupling lacks of the scores."""
    prior = inverse(sigma)
    return prior @ c @ inverse(sigma - c.T @ prior @ c) - form.T


PLANE = np.array([[1.0, 0.5], [0.0, 0.75]])
WITNESS = (np.array([[1.0, 0.25], [0.25, 0.5]]), np.array([[0.5, 3.5], [-0.75, 0.25]]))  # covariance and form


@verifies(
    Claim(
        "gaussian-flow.sinkhorn-coupling",
        "Sinkhorn's coupling of a Gaussian with itself is Gaussian, with a covariance in closed form",
        r"$C = \Sigma^{1/2}U\,\mathrm{diag}\big(\frac{\sqrt{1 + 4\sigma^2} - 1}{2\sigma}\big)W^\top\Sigma^{1/2}$, $\Sigma^{1/2}A^\top\Sigma^{1/2} = U\mathrm{diag}(\sigma)W^\top$, solves $\Sigma^{-1}C(\Sigma - C^\top\Sigma^{-1}C)^{-1} = A^\top$",
        assumptions=(r"scores $\langle Ax, y\rangle$, $\mu = N(m, \Sigma)$",),
        spec=ONE_STEP,
        cites=("sander2022", *CAP),
        source_status=DERIVED,
    ),
    bug("transposed", "C' stands for C", mirrored=True),
    constant("first-order", "C is Sigma A' Sigma, as for softmax", sinkhorn=False),
    hypothesis("unequal", "the keys have twice the covariance of the queries", share=2.0),
)
def test_coupling(run, *, mirrored=False, sinkhorn=True, share=1.0):
    cases = [WITNESS]
    for rng in run.draws(quick=4, paper=60):
        root, form = rng.normal(size=(2, 2, 2))
        spread = root @ root.T + 0.1 * np.eye(2)
        cases.append(((spread + spread.T) / 2.0, float(10.0 ** rng.uniform(-1.0, 1.0)) * form))
    for number, (covariance, form) in enumerate(cases):
        sigma, a = balls(covariance), balls(form)
        c = coupling(sigma, a) if sinkhorn else sigma @ a.T @ sigma
        c = c.T if mirrored else c
        prior = inverse(sigma)
        lacking = prior @ c @ inverse(ball(share) * sigma - c.T @ prior @ c) - a.T
        for entry in lacking.ravel():
            yield equals(hull(entry), 0, scale=1 + float(np.abs(form).max()), part="residual", number=number)
        told = sinkhorn_coupling(exact(covariance), exact(form))
        yield equals(told, c, scale=float(np.abs(covariance).max()), part="formula", number=number)
    given = coupling(*map(balls, WITNESS))
    given = residual(given if mirrored else given.T, *map(balls, WITNESS))
    largest = Interval.largest(abs(hull(entry)) for entry in given.ravel())
    yield at_least(largest, 3.4, scale=1, part="the transpose is far off")


def spaced_tokens(reach, count, root):
    """Equally spaced tokens, up to ``reach`` deviations out along each column of a root, with Gaussian masses; and z."""
    axis = np.linspace(-reach, reach, count)
    z = np.stack(np.meshgrid(*[axis] * len(root), indexing="ij"), axis=-1).reshape(-1, len(root))
    return Measure.normalised(z @ root.T, np.exp(-0.5 * (z * z).sum(axis=1))), z


def attended(reach, count, roots, strengths, form, *, sweeps=None):
    """The covariance of query and output under Sinkhorn attention to a Gaussian, and how far outputs are from affine.

    Queries and keys are lattices along two roots of one covariance, between which the scores are diagonal with the
    ``strengths``. The potential of the theorem, put on the keys, leaves a residual, which bounds how far the tokens' own
    limit is from it; what the tokens then read beside the affine field is seen. Fewer sweeps are what they are.
    """
    (mu, _), (nu, z) = (spaced_tokens(reach, count, root) for root in roots)
    law = {"score": DotProduct(form=form.T), "query_weights": mu.weights, "key_weights": nu.weights}
    found = doubly_normalised(
        mu.points, nu.points, **law, **({} if sweeps is None else {"sweeps": sweeps, "tolerance": 0.0})
    )
    rho = np.array([2.0 * part / (1.0 + math.sqrt(1.0 + 4.0 * part**2)) for part in strengths])
    start = -0.5 * (z * z) @ (rho * strengths)
    told = doubly_normalised(mu.points, nu.points, **law, start=start, sweeps=0, tolerance=1.0)
    affine = mu.points @ np.linalg.inv(roots[0]).T * rho @ roots[1].T
    left = told.output(nu.points) - affine
    rounding = 4000 * U * float(np.abs(nu.points).max())
    error = sinkhorn_error(told, nu.points) + math.sqrt(float(mu.weights @ (left**2).sum(axis=1))) + rounding
    if sweeps is None:
        error += sinkhorn_error(found, nu.points)
    size = math.sqrt(float((mu.weights @ mu.points**2).max()))
    output = found.output(nu.points)
    inner = (np.abs(mu.points @ np.linalg.inv(roots[0]).T) <= 4.0).all(axis=1)
    bent = abs(exact(output) - affine)[inner].max() + 12.0 * 4000 * U * Interval(-1.0, 1.0)
    covariance = mu.points.T @ (mu.weights[:, np.newaxis] * exact(output))
    return covariance + error * size * Interval(-1.0, 1.0), bent


@verifies(
    Claim(
        "gaussian-flow.sinkhorn-slope",
        "Sinkhorn attention to a Gaussian is affine: on 401 tokens it has the slope of the closed form, the golden ratio at one",
        r"$\Gamma_\mu(x) = V(m + C^\top\Sigma^{-1}(x - m))$; on the line the slope is $\frac{\sqrt{1 + 4\alpha^2s^2} - 1}{2\alpha s}$: $0.61803398875$ at $\alpha s = 1$, $0.7047$ at $1.4$",
        assumptions=("tokens that carry the masses of a Gaussian", r"scores $\langle Ax, y\rangle$"),
        spec=ONE_STEP,
        cites=("sander2022", *CAP),
        source_status=DERIVED,
    ),
    constant("softmax", "the slope is alpha s, as for softmax", slope=lambda strength: strength),
    bug("transposed", "C stands for its transpose", mirrored=True),
    hypothesis("two-sweeps", "the columns are normalised twice only", sweeps=2),
)
def test_slope(run, *, slope=None, mirrored=False, sweeps=None):
    printed = {1.0: "0.61803398875", 1.4: "0.7047"}
    for alpha, s in run.pick(quick=((1.0, 1.0), (1.4, 1.0)), paper=((1.0, 1.0), (1.4, 1.0), (-0.5, 2.0), (0.25, 4.0))):
        roots = [np.array([[math.sqrt(s)]])] * 2
        form = np.array([[alpha]])
        c, bent = attended(12.0, 401, roots, [alpha * s], form, sweeps=sweeps)
        measured = c[0, 0] / s
        strength = ball(alpha) * ball(s)
        claimed = ((1 + 4 * strength**2).sqrt() - 1) / (2 * strength) if slope is None else slope(strength)
        yield equals(measured, hull(claimed), scale=1, alpha=alpha, s=s, part="line")
        if s == 1.0:
            yield equals(measured, Interval.printed(printed[alpha]), scale=1, alpha=alpha, part="printed")
        if alpha * s == 1.0:
            golden = (ball(5).sqrt() - 1) / 2
            yield equals(measured, hull(golden), scale=1, alpha=alpha, s=s, part="golden ratio")
        yield at_most(bent, 3e-9, scale=1, alpha=alpha, part="not affine")
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    strengths = [0.5, 0.25]
    for root in run.pick(quick=(PLANE,), paper=(PLANE, np.array([[0.75, 0.0], [0.5, 0.5]]))):
        roots = [root, root @ turn]
        form = (np.linalg.inv(roots[0]).T * strengths @ np.linalg.inv(roots[1])).T
        c, _ = attended(7.0, 21, roots, strengths, form, sweeps=sweeps)
        sigma = balls(root) @ balls(root).T
        claimed = coupling(sigma, balls(form)) if slope is None else sigma @ balls(form).T @ sigma
        yield equals(c, claimed.T if mirrored else claimed, scale=1, part="plane")


SYSTEM = ("kernel", "value", "first", "second", "start")


def sinkhorn_clock(m):
    """Theta - coth(theta / 2) with sinh theta = 2 m."""
    power = 2 * m + (1 + 4 * m * m).sqrt()
    return power.log() - (power + 1) / (power - 1)


CLOCKS = {
    "softmax": lambda m: -1 / m,
    "distance": lambda m: m.log() - 1 / m,
    "sinkhorn": sinkhorn_clock,
}


def read(kernel, m):
    """A clock at an enclosed number: all of them rise."""
    ends = [hull(CLOCKS[kernel](ball(end))) for end in (m.lo, m.hi)]
    return Interval(ends[0].lo, ends[1].hi, m.kind)


@verifies(
    Claim(
        "gaussian-flow.eigenvectors",
        "with a symmetric form and the value one, the axes of the scaled covariance stay and its eigenvalues keep time",
        r"$M = A^{1/2}\Sigma A^{1/2}$ has $\dot M = 2M^2$, $2M^2(1 + M)^{-1}$, $\sqrt{1 + 4M^2} - 1$: constant eigenvectors, and $-\frac1\lambda$, $\log\lambda - \frac1\lambda$, $\theta - \coth\frac\theta2$ ($\sinh\theta = 2\lambda$) grow at rate $2$",
        assumptions=(
            r"$A \succ 0$ symmetric, $V = I$",
            "softmax, distance with $2Q^\\top K = 2K^\\top K = A$, Sinkhorn",
        ),
        spec=("FR.F07", "FR.F08"),
        source_status=("derived",),
    ),
    constant("slower", "the clocks go at rate 1.9", rate=1.9),
    bug("unscaled", "the covariance itself keeps its axes", scaled=False),
    hypothesis("skew", "the form has an antisymmetric part", form="skew"),
)
def test_eigenvectors(run, *, rate=2.0, scaled=True, form="symmetric"):
    table = run.study(studies.gaussian_ellipses).where(form=form)
    key = np.vectorize(Interval.exactly)(settings.KEY) if scaled else np.vectorize(Interval.exactly)(np.eye(2))
    for kernel in CLOCKS:
        part = table.where(kernel=kernel)
        scaled_by_form = [
            2.0 * (key @ symmetric(part, k) @ key) for k in range(len(part))
        ]  # A^(1/2) is K times root two
        first = scaled_by_form[0]
        for t, m in zip(part["t"].tolist(), scaled_by_form, strict=True):
            turned = m[0, 1] * (first[0, 0] - first[1, 1]) - first[0, 1] * (m[0, 0] - m[1, 1])
            yield equals(turned, 0, scale=1, kernel=kernel, t=t, part="commutes")
            for name, now, start in zip(("longer", "shorter"), lengths(m), lengths(first), strict=True):
                gone = read(kernel, now) - read(kernel, start)
                yield equals(gone, Interval.exactly(rate) * t, scale=1, kernel=kernel, t=t, part=name)


def systems(table, *, growing, kernels):
    """The systems on the line, with their rows."""
    keys = sorted(set(zip(*(table[name].tolist() for name in SYSTEM), strict=True)))
    for key in keys:
        if key[0] in kernels and (key[2] > 0.0) is growing:
            yield key, table.where(**dict(zip(SYSTEM, key, strict=True)))


def strength(kernel, first, second):
    """By what a variance is multiplied in a clock: alpha, or 2 k^2."""
    return 2 * ball(second) ** 2 if kernel == "distance" else ball(first)


@verifies(
    Claim(
        "gaussian-flow.clocks",
        "on the line, an elementary function of the variance tells the time",
        r"$\tau(s(t)) - \tau(s_0) = 2vt$ with $\tau = -\frac1{\alpha s}$ (softmax), $\theta - \coth\frac\theta2$, $\sinh\theta = 2\alpha s$ (Sinkhorn); $2v\frac qkt$ with $\tau = \log m - \frac1m$, $m = 2k^2s$ (distance); also for $\alpha < 0$",
        assumptions=(r"$d = 1$",),
        spec=("FR.F08",),
        source_status=("derived",),
    ),
    constant("slower", "the clocks go at rate 1.9 v", rate=1.9),
    bug("half", "sinh theta is alpha s", clocks=CLOCKS | {"sinkhorn": lambda m: sinkhorn_clock(m / 2)}),
    hypothesis(
        "one-kernel", "softmax tells the time for Sinkhorn too", clocks=CLOCKS | {"sinkhorn": CLOCKS["softmax"]}
    ),
)
def test_clocks(run, *, rate=2.0, clocks=CLOCKS):
    table = run.study(studies.gaussian_growth)
    for growing in (True, False):
        for (kernel, v, first, second, start), part in systems(table, growing=growing, kernels=tuple(CLOCKS)):
            factor = strength(kernel, first, second)
            speed = hull(ball(rate) * ball(v) * (ball(first) / ball(second) if second else 1))
            zero = hull(clocks[kernel](factor * ball(start)))
            for t, log in zip(part.intervals("t"), part.intervals("log"), strict=True):
                ends = [hull(clocks[kernel](factor * ball(end).exp())) for end in (log.lo, log.hi)]
                ends = ends if growing else ends[::-1]
                gone = Interval(ends[0].lo, ends[1].hi, log.kind) - zero
                yield equals(gone - speed * t, 0, scale=1.0 + t.hi, kernel=kernel, v=v, first=first, t=t.mid)


@verifies(
    Claim(
        "gaussian-flow.growth",
        "softmax blows up, Sinkhorn grows exponentially at a rate that does not know the scores, distance at one that does",
        r"$d = 1$, $v, \alpha > 0$: softmax blows up at $1/(2v\alpha s_0)$; $\frac{\log s}t \to 2v$ for Sinkhorn, whatever $\alpha$; $\frac{\log s}t \to 2v\frac qk$ for $e^{-(qx - ky)^2}$, which is $1.07692$ at $q = 0.7$, $k = 1.3$",
        assumptions=(r"$d = 1$, $v > 0$, $\alpha > 0$, $\frac qk > 0$",),
        spec=("FR.F08",),
        cites=CAP,
        source_status=("seen", "derived", "refereed"),
    ),
    constant("sooner", "softmax blows up at half of that time", share=0.5),
    constant("strength", "the rate of Sinkhorn grows with the scores, 2 v alpha", strong=True),
    bug("inverted", "k / q stands for q / k", inverted=True),
    hypothesis("repelling", "the scores of Sinkhorn repel", growing=False),
)
def test_growth(run, *, share=1.0, strong=False, inverted=False, growing=True):
    table = run.study(studies.gaussian_growth)
    for (_, v, alpha, _, start), part in systems(table, growing=True, kernels=("softmax",)):
        claimed = share / (Interval.exactly(2.0 * v) * alpha * start)
        case = {"kernel": "softmax", "v": v, "alpha": alpha}
        yield equals(limit(part.intervals("t"), ratio=2.0, order=1), claimed, scale=1, part="blow-up", **case)
        yield at_most(part.intervals("t")[-1], claimed, scale=1, part="before", **case)
    chosen = [
        *systems(table, growing=True, kernels=("distance",)),
        *systems(table, growing=growing, kernels=("sinkhorn",)),
    ]
    for (kernel, v, first, second, start), part in chosen:
        ratio = Interval.exactly(first) / second if second else Interval.exactly(first if strong else 1.0)
        claimed = 2.0 * v * (1.0 / ratio if inverted and second else ratio)
        case = {"kernel": kernel, "v": v, "first": first, "second": second, "start": start}
        logs = part.intervals("log")[-5:]
        times = part["t.lo"].tolist()[-5:]
        slopes = [log / t for log, t in zip(logs, times, strict=True)]
        yield equals(limit(slopes, ratio=2.0, order=1), claimed, part="rate", **case)
        if (kernel, first, second) == ("distance", 0.7, 1.3):
            yield equals(claimed, Interval.printed("1.07692"), part="printed", **case)
        windows = [(b - a) / (t - s) for (a, s), (b, t) in pairwise(zip(logs, times, strict=True))]
        for number, (before, after) in enumerate(pairwise(windows)):
            yield at_most(
                abs(after - claimed), abs(before - claimed) / 2.0, scale=1, part="windows", window=number, **case
            )


def shrunk(log):
    """The exponential of an enclosed logarithm."""
    ends = [hull(ball(end).exp()) for end in (log.lo, log.hi)]
    return Interval(ends[0].lo, ends[1].hi, log.kind)


@verifies(
    Claim(
        "gaussian-flow.decay",
        "if the scores repel, the variance falls like 1/t, with the same constant for Sinkhorn as for softmax",
        r"$\alpha < 0$: $s\,t \to \frac1{2v|\alpha|}$, for softmax and for Sinkhorn",
        assumptions=(r"$d = 1$, $v > 0$, $\alpha < 0$",),
        spec=("FR.F08", "FR.F07"),
        cites=CAP,
        source_status=DERIVED,
    ),
    constant("no-factor-two", "the limit is 1 / (v |alpha|)", factor=1.0),
    bug("no-value", "v is left out", valued=False),
    hypothesis("attracting", "the scores attract", growing=True),
)
def test_decay(run, *, factor=2.0, valued=True, growing=False):
    table = run.study(studies.gaussian_growth)
    for (kernel, v, alpha, _, start), part in systems(table, growing=growing, kernels=("softmax", "sinkhorn")):
        case = {"kernel": kernel, "v": v, "alpha": alpha, "start": start}
        logs, times = part.intervals("log")[-6:], part.intervals("t")[-6:]
        products = [shrunk(log) * t for log, t in zip(logs, times, strict=True)]
        claimed = 1.0 / (Interval.exactly(factor * (v if valued else 1.0)) * abs(alpha))
        yield equals(limit(products, ratio=2.0, order=1), claimed, scale=1, part="limit", **case)
        yield at_most(products[-1], 1.5 * claimed, scale=1, part="last", **case)
