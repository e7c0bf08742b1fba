r"""What one layer does to waves when the bandwidth is not small: its multipliers on the circle and on the sphere.

Tokens that are uniform on the unit circle or sphere, attended to with the score :math:`-|x - y|^2/2\varepsilon`, turn a
wave of degree l, :math:`\cos l\theta` or the Legendre polynomial :math:`P_l(z)`, into a multiple of itself. The first
order in :math:`\varepsilon` says :math:`1 - \frac\varepsilon2\mu_l`, the semigroup :math:`e^{-\varepsilon\mu_l/2}`,
with :math:`\mu_l = l^2` or :math:`l(l + 1)`. Metric-attention as it is used has :math:`\varepsilon = \frac12`; the
plain softmax of :math:`\langle x, y\rangle = 1 - \frac12|x - y|^2` on the sphere is :math:`\varepsilon = 1`.

*Width.* Attention to the tokens of a quadrature that is exact for polynomials of degree :math:`2n - 1`. With
:math:`b = 1/\varepsilon` the exponentials :math:`e^{b(t - 1)}`, :math:`t = \langle x, y\rangle`, are a polynomial of
degree m up to :math:`E = 2\sum_{k > m}e^{-b}I_k(b)`, the tail of their Chebyshev series, and a wave of degree l is one
of degree l, at most one. So for :math:`m = 2n - 1 - l` the average of the waves is off by at most :math:`4E/(\bar k -
2E)`, :math:`\bar k` the mean of the exponentials over the space.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from theory._validate import as_choice, as_count, as_positive
from theory.attention import attend, rounding
from theory.evidence import Interval
from theory.evidence.roundoff import U
from theory.metric.features import LinearFeatures
from theory.metric.score import MetricScore

Array = NDArray[np.float64]
SPACES = ("circle", "sphere")
_NARROWEST = 1e-4  # taken: a sphere of a million tokens
_QUERY = {"circle": (math.cos(0.25), math.sin(0.25)), "sphere": (0.576, 0.768, 0.28)}  # no zero of the first degrees


def laplacian_rate(space: str, degree: int) -> int:
    r"""Return :math:`\mu_l`, minus the eigenvalue of the Laplacian."""
    ell = as_count(degree, "degree", least=0)
    return ell * ell if _validate_space(space) == "circle" else ell * (ell + 1)


def wave_multipliers(space: str, degrees: int, epsilon: float) -> list[Interval]:
    """Enclose by how much a layer multiplies waves of degrees 1 to ``degrees``.

    Parameters
    ----------
    space : {"circle", "sphere"}
    degrees : int
        At most three, whose waves do not vanish at the query.
    epsilon : float
        Bandwidth, positive.

    Returns
    -------
    list of Interval
        Attention to tokens of a quadrature, with what rounding may do and what the quadrature leaves, kind ``NUMERIC``.

    Raises
    ------
    ValueError, TypeError
        If an argument is none of these.
    """
    epsilon = as_positive(epsilon, "epsilon")
    count = as_count(degrees, "degrees")
    if not epsilon > _NARROWEST:
        raise ValueError(
            f"epsilon: expected more than {_NARROWEST:g}, since tokens are as many as its root, got {epsilon}"
        )
    if count > 3:
        raise ValueError(f"degrees: expected at most 3, got {degrees}")
    return _enclose_multipliers(_validate_space(space), count, epsilon, 16 + math.ceil(8.0 / math.sqrt(epsilon)))


def _enclose_multipliers(space: str, count: int, epsilon: float, n: int) -> list[Interval]:
    """Enclose multipliers by a quadrature of n tokens per half turn."""
    score = MetricScore(LinearFeatures(np.eye(2 if space == "circle" else 3)), epsilon)
    query = np.array([_QUERY[space]])
    keys, masses = _tokens(space, n)
    values = _waves(space, count, keys)
    found = attend(query, keys, values, score=score, weights=masses)[0]
    # tokens, masses and waves are within a few roundings, which weights and values multiply by at most 16 / epsilon
    error = rounding(query, keys, values, score=score, weights=masses) + 256.0 * U * (1.0 + 1.0 / epsilon)
    here = _waves(space, count, query)[0]
    return [
        Interval.within(float(mean), error + _quadrature_error(space, 1.0 / epsilon, 2 * n - degree))
        / Interval.within(float(value), 64.0 * U)
        for degree, (mean, value) in enumerate(zip(found, here, strict=True), start=1)
    ]


def _quadrature_error(space: str, b: float, first: int) -> float:
    """Bound what a quadrature leaves that is exact for a wave times a polynomial of a degree below ``first``."""
    from scipy.special import ive  # noqa: PLC0415  only this bound needs it

    # I_{k + 1}(b) <= I_k(b) b / (k + sqrt(k^2 + b^2)) (Amos); a thousandth is more than the library is off
    tail = 2.0 * float(ive(first, b)) / (1.0 - b / (first + math.hypot(first, b))) * 1.001
    mean = float(ive(0, b)) if space == "circle" else -math.expm1(-2.0 * b) / (2.0 * b)
    return 4.0 * tail / (mean - 2.0 * tail) if 2.0 * tail < mean else math.inf


def _validate_space(space: str) -> str:
    return as_choice(space, "space", SPACES)


def _tokens(space: str, n: int) -> tuple[Array, Array]:
    """Return a quadrature of n tokens per half turn."""
    turn = math.pi * np.arange(2 * n) / n
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    if space == "circle":
        return ring, np.ones(2 * n)
    z, masses = leggauss(n)
    radius = np.sqrt((1.0 - z) * (1.0 + z))
    flat = (radius[:, np.newaxis, np.newaxis] * ring).reshape(-1, 2)
    return np.column_stack([flat, np.repeat(z, 2 * n)]), np.repeat(masses, 2 * n)


def _waves(space: str, degrees: int, points: Array) -> Array:
    if space == "circle":
        wave = points[:, 0] + 1j * points[:, 1]
        return np.stack([(wave**k).real for k in range(1, degrees + 1)], axis=1)
    z = points[:, 2]
    return np.stack([z, 1.5 * z * z - 0.5, (2.5 * z * z - 1.5) * z], axis=1)[:, :degrees]
