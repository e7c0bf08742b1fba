"""Attention maps, stretches, paths and singular values of one layer at given tokens, in floats.

Nothing here is certified but the first two levels: these are pictures of what a layer does, whose numbers are those of
floats. A portrait is drawn by :mod:`theory.figures.portrait`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_count, as_points
from theory.lipschitz.certificate import tangents
from theory.lipschitz.certificate.turned import PAIRS, Turns, turned_size, turns_at
from theory.lipschitz.certificate.weights import Array, AttentionWeights, as_attention_weights, in_range
from theory.lipschitz.portrait.levels import Level, levels

_MOST = 1024  # taken: tokens whose maps are kept
_SHOWN = 24  # taken: outputs with an ellipse
_FAR = 1e70  # taken: lengths whose squares are far from the end of float64
_LAYERS = 6  # taken: unless told


@dataclass(frozen=True, slots=True, eq=False)
class Portrait:
    """What a layer does to some tokens.

    Parameters
    ----------
    layer : AttentionWeights
    tokens : numpy.ndarray, shape (n, d)
    maps : numpy.ndarray, shape (h, n, n)
        Weights: row i of a head is the law of token i.
    entropy : numpy.ndarray, shape (h, n)
        Of the rows, in nat; the effective number of tokens is its exponential.
    singular : numpy.ndarray, shape (k,)
        Singular values of the Jacobian of the layer, largest first.
    whole : bool
        Whether these are all of them.
    worst : numpy.ndarray, shape (n, d)
        The displacement of length one that belongs to the first.
    sensitive : int
        The token that moves most in it.
    plane : numpy.ndarray, shape (d_out, 2)
        The plane in which outputs spread most.
    centres : numpy.ndarray, shape (n, 2)
        The outputs in that plane.
    followed : tuple of int
        The outputs that attend to the sensitive token most.
    ellipses : numpy.ndarray, shape (m, 2, 2)
        For each of these, what maps the unit circle to where the output goes as that token moves in a unit ball.
    paths : numpy.ndarray, shape (k + 1, n, 2)
        The tokens through k layers of these weights, in the plane in which they spread most, all layers together.
    spreads : numpy.ndarray, shape (k + 1,)
        Root of their mean squared distance from their mean, in all dimensions.
    levels : tuple of Level
        Where the certificate loses its factor; see :mod:`theory.lipschitz.portrait.levels`.
    turns : Turns or None
        Of the positions, in floats, if they turn queries and keys.
    """

    layer: AttentionWeights
    tokens: Array
    maps: Array
    entropy: Array
    singular: Array
    whole: bool
    worst: Array
    sensitive: int
    plane: Array
    centres: Array
    followed: tuple[int, ...]
    ellipses: Array
    paths: Array
    spreads: Array
    levels: tuple[Level, ...]
    turns: Turns | None = None

    @property
    def effective(self) -> Array:
        """Effective number of tokens that every token of every head attends to, (h, n)."""
        return np.asarray(np.exp(self.entropy))


def portray(
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    tokens: ArrayLike,
    *,
    w_out: ArrayLike | None = None,
    b_query: ArrayLike | None = None,
    b_key: ArrayLike | None = None,
    scale: float | None = None,
    heads: int = 1,
    causal: bool = False,
    residual: bool = False,
    score: str = "dot",
    base: float | None = None,
    pairs: str = "halves",
    layers: int = _LAYERS,
) -> Portrait:
    """Return what a layer does to tokens; weights and options are those of :func:`~theory.lipschitz.certify`.

    Parameters
    ----------
    w_query, w_key, w_value : array_like
        Heads stacked along the rows.
    tokens : array_like, shape (n, d)
        At least two, at most 1024.
    w_out, b_query, b_key, scale, heads, causal, residual, score
        As there.
    base : float, optional
        Of rotary positions, as in :func:`~theory.lipschitz.certificate.certify_at`: tokens follow one another. No
        positions unless given.
    pairs : {"halves", "neighbours"}
        Which coordinates of a head rotary positions turn together: k and k + d_k / 2, or 2 k and 2 k + 1.
    layers : int, default 6
        How often the layer is applied; once, if outputs have another dimension than tokens.

    Returns
    -------
    Portrait

    Raises
    ------
    ValueError
        If shapes do not fit, a number is out of range, or positions are to turn distances or an odd number of
        coordinates.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> flat = portray([[0.0]], [[0.0]], [[1.0]], [[1.0], [2.0], [6.0]])
    >>> flat.effective.round(6)
    array([[3., 3., 3.]])
    """
    layer = as_attention_weights(
        w_query, w_key, w_value, w_out, heads=heads, causal=causal, residual=residual, score=score, b_query=b_query,
        b_key=b_key, scale=scale,
    )  # fmt: skip
    points = as_points(tokens, "tokens", dim=layer.dim)
    if not 2 <= len(points) <= _MOST:
        raise ValueError(f"tokens: expected from 2 to {_MOST} of them, got {len(points)}")
    in_range(points, "tokens")
    depth = as_count(layers, "layers")
    chosen = as_choice(pairs, "pairs", tuple(PAIRS))
    size = turned_size(layer, base)
    turns = None if base is None else turns_at(len(points), size, base, chosen).middle()
    with np.errstate(all="ignore"):
        after = tangents.outputs(layer, points, turns)
        states = tangents.head_states(layer, points, turns)
    parts = [part for state in states for part in (state.queries, state.keys, state.values, state.value_map)]
    if not max(np.abs(part).max() for part in (after, *parts)) <= _FAR:
        raise ValueError(f"tokens: expected queries, keys, values and outputs within {_FAR:g}, got others")
    maps = np.stack([state.laws for state in states])
    found = tangents.spectrum(layer, points, turns)
    sensitive = int(np.linalg.norm(found.worst, axis=1).argmax())
    plane = main_plane(after)
    followed = tuple(np.argsort(-maps[:, :, sensitive].mean(axis=0), kind="stable")[:_SHOWN].tolist())
    ellipses = np.stack([_ellipse(layer, points, states, plane, i, sensitive) for i in followed])
    run = [points, after]
    while len(run) <= depth and after.shape[1] == layer.dim:
        with np.errstate(all="ignore"):
            run.append(tangents.outputs(layer, run[-1], turns))
        if not np.abs(run[-1]).max() <= _FAR:
            raise ValueError(
                f"layers: expected at most {len(run) - 2}, after which tokens are beyond {_FAR:g}, got {depth}"
            )
    square = after.shape[1] == layer.dim
    seen = np.stack(run) if square else after[np.newaxis]
    middle = seen.reshape(-1, seen.shape[2]).mean(axis=0)
    paths = (seen - middle) @ main_plane(seen.reshape(-1, seen.shape[2]))
    spreads = np.array([np.sqrt(np.square(x - x.mean(axis=0)).sum(axis=1).mean()) for x in run])
    return Portrait(
        layer=layer, tokens=points, maps=maps, entropy=row_entropies(maps), singular=found.values, whole=found.whole,
        worst=found.worst, sensitive=sensitive, plane=plane, centres=after @ plane, followed=followed,
        ellipses=ellipses, paths=paths, spreads=spreads, turns=turns,
        levels=levels(layer, points, float(found.values[0]), turns),
    )  # fmt: skip


def row_entropies(maps: Array) -> Array:
    """Return the entropies of rows of weights, in nat."""
    logs = np.log(np.where(maps > 0.0, maps, 1.0))
    return np.asarray(np.maximum(-(maps * logs).sum(axis=-1), 0.0))


def main_plane(points: Array) -> Array:
    """Return an orthonormal basis of the plane in which points spread most, (d, 2); on a line, that and zero."""
    right = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][:2]
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])
    basis = np.zeros((points.shape[1], 2))
    basis[:, : len(right)] = (signs[:, np.newaxis] * right).T
    return basis


def _ellipse(
    layer: AttentionWeights, points: Array, states: list[tangents.HeadState], plane: Array, output: int, token: int
) -> Array:
    """Return the matrix of the ellipse that an output goes through, in a plane, as a token moves in a unit ball."""
    rows = []
    for direction in plane.T:
        cotangent = np.zeros((len(points), plane.shape[0]))
        cotangent[output] = direction
        rows.append(tangents.pull_back(layer, states, cotangent)[token])
    left, sizes, _ = np.linalg.svd(np.array(rows), full_matrices=False)
    matrix = np.zeros((2, 2))
    matrix[:, : len(sizes)] = left * sizes
    return matrix
