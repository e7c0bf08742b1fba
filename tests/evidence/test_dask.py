"""A sweep on a Dask cluster returns the bytes of this process, also when a worker dies in the middle."""

import os
import signal
import threading
import time
from importlib import import_module

import numpy as np
import pytest

from theory.evidence import stream, sweep
from theory.evidence.sweep import sweeping_on_dask

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # what a cluster says while its worker dies is not ours
STREAMS = [{"name": "tests.dask", "case": case} for case in range(40)]


def slow_draw(name, case):
    """Draw as a stream does, in long enough that a worker can be killed meanwhile."""
    time.sleep(0.1)
    return stream(name, case).normal(size=5).tobytes()


@pytest.fixture(scope="module")
def cluster():
    import_module("distributed.protocol.pickle").cloudpickle.register_pickle_by_value(import_module(__name__))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as local:
        yield local


def test_a_killed_worker_changes_no_byte(cluster):
    with distributed.Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        victim = min(before)
        killed = []

        def kill():
            os.kill(victim, signal.SIGKILL)
            killed.append(time.monotonic())

        timer = threading.Timer(0.7, kill)
        timer.start()
        with sweeping_on_dask(cluster.scheduler_address):
            found = sweep(slow_draw, STREAMS)
        over = time.monotonic()
        assert len(before) == 2
        assert killed
        assert killed[0] < over - 0.5  # in the middle: the other worker had still much to do
    assert found == [slow_draw(**case) for case in STREAMS]


def test_outside_the_context_the_cluster_is_not_used(cluster):
    with sweeping_on_dask(cluster.scheduler_address):
        there = sweep(os.getpid, [{}])
    assert there != [os.getpid()]
    assert sweep(os.getpid, [{}]) == [os.getpid()]


def test_linear_algebra_is_on_one_thread_there_too(cluster):
    matrix = stream("tests.dask.blas", 0).normal(size=(300, 300))
    with sweeping_on_dask(cluster.scheduler_address):
        found = sweep(np.dot, [{"a": matrix, "b": matrix}] * 3)
    here = sweep(np.dot, [{"a": matrix, "b": matrix}])[0].tobytes()
    assert [product.tobytes() for product in found] == [here] * 3


def test_an_address_at_which_nobody_answers_is_refused():
    with (
        pytest.raises(ValueError, match=r"^--dask: expected the address of a scheduler, got 'nowhere'"),
        sweeping_on_dask("nowhere"),
    ):
        pass
