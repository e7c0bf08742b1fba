r"""Softmax attention that is read in tiles and splits, as kernels do, in software; and a bound of its error.

A row of scores is read tile by tile with a running maximum m, the sum l of weights :math:`e^{s - m}` and the sum o of
values so weighted; when the maximum rises, l and o are multiplied by :math:`e^{m_{old} - m}`. States of several splits
are merged in the same way, a sink is the state (t, 1, 0), and what holds no key is the state :math:`(-\infty, 0, 0)`.
Sums are in float32 (in float64 for that format), weights are rounded to the format before they meet the values, and l
sums them as they were. Every step is rounded correctly, the exponential included.

*Bound.* Roundings of exponents telescope, whatever the order: a key at the distance :math:`\Delta` below the largest
score is charged :math:`u\Delta` in all, and the mean of :math:`\Delta` over the law is at most :math:`W((n-1)/e)`.

References
----------
T. Dao, *FlashAttention-2*, 2023 (arXiv:2307.08691). J. Shah and others, *FlashAttention-3*, 2024 (arXiv:2407.08608).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_choice, as_count, as_counts, as_flags, as_points, as_scores
from theory.evidence import Interval, ball, hull, precision
from theory.precision.formats import FORMATS, Format, nearest

Plan: TypeAlias = "list[Any] | tuple[Plan, Plan]"  # tiles, which are sequences of keys, or two splits

WEIGHTS = {"bfloat16": 0, "float16": 0, "e4m3": 8}  # formats to which weights are rounded, times two to this power
OUTPUTS = {"e4m3": "bfloat16"}  # where it is not the format itself
ULPS = 4  # taken: units of an exponential, two in the last place, as compilers for graphics processors document
FAR = {"float32": 110, "float64": 1000}  # derived: beyond e**-80 and e**-700 a key counts less, however it underflows
LARGEST, ROOT = 1e30, 1e9  # taken: with which no sum or product leaves the range of float32
_FEW = 16  # taken: below it sorting costs more than it saves
_ENOUGH = (128, 512)  # bits; a power of e is no rational number, and the second settles what the first does not


class StreamError(NamedTuple):
    """Bounds of an error: per unit of values, per unit of values and scores, of the output's rounding, and least."""

    weights: Interval
    scores: Interval
    output: Interval
    least: Interval


class _State(NamedTuple):
    most: float
    mass: Any
    total: Any


def working(form: str) -> str:
    """Return the format in which sums are."""
    return "float64" if form == "float64" else "float32"


def stream_row(
    scores: ArrayLike, values: ArrayLike, plan: Plan, *, form: str = "bfloat16", sink: float | None = None
) -> NDArray[np.float64]:
    r"""Return the output of one row of scores before it is rounded to the format, zeros if it sees no key.

    Parameters
    ----------
    scores : array_like, shape (n,)
        A score of minus infinity hides its key; the others are rounded to the format of the sums.
    values : array_like, shape (n, d)
        Rounded to the format of the sums as well.
    plan : list of sequences of int, or tuple of two plans
        Tiles of keys in the order in which they are read, which may be empty, or two splits that are merged.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        That of the weights; those in e4m3 are multiplied by 256 for it.
    sink : float, optional
        The score of a key of value zero that is merged last.

    Raises
    ------
    ValueError
        If the plan does not hold every key once.

    Examples
    --------
    >>> stream_row([0.0, 0.0, -1.0], [[1.0], [2.0], [3.0]], ([[0], []], [[2, 1]])).tolist()
    [1.7321670055389404]
    """
    s = as_scores(scores)
    if s.ndim != 1:
        raise ValueError(f"scores: expected one row, got shape {s.shape}")
    as_moderate(s[np.isfinite(s)], "scores", LARGEST)
    v = as_moderate(as_points(values, "values", size=s.size), "values", LARGEST)
    as_plan(plan, s.size)
    state = state_of(s, v, plan, form, sink)
    if state.mass == 0.0:
        return np.zeros(v.shape[1])
    found: NDArray[np.float64] = (state.total / state.mass).astype(np.float64)
    return found


def state_of(s: Any, v: Any, plan: Plan, form: str, sink: float | None) -> _State:
    """Return the maximum, the sum of weights and the sum of weighted values of a row."""
    width = np.dtype(working(as_choice(form, "form", FORMATS)))
    state = _read(s.astype(width), v.astype(width), plan, form)
    if sink is None:
        return state
    last = float(width.type(as_between(sink, "sink", -LARGEST, LARGEST)))
    return _merged(state, _State(last, width.type(1.0), np.zeros(v.shape[1], dtype=width)), form)


