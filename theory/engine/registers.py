"""Three things that Python cannot say: the bits of a float as an integer, back again, and a tuple kept in registers.

Numba compiles each to one instruction or to none. Without the compiler they are plain Python, so that every kernel also
runs, and is covered, as it is written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic

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


bits: Callable[[float], int]
as_float: Callable[[int], float]
bits_single: Callable[[np.float32], int]
as_float_single: Callable[[int], np.float32]
replaced: Callable[[tuple[Any, ...], int, Any], tuple[Any, ...]]
if config.DISABLE_JIT:  # type: ignore[attr-defined]  # Numba sets it at run time
    bits, as_float = _bits_in_python, _float_in_python
    bits_single, as_float_single = _bits_single_in_python, _float_single_in_python
    replaced = _set_in_python
else:
    bits = _reading(types.float64, types.int64, ir.IntType(64))
    as_float = _reading(types.int64, types.float64, ir.DoubleType())
    bits_single = _reading(types.float32, types.int32, ir.IntType(32))
    as_float_single = _reading(types.int32, types.float32, ir.FloatType())
    replaced = cast("Any", tuple_setitem)
