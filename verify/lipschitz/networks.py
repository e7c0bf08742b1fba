"""Networks of which every layer comes with its bound and with what is claimed of it; constants in balls."""

import math

import numpy as np

from theory import Measure
from theory.attention import AttentionKernel, DotProduct, FeedForward, Residual, SelfAttention, Stack
from theory.evidence import Interval
from theory.evidence.roundoff import EXP_ULPS, gamma
from theory.lipschitz.depth import attention_bound, feed_forward_bound, layer_norm, layer_norm_bound, residual_bound
from verify.textbook import balls, hull

SMALL = 1.0 - 2.0**-40  # keeps what is drawn on a sphere inside it


def rising(function, *parts):
    """A function that rises in every argument, of intervals: balls at both ends."""
    low, high = (
        hull(function(*(balls(end).item() for end in ends)))
        for ends in zip(*((p.lo, p.hi) for p in parts), strict=True)
    )
    return Interval(low.lo, high.hi, max(p.kind for p in parts))


def joint(alpha, *, rate=2):
    """C_1, of an interval."""
    return rising(lambda a: (rate * a).exp() * (1 + 2 * a) + a, alpha)


def largest(alpha):
    """1 + 2 alpha, the constant of the largest displacement."""
    return 1 + 2 * alpha


def norm(matrix):
    """The spectral norm of a small matrix, up to what LAPACK promises."""
    around = Interval.within(
        float(np.linalg.norm(matrix, 2)), gamma(64 * max(matrix.shape)) * float(np.linalg.norm(matrix))
    )
    return Interval(max(around.lo, 0.0), around.hi, around.kind)


def length(intervals):
    """The Euclidean length of a vector of intervals."""
    return sum((part**2 for part in intervals), start=Interval.exactly(0)).sqrt()


def draw_cloud(rng, n, d, radius):
    """Draw tokens in a ball, half of them near its sphere."""
    points = rng.normal(size=(n, d))
    lengths = radius * np.minimum(rng.uniform(0.0, 2.0, size=(n, 1)), 1.0) * SMALL
    return lengths * points / np.linalg.norm(points, axis=1, keepdims=True)


def rounding_of(form, value, mu):
    """How far any coordinate of the outputs of attention may be off."""
    return AttentionKernel(DotProduct(form=form), mu, value).rounding(mu.points)


def slip(score, value, n, d):
    """How far one pass may misplace any of n tokens of the unit ball: no cloud there is larger than this one."""
    corners = np.ones((n, d)) * np.where(np.arange(n) % 2, 1.0, -1.0)[:, np.newaxis]
    return math.sqrt(d) * (AttentionKernel(score, Measure(corners), value).rounding(corners) + gamma(EXP_ULPS + 4))


class Network:
    """Layers, their bounds, and what is claimed of each at the radius that enters it; floats with their rounding."""

    def __init__(self, radius):
        self.entering = [Interval.exactly(radius)]
        self.layers, self.bounds, self.claims, self.errors = [], [], [], []

    def attention(self, form, value, *, residual=False):
        """Add attention, or its residual."""
        alpha = lambda radius: norm(form) * radius**2  # noqa: E731
        kept = int(residual)
        layer, bound = SelfAttention(DotProduct(form=form), value), attention_bound(norm(form).hi, norm(value).hi)
        self._add(
            Residual(layer) if residual else layer,
            residual_bound(bound) if residual else bound,
            lambda radius: kept + norm(value) * joint(alpha(radius)),
            (kept + norm(value)) * self.entering[-1],
            lambda radius: kept + norm(value) * largest(alpha(radius)),
            lambda mu: rounding_of(form, value, mu) + gamma(2) * float(np.abs(mu.points).max()),
        )

    def feed_forward(self, matrix, shift):
        """Add a rectified affine map."""
        size = norm(matrix)
        start = length([Interval.exactly(float(s)) for s in np.abs(shift)])
        self._add(
            FeedForward(lambda x: np.maximum(x @ matrix.T + shift, 0.0)),
            feed_forward_bound(size.hi, start.hi),
            lambda _: size,
            start + size * self.entering[-1],
            lambda _: size,
            lambda mu: gamma(mu.dim + 3) * float((np.abs(mu.points) @ np.abs(matrix).T + np.abs(shift)).max()),
        )

    def layer_norm(self, eps, dim):
        """Add layer norm."""
        slope = 1 / Interval.exactly(eps).sqrt()
        self._add(
            FeedForward(lambda x: layer_norm(x, eps)),
            layer_norm_bound(eps, dim),
            lambda _: slope,
            self.entering[-1] / (self.entering[-1] ** 2 / dim + eps).sqrt(),
            lambda _: slope,
            lambda mu: gamma(4 * dim + 24) * (2.0 + float(np.abs(mu.points).max()) / math.sqrt(eps)),
        )

    def _add(self, layer, bound, slope, radius, spread, rounding):
        self.layers.append(layer)
        self.bounds.append(bound)
        self.claims.append(slope)
        self.errors.append((spread(self.entering[-1]), rounding))
        self.entering.append(radius)

    def product(self, *, at_input=False, combine=math.prod):
        """What is claimed of the whole: every constant at the radius that enters its layer."""
        return combine(slope(self.entering[0 if at_input else k]) for k, slope in enumerate(self.claims))

    def push(self, mu):
        """All measures from the first to the last, and for each how far an atom may be off."""
        measures, off = list(Stack(tuple(self.layers)).trajectory(mu)), [0.0]
        for before, (spread, rounding) in zip(measures, self.errors, strict=False):
            off.append(1.01 * (spread.hi * off[-1] + math.sqrt(before.dim) * rounding(before)))
        return measures, off
