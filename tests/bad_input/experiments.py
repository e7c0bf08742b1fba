"""One valid call of what theory.experiments computes without data of others."""

from __future__ import annotations

import numpy as np

VALID = {
    "Setting": {"task": "moons", "attention": "metric", "seed": 3, "rate": 0.125},
    "Variant": {"attention": "l2", "matching": "parameters", "labels": "true", "rule": "tuned"},
    "data.draw_two_moons": {"points": 5, "noise": 0.25, "rng": np.random.default_rng(0)},
    "training.Adam": {"size": 3, "rate": 0.125, "decay": 0.25},
}

SKIPPED = {
    "run_experiment": "it trains for minutes; tests/experiments/training has its refusals",
    "make_task": "it makes the tasks below, of a name, a folder and a root",
}
ALIASES = {}
NAMED = "a task of one's own has any name"
ACCEPTED = {
    ("Setting", "task", "text"): NAMED,
    ("Setting", "task", "blank"): NAMED,
}
LISTED = {}
INFINITE = set()
