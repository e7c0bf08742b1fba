"""Compiled rules answer every bit that NumPy's answer, up to the sign of a zero, where a compiler is loaded."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from theory.evidence import Interval, Intervals, as_intervals, exact, intervals, norm, outward, within

compiled = pytest.importorskip("theory.evidence.compiled")
EDGES = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1 / 3,
        -np.pi,
        1e-9,
        7e15,
        2.3e-308,
        -5e-324,
        5e-324,
        1e-310,
        1.7e308,
        -1.7e308,
        1e154,
        -1e-170,
    ]
)
SHAPES = [(), (1,), (0,), (5,), (130,), (3, 4), (4, 1), (1, 4), (2, 3, 4), (0, 4)]
PAIRS = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "hypot": np.hypot,
}  # fmt: skip
SINGLES = {
    "absolute": abs, "square": lambda x: x * x, "cube": lambda x: x**3, "inverse square": lambda x: x**-2,
    "root": lambda x: np.sqrt(abs(x)), "exp": np.exp, "tanh": np.tanh, "cos": np.cos, "twice": lambda x: 2 * x,
    "log": lambda x: np.log(1.0 + x * x), "half power": lambda x: (1.0 + x * x) ** 0.5, "middle": lambda x: x.mid,
    "radius": lambda x: x.radius, "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "length": norm,
    "sums": lambda x: x.sum(axis=0), "lengths": lambda x: norm(x, axis=-1, keepdims=True), "turned": lambda x: x.T * x,
    "turned middle": lambda x: x.T.mid, "turned radius": lambda x: x.T.radius, "product": lambda x: np.transpose(x) @ x,
    "some": lambda x: 1.0 - x[::2], "one from all": lambda x: x - x[0], "widened": lambda x: within(x.mid, 1e-9),
}  # fmt: skip


def operands(rng, shape):
    """Yield exactly known numbers, and intervals around them that may have no end, of hostile sizes and of common."""
    for middle in (rng.choice(EDGES, size=shape), rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 6, size=shape)):
        yield as_intervals(middle)
        reach = np.minimum(abs(middle), 1e300) * rng.choice([0.0, 1e-16, 1e-3, 0.7, 3.0], size=shape)
        lo, hi = middle - reach, middle + reach
        yield Intervals(np.where(rng.random(shape) < 0.1, -np.inf, lo), np.where(rng.random(shape) < 0.1, np.inf, hi))


def seen(question, *asked):
    """Return what is answered, in bytes and as it lies in memory, or what it is refused with."""
    with np.errstate(all="ignore"):  # of kernels that are not compiled, where the compiler is off
        try:
            answer = question(*asked)
        except (ValueError, TypeError, IndexError, AttributeError) as refusal:
            return type(refusal), str(refusal)
        if isinstance(answer, (float, np.ndarray)):
            return (answer + np.zeros(1)).tobytes(), np.asarray(answer).strides
        ends = [np.asarray(end) for end in (answer.lo, answer.hi)]
        assert not any(np.isnan(end).any() for end in ends)
        return (
            type(answer),
            answer.kind,
            *((np.ascontiguousarray(end) + 0.0).tobytes() for end in ends),
            ends[0].strides,
        )


@pytest.fixture
def both(monkeypatch):
    """Ask a question of the plain rules and of the compiled ones."""

    def ask(question, *asked):
        answers = []
        for loops in (None, compiled):
            for module in (intervals, outward):
                monkeypatch.setattr(module, "compiled", lambda loops=loops: loops)
            answers.append(seen(question, *asked))
        return answers

    return ask


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_compiled_rules_answer_every_bit(shape, both):
    rng = np.random.default_rng(len(str(shape)))
    here = list(operands(rng, shape))
    for name, question in SINGLES.items():
        for x in here:
            plain, fast = both(question, x)
            assert plain == fast, (name, x)
    for other in {shape, (), (1,), (4,), (4, 1), (3, 4), (7,)}:
        there = list(operands(rng, other))
        for (name, question), x, y in itertools.product(PAIRS.items(), here, there):
            for asked in ((x, y), (y, x)):
                plain, fast = both(question, *asked)
                assert plain == fast, (name, asked)


def test_numbers_are_met_at_every_entry(both):
    x = Intervals([-1.0, 0.1, 3.0], [0.5, 0.1, 7.0])
    for number in (2, 0.1, -0.0, np.float64(3.0), Interval(-0.25, 0.5), np.array(0.75)):
        for question in PAIRS.values():
            plain, fast = both(question, x, number)
            assert plain == fast


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(number, both):
    for question, other in itertools.product(PAIRS.values(), (number, np.array([1.0, number]))):
        plain, fast = both(question, exact([1.0, 2.0]), other)
        assert plain == fast
        assert plain[0] is ValueError


def test_the_compiler_is_not_loaded_for_a_sum():
    code = "import sys; from theory.evidence import exact; exact([1.0, 2.0]).sum(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert done.stdout.split() == ["False"]


def test_a_loaded_compiler_is_used():
    assert intervals.compiled() is (compiled if compiled.READY else None)
