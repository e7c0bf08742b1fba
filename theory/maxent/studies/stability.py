r"""How steep entmax can be, and what two ways of computing it lose to rounding.

*Steepness.* Laws of one weight :math:`a` and :math:`n - 1` equal ones have the Jacobian norm
:math:`\frac{n}{n-1}\big(1/q + 1/Q\big)^{-1}`, :math:`q = a^{2-\alpha}`,
:math:`Q = (n-1)^{\alpha-1}(1-a)^{2-\alpha}`, along the axis of symmetry. The sum is convex in :math:`a` and least where
:math:`(\frac{1-a}a)^{3-\alpha} = (n-1)^{1-\alpha}`; the study measures the norm there. It also climbs from random laws,
by the derivative :math:`\partial\lambda/\partial q_i = (x_i - \langle q, x\rangle/\sum q)^2` of the largest eigenvalue
at its unit eigenvector :math:`x`. Where a climb ends depends on the last digits of a processor: the law that it finds
is rounded to few bits before its norm is measured.

*Rounding.* For two scores :math:`d` apart the law solves :math:`p_1^{\alpha-1} - p_2^{\alpha-1} = (\alpha - 1)d` up to
:math:`(\alpha-1)d = 1`, where the second weight vanishes. Solved for :math:`p_2` in ball arithmetic, this is the
truth that both algorithms are compared with.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from theory.evidence import Interval, Kind, Table, ball, balls, coarse, first_best, hull, precision, stream
from theory.maxent.batch import Array
from theory.maxent.gibbs.softmax import laplacian
from theory.maxent.sparse.bisection import bisect_entmax
from theory.maxent.sparse.entmax import entmax
from theory.maxent.sparse.spectral import entmax_norm

STEEP_ORDERS = (1.25, 1.5, 1.75)
CROSSINGS = {1.25: 1674, 1.5: 48, 1.75: 14}  # listed so that the sizes on both sides of them are in the table
_SHARE_BITS = 26  # derived: costs the square of 2^-27 of the norm, which is below its rounding
_STEP = (
    2.0**-12
)  # taken: of the largest weight that a climb finds; how light a light one is does not matter to the norm
_HALVINGS = 60  # derived: the bracket is then below the rounding of its ends


def steepness(*, scale: str, root: int) -> Table:
    """Return Jacobian norms of the best law of one large weight, per order and size, and of laws found by climbing.

    Column ``share`` is the largest weight; rows of part ``climbed`` hold the best of several random starts.
    """
    quick = scale == "quick"
    rows: dict[str, list[Any]] = {name: [] for name in ("part", "alpha", "n", "share", "norm")}
    tried = (3, 5, 20) if quick else (3, 4, 5, 10, 20, 60)
    spread = np.geomspace(2, 1e8, 33 if quick else 81).round().astype(int).tolist()
    sizes = {*range(2, 13), 100, 1000, 10_000, *tried, *spread}
    for alpha in STEEP_ORDERS:
        for n in sorted(sizes | {CROSSINGS[alpha] - 1, CROSSINGS[alpha]}):
            rest = _best_rest(alpha, n)
            share = 1.0 - rest
            norm = entmax_norm([share, rest / (n - 1)], alpha, counts=[1, n - 1])
            _append(rows, part="family", alpha=alpha, n=n, share=share, norm=norm)
    for case, (alpha, n) in enumerate(itertools.product(STEEP_ORDERS, tried)):
        rng = stream("maxent.steepness", case, root=root)
        with threadpool_limits(limits=1):  # the number of threads moves the last digits
            laws = [_climbed(rng.normal(size=n) * size, alpha) for size in np.linspace(0.5, 4.0, 3 if quick else 8)]
        norms = [entmax_norm(law, alpha) for law in laws]
        best = first_best([norm.lo for norm in norms])
        _append(rows, part="climbed", alpha=alpha, n=n, share=float(laws[best].max()), norm=norms[best])
    return Table(Kind.NUMERIC, dict.fromkeys(rows, "1"), rows)


def conditioning(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return errors of both algorithms for two scores, beside a change of the support and near order 1.

    Column ``distance`` is :math:`1 - (\alpha-1)d` in part ``edge`` and the distance :math:`d` of the scores in part
    ``near``; ``plain`` and ``ours`` are the largest errors of a weight, of halving and of
    :func:`theory.maxent.entmax`.
    """
    quick = scale == "quick"
    orders = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0) if quick else (*np.arange(1.25, 12.1, 0.25).tolist(),)
    rows: dict[str, list[Any]] = {name: [] for name in ("part", "alpha", "excess", "distance", "plain", "ours")}
    for alpha, k in itertools.product(orders, range(2, 51, 3) if quick else range(1, 52)):
        lead = (1.0 - 2.0**-k) / (alpha - 1.0)
        left = 1 - Fraction(alpha - 1.0) * Fraction(lead)  # not 2**-k where the quotient was rounded
        if left > 0:
            _append(rows, part="edge", distance=float(left), **_errors(alpha, lead))
    leads = np.sqrt(np.array([0.02, 0.3, 2.0, 7.0] if quick else [0.02, 0.1, 0.3, 0.7, 1.1, 2.0, 3.0, 5.0, 7.0, 11.0]))
    for power, lead in itertools.product(np.arange(0.0, 15.1, 1.0 if quick else 0.5).tolist(), leads.tolist()):
        alpha = 1.0 + 10.0**-power
        if (alpha - 1.0) * lead < 1.0:
            _append(rows, part="near", distance=lead, **_errors(alpha, lead))
    return Table(Kind.CERTIFIED, dict.fromkeys(rows, "1"), rows, outcomes=("plain", "ours"))


