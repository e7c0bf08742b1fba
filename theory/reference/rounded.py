"""Known answers in float32, float16 and bfloat16: the exact result of exact inputs, rounded once."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.reference.attention import CONVENTIONS, SYMBOLS, causal, outputs
from theory.reference.cases import Case, Inputs, Subject, is_in, scattered
from theory.reference.digits import Answers
from theory.reference.formulas import law, lift, scalar

INF = math.inf
ROWS = {
    "ordinary": [0.5, -1.25, 2.0, 0.0, -3.0],
    "tie-of-three": [1.0, 1.0, 1.0],
    "hundred-equal": [0.5] * 100,
    "one-beside-many": [4.0, *[0.0] * 127],
    "overflows-half": [60000.0, 59968.0, -60000.0],
    "shifted": [1000.0, 999.0, 996.0],
    "far-from-zero": [300.0, 300.0, 300.0, 298.0],
    "weights-subnormal-in-half": [0.0, -10.0, -15.0, -17.0, -18.0],
    "weights-subnormal-in-single": [0.0, -88.0, -96.0, -103.0, -104.0],
    "masked": [0.25, -INF, 1.5, -INF],
    "masked-throughout": [-INF, -INF],
    "scattered": scattered(64, seed=501, bits=8, spread=8.0).tolist(),
    "ramp": [-k / 4.0 for k in range(64)],
}
SUMS_ONLY = {
    "thousand-equal": [0.5] * 1000,
    "sum-overflows-half": [65024.0] * 3 + [60000.0],
    "large-with-many": [512.0] * 256,
}


def _row(inputs: Inputs) -> Answers:
    found = law(lift(inputs["scores"]))
    return {"weights": found.weights, "log_partition": scalar(found.log_partition)}


def _sum(inputs: Inputs) -> Answers:
    return {"log_partition": _row(inputs)["log_partition"]}


def _problems() -> dict[str, dict[str, NDArray[Any]]]:
    draw = partial(scattered, bits=8)
    plain = {
        "queries": draw(4, 4, seed=511), "keys": draw(8, 4, seed=512), "values": draw(8, 3, seed=513),
        "scale": np.array(0.5),
    }  # fmt: skip
    blind = np.ones((4, 8), dtype=bool)
    blind[1] = False
    blind[2, 3:] = False
    equal = {
        "queries": np.zeros((1, 1)), "keys": draw(300, 1, seed=514), "values": draw(300, 1, seed=515, spread=1.0),
        "scale": np.array(1.0),
    }  # fmt: skip
    return {
        "plain": plain,
        "causal": {**plain, "mask": causal(4, 8, 4)},
        "blind-rows": {**plain, "mask": blind},
        "sink": {**plain, "sink": np.array(0.75)},
        "scores-large": {**plain, "scale": np.array(64.0)},
        "scores-overflow-half": {**plain, "scale": np.array(32768.0)},
        "three-hundred-equal": equal,
        "cancelling-values": {**plain, "values": np.where(np.arange(8)[:, np.newaxis] % 2, 1.0, -1.0) * 256.0 + 0.0},
    }


def subject(form: str, name: str) -> Subject:
    """Return the file of one format."""
    rows = [Case(f"row-{key}", {"scores": scores}, _row, form) for key, scores in ROWS.items() if _fits(scores, form)]
    sums = [Case(f"row-{key}", {"scores": s}, _sum, form) for key, s in SUMS_ONLY.items() if _fits(s, form)]
    return Subject(
        name,
        f"softmax, logsumexp and attention of inputs in {form}, rounded to {form} once",
        {
            "scores": "s_j; -inf masks a key",
            **{key: words for key, words in SYMBOLS.items() if key not in ("bias", "masses")},
            "weights": "of a row softmax, of attention p_ij",
            "log_partition": "of a row logsumexp, of attention log Z_i",
            "output": "sum_j p_ij v_j",
            "sink_weights": "exp(t) / Z_i",
        },
        [*rows, *sums, *(Case(f"attention-{key}", given, outputs, form) for key, given in _problems().items())],
        (
            f"nearest is the number of {form} nearest to the exact result, ties to even; no kernel that rounds between "
            "steps reaches it everywhere, and what it is off by, in units of the last place, is its error.",
            *CONVENTIONS,
        ),
    )


def _fits(scores: list[float], form: str) -> bool:
    return all(math.isinf(x) or is_in(x, form) for x in scores)
