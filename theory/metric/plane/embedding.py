r"""Whether a map of the plane is an injective immersion of a rectangle, by subdivision.

The derivative is :math:`J(z) = A^\top + \sum_ks_k(z)\,u_kw_k^\top` with :math:`s_k = 1 - t_k^2`. Three facts decide:

- over a rectangle with centre m, the smallest singular value of J is at least that at m less a bound of
  :math:`\|J(z) - J(m)\|`;
- with :math:`M = J(m)^\top J(m)` and :math:`R = M^{-1/2}J(m)^\top`, the map is an injective immersion of a convex H if
  :math:`\|R(J(z) - J(m))M^{-1/2}\| < 1` there: then :math:`R(G(x) - G(y))` cannot vanish for :math:`x \ne y`;
- for rectangles X, Y with centres x, y and any unit vector u, no point of X has the image of a point of Y if
  :math:`\langle u, G(x) - G(y)\rangle` exceeds what u sees of both, to first order
  :math:`\sum_i|u^\top J(x)|_ir_i` and beyond it :math:`\sum_k|u^\top u_k|\,\tfrac12\sup|\tanh''|\,(|w_k|^\top r)^2`.
  Tried are the direction of :math:`G(x) - G(y)` and its part across both surfaces, which sees nothing of the first
  order.

Pairs of rectangles that neither of the last two decides are split. Computed in float64 with a slack for rounding that
assumes a hyperbolic tangent within four units in the last place.

References
----------
For maps of the plane into ten dimensions both properties are generic: H. Whitney, *Differentiable manifolds*, Annals of
Mathematics 37 (1936). What is decided here is whether they hold, and by how much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_instance, as_matrix
from theory.evidence import Interval, Kind
from theory.evidence.roundoff import U, gamma
from theory.metric.plane.chart import Chart

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_QUARTERS = np.array([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)])
_WITHIN = 0.1  # taken: of the weakest stretch, how far apart its enclosure may end
_ROUNDS = 24  # taken: the finest rectangles are so many times halved
MOST = 1_000_000  # taken: rectangles or pairs of them that are split at once before the search is given up
_PART = 2_000  # pairs that are split at a time, for memory


class Cells(NamedTuple):
    """Rectangles of the plane with what is known of the map on each."""

    centre: Array
    half: Array
    image: Array
    jacobian: Array
    curve: Array  # of every hidden unit, beyond the first order
    blur: float  # how far images are from the truth
    slack: float  # and derivatives


def weakest_stretch(chart: Chart, box: ArrayLike, *, most: int = MOST) -> Interval:
    """Enclose the smallest singular value of the derivative over a rectangle.

    Parameters
    ----------
    chart : Composed
        A map of the plane.
    box : array_like, shape (2, 2)
        Lower left and upper right corner.
    most : int, default MOST
        Rectangles that are cut at once; with more, the search ends.

    Returns
    -------
    Interval
        Of kind ``CERTIFIED``. The lower end is zero if the search ends before the map is seen to be an immersion.

    Raises
    ------
    ValueError
        If the map is not one of the plane, or the corners are no rectangle.
    """
    (centre, half), most = _rectangle(chart, box), as_count(most, "most")
    upper = floor = np.inf
    for _ in range(_ROUNDS):
        low, high = _smallest(chart.jacobian(centre))
        slack = _slack(chart, centre, half)
        lower = low - slack - _bend(chart, centre, half)
        upper = min(upper, float(high.min()) + slack)
        coarse = lower < (1.0 - _WITHIN) * upper
        floor = min(floor, float(lower[~coarse].min(initial=np.inf)))
        centre, half = _quartered(centre[coarse], half[coarse])
        if not 0 < len(centre) <= most:
            break
    left = float(lower[coarse].min(initial=np.inf))  # of what could not be split again
    return Interval(max(0.0, min(floor, left, upper)), upper, Kind.CERTIFIED)


def count_undecided_pairs(chart: Chart, box: ArrayLike, *, most: int = MOST) -> int:
    """Return how many pairs of rectangles may hold two points of the same image, or a point without immersion.

    None proves that the map is an injective immersion of the rectangle. Arguments and errors as in
    :func:`weakest_stretch`.
    """
    most = as_count(most, "most")
    cells = _cells(chart, *_rectangle(chart, box))
    left = right = np.zeros(1, dtype=np.int64)
    open_ = _open(chart, cells, left, right)
    left, right = left[open_], right[open_]
    for _ in range(_ROUNDS):
        if not 0 < left.size <= most:
            break
        used = np.unique(np.concatenate([left, right]))
        cells = _cells(chart, *_quartered(cells.centre[used], cells.half[used]))
        left = 4 * np.searchsorted(used, left)
        right = 4 * np.searchsorted(used, right)
        kept = [_split(chart, cells, left[p : p + _PART], right[p : p + _PART]) for p in range(0, left.size, _PART)]
        left, right = (np.concatenate(side) for side in zip(*kept, strict=True))
    return int(left.size)


def _split(chart: Chart, cells: Cells, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """Return the pairs of quarters that are not decided, of pairs that are named by their first quarters."""
    ones, others = np.divmod(np.arange(16), 4)
    left = (left[:, np.newaxis] + ones).ravel()
    right = (right[:, np.newaxis] + others).ravel()
    once = left <= right  # of a rectangle with itself, each pair of quarters once; other pairs are in order already
    left, right = left[once], right[once]
    open_ = _open(chart, cells, left, right)
    return left[open_], right[open_]


def _rectangle(chart: Chart, box: ArrayLike) -> tuple[Array, Array]:
    as_instance(chart, "chart", Chart)
    low, high = as_matrix(box, "box", shape=(2, 2))
    if chart.matrix.shape[0] != 2:
        raise ValueError(f"chart: expected a map of the plane, got one of dimension {chart.matrix.shape[0]}")
    if not (low < high).all():
        raise ValueError(
            f"box: expected the lower left and the upper right corner, got {low.tolist()}, {high.tolist()}"
        )
    return np.array([(low + high) / 2.0]), np.array([(high - low) / 2.0 + 8.0 * U * (abs(low) + abs(high))])


def _quartered(centre: Array, half: Array) -> tuple[Array, Array]:
    """Cut every rectangle in four, which follow each other and overlap by the rounding of their centres."""
    shifted = centre[:, np.newaxis] + _QUARTERS * half[:, np.newaxis]
    grown = half * 0.5 * (1.0 + 8.0 * U) + 8.0 * U * np.abs(centre)
    return shifted.reshape(-1, 2), np.repeat(grown, 4, axis=0)


def _cells(chart: Chart, centre: Array, half: Array) -> Cells:
    blur = chart.rounding(centre)
    slack = _slack(chart, centre, half)
    return Cells(
        centre, half, chart(centre), chart.jacobian(centre), chart.bound_hidden_changes(centre, half)[1], blur, slack
    )


def _bend(chart: Chart, centre: Array, half: Array) -> Array:
    """Bound how far the derivative is from that at the centre, over each rectangle, in the operator norm."""
    change = chart.bound_hidden_changes(centre, half)[0]
    outer = chart.features.outer
    inner = np.linalg.norm(chart.slopes, axis=0)
    single = change @ (np.linalg.norm(outer, axis=1) * inner)
    joint = np.linalg.norm(outer, 2) * np.sqrt(change**2 @ inner**2)
    return np.asarray(np.minimum(single, joint) * (1.0 + 256.0 * U))


def _smallest(jacobian: Array) -> tuple[Array, Array]:
    """Enclose the smallest singular values, by the closed form for two columns."""
    a, b, c = (np.einsum("ni,ni->n", jacobian[:, :, i], jacobian[:, :, j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    square = (a + c) / 2.0 - np.hypot((a - c) / 2.0, b)
    error = gamma(2 * jacobian.shape[1] + 16) * (a + c)  # of the three products, and the closed form
    return np.sqrt(np.maximum(square - error, 0.0)), np.sqrt(square + error)


def _slack(chart: Chart, centre: Array, half: Array) -> float:
    """Bound the rounding of a derivative on rectangles, in the operator norm, and of a square root of it.

    A slope 1 - t^2 is off by less than its argument is, and by a few units in the last place of t.
    """
    g, (k, d) = chart.features, chart.matrix.shape
    slope = chart.hidden_rounding((np.abs(centre) + half).max(axis=0, keepdims=True))[0] + 32.0 * U
    outer = np.linalg.norm(g.outer, axis=1)
    inner = np.linalg.norm(np.abs(chart.matrix) @ np.abs(g.inner), axis=0)
    size = np.linalg.norm(chart.matrix) + outer @ inner
    return float((outer @ (slope * inner) + gamma(2 * (k + d + len(outer)) + 16) * size) * (1.0 + 256.0 * U))


def _open(chart: Chart, cells: Cells, left: Numbers, right: Numbers) -> Mask:
    """Tell which pairs are not decided."""
    open_ = ~_disjoint(chart, cells, left, right)
    rest = np.flatnonzero(open_)
    if rest.size:
        open_[rest] = ~_injective(chart, cells, left[rest], right[rest])
    return open_


def _injective(chart: Chart, cells: Cells, left: Numbers, right: Numbers) -> Mask:
    """Tell for which pairs the map is an injective immersion of the rectangle around both."""
    low = np.minimum(cells.centre[left] - cells.half[left], cells.centre[right] - cells.half[right])
    high = np.maximum(cells.centre[left] + cells.half[left], cells.centre[right] + cells.half[right])
    middle, half = (low + high) / 2.0, (high - low) / 2.0 * (1.0 + 16.0 * U)
    jacobian = chart.jacobian(middle)
    values, vectors = np.linalg.eigh(jacobian.swapaxes(1, 2) @ jacobian)
    sure = values[:, 0] > 1e-8 * values[:, 1]  # then roots and inverses are known to 1e-7, within the slack below
    values[~sure] = 1.0
    root = (vectors / np.sqrt(values)[:, np.newaxis]) @ vectors.swapaxes(1, 2)
    onto = chart.features.outer @ (jacobian @ root)  # (n, w, 2)
    from_ = chart.slopes.T @ root
    change = chart.bound_hidden_changes(middle, half)[0]
    twist = (change * np.linalg.norm(onto, axis=2) * np.linalg.norm(from_, axis=2)).sum(axis=1)
    return np.asarray(sure & (twist < 1.0 - 1e-6))


def _disjoint(chart: Chart, cells: Cells, left: Numbers, right: Numbers) -> Mask:
    """Tell for which pairs the images are certainly apart, seen along their distance, or across both surfaces."""
    step = cells.image[left] - cells.image[right]
    apart = _seen_apart(chart, cells, left, right, step, step)
    rest = np.flatnonzero(~apart & (left != right))
    if rest.size:
        left, right, step = left[rest], right[rest], step[rest]
        both = np.concatenate([cells.jacobian[left], cells.jacobian[right]], axis=2)
        gram = both.swapaxes(1, 2) @ both
        gram += 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, np.newaxis, np.newaxis] * np.eye(4)
        along = np.linalg.solve(gram, both.swapaxes(1, 2) @ step[..., np.newaxis])
        apart[rest] = _seen_apart(chart, cells, left, right, step, step - (both @ along)[..., 0])
    return apart


def _seen_apart(chart: Chart, cells: Cells, left: Numbers, right: Numbers, step: Array, direction: Array) -> Mask:
    """Tell for which pairs the images are apart in a direction; any direction is a valid witness."""
    unit = direction / np.maximum(np.linalg.norm(direction, axis=1), 1e-300)[:, np.newaxis]
    through = np.abs(unit @ chart.features.outer.T)
    reach = np.einsum("nk,nk->n", through, cells.curve[left] + cells.curve[right])
    for side in (left, right):
        seen = np.abs(np.einsum("na,nak->nk", unit, cells.jacobian[side]))
        reach += np.einsum("nk,nk->n", seen + cells.slack, cells.half[side])
    rounding = gamma(4 * step.shape[1] + 16) * np.linalg.norm(step, axis=1)
    gap = np.einsum("na,na->n", unit, step)
    return np.asarray(gap > reach * (1.0 + 256.0 * U) + 2.0 * cells.blur + rounding)
