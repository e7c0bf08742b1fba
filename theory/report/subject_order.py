"""The order of the subjects in lists and figures; others follow alphabetically."""

from __future__ import annotations

SUBJECT_ORDER = (
    "markov", "transport",
    "naive", "maxent", "softmax", "entmax", "fusedmax", "normmax", "budget", "loss", "density", "layer", "variant",
    "gibbs", "lipschitz", "dot-product", "distance-attention", "depth", "certificate",
    "particle", "energy", "cone", "gaussian-flow", "chaos", "solvable", "equiangular", "norm-flow", "consensus",
    "boolean", "metastable", "merge", "onset", "noisy", "common-noise", "context",
    "pipeline", "limit", "rate", "layers", "edge", "normaliser", "score", "heat",
    "influence", "rotary", "selection", "quantised", "streaming", "sink", "initial", "descent",
    "metric", "start", "trained", "real", "arms", "reported",
    "distance", "engine", "flow",
)  # fmt: skip


def sort_key(claim: str) -> tuple[int, str]:
    """Return where the claim of this id stands, as something to sort by."""
    subject = claim.partition(".")[0]
    return (SUBJECT_ORDER.index(subject) if subject in SUBJECT_ORDER else len(SUBJECT_ORDER)), claim
