r"""Scores :math:`a(x, y)` of a query :math:`x` with a key :math:`y`, and their constants on a ball.

On :math:`B_R` a score states its oscillation :math:`\sup_x \mathrm{osc}_y\,a`, its Lipschitz constants :math:`\ell_x,
\ell_y` in either slot, uniform in the other, and its mixed constant :math:`\ell_{xy}`, the Lipschitz constant of
:math:`y \mapsto a(x, y) - a(x', y)` per unit of :math:`|x - x'|`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_points, as_positive, frozen
from theory.engine import Form, Pairs
from theory.evidence import as_intervals, exact, is_enclosed
from theory.evidence.roundoff import U, gamma

Array = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)
_FAR = 1e300  # taken: where a bound that is rounded, or of squares that vanished, is still far from an overflow
_FEW = 4096  # numbers; of more it costs nothing to look at each


class Constants(NamedTuple):
    """By how much a score varies on a ball, in units of the score, per unit of length where Lipschitz."""

    oscillation: float
    query: float
    key: float
    mixed: float


class AsForm(NamedTuple):
    """A score of which the features are the tokens themselves, up to a matrix, and that never changes."""

    form: Form
    coefficient: float
    matrix: Array | None
    """from queries to their features, as ``queries @ matrix``; the identity if ``None``"""


class Score(Protocol):
    """Any function of query and key; only ``matrix`` is needed to attend with it."""

    def matrix(self, x: Array, y: Array) -> Array:
        """Return the scores of queries ``x``, shape (m, d_x), with keys ``y``, shape (n, d_y), as an (m, n) array."""
        ...

    def constants(self, radius: float) -> Constants:
        """Return the constants on the ball of ``radius``."""
        ...


class BoundedScore(Score, Protocol):
    """A score that the compiled kernels know and of which the rounding is bounded."""

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return the features that the kernels need."""
        ...

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Return a bound on the size of every score and one on its rounding error, whatever the order of the sums."""
        ...


def as_score(score: Score) -> Score:
    """Return ``score``, or raise ``TypeError`` if it is none."""
    if isinstance(score, type):
        raise TypeError(f"score: expected a Score such as DotProduct(), got the class {score.__name__}")
    if not callable(getattr(score, "matrix", None)):
        raise TypeError(f"score: expected a Score such as DotProduct(), got {type(score).__name__} without matrix()")
    return score


def says_form(score: Score) -> bool:
    """Tell whether a score says its form (``as_form``), and no class derived from the one that does has other pairs."""
    return _says_form(type(score))


@cache
def _says_form(kind: type) -> bool:
    for one in kind.__mro__:
        if "as_form" in vars(one):
            return True
        if "pairs" in vars(one):
            return False
    return False


def pairs_of(score: Score, x: Array, y: Array) -> Pairs:
    """Return the scores of ``x`` with ``y``, not yet computed, for any score."""
    as_score(score)
    if hasattr(score, "pairs"):
        pairs: Pairs = score.pairs(x, y)
        return pairs

    def given(queries: Array, keys: Array) -> Array:
        return as_matrix(score.matrix(queries, keys), "score.matrix", shape=(queries.shape[0], keys.shape[0]))

    return Pairs(Form.GIVEN, x, y, np.empty(0), given)


def bounded(score: Score) -> BoundedScore:
    """Return ``score``, or raise ``TypeError`` if it does not bound its own rounding."""
    if not hasattr(score, "bounds"):
        raise TypeError(f"score: expected one that bounds its rounding, got {type(score).__name__} without bounds()")
    return score  # type: ignore[return-value]


def require_range(size: float, x: Array, y: Array) -> None:
    """Refuse scores of which a partial sum could leave the range of float64 and vanish from the softmax unseen."""
    if not size < math.inf:
        as_points(x, "x")  # of what is not finite itself, say so
        as_points(y, "y")
        raise ValueError(f"score: expected sizes that float64 can hold, got a bound of {size}")


def tokens(x: Array, y: Array) -> tuple[Array, Array]:
    """Return queries and keys as matrices; whether they are finite is seen by :func:`require_range`, at no cost."""
    return _matrix(x, "x"), _matrix(y, "y")


def _matrix(points: Array, name: str) -> Array:
    if type(points) is np.ndarray and points.dtype == _DOUBLE and points.ndim == 2 and points.size:
        return points
    return as_points(points, name)


def require_finite(constants: Constants) -> Constants:
    """Return the constants, or raise ``ValueError`` if one leaves the range of float64."""
    for name, value in constants._asdict().items():
        if not value < math.inf:
            raise ValueError(f"radius: expected one whose constants float64 can hold, got {value} for {name}")
    return constants


def _length(points: Array) -> float:
    """Return the length of few points as one vector, which no norm of a point exceeds by more than its rounding."""
    return math.sqrt(np.vdot(points, points)) if points.size <= _FEW else math.inf


def _largest_norm(points: Array) -> float:
    largest = float(np.abs(points).max())
    if largest == 0.0:
        return 0.0
    unit = points / largest  # squares neither overflow nor vanish
    return largest * math.sqrt(float(np.einsum("ij,ij->i", unit, unit).max())) * (1.0 + gamma(points.shape[1] + 4))


@dataclass(frozen=True, slots=True, eq=False)
class DotProduct:
    r""":math:`a(x, y) = \beta\, x^\top B y`.

    Parameters
    ----------
    scale : float, optional
        Inverse temperature :math:`\beta > 0`; :math:`1/\sqrt{d}` unless given, with d the dimension of the keys, or 1
        if ``form`` is given.
    form : array_like or Intervals, shape (d_x, d_y), optional
        :math:`B`; the identity unless given. For weight matrices it is :math:`W_Q^\top W_K / \sqrt{d_k}`.

    Raises
    ------
    ValueError
        If ``scale`` is not positive or ``form`` is not a finite matrix.
    """

    scale: float | None = None
    form: Array | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            object.__setattr__(self, "scale", as_positive(self.scale, "scale"))
        if self.form is not None:
            form = as_matrix(self.form, "form")
            object.__setattr__(self, "form", form if is_enclosed(form) else frozen(form))

    @property
    def middle(self) -> Array | None:
        """The form in floats, with which compiled code is asked."""
        return None if self.form is None else as_intervals(self.form).mid

    def _beta(self, dim: int) -> float:
        if self.scale is not None:
            return self.scale
        return 1.0 / math.sqrt(dim) if self.form is None else 1.0

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores, enclosed if the points are."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if is_enclosed(x, y):
            return self._enclosed(x, y)  # type: ignore[no-any-return]
        pairs = self.pairs(x, y)
        scores: Array = pairs.coefficients[0] * (pairs.queries @ pairs.keys.T)
        return scores

    def _enclosed(self, x: Any, y: Any) -> Any:
        """Evaluate the formula on enclosures."""
        folded = x if self.form is None else x @ as_matrix(self.form, "form", shape=(x.shape[1], y.shape[1]))
        if folded.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {folded.shape[1]} as the queries, got {y.shape[1]}")
        scaled = self.scale is None and self.form is None
        beta = 1 / np.sqrt(exact(float(y.shape[1]))) if scaled else self._beta(y.shape[1])
        return beta * (folded @ y.T)

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return queries folded through the form, and the keys."""
        x, y = tokens(x, y)
        form = self.middle
        queries = x if form is None else x @ as_matrix(form, "form", shape=(x.shape[1], y.shape[1]))
        if queries.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {queries.shape[1]} as the queries, got {y.shape[1]}")
        beta = self._beta(y.shape[1])
        if not max(1.0, beta) * _length(queries) * _length(y) < _FAR:
            require_range(max(1.0, beta) * _largest_norm(queries) * _largest_norm(y), x, y)
        return Pairs(Form.DOT, np.ascontiguousarray(queries), y, np.array([beta]))

    def as_form(self, dim: int) -> AsForm:
        """Return the form of the kernels that this is on keys of ``dim`` dimensions."""
        return AsForm(Form.DOT, self._beta(dim), self.middle)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error by Cauchy-Schwarz; three more roundings make the scale and its product."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if self.form is not None and self.form.shape != (x.shape[1], y.shape[1]):
            raise ValueError(f"x, y: expected dimensions {self.form.shape}, got {x.shape[1]} and {y.shape[1]}")
        left = _largest_norm(x if self.middle is None else np.abs(x) @ np.abs(self.middle))
        right = _largest_norm(y)
        size = self._beta(y.shape[1]) * left * right if left and right else 0.0
        terms = y.shape[1] + 3 + (0 if self.form is None else x.shape[1])
        return size * (1.0 + gamma(terms)), size * gamma(terms)

    def constants(self, radius: float) -> Constants:
        r"""Return :math:`2\alpha, \beta\|B\|R, \beta\|B\|R, \beta\|B\|` with :math:`\alpha = \beta\|B\|R^2`.

        Without ``scale`` and ``form`` the dimension is unknown, and a ``ValueError`` says so.
        """
        r = as_positive(radius, "radius")
        if self.scale is None and self.form is None:
            raise ValueError("scale: expected a number, got None (1/sqrt(d) of an unknown dimension d)")
        norm = self._beta(1) * (1.0 if self.form is None else float(np.linalg.norm(self.form, 2)))
        return require_finite(Constants(2.0 * norm * r * r, norm * r, norm * r, norm))


