"""Argument checks of the public functions: every array error of the package is worded here.

Each check names the argument, says what was expected and what came. Conversions are exact or refused: float16 and
float32 widen to float64, integers up to 2**53 convert, everything else that float64 cannot hold raises.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
C = TypeVar("C")
_EXACT = 2**53  # the largest range of consecutive integers that float64 holds
_DOUBLE = np.dtype(np.float64)
_FEW = 4096  # measured: up to so many numbers a sum of squares costs less than a look at each


def as_real(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert ``value`` to a contiguous float64 array of finite numbers without losing a digit.

    Enclosures, whose error travels with them, stay as they are: what has no rule for them refuses them itself.
    """
    if type(value) is np.ndarray and value.dtype == _DOUBLE and value.flags.c_contiguous and all_finite(value):
        return value  # as most are
    if getattr(type(value), "ENCLOSES", False):
        return value  # type: ignore[return-value]
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TypeError(f"{name}: expected a plain array, got a masked array (give masked tokens weight zero instead)")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected a rectangular array, got a ragged sequence") from error
    except (RuntimeError, TypeError) as error:  # a tensor that tracks gradients or lies on another device, for instance
        raise TypeError(
            f"{name}: expected an array that NumPy can read, got {type(value).__name__}: {error}"
        ) from error
    if array.dtype.kind == "f" and isinstance(value, (list, tuple)):  # NumPy has rounded integers beside floats
        for number in np.asarray(value, dtype=object).ravel():
            if isinstance(number, (int, np.integer)) and abs(int(number)) > _EXACT:
                raise ValueError(f"{name}: expected integers up to 2**53, got {number}")
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: expected real numbers that float64 can hold, got dtype {array.dtype}")
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > _EXACT:
        raise ValueError(f"{name}: expected integers up to 2**53, got {max(-int(array.min()), int(array.max()))}")
    real = np.asarray(array, dtype=np.float64, order="C")
    if not np.isfinite(real).all():
        at = tuple(int(k) for k in np.argwhere(~np.isfinite(real))[0])  # of a scalar, the one place, with no index
        raise ValueError(f"{name}: expected finite numbers, got {real[at]} at index {at}")
    return real


def all_finite(numbers: NDArray[np.float64]) -> bool:
    """Tell whether every number is finite: few of them are if the sum of their squares is, which no term can lower.

    ``numpy.vdot`` says nothing of an overflow, as ``numpy.dot`` does.
    """
    if numbers.size <= _FEW and math.isfinite(np.vdot(numbers, numbers)):
        return True
    return bool(np.isfinite(numbers).all())


def as_scores(value: ArrayLike, name: str = "scores") -> NDArray[np.float64]:
    """Convert to float64 as :func:`as_real` does, with minus infinity let through as a mask."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return as_real(value, name)
    try:
        given = np.asarray(value)
    except (ValueError, RuntimeError, TypeError):
        return as_real(value, name)
    if given.dtype.kind != "f" or not np.isneginf(given).any():
        return as_real(value, name)
    masked = np.isneginf(given)
    scores = as_real(np.where(masked, given.dtype.type(0.0), given), name)
    return np.where(masked, -np.inf, scores)


def as_points(value: ArrayLike, name: str, *, dim: int | None = None, size: int | None = None) -> NDArray[np.float64]:
    """Convert to a non-empty cloud of shape (n, d)."""
    points = as_real(value, name)
    fits = points.ndim == 2 and dim in (None, points.shape[1]) and size in (None, points.shape[0])
    if not fits:
        wanted = f"({'n' if size is None else size}, {'d' if dim is None else dim})"
        raise ValueError(f"{name}: expected shape {wanted}, got shape {points.shape}")
    if points.size == 0:
        raise ValueError(f"{name}: expected at least one point of at least one dimension, got shape {points.shape}")
    return points


def as_matrix(
    value: ArrayLike, name: str, *, shape: tuple[int | None, int | None] = (None, None)
) -> NDArray[np.float64]:
    """Convert to a non-empty matrix whose sides are those given in ``shape`` (``None`` leaves a side free)."""
    return as_points(value, name, size=shape[0], dim=shape[1])


def as_vector(value: ArrayLike, name: str, *, size: int | None = None) -> NDArray[np.float64]:
    """Convert to a non-empty vector."""
    vector = as_real(value, name)
    if vector.ndim != 1 or vector.size == 0 or size not in (None, vector.size):
        raise ValueError(f"{name}: expected shape ({'n' if size is None else size},), got shape {vector.shape}")
    return vector


def as_masses(value: ArrayLike, name: str, *, size: int | None = None) -> NDArray[np.float64]:
    """Convert to non-negative masses with a positive, finite total."""
    masses = as_vector(value, name, size=size)
    if getattr(type(masses), "ENCLOSES", False):
        return _enclosed_masses(masses, name)  # type: ignore[no-any-return]
    if masses.min() < 0.0:
        at = int(masses.argmin())
        raise ValueError(f"{name}: expected non-negative masses, got {masses[at]} at index {at}")
    with np.errstate(over="ignore"):
        total = float(masses.sum())
    if not 0.0 < total < math.inf:
        raise ValueError(f"{name}: expected a positive, finite total mass, got {total}")
    return masses


def _enclosed_masses(masses: Any, name: str) -> Any:
    """Return enclosed masses, cut off at zero, below which none lies; some must be there for certain."""
    if (masses.hi < 0.0).any():
        raise ValueError(f"{name}: expected non-negative masses, got at most {masses.hi.min()}")
    if not masses.lo.max() > 0.0 or not masses.hi.max() < math.inf:
        raise ValueError(f"{name}: expected a total mass that is certainly positive and finite")
    return np.maximum(masses, 0.0)


def as_simplex(value: ArrayLike, name: str, *, size: int | None = None, remedy: str = "") -> NDArray[np.float64]:
    """Convert to a probability vector: non-negative, with sum one up to the rounding of its own normalisation.

    A message about the sum closes with ``remedy``.
    """
    law = as_masses(value, name, size=size)
    excess = math.fsum([*law.tolist(), -1.0])
    slack = (law.size + 2) * 2.0**-52  # n divisions and one sum of n terms, twice over
    if abs(excess) > slack:
        raise ValueError(f"{name}: expected masses with sum 1 (to {slack:.1e}), got sum {1.0 + excess!r}{remedy}")
    return law


def as_number(value: float, name: str) -> float:
    """Convert to a finite float, of any sign."""
    number = as_real(value, name)
    if number.ndim:
        raise TypeError(f"{name}: expected a number, got shape {number.shape}")
    return float(number)


def as_positive(value: float, name: str) -> float:
    """Convert to a positive, finite float."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    kind = np.asarray(value).dtype
    if kind.kind == "f" and kind.itemsize > 8:
        raise TypeError(f"{name}: expected a number that float64 can hold, got dtype {kind}")
    if not 0.0 < value < math.inf or (isinstance(value, (int, np.integer)) and not _holds(int(value))):
        raise ValueError(f"{name}: expected a positive, finite number that float64 holds, got {value!r}")
    return float(value)


