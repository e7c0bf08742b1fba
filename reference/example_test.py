"""How a kernel's test uses these files, with NumPy and, where it is installed, PyTorch; nothing else is needed.

``pytest example_test.py`` or ``python example_test.py``, in this folder or with a copy of it and the two files.
"""
# ruff: noqa: D401, S101, T201

import json
from fractions import Fraction
from pathlib import Path

import numpy as np

try:
    import torch
except ImportError:
    torch = None

HERE = Path(__file__).parent
BITS = {"binary64": (53, -1022), "binary32": (24, -126), "binary16": (11, -14), "bfloat16": (8, -126), "e4m3": (4, -6)}
NARROW = {"binary16": 0, "bfloat16": 0, "e4m3": 8}  # formats to which weights are rounded, times 2 to this power


def cases(file):
    """The cases of a file, by name."""
    return {case["name"]: case for case in json.loads((HERE / f"{file}.json").read_text(encoding="utf-8"))["cases"]}


def array(tensor, key="data"):
    """What a tensor holds, as float64 or booleans."""
    numbers = [float.fromhex(x) if isinstance(x, str) else x for x in tensor[key]]
    return np.array(numbers).reshape(tensor["shape"])


def rounded(x, form):
    """The nearest numbers of a format."""
    bits, least = BITS[form]
    place = np.maximum(np.frexp(x)[1] - 1, least) - bits + 1
    return np.ldexp(np.rint(np.ldexp(x, -place)), place)


def streamed(given, form):
    """Attention with a running maximum, tile by tile: put your kernel here."""
    width = np.float64 if form == "binary64" else np.float32
    q, k, v = (given[name].astype(width) for name in ("queries", "keys", "values"))
    mask = given.get("mask", np.ones((len(q), len(k)), dtype=bool))
    most = np.full(len(q), given.get("sink", -np.inf), dtype=width)  # a sink is there first, with the value 0
    mass = np.full(len(q), float("sink" in given), dtype=width)
    total = np.zeros((len(q), v.shape[1]), dtype=width)
    start = 0
    for size in given["tiles"].astype(int):
        tile = slice(start, start + size)
        start += size
        if size == 0:
            continue
        scores = np.where(mask[:, tile], (q @ k[tile].T) * width(given["scale"]), -np.inf).astype(width)
        new = np.maximum(most, scores.max(axis=1))
        base = np.where(np.isfinite(new), new, width(0.0))  # -inf - -inf is NaN
        weights = np.exp(scores - base[:, None])
        factor = np.exp(most - base)
        coded = weights
        if form in NARROW:
            coded = np.ldexp(rounded(np.ldexp(weights, NARROW[form]), form), -NARROW[form]).astype(width)
        mass, total, most = factor * mass + weights.sum(axis=1), factor[:, None] * total + coded @ v[tile], new
    output = total / np.where(mass > 0.0, mass, width(1.0))[:, None]  # zeros where nothing is seen
    output = output * width(given.get("value_scale", 1.0))
    return rounded(output.astype(np.float64), "bfloat16" if form == "e4m3" else form)


def tolerance(given, form):
    """The error that is allowed, for each query and column, from the file of tolerances."""
    known = cases("tolerances")
    n, d = given["keys"].shape
    length = min(int(array(c["inputs"]["length"])) for c in known.values() if "length" in c["inputs"])
    width = min(int(array(c["inputs"]["width"])) for c in known.values() if "width" in c["inputs"])
    assert n < length, "take the entry of the next larger length"
    assert d <= width, "take the entry of the next larger width"
    bound = known[f"{form}-length-{length}-any-order"]["answers"]
    weights, output, least = (float(array(bound[name], "nearest")) for name in ("weights", "output", "least"))
    scores = float(array(known[f"{form}-width-{width}"]["answers"]["scores"], "nearest"))
    sizes = float(given["scale"]) * (np.abs(given["queries"]) @ np.abs(given["keys"]).T).max(axis=1)
    values = np.abs(given["values"]).max(axis=0) * float(given.get("value_scale", 1.0))
    return values * (weights + scores * sizes[:, None] + output) + least


def departure(found, answer):
    """How far numbers are from the truth: exact, from the decimals of the file."""
    lo, hi = answer["lo"], answer["hi"]
    each = [
        max(abs(Fraction(x) - Fraction(a)), abs(Fraction(x) - Fraction(b)))
        for x, a, b in zip(found, lo, hi, strict=True)
    ]
    return np.array([float(x) for x in each]).reshape(answer["shape"])


def test_a_loop_over_tiles():
    """A loop as Triton kernels have it keeps within the tolerance, in every format."""
    for name, case in cases("streaming").items():
        given = {key: array(tensor) for key, tensor in case["inputs"].items()}
        form = case["inputs"]["values"]["format"]
        found = streamed(given, form)
        assert np.isfinite(found).all(), name
        assert (departure(found.ravel().tolist(), case["answers"]["output"]) <= tolerance(given, form)).all(), name


def test_pytorch():
    """Outputs of scaled_dot_product_attention, and in float64 and float32 its gradients; rows that see nothing too."""
    if torch is None:
        return
    kinds = {
        "binary64": torch.float64,
        "binary32": torch.float32,
        "binary16": torch.float16,
        "bfloat16": torch.bfloat16,
    }
    for name, case in cases("streaming").items():
        form = case["inputs"]["values"]["format"]
        if form not in kinds or "sink" in case["inputs"] or (form == "binary16" and "below-minus" in name):
            continue  # it has no sink, and the scores of the last overflow float16 on some backends
        given = {key: array(tensor) for key, tensor in case["inputs"].items()}
        q, k, v = (torch.tensor(given[key]).to(kinds[form])[None, None] for key in ("queries", "keys", "values"))
        for x in (q, k, v):
            x.requires_grad_()
        mask = torch.tensor(given["mask"])[None, None] if "mask" in given else None
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=float(given["scale"]))
        found = out.detach().double().numpy().ravel().tolist()
        assert (departure(found, case["answers"]["output"]) <= tolerance(given, form)).all(), name
        if "cotangent" in given and form in ("binary64", "binary32"):
            out.backward(torch.tensor(given["cotangent"]).to(kinds[form])[None, None])
            for x, key in ((q, "queries"), (k, "keys"), (v, "values")):
                answer = case["answers"][f"grad_{key}"]
                right = array(answer, "nearest")
                size = float(given["scale"]) * np.abs(given["queries"]).max() * np.abs(given["keys"]).max()
                allowed = 64 * 2.0 ** -BITS[form][0] * (1.0 + size) * max(np.abs(right).max(), 1.0)  # not a theorem
                assert departure(x.grad.double().numpy().ravel().tolist(), answer).max() <= allowed, (name, key)


if __name__ == "__main__":
    test_a_loop_over_tiles()
    test_pytorch()
    print("as the files say" if torch else "as the files say; PyTorch is not installed")
