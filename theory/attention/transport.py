r"""Self-attention as nonlinear Markov transport :math:`\mu \mapsto \mu A_\mu = (\Gamma_\mu)_\#\mu`.

A layer moves points in the field of a measure. Applied to the atoms of that measure it is one step of the system
:math:`\mu_{t+1} = \mu_t A_{\mu_t}`; a network composes such steps, each taken at the *current* measure. A
feed-forward map is the Dirac kernel :math:`\delta_{\phi(x)}`, which ignores the measure.

References
----------
J. Vuckovic, A. Baratin, R. Tachet des Combes, *A mathematical theory of attention*, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from theory._validate import as_callable, as_matrix, as_points, frozen
from theory.attention.heads import MultiHead
from theory.attention.kernel import AttentionKernel
from theory.attention.measure import Measure, as_law, as_measure
from theory.attention.score import Array, Score, as_score


class TokenMap(Protocol):
    """A map of points that may depend on a measure."""

    def __call__(self, x: Array, mu: Measure) -> ArrayLike:
        """Return the images of the points ``x``, shape (m, d), in the field of ``mu``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SelfAttention:
    r"""The layer :math:`x \mapsto \Gamma_\mu(x)` of one score and value matrix, the identity unless given."""

    score: Score
    value: Array | None = None

    def __post_init__(self) -> None:
        as_score(self.score)
        if self.value is not None:
            object.__setattr__(self, "value", frozen(as_matrix(self.value, "value")))

    def __call__(self, x: Array, mu: Measure) -> Array:
        """Return the attention outputs at ``x``."""
        return AttentionKernel(self.score, as_measure(mu, "mu"), self.value).output(x)


@dataclass(frozen=True, slots=True, eq=False)
class FeedForward:
    """The layer of a pointwise map, which takes (m, d) to (m, k)."""

    function: Callable[[Array], ArrayLike]

    def __post_init__(self) -> None:
        as_callable(self.function, "function")

    def __call__(self, x: Array, mu: Measure) -> ArrayLike:
        """Return the images of ``x``; a Dirac kernel ignores the measure."""
        as_measure(mu, "mu")
        return self.function(as_points(x, "x"))


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """The layer ``x -> x + layer(x)``."""

    layer: TokenMap

    def __post_init__(self) -> None:
        as_callable(self.layer, "layer")

    def __call__(self, x: Array, mu: Measure) -> Array:
        """Return the displaced points."""
        x = as_points(x, "x")
        as_measure(mu, "mu")
        moved: Array = x + as_points(self.layer(x, mu), "layer", size=x.shape[0], dim=x.shape[1])
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Layers one after another, each in the field of the measure that enters it."""

    layers: tuple[TokenMap | MultiHead, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.layers, Iterable) or isinstance(self.layers, (str, Mapping)):
            raise TypeError(f"layers: expected layers, got {type(self.layers).__name__}")
        object.__setattr__(self, "layers", tuple(as_callable(layer, "layers") for layer in self.layers))

    def trajectory(self, mu: Measure) -> Iterator[Measure]:
        """Yield the measure before the first layer and after each."""
        yield as_measure(mu, "mu")
        for layer in self.layers:
            mu = step(layer, mu)
            yield mu

    def push(self, mu: Measure) -> Measure:
        """Return the measure after the last layer."""
        *_, last = self.trajectory(mu)
        return last


def step(layer: TokenMap | MultiHead, mu: Measure) -> Measure:
    r"""Return :math:`(\Gamma_\mu)_\#\mu`: every atom of ``mu`` moved in the field of ``mu`` itself."""
    as_callable(layer, "layer")
    as_measure(mu, "mu")
    return as_law(as_points(layer(mu.points, mu), "layer", size=mu.size), mu.weights)
