r"""Tokens that attend to each other layer upon layer, beside tokens that attend to their law: Gaussian clouds.

A layer takes tokens to :math:`x_i + v\,(\sum_jw_{ij}x_j - x_i)`, :math:`w_{ij}\propto e^{-|x_i - x_j|^2/2\varepsilon}`
computed anew from the tokens: with v = 1 it averages, with v = -1 (the value matrix -I) tokens repel each other. For
the law :math:`N(0, sI)` the average is :math:`\varrho x`, :math:`\varrho = s/(s + \varepsilon)`, so that a mean-field
token stays at :math:`\sigma z` with the standard normal z where it started and :math:`\sigma \mapsto \sigma(1 - v +
v\varrho)`, :math:`s = \sigma^2`.

A token among n is off by :math:`\Xi(z)/\sqrt n` to first order. With :math:`r = \sqrt\varrho`, by Mehler's formula, the
kernel over its smoothed law is a series of Hermite polynomials of both labels, :math:`\sum_\alpha r^{|\alpha|}
He_\alpha(rz)He_\alpha(z')/\alpha!`, and the average moves by :math:`\varepsilon` times the slope of what the draw and
the displacements put in the place of the latter factor. So :math:`\Xi = \nabla\Phi`, and with :math:`\Phi =
\sum\phi_\alpha He_\alpha/\alpha!`

.. math:: \Phi \mapsto (1 - v + v\varrho)\Phi + \frac{v\varepsilon}\sigma
   \sum_\alpha r^{|\alpha|}\Big(h_\alpha + \frac{|\alpha|}\sigma\phi_\alpha\Big)\frac{He_\alpha(r\,\cdot)}{\alpha!},
   \qquad h_\alpha = n^{-1/2}\sum_jHe_\alpha(z_j),

where :math:`\phi_\alpha` is the feedback of the others' displacements. For harmonic polynomials of degree l in d
dimensions and degrees :math:`k = 2j + l`, in an orthonormal basis, :math:`f \mapsto f(r\,\cdot)` has the entries
:math:`\frac{(r^2 - 1)^i}{i!}r^{2a + l}\sqrt{b!\,\Gamma(b + l + \frac d2)/(a!\,\Gamma(a + l + \frac d2))}`, :math:`i = b
- a \ge 0`, and the mean square of :math:`\Xi` is the sum of the squares, k times each. Derived here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from theory._validate import as_count, as_flag, as_number, as_points, as_positive
from theory.diffusion.limits.operators import propagate
from theory.evidence import Interval, Kind, estimated
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_DEGREE = 32  # taken: of bandwidths that are not narrow, the rest falls like the power of a half
_ROUNDINGS = 64.0  # taken: units of rounding in a layer and in a sum over degrees
_STRONGEST = 1.0  # taken: of the size of the value, an average or its reflection


def mean_field_deviations(epsilon: float, layers: int, *, value: float = 1.0) -> Array:
    r"""Return the standard deviations :math:`\sigma` of the mean-field law, one at the start, shape (layers + 1,).

    Parameters
    ----------
    epsilon : float
        Bandwidth, positive.
    layers : int
    value : float, default 1.0
        v, from -1 (repulsion) to 1 (averaging).

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    width, v = _as_layer(epsilon, value)
    found = [1.0]
    for _ in range(as_count(layers, "layers", least=0)):
        variance = found[-1] ** 2
        found.append(found[-1] * (1.0 - v + v * variance / (variance + width)))
    return np.array(found)


