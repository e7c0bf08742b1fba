"""Numbers of a certificate as they are printed: rounded in the safe direction."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from theory.lipschitz.certificate.certify import Row

UP = Context(prec=6, rounding=ROUND_CEILING)
DOWN = Context(prec=6, rounding=ROUND_FLOOR)
NAMES = {"Winf": "W_inf", "frobenius": "Frobenius"}


def digits(number: float, context: Context) -> str:
    """Return six digits, rounded in the safe direction."""
    return "> 1.79e308" if number == math.inf else f"{context.create_decimal(number):.6g}"


def theorem(row: Row) -> str:
    """Return the theorem of a row with its hypotheses."""
    return row.hypotheses if row.constant is None else f"{row.label} {row.claim}: {row.hypotheses}"
