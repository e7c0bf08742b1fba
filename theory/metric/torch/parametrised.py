"""Modules of PyTorch whose parameters are drawn by a generator of NumPy, and are one vector at will.

Nothing is drawn from the global state of PyTorch: parameters are not numbers until ``reset`` or :func:`load` gives them
a value. Needs PyTorch, the extra ``learn``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._extra import extra
from theory._validate import as_vector
from theory.metric.similarity import draw_parameters, split_parameters

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")


class Parametrised(torch.nn.Module):
    """A module whose own parameters are matrices of shape (inputs, outputs) and vectors."""

    def __init__(self, shapes: dict[str, tuple[int, ...]]) -> None:
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.full(shape, math.nan)))

    def reset(self, rng: np.random.Generator) -> None:
        r"""Draw them: matrices from :math:`[-1, 1]/\sqrt{\text{inputs}}`, as PyTorch's linear layer; biases vanish.

        For the residual network of metric-attention with as many hidden units as features the norms of its two matrices
        multiply to about 4/3 then, so that its being an immersion is likely but not sure from the start.
        """
        load(self, draw_parameters(tuple(tuple(p.shape) for p in self.parameters()), rng))


class Affine(Parametrised):
    """A linear map with a bias."""

    matrix: Tensor
    bias: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__({"matrix": (inputs, outputs), "bias": (outputs,)})

    def forward(self, x: Tensor) -> Tensor:
        """Return the images of (..., inputs)."""
        y: Tensor = torch.nn.functional.linear(x, self.matrix.T, self.bias)
        return y


class Table(Parametrised):
    """Vectors of words."""

    matrix: Tensor

    def __init__(self, count: int, dim: int) -> None:
        super().__init__({"matrix": (count, dim)})

    def reset(self, rng: np.random.Generator) -> None:
        """Draw the table from a normal law, so that the coordinates of a vector have unit variance."""
        load(self, rng.normal(0.0, self.matrix.shape[1] ** -0.5, self.matrix.numel()))

    def forward(self, ids: Tensor) -> Tensor:
        r"""Return the rows of the table, times :math:`\sqrt{\text{dim}}`, as (..., dim)."""
        return torch.nn.functional.embedding(ids, self.matrix) * math.sqrt(self.matrix.shape[1])


class Dropout(torch.nn.Module):
    """Dropout whose masks come from a generator of its own, of which the state is saved with the parameters."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"dropout: expected a rate from 0 to below 1, got {rate!r}")
        self.rate = rate
        self.generator = torch.Generator()

    def reset(self, rng: np.random.Generator) -> None:
        """Begin the masks anew."""
        self.generator.manual_seed(int(rng.integers(2**63)))

    def get_extra_state(self) -> Tensor:
        """Return the state of the generator."""
        state: Tensor = self.generator.get_state()
        return state

    def set_extra_state(self, state: Tensor) -> None:
        """Go on from such a state."""
        self.generator.set_state(state)

    def forward(self, x: Tensor) -> Tensor:
        """Return the tokens, in training with entries left out and the others scaled."""
        if not self.training or self.rate == 0.0:
            return x
        kept = torch.empty(x.shape, dtype=x.dtype).bernoulli_(1.0 - self.rate, generator=self.generator)
        return x * kept.div_(1.0 - self.rate).to(x.device)


def parameters_of(module: Any) -> NDArray[np.float64]:
    """Return all parameters of a module as one vector, in the order in which it registered them."""
    return np.concatenate([p.detach().cpu().double().numpy().ravel() for p in module.parameters()])


def load(module: Any, theta: ArrayLike) -> None:
    """Set all parameters of a module from one vector, rounded to their precision; ``ValueError`` if it does not fit."""
    own = list(module.parameters())
    values = as_vector(theta, "theta", size=sum(p.numel() for p in own))
    with torch.no_grad():
        for p, value in zip(own, split_parameters(values, tuple(tuple(p.shape) for p in own)), strict=True):
            p.copy_(torch.from_numpy(value))


def positions(length: int, dim: int) -> Tensor:
    r"""Return :math:`\sin(t\,10^{-8k/d})` and the cosines, k = 0 to d/2 - 1, for places t, as (length, dim)."""
    angles = np.arange(length)[:, np.newaxis] * 1e4 ** (-np.arange(0, dim, 2) / dim)
    wave: Tensor = torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1))
    return wave
