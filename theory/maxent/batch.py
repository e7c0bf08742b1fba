r"""How the maps of this room read a batch: rows along any axis, parameters per row, masks by minus infinity.

A row is the vector of scores along ``axis``; every other axis counts rows. A parameter (:math:`\alpha`, temperature,
budget) is a number or an array that broadcasts against the rows, so one call can hold several of them; axes that it
adds come first, and a result keeps the position of ``axis`` counted from the end. Arithmetic is float64 whatever
precision came in: float16 and float32 widen exactly.

A score of :math:`-\infty` masks its entry: the maximisation runs over the laws that leave it out. In a row that is
masked throughout no law is left. Then the supremum over the empty set is the value, :math:`-\infty`, and the law is the
row of zeros, which is the sum of what is attended to: nothing. Its derivatives are zero.

The maps see only the gaps :math:`(s_i - \max s)/\tau \le 0`. They are formed by one subtraction and one division,
so each is within :math:`2u` of itself; dividing first would lose :math:`u\max|s|/\tau`. A gap beyond the range of
float64 is set to the largest number, where every weight is below the smallest positive one or off the support.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._backend import backend
from theory._validate import as_real, as_scores

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
_FARTHEST = sys.float_info.max
_CELLS = 2**15  # measured: entries of a block of rows whose temporaries stay in the second-level cache


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a batch came from: the shape of all axes but one, and that one, counted from the end."""

    shape: tuple[int, ...]
    axis: int

    def laws(self, rows: Array) -> Array:
        """Return rows, (m, n), in the layout of the batch."""
        back = rows.reshape(*self.shape, rows.shape[1])
        return np.ascontiguousarray(back if self.axis == -1 else np.moveaxis(back, -1, self.axis))

    def derivative(self, rows: Array) -> Array:
        """Return rows of a derivative, or raise ``ValueError`` if one leaves the range of float64."""
        if not np.isfinite(rows).all():
            raise ValueError(
                "weights, cotangent, alpha, tau: expected sizes at which float64 holds the derivative, got an overflow"
            )
        return self.laws(rows)

    def values(self, column: Array) -> Array:
        """Return one number per row, (m, 1), in the layout of the rows."""
        return column.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of scores: their gaps (zero where masked), which entries are present, and the largest of each row."""

    gaps: Array
    present: Bools
    peak: Array
    tau: Array
    layout: Layout


def as_parameter(value: ArrayLike, name: str, *, infinite: bool = False, zero: bool = False) -> Array:
    """Convert a number or an array of them to positive float64; infinity or 0 passes only if the flag says so."""
    given = np.asarray(value) if infinite and not isinstance(value, np.ma.MaskedArray) else None
    if given is not None and given.dtype.kind == "f" and np.isposinf(given).any():
        endless = np.isposinf(given)
        return np.where(endless, np.inf, as_parameter(np.where(endless, given.dtype.type(1.0), given), name))
    numbers = as_real(value, name)
    if numbers.ndim == 0:
        numbers = as_real(numbers.reshape(1), name).reshape(())  # where an entry is bad is said by its index
    fits = numbers >= 0.0 if zero else numbers > 0.0
    if not fits.all():
        wanted = "non-negative" if zero else "positive"
        raise ValueError(f"{name}: expected {wanted} numbers, got {numbers[~fits].flat[0]}")
    return numbers


def as_axis(axis: int) -> int:
    """Convert to an integer; whether an array has such an axis is seen with it."""
    if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis: expected an integer, got {type(axis).__name__}")
    return int(axis)


def flatten_rows(
    arrays: dict[str, Array], axis: int, parameters: dict[str, Array]
) -> tuple[Layout, list[Array], list[Array]]:
    """Return arrays of equal shape as rows, (m, n) each, and the parameters as columns, (m, 1) each.

    Raises
    ------
    ValueError
        If the arrays differ in shape, have no axis ``axis`` or no entry along it, or a parameter does not broadcast.
    TypeError
        If ``axis`` is no integer.
    """
    (name, first), *others = arrays.items()
    axis = as_axis(axis)
    if first.ndim == 0:
        raise ValueError(f"{name}: expected at least one axis, got a number")
    if not -first.ndim <= axis < first.ndim:
        raise ValueError(f"axis: expected an axis of an array of shape {first.shape}, got {axis}")
    if first.shape[axis] == 0:
        raise ValueError(f"{name}: expected at least one entry along axis {axis}, got shape {first.shape}")
    for other, array in others:
        if array.shape != first.shape:
            raise ValueError(f"{other}: expected the shape of {name}, {first.shape}, got shape {array.shape}")
    last = axis in (-1, first.ndim - 1)  # as most often, and a move to where it is costs as much as the row
    rows = [array if last else np.moveaxis(array, axis, -1) for array in arrays.values()]
    shape = own = rows[0].shape[:-1]
    for label, value in parameters.items():
        try:
            shape = np.broadcast_shapes(shape, value.shape)
        except ValueError:
            raise ValueError(
                f"{label}: expected a shape that broadcasts against the rows, {own}, got shape {value.shape}"
            ) from None
    n = first.shape[axis]
    count = int(np.prod(shape))
    if own != shape:
        rows = [np.broadcast_to(row, (*shape, n)) for row in rows]
    flat = [row.reshape(count, n) for row in rows]
    columns = [np.broadcast_to(value, shape).reshape(count, 1) for value in parameters.values()]
    return Layout(shape, int(axis) % first.ndim - first.ndim), flat, columns


def read_scores(scores: ArrayLike, axis: int, tau: ArrayLike, **parameters: Array) -> tuple[Batch, list[Array]]:
    """Read scores and temperature; further parameters, already checked, come back as columns."""
    given = {"tau": as_parameter(tau, "tau"), **parameters}
    layout, (rows,), (temperature, *others) = flatten_rows({"scores": as_scores(scores)}, axis, given)
    return read_gaps(rows, rows > -np.inf, temperature, layout), others


def read_gaps(rows: Array, present: Bools, tau: Array, layout: Layout) -> Batch:
    """Return the gaps of rows of which the entries ``present`` count."""
    peak = np.max(rows, axis=1, keepdims=True, where=present, initial=-np.inf)
    with np.errstate(over="ignore"):
        top = np.where(peak > -np.inf, peak, 0.0)
        gaps = np.where(present, rows, 0.0) - top
        wide = present & np.isneginf(gaps)
        gaps = np.where(present, gaps, 0.0) / tau
        if wide.any():  # the range overflows, the temperature may bring it back
            gaps = np.where(wide, 2.0 * ((np.where(wide, rows, 0.0) / 2.0 - top / 2.0) / tau), gaps)
        gaps = np.maximum(gaps, -_FARTHEST)
    return Batch(gaps, present, peak, tau, layout)


def as_laws(value: ArrayLike, name: str) -> Array:
    """Convert to non-negative float64 without a look at the sums, which :func:`validate_laws` takes per row."""
    laws = as_real(value, name)
    if not (laws >= 0.0).all():
        raise ValueError(f"{name}: expected non-negative masses, got {laws[laws < 0.0].flat[0]}")
    return laws


def validate_laws(rows: Array, name: str) -> None:
    """Raise unless every row, (m, n), sums to one up to the rounding of its own normalisation."""
    slack = (rows.shape[1] + 2) * 2.0**-52  # derived: n divisions and one sum of n terms, twice over
    off = np.abs(rows.sum(axis=1) - 1.0)
    if not (off <= slack).all():
        bad = rows[int(np.argmax(off))].sum()
        raise ValueError(f"{name}: expected rows with sum 1 (to {slack:.1e}), got sum {float(bad)!r}")


def read_cotangent(
    weights: ArrayLike, cotangent: ArrayLike, axis: int, tau: ArrayLike, **parameters: Array
) -> tuple[Layout, Array, Array, Array, list[Array]]:
    """Read what a derivative needs: weights and cotangent as rows, temperature and parameters as columns."""
    arrays = {"weights": as_laws(weights, "weights"), "cotangent": as_real(cotangent, "cotangent")}
    given = {"tau": as_parameter(tau, "tau"), **parameters}
    layout, (law, cotangents), (temperature, *others) = flatten_rows(arrays, axis, given)
    return layout, law, cotangents, temperature, others


def excess(terms: Array) -> Array:
    """Return by how much the rows, (m, n), sum to more than one, (m, 1).

    Pairs are added, and pairs of these; what each addition rounds off is known exactly (Knuth) and summed apart, so the
    sum is off by its last rounding and by terms of the second order.
    """
    sums = terms
    lost = np.zeros((terms.shape[0], 1))
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        a = sums[:, :half]
        b = sums[:, half : 2 * half]
        both = a + b
        back = both - a
        lost += ((a - (both - back)) + (b - back)).sum(axis=1, keepdims=True)
        sums = both if sums.shape[1] == 2 * half else np.concatenate([both, sums[:, -1:]], axis=1)
    return (sums - 1.0) + lost


def row_blocks(rows: int, n: int) -> Iterator[slice]:
    """Cut rows of n entries into blocks that the cache holds."""
    size = max(1, _CELLS // n)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def kernels() -> ModuleType | None:
    """Return the compiled maps, or ``None`` where ``THEORY_BACKEND`` asks for what this room does in plain NumPy."""
    return _compiled() if backend() == "compiled" else None


@cache
def _compiled() -> ModuleType:
    from theory.maxent import kernels as maps  # noqa: PLC0415  loads Numba

    return maps


def own(array: Array) -> Array:
    """Return an array as the kernels are compiled for it: contiguous and writable, though they only read it."""
    return np.require(array, requirements=["C", "W"])


def compiled_laws(kernel: str, scores: ArrayLike, axis: int, **parameters: ArrayLike) -> Array | None:
    """Return the laws that a compiled map gives to scores, or ``None`` without one, or for an infinite parameter.

    The kernel sees what is not finite. So rows that need neither a move nor a conversion are not read twice.
    """
    maps = kernels()
    if maps is None:
        return None
    numbers: list[Any] = list(parameters.values())
    if (
        type(scores) is np.ndarray
        and scores.dtype == np.float64
        and scores.size
        and scores.ndim
        and scores.flags.carray
        and type(axis) is int
        and axis == -1
        and all(type(value) is float and 0.0 < value < math.inf for value in numbers)
    ):
        laws = np.empty(scores.shape)
        n = scores.shape[-1]
        given = [np.array([value]) for value in numbers]
        if maps.over(getattr(maps, kernel), scores.reshape(-1, n), *given, laws.reshape(-1, n)):
            return laws
    read = {name: as_parameter(value, name, infinite=name == "alpha") for name, value in parameters.items()}
    if not all(np.isfinite(value).all() for value in read.values()):
        return None
    layout, (rows,), columns = flatten_rows({"scores": as_scores(scores)}, axis, read)
    found = np.empty(rows.shape)
    maps.over(getattr(maps, kernel), own(rows), *(own(column[:, 0]) for column in columns), found)
    return layout.laws(found)
