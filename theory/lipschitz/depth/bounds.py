r"""How far a network of many layers can move a measure: products of constants, each taken where its layer works.

A layer that maps :math:`\mathcal P(B_R)` to :math:`\mathcal P(B_{R'})` with constant :math:`C(R)` there is a function
:math:`R \mapsto (C(R), R')`, a :data:`Bound`. Composition multiplies the constants, each at the radius that *enters*
its layer:

.. math:: W_p(\mu^{(L)}, \nu^{(L)}) \le \prod_l C_l(R_{l-1})\,W_p(\mu^{(0)}, \nu^{(0)}).

Taken at the radius that enters the network the product is no bound: after a map that expands, :math:`\alpha =
\|B\|R^2` of the next attention has grown. Layers in terms of spectral norms of their matrices; derived.

References
----------
J. Vuckovic, A. Baratin, R. Tachet des Combes, *On the regularity of attention*, arXiv:2102.05628 (by composition).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_callable, as_count, as_points, as_positive, as_real, as_vector
from theory.attention.score import Array
from theory.evidence import Interval, as_intervals
from theory.lipschitz._numbers import exponent, finite, like, nonnegative, positive, root, smaller, upper
from theory.lipschitz.constants.bounded import interpolated_constant, query_constant
from theory.lipschitz.constants.refined import refined_w2_constant, sharp_w1_constant


class BallBound(NamedTuple):
    """What a layer does on a ball: its Lipschitz constant there, and a radius that its outputs keep to."""

    constant: float
    radius: float


Bound: TypeAlias = Callable[[float], BallBound]


def attention_bound(form: float, value: float = 1.0, *, p: float = 1.0) -> Bound:
    r"""Return :math:`R \mapsto (v C_p(\|B\|R^2),\,vR)` for dot-product attention, ``form`` :math:`\|B\|`, ``value`` v.

    :func:`theory.lipschitz.constants.sharp_w1_constant` in :math:`W_1`,
    :func:`theory.lipschitz.constants.refined_w2_constant` in :math:`W_2`,
    :func:`theory.lipschitz.constants.interpolated_constant` in others; an output is :math:`V` times a mean.
    """
    b = nonnegative(form, "form")
    v = nonnegative(value, "value")
    power = exponent(p)

    def bound(radius: float) -> BallBound:
        alpha = _alpha(b, radius)
        return BallBound(_constant(alpha, power, v), finite(v * radius, "radius"))

    return bound


def _constant(alpha: float, p: float, value: float) -> float:
    """Return the least constant of attention that is known in W_p."""
    if p not in (1.0, 2.0):
        return interpolated_constant(alpha, p, value)
    return finite(value * (sharp_w1_constant if p == 1.0 else refined_w2_constant)(alpha), "value")


def summed_bound(*branches: Bound) -> Bound:
    r"""Return the bound of a sum of layers that see the same measure: constants and radii add.

    By the triangle inequality, coupling once. A head with matrices :math:`W_h, V_h` is attention of value matrix
    :math:`W_hV_h`, whose norm may be far below :math:`\|W_h\|\|V_h\|`.
    """
    if not branches:
        raise ValueError("branches: expected at least one, got none")
    for branch in branches:
        as_callable(branch, "branches")

    def bound(radius: float) -> BallBound:
        parts = [branch(radius) for branch in branches]
        constant = sum(part.constant for part in parts)
        length = sum(part.radius for part in parts)
        return BallBound(finite(constant, "branches"), finite(length, "branches"))

    return bound


def residual_bound(branch: Bound) -> Bound:
    r"""Return :math:`R \mapsto (1 + C(R),\,R + R')` for :math:`x \mapsto x + f_\mu(x)`."""
    return summed_bound(lambda radius: BallBound(1.0, nonnegative(radius, "radius")), as_callable(branch, "branch"))


def concatenated_bound(forms: ArrayLike, values: ArrayLike, out: float = 1.0, *, p: float = 1.0) -> Bound:
    r"""Return the bound of heads that are concatenated and go through one matrix of norm ``out``.

    :math:`\|W_O\|(|\lambda|_2 + |\kappa|_2)` with :math:`\lambda_h = v_h\alpha_h` what head h answers to its query and
    :math:`\kappa_h` what it answers to the measure; in :math:`W_1`, :math:`\kappa_h = v_he^{2\alpha_h}(1 + 2\alpha_h)`.
    The path :math:`\mu A_\mu \to \nu A_\mu \to \nu A_\nu` is walked for all heads together, so the two lengths add, and
    the triangle inequality does not give :math:`|\lambda + \kappa|_2`. In :math:`W_1` it is the smaller of that and
    :math:`\|W_O\|\sum_hv_he^{2\alpha_h}(1 + 2\alpha_h)`, heads added up, which is the less for one head. For :math:`p
    \ge 2` it is Minkowski's inequality in :math:`L^{p/2}`; exponents between 1 and 2 are not covered. Radius
    :math:`\|W_O\||v|_2R`.

    Parameters
    ----------
    forms, values : array_like or list of Interval, shape (h,)
        Norms of the forms and of the value matrices of the heads.
    out : float, default 1.0
        Norm of the output matrix.
    p : float, default 1.0
        Exponent of the metric: 1, or at least 2.
    """
    b = as_vector(_enclosed(forms), "forms")
    v = as_vector(_enclosed(values), "values")
    if b.size != v.size:
        raise ValueError(f"values: expected shape ({b.size},), got shape {v.shape}")
    power = exponent(p)
    if 1.0 < power < 2.0:
        raise ValueError(f"p: expected 1 or an exponent of at least 2, got {p!r}")
    heads = [(nonnegative(f, "forms"), nonnegative(g, "values")) for f, g in zip(b, v, strict=True)]
    factor = nonnegative(out, "out")

    def bound(radius: float) -> BallBound:
        alphas = [_alpha(norm, radius) for norm, _ in heads]
        own = [query_constant(alpha, value) for alpha, (_, value) in zip(alphas, heads, strict=True)]
        both = [interpolated_constant(alpha, power, value) for alpha, (_, value) in zip(alphas, heads, strict=True)]
        measure = [whole - query for whole, query in zip(both, own, strict=True)]
        length = finite(factor * _length(*(value for _, value in heads)) * radius, "radius")
        constant = _length(*own) + _length(*measure)
        if power == 1.0:
            each = (_constant(alpha, power, value) for alpha, (_, value) in zip(alphas, heads, strict=True))
            constant = smaller(constant, sum(each))
        return BallBound(finite(factor * constant, "forms"), length)

    return bound


def feed_forward_bound(lipschitz: float, at_zero: float = 0.0) -> Bound:
    r"""Return :math:`R \mapsto (\mathrm{Lip}(\phi),\,|\phi(0)| + \mathrm{Lip}(\phi)R)` for a map of single tokens."""
    slope = nonnegative(lipschitz, "lipschitz")
    start = nonnegative(at_zero, "at_zero")
    return lambda radius: BallBound(slope, finite(start + slope * nonnegative(radius, "radius"), "radius"))


def layer_norm_bound(eps: float, dim: int, *, gain: float = 1.0, shift: float = 0.0) -> Bound:
    r"""Return the bound of :func:`layer_norm`: constant :math:`\max|\gamma|\,\varepsilon^{-1/2}`, 0 for one coordinate.

    With :math:`s^2 = \mathrm{var}(x) + \varepsilon` and :math:`z = (x - \bar x)/s` the derivative is :math:`(P -
    zz^\top/d)/s`, P the projection off the constants. It is symmetric and between 0 and :math:`P/s`, so its norm is at
    most :math:`\varepsilon^{-1/2}`, which is attained at every constant vector if :math:`d \ge 2`. There is no finite
    constant at :math:`\varepsilon = 0`. Since :math:`|x - \bar x|^2 = d\,\mathrm{var}(x) \le R^2`, outputs have length
    at most :math:`\max|\gamma|\,R/\sqrt{R^2/d + \varepsilon} + |\beta| < \sqrt d\max|\gamma| + |\beta|`. ``gain`` is
    :math:`\max|\gamma|`, ``shift`` is :math:`|\beta|`. Derived.
    """
    floor = positive(eps, "eps")
    d = as_count(dim, "dim")
    largest = nonnegative(gain, "gain")
    offset = nonnegative(shift, "shift")
    slope = finite(largest / root(floor), "eps") if d > 1 else 0.0

    def bound(radius: float) -> BallBound:
        size = nonnegative(radius, "radius")
        length = size / _length(size / root(like(d, size)), root(floor)) if d > 1 else 0.0
        return BallBound(slope, finite(largest * length + offset, "gain"))

    return bound


def layer_norm(x: ArrayLike, eps: float, *, gain: ArrayLike = 1.0, shift: ArrayLike = 0.0) -> Array:
    r"""Return :math:`\gamma(x - \bar x)/\sqrt{\mathrm{var}(x) + \varepsilon} + \beta` by rows of ``x``, shape (n, d).

    ``gain`` and ``shift`` are numbers or vectors of shape (d,); rows that are enclosed have enclosed images.
    """
    points = as_points(x, "x")
    floor = as_positive(eps, "eps")
    by = _entrywise(gain, "gain", points.shape[1])
    to = _entrywise(shift, "shift", points.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        centred = points - points.mean(axis=1, keepdims=True)
        spread = (centred * centred).mean(axis=1, keepdims=True) + floor
        _held(spread, "x: expected rows whose variance float64 can hold")
        normed: Array = by * (centred / np.sqrt(spread)) + to
    _held(normed, "gain: expected one whose products float64 can hold")
    return normed


def _held(values: Array, expected: str) -> None:
    """Raise unless float64 holds numbers, or the upper ends of enclosures."""
    largest = np.abs(values).max()
    if not upper(largest) < math.inf:
        raise ValueError(f"{expected}, got {largest}")


def _entrywise(value: ArrayLike, name: str, size: int) -> Array:
    """Return a number or a vector with one entry per coordinate."""
    entries = as_real(value, name)
    return entries if entries.ndim == 0 else as_vector(entries, name, size=size)


def layerwise_bounds(layers: Sequence[Bound], radius: float) -> tuple[BallBound, ...]:
    """Return what each layer does at the radius that enters it, the first at ``radius``.

    Raises
    ------
    ValueError
        If ``radius`` is negative, there is no layer, or a constant or radius leaves the range of float64.
    """
    entering = nonnegative(radius, "radius")
    layers = _bounds(layers)
    done: list[BallBound] = []
    for layer in layers:
        done.append(layer(entering))
        entering = finite(done[-1].radius, "radius")
    return tuple(done)


def composed_bound(*layers: Bound) -> Bound:
    """Return the bound of layers one after another, which is a bound again: of a block, or of a residual's branch."""
    given = _bounds(layers)

    def bound(radius: float) -> BallBound:
        done = layerwise_bounds(given, radius)
        return BallBound(_product(done), done[-1].radius)

    return bound


