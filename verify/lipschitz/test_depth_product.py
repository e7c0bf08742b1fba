"""Networks of many layers: the product of constants, each at the radius that enters its layer."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import FeedForward
from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz import Push, displacement, response_ratio
from theory.lipschitz.depth import depth_constant, layerwise_bounds
from verify.lipschitz.networks import Network, draw_cloud
from verify.textbook import hull

ROA = ("vuckovic2020",)


def expanding():
    """A map x -> 4x before attention with B = -1, on the ball of radius one half: alpha has become 4."""
    network = Network(0.5)
    network.feed_forward(np.array([[4.0]]), np.zeros(1))
    network.layers[0] = FeedForward(lambda x: 4.0 * x)
    network.attention(np.array([[-1.0]]), np.eye(1))
    return network


def mixed():
    """Residual attention, a rectified map and attention on a segment."""
    network = Network(0.5)
    network.attention(np.array([[0.5]]), np.eye(1), residual=True)
    network.feed_forward(np.array([[1.5]]), np.array([0.25]))
    network.attention(np.array([[-0.5]]), 0.5 * np.eye(1))
    return network


@verifies(
    Claim(
        "depth.product",
        "a network moves measures by the product of its layers' constants, each at the radius that enters the layer",
        r"$W_1(\mu^{(L)}, \nu^{(L)}) \le \prod_l C_l(R_{l-1})\,W_1(\mu^{(0)}, \nu^{(0)})$; $x \mapsto 4x$, then $B = -1$, $R_0 = \frac12$: $4 \cdot 9e^8 \approx 1.07 \cdot 10^5$ is reached",
        assumptions=(
            "layers: attention, its residual, rectified affine maps, layer norm",
            "tokens in the ball of radius R_0, or samples of a measure there",
        ),
        spec=("MA.A5",),
        cites=("vaswani2017", *ROA),
        provenance=("derived", "refereed on paper"),
    ),
    bug("input-radius", "all constants are taken at the radius that enters the network", at_input=True),
    bug("sum", "the constants are added up", combine=sum),
    constant("near", "the product is smaller by one thousandth", share=0.999),
    constant("further", "one thousandth more is reached", further=1.001),
    hypothesis("outside", "the tokens lie in the ball of twice the radius", reach=2.0),
)
def test_product(run, *, at_input=False, combine=math.prod, share=1.0, further=1.0, reach=1.0):
    deep = expanding()
    claimed = share * deep.product(at_input=at_input, combine=combine)
    light = 2.0**-40 * math.exp(-8.0)
    push = Push(
        reach * np.array([[2.0], [-2.0]]), np.array([[0.0], [1.0]]), np.array([1.0 - light, light]), np.array([[-1.0]])
    )
    stretch = 4 * response_ratio(push, 1.0)  # the velocity at the attention is four times that of the tokens
    yield at_most(stretch, claimed, input="4x, then B = -1")
    reached = 36 * hull(ball(8).exp())
    yield at_least(stretch, further * (1.0 - 2.0**-30) * reached, input="4x, then B = -1", part="reached")
    short = deep.product(at_input=True)  # 10.892, for 107314
    yield at_least(stretch, further * 9852 * short, input="4x, then B = -1", part="at the radius of the input")
    pair = [Measure([[0.5], [-0.5 + h]], [1.0 - 1e-6, 1e-6]) for h in (0.0, 0.02)]
    inputs = [("4x, then B = -1, tokens", deep, pair), ("residual, rectified, attention", mixed(), pair)]
    for rng in run.draws(quick=8, paper=100):
        d, radius = int(rng.integers(1, 4)), float(rng.uniform(0.5, 1.5))
        network = Network(radius)
        for kind in rng.permutation(5)[:3]:
            if kind == 0:
                network.feed_forward(rng.normal(size=(d, d)) / math.sqrt(d), 0.2 * rng.normal(size=d))
            elif kind == 1 and d > 1:  # one coordinate is normed to zero
                network.layer_norm(float(rng.uniform(0.05, 1.0)), d)
            else:
                scale = float(rng.uniform(0.1, 0.8)) / max(network.entering[-1].hi, 0.5) ** 2 / math.sqrt(d)
                network.attention(
                    scale * rng.normal(size=(d, d)), rng.normal(size=(d, d)) / math.sqrt(d), residual=kind == 2
                )
        mu = Measure(draw_cloud(rng, 30, d, radius), rng.dirichlet(np.ones(30)))
        other = mu.sample(8, rng) if rng.uniform() < 0.5 else Measure(mu.points * rng.uniform(0.9, 1.0), mu.weights)
        inputs.append(("random", network, [mu, other]))
    for name, network, both in inputs:
        scaled = [Measure(reach * mu.points, mu.weights) for mu in both]
        (first, off), (second, also) = (network.push(mu) for mu in scaled)
        after = w1(first[-1], second[-1]) + Interval.within(0.0, 1.01 * (off[-1] + also[-1]))
        bound = share * network.product(at_input=at_input, combine=combine)
        yield at_most(
            after, bound * w1(*scaled), scale=w1(*scaled) * network.product(), input=name, layers=len(network.layers)
        )
        own = depth_constant(network.bounds, network.entering[0].hi)
        yield equals(Interval.within(own, own * gamma(4096)), bound, input=name, part="constant")
        reach_of = layerwise_bounds(network.bounds, network.entering[0].hi)
        for depth, (mu, radius) in enumerate(zip(first[1:], network.entering[1:], strict=True)):
            outer = displacement(mu.points, np.zeros_like(mu.points), error=off[depth + 1])
            yield at_most(outer - radius, 0, scale=1, input=name, part="radius", depth=depth)
            own = Interval.within(reach_of[depth].radius, gamma(4096) * reach_of[depth].radius)
            yield at_most(outer - own, 0, scale=1, input=name, part="radius of the instrument", depth=depth)
