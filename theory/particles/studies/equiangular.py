r"""Independent uniform tokens in high dimension beside tokens of equal overlaps, over time and inverse temperature.

The motion knows the dimension only through the overlaps at the start. Those of n Gaussian vectors in dimension d are
products of the rows of a lower triangular matrix with independent entries, standard normal below the diagonal and
:math:`\chi_{d - i}` on it (Bartlett), so that a dimension costs nothing. Dividing by the lengths gives uniform tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table, stream, sweep
from theory.particles.dynamics.flows import Trajectory, flow
from theory.particles.exact.equiangular import Equiangular
from theory.particles.exact.overlaps import GapField

Array = NDArray[np.float64]
MAP_TOKENS, MAP_DIM = 32, 256
EQUIANGULAR_TOKENS = 8  # whose deviations are measured
SHIFT = 1.0  # mean of the coordinates, in standard deviations, of tokens that are not uniform
_RTOL, _ATOL = 1e-6, 1e-8  # chosen: far below any deviation seen
_BETAS = np.linspace(0.0, 9.0, 28)
_SCALES = {
    "quick": {"times": 25, "draws": 2, "dims": 6, "batches": 36, "repeats": 1},
    "paper": {"times": 49, "draws": 8, "dims": 8, "batches": 16, "repeats": 8},
}
_DEVIATION_BETAS = {"quick": (1.0,), "paper": (0.5, 2.0)}
_CLOSED = 1e-12  # taken: relative error of the closed form's inverse; a bisection to the last digit of a few sums


def equiangular(*, scale: str, root: int) -> Table:
    """Return mean overlaps, and deviations from the overlap of equiangular tokens that start orthogonal.

    Rows of part ``mean`` hold the mean overlap of :data:`MAP_TOKENS` tokens in dimension :data:`MAP_DIM` at a time.
    In part ``deviation``, of :data:`TOKENS` tokens, a batch holds the mean over its draws of the largest deviation
    over pairs and times; in part ``shifted`` the tokens are not uniform; in part ``over time`` there is the mean over
    all draws of the largest deviation over pairs at a time. Unused cells are zero.
    """
    size = _SCALES[scale]
    times = np.concatenate([[0.0], np.geomspace(0.05, 300.0 if scale == "paper" else 100.0, size["times"] - 1)])
    cases: list[dict[str, Any]] = [
        {"beta": float(beta), "times": times, "draws": size["draws"], "rng": _stream("mean", k, root)}
        for k, beta in enumerate(_BETAS)
    ]
    found = sweep(_mean, cases, pool=scale == "paper")
    rows = [row for part in found for row in part]
    dims = (16 * 4 ** np.arange(size["dims"])).tolist()
    for number, beta in enumerate(_DEVIATION_BETAS[scale]):
        for rule in ("SA", "USA"):
            rng = _stream("deviation", 2 * number + (rule == "USA"), root)
            rows += _deviations(beta, rule, dims, size["batches"], size["repeats"], rng)
    kinds = ("part", "rule", "beta", "n", "d", "batch", "t", "value")
    units = {**dict.fromkeys(kinds, "1"), "t": "time"}
    return Table(Kind.ESTIMATED, units, {name: [row[name] for row in rows] for name in kinds})


def uniform_gaps(rng: np.random.Generator, tokens: int, dim: int, draws: int) -> Array:
    """Return gaps of independent uniform tokens on the unit sphere, shape (draws, tokens, tokens).

    Raises
    ------
    ValueError
        If there are more tokens than dimensions.
    """
    if tokens > dim:
        raise ValueError(f"tokens: expected at most the dimension {dim}, got {tokens}")
    rows = np.tril(rng.normal(size=(draws, tokens, tokens)), -1)
    rows[:, np.arange(tokens), np.arange(tokens)] = np.sqrt(rng.chisquare(dim - np.arange(tokens), (draws, tokens)))
    return _gaps(rows)


def _gaps(vectors: Array) -> Array:
    """Return the gaps of the directions of vectors, shape (b, n, k) to (b, n, n)."""
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Array = 1.0 - unit @ np.swapaxes(unit, -1, -2)
    n = found.shape[-1]
    found[:, np.arange(n), np.arange(n)] = 0.0
    return 0.5 * (found + np.swapaxes(found, -1, -2))


def _stream(name: str, case: int, root: int) -> np.random.Generator:
    return stream(f"studies.equiangular.{name}", case, root=root)


def _row(part: str, rule: str, beta: float, n: int, value: Interval, **more: Any) -> dict[str, Any]:
    return {"part": part, "rule": rule, "beta": beta, "n": n, "d": 0, "batch": 0, "t": 0.0, "value": value} | more


def _mean(beta: float, times: Array, draws: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    start = uniform_gaps(rng, MAP_TOKENS, MAP_DIM, draws)
    path = flow(GapField(beta), start, times, rtol=_RTOL, atol=_ATOL)
    share = 1.0 / (draws * MAP_TOKENS * (MAP_TOKENS - 1))
    seen = path.observe(lambda gaps: 1.0 - float(gaps.sum()) * share)
    return [
        _row("mean", "SA", beta, MAP_TOKENS, value, d=MAP_DIM, t=t)
        for t, value in zip(times.tolist(), seen, strict=True)
    ]


def _deviations(
    beta: float, rule: str, dims: list[int], batches: int, repeats: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return batch means of the largest deviations for every dimension, and the mean of all at every time."""
    each = batches * repeats
    few = 8
    starts = [uniform_gaps(rng, EQUIANGULAR_TOKENS, d, each) for d in dims]
    shifted = [_gaps(rng.normal(SHIFT, 1.0, size=(few, EQUIANGULAR_TOKENS, d))) for d in dims[:4]]
    times = np.linspace(0.0, 6.0, 31) * (1.0 if rule == "SA" else 2.0 * np.exp(-beta))
    path = flow(GapField(beta, rule == "SA"), np.concatenate(starts + shifted), times, rtol=_RTOL, atol=_ATOL)
    rho = Equiangular(EQUIANGULAR_TOKENS, beta, rule == "SA").gap(times)
    apart, error = _apart(path, rho)
    largest = apart.max(axis=0)
    rows = []
    for k, d in enumerate(dims):
        part = slice(k * each, (k + 1) * each)
        for batch, value in enumerate(largest[part].reshape(batches, repeats).mean(axis=1).tolist()):
            found = Interval.within(value, error, Kind.ESTIMATED)
            rows.append(_row("deviation", rule, beta, EQUIANGULAR_TOKENS, found, d=d, batch=batch))
        rows += [
            _row(
                "over time",
                rule,
                beta,
                EQUIANGULAR_TOKENS,
                Interval.within(float(apart[j, part].mean()), error, Kind.ESTIMATED),
                d=d,
                t=float(t),
            )
            for j, t in enumerate(times)
        ]
    for k, d in enumerate(dims[:4]):
        for batch in range(few):
            value = float(largest[len(dims) * each + k * few + batch])
            rows.append(
                _row("shifted", rule, beta, EQUIANGULAR_TOKENS, Interval.within(value, error), d=d, batch=batch)
            )
    return rows


def _apart(path: Trajectory, rho: Array) -> tuple[Array, float]:
    """Return the largest deviation of a pair, shape (times, systems), and how far any may be off."""
    gaps = path.states - rho[:, np.newaxis, np.newaxis, np.newaxis]
    n = gaps.shape[-1]
    gaps[..., np.arange(n), np.arange(n)] = 0.0
    error = 2.0 * float(np.abs(path.states - path.coarse).max()) + _CLOSED + 2.0 * path.evaluations * 2.0**-52
    found: Array = np.abs(gaps).max(axis=(-2, -1))
    return found, error
