"""Train every arm of the comparison on one task: the search for its learning rate, then its runs, in pairs by seed.

An experiment may be killed at any time; the same command goes on where it was, to the same tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from theory.evidence.options import read_root
from theory.experiments.arms.plan import tasks

_TABLES = """tables, in --out:
  arms-TASK.csv            a row per run: its arm, its rate, and what it measured at the end
  arms-TASK-search.csv     a row per rate that was tried
  arms-TASK-curves.csv     a row per arm and time: means over the runs
  arms-TASK-manifest.json  budget, versions, sources, commit and seconds
A run that diverged keeps its row, with diverged = 1.

--data reads digits from MNIST, four IDX files, packed by gzip or not, and meshes from the human segmentation data with
the folders meshes and segs. No other task has any.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment; return 0 if it is complete, 1 if a package or a rate is missing, 2 if misused."""
    parser = argparse.ArgumentParser(
        prog="python -m theory.experiments",
        description=__doc__,
        epilog=_TABLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=tasks())
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="size (default: quick)")
    parser.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="for the tables (default: runs)")
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="such as linear or block-metric (default: as planned)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with published data")
    parser.add_argument("--root", type=read_root, metavar="R", help="entropy of every random stream (default: fixed)")
    options = parser.parse_args(arguments)
    from theory.evidence.streams import ROOT  # noqa: PLC0415  --help needs none of it

    try:
        from theory.experiments.arms.experiment import run_experiment  # noqa: PLC0415

        made = run_experiment(
            options.task, scale=options.scale, root=ROOT if options.root is None else options.root, out=options.out,
            arms=options.arms, data=options.data,
        )  # fmt: skip
    except ImportError as error:
        sys.stderr.write(f'{error}\nin a clone of the repository: pip install -e ".[learn]"\n')
        return 1
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{(options.out / name).resolve()}\n" for name in made["tables"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
