"""The files of known answers against the definitions as they are printed: no formula is shared with what wrote them."""

import json
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    precision,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from verify import textbook

FOLDER = Path(__file__).parent.parent.parent / "reference"
NARROW = ("float32", "float16", "bfloat16")
BITS = 256
FAR = 4000  # bits with which 1e308 keeps its digits in an exponential, and exp(-2048) beside 1
EDGE = ball("1e-18")  # relative, beside an eigenvalue, at which itself a pivot would vanish
LONG = 19_999  # coordinates of keys, beyond which equal keys are taken together
TINY = ball("2e-100000")  # where an answer is only bounded, it is by half of this
FINEST = (
    1.0 + 2.0**-20
)  # the order beside one, where the quotients of the order's derivative lose the definition's digits


@cache
def cases(subject):
    """The cases of one file."""
    return json.loads((FOLDER / f"{subject}.json").read_text(encoding="utf-8"))["cases"]


def given(case, name, default=None):
    """An input as an array of floats or booleans."""
    if name not in case["inputs"]:
        return default
    tensor = case["inputs"][name]
    if "recurrence" in tensor:
        return recurrent(**tensor["recurrence"], size=int(np.prod(tensor["shape"]))).reshape(tensor["shape"])
    numbers = np.array([x if isinstance(x, bool) else float.fromhex(x) for x in tensor["data"]])
    return np.repeat(numbers, tensor.get("counts", 1)).reshape(tensor["shape"])


