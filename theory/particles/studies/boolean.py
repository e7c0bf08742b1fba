"""Attention on the line over time, and the delay of a row whose token starts near zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, Table, stream
from theory.particles.dynamics.flows import flow
from theory.particles.dynamics.passages import first_passage_time
from theory.particles.exact.boolean import LineField, UndecidedField

NAMED = (-1.2, -0.4, 0.3, 0.9, 1.5)
TIED = (-0.9, 0.2, 1.1)
COPIES = (1.0, 1.0, 2.0)
POSITIVE = (0.25, 0.5, 1.0)
TIMES = 10


def boolean(*, scale: str, root: int) -> Table:
    r"""Return the attention matrix on the line at eleven equidistant times, token by token.

    ``case`` is ``named``, ``positive``, ``tied`` (two equal largest tokens, as one) or ``random``, numbered by
    ``start``, for A = ``score`` and V = ``value``; ``clock`` is the time in units of 1/V. Per token, in increasing
    order: ``x`` is the position, ``selected`` the token of its largest weight, ``gap`` the distance of that from the
    nearest other one, ``log_error`` the logarithm of what the row leaves outside its largest weight, copies together,
    ``double`` the logarithm of minus that, and ``weight`` the largest weight of a single copy.
    """
    keys = (
        "case",
        "start",
        "score",
        "value",
        "clock",
        "token",
        "x",
        "selected",
        "gap",
        "log_error",
        "double",
        "weight",
    )
    columns: dict[str, list[Any]] = {key: [] for key in keys}
    cases = [("named", NAMED, 1.0, 1.0), ("named", NAMED, 0.5, 2.0), ("positive", POSITIVE, 2.0, 1.0)]
    cases.append(("tied", TIED, 1.0, 1.0))
    for number in range(3 if scale == "quick" else 40):
        rng = stream("particles.boolean", number, root=root)
        steps = rng.uniform(0.2, 0.8, size=int(rng.integers(2, 7)))  # tokens that nearly meet would need longer times
        drawn = np.concatenate([[0.0], np.cumsum(steps)]) - rng.uniform(0.0, float(steps.sum()))
        cases.append(("random", tuple(drawn), float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.5, 2.0))))
    for start, (case, tokens, score, value) in enumerate(cases):
        line = LineField(score, value, np.array(COPIES) if case == "tied" else None)
        times = np.arange(TIMES + 1.0) / value
        path = flow(line, line.state(tokens), times)
        for token in range(len(tokens)):
            for clock, found in enumerate(_row(line, path, token)):
                for key, cell in zip(columns, (case, start, score, value, clock, token, *found), strict=True):
                    columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def _row(line: LineField, path: Any, token: int) -> list[tuple[Any, ...]]:
    """Return what the columns say of one token at every time."""
    selected = [int(line.selected(state)[token]) for state in path.states]
    positions = path.observe(lambda state: line.tokens(state)[token])
    errors = path.observe(lambda state: line.log_error(state, token))
    doubles = path.observe(lambda state: math.log(-line.log_error(state, token)))
    copies = np.ones(path.last.size) if line.copies is None else line.copies
    weights = path.observe(lambda state: float((np.exp(line.log_weights(state)[token]) / copies).max()))
    gaps = [path.observe(lambda state, c=chosen: line.beside(state, c))[k] for k, chosen in enumerate(selected)]
    return list(zip(positions, selected, gaps, errors, doubles, weights, strict=True))


def delays(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return when the row of a token at :math:`\varepsilon` is decided, for tokens :math:`\pm1, \pm\varepsilon`.

    ``power`` is k for :math:`\varepsilon = e^{-2^k}`; ``delay`` is the time at which the score of the row's token with
    the largest one, :math:`AxX`, is one.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("score", "value", "power", "delay")}
    most = 17 if scale == "quick" else 21
    for score, value in ((1.0, 1.0), (0.5, 2.0)):
        field = UndecidedField(score, value)
        for power in range(4, most):
            delay: Interval = first_passage_time(field, np.array([0.0, -(2.0**power)]), field.log_score, 64.0 / value)
            for key, cell in zip(columns, (score, value, power, delay), strict=True):
                columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)
