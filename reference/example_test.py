"""How a kernel's test uses these files, with NumPy and, where it is installed, PyTorch; nothing else is needed.

``pytest example_test.py`` or ``python example_test.py``, in this folder or with a copy of the files it loads.
"""
# ruff: noqa: D401, S101, T201

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from unittest import SkipTest

import numpy as np

try:
    import torch
except ImportError:
    torch = None

HERE = Path(__file__).parent
BITS = {"binary64": (53, -1022), "binary32": (24, -126), "binary16": (11, -14), "bfloat16": (8, -126), "e4m3": (4, -6)}
NARROW = {"binary16": 0, "bfloat16": 0, "e4m3": 8}  # formats to which weights are rounded, times 2 to this power
LARGEST = {"e4m3": 448.0}  # what is beyond becomes that number


@cache
def cases(file):
    """The cases of a file, by name."""
    return {case["name"]: case for case in json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))["cases"]}


def recurrent(start, bits, spread, size, period=None):
    """The numbers of a recurrence, of which a file gives the start."""
    found, x = [], start
    for _ in range(period or size):
        x = (1664525 * x + 1013904223) % 2**32
        found.append((x >> (32 - bits)) - 2 ** (bits - 1))
    return np.resize(found, size) * (float.fromhex(spread) / 2 ** (bits - 1))


def array(tensor, key="data"):
    """What a tensor holds, as float64 or booleans."""
    if "recurrence" in tensor:
        return recurrent(**tensor["recurrence"], size=int(np.prod(tensor["shape"]))).reshape(tensor["shape"])
    numbers = np.array([float.fromhex(x) if isinstance(x, str) else x for x in tensor[key]])
    return np.repeat(numbers, tensor.get("counts", 1)).reshape(tensor["shape"])


@cache
def problems():
    """Names, inputs as arrays, formats and answers of the files of attention."""
    found = []
    for name, case in {**cases("streaming"), **cases("heads")}.items():
        given = {key: array(tensor) for key, tensor in case["inputs"].items()}
        found.append((name, given, case["inputs"]["values"]["format"], case["answers"]))
    return found


def rounded(x, form):
    """The nearest numbers of a format."""
    bits, least = BITS[form]
    place = np.maximum(np.frexp(x)[1] - 1, least) - bits + 1
    return np.ldexp(np.rint(np.ldexp(x, -place)), place)


def answered(form):
    """The format of outputs and gradients."""
    return "bfloat16" if form == "e4m3" else form


def coded(x, form, power=None):
    """Weights and slopes of scores as they meet other factors."""
    if form not in NARROW:
        return x
    power, most = NARROW[form] if power is None else power, LARGEST.get(form, np.inf)
    return np.ldexp(np.clip(rounded(np.ldexp(x, power), form), -most, most), -power).astype(x.dtype)


def half_range(given):
    """Half the largest range of what slopes read in a row, T."""
    reads = given["cotangent"] @ (given["values"] * float(given.get("value_scale", 1.0))).T
    if "sink" in given:
        reads = np.concatenate([reads, np.zeros((len(reads), 1))], axis=1)
    return (reads.max(axis=1) - reads.min(axis=1)).max() / 2


def slope_power(given, form):
    """The largest power of two, at most 100, that takes half the range to 896, for slopes of scores in E4M3."""
    share, exponent = np.frexp(half_range(given))
    return 0 if form != "e4m3" else int(min(100, 10 - exponent - (share > 0.875))) if share else 100


def lifted(given, form):
    """Queries, keys, values and the scale in the format of the sums, and which keys are seen."""
    width = np.float64 if form == "binary64" else np.float32
    q, k, v = (given[name].astype(width) for name in ("queries", "keys", "values"))
    return q, k, v, width(given["scale"]), given.get("mask", np.ones((len(q), len(k)), dtype=bool))


