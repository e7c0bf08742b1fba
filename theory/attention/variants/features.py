r"""Feature maps for attention at linear cost, among them random ones whose products estimate the softmax kernel.

A feature map :math:`\phi` scores a query with a key by :math:`\langle \phi(q), \phi(k)\rangle`; see
:mod:`theory.attention.variants.linear`. For frequencies :math:`\omega_1, \dots, \omega_m` drawn from the standard
normal law, the products of these maps are unbiased estimates of :math:`e^{\beta\langle q, k\rangle}`, each the mean
of :math:`m` independent terms:

* positive, :math:`e^{\omega\cdot(q + k) - (|q|^2 + |k|^2)/2}`;
* paired (hyperbolic), the mean of that over :math:`\pm\omega`;
* trigonometric, :math:`e^{(|q|^2 + |k|^2)/2}\cos(\omega\cdot(q - k))`,

with :math:`\sqrt\beta\,q` and :math:`\sqrt\beta\,k` in the place of :math:`q` and :math:`k`. Only the first two keep
attention weights positive, and their terms have heavy tails where :math:`|q + k|` is large.

References
----------
K. Choromanski et al., *Rethinking attention with Performers*, ICLR 2021 (arXiv:2009.14794).
A. Rahimi, B. Recht, *Random features for large-scale kernel machines*, NeurIPS 2007.
A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret, *Transformers are RNNs*, ICML 2020 (arXiv:2006.16236).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_flag, as_generator, as_matrix, as_points, as_positive, frozen
from theory.attention.score import Array


def gaussian_frequencies(count: int, dim: int, rng: np.random.Generator) -> Array:
    """Draw independent standard normal frequencies, shape (count, dim)."""
    return as_generator(rng).standard_normal((as_count(count, "count"), as_count(dim, "dim")))


@dataclass(frozen=True, slots=True, eq=False)
class PositiveFeatures:
    r"""Positive random features of :math:`e^{\beta\langle q, k\rangle}`.

    Parameters
    ----------
    frequencies : array_like, shape (m, d)
    scale : float, default 1.0
        :math:`\beta > 0`.
    paired : bool, default False
        Use each frequency with both signs: 2 m features instead of m.

    Raises
    ------
    ValueError
        If ``scale`` is not positive or ``frequencies`` is not a finite matrix.
    """

    frequencies: Array
    scale: float = 1.0
    paired: bool = False

    def __post_init__(self) -> None:
        _settle(self)
        as_flag(self.paired, "paired")

    def __call__(self, points: ArrayLike) -> Array:
        """Return the features, shape (n, m) or (n, 2 m); ``ValueError`` if one overflows, and zero if it underflows."""
        x, along = _projected(self, points)
        half = np.einsum("ij,ij->i", x, x)[:, np.newaxis] / 2.0
        signs = (1.0, -1.0) if self.paired else (1.0,)
        with np.errstate(over="ignore", under="ignore"):
            parts = [np.exp(sign * along - half) for sign in signs]
        return _scaled(np.concatenate(parts, axis=1), len(signs) * along.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class TrigonometricFeatures:
    r"""Trigonometric random features of :math:`e^{\beta\langle q, k\rangle}`: m cosines, then m sines.

    Parameters and errors as in :class:`PositiveFeatures`.
    """

    frequencies: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        _settle(self)

    def __call__(self, points: ArrayLike) -> Array:
        """Return the features, shape (n, 2 m); ``ValueError`` if one overflows."""
        x, along = _projected(self, points)
        with np.errstate(over="ignore"):
            size = np.exp(np.einsum("ij,ij->i", x, x) / 2.0)[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            waves = size * np.concatenate([np.cos(along), np.sin(along)], axis=1)
        return _scaled(waves, along.shape[1])


def elu_features(points: ArrayLike) -> Array:
    """Return 1 + x where x > 0 and exp(x) elsewhere, entry by entry: positive, and nothing random."""
    x = as_points(points, "points")
    features: Array = np.maximum(x, 0.0) + np.exp(np.minimum(x, 0.0))
    return features


def _settle(features: PositiveFeatures | TrigonometricFeatures) -> None:
    object.__setattr__(features, "frequencies", frozen(as_matrix(features.frequencies, "frequencies")))
    object.__setattr__(features, "scale", as_positive(features.scale, "scale"))


def _projected(features: PositiveFeatures | TrigonometricFeatures, points: ArrayLike) -> tuple[Array, Array]:
    """Return the scaled points and their products with the frequencies."""
    x = math.sqrt(features.scale) * as_points(points, "points", dim=features.frequencies.shape[1])
    return x, x @ features.frequencies.T


def _scaled(features: Array, count: int) -> Array:
    scaled: Array = features / math.sqrt(count)
    if not np.isfinite(scaled).all():
        raise ValueError("points: expected points whose features float64 can hold, got one that it cannot")
    return scaled
