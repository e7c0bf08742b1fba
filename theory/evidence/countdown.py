"""How much time is left of a run: what is still to do, at the pace that was kept so far.

What an item takes is what it took in the last run, or else what the others took on average. The pace is that of the
run itself, so that neither the number of processes nor a busy machine has to be known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_HIDE, _KEEP, _BACK = "\x1b[K", "\x1b7", "\x1b8"  # clear the line from here on; note the place; return to it


class Countdown:
    """The time left, of items that are known by name.

    Parameters
    ----------
    names : iterable of str
        All that is to be done.
    known : mapping of str to float
        Seconds that some of them took the last time.
    clock : callable, optional
        Seconds from any origin.
    """

    def __init__(
        self, names: Iterable[str], known: Mapping[str, float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        waiting = dict.fromkeys(names, 0.0)
        seen = [known[name] for name in waiting if name in known]
        typical = sum(seen) / len(seen) if seen else 1.0
        self._waiting = {name: max(known.get(name, typical), 1e-3) for name in waiting}
        self._whole = self._rest = sum(self._waiting.values())
        self._clock = clock
        self._start = clock()

    def done(self, name: str) -> None:
        """Take note that an item is finished; one that nobody waits for changes nothing."""
        self._rest -= self._waiting.pop(name, 0.0)

    def left(self) -> float | None:
        """Return how many seconds the rest will take, or nothing before the first item is finished."""
        finished = self._whole - self._rest
        rest = max(self._rest, 0.0)
        return (self._clock() - self._start) * rest / finished if finished > 0.0 else None


def describe_remaining(seconds: float) -> str:
    """Return a time left in words, such as ``about 1:05 left``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours}:{minutes:02}:{rest:02} left" if hours else f"about {minutes}:{rest:02} left"


class Corner:
    """The right end of the line that pytest is writing: what stands there, pytest writes over later.

    Parameters
    ----------
    writer : object
        pytest's terminal writer. Where it has no such file or line as expected, nothing is ever written.
    """

    def __init__(self, writer: Any) -> None:
        self._file = getattr(writer, "_file", None)
        self._writer = writer

    def show(self, text: str) -> None:
        """Write ``text`` at the right end of this line if there is room, instead of what was there."""
        used = getattr(self._writer, "width_of_current_line", None)
        if self._file is None or used is None:
            return
        column = self._writer.fullwidth - len(text)
        shown = f"{_KEEP}\x1b[{column}G{text}{_BACK}" if column > used + 2 else ""
        self._file.write(_HIDE + shown)
        self._file.flush()

    def clear(self) -> None:
        """Remove what is there."""
        self.show("")
