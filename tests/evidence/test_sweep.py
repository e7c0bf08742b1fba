"""A sweep returns the same bytes in the same order, whoever does the work."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from theory.evidence import stream, sweep
from theory.evidence.sweep import usable_cpus

STREAMS = [{"name": "tests.sweep", "case": case} for case in range(7)]


def drawn(generators):
    return [generator.normal(size=3).tobytes() for generator in generators]


@pytest.fixture
def workers(monkeypatch):
    """Return a function that says how many processors there are."""
    module = import_module("theory.evidence.sweep")  # the attribute of the package is the function
    return lambda count: monkeypatch.setattr(module, "usable_cpus", lambda: count)


@pytest.fixture(scope="module")
def processes():
    """Two spawned processes that outlive every sweep."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("count", [1, 2, 5])
def test_number_of_workers_changes_nothing(workers, count):
    workers(count)
    assert drawn(sweep(stream, STREAMS)) == drawn(stream(**case) for case in STREAMS)


def test_without_a_pool_everything_stays_in_this_process(workers):
    workers(2)
    assert sweep(os.getpid, [{}] * 3, pool=False) == [os.getpid()] * 3
    assert os.getpid() not in sweep(os.getpid, [{}] * 2)


def swept_below():
    import_module("theory.evidence.sweep").usable_cpus = lambda: 2  # of this worker, which is nobody else's
    return [os.getpid(), *sweep(os.getpid, [{}] * 2)]


def test_a_worker_starts_no_workers(workers):
    workers(2)
    for own, *below in sweep(swept_below, [{}] * 2):
        assert below == [own, own]


def test_kind_of_executor_changes_nothing(processes):
    expected = drawn(stream(**case) for case in STREAMS)
    with ThreadPoolExecutor(3) as threads:
        for executor in (threads, processes, threads):
            assert drawn(sweep(stream, STREAMS, executor=executor)) == expected
        assert threads.submit(int, 3).result() == 3  # it was not shut down
    assert processes.submit(int, 3).result() == 3


def test_threads_of_linear_algebra_change_nothing(workers, processes):
    rng = stream("tests.sweep.blas", 0)
    matrix, vector = rng.normal(size=(300, 300)), rng.normal(size=200_001)
    cases = [{"a": matrix, "b": matrix}, {"a": vector, "b": vector}, {"a": matrix[0], "b": matrix}]
    with threadpool_limits(limits=1):
        expected = [np.dot(**case).tobytes() for case in cases]
    found = [sweep(np.dot, cases, executor=processes)]
    with ThreadPoolExecutor(3) as threads:
        found += [sweep(np.dot, cases, executor=threads) for _ in range(3)]
    workers(1)
    found += [sweep(np.dot, cases)]
    for results in found:
        assert [np.asarray(result).tobytes() for result in results] == expected


def test_limit_on_threads_ends_with_the_sweep(workers):
    workers(1)
    before = [library["num_threads"] for library in threadpool_info()]
    inside = sweep(lambda **_: [library["num_threads"] for library in threadpool_info()], [{}, {}])
    assert {count for counts in inside for count in counts} == {1}
    with ThreadPoolExecutor(4) as threads:
        sweep(lambda **_: time.sleep(0.002), [{}] * 20, executor=threads)
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_floating_point_faults_are_errors_everywhere(workers, processes):
    case = {"a": np.array([1e308]), "b": np.array([10.0])}
    workers(1)
    with np.errstate(all="ignore"):
        for executor in (None, processes):
            with pytest.raises(FloatingPointError):
                sweep(np.outer, [case, case], executor=executor)


def test_order_of_submission_is_kept():
    gates = [threading.Event() for _ in range(4)]

    def wait(k):
        if k + 1 < len(gates):
            assert gates[k + 1].wait(10.0)  # every case finishes after the next one
        gates[k].set()
        return k

    with ThreadPoolExecutor(4) as threads:
        assert sweep(wait, [{"k": k} for k in range(4)], executor=threads) == [0, 1, 2, 3]


class Cluster(Executor):
    """An executor with keywords of its own, as Dask's has."""

    def submit(self, fn, *args, key=None, workers=None, retries=0, pure=True, **kwargs):  # noqa: ARG002, D102
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_parameters_of_a_case_are_not_taken_for_the_executor_s():
    case = {"key": "a", "workers": 2, "retries": 3, "pure": 4, "fn": 5, "self": 6, "executor": 7, "cases": 8}
    for executor in (Cluster(), None):
        assert sweep(lambda **given: given, [case], executor=executor) == [case]


def test_nothing_to_do():
    assert sweep(stream, []) == []
    assert sweep(stream, [], executor=Cluster()) == []


def test_first_error_in_order_is_raised_and_the_rest_is_not_started():
    started = []

    def fail(k):
        started.append(k)
        time.sleep(0.01)
        raise ValueError(k)

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(ValueError, match=r"^0$"):
            sweep(fail, [{"k": k} for k in range(50)], executor=threads)
        threads.submit(int).result()
    assert len(started) < 50


def test_errors_cross_processes(processes):
    with pytest.raises(TypeError, match="case"):
        sweep(stream, [{"name": "a.b"}] * 2, executor=processes)


def test_processors_are_counted():
    assert usable_cpus() >= 1


def test_a_library_that_a_check_loads_first_is_on_one_thread_too():
    code = (
        "from theory.evidence.sweep import one_thread\n"
        "with one_thread():\n"
        "    import scipy.linalg, threadpoolctl\n"
        "    print(*[library['num_threads'] for library in threadpoolctl.threadpool_info()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert set(done.stdout.split()) == {"1"}
