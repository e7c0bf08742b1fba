r"""Self-attention that moves tokens on the circle: which layers make their density run a well-posed equation.

Tokens are points of the unit circle in the plane. A layer computes the weights anew, :math:`P_{ij} \propto
w_je^{-|x_i - x_j|^2/2\varepsilon}`, adds a multiple of the mean shift, and is followed by the normalisation of lengths,

.. math:: x_i \leftarrow \frac{x_i + s\,(m_i - x_i)}{|x_i + s\,(m_i - x_i)|}, \qquad m_i = \sum_jP_{ij}x_j .

Tokens average for :math:`s = 1`. Layers with :math:`s < 0` are *reversed*: of value matrix :math:`sI` beside a residual
connection of weight :math:`1 - s`. The part of :math:`m - x` along the circle is :math:`\varepsilon\,\partial\log
K_\varepsilon\rho` exactly, with the convolution :math:`K_\varepsilon` by :math:`e^{\cos\theta/\varepsilon}`; so at
fixed :math:`k\varepsilon = t` the density runs :math:`\partial_t\rho = -s\,\partial^2\rho` formally, backward if tokens
average.

Whether a stack follows its equation is decided by waves. Equidistant tokens that are displaced by :math:`A\cos m\theta`
have A multiplied by a factor (:func:`wave_factor`), which for :math:`\varepsilon \to 0` at fixed :math:`z =
\varepsilon m^2` tends to :math:`1 + s\,z\,c(z)`, with

.. math:: c(z) = e^{-z/2}, \qquad e^{-z/2}(1 - \alpha e^{-z/2}), \qquad \frac1{1 + e^{z/2}}

for softmax, for keys weighted by their smoothed density to the power :math:`-\alpha`, and for Sinkhorn's weights. A
limit is followed only where no factor is beyond one in size: by reversed softmax for :math:`-s \le e`, by the step -1
for :math:`-3.7 < \alpha \le 1`, and by undivided sums, of which c is that of softmax times :math:`2\pi\rho`, while
:math:`-2\pi s\rho \le e`.

References
----------
M. Carreira-Perpinan, Fast nonparametric clustering with Gaussian blurring mean-shift, *ICML* (2006).
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import (
    as_between,
    as_choice,
    as_count,
    as_instance,
    as_masses,
    as_points,
    as_positive,
    as_vector,
)
from theory.attention import DotProduct, Score, SquaredDistance, attend, read
from theory.diffusion.layers.stacking import apply_layers
from theory.diffusion.limits.normalisers import balance_tokens
from theory.diffusion.limits.operators import half_inverse
from theory.evidence import Interval, as_intervals, estimated
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
RULES = ("softmax", "sinkhorn", "sum", "far")
_STEEPEST = 1e3  # taken: exponents and steps
_LARGEST = 1e6  # taken: of an angle, which then keeps ten digits
_FARTHEST = 1e100  # taken: squares stay in float64
_RESOLVED = 12.0  # derived: sums over tokens at distance h miss exp(-2 pi^2 epsilon / h^2), here exp(-72)
_SMALLEST = 1e-9  # taken: below, rounding of angles is seen
_SLIP = 8.0  # taken: sums of attention and angles of size 2 pi are off by a third of it or less, in units of u


class CircleLayer:
    r"""A layer of self-attention among tokens of the unit circle, followed by the normalisation of lengths.

    Parameters
    ----------
    epsilon : float
        Positive, of :math:`e^{-|x - y|^2/2\varepsilon}`.
    step : float, default -1.0
        s, by which the mean shift is multiplied: 1 if tokens average, negative if the layer is reversed.
    rule : {"softmax", "sinkhorn", "sum", "far"}
        Rows with sum one; rows and columns (Sinkhorn); sums that no row divides, in units of those of equidistant
        tokens; or softmax at negative temperature, :math:`e^{+|x - y|^2/2\varepsilon}`.
    alpha : float, default 0.0
        Keys are weighted by their smoothed density to the power :math:`-\alpha` first; of softmax only.
    context : array_like, shape (m,), optional
        Angles of tokens that do not move: a second head adds the mean shift to them, with weight one and value matrix
        of the other sign.
    among : array_like, shape (n,), optional
        Angles of as many tokens as will be asked for, of which the weights are: those of its first layer, if a stack
        keeps them. Weights are computed anew unless given.

    Attributes
    ----------
    error : float
        Infinite: no bound of what rounding does to a stack is derived.

    Raises
    ------
    ValueError
        If a number is out of range, or ``alpha`` is given with another rule.
    """

    def __init__(
        self, epsilon: float, *, step: float = -1.0, rule: str = "softmax", alpha: float = 0.0,
        context: ArrayLike | None = None, among: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        self.epsilon = as_positive(epsilon, "epsilon")
        self.step = as_between(step, "step", -_STEEPEST, _STEEPEST)
        self.rule = as_choice(rule, "rule", RULES)
        self.alpha = as_between(alpha, "alpha", -_STEEPEST, _STEEPEST)
        if self.alpha != 0.0 and self.rule != "softmax":
            raise ValueError(f"alpha: expected zero for the rule {self.rule}, got {self.alpha}")
        self._context = None if context is None else circle_points(context, "context")
        self._among = None if among is None else circle_points(among, "among")
        self.error = math.inf
        scale = half_inverse(epsilon)
        self._score: Score = SquaredDistance(scale)
        if self.rule == "far":
            self._score = DotProduct(2.0 * scale, form=-np.eye(2))

    def shift(self, angles: ArrayLike, weights: ArrayLike | None = None) -> Array:
        r"""Return :math:`m_i - x_i` in the plane, shape (n, 2), of tokens at angles of shape (n,)."""
        return self._shift(circle_points(angles), weights)

    def _shift(self, points: Array, weights: ArrayLike | None) -> Array:
        places = points if self._among is None else self._among
        if len(places) != len(points):
            raise ValueError(f"angles: expected as many as {len(places)} tokens, got {len(points)}")
        masses = np.ones(len(points)) if weights is None else as_masses(weights, "weights", size=len(points))
        if self.rule == "sinkhorn":
            scaled = balance_tokens(places, score=self._score, weights=masses)
            masses = scaled.key_weights * np.exp(scaled.g)
        elif self.alpha != 0.0:
            logs = read(places, places, points, score=self._score, weights=masses).log_partition
            masses = masses * np.exp(-self.alpha * (logs - logs.mean()))
        found = read(places, places, points, score=self._score, weights=masses)
        shift: Array = found.output - points
        if self.rule == "sum":
            shift = shift * (np.exp(found.log_partition) / (masses.sum() * self._evenly()))[:, np.newaxis]
        return shift

    def __call__(self, angles: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """Return the angles of the tokens after the layer, shape (n,), no turn taken off.

        Parameters
        ----------
        angles : array_like, shape (n,)
        weights : array_like, shape (n,), optional
            Of the tokens; equal unless given.

        Raises
        ------
        ValueError
            If the shapes differ, a weight is negative or an angle is larger than a million.
        """
        points = circle_points(angles)
        moved = self.step * self._shift(points, weights)
        if self._context is not None:
            moved = moved + attend(points, self._context, self._context, score=self._score) - points
        return _turned(as_vector(angles, "angles"), points, moved)

    def _evenly(self) -> float:
        """Return what equidistant tokens of total mass one sum to."""
        from scipy.special import ive  # noqa: PLC0415  slow to load

        return float(ive(0, 1.0 / self.epsilon))


def circle_points(angles: ArrayLike, name: str = "angles") -> Array:
    """Return the points of the unit circle at angles of shape (n,), shape (n, 2); enclosed if the angles are."""
    x = as_vector(angles, name)
    largest = float(np.abs(as_intervals(x).mid).max())
    if not largest <= _LARGEST:
        raise ValueError(f"{name}: expected at most {_LARGEST:g}, got {largest}")
    return np.stack([np.cos(x), np.sin(x)], axis=1)


def turn_angles(angles: ArrayLike, shifts: ArrayLike) -> Array:
    """Return the angles, shape (n,), to which points of the circle come that are shifted in the plane and normalised.

    Raises
    ------
    ValueError
        If ``shifts`` are not of shape (n, 2).
    """
    points = circle_points(angles)
    moved = as_points(shifts, "shifts", dim=2, size=len(points))
    return _turned(as_vector(angles, "angles"), points, moved)


def _turned(angles: Array, points: Array, moved: Array) -> Array:
    """Return the angles of points on the circle that are shifted."""
    along = moved[:, 1] * points[:, 0] - moved[:, 0] * points[:, 1]
    outward = 1.0 + (moved * points).sum(axis=1)
    turned: Array = angles + np.arctan2(along, outward)
    return turned


class NoisyLayer:
    r"""A layer after which every token is turned by an own normal angle of variance :math:`2\sigma\varepsilon`.

    It takes the law of a token to that of the next layer, in the limit of many tokens, and nothing is drawn:
    equidistant tokens that weigh the density are moved, and wave m of the result is multiplied by
    :math:`e^{-\sigma\varepsilon m^2}`.

    Parameters
    ----------
    layer : CircleLayer
    noise : float
        :math:`\sigma`, zero or positive.
    modes : int, default 32
        Waves that are kept.

    Attributes
    ----------
    error : float
        Infinite, as that of the layer.
    """

    def __init__(self, layer: CircleLayer, noise: float, *, modes: int = 32) -> None:
        self.layer = as_instance(layer, "layer", CircleLayer)
        self.noise = as_between(noise, "noise", 0.0, _STEEPEST)
        self._modes = as_count(modes, "modes")
        self.error = math.inf

    def __call__(self, density: ArrayLike) -> Array:
        r"""Return :math:`2\pi\rho` at equidistant angles from zero on, shape (n,), after the layer.

        Parameters
        ----------
        density : array_like, shape (n,)
            Not negative, of any total; at more than twice as many places as waves are kept.
        """
        masses = as_masses(density, "density")
        if not 2 * self._modes < masses.size:
            raise ValueError(f"density: expected more than {2 * self._modes} places, got {masses.size}")
        x = _lattice(masses.size)
        damping = np.exp(-self.noise * self.layer.epsilon * np.arange(1, self._modes + 1) ** 2)
        return _series(damping * _waves(self.layer(x, masses), self._modes, masses), x)


def circle_density(angles: ArrayLike, places: ArrayLike, *, modes: int) -> Array:
    r"""Return :math:`2\pi\rho` of tokens at places of shape (k,), from as many of their waves.

    That is :math:`1 + 2\,\mathrm{Re}\sum_{m \le M}c_me^{imx}`, of means :math:`c_m` of :math:`e^{-im\theta_j}`.
    At quantiles of a smooth density such sums are accurate to all orders.

    Parameters
    ----------
    angles : array_like, shape (n,)
    places : array_like, shape (k,)
    modes : int
        M.

    Returns
    -------
    ndarray, shape (k,)
    """
    x = as_vector(angles, "angles")
    return _series(_waves(x, as_count(modes, "modes"), np.ones(x.size)), as_vector(places, "places"))


def wave_factor(layer: CircleLayer | NoisyLayer, frequency: int, *, layers: int = 1, size: float = 1e-4) -> Interval:
    r"""Enclose by what layers multiply a small wave among equidistant tokens.

    Tokens are displaced by :math:`A\cos m\theta`; where there is noise, the density is :math:`1 + A\cos m\theta`.
    Harmonics return to the wave at third order, so that the factor is off by a multiple of :math:`A^2`, a third of what
    it changes if A is doubled; that change is charged, and rounding.

    Parameters
    ----------
    layer : CircleLayer or NoisyLayer
    frequency : int
        m.
    layers : int, default 1
    size : float, default 1e-4
        Am, or A where there is noise.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED``.

    Raises
    ------
    ValueError
        If tokens are taken across the centre of the circle, as by a large positive step.
    """
    as_instance(layer, "layer", (CircleLayer, NoisyLayer))
    m = as_count(frequency, "frequency")
    count = as_count(layers, "layers")
    noisy = isinstance(layer, NoisyLayer)
    own = layer.layer if isinstance(layer, NoisyLayer) else layer
    amplitude = as_between(size, "size", _SMALLEST, 0.25) / (1 if noisy else m)
    x = _lattice(max(4 * m, math.ceil(_RESOLVED / math.sqrt(own.epsilon))))
    rest = np.ones(x.size) if noisy else x
    wave = np.cos(m * x)
    factors = []
    for height in (amplitude, 2.0 * amplitude):
        (after,) = apply_layers(layer, rest + height * wave, [count])
        moved = after - rest
        if not noisy and float(np.abs(moved).max()) > 0.5 * math.pi:
            raise ValueError("layer: expected one that turns tokens by less than a quarter turn, got one that crosses")
        factors.append(2.0 * float(moved @ wave) / x.size / height)
    growth = max(1.0, abs(factors[0])) ** (1.0 - 1.0 / count)  # of what layers are off, by those that follow
    slip = _SLIP * (1.0 + abs(own.step)) * growth * count * U / amplitude
    return estimated(factors[0], factors[1], times=1.0) + Interval.within(0.0, slip)


def _lattice(n: int) -> Array:
    angles: Array = 2.0 * math.pi * np.arange(n) / n
    return angles


def _waves(angles: Array, modes: int, masses: Array) -> NDArray[np.complex128]:
    """Return the means of exp(-i m x) for m from 1 on."""
    turns = np.exp(-1j * angles)
    power = masses / masses.sum() + 0j
    found = np.empty(modes, dtype=np.complex128)
    for m in range(modes):
        power = power * turns
        found[m] = power.sum()
    return found


def _series(waves: NDArray[np.complex128], places: Array) -> Array:
    turns = np.exp(1j * np.multiply.outer(places, np.arange(1, waves.size + 1)))
    density: Array = 1.0 + 2.0 * (turns @ waves).real
    return density


def far_means(queries: ArrayLike, tokens: ArrayLike, epsilon: float) -> Array:
    r"""Return averages of tokens at negative temperature, of weights :math:`e^{+|x - y|^2/2\varepsilon}`.

    Parameters
    ----------
    queries : array_like, shape (m, d)
    tokens : array_like, shape (n, d)
    epsilon : float
        Positive.

    Returns
    -------
    ndarray or Intervals, shape (m, d)
        Enclosed if the points are.
    """
    keys = as_points(tokens, "tokens")
    asked = as_points(queries, "queries", dim=keys.shape[1])
    for name, points in (("tokens", keys), ("queries", asked)):
        largest = float(np.abs(as_intervals(points).mid).max())
        if not largest <= _FARTHEST:
            raise ValueError(f"{name}: expected coordinates of at most {_FARTHEST:g}, got {largest}")
    scale = half_inverse(epsilon)
    logs = scale * (keys**2).sum(axis=1)
    weights = np.exp(logs - logs.max())
    score = DotProduct(2.0 * scale, form=-np.eye(keys.shape[1]))
    found: Array = attend(asked, keys, keys, score=score, weights=weights)
    return found