def _product(done: Sequence[BallBound]) -> float:
    """Return the product of the constants; ``ValueError`` if float64 cannot hold it, or a part of it on the way."""
    total = 1.0
    for part in done:
        before = total
        total = finite(total * part.constant, "layers")
        if upper(total) < sys.float_info.min and upper(before) > 0.0 and upper(part.constant) > 0.0:
            raise ValueError(
                f"layers: expected constants whose product float64 can hold, got {before!r} times {part.constant!r}"
            )
    return total


def depth_constant(layers: Sequence[Bound], radius: float) -> float:
    r"""Return :math:`\prod_l C_l(R_{l-1})` on the ball of ``radius``: the constant of the whole network.

    Examples
    --------
    >>> round(depth_constant([feed_forward_bound(4.0), attention_bound(1.0)], 0.5))
    107314
    """
    return composed_bound(*_bounds(layers))(nonnegative(radius, "radius")).constant


def _bounds(layers: Sequence[Bound]) -> Sequence[Bound]:
    """Return bounds, at least one, or raise."""
    if not isinstance(layers, (list, tuple)):
        raise TypeError(f"layers: expected a sequence of bounds, got {type(layers).__name__}")
    if not layers:
        raise ValueError("layers: expected at least one, got none")
    return [as_callable(layer, "layers") for layer in layers]


def _enclosed(norms: ArrayLike) -> Any:
    """Return an array of enclosures if a list of intervals is given."""
    listed = isinstance(norms, (list, tuple)) and any(isinstance(norm, Interval) for norm in norms)
    return as_intervals(norms) if listed else norms


def _length(*parts: float) -> Any:
    """Return the Euclidean length of a few numbers."""
    if any(isinstance(part, Interval) for part in parts):
        return np.sqrt(sum((part * part for part in parts), start=Interval.exactly(0.0)))
    return math.hypot(*parts)


def _alpha(form: float, radius: float) -> float:
    r"""Return :math:`\|B\|R^2`, in float64 or not at all."""
    size = nonnegative(radius, "radius")
    return finite(form * size * size, "radius")
