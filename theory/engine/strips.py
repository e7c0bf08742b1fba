r"""Derivatives, many pairs at once: keys in tiles, a few queries in a strip.

Cotangents need the weights of a row after its sums are known, so a strip of ``ROWS`` queries keeps them, and no
exponential is taken twice; tangents are gathered tile by tile. Rows are shifted by the largest of the very scores that
are weighed, so that no score is too large and no bound too far: the heaviest key has the weight one, and a mass lies
between one and the number of keys.

In narrow problems, everything about keys lies coordinate by coordinate in tiles, ``(tiles, rows TILE)``, one row after
another at distances that the compiler knows; it then stores to one array while it reads another without asking often
whether they overlap. In wide problems, a tile of a strip is a matrix, and scores and sums over it are products with
others, a block of results at a time in registers (:mod:`theory.engine.registers`); what belongs to keys comes in the
panels of right factors, tile by tile.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.exponential import exp2
from theory.engine.fused import ordered
from theory.engine.pairs import Array, Counts, Form, Pairs
from theory.engine.registers import STRIP, add_products, as_float, columns_of_panel, products

ROWS = 8  # queries of a strip; taken: strips of five thousand keys stay in the second cache
TILE = 288  # keys; measured: whole vectors, four at a time, and no near power of two, or stores stop the next loads
WIDEST = 6  # of keys and values; measured: beyond, products of matrices are faster here too
HIGH = 4 * STRIP  # queries of a wide strip that is read once; measured, as is LENGTH
LENGTH = 368  # keys of a wide tile: whole panels, and no near power of two
_LEAST, _MOST, _LARGE = 4, 8, 1 << 16  # taken: strips of registers in a wide strip, and its pairs

_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF
LOWEST = int(np.float64(-np.inf).view(np.int64)) ^ _BELOW_SIGN  # of all floats in order


def _unordered(k: int) -> float:
    """Return the float of which ``k`` is the integer in order."""
    return as_float(int(k ^ ((k >> 63) & _BELOW_SIGN)))


unordered = njit(_unordered, inline=True)


def tiled(*columns: Array) -> Array:
    """Return matrices of as many rows side by side, (n, w), in tiles of their columns, (tiles, w TILE), and zeros."""
    width = sum(part.shape[1] for part in columns)
    n = columns[0].shape[0]
    filled = np.zeros((-(-n // TILE) * TILE, width))
    np.concatenate(columns, axis=1, out=filled[:n])
    cut = filled.reshape(-1, TILE, width).transpose(0, 2, 1)
    return np.ascontiguousarray(cut).reshape(-1, width * TILE)


def untiled(tiles: Array, n: int) -> Array:
    """Return the matrix (n, w) that lies in tiles."""
    width = tiles.shape[1] // TILE
    cut = tiles.reshape(-1, width, TILE).transpose(0, 2, 1)
    return np.ascontiguousarray(cut.reshape(-1, width)[:n])


def height(n: int) -> int:
    """Return how many queries a wide strip of ``n`` keys has: whole strips of registers."""
    return STRIP * max(_LEAST, min(_MOST, _LARGE // (STRIP * n)))


def across(points: Array) -> Array:
    """Return a matrix (n, f) transposed, in tiles of its rows: the panels of right factors, (tiles, panels, f, c)."""
    width = columns_of_panel(points.dtype)
    cut = _in_tiles(points)
    return np.ascontiguousarray(cut.reshape(cut.shape[0], -1, width, points.shape[1]).transpose(0, 1, 3, 2))


def along(points: Array) -> Array:
    """Return a matrix (n, f) in tiles of its rows: the panels of right factors, (tiles, panels, t, c)."""
    width = columns_of_panel(points.dtype)
    whole = np.zeros((points.shape[0], _whole(points.shape[1], width)))
    whole[:, : points.shape[1]] = points
    cut = _in_tiles(whole)
    return np.ascontiguousarray(cut.reshape(*cut.shape[:2], -1, width).transpose(0, 2, 1, 3))


def along_keys(numbers: Array) -> Array:
    """Return a number for each key, (n,), in tiles, (tiles, t)."""
    return _in_tiles(numbers[:, np.newaxis])[:, :, 0].copy()


def _in_tiles(points: Array) -> Array:
    """Return a matrix in tiles of its rows, (tiles, t, f), and zeros: whole panels of rows."""
    n, f = points.shape
    length = min(LENGTH, _whole(n, columns_of_panel(points.dtype)))
    filled = np.zeros((_whole(n, length), f))
    filled[:n] = points
    return filled.reshape(-1, length, f)


def whole_strips(number: int) -> int:
    """Return the first number of rows that is no less and fills strips of registers."""
    return _whole(number, STRIP)


def _whole(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _multiply(left: Array, panels: Array, depth: int, number: int, results: Array) -> None:
    """Fill the columns of the first ``number`` panels with the product of whole strips and ``depth`` rows of panels."""
    for panel in range(number):
        for row in range(0, left.shape[0], STRIP):
            products(left, row, panels, panel, depth, results, panel * panels.shape[2])


def _add_multiplied(left: Array, panels: Array, depth: int, number: int, results: Array) -> None:
    """Add to ``results`` what ``multiply`` fills them with."""
    for panel in range(number):
        for row in range(0, left.shape[0], STRIP):
            add_products(left, row, panels, panel, depth, results, panel * panels.shape[2])


def _add_to_panels(left: Array, right: Array, depth: int, number: int, results: Array) -> None:
    """Add the product of whole strips and ``depth`` rows of a matrix to ``number`` panels, (panels, rows, c)."""
    for panel in range(number):
        for row in range(0, left.shape[0], STRIP):
            add_products(left, row, right, panel * results.shape[2], depth, results[panel], 0)


def _raise_peaks(scores: Array, seen: Counts, peaks: Counts) -> None:
    """Raise ``peaks``, integers in the order of floats, to the largest scores of the first ``seen`` keys of a tile."""
    for i in range(seen.size):
        top = peaks[i]
        for j in range(seen[i]):
            top = max(top, ordered(scores[i, j]))
        peaks[i] = top


def _weigh(scores: Array, changes: Array, seen: Counts, peaks: Counts, mass: Array, mean: Array) -> None:
    """Replace scores by weights in units of two to the peak; add those to ``mass``, and times changes to ``mean``."""
    for i in range(seen.size):
        row, change = scores[i], changes[i]
        shift = unordered(peaks[i])
        total, gathered = 0.0, 0.0
        for j in range(seen[i]):
            w = exp2(row[j] - shift)
            row[j] = w
            total += w
            gathered += w * change[j]
        mass[i] += total
        mean[i] += gathered


def _tilt(weights: Array, changes: Array, seen: Counts, mean: Array, left: Array) -> None:
    """Replace changes by weights times what they are off their mean, and add those to ``left``.

    Both are zero from ``seen`` on.
    """
    for i in range(seen.size):
        row, change = weights[i], changes[i]
        middle, rest = mean[i], 0.0
        for j in range(seen[i]):
            tilted = row[j] * (change[j] - middle)
            change[j] = tilted
            rest += tilted
        row[max(0, seen[i]) :] = 0.0
        change[max(0, seen[i]) :] = 0.0
        left[i] += rest


multiply, add_multiplied = njit(_multiply, sums=True), njit(_add_multiplied, sums=True)
add_to_panels = njit(_add_to_panels, sums=True)
raise_peaks, weigh, tilt = njit(_raise_peaks), njit(_weigh, sums=True), njit(_tilt, sums=True)


def middle_of(pairs: Pairs) -> Array:
    """Return where features are taken from: for distances, a point that few far keys do not move."""
    return np.median(pairs.keys, axis=0) if pairs.form is Form.DISTANCE else np.zeros(pairs.keys.shape[1])
