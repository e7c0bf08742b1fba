"""Train the three attentions of the paper on one task, and write what came out as tables.

An experiment first chooses a learning rate for every attention, by the same search on validation data, and then makes
paired runs: at the published rate and at the chosen one, with equal widths and with equal numbers of parameters, and
with permuted labels. It may be killed at any time; the same command goes on where it was, to the same tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from theory.evidence.options import read_root
from theory.experiments.tasks.registry import TASKS, make_task

_TABLES = """tables, in --out:
  TASK.csv            a row per run: setting, number of parameters, losses and scores at the end
  TASK-curves.csv     a row per run and measured epoch
  TASK-tuning.csv     a row per run of the search for learning rates
  TASK-manifest.json  versions, sources and seconds
A run that diverged keeps its row, with diverged = 1 and inf in place of losses and scores.
The published tables lie in theory/experiments/results; theory.experiments.analysis.results reads them.
"""


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, TASKS))
    tasks = "\n".join(
        f"  {name:<{width}}  {entry.words}\n  {'':<{width}}  --data: {entry.data}" for name, entry in TASKS.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m theory.experiments",
        description=f"{__doc__}\ntasks:\n{tasks}",
        epilog=_TABLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=tuple(TASKS), metavar="TASK", help="one of the tasks above")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="size (default: quick)")
    parser.add_argument("--seeds", type=_count, metavar="N", help="paired runs (default: the task's own number)")
    parser.add_argument("--tuning-seeds", type=_count, metavar="N", help="runs that decide on each learning rate")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with published data, used if it is given")
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="for the tables (default: runs)")
    parser.add_argument("--workers", type=_count, metavar="N", help="processes (default: all usable processors)")
    parser.add_argument("--root", type=read_root, metavar="R", help="entropy of every random stream (default: fixed)")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment.

    Returns
    -------
    int
        0 if it is complete, 1 if a package is missing or a process ended unasked, 2 if something is misused or damaged,
        and as a shell has it, 128 and the number of a signal that stopped it.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: expected a folder, got the file {options.out}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: expected a folder, found none at {options.data}")
    from theory.evidence.streams import ROOT  # noqa: PLC0415  --help needs none of it
    from theory.experiments.training.runner import Stopped, run_experiment  # noqa: PLC0415

    root = ROOT if options.root is None else options.root
    try:
        made = run_experiment(
            partial(make_task, options.task, options.data, root), scale=options.scale, seeds=options.seeds,
            tuning_seeds=options.tuning_seeds, root=root, data=options.data, out=options.out, workers=options.workers,
        )  # fmt: skip
    except Stopped as signal:
        sys.stderr.write(f"{options.task}: stopped, with every run stored; the same command goes on from there\n")
        return 128 + signal.number
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(_words(error))
        return 1
    except (ValueError, OSError) as error:
        sys.stderr.write(_words(error))
        return 2
    sys.stdout.write(_summary(made, options.out))
    return 0


def _words(error: Exception) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())]) + "\n"


def _summary(made: dict[str, Any], out: Path) -> str:
    from theory.experiments.training.progress import format_duration  # noqa: PLC0415

    lines = [f"{made['runs']} runs in {format_duration(made['wall_seconds'])} on {made['workers']} processes"]
    if made["diverged"]:
        lines.append(f"{made['diverged']} of them diverged, and are in the tables as that (diverged = 1)")
    lines += [f"  {(out / name).resolve()}" for name in made["tables"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
