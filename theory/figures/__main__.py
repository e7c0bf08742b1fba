"""Draw the figures from the tables on which their claims were judged, or check that the committed ones agree.

A figure with a claim that does not stand, or whose table is not the judged one, is stamped and written to
NAME.unverified.*, which leaves the verified files as they are; the command then exits with status 1 and names the
command that renews the evidence. A figure whose files show already what was judged is not drawn again. With --plain
figures are for print: without headline and footer in NAME.plain.*, with a caption in LaTeX in NAME.tex.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from theory.evidence.options import read_root
from theory.figures import registry, worker_pool

_FORMATS = ("svg", "png", "pdf")
_DRAWN_BY = {"matplotlib": "matplotlib", "pillow": "PIL"}  # distributions and their modules
_INTERRUPTED = 130  # as a shell says it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        0 if all is verified, 1 if a figure is stamped or disagrees, 2 if something is misused, missing or cannot be
        written, 130 if interrupted.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write(
            "interrupted: every figure is whole, as it was before or drawn anew with its table and entry\n"
        )
        return _INTERRUPTED
    except BrokenProcessPool:
        sys.stderr.write(
            "a process that drew was killed, perhaps for want of memory: try again, or one NAME at a time\n"
        )
        return 2
    except OSError as error:
        sys.stderr.write(f"{error}\n")  # names the file
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        sys.stderr.write('a figure of real tokens needs scikit-learn: pip install "attention-theory[data]"\n')
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        known = registry.titles()
    except ValueError as error:
        parser.error(str(error))
    options = parser.parse_args(arguments)
    names = list(dict.fromkeys([*options.names, *options.only])) or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"figure: expected one of {', '.join(known)}, got {', '.join(unknown)}")
    if options.list:
        sys.stdout.writelines(f"{name:<{max(map(len, known))}}  {known[name]}\n" for name in names)
        return 0
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: expected a folder, got the file {options.out}")
    if options.evidence is not None and not options.evidence.is_dir():
        parser.error(f"--evidence: expected a folder, found none at {options.evidence}")
    if options.width == "single" and not options.plain:
        parser.error("--width: expected --plain with single, since only plain figures have another width")
    if options.check and options.plain:
        parser.error("--check: expected no --plain, since plain figures are in no manifest")
    if (missing := _missing_requirement(names)) is not None:
        parser.error(missing)
    from theory.figures import manifest  # noqa: PLC0415  loads NumPy, which --help and --list do without

    try:
        request = _request(options)
        manifest.load(options.out)
    except ValueError as error:
        parser.error(str(error))
    work = _check if options.check else _draw
    with ExitStack() as cluster:
        workers = 1  # studies of paper size sweep on a pool of their own
        if options.dask is not None:
            from theory.evidence.sweep import sweeping_on_dask  # noqa: PLC0415

            try:
                cluster.enter_context(sweeping_on_dask(options.dask))
            except (ModuleNotFoundError, ValueError) as error:
                parser.error(str(error))
        elif options.scale == "quick":
            from theory.evidence.sweep import usable_cpus  # noqa: PLC0415

            workers = usable_cpus()
        return work(names, request, workers)


def _missing_requirement(names: Sequence[str]) -> str | None:
    """Say what is missing that these figures need, before anything is computed."""
    packages = [package for package, module in _DRAWN_BY.items() if find_spec(module) is None]
    if packages:
        return f"figures need {' and '.join(packages)}, not installed here: pip install {' '.join(packages)}"
    for name in names:
        for data in registry.data_files(name):
            if not data.is_file():
                return f"{name} needs {data}, which is missing here: a checkout of the repository has it"
    return None


def _request(options: argparse.Namespace) -> worker_pool.Request:
    """Return what the options ask of every figure."""
    from theory.evidence.streams import ROOT  # noqa: PLC0415
    from theory.report import locations  # noqa: PLC0415

    return worker_pool.Request(
        out=options.out,
        evidence=options.evidence or locations.suite_folder(),
        scale=options.scale,
        root=ROOT if options.root is None else options.root,
        formats=options.format,
        redraw=options.redraw,
        plain=options.plain,
        single=options.width == "single",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m theory.figures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="figures to draw (default: all)")
    parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="NAME", help="the same, as an option")
    parser.add_argument("--list", action="store_true", help="list the figures, draw nothing")
    parser.add_argument("--check", action="store_true", help="compare CSVs, evidence and manifest, draw nothing")
    parser.add_argument(
        "--format", type=_formats, default="svg", metavar="F,F", help="any of svg, png and pdf (default: svg)"
    )
    parser.add_argument("--plain", action="store_true", help="without headline and footer, with a caption in NAME.tex")
    parser.add_argument(
        "--width", choices=("single", "double"), default="double", help="columns of print that a plain figure takes"
    )
    parser.add_argument("--redraw", action="store_true", help="draw also what is unchanged, as with other packages")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="DIR", help="folder (default: figures)")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="sizes, as in pytest --scale")
    parser.add_argument("--root", type=read_root, metavar="N", help="entropy of every stream, as in pytest --root")
    parser.add_argument("--dask", metavar="ADDRESS", help="run sweeps on the cluster whose scheduler listens there")
    parser.add_argument("--evidence", type=Path, metavar="DIR", help="folder of the records (default: the suite's own)")
    return parser


def _formats(text: str) -> tuple[str, ...]:
    formats = tuple(dict.fromkeys(text.split(",")))
    unknown = [form for form in formats if form not in _FORMATS]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(_FORMATS)}, got {', '.join(map(repr, unknown))}")
    return formats


def _draw(names: Sequence[str], request: worker_pool.Request, workers: int) -> int:
    known = list(registry.titles())
    stamped = []
    fates = dict.fromkeys(("drawn", "stamped", "unchanged", "not drawn"), 0)
    outcomes = worker_pool.run_tasks(worker_pool.draw_figure, names, request, workers)
    with _progress(len(names)) as (say, advance), closing(outcomes):
        for number, (name, outcome, seconds) in enumerate(outcomes, start=1):
            from theory.figures import render  # noqa: PLC0415  loads Matplotlib, while others draw

            fate = "verified" if outcome.reason is None else "NOT VERIFIED"
            kept: list[str] = []
            with worker_pool.delaying_interrupts():
                if outcome.rendered is not None:
                    fates["drawn" if outcome.reason is None else "stamped"] += 1
                    kept = render.write_figure(outcome.rendered, request.out, known)
                elif outcome.reason is None:
                    fates["unchanged"] += 1
                    render.remove_stamped(name, request.out)
                    fate += ", unchanged"
                else:
                    fates["not drawn"] += 1
                    fate = "NOT DRAWN"
                    stamped.append(f"{name} is NOT DRAWN: {outcome.reason}. Draw it with: {outcome.remedy}")
            if outcome.rendered is not None and outcome.reason is not None:
                stayed = f"; kept: {', '.join(kept)}" if kept else ""
                stamped.append(
                    f"{name} is NOT VERIFIED: {outcome.reason}. Written: {', '.join(outcome.rendered.files)}{stayed}. "
                    f"Decide again with: {outcome.remedy}"
                )
            say(f"[{number}/{len(names)}] {name}: {fate}, {seconds:.1f} s", outcome.reason is None)
            advance()
        told = ", ".join(f"{count} {fate}" for fate, count in fates.items() if count)
        say(f"{len(names)} figure{'s' if len(names) > 1 else ''}: {told}; {request.out.resolve()}", True)
    sys.stderr.writelines(f"{line}\n" for line in stamped)
    return 1 if stamped else 0


def _check(names: Sequence[str], request: worker_pool.Request, workers: int) -> int:
    from theory.figures import manifest  # noqa: PLC0415

    wrong = 0
    outcomes = worker_pool.run_tasks(worker_pool.check_figure, names, request, workers)
    with _progress(len(names)) as (say, advance), closing(outcomes):
        for name, faults, _ in outcomes:
            wrong += bool(faults)
            for fault in faults or ["agrees"]:
                say(f"{name}: {fault}", not faults)
            advance()
        unknown = sorted(set(manifest.load(request.out)) - set(registry.titles()))
        for name in unknown:
            say(f"{name}: {manifest.NAME} names it, but there is no such figure", False)
    return 1 if wrong or unknown else 0


@contextmanager
def _progress(count: int) -> Iterator[tuple[Callable[[str, bool], None], Callable[[], None]]]:
    """Give a way to say a line, fine or not, and one to count a figure; a terminal sees how long it will take."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    console = Console(highlight=False, markup=False, soft_wrap=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("figures", total=count)

        def say(line: str, fine: bool) -> None:
            console.print(line, style=None if fine else "red")
            console.file.flush()

        yield say, lambda: progress.advance(task)


if __name__ == "__main__":
    raise SystemExit(main())
