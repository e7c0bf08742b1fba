"""One run: a learner is trained for its whole budget and measured on the way.

A run diverges when a loss, or a number of the learner's state, is not finite. It stops there, and *everything* that
would be measured from then on, scores included, is recorded as ``inf``: no average over runs can lose such a run, and
none can turn it into a made-up number. An average with it is unknown, and is judged as that. A loss that explodes
without leaving the range of its numbers is a loss like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theory.experiments.tasks.task import Learner, Setting, Task
from theory.experiments.training.checkpoint import Progress, load, save

LOSSES = ("train_loss", "test_loss")
_FAULTS = (ArithmeticError, ValueError)  # what a learner may raise when its numbers are not finite


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A run that has ended.

    Parameters
    ----------
    setting : Setting
        What was run.
    validation : bool
        Whether the test data were validation data.
    parameters : int
        How many numbers were trained.
    epochs : int
        Epochs done; the whole budget unless the run diverged.
    diverged : bool
        Whether a loss or a number of its state was not finite.
    grid : tuple of int
        Epochs after which it was measured, from 0 to the budget.
    points : ndarray, shape (grid, columns)
        What was measured, in the order of the task's columns; ``inf`` from where it diverged.
    """

    setting: Setting
    validation: bool
    parameters: int
    epochs: int
    diverged: bool
    grid: tuple[int, ...]
    points: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Watch:
    """What stands beside a run and changes none of its numbers.

    Parameters
    ----------
    due, stop : callable
        Asked after every epoch: whether to write the state; whether to write it and give up for now.
    passed : callable
        Told the number of epochs that were trained, and of those that needed no training.
    """

    due: Callable[[], bool] = lambda: False
    stop: Callable[[], bool] = lambda: False
    passed: Callable[[int, int], None] = lambda *_: None


ALONE = Watch()


def measured_epochs(task: Task, scale: str) -> tuple[int, ...]:
    """Return the epochs after which a run is measured: the start, every so many, and the end."""
    epochs = task.epochs(scale)
    return (*range(0, epochs, task.every(scale)), epochs)


def train(
    task: Task,
    setting: Setting,
    *,
    validation: bool = False,
    path: Path | None = None,
    fingerprint: str = "",
    watch: Watch = ALONE,
) -> Outcome | None:
    """Train a learner for its budget.

    Parameters
    ----------
    task : Task
        Makes the learner.
    setting : Setting
        The run.
    validation : bool, default False
        Whether to measure on validation data.
    path : path, optional
        File of the run. The run goes on from there if there is one; how often it was cut changes no byte.
    fingerprint : str
        Of all that the run depends on.
    watch : Watch
        Who is asked and told on the way.

    Returns
    -------
    Outcome or None
        ``None`` if it was stopped.

    Raises
    ------
    ValueError
        If the file is damaged or of another run, or the learner does not measure what its task says.
    """
    times = measured_epochs(task, setting.scale)
    end = task.epochs(setting.scale)
    done = load(path, fingerprint) if path else None
    if done is None or not done.finished:
        if watch.stop():
            return None
        with np.errstate(all="ignore"):  # a run that diverges is recorded, whatever else a caller makes of such faults
            run = _Run(task.learner(setting, validation=validation), tuple(task.columns), times, done)
            watch.passed(0, run.epoch)
            while not run.finished:
                run.step()
                watch.passed(1, 0)
                stopping = watch.stop()
                if path and not run.finished and (stopping or watch.due()) and run.sound():
                    save(path, fingerprint, run.progress())  # else it goes on from before, and diverges again
                if stopping and not run.finished:
                    return None
        done = run.progress()
        if path:
            save(path, fingerprint, done)
        watch.passed(0, end - run.epoch)
    else:
        watch.passed(0, end)
    return Outcome(setting, validation, done.parameters, done.epoch, done.diverged, times, done.points)


class _Run:
    """A learner on its way from one epoch to the next."""

    def __init__(
        self, learner: Learner, names: tuple[str, ...], times: tuple[int, ...], progress: Progress | None
    ) -> None:
        self.learner, self.names, self.times = learner, names, times
        self.epoch = 0
        self.diverged = False
        self.rows = list[NDArray[np.float64]]()
        if progress is None:
            self._guarded(lambda: None)
        else:
            learner.restore(progress.state)
            self.epoch = progress.epoch
            self.rows = list(progress.points)

    @property
    def finished(self) -> bool:
        return self.diverged or self.epoch == self.times[-1]

    def step(self) -> None:
        """Train for one epoch, and measure if it is time."""
        self.epoch += 1
        self._guarded(self.learner.advance)

    def progress(self) -> Progress:
        missing = len(self.times) - len(self.rows) if self.finished else 0
        points = np.array([*self.rows, *[np.full(len(self.names), np.inf)] * missing])
        state = {} if self.finished else self.learner.state()
        return Progress(self.epoch, points, self.learner.parameters, self.diverged, self.finished, state)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do some work and measure, and find out whether the numbers are still finite."""
        try:
            work()
            if self.epoch == self.times[len(self.rows)]:
                row = self._measured()
                self.diverged = row is None or not self.sound()
                self.rows += [] if row is None or self.diverged else [row]
        except _FAULTS as error:
            if not isinstance(error, ArithmeticError) and self.sound():
                raise  # a mistake, not a divergence
            self.diverged = True

    def _measured(self) -> NDArray[np.float64] | None:
        """Measure; ``None`` if a loss is not finite."""
        found = {name: float(value) for name, value in self.learner.measure().items()}
        if set(found) != set(self.names):
            raise ValueError(f"measure: expected the columns {sorted(self.names)}, got {sorted(found)}")
        if not all(np.isfinite(found[name]) for name in LOSSES):
            return None
        strange = [name for name in self.names if not np.isfinite(found[name])]
        if strange:
            raise ValueError(f"{strange[0]}: expected a finite number beside finite losses, got {found[strange[0]]}")
        return np.array([found[name] for name in self.names])

    def sound(self) -> bool:
        """Tell whether the numbers of the learner's state are finite."""
        arrays = [np.asarray(array) for array in self.learner.state().values()]
        return all(bool(np.isfinite(array).all()) for array in arrays if array.dtype.kind in "fc")
