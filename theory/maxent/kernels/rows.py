"""Runs a map of rows on all of them, in threads if there are many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from theory.engine.pairs import Array
from theory.engine.threads import over_rows

Kernel = Callable[..., bool]
_SMALL = 1 << 16  # measured: entries below which a look at the number of threads costs more than they do


def over(kernel: Kernel, *arrays: Array) -> bool:
    """Run a kernel on all rows, in threads if there are many, and return whether it accepts them.

    Every array has one entry or row for each row of the first, or one entry for all of them.
    """
    rows = arrays[0]
    with np.errstate(all="ignore"):  # where kernels run as Python; what overflows is compared with its end
        if rows.size < _SMALL:
            return kernel(*arrays)
        accepted: list[bool] = []

        def run(part: slice) -> None:
            accepted.append(kernel(*(x if x.shape == (1,) else x[part] for x in arrays)))

        over_rows(run, rows.shape[0], rows.size)
    return all(accepted)
