"""What Python cannot say: the bits of a float as an integer, back again, a tuple and a small matrix kept in registers.

Numba compiles the first three to one instruction or to none. Without the compiler all are plain Python, so that every
kernel also runs, and is covered, as it is written.

A product of matrices reads two numbers for every multiplication, unless a block of results stays in registers while it
is summed: ``STRIP`` rows by two registers of columns. Twelve sums hide how long a multiply-add takes, and of sixteen
registers they leave four for what is multiplied. The right factor comes in panels of that many columns. Every result is
summed term by term in one order, so it depends neither on where it stands nor on how wide a register is. Sums over
many tiles start from what is there already; their right factor may also be a matrix as it is, of which a panel starts
at any column.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped, config, types
from numba.core.registry import cpu_target
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic

from theory.engine.pairs import Array

STRIP = 6
_PANEL = 2  # registers

cgutils: Any = untyped

_WIDE = 1 << 64
_NARROW = 1 << 32


def _bits_in_python(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _float_in_python(k: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", k % _WIDE))[0])


def _bits_single_in_python(x: np.float32) -> int:
    return int(struct.unpack("<i", struct.pack("<f", x))[0])


def _float_single_in_python(k: int) -> np.float32:
    return np.float32(struct.unpack("<f", struct.pack("<I", int(k) % _NARROW))[0])


def _set_in_python(items: tuple[Any, ...], position: int, item: Any) -> tuple[Any, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _reading(source: Any, target: Any, llvm: Any) -> Any:
    """Return the intrinsic that reads a ``source`` as a ``target`` of the same width."""

    @intrinsic
    def read(typing: Any, x: Any) -> Any:  # noqa: ARG001  the signature that Numba wants
        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], llvm)

        return target(source), generate

    return read


def _products_in_python(
    left: Array, row: int, panels: Array, number: int, depth: int, results: Array, column: int
) -> None:  # fmt: skip
    strip = results[row : row + STRIP, column : column + panels.shape[2]]
    strip[:] = 0.0
    for f in range(depth):
        strip += left[row : row + STRIP, f, np.newaxis] * panels[number, f]


def _squares_in_python(
    left: Array, row: int, panels: Array, number: int, depth: int, results: Array, column: int
) -> None:  # fmt: skip
    strip = results[row : row + STRIP, column : column + panels.shape[2]]
    strip[:] = 0.0
    for f in range(depth):
        apart = left[row : row + STRIP, f, np.newaxis] - panels[number, f]
        strip += apart * apart


def _add_products_in_python(
    left: Array, row: int, panels: Array, number: int, depth: int, results: Array, column: int
) -> None:  # fmt: skip
    panel = panels[number] if panels.ndim == 3 else panels[:, number : number + columns_of_panel(panels.dtype)]
    strip = results[row : row + STRIP, column : column + panel.shape[1]]
    for f in range(depth):
        strip += left[row : row + STRIP, f, np.newaxis] * panel[f]


@cache
def _register_bits() -> int:
    """Return how wide a vector register of the target is: the least unless it is known to be wider."""
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return 512 if "+avx512f" in features else 256 if "+avx" in features else 128


def columns_of_panel(kind: np.dtype[Any]) -> int:
    """Return how many columns of that kind a panel has."""
    return _PANEL * _register_bits() // (8 * kind.itemsize)


def _filling(factors: Callable[[Any, Any, Any], tuple[Any, Any]], *, onto: bool = False) -> Any:
    """Return the intrinsic that fills a strip of results, a panel wide, with sums of the product of two ``factors``.

    ``onto`` what is there, these sums are added.
    """

    @intrinsic
    def fill(
        typing: Any, left: Any, row: Any, panels: Any, number: Any, depth: Any, results: Any, column: Any  # noqa: ARG001
    ) -> Any:  # fmt: skip
        if any(matrix.layout != "C" for matrix in (left, panels, results)):
            return None  # which Numba refuses: steps are taken for those of contiguous arrays

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            there = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2, 5)]
            _fill(builder, factors, *there, *(args[k] for k in (1, 3, 4, 6)), onto=onto)
            return context.get_dummy_value()

        return types.void(left, row, panels, number, depth, results, column), generate

    return fill


def _fill(
    builder: Any, factors: Callable[[Any, Any, Any], tuple[Any, Any]], left: Any, panels: Any, results: Any,
    row: Any, number: Any, depth: Any, column: Any, *, onto: bool,
) -> None:  # fmt: skip
    """Generate the sums over ``depth`` columns of ``left`` and rows of a panel; all three are contiguous."""
    kind = left.data.type.pointee
    size = 8 if kind == ir.DoubleType() else 4
    width = _register_bits() // (8 * size)
    lanes = ir.VectorType(kind, width)
    strides = [cgutils.unpack_tuple(builder, matrix.shape)[-1] for matrix in (left, results)]
    shape = cgutils.unpack_tuple(builder, panels.shape)
    in_panels = len(shape) == 3

    def at(start: Any, *steps: Any) -> Any:
        for step in steps:
            start = builder.gep(start, [step if isinstance(step, ir.Value) else ir.IntType(64)(step)])
        return start

    def of_lanes(place: Any) -> Any:
        return builder.bitcast(place, lanes.as_pointer())

    def spread(number: Any) -> Any:
        blank = ir.Constant(lanes, ir.Undefined)
        first = builder.insert_element(blank, number, ir.IntType(32)(0))
        return builder.shuffle_vector(first, blank, ir.Constant(ir.VectorType(ir.IntType(32), width), None))

    lefts, outs = (
        [at(matrix.data, builder.mul(stride, builder.add(row, ir.IntType(64)(r)))) for r in range(STRIP)]
        for matrix, stride in zip((left, results), strides, strict=True)
    )
    step = ir.IntType(64)(_PANEL * width) if in_panels else shape[1]
    panel = at(panels.data, builder.mul(builder.mul(number, shape[1]), step) if in_panels else number)
    sums = [[cgutils.alloca_once_value(builder, ir.Constant(lanes, None)) for _ in range(_PANEL)] for _ in range(STRIP)]
    for place, row_sums in zip(outs, sums, strict=True):
        for k, total in enumerate(row_sums if onto else []):
            builder.store(builder.load(of_lanes(at(place, column, width * k)), align=size), total)
    with cgutils.for_range(builder, depth) as loop:
        here = at(panel, builder.mul(loop.index, step))
        right = [builder.load(of_lanes(at(here, width * k)), align=size) for k in range(_PANEL)]
        for place, row_sums in zip(lefts, sums, strict=True):
            x = spread(builder.load(at(place, loop.index)))
            for y, total in zip(right, row_sums, strict=True):
                product = builder.fmul(*factors(builder, x, y), flags=("contract",))
                builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
    for place, row_sums in zip(outs, sums, strict=True):
        for k, total in enumerate(row_sums):
            builder.store(builder.load(total), of_lanes(at(place, column, width * k)), align=size)


def _as_they_are(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:  # noqa: ARG001
    return x, y


def _differences(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:
    apart = builder.fsub(x, y)
    return apart, apart


bits: Callable[[float], int]
as_float: Callable[[int], float]
bits_single: Callable[[np.float32], int]
as_float_single: Callable[[int], np.float32]
replaced: Callable[[tuple[Any, ...], int, Any], tuple[Any, ...]]
products: Callable[[Array, int, Array, int, int, Array, int], None]
squares: Callable[[Array, int, Array, int, int, Array, int], None]
add_products: Callable[[Array, int, Array, int, int, Array, int], None]
if config.DISABLE_JIT:  # type: ignore[attr-defined]  # Numba sets it at run time
    bits, as_float = _bits_in_python, _float_in_python
    bits_single, as_float_single = _bits_single_in_python, _float_single_in_python
    replaced = _set_in_python
    products, squares = _products_in_python, _squares_in_python
    add_products = _add_products_in_python
else:
    bits = _reading(types.float64, types.int64, ir.IntType(64))
    as_float = _reading(types.int64, types.float64, ir.DoubleType())
    bits_single = _reading(types.float32, types.int32, ir.IntType(32))
    as_float_single = _reading(types.int32, types.float32, ir.FloatType())
    replaced = cast("Any", tuple_setitem)
    products, squares = _filling(_as_they_are), _filling(_differences)
    add_products = _filling(_as_they_are, onto=True)
