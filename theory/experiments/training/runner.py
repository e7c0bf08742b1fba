"""A whole experiment on one task: the search for learning rates, then the final runs, then the tables.

Final runs are paired: those with the same seed share data and, outside the attention, the start. Runs at the published
rate need no search and are made beside it; a run that two rules ask for is made once. Every run has a file of its own,
so a killed experiment goes on where it was, to the same tables.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from theory._validate import as_count, as_positive
from theory.evidence.streams import ROOT
from theory.evidence.sweep import usable_cpus
from theory.evidence.table import Table
from theory.experiments.analysis import results
from theory.experiments.tasks.task import Setting, Task, Variant
from theory.experiments.training import tuning
from theory.experiments.training.checkpoint import replace_text
from theory.experiments.training.experiment import ExperimentFolder, identity, write_json
from theory.experiments.training.loop import Outcome
from theory.experiments.training.progress import Board
from theory.experiments.training.signals import catch_signals
from theory.experiments.training.worker_pool import WorkerPool

_GLANCE = 0.2  # seconds between two looks at the pool; taken
_NOTED = 10.0  # seconds after which the time that has passed is noted; taken


class Stopped(Exception):  # noqa: N818  it is no error
    """A signal asked the experiment to end; what was done is stored.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_experiment(
    make: Callable[[], Task],
    *,
    scale: str = "quick",
    seeds: int | None = None,
    tuning_seeds: int | None = None,
    root: int = ROOT,
    data: Path | None = None,
    out: Path = Path("runs"),
    workers: int | None = None,
    pause: float = 60.0,
    stream: TextIO | None = None,
) -> dict[str, Any]:
    """Run an experiment, or what is missing of it, and write its tables.

    Parameters
    ----------
    make : callable
        Makes the task with this ``root`` and ``data``, in this and in every other process; can be pickled.
    scale : {"quick", "paper"}
        Size of the experiment.
    seeds : int, optional
        Runs of every variant; the task's own number by default.
    tuning_seeds : int, optional
        Runs that decide on a learning rate, of every attention at every rate; the task's own number by default. More
        can be added later, as with ``seeds``: where runs fail by chance, few of them choose a rate by luck.
    root, data
        As given to the task, for the record.
    out : path
        Folder for the tables, and for the files of the runs.
    workers : int, optional
        Number of processes; all usable processors by default. No byte of the tables depends on it.
    pause : float, default 60.0
        Seconds after which the state of a run under way is written again.
    stream : TextIO, optional
        Where progress is shown; standard error by default.

    Returns
    -------
    dict
        The manifest, as it is stored beside the tables.

    Raises
    ------
    ValueError
        If the folder holds another experiment, or a damaged file.
    Stopped
        If a signal, SIGINT or SIGTERM, asks for it.
    RuntimeError
        If a process ends unasked, for want of memory for instance.
    """
    task = make()
    seeds = task.seeds(scale) if seeds is None else as_count(seeds, "seeds")
    workers = usable_cpus() if workers is None else as_count(workers, "workers")
    folder = ExperimentFolder(out, identity(task, scale=scale, root=root, data=data), seeds)
    with (
        catch_signals() as caught,
        Board(task.name, sys.stderr if stream is None else stream) as board,
        WorkerPool(make, folder.folder, folder.experiment, workers, as_positive(pause, "pause")) as pool,
    ):
        searches = tuning.settings(task, scale, tuning_seeds)
        session = _Session(task, scale, seeds, searches, folder, pool, board, caught)
        try:
            return session.run(workers)
        except BrokenProcessPool as error:
            if caught:
                raise Stopped(caught[0]) from error
            raise RuntimeError(
                "a process ended unasked, perhaps for want of memory; the same command goes on"
            ) from error


