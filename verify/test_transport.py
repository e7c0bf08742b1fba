"""Self-attention is nonlinear Markov transport: consistency, projection, networks, and Gaussian measures in closed form."""

import numpy as np

from theory import Measure, w1
from theory.attention import (
    AttentionKernel,
    DotProduct,
    FeedForward,
    MultiHead,
    Residual,
    SelfAttention,
    Softmatch,
    Stack,
    rounding,
    step,
    studies,
    weight_error,
)
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    hypothesis,
    stream,
    total,
    verifies,
)
from theory.evidence.roundoff import gamma
from verify import textbook
from verify.textbook import balls, gap

MTA = ("vuckovic2020",)
PLAIN = DotProduct(scale=1.0)
WIDTH = 16  # wider tokens enter the network through a seeded projection


def apart(mu, nu, error):
    """W1 between two computed clouds, each point of which is off by at most ``error`` in each coordinate."""
    return w1(mu, nu) + Interval.within(0.0, error * np.sqrt(mu.dim) * (1 + gamma(4)))


@verifies(
    Claim(
        "transport.empirical",
        "one layer moves the empirical measure as it moves the tokens, whatever their order and multiplicity",
        r"$m(X)A_{m(X)} = m(F(X))$; repeating every token $k$ times, permuting tokens, or merging equal ones changes nothing",
        spec=("MA.T1",),
        cites=MTA,
        provenance=("derived", "refereed on paper"),
    ),
    bug("sum", "the attention sums over the tokens instead of averaging", normalised=False),
    hypothesis("multiplicity", "equal tokens are merged but keep the weight of one", counted=False),
)
def test_empirical(run, *, normalised=True, counted=True):
    layer = SelfAttention(PLAIN)

    def moved(mu):
        points = layer(mu.points, mu)
        if not normalised:  # the sum of exp(score) times value: mean times size times partition
            points = points * (mu.size * np.exp(Softmatch(PLAIN, mu).log_partition(mu.points)))[:, np.newaxis]
        return Measure(points, mu.weights)

    for rng in run.streams(run.pick(quick=12, paper=100)):
        n, copies = int(rng.integers(2, 12)), int(rng.integers(2, 5))
        x = rng.normal(size=(n, 2))
        mu, size = Measure(x), float(np.abs(x).max())
        error = 2 * rounding(np.tile(x, (copies, 1)), np.tile(x, (copies, 1)), np.tile(x, (copies, 1)), score=PLAIN)
        claimed = textbook.average(textbook.dot_scores(x, x, beta=1), x)
        yield equals(gap(moved(mu).points, claimed, error), 0, scale=size, part="tokens", n=n)
        yield equals(apart(moved(mu.replicate(copies)), moved(mu), 2 * error), 0, scale=size, part="replicas", n=n)
        order = rng.permutation(n)
        yield equals(apart(moved(Measure(x[order])), moved(mu), 2 * error), 0, scale=size, part="order", n=n)
        counts = rng.permuted(np.arange(n) % 3 + 1)
        merged = Measure.normalised(x, counts if counted else np.ones(n))
        written = Measure(np.repeat(x, counts, axis=0))
        yield equals(apart(moved(merged), moved(written), 4 * error), 0, scale=size, part="merged", n=n)


@verifies(
    Claim(
        "transport.displacement",
        "the distance travelled lies between the shift of the mean and the mean displacement",
        r"$|\int x\,d\mu - \int x\,d\mu A_\mu| \le W_1(\mu, \mu A_\mu) \le \int |x - \Gamma_\mu(x)|\,\mu(dx)$",
        spec=("MA.T1",),
        cites=("villani2009", *MTA),
        provenance=("derived",),
    ),
    constant("shorter", "the mean displacement is one per cent too long a bound", upper=0.99),
    constant("longer", "the shift of the mean is one per cent too short a bound", lower=1.01),
)
def test_displacement(run, *, upper=1.0, lower=1.0):
    table = run.study(studies.transport)
    x, y = (np.column_stack([table[f"{name}1"], table[f"{name}2"]]) for name in "xy")
    lone = np.array([[0.6, -0.8]])  # a Dirac mass travels its whole displacement
    for name, start, end, masses in (("cloud", x, y, table["weight"]), ("dirac", lone, 2.0 * lone, np.ones(1))):
        weights = Measure.normalised(start, masses).weights
        travelled = w1(Measure(start, weights), Measure(end, weights))
        size = float(np.abs(start).max() + np.abs(end).max())
        length = total(weights * np.hypot(*(start - end).T), gamma(8) * weights * size)
        shift = textbook.hull((((balls(weights) @ (balls(start) - balls(end))) ** 2).sum()).sqrt())
        yield at_most(travelled, upper * length, cloud=name)
        yield at_least(travelled, lower * shift, scale=size, cloud=name)


