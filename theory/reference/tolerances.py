"""How near a kernel of attention must come: bounds of errors by format, length and width of a head."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from theory.evidence import ball
from theory.reference.cases import Case, Inputs, Subject
from theory.reference.digits import FORMATS, Answers, Format
from theory.reference.formulas import scalar

LENGTHS = (128, 512, 2048, 8192, 32_768, 131_072)
WIDTHS = (32, 64, 96, 128, 192, 256)
TILE = 128
ULPS = 4  # units of an exponential: two in the last place
SCALED = {"e4m3": 8}  # weights times two to this power


def _sums(form: str) -> Format:
    return FORMATS["binary64" if form == "binary64" else "binary32"]


def _output(form: str) -> Format:
    return FORMATS["bfloat16" if form == "e4m3" else form]


def _unit(target: Format) -> Any:
    return ball(2) ** -target.bits


def _loss(form: str, n: int) -> Any:
    """Return what rounding loses of weights, as a part of their sum."""
    if form in ("binary64", "binary32"):
        return ball(0)
    target, others = FORMATS[form], ball(n - 1)
    unit, speck = _unit(target), ball(2) ** (target.least - target.bits - SCALED.get(form, 0))
    normal, subnormal = others * unit / (2 + others * (1 + unit)), others * speck / (1 + others * speck)
    return normal if normal > subnormal else subnormal


def _of_length(form: str, inputs: Inputs) -> Answers:
    n, c, r = (int(inputs[name]) for name in ("length", "additions", "rises"))
    u = _unit(_sums(form))
    exponentials = -(r + 1) * (1 - ULPS * u).log()
    telescoped = 2 * u * (exponentials + (ball(n - 1) / ball(1).exp()).lambertw()) / (1 - u)
    sums = ((2 * (c + r) + 4) * u / (1 - u)).exp() * (1 + _loss(form, n)) - 1
    weights = exponentials + telescoped + sums + n * ball(2) ** (-1000 if form == "binary64" else -110)
    own = _output(form)
    least = ball(2) ** (own.least - own.bits) + 2 * n * ball(2) ** _sums(form).least
    output = ball(0) if own == _sums(form) else _unit(own) * (1 + weights)
    return {"weights": scalar(weights), "output": scalar(output), "least": scalar(least)}


def _of_width(form: str, inputs: Inputs) -> Answers:
    steps = (int(inputs["width"]) + 4) * _unit(_sums(form))
    return {"scores": scalar(steps / (1 - steps))}


def _cases() -> list[Case]:
    found = []
    for form in FORMATS:
        for n in LENGTHS:
            tiles = -(-n // TILE)
            for words, additions, rises in (
                ("any-order", n - 1, n - 1),
                (f"tiles-of-{TILE}", min(n, TILE) + tiles - 2, tiles - 1),
            ):
                given = {"length": np.array(n), "additions": np.array(additions), "rises": np.array(rises)}
                name = f"{form}-length-{n}-{words}"
                found.append(Case(name, given, partial(_of_length, form)))
        for width in WIDTHS:
            given = {"width": np.array(width)}
            found.append(Case(f"{form}-width-{width}", given, partial(_of_width, form)))
    return found


def subject() -> Subject:
    """Return the file ``tolerances``."""
    return Subject(
        "tolerances",
        "how far the output of a kernel of attention may be off, by format, length and width of a head",
        {
            "length": "n, keys that a query sees, a sink among them",
            "additions": "c, through how many additions of floats a weight goes at most",
            "rises": "r, how often at most sums in which a weight is are multiplied since the running maximum rose",
            "width": "d, the dimension of queries and keys",
            "weights": "of the sums, per unit of M = max_j |v_j|: E + exp((2 (c + r) + 4) u / (1 - u)) (1 + R) - 1",
            "scores": "of scores, per unit of S M, S = max_j scale sum_k |q_k k_jk|: (d + 4) u / (1 - (d + 4) u)",
            "output": "of the output's rounding, per unit of M; 0 where it has the format of the sums",
            "least": "of numbers that underflow, absolute",
        },
        _cases(),
        (
            "The output is off by at most M (weights + S scores + output) + least, for every order of keys, tiles and "
            "splits with so many additions and rises; any order at all has c = r = n - 1.",
            "Weights are rounded to the format in the name before they meet the values (those in e4m3 times 256); the "
            "sum of weights takes them as they were. Sums are in binary32 (binary64 for that format), rounded to "
            "nearest, u = 2^-24 or 2^-53. The output has the format, or bfloat16 for e4m3.",
            "Exponentials are off by two units in the last place at most, are exact at 0, and never above 1.",
            "E = A + 2 u (A + W((n - 1) / e)) / (1 - u) + n eta, A = -(r + 1) log(1 - 4 u), W the function of Lambert, "
            "eta = 2^-110, or 2^-1000 in binary64.",
            "R = max((n - 1) u_F / (2 + (n - 1) (1 + u_F)), (n - 1) h / (1 + (n - 1) h)), u_F the unit roundoff and h "
            "half the least positive number of the format (over 256 for e4m3); 0 in binary32 and binary64.",
            "Tiles of 128 are read one after the other, each summed one by one: c = 127 + tiles - 1, r = tiles - 1.",
        ),
    )
