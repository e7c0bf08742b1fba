"""Signals that ask a session to end: the first one lets the epochs under way finish, the second one ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """Collect the numbers of the signals that have asked for an end; SIGINT and SIGTERM do."""
    caught: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield caught  # only the main thread is asked
        return
    before = {number: signal.getsignal(number) for number in numbers}

    def answer(number: int, _frame: object) -> None:
        if caught:
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)
        caught.append(number)

    try:
        for number in numbers:
            signal.signal(number, answer)
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