def _append(rows: dict[str, list[Any]], **values: Any) -> None:
    for name, value in values.items():
        rows[name].append(value)


def _best_rest(alpha: float, n: int) -> float:
    """Return what the one weight leaves to the others where the norm is largest, in few bits."""
    ratio = (n - 1.0) ** (-(alpha - 1.0) / (3.0 - alpha))
    return float(coarse(ratio / (1.0 + ratio), _SHARE_BITS))


def _climbed(logits: Array, alpha: float) -> Array:
    """Return the witness of a law at which the norm is locally largest, from the law of the given logits."""

    def lower(x: Array) -> tuple[float, Array]:
        p = np.exp(x - x.max())
        p = p / p.sum()
        q = p ** (2.0 - alpha)
        values, vectors = np.linalg.eigh(laplacian(q))
        top = vectors[:, -1]
        by_log = (top - (q @ top) / q.sum()) ** 2 * (2.0 - alpha) * q
        return -float(values[-1]), -(by_log - p * by_log.sum())

    x = minimize(lower, logits, jac=True, method="L-BFGS-B", bounds=[(-40.0, 40.0)] * logits.size).x
    steps = np.round(np.exp(x - x.max()) / _STEP)
    law: Array = steps / steps.sum()
    return law


def _errors(alpha: float, lead: float) -> dict[str, Any]:
    """Return what both algorithms miss for the scores 0 and ``-lead``."""
    with precision(192):
        truth = _two_weights(alpha, lead)
        laws = {
            "plain": bisect_entmax([0.0, -lead], alpha, _HALVINGS, normalised=True),
            "ours": entmax([0.0, -lead], alpha),
        }
        apart = {
            name: Interval.largest(hull(abs(x - y)) for x, y in zip(balls(law), truth, strict=True))
            for name, law in laws.items()
        }
    return {"alpha": alpha, "excess": alpha - 1.0, **apart}


def _two_weights(alpha: float, lead: float) -> tuple[Any, Any]:
    """Enclose the weights of two scores by halving the range of the smaller one, 0 to 1/2, between exact numbers."""
    e = ball(alpha) - 1
    d = ball(lead)
    low = ball(0)
    high = ball(1) / 2
    if not e * d < 1:
        return 1 - low, low
    for _ in range(110):
        middle = (low + high) / 2
        excess = ((1 - middle) ** e - middle**e) / e - d
        if not excess < 0:
            low = middle
        if not excess > 0:
            high = middle
    second = low.union(high)
    return 1 - second, second
