r"""Attention under Gaussian laws by finitely many tokens that stand for them, enclosed with what these leave.

A Gauss-Hermite rule of q nodes misses the mean of a coordinate under a tilt c by at most the share of a Poisson law of
mean :math:`c^2/2` at q - 1 and beyond (see ``hermite``). A lattice of step h within a cube of
half-side R drops two tails per axis, which move a mean by their root (Cauchy and Schwarz), and its step enters through
the frequencies :math:`2\pi k/h`, as a power of :math:`e^{-2\pi^2p/h^2}` each, where p is a variance. Derived here. What
is rounded: the passes of the engine, the weights, and tokens that carry their scores along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtr

from theory._validate import as_between, as_count, as_having, as_matrix, as_points, as_vector
from theory.attention import Measure, SquaredDistance, attend, lattice, rounding
from theory.attention.measure import as_measure
from theory.evidence import Intervals, within
from theory.evidence.roundoff import gamma
from theory.particles.mean_field.hermite import ERROR, NODES

Array = NDArray[np.float64]
_POSITIONS = 8  # derived: roundings of a token's coordinate beyond its products: mean, sum and the weight it has
_SURE = 1.0 + 1e-9  # taken: of SciPy's incomplete gamma function


class Kernel(Protocol):
    """Attention to the tokens of a measure, which bounds its rounding."""

    nu: Measure

    @property
    def values(self) -> Array:
        """What is averaged, shape (n, d)."""
        ...

    def output(self, x: Array, /) -> Array:
        """Return what the queries read."""
        ...

    def rounding(self, x: Array, /) -> float:
        """Bound how far that is from the truth about the tokens."""
        ...


class DistanceAttention:
    """Attention with the scores :math:`-|Qx - Ky|^2` to the tokens of a measure.

    Parameters
    ----------
    nu : Measure
        Of dimension d.
    query, key : ndarray, shape (k, d)
        Q and K.
    value : ndarray, shape (d, d)
        V.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    def __init__(self, nu: Measure, query: Array, key: Array, value: Array) -> None:
        self.nu = as_measure(nu, "nu")
        self.query = as_matrix(query, "query", shape=(None, nu.dim))
        self.key = as_matrix(key, "key", shape=self.query.shape)
        self.value = as_matrix(value, "value", shape=(nu.dim, nu.dim))
        self.values: Array = nu.points @ self.value.T

    def output(self, x: Array, /) -> Array:
        """Return what the queries read, shape (m, d)."""
        queries, keys = self._features(x)
        return attend(queries, keys, self.values, score=SquaredDistance(), weights=self.nu.weights)

    def rounding(self, x: Array, /) -> float:
        """Bound how far that is from the truth about these tokens."""
        queries, keys = self._features(x)
        return rounding(queries, keys, self.values, score=SquaredDistance(), weights=self.nu.weights)

    def _features(self, x: Array) -> tuple[Array, Array]:
        return as_points(x, "x", dim=self.nu.dim) @ self.query.T, self.nu.points @ self.key.T

    def enclosed(self, x: Array, mean: Array, root: Array) -> Intervals:
        """Enclose the output under :math:`N(m, LL^T)`, of which ``nu`` is the lattice.

        In :math:`z = L^{-1}(y - m)` the key has the precision :math:`1 + 2(KL)^T(KL)`, and the score has the slope
        :math:`2K^T(Qx - Ky)` in y.
        """
        x = as_points(x, "x", dim=self.nu.dim)
        mean = as_vector(mean, "mean", size=self.nu.dim)
        root = as_matrix(root, "root", shape=(mean.size, mean.size))
        inner = self.key @ root
        precision = np.eye(len(mean)) + 2.0 * inner.T @ inner
        apart = x @ self.query.T - mean @ self.key.T
        centres = np.linalg.solve(precision, 2.0 * inner.T @ apart.T).T.astype(np.float64)
        spread = np.abs(self.nu.points @ (self.key.T @ self.key)).max(axis=0)
        slopes = 2.0 * (np.abs(x @ self.query.T @ self.key) + spread)
        least = 1.0 / float(np.linalg.eigvalsh(precision)[-1])
        return enclose_lattice(self, x, slopes, root, centres=centres, variance=least, value=self.value)


