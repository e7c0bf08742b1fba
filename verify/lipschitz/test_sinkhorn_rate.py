"""How fast Sinkhorn's sweeps converge in the end."""

import numpy as np

from theory.evidence import Claim, Interval, bug, constant, equals, hypothesis, limit, verifies
from theory.evidence.enclosure import ends, precision
from theory.evidence.roundoff import gamma
from theory.lipschitz import plan, sweep
from verify.lipschitz.pairs import oscillation
from verify.textbook import balls

SWEEPS = (24, 32, 40, 48)


@verifies(
    Claim(
        "lipschitz.sinkhorn-rate",
        "in the end a sweep of Sinkhorn contracts by the squared second singular value of its doubly stochastic limit",
        r"$\mathrm{osc}(f_{t + 2} - f_{t + 1})/\mathrm{osc}(f_{t + 1} - f_t) \to \sigma_2(P^\star)^2$ for square $S$",
        assumptions=("a square score matrix",),
        spec=("FR.F01",),
        cites=("sinkhorn1967", "franklin1989"),
        provenance=("recalled", "refereed"),
    ),
    constant("unsquared", "by the second singular value", power=1),
    bug("first-plan", "the singular value is that of the first plan, whose columns alone sum to one", last=False),
    hypothesis("rectangular", "every key is there twice", copies=2),
)
def test_rate(run, *, power=2, last=True, copies=1):
    matrices = [np.array([[1.0, 0.0], [0.0, 1.0]])]
    for rng in run.streams(run.pick(quick=3, paper=15)):
        n = int(rng.integers(2, 5))
        matrices.append(rng.uniform(0.3, 1.0) * rng.normal(size=(n, n)))
    for square in matrices:
        n, scores = len(square), np.tile(square, (1, copies))
        with precision(4000):
            potentials = [balls(np.linspace(0.0, 0.5, n) ** 2)]
            steps = []
            while len(steps) < max(SWEEPS) + 2 or steps[-1].hi > 1e-18:
                potentials.append(sweep(scores, potentials[-1]))
                steps.append(oscillation(potentials[-1] - potentials[-2]))
        ratios = [steps[k + 1] / steps[k] for k in SWEEPS]
        middle, radius = ends(plan(scores, potentials[-1 if last else 0]))
        second = float(np.linalg.svd(middle, compute_uv=False)[1])
        claimed = Interval.within(second, gamma(64 * n) + n * float(radius.max())) ** power
        yield equals(limit(ratios, order=1), claimed, n=n)
