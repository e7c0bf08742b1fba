"""``python -m benchmarks [NAME ...]``: measure, print, and write a table and a plot per name into a folder."""

from __future__ import annotations

import argparse
import csv
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table

from theory.engine.threads import threads
from theory.figures._style import style

NAMES = {
    "dense": "dense attention against NumPy, PyTorch and KeOps",
    "fastsum": "a million tokens by fast sums",
    "distance": "certified W1 against the solver alone",
    "rowmaps": "softmax and entmax of rows against PyTorch and the entmax package",
}
HERE = Path(__file__).parent


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for; all of them unless named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the tables and plots")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    options = parser.parse_args(argv)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"NAME: expected one of {', '.join(NAMES)}, got {name!r}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or NAMES:
        rows = import_module(f"benchmarks.{name}").run(quick=options.quick)
        write(options.out / f"{name}.csv", rows)
        show(NAMES[name], rows)
        with style.drawing():
            figure = style.canvas(style.SINGLE, 2.6)
            draw(figure.subplots(), name, rows)
            figure.savefig(options.out / f"{name}.svg", metadata={"Date": None, "Creator": None})
    return 0


def machine() -> str:
    """Return processor, threads and versions in one line."""
    found = []
    for package in ("numpy", "numba", "finufft", "torch", "pykeops", "POT"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"no {package}")
    return f"{processor()}, {threads()} threads, Python {platform.python_version()}, {', '.join(found)}"


def processor() -> str:
    """Return what the processor calls itself, and its widest vectors where the system says so."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in found.items()}
    widest = next((name for name in ("avx512f", "avx2") if name in fields.get("flags", "").split()), "no AVX2")
    return f"{fields.get('model name', platform.machine())} ({widest})"


def columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of all columns, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write the rows as CSV below one line that names the machine."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {machine()}\n")
        writer = csv.DictWriter(file, columns(rows), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _number(value) for name, value in row.items()} for row in rows)


def show(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows."""
    table = Table(title=f"{title}\n{machine()}", title_justify="left")
    for name in columns(rows):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(_number(row.get(name, "")) for name in columns(rows)))
    Console(width=None if sys.stdout.isatty() else 240).print(table)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def draw(axes: Axes, name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Plot what each benchmark is about."""
    if name == "dense":
        sizes = [row["n"] for row in rows]
        common = max(sizes, key=lambda n: (sizes.count(n), n))
        largest = [row for row in rows if row["n"] == common]
        d = [row["d"] for row in largest]
        ours = np.array([row["ns per pair"] for row in largest])
        axes.plot(d, ours, "o-", color=style.BLUE, label="this engine")
        if "torch/ours" in largest[0]:
            torch = ours * [row["torch/ours"] for row in largest]
            axes.plot(d, torch, "s--", color=style.VERMILION, label="PyTorch")
        axes.plot(d, [row["limit, ns"] for row in largest], ":", color=style.BLACK, label="multiply-adds alone")
        axes.plot(d, [row["exponential, ns"] for row in largest], "-.", color=style.GREY, label="exponential alone")
        axes.set(xscale="log", yscale="log", xlabel="dimension", ylabel="ns per pair")
        axes.set_ylim(top=8.0 * axes.get_ylim()[1])  # room for the legend
        axes.set_title(f"dense attention, n = {largest[0]['n']}, {threads()} threads")
    elif name == "fastsum":
        for case, colour in (("circle", style.BLUE), ("plane", style.VERMILION)):
            some = [row for row in rows if row["case"] == case]
            label = f"{case}, exponent {some[0]['exponent']:.2f}"
            axes.plot([row["n"] for row in some], [row["seconds"] for row in some], "o-", color=colour, label=label)
        axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="seconds")
        axes.set_title(f"fast sums to 1e-12, {threads()} threads")
    elif name == "rowmaps":
        first = [row for row in rows if all(row[key] == rows[0][key] for key in ("n", "entries", "threads"))]
        looks = ("ours", "o-", style.BLUE), ("package", "^--", style.VERMILION), ("torch softmax", ":", style.BLACK)
        for method, mark, colour in looks:
            some = [row for row in first if f"{method}, ns per entry" in row]
            if some:
                times = [row[f"{method}, ns per entry"] for row in some]
                axes.plot([row["alpha"] for row in some], times, mark, color=colour, label=method)
        axes.set(yscale="log", xlabel=r"order $\alpha$", ylabel="ns per entry")
        axes.set_ylim(top=8.0 * axes.get_ylim()[1])  # room for the legend
        axes.set_title(f"entmax of {rows[0]['n']} rows of {rows[0]['entries']}")
    else:
        for d, colour in ((2, style.BLUE), (3, style.VERMILION)):
            some = [row for row in rows if row["d"] == d]
            label = f"dimension {d}"
            axes.plot(
                [row["n"] for row in some], [row["relative width"] for row in some], "o", color=colour, label=label
            )
        axes.set(xscale="log", yscale="log", xlabel="atoms", ylabel="relative width of the interval")
        axes.set_title("certified W1")
    axes.legend()


if __name__ == "__main__":
    raise SystemExit(main())
