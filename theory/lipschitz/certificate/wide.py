r"""What a wide layer does to a few tokens, in balls, with its matrices multiplied by floats.

A product of n tokens with a matrix of d rows costs :math:`nd^2` operations, and a ball of 128 bits takes a hundred
times as long as a float. So these products, and these alone, are made of floats: of X, known to :math:`|X - \tilde X|
\le E` entry by entry, and a matrix W of floats,

.. math:: |XW - \mathrm{fl}(\tilde XW)| \le \gamma_d|\tilde X||W| + E|W| + 2d\eta,

with :math:`\eta` the least positive float, in whatever order the library sums (Higham, section 3.1; a product that
leaves the normal range is off by :math:`\eta` more). The right side is itself evaluated by floats, of positive terms,
and is no larger than what comes out, times :math:`1 + \gamma_{2d + 8}`: a sum s of them is computed as at least
:math:`(1 - \gamma_{d + 3})s`, and :math:`1/(1 - \gamma_j) \le 1 + \gamma_{2j}`. Queries, keys and values are such
products of tokens, which are floats, and outputs such products of balls; everything between is done in balls.

Derivatives of weights are small differences where one key has nearly all of the mass. With :math:`s_{ij}` those of
scores, :math:`P_{ij}(s_{ij} - \sum_kP_{ik}s_{ik})` does not change if a number is taken from all of a row, and from
each is taken that of the heaviest key, so that what remains is a sum of light masses, known as well as they are. Where
scores are known to 128 bits, in :func:`AttentionWeights.push`, nothing of the kind is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence.enclosure import balls, ends, exp
from theory.evidence.roundoff import SUBNORMAL, gamma
from theory.lipschitz.certificate.weights import Array, AttentionWeights, Numbers

_WIDE = 64  # taken: products of vectors of fewer numbers are made in balls


def is_wide(layer: AttentionWeights) -> bool:
    """Tell whether products with the matrices of a layer take longer in balls than all else."""
    return layer.dim >= _WIDE


def push_wide(layer: AttentionWeights, points: Array, tangent: Array, masses: Array) -> tuple[Numbers, Numbers] | None:
    """Return balls around what ``layer.push`` returns in balls; None if a product leaves float64."""
    given = {"points": points, "tangent": tangent}
    exact = {name: np.zeros_like(x) for name, x in given.items()}
    w, n, h = balls(masses), len(points), layer.heads
    root = balls(np.array([float(layer.w_query.shape[1])])).item() ** balls(np.array([-0.5])).item()
    if layer.scale is not None:
        root = balls(np.array([layer.scale])).item()

    def linear(matrix: Array, x: dict[str, Array], off: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        made = {name: product(x[name], off[name], matrix) for name in x}
        return {name: m for name, (m, _) in made.items()}, {name: e for name, (_, e) in made.items()}

    def known(made: tuple[dict[str, Array], dict[str, Array]]) -> bool:
        return all(np.isfinite(part).all() for side in made for part in side.values())

    seen = np.tril(np.ones((n, n), dtype=bool)) if layer.causal else np.ones((1, 1), dtype=bool)
    joined: dict[str, list[Numbers]] = {name: [] for name in given}
    with np.errstate(all="ignore"):  # what overflows is given up
        for head in range(h):
            query = linear(layer.w_query[head].T, given, exact)
            key = query if layer.score == "distance" else linear(layer.w_key[head].T, given, exact)
            if layer.score == "distance":
                value = linear(layer.w_value[head].T, *linear(layer.w_query[head], *query))
            else:
                value = linear(layer.w_value[head].T, given, exact)
            if not (known(query) and known(key) and known(value)):
                return None
            (q, dq), (k, dk), (v, dv) = (
                [around(m[name], e[name]) for name in ("points", "tangent")] for m, e in (query, key, value)
            )
            if layer.b_query is not None:
                q = q + balls(layer.b_query[head])
            if layer.score == "dot":
                scores, slopes = (q @ k.T) * root, (dq @ k.T + q @ dk.T) * root
            else:
                apart, parting = (x[:, np.newaxis] - x[np.newaxis] for x in (q, dq))
                scores = -root * (apart * apart).sum(axis=2)
                slopes = -2 * root * (apart * parting).sum(axis=2)
                v, dv = v * root, dv * root
            raw = exp(scores) * w
            raw = np.where(seen, raw, 0 * raw)
            laws = raw / raw.sum(axis=1, keepdims=True)
            heaviest = [max(range(n), key=row.__getitem__) for row in raw]  # any would do, were balls not rounded
            slopes = slopes - slopes[range(n), heaviest][:, np.newaxis]
            slopes[range(n), heaviest] = 0  # a ball less itself is none
            change = laws * (slopes - (laws * slopes).sum(axis=1, keepdims=True))
            joined["points"].append(laws @ v)
            joined["tangent"].append(laws @ dv + change @ v)
        whole = {name: np.concatenate(parts, axis=1) for name, parts in joined.items()}
        if layer.w_out is not None:
            sides = {name: ends(x) for name, x in whole.items()}
            middles, radii = ({name: side[which] for name, side in sides.items()} for which in (0, 1))
            last = linear(layer.w_out.T, middles, radii)
            if not known(last):
                return None
            whole = {name: around(last[0][name], last[1][name]) for name in given}
    if layer.residual:
        whole = {name: balls(given[name]) + x for name, x in whole.items()}
    return whole["points"], whole["tangent"]


def product(x: Array, off: Array, matrix: Array) -> tuple[Array, Array]:
    """Return ``x @ matrix`` in floats, and how far it may be from the product of what lies within ``off`` of x."""
    terms = matrix.shape[0]
    error = (gamma(terms) * np.abs(x) + off) @ np.abs(matrix)
    return x @ matrix, error * (1.0 + gamma(2 * terms + 8)) + 4 * terms * SUBNORMAL


def around(middle: Array, radius: Array) -> Any:
    """Return balls that hold all numbers within radii of middles."""
    low, high = np.nextafter(middle - radius, -np.inf), np.nextafter(middle + radius, np.inf)
    return np.frompyfunc(lambda one, other: one.union(other), 2, 1)(balls(low), balls(high))
