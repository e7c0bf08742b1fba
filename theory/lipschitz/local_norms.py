r"""By how much a Jacobian stretches a displacement of weighted atoms, at one cloud.

A displacement :math:`h` of atoms of weights :math:`w` has the size :math:`(\sum_j w_j |h_j|^p)^{1/p}`, or the largest
:math:`|h_j|` for :math:`p = \infty`; to first order it is the distance :math:`W_p` by which the measure moves. With
blocks :math:`J_{ij}` the largest stretch is

.. math:: p = 1: \; \max_j \sup_{|u|=1} \sum_i \tfrac{w_i}{w_j} |J_{ij} u|, \qquad
          p = 2: \; \|D_w^{1/2} J D_w^{-1/2}\|_2, \qquad
          p = \infty: \; \max_i \sup_{|v|=1} \sum_j |J_{ij}^\top v|,

since a convex function is largest at an extreme point of the unit ball. Replacing the suprema over directions by sums
of norms of blocks gives upper bounds, exact in one dimension. In more, :math:`\sup_u \sum_i |M_i u|` lies between its
value at any u and :math:`(\sum_i t_i)^{1/2} \lambda_{\max}(\sum_i M_i^\top M_i / t_i)^{1/2}` for any :math:`t > 0`,
by Cauchy-Schwarz; :math:`t_i = |M_i u|` at a stationary u often closes the gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_masses, as_points, as_real
from theory.attention import DotProduct, Measure, SquaredDistance
from theory.attention.measure import as_measure
from theory.evidence import Interval, Kind
from theory.evidence.roundoff import gamma
from theory.lipschitz.jacobian import enclosed_jacobian

Array = NDArray[np.float64]
EXPONENTS = (1, 2, math.inf)
_STEPS = 60  # taken: each step of the ascent raises the sum, and the upper bound is valid wherever it ends
_SPECTRAL = 64  # taken: LAPACK's bound is a modest multiple of the rounding of the Frobenius norm


def as_exponent(p: float) -> float:
    """Return ``p``, or raise ``ValueError`` unless it is 1, 2 or infinity."""
    number = isinstance(p, (int, float, np.integer, np.floating)) and not isinstance(p, bool)
    if not number or p not in EXPONENTS:
        raise ValueError(f"p: expected 1, 2 or inf, got {p!r}")
    return int(p) if isinstance(p, (int, np.integer)) else float(p)


def local_norm(blocks: ArrayLike, weights: ArrayLike, p: float, *, error: ArrayLike = 0.0) -> Interval:
    """Enclose the largest stretch of displacements by a block Jacobian in the weighted p-norm.

    Parameters
    ----------
    blocks : array_like, shape (n, n, d_out, d)
        ``J[i, j]``.
    weights : array_like, shape (n,)
        Positive masses; only their ratios matter.
    p : {1, 2, inf}
        Exponent.
    error : array_like, default 0.0
        Bound on the error of every entry of ``blocks``, broadcast against it.

    Returns
    -------
    Interval
        Kind ``NUMERIC``; for p other than 2 and d above one its lower end is the stretch of one displacement, its
        upper end a bound for all.

    Raises
    ------
    ValueError
        If the shapes do not fit, a weight is not positive or out of range of another, ``p`` is another number, or
        ``error`` is negative.
    """
    w = as_masses(weights, "weights")
    jacobian = as_real(blocks, "blocks")
    if jacobian.ndim != 4 or jacobian.shape[:2] != (w.size, w.size) or 0 in jacobian.shape:
        raise ValueError(f"blocks: expected shape ({w.size}, {w.size}, d_out, d), got shape {jacobian.shape}")
    if w.min() == 0.0:
        raise ValueError(f"weights: expected positive masses, got 0.0 at index {int(w.argmin())}")
    slack = _bounds(error, jacobian.shape)
    n, _, out, d = jacobian.shape
    p = as_exponent(p)
    power = 1.0 if p == 1 else 0.5 if p == 2 else 0.0
    if not math.isfinite(float(w.max()) / float(w.min())):
        raise ValueError(f"weights: expected ratios that float64 can hold, got {w.max()!r} and {w.min()!r}")
    ratio = (w[:, np.newaxis] / w[np.newaxis]) ** power
    scaled, moved = (ratio[..., np.newaxis, np.newaxis] * part for part in (jacobian, slack))
    largest = max(float(np.abs(scaled).max()), float(moved.max()))
    unit = 1.0
    if 0.0 < largest < 2.0**-200 or 2.0**200 < largest < math.inf:  # squares would leave the range of float64
        unit = math.ldexp(1.0, math.frexp(largest)[1] - 1)
        scaled = scaled / unit
        moved = (moved + (math.ulp(0.0) if unit < 1.0 else 0.0)) / unit
    entries = np.abs(scaled).sum(axis=(2, 3)), moved.sum(axis=(2, 3))  # no block norm exceeds the sum of its entries
    if p == 2:
        flat = scaled.transpose(0, 2, 1, 3).reshape(n * out, n * d)
        size, reach = (float(np.sqrt((part**2).sum())) for part in entries)
        top = float(np.linalg.norm(flat, 2))
        within = Interval.within(top, (gamma(_SPECTRAL * n * max(out, d)) * size + reach) * (1.0 + gamma(n * n + 8)))
        return within if unit == 1.0 else within * unit
    axis = 0 if p == 1 else 1
    size, reach = (float(part.sum(axis=axis).max()) for part in entries)
    groups = scaled.transpose(1, 0, 2, 3) if p == 1 else scaled.transpose(0, 1, 3, 2)
    found = [_largest_sum(group) for group in groups]
    rounding = (gamma(8 * n + 16 * out * d) * size + reach) * (1.0 + gamma(n + 8))
    low, high = (Interval.within(max(end), rounding) for end in zip(*found, strict=True))
    within = Interval(max(low.lo, 0.0), high.hi)
    return within if unit == 1.0 else within * unit


def norm_at(mu: Measure, score: DotProduct | SquaredDistance, p: float, *, causal: bool = False) -> Interval:
    """Enclose the local norm of self-attention at ``mu``, from its Jacobian in balls, the value matrix the identity."""
    from theory.evidence.enclosure import ends  # noqa: PLC0415  balls load on first use

    middle, radius = ends(enclosed_jacobian(mu, score, causal=causal))
    return local_norm(middle, mu.weights, p, error=radius)


def certified_stretch(
    mu: Measure, score: DotProduct | SquaredDistance, tangent: ArrayLike, p: float, *, causal: bool = False
) -> Interval:
    """Enclose by how much self-attention stretches one displacement of the atoms, in balls throughout.

    Parameters
    ----------
    mu : Measure
        n atoms in dimension d, exactly the floats given; the weights are divided by their sum.
    score : DotProduct or SquaredDistance
        Exactly the floats given.
    tangent : array_like, shape (n, d)
        The displacement, not zero.
    p : {1, 2, inf}
        Exponent.
    causal : bool, default False
        Whether token i sees the tokens up to i only.

    Returns
    -------
    Interval
        Kind ``CERTIFIED``: a lower bound of the local norm, so of every Lipschitz constant on a set that holds a
        neighbourhood of the displaced measure.

    Raises
    ------
    ValueError
        If shapes do not fit, the displacement is zero, or ``p`` is another number.
    """
    from theory.evidence.enclosure import balls, hull, precision  # noqa: PLC0415

    law = as_measure(mu, "mu")
    order = as_exponent(p)
    h = as_points(tangent, "tangent", size=law.size, dim=law.dim)
    if not h.any():
        raise ValueError("tangent: expected a displacement, got zero")
    jacobian = enclosed_jacobian(mu, score, causal=causal)
    with precision():
        moved, w = balls(h), balls(mu.weights)
        image = (jacobian * moved[np.newaxis, :, np.newaxis, :]).sum(axis=(1, 3))
        return hull(weighted_norm(image, w, order) / weighted_norm(moved, w, order), Kind.CERTIFIED)


def weighted_norm(displacement: NDArray[Any], weights: NDArray[Any], p: float) -> Any:
    """Return the p-norm of a displacement in balls, shape (n, d), weighted as it is; p is 1, 2 or infinity."""
    squares = (displacement * displacement).sum(axis=1)
    if p == 2:
        return _root((weights * squares).sum())
    lengths = [abs(v) for v in displacement[:, 0]] if displacement.shape[1] == 1 else [_root(s) for s in squares]
    if p == 1:
        return sum(a * b for a, b in zip(weights, lengths, strict=True))
    largest = lengths[0]
    for length in lengths[1:]:
        largest = largest.max(length)
    return largest


def _root(square: Any) -> Any:
    """Return the root of a ball around a number that is not negative."""
    if square > 0 or square == 0:
        return square.sqrt()
    top = square.upper().sqrt()
    return (0 * top).union(top)


def _bounds(error: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return bounds on the error of every entry, infinite where nothing is known."""
    given = np.asarray(error)
    if isinstance(error, np.ma.MaskedArray) or given.dtype.kind not in "fiu" or given.dtype.itemsize > 8:
        raise TypeError(f"error: expected real numbers that float64 can hold, got {type(error).__name__}")
    slack = given.astype(np.float64)
    if not (slack >= 0.0).all() or slack.shape not in ((), shape):
        raise ValueError(f"error: expected non-negative bounds, one or of shape {shape}, got {error!r}")
    return np.broadcast_to(slack, shape)


