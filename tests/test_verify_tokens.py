"""Tokens of the reader's own: which claims use them is said, and a file that is none is refused in a line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
HEADER = b"\x93NUMPY\x01\x00"
FILES = {  # how a file is spoiled, from the bytes of a good one
    "empty": lambda _good: b"",
    "text": lambda _good: b"1 2 3\n4 5 6\n",
    "short": lambda good: good[: len(good) // 2],
    "no-dict": lambda good: good.replace(b"{'descr': '<f8'", b"{'descr  '<f8'"),
    "no-dtype": lambda good: good.replace(b"'<f8'", b"'<x9'"),
    "no-shape": lambda good: good.replace(b"'shape'", b"'shapo'"),
    "huge": lambda good: good.replace(b"(6, 3)", b"(9**9,)"),
    "negative": lambda good: good.replace(b"(6, 3)", b"(-6,3)"),
    "open-bracket": lambda good: good.replace(b"(6, 3)", b"((6, 3"),
    "no-length": lambda good: HEADER + b"\xff\xff" + good[10:],
    "flat": lambda good: good.replace(b"(6, 3)", b"(18,) "),
}


def decide(*options):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "THEORY_"))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "verify/maxent/test_maximum_entropy.py",
        "verify/maxent/test_softmax_prior.py",
        "-p",
        "no:cacheprovider",
        *options,
    ]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.npy"
    np.save(path, np.random.default_rng(7).normal(size=(6, 3)))
    return path


def test_claims_on_these_tokens_are_named_and_the_others_compared(good):
    done = decide("-k", "maxent.gibbs or softmax.prior", "--tokens", str(good))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"decided on --tokens {good}, so not compared with their records: maxent.gibbs\n" in done.stdout
    assert "2 of 2 claims supported" in done.stdout
    assert "no record" not in done.stdout


def test_tokens_that_nobody_uses_are_told(good):
    done = decide("-k", "softmax.prior", "--tokens", str(good))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"--tokens {good}: used by no claim of this run\n" in done.stdout


def test_tokens_of_the_suite_are_recorded_only(good):
    done = decide("--record", "--tokens", str(good))
    assert done.returncode == 4
    assert "ERROR: --record: expected the suite's own tokens, got --tokens\n" in done.stderr


@pytest.mark.parametrize("spoil", FILES)
def test_a_file_that_is_no_array_of_tokens_is_refused_in_a_line(good, tmp_path, spoil):
    from verify import conftest  # noqa: PLC0415  a plugin of pytest: loaded by it, or here

    path = tmp_path / "spoilt.npy"
    path.write_bytes(FILES[spoil](good.read_bytes()))
    with pytest.raises(pytest.UsageError) as caught:
        conftest.load(path)
    assert str(caught.value).startswith(f"--tokens {path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_refused_before_anything_runs(tmp_path):
    for workers in ("0", "2"):
        done = decide("--tokens", str(tmp_path / "none.npy"), "-n", workers)
        assert done.returncode == 4
        assert f"ERROR: --tokens {tmp_path / 'none.npy'}: No such file or directory\n" in done.stderr
        assert "INTERNALERROR" not in done.stdout + done.stderr
