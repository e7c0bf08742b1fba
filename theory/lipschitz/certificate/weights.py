r"""One layer of self-attention given by its weight matrices, and what it does to tokens and their displacements.

Head h has the score :math:`\langle W_Q^hx, W_K^hy\rangle/\sqrt{d_k}`, of the form :math:`B_h = W_Q^{h\top}W_K^h/
\sqrt{d_k}`, and the value matrix :math:`V_h = W_O^hW_V^h`. Distance attention has tied queries and keys, the score
:math:`-|W_Q^h(x - y)|^2/\sqrt{d_k}` and :math:`V_h = W_O^hW_V^hA_h`, :math:`A_h = W_Q^{h\top}W_Q^h/\sqrt{d_k}`.
A query bias :math:`b_h` makes the form affine, by :math:`c_h = W_K^{h\top}b_h/\sqrt{d_k}`; other biases need not be
known (:mod:`theory.lipschitz.certificate.biased`). Spectral norms are enclosed: the products of matrices and the
singular values are charged with their rounding.

References
----------
H. Kim, G. Papamakarios, A. Mnih, *The Lipschitz constant of self-attention*, ICML 2021 (distance attention).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_choice, as_count, as_flag, as_matrix, as_vector, frozen
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.thin import is_thin, thin_product_norm

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[Any]  # floats, or balls in an object array
SCORES = ("dot", "distance")
_SPECTRAL = 64  # taken: LAPACK's bound is a modest multiple of the rounding of the Frobenius norm


def product_norm(*factors: Array) -> Interval:
    r"""Enclose the spectral norm of a product of one or two matrices, its rounding and that of the SVD charged.

    A product is off by at most :math:`\gamma_n|A|_F|B|_F`, n being what is summed over, and a singular value by 64
    roundings of the Frobenius norm for every row or column, taken for LAPACK's modest multiple. A product through a
    dimension far below its own is reduced to it first (:mod:`theory.lipschitz.certificate.thin`).
    """
    if len(factors) not in (1, 2):
        raise ValueError(f"factors: expected one or two matrices, got {len(factors)}")
    given = [as_matrix(f, "factors") for f in factors]
    if given[0].shape[1] != given[-1].shape[0] and len(given) == 2:
        raise ValueError(f"factors: expected shapes that fit, got {given[0].shape} and {given[1].shape}")
    for f in given:  # else squares overflow, or underflow to less than their rounding
        in_range(f if len(given) == 2 else np.abs(f).max(), "factors")
    return _product_norm(*given)


def _product_norm(*factors: Array) -> Interval:
    """Return what :func:`product_norm` does, for matrices that were checked."""
    if len(factors) == 2 and is_thin(*factors):
        return _nonnegative(thin_product_norm(*factors, _product_norm))
    matrix = factors[0] if len(factors) == 1 else factors[0] @ factors[1]
    size = math.prod(float(np.sqrt((f * f).sum())) for f in factors)
    terms = _SPECTRAL * max(matrix.shape) + 2 * max(max(f.shape) for f in factors)
    error = size * gamma(terms) * (1.0 + gamma(terms * terms))
    return _nonnegative(Interval.within(float(np.linalg.norm(matrix, 2)), error))


def _length(one: Array, other: Array, apart: bool) -> Interval:
    """Return the norm of a product, or the product of norms, which bounds it with an isometry between the two."""
    return _product_norm(one) * _product_norm(other) if apart else _product_norm(one, other)


_LEAST = 1e-70  # taken: squares of products of two stay normal numbers, where rounding is relative
_LEAST_SCALE = 1e-20  # taken: a factor more leaves them normal


class Norms(NamedTuple):
    """Spectral norms of a layer, enclosed, head by head."""

    forms: tuple[Interval, ...]
    """Of ``W_Q^T W_K / sqrt(d_k)``."""
    values: tuple[Interval, ...]
    """Of ``W_O W_V``."""
    own: tuple[Interval, ...]
    """Of ``W_V`` alone."""
    out: Interval
    """Of ``W_O``, all heads together."""
    shifts: tuple[Interval, ...]
    """Lengths of ``W_K^T b_Q / sqrt(d_k)``."""
    tilts: tuple[Interval, ...] = ()
    """Products ``|W_Q| |b_K| / sqrt(d_k)``, if positions turn keys that have a bias."""
    offsets: tuple[Interval, ...] = ()
    """Products ``|b_Q| |b_K| / sqrt(d_k)``, likewise."""
    detours: tuple[Interval, ...] = ()
    """Of the forms on the ball of radius one, where the theorem on them holds."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionWeights:
    """Weights of self-attention, split into heads.

    Parameters
    ----------
    w_query, w_key : numpy.ndarray, shape (h, d_k, d)
    w_value : numpy.ndarray, shape (h, d_v, d)
    w_out : numpy.ndarray, shape (d_out, h * d_v), or None
        None concatenates the heads.
    causal, residual : bool
        Whether token i sees the tokens up to i only, and whether the input is added.
    score : {"dot", "distance"}
    b_query : numpy.ndarray, shape (h, d_k), or None
    scale : float or None
        Factor of the scores; None divides them by the root of ``d_k``.
    b_key : numpy.ndarray, shape (h, d_k), or None
        Of no effect unless positions turn the keys.
    """

    w_query: Array
    w_key: Array
    w_value: Array
    w_out: Array | None
    causal: bool
    residual: bool
    score: str
    b_query: Array | None = None
    scale: float | None = None
    b_key: Array | None = None

    @property
    def dim(self) -> int:
        """Dimension of a token."""
        return int(self.w_query.shape[2])

    @property
    def heads(self) -> int:
        """Number of heads."""
        return len(self.w_query)

    def slice(self, head: int) -> Array:
        """Return the columns of ``w_out`` that belong to a head, shape (d_out, d_v)."""
        size = self.w_value.shape[1]
        columns = slice(head * size, (head + 1) * size)
        if self.w_out is None:
            return np.eye(self.heads * size)[:, columns]
        return np.ascontiguousarray(self.w_out[:, columns])

    @property
    def divisor(self) -> float:
        """What scores are divided by, in floats."""
        return math.sqrt(self.w_query.shape[1]) if self.scale is None else 1.0 / self.scale

    def form(self, head: int) -> Array:
        """Return ``W_Q^T W_K / sqrt(d_k)`` of a head in floats, shape (d, d)."""
        return np.asarray(self.w_query[head].T @ self.w_key[head] / self.divisor)

    def shift(self, head: int) -> Array:
        """Return ``W_K^T b_Q / sqrt(d_k)`` of a head in floats, shape (d,)."""
        if self.b_query is None:
            return np.zeros(self.dim)
        return np.asarray(self.w_key[head].T @ self.b_query[head] / self.divisor)

    def norms(self, *, turned: bool = False) -> Norms:
        """Enclose the norms of forms and shifts, of value matrices and of ``w_out``, 1 where heads are concatenated.

        Where queries and keys are ``turned`` by their positions, the products of norms stand for the norms of products.
        """
        apart = as_flag(turned, "turned")
        tell(f"norms of {self.heads} heads of {self.dim} numbers a token")
        root = Interval.exactly(self.w_query.shape[1]).sqrt()
        if self.scale is not None:
            root = 1.0 / Interval.exactly(self.scale)
        pairs = zip(self.w_query, self.w_key, strict=True)
        forms = tuple(_nonnegative(_length(query.T, key, apart) / root) for query, key in pairs)
        own = tuple(_product_norm(value) for value in self.w_value)
        shifts = (Interval.exactly(0.0),) * self.heads
        if self.b_query is not None:
            both = zip(self.w_key, self.b_query, strict=True)
            shifts = tuple(_nonnegative(_length(key.T, bias[:, np.newaxis], apart) / root) for key, bias in both)
        further = self._key_norms(root) if apart and self.b_key is not None else ((), ())
        if self.w_out is None:
            return Norms(forms, own, own, Interval.exactly(1.0), shifts, *further)
        values = tuple(_product_norm(self.slice(head), self.w_value[head]) for head in range(self.heads))
        return Norms(forms, values, own, _product_norm(self.w_out), shifts, *further)

    def _key_norms(self, root: Interval) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
        """Enclose what a key bias adds where positions turn keys, by the query and by its bias."""
        lengths = [_product_norm(bias[:, np.newaxis]) for bias in self.b_key]  # type: ignore[union-attr]
        sizes = [_product_norm(query) for query in self.w_query]
        biases = [Interval.exactly(0.0)] * self.heads
        if self.b_query is not None:
            biases = [_product_norm(bias[:, np.newaxis]) for bias in self.b_query]
        tilts, offsets = (
            tuple(_nonnegative(one * length / root) for one, length in zip(ones, lengths, strict=True))
            for ones in (sizes, biases)
        )
        return tilts, offsets

    def mean_map(self) -> Array:
        """Return what becomes of tokens that are all at one place, in floats, shape (d_out, d)."""
        total = np.eye(self.dim) if self.residual else np.zeros((self.slice(0).shape[0], self.dim))
        for head in range(self.heads):
            value = self.w_value[head]
            if self.score == "distance":  # in this order no product of two square matrices is taken
                value = (value @ self.w_query[head].T) @ (self.w_query[head] / self.divisor)
            total = total + self.slice(head) @ value
        return total

    def push(
        self, points: Numbers, tangent: Numbers, masses: Numbers, lift: Callable[[ArrayLike], Numbers], exp: Any
    ) -> tuple[Numbers, Numbers]:
        """Return outputs and their derivative along a displacement of the atoms, each of shape (n, d_out).

        The same lines run on floats and on balls: ``lift`` makes numbers of floats, ``exp`` takes their exponential.
        """
        outputs = points if self.residual else lift(np.zeros(1))
        moved = tangent if self.residual else lift(np.zeros(1))
        root = lift(np.array([float(self.w_query.shape[1])])).item() ** lift(np.array([-0.5])).item()
        if self.scale is not None:
            root = lift(np.array([self.scale])).item()
        seen = np.tril(np.ones((len(points),) * 2, dtype=bool)) if self.causal else np.ones((1, 1), dtype=bool)
        for head in range(self.heads):
            first, second = lift(self.w_query[head].T), lift(self.w_key[head].T)
            q, dq = points @ first, tangent @ first
            if self.b_query is not None:
                q = q + lift(self.b_query[head])
            if self.score == "dot":
                k, dk = points @ second, tangent @ second
                scores = (q @ k.T) * root
                slopes = (dq @ k.T + q @ dk.T) * root
            else:
                apart = q[:, np.newaxis] - q[np.newaxis]
                parting = dq[:, np.newaxis] - dq[np.newaxis]
                scores = -root * (apart * apart).sum(axis=2)
                slopes = -2 * root * (apart * parting).sum(axis=2)
            raw = exp(scores) * masses
            raw = np.where(seen, raw, 0 * raw)
            laws = raw / raw.sum(axis=1, keepdims=True)
            mean = laws @ points
            change = laws * slopes
            drift = laws @ tangent + change @ points - change.sum(axis=1, keepdims=True) * mean
            if self.score == "distance":
                mean, drift = ((part @ first) @ first.T * root for part in (mean, drift))
            value, out = lift(self.w_value[head].T), lift(self.slice(head).T)
            outputs = outputs + (mean @ value) @ out
            moved = moved + (drift @ value) @ out
        return outputs, moved