def _largest_sum(matrices: Array) -> tuple[float, float]:
    """Bound the supremum over unit vectors u of the sum of ``|M u|`` over matrices, shape (n, a, b), on both sides."""
    norms = np.linalg.norm(matrices, 2, axis=(1, 2)) if min(matrices.shape[1:]) > 1 else _lengths(matrices)
    upper = float(norms.sum())
    if matrices.shape[2] == 1 or upper == 0.0:
        return upper, upper
    lower = 0.0
    for start in np.vstack([np.linalg.svd(matrices.reshape(-1, matrices.shape[2]))[2], np.eye(matrices.shape[2])]):
        u = start
        for _ in range(_STEPS):
            images = matrices @ u
            lengths = np.sqrt((images**2).sum(axis=1))
            ascent = np.einsum("iab,ia->b", matrices, images / np.maximum(lengths, 1e-300)[:, np.newaxis])
            u = ascent / np.linalg.norm(ascent) if ascent.any() else u
        lengths = np.sqrt(((matrices @ u) ** 2).sum(axis=1))
        lower = max(lower, float(lengths.sum()))
        share = np.maximum(lengths, 1e-12 * upper)
        gram = np.einsum("iab,iac->bc", matrices / share[:, np.newaxis, np.newaxis], matrices)
        upper = min(upper, math.sqrt(float(share.sum()) * max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)))
    return min(lower, upper), max(lower, upper)


def _lengths(matrices: Array) -> Array:
    return np.asarray(np.sqrt((matrices**2).sum(axis=(1, 2))))
