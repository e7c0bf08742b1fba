"""The energy along runs of attention on the sphere, beside what the velocities say; and its rate for drawn values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, Table, stream, within
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from theory.particles.dynamics.energy import Interaction
from theory.particles.dynamics.fields import Array, SoftmaxField, Tangential
from theory.particles.dynamics.flows import flow

FORM = np.diag([1.0, 0.5, -0.75])  # symmetric and indefinite, the value matrix of its run
_COS = np.cos(2.0)
_SIN = np.sin(2.0)
TURN = np.array([[_COS, -_SIN, 0.0], [_SIN, _COS, 0.0], [0.0, 0.0, 1.0]])  # a value matrix beside scores without form
_SIZES = {"quick": (8, 3.0), "paper": (24, 5.0)}  # tokens and beta
_LENGTHS = {"SA": 12.0, "USA": 2.0, "form": 16.0, "turned": 8.0, "causal": 12.0}
_LONGER = {"quick": 1.0, "paper": 8.0}
_STAMPS = {"quick": 40, "paper": 64}
_TOLERANCE = {"quick": 1e-8, "paper": 1e-9}  # chosen: of the integrator
_TOKENS, _DIM, _BATCH = 5, 3, 4000
_DRAWS = {"quick": 240_000, "paper": 1_600_000}  # derived: a share of 0.53 lies six reaches from one half
_FEW = 0.05  # taken: of the draws, where the rate never falls or falls often
_RANGE = 30.0  # derived: the scores of unit tokens under a form whose largest singular value is below


def unit_tokens(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return independent uniform points of the unit sphere, shape (n, d)."""
    x = rng.normal(size=(n, d))
    unit: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


def dissipation(*, scale: str, root: int) -> Table:
    """Return the energy at times of five runs from the same tokens, with unequal masses.

    ``energy`` is that of the scores in use; ``climbed`` the integral of the squared velocities since the start, token i
    weighted by its mass and, unless ``run`` is USA, by its sum Z; ``unweighted`` the same without Z. ``run`` is SA or
    USA with value and form one, ``form`` SA with the symmetric ``FORM`` as both, ``turned`` SA with the value matrix
    ``TURN``, ``causal`` SA under a causal mask.
    """
    n, beta = _SIZES[scale]
    rng = stream("studies.dissipation", 0, root=root)
    tokens = unit_tokens(n, _DIM, rng)
    masses = rng.dirichlet(np.full(n, 8.0))
    columns: dict[str, list[object]] = {key: [] for key in ("run", "time", "energy", "climbed", "unweighted")}
    for run, length in _LENGTHS.items():
        law = Interaction(beta, form=FORM if run == "form" else None, weights=masses)
        velocity = _velocity(run, law, masses)
        end = length * _LONGER[scale]
        times = np.concatenate([[0.0], np.geomspace(end / 256.0, end, _STAMPS[scale])])
        start = np.vstack([tokens, np.zeros(_DIM)])
        path = flow(
            _accumulating(velocity, law, normalised=run != "USA"),
            start,
            times,
            rtol=_TOLERANCE[scale],
            atol=_TOLERANCE[scale],
            method="LSODA",
        )
        energies = path.observe(partial(_energy, law))
        slips = [Interval.within(0.0, law.energy(state[:-1]).width) for state in path.states]
        columns["run"] += [run] * times.size
        columns["time"] += times.tolist()
        columns["energy"] += [e + slip for e, slip in zip(energies, slips, strict=True)]
        columns["climbed"] += path.observe(lambda state: float(state[-1, 0]))
        columns["unweighted"] += path.observe(lambda state: float(state[-1, 1]))
    units = dict.fromkeys(columns, "1")
    return Table(Kind.ESTIMATED, units, columns)  # type: ignore[arg-type]


def _velocity(run: str, law: Interaction, masses: Array) -> Callable[[Array], Array]:
    if run == "USA":
        return lambda x: law.velocity(x, normalised=False)
    if run == "turned":
        return Tangential(SoftmaxField(law.score, value=TURN, weights=masses))
    if run == "causal":
        return Tangential(SoftmaxField(law.score, weights=masses, causal=True))
    return law.velocity


def _energy(law: Interaction, state: Array) -> float:
    return law.energy(state[:-1]).mid


