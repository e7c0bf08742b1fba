"""Losses of one-hot targets: of two classes against the margin, and of several against the order of the entropy."""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.maxent.losses.rounding import loss_interval

ORDERS = (1.0, 1.5, 2.0, 3.0, math.inf)
LOGITS = (1.0, 0.5, 0.0, -1.0)
SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0)
REACH = (-3.0, 4.0)
STEPS = {"quick": (8, 4), "paper": (16, 8)}  # margins per unit, orders per octave


def losses(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return the losses L(s; e_k), row by row.

    In panel ``two`` the scores are (x, 0) and the target is the first, for x on a grid and the orders of ``ORDERS``;
    in panel ``four`` they are ``LOGITS`` times each of ``SPREADS`` and the target is the second, for orders from 1/2
    to 16, those at which the largest score leads by the margin, and infinity. ``lead`` is the score of the target less
    the largest other one, ``shortfall`` the largest score less its own, ``range`` the largest less the smallest.
    """
    margins, octave = STEPS[scale]
    grid = np.linspace(*REACH, round((REACH[1] - REACH[0]) * margins) + 1).tolist()
    vanishing = [1.0 + 1.0 / (r * (LOGITS[0] - LOGITS[1])) for r in SPREADS if r > 0.0]
    orders = sorted({*(2.0 ** (j / octave) for j in range(-octave, 4 * octave + 1)), *vanishing, math.inf})
    cases = [("two", alpha, [x, 0.0], 0) for alpha in ORDERS for x in grid]
    cases += [("four", alpha, [r * x for x in LOGITS], 1) for r in SPREADS for alpha in orders]
    rows: dict[str, list[float]] = {name: [] for name in ("alpha", "classes", "range", "lead", "shortfall")}
    loss: list[Interval] = []
    for _, alpha, scores, k in cases:
        top = max(scores)
        lead = scores[k] - max(scores[:k] + scores[k + 1 :])
        for name, value in zip(rows, (alpha, len(scores), top - min(scores), lead, top - scores[k]), strict=True):
            rows[name].append(value)
        loss.append(loss_interval(scores, np.eye(len(scores))[k], alpha))
    units = dict.fromkeys(["panel", *rows, "loss"], "1")
    return Table(Kind.NUMERIC, units, {"panel": [panel for panel, *_ in cases], **rows, "loss": loss})
