"""The table of ``docs/certificates.md``, from the rows that ``benchmarks/attack.py`` wrote.

python -m benchmarks.attacked benchmarks/results/attack.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from statistics import median

Row = dict[str, str]

_WORDS = {
    ("W1", "ball"): "W_1, in the ball",
    ("W2", "ball"): "W_2",
    ("Winf", "ball"): "W_inf",
    ("mean", "ball"): "mean displacement",
    ("max", "ball"): "largest displacement",
    ("frobenius", "ball"): "root of the sum of squares",
    ("mean", "tokens"): "within reach of given tokens: mean",
    ("max", "tokens"): "largest",
    ("frobenius", "tokens"): "root of the sum of squares",
}


def read(path: Path) -> list[Row]:
    """Return the rows of a file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def share(row: Row) -> float:
    """Return what was found over what is certified."""
    return float(row["found"]) / float(row["certified"])


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a table in Markdown, one for every metric."""
    lines = [
        "| | rows | found over certified: least | median | largest | found more than the suite's own search |",
        "|---|---|---|---|---|---|",
    ]
    for (metric, of), words in _WORDS.items():
        own = [row for row in rows if (row["metric"], row["of"]) == (metric, of)]
        shares = [share(row) for row in own]
        more = sum(float(row["found"]) > float(row["own_search"]) for row in own) if of == "ball" else ""
        found = f"{min(shares):.2g} | {median(shares):.3f} | {max(shares):.4f}"
        lines.append(f"| {words} | {len(own)} | {found} | {more} |")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(table(read(Path(sys.argv[1])))) + "\n")
