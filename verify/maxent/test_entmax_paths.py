"""Entmax between uniform and argmax, as it is drawn: what two weights say about their scores."""

from fractions import Fraction

import numpy as np

from theory.evidence import Claim, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.enclosure import hull
from theory.maxent import studies

SOURCES = ("peters2019", "blondel2020")


@verifies(
    Claim(
        "entmax.differences",
        "scores differ as the deformed logarithms of their weights, and by at least that where a weight vanishes",
        r"$p_i > 0$: $\log_\alpha p_i - \log_\alpha p_j = (s_i - s_j)/\tau$ if $p_j > 0$, $\le (s_i - s_j)/\tau$ if not, $\log_\alpha x = (x^{\alpha-1}-1)/(\alpha-1)$; $\alpha = \infty$: all weight to the largest",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.D2", "RA.A5"),
        cites=SOURCES,
        source_status=("recalled", "derived", "refereed"),
    ),
    bug("exponent", "the logarithm has the exponent 1/(alpha - 1)", inverted=True),
    hypothesis("off-support", "entries without weight obey the equality as well", inside=False),
    constant("temperature", "the temperature is one per cent higher", factor=1.01),
    bug("one-of-them", "at infinite order one of the largest scores takes all weight", shared=False),
    constant("mass", "the weights sum to one in a thousand more", mass=Fraction(1001, 1000)),
)
def test_differences(run, *, inverted=False, inside=True, factor=1.0, shared=True, mass=1):
    for study in (studies.weights, studies.paths):
        table = run.study(study)
        scores = np.column_stack([table[f"s{k}"] for k in (1, 2, 3)])
        weights = [table.intervals(f"p{k}") for k in (1, 2, 3)]
        for row, (s, p) in enumerate(zip(scores, zip(*weights, strict=True), strict=True)):
            alpha = float(table["alpha"][row])
            tau = factor * float(table["tau"][row] if "tau" in table.columns else 1.0)
            case = {"study": study.__name__, "alpha": alpha, "scores": s.tolist()[:2], "tau": tau}
            top = int(np.argmax(s))
            yield equals(p[0] + p[1] + p[2], mass, part="sum", **case)
            if np.isinf(alpha):
                largest = int(np.sum(s == s[top])) if shared else 1
                yield equals(p[top], Fraction(1, largest), part="largest", **case)
                continue
            e = ball(alpha) - 1
            for j in np.flatnonzero((np.arange(3) != top) & (s > -np.inf)):
                apart = hull((ball(s[top]) - ball(s[j])) / ball(tau))
                found = hull(logarithm(p[top], 1 / e if inverted else e) - logarithm(p[j], 1 / e if inverted else e))
                check = equals if p[j].hi > 0.0 or not inside else at_most
                yield check(found, apart, scale=1.0 + apart.hi, part="difference", **case)


def logarithm(p, e):
    """The deformed logarithm of an enclosed weight, in balls."""
    x = ball(p.lo).union(ball(p.hi)) if p.hi > 0.0 else ball(0)
    return x.log() if e == 0 else ((x**e if p.hi > 0.0 else 0) - 1) / e
