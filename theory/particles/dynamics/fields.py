r"""Velocities of tokens that attend to each other.

A field takes the tokens, shape (n, d), to their velocities, of the same shape. With weights :math:`m_j`, scores
:math:`a` and a value matrix :math:`V`,

.. math:: \dot x_i = V \sum_j P_{ij} x_j, \quad P_{ij} = \frac{m_j e^{a(x_i, x_j)}}{\sum_k m_k e^{a(x_i, x_k)}},
   \qquad\text{or}\qquad \dot x_i = V \sum_j m_j e^{a(x_i, x_j)} x_j .

The first is attention (SA, :class:`SoftmaxField`), the second has no normalisation (USA, :class:`UnnormalisedField`).
:class:`Tangential` keeps either on the sphere, as layer normalisation after each layer does (Post-LN), and
:class:`PreNorm` normalises what enters a layer only. All sums are the engine's: no (n, n) matrix is formed. Asked with
enclosed tokens (:func:`theory.evidence.exact`), a field encloses its velocities.

References
----------
B. Geshkovski, C. Letrouit, Y. Polyanskiy, P. Rigollet, A mathematical perspective on transformers, *Bulletin of the
American Mathematical Society* 62 (2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._backend import backend
from theory._validate import (
    as_callable,
    as_choice,
    as_flag,
    as_having,
    as_masses,
    as_matrix,
    as_number,
    as_points,
    as_positive,
    frozen,
)
from theory.attention import Prepared, Score, prepare, read
from theory.attention.score import AsForm, DotProduct
from theory.engine import METHODS, AttentionResult, Form, Pairs
from theory.evidence import as_intervals, exact, is_enclosed, norm

Array = NDArray[np.float64]
_LARGEST = 709.0  # derived: below the logarithm of the largest float


class Field(Protocol):
    """A velocity for every token."""

    def __call__(self, x: Array, /) -> Array:
        """Return the velocities of the tokens ``x``, both of shape (n, d)."""
        ...


@dataclass(frozen=True, slots=True)
class Overlap:
    r"""The score :math:`\beta\langle x, y\rangle` for any real :math:`\beta`, also zero and negative.

    Raises
    ------
    TypeError, ValueError
        If ``beta`` is not a finite number.
    """

    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores."""
        scores: Array = self.beta * (as_points(x, "x") @ as_points(y, "y").T)
        return scores

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return the tokens as they are."""
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {x.shape[1]} as the queries, got {y.shape[1]}")
        return Pairs(Form.DOT, x, y, np.array([self.beta]))

    def as_form(self, _dim: int) -> AsForm:
        """Return the form of the kernels that this is, in any dimension."""
        return AsForm(Form.DOT, self.beta, None)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error of the scores, by Cauchy-Schwarz."""
        if self.beta == 0.0:
            return 0.0, 0.0
        return DotProduct(scale=abs(self.beta)).bounds(x, y)


