r"""Adam, with the decay of the weights in the gradient.

.. math:: g \leftarrow \nabla L + \lambda\vartheta, \quad m \leftarrow \beta_1m + (1 - \beta_1)g, \quad
    v \leftarrow \beta_2v + (1 - \beta_2)g^2, \quad
    \vartheta \leftarrow \vartheta - \frac{\eta}{1 - \beta_1^t}\frac{m}{\sqrt{v/(1 - \beta_2^t)} + \delta} .

References
----------
D. Kingma and J. Ba, *Adam: a method for stochastic optimization*, ICLR 2015.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count, as_number, as_positive, as_vector

Array = NDArray[np.float64]
BETAS = 0.9, 0.999
DELTA = 1e-8


class Adam:
    """The optimiser and what it remembers.

    Parameters
    ----------
    size : int
        How many parameters there are.
    rate : float
        Learning rate, positive.
    decay : float, default 0.0
        Of the weights, not negative.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """

    def __init__(self, size: int, rate: float, decay: float = 0.0) -> None:
        self.rate = as_positive(rate, "rate")
        self.decay = as_number(decay, "decay")
        if self.decay < 0.0:
            raise ValueError(f"decay: expected a number that is not negative, got {decay}")
        self._mean = np.zeros(as_count(size, "size"))
        self._square = np.zeros_like(self._mean)
        self._count = 0

    def step(self, theta: Array, gradient: Array) -> Array:
        """Return the next parameters."""
        first, second = BETAS
        g = gradient + self.decay * theta
        self._count += 1
        self._mean += (1.0 - first) * (g - self._mean)
        self._square = second * self._square + (1.0 - second) * g * g
        scale = np.sqrt(self._square) / math.sqrt(1.0 - second**self._count) + DELTA
        return np.asarray(theta - self.rate / (1.0 - first**self._count) * self._mean / scale)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the next steps depend on."""
        return {"mean": self._mean.copy(), "square": self._square.copy(), "count": np.array(self._count)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state that :meth:`state` returned.

        Raises
        ------
        ValueError
            If it is that of another number of parameters.
        """
        mean, square = (as_vector(state[name], f"state[{name!r}]", size=self._mean.size) for name in ("mean", "square"))
        self._mean, self._square = mean.copy(), square.copy()
        self._count = as_count(int(state["count"]), "state['count']", least=0)