@dataclass(frozen=True, slots=True, eq=False)
class SquaredDistance:
    r""":math:`a(x, y) = -\beta |x - y|^2`, by differences.

    Parameters
    ----------
    scale : float, default 1.0
        :math:`\beta > 0`, per unit of squared length.

    Raises
    ------
    ValueError
        If ``scale`` is not positive.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_positive(self.scale, "scale"))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores, enclosed if the points are."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if is_enclosed(x, y):
            return self._enclosed(x, y)  # type: ignore[no-any-return]
        pairs = self.pairs(x, y)
        differences = pairs.queries[:, np.newaxis, :] - pairs.keys[np.newaxis, :, :]
        scores: Array = -self.scale * np.einsum("ijk,ijk->ij", differences, differences)
        return scores

    def _enclosed(self, x: Any, y: Any) -> Any:
        """Evaluate the formula on enclosures."""
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {x.shape[1]} as the queries, got {y.shape[1]}")
        apart = x[:, np.newaxis, :] - y[np.newaxis, :, :]
        return -self.scale * (apart * apart).sum(axis=2)

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return queries and keys as they are."""
        x, y = tokens(x, y)
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {x.shape[1]} as the queries, got {y.shape[1]}")
        reach = _length(x) + _length(y)
        if not max(1.0, self.scale) * reach * reach < _FAR:
            reach = _largest_norm(x) + _largest_norm(y)
            require_range(max(1.0, self.scale) * reach * reach, x, y)
        return Pairs(Form.DISTANCE, x, y, np.array([self.scale]))

    def as_form(self, _dim: int) -> AsForm:
        """Return the form of the kernels that this is, in any dimension."""
        return AsForm(Form.DISTANCE, self.scale, None)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error: d differences, squares and sums, and one product, all relative."""
        x, y = as_points(x, "x"), as_points(y, "y")
        reach = _largest_norm(x) + _largest_norm(y)
        size = self.scale * reach * reach * (1.0 + 8 * U)
        return size, size * gamma(x.shape[1] + 5)

    def constants(self, radius: float) -> Constants:
        r"""Return :math:`\beta D^2, 2\beta D, 2\beta D, 2\beta` with :math:`D = 2R`."""
        diameter = 2.0 * as_positive(radius, "radius")
        slope = 2.0 * self.scale * diameter
        return require_finite(Constants(self.scale * diameter * diameter, slope, slope, 2.0 * self.scale))
