r"""A Gaussian law as the tokens of a Gauss-Hermite rule.

The rule with q nodes per axis integrates polynomials up to degree 2q - 1 exactly, and every even moment beyond it too
small. Term by term in the series of the exponential, with :math:`E z^{2k} = (2k)!/(2^k k!)`,

.. math:: \Big|\sum_i w_i e^{cz_i} - e^{c^2/2}\Big| \le e^{c^2/2}\,\mathrm P(N \ge q), \qquad
   \Big|\sum_i w_i z_i e^{cz_i} - c e^{c^2/2}\Big| \le |c|\,e^{c^2/2}\,\mathrm P(N \ge q - 1),

with N Poisson of mean :math:`c^2/2` (derived here). So attention under a Gaussian is attention to these tokens, until
the tilt c of a query nears :math:`\sqrt{2q}`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_matrix, as_vector, frozen
from theory.attention import Measure
from theory.evidence.enclosure import ball, ends, precision
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
NODES = 40
ERROR = 16 * U  # derived: nodes and masses are rounded once, the masses then divided by their sum and multiplied


def gauss_hermite(mean: ArrayLike, root: ArrayLike, *, nodes: int = NODES) -> Measure:
    r"""Return the tokens that stand for :math:`N(m, LL^\top)`.

    Parameters
    ----------
    mean : array_like, shape (d,)
        :math:`m`.
    root : array_like, shape (d, d)
        :math:`L`, any square root of the covariance.
    nodes : int, default 40
        Per axis.

    Returns
    -------
    Measure
        ``nodes**d`` atoms ``mean + root @ z``; masses below the smallest float are zero.

    Raises
    ------
    ValueError
        If a shape does not fit or there are more than 200 nodes.
    """
    m = as_vector(mean, "mean")
    factor = as_matrix(root, "root", shape=(m.size, m.size))
    q = as_count(nodes, "nodes")
    if q > 200:
        raise ValueError(f"nodes: expected at most 200, got {nodes}")
    z, w = _rule(q)
    grid = np.stack(np.meshgrid(*[z] * m.size, indexing="ij"), axis=-1).reshape(-1, m.size)
    masses = np.prod(np.stack(np.meshgrid(*[w] * m.size, indexing="ij"), axis=-1), axis=-1).ravel()
    return Measure.normalised(m + grid @ factor.T, masses)


@cache
def _rule(q: int) -> tuple[Array, Array]:
    """Return nodes and masses of the standard normal law, each the float nearest to it."""
    nodes: list[Any] = []
    masses: list[Any] = []
    with precision():
        for start in np.polynomial.hermite_e.hermegauss(q)[0].tolist():
            z = ball(start)
            for _ in range(3):  # Newton's steps from a float: the digits double, He_q' = q He_(q-1)
                before, last = _polynomials(q, z)
                z = (z - last / (q * before)).mid()
            nodes.append(z)
            masses.append(1 / _polynomials(q, z)[0] ** 2)  # up to a factor
        total = sum(masses)
        law = ends(np.array([w / total for w in masses], dtype=object))[0]
        return frozen(ends(np.array(nodes, dtype=object))[0]), frozen(law)


def _polynomials(q: int, z: Any) -> tuple[Any, Any]:
    """Return the Hermite polynomials of degrees q - 1 and q at a ball, by their recursion."""
    before, last = ball(0), ball(1)
    for k in range(q):
        before, last = last, z * last - k * before
    return before, last
