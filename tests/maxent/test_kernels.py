"""Compiled maps of rows against the NumPy ones, whatever the rows, the threads and the place in memory."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from theory.evidence import stream
from theory.evidence.roundoff import U
from theory.maxent import entmax, entmax15, entmax_value, kernels, softmax, sparsemax
from theory.maxent.kernels.sums import exact_mass
from theory.maxent.sparse import entmax_threshold
from theory.maxent.sparse.threshold import solve, weight_error

ORDERS = (0.3, 0.7, 1.0, 1.0 + 2.0**-40, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 6.0)


def rows():
    """Rows of every shape: narrow and wide ones, ties, masks, ranges that overflow, one entry, many."""
    rng = stream("tests.rowmaps.rows", 0)
    for n in (1, 2, 3, 7, 8, 9, 16, 17, 64, 100):
        for size in (1e-3, 0.3, 3.0, 100.0):
            yield size * rng.normal(size=(3, n))
    yield np.array([[0.0, -0.0, 0.0], [1.0, 1.0, 1.0 - 2.0**-53], [5e-324, 0.0, -5e-324]])
    yield np.array([[1e308, -1e308, 0.0], [-1.7e308, 1.7e308, 1.7e308]])
    masked = rng.normal(size=(6, 20))
    yield np.where(rng.uniform(size=masked.shape) < [[0.0], [0.1], [0.5], [0.9], [1.0], [0.3]], -np.inf, masked)
    yield rng.integers(-3, 4, size=(20, 12)) / 4.0


def both(monkeypatch, law):
    """Return what both backends answer."""
    found = []
    for backend in ("compiled", "reference"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        found.append(law())
    return found


@pytest.mark.parametrize("tau", [1.0, 0.3, 1e3])
def test_softmax_agrees_with_the_oracle(tau, monkeypatch):
    for scores in rows():
        ours, oracle = both(monkeypatch, lambda: softmax(scores, tau=tau))  # noqa: B023
        assert np.abs(ours - oracle).max() <= (scores.shape[1] + 8) * U
        near = oracle > 1e-300
        assert np.abs(ours / np.where(near, oracle, 1.0) - 1.0)[near].max(initial=0.0) <= (scores.shape[1] + 16) * U
        assert np.array_equal(ours == 0.0, oracle == 0.0) or np.abs(ours - oracle)[oracle == 0.0].max() < 1e-322


@pytest.mark.parametrize("alpha", ORDERS)
def test_entmax_agrees_with_the_oracle(alpha, monkeypatch):
    """Both are within the published error of the truth, and so are their thresholds."""
    for scores in rows():
        for tau in (1.0, 0.3):
            ours, oracle = both(monkeypatch, lambda: entmax(scores, alpha, tau=tau))  # noqa: B023
            assert np.abs(ours - oracle).max() <= 2.0 * weight_error(alpha, scores.shape[1])
            ours, oracle = both(monkeypatch, lambda: entmax_threshold(scores, alpha, tau=tau))  # noqa: B023
            steep = max(1.0, scores.shape[1] ** (1.0 - alpha))
            assert np.abs(ours - oracle).max() <= 64 * U * steep * (1.0 + np.abs(oracle).max())


def test_values_agree_with_the_oracle(monkeypatch):
    scores = stream("tests.rowmaps.values", 0).normal(size=(50, 9))
    for alpha in ORDERS:
        ours, oracle = both(monkeypatch, lambda: entmax_value(scores, alpha))  # noqa: B023
        assert np.abs(ours - oracle).max() <= 64 * U * (1.0 + np.abs(oracle).max())


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.25, 1.5, 1.7, 2.0, 3.0])
def test_measures_agree_with_the_oracle(alpha, monkeypatch):
    """Entries that count for more or less than one, and some that do not."""
    rng = stream("tests.rowmaps.measure", 0)
    gaps = rng.normal(size=(40, 13))
    measure = rng.exponential(size=gaps.shape) * (rng.uniform(size=gaps.shape) < 0.8)
    measure[:, 0] += 1e-3
    measure[7] = 0.0
    gaps = gaps - np.where(measure > 0.0, gaps, -np.inf).max(axis=1, keepdims=True, initial=-50.0)
    order = np.full((40, 1), alpha)
    ours, oracle = both(monkeypatch, lambda: solve(np.minimum(gaps, 0.0), measure, order))
    size = 64 * weight_error(alpha, 13) * max(1.0, float(oracle.weights.max()))
    assert np.abs(ours.weights - oracle.weights).max() <= size
    assert not ours.weights[7].any()
    assert ours.threshold[7] == 0.0
    assert np.abs((measure * ours.weights).sum(axis=1) - 1.0)[np.arange(40) != 7].max() <= 64 * U


@pytest.mark.parametrize("law", [softmax, sparsemax, entmax15, lambda s: entmax(s, 1.3), lambda s: entmax(s, 2.5)])
def test_no_bit_depends_on_the_others_the_layout_or_the_threads(law, monkeypatch):
    scores = 2.0 * stream("tests.rowmaps.bits", 0).normal(size=(3000, 40))
    monkeypatch.setenv("THEORY_THREADS", "1")
    alone = law(scores)
    monkeypatch.setenv("THEORY_THREADS", "3")
    assert np.array_equal(law(scores), alone)
    assert np.array_equal(law(scores[::-1]), alone[::-1])
    assert np.array_equal(law(scores.tolist()), alone)
    for i in (0, 17, 2999):
        assert np.array_equal(law(scores[i]), alone[i])
    fixed = scores.copy()
    fixed.setflags(write=False)
    assert np.array_equal(law(fixed), alone)
    padded = np.insert(scores, [0, 7, 40], -np.inf, axis=1)
    assert np.array_equal(np.delete(law(padded), [0, 8, 42], axis=1), alone)
    for shift in range(9):  # what lies beside a row in memory
        room = np.empty(shift + 40)
        room[shift:] = scores[5]
        assert np.array_equal(law(room[shift:]), alone[5])


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
@pytest.mark.parametrize("law", [softmax, sparsemax, entmax15, lambda s: entmax(s, 1.3)])
def test_what_is_no_score_is_refused(law, bad):
    for shape in ((5,), (2000, 40)):
        scores = np.zeros(shape)
        scores[(-1,) * len(shape)] = bad
        with pytest.raises(ValueError, match="scores: expected finite numbers"):
            law(scores)


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "fast")
    with pytest.raises(ValueError, match="THEORY_BACKEND: expected one of compiled, reference, got 'fast'"):
        softmax([0.0, 1.0])


def test_the_sum_that_decides_keeps_all_digits():
    """A hundred thousand terms, of which a plain sum loses the last digits; here the last bit."""
    rng = stream("tests.rowmaps.sum", 0)
    terms = rng.exponential(size=100_000)
    terms /= terms.sum()
    counts = np.ones_like(terms)
    for order in (np.arange(terms.size), np.argsort(terms), np.argsort(-terms)):
        assert abs(exact_mass(counts, terms[order], terms.size) - math.fsum(terms)) <= U


LAWS = """
import sys
import numpy as np
from theory.maxent import entmax, softmax
scores = 2.0 * np.sin(np.arange(120.0).reshape(6, 20) ** 2)
scores[0, 3] = scores[2, 5] = -np.inf
orders = (0.5, 1.0, 1.3, 1.25, 1.5, 2.0, 2.5)
found = [softmax(scores), softmax(np.array([1e308, -1e308])), *(entmax(scores, a) for a in orders)]
np.savez(sys.argv[1], *found)
"""


def test_kernels_as_they_are_written(tmp_path):
    """Without the compiler they agree to what contraction and the order of a sum may change."""
    found = []
    for disabled in ("0", "1"):
        path = tmp_path / f"{disabled}.npz"
        subprocess.run(  # noqa: S603
            [sys.executable, "-W", "error", "-c", LAWS, str(path)], check=True, timeout=300,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled, "THEORY_BACKEND": "compiled"},
        )  # fmt: skip
        with np.load(path) as arrays:
            found.append([arrays[name] for name in arrays.files])
    for ours, plain in zip(*found, strict=True):
        assert np.abs(ours - plain).max() <= 32 * U


def test_rows_without_end_or_entries():
    assert kernels.over(kernels.softmax_rows, np.empty((0, 3)), np.ones(1), np.empty((0, 3)))
    assert softmax(np.empty((0, 3))).shape == (0, 3)
