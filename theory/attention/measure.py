r"""A token cloud is a probability measure.

:math:`\mu = \sum_i w_i \delta_{y_i}` on :math:`\mathbb{R}^d`. Tokens of a sequence carry equal weights, a repeated
token is one atom of twice the weight, and a padded token has weight zero. Every operation of the package takes and
returns such measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import (
    as_callable,
    as_count,
    as_generator,
    as_masses,
    as_matrix,
    as_points,
    as_real,
    as_share,
    as_simplex,
    as_vector,
    frozen,
)
from theory.evidence import Interval, as_intervals, exact, is_enclosed, norm
from theory.evidence.intervals import cover

_REMEDY = "; Measure.normalised divides by the sum"


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A weighted point cloud of total mass one.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Finite atoms, in the unit of the token space; kept as a read-only float64 copy.
    weights : array_like, shape (n,), optional
        Non-negative masses with sum one up to rounding; equal masses unless given. Masses with another sum go through
        :meth:`normalised`.

    Raises
    ------
    ValueError
        If the cloud is empty, a number is not finite, a mass is negative, the shapes differ, or the masses do not sum
        to one.
    TypeError
        If the numbers are not real or float64 would lose digits.

    Examples
    --------
    >>> mu = Measure([[0.0], [1.0]], [0.25, 0.75])
    >>> mu.mean()
    array([0.75])
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __init__(self, points: ArrayLike, weights: ArrayLike | None = None) -> None:
        cloud = as_points(points, "points")
        n = cloud.shape[0]
        law = np.full(n, 1.0 / n) if weights is None else as_simplex(weights, "weights", size=n, remedy=_REMEDY)
        object.__setattr__(self, "points", frozen(cloud))
        object.__setattr__(self, "weights", frozen(law))

    @classmethod
    def normalised(cls, points: ArrayLike, masses: ArrayLike) -> Measure:
        """Make the measure with weights ``masses / sum(masses)``, for non-negative masses of positive finite total."""
        cloud = as_points(points, "points")
        relative = as_masses(masses, "masses", size=cloud.shape[0])
        if is_enclosed(cloud, relative):
            return EnclosedMeasure(cloud, relative)
        return cls(cloud, relative / math.fsum(relative.tolist()))

    @classmethod
    def dirac(cls, point: ArrayLike) -> Measure:
        """Make the unit mass at ``point``, shape (d,)."""
        return as_law(as_vector(point, "point")[np.newaxis])

    def __reduce__(self) -> tuple[type[Measure], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return Measure, (self.points, self.weights)  # so that copies are checked and read-only like the original

    @property
    def size(self) -> int:
        """Number of atoms."""
        return int(self.points.shape[0])

    @property
    def dim(self) -> int:
        """Dimension of the token space."""
        return int(self.points.shape[1])

    def __repr__(self) -> str:
        return f"Measure(size={self.size}, dim={self.dim})"

    def enclosed(self) -> EnclosedMeasure:
        """Return this measure as it is exactly, so that what becomes of it has its rounding enclosed."""
        return EnclosedMeasure(exact(self.points), exact(self.weights))

    def mean(self) -> NDArray[np.float64]:
        """Return the barycentre, shape (d,)."""
        mean: NDArray[np.float64] = self.weights @ self.points
        return mean

    @np.errstate(over="ignore", invalid="ignore")
    def covariance(self) -> NDArray[np.float64]:
        """Return the covariance matrix, shape (d, d), from centred points."""
        centred = self.points - self.mean()
        covariance: NDArray[np.float64] = centred.T @ (self.weights[:, np.newaxis] * centred)
        return _held(covariance, "covariance")

    @np.errstate(over="ignore", invalid="ignore")
    def variance(self) -> float:
        """Return the total variance, the trace of :meth:`covariance`."""
        centred = self.points - self.mean()
        variance = float(self.weights @ np.einsum("ij,ij->i", centred, centred))
        return float(_held(np.array(variance), "variance"))

    def integrate(self, function: Callable[[NDArray[np.float64]], ArrayLike]) -> NDArray[np.float64]:
        """Return the integral of ``function``, which maps (n, d) to (n,) or (n, k), against this measure."""
        values = as_real(as_callable(function, "function")(self.points), "function")
        values = as_points(values[:, np.newaxis] if values.ndim == 1 else values, "function", size=self.size)
        integral: NDArray[np.float64] = self.weights @ values
        return integral

    def push_forward(self, function: Callable[[NDArray[np.float64]], ArrayLike]) -> Measure:
        """Return the image of this measure under ``function``, which maps (n, d) to (n, k)."""
        images = as_points(as_callable(function, "function")(self.points), "function", size=self.size)
        return as_law(images, self.weights)

    def linear_image(self, matrix: ArrayLike) -> Measure:
        """Return the image under ``y -> matrix @ y``, with ``matrix`` of shape (k, d)."""
        return Measure(self.points @ as_matrix(matrix, "matrix", shape=(None, self.dim)).T, self.weights)

    def mix(self, other: Measure, share: float) -> Measure:
        """Return ``(1 - share)`` of this measure plus ``share`` of ``other``, with ``share`` in [0, 1]."""
        share = as_share(share, "share")
        if as_measure(other, "other").dim != self.dim:
            raise ValueError(f"other: expected dimension {self.dim}, got {other.dim}")
        masses = np.concatenate([(1.0 - share) * self.weights, share * other.weights])
        return Measure.normalised(np.concatenate([self.points, other.points]), masses)

    def replicate(self, times: int) -> Measure:
        """Return the same measure with every atom written ``times`` times."""
        copies = as_count(times, "times")
        return Measure.normalised(np.repeat(self.points, copies, axis=0), np.repeat(self.weights, copies))

    def sample(self, size: int, rng: np.random.Generator) -> Measure:
        """Return the empirical measure of ``size`` independent draws."""
        chosen = as_generator(rng).choice(self.size, size=as_count(size, "size"), p=self.weights / self.weights.sum())
        return Measure(self.points[chosen])


class EnclosedMeasure(Measure):
    """A measure of which atoms and masses are known up to an error; its law is the masses over their sum.

    Parameters
    ----------
    points : array_like or Intervals, shape (n, d)
    weights : array_like or Intervals, shape (n,), optional
        Non-negative masses, of any total that is certainly positive; equal masses unless given.

    Raises
    ------
    ValueError
        If the cloud is empty, the shapes differ, a mass is certainly negative or the total may vanish.
    """

    __slots__ = ()
    points: Any
    weights: Any

    def __init__(self, points: Any, weights: Any = None) -> None:
        cloud = exact(as_points(points, "points"))
        masses = np.ones(cloud.shape[0]) if weights is None else weights
        object.__setattr__(self, "points", cloud)
        object.__setattr__(self, "weights", exact(as_masses(masses, "weights", size=cloud.shape[0])))

    def __reduce__(self) -> tuple[Any, ...]:
        return EnclosedMeasure, (self.points, self.weights)

    def __repr__(self) -> str:
        return f"EnclosedMeasure(size={self.size}, dim={self.dim})"

    def enclosed(self) -> EnclosedMeasure:
        """Return this measure, which is enclosed."""
        return self

    def middle(self) -> Measure:
        """Return the measure of the middles."""
        return Measure.normalised(self.points.mid, self.weights.mid)

    def law(self) -> Any:
        """Return the masses over their sum, shape (n,)."""
        return self.weights / self.weights.sum()

    def mean(self) -> Any:
        """Return the barycentre, shape (d,)."""
        return cover(self.law() @ self.points, self.middle().mean())

    def covariance(self) -> Any:
        """Return the covariance matrix, shape (d, d)."""
        centred = self.points - self.mean()
        return cover(centred.T @ (self.law()[:, np.newaxis] * centred), self.middle().covariance())

    def variance(self) -> Any:
        """Return the total variance."""
        centred = self.points - self.mean()
        return cover(self.law() @ (centred * centred).sum(axis=1), self.middle().variance())

    def integrate(self, function: Callable[[Any], Any]) -> Any:
        """Return the integral of ``function``, which maps (n, d) to (n,) or (n, k), against this measure."""
        enclosed = self.law() @ as_callable(function, "function")(self.points)
        integral = self.middle().integrate(lambda points: as_intervals(function(points)).mid)
        return cover(enclosed, integral if np.ndim(enclosed) else integral[0])

    def linear_image(self, matrix: ArrayLike) -> Measure:
        """Return the image under ``y -> matrix @ y``, with ``matrix`` of shape (k, d)."""
        return EnclosedMeasure(self.points @ as_matrix(matrix, "matrix", shape=(None, self.dim)).T, self.weights)

    def mix(self, other: Measure, share: float) -> Measure:
        """Return ``(1 - share)`` of this measure plus ``share`` of ``other``."""
        first = self.law()
        second = other.enclosed().law()
        part = exact(as_share(share, "share"))
        masses = np.concatenate([(1 - part) * first, part * second])
        return EnclosedMeasure(np.concatenate([self.points, other.points]), masses)

    def blur(self) -> Interval:
        r"""Bound the distance W1 between this measure and that of the middles.

        Atoms move by their radii. Two laws a and b on the same atoms x are apart by at most
        :math:`\sum_i |a_i - b_i| |x_i - x_c|` for any c, as test functions may be taken to vanish at :math:`x_c`; here
        it is the heaviest atom.
        """
        law = self.law()
        blur = (law * norm(exact(self.points.radius), axis=1)).sum()
        middle = exact(self.middle().weights)  # what the middle has been normalised to
        heaviest = self.points[int(self.weights.mid.argmax())]
        blur = blur + (abs(law - middle / middle.sum()) * norm(self.points - heaviest, axis=1)).sum()
        return Interval(0.0, blur.hi, blur.kind)


def as_law(points: Any, weights: Any = None) -> Measure:
    """Return the measure of these atoms and masses, enclosed if any of them is."""
    if is_enclosed(points, weights):
        return EnclosedMeasure(points, weights)
    return Measure(points, weights)


def as_measure(value: Measure, name: str) -> Measure:
    """Return ``value``, or raise ``TypeError`` if it is no measure."""
    if not isinstance(value, Measure):
        raise TypeError(f"{name}: expected a Measure, got {type(value).__name__}")
    return value


def _held(moment: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return a second moment, or raise ``ValueError`` if it leaves the range of float64."""
    if not np.isfinite(moment).all():
        raise ValueError(f"points: expected a {name} that float64 can hold, got {moment[~np.isfinite(moment)][0]}")
    return moment