@verifies(
    Claim(
        "transport.convex-order",
        "without the projection the transport keeps the mean and has the larger variance",
        r"$\mathrm{Var}(\mu S_\mu) \ge \mathrm{Var}(\mu A_\mu)$ with equal means; for $\frac12(\delta_{-1} + \delta_1)$: $1$ and $\tanh^2\beta$",
        assumptions=("value matrix the identity",),
        spec=("MA.T2",),
        cites=MTA,
        provenance=("derived", "refereed"),
    ),
    hypothesis("same-law", "both transports have the same law", projected=False),
    constant("power", "the projected variance is tanh(beta), not its square", power=1),
    constant("factor", "the variance without projection is larger by one per cent at least", factor=1.01),
)
def test_convex_order(run, *, projected=True, power=2, factor=1.0):
    pair = Measure([[-1.0], [1.0]])
    for beta in (0.25, 1.0, 3.0, 20.0):
        score = DotProduct(scale=beta)
        error = 8 * (weight_error(pair.points, pair.points, score) + gamma(16))
        free = Interval.within(Softmatch(score, pair).push(pair).variance(), error)
        held = Interval.within(AttentionKernel(score, pair).push(pair).variance(), error)
        tanh = textbook.hull(balls(beta).item().tanh())
        yield equals(free, 1, beta=beta)
        yield equals(held, tanh**power if projected else 1, beta=beta)
        yield at_least(free, factor * held, beta=beta)
    for rng in run.streams(run.pick(quick=15, paper=200)):
        n = int(rng.integers(2, 20))
        mu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)))
        free, held = Softmatch(PLAIN, mu).push(mu), AttentionKernel(PLAIN, mu).push(mu)
        size = float(np.abs(mu.points).max())
        error = weight_error(mu.points, mu.points, PLAIN, np.log(mu.weights)) + gamma(8 * n + 64)
        spread = [Interval.within(law.variance(), 16 * error * size**2) for law in (free, held)]
        yield at_least(spread[0], factor * spread[1], scale=size**2, n=n)
        mean = balls(free.weights) @ balls(free.points)
        yield equals(gap(held.mean(), mean, 4 * error * size), 0, scale=size, n=n)


def photograph_stack(dim, rng):
    """Two blocks of residual multi-head attention and residual feed-forward, seeded."""

    def weights(*shape):
        return rng.normal(size=shape) / np.sqrt(shape[-1])

    def block():
        heads = MultiHead.from_matrices(*(weights(dim, dim) for _ in range(4)), heads=4 if dim % 4 == 0 else 1)
        inner, outer = weights(2 * dim, dim), weights(dim, 2 * dim)
        return Residual(heads), Residual(FeedForward(lambda x: np.maximum(x @ inner.T, 0.0) @ outer.T))

    return Stack((*block(), *block()))


def tokenwise(layer, x, mu):
    """One residual layer as it is written for tokens: a loop over heads and matrices, no measure; balls out."""
    inner = layer.layer
    exact = balls(x)
    if isinstance(inner, FeedForward):
        return balls(x + inner.function(x))
    for head in inner.heads:
        queries, keys, values = (
            balls(a) @ balls(w).T for a, w in ((x, head.w_query), (mu, head.w_key), (mu, head.w_value))
        )
        scores = queries @ keys.T / balls(head.w_key.shape[0]).item().sqrt()
        exact = exact + textbook.laws(scores) @ values @ balls(head.w_out).T
    return exact


@verifies(
    Claim(
        "transport.composition",
        "a network composes kernels, each attention taken at the current measure",
        r"$\mu_{t+1} = \mu_t A_{\mu_t}$ or $(\phi)_\#\mu_t$; tokens $\pm 1$, two layers: $\pm c\tanh c^2$ with $c = \tanh 1$",
        spec=("MA.T3",),
        cites=("vaswani2017", *MTA),
        provenance=("recalled", "derived", "refereed"),
    ),
    bug("frozen", "every layer attends to the measure that entered the first", frozen=True),
    bug("no-residual", "the skip connections are left out", skip=False),
)
def test_composition(run, tokens, *, frozen=False, skip=True):
    pair = Measure([[-1.0], [1.0]])
    layer = SelfAttention(PLAIN)
    twice = Measure(layer(step(layer, pair).points, pair)) if frozen else Stack((layer, layer)).push(pair)
    c = balls(1).item().tanh()
    end = Interval.within(float(twice.points[1, 0]), gamma(200))
    yield equals(end, textbook.hull(c * (c * c).tanh()), input="pair")
    yield equals(end, Interval.printed("0.398073"), input="pair, as printed")
    # a seeded network on real tokens: each layer is compared at a few tokens, at the measure that entered it
    rng = stream("transport.composition", 0, root=run.root)
    wide = tokens.shape[1] > WIDTH
    tokens = tokens @ rng.normal(size=(tokens.shape[1], WIDTH)) / np.sqrt(tokens.shape[1]) if wide else tokens
    asked = rng.choice(tokens.shape[0], size=min(3, tokens.shape[0]), replace=False)
    network = photograph_stack(tokens.shape[1], rng)
    measures = list(network.trajectory(Measure(tokens)))
    for depth, (block, before, after) in enumerate(zip(network.layers, measures, measures[1:], strict=False)):
        field = measures[0] if frozen else before
        claimed = tokenwise(block, before.points[asked], field.points)
        claimed = claimed if skip else claimed - balls(before.points[asked])
        size = float(np.abs(after.points).max())
        error = gamma(64) * size
        if isinstance(block.layer, MultiHead):
            for head in block.layer.heads:
                queries, keys, values = head.projections(before.points[asked], before)
                tilt = (
                    float(np.abs(queries).sum(axis=1).max() * np.abs(keys).max()) * 4 * gamma(2 * tokens.shape[1] + 4)
                )
                mass = float(np.abs(values).max() * np.abs(head.w_out).sum(axis=1).max())
                error += mass * (weight_error(queries, keys, head.score) + tilt + gamma(tokens.size + 64))
        yield equals(
            gap(after.points[asked], claimed, error), 0, scale=size, input="tokens", depth=depth, n=tokens.shape[0]
        )
