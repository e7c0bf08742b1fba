r"""Tokens that attend to each other with weights normalised over queries and over keys.

.. math:: \dot x_i = V \sum_j \frac{P_{ij}}{m_i} x_j, \qquad P_{ij} = m_i m_j e^{f_i + a(x_i, x_j) + g_j},
   \quad \sum_j P_{ij} = m_i, \; \sum_i P_{ij} = m_j

(Sinkhorn attention). A velocity has no error bar to carry what an iteration has left over. So the field gives none
unless every column sum is right to the tolerance, and says how far it came instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_having, as_masses, as_matrix, as_points, as_positive, frozen
from theory.attention import Score
from theory.attention.sinkhorn import TOLERANCE, doubly_normalised

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SinkhornField:
    """Doubly normalised attention of the tokens.

    Parameters
    ----------
    score : Score
    value : array_like, shape (d, d), optional
        The value matrix; the identity unless given.
    weights : array_like, shape (n,), optional
        Of the tokens, of any positive total; equal unless given.
    sweeps : int, default 1000
        The most to make for one velocity.
    tolerance : float, default 1e-12
        Largest relative error of a column sum.

    Raises
    ------
    ValueError
        If ``value`` is not a finite square matrix, the weights are negative or all zero, or a number is not positive.
    ArithmeticError
        When called, if the sweeps do not reach the tolerance.
    """

    score: Score
    value: Array | None = None
    weights: Array | None = None
    sweeps: int = 1000
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if self.value is not None:
            value = as_matrix(self.value, "value")
            square = as_matrix(value, "value", shape=(value.shape[0], value.shape[0]))
            object.__setattr__(self, "value", frozen(square))
        if self.weights is not None:
            object.__setattr__(self, "weights", frozen(as_masses(self.weights, "weights")))
        as_having(self.score, "score", "matrix")
        object.__setattr__(self, "sweeps", as_count(self.sweeps, "sweeps"))
        object.__setattr__(self, "tolerance", as_positive(self.tolerance, "tolerance"))

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities of the tokens ``x``, both of shape (n, d)."""
        x = as_points(x, "x")
        if self.value is not None and self.value.shape[0] != x.shape[1]:
            raise ValueError(f"x: expected dimension {self.value.shape[0]} as the value matrix, got {x.shape[1]}")
        found = doubly_normalised(
            x, x, score=self.score, query_weights=self.weights, key_weights=self.weights,
            sweeps=self.sweeps, tolerance=self.tolerance,
        )  # fmt: skip
        if not found.converged:
            raise ArithmeticError(
                f"sweeps: expected column sums right to {self.tolerance:.1e} after {self.sweeps} sweeps, "
                f"got {found.residual:.1e}"
            )
        output = found.output(x)
        return output if self.value is None else output @ self.value.T
