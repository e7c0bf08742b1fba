"""``python -m benchmarks [NAME ...]``: measure, print, and write a table and a plot per name into a folder."""

from __future__ import annotations

import argparse
import csv
import io
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import noise, summary
from theory.engine.threads import threads
from theory.evidence.files import write_together
from theory.figures._style import style

NAMES = ("small", "dense", "gradients", "fastsum", "distance", "rowmaps", "known_answers")
HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for; all of them unless named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, help="write here, quiet or not; else into benchmarks/results, if quiet")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs; needs --out")
    options = parser.parse_args(argv)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"NAME: expected one of {', '.join(NAMES)}, got {name!r}")
    if options.quick and options.out is None:
        parser.error("--out: expected a folder, since tiny sizes are not published, got none")
    published = []
    for name in options.names or NAMES:
        benchmark = import_module(f"benchmarks.{name}")
        with noise.watched() as watch:
            rows = benchmark.run(quick=options.quick)
        notes = machine(), watch.describe() if getattr(benchmark, "TIMED", True) else "nothing was timed"
        show(benchmark.TITLE, notes, rows)
        if options.out is None and not watch.quiet and getattr(benchmark, "TIMED", True):
            say(f"{name}: not written, since the machine was not quiet; --out DIR writes it elsewhere")
            continue
        publish(options.out or RESULTS, name, benchmark, notes, rows)
        published.append(name)
    say(summary.describe(options.out or RESULTS, published))
    return 0


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def machine() -> str:
    """Return processor, threads and versions in one line."""
    found = []
    for package in ("numpy", "scipy", "scikit-learn", "numba", "finufft", "torch", "pykeops", "entmax", "POT"):
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


def publish(folder: Path, name: str, benchmark: ModuleType, notes: Sequence[str], rows: list[dict[str, Any]]) -> None:
    """Write the table and its plot."""
    plot = io.StringIO()
    with style.drawing():
        figure = style.canvas(style.SINGLE, 2.6)
        axes = figure.subplots()
        benchmark.draw(axes, rows)
        axes.legend()
        figure.savefig(plot, format="svg", metadata={"Date": None, "Creator": None})
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / f"{name}.csv": format_table(notes, rows), folder / f"{name}.svg": plot.getvalue()})


def format_table(notes: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as CSV below lines that name the machine and tell how quiet it was."""
    text = io.StringIO()
    text.writelines(f"# {note}\n" for note in notes)
    writer = csv.DictWriter(text, columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _number(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def show(title: str, notes: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows."""
    table = Table(title="\n".join((title, *notes)), title_justify="left")
    for name in columns(rows):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(_number(row.get(name, "")) for name in columns(rows)))
    Console(width=None if sys.stdout.isatty() else 240).print(table)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
