"""One valid call of everything that theory.maxent shows."""

from __future__ import annotations

import numpy as np

from theory.attention import Measure
from theory.evidence.enclosure import balls
from theory.maxent import BetaGaussian, LinearScores, Predictor, row_map

SCORES = np.array([[1.0, 0.5, -1.5], [0.25, 0.75, 0.5]])
LAWS = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])
PULL = np.array([[0.5, -1.5, 2.0], [0.25, 0.5, -0.75]])
ROW, LAW = SCORES[0], LAWS[0]
BATCH = {"scores": SCORES, "tau": 0.7, "axis": -1}
SLOPE = {"weights": LAWS, "cotangent": PULL, "tau": 0.7, "axis": -1}
PRIOR = np.array([0.5, 0.25, 0.25])
BASIS = np.array([[0.5, 1.0], [-0.25, 0.75], [1.5, -0.5]])
DENSITY = BetaGaussian([0.5, -0.25], [[1.5, 0.25], [0.25, 0.75]], 1.3)
FAMILY = LinearScores(BASIS, PRIOR, 0.7)
MODEL = Predictor(row_map("sparsemax"), 3, 2, 2, width=2, heads=1)
WEIGHTS = np.linspace(-0.5, 0.5, MODEL.size)
WORDS = np.linspace(-1.0, 1.0, 12).reshape(2, 3, 2)
TARGETS = np.array([[0.25, 0.75], [0.5, 0.5]])
CELLS = np.array([0.5, 0.25, 0.25])

