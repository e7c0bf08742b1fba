"""Rows are split over one pool: every row once, no result that depends on it, and nothing that hangs."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from theory import attend, engine
from theory.attention import DotProduct
from theory.engine import threads
from theory.evidence import stream

MANY = 1 << 40  # pairs, so that every thread is worth its while


@pytest.mark.parametrize("asked", [1, 2, 5, 64])
@pytest.mark.parametrize("rows", [1, 2, 3, 255, 256, 257, 1000])
def test_every_row_once(rows, asked, monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", str(asked))
    seen, lock = np.zeros(rows, dtype=int), threading.Lock()

    def kernel(part):
        with lock:
            seen[part] += 1

    threads.over_rows(kernel, rows, MANY)
    assert np.array_equal(seen, np.ones(rows, dtype=int))


def test_little_work_stays_in_the_caller(monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", "4")
    names = []
    threads.over_rows(lambda part: names.append((part, threading.current_thread())), 1000, 1000)
    assert names == [(slice(0, 1000), threading.current_thread())]


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", "2")

    def kernel(part):
        if part.start > 0:
            raise ArithmeticError("second half")

    with pytest.raises(ArithmeticError, match=r"^second half$"):
        threads.over_rows(kernel, 10, MANY)


@pytest.mark.parametrize("asked", ["0", "-1", "", "two", "1.5", "\N{SUPERSCRIPT TWO}"])
def test_bad_number_of_threads(asked, monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", asked)
    with pytest.raises(ValueError, match=r"^THEORY_THREADS: expected a positive integer, got "):
        attend([[1.0]], [[1.0]], [[1.0]])


def test_usable_processors_unless_asked(monkeypatch):
    monkeypatch.delenv("THEORY_THREADS", raising=False)
    assert 1 <= threads.threads() <= (os.cpu_count() or 1)


def run_script(text, **variables):
    """Run a script that could hang in a process of its own, with a limit."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", text], env={**os.environ, **variables}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


NESTED = """
import numpy as np
from theory import attend

class Smoothed:
    def matrix(self, x, y):  # a score that itself attends, inside a thread of the pool
        return attend(x, y, y) @ y.T

x = np.linspace(-1.0, 1.0, 1200).reshape(600, 2)
print(repr(float(attend(x, x, x, score=Smoothed()).sum())))
"""


def test_a_score_that_attends_does_not_wait_for_itself():
    outputs = {n: run_script(NESTED, THEORY_THREADS=n, THEORY_BACKEND="reference") for n in ("1", "2")}
    assert outputs["1"].returncode == 0, outputs["1"].stderr
    assert outputs["1"].stdout == outputs["2"].stdout


FORKED = """
import os, sys
import numpy as np
from theory import attend

x = np.linspace(-1.0, 1.0, 1200).reshape(600, 2)
before = attend(x, x, x)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(attend(x, x, x), before) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_a_pool_of_its_own():
    done = run_script(FORKED, THEORY_THREADS="2", THEORY_BACKEND="reference")
    assert done.returncode == 0, done.stderr


def test_callers_in_many_threads_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", "2")
    x = stream("tests.threads.callers", 0).normal(size=(600, 2))
    pairs = DotProduct(scale=1.0).pairs(x, x)
    alone, found = engine.attention(pairs, x)[0], [None] * 6

    def call(k):
        found[k] = engine.attention(pairs, x)[0]

    callers = [threading.Thread(target=call, args=(k,)) for k in range(len(found))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(np.array_equal(output, alone) for output in found)
