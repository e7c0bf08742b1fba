"""How fast Sinkhorn's sweeps converge in the end."""

from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, balls, bug, constant, equals, hull, hypothesis, limit, precision, verifies
from theory.evidence.spectra import singular_values
from theory.lipschitz.depth import sinkhorn_plan, sinkhorn_sweep

SWEEPS = (24, 32, 40, 48)
TWINS = np.diag([1.0, 1.0, 0.0])  # the first two rows may be exchanged


def generic(n):
    """A start that no symmetry of the scores leaves alone."""
    return np.linspace(0.0, 0.5, n) ** 2


def symmetric(n):
    """A start that does not tell the first rows apart."""
    return np.eye(n)[-1] / 4.0


@cache
def swept(scores, start):
    """Enclose the ratios of successive steps in oscillation, at a few sweeps, and the first and the last plan."""
    with precision(1200):
        potentials, steps = [balls(start)], []
        while len(steps) < max(SWEEPS) + 2 or steps[-1].hi > 1e-18:
            potentials.append(sinkhorn_sweep(scores, potentials[-1]))
            step = potentials[-1] - potentials[-2]
            steps.append(hull(step[:, np.newaxis] - step).max())
        plans = [hull(sinkhorn_plan(scores, potential)) for potential in (potentials[0], potentials[-1])]
    return [steps[k + 1] / steps[k] for k in SWEEPS], plans


@verifies(
    Claim(
        "lipschitz.sinkhorn-rate",
        "in the end, from a generic start, a sweep of Sinkhorn contracts by the squared second singular value of its doubly stochastic limit",
        r"$\mathrm{osc}(f_{t + 2} - f_{t + 1})/\mathrm{osc}(f_{t + 1} - f_t) \to \sigma_2(P^\star)^2$ for square $S$ and generic $f_0$; a start that shares a symmetry of $S$ never sees what breaks it: for $S = \mathrm{diag}(1, 1, 0)$ and $f_0 = (0, 0, \frac14)$ the limit is $\sigma_3(P^\star)^2 = .01985$, and $\sigma_2(P^\star)^2 = .10876$",
        assumptions=(
            r"a square score matrix with $\sigma_2(P^\star) > 0$",
            "a start outside a null set: it has a part along the second singular vector",
        ),
        spec=("FR.F01",),
        cites=("sinkhorn1967", "franklin1989", "knight2008"),
        source_status=("recalled", "refereed"),
    ),
    constant("unsquared", "by the second singular value", power=1),
    bug("first-plan", "the singular value is that of the first plan, whose columns alone sum to one", last=False),
    hypothesis("rectangular", "every key is there twice", copies=2),
    hypothesis("symmetric", "the start shares a symmetry of the scores", start=symmetric),
    hypothesis("unlike", "the start that does not tell two rows apart tells them apart by 2^-20", tilt=2.0**-20),
)
def test_rate(run, *, power=2, last=True, copies=1, start=generic, tilt=0.0):
    cases = [("generic", scale * matrix) for scale in (2.0**-6, 0.25, 1.0, 2.0) for matrix in (np.eye(2), TWINS)]
    for rng in run.draws(quick=3, paper=15):
        n = int(rng.integers(2, 5))
        cases.append(("generic", rng.uniform(0.3, 1.0) * rng.normal(size=(n, n))))
    cases += [("symmetric", scale * TWINS) for scale in (0.25, 1.0, 2.0)]
    for part, square in cases:
        n = len(square)
        scores = np.tile(square, (1, copies))
        alike = symmetric(n) + tilt * np.eye(n)[0]
        first = start(n) if part == "generic" else alike
        ratios, plans = swept(tuple(map(tuple, scores.tolist())), tuple(first.tolist()))
        values = singular_values(plans[last])
        found = limit(ratios, order=1)
        yield equals(found, values[1 if part == "generic" else 2] ** power, n=n, part=part)
        if part == "symmetric" and square[0, 0] == 1.0:
            for value, digits in ((found, ".01985"), (values[1] ** power, ".10876")):
                yield equals(value, Interval.printed(digits), part="symmetric, printed")