class _Prepares:
    """A field that keeps its attention prepared, which is no part of its value."""

    __slots__ = ("_prepared",)
    _prepared: Prepared


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxField(_Prepares):
    r"""Attention: :math:`\dot x_i = V \sum_j P_{ij} x_j`.

    Parameters
    ----------
    score : Score
    value : array_like, shape (d, d), optional
        :math:`V`; the identity unless given.
    weights : array_like, shape (n,), optional
        Of the tokens, of any positive total; equal unless given.
    causal : bool, default False
        Token i sees the tokens up to and including the i-th.
    method, accuracy
        As in :func:`theory.attention.attend`.

    Raises
    ------
    ValueError
        If ``value`` is not a finite square matrix or the weights are negative or all zero; when called, as
        :func:`theory.attention.attend` says.
    """

    score: Score
    value: Array | None = None
    weights: Array | None = None
    causal: bool = False
    method: str = "dense"
    accuracy: float = 1e-12

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities, shape (n, d)."""
        return _valued(_sums(self, x).output, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class UnnormalisedField(_Prepares):
    r"""Attention without its denominator: :math:`\dot x_i = V \sum_j m_j e^{a(x_i, x_j)} x_j`.

    Parameters and errors as for :class:`SoftmaxField`, except that the weights count as they are, not by their ratios;
    :math:`1/n` each unless given. When called, ``OverflowError`` if a sum leaves float64.
    """

    score: Score
    value: Array | None = None
    weights: Array | None = None
    causal: bool = False
    method: str = "dense"
    accuracy: float = 1e-12

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities, shape (n, d)."""
        found = _sums(self, x)
        log_mass = found.log_partition
        if self.weights is None:
            count = float(found.output.shape[0])
            log_mass = log_mass - (np.log(exact(count)) if is_enclosed(log_mass) else math.log(count))
        return _valued(exponentials(log_mass)[:, np.newaxis] * found.output, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Tangential:
    r"""A field projected on the tangent spaces of the unit sphere: :math:`P^\perp_x y = y - \langle x, y\rangle x`."""

    field: Field

    def __post_init__(self) -> None:
        as_callable(self.field, "field")

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities of unit tokens ``x``, shape (n, d)."""
        x = as_points(x, "x")
        y = self.field(x)
        if is_enclosed(x, y):
            return y - (x * y).sum(axis=1, keepdims=True) * x  # type: ignore[no-any-return]
        tangent: Array = y - np.einsum("ij,ij->i", x, y)[:, np.newaxis] * x
        return tangent


@dataclass(frozen=True, slots=True, eq=False)
class PreNorm:
    r"""A field of the normalised tokens: :math:`\dot x_i = f(x_1/|x_1|, \dots, x_n/|x_n|)_i`.

    Raises
    ------
    ValueError
        When called with a token at the origin.
    """

    field: Field

    def __post_init__(self) -> None:
        as_callable(self.field, "field")

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities, shape (n, d)."""
        x = as_points(x, "x")
        if is_enclosed(x):
            return self.field(x / norm(x, axis=1, keepdims=True))
        sizes = np.abs(x).max(axis=1, keepdims=True)
        if not sizes.min() > 0.0:
            raise ValueError(f"x: expected tokens away from the origin, got token {int(sizes.argmin())} there")
        scaled = np.ldexp(x, 1 - np.frexp(sizes)[1])  # exact, and its squares stay in float64
        return self.field(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def on_sphere(
    beta: float, *, normalised: bool = True, weights: ArrayLike | None = None, causal: bool = False
) -> Tangential:
    r"""Return SA, or USA unless ``normalised``, of unit tokens with scores :math:`\beta\langle x_i, x_j\rangle`."""
    kind = SoftmaxField if as_flag(normalised, "normalised") else UnnormalisedField
    return Tangential(kind(Overlap(beta), weights=weights, causal=causal))  # type: ignore[arg-type]  # it converts


def exponentials(logarithms: Array) -> Array:
    """Return the sums behind these logarithms, or say that one leaves float64."""
    top = float(as_intervals(logarithms).hi.max())
    if not top < _LARGEST:
        raise OverflowError(f"x: expected sums below exp({_LARGEST:.1f}), got exp({top:.1f})")
    sums: Array = np.exp(logarithms)
    return sums


def _sums(field: SoftmaxField | UnnormalisedField, x: ArrayLike) -> AttentionResult:
    found = _quick(field, x) if field.method == "dense" and field.accuracy < 1.0 else None
    if found is not None:
        return found
    x = as_points(x, "x")
    weights = None if field.weights is None else as_masses(field.weights, "weights", size=x.shape[0])
    return read(
        x, x, x, score=field.score, weights=weights, causal=field.causal,
        method=field.method, accuracy=field.accuracy,
    )  # fmt: skip


def _quick(field: SoftmaxField | UnnormalisedField, x: ArrayLike) -> AttentionResult | None:
    prepared = getattr(field, "_prepared", None)  # none yet in a copy, or one for another backend
    if prepared is None or prepared.backend != backend():
        prepared = prepare(field.score, weights=field.weights, causal=field.causal)
        object.__setattr__(field, "_prepared", prepared)
    return prepared.quick(x)


def _settle(field: SoftmaxField | UnnormalisedField) -> None:
    as_having(field.score, "score", "matrix")
    object.__setattr__(field, "causal", as_flag(field.causal, "causal"))
    as_choice(field.method, "method", METHODS)
    object.__setattr__(field, "accuracy", as_positive(field.accuracy, "accuracy"))
    if field.value is not None:
        value = as_matrix(field.value, "value")
        object.__setattr__(field, "value", frozen(as_matrix(value, "value", shape=(value.shape[0], value.shape[0]))))
    if field.weights is not None:
        object.__setattr__(field, "weights", frozen(as_masses(field.weights, "weights")))


def _valued(velocities: Array, value: Array | None) -> Array:
    if value is None:
        return velocities
    if value.shape[0] != velocities.shape[1]:
        raise ValueError(f"x: expected dimension {value.shape[0]} as the value matrix, got {velocities.shape[1]}")
    turned: Array = velocities @ value.T
    return turned
