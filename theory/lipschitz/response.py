r"""How attention answers to a small push of its tokens, in ball arithmetic and without a formula for the derivative.

Tokens :math:`x_i + th_i` of fixed masses :math:`w_i` are power series in :math:`t`. Attention is evaluated on them as
it is defined, and the coefficient of :math:`t` is the derivative, enclosed. In :math:`W_p` the push stretches distances
by

.. math:: \Big(\sum_i w_i|dF_i|^p\Big)^{1/p} \Big/ \Big(\sum_i w_i|h_i|^p\Big)^{1/p},

the limit of :math:`W_p(T\mu_t, T\mu_0)/W_p(\mu_t, \mu_0)` if tokens and outputs are pairwise distinct, for then the
best plan over a short way moves every atom along. It is a lower bound of the Lipschitz constant, enclosed. A token at
the edge of the domain may be pushed outward: the ratio is continuous, so that slightly smaller clouds have nearly the
same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_flag, as_instance, as_real
from theory.evidence import Interval, ball
from theory.evidence.enclosure import balls, coefficient, exp, hull, precision, variable
from theory.lipschitz._numbers import exponent

Balls = NDArray[np.object_]


class Push(NamedTuple):
    """Tokens of shape (n, d), their velocities, their masses of shape (n,), and the form B of shape (d, d).

    Floats, or object arrays of balls. Masses need no sum of one; those of zero belong to queries that are no keys.
    """

    points: Any
    velocities: Any
    masses: Any
    form: Any


@precision()
def response(push: Push, *, causal: bool = False) -> Balls:
    r"""Return the derivative of the outputs :math:`\Gamma_\mu(x_i)`, value matrix the identity, shape (n, d), in balls.

    Under a causal mask token i sees the tokens up to and including the i-th.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a token sees no mass.
    """
    masked = as_flag(causal, "causal")
    points, velocities, masses, form = (_balls(part) for part in as_instance(push, "push", Push))
    n, d = points.shape if points.ndim == 2 else (0, 0)
    shapes = [part.shape for part in (points, velocities, masses, form)]
    if n == 0 or shapes != [(n, d), (n, d), (n,), (d, d)]:
        raise ValueError(f"push: expected shapes (n, d), (n, d), (n,), (d, d), got {', '.join(map(str, shapes))}")
    none = [mass == 0 for mass in masses]  # certainly; a ball around zero is refused below
    heavy = [j for j in range(n) if not none[j]]
    if not heavy or (masked and heavy[0] > 0) or any(not masses[j] > 0 for j in heavy):
        raise ValueError("push: expected non-negative masses, and one of them positive for every token to see")
    moved = points + velocities * variable(2)
    keys = moved[heavy]
    weights = exp(moved @ form @ keys.T) * masses[heavy]
    if masked:
        weights = weights * (np.array(heavy) <= np.arange(n)[:, np.newaxis]).astype(int)
    outputs = (weights @ keys) / weights.sum(axis=1)[:, np.newaxis]
    change: Balls = np.frompyfunc(lambda series: coefficient(series, 1), 1, 1)(outputs)
    return change


@precision()
def response_ratio(push: Push, p: float, *, causal: bool = False) -> Interval:
    """Return by how much the push stretches distances in W_p, for p in [1, inf]; kind ``CERTIFIED``.

    For infinite p a query without mass counts like any other token: it stands for one of very small mass. Unknown if
    no token is pushed.

    Raises
    ------
    ValueError
        As :func:`response`, or if ``p`` is below one.
    """
    order = exponent(p)
    change = response(push, causal=causal)
    masses = _balls(push.masses)
    if math.isinf(order):
        lengths = [Interval.largest(hull(length) for length in _lengths(part)) for part in (change, push.velocities)]
        return lengths[0] / lengths[1]
    power = ball(order)
    sums = [
        sum(w * r**power for w, r in zip(masses, _lengths(part), strict=True)) for part in (change, push.velocities)
    ]
    return hull((sums[0] / sums[1]) ** (1 / power))


def _balls(part: Any) -> Balls:
    return part if isinstance(part, np.ndarray) and part.dtype == object else balls(as_real(part, "push"))


def _lengths(vectors: Any) -> list[Any]:
    """Return the Euclidean lengths; on the line without a root, which would lose half the digits near zero."""
    given = _balls(vectors)
    if given.shape[1] == 1:
        return [abs(entry) for entry in given[:, 0]]
    return [squares.sqrt() if squares > 0 else squares.nonnegative_part().sqrt() for squares in (given**2).sum(axis=1)]
