r"""Moment subspaces: laws represented by finitely many moments.

A feature :math:`F : E \to \mathbb{R}^k` encodes a law by :math:`M_F(\mu) = \mu(F)`. A section :math:`e` with
:math:`M_F \circ e = \mathrm{id}` chooses one law for each moment; :math:`\Pi = e \circ M_F` is then idempotent and
keeps the moments. The standard case is the barycentre, :math:`\Pi(\mu) = \delta_{\int y\,\mu(dy)}`.

References
----------
Definitions 6 to 8 of J. Vuckovic, A. Baratin, R. Tachet des Combes, *A mathematical theory of attention*, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from theory._validate import as_callable, as_having, as_instance, as_points, as_vector
from theory.attention.kernel import MarkovKernel
from theory.attention.measure import Measure, as_measure
from theory.attention.score import Array

_ROUNDING = 2.0**-30  # derived: gamma_n of the two moments, for clouds of up to two million atoms


@dataclass(frozen=True, slots=True, eq=False)
class MomentSubspace:
    """A feature with a section.

    Parameters
    ----------
    feature : callable
        Maps points (n, d) to features (n, k).
    section : callable
        Maps a moment (k,) to the measure that represents it.
    """

    feature: Callable[[Array], ArrayLike]
    section: Callable[[Array], Measure]

    def __post_init__(self) -> None:
        as_callable(self.feature, "feature")
        as_callable(self.section, "section")

    def moment(self, mu: Measure) -> Array:
        """Return the moment of ``mu``, shape (k,)."""
        as_measure(mu, "mu")
        return mu.integrate(self.feature)

    def project(self, mu: Measure) -> Measure:
        """Return the representative of ``mu``."""
        return self.section(self.moment(mu))


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """A kernel of which every law is projected to a moment subspace."""

    kernel: MarkovKernel
    subspace: MomentSubspace

    def __post_init__(self) -> None:
        as_having(self.kernel, "kernel", "at")
        as_instance(self.subspace, "subspace", MomentSubspace)

    def at(self, x: ArrayLike) -> Measure:
        """Return the projected law at ``x``."""
        return self.subspace.project(self.kernel.at(as_vector(x, "x")))


def barycentres() -> MomentSubspace:
    """Return the subspace of Dirac masses: a law is represented by its mean."""
    return MomentSubspace(lambda y: y, Measure.dirac)


def symmetric_pairs() -> MomentSubspace:
    """Return the subspace of two equal atoms on the line: a law is represented by mean and variance.

    The feature is ``(y, y**2)``; a moment that no law has, with second moment below the squared mean, raises
    ``ValueError``.
    """

    def feature(y: Array) -> Array:
        powers: Array = as_points(y, "points", dim=1) ** [1, 2]
        return powers

    def section(moment: Array) -> Measure:
        mean, second = float(moment[0]), float(moment[1])
        if second < mean * mean * (1.0 - _ROUNDING):
            raise ValueError(f"moment: expected a second moment of at least {mean * mean}, got {second}")
        spread = math.sqrt(max(second - mean * mean, 0.0))
        return Measure([[mean - spread], [mean + spread]])

    return MomentSubspace(feature, section)
