"""One valid call of everything that theory.metric shows, and of what its modules of NumPy show."""

from __future__ import annotations

import numpy as np

from theory.attention import SquaredDistance
from theory.metric import (
    CentredTokens,
    DistanceSimilarity,
    InformationPropagation,
    LinearFeatures,
    MetricScore,
    MetricSimilarity,
    ResidualFeatures,
    SplitScores,
    make_similarity,
    sizes_of,
)
from theory.metric.plane import Chart, MoonsLaw


def wave(x):
    """Return a positive function of places."""
    return 1.5 + np.cos(np.asarray(x))


X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
SQUARE = np.array([[0.5, 0.25], [-0.5, 0.75]])
BIAS = np.array([0.25, -0.5])
NETWORK = {"inner": SQUARE, "inner_bias": BIAS, "outer": SQUARE.T * 0.5, "outer_bias": BIAS}
G = ResidualFeatures(**NETWORK)
FOLDED = ResidualFeatures(np.array([[2.0]]), np.array([0.0]), np.array([[-1.5]]), np.array([0.0]))
LINEAR = LinearFeatures(SQUARE)
LEARNED = MetricScore(G, 0.75)
SIMILAR = MetricSimilarity(2, 3)
THETA = np.linspace(-0.75, 0.5, sum(sizes_of(SIMILAR.shapes)))
SEEN = np.array([[True, False, False], [True, True, False], [True, True, True]])
ROWS = {"similarity": SIMILAR, "theta": THETA, "h": X, "mask": SEEN}
DEEP = InformationPropagation(make_similarity("metric", 2, 2), 2, 2)
WEIGHTS = DEEP.initial(np.random.default_rng(0))
CHART = Chart(G, SQUARE + np.eye(2), BIAS)
MOONS = MoonsLaw(0.25)
PLACES = X * 0.25

CENTRED = CentredTokens(BIAS, X)
SPLIT = SplitScores(np.array([0.25, -0.5, 0.75]), np.outer([0.5, -0.25, 0.75], [0.25, 0.5, -0.5]))

