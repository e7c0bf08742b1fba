"""What the processor leaves no dense kernel below: instructions per pair over what it can retire.

Per pair the kernel takes d multiply-adds for the score, twelve multiplications or multiply-adds for the exponential and
d_v for the sums; what else it does (five additions, a comparison, a shift) is not counted, since it may run beside
them.
How many multiply-adds the processor retires is measured in the same run: it is what BLAS reaches in a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from theory._jit import njit
from theory.engine.exponential import exp2
from theory.engine.registers import STRIP, columns_of_panel, products
from theory.engine.threads import over_rows

POLYNOMIAL = 12  # derived: the products and multiply-adds of theory.engine.exponential
_SIZE = 1 << 12
_ROUNDS = 1 << 12
_DEPTH, _PANELS = 64, 3  # taken: the panels fill half of the first cache


def multiply_adds(d: int, d_v: int) -> int:
    """Return the multiply-adds that one pair cannot do without."""
    return d + POLYNOMIAL + d_v


def _multiply(left: np.ndarray, panels: np.ndarray, results: np.ndarray, rounds: int) -> None:
    for _ in range(rounds):
        for number in range(panels.shape[0]):
            products(left, 0, panels, number, panels.shape[1], results, 0)


multiply = njit(_multiply)


def matrix_product() -> tuple[Callable[[], object], float]:
    """Return a product of matrices in registers on as many threads as the engine, and its multiply-adds."""
    width = columns_of_panel(np.dtype(np.float64))
    rng = np.random.default_rng(0)
    left, panels = rng.normal(size=(STRIP, _DEPTH)), rng.normal(size=(_PANELS, _DEPTH, width))

    def part(rows: slice) -> None:
        multiply(left, panels, np.empty((STRIP, width)), rows.stop - rows.start)

    number = STRIP * _DEPTH * width * _PANELS
    return lambda: over_rows(part, _ROUNDS, _ROUNDS * number), float(_ROUNDS * number)


def _exponentials(x: np.ndarray, y: np.ndarray, rounds: int) -> None:
    for _ in range(rounds):
        for j in range(x.size):
            y[j] = exp2(x[j])


exponentials = njit(_exponentials, sums=True)


def exponential() -> tuple[Callable[[], object], float]:
    """Return the exponential alone, over numbers that stay in the first cache, and how many it takes."""
    x = -20.0 * np.random.default_rng(0).random(_SIZE)

    def part(rows: slice) -> None:
        exponentials(x, np.empty_like(x), rows.stop - rows.start)

    return lambda: over_rows(part, _ROUNDS, _ROUNDS * _SIZE), float(_ROUNDS * _SIZE)
