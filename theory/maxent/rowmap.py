"""A regularised map and its derivative as one object: what a layer, an optimiser or an autograd function needs.

Every map sends scores to a law along one axis, the last unless told otherwise, and has a symmetric Jacobian that the
law determines, so that the product with a cotangent takes the law, not the scores. One case is left out: of scores of
which some are masked, :func:`theory.maxent.fusedmax_vjp` has to be told which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from theory.maxent.batch import Array
from theory.maxent.entmax import entmax, entmax_vjp
from theory.maxent.fusedmax import fusedmax, fusedmax_vjp
from theory.maxent.softmax import softmax, softmax_vjp
from theory.maxent.sorting import entmax15, entmax15_vjp, sparsemax, sparsemax_vjp

_NAMES: dict[str, tuple[Callable[..., Array], Callable[..., Array], tuple[str, ...]]] = {
    "softmax": (softmax, softmax_vjp, ()),
    "entmax": (entmax, entmax_vjp, ("alpha",)),
    "entmax15": (entmax15, entmax15_vjp, ()),
    "sparsemax": (sparsemax, sparsemax_vjp, ()),
    "fusedmax": (fusedmax, fusedmax_vjp, ("alpha",)),
}


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


def row_map(name: str, **options: Any) -> RowMap:
    """Return ``softmax``, ``entmax``, ``entmax15``, ``sparsemax`` or ``fusedmax`` with its options bound.

    Parameters
    ----------
    name : str
        Name of the map.
    **options
        What the map takes beside the scores: ``tau``, ``axis``, and ``alpha`` or ``strength`` where it has them.

    Raises
    ------
    ValueError
        If there is no such map.

    Examples
    --------
    >>> fused = row_map("fusedmax", strength=0.25)
    >>> law = fused.law([1.0, 0.5, -1.0])
    >>> law
    array([0.625, 0.375, 0.   ])
    >>> fused.vjp(law, [1.0, 0.0, 0.0])
    array([ 0.5, -0.5,  0. ])
    """
    if name not in _NAMES:
        raise ValueError(f"name: expected one of {', '.join(_NAMES)}, got {name!r}")
    law, vjp, shared = _NAMES[name]
    slope = {key: options[key] for key in (*shared, "tau", "axis") if key in options}
    return RowMap(partial(law, **options), partial(vjp, **slope))
