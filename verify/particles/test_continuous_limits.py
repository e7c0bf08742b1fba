"""Self-attention in continuous time: residual layers tend to the flow, which composes, and Gaussians stay Gaussian."""

import math

import numpy as np

from theory import Measure
from theory.attention import (
    AttentionKernel,
    DotProduct,
    Residual,
    SelfAttention,
    SquaredDistance,
    Stack,
    gaussian,
)
from theory.evidence import (
    Claim,
    Interval,
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
from theory.particles import SoftmaxField, flow
from verify.textbook import hull

MTA = ("vuckovic2020",)
FLOWS = ("sander2022", *MTA)
PLAIN = DotProduct(scale=1.0)
LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # of the coarser run; the width tells what is left
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


@once
def network(points, layers, *, horizon=1.0, frozen=False):
    """The tokens after residual layers of step horizon / layers, each at the current measure or at the first."""
    start = Measure(points)
    layer = Residual(SelfAttention(PLAIN, horizon / layers * np.eye(points.shape[1])))
    if not frozen:
        return Stack((layer,) * layers).push(start).points
    for _ in range(layers):
        points = layer(points, start)
    return points


@once
def flowed(points):
    """Where the flow takes the tokens in unit time, enclosed."""
    return flow(SoftmaxField(PLAIN), points, [0.0, 1.0], **LOOSE).enclosed()[1]


@verifies(
    Claim(
        "particle.layers",
        "residual layers of step 1/L tend to the flow, with an error of order 1/L",
        r"$X_{l + 1} = X_l + \frac1L\Gamma_{m(X_l)}(X_l)$: $|X_L - X(1)| \sim L^{-1}$; tokens $\pm1$: $c$ with $\int_1^{c^2}\frac{dv}{2v\tanh v} = 1$, and $\operatorname{arsinh}(e\sinh1)$ if the measure is frozen",
        assumptions=("finite tokens", "dot products"),
        spec=("MA.T3",),
        cites=FLOWS,
        source_status=("recalled", "derived"),
    ),
    bug("frozen", "every layer attends to the measure that entered the first", frozen=True),
    constant("second-order", "the error is of order 1/L^2", rate=2.0),
    constant("slower", "two tokens move at half of their pace", pace=0.5),
    hypothesis("longer", "the steps sum to five quarters", horizon=1.25),
)
def test_layers(run, *, frozen=False, rate=1.0, horizon=1.0, pace=1.0):
    depths = run.pick(quick=(16, 32, 64, 128), paper=(32, 64, 128, 256, 512))
    pair = np.array([[-1.0], [1.0]])
    # a layer rounds by a few units, and what follows at most triples it
    rounded = 64 * depths[-1] * U * Interval(-1.0, 1.0)
    clouds = [("pair", pair)]
    clouds += [("random", rng.normal(size=(5, 2)) / 2.0) for rng in run.draws(quick=1, paper=4)]
    for name, x in clouds:
        end = flowed(x)
        size = float(np.abs(end.mid).max())
        found = [exact(network(x, depth, horizon=horizon, frozen=frozen)) + rounded * size for depth in depths]
        errors = [abs(each - end).max() for each in found]
        yield equals(order(errors), rate, scale=1, input=name, part="order")
        for at in ((0, 0), (-1, -1)):
            measured = limit([each[at] for each in found], order=1)
            yield equals(measured, end[at], scale=1, input=name, part="limit")
        if name == "pair":
            square = end[1, 0] ** 2
            times = [hull(integral_over(_slowness, 1, ball(end))) for end in (square.lo, square.hi)]
            yield equals(Interval(times[0].lo, times[1].hi, square.kind), pace, input=name, part="closed form")
            chain = [exact(network(x, depth, frozen=True)[1, 0]) + rounded * size for depth in depths]
            other = ball(pace).exp() * ball(1).sinh()
            yield equals(limit(chain, order=1), hull(other.asinh()), input=name, part="if frozen")


def _slowness(v):
    """The time that u = c^2 spends per unit of itself: 1 / (2 u tanh u)."""
    up = (2 * v).exp()
    return (up + 1) / (2 * v * (up - 1))


@verifies(
    Claim(
        "particle.semigroup",
        "to run on from the measure at an earlier time is to run through: one layer after another is a flow of measures",
        r"$\Phi_{s + t} = \Phi_t\circ\Phi_s$ for $\dot x_i = \Gamma_{\mu_t}(x_i) + \phi(x_i)$; layers of attention and of $\phi$ by turns, step $1/L$, tend to it",
        assumptions=("finite tokens", r"$\phi$ smooth", "up to a time at which the solution exists"),
        spec=("MA.T3",),
        cites=FLOWS,
        source_status=("derived",),
    ),
    bug("frozen", "the second run attends to the measure of the start", frozen=True),
    constant("time", "the runs last five per cent longer together", stretch=1.05),
    hypothesis("alone", "the feed-forward part is left out of the layers", alone=True),
)
def test_semigroup(run, *, frozen=False, stretch=1.0, alone=False):
    def forward(x):
        return 0.5 * np.tanh(x @ TURN.T)

    for rng in run.draws(quick=2, paper=6):
        x = rng.normal(size=(5, 2)) / 2.0
        start = Measure(x)

        def current(y):
            return SoftmaxField(PLAIN)(y) + forward(y)

        def second(y, start=start):
            return (
                (AttentionKernel(PLAIN, start).output(y) + forward(y))
                if frozen
                else SoftmaxField(PLAIN)(y) + forward(y)
            )

        through = flow(current, x, [0.0, stretch], **LOOSE).enclosed()[1]
        first = flow(current, x, [0.0, 0.4], **LOOSE).enclosed()[1]
        # what the first run is off by grows at most as the flow expands, here below e^3
        grown = 20.0 * first.radius.max() * Interval(-1.0, 1.0)
        onward = flow(second, first.mid, [0.0, 0.6], **LOOSE).enclosed()[1] + grown
        size = float(np.abs(through.mid).max())
        yield equals(onward - through, 0, scale=size, part="composition")
        ends = []
        for depth in run.pick(quick=(8, 16, 32, 64), paper=(32, 64, 128, 256)):
            attention = Residual(SelfAttention(PLAIN, np.eye(2) / depth))
            y = start
            for _layer in range(depth):
                y = Stack((attention,)).push(y)
                y = y if alone else y.push_forward(lambda z, step=1.0 / depth: z + step * forward(z))
            rounded = 128 * depth * U * y.points.size * size**2
            ends.append((exact(y.points) ** 2).sum() + Interval(-rounded, rounded))
        yield equals(limit(ends, order=1), (through**2).sum(), scale=size**2, part="by turns")


def deviation(points, masses):
    """The standard deviation of weighted points on the line."""
    return math.sqrt(float(masses @ (points - masses @ points) ** 2))


def lambert(growing, s, beta, t):
    """The claimed standard deviation at time t, by Lambert's W, in balls: growing under Gamma, else relaxing."""
    q = 2 * ball(beta) * ball(s) ** 2
    inner = (1 / q) * (1 / q - 2 * ball(t)).exp() if growing else q * (q - 2 * ball(t)).exp()
    return ((1 / inner.lambertw() if growing else inner.lambertw()) / (2 * ball(beta))).sqrt()


@verifies(
    Claim(
        "particle.gaussian",
        "under distance attention a Gaussian on the line stays one, with mean and spread in closed form",
        r"$\dot x = \Gamma_{\mu_t}(x)$: $\dot s = \frac{2\beta s^3}{1 + 2\beta s^2}$, $2\beta s^2 = 1/W\big(\frac{e^{1/q - 2t}}q\big)$, $q = 2\beta s_0^2$, mean $m_0e^t$; $\dot x = \Gamma - x$: $\dot s = \frac{-s}{1 + 2\beta s^2}$, $2\beta s^2 = W(qe^{q - 2t})$, mean kept; $N$ quantile tokens are within $1/N$ of that spread",
        assumptions=(r"$a(x, y) = -\beta|x - y|^2$", "value matrix the identity", r"$d = 1$"),
        spec=("MA.T4",),
        cites=("castin2024", "corless1996"),
        source_status=("derived",),
    ),
    constant("half", "beta stands where twice beta belongs", double=0.5),
    constant("still", "the mean stays, whether tokens relax or not", pace=0.0),
    bug("no-prior", "the query alone is read, without the mean of the tokens: the spread grows like e^t", prior=False),
    hypothesis("two-atoms", "the law has two equal atoms instead of a Gaussian density", atoms=True),
)
def test_gaussian(run, *, double=1.0, pace=1.0, prior=True, atoms=False):
    mean, spread = 0.3, 0.7
    for beta, t in run.pick(quick=((0.5, 1.0),), paper=((0.5, 0.5), (0.5, 1.0), (0.25, 1.5), (0.1, 1.0))):
        mu = Measure([[mean - spread], [mean + spread]]) if atoms else gaussian([mean], [[spread]])
        field = SoftmaxField(SquaredDistance(beta), weights=mu.weights)
        for growing in (True, False):
            path = flow(lambda x, f=field, g=growing: f(x) - (0.0 if g else x), mu.points, [0.0, t], **LOOSE)
            far = float(np.abs(path.last).max())
            # besides, masses and tokens of the lattice round, and its sums: all relative to its reach
            slip = covariance_error(far, mu.size, relative=64 * U) / spread
            found = path.observe(lambda x, m=mu.weights: deviation(x[:, 0], m))[1] + Interval(-slip, slip)
            claimed = lambert(growing, spread, double * beta, t)
            claimed = claimed if prior or not growing else ball(spread) * ball(t).exp()
            yield equals(found, hull(claimed), growing=growing, beta=beta, t=t, part="spread")
            centre = path.observe(lambda x, m=mu.weights: float(m @ x[:, 0]))[1]
            shift = average_error(far, mu.size, relative=64 * U)
            centre += Interval(-shift, shift)
            grown = hull(ball(mean) * (ball(pace * t).exp() if growing else 1))
            yield equals(centre, grown, growing=growing, beta=beta, t=t, part="mean")
            tokens = exact(mu.points)
            moving = field(tokens)[:, 0] - (0.0 if growing else tokens[:, 0])
            rate = mu.weights @ (moving * (tokens[:, 0] - mean)) / spread
            q = 2 * ball(double) * ball(beta) * ball(spread) ** 2
            speed = ball(spread) * ((q if growing else -1) / (1 + q))
            yield equals(rate + 4.0 * Interval(-slip, slip), hull(speed), growing=growing, beta=beta, part="rate")
        sizes = run.pick(quick=(32, 64, 128, 256), paper=(64, 128, 256, 512, 1024))
        claimed = hull(lambert(True, spread, double * beta, t))
        for n in sizes:
            points = mean + spread * quantiles(n)
            path = flow(SoftmaxField(SquaredDistance(beta)), points[:, np.newaxis], [0.0, t], **LOOSE)
            found = path.observe(lambda x: deviation(x[:, 0], np.full(len(x), 1.0 / len(x))))[1]
            yield at_most(n * abs(found - claimed), 1, beta=beta, t=t, n=n, part="quantiles")


def quantiles(n):
    """The quantiles of the standard normal law at the odd multiples of 1 / 2n."""
    from scipy.special import ndtri  # noqa: PLC0415

    return ndtri((np.arange(n) + 0.5) / n)
