"""Witnesses of clouds: few bits of points, forms and displacements, the same on every machine.

Masses are rounded by :func:`~theory.evidence.witness.coarse` as they are. Points keep their ball and forms their norm,
by operations that round alike everywhere; digits that are only rounding are dropped, where relative bits would keep
them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theory.evidence import coarse, first_best

Array = NDArray[np.float64]
_NOUGHT = 2.0**-20  # taken: a coordinate is zero if it is smaller than this part of the largest
_FORM_STEP = 2.0**-24  # taken: of the norm of a form; a stretch moves with it to first order, with the rest to second


def round_values(values: Array) -> Array:
    """Return few bits of numbers of one unit, zero where they vanish beside the largest."""
    return np.where(np.abs(values) < _NOUGHT * np.abs(values).max(), 0.0, coarse(values))


def round_points(points: Array, radius: float | None) -> Array:
    """Return few bits of points, those of the boundary of a ball kept there; None is all of space."""
    if radius is None:
        return round_values(points)
    return _as_long(round_values(points), radius * np.minimum(coarse(_lengths(points) / radius), 1.0))


def round_form(form: Array, norm: float) -> Array:
    """Return the nearest form on a lattice, smaller by a few of its steps where that is above the norm."""
    rounded = norm * (np.round(form / norm / _FORM_STEP) * _FORM_STEP)
    over = form.size > 1 and float(np.linalg.norm(rounded, 2)) > norm
    return np.asarray(rounded * (1.0 - len(form) * _FORM_STEP) if over else rounded)


def round_displacement(found: Array, masses: Array, p: float) -> Array:
    """Return few bits of a displacement, of which neither the size nor the sign means anything.

    An atom stands still if what it adds to the p-norm vanishes beside what the largest adds.
    """
    scaled = found / _lengths(found).max()
    adds = np.abs(scaled) if math.isinf(p) else np.abs(scaled) * masses[:, np.newaxis] ** (1.0 / p)
    still = adds < _NOUGHT * adds.max()
    rounded = _as_long(np.where(still, 0.0, coarse(scaled)), coarse(_lengths(scaled)))
    ahead = rounded.ravel()[first_best(adds.ravel(), _NOUGHT)]
    return np.asarray(rounded if ahead > 0.0 else -rounded)


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)))


def _as_long(vectors: Array, lengths: Array) -> Array:
    """Return vectors of the same directions and the given lengths; those that are zero stay zero."""
    now = _lengths(vectors)
    return np.asarray(vectors * (lengths / np.where(now > 0.0, now, 1.0)))
