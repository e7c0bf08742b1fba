"""The example of a kernel's test: it runs without the package, and wrong kernels fail it."""

import json
import re
import subprocess
import sys
from decimal import ROUND_CEILING, Context
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "reference"
EXAMPLE = FOLDER / "example_test.py"
SOURCE = EXAMPLE.read_text(encoding="utf-8")
WRONG = {
    "sums are not rescaled": ("factor = np.exp(most - base)", "factor = np.ones_like(most)"),
    "a hidden key has a finite score": ("* width(given[\"scale\"]), -np.inf)", "* width(given[\"scale\"]), -1e5)"),
    "the maximum starts at a finite score": ('given.get("sink", -np.inf)', 'given.get("sink", -1e5)'),
    "nothing divided by nothing": ("np.where(mass > 0.0, mass, width(1.0))", "mass"),
    "the sink has no weight": ('float("sink" in given)', "0.0"),
    "weights in float16 of eight bits": ('rounded(np.ldexp(weights, NARROW[form]), form)',
                                         'rounded(np.ldexp(weights, NARROW[form]), "e4m3")'),
    "sums in half precision": (", factor[:, None] * total + coded @ v[tile], new",
                               ", (factor[:, None] * total + coded @ v[tile]).astype(np.float16), new"),
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


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("ignore")
def test_wrong_kernels_fail(name):
    old, new = WRONG[name]
    assert SOURCE.count(old) == 1
    made = {"__name__": "example", "__file__": str(EXAMPLE)}
    exec(compile(SOURCE.replace(old, new).replace("import torch", "raise ImportError"), name, "exec"), made)  # noqa: S102
    with pytest.raises((AssertionError, FloatingPointError, ValueError, OverflowError)):
        made["test_a_loop_over_tiles"]()


def rounded_up(decimal):
    """Two digits, none below the number: what is printed is a bound as well."""
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(decimal))


def table():
    """The rows of the page's table of tolerances."""
    cases = {
        case["name"]: case for case in json.loads((FOLDER / "tolerances.json").read_text(encoding="utf-8"))["cases"]
    }
    names = [name for name in cases if name.startswith("binary64-length") and name.endswith("tiles-of-128")]
    rows = []
    for name in names:
        length = int(re.search(r"length-(\d+)", name)[1])
        cells = []
        for form in ("binary64", "binary32", "bfloat16", "binary16", "e4m3"):
            tiles, order = (
                rounded_up(cases[f"{form}-length-{length}-{words}"]["answers"]["weights"]["hi"][0])
                for words in ("tiles-of-128", "any-order")
            )
            cells.append(f"{tiles:g} ({order:g})")
        rows.append(f"| {length} | {' | '.join(cells)} |")
    return "\n".join(rows)


def test_the_table_is_that_of_the_file():
    assert table() in (FOLDER / "README.md").read_text(encoding="utf-8")