def enclose_hermite(
    kernel: Kernel, x: Array, form: Array, roots: Sequence[Array], *, value: Array | None = None, nodes: int = NODES
) -> Intervals:
    r"""Enclose attention with scores :math:`\langle Ax, y\rangle` under a Gaussian, or a mixture of them.

    Parameters
    ----------
    kernel : Kernel
        Of the tokens of Gauss-Hermite rules that stand for the law.
    x : ndarray, shape (m, d)
    form : ndarray, shape (d, d)
        A.
    roots : sequence of ndarray, each of shape (d, d)
        Of the covariances of the components.
    value : ndarray, shape (d, d), optional
        V; the identity unless given.
    nodes : int, default 40
        Of the rules, per axis.

    Returns
    -------
    Intervals
        Of shape (m, d).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    as_having(kernel, "kernel", "output", "rounding")
    x = as_points(x, "x", dim=kernel.nu.dim)
    form = as_matrix(form, "form", shape=(x.shape[1], x.shape[1]))
    if value is not None:
        value = as_matrix(value, "value", shape=form.shape)
    nodes = as_count(nodes, "nodes", least=2)
    if not isinstance(roots, (list, tuple)) or not roots:
        raise TypeError(f"roots: expected a list of matrices, got {type(roots).__name__}")
    roots = [as_matrix(root, "roots", shape=form.shape) for root in roots]
    slopes = x @ form.T
    size = float(np.abs(kernel.values).max())
    error = np.zeros(len(x))
    for root in roots:
        error = error + _rounded(kernel, x, slopes, ERROR)
        error = error + (_tilted(slopes @ root, nodes) @ _spread(root, value).T).max(axis=1)
        if len(roots) > 1:  # the components are weighted by their masses under the tilt
            tails = gammainc(NODES, (slopes @ root) ** 2 / 2.0).sum(axis=1)
            error = error + 4.0 * size * (tails + ERROR)
    return within(kernel.output(x), error[:, np.newaxis])  # type: ignore[no-any-return]


def enclose_lattice(
    kernel: Kernel, x: Array, slopes: Array, root: Array, *, centres: Array, variance: float,
    value: Array | None = None, parts: int = 1,
) -> Intervals:  # fmt: skip
    """Enclose attention under a Gaussian of which the kernel has the lattice, or an even mixture of ``parts`` of them.

    Parameters
    ----------
    kernel : Kernel
    x : ndarray, shape (m, d)
    slopes : ndarray, shape (m, d)
        Of the scores in the key, or more.
    root : ndarray, shape (d, d)
        Of the covariance.
    centres : ndarray, shape (m, d)
        Means of the tilted laws in units of the root.
    variance : float
        The least one of them, in the same units, at most one.
    value : ndarray, shape (d, d), optional
        V; the identity unless given.
    parts : int, default 1

    Returns
    -------
    Intervals
        Of shape (m, d); nowhere wider than the values are.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    as_having(kernel, "kernel", "output", "rounding")
    x = as_points(x, "x", dim=kernel.nu.dim)
    slopes = as_matrix(slopes, "slopes", shape=(len(x), None))
    centres = as_matrix(centres, "centres", shape=(len(x), None))
    root = as_matrix(root, "root", shape=(centres.shape[1], centres.shape[1]))
    if value is not None:
        value = as_matrix(value, "value", shape=root.shape)
    variance = as_between(variance, "variance", 1e-6, 1.0)
    parts = as_count(parts, "parts")
    outside = 2.0 * ndtr(np.abs(centres) + lattice.STEP - lattice.REACH).sum(axis=1)
    d = centres.shape[1]
    q = math.exp(-2.0 * (math.pi / lattice.STEP) ** 2 * variance)
    coarse = 2.0 * math.pi / lattice.STEP * ((1.0 + 2.0 * q / (1.0 - q) ** 2) ** d - 1.0)
    means = 4.0 * (np.sqrt(outside) + coarse) * (1.0 + np.abs(centres).max(axis=1))
    error = parts * (_rounded(kernel, x, slopes, lattice.ERROR) + means * _spread(root, value).sum(axis=1).max())
    error = np.minimum(error, 2.0 * float(np.abs(kernel.values).max()))
    return within(kernel.output(x), error[:, np.newaxis])  # type: ignore[no-any-return]


def _spread(root: Array, value: Array | None) -> Array:
    spread: Array = np.abs(root if value is None else value @ root)
    return spread


def _tilted(centres: Array, nodes: int) -> Array:
    """Bound by how much the mean of each coordinate of a Gauss-Hermite rule is off under the tilts ``centres``."""
    tail = gammainc(nodes - 1, np.asarray(centres) ** 2 / 2.0) * _SURE  # a Poisson law
    off: Array = np.where(tail < 0.5, np.abs(centres) * tail / (1.0 - np.minimum(tail, 0.5)), np.inf)
    return off


def _rounded(kernel: Kernel, x: Array, slopes: Array, error: float) -> Array:
    """Bound the rounding of the field at each query."""
    n = kernel.nu.dim
    size = float(np.abs(kernel.values).max())
    reach = float(np.abs(kernel.nu.points).sum(axis=1).max())
    moved = gamma(n + _POSITIONS) * reach * np.abs(slopes).max(axis=1)  # of a score
    rounded: Array = kernel.rounding(x) + 2.0 * size * (error + 2.0 * moved) + gamma(n + _POSITIONS) * size * (n + 1)
    return rounded
