"""Known answers of entmax at orders 1 to 10, its threshold, and its derivatives in scores and order."""

from __future__ import annotations

import math

from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import Answers
from theory.reference.formulas import entmax, entmax_order_derivative, entmax_product, lift, number, scalar

ORDERS = (1.0, 1.0 + 2.0**-20, 1.0625, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
INF = math.inf
ROWS = {
    "ordinary": [0.5, 0.375, -0.25, 0.125, -1.5],
    "scattered": scattered(16, seed=71, bits=20, spread=1.0).tolist(),
    "tie": [0.25, 0.25, 0.0],
    "far": [1000.0, 999.875, -1000.0],
    "masked": [-INF, 0.5, 0.25, -INF],
}
AT_SOME = {
    "one": [0.75],
    "masked-throughout": [-INF, -INF],
    "masked-but-one": [-INF, 3.0],
    "hundred-equal": [0.5] * 100,
    "many": (scattered(64, seed=72, bits=24, spread=4.0)).tolist(),
    "near-the-edge": [1.0, 2.0**-40],
    "beside-a-vertex": [1.0, 2.0**-10, -1.0],
}
SOME = (1.0, 1.5, 2.0, 4.0, 10.0)


def _weights(inputs: Inputs) -> Answers:
    found = entmax(lift(inputs["scores"]), number(inputs["alpha"]))
    return {"weights": found.weights, "threshold": scalar(found.threshold)}


def _derivatives(inputs: Inputs) -> Answers:
    scores, alpha = lift(inputs["scores"]), number(inputs["alpha"])
    found = entmax(scores, alpha)
    return {
        "weights": found.weights,
        "product": entmax_product(found, lift(inputs["vector"]), alpha),
        "order_derivative": entmax_order_derivative(scores, alpha),
    }


def _order(alpha: float) -> str:
    return f"order-{alpha:.10g}".replace(".", "-")


def subject() -> Subject:
    """Return the file ``entmax``."""
    chosen: list[tuple[str, list[float], tuple[float, ...]]] = [(name, scores, ORDERS) for name, scores in ROWS.items()]
    chosen += [(name, scores, SOME) for name, scores in AT_SOME.items()]
    return Subject(
        "entmax",
        "entmax at orders from 1, softmax, through 2, sparsemax, to 10",
        {
            "scores": "s_j; -inf masks a key",
            "alpha": "order",
            "weights": "p_j = max(0, 1 + (alpha - 1)(s_j - nu))^(1 / (alpha - 1)), at order 1 exp(s_j - nu), with "
            "sum 1; the law that maximises <p, s> + (1 - sum_j p_j^alpha) / (alpha (alpha - 1)), at order 1 plus "
            "Shannon's entropy",
            "threshold": "nu; at order 1 the log-partition",
        },
        [
            Case(f"{name}-{_order(alpha)}", {"scores": scores, "alpha": alpha}, _weights)
            for name, scores, orders in chosen
            for alpha in orders
        ],
        ("A row in which every score is -inf has weights 0 and threshold -inf.",),
    )


def derivatives() -> Subject:
    """Return the file ``entmax_derivatives``."""
    rows = {name: ROWS[name] for name in ("ordinary", "scattered", "tie", "masked")}
    rows["masked-throughout"] = AT_SOME["masked-throughout"]
    return Subject(
        "entmax_derivatives",
        "derivatives of entmax in the scores and in the order",
        {
            "scores": "s_j; -inf masks a key",
            "alpha": "order",
            "vector": "c_j",
            "weights": "p = entmax_alpha(s)",
            "product": "J c = q (c - <q, c> / sum q), q_j = p_j^(2 - alpha) where p_j > 0, else 0; J is symmetric: "
            "this is the product with a tangent and with a cotangent",
            "order_derivative": "dp / dalpha at fixed scores",
        },
        [
            Case(
                f"{name}-{_order(alpha)}",
                {"scores": s, "alpha": alpha, "vector": scattered(len(s), seed=200 + k, bits=16)},
                _derivatives,
            )
            for k, (name, s) in enumerate(rows.items())
            for alpha in ORDERS
        ],
        (
            "A row in which every score is -inf has derivatives 0.",
            "Where the support changes, entmax has one-sided derivatives only; no case lies there.",
        ),
    )
