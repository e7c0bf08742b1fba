r"""Normalised tokens: where they lie, and how much a norm stretches.

A norm maps a token of d numbers to :math:`\gamma z + \beta`, entry by entry, :math:`z = u/s`, where of LayerNorm u is
the token less its mean, of RMSNorm the token itself, and :math:`s^2 = |u|^2/d + \varepsilon`.

*Where.* :math:`|z| = |u|/s` grows with :math:`|u|` and stays below :math:`\sqrt d`; :math:`|u| \le R` makes it at
most :math:`\rho = R(R^2/d + \varepsilon)^{-1/2}`. So outputs lie in :math:`\{\gamma z + \beta : |z| \le \rho\}`, of
LayerNorm with :math:`\sum z_i = 0`. The square of the largest length there is a maximum of a quadratic function under
one quadratic constraint, which Lagrange's dual attains: with :math:`D_i = \lambda - \gamma_i^2`,
:math:`v_i = \gamma_i\beta_i` it is the least over :math:`\lambda` of

.. math:: \lambda\rho^2 + |\beta|^2 + \sum_i\frac{v_i^2}{D_i} - \Bigl(\sum_i\frac1{D_i}\Bigr)^{-1}
          \Bigl(\sum_i\frac{v_i}{D_i}\Bigr)^2,

without the last term of RMSNorm, and every :math:`\lambda` with :math:`\sum D_iz_i^2 > 0` for all z that are allowed
bounds it: those with all :math:`D_i > 0`, and of LayerNorm those with one :math:`D_i < 0` and :math:`\sum1/D_i < 0`
(inertia of the matrix D bordered by ones). One :math:`\lambda` is found by floats, and checked and used in enclosures.
The least that is allowed is the square of the norm of :math:`\gamma` on such z, likewise. Never above :math:`\rho
\max|\gamma| + |\beta|`.

*How much.* The derivative of z is :math:`(P - zz^\top/d)/s`, P the projection or the identity, and between 0 and
:math:`P/s`, so that z has the Lipschitz constant :math:`\varepsilon^{-1/2}`, of LayerNorm 0 if d is one. Among tokens
of which :math:`|u|^2/d`, the variance or the mean square, is at least v it is :math:`(v + \varepsilon)^{-1/2}`, though
they form no convex set: :math:`z = f(|u|)u/|u|` with a concave f, :math:`f' \le f(r)/r \le f(r_0)/r_0` at lengths
:math:`r \ge r_0 = \sqrt{dv}`, and for directions whose chord is c

.. math:: |z - z'|^2 = (f(r) - f(r'))^2 + f(r)f(r')c^2 \le
          \Bigl(\frac{f(r_0)}{r_0}\Bigr)^2\bigl((r - r')^2 + rr'c^2\bigr) .

References
----------
J. L. Ba, J. R. Kiros, G. E. Hinton, *Layer normalization*, arXiv:1607.06450.
B. Zhang, R. Sennrich, *Root mean square layer normalization*, NeurIPS 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from theory._validate import as_bound, as_choice, as_count, as_positive, as_vector, frozen
from theory.evidence import Interval, exact
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.weights import Array, in_range

KINDS = ("layer", "rms")
FAR = 1e150  # taken: the squares of longer tokens leave float64
_NEAR = 1e-9  # taken: how far, relatively, a multiplier stays from where it is none
_WAYS = (math.log(_NEAR), math.log(1e12))  # taken: range of the search for a multiplier


@dataclass(frozen=True, slots=True, eq=False)
class TokenNorm:
    """A norm of single tokens.

    Parameters
    ----------
    kind : {"layer", "rms"}
    gain, shift : numpy.ndarray, shape (d,)
    eps : float
        Added to the variance, or to the mean square.
    least : float
        Of the variance, or of the mean square, of every token that enters; zero allows all tokens.
    """

    kind: str
    gain: Array
    shift: Array
    eps: float
    least: float

    @property
    def dim(self) -> int:
        """Dimension of a token."""
        return self.gain.size

    @property
    def centred(self) -> bool:
        """Whether the mean is subtracted."""
        return self.kind == "layer"

    def slope(self) -> Interval:
        """Enclose the Lipschitz constant without the gain."""
        if self.centred and self.dim == 1:
            return Interval.exactly(0.0)
        return 1.0 / (Interval.exactly(self.eps) + self.least).sqrt()

    def reach(self, radius: Interval) -> Interval:
        """Enclose the largest length without gain and shift, of tokens no longer than a radius; up to ``FAR``."""
        if self.centred and self.dim == 1:
            return Interval.exactly(0.0)
        if radius.hi >= FAR:
            return Interval.exactly(float(self.dim)).sqrt()
        longest = Interval.exactly(radius.hi)  # lengths grow with those that enter
        return longest / (longest * longest / float(self.dim) + self.eps).sqrt()

    def __call__(self, x: Any) -> Any:
        """Return the normalised rows of floats, or of enclosures."""
        centred = x - x.mean(axis=1, keepdims=True) if self.centred else x
        return self.gain * (centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + self.eps)) + self.shift

    def spread(self, x: Any) -> Any:
        """Return the variance or the mean square of rows of floats, or of enclosures."""
        centred = x - x.mean(axis=1, keepdims=True) if self.centred else x
        return (centred * centred).mean(axis=1)

    def stretch(self) -> Interval:
        """Bound the norm of the gain, of LayerNorm of the gain after the projection."""
        if not self.gain.any() or (self.centred and self.dim == 1):
            return Interval.exactly(0.0)
        square = self.gain * self.gain
        first = _least_multiplier(square, self.centred)
        sizes = [exact(size).sqrt() for size in (first * (1.0 + _NEAR),) if _terms(self, size) is not None]
        largest = Interval.exactly(float(np.abs(self.gain).max()))
        return Interval(0.0, min(size.hi for size in [*sizes, largest]), largest.kind)

    def length(self, reach: Interval) -> Interval:
        """Bound the largest length of an output, where without gain and shift it is at most ``reach``."""
        gained, shifted = float(np.abs(self.gain).max()), _length(self.shift)
        plain = (reach * gained + shifted).hi
        if gained > 0.0 and reach.hi > 0.0:
            lengths = [self._dual(multiplier, reach) for multiplier in self._multipliers(reach.hi)]
            plain = min([plain, *(length for length in lengths if length is not None)])
        return Interval(0.0, plain, shifted.kind)

    def _multipliers(self, reach: float) -> list[float]:
        """Return multipliers at which the dual is small, by floats."""
        square, product = self.gain * self.gain, self.gain * self.shift
        first = _least_multiplier(square, self.centred)

        def dual(way: float) -> float:
            size = first * (1.0 + math.exp(way))
            with np.errstate(all="ignore"):
                parts = 1.0 / (size - square)
                total = size * reach * reach + float((product * product * parts).sum())
                if self.centred:
                    total -= float((product * parts).sum()) ** 2 / float(parts.sum())
            return total if math.isfinite(total) else math.inf

        with np.errstate(all="ignore"):
            found = scipy.optimize.minimize_scalar(dual, bounds=_WAYS, method="bounded", options={"xatol": 1e-10})
        ways = (float(found.x), _WAYS[0])
        return [first * (1.0 + math.exp(way)) for way in ways]

    def _dual(self, multiplier: float, reach: Interval) -> float | None:
        """Bound the largest length by one multiplier; None if that is none."""
        parts = _terms(self, multiplier)
        if parts is None:
            return None
        product, shift = exact(self.gain) * self.shift, exact(self.shift)
        total = multiplier * reach * reach + (shift * shift).sum() + (product * product * parts).sum()
        if self.centred:
            along = (product * parts).sum()
            total = total - along * along / parts.sum()
        size: Interval = total
        return size.sqrt().hi if 0.0 <= size.hi < math.inf and size.lo >= 0.0 else None


def _least_multiplier(square: Array, centred: bool) -> float:
    """Return the least multiplier that is allowed, by floats."""
    ordered = np.sort(square)
    top = float(ordered[-1])
    if not centred or square.size == 1 or ordered[-2] >= top * (1.0 - 1e-6):
        return top

    def secular(size: float) -> float:
        return float((1.0 / (size - square)).sum())

    low, high = float(ordered[-2]), top
    with np.errstate(all="ignore"):
        for _ in range(200):  # from minus infinity at the first down to it at the second: the sign changes once
            middle = 0.5 * (low + high)
            low, high = (low, middle) if secular(middle) < 0.0 else (middle, high)
    return high


def _terms(norm: TokenNorm, multiplier: float) -> Any:
    """Enclose the inverse differences of a multiplier and the squared gains; None if it is not allowed."""
    gaps = Interval.exactly(multiplier) - exact(norm.gain) * norm.gain
    negative, positive = int((gaps.hi < 0.0).sum()), int((gaps.lo > 0.0).sum())
    if negative + positive < norm.dim or negative > 1:
        return None
    parts = 1.0 / gaps
    if negative and not (norm.centred and parts.sum().hi < 0.0):
        return None
    return parts


def _length(vector: Array) -> Interval:
    from theory.evidence import norm  # noqa: PLC0415  the name is that of a parameter above

    size: Interval = norm(exact(vector))
    return size


def fold(matrix: Array, norm: TokenNorm) -> tuple[Array, float]:
    r"""Return :math:`W\Gamma P` in floats, and a bound of its error over the roundings, in the Frobenius norm.

    P is the projection off the constants, of RMSNorm the identity. The error is at most :math:`\gamma_{2d + 8}` times
    the number that comes second.
    """
    folded = matrix * norm.gain
    size = float(np.sqrt((folded * folded).sum()) * (1.0 + gamma(folded.size + 4)))
    if norm.centred:
        folded = folded - folded.mean(axis=1, keepdims=True)
    return folded, size


def as_token_norm(
    gain: ArrayLike | None = None,
    shift: ArrayLike | None = None,
    *,
    kind: str,
    eps: float,
    dim: int,
    variance: float = 0.0,
    at: str = "",
) -> TokenNorm:
    """Check a norm of tokens; ones and zeros stand for a gain and a shift that are not given.

    Raises
    ------
    ValueError
        If a size does not fit or a number is out of range.
    TypeError
        If an argument is of the wrong type.
    """
    size = as_count(dim, "dim")
    which = as_choice(kind, "kind", KINDS)
    by = np.ones(size) if gain is None else as_vector(gain, f"gain{at}", size=size)
    to = np.zeros(size) if shift is None else as_vector(shift, f"shift{at}", size=size)
    in_range(by, f"gain{at}")
    in_range(to, f"shift{at}")
    floor = as_positive(eps, "eps")
    in_range(floor, "eps")
    spread = as_bound(variance, "variance")
    in_range(spread, "variance")
    return TokenNorm(which, frozen(by), frozen(to), floor, spread)
