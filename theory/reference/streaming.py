"""Known answers of attention in parts: what each tile of keys gives alone, all give together, and their gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.reference.attention import CONVENTIONS, SYMBOLS, lifted
from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import FORMATS, Answers
from theory.reference.formulas import attention, attention_vjp, lift, number

SPLITS = {
    "one-tile": [8],
    "even": [4, 4],
    "single-keys": [1] * 8,
    "uneven": [1, 5, 2],
    "empty-tile": [3, 0, 5],
    "empty-tile-first": [0, 8],
    "empty-tiles-but-one": [0, 0, 8, 0],
}
VALUE_SCALE = 0.3125  # of values in e4m3, as kernels keep one for each head


def _tiles(inputs: Inputs) -> Answers:
    own = ("tiles", "cotangent", "value_scale")
    (queries, keys, values), rest = lifted({name: x for name, x in inputs.items() if name not in own})
    factor = number(inputs["value_scale"]) if "value_scale" in inputs else 1
    values = values * factor
    whole = attention(queries, keys, values, **rest)
    ends = np.cumsum(inputs["tiles"].astype(int)).tolist()
    outputs, partitions = [], []
    for start, end in zip([0, *ends], ends, strict=False):
        bias = None if rest["bias"] is None else rest["bias"][:, start:end]
        part = attention(queries, keys[start:end], values[start:end], scale=rest["scale"], bias=bias)
        outputs.append(part.output if end > start else part.output * 0)
        partitions.append(part.log_partition)
    base = 0 if "sink" in inputs else keys[:1]  # without a sink nothing depends on it, and what cancels is zero
    found = {
        "tile_outputs": np.stack(outputs),
        "tile_log_partitions": np.stack(partitions),
        "output": whole.output,
        "log_partition": whole.log_partition,
    }
    if "cotangent" not in inputs:
        return found
    slopes = attention_vjp(queries, keys - base, values, lift(inputs["cotangent"]), **rest)
    slopes.pop("grad_bias", None)
    return {**found, **slopes, "grad_values": slopes["grad_values"] * factor}


def _problems(form: str) -> dict[str, dict[str, NDArray[Any]]]:
    draw = partial(scattered, bits=min(FORMATS[form].bits, 8))
    plain = {
        "queries": draw(2, 2, seed=601), "keys": draw(8, 2, seed=602), "values": draw(8, 2, seed=603),
        "scale": np.array(0.5), "cotangent": draw(2, 2, seed=604),
        **({"value_scale": np.array(VALUE_SCALE)} if form == "e4m3" else {}),
    }  # fmt: skip
    forward = {name: values for name, values in plain.items() if name != "cotangent"}
    split = {name: {**forward, "tiles": np.array(sizes, dtype=float)} for name, sizes in SPLITS.items()}
    hidden = np.ones((2, 8), dtype=bool)
    hidden[0, 3:6] = False
    blind = hidden.copy()
    blind[1] = False
    thirds = {"tiles": np.array([3.0, 3.0, 2.0])}
    rising = np.sort(plain["keys"][:, 0])
    far = np.stack([np.full(8, 448.0), plain["keys"][:, 1]], axis=1)
    below = {**plain, **thirds, "queries": np.array([[-448.0, 0.5], [-448.0, -1.0]]), "keys": far}
    tied = plain["keys"][[0, 1, 2, 0, 3, 0, 4, 0]]
    return {
        **split,
        "gradients": {**plain, **thirds},
        "tile-hidden-from-a-query": {**plain, **thirds, "mask": hidden},
        "query-sees-nothing": {**plain, **thirds, "mask": blind},
        "sink": {**plain, **thirds, "sink": np.array(0.75)},
        "sink-and-query-sees-nothing": {**plain, **thirds, "mask": blind, "sink": np.array(0.75)},
        "largest-rises-with-every-key": {
            **plain, "queries": np.ones((2, 2)), "keys": np.stack([rising, 0 * rising], axis=1), "scale": np.array(8.0),
            "tiles": np.ones(8),
        },
        "scores-far-apart": {
            **plain, **thirds, "queries": np.full((2, 2), 2.0), "scale": np.array(32.0),
        },
        "sink-takes-most": {**plain, **thirds, "sink": np.array(12.0)},
        "equal-keys-in-all-tiles": {**plain, **thirds, "keys": tied},
        "all-scores-equal": {**plain, **thirds, "queries": np.zeros((2, 2))},
        "scores-below-minus-100000": {**below, "scale": np.array(1.0)},
        "scores-below-minus-100000-and-query-sees-nothing": {**below, "scale": np.array(1.0), "mask": blind},
        "no-query-sees-anything": {**plain, **thirds, "mask": np.zeros((2, 8), dtype=bool)},
        "no-query-sees-anything-but-the-sink": {
            **plain, **thirds, "mask": np.zeros((2, 8), dtype=bool), "sink": np.array(0.75),
        },
        "sixty-four-keys": {
            "queries": draw(1, 2, seed=611), "keys": draw(64, 2, seed=612), "values": draw(64, 1, seed=613),
            "scale": np.array(2.0), "cotangent": draw(1, 1, seed=614), "tiles": np.full(4, 16.0),
            "sink": np.array(0.75), **({"value_scale": plain["value_scale"]} if form == "e4m3" else {}),
        },
    }  # fmt: skip


def subject() -> Subject:
    """Return the file ``streaming``."""
    return Subject(
        "streaming",
        "attention in parts: outputs and log-partitions of tiles of keys, and their merge",
        {
            **{name: words for name, words in SYMBOLS.items() if name not in ("bias", "masses")},
            "tiles": "numbers of keys of the tiles, in the order of the keys; a tile may be empty",
            "tile_outputs": "o_ti, shape (tiles, m, d_v): attention to the keys of tile t alone",
            "tile_log_partitions": "L_ti, shape (tiles, m): log of the sum of exp of the scores in tile t",
            "output": "sum_t exp(L_ti - L_i) o_ti, in any order and grouping; a sink has the output 0",
            "log_partition": "L_i = log(exp(t) + sum_t exp(L_ti)), without exp(t) if there is no sink",
            "value_scale": "c, 1 unless given: values are c v_j, as where v_j has eight bits",
            "cotangent": "g_i, shape (m, d_v)",
            "grad_queries": "gradient of sum_i <g_i, o_i> in the queries; tiles that know L_i and <g_i, o_i> add up",
            "grad_keys": "the same in the keys",
            "grad_values": "the same in v_j, before they are scaled",
            "grad_sink": "the same in the sink, where there is one: - sum_i exp(t - L_i) <g_i, o_i>",
        },
        [
            Case(f"{name}-{form}", given, _tiles, form, answered="bfloat16" if form == "e4m3" else form)
            for form in FORMATS
            for name, given in _problems(form).items()
        ],
        (
            "Inputs in e4m3 (four bits of exponent, largest 448) have answers in bfloat16.",
            "A tile in which a query sees no key has the output 0 and the log-partition -inf, and adds nothing.",
            "The sink belongs to no tile.",
            *CONVENTIONS,
        ),
    )
