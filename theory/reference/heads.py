"""Known answers of heads of the sizes in use, of a row so long that weights vanish, and of sums that are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.reference.attention import CONVENTIONS, SYMBOLS, lifted
from theory.reference.cases import Case, Inputs, Recurrent, Repeated, Subject
from theory.reference.digits import FORMATS, Answers
from theory.reference.formulas import attention, lift, number, scalar
from theory.reference.streaming import VALUE_SCALE

LENGTH, ROWS = 256, 2
LONG = 20_000
ANSWERED = (0.0, 99.0, 100.0, 255.0)  # keys of which gradients are given: both ends, and both sides of an end of a tile
TILES = np.array([100.0, 0.0, 28.0, 128.0])
GAPS = {"weights-vanish": 17.5, "weights-are-subnormal": 11.0}  # exp(-17.5) < 2^-25 < exp(-11) < 2^-14
COUNTED = ("tiles", "answered_keys")
PERIOD = 16  # of keys, in exact sums


def _start(place: int) -> int:
    return place * 2654435761 % 2**32


def _answers(inputs: Inputs) -> Answers:
    own = ("tiles", "cotangent", "value_scale", "answered_keys")
    (queries, keys, values), rest = lifted({name: x for name, x in inputs.items() if name not in own})
    factor = number(inputs["value_scale"]) if "value_scale" in inputs else 1
    values = values * factor
    whole = attention(queries, keys, values, **rest)
    found = {"output": whole.output, "log_partition": whole.log_partition}
    if "cotangent" not in inputs:
        return found
    g, p, at = lift(inputs["cotangent"]), whole.weights, inputs["answered_keys"].astype(int)
    reads = g @ values.T
    means = (p * reads).sum(axis=1)
    moved = p * (reads - means[:, np.newaxis])
    base = 0 if "sink" in inputs else keys[:1]  # without a sink nothing depends on it, and what cancels is zero
    found |= {
        "grad_queries": rest["scale"] * (moved @ (keys - base)),
        "grad_keys": rest["scale"] * (moved[:, at].T @ queries),
        "grad_values": factor * (p[:, at].T @ g),
    }
    return {**found, "grad_sink": scalar(-(whole.sinks[:, 0] * means).sum())} if "sink" in inputs else found


def _long(inputs: Inputs) -> Answers:
    """In closed form: one key with the score 0 and the value 0, others with one score and the value 1."""
    gap, others = number(inputs["keys"][-1, 0]), len(inputs["keys"]) - 1
    weight = others * gap.exp()
    output = np.empty((1, 1), dtype=object)
    output[0, 0] = weight / (1 + weight)
    return {"output": output, "log_partition": np.array([(1 + weight).log()], dtype=object)}


def _drawn(form: str, dim: int, place: int) -> dict[str, Any]:
    bits = min(FORMATS[form].bits, 8)
    shapes = {"queries": (ROWS, dim), "keys": (LENGTH, dim), "values": (LENGTH, dim), "cotangent": (ROWS, dim)}
    drawn = {name: Recurrent(shape, _start(place + k), bits) for k, (name, shape) in enumerate(shapes.items())}
    rest = {"scale": np.array(dim**-0.5), "tiles": TILES, "answered_keys": np.array(ANSWERED)}
    return {**drawn, **rest, **({"value_scale": np.array(VALUE_SCALE)} if form == "e4m3" else {})}


def _exact() -> dict[str, dict[str, Any]]:
    """Equal scores, and values of few bits that repeat: sums are exact, and so is the mean of a power of two keys."""
    dim = PERIOD
    slopes = np.zeros((ROWS, dim))
    slopes[0, [0, 5]], slopes[1, [3, 10]] = (1.0, -1.0), 1.0
    plain = {
        "queries": Repeated((ROWS, dim), [0.0], [ROWS * dim]),
        "keys": Recurrent((LENGTH, dim), _start(71), 3),
        "values": Recurrent((LENGTH, dim), _start(72), 2, period=PERIOD * dim),
        "scale": np.array(0.25), "cotangent": slopes, "tiles": TILES, "answered_keys": np.array(ANSWERED),
    }  # fmt: skip
    equal = {
        **plain,
        "queries": Recurrent((ROWS, dim), _start(73), 3),
        "keys": Recurrent((LENGTH, dim), _start(74), 3, period=dim),
        "mask": Repeated((ROWS, LENGTH), [False, True, False, True], [64, 128, 64, LENGTH]),
    }
    signs = np.zeros((ROWS, dim))
    signs[0, 0], signs[1, [3, 10]] = 1.0, 1.0
    zero = {  # the mean of the values is 0
        **plain,
        "values": Repeated((LENGTH, dim), [1.5 / 64.0, -0.5 / 64.0], [64 * dim, 192 * dim]),
        "cotangent": signs,
    }
    sink = {name: x for name, x in plain.items() if name not in ("cotangent", "answered_keys")}
    sink |= {"sink": np.array(0.0)}
    sink["mask"] = Repeated((ROWS, LENGTH), [True, False, True, False, True], [77, 1, LENGTH - 1, 1, 178])
    return {"bits-queries-zero": plain, "bits-keys-equal": equal, "bits-mean-zero": zero, "bits-sink-equal": sink}


def _cases() -> list[Case]:
    found = []
    for form in FORMATS:
        answered = "bfloat16" if form == "e4m3" else form
        masked = {
            **_drawn(form, 64, 11),
            "sink": np.array(0.75),
            "mask": Repeated((ROWS, LENGTH), [True, False, True], [200, 56, LENGTH]),
        }
        problems = {"width-16": _drawn(form, 16, 1), "width-64-masked-with-sink": masked, **_exact()}
        found += [
            Case(f"{name}-{form}", given, _answers, form, answered=answered, counted=COUNTED)
            for name, given in problems.items()
        ]
    for name, gap in GAPS.items():
        given: dict[str, Any] = {
            "queries": np.ones((1, 1)),
            "keys": Repeated((LONG, 1), [0.0, -gap], [1, LONG - 1]),
            "values": Repeated((LONG, 1), [0.0, 1.0], [1, LONG - 1]),
            "scale": np.array(1.0),
            "tiles": Repeated((LONG // 128 + 1,), [128.0, float(LONG % 128)], [LONG // 128, 1]),
        }
        note = f"output = w / (1 + w), w = {LONG - 1} exp(-{gap:g}); log_partition = log(1 + w)"
        found.append(Case(f"{name}-binary16", given, _long, "binary16", note=note, counted=COUNTED))
    return found


def subject() -> Subject:
    """Return the file ``heads``."""
    return Subject(
        "heads",
        "attention of heads of dimension 16 and 64 to 256 keys, to 20000 keys, and to keys of equal scores",
        {
            **{name: words for name, words in SYMBOLS.items() if name not in ("bias", "masses")},
            "tiles": "numbers of keys of the tiles, in the order of the keys; a tile may be empty",
            "value_scale": "c, 1 unless given: values are c v_j, as where v_j has eight bits",
            "cotangent": "g_i, shape (m, d_v)",
            "answered_keys": "the places, from 0 on, of the keys of which grad_keys and grad_values are given",
            "output": "o_i = sum_j p_ij c v_j, p_ij = exp(sigma <q_i, k_j> - L_i) over the keys seen",
            "log_partition": "L_i, the log of the sum of exp(sigma <q_i, k_j>) over the keys seen, and of exp(t)",
            "grad_queries": "gradient of sum_i <g_i, o_i> in the queries",
            "grad_keys": "the same in the keys k_j, j in answered_keys",
            "grad_values": "the same in the values v_j, before they are scaled, j in answered_keys",
            "grad_sink": "the same in the sink, where there is one",
        },
        _cases(),
        (
            "Inputs in e4m3 (four bits of exponent, largest 448) have answers in bfloat16.",
            "An input with counts has each entry of data that many times, in the order of C. An input with a "
            "recurrence has the entries of the recurrence that the schema states.",
            "In cases whose names begin with bits all sums of a kernel in float32 are exact, in every order of keys, "
            "all tiles and splits: its output is the nearest number bit by bit, and so are gradients in binary16 and "
            "bfloat16, and those of bits-mean-zero in e4m3, with weights times 256 and slopes of scores times a power "
            "of two: before they meet other factors both are rounded to what they are.",
            *CONVENTIONS,
        ),
    )
