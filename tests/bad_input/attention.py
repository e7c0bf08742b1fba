"""One valid call of everything that theory.attention, its variants and Sinkhorn's iteration show."""

from __future__ import annotations

import numpy as np

from theory.attention import (
    Additive,
    AttentionKernel,
    CausalKernel,
    Composition,
    Dirac,
    DotProduct,
    FeedForward,
    GaussianAttention,
    Head,
    Lookup,
    Measure,
    MultiHead,
    Projected,
    Residual,
    SelfAttention,
    Softmatch,
    SquaredDistance,
    Stack,
    TorusDistance,
    barycentres,
    prepare,
    read,
)
from theory.attention.sinkhorn import doubly_normalised
from theory.attention.variants import PositiveFeatures, TrigonometricFeatures, elu_features
from theory.engine import Direction
from theory.maxent import row_map


def square(x):
    """Map points to points, shape kept."""
    return np.asarray(x) * 0.5


X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
V = np.array([[1.5, -0.5], [0.25, 2.0], [-1.0, 0.75]])
MASSES = np.array([0.5, 1.5, 1.0])
SQUARE = np.array([[1.5, 0.25], [-0.5, 0.75]])
LANDMARKS = np.array([[0.5, -0.5], [-0.25, 1.0]])
SCORE = SquaredDistance(0.75)
MU = Measure(X, [0.25, 0.5, 0.25])
NU = Measure(Y, [0.5, 0.25, 0.25])
HEAD = Head(SQUARE, SQUARE.T, SQUARE, SQUARE.T)
PREPARED = prepare(SCORE, keys=Y, values=V, weights=MASSES)
FOUND = doubly_normalised(X, Y, score=SCORE)
TOKENS = {"queries": X, "keys": Y, "values": V}
HOW = {"method": "dense", "accuracy": 1e-12, "precision": "double"}
LINEAR = {"score": SCORE, "log_weights": MASSES, "visible": np.array([1, 2, 3])}
MARKS = {"query_landmarks": LANDMARKS, "key_landmarks": LANDMARKS + 0.25, "score": SCORE}
MATRICES = {
    "left": np.array([[0.25, 0.75], [0.5, 0.5]]),
    "middle": SQUARE,
    "right": np.array([[0.5, 0.5], [0.125, 0.875]]),
}
STATE = {name: getattr(FOUND, name) for name in ("queries", "keys", "query_weights", "key_weights", "score", "f", "g")}
SCORES = {"DotProduct": DotProduct(0.5), "SquaredDistance": SCORE, "TorusDistance": TorusDistance(0.5)}
SCORES["Additive"] = Additive(SQUARE, SQUARE.T, np.array([0.5, -1.5]))

