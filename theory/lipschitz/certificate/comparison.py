r"""The norm of a layer at given tokens beside what is said of it on the ball that holds them.

*Products* are the theorems of this room with :math:`\|W_Q\|\|W_K\|` for the norm of the form and
:math:`\|W_O\|\|W_V\|` for that of the values, as where products of matrices are not formed. *Published*, in the
Frobenius norm: of dot products :math:`\sqrt3\,\|V\|\sqrt{\alpha^2(4n + 1) + n}` and, without a mask,
:math:`\|V\|(1 + 3\alpha)e^{2\alpha}`, the smaller, added over heads (Castin, Ablin, Peyré), of distance attention
:math:`\sqrt n(1 + 4c_n)(\sum_h\|A_h\|^2\|W_V^h\|^2)^{1/2}\|W_O\|` (Kim, Papamakarios, Mnih, as mended in
:func:`theory.lipschitz.constants.tied_constants`).

Of a mask the last holds since :math:`1 + 4c_n` bounds every row that sees its own token
(``distance-attention.max-norm``), and the first since it is a bound of rows: with :math:`\sum_jP_{ij}|x_j - m_i|^2 \le
R^2` row i has

.. math:: |dF_i|^2 \le 3\|V\|^2\Big[(1 + \alpha^2)\sum_jP_{ij}|h_j|^2 + \alpha^2|h_i|^2\Big],

and columns of P sum to at most n, masked or not: :math:`\sqrt3\,\|V\|\sqrt{\alpha^2(n + 1) + n}`, which is less. Of
query biases and of positions neither paper says anything: with a bias the constant is that of the layer without it,
and said to be, since it bounds nothing here; with positions there is none.

References
----------
V. Castin, P. Ablin, G. Peyré, *How smooth is attention?*, ICML 2024.
H. Kim, G. Papamakarios, A. Mnih, *The Lipschitz constant of self-attention*, ICML 2021.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from theory.lipschitz.certificate.certify import Certificate, upper_bounds
from theory.lipschitz.certificate.local import LocalCertificate, LocalRow
from theory.lipschitz.certificate.upper_bounds import above
from theory.lipschitz.certificate.weights import AttentionWeights, as_attention_weights
from theory.lipschitz.constants.distance import distance_constant
from theory.lipschitz.constants.frobenius import frobenius_constants, published_constant

FAMILIES = ("on the ball", "products", "published", "found")


class Comparison(NamedTuple):
    """One metric: what holds at the tokens, and constants of the ball by their names in ``FAMILIES``."""

    local: LocalRow
    bounds: dict[str, float | None]
    unbiased: bool = False
    """Whether the published constant is that of the layer without its query bias."""


def compare(certificate: Certificate, local: LocalCertificate, **weights: Any) -> list[Comparison]:
    """Return a row for every metric of displacements; the ball of the certificate holds the tokens.

    Raises
    ------
    ArithmeticError
        If what is reached at the tokens is above a constant, which would be a fault of this package.
    """
    layer = as_attention_weights(**{"w_out": None, **weights})
    norms = layer.norms(turned=True)
    apart = norms._replace(values=tuple(value * norms.out for value in norms.own))
    if not certificate.rotary:  # a bias of the keys drops out
        apart = apart._replace(tilts=(), offsets=())
    products = upper_bounds(layer, apart, certificate.radius, local.n, turned=certificate.rotary)[2]
    found = []
    for row in local.rows:
        least = min((bound.constant for bound in products.get(row.metric, [])), default=None)
        published = _published(layer, certificate, local.n) if row.metric == "frobenius" else None
        own = certificate.row(row.metric)
        if own.constant is not None and row.norm.lo > own.constant:
            raise ArithmeticError(f"{row.metric}: the constant {own.constant} is below {row.norm.lo}, which is reached")
        constants = (own.constant, _added(layer, least), _added(layer, published), own.lower)
        without = published is not None and layer.b_query is not None
        found.append(Comparison(row, dict(zip(FAMILIES, constants, strict=True)), without))
    return found


def _added(layer: AttentionWeights, constant: float | None) -> float | None:
    """Add the identity of a residual."""
    return above(1.0 + constant) if constant is not None and layer.residual else constant


def _published(layer: AttentionWeights, certificate: Certificate, n: int) -> float | None:
    """Return the constant of the literature, of the layer without its bias; None with positions."""
    if certificate.rotary:
        return None
    norms = layer.norms()
    if layer.score == "distance":
        rows = distance_constant(n) if n > 1 else 1.0
        pairs = zip(norms.forms, norms.own, strict=True)
        return math.sqrt(n) * rows * math.hypot(*(form.hi * own.hi for form, own in pairs)) * norms.out.hi
    total = 0.0
    for alpha, value in zip(certificate.alphas, norms.values, strict=True):
        flat = math.sqrt(n) if layer.causal else 1.0  # of a form that is zero
        total += value.hi * (_least(alpha, n, layer.causal) if alpha > 0.0 else flat)
    return total


def _least(alpha: float, n: int, causal: bool) -> float:
    try:
        rows = frobenius_constants(alpha, n).published
        return rows if causal else min(rows, published_constant(alpha))
    except ValueError:  # float64 cannot hold one of them
        return math.inf
