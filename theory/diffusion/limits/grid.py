r"""The calculus of periodic functions on a uniform grid of the torus :math:`[0, 2\pi)^d`.

For a trigonometric polynomial that the grid resolves, integrals by the trapezoidal rule, derivatives and Fourier
multipliers are exact but for rounding; for an analytic function they miss by what its coefficients beyond half the
grid's size amount to, which falls faster than any power.

*Rounding.* A fast transform of N numbers is off by at most :math:`\eta\log_2 N` of its Euclidean norm, with
:math:`\eta = \mu + \gamma_4(\sqrt2 + \mu)` and twiddle factors within :math:`\mu` (Higham 2002, theorem 24.2). With
:math:`\mu = 2u` that is below :math:`8u\log_2 N` (NumPy's own transforms also use other radices, whose constants are no
larger per level than that of two radix-two levels, charged here as :math:`16u`). So a multiplier with :math:`|m_k| \le
c` returns every value within :math:`(32\log_2 N + 4)\,u\,c\,\|v\|_2` (:meth:`PeriodicGrid.rounding`).

References
----------
N. Higham, *Accuracy and Stability of Numerical Algorithms*, second edition, SIAM 2002, chapter 24.
L. Trefethen, *Spectral Methods in MATLAB*, SIAM 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_bound, as_callable, as_count, as_real
from theory.evidence import as_intervals, is_enclosed, norm, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import U

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PeriodicGrid:
    r"""Uniform nodes on :math:`[0, 2\pi)^d`.

    Parameters
    ----------
    shape : tuple of int
        Nodes per direction, each at least 3. Functions on the grid are arrays of this shape.

    Raises
    ------
    TypeError, ValueError
        If a size is not an integer of at least 3.
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.shape, (tuple, list)):
            raise TypeError(f"shape: expected a tuple of integers, got {type(self.shape).__name__}")
        sizes = tuple(as_count(size, "shape", least=3) for size in self.shape)
        if not sizes:
            raise ValueError("shape: expected at least one direction, got none")
        object.__setattr__(self, "shape", sizes)

    @property
    def dim(self) -> int:
        """Number of directions d."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of nodes N."""
        return math.prod(self.shape)

    @cached_property
    def axes(self) -> tuple[Array, ...]:
        """Coordinates, d arrays that broadcast to the grid, in radians."""
        lines = (2.0 * math.pi * np.arange(n) / n for n in self.shape)
        return tuple(np.meshgrid(*lines, indexing="ij", sparse=True))

    @cached_property
    def nodes(self) -> Array:
        """The nodes as a cloud of shape (N, d), in radians, in the order of ``values.ravel()``."""
        return np.stack([np.broadcast_to(x, self.shape).ravel() for x in self.axes], axis=1)

    @cached_property
    def frequencies(self) -> tuple[Array, ...]:
        """Integer frequencies, d arrays that broadcast to the grid of modes."""
        return tuple(np.meshgrid(*(np.fft.fftfreq(n, 1.0 / n) for n in self.shape), indexing="ij", sparse=True))

    def integral(self, values: Any) -> Any:
        """Integrate over the torus, in radians to the power d; enclosed if the values are, up to the unit."""
        function = self._on(values)
        cell = math.prod(2.0 * math.pi / n for n in self.shape)
        if is_enclosed(function):
            return cell * function.sum()
        return cell * math.fsum(function.ravel().tolist())

    def multiply(self, values: ArrayLike, multiplier: Callable[..., ArrayLike]) -> Array:
        """Multiply every Fourier coefficient.

        Parameters
        ----------
        values : array_like or Intervals
            On the grid.
        multiplier : callable
            From the d arrays of integer frequencies to real or imaginary factors, Hermitian, so that real functions
            stay real.

        Returns
        -------
        ndarray or Intervals
            On the grid. Of enclosed values the result is enclosed, for factors within 64 u of the largest: what moves
            values or factors moves a result by no more than the Euclidean norm of that.
        """
        function = self._on(values)
        factors = np.asarray(as_callable(multiplier, "multiplier")(*self.frequencies))
        if is_enclosed(function):
            given = as_intervals(function)
            largest = float(np.abs(factors).max())
            inexact = (64.0 * U * norm(given.mid) + norm(given.radius)).hi * largest
            found = self.multiply(given.mid, lambda *_: factors)
            return within(found, self.rounding(given.mid, largest) + inexact, weakest(given))  # type: ignore[no-any-return]
        with np.errstate(over="ignore", invalid="ignore"):
            moved: Array = np.fft.ifftn(factors * np.fft.fftn(function)).real
        if not np.isfinite(moved).all():
            raise ValueError("values: expected numbers whose transform float64 can hold, got an overflow")
        return moved

    def derivative(self, values: ArrayLike, *orders: int) -> Array:
        """Differentiate ``orders[k]`` times in direction k; the highest mode of an even grid has no odd derivative."""
        if len(orders) != self.dim:
            raise ValueError(f"orders: expected {self.dim}, got {len(orders)}")

        counts = [as_count(order, "orders", least=0) for order in orders]

        def factor(*k: Array) -> NDArray[np.complex128]:
            product = np.ones((1,) * self.dim, dtype=np.complex128)
            for mode, count, n in zip(k, counts, self.shape, strict=True):
                lost = (np.abs(mode) == n / 2) & (count % 2 == 1)
                product = product * np.where(lost, 0.0, (1j * mode) ** count)
            return product

        return self.multiply(values, factor)

    def laplacian(self, values: ArrayLike) -> Array:
        """Apply the flat Laplacian."""
        return self.multiply(values, lambda *k: -sum(mode**2 for mode in k))

    def gradient(self, values: ArrayLike) -> Array:
        """Return the first derivatives, shape (d, ...)."""
        unit = np.eye(self.dim, dtype=int).tolist()
        return np.stack([self.derivative(values, *orders) for orders in unit])

    def matrix(self, operator: Callable[[Array], Array]) -> Array:
        """Return the dense (N, N) matrix of a linear operator on functions on the grid."""
        as_callable(operator, "operator")
        columns: list[Any] = [operator(column.reshape(self.shape)).ravel() for column in np.eye(self.size)]
        return np.stack(columns, axis=1)

    def rounding(self, values: Any, largest: float = 1.0) -> Any:
        """Bound the rounding error of any value of :meth:`multiply`, for factors of size up to ``largest``.

        Of enclosed values the bound itself is enclosed.
        """
        function = self._on(values)
        with np.errstate(over="ignore"):
            squares = [] if is_enclosed(function) else (function**2).ravel().tolist()
        length = norm(function) if is_enclosed(function) else math.sqrt(math.fsum(squares))
        return (32.0 * math.log2(self.size) + 4.0) * U * as_bound(largest, "largest") * length

    def _on(self, values: ArrayLike) -> Array:
        array = as_real(values, "values")
        if array.shape != self.shape:
            raise ValueError(f"values: expected shape {self.shape}, got shape {array.shape}")
        return array
