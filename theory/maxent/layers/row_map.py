"""A regularised map and its derivative as one object: what a layer, an optimiser or an autograd function needs.

Every map sends scores to a law along one axis, the last unless told otherwise, and has a symmetric Jacobian that the
law determines, so that the product with a cotangent takes the law, not the scores. One case is left out: of scores of
which some are masked, :func:`theory.maxent.fusedmax_vjp` has to be told which.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_callable, as_choice
from theory.maxent.batch import Array, as_axis, as_parameter
from theory.maxent.gibbs.softmax import softmax, softmax_vjp
from theory.maxent.sparse.budget import budget, budget_vjp
from theory.maxent.sparse.entmax import entmax, entmax_vjp
from theory.maxent.sparse.fusedmax import fusedmax, fusedmax_vjp
from theory.maxent.sparse.normmax import normmax, normmax_vjp
from theory.maxent.sparse.sorting import entmax15, entmax15_vjp, sparsemax, sparsemax_vjp


@dataclass(frozen=True, slots=True)
class RowMap:
    """A map of scores to laws, with the product of its Jacobian.

    Parameters
    ----------
    law : callable
        Scores to laws of the same shape.
    vjp : callable
        Laws and cotangents of equal shapes to the product with the Jacobian.
    """

    law: Callable[[ArrayLike], Array]
    vjp: Callable[[ArrayLike, ArrayLike], Array]

    def __post_init__(self) -> None:
        as_callable(self.law, "law")
        as_callable(self.vjp, "vjp")

    def __call__(self, scores: ArrayLike) -> Array:
        """Return the laws of scores."""
        return self.law(scores)


def _unmasked(scores: ArrayLike, strength: ArrayLike, **options: Any) -> Array:
    """Return fusedmax of scores without masks: across one its neighbours fuse, which the law does not tell."""
    if np.isneginf(np.asarray(scores, dtype=np.float64)).any():
        raise ValueError("scores: expected finite scores unless mask is bound, got -inf")
    return fusedmax(scores, strength, **options)


_NAMES: dict[str, tuple[Callable[..., Array], Callable[..., Array], tuple[str, ...]]] = {
    "softmax": (softmax, softmax_vjp, ()),
    "entmax": (entmax, entmax_vjp, ("alpha",)),
    "entmax15": (entmax15, entmax15_vjp, ()),
    "sparsemax": (sparsemax, sparsemax_vjp, ()),
    "fusedmax": (_unmasked, fusedmax_vjp, ("alpha",)),
    "normmax": (normmax, normmax_vjp, ("alpha",)),
    "budget": (budget, budget_vjp, ()),
}
_NUMBERS = {"alpha", "tau", "strength", "total"}


def row_map(name: str, *, mask: ArrayLike | None = None, **options: Any) -> RowMap:
    """Return a map of this room with its options bound, so that it takes scores alone.

    Parameters
    ----------
    name : str
        ``softmax``, ``entmax``, ``entmax15``, ``sparsemax``, ``fusedmax``, ``normmax`` or ``budget``.
    mask : array_like of bool, optional
        For ``fusedmax`` on scores that hold minus infinity: true for the entries that count.
    **options
        What the map takes beside the scores, such as ``tau``, ``axis``, ``alpha``, ``strength`` or ``total``.

    Raises
    ------
    ValueError
        If there is no such map, or ``mask`` is given for another one than ``fusedmax``.
    TypeError
        If the map needs an option that is missing, or takes none of that name.

    Examples
    --------
    >>> fused = row_map("fusedmax", strength=0.25)
    >>> law = fused([1.0, 0.5, -1.0])
    >>> law
    array([0.625, 0.375, 0.   ])
    >>> fused.vjp(law, [1.0, 0.0, 0.0]) + 0.0
    array([ 0.5, -0.5,  0. ])
    """
    as_choice(name, "name", _NAMES)
    if mask is not None and name != "fusedmax":
        raise ValueError(f"mask: expected none for {name}, whose law tells its derivative, got some")
    law, vjp, shared = _NAMES[name]
    signature = inspect.signature(fusedmax if name == "fusedmax" else law)
    try:
        signature.bind(None, **options)
    except TypeError as error:
        raise TypeError(f"options: expected those of {name}, {error}") from None
    for key in options.keys() & _NUMBERS:
        as_parameter(options[key], key, infinite=key == "alpha", zero=key == "strength")
    if "axis" in options:
        as_axis(options["axis"])
    if mask is not None and (isinstance(mask, np.ma.MaskedArray) or np.asarray(mask).dtype != np.bool_):
        raise TypeError(f"mask: expected an array of booleans, got {type(mask).__name__}")
    slope = {key: options[key] for key in (*shared, "tau", "axis") if key in options}
    if mask is not None:
        law, slope["mask"] = fusedmax, mask
    return RowMap(partial(law, **options), partial(vjp, **slope))
