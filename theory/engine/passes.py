r"""Passes over the keys in tiles, for dot products and distances of any width.

Each row is summed with a bound of its scores for shift. If the bound is far above the largest score, little mass comes
out, and the row is summed again with its largest score for shift. A row is trusted above ``TRUST``: there the arguments
that the exponential takes for ``LEAST`` bring at most :math:`n 2^{-1021} / 2^{-900}` of the mass, below a rounding for
any n that fits into a machine.

A shift is only as good as the scores: where the roundings of d features, of the log-weight and of the shift may move
one by a whole unit, :math:`(d + 4) u` times what is added up, it may be far above a largest score that was rounded in
another order, or far below. There, and where a row still has no mass, rows are summed one by one with the maximum of
the very scores that are summed (:mod:`theory.engine.rows`), in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from theory.engine import blocks, ends, fused, rows as general
from theory.engine.fold import NONE, Folded, fold
from theory.engine.pairs import Array, Counts, Form, Pairs, embedded
from theory.engine.threads import are_few, over_rows

TRUST = 2.0**-900
TRUST_SINGLE = 2.0**-70  # derived as above: n 2**-125 is 2**-30 of such a mass for n = 2**25
UNIT, UNIT_SINGLE = 2.0**-53, 2.0**-24


class _Tile(NamedTuple):
    """Some keys, coordinate by coordinate, from number ``start`` on."""

    start: int
    number: int
    keys: Array
    values: Array
    log_weights: Array


def _stops(tiles: Sequence[_Tile | blocks.Tile], visible: Counts) -> Iterator[tuple[_Tile | blocks.Tile, Counts]]:
    """Yield the tiles of which some query sees a key, with how many each sees."""
    if len(tiles) == 1:
        yield tiles[0], visible
        return
    least, most = int(visible.min()), int(visible.max())
    for tile in tiles:
        if tile.start >= most:
            return
        whole = tile.start + tile.number <= least
        yield tile, np.full(visible.size, tile.number) if whole else np.clip(visible - tile.start, 0, tile.number)


def attention(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, *, single: bool = False
) -> tuple[Array, Array]:
    """Return output (m, d_v) and log-partition (m,); query ``i`` sees the first ``visible[i] >= 1`` keys."""
    if pairs.form is Form.ADDITIVE:
        return general.attention(pairs, values, log_weights, visible)
    problem = fold(embedded(pairs), values, log_weights, single=single)
    sums, mass = _sums(problem, visible)
    trust = TRUST_SINGLE if single else TRUST
    if not ends.are_above(mass, trust):
        doubtful = np.flatnonzero(~(mass >= trust))
        few = problem._replace(queries=problem.queries[doubtful])
        peaks = _peaks(few, visible[doubtful])
        problem.shift[doubtful] = peaks
        sums[doubtful], mass[doubtful] = _sums(few._replace(shift=peaks), visible[doubtful])
    log_partition, sound = np.empty(mass.size), np.empty(mass.size, np.bool_)
    unit = (problem.keys.shape[1] + 4) * (UNIT_SINGLE if single else UNIT)
    every = ends.divide(
        sums, mass, np.log2(mass), problem.shift, problem.size, unit, trust, problem.offset, log_partition, sound
    )
    output = sums if isinstance(problem.exponent, int) else np.ldexp(sums, problem.exponent)
    if not every:
        rough = np.flatnonzero(~sound)
        part = pairs._replace(queries=pairs.queries[rough])
        output[rough], log_partition[rough] = general.attention(part, values, log_weights, visible[rough])
    return (output.astype(np.float32), log_partition.astype(np.float32)) if single else (output, log_partition)


def _sums(problem: Folded, visible: Counts) -> tuple[Array, Array]:
    """Return the sums of weighted values (m, d_v) and of weights (m,) in units of two to the shift."""
    m = problem.queries.shape[0]
    n = problem.keys.shape[0]
    d_v = problem.values.shape[1]
    sums, mass = np.zeros((m, d_v)), np.zeros(m)
    if _narrow(problem):
        single = problem.keys.dtype == np.float32
        added = problem.log_weights
        kernel = fused.kernel(problem.form, problem.keys.shape[1], d_v, weighted=added is not None, single=single)
        if n <= fused.TILE and not single and are_few(m * n):
            kernel(
                problem.queries, problem.columns, problem.value_columns, NONE if added is None else added,
                problem.factor, problem.shift, visible, sums, mass,
            )  # fmt: skip
            return sums, mass
        run = partial(_add, kernel, problem, _tiles(problem, fused.TILE), visible, sums=sums, mass=mass)
        over_rows(run, m, m * n, grain=fused.ROWS)
    else:
        kernel = blocks.kernel(problem.form, single=problem.keys.dtype == np.float32)
        run = partial(_add, kernel, problem, blocks.tiles(problem), visible, sums=sums, mass=mass)
        over_rows(run, m, m * n, grain=blocks.ROWS)
    return sums, mass


def is_wide(d: int, d_v: int) -> bool:
    """Tell whether features or values of so many coordinates are summed in blocks."""
    return max(d, d_v) > fused.WIDEST


def _narrow(problem: Folded) -> bool:
    return not is_wide(problem.keys.shape[1], problem.values.shape[1])


def _tiles(problem: Folded, size: int) -> list[_Tile]:
    """Cut the keys into tiles of ``size``."""
    n = problem.keys.shape[0]
    keys, values = problem.columns, problem.value_columns
    added = np.empty(0, keys.dtype) if problem.log_weights is None else problem.log_weights
    if n <= size:
        return [_Tile(0, n, keys, values, added)]
    tiles = []
    for start in range(0, n, size):
        part = slice(start, start + size)
        number = min(size, n - start)
        columns = np.ascontiguousarray(keys[:, part]), np.ascontiguousarray(values[:, part])
        tiles.append(_Tile(start, number, *columns, added[part]))
    return tiles


def _add(
    kernel: Callable[..., None], problem: Folded, tiles: Sequence[_Tile | blocks.Tile], visible: Counts, rows: slice, *,
    sums: Array, mass: Array,
) -> None:  # fmt: skip
    queries = problem.queries[rows]
    kind = problem.keys.dtype
    seen = visible[rows]
    shift = problem.shift[rows].astype(kind, copy=False)
    factor = kind.type(problem.factor)
    here, there = sums[rows], mass[rows]
    for tile, stop in _stops(tiles, seen):
        kernel(queries, tile.keys, tile.values, tile.log_weights, factor, shift, stop, here, there)


def _peaks(problem: Folded, visible: Counts) -> Array:
    """Return the largest score of each row, in the precision of the pass."""
    narrow = _narrow(problem)
    tiles = _tiles(problem, fused.TILE) if narrow else blocks.tiles(problem)
    peaks = np.full(problem.queries.shape[0], -np.inf)
    find = fused.peaks(problem.form, min(problem.keys.shape[1], fused.WIDEST), weighted=problem.log_weights is not None)

    def run_narrow(rows: slice) -> None:
        for tile, stop in _stops(tiles, visible[rows]):
            find(problem.queries[rows], tile.keys, tile.log_weights, problem.factor, stop, peaks[rows])

    def run_wide(rows: slice) -> None:
        queries = problem.queries[rows]
        factor = problem.keys.dtype.type(problem.factor)
        for tile, stop in _stops(tiles, visible[rows]):
            blocks.peaks(problem.form is Form.DOT, queries, tile.keys, tile.log_weights, factor, stop, peaks[rows])

    over_rows(run_narrow if narrow else run_wide, peaks.size, peaks.size * problem.keys.shape[0], grain=blocks.ROWS)
    return peaks.astype(problem.keys.dtype).astype(np.float64)
