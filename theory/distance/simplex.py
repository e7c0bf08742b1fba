"""The network simplex of POT, which proposes plans and potentials; its warnings show in the width of a result."""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from theory.distance.cells import Numbers, Places


def solve(a: Places, b: Places, cost: Any, iterations: int) -> tuple[Any, dict[str, Any]]:
    """Return a plan, in the form of ``cost``, and the solver's report with the potentials ``u`` and ``v``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, report = _solver()(a, b, cost, numItermax=iterations, log=True, check_marginals=False)
    return plan, report


def propose_arcs(
    iterations: int, a: Places, b: Places, rows: Numbers, columns: Numbers, cost: Places
) -> tuple[Numbers, Numbers, Places, Places]:
    """Return a plan over given arcs, without repeats, and the potential of its rows."""
    from scipy.sparse import coo_array  # noqa: PLC0415  only large clouds need it

    largest = cost.max() or 1.0  # reduced costs may all be zero
    costs = coo_array((cost / largest, (rows, columns)), shape=(len(a), len(b)))
    plan, report = solve(a, b, costs, iterations)
    masses = np.asarray(plan.data, dtype=np.float64)
    potential = np.asarray(report["u"], dtype=np.float64) * largest
    return plan.row.astype(np.int64), plan.col.astype(np.int64), masses, potential


@cache
def _solver() -> Any:
    """Import POT, which would import every deep-learning framework it finds unless told not to."""
    frameworks = [f"POT_BACKEND_DISABLE_{name}" for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")]
    before = {name: os.environ.get(name) for name in frameworks}
    os.environ.update(dict.fromkeys(frameworks, "1"))
    try:
        return import_module("ot").emd
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
