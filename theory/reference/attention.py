"""Known answers of attention: masks, sinks, weights of keys, rows that see nothing, and gradients of all of these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import Answers
from theory.reference.formulas import attention, attention_jvp, attention_vjp, lift, number

INF = math.inf
CONVENTIONS = (
    "A query that sees no key, and has no sink, has weights and output 0, log-partition -inf, and gradients 0.",
    "A mask is true where a query sees a key; a hidden pair has the score -inf. A causal mask of m queries and n keys "
    "is given as the mask it is: query i sees the keys j <= i + n - m (aligned at the end) or j <= i (at the start).",
    "Bias is added to the scaled scores. A sink is one more key with that score and the value 0.",
    "Keys of weight 0 are absent.",
)
SYMBOLS = {
    "queries": "q_i, shape (m, d)",
    "keys": "k_j, shape (n, d)",
    "values": "v_j, shape (n, d_v)",
    "scale": "sigma, the factor of the scores",
    "bias": "b_ij, shape (m, n), 0 unless given",
    "mask": "shape (m, n), true throughout unless given",
    "masses": "w_j, weights of the keys, 1 unless given",
    "sink": "t, score of a key with value 0, none unless given",
}


def _drawn(m: int, n: int, d: int, d_v: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return queries, keys and values with a scale that is a power of two, so that no root is rounded."""
    draw = partial(scattered, bits=12)
    return {
        "queries": draw(m, d, seed=seed),
        "keys": draw(n, d, seed=seed + 1),
        "values": draw(n, d_v, seed=seed + 2),
        "scale": np.array(0.5),
    }


def causal(m: int, n: int, offset: int = 0) -> NDArray[np.bool_]:
    """Return the mask in which query i sees the keys up to ``i + offset``."""
    return np.tril(np.ones((m, n), dtype=bool), offset)


def problems() -> dict[str, dict[str, Any]]:
    """Return named attention problems: queries, keys, values, scale, and what else there is."""
    square, wide, tall = _drawn(5, 5, 4, 3, 11), _drawn(3, 6, 4, 3, 21), _drawn(6, 3, 4, 2, 31)
    window = causal(5, 5) & ~causal(5, 5, -3)
    blind = causal(5, 5)
    blind[[0, 3]] = False
    hidden_key = np.ones((5, 5), dtype=bool)
    hidden_key[:, 2] = False
    bias = scattered(5, 5, seed=41, bits=12)
    masked_bias = np.where(blind, bias, -INF)
    far = {**square, "queries": square["queries"] * 16.0, "keys": square["keys"] * 16.0}
    return {
        "plain": square,
        "one-key": _drawn(2, 1, 2, 2, 51),
        "unscaled": {**square, "scale": np.array(1.0)},
        "scale-by-root-of-three": {**_drawn(4, 4, 3, 3, 61), "scale": np.array(1.0 / math.sqrt(3.0))},
        "scores-extreme": far,
        "scores-beyond-exponentials": {**square, "scale": np.array(1024.0)},
        "scores-overflow-single": {**square, "scale": np.array(2.0**130)},
        "causal": {**square, "mask": causal(5, 5)},
        "causal-aligned-at-the-end": {**wide, "mask": causal(3, 6, 3)},
        "causal-aligned-at-the-start": {**wide, "mask": causal(3, 6)},
        "causal-aligned-at-the-end-with-blind-rows": {**tall, "mask": causal(6, 3, -3)},
        "window-of-three": {**square, "mask": window},
        "blind-rows": {**square, "mask": blind},
        "blind-throughout": {**square, "mask": np.zeros((5, 5), dtype=bool)},
        "key-hidden-from-all": {**square, "mask": hidden_key},
        "bias": {**square, "bias": bias},
        "bias-masks": {**square, "bias": masked_bias},
        "weights": {**square, "masses": np.array([0.5, 0.25, 2.0, 1.0, 0.125])},
        "weights-vanish": {**square, "masses": np.array([0.5, 0.0, 2.0, 0.0, 0.125])},
        "weights-causal": {**square, "masses": np.array([0.5, 0.25, 2.0, 1.0, 0.125]), "mask": causal(5, 5)},
        "sink": {**square, "sink": np.array(0.75)},
        "sink-with-blind-rows": {**square, "mask": blind, "sink": np.array(0.75)},
        "sink-takes-all": {**square, "sink": np.array(1000.0)},
        "sink-takes-nothing": {**square, "sink": np.array(-1000.0)},
        "large-values": {**square, "values": square["values"] * 2.0**1021},
    }


