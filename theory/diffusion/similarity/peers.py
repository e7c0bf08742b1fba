r"""What others have built of the same methods: scikit-learn's results, with what its own arithmetic may be off.

Every result is an enclosure of what the algorithm would return in exact arithmetic from the same floats. The bounds
count roundings in the algorithm as it is documented; they are generous, since the code is not ours.

References
----------
F. Pedregosa et al., Scikit-learn: machine learning in Python, *Journal of Machine Learning Research* 12 (2011).
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_points, as_positive, as_vector
from theory.evidence import Intervals, within
from theory.evidence.roundoff import EXP_ULPS, U, gamma, softmax_error

Array = NDArray[np.float64]


_LARGEST = 1e70  # taken: of a coordinate or a width and its inverse; squares of quotients stay in float64


class Clusters(NamedTuple):
    """Centres, shape (k, d), and the label of every point, shape (n,), or its memberships, shape (n, k)."""

    centres: Intervals
    labels: Any


def _as_cloud(value: ArrayLike, name: str, *, dim: int | None = None) -> Array:
    """Return points of which squared distances stay in float64."""
    points = as_points(value, name, dim=dim)
    if not np.abs(points).max() <= _LARGEST:
        raise ValueError(f"{name}: expected coordinates up to {_LARGEST:g}, got {np.abs(points).max()}")
    return points


def _as_width(value: float, name: str) -> float:
    """Return a positive number of which squares and inverses stay in float64."""
    width = as_positive(value, name)
    if not 1.0 / _LARGEST <= width <= _LARGEST:
        raise ValueError(f"{name}: expected a number from {1.0 / _LARGEST:g} to {_LARGEST:g}, got {width}")
    return width


def _farthest_squared(points: Array, others: Array) -> float:
    """Bound the squared distances of points of two clouds."""
    return float((np.linalg.norm(points, axis=1).max() + np.linalg.norm(others, axis=1).max()) ** 2)


def mixture_step(points: ArrayLike, centres: ArrayLike, precision: float) -> Clusters:
    """Take one step of a Gaussian mixture with equal shares and variances.

    Parameters
    ----------
    points, centres : array_like, shapes (n, d) and (k, d)
    precision : float
        Inverse variance of every component, positive.

    Returns
    -------
    Clusters
        The centres after the step, and the memberships before it.
    """
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415  slow to load

    x = _as_cloud(points, "points")
    c = _as_cloud(centres, "centres", dim=x.shape[1])
    inverse = _as_width(precision, "precision")
    k = len(c)
    start = {"means_init": c, "weights_init": np.full(k, 1.0 / k), "precisions_init": np.full(k, inverse)}
    model = GaussianMixture(k, covariance_type="spherical", max_iter=1, random_state=0, init_params="random", **start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step has not converged
        model.fit(x)
    after = model.means_.copy()
    model.means_ = c
    model.weights_ = np.full(k, 1.0 / k)
    model.precisions_cholesky_ = np.full(k, np.sqrt(inverse))
    memberships = model.predict_proba(x)
    far = 0.5 * inverse * _farthest_squared(x, c) + 8.0
    off = softmax_error(far * gamma(24), 2.0 * far, k)  # an expanded square, a normal density, logsumexp
    least = float(memberships.sum(axis=0).min())
    moved = 2.0 * off + gamma(2 * len(x) + 8) + 24 * U / least  # ten epsilons are added to the shares
    return Clusters(within(after, 2.0 * float(np.abs(x).max()) * moved), within(memberships, off))


def lloyd_steps(points: ArrayLike, centres: ArrayLike, *, steps: int = 1) -> Clusters:
    """Take at most so many steps of Lloyd's algorithm from given centres; the labels are those after the last one."""
    from sklearn.cluster import KMeans  # noqa: PLC0415  slow to load

    x = _as_cloud(points, "points")
    c = _as_cloud(centres, "centres", dim=x.shape[1])
    count = as_count(steps, "steps")
    model = KMeans(len(c), init=c, n_init=1, max_iter=count, tol=0.0, algorithm="lloyd").fit(x)
    off = 2.0 * float(np.abs(x).max()) * gamma(4 * len(x) + 16)  # the mean is subtracted first
    return Clusters(within(model.cluster_centers_, off), model.predict(x))


