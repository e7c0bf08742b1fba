"""At which temperatures on cooling a sparse map loses its scores, and when a single one is left."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, verifies
from theory.maxent import studies
from verify import textbook
from verify.textbook import balls, hull

SPARSE = ("martins2016", "peters2019")


@cache
def cooled(alpha, tau):
    """Shannon entropy and mean score of the law as it is defined, in balls."""
    law = textbook.entmax(np.array(studies.COOLED), alpha, tau)
    # a ball that reaches down to zero has its entropy between zero and that of its upper end, which is below 1/e
    terms = [-p * p.log() if p > 0 else ball(0).union(-p.upper() * p.upper().log()) for p in law if p.upper() > 0]
    return hull(sum(terms, ball(0))), hull((law * balls(studies.COOLED)).sum())


def entering(s, alpha, k, *, scaled):
    """The temperature above which the k-th of falling scores, counted from zero, has weight."""
    e = ball(alpha - 1)
    norm = sum(ball(x - s[k]) ** (1 / e) for x in s[:k]) ** e
    return hull(e * norm if scaled else norm)


@verifies(
    Claim(
        "naive.cooling",
        "sparse maps lose their scores one by one on cooling and are at a vertex at positive temperature; softmax keeps all",
        r"the $k$-th largest score has weight iff $(\frac{\tau}{\alpha-1})^b > \sum_{j<k}(s_j - s_k)^b$, $b = \frac1{\alpha-1}$; $H = 0$, $\langle p, s\rangle = \max s$ for $\tau \le (\alpha-1)\delta$",
        assumptions=(r"$\alpha \in \{1, \frac32, 2\}$", "six scores"),
        spec=("RA.A4", "RA.A5"),
        cites=SPARSE,
        source_status=("derived", "refereed"),
    ),
    constant("unscaled", "the factor alpha - 1 is missing", scaled=False),
    hypothesis("dense", "a weight vanishes for no temperature, as for softmax", dense=True),
    bug("harmonic", "the scores are multiplied by the temperature", inverse=True),
    constant("near", "entropy and mean are one in a thousand larger", factor=1.001),
)
def test_cooling(run, *, scaled=True, dense=False, inverse=False, factor=1.0):
    table = run.study(studies.cooling)
    s = [Fraction(x) for x in studies.COOLED]
    for name in dict.fromkeys(table["map"].tolist()):
        rows = table.where(map=name)  # all with the same two temperatures
        alpha = float(rows["alpha"][0])
        alone = rows.intervals("alone")[0]
        whole = rows.intervals("whole")[0]
        for part, entrance, k in (("second", alone, 1), ("last", whole, len(s) - 1)):
            claimed = entering(s, alpha, k, scaled=scaled) if alpha > 1.0 and not dense else Interval.exactly(0.0)
            yield equals(entrance, claimed, scale=1, part=part, map=name)
    columns = (table[name].tolist() for name in ("map", "alpha", "tau", "support"))
    for name, alpha, tau, kept, entropy, mean in zip(
        *columns, table.intervals("entropy"), table.intervals("mean"), strict=True
    ):
        claimed = len(s)
        if alpha > 1.0 and not dense:
            b = int(1 / (alpha - 1))
            heat = (Fraction(tau) * (b if scaled else 1)) ** b
            claimed = sum(heat > sum((x - s[k]) ** b for x in s[: k + 1]) for k in range(len(s)))
        yield equals(kept, claimed, scale=1, part="support", map=name, tau=tau)
        disorder, score = cooled(alpha, 1.0 / tau if inverse else tau)
        yield equals(entropy, factor * disorder, scale=1, part="entropy", map=name, tau=tau)
        yield equals(mean, factor * score, scale=1, part="mean", map=name, tau=tau)
        if alpha > 1.0 and tau <= float(alpha - 1.0) * float(s[0] - s[1]):
            yield equals(entropy, 0, scale=1, part="vertex", map=name, tau=tau)
            yield equals(mean, factor * studies.COOLED[0], scale=1, part="vertex", map=name, tau=tau)
