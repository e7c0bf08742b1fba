"""One layer of attention on long contexts of equiangular tokens: cosine of the outputs and size of the Jacobian."""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.particles.exact.critical import equiangular_tokens, jacobian_size, layer_statistics, output_overlaps

OVERLAPS = (0.5, 0.2)
SIZES = (10**3, 10**6, 10**9, 10**12)
SCALED = {"quick": np.linspace(0.2, 2.0, 19), "paper": np.linspace(0.1, 2.2, 43)}
PRINTED = (0.6, 1.0, 1.6)
WHOLE = {"quick": (64, 128), "paper": (64, 128, 256, 1024)}
_SMALL = 200  # taken: up to here, tokens that move anywhere are looked at as well


def critical(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return the cosine of two outputs, and :math:`\frac1{nd}\|\nabla\|_F^2` at :math:`d = n`.

    ``scaled`` is :math:`\gamma(1 - \rho)`, with ``overlap`` :math:`\rho` and :math:`\beta = \gamma\log n` in ``beta``.
    ``way`` is ``folded`` where one mean stands for all but four tokens, and ``tokens`` where none is left out.
    ``quantity`` is ``cosine``, ``tangential`` or ``euclidean``, the last two the Jacobian along the sphere or not.
    """
    rows: list[tuple[str, str, int, float, float, float, Interval]] = []
    for rho in OVERLAPS:
        for n in SIZES:
            for scaled in SCALED[scale].tolist():
                beta = scaled / (1.0 - rho) * math.log(n)
                found = layer_statistics(n, rho, beta)
                rows.append(("cosine", "folded", n, rho, scaled, beta, found.cosine))
                rows.append(("tangential", "folded", n, rho, scaled, beta, found.jacobian))
    for n in WHOLE[scale]:
        for scaled in PRINTED:
            rho = OVERLAPS[0]
            beta = scaled / (1.0 - rho) * math.log(n)
            product, square = output_overlaps(equiangular_tokens(n, rho), beta)
            rows.append(("cosine", "tokens", n, rho, scaled, beta, product / square))
            rows.append(("tangential", "tokens", n, rho, scaled, beta, jacobian_size(n, rho, beta)))
            if n < _SMALL:
                size = jacobian_size(n, rho, beta, tangential=False)
                rows.append(("euclidean", "tokens", n, rho, scaled, beta, size))
    names = ("quantity", "way", "n", "overlap", "scaled", "beta", "value")
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), dict(zip(names, zip(*rows, strict=True), strict=True)))
