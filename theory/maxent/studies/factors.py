r"""A matrix of scores that learns to select, as one matrix and as a product, by its first entry.

Three examples of two tokens have the gaps :math:`W_{11}`, :math:`W_{12}` and :math:`\ell W_{22}`; what is ascended is
the sum of :math:`\sigma` of these, in :math:`W` or in both factors of :math:`W = AB`. Curves do not depend on the pace:
the gradient is divided by the sum of its weights, and what is tabulated is by the first entry, which grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from theory.evidence import Kind, estimated, study

Array = NDArray[np.float64]
STARTS = {  # of the first factor; the second: the unit / 10
    "together": np.diag([0.1, 0.1]),
    "opposite": np.diag([0.1, -0.1]),
}
TRAINED = ("product", "one matrix")
LENGTH = 2.0  # of the third difference
EXPONENTS = tuple(range(-3, 12))  # of two: first entries
_TOLERANCES = (1e-10, 1e-8)  # taken: of the method of Runge and Kutta, the second for the error of the first


@study(Kind.ESTIMATED)
def factors(*, scale: str, root: int, third: float = LENGTH) -> Iterator[dict[str, Any]]:  # noqa: ARG001  one size serves both scales
    """Yield shares of the first entry, the nuclear norm over the least gap, and the second singular value.

    ``third``: the length of the third difference along which the matrix moves; gaps are those of ``LENGTH``.
    """
    for trained in TRAINED:
        for start in STARTS:
            fine, rough = (_grown(start, trained, third, tolerance) for tolerance in _TOLERANCES)
            for exponent, *pair in zip(EXPONENTS, fine, rough, strict=True):
                values = zip(*map(_described, pair), strict=True)
                found = [estimated(near, far, times=2.0) for near, far in values]
                row: dict[str, Any] = {"trained": trained, "start": start, "exponent": exponent}
                yield row | dict(zip(("beside", "corner", "last", "norm", "second"), found, strict=True))


def _described(w: Array) -> list[float]:
    singular = np.linalg.svd(w)[1]
    least = min(w[0, 0], w[0, 1], LENGTH * w[1, 1])
    shares = (w[0, 1] / w[0, 0], w[1, 0] / w[0, 0], w[1, 1] / w[0, 0])
    return [float(x) for x in (*shares, singular.sum() / least, singular[1])]


def _grown(start: str, trained: str, third: float, tolerance: float) -> list[Array]:
    """Return the matrix when its first entry is each power of two."""
    lengths = np.array([[1.0, 1.0], [0.0, third]])
    one = trained == "one matrix"

    def score(state: Array) -> Array:
        return state.reshape(2, 2) if one else state[:4].reshape(2, 2) @ state[4:].reshape(2, 2)

    def field(_: float, state: Array) -> Array:
        g = _pull(score(state), lengths)
        if one:
            return g.ravel()
        a, b = state[:4].reshape(2, 2), state[4:].reshape(2, 2)
        return np.concatenate([(g @ b.T).ravel(), (a.T @ g).ravel()])

    first, second = STARTS[start], np.eye(2) / 10.0
    state = (first @ second).ravel() if one else np.concatenate([first.ravel(), second.ravel()])
    found = []
    for exponent in EXPONENTS:

        def reached(_: float, state: Array, size: float = 2.0**exponent) -> float:
            return float(score(state)[0, 0] - size)

        reached.terminal = True  # type: ignore[attr-defined]
        solved = solve_ivp(field, (0.0, 1e6), state, method="DOP853", rtol=tolerance, atol=tolerance, events=reached)
        state = solved.y[:, -1]
        found.append(score(state))
    return found


def _pull(w: Array, lengths: Array) -> Array:
    """Return the gradient of what selecting is worth, divided by the sum of its weights."""
    gaps = lengths * w
    logs = np.where(lengths > 0.0, -np.abs(gaps) - 2.0 * np.log1p(np.exp(-np.abs(gaps))), -np.inf)
    weights = np.exp(logs - logs.max())
    found: Array = lengths * weights / weights.sum()
    return found
