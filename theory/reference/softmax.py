"""Known answers of softmax and of logsumexp, at scores that overflow, underflow, tie, cancel and are masked."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import Answers
from theory.reference.formulas import centred, law, lift, number, scalar, softmax_product, zeros

INF = math.inf
LEAST = 5e-324
LARGEST = 1.7976931348623157e308
ROW_OF_NOTHING = "A row in which every score is -inf has weights 0, log-partition -inf and derivatives 0."

SCORES = {
    "one": [3.5],
    "tie-of-three": [1.0, 1.0, 1.0],
    "near-tie": [1.0, 1.0 + 2.0**-52, 1.0 - 2.0**-53],
    "ordinary": [0.5, -1.25, 2.0, 0.0, -3.0],
    "shifted-up": [1000.5, 998.75, 1002.0, 1000.0, 997.0],
    "shifted-down": [-1000.5, -998.75, -1002.0, -1000.0, -997.0],
    "exponentials-overflow": [710.0, 709.0, 711.5, -710.0],
    "weights-subnormal": [0.0, -720.0, -740.0, -744.5, -745.0],
    "weights-vanish": [0.0, -746.0, -1000.0, -100000.0],
    "largest-scores": [LARGEST, LARGEST, -LARGEST],
    "gap-overflows": [1e308, -1e308],
    "least-scores": [LEAST, 0.0, -LEAST],
    "masked": [0.25, -INF, 1.5, -INF, -0.75],
    "masked-but-one": [-INF, -INF, 42.0],
    "masked-at-the-largest": [-INF, -1e5, -1e5 + 1.0],
    "masked-throughout": [-INF, -INF, -INF],
    "one-beside-many": [8.0, *[0.0] * 63],
    "scattered": scattered(48, seed=1, bits=30, spread=16.0).tolist(),
    "wide": scattered(24, seed=2, bits=30, spread=512.0).tolist(),
}
PRIORS = {
    "prior": ([0.5, -1.25, 2.0], [0.5, 0.25, 0.25]),
    "prior-with-zero": ([0.5, 900.0, 2.0, -1.0], [0.5, 0.0, 0.25, 0.25]),
    "prior-tiny": ([0.0, 690.0], [1.0, 2.0**-1000]),
    "prior-of-any-total": ([0.125, 0.5, -0.75], [3.0, 1.5, 0.0625]),
}
TEMPERATURES = {"hot": ([1.0, 2.0, 4.0], 64.0), "cold": ([1.0, 1.25, 1.5], 2.0**-6), "frozen": ([1.0, 1.25], 2.0**-13)}
SUMS = {
    "one": [-2.75],
    "two-equal": [0.0, 0.0],
    "near-zero": [-math.log(2.0), -math.log(2.0)],
    "near-zero-of-three": [-1.0, -2.0, -0.6995973873046234],
    "small-beside-zero": [0.0, -40.0],
    "smaller-beside-zero": [0.0, -700.0],
    "vanishing-beside-zero": [0.0, -1000.0],
    "large": [1000.0, 1000.0, 999.0],
    "large-negative": [-1000.0, -1000.0, -999.0],
    "value-beyond-its-digits": [1e17, 1e17, 1e17 - 16.0],
    "overflows": [LARGEST, LARGEST],
    "gap-overflows": [1e308, -1e308],
    "subnormal": [LEAST, -LEAST],
    "infinite": [INF, 0.0],
    "masked": [-INF, 0.5, -INF, 0.25],
    "masked-throughout": [-INF, -INF],
    "three-hundred-equal": [0.1] * 300,
    "ramp": [-0.25 * k for k in range(100)],
    "scattered": SCORES["scattered"],
}
WEIGHTED = {
    "weights": ([0.5, -1.25, 2.0], [0.5, 0.25, 0.25]),
    "weight-zero-at-the-largest": ([800.0, 0.0, -1.0], [0.0, 1.0, 1.0]),
    "weight-zero-at-infinity": ([-INF, 1.0], [0.0, 3.0]),
    "weights-tiny": ([0.0, 1.0], [2.0**-1070, 2.0**-1060]),
    "weights-cancel-the-scores": ([700.0, -700.0], [2.0**-1009, 2.0**1009]),
}


def _softmax(inputs: Inputs) -> Answers:
    scores = lift(inputs["scores"])
    if "tau" in inputs:
        scores = scores / number(inputs["tau"])
    found = law(scores, lift(inputs["prior"]) if "prior" in inputs else None)
    answers = {"weights": found.weights, "log_partition": scalar(found.log_partition)}
    if "prior" not in inputs and np.isfinite(inputs["scores"]).any():
        answers["log_weights"] = found.log_weights
    return answers


def _logsumexp(inputs: Inputs) -> Answers:
    scores = inputs["scores"]
    if np.isposinf(scores).any():
        return {"value": scalar(INF)}
    found = law(lift(scores), lift(inputs["weights"]) if "weights" in inputs else None)
    return {"value": scalar(found.log_partition), "gradient": found.weights}


def _product(inputs: Inputs) -> Answers:
    scores, vector = lift(inputs["scores"]), lift(inputs["vector"])
    found = law(scores)
    hidden = np.isneginf(inputs["scores"])
    logarithm = np.where(hidden, zeros(scores.size), vector - found.weights * vector.sum())
    return {
        "softmax": softmax_product(found.weights, vector),
        "log_softmax_vjp": logarithm,
        "log_softmax_jvp": np.where(hidden, zeros(scores.size), centred(found.weights, vector)),
        "logsumexp": scalar((found.weights * vector).sum()),
    }


def softmax() -> Subject:
    """Return the file ``softmax``."""
    plain = [Case(name, {"scores": scores}, _softmax) for name, scores in SCORES.items()]
    prior = [Case(name, {"scores": s, "prior": p}, _softmax) for name, (s, p) in PRIORS.items()]
    heated = [Case(name, {"scores": s, "tau": t}, _softmax) for name, (s, t) in TEMPERATURES.items()]
    return Subject(
        "softmax",
        "softmax of one row of scores, and its logarithm",
        {
            "scores": "s_j; -inf masks a key",
            "prior": "m_j, 1 unless given; of any positive total, and 0 masks a key",
            "tau": "temperature, 1 unless given",
            "weights": "p_j = m_j exp(s_j / tau) / sum_k m_k exp(s_k / tau)",
            "log_weights": "log p_j, -inf at a masked key",
            "log_partition": "log sum_k m_k exp(s_k / tau)",
        },
        [*plain, *prior, *heated],
        (ROW_OF_NOTHING,),
    )


def logsumexp() -> Subject:
    """Return the file ``logsumexp``."""
    plain = [Case(name, {"scores": scores}, _logsumexp) for name, scores in SUMS.items()]
    weighted = [Case(name, {"scores": s, "weights": w}, _logsumexp) for name, (s, w) in WEIGHTED.items()]
    return Subject(
        "logsumexp",
        "logarithms of sums of exponentials, and their gradients",
        {
            "scores": "s_j; -inf adds nothing",
            "weights": "w_j >= 0, 1 unless given",
            "value": "log sum_j w_j exp(s_j)",
            "gradient": "derivatives of the value in the scores, w_j exp(s_j - value); none where a score is inf",
        },
        [*plain, *weighted],
        ("A sum of nothing is 0: where every score is -inf, or every weight 0, the value is -inf and the gradient 0.",),
    )


def products() -> list[Case]:
    """Return the products with the Jacobians of softmax, of its logarithm and of logsumexp."""
    chosen = ("ordinary", "near-tie", "weights-subnormal", "gap-overflows", "masked", "masked-throughout", "scattered")
    extra = {"beside-a-vertex": [40.0, 0.0, -1.0], "beside-a-tie": [2.0**-30, 0.0]}
    drawn = partial(scattered, bits=20, spread=4.0)
    rows = {**{name: SCORES[name] for name in chosen}, **extra}
    vectors = {
        name: np.where(np.isneginf(scores), 0.0, drawn(len(scores), seed=100 + k))
        for k, (name, scores) in enumerate(rows.items())
    }
    rows, vectors = {**rows, "constant-vector": SCORES["ordinary"]}, {**vectors, "constant-vector": np.full(5, 1.5)}
    return [Case(f"row-{name}", {"scores": scores, "vector": vectors[name]}, _product) for name, scores in rows.items()]
