"""One valid call of everything that theory.engine shows."""

from __future__ import annotations

import numpy as np

from theory.engine import Direction, Form, Pairs, attention, prepare

X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
V = np.array([[1.5, -0.5], [0.25, 2.0], [-1.0, 0.75]])
LOGS = np.array([0.5, -0.25, 0.0])
PAIRS = Pairs(Form.DOT, X, Y, np.array([0.7]))
GIVEN = {"pairs": PAIRS, "log_weights": LOGS, "visible": np.array([1, 2, 3])}
PREPARED = prepare(Form.DOT, np.array([0.7]))

VALID = {
    "attention": {**GIVEN, "values": V, "precision": "double", "method": "dense", "accuracy": 1e-9},
    "jvp": {**GIVEN, "values": V, "direction": Direction(X, Y, V, LOGS)},
    "merge": {"parts": [attention(PAIRS, V), attention(PAIRS, V)]},
    "moments": {**GIVEN, "values": V},
    "prepare": {"form": Form.DOT, "coefficients": np.array([0.7]), "log_weights": LOGS, "visible": np.array([1, 2, 3])},
    "Prepared.__call__": {"self": PREPARED, "queries": X, "keys": Y, "values": V},
    "vjp": {**GIVEN, "values": V, "cotangent": V},
    "weights": GIVEN,
}

SKIPPED = {
    "Pairs": "looked at by what takes it, since small calls make many",
    "Prepared": "what prepare returns; nobody makes one by hand",
    "quiet_blas": "takes nothing",
    "Prepared.quick": "answers nothing where it does not know, and leaves the words to attention",
}
_WIDENED = "the kernels take float64 only; the rooms above convert, and the engine refuses to copy in silence"
_TOKENS = ("queries", "keys", "coefficients")
ALIASES = {"queries": ("score",), "keys": ("score",)}
LISTED = {
    ("*", name, width): _WIDENED
    for name in ("values", "log_weights", "cotangent", *_TOKENS)
    for width in ("float16", "float32")
}
