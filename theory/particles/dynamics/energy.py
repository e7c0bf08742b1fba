r"""The energy that attention on the sphere climbs, and in which metric.

.. math:: \mathcal{E}(x) = \frac{1}{2\beta} \sum_{ij} m_i m_j e^{\beta x_i^\top B x_j}, \qquad Z_i = \sum_j m_j
   e^{\beta x_i^\top B x_j}, \qquad B = B^\top .

With the value matrix :math:`V = B` the velocity without normalisation (USA) times :math:`m_i` is the gradient of the
energy in :math:`x_i`, and the velocity of attention (SA) times :math:`m_i Z_i` is the same gradient. Both climb
:math:`\mathcal{E}`, by :math:`\sum_i m_i |\dot x_i|^2` and by :math:`\sum_i m_i Z_i |\dot x_i|^2` per unit of time.

References
----------
B. Geshkovski, C. Letrouit, Y. Polyanskiy, P. Rigollet, A mathematical perspective on transformers, *Bulletin of the
American Mathematical Society* 62 (2025), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_flag, as_masses, as_matrix, as_points, as_positive, frozen
from theory.attention import DotProduct, read
from theory.evidence import Interval, exact, is_enclosed
from theory.particles.dynamics.fields import Array, SoftmaxField, Tangential, UnnormalisedField

_UNIT = 1e-6  # taken: a token may miss the sphere by this, far above what an integrator drifts


@dataclass(frozen=True, slots=True, eq=False)
class Interaction:
    r"""The energy of unit tokens under :math:`\beta x^\top B y`, and the attention that climbs it.

    Parameters
    ----------
    beta : float
        Inverse temperature, positive.
    form : array_like, shape (d, d), optional
        :math:`B`; the identity unless given.
    weights : array_like, shape (n,), optional
        As they are, not by their ratios; :math:`1/n` each unless given.

    Raises
    ------
    ValueError
        If ``beta`` is not positive, ``form`` not square and finite, or the weights are negative or all zero;
        when called, if the shapes do not fit.
    """

    beta: float
    form: Array | None = None
    weights: Array | None = None
    score: DotProduct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_positive(self.beta, "beta"))
        if self.form is not None:
            form = as_matrix(self.form, "form")
            object.__setattr__(self, "form", frozen(as_matrix(form, "form", shape=(form.shape[0], form.shape[0]))))
        if self.weights is not None:
            object.__setattr__(self, "weights", frozen(as_masses(self.weights, "weights")))
        object.__setattr__(self, "score", DotProduct(scale=self.beta, form=self.form))

    def energy(self, tokens: ArrayLike) -> Interval:
        r"""Enclose :math:`\mathcal{E}` of tokens of shape (n, d); no (n, n) matrix is formed."""
        x = exact(as_points(tokens, "tokens"))
        m = self._weights(x)
        z = self.partitions(x)
        value: Interval = (m * z).sum() / (2.0 * self.beta)
        return value

    def partitions(self, tokens: ArrayLike) -> Array:
        """Return the sums :math:`Z_i`, shape (n,), enclosed if the tokens are."""
        x = as_points(tokens, "tokens")
        m = self._weights(x)
        partitions: Array = np.exp(read(x, x, x, score=self.score, weights=m).log_partition)
        return partitions

    def metric(self, tokens: ArrayLike, *, normalised: bool = True) -> Array:
        """Return what the velocities are multiplied by to be the gradient, shape (n,): SA, or USA unless normalised."""
        x = as_points(tokens, "tokens")
        return self._weights(x) * self.partitions(x) if as_flag(normalised, "normalised") else self._weights(x)

    def velocity(self, tokens: ArrayLike, *, normalised: bool = True) -> Array:
        """Return the velocities on the sphere, shape (n, d), with the value matrix B; enclosed if the tokens are."""
        kind = SoftmaxField if as_flag(normalised, "normalised") else UnnormalisedField
        return Tangential(kind(self.score, value=self.form, weights=self.weights))(as_points(tokens, "tokens"))

    def dissipation(self, tokens: ArrayLike, *, normalised: bool = True) -> Interval:
        r"""Enclose the sum of the squared velocities in the metric of :meth:`metric`.

        Raises
        ------
        ValueError
            If a token is off the unit sphere.
        """
        x = exact(as_points(tokens, "tokens"))
        off = np.abs((x * x).sum(axis=1) - 1.0).mid
        if off.max() > _UNIT:
            raise ValueError(f"tokens: expected unit vectors, got length off by {off.max() / 2:.1e} at {off.argmax()}")
        v = self.velocity(x, normalised=normalised)
        metric = self.metric(x, normalised=normalised)
        value: Interval = (metric * (v * v).sum(axis=1)).sum()
        return value

    def _weights(self, x: Array) -> Array:
        n = x.shape[0]
        if self.weights is not None:
            return as_masses(self.weights, "weights", size=n)
        return exact(np.ones(n)) / n if is_enclosed(x) else np.full(n, 1.0 / n)
