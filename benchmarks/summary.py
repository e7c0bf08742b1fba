"""The sentences on speed that README quotes, made from the tables that were published."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

Row = dict[str, str]


def read(path: Path) -> tuple[str, list[Row]]:
    """Return the line that names the machine, and the rows."""
    machine, _, *lines = path.read_text(encoding="utf-8").splitlines()
    return machine.removeprefix("# "), list(csv.DictReader(lines))


def _dense(rows: list[Row]) -> str:
    least = min(row["threads"] for row in rows)
    alone = [row for row in rows if row["threads"] == least]
    compared = [row for row in alone if row.get("torch/ours")] or alone
    tokens = min(4096, max(int(row["n"]) for row in compared))
    chosen = [row for row in alone if int(row["n"]) == tokens]
    times = [float(row["ns per pair"]) for row in chosen]
    ratios = [float(row["torch/ours"]) for row in chosen if row.get("torch/ours")]
    widths = [int(row["d"]) for row in chosen]
    peer = f"; PyTorch takes {min(ratios):.2g} to {max(ratios):.2g} times as long" if ratios else ""
    return (
        f"attention among {chosen[0]['n']} tokens in {min(widths)} to {max(widths)} dimensions takes {min(times):.2g} "
        f"to {max(times):.2g} ns a pair in float64 on one thread{peer}."
    )


def _small(rows: list[Row]) -> str:
    first = rows[0]
    peer = f", PyTorch {float(first['torch, us']):.2g}" if first.get("torch, us") else ""
    return (
        f"A call on {first['n']} tokens takes {float(first['door, us']):.2g} microseconds with all checks, "
        f"{float(first['prepared, us']):.2g} prepared{peer}."
    )


def _fastsum(rows: list[Row]) -> str:
    last = max((row for row in rows if row["case"] == "plane"), key=lambda row: int(row["n"]))
    return f"Fast sums attend among {int(last['n']):,} normal tokens of the plane in {float(last['seconds']):.2g} s."


def _distance(rows: list[Row]) -> str:
    last = max((row for row in rows if row["d"] == "2"), key=lambda row: int(row["n"]))
    return (
        f"Two clouds of {int(last['n']):,} atoms in the plane are {float(last['lo']):.6g} to "
        f"{float(last['hi']):.6g} apart in Wasserstein-1 distance, certified in {float(last['seconds']):.2g} s."
    )


PARTS = {"dense": _dense, "small": _small, "fastsum": _fastsum, "distance": _distance}


def describe(folder: Path, names: Collection[str] = tuple(PARTS)) -> str:
    """Return what tables of a folder say in a few sentences, by processor; nothing is said of one that is not there."""
    said: dict[str, list[str]] = {}
    for name, part in PARTS.items():
        path = folder / f"{name}.csv"
        if name in names and path.exists():
            machine, rows = read(path)
            said.setdefault(machine.split(",", maxsplit=1)[0], []).append(part(rows))
    return " ".join(f"On an {processor}: {' '.join(parts)}" for processor, parts in said.items())
