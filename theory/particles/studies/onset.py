"""Tokens on the circle that are spread almost evenly: how fast their modes grow, at first and later."""

from __future__ import annotations

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U
from theory.particles.dynamics.circle import CircleField
from theory.particles.dynamics.flows import flow
from theory.particles.mean_field.onset import cosine_quantiles, fourier_mode, mode_growth

BETAS = (1.0, 5.0, 20.0)
DEGREES = 8
AMPLITUDE = 0.05
MILLION = 10**6
_TOKENS = {"quick": 500, "paper": MILLION}
_LATER = {"quick": 60, "paper": 360}  # tokens that are followed; whole clusters for every degree up to six
_LONG = {"quick": np.linspace(0.0, 18.0, 37), "paper": np.linspace(0.0, 18.0, 73)}
_SHORT = np.array([0.0, 2.0])
FOLLOWED, START = 5.0, 1e-3
HALVED = tuple(2.0**-k for k in range(3, 7))


def onset(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return growth rates of modes, and modes over time.

    ``part`` is ``rate`` for :math:`d\log|z_l|/dt` of tokens at the quantiles of the law :math:`1 + \epsilon\cos
    l\theta`, ``window`` for the mean of it over the time ``time`` along the nonlinear flow, or ``mode`` for
    :math:`2|z_l|` at ``time``. ``epsilon`` is the amplitude at the start, ``normalised`` is one for SA and zero for
    USA.
    """
    rows: list[tuple[str, float, int, int, int, float, float, Interval]] = []
    n = _TOKENS[scale]
    for beta in BETAS:
        for ell in range(1, DEGREES + 1):
            angles = cosine_quantiles(n, ell, AMPLITUDE)
            for normalised in (1, 0) if n < MILLION or ell == 3 else (1,):  # the other field costs as much
                field = CircleField(beta, normalised=bool(normalised), method="nufft" if n == MILLION else "dense")
                found = mode_growth(field, angles, ell)
                rows.append(("rate", beta, ell, n, normalised, AMPLITUDE, 0.0, found))
    n = _LATER[scale]
    for ell in (1, 3) if scale == "paper" else (3,):
        for epsilon in HALVED:
            logs = _followed(n, ell, epsilon, _SHORT, rtol=1e-11, logarithm=True)
            rows.append(("window", FOLLOWED, ell, n, 1, epsilon, float(_SHORT[-1]), (logs[-1] - logs[0]) / _SHORT[-1]))
    for ell in range(1, 6):
        sizes = _followed(n, ell, START, _LONG[scale], rtol=1e-8, logarithm=False)
        rows += [("mode", FOLLOWED, ell, n, 1, START, float(t), x) for t, x in zip(_LONG[scale], sizes, strict=True)]
    names = ("part", "beta", "degree", "tokens", "normalised", "epsilon", "time", "value")
    return Table(Kind.ESTIMATED, dict.fromkeys(names, "1"), dict(zip(names, zip(*rows, strict=True), strict=True)))


def _followed(
    n: int, degree: int, epsilon: float, times: np.ndarray, *, rtol: float, logarithm: bool
) -> list[Interval]:
    """Return twice the size of the mode along SA, or its logarithm."""

    def size(theta: np.ndarray) -> float:
        found = 2.0 * abs(fourier_mode(theta, degree))
        return float(np.log(found)) if logarithm else found

    path = flow(
        CircleField(FOLLOWED, method="dense"), cosine_quantiles(n, degree, epsilon), times, rtol=rtol, atol=0.01 * rtol
    )
    slack = 16 * n * U  # of the angles at the start, which grows along with the mode, and of the sum
    if logarithm:
        return [x + Interval.within(0.0, slack / epsilon) for x in path.observe(size)]
    return [x * Interval.within(1.0, slack / epsilon) + Interval.within(0.0, slack) for x in path.observe(size)]