def interacting_tokens(
    start: ArrayLike, epsilon: float, depths: Sequence[int], *, value: float = 1.0, kept: bool = False,
    method: str = "dense", accuracy: float = 1e-12,
) -> list[Array]:  # fmt: skip
    r"""Return tokens after some layers of attention to each other.

    Parameters
    ----------
    start : array_like, shape (n, d)
    epsilon : float
        Bandwidth, positive.
    depths : sequence of int
        After how many layers, rising, from 0 on.
    value : float, default 1.0
        v, from -1 to 1.
    kept : bool, default False
        All layers have the weights of the first.
    method, accuracy
        As in :func:`theory.attention.attend`.

    Returns
    -------
    list of ndarray, each of shape (n, d)

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    first = as_points(start, "start")
    width, v = _as_layer(epsilon, value)
    kept = as_flag(kept, "kept")
    wanted = _as_depths(depths)
    tokens = first
    found = []
    for layer in range(wanted[-1] + 1):
        if layer in wanted:
            found.append(tokens)
        if layer < wanted[-1]:
            places = first if kept else tokens
            averages = propagate(places, places, tokens, width, method=method, accuracy=accuracy)
            tokens = tokens + v * (averages - tokens)
    return found


def displacement_variances(
    dim: int, epsilon: float, layers: int, *, value: float = 1.0, feedback: bool = True, degree: int = _DEGREE
) -> list[Interval]:
    r"""Enclose :math:`\mathbb{E}|\Xi|^2`, to which n times a token's mean square error tends behind each layer.

    Parameters
    ----------
    dim : int
        Dimension d of the tokens.
    epsilon : float
        Bandwidth, positive.
    layers : int
    value : float, default 1.0
        v, from -1 to 1.
    feedback : bool, default True
        Without it, the other tokens stay on their mean-field paths, and only their number is finite.
    degree : int, default 32
        Up to which polynomials are kept; narrow bandwidths need some :math:`10/\varepsilon`.

    Returns
    -------
    list of Interval
        From the start on, one more than layers; kind ``ESTIMATED``: from this degree and from one half as large again,
        of which twice the difference is the width, and the rounding of each layer, which both may share.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    d = as_count(dim, "dim")
    count = as_count(layers, "layers", least=0)
    width, v = _as_layer(epsilon, value)
    answers = as_flag(feedback, "feedback")
    most = as_count(degree, "degree", least=2)
    coarse, fine = (_variances(d, width, count, v, answers, top) for top in (most, most + most // 2))
    slips = [_ROUNDINGS * (layer + 1) * U * size for layer, size in enumerate(fine)]
    read = zip(fine, coarse, slips, strict=True)
    return [estimated(b, a, times=2.0) + Interval.within(0.0, slip, Kind.ESTIMATED) for b, a, slip in read]


@cache
def _variances(d: int, epsilon: float, layers: int, value: float, feedback: bool, degree: int) -> list[float]:
    total = np.zeros(layers + 1)
    for harmonic in range(min(degree, 1 if d == 1 else degree) + 1):
        degrees = _degrees(harmonic, degree)
        responses = _responses(d, harmonic, epsilon, layers, value, feedback, degree)
        sizes = [float(np.sum(degrees[:, np.newaxis] * response**2)) for response in responses]
        total += _copies(d, harmonic) * np.array(sizes)
    return [float(size) for size in total]


def linear_displacements(
    start: ArrayLike, epsilon: float, depths: Sequence[int], *, value: float = 1.0, feedback: bool = True,
    degree: int = _DEGREE,
) -> list[Array]:  # fmt: skip
    r"""Return :math:`\Xi(z_i)/\sqrt n` of tokens on the line that started at ``start``, each of shape (n, 1).

    The fluctuations h are those of the tokens themselves: means of Hermite polynomials up to ``degree``. What is left
    out falls like :math:`r^{\text{degree}}`. Arguments and errors as for :func:`interacting_tokens` and
    :func:`displacement_variances`.
    """
    z = as_points(start, "start", dim=1)
    width, v = _as_layer(epsilon, value)
    wanted = _as_depths(depths)
    answers = as_flag(feedback, "feedback")
    most = as_count(degree, "degree", least=2)
    basis = _hermite(z[:, 0], most + 1)
    means = basis.mean(axis=1)
    found = []
    for depth in wanted:
        slopes = np.zeros_like(z[:, 0])
        for harmonic in (0, 1):
            degrees = _degrees(harmonic, most)
            response = _responses(1, harmonic, width, wanted[-1], v, answers, most)[depth]
            places = degrees.astype(int)
            slopes += (np.sqrt(degrees) * (response @ means[places])) @ basis[places - 1]
        found.append(slopes[:, np.newaxis])
    return found


class Moments(NamedTuple):
    """Squares of root n times means of a standard normal sample: all but ``cross`` have mean one per copy."""

    first: float
    third: float
    cross: float
    trace: float
    shear: float


def response_control(start: ArrayLike, epsilon: float, depths: Sequence[int], *, value: float = 1.0) -> list[float]:
    r"""Return numbers of mean zero for standard normal tokens that vary as n times the mean square error does.

    They are the squares of the response to moments up to the third, less their means, which are exact for every n as
    Hermite polynomials are orthogonal: to subtract them changes no mean, whatever the response.
    Arguments and errors as for :func:`interacting_tokens`.
    """
    z = as_points(start, "start")
    width, v = _as_layer(epsilon, value)
    wanted = _as_depths(depths)
    d = z.shape[1]
    seen = _moments(z)
    found = []
    blocks = [_responses(d, harmonic, width, wanted[-1], v, True, _DEGREE) for harmonic in (0, 1, 2)]
    for depth in wanted:
        even, odd, sheared = (block[depth] for block in blocks)
        bare, bent = odd[:, 0], odd[:, 1]
        weights = _degrees(1, _DEGREE)
        total = (weights @ bare**2) * (seen.first - d) + (weights @ bent**2) * (seen.third - d)
        total += 2.0 * (weights @ (bare * bent)) * seen.cross
        total += (_degrees(0, _DEGREE) @ even[:, 0] ** 2) * (seen.trace - 1.0)
        if d > 1:
            total += (_degrees(2, _DEGREE) @ sheared[:, 0] ** 2) * (seen.shear - _copies(d, 2))
        found.append(float(total))
    return found


def _moments(z: Array) -> Moments:
    n, d = z.shape
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.sum(z * z, axis=1)
        first = z.mean(axis=0)
        third = (z * (squares - d - 2.0)[:, np.newaxis]).mean(axis=0) / math.sqrt(2.0 * (d + 2.0))
        trace = (squares - d).mean() / math.sqrt(2.0 * d)
        second = z.T @ z / n
        sheared = second - np.eye(d) * np.trace(second) / d
        found = np.array([first @ first, third @ third, first @ third, trace * trace, 0.5 * np.sum(sheared**2)])
    return Moments(*(n * _held(found, z)).tolist())


@cache
def _responses(
    d: int, harmonic: int, epsilon: float, layers: int, value: float, feedback: bool, degree: int
) -> list[Array]:
    """Return the matrices that take the fluctuations h of normalised harmonics to the coefficients of the potential."""
    degrees = _degrees(harmonic, degree)
    size = degrees.size
    response = np.zeros((size, size))
    found = [response]
    for deviation in mean_field_deviations(epsilon, layers, value=value)[:-1].tolist():
        smoothed = math.hypot(deviation, math.sqrt(epsilon))
        ratio = deviation / smoothed
        source = np.diag(ratio**degrees)
        if feedback:
            source = source + (degrees * ratio ** (degrees - 1.0) / smoothed)[:, np.newaxis] * response
        field = _dilation(d, harmonic, ratio, degrees) @ source
        response = (1.0 - value + value * ratio * ratio) * response + value * epsilon / smoothed * field
        found.append(response)
    return found


def _dilation(d: int, harmonic: int, ratio: float, degrees: Array) -> Array:
    """Return the matrix that shrinks the argument, less one power of the ratio."""
    powers = (degrees - harmonic) / 2.0
    logs = 0.5 * (gammaln(powers + 1.0) + gammaln(powers + harmonic + 0.5 * d))
    apart = powers[np.newaxis, :] - powers[:, np.newaxis]
    up = np.maximum(apart, 0.0)
    sizes = np.exp(logs[np.newaxis, :] - logs[:, np.newaxis] - gammaln(up + 1.0)) * (ratio * ratio - 1.0) ** up
    found: Array = np.where(apart >= 0.0, sizes * (ratio ** (degrees - 1.0))[:, np.newaxis], 0.0)
    return found


def _degrees(harmonic: int, degree: int) -> Array:
    """Return the degrees of polynomials with a harmonic factor; a constant moves nobody."""
    return np.arange(float(harmonic or 2), degree + 0.5, 2.0)


def _copies(dim: int, harmonic: int) -> int:
    """Return how many independent harmonic polynomials of a degree there are."""
    if dim == 1:
        return int(harmonic < 2)
    more = math.comb(harmonic + dim - 3, dim - 1) if harmonic >= 2 else 0
    return math.comb(harmonic + dim - 1, dim - 1) - more


def _hermite(z: Array, degree: int) -> Array:
    """Return the orthonormal Hermite polynomials up to a degree, shape (degree + 1, n)."""
    rows = [np.ones_like(z), z]
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, degree):
            rows.append((z * rows[k] - math.sqrt(k) * rows[k - 1]) / math.sqrt(k + 1.0))
    return _held(np.stack(rows), z)


def _held(found: Array, start: Array) -> Array:
    """Return what is finite, or refuse the tokens that it was made of."""
    if not np.isfinite(found).all():
        size = np.abs(start).max()
        raise ValueError(f"start: expected tokens of which float64 holds the polynomials, got sizes up to {size}")
    return found


def _as_layer(epsilon: float, value: float) -> tuple[float, float]:
    width = as_positive(epsilon, "epsilon")
    v = as_number(value, "value")
    if not abs(v) <= _STRONGEST:
        raise ValueError(f"value: expected a number from -1 to 1, got {v}")
    return width, v


def _as_depths(depths: Sequence[int]) -> list[int]:
    if not isinstance(depths, (list, tuple, range)):
        raise TypeError(f"depths: expected a sequence of integers, got {type(depths).__name__}")
    wanted = [as_count(depth, "depths", least=0) for depth in depths]
    if not wanted or any(b <= a for a, b in itertools.pairwise(wanted)):
        raise ValueError(f"depths: expected rising numbers, got {wanted}")
    return wanted
