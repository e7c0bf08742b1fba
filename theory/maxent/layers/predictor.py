r"""Attention as a summary that a prediction model learns: scores, a regularised map, an average, a linear classifier.

An example is a sequence :math:`x_1, \dots, x_n \in \mathbb R^m`. With :math:`h_i = \tanh(W^\top x_i + b_i)` as the
representation of location :math:`i`, each head :math:`r` has

.. math:: s^r_i = \langle h_i, a^r\rangle,\quad p^r = \nabla\Omega^*(s^r),\quad c^r = \sum_i p^r_i h_i,\quad
    f = d + \sum_r (C^r)^\top c^r,

and the model is trained as a whole: the cross-entropy of :math:`\mathrm{softmax}(f)`, averaged over the examples, plus
:math:`\lambda|\vartheta|^2`. Going back, with :math:`g = \partial L/\partial f` and :math:`J` the
Jacobian of the map, :math:`\bar c^r = C^rg`, :math:`\bar s^r = J(\langle h_i, \bar c^r\rangle)_i`,
:math:`\bar h_i = \sum_r p^r_i\bar c^r + \bar s^r_ia^r`: the map enters through its law and one product with its
Jacobian, so that any :class:`~theory.maxent.RowMap` fits. The bias :math:`b_i` of a location says how important
it is before anything is seen.

References
----------
D. Bahdanau, K. Cho, Y. Bengio, *Neural machine translation by jointly learning to align and translate*, 2014;
V. Niculae, M. Blondel, *A regularized framework for sparse and structured neural attention*, NeurIPS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from theory._validate import as_count, as_generator, as_instance, as_positive, as_real, as_vector
from theory.maxent.batch import Array, as_laws, validate_laws
from theory.maxent.gibbs.softmax import log_softmax
from theory.maxent.layers.row_map import RowMap


class Prediction(NamedTuple):
    """Class scores, (N, classes), and the attention weights behind them, (N, heads, n)."""

    scores: Array
    weights: Array


class Fit(NamedTuple):
    """Parameters of a trained model, the objective there, the largest entry of its gradient, and the iterations."""

    parameters: Array
    objective: float
    slope: float
    iterations: int


class _Parts(NamedTuple):
    w: Array
    b: Array
    a: Array
    c: Array
    d: Array


@dataclass(frozen=True, slots=True)
class Predictor:
    """An attention summary with a linear classifier on top.

    Parameters
    ----------
    rows : RowMap
        From scores to attention weights.
    length, features, classes : int
        Locations of a sequence, features of a location, classes to tell apart.
    width, heads : int
        Size of a representation, number of summaries.

    Raises
    ------
    ValueError, TypeError
        If a size is not a positive integer.
    """

    rows: RowMap
    length: int
    features: int
    classes: int
    width: int = 8
    heads: int = 2

    def __post_init__(self) -> None:
        as_instance(self.rows, "rows", RowMap)
        for name in ("length", "features", "classes", "width", "heads"):
            as_count(getattr(self, name), name)

    @property
    def shapes(self) -> _Parts:
        """Shapes of the parameters in the order in which they are stored."""
        m = self.features
        n = self.length
        k = self.width
        return _Parts((m, k), (n, k), (k, self.heads), (self.heads * k, self.classes), (self.classes,))  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw parameters at which the scores are of the size of one and no class is preferred."""
        as_generator(rng)
        scales = self.features**-0.5, 1.0, self.width**-0.5, 0.0, 0.0
        drawn = [scale * rng.normal(size=shape) for scale, shape in zip(scales, self.shapes, strict=True)]
        return np.concatenate([part.ravel() for part in drawn])

    def predict(self, parameters: ArrayLike, x: ArrayLike) -> Prediction:
        """Return class scores and attention weights for sequences ``x``, shape (N, n, m)."""
        parts = self._parts(as_vector(parameters, "parameters", size=self.size))
        _, weights, _, scores = self._forward(parts, self._sequences(x))
        return Prediction(scores, weights)

    def objective(self, parameters: ArrayLike, x: ArrayLike, y: ArrayLike, decay: float) -> tuple[float, Array]:
        r"""Return the mean cross-entropy plus ``decay`` times the squared norm, and its gradient.

        Parameters
        ----------
        parameters : array_like, shape (size,)
        x : array_like, shape (N, n, m)
            Sequences.
        y : array_like, shape (N, classes)
            Laws over the classes.
        decay : float
            Positive.

        Raises
        ------
        ValueError
            If shapes do not fit, a number is not finite, a target leaves the simplex, or ``decay`` is not positive.
        """
        theta = as_vector(parameters, "parameters", size=self.size)
        rate = as_positive(decay, "decay")
        sequences = self._sequences(x)
        target = as_laws(y, "y")
        if target.shape != (len(sequences), self.classes):
            raise ValueError(f"y: expected shape {(len(sequences), self.classes)}, got shape {target.shape}")
        validate_laws(target, "y")
        with np.errstate(over="ignore", invalid="ignore"):
            loss, slope = self._objective(theta, sequences, target, rate)
        if not np.isfinite(loss) or not np.isfinite(slope).all():
            raise ValueError(
                "parameters, x, decay: expected sizes at which float64 holds the objective, got an overflow"
            )
        return loss, slope

    def _objective(self, theta: Array, sequences: Array, target: Array, rate: float) -> tuple[float, Array]:
        parts = self._parts(theta)
        h, p, context, scores = self._forward(parts, sequences)
        logs = log_softmax(scores)
        loss = -float((target * logs).sum()) / len(sequences) + rate * float(theta @ theta)
        g = (np.exp(logs) - target) / len(sequences)
        pulled = (g @ parts.c.T).reshape(-1, self.heads, self.width)
        bent = self.rows.vjp(p, pulled @ h.transpose(0, 2, 1)).transpose(0, 2, 1)
        back = (p.transpose(0, 2, 1) @ pulled + bent @ parts.a.T) * (1.0 - h * h)
        flat = back.reshape(-1, self.width)
        slopes = (
            sequences.reshape(-1, self.features).T @ flat,
            back.sum(axis=0),
            h.reshape(-1, self.width).T @ bent.reshape(-1, self.heads),
            context.T @ g,
            g.sum(axis=0),
        )
        return loss, np.concatenate([slope.ravel() for slope in slopes]) + 2.0 * rate * theta

    def fit(self, x: ArrayLike, y: ArrayLike, *, decay: float, iterations: int, rng: np.random.Generator) -> Fit:
        """Train from a random start by at most so many iterations of L-BFGS; arguments as in :meth:`objective`."""
        start = self.initial(rng)
        self.objective(start, x, y, decay)  # refuses what does not fit
        most = as_count(iterations, "iterations")
        given = (self._sequences(x), as_laws(y, "y"), as_positive(decay, "decay"))
        try:
            found = minimize(
                self._objective,
                start,
                args=given,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": most, "maxfun": 10 * most},
            )
        except ValueError as error:
            raise ValueError(f"decay: expected one at which training stays within float64, got {decay!r}") from error
        return Fit(found.x, float(found.fun), float(np.abs(found.jac).max()), int(found.nit))

    def _parts(self, theta: Array) -> _Parts:
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        pieces = zip(np.split(theta, cuts), self.shapes, strict=True)
        return _Parts(*(piece.reshape(shape) for piece, shape in pieces))

    def _sequences(self, x: ArrayLike) -> Array:
        sequences = as_real(x, "x")
        if sequences.ndim != 3 or sequences.shape[1:] != (self.length, self.features) or not len(sequences):
            raise ValueError(f"x: expected shape (N, {self.length}, {self.features}), got shape {sequences.shape}")
        return sequences

    def _forward(self, parts: _Parts, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return representations (N, n, k), weights (N, heads, n), contexts (N, heads k) and class scores."""
        h: NDArray[np.float64] = np.tanh(x @ parts.w + parts.b)
        p = self.rows.law((h @ parts.a).transpose(0, 2, 1))
        context = (p @ h).reshape(len(x), -1)
        return h, p, context, context @ parts.c + parts.d