VALID = {
    "centre_tokens": {"h": X},
    "split_scores": {"similarity": "features", "parameters": tuple(NETWORK.values()), "tokens": CENTRED},
    "average_centred": {"tokens": CENTRED, "scores": SPLIT, "residual": True},
    "row_divergences": {"scores": SPLIT},
    "shared_law": {"common": np.array([0.25, -0.5, 0.75])},
    "LinearFeatures": {"matrix": SQUARE},
    "LinearFeatures.__call__": {"self": LINEAR, "x": X},
    "LinearFeatures.jacobian": {"self": LINEAR, "x": X},
    "LinearFeatures.rounding": {"self": LINEAR, "x": X},
    "ResidualFeatures": NETWORK,
    "ResidualFeatures.__call__": {"self": G, "x": X},
    "ResidualFeatures.jacobian": {"self": G, "x": X},
    "ResidualFeatures.hessian": {"self": G, "x": X},
    "ResidualFeatures.rounding": {"self": G, "x": X},
    "InformationPropagation": {"similarity": SIMILAR, "inputs": 2, "classes": 3, "blocks": 2, "stretch": 1.5},
    "InformationPropagation.initial": {"self": DEEP, "rng": np.random.default_rng(0)},
    "InformationPropagation.tokens": {"self": DEEP, "theta": WEIGHTS, "x": X},
    "InformationPropagation.predict": {"self": DEEP, "theta": WEIGHTS, "x": X},
    "InformationPropagation.objective": {"self": DEEP, "theta": WEIGHTS, "x": X, "y": (0, 1, 1)},
    "MetricScore": {"features": G, "epsilon": 0.75},
    "MetricScore.matrix": {"self": LEARNED, "x": X, "y": Y},
    "MetricScore.constants": {"self": LEARNED, "radius": 1.5},
    "MetricScore.pull_back": {"self": LEARNED, "x": X},
    "attention_weights": ROWS,
    "average_tokens": ROWS,
    "vjp": {**ROWS, "cotangent": Y},
    "make_similarity": {"attention": "metric", "dim": 2, "width": 3, "matching": "parameters"},
    "similarity.DistanceSimilarity": {"dim": 2, "width": 3},
    "similarity.DistanceSimilarity.features": {"self": DistanceSimilarity(2, 3), "theta": THETA[:6]},
    "similarity.MetricSimilarity": {"dim": 2, "width": 3},
    "similarity.MetricSimilarity.features": {"self": SIMILAR, "theta": THETA},
    "similarity.SelfSimilarity": {"dim": 2, "width": 3},
    "plane.MoonsLaw": {"noise": 0.25},
    "plane.MoonsLaw.density": {"self": MOONS, "x": PLACES},
    "plane.MoonsLaw.slope": {"self": MOONS, "x": PLACES},
    "plane.MoonsLaw.across": {"self": MOONS, "x": PLACES},
    "plane.MoonsLaw.odds": {"self": MOONS, "x": PLACES},
    "plane.layer_change": {"chart": CHART, "law": MOONS, "x": PLACES[:1], "epsilon": 0.25},
    "plane.first_order": {"chart": CHART, "law": MOONS, "x": PLACES},
    "plane.weakest_stretch": {"chart": CHART, "box": np.array([[-0.25, -0.5], [0.25, 0.5]]), "most": 1000},
    "find_fibre": {"features": FOLDED, "x": 0.25, "span": np.array([-3.0, 3.0]), "cells": 64},
    "fibre_mean": {
        "features": FOLDED, "x": 0.25, "function": wave, "density": wave, "span": np.array([-3.0, 3.0]),
    },
    "laplacian_rate": {"space": "sphere", "degree": 2},
    "wave_multipliers": {"space": "circle", "degrees": 2, "epsilon": 0.25},
    "attention_spectrum": {"score": LEARNED, "tokens": X},
    "stationary_law": {"score": SquaredDistance(0.5), "tokens": X},
    "plane.semigroup_change": {"chart": CHART, "law": MOONS, "x": PLACES, "time": 0.25, "spacing": 0.5},
    "plane.Chart": {"features": G, "matrix": SQUARE, "shift": BIAS},
    "plane.Chart.__call__": {"self": CHART, "x": X},
    "plane.Chart.differences": {"self": CHART, "x": X, "steps": Y},
    "plane.Chart.jacobian": {"self": CHART, "x": X},
    "plane.Chart.hessian": {"self": CHART, "x": X},
    "plane.Chart.metric": {"self": CHART, "x": X},
    "plane.Chart.rounding": {"self": CHART, "x": X},
    "plane.chart_of_first_layer": {"network": DEEP, "theta": WEIGHTS},
    "plane.flatten_chart": {"chart": CHART},
}  # fmt: skip

_PARTS = (
    "apply_semigroup", "count_undecided_pairs", "draw_parameters", "log_softmax_rows", "sizes_of", "softmax_rows",
    "split_parameters",
)  # fmt: skip
SKIPPED = dict.fromkeys(_PARTS, "takes what an instrument of the room has made and checked")
ALIASES = {"x": ("score",), "y": ("score",)}  # the score that is made of their features
BATCHES = "leading axes are stacks of tokens"
ACCEPTED = {
    ("InformationPropagation.*", "x", "rank"): BATCHES,
    ("attention_weights", "h", "rank"): BATCHES,
    ("average_tokens", "h", "rank"): BATCHES,
}
DIVERGED = "a network that diverged is seen in its scores and its loss; the experiments count it so"
LISTED = {
    ("InformationPropagation.predict", "theta", "1e?00"): DIVERGED,
    ("InformationPropagation.objective", "theta", "1e?00"): DIVERGED,
}
INFINITE = {  # bounds that know nothing
    "LinearFeatures.rounding", "ResidualFeatures.rounding", "plane.Chart.rounding",
}  # fmt: skip
