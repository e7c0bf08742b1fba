"""A run that is killed goes on to the same bytes, and a file of another run is refused."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from theory.evidence import stream
from theory.particles import (
    SPHERE,
    CircleField,
    Diffusion,
    Noise,
    RungeKutta,
    integrate,
    on_sphere,
    run_checkpointed,
    sample,
)
from theory.particles.dynamics import GEODESIC, fingerprint
from theory.particles.dynamics.runge_kutta import HEUN

ROOT = Path(__file__).parents[2]
SLOW = """
import sys, time
from dataclasses import dataclass
import numpy as np
from theory.particles import Diffusion, Noise, on_sphere, run_checkpointed
from theory.particles.dynamics import (GEODESIC)

@dataclass(frozen=True)
class Slow:
    inner: Diffusion
    pause: float

    def checked(self, start):
        return self.inner.checked(start)

    def __call__(self, number, x):
        time.sleep(self.pause)
        return self.inner(number, x)

x = np.random.Generator(np.random.Philox(7)).normal(size=(5, 3))
x /= np.linalg.norm(x, axis=1, keepdims=True)
stepper = Slow(Diffusion(on_sphere(2.0), 0.3, 0.05, Noise(1, 2), GEODESIC), float(sys.argv[3]))
end = run_checkpointed(stepper, x, steps=int(sys.argv[2]), path=sys.argv[1] or None, every=1e-9)
print(end.tobytes().hex())
"""


def started(*words):
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SLOW, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no signal that cannot be caught")
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path):
    path = tmp_path / "run.npz"
    whole, _ = started("", "120", "0.005").communicate(timeout=120)
    process = started(str(path), "120", "0.005")
    deadline = time.monotonic() + 60.0
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.1)  # some steps further, and anywhere within a step or a write
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    with np.load(path) as stored:
        assert 0 < int(stored["number"]) < 120
    again, _ = started(str(path), "120", "0.005").communicate(timeout=120)
    assert again == whole
    assert len(again) > 100


def sphere():
    x = stream("tests.march", 0).normal(size=(4, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_without_a_file_it_is_the_integrator():
    x = sphere()
    whole = run_checkpointed(RungeKutta(on_sphere(1.0), 0.1, HEUN, SPHERE), x, steps=9)
    assert whole.tobytes() == integrate(on_sphere(1.0), x, step=0.1, steps=9, method=HEUN, space=SPHERE).tobytes()
    noisy = Diffusion(on_sphere(1.0), 0.4, 0.1, Noise(1, 2), GEODESIC)
    assert run_checkpointed(noisy, x, steps=9).tobytes() == sample(noisy, x, steps=9).tobytes()


def test_a_finished_run_is_read_and_a_longer_one_goes_on(tmp_path):
    path = tmp_path / "run.npz"
    x = sphere()
    stepper = RungeKutta(on_sphere(1.0), 0.1, space=SPHERE)
    first = run_checkpointed(stepper, x, steps=5, path=path)
    stamp = path.stat().st_mtime_ns
    assert run_checkpointed(stepper, x, steps=5, path=path).tobytes() == first.tobytes()
    assert path.stat().st_mtime_ns == stamp
    assert run_checkpointed(stepper, x, steps=9, path=path).tobytes() == run_checkpointed(stepper, x, steps=9).tobytes()
    with pytest.raises(ValueError, match="steps: expected at least the 9 steps"):
        run_checkpointed(stepper, x, steps=8, path=path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.npz"]


@pytest.mark.parametrize(
    "other",
    [
        RungeKutta(on_sphere(1.0 + 2.0**-52), 0.1, space=SPHERE),
        RungeKutta(on_sphere(1.0), 0.1 + 2.0**-56, space=SPHERE),
        RungeKutta(on_sphere(1.0), 0.1, HEUN, SPHERE),
        RungeKutta(on_sphere(1.0), 0.1),
        RungeKutta(on_sphere(1.0, weights=np.array([1.0, 1.0, 1.0, 2.0])), 0.1, space=SPHERE),
        RungeKutta(on_sphere(1.0, normalised=False), 0.1, space=SPHERE),
        Diffusion(on_sphere(1.0), 0.1, 0.1, Noise(1, 2), GEODESIC),
    ],
)
def test_the_file_of_another_run_is_refused(tmp_path, other):
    path = tmp_path / "run.npz"
    x = sphere()
    run_checkpointed(RungeKutta(on_sphere(1.0), 0.1, space=SPHERE), x, steps=2, path=path)
    with pytest.raises(ValueError, match="path: expected the state of the run"):
        run_checkpointed(other, x, steps=4, path=path)


def test_another_start_is_another_run(tmp_path):
    path = tmp_path / "run.npz"
    x = np.array([[0.5], [1.0]])
    run_checkpointed(RungeKutta(CircleField(1.0), 0.1), x, steps=2, path=path)
    with pytest.raises(ValueError, match="path: expected the state of the run"):
        run_checkpointed(RungeKutta(CircleField(1.0), 0.1), x[::-1], steps=2, path=path)


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_a_damaged_file_is_refused(tmp_path, damage):
    path = tmp_path / "run.npz"
    stepper = RungeKutta(CircleField(1.0), 0.1)
    run_checkpointed(stepper, [[0.5], [1.0]], steps=2, path=path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    with pytest.raises(ValueError, match="damaged file"):
        run_checkpointed(stepper, [[0.5], [1.0]], steps=2, path=path)


@pytest.mark.parametrize(("offset", "bit"), [(8, 1), (10, 1), (6, 128)])
def test_a_flipped_bit_of_the_index_is_a_damaged_file(tmp_path, offset, bit):
    """An entry of the index then asks for a password, another compression or a later version."""
    path = tmp_path / "run.npz"
    run_checkpointed(RungeKutta(on_sphere(1.0), 0.1), np.eye(3), steps=1, path=path)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4) + offset] ^= bit
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="damaged file"):
        run_checkpointed(RungeKutta(on_sphere(1.0), 0.1), np.eye(3), steps=2, path=path)


def test_places_and_parameters_that_will_not_do(tmp_path):
    stepper = RungeKutta(CircleField(1.0), 0.1)
    for path in (tmp_path / "none" / "run.npz", tmp_path / "run.txt"):
        with pytest.raises(ValueError, match=r"path: expected a file \*.npz"):
            run_checkpointed(stepper, [[0.5]], steps=1, path=path)
    with pytest.raises(ValueError, match="every: expected a positive"):
        run_checkpointed(stepper, [[0.5]], steps=1, every=0.0)
    with pytest.raises(TypeError, match=r"stepper.field: expected dataclasses, arrays, numbers or text, got builtins"):
        run_checkpointed(RungeKutta(lambda x: -x, 0.1), [[0.5]], steps=1, path=tmp_path / "run.npz")


def test_fingerprints_tell_types_and_nesting_apart():
    @dataclass(frozen=True)
    class Part:
        value: object

    @dataclass(frozen=True)
    class Other:
        value: object

    values = [1, 1.0, "1", (1,), ((1,),), (1, 2), (12,), np.array([1]), np.array([1.0]), np.array([[1.0]]), None, True]
    marks = {fingerprint(kind(value), np.zeros(1)) for kind in (Part, Other) for value in values}
    assert len(marks) == 2 * len(values)