def streamed(given, form):
    """Attention with a running maximum, tile by tile, and the logarithm that it saves: put your kernel here."""
    q, k, v, scale, mask = lifted(given, form)
    width = type(scale)
    most = np.full(len(q), given.get("sink", -np.inf), dtype=width)  # a sink is there first, with the value 0
    mass = np.full(len(q), float("sink" in given), dtype=width)
    total = np.zeros((len(q), v.shape[1]), dtype=width)
    start = 0
    for size in given["tiles"].astype(int):
        tile = slice(start, start + size)
        start += size
        if size == 0:
            continue
        scores = np.where(mask[:, tile], (q @ k[tile].T) * scale, -np.inf).astype(width)
        new = np.maximum(most, scores.max(axis=1))
        base = np.where(np.isfinite(new), new, width(0.0))  # -inf - -inf is NaN
        weights = np.exp(scores - base[:, None])
        factor = np.exp(most - base)
        mass = factor * mass + weights.sum(axis=1)
        total, most = factor[:, None] * total + coded(weights, form) @ v[tile], new
    output = total / np.where(mass > 0.0, mass, width(1.0))[:, None]  # zeros where nothing is seen
    output = output * width(given.get("value_scale", 1.0))
    logarithm = most + np.log(np.where(mass > 0.0, mass, width(1.0)))
    return rounded(output.astype(np.float64), answered(form)), logarithm


def streamed_gradients(given, form):
    """Gradients, tile by tile, from what the forward pass has saved: put your backward kernel here."""
    q, k, v, scale, mask = lifted(given, form)
    output, logarithm = streamed(given, form)
    g, factor, power = (
        given["cotangent"].astype(q.dtype),
        q.dtype.type(given.get("value_scale", 1.0)),
        slope_power(given, form),
    )
    mean = (g * output.astype(q.dtype)).sum(axis=1)
    base = np.where(np.isfinite(logarithm), logarithm, q.dtype.type(0.0))
    found = {f"grad_{name}": np.zeros_like(x) for name, x in (("queries", q), ("keys", k), ("values", v))}
    start = 0
    for size in given["tiles"].astype(int):
        tile = slice(start, start + size)
        start += size
        scores = np.where(mask[:, tile], (q @ k[tile].T) * scale, -np.inf).astype(q.dtype)
        weights = np.exp(scores - base[:, None])
        reads = g @ (v[tile] * factor).T
        moved = coded(weights * (reads - mean[:, None]), form, power)
        found["grad_queries"] += moved @ k[tile] * scale
        found["grad_keys"][tile] = moved.T @ q * scale
        found["grad_values"][tile] = coded(weights, form).T @ g * factor
    if "sink" in given:
        found["grad_sink"] = -(np.exp(q.dtype.type(given["sink"]) - base) * mean).sum()
    return {name: rounded(np.asarray(x, dtype=np.float64), answered(form)) for name, x in found.items()}


def rotary_phases(base, width, position, form):
    """The phases of which a table has cosines and sines: put your table here."""
    powers = np.float32(base) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
    frequencies = rounded((np.float32(1.0) / powers).astype(np.float64), form).astype(np.float32)
    return np.float32(position) * frequencies


def entries(case, *names):
    """Answers of a case, rounded to nearest."""
    return [array(case["answers"][name], "nearest") for name in names]


def bounds(given, form):
    """The entries of the file of tolerances for the next larger length, width, number of queries and depth."""
    known = cases("tolerances")
    own = {c["name"].removeprefix(f"{form}-"): c for c in known.values() if c["name"].startswith(f"{form}-")}
    sizes = {
        name: sorted({int(array(c["inputs"][name])) for c in known.values() if name in c["inputs"]})
        for name in ("length", "rows", "width", "depth")
    }
    needed = {
        "length": len(given["keys"]) + ("sink" in given),
        "rows": len(given["queries"]),
        "width": given["keys"].shape[1],
    }
    needed["depth"] = given["values"].shape[1]
    taken = {name: min(size for size in sizes[name] if size >= least) for name, least in needed.items()}
    return lambda kind, name, words="": own[f"{kind}{name}-{taken[name]}{words}"]


def tolerance(given, form):
    """The error of the output that is allowed, for each query and column, for any order of keys and tiles."""
    of = bounds(given, form)
    weights, output, least = entries(of("", "length", "-any-order"), "weights", "output", "least")
    (scores,) = entries(of("", "width"), "scores")
    sizes = float(given["scale"]) * (np.abs(given["queries"]) @ np.abs(given["keys"]).T).max(axis=1)
    values = np.abs(given["values"]).max(axis=0) * float(given.get("value_scale", 1.0))
    return values * (weights + scores * sizes[:, None] + output) + least


