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
    "sparse.bisect_entmax": {"scores": ROW, "alpha": 1.7, "halvings": 30, "tau": 0.7, "normalised": True},
    "budget": {**BATCH, "total": 1.3},
    "budget_vjp": SLOPE,
    "layers.cosine": {"weights": LAW, "scores": np.array([1.0, 0.5, 1.5])},
    "layers.cosine_law": {"scores": np.array([1.0, 0.5, 1.5])},
    "densities.density_at": {"scores": ROW, "normaliser": 0.7, "alpha": 1.3},
    "densities.density_on_cells": {"scores": ROW, "weights": CELLS, "alpha": 1.3},
    "gibbs.ascended_query": {
        "differences": np.array([[0.5, 1.25], [1.0, -0.5]]), "worths": np.array([1.0, 2.5]),
        "times": np.array([2.5, 100.0]),
    },
    "gibbs.divergence": {"weights": LAW, "reference": LAWS[1]},
    "entmax": {**BATCH, "alpha": 1.7},
    "entmax15": BATCH,
    "entmax15_vjp": SLOPE,
    "sparse.entmax_alpha_derivative": {"weights": LAWS, "alpha": 1.7, "axis": -1},
    "entmax_gap": {"scores": ROW, "weights": LAW, "alpha": 1.7, "tau": 0.7},
    "sparse.entmax_norm": {"weights": np.array([0.5, 0.125]), "alpha": 1.7, "counts": np.array([1.0, 4.0]), "tau": 0.7},
    "sparse.entmax_support": {**BATCH, "alpha": 1.7},
    "sparse.entmax_threshold": {**BATCH, "alpha": 1.7},
    "entmax_value": {**BATCH, "alpha": 1.7},
    "entmax_vjp": {**SLOPE, "alpha": 1.7},
    "gibbs.entropy": {"weights": LAW},
    "densities.escort_covariance": {
        "density": np.array([0.5, 1.5, 1.5]), "weights": CELLS, "psi": BASIS, "phi": BASIS, "alpha": 1.3,
    },
    "gibbs.expectation": {"weights": LAW, "values": ROW},
    "fenchel_young_gradient": {**BATCH, "target": LAWS, "alpha": 1.7},
    "fenchel_young_loss": {**BATCH, "target": LAWS, "alpha": 1.7},
    "frank_wolfe_gap": {"gradient": balls([0.5, -0.25, 1.0]), "weights": LAW},
    "gibbs.free_energy": {"scores": ROW, "weights": LAW, "tau": 0.7},
    "fusedmax": {**BATCH, "strength": 0.3, "alpha": 1.7},
    "fusedmax_vjp": {**SLOPE, "alpha": 1.7, "mask": np.ones(LAWS.shape, dtype=np.bool_)},
    "gibbs.gibbs_law": {"scores": ROW, "tau": 0.7},
    "gibbs.induced_norms": {"matrix": BASIS},
    "losses.law_error": {"scores": ROW, "alpha": 1.7, "tau": 0.7},
    "layers.linear_law": {"scores": np.array([1.0, 0.5, 1.5]), "towards": PRIOR},
    "gibbs.log_partition": {"scores": ROW, "reference": PRIOR},
    "log_softmax": {**BATCH, "prior": PRIOR},
    "losses.loss_interval": {"scores": ROW, "target": LAW, "alpha": 1.7, "tau": 0.7},
    "normmax": {**BATCH, "alpha": 1.7},
    "normmax_vjp": {**SLOPE, "alpha": 1.7},
    "row_map": {"name": "fusedmax", "mask": np.ones(LAWS.shape, dtype=np.bool_), "strength": 0.3},
    "softmax": {**BATCH, "prior": PRIOR},
    "gibbs.softmax_jacobian": {"weights": LAWS, "tau": 0.7},
    "gibbs.mean_multiplier": {"scores": ROW, "mean": 0.25},
    "gibbs.softmax_spectrum": {"weights": balls(LAW)},
    "gibbs.gap_scale": {"scores": ROW},
    "gibbs.lognormal_moments": {"variance": 0.25, "most": 4},
    "gibbs.second_value_bound": {"size": 1000, "variance": 0.25, "power": 3, "risk": 0.125},
    "gibbs.trace_moment": {"rows": 2, "columns": 3, "power": 2, "moments": np.array([1.0, 0.0, 1.0, -0.5, 4.0])},
    "gibbs.retrieval_weight": {"others": 50, "dim": 10, "factor": 0.5},
    "gibbs.gaussian_weights": {"size": 5, "deviation": 1.5},
    "gibbs.peak_entropy": {"size": 5, "norm": 1.5, "peaks": 2},
    "gibbs.weight_range": {"size": 5, "spread": 1.5},
    "gibbs.tokens_to_disperse": {"weight": 0.25, "spread": 1.5},
    "gibbs.softmax_norms": {"weights": LAW, "tau": 0.7},
    "softmax_value": {**BATCH, "prior": PRIOR},
    "softmax_vjp": SLOPE,
    "sparsemax": BATCH,
    "sparsemax_vjp": SLOPE,
    "losses.stationarity_residual": {"scores": ROW, "alpha": 1.7, "tau": 0.7},
    "gibbs.match_moments": {"mu": Measure(BASIS, PRIOR), "features": BASIS[:, :1], "moment": np.array([0.4])},
    "sparse.total_variation_prox": {"scores": SCORES, "strength": 0.3, "axis": -1},
    "sparse.tsallis": {"weights": LAWS, "alpha": 1.7, "axis": -1},
}  # fmt: skip
SKIPPED = {}
ACCEPTED = {
    ("row_map", "strength", "rank"): "broadcasts against rows that are not there yet",
    ("row_map", "strength", "empty"): "broadcasts against rows that are not there yet",
    ("*", "scores", "-inf"): "masks an entry",
    ("*", "scores", "empty"): "a batch of no rows",
    ("*", "scores", "rank"): "a batch of any number of axes",
    ("sparse.entmax_alpha_derivative", "weights", "empty"): "a batch of no rows",
    ("sparse.entmax_alpha_derivative", "weights", "rank"): "a batch of any number of axes",
    ("gibbs.softmax_jacobian", "weights", "empty"): "a batch of no rows",
    ("gibbs.softmax_jacobian", "weights", "rank"): "a batch of any number of axes",
    ("sparse.tsallis", "weights", "empty"): "a batch of no rows",
    ("sparse.tsallis", "weights", "rank"): "a batch of any number of axes",
    ("BetaGaussian.density", "x", "empty"): "points of any shape (..., d)",
    ("BetaGaussian.density", "x", "rank"): "points of any shape (..., d)",
}
LISTED = {}
INFINITE = {  # bounds that know nothing; logarithms of masks; losses and entropies beyond float64, as documented
    "LinearScores.error", "entmax_value", "fenchel_young_loss", "gibbs.gibbs_law", "losses.law_error", "log_softmax",
    "losses.stationarity_residual", "sparse.total_variation_prox", "sparse.tsallis",
}  # fmt: skip