def as_attention_weights(
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    w_out: ArrayLike | None,
    *,
    heads: int,
    causal: bool,
    residual: bool,
    score: str,
    b_query: ArrayLike | None = None,
    scale: float | None = None,
    b_key: ArrayLike | None = None,
) -> AttentionWeights:
    """Check weights, heads stacked along the rows of the first three and the columns of ``w_out``, and split them.

    Keys and values may have fewer heads, each of which serves as many consecutive ones of the queries.

    Raises
    ------
    ValueError
        If shapes do not fit, the score is another one, or distance attention has keys other than its queries, or a bias
        of the queries alone.
    TypeError
        If an array is no array of real numbers.
    """
    count = as_count(heads, "heads")
    kind = as_choice(score, "score", SCORES)
    masked, added = as_flag(causal, "causal"), as_flag(residual, "residual")
    query = as_matrix(w_query, "w_query")
    key = as_matrix(w_key, "w_key", shape=(None, query.shape[1]))
    value = as_matrix(w_value, "w_value", shape=(None, query.shape[1]))
    if query.shape[0] % count:
        raise ValueError(f"w_query: expected a multiple of {count} rows, one block a head, got {query.shape[0]}")
    shared = _shared_heads(query.shape[0], key.shape[0], count)
    if value.shape[0] % shared:
        raise ValueError(f"w_value: expected a multiple of {shared} rows, one block a head, got {value.shape[0]}")
    joined = value.shape[0] // shared * count
    out = None if w_out is None else as_matrix(w_out, "w_out", shape=(None, joined))
    width = joined if out is None else out.shape[0]
    if added and width != query.shape[1]:
        raise ValueError(f"residual: expected outputs of dimension {query.shape[1]} as the tokens, got {width}")
    if kind == "distance" and not np.array_equal(query, key):
        raise ValueError("w_key: expected the entries of w_query, which distance attention ties to it, got others")
    bias = None if b_query is None else as_vector(b_query, "b_query", size=query.shape[0])
    lean = None if b_key is None else as_vector(b_key, "b_key", size=key.shape[0])
    for name, given in (("b_query", bias), ("b_key", lean)):
        if kind == "distance" and given is not None:
            raise ValueError(
                f"{name}: expected none for distance attention: no theorem covers one that queries and keys do not "
                "share, and one that they share cancels in every difference, so that it may be left out"
            )
    factor = None if scale is None else as_between(scale, "scale", _LEAST_SCALE, 1.0 / _LEAST_SCALE)
    for name, given in (("w_query", query), ("w_key", key), ("w_value", value), ("w_out", out), ("b_query", bias),
                        ("b_key", lean)):  # fmt: skip
        if given is not None:
            in_range(given, name)
    first = frozen(query.reshape(count, -1, query.shape[1]))
    blocks = (m.reshape(shared, -1, m.shape[1]) for m in (key, value))
    second, third = (frozen(np.repeat(m, count // shared, axis=0)) for m in blocks)
    split = None if bias is None or not bias.any() else frozen(bias.reshape(count, -1))
    tilt = None
    if lean is not None and lean.any():
        tilt = frozen(np.repeat(lean.reshape(shared, -1), count // shared, axis=0))
    return AttentionWeights(
        first, second, third, None if out is None else frozen(out), masked, added, kind, split, factor, tilt
    )


def _shared_heads(rows: int, of_keys: int, heads: int) -> int:
    """Return how many heads keys and values have."""
    size = rows // heads
    shared = of_keys // size if size else 0
    if of_keys != shared * size or shared == 0 or heads % shared:
        raise ValueError(
            f"w_key: expected shape ({rows}, d), or {size} rows for each of fewer heads that divide {heads}, got "
            f"{of_keys} rows"
        )
    return shared


def in_range(numbers: Array | float, name: str) -> None:
    """Raise unless numbers are zero or so far from the ends of float64 that products of four keep their digits."""
    sizes = np.abs(np.asarray(numbers))
    fits = (sizes == 0.0) | ((sizes >= _LEAST) & (sizes <= 1.0 / _LEAST))
    if not fits.all():
        raise ValueError(
            f"{name}: expected sizes of zero or from {_LEAST:g} to {1.0 / _LEAST:g}, got {sizes[~fits].flat[0]}"
        )


def _nonnegative(norm: Interval) -> Interval:
    return Interval(max(norm.lo, 0.0), norm.hi, norm.kind)
