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

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_flag, as_masses, as_matrix, as_points, as_positive, frozen
from theory.attention import DotProduct, partition_error, read, rounding
from theory.evidence import Interval, gamma
from theory.evidence.roundoff import EXP_ULPS, U
from theory.particles.fields import Array, Softmax, Tangential, Unnormalised

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
    masses : array_like, shape (n,), optional
        As they are, not by their ratios; :math:`1/n` each unless given.

    Raises
    ------
    ValueError
        If ``beta`` is not positive, ``form`` not square and finite, or the masses are not masses; when called, if the
        shapes do not fit.
    """

    beta: float
    form: Array | None = None
    masses: Array | None = None
    score: DotProduct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_positive(self.beta, "beta"))
        if self.form is not None:
            form = as_matrix(self.form, "form")
            object.__setattr__(self, "form", frozen(as_matrix(form, "form", shape=(form.shape[0], form.shape[0]))))
        if self.masses is not None:
            object.__setattr__(self, "masses", frozen(as_masses(self.masses, "masses")))
        object.__setattr__(self, "score", DotProduct(scale=self.beta, form=self.form))

    def energy(self, tokens: ArrayLike) -> Interval:
        r"""Enclose :math:`\mathcal{E}` of tokens of shape (n, d); no (n, n) matrix is formed."""
        x = as_points(tokens, "tokens")
        m, z = self._masses(x), self.partitions(x)
        value = math.fsum((m * z).tolist()) / (2.0 * self.beta)
        return Interval.within(value, value * (self.partition_error(x) + gamma(8)))

    def partitions(self, tokens: ArrayLike) -> Array:
        """Return the sums :math:`Z_i`, shape (n,)."""
        x = as_points(tokens, "tokens")
        m = self._masses(x)
        partitions: Array = np.exp(read(x, x, x, score=self.score, weights=m).log_partition)
        return partitions

    def metric(self, tokens: ArrayLike, *, normalised: bool = True) -> Array:
        """Return what the velocities are multiplied by to be the gradient, shape (n,): SA, or USA unless normalised."""
        x = as_points(tokens, "tokens")
        return self._masses(x) * self.partitions(x) if as_flag(normalised, "normalised") else self._masses(x)

    def velocity(self, tokens: ArrayLike, *, normalised: bool = True) -> Array:
        """Return the velocities on the sphere, shape (n, d), with the value matrix B."""
        kind = Softmax if as_flag(normalised, "normalised") else Unnormalised
        return Tangential(kind(self.score, value=self.form, masses=self.masses))(as_points(tokens, "tokens"))

    def velocity_error(self, tokens: ArrayLike, *, normalised: bool = True) -> float:
        """Bound how far any entry of :meth:`velocity` is from the truth."""
        x = as_points(tokens, "tokens")
        d, reach = x.shape[1], float(np.abs(x).max())
        error = rounding(x, x, x, score=self.score, weights=self._masses(x))
        if not as_flag(normalised, "normalised"):  # the outputs, at most as large as a token, times the sums
            largest = float(self.partitions(x).max())
            error = largest * (error + reach * (self.partition_error(x) + gamma(4))) * (1.0 + gamma(4))
            reach *= largest
        if self.form is not None:
            rows = float(np.abs(self.form).sum(axis=1).max())
            error, reach = rows * (error + gamma(d + 1) * reach), rows * reach
        projected = error * (1.0 + math.sqrt(d)) + gamma(2 * d + 4) * (1.0 + d) * reach
        return float(projected * (1.0 + gamma(16)))

    def dissipation(self, tokens: ArrayLike, *, normalised: bool = True) -> Interval:
        r"""Enclose the sum of the squared velocities in the metric of :meth:`metric`.

        Raises
        ------
        ValueError
            If a token is off the unit sphere.
        """
        x = as_points(tokens, "tokens")
        off = np.abs(np.einsum("ij,ij->i", x, x) - 1.0)
        if off.max() > _UNIT:
            raise ValueError(f"tokens: expected unit vectors, got length off by {off.max() / 2:.1e} at {off.argmax()}")
        v, error = self.velocity(x, normalised=normalised), self.velocity_error(x, normalised=normalised)
        weights, d = self.metric(x, normalised=normalised), x.shape[1]
        sizes = np.sqrt(np.einsum("ij,ij->i", v, v))
        slack = weights * (2.0 * sizes * error * math.sqrt(d) + d * error**2)
        slack += weights * sizes**2 * (self.partition_error(x) + gamma(d + 8))
        value = math.fsum((weights * sizes**2).tolist())
        return Interval.within(value, math.fsum(slack.tolist()) * (1.0 + gamma(x.shape[0] + 16)))

    def _masses(self, x: Array) -> Array:
        n = x.shape[0]
        return np.full(n, 1.0 / n) if self.masses is None else as_masses(self.masses, "masses", size=n)

    def partition_error(self, tokens: ArrayLike) -> float:
        """Bound the relative error of :meth:`partitions`: that of the logarithms, and of one exponential."""
        x = as_points(tokens, "tokens")
        m = self._masses(x)
        logarithm = partition_error(x, x, self.score, np.log(m[m > 0.0]))
        return math.expm1(logarithm) + EXP_ULPS * U * (1.0 + logarithm)
