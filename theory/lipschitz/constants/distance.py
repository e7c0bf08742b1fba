r"""How much distance attention moves tokens anywhere in space: constants in closed form.

:math:`F_i(X) = \sum_j P_{ij}x_j` with :math:`P_{ij} \propto e^{-\beta|x_i - x_j|^2}` and N tokens in
:math:`\mathbb R^d`, no bound on their size. Everything rests on one number,

.. math:: c_N = \max_{u \ge 0} \frac{\sum_{j<N} u_j e^{-u_j}}{1 + \sum_{j<N} e^{-u_j}} = W_0\big((N-1)/e\big),
          \qquad c_N e^{c_N + 1} = N - 1.

*Proof.* A value c is reached iff :math:`\sum_j(u_j - c)e^{-u_j} \ge c`, and every term is at most :math:`e^{-c-1}`,
with equality at :math:`u_j = c + 1`. So :math:`\beta\sum_jP_{ij}|x_j - x_i|^2 \le c_N`, with equality iff all other
tokens are at the distance :math:`\sqrt{(c_N + 1)/\beta}`. Along velocities h of the tokens

.. math:: dF_i = \sum_jP_{ij}h_j + 2\beta\sum_jP_{ij}(x_j - F_i)\langle x_j - x_i, h_i - h_j\rangle,

and Cauchy-Schwarz gives what follows. A constant is a float64 evaluation, a few roundings from the formula, or
enclosed if the number of tokens is given as an interval without width.

References
----------
H. Kim, G. Papamakarios, A. Mnih, *The Lipschitz constant of self-attention*, ICML 2021 (the form with the inverse of
:math:`ce^{c+1}`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw

from theory._validate import as_count, as_matrix
from theory.attention.score import Array
from theory.evidence import Interval, is_enclosed
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import as_float, exponent, exponential, finite, lower, positive, upper

_ROUNDING = gamma(256)  # derived: sums and products of few positive numbers, norms of small matrices, Lambert's W
FAR_WEIGHT = 0.27785888448639936  # derived: sqrt(s) / (exp(s) + 1) at s = 1/2 + W_0(1 / (2 sqrt(e))), rounded up


def nearness_constant(n: int) -> float:
    r"""Return :math:`c_N = W_0((N-1)/e)` for N at least 2: the largest :math:`\beta\sum_jP_{ij}|x_j - x_i|^2`.

    Also the largest :math:`\beta\sum_jP_{ij}|x_j - x_i|` of the score :math:`-\beta|x - y|`. Derived; attained where
    all others are equally far. Grows like :math:`\log N - \log\log N`.
    """
    return _as_asked(float(lambertw((_count(n) - 1) / math.e).real), n)


def distance_constant(n: int, form: ArrayLike | None = None) -> float:
    r"""Return :math:`\|M\|(1 + 4c_N)`: the constant of distance attention for the largest displacement of a token.

    :math:`\max_i|F_i(X) - F_i(Y)| \le (1 + 4c_N)\max_i|x_i - y_i|` on all of :math:`(\mathbb R^d)^N`, for every d and
    :math:`\beta`; a ``form`` :math:`M = WW^\top/s`, shape (d, d), stands for the scores
    :math:`-|W^\top(x_i - x_j)|^2/s` and the outputs :math:`PXM`, a constant too for the score :math:`-\beta|x - y|`.
    Derived. :func:`theory.lipschitz.witnesses.two_sided` comes to :math:`4c_N + (1 - c_N)/(1 + c_N)`, so that the
    quotient tends to one with N.
    """
    size = 1.0 if form is None else _norm(as_matrix(form, "form"), 2)
    return finite(size * (1.0 + 4.0 * nearness_constant(n)), "form")


def column_constant(n: int) -> float:
    r"""Return :math:`K_1 = (N-1)(\frac12 + 2c_2 + 2\omega\sqrt{c_N}) + 1 + 2c_N`: the constant for the mean move.

    It bounds :math:`\sum_i\|\partial F_i/\partial x_j\|`, with :math:`\omega = \max_s \sqrt s/(e^s + 1)`. Derived: for
    :math:`i \ne j` and :math:`s = \beta|x_i - x_j|^2` the weight is at most :math:`1/(1 + e^s)`, and
    :math:`|x_j - F_i| \le |x_j - x_i| + |x_i - F_i|` with :math:`\beta|x_i - F_i|^2 \le c_N`.
    """
    tokens = _count(n)
    near = nearness_constant(tokens)
    far = 0.5 + 2.0 * nearness_constant(2) + 2.0 * FAR_WEIGHT * math.sqrt(near)
    return _as_asked((tokens - 1) * far + 1.0 + 2.0 * near, n)


def atoms_constant(n: int, p: float) -> float:
    r"""Return the smaller of :math:`N^{1/p}(1 + 4c_N)` and :math:`K_1^{1/p}(1 + 4c_N)^{1 - 1/p}`, for :math:`p \ge 1`.

    The constant in :math:`W_p` between N atoms of equal mass, and for :math:`(\sum_i|x_i - y_i|^p)^{1/p}`. Derived:
    rows by :func:`distance_constant`, columns by :func:`column_constant`, and the Schur test between them. That it
    grows with N cannot be helped at :math:`p = 1`: see :func:`theory.lipschitz.witnesses.star`.
    """
    order = exponent(p)
    if order == math.inf:
        return distance_constant(n)
    power = 1.0 / order
    tokens = _count(n)
    rows = distance_constant(tokens)
    return _as_asked(min(tokens**power * rows, column_constant(tokens) ** power * rows ** (1.0 - power)), n)


def near_constant(diameter: float, scale: float = 1.0) -> float:
    r"""Return :math:`e^{o}(1 + 2o) + o/2`, :math:`o = \beta D^2`: the constant on a set of diameter D, for every N.

    :math:`W_p(T\mu, T\nu) \le (e^o(1 + 2o) + o/2)\,W_p(\mu, \nu)` for every p. Derived: the score has oscillation
    :math:`\beta D^2`, Lipschitz constant :math:`2\beta D` in a key and mixed constant :math:`2\beta`.
    """
    beta, size = positive(scale, "scale"), positive(diameter, "diameter")
    try:
        spread = beta * size**2
    except OverflowError:
        spread = math.inf
    return finite(exponential(spread) * (1.0 + 2.0 * spread) + spread / 2.0, "diameter")


def tied_constants(
    n: int, queries: Sequence[ArrayLike], values: Sequence[ArrayLike], output: ArrayLike
) -> tuple[float, float]:
    r"""Return the constants of multi-head distance attention with tied queries and keys, largest entry and Euclidean.

    Head h takes rows X, (N, D), to :math:`P^hXA_hW^{V,h}` with :math:`A_h = W^{Q,h}W^{Q,h\top}/s`,
    :math:`s = \sqrt{D/H}` and scores :math:`-|(x_i - x_j)W^{Q,h}|^2/s`; heads are concatenated and multiplied by
    :math:`W^O`. Then

    .. math:: \Big(4c_N + \frac1s\Big)\|W^{O\top}\|_\infty\max_h\|W^{Q,h}\|_\infty\|W^{Q,h\top}\|_\infty
              \max_h\|W^{V,h\top}\|_\infty, \qquad
              \frac{\sqrt N}s(4c_N + 1)\Big(\sum_h\|W^{Q,h}\|_2^4\|W^{V,h}\|_2^2\Big)^{1/2}\|W^O\|_2.

    Recalled (Kim, Papamakarios, Mnih), the second one mended: recalled was :math:`\|W^{Q,h}\|_2^2`, of degree one in a
    matrix in which a head has degree two. Derived: a row of :math:`P^hXA_h` moves by at most :math:`\|A_h\|_2(4c_N +
    1)` times the largest displacement (:func:`distance_constant`), :math:`\|A_h\|_2 = \|W^{Q,h}\|_2^2/s`; N rows by
    :math:`\sqrt N` times as much, and heads side by side by the root of the sum of their squares.

    Parameters
    ----------
    n : int
        Number of tokens, at least two.
    queries, values : sequence of array_like, shape (D, D/H)
        One matrix for each of the H heads.
    output : array_like, shape (D, D)
    """
    out = as_matrix(output, "output")
    tokens = _count(n)
    for name, given in (("queries", queries), ("values", values)):
        if not isinstance(given, (list, tuple, np.ndarray)):
            raise TypeError(f"{name}: expected a sequence of matrices, got {type(given).__name__}")
    dim = out.shape[0]
    heads = len(queries)
    if out.shape[1] != dim:
        raise ValueError(f"output: expected a square matrix, got shape {out.shape}")
    if heads == 0 or dim % heads:
        raise ValueError(f"queries: expected a number of heads that divides {dim}, got {heads}")
    if len(values) != heads:
        raise ValueError(f"values: expected as many matrices as queries, {heads}, got {len(values)}")
    shape = (dim, dim // heads)
    first = [as_matrix(w, "queries", shape=shape) for w in queries]
    second = [as_matrix(w, "values", shape=shape) for w in values]
    near = 4.0 * nearness_constant(tokens)
    root = math.sqrt(shape[1])
    largest = max(_norm(w, np.inf) * _norm(w.T, np.inf) for w in first) * max(_norm(w.T, np.inf) for w in second)
    norms = ((_norm(q, 2), _norm(v, 2)) for q, v in zip(first, second, strict=True))
    pooled = math.hypot(*(q * q * v for q, v in norms))
    entries = finite((near + 1.0 / root) * _norm(out.T, np.inf) * largest, "queries, values, output")
    squares = finite(math.sqrt(tokens) / root * (near + 1.0) * pooled * _norm(out, 2), "queries, values, output")
    return _as_asked(entries, n), _as_asked(squares, n)


def _count(n: int) -> int:
    """Return a number of tokens, at least two, which may be given as an interval without width."""
    whole = is_enclosed(n) and lower(n) == upper(n)
    return as_count(int(lower(n)) if whole else n, "n", least=2)


def _as_asked(constant: float, n: int) -> float:
    """Return a constant, enclosed if the number of tokens is given as an interval."""
    return as_float(Interval.within(constant, _ROUNDING * constant)) if is_enclosed(n) else float(constant)


def _norm(matrix: Array, order: float) -> float:
    return float(np.linalg.norm(matrix, order))
