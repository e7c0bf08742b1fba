"""The order in which the subjects are told; others follow in that of the alphabet."""

from __future__ import annotations

STORY = (
    "markov", "transport",
    "naive", "maxent", "softmax", "entmax", "fusedmax", "normmax", "budget", "loss", "density", "layer", "variant",
    "gibbs", "lipschitz", "dot-product", "distance-attention", "depth", "certificate",
    "particle", "energy", "cone", "gaussian-flow", "chaos", "solvable", "equiangular", "norm-flow", "consensus",
    "boolean", "metastable", "merge", "onset", "noisy", "context",
    "pipeline", "limit", "rate", "layers", "edge", "normaliser", "score", "heat",
    "metric", "trained", "reported",
    "distance", "engine", "flow",
)  # fmt: skip


def place(claim: str) -> tuple[int, str]:
    """Return where the claim of this id stands, as something to sort by."""
    subject = claim.partition(".")[0]
    return (STORY.index(subject) if subject in STORY else len(STORY)), claim
