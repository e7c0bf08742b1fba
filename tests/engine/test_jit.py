"""A compiled result is never older than its sources, lies where it belongs, and is what the source says uncompiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from theory import _jit as jit, engine
from theory.engine import Form, Pairs

HERE = Path(__file__).parent
numba_config = pytest.importorskip("numba.core.config")
from theory.engine import blocks, covariance, rows  # noqa: E402  load Numba
from theory.maxent import kernels as maps  # noqa: E402


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A copy of the engine room and of what compiles it."""
    copy = tmp_path / "engine"
    shutil.copytree(Path(engine.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "_HERE", Path(shutil.copy(jit.__file__, tmp_path)))
    monkeypatch.setattr(numba_config, "CACHE_DIR", "")
    return copy


def test_every_edited_source_changes_the_cache(room):
    first = jit.cache_folder(room)
    assert first == jit.cache_folder(room)
    sources = [*sorted(room.glob("*.py")), jit._HERE]
    assert {"compiled.py", "reference.py", "pairs.py", "_jit.py"} <= {path.name for path in sources}
    folders = {first}
    for path in sources:
        path.write_bytes(path.read_bytes() + b"# edited\n")
        folders.add(jit.cache_folder(room))
    assert len(folders) == len(sources) + 1


def test_an_edited_formula_changes_the_caches_of_other_rooms(room):
    """A kernel is compiled with the formulas that it calls, and with what these are made of, wherever they stand."""
    elsewhere = room.parent / "maxent"
    elsewhere.mkdir()
    source = elsewhere / "rows.py"
    source.write_text("from theory.engine.elementary import exp\n")
    called = jit.imported(source)
    assert {room / "elementary.py", room / "exponential.py", room / "registers.py"} <= called
    assert room / "fastsum.py" not in called
    folders = {jit.cache_folder(elsewhere, called)}
    for path in called:
        path.write_bytes(path.read_bytes() + b"# edited\n")
        folders.add(jit.cache_folder(elsewhere, called))
    assert len(folders) == len(called) + 1


def test_undone_edit_finds_the_old_cache(room):
    first = jit.cache_folder(room)
    path = room / "compiled.py"
    text = path.read_bytes()
    path.write_bytes(text.replace(b"vjp", b"jvp"))
    assert jit.cache_folder(room) != first
    path.write_bytes(text)
    assert jit.cache_folder(room) == first


def test_cache_lies_beside_the_sources_if_it_may(room, monkeypatch):
    assert jit.cache_folder(room).parent == room / "__pycache__"
    monkeypatch.setattr(numba_config, "CACHE_DIR", str(room.parent / "asked"))
    assert jit.cache_folder(room).parent == room.parent / "asked"


@pytest.fixture
def sealed(room, tmp_path, monkeypatch):
    """The room where nothing may be written beside the sources; caches go below the folder that is returned."""
    monkeypatch.setattr(jit.os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    jit._say.cache_clear()
    return tmp_path / "caches" / "attention-theory"


def test_elsewhere_the_cache_is_a_folder_closed_to_others(room, sealed, monkeypatch, tmp_path):
    folder = jit.cache_folder(room)
    assert folder.parent == sealed
    assert folder.name.startswith("numba-")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert jit.cache_folder(room) == folder
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert jit.cache_folder(room).parent == tmp_path / "home" / ".cache" / "attention-theory"


def prepare_loose(folder):
    folder.chmod(0o755)


def prepare_link(folder):
    elsewhere = folder.with_name("planted")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def prepare_file(folder):
    folder.rmdir()
    folder.write_text("")


@pytest.mark.parametrize("prepare", [prepare_loose, prepare_link, prepare_file])
def test_a_folder_that_others_could_fill_is_not_used(sealed, prepare, caplog):
    prepare(jit.cache_folder(HERE))
    assert jit.cache_folder(HERE) is None
    kernel = jit.njit(_half)
    assert kernel(3.0) == 1.5  # without a cache
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "are not kept" in caplog.text


def test_a_folder_of_another_user_is_not_used(room, sealed, monkeypatch, caplog):
    assert jit.cache_folder(room) is not None
    monkeypatch.setattr(jit.os, "geteuid", lambda: os.getuid() + 1)
    assert jit.cache_folder(room) is None
    assert "must be a folder of your own" in caplog.text


ONE_KERNEL = """
import sys
import numpy as np
from theory import _jit as jit

def third(a):
    return a / 3

kernel = jit.njit(third)
assert kernel(np.float64(6.0)) == 2.0
hits = sum(getattr(kernel, "stats").cache_hits.values())
print(hits, len(kernel.overloads))
"""


def run_once(folder, **variables):
    """Run one kernel with its cache in a folder; return how often it was found there, and what was said."""
    script = folder.parent / "one.py"
    script.write_text(ONE_KERNEL)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", str(script)], env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **variables},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    hits, overloads = done.stdout.split()
    assert overloads == "1"
    return int(hits), done.stderr.splitlines()


@pytest.mark.skipif(numba_config.DISABLE_JIT, reason="the compiler is off")
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (".nbi", lambda text: text[: len(text) // 2]),
        (".nbc", lambda text: text[: len(text) // 2]),
        (".nbc", lambda text: text[:-9] + 9 * b"x"),
    ],
)
def test_a_damaged_file_is_compiled_again_with_one_line(tmp_path, suffix, damage):
    folder = tmp_path / "cache"
    assert run_once(folder) == (0, [])
    (file,) = (path for path in folder.rglob(f"one.third*{suffix}"))
    file.write_bytes(damage(file.read_bytes()))
    hits, said = run_once(folder)
    assert (hits, len(said)) == (0, 1)
    assert "compiled again" in said[0]
    assert run_once(folder) == (1, [])


@pytest.mark.skipif(numba_config.DISABLE_JIT, reason="the compiler is off")
def test_processors_share_a_folder_and_never_a_file(tmp_path):
    folder = tmp_path / "cache"
    for name in ("nehalem", "x86-64"):
        assert run_once(folder, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="") == (0, [])
        assert run_once(folder, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="") == (1, [])
    assert len([*folder.rglob("one.third*.nbi")]) == 1
    assert len([*folder.rglob("one.third*.nbc")]) == 2


def test_other_users_of_numba_keep_their_cache(room):
    before = numba_config.CACHE_DIR
    kernel = jit.njit(lambda a: a)
    assert callable(kernel)
    assert before == numba_config.CACHE_DIR


@pytest.mark.skipif(numba_config.DISABLE_JIT, reason="the compiler is off")
def test_no_kernel_holds_a_copy_of_another(monkeypatch):
    """Copies are optimised apart: which one runs would depend on what the process has compiled and what it has read."""
    monkeypatch.setenv("THEORY_BACKEND", "compiled")
    x = np.eye(6)
    for form in (Form.ADDITIVE, Form.DOT):
        engine.attention(Pairs(form, x, x, np.ones(6 if form is Form.ADDITIVE else 1)), x)
    maps.entmax_rows(x, np.full(1, 1.5), np.ones(1), np.empty((6, 6)))
    engine.moments(Pairs(Form.DOT, x, x, np.ones(1)), x)
    kernels = (rows._attend, maps.entmax_rows, covariance._gather, blocks.kernel(Form.DOT, single=False))
    for kernel in kernels:
        assert kernel.overloads
        for made in kernel.overloads.values():
            functions = [f for f in made.library._get_module_for_linking().functions if not f.is_declaration]
            names = {f.name for f in functions if f.name.startswith("_ZN6theory")}
            assert names == {made.fndesc.mangled_name}


@pytest.mark.parametrize(
    ("wanted", "flags"),
    [
        ({}, set()),
        ({"sums": True}, {"contract", "nsz", "reassoc"}),
        ({"inline": True}, {"contract", "nsz"}),
    ],
)
def test_flags_that_change_arithmetic_are_named(wanted, flags):
    kernel = jit.njit(_half, **wanted)
    options = getattr(kernel, "targetoptions", None)
    if options is None:
        pytest.skip("the compiler is off")
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert set(options.get("fastmath") or ()) == flags
    assert not options.get("parallel")
    assert kernel(3.0) == 1.5


def _half(a):
    return a / 2


EVERYTHING = """
import sys
import numpy as np
from theory import engine
from theory.engine import Direction, Form, Pairs

def numbers(seed, *shape):  # of no generator, so that both processes have the same
    return np.sin(np.arange(float(np.prod(shape))).reshape(shape) * 1.7 + seed)

found, n = [], 7
for d, d_v in ((2, 2), (9, 1)):
    for form in (Form.DOT, Form.DISTANCE, Form.ADDITIVE, Form.TORUS):
        c = np.ones(d if form == Form.ADDITIVE else 1)
        pairs, v, added = Pairs(form, numbers(1, 3, d), numbers(2, n, d), c), numbers(3, n, d_v), numbers(4, n)
        more = dict(log_weights=added, visible=np.array([n, 1, 4]))
        for precision in ("double", "single") if form != Form.ADDITIVE else ("double",):
            found += engine.attention(pairs, v, precision=precision, **more)[:2]
            found += engine.attention(pairs, v, precision=precision)[:2]
        found += [engine.weights(pairs, **more), *engine.moments(pairs, v, **more)]
        along = Direction(numbers(5, 3, d), numbers(6, n, d), numbers(7, n, d_v), numbers(8, n))
        found += [*engine.jvp(pairs, v, along, **more), *engine.vjp(pairs, v, numbers(9, 3, d_v), **more)]
for size in (1e4, 1e20):  # rows that are summed again, and rows summed alone
    far = Pairs(Form.DOT, np.ones((2, 2)), size * np.array([[-2.0, 1.0], [1.0, -2.0], [-2.0, 1.0]]), np.ones(1))
    found += engine.attention(far, numbers(1, 3, 1))[:2]
np.savez(sys.argv[1], *found)
"""


def run_everything(folder, **variables):
    """Run the script in a folder of its own and return its numbers."""
    folder.mkdir()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", EVERYTHING, str(folder / "found.npz")], cwd=folder,
        env={**os.environ, **variables}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["found.npz"]  # no cache strays here
    with np.load(folder / "found.npz") as arrays:
        return [arrays[f"arr_{k}"] for k in range(len(arrays.files))]


def test_without_the_compiler_and_on_the_oracle(tmp_path):
    """Every result agrees to the digits of its precision, and no folder is left behind.

    Scores are below 20 but where one key takes all, and a weight is off by less than ``4 (d + 5) 20`` units, twice.
    """
    compiled = run_everything(tmp_path / "compiled", THEORY_BACKEND="compiled")
    for name, variables in (("plain", {"NUMBA_DISABLE_JIT": "1"}), ("oracle", {"THEORY_BACKEND": "reference"})):
        found = run_everything(tmp_path / name, **{"THEORY_BACKEND": "compiled", **variables})
        for a, b in zip(compiled, found, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            unit = 2.0**-53 if a.dtype == np.float64 else 2.0**-24
            assert np.abs(a - b).max() <= 4000 * unit * max(1.0, float(np.abs(a).max()))
