"""Rows are split over one pool: every row once, no result that depends on it, and nothing that hangs."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.engine.problems import FORMS, direction_of, score_of
from theory import attend, attention, engine
from theory.attention import DotProduct
from theory.engine import threads
from theory.evidence import stream

MANY = 1 << 40  # pairs, so that every thread is worth its while


@pytest.mark.parametrize("asked", [1, 2, 5, 64])
@pytest.mark.parametrize("rows", [1, 2, 3, 255, 256, 257, 1000])
def test_every_row_once(rows, asked, monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", str(asked))
    seen = np.zeros(rows, dtype=int)
    lock = threading.Lock()

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


def test_nothing_is_begun_after_an_error(monkeypatch):
    """The call returns when no thread works any more, whichever of them failed."""
    monkeypatch.setenv("THEORY_THREADS", "2")
    caller = threading.current_thread()
    running = []

    def kernel(part):
        running.append(part)
        if threading.current_thread() is caller:
            raise ArithmeticError("the caller's part")
        running.remove(part)

    with pytest.raises(ArithmeticError, match=r"^the caller's part$"):
        threads.over_rows(kernel, 1000, MANY)
    assert len(running) == 1


@pytest.mark.parametrize("asked", ["0", "-1", "", "two", "1.5", "\N{SUPERSCRIPT TWO}"])
def test_bad_number_of_threads(asked, monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", asked)
    with pytest.raises(ValueError, match=r"^THEORY_THREADS: expected a positive integer, got "):
        attend([[1.0]], [[1.0]], [[1.0]])


@pytest.mark.parametrize("asked", ["0", "two"])
def test_a_prepared_problem_refuses_a_bad_number_too(asked, monkeypatch):
    x = np.array([[0.5], [1.0]])
    layer = attention.prepare(DotProduct(scale=1.0))
    problem = engine.prepare(engine.Form.DOT, np.array([1.0]))
    calls = [lambda: layer(x), lambda: layer.quick(x), lambda: problem(x, x, x), lambda: attend(x, x, x)]
    for call in calls:  # the way that was short before the number was wrong
        call()
    monkeypatch.setenv("THEORY_THREADS", asked)
    for call in calls:
        with pytest.raises(ValueError, match=r"^THEORY_THREADS: expected a positive integer, got "):
            call()


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


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize(("form", "d"), [*((form, 2) for form in FORMS), ("dot", 12), ("distance", 12)])
def test_number_of_threads_changes_no_bit(form, d, backend, monkeypatch):
    """Narrow and wide, every function, with and without a mask."""
    monkeypatch.setenv("THEORY_BACKEND", backend)
    monkeypatch.setattr(threads, "_GRAIN", 64)  # so that little work is split
    for case, (m, n) in enumerate([(130, 600), (200, 30), (3, 1100)]):
        rng = stream(f"tests.threads.bits.{form}", case)
        x = rng.normal(size=(m, d))
        y = rng.normal(size=(n, d))
        v = rng.normal(size=(n, 2))
        pairs = score_of(form, d, rng).pairs(x, y)
        seen = []
        visible = rng.integers(1, n + 1, size=m)
        added = rng.normal(size=n)
        direction = direction_of(pairs, v, rng)
        cotangent = rng.normal(size=(m, 2))
        for asked in ("1", "2", "5"):
            monkeypatch.setenv("THEORY_THREADS", asked)
            seen.append([*engine.attention(pairs, v)[:2], *engine.attention(pairs, v, visible=visible)[:2]])
            if form in ("dot", "distance"):
                seen[-1] += engine.attention(pairs, v, precision="single", log_weights=added)[:2]
            if case == 0:
                more = {"log_weights": added, "visible": visible}
                seen[-1] += [engine.weights(pairs, **more), *engine.moments(pairs, v, **more)]
                seen[-1] += [*engine.jvp(pairs, v, direction, **more), *engine.vjp(pairs, v, cotangent, **more)]
        for other in seen[1:]:
            for a, b in zip(seen[0], other, strict=True):
                assert np.array_equal(a, b)


@pytest.mark.parametrize("d", [2, 12])
def test_rows_summed_again_are_the_same_in_any_number_of_threads(d, monkeypatch):
    monkeypatch.setattr(threads, "_GRAIN", 64)
    rng = stream("tests.threads.again", d)
    x = np.zeros((200, d))
    y = rng.normal(size=(600, d))
    x[::3, :2], x[1::3, 0], x[5, 0] = 1.0, 1.0, 1e30
    y[::2, :2] += (-2e4, 1e4)
    y[1::2, :2] += (1e4, -2e4)
    pairs = DotProduct(scale=1.0).pairs(x, y)
    seen = []
    for asked in ("1", "2", "5"):
        monkeypatch.setenv("THEORY_THREADS", asked)
        seen.append(engine.attention(pairs, y)[:2])
    assert all(np.array_equal(a, b) for other in seen[1:] for a, b in zip(seen[0], other, strict=True))


@pytest.mark.parametrize("d", [2, 12])
def test_callers_in_many_threads_do_not_disturb_each_other(d, monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", "2")
    monkeypatch.setattr(threads, "_GRAIN", 64)
    x = stream("tests.threads.callers", 0).normal(size=(200, d))
    pairs = DotProduct(scale=1.0).pairs(x, x)
    alone = engine.attention(pairs, x)[0]
    found = [None] * 6

    def call(k):
        found[k] = engine.attention(pairs, x)[0]

    callers = [threading.Thread(target=call, args=(k,)) for k in range(len(found))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(np.array_equal(output, alone) for output in found)


def blas_threads():
    return [library["num_threads"] for library in threads._blas().info() if library["user_api"] == "blas"]


def test_blas_is_quiet_until_the_last_caller_leaves():
    """The first to leave must not wake it under the second, nor the second keep it quiet for ever."""
    before = blas_threads()
    first, second = threads.quiet_blas(), threads.quiet_blas()
    first.__enter__()
    second.__enter__()
    assert blas_threads() == [1] * len(before)
    first.__exit__(None, None, None)
    assert blas_threads() == [1] * len(before)
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_speaks_again_after_an_error():
    before = blas_threads()
    with pytest.raises(ArithmeticError, match=r"^inside$"), threads.quiet_blas():
        raise ArithmeticError("inside")
    assert blas_threads() == before


def test_slices_start_at_whole_blocks(monkeypatch):
    """What BLAS rounds by the shape of a block must not depend on the number of threads."""
    for asked in ("1", "2", "5"):
        monkeypatch.setenv("THEORY_THREADS", asked)
        parts = []
        threads.over_rows(parts.append, 1000, MANY, grain=64)
        assert all(part.start % 64 == 0 for part in parts)
        assert sum(part.stop - part.start for part in parts) == 1000


def test_a_thread_treats_overflows_as_its_caller_does(monkeypatch):
    monkeypatch.setenv("THEORY_THREADS", "2")
    for wanted in ("ignore", "raise"):
        seen = []
        with np.errstate(over=wanted):
            threads.over_rows(lambda _, seen=seen: seen.append(np.geterr()["over"]), 10, MANY)
        assert set(seen) == {wanted}
