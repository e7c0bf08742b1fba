"""One valid call of everything that theory.lipschitz shows, and of what its modules have beside."""

from __future__ import annotations

import numpy as np

from theory.attention import DotProduct, Head, Measure, MultiHead, SelfAttention, SquaredDistance
from theory.evidence import Interval
from theory.lipschitz import witnesses
from theory.lipschitz.certificate import AttentionWeights, as_attention_weights, certify, certify_at, certify_blocks
from theory.lipschitz.depth import attention_bound, feed_forward_bound
from theory.lipschitz.search import search_worst_cloud


def contract(x):
    """Map tokens to tokens, shape kept, with constant 1/4."""
    return np.asarray(x) * 0.25


X = np.array([[0.5, -0.25], [0.75, 0.25], [-0.5, 0.625]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
LINE = np.array([[0.5], [-0.25], [0.75]])
SQUARE = np.array([[1.5, 0.25], [-0.5, 0.75]])
SYMMETRIC = np.array([[0.5, 0.25], [0.25, -0.75]])
MASSES = np.array([0.5, 1.5, 1.0])
LAW = np.array([0.25, 0.5, 0.25])
MU = Measure(X, LAW)
NU = Measure(Y, [0.5, 0.25, 0.25])
FLAT = Measure(LINE, LAW)
OTHER = Measure(LINE + 0.25, [0.5, 0.25, 0.25])
DOT = DotProduct(form=SYMMETRIC)
NEAR = SquaredDistance(0.75)
CONSTANTS = NEAR.constants(0.5)
LAYER: AttentionWeights = as_attention_weights(
    SQUARE, SQUARE.T, SQUARE, None, heads=1, causal=False, residual=False, score="dot"
)
HALF = {"w_query": SQUARE / 4.0, "w_key": SQUARE.T / 4.0, "w_value": SQUARE / 4.0, "w_out": SQUARE.T / 4.0}
HEADS = MultiHead((Head(*HALF.values(), score=DotProduct(0.5)),))
BOUND = attention_bound(0.5, 0.75)
PUSH = witnesses.far_atom(0.75, 0.25)
FOUND = search_worst_cloud(np.random.default_rng(0), DOT, p=1, atoms=2, dim=2, starts=1, steps=5)
BLOCKS = np.arange(36, dtype=np.float64).reshape(3, 3, 2, 2) / 16.0 - 1.0
WEIGHTS = {"w_query": SQUARE, "w_key": SQUARE.T, "w_value": SQUARE}
BLOCK = {
    **WEIGHTS,
    "w_up": SQUARE,
    "w_down": SYMMETRIC,
    "gain_1": np.array([1.5, 0.5]),
    "shift_2": np.array([0.25, -0.5]),
}
NORMED = {"kind": "layer", "eps": 0.25}
BLOCKS_FOUND = certify_blocks(BLOCK, **NORMED, activation="gelu", search=False)
MADE = {"heads": 1, "causal": False, "residual": False, "score": "dot"}
RATE = {"alpha": 0.75, "value": 1.25}
AT = {"mu": MU, "score": DOT}
FIXED = {"constant": 0.5, "count": 3, "rounding": 1e-12}

VALID = {
    "constants.query_constant": RATE,
    "constants.measure_constant": RATE,
    "constants.joint_constant": RATE,
    "constants.max_norm_constant": RATE,
    "constants.interpolated_constant": {**RATE, "p": 2.0},
    "constants.schur_constant": {**RATE, "p": 2.0},
    "constants.causal_constant": {**RATE, "n": 5},
    "constants.score_constant": {"score": CONSTANTS, "diameter": 0.5, "value": 1.25},
    "constants.kernel_constant": {
        "least": 0.5, "most": 1.5, "query": 0.75, "key": 0.25, "diameter": 0.5, "value": 1.25,
    },
    "constants.contracted_diameter": {"diameter": 0.5, "norm": 0.75, "value": 1.25},
    "constants.log_collapsed_diameter": {"diameter": 0.5, "norm": 0.75, "value": 1.25, "depth": 3},
    "certificate.certify": {
        **WEIGHTS, "radius": 0.5, "n": 3, "w_out": SQUARE, "b_query": np.array([0.5, -0.25]),
        "b_key": np.array([0.5, 0.75]), "scale": 0.5, "heads": 1,
        "causal": False, "residual": True, "score": "dot", "rotary": False, "search": False,
        "rng": np.random.default_rng(0),
    },
    "certificate.certify_at": {
        "tokens": X, **WEIGHTS, "reach": 0.25, "w_out": SQUARE, "b_query": np.array([0.5, -0.25]),
        "b_key": np.array([0.5, 0.75]), "scale": 0.5, "heads": 1, "causal": False, "residual": True, "score": "dot",
        "base": 100.0, "pairs": "halves",
    },
    "certificate.LocalCertificate.row": {"self": certify_at(X, **WEIGHTS), "metric": "max"},
    "certificate.Certificate.row": {"self": certify(**WEIGHTS, radius=0.5, search=False), "metric": "W1"},
    "certificate.as_text": {"certificate": certify(**WEIGHTS, radius=0.5, search=False)},
    "certificate.as_json": {"certificate": certify(**WEIGHTS, radius=0.5, search=False)},
    "certificate.certify_blocks": {
        "blocks": BLOCK, "radius": 0.75, "n": 3, "heads": 1, "norm": "pre", **NORMED, "activation": "gelu",
        "variance": 0.125, "causal": False, "residual": True, "score": "dot", "scale": 0.5, "rotary": False,
        "search": False, "rng": np.random.default_rng(0),
    },
    "certificate.as_token_norm": {
        "gain": np.array([1.5, 0.5]), "shift": np.array([0.25, -0.5]), **NORMED, "dim": 2, "variance": 0.125,
    },
    "certificate.as_feed_forward": {
        "w_up": SQUARE, "w_down": SYMMETRIC, "b_up": np.array([0.5, -0.25]), "b_down": np.array([0.25, 0.5]),
        "w_gate": SQUARE.T, "b_gate": np.array([0.75, 0.5]), "activation": "silu", "dim": 2,
    },
    "certificate.BlockCertificate.row": {"self": BLOCKS_FOUND, "metric": "W1"},
    "certificate.blocks_as_text": {"certificate": BLOCKS_FOUND, "called": ["h.0."]},
    "certificate.blocks_as_json": {"certificate": BLOCKS_FOUND},
    "depth.attention_bound": {"form": 0.5, "value": 1.25, "p": 2.0},
    "depth.summed_bound": {"branches": (BOUND, BOUND)},
    "depth.residual_bound": {"branch": BOUND},
    "depth.concatenated_bound": {
        "forms": np.array([0.5, 0.25]), "values": np.array([1.5, 0.75]), "out": 1.25, "p": 2.0,
    },
    "depth.feed_forward_bound": {"lipschitz": 0.5, "at_zero": 0.25},
    "depth.layer_norm_bound": {"eps": 0.25, "dim": 3, "gain": 1.5, "shift": 0.25},
    "depth.layer_norm": {"x": X, "eps": 0.25, "gain": np.array([1.5, 0.5]), "shift": np.array([0.25, -0.5])},
    "depth.layerwise_bounds": {"layers": (BOUND, feed_forward_bound(0.5)), "radius": 0.75},
    "depth.composed_bound": {"layers": (BOUND, BOUND)},
    "depth.depth_constant": {"layers": (BOUND, feed_forward_bound(0.5)), "radius": 0.75},
    "displacement": {"x": X, "y": Y, "p": 2.0},
    "displacement_ratio": {"x": X, "y": Y, "outputs": (X, Y), "p": 2.0},
    "diameter": {"points": X},
    "constants.nearness_constant": {"n": 4},
    "constants.distance_constant": {"n": 4, "form": SQUARE},
    "constants.column_constant": {"n": 4},
    "constants.atoms_constant": {"n": 4, "p": 2.0},
    "constants.near_constant": {"diameter": 0.5, "scale": 0.75},
    "constants.tied_constants": {"n": 4, "queries": (SQUARE,), "values": (SQUARE,), "output": SQUARE.T},
    "depth.posterior_error": {"move": Interval(0.25, 0.5), "constant": 0.5, "rounding": 1e-9},
    "depth.fixed_measure": {"layer": SelfAttention(NEAR, SQUARE / 8.0), "mu": MU, **FIXED},
    "depth.equilibrium": {"layer": SelfAttention(NEAR, SQUARE / 8.0), "inputs": X, "start": Y, **FIXED},
    "depth.residual_inverse": {"branch": contract, "outputs": X, "start": Y, "p": 2.0, **FIXED},
    "depth.residual_determinant": {"tokens": LINE, "score": NEAR, "share": 0.5},
    "depth.mirrored_tokens": {"middle": 0.25, "share": 0.5},
    "constants.frobenius_constants": {"alpha": 0.75, "n": 4, "value": 1.25},
    "constants.column_sum_constant": {"alpha": 0.75, "column": 1.5, "value": 1.25},
    "constants.published_constant": {"alpha": 0.75, "value": 1.25},
    "constants.leader_bound": {"ratio": 2.5, "gap": 0.5},
    "constants.leader_gap": {"alpha": 0.75, "ratio": 2.5},
    "constants.opposed_ratio": {"alpha": 0.75},
    "constants.leader": {"alpha": 0.75, "ratio": 2.5, "gap": 0.5},
    "constants.transform_constant": {"oscillation": 0.5, "slope": 0.75, "diameter": 1.5, "value": 1.25},
    "constants.weight_constant": {"most": 2.5, "slope": 0.75, "diameter": 1.5, "mass": 1.625},
    "constants.query_distance": {"oscillation": 0.5, "diameter": 1.5},
    "constants.query_slope": {"score": CONSTANTS, "diameter": 1.5},
    "constants.logit_distance": {"error": 0.25, "diameter": 1.5},
    "constants.lookup_constant": {"keys": X, "values": Y},
    "constants.with_temperature": {"score": CONSTANTS, "temperature": 0.75},
    "constants.contaminated_share": {"share": 0.25, "oscillation": 0.5},
    "constants.sampling_deviation": {"mu": MU, "potential": MASSES},
    "constants.mean_distance": {"mu": FLAT, "n": 4},
    "constants.sampling_distance": {"diameter": 1.5, "n": 4},
    "constants.unseen_distance": {"spacing": 0.25, "atoms": 3, "n": 4},
    "depth.crossed_spread": {"scores": X},
    "depth.rows_bound": {"spread": 0.75},
    "depth.sinkhorn_sweep_bound": {"spread": 0.75},
    "depth.token_variance": {"tokens": X, "masses": MASSES},
    "depth.variance_bound": {"spread": 0.75},
    "depth.variance_floor": {"spread": 0.75},
    "depth.sinkhorn_sweep": {"scores": X, "potential": np.array([0.25, -0.5, 0.75])},
    "depth.sinkhorn_plan": {"scores": X, "potential": np.array([0.25, -0.5, 0.75])},
    "block_jacobian": {**AT, "value": SQUARE, "queries": Y, "causal": False},
    "enclosed_jacobian": {**AT, "value": SQUARE, "queries": Y, "causal": False},
    "multihead_jacobian": {"mu": MU, "heads": HEADS, "causal": False},
    "dot_form": {"score": DOT, "dim": 2},
    "local_norm": {"blocks": BLOCKS, "weights": LAW, "p": 2.0, "error": 0.25},
    "norm_at": {**AT, "p": 2.0, "causal": True},
    "certified_stretch": {**AT, "tangent": Y, "p": 2.0, "causal": True},
    "wp_line": {"mu": FLAT, "nu": OTHER, "p": 2.0},
    "wp_tokens": {"x": X, "y": Y, "p": 2.0},
    "constants.sharp_w1_constant": {"alpha": 0.75},
    "constants.refined_w2_constant": {"alpha": 0.75},
    "response": {"push": PUSH, "causal": False},
    "response_ratio": {"push": PUSH, "p": 2.0, "causal": False},
    "search.search_worst_cloud": {
        "rng": np.random.default_rng(0), "score": DOT, "p": 2.0, "atoms": 3, "dim": 2, "radius": 1.75, "weights": LAW,
        "causal": False, "starts": 1, "steps": 3, "first": MU,
    },
    "search.simplify_cloud": {"found": FOUND, "loss": 0.125},
    "certificate.enclose_stretch": {"layer": LAYER, "points": X, "tangent": Y, "masses": MASSES, "p": 2.0},
    "certificate.as_attention_weights": {
        **WEIGHTS, "w_out": SQUARE, **MADE, "b_query": np.array([0.5, -0.25]), "scale": 0.5,
        "b_key": np.array([0.5, 0.75]),
    },
    "certificate.largest_detour": {"query": SQUARE, "key": SYMMETRIC},
    "certificate.product_norm": {"factors": (SQUARE, SYMMETRIC)},
    "certificate.AttentionWeights.norms": {"self": LAYER, "turned": True},
    "certificate.AttentionWeights.mean_map": {"self": LAYER},
    "portrait.portray": {
        **WEIGHTS, "tokens": X, "w_out": SQUARE, "b_query": np.array([0.5, -0.25]), "b_key": np.array([0.5, 0.75]),
        "scale": 0.5, **MADE, "base": 100.0, "pairs": "halves", "layers": 2,
    },
    "witnesses.far_atom": {"alpha": 0.75, "mass": 0.25},
    "witnesses.straining_mass": {"alpha": 0.75},
    "witnesses.near_atom": {"alpha": 0.75, "mass": 0.25},
    "witnesses.balanced_query": {"alpha": 0.75},
    "witnesses.two_tokens": {"half": 0.75},
    "witnesses.order_swap_pair": {"gap": 0.25},
    "witnesses.first_token": {"n": 3},
    "witnesses.two_sided": {"n": 4, "scale": 0.75, "shift": 1.5},
    "witnesses.one_sided": {"n": 4, "scale": 0.75},
    "witnesses.star_radius": {"n": 4, "scale": 0.75},
    "witnesses.star": {"n": 4, "scale": 0.75},
    "witnesses.folded_star": {"n": 4, "scale": 0.75},
    "witnesses.hidden_atom": {"z": 0.75, "scale": 0.75},
    "witnesses.light_ramp": {"slope": 0.75, "ramp": 0.5, "mass": 0.25, "step": 0.25, "diameter": 1.5},
    "witnesses.light_atom": {"oscillation": 0.75, "mass": 0.25},
}  # fmt: skip

SKIPPED = {
    "Certificate": "what certify returns; nobody makes one by hand",
    "Row": "a row of a Certificate",
    "LocalCertificate": "what certify_at returns; nobody makes one by hand",
    "LocalRow": "a row of a LocalCertificate",
    "parse_names": "reads an option of a command line; tests/test_certify_cli.py gives it bad ones",
    "read_layer": "read_weights, with notes",
    "BlockCertificate": "what certify_blocks returns; nobody makes one by hand",
    "as_block": "takes arrays by their roles; tests/lipschitz/test_blocks.py gives certify_blocks bad ones",
    "read_blocks": "reads files: tests/test_certify_blocks.py gives it bad ones",
    "Portrait": "what portray returns; nobody makes one by hand",
    "Level": "a number of a Portrait",
    "Step": "a layer of what walk returns",
    "walk": "takes layers by name; tests/lipschitz/test_walk.py gives it bad ones",
    "WorstCloud": "what search_worst_cloud returns",
    "FixedPoint": "what fixed_measure and its like return",
    "Stretch": "the witness of a Row",
    "AttentionWeights": "what as_attention_weights returns; its checks are there",
    "run_command": "takes the options of a command line; tests/test_certify_cli.py gives it bad ones",
    "read_weights": "reads files: tests/lipschitz/test_certify.py gives it damaged ones",
}
ALIASES = {}
ACCEPTED = {
    ("certificate.as_attention_weights", "w_out", "none"): "without an output matrix heads are concatenated",
    ("portrait.portray", "w_out", "none"): "without an output matrix heads are concatenated",
    ("search.search_worst_cloud", "score", "number"): "the norm of a form that is searched as well",
    ("search.search_worst_cloud", "radius", "none"): "tokens anywhere",
    ("search.search_worst_cloud", "weights", "none"): "they are searched as well",
    ("search.search_worst_cloud", "first", "none"): "every start is drawn",
}
LISTED = {}
INFINITE = {
    "constants.log_collapsed_diameter",  # minus infinity is the logarithm of a diameter of zero
    "certificate.enclose_stretch",  # an interval that knows nothing, in a pair
    "search.search_worst_cloud",  # its exponent is infinity
}  # fmt: skip
