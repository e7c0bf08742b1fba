"""Attention that is asked again and again: form, weights, mask, backend and buffers are settled once.

A flow, a stack of layers or a search asks for the same attention of other tokens, thousands of times. On few tokens
most of a call goes into looking at its arguments; a prepared problem has looked before, and answers as
:func:`theory.engine.attention` does, in every bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._backend import backend
from theory._validate import all_finite, as_instance
from theory.engine import blocks, dense, ends, fused, reference
from theory.engine.fold import NONE, compilable, in_base_two
from theory.engine.pairs import Array, AttentionResult, Counts, Form, Pairs
from theory.engine.passes import TRUST, UNIT, is_wide
from theory.engine.threads import are_few, asked_threads

_DOUBLE = np.dtype(np.float64)
_MOST = 8  # shapes of which a plan is kept; taken, as is the largest number of features of one
_WIDEST = 64
_ORDINARY = ends.TAME | ends.PLAIN


class _Buffers(NamedTuple):
    """What a call writes on the way; it belongs to one call at a time."""

    queries: Array
    keys: Array
    values: Array
    added: Array
    shift: Array
    size: Array
    mass: Array
    logs: Array
    sound: NDArray[np.bool_]


class _Plan(NamedTuple):
    """What follows from the shapes of queries, keys and values."""

    write: Callable[..., int]
    """what precedes the kernel, which takes keys and values as this leaves them"""
    kernel: Callable[..., None]
    weighted: Callable[..., None]
    """for log-weights that differ"""
    visible: Counts
    unit: float
    free: list[_Buffers]
    """those that no call holds; a call that finds none makes its own"""


class Prepared:
    """Dense attention in double precision of which all but the tokens is settled; :func:`prepare` makes it.

    It may be called from several threads at once: buffers are lent to one call at a time, and no answer lies in them.
    """

    def __init__(self, form: Form, coefficients: Array, log_weights: Array | None, visible: Counts | None) -> None:
        self._backend = backend()
        self._form = form
        self._coefficients = coefficients
        self._log_weights = log_weights
        self._visible = visible
        self._is_dot = form is Form.DOT
        known = form in (Form.DOT, Form.DISTANCE) and dense.kernels(form) is not reference
        self._scale = in_base_two(coefficients) if known else 0.0
        self._shortens = known
        self._plans: dict[tuple[tuple[int, ...], ...], _Plan | None] = {}

    def __call__(self, queries: Array, keys: Array, values: Array) -> AttentionResult:
        """Return what queries (m, d) read from keys (n, d) with values (n, d_v), all of them new.

        Raises
        ------
        ValueError
            As :func:`theory.engine.attention` does.
        """
        found = self.quick(queries, keys, values) if backend() == self._backend else None
        if found is not None:
            return found
        pairs = Pairs(self._form, queries, keys, self._coefficients)
        return dense.attention(pairs, values, log_weights=self._log_weights, visible=self._visible)

    def quick(
        self, queries: Array, keys: Array, values: Array, log_weights: Array | None = None
    ) -> AttentionResult | None:
        """Return the answer where arrays of float64 are few, finite and of ordinary size; ``None`` elsewhere.

        By the backend that was named when it was made, whatever the environment says now; but ``ValueError`` if
        ``THEORY_THREADS`` is no number. Log-weights of every key take the place of those that were settled. ``None``
        says nothing of the arguments: they may be right or wrong, and who knows must be asked.
        """
        for array in (queries, keys, values):
            if type(array) is not np.ndarray or array.dtype != _DOUBLE:
                return None
        shapes = queries.shape, keys.shape, values.shape
        try:
            plan = self._plans[shapes]
        except KeyError:
            plan = self._plan(queries, keys, values)
        if plan is None:
            return None
        asked_threads()  # which is refused if it is no number, as everywhere
        added = self._log_weights if log_weights is None else log_weights
        if added is not None and (type(added) is not np.ndarray or added.dtype != _DOUBLE or added.ndim != 1):
            return None
        try:
            buffers = plan.free.pop()
        except IndexError:
            buffers = self._buffers(queries, values)
        found = self._run(plan, buffers, compilable(queries), compilable(keys), compilable(values), added)
        plan.free.append(buffers)
        return found

    def _run(
        self, plan: _Plan, buffers: _Buffers, queries: Array, keys: Array, values: Array, log_weights: Array | None
    ) -> AttentionResult | None:
        """Do what :func:`theory.engine.passes.attention` does where every row is sound at once."""
        moved, kept_keys, kept_values, added, shift, size, mass, logs, sound = buffers
        given = NONE if log_weights is None else compilable(log_weights)
        if given.size not in (0, added.size):
            return None
        found = plan.write(
            self._is_dot, queries, keys, values, given, self._scale,
            moved, kept_keys, kept_values, added, shift, size,
        )  # fmt: skip
        if found & _ORDINARY != _ORDINARY:
            return None
        sums = np.zeros((queries.shape[0], values.shape[1]))
        log_partition = np.empty(shift.size)
        mass.fill(0.0)
        weighted = found & ends.WEIGHTED
        kernel = plan.weighted if weighted else plan.kernel
        kernel(
            moved if self._is_dot else queries, kept_keys, kept_values, added if weighted else NONE, self._scale,
            shift, plan.visible, sums, mass,
        )  # fmt: skip
        if not ends.are_above(mass, TRUST):
            return None
        np.log2(mass, logs)
        offset = 0.0 if weighted or log_weights is None else float(log_weights[0])
        every = ends.divide(sums, mass, logs, shift, size, plan.unit, TRUST, offset, log_partition, sound)
        return AttentionResult(sums, log_partition) if every else None

    def _plan(self, queries: Array, keys: Array, values: Array) -> _Plan | None:
        """Make and keep a plan for arrays of these shapes, or ``None`` if they do not fit, or are many or wide."""
        if len(self._plans) >= _MOST:
            self._plans.clear()
        plan = self._planned(queries, keys, values) if self._shortens else None
        self._plans[queries.shape, keys.shape, values.shape] = plan
        return plan

    def _planned(self, queries: Array, keys: Array, values: Array) -> _Plan | None:
        if not queries.ndim == keys.ndim == values.ndim == 2 or not queries.size or not values.size:
            return None
        (m, d), (n, d_v) = queries.shape, values.shape
        fits = keys.shape == (n, d)
        wide = is_wide(d, d_v)
        small = n <= (blocks.TILE if wide else fused.TILE) and m <= fused.TILE and are_few(m * n)
        visible = np.full(m, n) if self._visible is None else self._visible
        if not fits or not small or max(d, d_v) > _WIDEST or visible.shape != (m,) or visible.max() > n:
            return None
        unit = (d + 4) * UNIT
        if wide:
            kernel = blocks.kernel(self._form, single=False)
            return _Plan(ends.write_packed, kernel, kernel, visible, unit, [])
        kernel = fused.kernel(self._form, d, d_v, weighted=False, single=False)
        weighted = fused.kernel(self._form, d, d_v, weighted=True, single=False)
        return _Plan(ends.write_folded, kernel, weighted, visible, unit, [])

    def _buffers(self, queries: Array, values: Array) -> _Buffers:
        m, d = queries.shape
        n, d_v = values.shape
        if is_wide(d, d_v):
            keys, kept_values = blocks.panels(n, d, d_v)
        else:
            keys, kept_values = np.empty((d, n)), np.empty((d_v, n))
        return _Buffers(
            np.empty((m, d)), keys, kept_values, np.empty(n),
            np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m, np.bool_),
        )  # fmt: skip


def prepare(
    form: Form, coefficients: Array, *, log_weights: Array | None = None, visible: Counts | None = None
) -> Prepared:
    """Settle all of an attention problem but its tokens.

    Parameters
    ----------
    form : Form
        One with a formula, not :attr:`Form.GIVEN`.
    coefficients : ndarray
        As :class:`theory.engine.Pairs` says.
    log_weights : ndarray, shape (n,), optional
        As in :func:`theory.engine.attention`; copied.
    visible : ndarray of int64, shape (m,), optional
        As in :func:`theory.engine.attention`; copied.

    Returns
    -------
    Prepared
        Call it with queries, keys and values: it answers as :func:`theory.engine.attention` would, in every bit, also
        where the environment has come to name another backend or number of threads.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; when called, as :func:`theory.engine.attention` says.
    """
    as_instance(form, "form", Form)
    if form is Form.GIVEN:
        raise ValueError("form: expected one with a formula, got GIVEN")
    size = coefficients.shape if form is Form.ADDITIVE and getattr(coefficients, "ndim", 0) == 1 else (1,)
    dense.demand_shape("coefficients", coefficients, size)
    if not all_finite(coefficients) or (form in (Form.DISTANCE, Form.TORUS) and coefficients[0] < 0.0):
        raise ValueError(f"coefficients: expected finite numbers, and a scale that is not negative, got {coefficients}")
    if log_weights is not None:
        dense.demand_log_weights(log_weights, max(1, getattr(log_weights, "size", 1)))
        log_weights = _copied(log_weights)
    if visible is not None:
        visible = dense.as_visible(visible, getattr(visible, "size", 0), np.iinfo(np.int64).max).copy()
    return Prepared(form, _copied(coefficients), log_weights, visible)


def _copied(numbers: Array) -> Array:
    """Return a copy of the same kind: kernels for arrays that can be written to are others, and may sum otherwise."""
    copy = numbers.copy()
    copy.setflags(write=numbers.flags.writeable)
    return copy
