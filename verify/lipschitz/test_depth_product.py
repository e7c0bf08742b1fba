"""Networks of many layers: the product of constants, each at the radius that enters its layer."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import DotProduct, FeedForward, Residual, SelfAttention, Stack
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    norm,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import Push, response_ratio
from theory.lipschitz.depth import (
    attention_bound,
    depth_constant,
    feed_forward_bound,
    layer_norm,
    layer_norm_bound,
    layerwise_bounds,
    residual_bound,
)
from verify.inputs import draw_cloud

ROA = ("vuckovic2020",)


class Network:
    """Layers, their bounds, and what is claimed of each at the radius that enters it."""

    def __init__(self, radius):
        self.entering = [exact(radius)]
        self.layers, self.bounds, self.claims = [], [], []

    def attention(self, form, value, *, residual=False):
        """Add attention, or its residual."""
        kept = int(residual)
        size = spectral_norm(form)
        out = spectral_norm(value)

        def claim(radius):
            alpha = size * radius**2
            return kept + out * np.exp(2.0 * alpha) * (1.0 + 2.0 * alpha)

        layer = SelfAttention(DotProduct(form=form), value)
        bound = attention_bound(size, out)
        if residual:
            layer = Residual(layer)
            bound = residual_bound(bound)
        self._add(layer, bound, claim, (kept + out) * self.entering[-1])

    def feed_forward(self, matrix, shift):
        """Add a rectified affine map."""
        size = spectral_norm(matrix)
        start = norm(exact(shift))
        layer = FeedForward(lambda x: np.maximum(x @ matrix.T + shift, 0.0))
        self._add(layer, feed_forward_bound(size, start), lambda _: size, start + size * self.entering[-1])

    def layer_norm(self, eps, dim):
        """Add layer norm."""
        radius = self.entering[-1]
        layer = FeedForward(lambda x: layer_norm(x, eps))
        slope = 1.0 / np.sqrt(exact(eps))
        longest = radius / np.sqrt(radius**2 / dim + eps)
        self._add(layer, layer_norm_bound(exact(eps), dim), lambda _: slope, longest)

    def _add(self, layer, bound, claim, radius):
        self.layers.append(layer)
        self.bounds.append(bound)
        self.claims.append(claim)
        self.entering.append(radius)

    def product(self, *, at_input=False, combine=math.prod):
        """What is claimed of the whole: every constant at the radius that enters its layer."""
        return combine(claim(self.entering[0 if at_input else k]) for k, claim in enumerate(self.claims))


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
        r"$W_1(\mu^{(L)}, \nu^{(L)}) \le \prod_l C_l(R_{l-1})\,W_1(\mu^{(0)}, \nu^{(0)})$; $x \mapsto 4x$, then $B = -1$, $R_0 = \frac12$: the bound $4 \cdot 9e^8 \approx 1.07 \cdot 10^5$ is approached",
        assumptions=(
            "layers: attention, its residual, rectified affine maps, layer norm",
            "tokens in the ball of radius R_0, or samples of a measure there",
        ),
        spec=("MA.A5",),
        cites=("vaswani2017", *ROA),
        remark=r"attention has the constant of lipschitz.sharp-w1, so that the product that is approached is the bound",
        source_status=("derived",),
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
    points = reach * np.array([[2.0], [-2.0]])
    masses = np.array([1.0 - light, light])
    push = Push(points, np.array([[0.0], [1.0]]), masses, np.array([[-1.0]]))
    stretch = 4 * response_ratio(push, 1.0)  # the velocity at the attention is four times that of the tokens
    yield at_most(stretch, claimed, input="4x, then B = -1")
    reached = 36 * ball(8).exp()
    yield at_least(stretch, further * (1.0 - 2.0**-30) * reached, input="4x, then B = -1", part="reached")
    short = deep.product(at_input=True)  # 9.892, for 107314
    yield at_least(stretch, further * 10848 * short, input="4x, then B = -1", part="at the radius of the input")
    for name, network, both in networks(run, deep):
        scaled = [Measure(reach * mu.points, mu.weights) for mu in both]
        first, second = (list(Stack(tuple(network.layers)).trajectory(mu.enclosed())) for mu in scaled)
        before = w1(*scaled)
        bound = share * network.product(at_input=at_input, combine=combine)
        scale = before * network.product()
        yield at_most(w1(first[-1], second[-1]), bound * before, scale=scale, input=name, layers=len(network.layers))
        yield equals(depth_constant(network.bounds, network.entering[0]), bound, input=name, part="constant")
        stated = layerwise_bounds(network.bounds, network.entering[0])
        for depth, (mu, radius, own) in enumerate(zip(first[1:], network.entering[1:], stated, strict=True)):
            outer = norm(mu.points, axis=1).max()
            case = {"input": name, "depth": depth}
            yield at_most(outer - radius, 0, scale=1, part="radius", **case)
            yield at_most(outer - own.radius, 0, scale=1, part="radius of the instrument", **case)


def networks(run, deep):
    """Yield a name, a network and two measures in the ball that it takes."""
    pair = [Measure([[0.5], [-0.5 + h]], [1.0 - 1e-6, 1e-6]) for h in (0.0, 0.02)]
    yield "4x, then B = -1, tokens", deep, pair
    yield "residual, rectified, attention", mixed(), pair
    for rng in run.draws(quick=8, paper=100):
        d = int(rng.integers(1, 4))
        radius = float(rng.uniform(0.5, 1.5))
        network = Network(radius)
        for kind in rng.permutation(5)[:3]:
            if kind == 0:
                network.feed_forward(rng.normal(size=(d, d)) / math.sqrt(d), 0.2 * rng.normal(size=d))
            elif kind == 1 and d > 1:  # one coordinate is normed to zero
                network.layer_norm(float(rng.uniform(0.05, 1.0)), d)
            else:
                scale = float(rng.uniform(0.1, 0.8)) / max(network.entering[-1].hi, 0.5) ** 2 / math.sqrt(d)
                form = scale * rng.normal(size=(d, d))
                value = rng.normal(size=(d, d)) / math.sqrt(d)
                network.attention(form, value, residual=kind == 2)
        mu = Measure(draw_cloud(rng, 30, d, radius), rng.dirichlet(np.ones(30)))
        other = mu.sample(8, rng) if rng.uniform() < 0.5 else Measure(mu.points * rng.uniform(0.9, 1.0), mu.weights)
        yield "random", network, [mu, other]
