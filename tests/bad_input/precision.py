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
}  # fmt: skip
SKIPPED = {
    "Codebook": "a record of what best_codebook answers",
}
