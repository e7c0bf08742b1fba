r"""Where a certificate loses its factor: from a constant on a ball to the norm of the derivative at given tokens.

In the Frobenius norm of n tokens, four numbers, each nearer to the last:

1. the constant on the ball of the longest token, which holds for all tokens in it;
2. the constant at these tokens, whatever weights the softmax gave: what the theorems say with :math:`\rho`, the radius
   of a ball around some centre that holds the tokens, and :math:`b_h(x_i)`, as they are;
3. the norms of the heads' own derivatives at these tokens, added up, and one more with a residual;
4. the norm of the derivative of the layer.

So radius, softmax and heads cost the quotients of neighbours. The third may exceed the second, where theorems that take
heads together gain more than the softmax loses.

For the second: moving the origin to the centre c changes no derivative, and of the score :math:`\langle b(x),
y\rangle` nothing but :math:`\langle b(x), c\rangle`, which all keys of a query share. So attention of these tokens is
attention of tokens in the ball of radius :math:`\rho` with a query bias, of which the bounds of
:mod:`theory.lipschitz.certificate.biased` know :math:`\alpha = \|B\|\rho^2` and :math:`\beta =
\rho\max_i|b(x_i)|`, as long as :math:`\beta \ge \alpha`, to which it is raised where it is less. Where positions turn
queries and keys, moving the origin adds :math:`W_Qc` and :math:`W_Kc` to their biases, and the bounds are those for all
positions. Norms are rounded up and the rest is charged with its rounding, but the last two numbers are floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from theory.evidence import Interval, exact, norm as length_of
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.certify import upper_bounds
from theory.lipschitz.certificate.detour import detours
from theory.lipschitz.certificate.tangents import factor_of, head_alone, spectrum
from theory.lipschitz.certificate.turned import Turns
from theory.lipschitz.certificate.upper_bounds import UpperBound, above, distance_bounds, dot_bounds
from theory.lipschitz.certificate.weights import Array, AttentionWeights, product_norm

_METRIC = "frobenius"
_STEPS = 200  # taken: of the centre; any centre will do


class Level(NamedTuple):
    """A number on the way from the constant to the derivative, and what it is of."""

    name: str
    value: float


def levels(layer: AttentionWeights, points: Array, norm: float, turns: Turns | None = None) -> tuple[Level, ...]:
    """Return the four numbers, of tokens that are turned by their positions or not; the last is given."""
    radius = float(np.linalg.norm(points, axis=1).max()) * (1.0 + gamma(layer.dim + 8))
    found = (_turned if turns is not None else _plain)(layer, points, radius)
    alone = (spectrum(head_alone(layer, head), points, turns, largest=1) for head in range(layer.heads))
    heads = [float(one.values[0]) for one in alone]
    plus = 1.0 if layer.residual else 0.0
    return (
        Level("the ball", plus + found[0]),
        Level("these tokens", plus + min(found)),
        Level("each head", plus + sum(heads)),
        Level("the layer", norm),
    )


def _turned(layer: AttentionWeights, points: Array, radius: float) -> list[float]:
    """Return the constants on the two balls, whatever the positions."""
    norms, factor = layer.norms(turned=True), factor_of(layer)
    centre, ball = ball_about(points)
    lengths: dict[str, list[Interval]] = {}
    for name, matrices, given in (("query", layer.w_query, layer.b_query), ("key", layer.w_key, layer.b_key)):
        own = np.zeros(matrices.shape[:2]) if given is None else given
        lengths[name] = [length_of(exact(matrix) @ centre + bias) for matrix, bias in zip(matrices, own, strict=True)]
    queries, keys = ([product_norm(matrix) for matrix in given] for given in (layer.w_query, layer.w_key))
    shifts, tilts, offsets = (
        tuple(one * other * factor for one, other in zip(*pair, strict=True))
        for pair in ((keys, lengths["query"]), (queries, lengths["key"]), (lengths["query"], lengths["key"]))
    )
    moved = norms._replace(shifts=shifts, tilts=tilts, offsets=offsets)
    sizes = ((norms, radius), (moved, ball))
    return [_least(upper_bounds(layer, one, size, len(points), turned=True)[2][_METRIC]) for one, size in sizes]


def _plain(layer: AttentionWeights, points: Array, radius: float) -> list[float]:
    """Return the constants on the two balls, of tokens without positions."""
    n = len(points)
    norms = layer.norms()
    ball = ball_about(points)[1]
    alphas, betas, near_alphas, near_betas = [], [], [], []
    for head in range(layer.heads):
        form, shift = norms.forms[head], norms.shifts[head]
        longest = _longest(layer, head, points)
        alphas.append((form * radius * radius).hi)
        betas.append(above(alphas[-1] + (shift * radius).hi) if shift.hi else alphas[-1])
        near_alphas.append((form * ball * ball).hi)
        near_betas.append(max(above(ball * longest), near_alphas[-1]))  # no theorem has the second above the first
    reached = tuple((detour * radius * radius).hi for detour in detours(layer))
    given = [(alphas, betas, radius, reached), (near_alphas, near_betas, ball, ())]
    found = []
    for query, key, size, further in given:
        if layer.score == "distance":
            bounds = distance_bounds(norms, size, n, causal=layer.causal)
        else:
            bounds = dot_bounds(norms, tuple(query), tuple(key), n, causal=layer.causal, detours=further)
        found.append(_least(bounds[_METRIC]))
    return found


def ball_about(points: Array) -> tuple[Array, float]:
    """Return centre and radius of a ball, nearly the smallest, that holds all points."""
    centre = middle = points.mean(axis=0)
    best = float("inf")
    for step in range(1, _STEPS):  # towards the farthest, by less and less
        away = np.linalg.norm(points - middle, axis=1)
        if away.max() < best:
            centre, best = middle, float(away.max())
        middle = middle + (points[away.argmax()] - middle) / (step + 1)
    scale = float(np.abs(points).max())
    return centre, (best + scale * gamma(4)) * (1.0 + gamma(points.shape[1] + 8))


def _longest(layer: AttentionWeights, head: int, points: Array) -> float:
    """Return the greatest length of what a query's score multiplies keys by, from above."""
    query, key = layer.w_query[head], layer.w_key[head]
    bias = 0.0 if layer.b_query is None else layer.b_query[head]
    asked = points @ query.T + bias
    away = np.linalg.norm(asked @ key, axis=1).max() / layer.divisor
    sizes = (np.linalg.norm(points, axis=1).max() * np.linalg.norm(query) + np.linalg.norm(bias)) * np.linalg.norm(key)
    return float((away + sizes / layer.divisor * gamma(2 * sum(query.shape) + 8)) * (1.0 + gamma(layer.dim + 8)))


def _least(bounds: list[UpperBound]) -> float:
    return min(bound.constant for bound in bounds)