def as_bound(value: float, name: str) -> float:
    """Convert a bound on an error to a float: not negative, and infinite where nothing is known."""
    number = _as_scalar(value, name)
    if not number >= 0.0:
        raise ValueError(f"{name}: expected a non-negative bound, got {value!r}")
    return number


def as_between(value: float, name: str, least: float, most: float) -> float:
    """Convert to a float from ``least`` to ``most``, ends included."""
    number = _as_scalar(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name}: expected a number between {least} and {most}, got {value!r}")
    return number


def as_share(value: float, name: str) -> float:
    """Convert to a probability."""
    return as_between(value, name, 0.0, 1.0)


def _as_scalar(value: float, name: str) -> float:
    """Convert what NumPy or Python calls a number, and float64 holds, NaN and infinity among them."""
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    kind = np.asarray(value).dtype
    if kind.kind == "f" and kind.itemsize > 8:
        raise TypeError(f"{name}: expected a number that float64 can hold, got dtype {kind}")
    if isinstance(value, (int, np.integer)) and not _holds(int(value)):
        raise ValueError(f"{name}: expected a number that float64 holds, got {value!r}")
    return float(value)


def _holds(integer: int) -> bool:
    """Tell whether float64 holds an integer exactly."""
    try:
        return int(float(integer)) == integer
    except OverflowError:
        return False


def as_count(value: int, name: str, *, least: int = 1) -> int:
    """Convert to an integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, got {value}")
    return int(value)


def as_index(value: int, name: str, *, size: int) -> int:
    """Convert to a place among ``size``, counted from zero."""
    at = as_count(value, name, least=0)
    if at >= size:
        raise ValueError(f"{name}: expected an integer below {size}, got {value}")
    return at


def as_counts(value: ArrayLike, name: str, *, least: int = 1) -> NDArray[np.int64]:
    """Convert to a non-empty vector of integers of at least ``least``."""
    counts = as_vector(value, name)
    bad = (counts < least) | (counts != np.floor(counts))
    if bad.any():
        raise ValueError(f"{name}: expected integers of at least {least}, got {counts[bad][0]}")
    return counts.astype(np.int64)


def as_flag(value: bool, name: str) -> bool:
    """Convert to a bool what is one; a truthy text or number is none."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {type(value).__name__}")
    return bool(value)


def as_flags(value: ArrayLike, name: str, *, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Convert to an array of booleans of a given shape."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: expected a plain array, got a masked array")
    flags = np.asarray(value)
    if flags.dtype != np.bool_ or flags.shape != shape:
        raise ValueError(f"{name}: expected booleans of shape {shape}, got {flags.dtype} of {flags.shape}")
    return flags


def as_choice(value: str, name: str, choices: Collection[str]) -> str:
    """Return one of a few words."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected one of {', '.join(choices)}, got {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
    return value


def as_text(value: str, name: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, got {type(value).__name__}")
    return value


def as_generator(value: np.random.Generator, name: str = "rng") -> np.random.Generator:
    """Return a generator; a seed is none, since two functions given one would draw the same."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name}: expected a numpy.random.Generator, got {type(value).__name__}")
    return value


def as_instance(value: T, name: str, kind: type[T] | tuple[type, ...]) -> T:
    """Return an object of a class, or of one of several."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise TypeError(f"{name}: expected {' or '.join(k.__name__ for k in kinds)}, got {type(value).__name__}")
    return value


def as_callable(value: C, name: str) -> C:
    """Return what can be called."""
    if not callable(value):
        raise TypeError(f"{name}: expected a function, got {type(value).__name__}")
    return value


def as_having(value: T, name: str, *methods: str) -> T:
    """Return an object, not a class, that has every named method: what a protocol asks of it."""
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if isinstance(value, type) or missing:
        what = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{name}: expected an object with {', '.join(f'{m}()' for m in methods)}, got {what}")
    return value


def frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a read-only copy, so that a value object cannot change under its holder."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy
