r"""Stacks of attention layers among tokens of the flat two-torus, through the fast sums: a million tokens a layer.

Tokens are a square lattice of angles and weigh their density; the score is that of squared distances of the torus in
four dimensions, :math:`-\sum_f|e^{ix_f} - e^{iy_f}|^2/2\varepsilon`. A layer averages with weights that are those of
the first one, since tokens stay where they are (:class:`LatticeLayer`).

*Rounding.* Of an angle :math:`2\pi j/m` the number :math:`\pi`, a product and a quotient are rounded, which is at most
:math:`6\pi u`; over both angles of both tokens that moves a score, whose slope is at most :math:`1/\varepsilon` in
each, by :math:`24\pi u/\varepsilon`. Masses that are off by shares :math:`\delta_j` up to 64 u move an average m of
values v of size one by :math:`\mathbb E\,\delta(v - m)` but for the square of them, at most by 64 u, since
:math:`\mathbb E|v - m| \le 1`.

References
----------
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
A. Barnett, J. Magland and L. af Klinteberg, A parallel nonuniform fast Fourier transform library based on an
"exponential of semicircle" kernel, *SIAM Journal on Scientific Computing* 41 (2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_callable, as_count, as_masses, as_positive
from theory.attention.output import weight_error
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal, propagate
from theory.evidence.roundoff import U, average_error

Array = NDArray[np.float64]
_POSITION = 24.0 * math.pi * U  # derived above
_DENSITY = 65.0 * U
_FEW = 2**23  # measured: pairs up to which all of them are faster than fast sums


class LatticeLayer:
    r"""Attention of :math:`m^2` weighted tokens of the torus to each other, by fast sums.

    Parameters
    ----------
    count : int
        m, the tokens around each of both angles.
    density : callable
        From the angles, shapes (m, 1) and (1, m), to positive masses of any total, shape (m, m), accurate to 64 u.
    epsilon : float
        Positive.
    accuracy : float, default 1e-12
        What the fast sums may be off, from 1e-13 to 0.1. Up to 53 tokens around all pairs are summed instead.

    Attributes
    ----------
    grid : PeriodicGrid
        Where the tokens are; functions have its shape.
    error : float
        Bound on what an average of values of size one is off: the promise of the fast sums, which they check at some
        rows of every layer only, and rounding. So it is no proof unless all pairs are summed.

    Raises
    ------
    ValueError
        If an argument is out of its range, or a mass is not positive.
    """

    def __init__(
        self, count: int, density: Callable[[Array, Array], ArrayLike], epsilon: float, *, accuracy: float = 1e-12
    ) -> None:
        m = as_count(count, "count", least=3)
        as_callable(density, "density")
        self._epsilon = as_positive(epsilon, "epsilon")
        self._score = chordal(epsilon)
        self._accuracy = as_between(accuracy, "accuracy", 1e-13, 0.1)
        self._method = "dense" if m**4 <= _FEW else "nufft"
        self.grid = PeriodicGrid((m, m))
        masses = np.asarray(density(*self.grid.axes))
        if masses.shape != self.grid.shape:
            raise ValueError(f"density: expected shape {self.grid.shape}, got shape {masses.shape}")
        self._masses = as_masses(masses.ravel(), "density", size=m * m)
        if not self._masses.min() > 0.0:
            raise ValueError(f"density: expected positive masses, got {self._masses.min()}")
        nodes = self.grid.nodes
        relative = weight_error(nodes, nodes, self._score, np.log(self._masses), moved=_POSITION / self._epsilon)
        promised = 0.0 if self._method == "dense" else self._accuracy
        self.error = promised + average_error(1.0, m * m, relative=relative) + _DENSITY

    def __call__(self, values: Any) -> Array:
        """Average values on the grid."""
        function = np.asarray(values, dtype=np.float64).ravel()
        nodes = self.grid.nodes
        averaged = propagate(
            nodes, nodes, function, self._epsilon, score=self._score, weights=self._masses,
            method=self._method, accuracy=self._accuracy,
        )  # fmt: skip
        return averaged.reshape(self.grid.shape)


def resolving_count(epsilon: float, *, per_width: float, multiple: int = 1) -> int:
    r"""Return the least multiple of a number that is at least ``per_width`` :math:`/\sqrt\varepsilon`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not positive.
    """
    tokens = as_positive(per_width, "per_width") / math.sqrt(as_positive(epsilon, "epsilon"))
    unit = as_count(multiple, "multiple")
    if not tokens < 1e6:
        raise ValueError(f"epsilon: expected one to resolve with fewer than a million tokens, got {tokens:g} of them")
    return unit * math.ceil(tokens / unit)
