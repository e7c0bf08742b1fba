"""How near a kernel of attention must come: bounds of errors by format, length and width of a head; gradients too."""

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
POWER = 100  # slopes of scores are multiplied by two to at most this power for e4m3
ROWS = 2**20  # more queries and keys than any entry is for
SMALL = 60  # factors of gradients are at least two to minus this


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


def _gamma(steps: int, u: Any) -> Any:
    return steps * u / (1 - steps * u)


def _rises(n: int, r: int, u: Any) -> tuple[Any, Any]:
    """Return what exponentials cost a weight, and that with the mean distance of scores from the largest."""
    exponentials = -(r + 1) * (1 - ULPS * u).log()
    return exponentials, exponentials + (ball(n - 1) / ball(1).exp()).lambertw()


def _of_length(form: str, inputs: Inputs) -> Answers:
    n, c, r = (int(inputs[name]) for name in ("length", "additions", "rises"))
    u = _unit(_sums(form))
    exponentials, distance = _rises(n, r, u)
    telescoped = 2 * u * distance / (1 - u)
    sums = ((2 * (c + r) + 4) * u / (1 - u)).exp() * (1 + _loss(form, n)) - 1
    weights = exponentials + telescoped + sums + n * ball(2) ** (-1000 if form == "binary64" else -110)
    own = _output(form)
    least = ball(2) ** (own.least - own.bits) + 2 * n * ball(2) ** _sums(form).least
    output = ball(0) if own == _sums(form) else _unit(own) * (1 + weights)
    return {"weights": scalar(weights), "output": scalar(output), "least": scalar(least)}


def _of_width(form: str, inputs: Inputs) -> Answers:
    return {"scores": scalar(_gamma(int(inputs["width"]) + 4, _unit(_sums(form))))}


def _roundings(form: str) -> tuple[Any, Any]:
    """Return what rounding to the format costs a factor of a product, and a gradient; nothing in that of the sums."""
    if FORMATS[form] == _sums(form):
        return ball(0), ball(0)
    unit = _unit(FORMATS[form])
    return unit / (1 + unit), _unit(_output(form))


def _summed(steps: int, form: str) -> Any:
    u, (coarse, last) = _unit(_sums(form)), _roundings(form)
    return (1 + last) * (1 + coarse) * (1 + u) * (1 + _gamma(steps, u)) - 1


def _far(form: str) -> Any:
    return ball(2) ** (-1000 if form == "binary64" else -110)


def _speck(target: Format) -> Any:
    return ball(2) ** (target.least - target.bits)


def _gradients_of_length(form: str, inputs: Inputs) -> Answers:
    n, c, r = (int(inputs[name]) for name in ("length", "additions", "rises"))
    own, sums = _speck(FORMATS[form]), _sums(form)
    u = _unit(sums)
    exponentials, distance = _rises(n, r, u)
    saved = exponentials + u * distance / (1 - u) + (c + r) * u / (1 - u) + n * _far(form)
    slopes = own / 2**POWER if form in SCALED else own
    specks = n * (slopes + _speck(sums)) * 5 / 4 + 8 * (n + ROWS) * _speck(sums) * 2**SMALL
    return {
        "logarithm": scalar(saved + u * (ULPS + 1 + ULPS * u) * (ball(n).log() + saved)),
        "exponentials": scalar((u * ball(n).log()).exp() / (1 - ULPS * u) - 1 + n * _far(form)),
        "queries": scalar(_summed(c + 3, form)),
        "specks": scalar(specks),
        **({"vanishing": scalar(n * own / ball(FORMATS[form].largest) * 5 / 4)} if form in SCALED else {}),
        "least": scalar(_speck(_output(form)) + 3 * n * ball(2) ** sums.least),
    }


def _gradients_of_rows(form: str, inputs: Inputs) -> Answers:
    m, sums = int(inputs["rows"]), _sums(form)
    u, (coarse, last) = _unit(sums), _roundings(form)
    one = (1 + coarse) * (1 / (1 - ULPS * u) + _far(form)) + _speck(FORMATS[form]) / 2 ** SCALED.get(form, 0)
    values = (1 + last) * (1 + _gamma(m, u)) * one - 1 + 2**24 * _speck(sums) * 2**SMALL
    return {"keys": scalar(_summed(m + 2, form)), "values": scalar(values)}