class _Session:
    """One call of :func:`run`: what was asked for, and who works on it."""

    def __init__(
        self, task: Task, scale: str, seeds: int, searches: list[Setting],
        folder: ExperimentFolder, pool: WorkerPool, board: Board, caught: list[int],
    ) -> None:  # fmt: skip
        self.task, self.scale, self.seeds, self.searches = task, scale, seeds, searches
        self.folder, self.pool, self.board, self.caught = folder, pool, board, caught
        self.futures: dict[tuple[Setting, bool], Future[Outcome | None]] = {}
        self.later = 0  # final runs that wait for their rates
        self.began = self.noted = time.monotonic()

    def run(self, workers: int) -> dict[str, Any]:
        """Make all runs that are not made yet, and the tables of all."""
        variants = tuning.variants(self.task)
        searches = self.searches
        self.later = self.seeds * sum(each.rule == "tuned" for each in variants)
        self._submit(searches, validation=True)
        self._submit(self._setting(each, seed, {}) for seed, each in self._pairs(variants) if each.rule == "published")
        tried = self._outcomes(searches, validation=True)
        rates = tuning.choose_rates(tried, tuple(self.task.columns))
        for (attention, matching), rate in rates.items():
            edge = " (at an end of those tried)" if rate in (min(self.task.rates), max(self.task.rates)) else ""
            self.board.say(f"learning rate of {attention}, matched by {matching}: {rate:g}{edge}")
        self._submit(self._setting(each, seed, rates) for seed, each in self._pairs(variants))
        self.later = 0
        pairs = [(each, self._setting(each, seed, rates)) for each in variants for seed in range(self.seeds)]
        ended = self._outcomes([setting for _, setting in pairs])
        finals = [(variant, outcome) for (variant, _), outcome in zip(pairs, ended, strict=True)]
        return self._written(results.tables(self.task, finals, tried, rates), self._manifest(workers, variants, rates))

    def _pairs(self, variants: tuple[Variant, ...]) -> Iterator[tuple[int, Variant]]:
        """Yield all variants at one seed before the next seed, so that the time left is estimated well."""
        return ((seed, variant) for seed in range(self.seeds) for variant in variants)

    def _setting(self, variant: Variant, seed: int, rates: Mapping[tuple[str, str], float]) -> Setting:
        rate = rates[tuning.rate_key(variant)] if variant.rule == "tuned" else self.task.published_rate
        return Setting(self.task.name, variant.attention, seed, rate, variant.matching, variant.labels, self.scale)

    def _submit(self, settings: Iterable[Setting], *, validation: bool = False) -> None:
        for setting in settings:
            if (setting, validation) not in self.futures:  # the same run, asked for by another rule, is made once
                self.futures[setting, validation] = self.pool.submit(setting, validation=validation)

    def _outcomes(self, settings: Iterable[Setting], *, validation: bool = False) -> list[Outcome]:
        """Wait for some runs, show how far all have come, and see to signals and to runs that failed."""
        wanted = [self.futures[setting, validation] for setting in settings]
        while True:
            for future in filter(Future.done, self.futures.values()):
                future.result()  # raises if that run failed
            self._glance()
            if self.caught:
                self.board.say("stopping after the epochs under way; the same command goes on from there")
                self._note()
                raise Stopped(self.caught[0])
            waiting = [future for future in wanted if not future.done()]
            if not waiting:
                return [outcome for future in wanted if (outcome := future.result()) is not None]
            wait(waiting, _GLANCE, FIRST_COMPLETED)

    def _glance(self) -> None:
        """Show how far the runs have come, and now and then note the seconds that it took."""
        counts = self.pool.counts
        elapsed = time.monotonic() - self.began
        asked = len(self.futures) + self.later
        total = asked * self.task.epochs(self.scale)
        done = counts.trained + counts.skipped
        left = elapsed * max(total - done, 0.0) / counts.trained if counts.trained else None
        ended = sum(future.done() for future in self.futures.values())
        self.board.show(ended, asked, done / total, elapsed, left)
        if time.monotonic() - self.noted >= _NOTED:
            self._note()

    def _note(self) -> None:
        counts = self.pool.counts
        self.noted = time.monotonic()
        if counts.trained:
            self.folder.note(self.noted - self.began, counts.seconds)

    def _manifest(
        self, workers: int, variants: tuple[Variant, ...], rates: Mapping[tuple[str, str], float]
    ) -> dict[str, Any]:
        runs = [outcome for future in self.futures.values() if (outcome := future.result()) is not None]
        return {
            "experiment": self.folder.experiment,
            "seeds": self.seeds,
            "tuning_seeds": len({setting.seed for setting in self.searches}),
            "published_rate": self.task.published_rate,
            "rates": list(self.task.rates),
            "chosen": {" ".join(key): rate for key, rate in rates.items()},
            "variants": [" ".join(asdict(variant).values()) for variant in variants],
            "runs": len(runs),
            "diverged": sum(run.diverged for run in runs),
            "workers": workers,
            "processors": usable_cpus(),
        }

    def _written(self, tables: Mapping[str, Table], manifest: dict[str, Any]) -> dict[str, Any]:
        """Store the tables, and last of all the manifest, by which one knows that they are whole."""
        hashes = {}
        for part, path in results.files(self.task.name, self.folder.out).items():
            if part in tables:
                replace_text(path, tables[part].to_csv())
                hashes[path.name] = tables[part].sha256
        counts = self.pool.counts
        elapsed = time.monotonic() - self.began
        if self.folder.complete and not counts.trained:
            before = results.read_json(self.folder.manifest)
            if before["tables"] == hashes:
                return before  # nothing was left to do: it says what the experiment took
        self.folder.note(elapsed, counts.seconds)
        manifest |= {**self.folder.totals(elapsed, counts.seconds), "tables": hashes}
        write_json(self.folder.manifest, manifest)
        return manifest
