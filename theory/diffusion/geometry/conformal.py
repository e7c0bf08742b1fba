r"""The drift-diffusion of attention in other metrics, in exact algebra.

Let :math:`L_{g,p}h = \Delta_g h + 2\langle\nabla\log p, \nabla h\rangle_g` on a manifold of dimension d. With
:math:`\tilde g = e^{2\varphi}g`,

.. math:: e^{2\varphi}\Delta_{\tilde g}h = \Delta_g h + (d - 2)\langle\nabla\varphi, \nabla h\rangle_g,

so that for :math:`d \ne 2` and :math:`\varphi = \frac{2}{d - 2}\log p` it is :math:`L = p^{4/(d-2)}\Delta_{\tilde g}`
with :math:`\tilde g = p^{4/(d-2)}g`: a heat equation whose clock runs at the speed :math:`p^{4/(d-2)}`. In every
dimension, without such a clock, L is the Laplacian of :math:`G = g + p^4d\theta^2` on :math:`M \times S^1`, on
functions that do not depend on :math:`\theta`.

Functions of the coordinates are unspecified: :func:`jets` writes an expression in them and their derivatives as one in
independent symbols, which vanishes if and only if the identity holds for all functions.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, theorem 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from theory._validate import as_count


def coordinates(d: int) -> tuple[Any, ...]:
    """Return the symbols ``x1`` to ``xd``."""
    return tuple(sympy.symbols(f"x1:{as_count(d, 'd') + 1}", real=True))


def diagonal_metric(x: Sequence[Any]) -> Any:
    r"""Return :math:`\mathrm{diag}(e^{2a_1}, \dots, e^{2a_d})` with unspecified functions :math:`a_i` of ``x``."""
    return sympy.diag(*(sympy.exp(2 * sympy.Function(f"a{k}", real=True)(*x)) for k in range(1, len(x) + 1)))


def mixed_metric(x: Sequence[Any]) -> Any:
    r"""Return a metric of three dimensions with an entry off the diagonal, in the unspecified factors of Cholesky's.

    Every metric with :math:`g_{13} = g_{23} = 0` is of this form.

    Raises
    ------
    ValueError
        If there are not three coordinates.
    """
    if len(x) != 3:
        raise ValueError(f"x: expected three coordinates, got {len(x)}")
    a, b, c, off = (sympy.Function(name, real=True)(*x) for name in ("a1", "a2", "a3", "b"))
    upper = sympy.Matrix([[1, off, 0], [0, 1, 0], [0, 0, 1]])
    return (upper.T * sympy.diag(sympy.exp(2 * a), sympy.exp(2 * b), sympy.exp(2 * c)) * upper).applyfunc(sympy.expand)


def inner_product(a: Any, b: Any, metric: Any, x: Sequence[Any]) -> Any:
    r"""Return :math:`\langle\nabla a, \nabla b\rangle_g`."""
    inverse = _inverse(metric)
    return sum(inverse[i, j] * a.diff(x[i]) * b.diff(x[j]) for i in range(len(x)) for j in range(len(x)))


def weighted_divergence(h: Any, weight: Any, metric: Any, x: Sequence[Any]) -> Any:
    r"""Return :math:`w^{-1}\mathrm{div}_g(w\nabla_g h)`; the Laplace-Beltrami operator for weight one.

    By :math:`w^{-1}|g|^{-1/2}\partial_i(w|g|^{1/2}F^i) = \partial_iF^i + F^i\partial_i(\log w + \frac12\log|g|)`, which
    needs no square root.
    """
    inverse = _inverse(metric)
    volume = _merged(metric.det())
    total = sympy.Integer(0)
    for i, xi in enumerate(x):
        flux = sum(inverse[i, j] * h.diff(xj) for j, xj in enumerate(x))
        total += flux.diff(xi) + flux * (weight.diff(xi) / weight + volume.diff(xi) / (2 * volume))
    return total


def laplacian(h: Any, metric: Any, x: Sequence[Any]) -> Any:
    r"""Return :math:`\Delta_g h`."""
    return weighted_divergence(h, sympy.Integer(1), metric, x)


def limit_operator(h: Any, u: Any, metric: Any, x: Sequence[Any], *, drift: Any = 2) -> Any:
    r"""Return :math:`\Delta_g h + c\langle\nabla u, \nabla h\rangle_g`: :math:`u = \log p`, :math:`c` the ``drift``."""
    return laplacian(h, metric, x) + drift * inner_product(u, h, metric, x)


def lift_metric(metric: Any, u: Any, x: Sequence[Any], *, power: Any = 4) -> tuple[Any, tuple[Any, ...]]:
    r"""Return :math:`g + p^kd\theta^2` for :math:`u = \log p` and its coordinates, those of g and :math:`\theta`."""
    theta = sympy.Symbol("theta", real=True)
    return sympy.diag(metric, sympy.exp(power * u)), (*x, theta)


def jets(expression: Any) -> tuple[Any, dict[Any, Any]]:
    """Return an expression in plain symbols, one for every function and derivative, and a point of exact numbers.

    Two functions, or two derivatives, are different symbols, so the result is zero exactly if the expression is zero
    for all functions at all places. The point has a different small prime fraction for every symbol.
    """
    expanded = _merged(sympy.sympify(expression).doit())
    parts = sorted(
        expanded.atoms(sympy.Derivative) | expanded.atoms(AppliedUndef),
        key=lambda part: (-sympy.count_ops(part), str(part)),
    )
    names = {part: sympy.Symbol(f"j{number}", real=True) for number, part in enumerate(parts)}
    plain = expanded
    for part in parts:  # derivatives first, as they contain the functions
        plain = plain.xreplace({part: names[part]})
    symbols = sorted(plain.free_symbols, key=str)
    return plain, {s: sympy.Rational(1, sympy.prime(k + 2)) for k, s in enumerate(symbols)}


def _inverse(metric: Any) -> Any:
    volume = _merged(metric.det())
    return metric.adjugate().applyfunc(lambda entry: _merged(entry / volume))


def _merged(expression: Any) -> Any:
    """Multiply out, with one exponential for each product of them."""
    return sympy.powsimp(sympy.expand(expression))
