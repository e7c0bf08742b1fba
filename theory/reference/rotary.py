"""Known answers of rotary positions far out: cosines, sines, and how far phases in few bits may be off."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from theory.evidence import ball
from theory.reference.cases import Case, Inputs, Subject
from theory.reference.digits import FORMATS, Answers
from theory.reference.formulas import number

BASES = (10_000, 500_000)
WIDTH = 128
POSITIONS = (4095, 32_767, 131_071, 2**20)
PLANES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 63.0)
KEPT = ("binary64", "binary32", "binary16", "bfloat16")  # formats of frequencies
ULPS = 4  # units of a power: two in the last place


def _frequencies(inputs: Inputs) -> Any:
    steps = [ball(-2 * int(i)) / number(inputs["width"]) for i in inputs["planes"]]
    return np.array([number(inputs["base"]) ** step for step in steps], dtype=object)


def _angles(inputs: Inputs) -> Answers:
    theta = _frequencies(inputs)
    phases = number(inputs["position"]) * theta
    cosines, sines = ([getattr(phase, name)() for phase in phases] for name in ("cos", "sin"))
    return {
        "frequencies": theta,
        "phases": phases,
        "cosines": np.array(cosines, dtype=object),
        "sines": np.array(sines, dtype=object),
    }


def _larger(one: Any, other: Any) -> Any:
    return one if one > other else other


def _tolerances(form: str, inputs: Inputs) -> Answers:
    target = FORMATS[form]
    u, h = ball(2) ** -target.bits, ball(2) ** (target.least - target.bits)
    w = ball(2) ** -FORMATS["binary64" if form == "binary64" else "binary32"].bits
    m, found = number(inputs["position"]), {}
    for name, power in (("rounded", ball(1)), ("computed", 1 / (1 - ULPS * u))):
        each = [(theta, theta * (power - 1) + _larger(u * power * theta, h)) for theta in _frequencies(inputs)]
        found[name] = np.array([m * (w * theta + (1 + w) * off) for theta, off in each], dtype=object)
    return found


def subject() -> Subject:
    """Return the file ``rotary``."""
    cases = []
    for base in BASES:
        for position in POSITIONS:
            at = {"base": base, "width": WIDTH, "position": position, "planes": PLANES}
            given = {name: np.array(value, dtype=float) for name, value in at.items()}
            name = f"base-{base}-position-{position}"
            cases.append(Case(name, given, _angles))
            cases += [Case(f"{form}-{name}", given, partial(_tolerances, form)) for form in KEPT]
    return Subject(
        "rotary",
        "rotary positions far out: cosines and sines, and how far phases of frequencies in few bits may be off",
        {
            "base": "b",
            "width": "d, the dimension of queries and keys",
            "position": "m",
            "planes": "i, from 0 to d / 2 - 1: the plane of coordinates 2 i and 2 i + 1, or of i and i + d / 2",
            "frequencies": "theta_i = b^(-2 i / d), in radians",
            "phases": "m theta_i",
            "cosines": "cos(m theta_i)",
            "sines": "sin(m theta_i)",
            "rounded": "of phases, where theta_i was rounded to the format once: "
            "m (w theta_i + (1 + w) max(u theta_i, h))",
            "computed": "the same, where theta_i is one over a power that was computed in the format: m (w theta_i + "
            "(1 + w) (theta_i (1 / (1 - 4 u) - 1) + max(u theta_i / (1 - 4 u), h)))",
        },
        cases,
        (
            "Cases whose names begin with a format have the errors of phases that are allowed if frequencies are kept "
            "in it: u is its unit roundoff (2^-53, 2^-24, 2^-11, 2^-8), h half its least positive number, w = 2^-24 "
            "that of the product of position and frequency, which is in binary32 (2^-53 and binary64 for frequencies "
            "in binary64).",
            "Powers are off by two units in the last place at most, positions and 2 i / d are exact.",
            "Cosines and sines of phases that are off by x are off by at most 2 sin(min(x, pi) / 2), which is at most "
            "x and at most 2, besides what computing them costs.",
        ),
    )
