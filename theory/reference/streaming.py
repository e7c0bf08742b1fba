"""Known answers of attention in parts: what each tile of keys gives alone, and what all give together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.reference.attention import CONVENTIONS, SYMBOLS, lifted
from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import FORMATS, Answers
from theory.reference.formulas import attention

SPLITS = {
    "one-tile": [8],
    "even": [4, 4],
    "single-keys": [1] * 8,
    "uneven": [1, 5, 2],
    "empty-tile": [3, 0, 5],
    "empty-tile-first": [0, 8],
}


def _tiles(inputs: Inputs) -> Answers:
    (queries, keys, values), rest = lifted({name: x for name, x in inputs.items() if name != "tiles"})
    whole = attention(queries, keys, values, **rest)
    ends = np.cumsum(inputs["tiles"].astype(int)).tolist()
    outputs, partitions = [], []
    for start, end in zip([0, *ends], ends, strict=False):
        bias = None if rest["bias"] is None else rest["bias"][:, start:end]
        part = attention(queries, keys[start:end], values[start:end], scale=rest["scale"], bias=bias)
        outputs.append(part.output if end > start else part.output * 0)
        partitions.append(part.log_partition)
    return {
        "tile_outputs": np.stack(outputs),
        "tile_log_partitions": np.stack(partitions),
        "output": whole.output,
        "log_partition": whole.log_partition,
    }


def _problems() -> dict[str, dict[str, NDArray[Any]]]:
    draw = partial(scattered, bits=8)
    plain = {
        "queries": draw(2, 2, seed=601), "keys": draw(8, 2, seed=602), "values": draw(8, 2, seed=603),
        "scale": np.array(0.5),
    }  # fmt: skip
    split = {name: {**plain, "tiles": np.array(sizes, dtype=float)} for name, sizes in SPLITS.items()}
    hidden = np.ones((2, 8), dtype=bool)
    hidden[0, 3:6] = False
    blind = hidden.copy()
    blind[1] = False
    thirds = {"tiles": np.array([3.0, 3.0, 2.0])}
    rising = np.sort(plain["keys"][:, 0])
    return {
        **split,
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
        },
        [Case(f"{name}-{form}", given, _tiles, form) for form in FORMATS for name, given in _problems().items()],
        (
            "A tile in which a query sees no key has the output 0 and the log-partition -inf, and adds nothing.",
            "The sink belongs to no tile.",
            *CONVENTIONS,
        ),
    )
