"""The pocket programs of the notes print what stands below them, and the evidence has the same numbers."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

import pytest

from theory.evidence import Table
from theory.positions import least_sum
from theory.report.archive import find

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^  ```python\n(.*?)^  ```\n\n  ```text\n(.*?)^  ```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [
    tuple(map(textwrap.dedent, found))
    for found in FENCED.findall((ROOT / "docs" / "notes" / "positions.md").read_text(encoding="utf-8"))
]
HORIZONS, MIDDLE, BASES, BITS = (told for _, told in PROGRAMS)


def judged(figure):
    """Return the table of a figure, which is the one that its claims were judged on."""
    return Table.from_csv((ROOT / "figures" / f"{figure}.csv").read_text(encoding="utf-8"))


def stated(claim):
    """Return what the evidence of a claim states, with its remark."""
    told = find(ROOT / "verify" / "evidence", claim).claim
    return f"{told.statement} {told.remark}"


@pytest.mark.parametrize(("program", "told"), PROGRAMS)
def test_programs_print_what_stands_below_them(program, told):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program, {})  # noqa: S102
    assert said.getvalue() == told
    assert sum(bool(line) and "import" not in line for line in program.splitlines()) <= 10


def test_horizons():
    table = judged("windows").where(part="horizon", residual=0.95)
    found = re.findall(r"^(\d+) layers: (\d+) tokens$", HORIZONS, re.MULTILINE)
    assert len(found) == 3
    for depth, reach in found:
        assert table.where(depth=int(depth))["distance"] == int(reach)
        assert f"{int(reach) / 100:.2f}" in stated("influence.window")
    assert "1.54" in stated("influence.window")
    assert ": 154 tokens" in HORIZONS


def test_middle():
    density, factorial = re.search(r"half: (\S+);.*: (\S+)$", MIDDLE).groups()
    assert f"{float(density):.3f}" in stated("influence.residual")
    assert factorial in stated("influence.residual")


def test_bases():
    least = judged("bases").where(part="least", length=1024).intervals("value")[0]
    found = re.findall(r"^base (\S+) (\w+).*: least sum (\S+)$", BASES, re.MULTILINE)
    assert [verdict for _, verdict, _ in found] == ["fails", "passes"] * 3
    assert float(found[0][0]) < least.lo <= least.hi < float(found[1][0])
    for base, _, told in found:
        assert abs(float(told) - least_sum(float(base), 1023, 128).mid) < 5e-5 + 1e-9


def test_bits():
    table = judged("few_bits").where(dim=0)
    found = re.findall(r"^(\d) bits lose (\S+); .* (\S+)/d$", BITS, re.MULTILINE)
    assert len(found) == 3
    for bits, lost, product in found:
        assert abs(table.where(bits=int(bits)).intervals("lost")[0].mid - float(lost)) < 5e-7 + 1e-9
        assert product in stated("quantised.inner-product")
    assert "0.047" in stated("quantised.inner-product")
    assert BITS.endswith("0.047\n")