def tolerances_of_gradients(given, form):
    """The errors of gradients that are allowed; the letters are those of the file."""
    of = bounds(given, form)
    case = of("gradients-", "length", "-any-order")
    saved, c_e, c_q, c_s, least = entries(case, "logarithm", "exponentials", "queries", "specks", "least")
    c_z = entries(case, "vanishing")[0] if form == "e4m3" else 0.0
    c_k, c_v = entries(of("gradients-", "rows"), "keys", "values")
    (c_b,), (scores,) = entries(of("gradients-", "depth"), "products"), entries(of("", "width"), "scores")
    u = 2.0 ** -(53 if form == "binary64" else 24)
    scale, m, g = float(given["scale"]), len(given["queries"]), np.abs(given["cotangent"])
    factor, T = float(given.get("value_scale", 1.0)), half_range(given)
    B, H = (g @ np.abs(given["values"] * factor).T).max(), (g * tolerance(given, form)).sum(axis=1).max()
    S = scale * (np.abs(given["queries"]) @ np.abs(given["keys"]).T).max()
    L = (1 + u) * (saved + (u * (1 + scores) + 2 * scores) * max(S, abs(float(given.get("sink", 0.0)))))
    F = H + c_b * (B + H) + least
    D = c_b * B + (1 + u) * F + 2 * u * T
    X = (np.expm1(L) + np.exp(L) * c_e) * (2 * T + D) + D
    V = np.expm1(L) + np.exp(L) * c_v
    return {
        "grad_queries": scale * np.abs(given["keys"]).max() * (X + c_q * (T + X) + c_s + c_z * T) + least,
        "grad_keys": m * scale * np.abs(given["queries"]).max() * (X + c_k * (T + X) + c_s + c_z * T) + least,
        "grad_values": factor * m * g.max() * V + least,
        "grad_sink": m * (V * (2 * T + F) + F) + least,
    }


def departure(found, answer):
    """How far numbers are from the truth: exact, from the decimals of the file."""
    lo, hi = answer["lo"], answer["hi"]
    each = [
        max(abs(Fraction(x) - Fraction(a)), abs(Fraction(x) - Fraction(b)))
        for x, a, b in zip(found, lo, hi, strict=True)
    ]
    return np.array([float(x) for x in each]).reshape(answer["shape"])


def assert_near(found, answer, allowed, where):
    """An answer is finite and within its tolerance."""
    assert np.isfinite(found).all(), where
    assert (departure(found.ravel().tolist(), answer) <= allowed).all(), where


def assert_gradients(found, given, answers, form, where):
    """Gradients are within their tolerances, and zero where nothing is seen or nobody sees."""
    mask = given.get("mask", np.ones((len(given["queries"]), len(given["keys"])), dtype=bool))
    allowed = tolerances_of_gradients(given, form)
    for key, gradient in found.items():
        own = gradient
        if "answered_keys" in given and key in ("grad_keys", "grad_values"):
            own = gradient[given["answered_keys"].astype(int)]
        assert_near(own, answers[key], allowed[key], f"{where}, {key}")
    assert not found["grad_queries"][~mask.any(axis=1)].any(), where
    for key in ("grad_keys", "grad_values"):
        assert not found[key][~mask.any(axis=0)].any(), where


def reordered(given):
    """The same keys in other orders and tiles."""
    n = len(given["keys"])
    for order, size in ((np.arange(n), 1), (np.arange(n)[::-1], 16), (np.argsort(np.arange(n) * 7919 % n), 96)):
        moved = {name: given[name][order] for name in ("keys", "values")}
        moved["tiles"] = np.diff([*range(0, n, size), n])
        yield {**given, **moved, **({"mask": given["mask"][:, order]} if "mask" in given else {})}


def test_a_loop_over_tiles():
    """A loop as Triton kernels have it keeps within the tolerance, in every format."""
    for name, given, form, answers in problems():
        assert_near(streamed(given, form)[0], answers["output"], tolerance(given, form), name)


