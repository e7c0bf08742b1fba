"""Self-attention in continuous time: the flow transports measures, and tokens that jump spread more than it."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import (
    AttentionKernel,
    DotProduct,
    Softmatch,
    SquaredDistance,
)
from theory.evidence import Claim, Interval, at_least, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.particles import SoftmaxField, UnnormalisedField, flow
from verify import textbook
from verify.textbook import balls, exp, hull

MTA = ("vuckovic2020",)
FLOWS = ("sander2022", *MTA)
PLAIN = DotProduct(scale=1.0)
LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # of the coarser run; the width tells what is left
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])
NEAR = SquaredDistance(0.5)
SMALL = 0.1  # the weight of a token in a sum


@verifies(
    Claim(
        "particle.transport",
        "the flow moves the empirical measure as it moves the tokens, whatever their order and multiplicity, at all times",
        r"$\dot x_i = \Gamma_{\mu_t}(x_i)$, $\mu_t = m(X_t)$: $m(X_0) = m(Y_0)$ implies $m(X_t) = m(Y_t)$; copies stay together, weights are multiplicities, orders are kept",
        assumptions=("no mask",),
        spec=("MA.T1",),
        cites=FLOWS,
        source_status=("derived", "refereed on paper"),
    ),
    bug("sum", "the attention sums over the tokens instead of averaging", normalised=False),
    hypothesis("multiplicity", "equal tokens are merged but keep the weight of one", counted=False),
    hypothesis("causal", "each token sees those before it only", causal=True),
)
def test_transport(run, *, normalised=True, counted=True, causal=False):
    def moved(points, masses=None):
        own = np.ones(len(points)) if masses is None else masses
        field = (
            SoftmaxField(NEAR, TURN, own, causal) if normalised else UnnormalisedField(NEAR, TURN, SMALL * own, causal)
        )
        return flow(field, points, times, **LOOSE).enclosed()

    times = np.array([0.0, 0.3, 0.8])
    for rng in run.draws(quick=2, paper=6):
        n = int(rng.integers(3, 7))
        x, counts = rng.normal(size=(n, 2)) / 2.0, np.arange(n) % 3 + 1
        turned = rng.permutation(n)[::-1] if n > 3 else np.array([2, 0, 1])
        base = moved(x)
        clouds = {
            "order": ((x[turned],), (x,)),
            "replicas": ((np.repeat(x, 3, axis=0),), (x,)),
            "merged": ((x, counts if counted else np.ones(n)), (np.repeat(x, counts, axis=0),)),
        }
        for part, (one, two) in clouds.items():
            left = moved(*one)
            right = base if two[0] is x else moved(*two)
            weights = one[1] if len(one) == 2 else np.ones(len(one[0]))
            for k in (1, 2):
                size = float(np.abs(right[k].mid).max())
                apart = w1(Measure.normalised(left[k], weights), Measure.normalised(right[k], np.ones(len(right[k]))))
                yield equals(apart, 0, scale=size, part=part, n=n, t=times[k])
            if part == "order":
                yield equals(left[2] - right[2][turned], 0, scale=size, part="equivariance", n=n)
            if part == "replicas":
                together = left[2] - np.repeat(left[2][::3], 3, axis=0)
                yield equals(together, 0, scale=size, part="together", n=n)


def probes(x):
    """Three test functions of tokens in the plane and their gradients."""
    wave = x @ np.array([1.0, -2.0])
    values = np.stack([(x**2).sum(axis=1), np.cos(wave), np.exp(x[:, 0])], axis=1)
    slopes = [2.0 * x, -np.sin(wave)[:, np.newaxis] * np.array([1.0, -2.0]), np.exp(x[:, :1]) * np.array([1.0, 0.0])]
    return values, slopes


@verifies(
    Claim(
        "particle.continuity",
        "along the flow the mean of a function changes by the mean of its slope along the attention",
        r"$\frac{d}{dt}\mu_t(\varphi) = \mu_t(\langle\nabla\varphi, \Gamma_{\mu_t}\rangle)$, also integrated over time",
        assumptions=("finite tokens with masses",),
        spec=("MA.T1",),
        cites=FLOWS,
        source_status=("derived", "refereed on paper"),
    ),
    bug("frozen", "the attention is that of the measure at the start", frozen=True),
    bug("even", "the tokens have equal masses in the mean", weighted=False),
    constant("once", "the slope has one per cent more", factor=1.01),
)
def test_continuity(run, *, frozen=False, weighted=True, factor=1.0):
    for rng in run.draws(quick=3, paper=30):
        n = int(rng.integers(3, 8))
        x = rng.normal(size=(n, 2)) / 2.0
        masses = rng.dirichlet(np.full(n, 2.0))
        law = masses if weighted else np.full(n, 1.0 / n)
        # at once: a power series in balls through the printed velocities
        mu = Measure.normalised(x, masses)
        kernel = AttentionKernel(PLAIN, mu, TURN)
        outputs = kernel.output(exact(x))
        slopes = [law @ (slope * outputs).sum(axis=1) for slope in probes(exact(x))[1]]
        printed = textbook.average(textbook.dot_scores(x, x, beta=1), x, masses) @ balls(TURN).T
        line = balls(x) + printed * variable(2)
        wave = line[:, 0] - 2 * line[:, 1]
        series = [(line**2).sum(axis=1), np.frompyfunc(lambda s: s.cos(), 1, 1)(wave), exp(line[:, 0])]
        for name, slope, terms in zip(("square", "wave", "exponential"), slopes, series, strict=True):
            size = float(np.exp(np.abs(x).max()) * 4.0 * (1.0 + np.abs(outputs.mid).max()))
            claimed = hull(coefficient((balls(masses) * terms).sum(), 1))
            yield equals(factor * slope, claimed, scale=size, part="rate", test=name, n=n)

        def field(state, x=x, masses=masses, law=law, mu=mu):
            tokens = state[:-2]
            moving = SoftmaxField(PLAIN, value=TURN, weights=masses)(tokens)
            read = AttentionKernel(PLAIN, mu, TURN).output(tokens) if frozen else moving
            rates = [float(law @ (g * read).sum(axis=1)) for g in probes(tokens)[1]]
            return np.vstack([moving, np.append(rates, 0.0).reshape(2, 2)])

        path = flow(field, np.vstack([x, np.zeros((2, 2))]), [0.0, 0.8], **LOOSE)
        for k, name in enumerate(("square", "wave", "exponential")):
            change = path.observe(lambda s, k=k, m=masses: float(m @ probes(s[:-2])[0][:, k]))
            summed = factor * path.observe(lambda s, k=k: float(s[-2:].ravel()[k]))[1]
            yield equals(change[1] - change[0], summed, scale=1, part="integral", test=name, n=n)


@verifies(
    Claim(
        "particle.jump",
        "tokens that jump to a drawn key spread more than those that jump to its mean, and these more than those that flow there",
        r"rates of $\mu(|x|^2)$: $\mu(S|x|^2) - \mu|x|^2 \ge \mu|\Gamma|^2 - \mu|x|^2 \ge 2\mu\langle x, \Gamma - x\rangle$, apart by $\mu(\mathrm{Var}_S)$ and $\mu|\Gamma - x|^2$, together the mean squared jump; the mean moves alike; tokens $\pm1$: $0$, $\tanh^2\beta - 1$, $2(\tanh\beta - 1)$",
        assumptions=("value matrix the identity", "jumps at rate one, relaxing flow $\\dot x = \\Gamma - x$"),
        spec=("MA.T2",),
        cites=MTA,
        source_status=("derived",),
    ),
    constant("same-law", "jumps to the mean keep the second moment of the two tokens", power=0),
    constant("power", "two tokens lose 1 - tanh(beta) by jumps to the mean", power=1),
    bug("once", "the flow loses the mean squared jump once more", twice=2),
    hypothesis("value", "the value matrix is two per cent above the identity", value=1.02),
)
def test_jump(run, *, power=2, twice=1, value=1.0):
    clouds = [("pair", beta, np.array([[-1.0], [1.0]]), np.full(2, 0.5)) for beta in (0.25, 1.0, 3.0)]
    for rng in run.draws(quick=10, paper=200):
        n = int(rng.integers(2, 15))
        clouds.append(("random", 1.0, rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))))
    for name, beta, x, masses in clouds:
        mu = Measure.normalised(x, masses)
        score = DotProduct(scale=beta)
        match = Softmatch(score, mu)
        kernel = AttentionKernel(score, mu, value * np.eye(mu.dim))
        tokens = exact(x)
        m = mu.weights
        size = float((x**2).sum(axis=1).max())
        rows = match.rows(tokens)
        outputs = kernel.output(tokens)
        squares = (tokens**2).sum(axis=1)
        jump = m @ (rows @ squares) - m @ squares
        mean = m @ ((outputs**2).sum(axis=1) - squares)
        drift = 2.0 * m @ (tokens * (outputs - tokens)).sum(axis=1)
        law = textbook.laws(textbook.dot_scores(x, x, beta=beta), m)
        y = balls(x)
        apart = ((y[:, np.newaxis] - y) ** 2).sum(axis=2)
        squared = hull((balls(m) * (law * apart).sum(axis=1)).sum())
        case = {"input": name, "n": mu.size, "beta": beta}
        yield equals(jump - drift, twice * squared, scale=size, part="squared jump", **case)
        yield at_least(jump - mean, 0, scale=size, part="order", **case)
        yield at_least(mean - drift, 0, scale=size, part="order", **case)
        yield equals(m @ (rows @ tokens) - m @ outputs, 0, scale=math.sqrt(size), part="mean", **case)
        if name == "pair":
            t = ball(beta).tanh()
            for found, claimed in ((jump, 0), (mean, hull(t**power - 1)), (drift, hull(2 * (t - 1)))):
                yield equals(found, claimed, scale=1, part="two tokens", **case)
    # the relaxing pair at +-c: u = beta c^2 has u' = -4 u / (e^{2u} + 1), so that its time is an exponential integral
    u = flow(lambda c: value * SoftmaxField(PLAIN)(c) - c, [[-1.0], [1.0]], [0.0, 1.0], **LOOSE).observe(
        lambda c: float(c[1, 0] ** 2)
    )
    ends = [ball(end) for end in (u[1].lo, u[1].hi)]
    spent = [hull((ball(2).ei() - (2 * end).ei() - end.log()) / 4) for end in ends]
    yield equals(Interval(spent[1].lo, spent[0].hi, u[1].kind), 1, part="run of two tokens")
