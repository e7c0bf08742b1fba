r"""Attention as a Markov kernel: the Boltzmann-Gibbs transform, softmatch, lookup and moment projection.

A kernel sends a point to a law (:meth:`at`) and a measure to a measure (:meth:`push`, written :math:`\mu K`):

* :math:`\Psi_g(\nu)(dy) = g(y)\,\nu(dy)/\nu(g)` reweights a measure by :math:`g = e^a > 0`;
* softmatch :math:`S_\nu(x, dy) = \Psi_{e^{a(x, \cdot)}}(\nu)(dy)` is the law of the key that a query matches;
* lookup :math:`L` sends a key to the law of its value, averaged over equal keys;
* a moment subspace projects a law to the representative of its moments, :math:`\Pi = e \circ M_F`;
* attention is :math:`A_\nu(x, \cdot) = \Pi[S_\nu(x, \cdot)\,L]`, a Dirac mass for the barycentre.

References
----------
Definitions 1 to 8 of J. Vuckovic, A. Baratin, R. Tachet des Combes, *A mathematical theory of attention*, 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import engine
from theory._validate import as_callable, as_flags, as_having, as_matrix, as_points, as_vector, frozen
from theory.attention.enclosed import enclose_outputs, enclose_weights, known
from theory.attention.masses import logs_of
from theory.attention.measure import EnclosedMeasure, Measure, as_law, as_measure
from theory.attention.output import attend, rounding, weight_error
from theory.attention.score import Array, Score, as_score, bounded, pairs_of
from theory.evidence import Intervals, as_intervals, is_enclosed
from theory.evidence.intervals import cover
from theory.evidence.roundoff import EXP_ULPS, U, gamma, softmax_error


class MarkovKernel(Protocol):
    """A probability law for every point."""

    def at(self, x: ArrayLike) -> Measure:
        """Return the law at the point ``x``, shape (d,)."""
        ...

    def push(self, nu: Measure) -> Measure:
        """Return the image of ``nu``: draw a point from it, then from the law at that point."""
        ...


def boltzmann_gibbs(nu: Measure, potential: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> Measure:
    r"""Return :math:`\Psi_g(\nu)` for :math:`g = e^a`, or :math:`g = 1_A e^a`.

    Parameters
    ----------
    nu : Measure
        The reference, with n atoms.
    potential : array_like, shape (n,)
        Finite :math:`a` at the atoms, dimensionless; a constant added to it changes nothing.
    where : ndarray of bool, shape (n,), optional
        The set :math:`A`; everything unless given.

    Raises
    ------
    ValueError
        If a shape does not fit or :math:`\nu(A) = 0`.
    TypeError
        If ``nu`` is no measure.
    """
    a = as_vector(potential, "potential", size=as_measure(nu, "nu").size)
    present = as_intervals(nu.weights).hi > 0.0
    if where is not None:
        present = present & as_flags(where, "where", shape=present.shape)
    if not present.any():
        raise ValueError("where: expected a set of positive mass, got mass 0")
    if is_enclosed(a, nu.points, nu.weights):
        return _enclose_transform(nu, as_intervals(a), present)
    return Measure.normalised(nu.points, _tilt(nu.weights, a, present))


def _tilt(weights: Array, potential: Array, present: NDArray[np.bool_]) -> Array:
    """Return the weights times the exponential of the potential, the largest of them one."""
    masses = np.zeros(weights.size)
    logits = potential[present] + logs_of(weights[present])
    masses[present] = np.exp(logits - logits.max())
    return masses


def _enclose_transform(nu: Measure, potential: Intervals, present: NDArray[np.bool_]) -> Measure:
    """Enclose the transformed law, and what floats make of its middles, so that a fault in them is seen."""
    shifted = np.where(present, potential - float(potential.mid[present].max()), 0.0)
    masses = np.where(present, np.exp(shifted) * nu.weights, 0.0)
    middle = as_intervals(nu.weights).mid
    floats = _tilt(middle, potential.mid, present & (middle > 0.0))
    law = cover(masses / masses.sum(), floats / floats.sum())
    return EnclosedMeasure(nu.points, law)


def transform_error(nu: Measure, potential: ArrayLike) -> float:
    """Bound the relative error of every weight of :func:`boltzmann_gibbs` that is at least 1e-300."""
    a = as_vector(potential, "potential", size=as_measure(nu, "nu").size)
    present = nu.weights > 0.0
    size = float(np.abs(a[present]).max() + np.abs(logs_of(nu.weights[present])).max())
    return softmax_error((2 * EXP_ULPS + 4) * U * size, 2.0 * size, nu.size)


@dataclass(frozen=True, slots=True, eq=False)
class Softmatch:
    r"""The kernel :math:`S_\nu` of a score against a reference measure."""

    score: Score
    nu: Measure

    def __post_init__(self) -> None:
        as_score(self.score)
        as_measure(self.nu, "nu")

    def rows(self, x: ArrayLike) -> Array:
        """Return the weights that queries ``x``, shape (m, d), give to the atoms, shape (m, n)."""
        queries = as_points(x, "x")
        if is_enclosed(queries, self.nu.points, self.nu.weights):
            return self._enclosed_rows(queries)  # type: ignore[no-any-return]
        return self._match(queries, self.nu.points, self.nu.weights)

    def _match(self, queries: Array, points: Array, weights: Array) -> Array:
        present = weights > 0.0
        pairs = pairs_of(self.score, queries, np.ascontiguousarray(points[present]))
        rows = np.zeros((queries.shape[0], weights.size))
        rows[:, present] = engine.weights(pairs, log_weights=logs_of(weights[present]))
        return rows

    def _enclosed_rows(self, queries: Any) -> Any:
        """Enclose the weights, and what floats make of the middles; atoms of no mass have none."""
        points, masses = as_intervals(self.nu.points), as_intervals(self.nu.weights)
        present = masses.hi > 0.0
        found = enclose_weights(self.score, queries, points[present], log_weights=logs_of(masses[present]))
        placed = np.eye(masses.size)[present]
        rows = found if present.all() else found @ placed
        return cover(rows, self._match(as_intervals(queries).mid, points.mid, masses.mid))

    def log_partition(self, x: ArrayLike) -> Array:
        r"""Return :math:`\log \nu(e^{a(x, \cdot)})` at queries ``x``, shape (m, d), as an array of shape (m,)."""
        queries = as_points(x, "x")
        if is_enclosed(queries, self.nu.points, self.nu.weights):
            return self._enclosed_log_partition(queries)  # type: ignore[no-any-return]
        present = self.nu.weights > 0.0
        keys = np.ascontiguousarray(self.nu.points[present])
        pairs = pairs_of(self.score, queries, keys)
        return engine.attention(pairs, keys, log_weights=logs_of(self.nu.weights[present]))[1]

    def _enclosed_log_partition(self, queries: Any) -> Any:
        masses = as_intervals(self.nu.weights)
        present = masses.hi > 0.0
        keys = as_intervals(self.nu.points)[present]
        logs = logs_of(masses[present])
        return enclose_outputs(self.score, queries, keys, keys, log_weights=logs).log_partition

    def error(self, x: ArrayLike) -> float:
        """Bound the relative error of every weight in :meth:`rows`, for a score whose rounding is bounded."""
        present = self.nu.weights > 0.0
        logs = logs_of(self.nu.weights[present])
        return weight_error(as_points(x, "x"), self.nu.points[present], bounded(self.score), logs)

    def at(self, x: ArrayLike) -> Measure:
        """Return the law of the key that the query ``x``, shape (d,), matches."""
        return as_law(self.nu.points, self.rows(as_vector(x, "x")[np.newaxis])[0])

    def push(self, nu: Measure) -> Measure:
        """Return the law of the key that a query drawn from ``nu`` matches."""
        as_measure(nu, "nu")
        return Measure.normalised(self.nu.points, nu.weights @ self.rows(nu.points))


@dataclass(frozen=True, slots=True, eq=False)
class Dirac:
    r"""The kernel :math:`\delta_{\phi(x)}` of a map from (n, d) to (n, k): a feed-forward layer, a linear value."""

    function: Callable[[Array], ArrayLike]

    def __post_init__(self) -> None:
        as_callable(self.function, "function")

    def at(self, x: ArrayLike) -> Measure:
        """Return the unit mass at the image of ``x``."""
        return self.push(Measure.dirac(as_vector(x, "x")))

    def push(self, nu: Measure) -> Measure:
        """Return the push-forward of ``nu``."""
        return as_measure(nu, "nu").push_forward(self.function)


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The kernel from a key to the law of its value: uniform over the values of all keys that are equal to it.

    Parameters
    ----------
    keys : array_like, shape (n, d_k)
    values : array_like, shape (n, d_v)

    Raises
    ------
    ValueError
        If the shapes do not fit. A law on points that are no keys raises when it is pushed, since nothing is defined
        there.
    """

    keys: Array
    values: Array

    def __post_init__(self) -> None:
        keys = as_points(self.keys, "keys")
        object.__setattr__(self, "keys", frozen(keys))
        object.__setattr__(self, "values", frozen(as_points(self.values, "values", size=keys.shape[0])))

    def at(self, x: ArrayLike) -> Measure:
        """Return the law of the value of the key ``x``."""
        return self.push(Measure.dirac(as_vector(x, "x")))

    def push(self, nu: Measure) -> Measure:
        """Return the law of the value of a key drawn from ``nu``."""
        points = as_points(as_measure(nu, "nu").points, "nu", dim=self.keys.shape[1])
        if is_enclosed(points, nu.weights):
            return self._enclosed_push(nu)
        return Measure.normalised(self.values, self._masses(points, nu.weights))

    def _masses(self, points: Array, weights: Array) -> Array:
        """Return the masses of the values: what lies on equal keys is shared among them."""
        both = np.concatenate([self.keys, points]) + 0.0  # -0.0 is 0.0
        group = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        own, asked = group[: self.keys.shape[0]], group[self.keys.shape[0] :]
        copies = np.bincount(own, minlength=group.max() + 1)
        foreign = (copies[asked] == 0) & (weights > 0.0)
        if foreign.any():
            raise ValueError(f"nu: expected atoms among the keys, got {points[int(foreign.argmax())]}")
        mass = np.bincount(asked, weights=weights, minlength=copies.size)
        shared: Array = mass[own] / copies[own]
        return shared

    def _enclosed_push(self, nu: Measure) -> Measure:
        """Share enclosed masses among equal keys; the atoms themselves must be known exactly to be found."""
        points = known(nu.points, "nu")
        weights = as_intervals(nu.weights)
        floats = self._masses(points, np.where(weights.hi > 0.0, weights.mid, 0.0))
        equal = (self.keys[:, np.newaxis, :] == points[np.newaxis, :, :]).all(axis=2)
        copies = (self.keys[:, np.newaxis, :] == self.keys[np.newaxis, :, :]).all(axis=2).sum(axis=1)
        return EnclosedMeasure(self.values, cover((equal.astype(np.float64) @ weights) / copies, floats))


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """The kernel ``first`` followed by ``then``."""

    first: MarkovKernel
    then: MarkovKernel

    def __post_init__(self) -> None:
        as_having(self.first, "first", "at", "push")
        as_having(self.then, "then", "push")

    def at(self, x: ArrayLike) -> Measure:
        """Return the law after both steps from ``x``."""
        return self.then.push(self.first.at(x))

    def push(self, nu: Measure) -> Measure:
        """Return the image of ``nu`` after both steps."""
        return self.then.push(self.first.push(nu))