def test_bits_of_exact_sums():
    """Where all sums are exact the nearest number comes out, bit by bit, in every order and all tiles."""
    for name, given, form, answers in problems():
        if name.startswith("bits"):
            for one in (given, *reordered(given)):
                assert np.array_equal(streamed(one, form)[0], array(answers["output"], "nearest")), name
            if "cotangent" in given and (form in ("binary16", "bfloat16") or name == "bits-mean-zero-e4m3"):
                at = given["answered_keys"].astype(int)
                for key, gradient in streamed_gradients(given, form).items():
                    own = gradient if key == "grad_queries" else gradient[at]
                    assert np.array_equal(own, array(answers[key], "nearest")), (name, key)


def test_gradients_of_a_loop():
    """So do the gradients of a loop that saves one logarithm a row, with sinks and queries that see nothing."""
    for name, given, form, answers in problems():
        if "cotangent" in given:
            assert_gradients(streamed_gradients(given, form), given, answers, form, name)


def test_rotary_phases():
    """Phases, cosines and sines far out, with frequencies that are kept in float32, bfloat16 and float16."""
    known = cases("rotary")
    for name, case in known.items():
        form, _, plain = name.partition("-")
        if form not in ("binary32", "binary16", "bfloat16"):
            continue
        base, width, position = (float(array(case["inputs"][key])) for key in ("base", "width", "position"))
        phases = rotary_phases(base, int(width), position, form)[array(case["inputs"]["planes"]).astype(int)]
        (allowed,) = entries(known[f"binary32-{plain}"], "computed")
        if form != "binary32":  # computed in float32, and rounded
            allowed = allowed + entries(case, "rounded")[0]
        assert_near(phases, known[plain]["answers"]["phases"], allowed, name)
        chords = 2.0 * np.sin(np.minimum(allowed, np.pi) / 2.0) + 2.0**-22
        assert_near(np.cos(phases), known[plain]["answers"]["cosines"], chords, name)
        assert_near(np.sin(phases), known[plain]["answers"]["sines"], chords, name)


def test_pytorch():
    """Outputs and gradients of scaled_dot_product_attention keep to the same tolerances, a sink as one more key."""
    if torch is None:
        raise SkipTest("PyTorch is not installed")
    kinds = {
        "binary64": torch.float64,
        "binary32": torch.float32,
        "binary16": torch.float16,
        "bfloat16": torch.bfloat16,
    }
    for name, given, form, answers in problems():
        if form not in kinds or (form == "binary16" and "below-minus" in name):
            continue  # the scores of the last overflow float16 on some backends
        q, k, v = (torch.tensor(given[key]).to(kinds[form])[None, None] for key in ("queries", "keys", "values"))
        leaves = {"grad_queries": q, "grad_keys": k, "grad_values": v}
        mask = torch.tensor(given["mask"])[None, None] if "mask" in given else None
        if "sink" in given:  # one more key, with a bias for its score
            leaves["grad_sink"] = sink = torch.tensor(float(given["sink"]), dtype=kinds[form])
        for x in leaves.values():
            x.requires_grad_()
        if "sink" in given:
            k, v = (torch.cat([x, torch.zeros_like(x[:, :, :1])], dim=2) for x in (k, v))
            seen = torch.tensor(given.get("mask", np.ones((len(given["queries"]), len(given["keys"])), dtype=bool)))
            bias = torch.zeros(seen.shape, dtype=kinds[form]).masked_fill(~seen, -np.inf)
            mask = torch.cat([bias, sink.expand(len(seen), 1)], dim=1)[None, None]
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=float(given["scale"]))
        assert_near(out.detach().double().numpy()[0, 0], answers["output"], tolerance(given, form), name)
        if "cotangent" in given:
            out.backward(torch.tensor(given["cotangent"]).to(kinds[form])[None, None])
            found = {key: x.grad.double().numpy() for key, x in leaves.items()}
            assert_gradients({key: x[0, 0] if x.ndim else x for key, x in found.items()}, given, answers, form, name)


if __name__ == "__main__":
    test_a_loop_over_tiles()
    test_bits_of_exact_sums()
    test_gradients_of_a_loop()
    test_rotary_phases()
    if torch:
        test_pytorch()
    print("as the files say" if torch else "as the files say; PyTorch is not installed")