HALF = [0.5, 0.25]
EVEN = [0.5, 0.5]
SUM = "expected (masses|rows) with sum 1"
SIGN = "expected non-negative masses"
REFUSED = [  # what is changed in the valid call, and how the message begins
    ("BetaGaussian", {"scatter": [[-1.0, 0.0], [0.0, 1.0]]}, "scatter: expected a positive definite matrix"),
    ("BetaGaussian", {"scatter": [[1.0, 0.5], [0.0, 1.0]]}, "scatter: expected a symmetric matrix"),
    ("BetaGaussian", {"scatter": [[1.0]]}, r"scatter: expected shape \(2, 2\)"),
    ("BetaGaussian", {"mean": np.zeros(3), "scatter": np.eye(3), "alpha": 0.3}, "alpha: expected more than 1 - 2/d"),
    ("BetaGaussian.density", {"x": [0.0, 1.0, 2.0]}, r"x: expected shape \(..., 2\)"),
    ("BetaGaussian.sample", {"size": 0}, "size: expected an integer of at least 1"),
    ("LinearScores", {"prior": EVEN}, r"prior: expected shape \(3,\)"),
    ("LinearScores", {"prior": [0.5, 0.5, 0.0]}, "prior: expected positive masses, got 0.0 at index 2"),
    ("LinearScores", {"prior": [0.5, 0.5, 0.5]}, "prior: expected masses with sum 1"),
    *(
        (
            f"LinearScores.{method}",
            {"parameters": [1.0, 2.0, 3.0]},
            r"parameters: expected shape \(2,\), got shape \(3,\)",
        )
        for method in ("scores", "weights", "log_weights", "value", "gradient", "hessian", "error")
    ),
    ("Predictor", {"length": 0}, "length: expected an integer of at least 1"),
    ("Predictor.objective", {"parameters": WEIGHTS[1:]}, "parameters: expected shape"),
    ("Predictor.objective", {"x": WORDS[:, 1:]}, r"x: expected shape \(N, 3, 2\), got shape \(2, 2, 2\)"),
    ("Predictor.objective", {"x": WORDS[:0]}, r"x: expected shape \(N, 3, 2\), got shape \(0, 3, 2\)"),
    ("Predictor.objective", {"y": TARGETS[1:]}, r"y: expected shape \(2, 2\), got shape \(1, 2\)"),
    ("Predictor.objective", {"y": 2.0 * TARGETS}, "y: expected rows with sum 1"),
    ("Predictor.objective", {"y": TARGETS - 0.5}, f"y: {SIGN}"),
    ("Predictor.objective", {"decay": 0.0}, "decay: expected a positive, finite number"),
    ("row_map", {"name": "hardmax"}, "name: expected one of softmax, entmax"),
    ("sparse.bisect_entmax", {"alpha": 1.0}, "alpha: expected a number above 1, got 1.0"),
    ("sparse.bisect_entmax", {"halvings": 0}, "halvings: expected an integer of at least 1, got 0"),
    ("sparse.bisect_entmax", {"scores": [1e200, 0.0]}, "scores, alpha, tau: expected"),
    ("sparse.bisect_entmax", {"alpha": 1e200}, "scores, alpha, tau: expected"),
    ("sparse.bisect_entmax", {"tau": 5e-324}, "scores, alpha, tau: expected"),
    ("budget", {"total": 3.5}, "total: expected at most the 3 entries left in a row, got 3.5"),
    (
        "budget",
        {"scores": [1.0, -np.inf], "total": 1.5},
        "total: expected at most the 1 entries left",
    ),
    ("budget", {"total": 0.0}, "total: expected positive numbers, got 0.0"),
    ("budget_vjp", {"cotangent": [1.0]}, "cotangent: expected the shape of weights"),
    ("layers.cosine", {"scores": np.zeros(3)}, "scores: expected a vector that is not zero, got 3 zeros"),
    ("layers.cosine", {"weights": [0.5, 0.6, 0.0]}, f"weights: {SUM}"),
    ("layers.cosine_law", {"scores": np.zeros(2)}, "scores: expected a vector that is not zero, got 2 zeros"),
    ("layers.linear_law", {"towards": EVEN}, r"towards: expected shape \(3,\), got shape \(2,\)"),
    ("densities.density_on_cells", {"weights": np.zeros(3)}, "weights: expected a positive, finite total"),
    ("densities.density_on_cells", {"weights": [1.0]}, "weights: expected shape"),
    ("densities.escort_covariance", {"density": [1.0]}, "density: expected shape"),
    ("gibbs.divergence", {"weights": [0.5, 0.75, -0.25]}, f"weights: {SIGN}"),
    ("gibbs.divergence", {"reference": [0.5, 0.5, 0.5]}, f"reference: {SUM}"),
    ("gibbs.divergence", {"reference": EVEN}, "reference: expected shape"),
    ("gibbs.expectation", {"weights": [0.0, 0.0, 0.0]}, "weights: expected"),
    ("gibbs.log_partition", {"reference": [0.5, 0.5, 0.5]}, f"reference: {SUM}"),
    ("gibbs.match_moments", {"features": BASIS[:2, :1]}, r"features: expected shape \(3, d\), got shape \(2, 1\)"),
    ("gibbs.match_moments", {"moment": [1.0, 1.0]}, r"moment: expected shape \(1,\), got shape \(2,\)"),
    ("gibbs.softmax_norms", {"weights": HALF}, f"weights: {SUM}"),
    ("gibbs.softmax_norms", {"weights": np.full(21, 1 / 21)}, "weights: expected at most 20 entries, got 21"),
    ("gibbs.induced_norms", {"matrix": np.ones((2, 21))}, "matrix: expected sides of at most 20"),
    ("gibbs.softmax_jacobian", {"weights": [-1.0]}, f"weights: {SIGN}"),
    ("softmax", {"prior": [0.5, 0.25, 0.0]}, f"prior: {SUM}"),
    ("softmax", {"prior": [1.5, -0.5, 0.0]}, f"prior: {SIGN}"),
    ("softmax", {"prior": [1.0]}, "prior: expected the shape of scores"),
    ("softmax", {"axis": 3}, "axis: expected an axis"),
    ("softmax_vjp", {"cotangent": [1.0]}, "cotangent: expected the shape of weights"),
    ("entmax", {"alpha": [1.0, -2.0]}, "alpha: expected positive numbers, got -2.0"),
    ("entmax", {"alpha": np.ones(5)}, "alpha: expected a shape that broadcasts against the rows"),
    ("entmax", {"scores": np.zeros((3, 0))}, "scores: expected at least one entry along axis -1"),
    ("entmax", {"scores": 1.0}, "scores: expected at least one axis"),
    ("entmax", {"scores": [[1.0], [1.0, 2.0]]}, "scores: expected a rectangular array"),
    ("entmax", {"axis": 2}, r"axis: expected an axis of an array of shape \(2, 3\), got 2"),
    ("entmax_vjp", {"weights": LAWS - 0.5}, f"weights: {SIGN}"),
    ("entmax_vjp", {"alpha": 1e6}, "alpha: expected orders at which float64 holds the derivative"),
    ("entmax_value", {"alpha": -1.0}, "alpha: expected positive"),
    ("sparse.entmax_support", {"alpha": -1.0}, "alpha: expected positive"),
    ("sparse.entmax_alpha_derivative", {"alpha": np.inf}, "alpha: expected finite numbers"),
    ("sparse.tsallis", {"weights": HALF}, f"weights: {SUM}"),
    ("sparse.tsallis", {"weights": [1.5, -0.5]}, f"weights: {SIGN}"),
    ("sparse.entmax_norm", {"weights": [0.5, 0.6], "counts": None}, f"weights: {SUM}"),
    ("sparse.entmax_norm", {"weights": [1.5, -0.5], "counts": None}, f"weights: {SIGN}"),
    ("sparse.entmax_norm", {"counts": [1]}, r"counts: expected shape \(2,\)"),
    ("sparse.entmax_norm", {"counts": [1, 1.5]}, "counts: expected integers from 1 on, got 1.5"),
    (
        "sparse.entmax_norm",
        {"weights": [1.0 - 1e-9, 1e-9], "counts": None, "alpha": 50.0},
        "alpha: expected orders at which",
    ),
    ("entmax_gap", {"weights": [0.5, 0.6, 0.0]}, f"weights: {SUM}"),
    ("entmax_gap", {"weights": [1.0]}, "weights: expected shape"),
    ("entmax_gap", {"alpha": np.inf}, "alpha: expected a positive, finite number"),
    ("frank_wolfe_gap", {"weights": [1.0]}, "weights: expected shape"),
    ("fusedmax", {"strength": -0.5}, "strength: expected non-negative numbers, got -0.5"),
    ("fusedmax_vjp", {"mask": [True, True]}, "mask: expected booleans"),
    ("sparse.total_variation_prox", {"scores": [0.0, -1.7e308, -1.7e308]}, "scores: expected rows that sum"),
    ("normmax", {"alpha": 1.0}, "alpha: expected numbers above 1, got 1.0"),
    ("normmax_vjp", {"alpha": 0.5}, "alpha: expected numbers above 1"),
    ("fenchel_young_loss", {"target": LAWS / 2.0}, f"target: {SUM}"),
    ("fenchel_young_loss", {"target": [1.0]}, "target: expected the shape of scores"),
    ("fenchel_young_loss", {"scores": [-np.inf], "target": [1.0]}, "scores: expected an entry left in every row"),
    ("losses.loss_interval", {"alpha": 0.25}, "alpha: expected at least 0.5"),
    ("losses.loss_interval", {"target": [0.5, 0.25, 0.0]}, f"target: {SUM}"),
    ("losses.law_error", {"alpha": np.inf}, "alpha: expected a positive, finite"),
    ("losses.stationarity_residual", {"scores": SCORES}, "scores: expected shape"),
]
