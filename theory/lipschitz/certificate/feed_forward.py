r"""The feed-forward part of a transformer: how much it stretches a token, from its matrices.

:math:`x \mapsto W_D\phi(W_Ux + b_U) + b_D`. The slopes of the activations lie in :math:`[1 - M, M]`: of ReLU in
:math:`[0, 1]`; of GELU, :math:`t\Phi(t)`, up to :math:`M = \Phi(\sqrt2) + \sqrt2\,\Phi'(\sqrt2) = 1.1289042`, where
:math:`\phi'' = (2 - t^2)\Phi'` vanishes; of its form by tanh up to 1.1289931, of SiLU up to 1.0998394; and
:math:`\phi(t) - \phi(-t) = t` gives the lower end. So :math:`\phi(a) - \phi(b) = (\frac12 + S)(a - b)`, S diagonal with
entries of size at most :math:`h = M - \frac12`, and the Lipschitz constant is at most

.. math:: \tfrac12\|W_DW_U\| + h\|W_D\|\|W_U\| \le M\|W_D\|\|W_U\| .

*Gated*, :math:`x \mapsto W_D(\phi(W_Gx + b_G) \circ (W_Ux + b_U)) + b_D` (SwiGLU, GEGLU), the constant depends on where
tokens are: with :math:`s_i` the most of :math:`|W_Ux + b_U|_i` and :math:`r_i` that of :math:`|W_Gx + b_G|_i \ge
|\phi|`, on a convex set of tokens, by the product rule

.. math:: M\min(\|W_D\operatorname{diag}s\|\|W_G\|, \|W_D\|\|\operatorname{diag}s\,W_G\|)
          + \min(\|W_D\operatorname{diag}r\|\|W_U\|, \|W_D\|\|\operatorname{diag}r\,W_U\|) .

Tokens that a norm has left, :math:`\gamma z + \beta`, enter by :math:`W\Gamma P` for W, as functions of z.

References
----------
D. Hendrycks, K. Gimpel, *Gaussian error linear units*, arXiv:1606.08415.
N. Shazeer, *GLU variants improve transformer*, arXiv:2002.05202.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
import scipy.special
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_count, as_matrix, as_vector, frozen
from theory.evidence import Interval, Intervals, exact, is_enclosed, norm as length_of
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.normalised import TokenNorm, fold
from theory.lipschitz.certificate.weights import _SPECTRAL, Array, in_range, product_norm

# derived: the largest slopes, rounded up, as the claim certificate.blocks decides; one is taken by none of them
SLOPES = {"relu": 1.0, "gelu": 1.128904145185155, "gelu-tanh": 1.128993068658772, "silu": 1.099839320128867}
Rows: TypeAlias = Any  # floats, or enclosures
_LARGE = 128  # taken: Gram matrices of smaller ones save nothing
_FLAT = 30.0  # taken: beyond it the error function is one to far less than the step by which its ends are rounded
_DROPPED = 1e-60  # taken: smaller entries beside one of at least one are dropped, and charged
_CUBE = "0.044715"  # of the paper on GELU


@dataclass(frozen=True, slots=True, eq=False)
class FeedForwardWeights:
    """Weights of a feed-forward part.

    Parameters
    ----------
    w_up : numpy.ndarray, shape (m, d)
    b_up : numpy.ndarray, shape (m,)
    w_down : numpy.ndarray, shape (d, m)
    b_down : numpy.ndarray, shape (d,)
    w_gate, b_gate : numpy.ndarray, shape (m, d), (m,), or None
        The argument of the activation, if there is a gate.
    activation : str
        A name in ``SLOPES``.
    """

    w_up: Array
    b_up: Array
    w_down: Array
    b_down: Array
    w_gate: Array | None
    b_gate: Array | None
    activation: str

    def __call__(self, x: Rows) -> Rows:
        """Return the outputs of rows of floats, or of enclosures."""
        up = x @ self.w_up.T + self.b_up
        if self.w_gate is None:
            return activate(self.activation, up) @ self.w_down.T + self.b_down
        gate = activate(self.activation, x @ self.w_gate.T + self.b_gate)
        return (gate * up) @ self.w_down.T + self.b_down


def activate(name: str, t: Rows) -> Rows:
    """Return the activation of floats or enclosures, entry by entry."""
    if name == "relu":
        return np.maximum(t, 0.0)
    if name == "silu":
        return t / (1.0 + np.exp(-t))
    if name == "gelu":
        return t * (0.5 * (1.0 + _error_function(t * (1.0 / np.sqrt(exact(2.0) if is_enclosed(t) else 2.0)))))
    root, cube = _tanh_numbers() if is_enclosed(t) else (math.sqrt(2.0 / math.pi), float(_CUBE))
    return 0.5 * t * (1.0 + np.tanh(root * (t + cube * t * t * t)))


def _tanh_numbers() -> tuple[Interval, Interval]:
    r"""Enclose :math:`\sqrt{2/\pi}` and the other number in the form of GELU by tanh, the decimal and its float."""
    from theory.evidence.enclosure import ball, hull, precision  # noqa: PLC0415  balls load on first use

    with precision():
        return hull((1 / ball(0).acos()).sqrt()), hull(ball(_CUBE))


def _error_function(t: Rows) -> Rows:
    if not is_enclosed(t):
        return np.asarray(scipy.special.erf(t))
    from theory.evidence.enclosure import ball_ends, balls, precision  # noqa: PLC0415  balls load on first use

    with precision():
        ends = (np.clip(end, -_FLAT, _FLAT) for end in (t.lo, t.hi))
        low, high = (np.frompyfunc(lambda ball: ball.erf(), 1, 1)(balls(end)) for end in ends)
        least, most = ball_ends(low)[0], ball_ends(high)[1]
    return Intervals(least.reshape(t.shape), most.reshape(t.shape), t.kind)


class FeedForwardNorms:
    """Norms of a feed-forward part, for tokens in a ball or as a norm leaves them.

    Parameters
    ----------
    part : FeedForwardWeights
    norm : TokenNorm or None
        The norm whose outputs enter.
    by_unit : bool, default True
        Whether tokens that enter are given by z, of which outputs are a function then, or by themselves.
    """

    def __init__(self, part: FeedForwardWeights, norm: TokenNorm | None, *, by_unit: bool = True) -> None:
        self.part, self.norm = part, norm
        self._folded = norm is not None and by_unit
        self._matrices = {"up": self._entering(part.w_up)}
        if part.w_gate is not None:
            self._matrices["gate"] = self._entering(part.w_gate)
        self._down = _norm(part.w_down)
        self._sizes = {name: _charged(_norm(m), error) for name, (m, error) in self._matrices.items()}
        self._known: dict[float, Interval] = {}
        middle = np.zeros(part.w_up.shape[1]) if norm is None else norm.shift
        self._start: Interval = length_of(part(exact(middle[np.newaxis])))

    def _entering(self, matrix: Array) -> tuple[Array, float]:
        """Return a matrix as outputs see it, and a bound of its error in the Frobenius norm."""
        if self.norm is None or not self._folded:
            return matrix, 0.0
        folded, size = fold(matrix, self.norm)
        return folded, gamma(2 * self.norm.dim + 8) * size

    def constant(self, reach: Interval) -> Interval:
        """Bound the Lipschitz constant, of tokens, or their z, of lengths up to ``reach``."""
        at = reach.hi if self.part.w_gate is not None else 0.0  # without a gate it is one number
        if at not in self._known:
            self._known[at] = self._constant(Interval.exactly(at))
        return self._known[at]

    def _constant(self, reach: Interval) -> Interval:
        part, slope = self.part, SLOPES[self.part.activation]
        up, error = self._matrices["up"]
        if part.w_gate is None or part.b_gate is None:
            straight = _norm(part.w_down, up) + _frobenius(part.w_down) * error
            both = self._down * self._sizes["up"]
            least: Interval = 0.5 * straight + (Interval.exactly(slope) - 0.5) * both
            return Interval(0.0, min(least.hi, (both * slope).hi), least.kind)
        most = self._rows(part.w_up, part.b_up, reach)
        gated = self._rows(part.w_gate, part.b_gate, reach)
        return self._scaled(most, "gate") * slope + self._scaled(gated, "up")

    def _scaled(self, most: Array, name: str) -> Interval:
        """Bound the norm of the output matrix times a diagonal of at most these sizes times a matrix that enters."""
        matrix, error = self._matrices[name]
        largest = float(most.max())
        if not largest < math.inf:
            return Interval(0.0, math.inf)
        with np.errstate(over="ignore"):
            down, inner = self.part.w_down * most, most[:, np.newaxis] * matrix
        outer = _charged(_norm(down), gamma(4) * _frobenius(down).hi) * self._sizes[name]
        rows = _charged(_norm(inner), gamma(4) * _frobenius(inner).hi + (Interval.exactly(largest) * error).hi)
        return min(outer, self._down * rows, key=lambda size: size.hi)

    def _rows(self, matrix: Array, bias: Array, reach: Interval) -> Array:
        """Bound the entries of a matrix times tokens and a bias, one by one."""
        if self.norm is None:
            return np.asarray((length_of(exact(matrix), axis=1) * reach + abs(exact(bias))).hi)
        folded, size = fold(matrix, self.norm)
        error = gamma(2 * self.norm.dim + 8) * size
        middle = abs(exact(matrix) @ self.norm.shift + bias)
        return np.asarray(((length_of(exact(folded), axis=1) + error) * reach + middle).hi)

    def radius(self, reach: Interval, size: Interval) -> Interval:
        """Bound the length of an output, of tokens within ``reach`` of the middle, with the constant ``size``."""
        return self._start + size * reach


def _norm(*factors: Array) -> Interval:
    r"""Bound the spectral norm of a matrix or of a product of two, whatever the size of their entries.

    Out of the range of :func:`product_norm` every factor is divided by a power of two to entries below two, and those
    below 1e-60 are dropped: of a product this loses at most 4e-60 times the root of the numbers of entries.
    """
    with np.errstate(all="ignore"):
        sizes = [np.abs(f) for f in factors]
        tops = [float(size.max()) for size in sizes]
        if not sum(tops) < math.inf:
            return Interval(0.0, math.inf)
        if all(map(_fits, sizes if len(factors) == 2 else tops)):
            return _norm_in_range(*factors)
        units = [math.ldexp(1.0, math.frexp(top)[1] - 1) if top else 1.0 for top in tops]
        parts = [f / unit for f, unit in zip(factors, units, strict=True)]
        found = _norm_in_range(*(np.where(np.abs(part) < _DROPPED, 0.0, part) for part in parts))
    found = _charged(found, 8.0 * _DROPPED * math.sqrt(math.prod(f.size for f in factors)))
    for unit in units:
        found = found * unit
    return Interval(0.0, found.hi, found.kind)


def _fits(sizes: Any) -> bool:
    try:
        in_range(sizes, "factors")
    except ValueError:
        return False
    return True


def _norm_in_range(*factors: Array) -> Interval:
    r"""Bound the spectral norm of a matrix or of a product of two, of large ones by the Gram matrix.

    A product of floats is off by at most :math:`\gamma_n|A|_F|B|_F`; that of M and its transpose by
    :math:`\gamma_n|M|_F^2`, and its largest eigenvalue by 64 roundings a row of its norm, as in :func:`product_norm`.
    """
    if min(min(f.shape) for f in factors) < _LARGE:
        return product_norm(*factors)
    matrix = factors[0] if len(factors) == 1 else factors[0] @ factors[1]
    matrix = matrix if matrix.shape[0] <= matrix.shape[1] else np.ascontiguousarray(matrix.T)
    n = len(matrix)
    largest = float(scipy.linalg.eigh(matrix @ matrix.T, eigvals_only=True, subset_by_index=(n - 1, n - 1))[0])
    size = _frobenius(matrix)
    square = Interval.exactly(max(largest, 0.0)) + size * size * gamma(matrix.shape[1] + _SPECTRAL * n)
    found = square.sqrt()
    if len(factors) == 2:
        sizes = _frobenius(factors[0]) * _frobenius(factors[1])
        found = found + sizes * gamma(factors[0].shape[1])
    return Interval(0.0, found.hi, found.kind)


def _charged(size: Interval, error: float) -> Interval:
    """Enlarge a norm by what the matrix may be off."""
    return Interval(0.0, (size + error).hi if error < math.inf else math.inf, size.kind)


def _frobenius(matrix: Array) -> Interval:
    top = float(np.abs(matrix).max())
    if not top < math.inf:
        return Interval(0.0, math.inf)
    if not _fits(top):  # then squares leave float64, or its normal numbers
        unit = math.ldexp(1.0, math.frexp(top)[1] - 1)
        return _frobenius(matrix / unit) * unit
    size = float(np.sqrt((matrix * matrix).sum()))
    return Interval.within(size, size * gamma(matrix.size + 4))


def as_feed_forward(
    w_up: ArrayLike,
    w_down: ArrayLike,
    *,
    b_up: ArrayLike | None = None,
    b_down: ArrayLike | None = None,
    w_gate: ArrayLike | None = None,
    b_gate: ArrayLike | None = None,
    activation: str,
    dim: int,
) -> FeedForwardWeights:
    """Check the weights of a feed-forward part; biases that are not given are zero.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is out of range or the activation is another one.
    TypeError
        If an array is no array of real numbers.
    """
    which = as_choice(activation, "activation", tuple(SLOPES))
    size = as_count(dim, "dim")
    up = as_matrix(w_up, "w_up", shape=(None, size))
    width = up.shape[0]
    down = as_matrix(w_down, "w_down", shape=(size, width))
    gate = None if w_gate is None else as_matrix(w_gate, "w_gate", shape=(width, size))
    if gate is None and b_gate is not None:
        raise ValueError("b_gate: expected with w_gate only, got it without")
    biases = {
        name: np.zeros(many) if bias is None else as_vector(bias, name, size=many)
        for name, bias, many in (("b_up", b_up, width), ("b_down", b_down, size), ("b_gate", b_gate, width))
    }
    for name, given in {"w_up": up, "w_down": down, "w_gate": gate, **biases}.items():
        if given is not None:
            in_range(given, name)
    return FeedForwardWeights(
        frozen(up), frozen(biases["b_up"]), frozen(down), frozen(biases["b_down"]),
        None if gate is None else frozen(gate), None if gate is None else frozen(biases["b_gate"]), which,
    )  # fmt: skip