def lifted(inputs: Inputs) -> tuple[tuple[Any, Any, Any], Mapping[str, Any]]:
    """Return queries, keys and values in balls, and the rest by the names of the formulas."""
    given = {name: lift(values) for name, values in inputs.items() if values.dtype != np.bool_}
    bias = given.get("bias")
    if "mask" in inputs:
        shape = inputs["mask"].shape
        bias = np.where(inputs["mask"], lift(np.zeros(shape)) if bias is None else bias, -INF)
    rest = {"scale": number(inputs["scale"]), "bias": bias, "masses": given.get("masses")}
    rest["sink"] = number(inputs["sink"]) if "sink" in given else None
    return (given["queries"], given["keys"], given["values"]), rest


def outputs(inputs: Inputs) -> Answers:
    """Return what attention gives."""
    points, rest = lifted(inputs)
    found = attention(*points, **rest)
    answers = {"output": found.output, "log_partition": found.log_partition, "weights": found.weights}
    return {**answers, "sink_weights": found.sinks[:, 0]} if "sink" in inputs else answers


def _derivatives(inputs: Inputs) -> Answers:
    points, rest = lifted({name: values for name, values in inputs.items() if not _is_direction(name)})
    found = attention_vjp(*points, lift(inputs["cotangent"]), **rest)
    if "bias" not in inputs:
        found.pop("grad_bias", None)
    moves = tuple(lift(inputs[f"moved_{name}"]) for name in ("queries", "keys", "values"))
    return {**found, "moved_output": attention_jvp(*points, moves, **rest)}  # type: ignore[arg-type]


def _is_direction(name: str) -> bool:
    return name == "cotangent" or name.startswith("moved_")


def subject() -> Subject:
    """Return the file ``attention``."""
    return Subject(
        "attention",
        "attention with masks, biases, weights of keys and sinks",
        {
            **SYMBOLS,
            "output": "sum_j p_ij v_j, p_ij = w_j exp(sigma <q_i, k_j> + b_ij) / Z_i over the keys seen",
            "log_partition": "log Z_i, Z_i = exp(t) + sum_j w_j exp(sigma <q_i, k_j> + b_ij); no sink, no exp(t)",
            "weights": "p_ij",
            "sink_weights": "exp(t) / Z_i",
        },
        [Case(name, inputs, outputs) for name, inputs in problems().items()],
        CONVENTIONS,
    )


def products() -> list[Case]:
    """Return the gradients of attention, and its derivatives along moves."""
    left_out = {
        "scores-beyond-exponentials",
        "large-values",
        "unscaled",
        "one-key",
        "scores-overflow-single",
        "causal-aligned-at-the-start",
    }
    found = []
    for k, (name, inputs) in enumerate(problems().items()):
        if name in left_out:
            continue
        sides = {part: inputs[part].shape for part in ("queries", "keys", "values")}
        draw = partial(scattered, bits=10, spread=1.0)
        directions = {
            "cotangent": draw(sides["queries"][0], sides["values"][1], seed=1000 + 10 * k),
            **{f"moved_{part}": draw(*shape, seed=1001 + 10 * k + i) for i, (part, shape) in enumerate(sides.items())},
        }
        found.append(Case(f"attention-{name}", {**inputs, **directions}, _derivatives))
    return found
