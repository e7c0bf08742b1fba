"""The attention layers of trained transformers: certified for all tokens, at the tokens that reach them, and searched.

``ball`` is a constant for all tokens in the ball that the normalisation of a layer leaves them, times ``share``, and
``found`` the stretch of a displacement in the whole ball that a search found. ``norm`` encloses the norm of the
derivative at the tokens of a set, ``bound`` is a constant for tokens within ``reach`` of them, and ``moved`` what a
displacement between two places there is stretched by, in enclosures, by the formula of the layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table, exact
from theory.experiments.trained_layers import trained_layers
from theory.lipschitz import certify, certify_at

Array = NDArray[np.float64]
METRICS = ("mean", "max", "frobenius")
REACHES = {"moons": 2.0**-8, "digits": 0.25}  # taken: at which bounds are about a twentieth above the norms
SHARES = (1.0, 0.5)
_FEW = 8  # taken: tokens of a set, of a hundred, at the quick scale
_QUICK = ("moons 1", "digits 1")
_DIGITS = 1e-6  # taken: to which a search ends at the same place on another processor
_BITS = 20.0  # taken: of a displacement


def walked_layers(*, scale: str, root: int) -> Table:  # noqa: ARG001  the layers were drawn when they were trained
    """Return what is certified and found of four layers, a row for every metric and share of the radius."""
    names = ("layer", "metric", "share", "radius", "n", "ball", "found", "norm", "reach", "bound", "moved")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for name, layer in trained_layers().items():
        if scale == "quick" and name not in _QUICK:
            continue
        weights = {key: array for key, array in layer.items() if key not in ("tokens", "radius")}
        tokens = layer["tokens"][: _FEW if scale == "quick" else None]
        reach = REACHES[name.split()[0]]
        here = certify_at(tokens, **weights, reach=reach)
        moved = _stretches(tokens, weights, reach)
        whole = certify(**weights, radius=layer["radius"], n=len(tokens))
        for share in SHARES:
            ball = certify(**weights, radius=share * layer["radius"], n=len(tokens), search=False)
            for metric in METRICS:
                row, own, found = ball.row(metric), here.row(metric), whole.row(metric).lower
                cells = (
                    name, metric, share, layer["radius"], float(len(tokens)), _near(row.constant), _near(found),
                    own.norm, reach, _near(own.bound), moved[metric],
                )  # fmt: skip
                for key, cell in zip(names, cells, strict=True):
                    columns[key].append(cell)
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), columns)


def _near(number: float | None) -> Interval:
    """Return a number up to what moves on another processor."""
    value = float("nan") if number is None else number
    return Interval.within(value, _DIGITS * abs(value))


def _stretches(tokens: Array, weights: dict[str, Array], reach: float) -> dict[str, Interval]:
    """Enclose the largest stretch, by metrics, of two displacements within the reach: of all tokens alike, and of some.

    The second is what the derivative stretches most, by differences.
    """
    query, key = (tokens @ weights[name].T for name in ("w_query", "w_key"))
    scores = query @ key.T / np.sqrt(query.shape[1])
    raw = np.exp(scores - scores.max(axis=1, keepdims=True))
    value = weights["w_out"] @ weights["w_value"]
    along = np.linalg.svd(value)[2][0]
    laws = raw / raw.sum(axis=1, keepdims=True)
    form = weights["w_query"].T @ weights["w_key"] / np.sqrt(query.shape[1])
    moves = [np.tile(along, (len(tokens), 1)), _steepest(tokens, laws, form, value)]
    found: dict[str, list[Interval]] = {metric: [] for metric in METRICS}
    for move in moves:
        step = np.rint(move / np.linalg.norm(move, axis=1).max() * 2.0**_BITS) * (reach * (2.0**-_BITS - 2.0**-40))
        before = _sizes(exact(tokens + step) - exact(tokens - step))
        after = _sizes(_outputs(tokens + step, weights) - _outputs(tokens - step, weights))
        for metric, size in after.items():
            found[metric].append(size / before[metric])
    return {metric: Interval.largest(sizes) for metric, sizes in found.items()}


def _steepest(tokens: Array, laws: Array, form: Array, value: Array) -> Array:
    """Return the displacement that the derivative at the tokens stretches most in squares, by power iteration."""
    n, d = tokens.shape
    away = tokens[np.newaxis] - (laws @ tokens)[:, np.newaxis]
    blocks = laws[:, :, np.newaxis, np.newaxis] * (np.eye(d) + away[..., np.newaxis] * (tokens @ form)[:, None, None])
    own = np.einsum("ij,ija,jb->iab", laws, away, tokens @ form.T)
    blocks[np.arange(n), np.arange(n)] += own
    flat = np.einsum("ca,ijab->icjb", value, blocks).reshape(n * len(value), n * d)
    return np.asarray(np.linalg.svd(flat, full_matrices=False)[2][0].reshape(n, d))


def _outputs(tokens: Array, weights: dict[str, Array]) -> Any:
    """Enclose what a layer makes of tokens."""
    points = exact(tokens)
    query, key = (points @ weights[name].T for name in ("w_query", "w_key"))
    raw = np.exp((query @ key.T) / np.sqrt(exact(float(len(weights["w_query"])))))
    laws = raw / raw.sum(axis=1, keepdims=True)
    return ((laws @ points) @ weights["w_value"].T) @ weights["w_out"].T


def _sizes(moves: Any) -> dict[str, Interval]:
    """Enclose the mean, the largest and the root of the sum of squares of displacements."""
    squares = (moves * moves).sum(axis=1)
    lengths = np.sqrt(squares)
    return {"mean": lengths.mean(), "max": lengths.max(), "frobenius": np.sqrt(squares.sum())}