@dataclass(frozen=True, slots=True, eq=False)
class AttentionKernel:
    r"""The kernel :math:`A_\nu(x, \cdot) = \delta_{\Gamma_\nu(x)}`, :math:`\Gamma_\nu(x) = \int V y\, S_\nu(x, dy)`.

    Parameters
    ----------
    score : Score
    nu : Measure
        Keys with their weights.
    value : array_like, shape (d_v, d), optional
        :math:`V`; the identity unless given.
    """

    score: Score
    nu: Measure
    value: Array | None = None

    def __post_init__(self) -> None:
        as_score(self.score)
        as_measure(self.nu, "nu")
        if self.value is not None:
            object.__setattr__(self, "value", frozen(as_matrix(self.value, "value", shape=(None, self.nu.dim))))

    @property
    def values(self) -> Array:
        """The values of the atoms, shape (n, d_v)."""
        return self.nu.points if self.value is None else self.nu.linear_image(self.value).points

    def _enclosed(self) -> AttentionKernel:
        return AttentionKernel(self.score, self.nu.enclosed(), self.value)

    def output(self, x: ArrayLike) -> Array:
        r"""Return :math:`\Gamma_\nu` at queries ``x``, shape (m, d), as an array of shape (m, d_v)."""
        queries = as_points(x, "x")
        if is_enclosed(queries) and not is_enclosed(self.nu.points):
            return self._enclosed().output(queries)
        return attend(queries, self.nu.points, self.values, score=self.score, weights=self.nu.weights)

    def rounding(self, x: ArrayLike) -> float:
        """Bound how far any entry of :meth:`output` lies from the truth, for a score whose rounding is bounded."""
        score = bounded(self.score)
        values = self.values
        error = rounding(x, self.nu.points, values, score=score, weights=self.nu.weights)
        if self.value is None:
            return error
        return error + gamma(self.nu.dim + 1) * float((np.abs(self.nu.points) @ np.abs(np.asarray(self.value)).T).max())

    def at(self, x: ArrayLike) -> Measure:
        """Return the unit mass at the output for the query ``x``."""
        return self.push(Measure.dirac(as_vector(x, "x")))

    def push(self, nu: Measure) -> Measure:
        """Return the law of the output for a query drawn from ``nu``."""
        return as_measure(nu, "nu").push_forward(self.output)
