"""One valid call of what theory.experiments computes without data of others."""

from __future__ import annotations

import numpy as np

VALID = {
    "train_moons": {"attention": "metric", "seed": 3, "rate": 0.125, "epochs": 1, "matching": "width", "root": 5},
    "data.draw_two_moons": {"points": 5, "noise": 0.25, "rng": np.random.default_rng(0)},
}

SKIPPED = {
    "trained_layers": "reads files of the package by names; tests/lipschitz/test_walk.py gives it others",
    "read_layers": "reads files: tests/lipschitz/test_walk.py gives it a damaged one",
}
ALIASES = {}
ACCEPTED = {}
LISTED = {}
INFINITE = set()
