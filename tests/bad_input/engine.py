"""One valid call of everything that theory.engine shows."""

from __future__ import annotations

import numpy as np

from theory.engine import Direction, Form, Pairs, attention

X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
V = np.array([[1.5, -0.5], [0.25, 2.0], [-1.0, 0.75]])
LOGS = np.array([0.5, -0.25, 0.0])
PAIRS = Pairs(Form.DOT, X, Y, np.array([0.7]))
GIVEN = {"pairs": PAIRS, "log_weights": LOGS, "visible": np.array([1, 2, 3])}

VALID = {
    "attention": {**GIVEN, "values": V, "precision": "double", "method": "dense", "accuracy": 1e-9},
    "jvp": {**GIVEN, "values": V, "direction": Direction(X, Y, V, LOGS)},
    "merge": {"parts": [attention(PAIRS, V), attention(PAIRS, V)]},
    "moments": {**GIVEN, "values": V},
    "vjp": {**GIVEN, "values": V, "cotangent": V},
    "weights": GIVEN,
}

SKIPPED = {"Pairs": "looked at by what takes it, since small calls make many"}
_WIDENED = "the kernels take float64 only; the rooms above convert, and the engine refuses to copy in silence"
LISTED = {
    ("*", name, width): _WIDENED for name in ("values", "log_weights", "cotangent") for width in ("float16", "float32")
}
