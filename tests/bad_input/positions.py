"""One valid call of everything that theory.positions shows."""

from __future__ import annotations

import numpy as np

from theory.positions import window_walk

WALK = window_walk(5, 3, 0.5)
PLACES = np.array([1, 0, 3])
TOKENS = np.array([[0.5, -1.25, 0.75, 2.0], [1.5, 0.25, -0.5, 1.0], [-0.75, 2.0, 0.25, -1.5]])
TANGENTS = np.array([-1.5, 0.25, 0.75, 2.0])

VALID = {
    "causal_influence": {"tokens": 6, "depth": 3, "residual": 0.5},
    "window_walk": {"window": 5, "depth": 3, "residual": 0.5},
    "Walk.at": {"self": WALK, "distance": 3},
    "Walk.beyond": {"self": WALK, "distance": 3},
    "Walk.horizon": {"self": WALK, "share": 0.25},
    "Walk.mean": {"self": WALK},
    "Walk.variance": {"self": WALK},
    "rotate": {"tokens": TOKENS, "positions": PLACES, "base": 100.0},
    "cosine_sums": {"base": 100.0, "distances": PLACES, "dim": 8},
    "least_sum": {"base": 100.0, "most": 10, "dim": 8},
    "rule_out": {"lo": 1.5, "hi": 4.0, "most": 10, "dim": 8},
    "least_base": {"hi": 1000.0, "most": 10, "dim": 8},
    "admissible_bases": {"hi": 1000.0, "most": 10, "dim": 8},
    "least_sum_beyond": {"base": 100.0, "most": 10, "dim": 8},
    "least_width": {"keys": 7, "chosen": 2},
    "margin_ceiling": {"keys": 7, "chosen": 2},
    "moment_keys": {"places": TANGENTS, "chosen": 2},
    "selecting_query": {"places": TANGENTS, "chosen": 2, "selected": np.array([0, 2])},
    "radon_partition": {"points": TOKENS[:, :1]},
}
SKIPPED = {
    "Walk": "made by window_walk, which checks what it is made of",
    "Radon": "what radon_partition answers",
    "Piece": "a row of what admissible_bases answers",
    "Cell": "a row of what rule_out answers",
}
