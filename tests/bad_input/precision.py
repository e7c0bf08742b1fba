"""One valid call of everything that theory.precision shows."""

from __future__ import annotations

import numpy as np

from theory.precision import best_codebook

BOOK = best_codebook(2, 4)
TOKENS = np.array([[0.5, -1.25, 0.75, 2.0], [1.5, 0.25, -0.5, 1.0], [-0.75, 2.0, 0.25, -1.5]])

VALID = {
    "best_codebook": {"bits": 2, "dim": 4},
    "quantise": {"tokens": TOKENS, "codebook": BOOK, "rotation": np.eye(4)},
    "corrected_products": {
        "queries": TOKENS[::-1].copy(), "keys": TOKENS, "coded": TOKENS * 0.75, "rng": np.random.default_rng(0),
    },
    "round_to": {"values": TOKENS, "form": "bfloat16"},
    "gradient_error": {
        "length": 64, "rows": 2, "form": "bfloat16", "depth": 16, "size": 2.0, "spread": 1.0, "partition": 0.25,
        "mean": 0.125, "score": 0.5,
    },
    "gradient_tolerance": {
        "length": 64, "rows": 2, "form": "bfloat16", "width": 16, "depth": 16, "score": 4.0, "size": 2.0, "spread": 1.0,
        "reach": 2.0, "slope": 3.0, "additions": 9, "rises": 3,
    },
    "slope_power": {"spread": 0.75},
    "pass_error": {"length": 64, "rows": 2, "form": "bfloat16", "depth": 16, "additions": 9, "rises": 3},
    "stream_logarithm": {
        "scores": np.array([0.5, -1.0, 0.25]), "plan": ([[0], []], [[2, 1]]), "form": "float16", "sink": 0.25,
    },
    "stream_gradients": {
        "queries": TOKENS[:1], "keys": TOKENS, "values": TOKENS, "slopes": TOKENS[1:2], "partitions": np.array([2.5]),
        "means": np.array([0.5]), "plan": ([[0], []], [[2, 1]]), "form": "e4m3", "scale": 0.5,
        "mask": np.array([[True, False, True]]), "power": 7,
    },
    "rotary_phases": {
        "base": 10000.0, "dim": 8, "positions": np.array([0, 7, 4095]), "frequencies": "bfloat16", "product": "float32",
    },
    "stream_attention": {
        "queries": TOKENS[:1], "keys": TOKENS, "values": TOKENS, "plan": ([[0], []], [[2, 1]]), "form": "float16",
        "scale": 0.5, "mask": np.array([[True, False, True]]), "sink": 0.25,
    },
    "stream_error": {"length": 64, "form": "bfloat16", "additions": 9, "rises": 3, "width": 16},
    "stream_row": {
        "scores": np.array([0.5, -1.0, 0.25]), "values": TOKENS, "plan": ([[0], []], [[2, 1]]), "form": "e4m3",
        "sink": 0.25,
    },
}  # fmt: skip
SKIPPED = {
    "Gradients": "a record of what stream_gradients answers",
    "PassError": "a record of what pass_error answers",
    "GradientError": "a record of what gradient_error answers",
    "StreamError": "a record of what stream_error answers",
    "Codebook": "a record of what best_codebook answers",
}
ACCEPTED = {
    ("round_to", "values", "empty"): "an array of any shape",
    ("round_to", "values", "rank"): "an array of any shape",
    ("stream_row", "scores", "-inf"): "a hidden key",
    ("stream_logarithm", "scores", "-inf"): "a hidden key",
}