def enclose_energy_rates(x: Array, form: Array, value: Array) -> Any:
    """Enclose what :func:`energy_rates` of the same arguments returns."""
    return within(*energy_rates(x, form, value))


def _accumulating(
    velocity: Callable[[Array], Array], law: Interaction, *, normalised: bool
) -> Callable[[Array], Array]:
    """Return the field of the tokens and, in a last row, of the two integrals."""

    def field(state: Array) -> Array:
        # the same on the sphere, and bounded off it, where a trial step may lead
        tokens = state[:-1] / np.linalg.norm(state[:-1], axis=1, keepdims=True)
        moving = np.zeros_like(state)
        moving[:-1] = velocity(tokens)
        squares = np.einsum("ij,ij->i", moving[:-1], moving[:-1])
        moving[-1, 0] = law.metric(tokens, normalised=normalised) @ squares
        moving[-1, 1] = law.metric(tokens, normalised=False) @ squares
        return moving

    return field


def values(*, scale: str, root: int) -> Table:
    r"""Count the draws in which :math:`\sum_{ij} e^{x_i^\top Ax_j}` falls under attention with a drawn value matrix.

    ``value`` is ``free`` (value and form A independent standard normal matrices), ``form`` (A symmetric and the value
    matrix too, the theorem's case) or ``skew`` (A and the value matrix equal, not symmetric). ``falling`` counts rates
    that are certainly negative, ``unclear`` those within rounding of zero, among ``draws``.
    """
    rows: list[tuple[str, int, int, int]] = []
    for number, name in enumerate(("free", "form", "skew")):
        rng = stream("studies.values", number, root=root)
        falling = unclear = 0
        batches = int(_DRAWS[scale] * (1.0 if name == "free" else _FEW)) // _BATCH
        for _ in range(batches):
            x = rng.normal(size=(_BATCH, _TOKENS, _DIM))
            x /= np.linalg.norm(x, axis=2, keepdims=True)
            form, value = (rng.normal(size=(_BATCH, _DIM, _DIM)) for _ in range(2))
            if name != "free":
                form = value = form if name == "skew" else (form + form.swapaxes(1, 2)) / 2.0
            rates, error = energy_rates(x, form, value)
            falling += int((rates < -error).sum())
            unclear += int((np.abs(rates) <= error).sum())
        rows.append((name, falling, unclear, batches * _BATCH))
    columns = dict(zip(("value", "falling", "unclear", "draws"), zip(*rows, strict=True), strict=True))
    return Table(Kind.CERTIFIED, dict.fromkeys(columns, "1"), columns)


def energy_rates(x: Array, form: Array, value: Array) -> tuple[Array, Array]:
    r"""Return :math:`\frac{d}{dt}\sum_{ij} e^{x_i^\top Ax_j}` along SA with any value matrix, and bounds on its error.

    Parameters
    ----------
    x : ndarray, shape (k, n, d)
        Clouds of unit tokens.
    form, value : ndarray, shape (k, d, d)
        :math:`A` and :math:`V`.

    Raises
    ------
    ValueError
        If a score may exceed 30, where the bound on rounding is not derived.
    """
    n, d = x.shape[1:]
    sizes = [np.linalg.norm(matrix, axis=(1, 2)) for matrix in (form, value)]
    if max(sizes[0].max(), 0.0) > _RANGE:
        raise ValueError(f"form: expected Frobenius norms up to {_RANGE}, got {sizes[0].max()}")
    weights = np.exp(x @ form @ x.swapaxes(1, 2))
    outputs = weights @ x / weights.sum(axis=2, keepdims=True) @ value.swapaxes(1, 2)
    moving = outputs - np.einsum("kij,kij->ki", x, outputs)[..., np.newaxis] * x
    left = moving @ form @ x.swapaxes(1, 2)
    right = x @ form @ moving.swapaxes(1, 2)
    rates = np.einsum("kij,kij->k", weights, left + right)
    # a score is off by gamma(2 d) |A|, a velocity by a few times that much relative to 2 |V|, a term by both
    relative = 8.0 * gamma(2 * d) * (1.0 + sizes[0]) * 2.0 + gamma(n * n + 8 * d + 2 * n) + 4.0 * EXP_ULPS * U
    return rates, 8.0 * relative * weights.sum(axis=(1, 2)) * sizes[0] * sizes[1] * (1.0 + gamma(16))
