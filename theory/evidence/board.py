"""The closing table of a run, in colour under a terminal and as plain lines in a log."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLOUR = {"SUPPORTED": "green", "REFUTED": "bold red", "INCONCLUSIVE": "yellow", "VACUOUS": "magenta"}
_UNDECIDED = "bold red"
_STATED = "cyan"  # not supported, and the claim says so
_STEP = Decimal("1e-6")  # taken: what a reader of the table takes in
_PLAIN_WIDTH = 400  # a log gets one line per claim, however long


def verdict_table(rows: Sequence[Mapping[str, Any]], *, colour: bool, width: int | None = None) -> str:
    """Lay out one line per claim: what is claimed, what became of it, how sharp, how clearly, how fast.

    ``tightness`` is the largest measured/bound, shown for bounds only, rounded up. ``margin`` is how many times the
    largest departure that the data still allow fits into what the nearest twin leaves; below one the claim would be
    inconclusive. A claim that was not decided, because its check raised for instance, has a row and no numbers. One
    that states another verdict than support, and finds it, is counted by that verdict.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    for name in ("id", "verdict", "kind"):
        table.add_column(name, no_wrap=True)
    for name in ("tightness", "margin", "twins", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("statement", overflow="fold")
    for row in sorted(rows, key=lambda r: str(r["id"])):
        tight = "-" if row["tightness"] is None else _rounded_up(row["tightness"])
        margin = "-" if row["margin"] is None else "inf" if math.isinf(row["margin"]) else f"{row['margin']:.1e}"
        stated = row["stated"] and row["verdict"] != "SUPPORTED"
        hue = _STATED if stated else _COLOUR.get(row["verdict"], _UNDECIDED)
        said = f"{row['verdict']}, as stated" if stated else row["verdict"]
        verdict = f"[{hue}]{said}[/]" if colour else said
        table.add_row(
            row["id"], verdict, row["kind"], tight, margin, row["twins"], f"{row['seconds']:.2f}", Text(row["words"])
        )
    text = io.StringIO()
    Console(file=text, force_terminal=colour, no_color=not colour, width=width or _PLAIN_WIDTH, highlight=False).print(
        table
    )
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    supported = sum(row["verdict"] == "SUPPORTED" for row in rows)
    others = Counter(row["verdict"].lower() for row in rows if row["stated"] and row["verdict"] != "SUPPORTED")
    told = "".join(f", {count} {verdict} as stated" for verdict, count in sorted(others.items()))
    return "\n".join([*lines, f"{supported} of {len(rows)} claims supported{told}", ""])


def _rounded_up(value: float) -> str:
    """Return six decimals, rounded up: a bound that is exceeded must not read as one that is attained."""
    return str(Decimal(value).quantize(_STEP, ROUND_CEILING)) if math.isfinite(value) else str(value)
