"""The closing table of a run: as wide as the terminal, or whole in a file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from textwrap import wrap
from typing import Any

from theory.evidence.files import write_whole

SUFFIXES = (".csv", ".json")
_COLUMNS = ("id", "verdict", "kind", "tightness", "margin", "twins", "seconds", "statement")
_ALWAYS = {"id", "verdict", "margin", "seconds"}
_WIDER = ("kind", "twins", "tightness")  # joined in this order as soon as they fit
_NARROW, _WHOLE = 80, 160  # up to so many characters no other column, and from so many on every one
_STATEMENT = 40  # taken: a statement in less would be a tower of words
_RIGHT = {"tightness", "margin", "twins", "seconds"}
_HUES = {"SUPPORTED": "32", "REFUTED": "1;31", "INCONCLUSIVE": "33", "VACUOUS": "35"}
_FAILED = "1;31"
_BOLD = "1"
_STATED = "36"  # not supported, and the claim says so
_STEP = Decimal("1e-6")  # taken: what a reader of the table takes in
_SEVEN = Context(prec=7, rounding=ROUND_CEILING)  # digits of what is too large for decimals


def verdict_table(rows: Sequence[Mapping[str, Any]], *, colour: bool, width: int | None = None) -> str:
    """Lay out one line per claim: what is claimed, what became of it, how sharp, how clearly, how fast.

    ``tightness`` is the largest measured/bound, shown for bounds only, rounded up. ``margin`` is how many times the
    largest departure that the data still allow fits into what the nearest twin leaves, in the part of the claim that
    comes nearest to its limit; below one the claim would be inconclusive. A claim that was not decided, because its
    check raised for instance, has a row and no numbers. Claims that fail come last, below them nothing but the totals;
    one that states another verdict than support, and finds it, is counted by that verdict.

    Parameters
    ----------
    rows : sequence of mapping
        Of every claim ``id``, ``words``, ``verdict``, ``kind``, ``tightness``, ``margin``, ``twins``, ``seconds``, and
        whether it ``passed``.
    colour : bool
        Whether verdicts are coloured.
    width : int, optional
        Characters in a line. Identifier, verdict, margin and seconds are always there and never cut, the other columns
        as far as they fit in more than 80, and all from 160 on; without a width all of them stand in one line.
    """
    ordered = sorted(rows, key=lambda row: (not row["passed"], row["id"]))
    cells = [_cells(row) for row in ordered]
    columns = _that_fit(cells, width)
    wide = {name: max(len(name), *(len(cell[name]) for cell in cells)) for name in columns if name != "statement"}
    used = sum(size + 2 for size in wide.values())
    head = _line(columns, {name: name for name in columns}, wide, None)
    lines = [_coloured(head.rstrip(), _BOLD if colour else None)]
    for row, cell in zip(ordered, cells, strict=True):
        first, *more = _folded(cell["statement"], width, used) if "statement" in columns else [""]
        lines.append(_line(columns, {**cell, "statement": first}, wide, _hue(row) if colour else None))
        lines += [" " * used + line for line in more]
    return "\n".join([*(line.rstrip() for line in lines), totals(rows), ""])


def totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many claims are supported, how many found what else they state, and how many fail."""
    supported = sum(row["passed"] and row["verdict"] == "SUPPORTED" for row in rows)
    others = Counter(row["verdict"].lower() for row in rows if row["passed"] and row["verdict"] != "SUPPORTED")
    failed = Counter(row["verdict"].lower() for row in rows if not row["passed"])
    told = "".join(f", {count} {verdict} as stated" for verdict, count in sorted(others.items()))
    lost = ", ".join(f"{count} {verdict}" for verdict, count in sorted(failed.items()))
    return f"{supported} of {len(rows)} claims supported{told}" + (f"; failed: {lost}" if lost else "")


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], *, scale: str, root: int) -> None:
    """Write every column of every claim, sorted by identifier, as CSV or JSON by the suffix of ``path``.

    Raises
    ------
    ValueError
        If the suffix is another.
    OSError
        If the file cannot be written; what was there is kept.
    """
    names = ("id", "verdict", "passed", "kind", "tightness", "margin", "twins", "seconds", "recorded", "words")
    whole = [{name: row[name] for name in names} for row in sorted(rows, key=lambda row: str(row["id"]))]
    if path.suffix == ".json":
        plain = [{name: _finite(value) for name, value in row.items()} for row in whole]
        text = json.dumps({"scale": scale, "root": root, "claims": plain}, indent=1, allow_nan=False) + "\n"
    elif path.suffix == ".csv":
        file = io.StringIO()
        writer = csv.DictWriter(file, ["scale", "root", *names], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"scale": scale, "root": root, **row} for row in whole)
        text = file.getvalue()
    else:
        raise ValueError(f"table: expected a file {' or '.join(SUFFIXES)}, got {path.name}")
    write_whole(path, text)


def _finite(value: object) -> object:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    tight, margin = row["tightness"], row["margin"]
    return {
        "id": row["id"],
        "verdict": f"{row['verdict']}, as stated" if _stated(row) else row["verdict"],
        "kind": row["kind"],
        "tightness": "-" if tight is None else _rounded_up(tight),
        "margin": "-" if margin is None else f"{margin:.1e}",
        "twins": row["twins"],
        "seconds": f"{row['seconds']:.2f}",
        "statement": row["words"],
    }


def _stated(row: Mapping[str, Any]) -> bool:
    return bool(row["passed"]) and row["verdict"] != "SUPPORTED"


def _hue(row: Mapping[str, Any]) -> str:
    return _STATED if _stated(row) else _HUES.get(row["verdict"], _FAILED)


def _that_fit(cells: Sequence[Mapping[str, str]], width: int | None) -> list[str]:
    """Return the columns that a line of ``width`` characters has room for."""
    if width is None or width >= _WHOLE:
        return list(_COLUMNS)
    size = {name: max(len(name), *(len(cell[name]) for cell in cells)) for name in _COLUMNS}
    chosen = set(_ALWAYS)
    for name in (*_WIDER, "statement") if width > _NARROW else ():
        needed = sum(size[column] + 2 for column in chosen) + (_STATEMENT if name == "statement" else size[name])
        if needed <= width:
            chosen.add(name)
    return [name for name in _COLUMNS if name in chosen]


def _folded(text: str, width: int | None, used: int) -> list[str]:
    return [text] if width is None else wrap(text, max(width - used, _STATEMENT // 2), break_long_words=False) or [""]


def _line(columns: Sequence[str], cell: Mapping[str, str], wide: Mapping[str, int], hue: str | None) -> str:
    """Set the cells of one claim side by side, the verdict in its colour."""
    padded = {
        name: cell[name].rjust(wide[name]) if name in _RIGHT else cell[name].ljust(wide.get(name, 0))
        for name in columns
    }
    return "  ".join(_coloured(text, hue if name == "verdict" else None) for name, text in padded.items())


def _coloured(text: str, hue: str | None) -> str:
    return text if hue is None else f"\x1b[{hue}m{text}\x1b[0m"


def _rounded_up(value: float) -> str:
    """Return six decimals, rounded up: a bound that is exceeded must not read as one that is attained."""
    if not math.isfinite(value):
        return str(value)
    return str(Decimal(value).quantize(_STEP, ROUND_CEILING) if abs(value) < 1e9 else _SEVEN.create_decimal(value))
