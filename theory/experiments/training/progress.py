"""How far an experiment has come: a bar under a terminal, a line now and then in a log."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

_BETWEEN = 60.0  # seconds between two lines of a log; taken


class Board:
    """Shows what it is told; a context manager.

    Parameters
    ----------
    name : str
        Of the experiment.
    stream : TextIO
        Where to.
    """

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._console = Console(file=stream, highlight=False, markup=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._said = -math.inf
        if self._console.is_terminal:
            columns = (
                TextColumn(name),
                BarColumn(),
                TextColumn("{task.percentage:.0f} %"),
                TextColumn("{task.description}"),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._row = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, runs: int, of: int, share: float, elapsed: float, left: float | None) -> None:
        """Show how many runs have ended, what share of all epochs is done, and the seconds elapsed and left."""
        remains = "time left unknown yet" if left is None else f"about {format_duration(left)} left"
        if self._bar:
            self._bar.update(
                self._row,
                completed=share,
                total=1.0,
                description=f"{runs} of {of} runs, {format_duration(elapsed)}, {remains}",
            )
        elif elapsed - self._said >= _BETWEEN:
            self._said = elapsed
            self.say(f"{runs} of {of} runs, {100 * share:.0f} %, {format_duration(elapsed)}, {remains}")

    def say(self, words: str) -> None:
        """Print a line that stays."""
        self._console.print(f"{self._name}: {words}")


def format_duration(seconds: float) -> str:
    """Return a time in the unit in which it reads best.

    Examples
    --------
    >>> format_duration(8.2), format_duration(200), format_duration(9000)
    ('8 s', '3.3 min', '2.5 h')
    """
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 3600.0 else f"{seconds / 3600.0:.1f} h"