VALID = {
    "Additive": {"w_query": SQUARE, "w_key": SQUARE.T, "v": np.array([0.5, -1.5])},
    "AttentionKernel": {"score": SCORE, "nu": NU, "value": SQUARE},
    "AttentionKernel.output": {"self": AttentionKernel(SCORE, NU, SQUARE), "x": X},
    "AttentionKernel.rounding": {"self": AttentionKernel(SCORE, NU, SQUARE), "x": X},
    "AttentionKernel.at": {"self": AttentionKernel(SCORE, NU, SQUARE), "x": X[0]},
    "AttentionKernel.push": {"self": AttentionKernel(SCORE, NU, SQUARE), "nu": MU},
    "CausalKernel": {"score": SCORE, "nu": Measure(np.column_stack([[0.25, 0.5, 0.75], Y]))},
    "CausalKernel.output": {
        "self": CausalKernel(SCORE, Measure(np.column_stack([[0.25, 0.5, 0.75], Y]))),
        "z": np.column_stack([[0.5, 0.75, 1.0], X]),
    },
    "CausalKernel.push": {
        "self": CausalKernel(SCORE, Measure(np.column_stack([[0.25, 0.5, 0.75], Y]))),
        "nu": Measure(np.column_stack([[0.5, 0.75, 1.0], X])),
    },
    "Composition": {"first": Softmatch(SCORE, NU), "then": Softmatch(SCORE, MU)},
    "Composition.at": {"self": Composition(Softmatch(SCORE, NU), Softmatch(SCORE, MU)), "x": X[0]},
    "Composition.push": {"self": Composition(Softmatch(SCORE, NU), Softmatch(SCORE, MU)), "nu": MU},
    "Dirac": {"function": square},
    "Dirac.at": {"self": Dirac(square), "x": X[0]},
    "Dirac.push": {"self": Dirac(square), "nu": MU},
    "DotProduct": {"scale": 0.7, "form": SQUARE},
    "FeedForward": {"function": square},
    "GaussianAttention": {"score": SCORE, "mean": X[0], "root": SQUARE, "value": SQUARE, "reach": 12.5},
    "GaussianAttention.output": {"self": GaussianAttention(SCORE, X[0], np.eye(2)), "x": X},
    "Head": {"w_query": SQUARE, "w_key": SQUARE.T, "w_value": SQUARE, "w_out": SQUARE.T, "score": SCORE},
    "Head.projections": {"self": HEAD, "x": X, "mu": MU},
    "Head.output": {"self": HEAD, "x": X, "mu": MU, "causal": False},
    "Head.rounding": {"self": HEAD, "x": X, "mu": MU},
    "Lookup": {"keys": Y, "values": V},
    "Lookup.at": {"self": Lookup(Y, V), "x": Y[0]},
    "Lookup.push": {"self": Lookup(Y, V), "nu": NU},
    "Measure": {"points": X, "weights": np.array([0.25, 0.5, 0.25])},
    "Measure.normalised": {"points": X, "masses": MASSES},
    "Measure.dirac": {"point": X[0]},
    "Measure.integrate": {"self": MU, "function": square},
    "Measure.push_forward": {"self": MU, "function": square},
    "Measure.linear_image": {"self": MU, "matrix": SQUARE},
    "Measure.mix": {"self": MU, "other": NU, "share": 0.3},
    "Measure.replicate": {"self": MU, "times": 2},
    "Measure.sample": {"self": MU, "size": 3, "rng": np.random.default_rng(0)},
    "MomentSubspace": {"feature": square, "section": Measure.dirac},
    "MomentSubspace.moment": {"self": barycentres(), "mu": MU},
    "MomentSubspace.project": {"self": barycentres(), "mu": MU},
    "MultiHead": {"heads": (HEAD, HEAD)},
    "MultiHead.from_matrices": {
        "w_query": SQUARE, "w_key": SQUARE.T, "w_value": SQUARE, "w_out": SQUARE.T, "heads": 2,
    },
    "MultiHead.__call__": {"self": MultiHead((HEAD,)), "x": X, "mu": MU, "causal": False},
    "MultiHead.rounding": {"self": MultiHead((HEAD,)), "x": X, "mu": MU},
    "variants.PositiveFeatures": {"frequencies": X, "scale": 0.7, "paired": True},
    "variants.PositiveFeatures.__call__": {"self": PositiveFeatures(X, 0.5), "points": Y},
    "prepare": {"score": SCORE, "keys": Y, "values": V, "weights": MASSES, "causal": False},
    "Prepared.__call__": {"self": PREPARED, "x": X},
    "Prepared.read": {"self": PREPARED, "x": X},
    "Projected": {"kernel": Softmatch(SCORE, NU), "subspace": barycentres()},
    "Projected.at": {"self": Projected(Softmatch(SCORE, NU), barycentres()), "x": X[0]},
    "Residual": {"layer": SelfAttention(SCORE)},
    "Residual.__call__": {"self": Residual(SelfAttention(SCORE)), "x": X, "mu": MU},
    "SelfAttention": {"score": SCORE, "value": SQUARE},
    "SelfAttention.__call__": {"self": SelfAttention(SCORE, SQUARE), "x": X, "mu": MU},
    "sinkhorn.Sinkhorn.output": {"self": FOUND, "values": V},
    "Softmatch": {"score": SCORE, "nu": NU},
    "Softmatch.rows": {"self": Softmatch(SCORE, NU), "x": X},
    "Softmatch.log_partition": {"self": Softmatch(SCORE, NU), "x": X},
    "Softmatch.error": {"self": Softmatch(SCORE, NU), "x": X},
    "Softmatch.at": {"self": Softmatch(SCORE, NU), "x": X[0]},
    "Softmatch.push": {"self": Softmatch(SCORE, NU), "nu": MU},
    "SquaredDistance": {"scale": 0.7},
    "Stack": {"layers": (SelfAttention(SCORE), FeedForward(square))},
    "Stack.trajectory": {"self": Stack((SelfAttention(SCORE),)), "mu": MU},
    "Stack.push": {"self": Stack((SelfAttention(SCORE),)), "mu": MU},
    "TorusDistance": {"scale": 0.7},
    "variants.TrigonometricFeatures": {"frequencies": X, "scale": 0.7},
    "variants.TrigonometricFeatures.__call__": {"self": TrigonometricFeatures(X, 0.5), "points": Y},
    "attend": {**TOKENS, "score": SCORE, "weights": MASSES, "causal": True, **HOW},
    "variants.attend_dropout": {
        **TOKENS, "rate": 0.3, "rng": np.random.default_rng(0), "score": SCORE, "weights": MASSES, "causal": False,
    },
    "variants.attend_linear": {**TOKENS, "features": elu_features, "weights": MASSES, "causal": False},
    "variants.attend_nystrom": {**TOKENS, **MARKS},
    "variants.attend_rows": {**TOKENS, "rows": row_map("sparsemax"), "score": SCORE, "causal": False},
    "variants.attend_window": {**TOKENS, "back": 1, "ahead": 1, "score": SCORE, "weights": MASSES},
    "calculus.attend_jvp": {**TOKENS, "direction": Direction(X, Y, V, MASSES), **LINEAR},
    "calculus.attend_vjp": {**TOKENS, "cotangent": V, **LINEAR},
    "calculus.attend_moments": {**TOKENS, "score": SCORE, "weights": MASSES},
    "calculus.merge_attention": {"parts": (read(X, Y, V), read(X, X, V))},
    "barycentres": {},
    "boltzmann_gibbs": {"nu": MU, "potential": MASSES, "where": np.array([True, True, False])},
    "sinkhorn.doubly_normalised": {
        "queries": X, "keys": Y, "score": SCORE, "query_weights": np.array([0.25, 0.5, 0.25]),
        "key_weights": np.array([0.25, 0.25, 0.5]), "start": np.array([0.5, -0.5, 0.25]), "sweeps": 50,
        "tolerance": 1e-9, "method": "dense", "accuracy": 1e-12,
    },
    "variants.drop_weights": {
        "weights": MATRICES["left"], "kept": np.array([[True, False], [True, True]]), "rate": 0.3,
    },
    "variants.elu_features": {"points": X},
    "gaussian": {"mean": np.array([0.5]), "root": np.array([[1.5]]), "reach": 12.5},
    "variants.gaussian_frequencies": {"count": 2, "dim": 3, "rng": np.random.default_rng(0)},
    "variants.landmark_error": {**MATRICES, "relative": 1e-3},
    "variants.linear_weights": {"queries": X, "keys": Y, "features": elu_features, "weights": MASSES, "causal": False},
    "variants.nystrom_error": {"queries": X, "keys": Y, **MARKS},
    "variants.nystrom_weights": {"queries": X, "keys": Y, **MARKS},
    "partition_error": {"queries": X, "keys": Y, "score": SCORE, "log_weights": MASSES},
    "sinkhorn.potential_error": {"found": FOUND},
    "read": {**TOKENS, "score": SCORE, "weights": MASSES, "causal": True, **HOW},
    "rounding": {**TOKENS, "score": SCORE, "weights": MASSES, "causal": True},
    "variants.segment_means": {"points": X, "count": 2},
    "sinkhorn.sinkhorn_error": {"found": FOUND, "values": V},
    "step": {"layer": SelfAttention(SCORE), "mu": MU},
    "symmetric_pairs": {},
    "variants.through_landmarks": MATRICES,
    "variants.top_k": {"scores": X, "k": 1},
    "transform_error": {"nu": MU, "potential": MASSES},
    "weight_error": {"queries": X, "keys": Y, "score": SCORE, "log_weights": MASSES},
}  # fmt: skip
for _name, _score in SCORES.items():
    VALID[f"{_name}.matrix"] = {"self": _score, "x": X, "y": Y}
    VALID[f"{_name}.pairs"] = {"self": _score, "x": X, "y": Y}
    VALID[f"{_name}.bounds"] = {"self": _score, "x": X, "y": Y}
    VALID[f"{_name}.constants"] = {"self": _score if _name != "DotProduct" else DotProduct(0.5), "radius": 1.7}

SKIPPED = {
    "Sinkhorn": "what doubly_normalised returns; nobody makes one by hand",
    "Prepared": "what prepare returns; nobody makes one by hand",
    "Prepared.quick": "answers nothing where it does not know, and leaves the words to read",
    "*.as_form": "what a score says of itself to the engine, of a dimension that was seen",
}
ALIASES = {"x": ("queries", "score"), "y": ("keys", "score"), "z": ("score",), ("Lookup.at", "x"): ("nu",)}
ACCEPTED = {
    ("variants.top_k", "scores", "-inf"): "marks a key that is not seen",
    ("*_error", "log_weights", "-inf"): "marks a key without weight",
}
LISTED = {}
INFINITE = {
    "AttentionKernel.rounding", "Head.rounding", "MultiHead.rounding", "Softmatch.error", "variants.landmark_error",
    "variants.nystrom_error", "partition_error", "sinkhorn.potential_error", "rounding",
    "sinkhorn.sinkhorn_error", "transform_error", "weight_error",
}  # fmt: skip
INFINITE |= {f"{name}.bounds" for name in SCORES}
