"""Draw the figures from the tables on which their claims were judged, or check that the committed ones agree.

A figure of which a claim does not stand, or whose table is not the judged one, is stamped, and the command exits with
status 1 and says how to mend it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theory.figures.registry import plate, titles

if TYPE_CHECKING:
    from rich.console import Console

    from theory.figures.gate import Ruling

_FORMATS = ("svg", "png", "pdf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 if all is verified, 1 if a figure is stamped or disagrees, 2 if something is misused."""
    parser, known = _parser(), titles()
    options = parser.parse_args(arguments)
    names = list(dict.fromkeys([*options.names, *options.only])) or list(known)
    strange = [name for name in names if name not in known]
    if strange:
        parser.error(f"figure: expected one of {', '.join(known)}, got {', '.join(strange)}")
    if options.list:
        sys.stdout.writelines(f"{name:<{max(map(len, known))}}  {known[name]}\n" for name in names)
        return 0
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: expected a folder, got the file {options.out}")
    if options.evidence is not None and not options.evidence.is_dir():
        parser.error(f"--evidence: expected a folder, found none at {options.evidence}")
    from theory.figures import manifest  # noqa: PLC0415  loads NumPy, which --help and --list do without

    try:
        entries = manifest.load(options.out)
    except ValueError as error:
        parser.error(str(error))
    work = _check if options.check else _draw
    with ExitStack() as cluster:
        if options.dask is not None:
            from theory.evidence.sweep import sweeping_on_dask  # noqa: PLC0415

            try:
                cluster.enter_context(sweeping_on_dask(options.dask))
            except (ModuleNotFoundError, ValueError) as error:
                parser.error(str(error))
        return work(names, _judge(options), entries, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m theory.figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to draw (default: all)")
    parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="NAME", help="the same, as an option")
    parser.add_argument("--list", action="store_true", help="list the figures, draw nothing")
    parser.add_argument("--check", action="store_true", help="compare CSVs, evidence and manifest, draw nothing")
    parser.add_argument(
        "--format", type=_formats, default="svg,png", metavar="F,F", help="any of svg, png and pdf (default: svg,png)"
    )
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="DIR", help="folder (default: figures)")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="sizes, as in pytest --scale")
    parser.add_argument("--root", type=_root, metavar="N", help="entropy of every random stream, as in pytest --root")
    parser.add_argument("--dask", metavar="ADDRESS", help="run sweeps on the cluster whose scheduler listens there")
    parser.add_argument(
        "--evidence", type=Path, metavar="DIR", help="folder of the records (default: verify/evidence of this checkout)"
    )
    return parser


def _formats(text: str) -> tuple[str, ...]:
    formats = tuple(dict.fromkeys(text.split(",")))
    strange = [form for form in formats if form not in _FORMATS]
    if strange:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(_FORMATS)}, got {', '.join(map(repr, strange))}")
    return formats


def _root(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a non-negative integer, got {text!r}")
    return int(text)


def _judge(options: argparse.Namespace) -> Callable[[str], Ruling]:
    """Return the gate for these options: from the name of a figure to the ruling on it."""
    from theory.evidence.streams import ROOT  # noqa: PLC0415
    from theory.figures.gate import rule  # noqa: PLC0415
    from theory.report import archive  # noqa: PLC0415

    try:
        evidence = options.evidence or archive.evidence_folder()
    except archive.ArchiveError:
        evidence = Path("verify", "evidence")  # every figure says that it has no evidence
    root = ROOT if options.root is None else options.root
    shelves = (options.out, evidence.parent.parent / "figures")
    return lambda name: rule(name, plate(name), scale=options.scale, root=root, evidence=evidence, shelves=shelves)


def _draw(
    names: Sequence[str], judge: Callable[[str], Ruling], entries: dict[str, Any], options: argparse.Namespace
) -> int:
    from theory.figures import manifest  # noqa: PLC0415

    console, stamped = _console(), []
    for number, name in enumerate(names, start=1):
        start, place = time.perf_counter(), f"[{number}/{len(names)}] {name}"
        with _working(console, f"{place}: its study"):
            ruling = judge(name)
        with _working(console, f"{place}: drawing"):
            from theory.figures.press import produce  # noqa: PLC0415  loads Matplotlib, while something is shown

            entries[name] = produce(name, plate(name), ruling, options.out, options.format)
            manifest.store(options.out, {kept: entries[kept] for kept in titles() if kept in entries})
        if ruling.reason is not None:
            stamped.append(f"{name} is NOT VERIFIED: {ruling.reason}. Decide again with: {ruling.mend}")
        verdict, seconds = "verified" if ruling.reason is None else "NOT VERIFIED", time.perf_counter() - start
        _say(console, f"{place}: {verdict}, {seconds:.1f} s", fine=ruling.reason is None)
    _say(console, f"{len(names)} figure{'s' if len(names) > 1 else ''} in {options.out.resolve()}", fine=True)
    sys.stderr.writelines(f"{line}\n" for line in stamped)
    return 1 if stamped else 0


def _check(
    names: Sequence[str], judge: Callable[[str], Ruling], entries: dict[str, Any], options: argparse.Namespace
) -> int:
    from theory.figures import manifest  # noqa: PLC0415

    console, wrong = _console(), 0
    for name in names:
        with _working(console, f"{name}: its study"):
            faults = list(manifest.disagreements(name, plate(name), judge(name), options.out, entries))
        wrong += bool(faults)
        for fault in faults or ["agrees"]:
            _say(console, f"{name}: {fault}", fine=not faults)
    strange = sorted(set(entries) - set(titles()))
    for name in strange:
        _say(console, f"{name}: {manifest.NAME} names it, but there is no such figure", fine=False)
    return 1 if wrong or strange else 0


def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _working(console: Console, words: str) -> Iterator[None]:
    """Show what goes on under a terminal; a log gets only the result."""
    if not console.is_terminal:
        yield
        return
    with console.status(words):
        yield


def _say(console: Console, line: str, *, fine: bool) -> None:
    console.print(line, style=None if fine else "red")
    console.file.flush()


if __name__ == "__main__":
    raise SystemExit(main())