def stream_attention(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, plan: Plan, *, form: str = "bfloat16",
    scale: float | None = None, mask: ArrayLike | None = None, sink: float | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Return attention computed in tiles and splits, rounded to the format (to bfloat16 for e4m3).

    Parameters
    ----------
    queries, keys, values : array_like, shapes (m, d), (n, d) and (n, e)
        Numbers of the format.
    plan : list of sequences of int, or tuple of two plans
        As in :func:`stream_row`, for all rows.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        That of the weights and of the output.
    scale : float, optional
        The factor of scores, by default one over the root of the dimension.
    mask : array_like of bool, shape (m, n), optional
        True where a query sees a key.
    sink : float, optional
        The score of a key of value zero.
    """
    q = as_moderate(as_points(queries, "queries"), "queries", ROOT)
    k = as_moderate(as_points(keys, "keys", dim=q.shape[1]), "keys", ROOT)
    target = FORMATS[OUTPUTS.get(as_choice(form, "form", FORMATS), form)]
    v = as_moderate(as_points(values, "values", size=k.shape[0]), "values", min(LARGEST, target.largest))
    width = np.dtype(working(form)).type
    factor = width(1.0 / math.sqrt(q.shape[1]) if scale is None else as_between(scale, "scale", 1.0 / ROOT, ROOT))
    seen = np.ones((len(q), len(k)), dtype=bool) if mask is None else as_flags(mask, "mask", shape=(len(q), len(k)))
    rows = []
    for query, sees in zip(q.astype(width), seen, strict=True):
        products = np.add.accumulate(query * k.astype(width), axis=1)[:, -1] * factor
        rows.append(stream_row(np.where(sees, products, -np.inf), v, plan, form=form, sink=sink))
    return nearest(np.stack(rows), target)


def stream_error(
    length: int, *, form: str, additions: int | None = None, rises: int | None = None, width: int | None = None
) -> StreamError:
    r"""Bound the error of attention in tiles and splits, for every order of keys and merges.

    With :math:`M = \max_j|v_j|` in a column and :math:`S = \max_j\sigma\sum_k|q_kk_{jk}|`, the output of
    :func:`stream_attention` is off by at most ``M (weights + scores S + output) + least``.

    Parameters
    ----------
    length : int
        How many keys there are, a sink among them.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        As in :func:`stream_attention`.
    additions : int, optional
        Through how many additions a weight goes at most; by default ``length - 1``, which holds for every order.
    rises : int, optional
        How often a state in which a weight is has a smaller maximum than what it meets; by default the same.
    width : int, optional
        The dimension of queries and keys; without it scores are exact.

    Returns
    -------
    StreamError
        ``weights`` is of the output before it is rounded, ``output`` of that rounding.

    Raises
    ------
    ValueError
        If a length or another count is more than a million.

    Examples
    --------
    >>> stream_error(1024, form="bfloat16", additions=135, rises=7).weights.hi < 0.004
    True
    """
    n = as_few(length, "length")
    as_choice(form, "form", FORMATS)
    c = n - 1 if additions is None else as_few(additions, "additions", least=0)
    r = n - 1 if rises is None else as_few(rises, "rises", least=0)
    with precision():
        u = ball(FORMATS[working(form)].unit)
        unit = u / (1 - u)
        most = -(r + 1) * (1 - ULPS * u).log()
        mean = (ball(n - 1) / ball(1).exp()).lambertw()
        common = most + 2 * u * (most + mean) / (1 - u)
        sums = ((2 * (c + r) + 4) * unit).exp()
        weights = common + sums * (1 + _rounded(n, form)) - 1 + n * ball(2) ** -FAR[working(form)]
        steps = 0 if width is None else as_few(width, "width") + 4
        scores = steps * u / (1 - steps * u)
        target = FORMATS[OUTPUTS.get(form, form)]
        out = 0 if form == working(form) else target.unit * (1 + weights)
        least = target.speck + 2 * n * ball(2) ** FORMATS[working(form)].least
        return StreamError(*(hull(ball(part)) for part in (weights, scores, out, least)))


MOST = 10**6  # taken: far above it (c + r) u is no longer small


def as_few(value: int, name: str, *, least: int = 1) -> int:
    """Convert to an integer of at least ``least`` and at most a million, so that roundings are bounded."""
    if (found := as_count(value, name, least=least)) > MOST:
        raise ValueError(f"{name}: expected at most {MOST}, got {value}")
    return found


def _rounded(n: int, form: str) -> Any:
    """Return the most that rounding weights can change their sum, as a part of it: the largest of them is one."""
    if form not in WEIGHTS:
        return ball(0)
    target = FORMATS[form]
    speck = ball(target.speck) / 2 ** WEIGHTS[form]
    normal = (n - 1) * ball(target.unit) / (2 + (n - 1) * (1 + ball(target.unit)))
    vanishing = (n - 1) * speck / (1 + (n - 1) * speck)
    return vanishing if vanishing > normal else normal


def as_plan(plan: Plan, size: int) -> Plan:
    """Return the plan, which is to hold every key once."""
    tiles = _keys(plan)
    keys = as_counts(np.concatenate(tiles), "plan", least=0) if tiles else np.zeros(0)
    if not np.array_equal(np.sort(keys), np.arange(size)):
        raise ValueError(f"plan: expected every key from 0 to {size - 1} once, got {plan!r}")
    return plan


def as_moderate(numbers: NDArray[np.float64], name: str, most: float) -> NDArray[np.float64]:
    """Return numbers, with which no sum or product leaves the range of float32."""
    if not (np.abs(numbers) <= most).all():
        raise ValueError(f"{name}: expected numbers of at most {most:g} in size, got {np.abs(numbers).max():g}")
    return numbers


def _keys(plan: Plan) -> list[NDArray[Any]]:
    """Return the keys of all tiles."""
    if isinstance(plan, tuple) and len(plan) == 2:
        return [*_keys(plan[0]), *_keys(plan[1])]
    if not (
        isinstance(plan, list) and all(isinstance(tile, (Sequence, np.ndarray)) and np.ndim(tile) for tile in plan)
    ):
        raise TypeError(f"plan: expected a list of tiles or a tuple of two plans, got {plan!r}")
    return [np.asarray(tile) for tile in plan if len(tile)]


def _read(s: Any, v: Any, plan: Plan, form: str) -> _State:
    if isinstance(plan, tuple):
        return _merged(_read(s, v, plan[0], form), _read(s, v, plan[1], form), form)
    state = _State(-math.inf, s.dtype.type(0.0), np.zeros(v.shape[1], dtype=v.dtype))
    for tile in plan:
        keys = np.asarray(tile, dtype=np.int64)
        state = _with_tile(state, s[keys], v[keys], form)
    return state


def _with_tile(state: _State, s: Any, v: Any, form: str) -> _State:
    """Return the state after one more tile, whose weights are taken beside the maximum of both."""
    top = max(state.most, float(s.max(initial=-math.inf)))
    if top == -math.inf:
        return state
    weights = exponentials(s - s.dtype.type(top), form)
    coded = _coded(weights, form)
    factor = exponentials(np.array([state.most - top], dtype=s.dtype), form)[0]
    mass = factor * state.mass + np.add.accumulate(weights)[-1] if weights.size else factor * state.mass
    total = factor * state.total
    if weights.size:
        total = total + np.add.accumulate(coded[:, np.newaxis] * v, axis=0)[-1]
    return _State(top, mass, total)


def _merged(left: _State, right: _State, form: str) -> _State:
    top = max(left.most, right.most)
    if top == -math.inf:
        return left
    width = np.dtype(working(form))
    gaps = np.array([left.most, right.most]).astype(width) - width.type(top)
    one, other = exponentials(gaps, form)
    return _State(top, one * left.mass + other * right.mass, one * left.total + other * right.total)


def _coded(weights: Any, form: str) -> Any:
    if form not in WEIGHTS:
        return weights
    power = WEIGHTS[form]
    coded = np.ldexp(nearest(np.ldexp(weights.astype(np.float64), power), FORMATS[form]), -power)
    return coded.astype(weights.dtype)


def exponentials(gaps: Any, form: str) -> Any:
    """Return powers of e rounded correctly to the format of the sums."""
    width = working(form)
    if gaps.size < _FEW:
        return np.array([_exponential(gap, width) for gap in gaps.tolist()], dtype=gaps.dtype)
    different, at = np.unique(gaps, return_inverse=True)
    return np.array([_exponential(gap, width) for gap in different.tolist()], dtype=gaps.dtype)[at]


@lru_cache(maxsize=1 << 16)
def _exponential(gap: float, form: str) -> float:
    """Return the number nearest to a power of e, whatever the library of the processor makes of it."""
    if gap in (0.0, -math.inf):
        return float(gap == 0.0)
    for bits in _ENOUGH:
        with precision(bits):
            power = ball(gap).exp()
            low, high = (_number(end, FORMATS[form]) for end in (power.lower(), power.upper()))
            if low == high:
                return low
    raise ArithmeticError(f"scores: expected a power of e that can be rounded, got that of {gap!r}")


def nearest_to(number: Any, target: Format) -> float:
    """Return the number of a format that is nearest to a ball, which is positive or exactly zero."""
    if number == 0:
        return 0.0
    low, high = (_number(end, target) for end in (number.lower(), number.upper()))
    if low != high:
        raise ArithmeticError(f"expected one nearest number, got {number}")
    return low


def _number(end: Any, target: Format) -> float:
    """Return the nearest number of a format to a positive exact ball."""
    mantissa, power = (int(part) for part in end.man_exp())
    if mantissa.bit_length() + power <= target.least - target.bits:  # less than half the least positive number
        return 0.0  # its exponent may have more digits than memory holds bits
    place = max(mantissa.bit_length() + power - 1, target.least) - target.bits + 1
    shift = place - power
    if shift <= 0:
        return math.ldexp(mantissa << -shift, place)
    whole, rest = mantissa >> shift, mantissa & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    return math.ldexp(whole + int(rest > half or (rest == half and whole % 2 == 1)), place)