def log_density(points: ArrayLike, queries: ArrayLike, bandwidth: float) -> Intervals:
    """Return the logarithm of a Gaussian density estimate at the queries, shape (m,)."""
    from sklearn.neighbors import KernelDensity  # noqa: PLC0415  slow to load

    x = _as_cloud(points, "points")
    h = _as_width(bandwidth, "bandwidth")
    q = _as_cloud(queries, "queries", dim=x.shape[1])
    model = KernelDensity(bandwidth=h, atol=0.0, rtol=0.0, leaf_size=2 * len(x)).fit(x)
    off = gamma(4 * len(x) + 64) * (_farthest_squared(q, x) / h**2 + 16.0)
    found: Intervals = within(model.score_samples(q), off)
    return found


def neighbour_means(
    points: ArrayLike, values: ArrayLike, queries: ArrayLike, k: int, *, bandwidth: float | None = None
) -> Intervals:
    """Return the means of values, shape (n,), over the k nearest points to every query, shape (m,).

    Weights are equal, or Gaussian of a bandwidth.
    """
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415  slow to load

    x = _as_cloud(points, "points")
    y = as_vector(values, "values", size=len(x))
    q = _as_cloud(queries, "queries", dim=x.shape[1])
    count = as_count(k, "k")
    size = float(np.abs(y).max())
    if count > len(x):
        raise ValueError(f"k: expected at most the number of points, {len(x)}, got {count}")
    if not size <= _LARGEST:
        raise ValueError(f"values: expected sizes up to {_LARGEST:g}, got {size}")
    if bandwidth is None:
        model = KNeighborsRegressor(count).fit(x, y)
        off = gamma(count + 4)
    else:
        h = _as_width(bandwidth, "bandwidth")
        model = KNeighborsRegressor(count, weights=partial(_gaussian, h=h), algorithm="kd_tree").fit(x, y)
        far = 0.5 / h**2 * _farthest_squared(q, x)
        off = softmax_error(far * gamma(24), 2.0 * far, count) + gamma(2 * count)
    found: Intervals = within(model.predict(q), size * off)
    return found


def _gaussian(distances: Array, h: float) -> Array:
    return np.exp(-(distances**2) / (2.0 * h**2))


class KernelMachine(NamedTuple):
    """Support vectors, shape (n, d), their coefficients and the offset, and decisions at queries, shape (m,)."""

    vectors: Array
    coefficients: Array
    offset: float
    decisions: Intervals


def kernel_machine(points: ArrayLike, labels: ArrayLike, queries: ArrayLike, *, scale: float) -> KernelMachine:
    r"""Train a classifier of labels 0 and 1 with the kernel :math:`e^{-\gamma|x - y|^2}` and ask it at queries."""
    from sklearn.svm import SVC  # noqa: PLC0415  slow to load

    x = _as_cloud(points, "points")
    factor = _as_width(scale, "scale")
    q = _as_cloud(queries, "queries", dim=x.shape[1])
    kinds = as_vector(labels, "labels", size=len(x))
    if sorted(set(kinds.tolist())) != [0.0, 1.0]:
        raise ValueError(f"labels: expected zeros and ones, some of both, got {sorted(set(kinds.tolist()))}")
    model = SVC(C=2.0, gamma=factor).fit(x, kinds)
    keys = model.support_vectors_
    alpha = model.dual_coef_[0]
    offset = float(model.intercept_[0])
    size = float(np.abs(alpha).sum())
    kernel_error = gamma(len(keys) + 4 * EXP_ULPS) + 2.0 * factor * _farthest_squared(q, keys) * gamma(16)
    decisions = within(model.decision_function(q), size * kernel_error + gamma(4) * abs(offset))
    return KernelMachine(keys, alpha, offset, decisions)
