"""The example of a kernel's test: it runs without the package, and wrong kernels fail it."""

import json
import re
import runpy
import subprocess
import sys
from decimal import ROUND_CEILING, Context
from pathlib import Path

import numpy as np
import pytest

from theory.precision import stream_attention

FOLDER = Path(__file__).parent.parent.parent / "reference"
EXAMPLE = FOLDER / "example_test.py"
SOURCE = EXAMPLE.read_text(encoding="utf-8")
WRONG = {
    "sums are not rescaled": ("factor = np.exp(most - base)", "factor = np.ones_like(most)"),
    "a hidden key has a finite score": ("scale, -np.inf).astype(width)", "scale, -1e5).astype(width)"),
    "the maximum starts at a finite score": ('given.get("sink", -np.inf)', 'given.get("sink", -1e5)'),
    "nothing divided by nothing": ("total / np.where(mass > 0.0, mass, width(1.0))", "total / mass"),
    "the sink has no weight": ('float("sink" in given)', "0.0"),
    "weights in float16 of eight bits": ("rounded(np.ldexp(x, power), form)", 'rounded(np.ldexp(x, power), "e4m3")'),
    "weights below the normal numbers vanish": (
        "rounded(np.ldexp(x, power), form)", "rounded(np.ldexp(np.where(x < 2.0**-14, 0.0, x), power), form)",
    ),
    "sums in half precision": ("factor[:, None] * total + coded(weights, form) @ v[tile], new",
                               "(factor[:, None] * total + coded(weights, form) @ v[tile]).astype(np.float16), new"),
}  # fmt: skip
WRONG_BITS = {
    "numbers are cut off": ("np.rint(", "np.trunc("),
    "slopes of scores are not multiplied": ("mean[:, None]), form, power)", "mean[:, None]), form, 0)"),
    "the sum of weights in four bits": ("mass = factor * mass + weights.sum(axis=1)",
                                             'mass = rounded(factor * mass + weights.sum(axis=1), "e4m3")'),
}  # fmt: skip
WRONG_ROTARY = {
    "frequencies in eight bits": (".astype(np.float64), form)", '.astype(np.float64), "bfloat16")'),
    "positions in eight bits": ("return np.float32(position)",
                                'return np.float32(rounded(np.float64(position), "bfloat16"))'),
    "products in half precision": ("return np.float32(position) * frequencies",
                                   "return np.float16(position) * frequencies.astype(np.float16)"),
    "one plane too far": ("np.arange(0, width, 2,", "np.arange(2, width + 2, 2,"),
}  # fmt: skip
WRONG_BACKWARD = {
    "the mean of the tile": ("reads - mean[:, None]", "reads - (weights * reads).sum(axis=1, keepdims=True)"),
    "the partition of the tile": (
        "        reads = g @", "        weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)\n"
        "        reads = g @",
    ),
    "the mask is ignored": ("np.where(mask[:, tile], (q @ k[tile].T) * scale, -np.inf).astype(q.dtype)",
                            "(q @ k[tile].T) * scale"),
    "the sink has the weight one": ("np.exp(q.dtype.type(given[\"sink\"]) - base) * mean", "mean"),
    "the logarithm has no sink": (
        "base = np.where(np.isfinite(logarithm), logarithm, q.dtype.type(0.0))",
        'base = logarithm + np.log1p(-np.exp(given["sink"] - logarithm)) if "sink" in given else logarithm\n'
        "    base = np.where(np.isfinite(base), base, 0.0).astype(q.dtype)",
    ),
    "a logarithm of nothing": ("base = np.where(np.isfinite(logarithm), logarithm, q.dtype.type(0.0))",
                               "base = logarithm"),
    "no scale": ("moved @ k[tile] * scale", "moved @ k[tile]"),
    "the last tile only": ('found["grad_queries"] += moved', 'found["grad_queries"] = moved'),
    "logarithms in half precision": ("logarithm = most + np.log(np.where(mass > 0.0, mass, width(1.0)))",
                                     "logarithm = (most + np.log(np.where(mass > 0.0, mass, 1))).astype(np.float16)"),
}  # fmt: skip


def test_it_runs_with_the_files_alone():
    code = (
        "import sys; sys.modules['theory'] = None; import runpy; runpy.run_path('example_test.py', run_name='__main__')"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", code], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("as the files say")


@pytest.mark.parametrize(
    ("test", "name", "old", "new"),
    [("test_a_loop_over_tiles", name, *change) for name, change in WRONG.items()]
    + [("test_bits_of_exact_sums", name, *change) for name, change in WRONG_BITS.items()]
    + [("test_rotary_phases", name, *change) for name, change in WRONG_ROTARY.items()]
    + [("test_gradients_of_a_loop", name, *change) for name, change in WRONG_BACKWARD.items()],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_kernels_fail(test, name, old, new):
    assert SOURCE.count(old) == 1
    made = {"__name__": "example", "__file__": str(EXAMPLE)}
    exec(compile(SOURCE.replace(old, new).replace("import torch", "raise ImportError"), name, "exec"), made)  # noqa: S102
    with pytest.raises((AssertionError, FloatingPointError, ValueError, OverflowError)):
        made[test]()


FORMS = {"binary64": "float64", "binary32": "float32", "binary16": "float16"}


def test_exact_sums_have_the_same_bits_in_every_split():
    """As the suite's own kernel reads them, in splits of splits, and with keys in other orders."""
    made = runpy.run_path(str(EXAMPLE))
    exact = [problem for problem in made["problems"]() if problem[0].startswith("bits")]
    assert len(exact) == 20
    for name, given, form, answers in exact:
        n = len(given["keys"])
        right = made["array"](answers["output"], "nearest")
        order = np.argsort(np.arange(n) * 7919 % n)
        rest = {key: given[key] for key in ("mask",) if key in given}
        sink = float(given["sink"]) if "sink" in given else None
        for plan in (
            ([order[:100], []], ([order[100:101]], [order[101:]])),
            (([range(200, n)], [range(16), range(16, 31)]), [range(31, 200)]),
        ):
            found = stream_attention(
                given["queries"], given["keys"], given["values"], plan, form=FORMS.get(form, form),
                scale=float(given["scale"]), sink=sink, **rest,
            )  # fmt: skip
            assert np.array_equal(found, right), name


def rounded_up(decimal):
    """Two digits, none below the number: what is printed is a bound as well."""
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(decimal))


def table(kind, answer, forms):
    """The rows of a table of tolerances on the page, for tiles of 128 keys and for any order."""
    cases = {
        case["name"]: case for case in json.loads((FOLDER / "tolerances.json").read_text(encoding="utf-8"))["cases"]
    }
    names = [name for name in cases if name.startswith("binary64-length") and name.endswith("tiles-of-128")]
    rows = []
    for name in names:
        length = int(re.search(r"length-(\d+)", name)[1])
        cells = []
        for form in forms:
            tiles, order = (
                rounded_up(cases[f"{form}-{kind}length-{length}-{words}"]["answers"][answer]["hi"][0])
                for words in ("tiles-of-128", "any-order")
            )
            cells.append(f"{tiles:g} ({order:g})")
        rows.append(f"| {length} | {' | '.join(cells)} |")
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("kind", "answer", "forms"),
    [
        ("", "weights", ("binary64", "binary32", "bfloat16", "binary16", "e4m3")),
        ("gradients-", "queries", ("binary64", "binary32", "bfloat16", "binary16", "e4m3")),
    ],
)
def test_the_tables_are_those_of_the_file(kind, answer, forms):
    assert table(kind, answer, forms) in (FOLDER / "README.md").read_text(encoding="utf-8")