VALID = {
    "BetaGaussian": {"mean": np.array([0.5, -0.25]), "scatter": np.array([[1.5, 0.25], [0.25, 0.75]]), "alpha": 1.3},
    "BetaGaussian.density": {"self": DENSITY, "x": np.array([[0.5, 0.25]])},
    "BetaGaussian.sample": {"self": DENSITY, "rng": np.random.default_rng(0), "size": 3},
    "LinearScores": {"basis": BASIS, "prior": PRIOR, "tau": 0.7},
    **{
        f"LinearScores.{method}": {"self": FAMILY, "parameters": np.array([0.5, -0.75])}
        for method in ("scores", "weights", "log_weights", "value", "gradient", "hessian", "error")
    },
    "Predictor": {"rows": row_map("softmax"), "length": 3, "features": 2, "classes": 2, "width": 2, "heads": 1},
    "Predictor.initial": {"self": MODEL, "rng": np.random.default_rng(0)},
    "Predictor.predict": {"self": MODEL, "parameters": WEIGHTS, "x": WORDS},
    "Predictor.objective": {"self": MODEL, "parameters": WEIGHTS, "x": WORDS, "y": TARGETS, "decay": 0.3},
    "Predictor.fit": {
        "self": MODEL, "x": WORDS, "y": TARGETS, "decay": 0.3, "iterations": 2, "rng": np.random.default_rng(0),
    },
    "RowMap": {"law": row_map("softmax").law, "vjp": row_map("softmax").vjp},
    "RowMap.__call__": {"self": row_map("softmax"), "scores": SCORES},
    "bisected_entmax": {"scores": ROW, "alpha": 1.7, "halvings": 30, "tau": 0.7, "normalised": True},
    "budget": {**BATCH, "total": 1.3},
    "budget_vjp": SLOPE,
    "cosine": {"law": LAW, "scores": np.array([1.0, 0.5, 1.5])},
    "cosine_law": {"scores": np.array([1.0, 0.5, 1.5])},
    "density_at": {"scores": ROW, "normaliser": 0.7, "alpha": 1.3},
    "density_on_cells": {"scores": ROW, "measure": CELLS, "alpha": 1.3},
    "divergence": {"law": LAW, "reference": LAWS[1]},
    "entmax": {**BATCH, "alpha": 1.7},
    "entmax15": BATCH,
    "entmax15_vjp": SLOPE,
    "entmax_alpha_derivative": {"weights": LAWS, "alpha": 1.7, "axis": -1},
    "entmax_gap": {"scores": ROW, "law": LAW, "alpha": 1.7, "tau": 0.7},
    "entmax_norm": {"weights": np.array([0.5, 0.125]), "alpha": 1.7, "counts": np.array([1.0, 4.0]), "tau": 0.7},
    "entmax_support": {**BATCH, "alpha": 1.7},
    "entmax_value": {**BATCH, "alpha": 1.7},
    "entmax_vjp": {**SLOPE, "alpha": 1.7},
    "entropy": {"law": LAW},
    "escort_covariance": {
        "density": np.array([0.5, 1.5, 1.5]), "measure": CELLS, "psi": BASIS, "phi": BASIS, "alpha": 1.3,
    },
    "expectation": {"law": LAW, "values": ROW},
    "fenchel_young_gradient": {**BATCH, "target": LAWS, "alpha": 1.7},
    "fenchel_young_loss": {**BATCH, "target": LAWS, "alpha": 1.7},
    "frank_wolfe_gap": {"gradient": balls([0.5, -0.25, 1.0]), "law": LAW},
    "free_energy": {"scores": ROW, "law": LAW, "tau": 0.7},
    "fusedmax": {**BATCH, "strength": 0.3, "alpha": 1.7},
    "fusedmax_vjp": {**SLOPE, "alpha": 1.7, "mask": np.ones(LAWS.shape, dtype=np.bool_)},
    "gibbs_law": {"scores": ROW, "tau": 0.7},
    "induced_norms": {"matrix": BASIS},
    "law_error": {"scores": ROW, "alpha": 1.7, "tau": 0.7},
    "linear_law": {"scores": np.array([1.0, 0.5, 1.5]), "towards": PRIOR},
    "log_partition": {"scores": ROW, "reference": PRIOR},
    "log_softmax": {**BATCH, "prior": PRIOR},
    "loss_interval": {"scores": ROW, "target": LAW, "alpha": 1.7, "tau": 0.7},
    "normmax": {**BATCH, "alpha": 1.7},
    "normmax_vjp": {**SLOPE, "alpha": 1.7},
    "row_map": {"name": "fusedmax", "mask": np.ones(LAWS.shape, dtype=np.bool_), "strength": 0.3},
    "softmax": {**BATCH, "prior": PRIOR},
    "softmax_jacobian": {"weights": LAWS, "tau": 0.7},
    "softmax_norms": {"law": LAW, "tau": 0.7},
    "softmax_value": {**BATCH, "prior": PRIOR},
    "softmax_vjp": SLOPE,
    "sparsemax": BATCH,
    "sparsemax_vjp": SLOPE,
    "stationarity_residual": {"scores": ROW, "alpha": 1.7, "tau": 0.7},
    "tilted": {"mu": Measure(BASIS, PRIOR), "features": BASIS[:, :1], "moment": np.array([0.4])},
    "total_variation_prox": {"scores": SCORES, "strength": 0.3, "axis": -1},
    "tsallis": {"law": LAWS, "alpha": 1.7, "axis": -1},
}  # fmt: skip
SKIPPED = {}
ACCEPTED = {
    ("row_map", "strength", "rank"): "broadcasts against rows that are not there yet",
    ("row_map", "strength", "empty"): "broadcasts against rows that are not there yet",
    ("*", "scores", "-inf"): "masks an entry",
    ("*", "scores", "empty"): "a batch of no rows",
    ("*", "scores", "rank"): "a batch of any number of axes",
    ("entmax_alpha_derivative", "weights", "empty"): "a batch of no rows",
    ("entmax_alpha_derivative", "weights", "rank"): "a batch of any number of axes",
    ("softmax_jacobian", "weights", "empty"): "a batch of no rows",
    ("softmax_jacobian", "weights", "rank"): "a batch of any number of axes",
    ("tsallis", "law", "empty"): "a batch of no rows",
    ("tsallis", "law", "rank"): "a batch of any number of axes",
    ("BetaGaussian.density", "x", "empty"): "points of any shape (..., d)",
    ("BetaGaussian.density", "x", "rank"): "points of any shape (..., d)",
}
LISTED = {}
INFINITE = {  # bounds that know nothing; logarithms of masks; losses and entropies beyond float64, as documented
    "LinearScores.error", "entmax_value", "fenchel_young_loss", "gibbs_law", "law_error", "log_softmax",
    "stationarity_residual", "total_variation_prox", "tsallis",
}  # fmt: skip