def _gradients_of_depth(form: str, inputs: Inputs) -> Answers:
    u = _unit(_sums(form))
    return {"products": scalar((1 + u) * _gamma(int(inputs["depth"]), u))}


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
                found.append(Case(f"{form}-length-{n}-{words}", given, partial(_of_length, form)))
                compute = partial(_gradients_of_length, form)
                found.append(Case(f"{form}-gradients-length-{n}-{words}", given, compute))
            rows = {"rows": np.array(n)}
            found.append(Case(f"{form}-gradients-rows-{n}", rows, partial(_gradients_of_rows, form)))
        for width in WIDTHS:
            given = {"width": np.array(width)}
            found.append(Case(f"{form}-width-{width}", given, partial(_of_width, form)))
            depth = {"depth": np.array(width)}
            found.append(Case(f"{form}-gradients-depth-{width}", depth, partial(_gradients_of_depth, form)))
    return found


def subject() -> Subject:
    """Return the file ``tolerances``."""
    return Subject(
        "tolerances",
        "how far outputs and gradients of a kernel of attention may be off, by format, length and width of a head",
        {
            "length": "n, keys that a query sees, a sink among them",
            "additions": "c, through how many additions of floats a weight goes at most",
            "rises": "r, how often at most sums in which a weight is are multiplied since the running maximum rose",
            "width": "d, the dimension of queries and keys",
            "weights": "of the sums, per unit of M = max_j |v_j|: E + exp((2 (c + r) + 4) u / (1 - u)) (1 + R) - 1",
            "scores": "of scores, per unit of S M, S = max_j scale sum_k |q_k k_jk|: (d + 4) u / (1 - (d + 4) u)",
            "output": "of the output's rounding, per unit of M; 0 where it has the format of the sums",
            "least": "of numbers that underflow, absolute",
            "rows": "m, queries",
            "depth": "e, the dimension of values",
            "logarithm": "l, of the saved logarithm of the sum of weights: a + u (5 + 4 u) (log(n) + a), a = A + "
            "u (A + W((n - 1) / e)) / (1 - u) + (c + r) u / (1 - u) + n eta; it is off by at most "
            "l + (u (1 + scores) + scores) S",
            "exponentials": "c_e, of all weights of a row in the backward pass: n^u / (1 - 4 u) - 1 + n eta",
            "products": "c_b, of a slope times values, per unit of B: (1 + u) g(e), g(k) = k u / (1 - k u)",
            "queries": "c_q, of sums and roundings of the gradient of a query: (1 + v) (1 + w) (1 + u) (1 + g(c + 3)) "
            "- 1, w = u_F / (1 + u_F), v the unit roundoff of gradients, both 0 in binary32 and binary64",
            "keys": "c_k, the same of a key: with g(m + 2) for g(c + 3)",
            "values": "c_v, the same of a value: (1 + v) (1 + g(m)) ((1 + w) (1 / (1 - 4 u) + eta) + h) - 1 + 2^84 h_u",
            "specks": "c_s, of slopes of scores that underflow: (5/4) n (h_s + h_u) + 8 (n + 2^20) 2^60 h_u, with h_u "
            "half the least positive number of the sums, h_s = h, and 2^-110 for e4m3",
            "vanishing": "c_z, for e4m3, of the same, per unit of T: (5/4) n 2^-10 / 448; 0 for other formats",
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
            "Gradients of sum_i <g_i, o_i>. The backward pass reads the logarithm that the forward pass saved, one "
            "number a row, and the mean of g with the rounded output; weights and slopes of scores are rounded to the "
            "format before they meet keys, queries and g, and so are gradients at the end, to bfloat16 for e4m3.",
            "For e4m3 weights are multiplied by 256, slopes of scores by the largest power of two, at most 2^100, that "
            "takes T to 896 at most, both are rounded, 448 is put for what exceeds it, and the factors are divided "
            "out. No slope of a score exceeds T / 2.",
            "K, Q, G are the largest sizes of a coordinate of keys, queries and g, B the largest sum_k |g_k v_jk|, T "
            "half the largest range of <g, v_j> over the keys (0 among them if there is a sink), S at least the size "
            "of a sink, H the largest sum_k |g_k| t_k, t_k the tolerance of the output in column k: "
            "L = (1 + u) (l + (u (1 + scores) + 2 scores) S), F = H + c_b (B + H) + least, "
            "D = c_b B + (1 + u) F + 2 u T, X = (exp(L) (1 + c_e) - 1) (2 T + D) + D.",
            "The gradient of a query is off by at most scale K (X + c_q (T + X) + c_s + c_z T) + least, that of a key "
            "by m scale Q (X + c_k (T + X) + c_s + c_z T) + least, that of a value by m G (exp(L) (1 + c_v) - 1) + "
            "least, that of a sink by m ((exp(L) (1 + c_v) - 1) (2 T + F) + F) + least, where scale K, scale Q and G "
            "are 0 or at least 2^-60, for as many additions and rises; additions over queries are in any order.",
        ),
    )