@cache
def recurrent(*, start, bits, spread, size, period=None):
    """The numbers of a recurrence, each from the closed form of its power of the multiplier."""
    a, c, modulus = 1664525, 1013904223, 2**32
    found = []
    for k in range(1, (period or size) + 1):
        power = pow(a, k, modulus * (a - 1))
        x = (power * start + c * ((power - 1) // (a - 1))) % modulus
        found.append((x // 2 ** (32 - bits) - 2 ** (bits - 1)) * float.fromhex(spread) / 2 ** (bits - 1))
    return np.tile(found, -(-size // len(found)))[:size]


def filed(answer, off=0):
    """Flat balls around the published intervals, moved by so many units of their fifteenth digit; None is infinite."""
    return [_filed(lo, hi, off) for lo, hi in zip(answer["lo"], answer["hi"], strict=True)]


@cache
def _filed(lo, hi, off):
    if "inf" in lo:
        return None
    around = ball(lo).union(ball(hi))
    return around + off * ball(10) ** (_exponent(lo) - 14) if around != 0 and off else around


def _exponent(text):
    """The exponent of the first digit that is not zero."""
    number, _, power = text.lstrip("-").partition("e")
    whole, _, rest = number.partition(".")
    first = len(whole) - 1 if whole.strip("0") else -1 - (len(rest) - len(rest.lstrip("0")))
    return first + int(power or 0)


def compared(case, name, values, off, **parameters):
    """The finding that a published answer encloses the values of its definition; infinite ones are counted."""
    answer = filed(case["answers"][name], off)
    values = list(np.asarray(values, dtype=object).ravel())
    odd = sum((one is None) != (other is None) for one, other in zip(answer, values, strict=True))
    yield equals(odd, 0, scale=1, case=case["name"], answer=name, **parameters)
    apart = []
    for one, other in zip(answer, values, strict=True):
        if one is not None and other is not None:
            size = abs(one).upper()
            apart.append((other - one) / (size if size > TINY else 1))
    if apart:
        yield equals(hull(np.array(apart, dtype=object)), 0, scale=1, case=case["name"], answer=name, **parameters)


# --- definitions ---


def weights(scores, masses=None, sink=None):
    """Weights of the keys, and of the sink if there is one, and what they were divided by."""
    terms = np.array([ball(0) if s == -np.inf else ball(s).exp() for s in scores]) if scores.dtype != object else scores
    terms = terms if masses is None else terms * balls(masses)
    total = sum(terms, ball(0) if sink is None else ball(sink).exp())
    return (terms / total if total != 0 else terms), total


def logarithm(x):
    """Its logarithm, or None."""
    return None if x == 0 else x.log()


def attended(q, k, case, *, seen=True):
    """Weights, those of the sink, and totals of attention, of balls or power series."""
    scale, bias, mask, masses = (given(case, name) for name in ("scale", "bias", "mask", "masses"))
    sink = given(case, "sink")
    scores = (q @ k.T) * ball(float(scale))
    shown = np.ones(scores.shape, dtype=bool) if mask is None or not seen else mask
    if bias is not None:
        shown = shown & np.isfinite(bias)
        scores = scores + balls(np.where(np.isfinite(bias), bias, 0.0))
    terms = np.where(shown, textbook.exp(scores), 0 * scores)
    terms = terms if masses is None else terms * balls(masses)
    total = terms.sum(axis=1) + (0 if sink is None else ball(float(sink)).exp())
    blind = ~shown.any(axis=1) & (sink is None)
    return terms / np.where(blind, ball(1), total)[:, np.newaxis], total, blind


def gradients(case, *, seen=True):
    """The gradients of <g, output> by the usual steps: those of weights, scores, queries, keys, values and sink."""
    q, k, v, g = (balls(given(case, name)) for name in ("queries", "keys", "values", "cotangent"))
    scale, factor = ball(float(given(case, "scale"))), ball(float(given(case, "value_scale", 1.0)))
    v = v * factor
    p, total, _ = attended(q, k, case, seen=seen)
    reads = (g * (p @ v)).sum(axis=1, keepdims=True)
    scores = p * (g @ v.T - reads)
    found = {"queries": (scores @ k) * scale, "keys": (scores.T @ q) * scale, "values": p.T @ g * factor}
    if given(case, "bias") is not None:
        found["bias"] = scores
    if given(case, "sink") is not None:
        found["sink"] = -(ball(float(given(case, "sink"))).exp() / total * reads[:, 0]).sum()
    return found


def moved(case, *, seen=True):
    """The outputs along the moves, by power series: no derivative is written down."""
    t = variable(2)
    q, k, v = (
        balls(given(case, name)) + balls(given(case, f"moved_{name}")) * t for name in ("queries", "keys", "values")
    )
    p, _, _ = attended(q, k, case, seen=seen)
    return np.frompyfunc(lambda entry: coefficient(entry, 1) if hasattr(entry, "valuation") else entry, 1, 1)(p @ v)


def sparse(case, *, swapped=False):
    """The law and the threshold of entmax, masked keys without weight."""
    scores, alpha = given(case, "scores"), float(given(case, "alpha"))
    on = np.isfinite(scores)
    p = balls(np.zeros(scores.size))
    if not on.any():
        return p, None, on
    p[on] = textbook.entmax(scores[on], alpha + 0.25 * swapped)
    top = int(np.argmax(scores))
    e = ball(alpha) - 1
    nu = ball(scores[top]) - (p[top].log() if alpha == 1.0 else (p[top] ** e - 1) / e)
    return p, nu, on & np.array([bool(x > 0) for x in p])


def of_order(p, inside, alpha):
    """The derivative in the order, from the law alone (Correia, Niculae and Martins 2019)."""
    own, e = p[inside], ball(alpha) - 1
    h = own * textbook.log(own)
    tilted = own ** (1 - e)
    tilted = tilted / tilted.sum()
    if alpha == 1.0:
        first = own * textbook.log(own) ** 2 / 2
        change = own * first.sum() - first
    else:
        change = (own - tilted) / e**2 - (h - tilted * h.sum()) / e
    found = 0 * p
    found[inside] = change
    return found


@cache
def transported(name, *, squared=False):
    """The cost of a coupling of unit atoms in balls, and the most that a cycle of exchanges could save."""
    (case,) = [case for case in cases("w1") if case["name"] == name]
    left, right = (
        np.repeat(given(case, side), given(case, f"{side}_counts").astype(int), axis=0) for side in ("left", "right")
    )
    costs = textbook.squares(balls(left), balls(right))
    costs = costs if squared else np.sqrt(costs)
    scale = np.abs(np.concatenate([left, right])).max()
    rough = np.linalg.norm((left[:, None] - right[None]) / scale, axis=2)
    _, to = linear_sum_assignment(rough)
    n = len(left)
    own = np.array([costs[i, to[i]] for i in range(n)])
    saved = np.array([[costs[i, to[j]] - own[i] for j in range(n)] for i in range(n)])  # i takes what j had
    for j, i, k in product(range(n), repeat=3):
        through = saved[i, j] + saved[j, k]
        saved[i, k] = through if through.mid() < saved[i, k].mid() else saved[i, k]
    return own.sum() / n, min((saved[i, i] for i in range(n)), key=lambda b: b.mid())


# --- parts ---


def listed(definitions):
    """Compute what a generator yields once for the claim and its twins: case, answer, values and part."""
    return cache(lambda *changes: list(definitions(*changes)))


@listed
def rows(tau_squared, masked):
    """Softmax and logsumexp."""
    for subject, case in [
        (s, c) for s in ("softmax", "logsumexp", *NARROW) for c in cases(s) if "scores" in c["inputs"]
    ]:
        scores = given(case, "scores")
        if not masked:
            scores = np.where(np.isneginf(scores), -10.0, scores)
        with precision(FAR):
            if np.isposinf(scores).any():
                yield (case, "value", [None], subject)
                continue
            if "tau" in case["inputs"]:
                tau = ball(float(given(case, "tau"))) ** (2 if tau_squared else 1)
                scores = textbook.exp(balls(scores) / tau)
            p, total = weights(scores, given(case, "prior", given(case, "weights")))
            known = {"weights": p, "gradient": p, "log_weights": [logarithm(x) for x in p]}
            known["log_partition"] = known["value"] = [logarithm(total)]
            for name in case["answers"]:
                yield (case, name, known[name], subject)


@listed
def heads(masked):
    """Attention, its gradients and its derivatives along moves."""
    attended_to = [(s, c) for s in ("attention", *NARROW) for c in cases(s) if "queries" in c["inputs"]]
    for subject, case in attended_to:
        with precision(FAR):
            p, total, blind = attended(balls(given(case, "queries")), balls(given(case, "keys")), case, seen=masked)
            known = {"weights": p, "output": p @ balls(given(case, "values"))}
            known["log_partition"] = [None if b else t.log() for b, t in zip(blind, total, strict=True)]
            if "sink" in case["inputs"]:
                known["sink_weights"] = [ball(float(given(case, "sink"))).exp() / t for t in total]
            for name in case["answers"]:
                yield (case, name, known[name], subject)
    for case in cases("jacobian_products"):
        if "queries" not in case["inputs"]:
            continue
        with precision(FAR):  # what cancels in the usual steps does not in the file
            for name, values in gradients(case, seen=masked).items():
                yield (case, f"grad_{name}", values, "gradients")
        with precision(FAR):
            yield (case, "moved_output", moved(case, seen=masked), "moves")


@listed
def tiles(masked):
    """Attention to tiles of keys, and to all of them."""
    for case in cases("streaming"):
        with precision(FAR):
            q, k, v = (balls(given(case, name)) for name in ("queries", "keys", "values"))
            v = v * ball(float(given(case, "value_scale", 1.0)))
            terms = textbook.exp((q @ k.T) * ball(float(given(case, "scale"))))
            shown = given(case, "mask", np.ones(terms.shape, dtype=bool)) | (not masked)
            terms = np.where(shown, terms, ball(0))
            extra = textbook.exp(balls(given(case, "sink"))) if "sink" in case["inputs"] else ball(0)
            ends = [0, *np.cumsum(given(case, "tiles")).astype(int).tolist()]
            masses = [terms[:, a:b].sum(axis=1) + ball(0) for a, b in pairwise(ends)]
            sums = [terms[:, a:b] @ v[a:b] if b > a else 0 * (q @ v[:2]) for a, b in pairwise(ends)]
            total = sum(masses) + extra
            known = {
                "tile_log_partitions": [logarithm(x) for mass in masses for x in mass],
                "tile_outputs": [
                    _average(s, m)
                    for some, mass in zip(sums, masses, strict=True)
                    for s, m in zip(some, mass, strict=True)
                ],
                "log_partition": [logarithm(x) for x in total],
                "output": [_average(s, m) for s, m in zip(sum(sums), total, strict=True)],
            }
            for name, values in known.items():
                yield case, name, values, "streaming"
            if "cotangent" in case["inputs"]:
                for name, values in gradients(case, seen=masked).items():
                    yield case, f"grad_{name}", values, "streaming gradients"


@listed
def long_heads(masked):
    """Heads of the sizes in use; of the longest rows equal scores are taken together."""
    for case in cases("heads"):
        with precision(BITS):
            k, v = given(case, "keys"), given(case, "values")
            if k.size > LONG:
                (first, other), counts = np.unique(k[:, 0])[::-1], (1, len(k) - 1)
                terms = [ball(float(first)).exp(), counts[1] * ball(float(other)).exp()]
                yield case, "output", [terms[1] * ball(v.max()) / sum(terms)], "heads"
                yield case, "log_partition", [sum(terms).log()], "heads"
                continue
            p, total, _ = attended(balls(given(case, "queries")), balls(k), case, seen=masked)
            factor = ball(float(given(case, "value_scale", 1.0)))
            yield case, "output", p @ balls(v) * factor, "heads"
            yield case, "log_partition", [mass.log() for mass in total], "heads"
            if "cotangent" in case["inputs"]:
                at = given(case, "answered_keys").astype(int)
                for name, values in gradients(case, seen=masked).items():
                    chosen = values[at] if name in ("keys", "values") else values
                    yield case, f"grad_{name}", chosen, "heads, gradients"


def nearness(others):
    """The root of z exp(1 + z) = n - 1, by Newton's method, and enclosed by a change of sign."""
    z = ball(others + 1).log().mid()
    for _ in range(40):
        value = (1 + z).exp()
        z = (z - (z * value - others) / ((1 + z) * value)).mid()
    reach = z * ball("1/2") ** (BITS - 24)
    low, high = z - reach, z + reach
    assert low * (1 + low).exp() < others < high * (1 + high).exp()
    return low.union(high)


def bounds(halved):
    """Tolerances, from their formula; of widths, and of lengths."""
    for case in cases("tolerances"):
        form = case["name"].partition("-")[0]
        bits, least, times = {
            "binary64": (53, -1022, 0), "binary32": (24, -126, 0), "binary16": (11, -14, 0), "bfloat16": (8, -126, 0),
            "e4m3": (4, -6, 8),
        }[form]  # fmt: skip
        wide = form in ("binary64", "binary32")
        double = 2 if halved else 1
        with precision(BITS):
            u = ball("1/2") ** (53 if form == "binary64" else 24) / double
            if "-gradients-" in case["name"]:
                for name, value in of_gradients(case, u, wide, bits, least).items():
                    yield case, name, [value], "tolerances"
                continue
            if "width" in case["inputs"]:
                steps = int(given(case, "width")) + 4
                yield case, "scores", [steps * u / (1 - steps * u)], "tolerances"
                continue
            n, c, r = (int(given(case, name)) for name in ("length", "additions", "rises"))
            others, rounded, speck = n - 1, ball("1/2") ** bits / double, ball("1/2") ** (bits - least + times)
            lost = max(
                others * rounded / (2 + others * (1 + rounded)), others * speck / (1 + others * speck),
                key=lambda b: b.mid(),
            )  # fmt: skip
            away = -(r + 1) * (1 - 4 * u).log()
            mean = nearness(others)
            total = away + 2 * u * (away + mean) / (1 - u) + n * ball("1/2") ** (1000 if form == "binary64" else 110)
            total = total + ((2 * c + 2 * r + 4) * u / (1 - u)).exp() * (1 + (0 if wide else lost)) - 1
            own = ball("1/2") ** (8 if form == "e4m3" else bits) / double
            yield case, "weights", [total], "tolerances"
            yield case, "output", [ball(0) if wide else own * (1 + total)], "tolerances"
            end = -126 - 8 if form == "e4m3" else least - bits
            under = ball(2) ** end + n * ball(2) ** (-1021 if form == "binary64" else -125)
            yield case, "least", [under / double], "tolerances"


def of_gradients(case, u, wide, bits, least):
    """The parts of tolerances of gradients; roundings as powers of what one costs, sums as one over what they keep."""
    unit = 0 * u if wide else u * ball(2) ** ((53 if bits == 53 else 24) - bits)
    eight = bits == 4  # outputs and gradients in bfloat16, weights times 2^8, slopes up to times 2^100
    last, final = (u * ball(2) ** 16, ball(2) ** -134) if eight else (unit, ball(2) ** (least - bits))
    half, under = ball(2) ** (least - bits), ball(2) ** (-1075 if bits == 53 else -150)
    weight, slope = (half / 256, half * ball(2) ** -100) if eight else (half, half)
    eta = ball(2) ** (-1000 if bits == 53 else -110)
    grown = lambda k: 1 / (1 - k * u)  # noqa: E731  one and what k roundings may add
    factor = (1 + 2 * unit) / (1 + unit)  # one and what rounding to nearest adds
    summed = lambda k: (1 + last) * (1 + u) * factor * grown(k) - 1  # noqa: E731
    if "depth" in case["inputs"]:
        return {"products": (1 + u) * (grown(int(given(case, "depth"))) - 1)}
    if "rows" in case["inputs"]:
        m = int(given(case, "rows"))
        one = factor / (1 - 4 * u) + factor * eta + weight
        return {"keys": summed(m + 2), "values": (1 + last) * grown(m) * one - 1 + under * ball(2) ** 84}
    n, c, r = (int(given(case, name)) for name in ("length", "additions", "rises"))
    away = -(r + 1) * (1 - 4 * u).log()
    whole = away + (u * (away + nearness(n - 1)) + (c + r) * u) / (1 - u) + n * eta
    return {
        "logarithm": whole + (5 * u + 4 * u**2) * (ball(n).log() + whole),
        "exponentials": ball(n) ** u / (1 - 4 * u) - 1 + n * eta,
        "queries": summed(c + 3),
        **({"vanishing": n * ball("1.25") / (448 * 2**10)} if eight else {}),
        "specks": n * (slope + under) * ball("1.25") + (n + 2**20) * under * ball(2) ** 63,
        "least": final + 3 * n * ball(2) ** (-1022 if bits == 53 else -126),
    }


def turned(angle, times):
    """Cosine and sine of a whole multiple of an angle, by doubling."""
    c, s = ball(1), ball(0)
    for bit in f"{times:b}":
        c, s = c * c - s * s, 2 * c * s
        if bit == "1":
            c, s = c * angle.cos() - s * angle.sin(), s * angle.cos() + c * angle.sin()
    return c, s


@listed
def phases(halved):
    """Rotary positions, and tolerances of their phases."""
    for case in cases("rotary"):
        base, width, position = (int(given(case, name)) for name in ("base", "width", "position"))
        with precision(BITS):
            angles = [(-2 * int(i) * ball(base).log() / width).exp() for i in given(case, "planes")]
            form = case["name"].partition("-")[0]
            if form == "base":
                cosines, sines = zip(*(turned(angle, position) for angle in angles), strict=True)
                known = {"frequencies": angles, "phases": [angle * position for angle in angles]}
                known |= {"cosines": cosines, "sines": sines}
            else:
                bits, least = {"binary64": (53, -1022), "binary32": (24, -126), "binary16": (11, -14)}.get(
                    form, (8, -126)
                )
                u, w = (ball("1/2") ** p / (2 if halved else 1) for p in (bits, 53 if bits == 53 else 24))
                half = ball("1/2") ** (bits - least) / (2 if halved else 1)
                known = {}
                for name, grown in (("rounded", ball(1)), ("computed", 1 / (1 - 4 * u))):
                    known[name] = [
                        position * (angle * (grown - 1) + max(u * grown * angle, half, key=lambda b: b.mid())) * (1 + w)
                        + position * w * angle
                        for angle in angles
                    ]
        for name, values in known.items():
            yield case, name, values, "rotary"


def _average(sums, mass):
    """A quotient, or what is left of nothing."""
    return sums / mass if mass != 0 else sums


@listed
def derivatives_of_rows(masked):
    """Products with the Jacobian of softmax, its logarithm and logsumexp."""
    for case in cases("jacobian_products"):
        if "scores" not in case["inputs"]:
            continue
        with precision(FAR):
            scores, c = given(case, "scores"), balls(given(case, "vector"))
            on = np.isfinite(scores) | (not masked)
            p, _ = weights(np.where(np.isfinite(scores) | masked, scores, -10.0))
            mean = (p * c).sum()
            known = {
                "softmax": p * (c - mean),
                "log_softmax_vjp": np.where(on, c - p * c.sum(), 0 * c),
                "log_softmax_jvp": np.where(on, c - mean, 0 * c),
                "logsumexp": [mean],
            }
            for name, values in known.items():
                yield (case, name, values, "products")


@listed
def laws(swapped):
    """Entmax and its derivatives."""
    for case in cases("entmax"):
        with precision(BITS):
            p, nu, _ = sparse(case, swapped=swapped)
            yield (case, "weights", p, "entmax")
            yield (case, "threshold", [nu], "threshold")
    for case in cases("entmax_derivatives"):
        with precision(BITS):
            alpha = float(given(case, "alpha"))
            p, _, inside = sparse(case, swapped=swapped)
            c = balls(given(case, "vector"))
            q = 0 * p
            q[inside] = p[inside] ** (2 - ball(alpha))
            product_ = q * (c - (q * c).sum() / q.sum()) if inside.any() else q
            yield (case, "weights", p, "slopes")
            yield (case, "product", product_, "slopes")
            if alpha != FINEST:
                change = of_order(p, inside, alpha) if inside.any() else q
                yield (case, "order_derivative", change, "order")


def clouds(off, squared):
    """Distances of small clouds."""
    for case in cases("w1"):
        with precision(BITS):
            cost, saved = transported(case["name"], squared=squared)
            yield from compared(case, "distance", [cost], off, part="w1")
            if cost > 0:
                yield at_most(-saved / cost, 0, scale=1, part="w1", case=case["name"], answer="optimal")


@cache
def symmetric(name):
    """The matrix of which the largest eigenvalue is asked for: of a law's Jacobian, or of one's square."""
    (case,) = [case for case in cases("lipschitz") if case["name"] == name]
    if "alpha" in case["inputs"]:
        p, _, inside = sparse(case)
        q = p[inside] ** (2 - ball(float(given(case, "alpha"))))
        return np.diag(q) - np.outer(q, q) / q.sum()
    if "scores" in case["inputs"]:
        p, _ = weights(given(case, "scores"))
        return np.diag(p) - np.outer(p, p)
    x, columns = given(case, "tokens"), []
    for way in np.eye(x.size):
        moved_x = balls(x) + balls(way.reshape(x.shape)) * variable(2)
        outputs = attended(moved_x, moved_x, case)[0] @ moved_x
        columns.append(np.frompyfunc(lambda entry: coefficient(entry, 1), 1, 1)(outputs).ravel())
    matrix = np.stack(columns, axis=1)
    return matrix.T @ matrix


def above(matrix, number):
    """How many eigenvalues are above a number: the negative pivots of the number less the matrix (Sylvester)."""
    rest = np.diag([number] * len(matrix)) - matrix
    count = 0
    for k in range(len(rest)):
        count += int(bool(rest[k, k] < 0))
        rest[k + 1 :] = rest[k + 1 :] - np.outer(rest[k + 1 :, k] / rest[k, k], rest[k])
    return count


def eigenvalues(off):
    """Norms from l2 to l2: some eigenvalue lies above the lower end, and none above the upper."""
    for case in cases("lipschitz"):
        for name in ("two_to_two", "frobenius"):
            if name in case["answers"]:
                with precision(BITS):
                    (norm,) = filed(case["answers"][name], off)
                    power = 2 if name == "frobenius" else 1
                    low, high = (
                        above(symmetric(case["name"]), end**power)
                        for end in (norm.lower() * (1 - EDGE), norm.upper() * (1 + EDGE))
                    )
                    yield at_least(low, 1, part="norms", case=case["name"], answer=name)
                    yield equals(high, 0, scale=1, part="norms", case=case["name"], answer=name)


def constants(off, halved):
    """Constants and norms in closed form."""
    for case in cases("lipschitz"):
        with precision(BITS):
            known = {}
            if case["name"].startswith("ball"):
                alpha = ball(float(given(case, "alpha"))) / (2 if halved else 1)
                known = {"w1_constant": (1 + 2 * alpha) * (2 * alpha).exp(), "query_constant": alpha}
            elif case["name"].startswith("logits"):
                d = ball(float(given(case, "delta"))) / (2 if halved else 1)
                known = {f"{name}_law": 1 - 2 / ((d / t).exp() + 1) for name, t in (("moved", 1), ("turned", 2))}
            elif case["name"].startswith("nearness"):
                (c,) = filed(case["answers"]["nearness"], off)
                tokens = ball(float(given(case, "tokens"))) / (2 if halved else 1)
                yield equals(c * (c + 1).exp() / (tokens - 1), 1, part="constants", case=case["name"])
            elif case["name"].startswith("softmax"):
                p, _ = weights(given(case, "scores"))
                matrix = np.diag(p) - np.outer(p, p)
                signs = [balls(np.array(s)) for s in product((-1.0, 1.0), repeat=p.size)]
                most = {
                    "one_to_one": np.abs(matrix).sum(axis=0),
                    "one_to_infinity": np.abs(matrix).ravel(),
                    "infinity_to_one": [np.abs(matrix @ s).sum() for s in signs],
                }
                known = {name: max(values, key=lambda b: b.mid()) for name, values in most.items()}
            for name, value in known.items():
                yield from compared(case, name, [value], off, part="constants")


@verifies(
    Claim(
        "reference.digits",
        "the files of known answers hold fifteen digits of the definitions",
        r"every answer lies between its published ends, which agree to fifteen significant digits: softmax, logsumexp, attention with masks, weights and sinks, whole and by tiles of keys, to as many as 20000, with gradients, tolerances of kernels, rotary positions and tolerances of their phases, entmax of orders 1 to 10, their derivatives, $W_1$ of small clouds, Lipschitz constants and norms of Jacobians",
        assumptions=(
            "inputs are the floats that the files give",
            r"magnitudes of at least $10^{-100000}$",
            r"derivatives in the order at all orders but $1 + 2^{-20}$",
        ),
        remark=r"Derivatives along moves are Taylor coefficients of the definition, gradients the usual backward steps, the derivative of entmax in its order a formula in the law alone; couplings are optimal because no cycle of exchanges saves anything; norms from $\ell_2$ to $\ell_2$ are counted by pivots.",
    ),
    constant("last-digit", "every answer is one unit of its fifteenth digit larger", off=1),
    hypothesis("unmasked", "masks are ignored, and a masked score is -10", masked=False),
    bug("other-order", "the order of entmax is a quarter larger", swapped=True),
    bug("squared", "temperatures and distances are squared", squared=True),
    constant("halved", "constants of half the argument", halved=True),
)
def test_digits(run, *, off=0, masked=True, swapped=False, squared=False, halved=False):
    for case, name, values, part in [
        *rows(squared, masked),
        *heads(masked),
        *tiles(masked),
        *long_heads(masked),
        *derivatives_of_rows(masked),
        *laws(swapped),
        *bounds(halved),
        *phases(halved),
    ]:
        yield from compared(case, name, values, off, part=part)
    yield from clouds(off, squared)
    yield from constants(off, halved)
    yield from eigenvalues(off)
