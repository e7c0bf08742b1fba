r"""The network of the experiments: a linear map, blocks of attention, a linear map.

.. math:: H_0 = XA + a, \qquad H_{\ell + 1} = S_\ell(H_\ell)\,H_\ell, \qquad F = H_LB + b .

Tokens are the points of a data set, or the faces of a surface; the class of each is predicted. Gradients are analytic.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, section 6 (the information propagation network).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_generator, as_having, as_positive, as_real, as_vector
from theory.metric.layer import pull_through_rows, softmax_rows
from theory.metric.similarity import Shapes, Similarity, draw_parameters, sizes_of, split_parameters

Array = NDArray[np.float64]


@cache
def _shapes(dim: int, inputs: int, classes: int, blocks: int, each: Shapes) -> Shapes:
    return ((inputs, dim), (dim,), (dim, classes), (classes,), *[(sum(sizes_of(each)),)] * blocks)


@dataclass(frozen=True, slots=True)
class InformationPropagation:
    """An information propagation network.

    Parameters
    ----------
    similarity : Similarity
        Of every block, each with parameters of its own; its ``dim`` is that of a token.
    inputs, classes : int
        Features of a token, classes to tell apart.
    blocks : int, default 2
        How often the tokens are averaged.
    stretch : float, default 1.0
        By how much more the parameters of the blocks are spread at the start, positive.

    Raises
    ------
    ValueError, TypeError
        If a size is not a positive integer or the stretch not a positive number.
    """

    similarity: Similarity
    inputs: int
    classes: int
    blocks: int = 2
    stretch: float = 1.0

    def __post_init__(self) -> None:
        as_having(self.similarity, "similarity", "scores", "pull")
        for name in ("inputs", "classes", "blocks"):
            object.__setattr__(self, name, as_count(getattr(self, name), name))
        object.__setattr__(self, "stretch", as_positive(self.stretch, "stretch"))

    @property
    def shapes(self) -> Shapes:
        """Of A, a, B, b, and of the parameters of all blocks together."""
        return _shapes(self.similarity.dim, self.inputs, self.classes, self.blocks, self.similarity.shapes)

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(sizes_of(self.shapes))

    def initial(self, rng: np.random.Generator) -> Array:
        """Draw parameters; those outside the blocks first, so that they do not depend on the similarity."""
        as_generator(rng)
        blocks = [self.similarity.shapes] * self.blocks
        return np.concatenate(
            [draw_parameters(self.shapes[:4], rng), *[self.stretch * draw_parameters(shapes, rng) for shapes in blocks]]
        )

    def tokens(self, theta: ArrayLike, x: ArrayLike) -> list[Array]:
        """Return the tokens before each block and after the last one, each (..., n, d)."""
        return self._forward(self._parts(theta), self._inputs(x))[0]

    def predict(self, theta: ArrayLike, x: ArrayLike) -> Array:
        """Return class scores, (..., n, classes), of tokens ``x``, (..., n, inputs).

        Raises
        ------
        ValueError
            If a shape does not fit or a number is not finite.
        """
        pieces = self._parts(theta)
        return np.asarray(self._forward(pieces, self._inputs(x))[0][-1] @ pieces[2] + pieces[3])

    def objective(self, theta: ArrayLike, x: ArrayLike, y: ArrayLike) -> tuple[float, Array]:
        """Return the mean cross-entropy, in nat, and its gradient.

        Parameters
        ----------
        theta : array_like, shape (size,)
        x : array_like, shape (..., n, inputs)
        y : array_like of int, shape (..., n)
            Classes from 0.

        Raises
        ------
        ValueError
            If a shape does not fit, a number is not finite, or a class is none.
        """
        pieces = self._parts(theta)
        inputs = self._inputs(x)
        classes = self._classes(y)
        if classes.shape != inputs.shape[:-1]:
            raise ValueError(f"y: expected shape {inputs.shape[:-1]}, got shape {classes.shape}")
        tokens, rows = self._forward(pieces, inputs)
        scores = tokens[-1] @ pieces[2] + pieces[3]
        logs = log_softmax_rows(scores).reshape(-1, self.classes)
        hit = np.arange(classes.size), classes.ravel()
        bar = np.exp(logs)
        bar[hit] -= 1.0
        bar /= classes.size
        last = tokens[-1].reshape(-1, self.similarity.dim)
        slopes = [last.T @ bar, bar.sum(axis=0)]
        back = (bar @ pieces[2].T).reshape(tokens[-1].shape)
        inner: list[Array] = []
        for h, s, theta_block in zip(tokens[-2::-1], rows[::-1], pieces[:3:-1], strict=True):
            back, slope = pull_through_rows(self.similarity, theta_block, h, s, back)
            inner.insert(0, slope)
        flat = back.reshape(-1, self.similarity.dim)
        slopes = [inputs.reshape(-1, self.inputs).T @ flat, flat.sum(axis=0), *slopes, *inner]
        return -float(logs[hit].mean()), np.concatenate([slope.ravel() for slope in slopes])

    def _forward(self, pieces: list[Array], x: Array) -> tuple[list[Array], list[Array]]:
        tokens, rows = [x @ pieces[0] + pieces[1]], []
        for theta in pieces[4:]:
            rows.append(softmax_rows(self.similarity.scores(theta, tokens[-1])))
            tokens.append(rows[-1] @ tokens[-1])
        return tokens, rows

    def _parts(self, theta: ArrayLike) -> list[Array]:
        return split_parameters(as_vector(theta, "theta", size=self.size), self.shapes)

    def _inputs(self, x: ArrayLike) -> Array:
        inputs = as_real(x, "x")
        if inputs.ndim < 2 or inputs.shape[-1] != self.inputs or inputs.size == 0:
            raise ValueError(f"x: expected shape (..., n, {self.inputs}), got shape {inputs.shape}")
        return inputs

    def _classes(self, y: ArrayLike) -> NDArray[np.int64]:
        classes = np.asarray(y)
        if classes.dtype.kind not in "iu":
            raise TypeError(f"y: expected integers, got {classes.dtype}")
        if classes.size and not (classes.min() >= 0 and classes.max() < self.classes):
            raise ValueError(
                f"y: expected classes from 0 to {self.classes - 1}, got {classes.min()} to {classes.max()}"
            )
        return classes.astype(np.int64)


def log_softmax_rows(scores: Array) -> Array:
    """Return the logarithms of the softmax along the last axis."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
