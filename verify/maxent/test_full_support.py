"""At which temperature an entropy keeps every score, how many it keeps below, and when a single one is left."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, Kind, at_least, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.maxent import entmax, sparsemax, studies
from verify import textbook
from verify.textbook import balls, hull

SPARSE = ("martins2016", "peters2019")
SIX = np.array([4.0, 4.0, 4.0, 2.0, 1.0, 0.0])  # at the threshold without n three of the six weights are lost


def draws(run, *, quick, paper):
    """The named scores, then random ones that differ."""
    yield SIX
    for rng in run.streams(run.pick(quick=quick, paper=paper)):
        yield rng.permutation(40)[: int(rng.integers(2, 9))] / 8.0


@verifies(
    Claim(
        "naive.centred",
        "sparsemax is the centred scores by temperature, exactly, if and only if it keeps every score",
        r"$\alpha = 2$: $p^* - u = (s - \bar s\mathbf 1)/\tau$ iff $\tau \ge n(\bar s - \min s)$",
        assumptions=("scores not all equal",),
        spec=("RA.A4",),
        cites=SPARSE,
        provenance=("derived", "refereed"),
    ),
    constant("threshold", "the threshold is the mean less the smallest, without n", counted=False),
    bug("uncentred", "the scores are not centred", centred=False),
    hypothesis("order", "the entropy is of order 3/2", alpha=1.5),
)
def test_centred(run, *, counted=True, centred=True, alpha=2.0):
    lost = np.count_nonzero(sparsemax(SIX, tau=float(SIX.mean() - SIX.min())) == 0.0)
    yield equals(int(lost), 3, part="threshold without n", n=6)
    for s in draws(run, quick=12, paper=150):
        exact, n = [Fraction(x) for x in s.tolist()], s.size
        mean = sum(exact) / n
        threshold = float((n if counted else 1) * (mean - min(exact)))
        for share in (1.0, 1.001, 3.0):
            tau = threshold * share
            law = sparsemax(s, tau=tau) if alpha == 2.0 else entmax(s, alpha, tau=tau)
            claimed = balls([Fraction(1, n) + (x - (mean if centred else 0)) / Fraction(tau) for x in exact])
            yield equals(textbook.gap(law, claimed, gamma(2 * n + 16)), 0, scale=1, part="identity", n=n, share=share)
            if share > 1.0:
                yield equals(int(np.count_nonzero(law == 0.0)), 0, scale=1, part="zeros above", n=n, share=share)
        below = sparsemax(s, tau=0.999 * threshold)
        yield at_least(int(np.count_nonzero(below == 0.0)), 1, part="zeros below", n=n)
        off = float(np.abs(below - 1.0 / n - (s - s.mean()) / (0.999 * threshold)).max())
        yield at_least(Interval.within(off, gamma(64 * n)), 1e-4 / n, part="identity below", n=n)


@verifies(
    Claim(
        "naive.full-support",
        "every score keeps a weight down to a temperature that the order and the norm of the distances give",
        r"$\alpha > 1$: $p^* > 0$ iff $\tau > (\alpha - 1)\,\|s - \min s\|_{1/(\alpha-1)}$",
        assumptions=("scores not all equal",),
        spec=("RA.A4",),
        cites=SPARSE,
        provenance=("derived",),
    ),
    constant("unscaled", "the factor alpha - 1 is missing", scaled=False),
    hypothesis("euclidean", "the threshold of order 2 holds for every order", own=False),
    bug("mean", "the distances are taken from the mean", lowest=False),
)
def test_full_support(run, *, scaled=True, own=True, lowest=True):
    for s in draws(run, quick=12, paper=50):
        for alpha in (1.25, 1.5, 2.0, 3.0):
            e = balls(alpha).item() - 1
            apart = [abs(x) for x in balls(s) - (balls(s.min()).item() if lowest else balls(s).sum() / s.size)]
            bound = sum(x ** (1 / e) for x in apart) ** e if own else sum(apart)
            threshold = hull(e * bound if scaled else bound).mid
            above, below = (  # that a computed weight vanishes is no certificate that the true one does
                Interval.exactly(int(np.count_nonzero(entmax(s, alpha, tau=share * threshold) == 0.0)), Kind.NUMERIC)
                for share in (1.001, 0.999)
            )
            yield equals(above, 0, scale=1, part="above", n=s.size, alpha=alpha)
            yield at_least(below, 1, part="below", n=s.size, alpha=alpha)


@cache
def cooled(alpha, tau):
    """Shannon entropy and mean score of the law as it is defined, in balls."""
    law = textbook.entmax(np.array(studies.COOLED), alpha, tau)
    # a ball that reaches down to zero has its entropy between zero and that of its upper end, which is below 1/e
    terms = [
        -p * p.log() if p > 0 else balls(0).item().union(-p.upper() * p.upper().log()) for p in law if p.upper() > 0
    ]
    return hull(sum(terms, balls(0).item())), hull((law * balls(studies.COOLED)).sum())


def entering(s, alpha, k, *, scaled):
    """The temperature above which the k-th of falling scores, counted from zero, has weight."""
    e = balls(alpha - 1).item()
    norm = sum(balls(x - s[k]).item() ** (1 / e) for x in s[:k]) ** e
    return hull(e * norm if scaled else norm)


@verifies(
    Claim(
        "naive.cooling",
        "sparse maps lose their scores one by one on cooling and are at a vertex at positive temperature; softmax keeps all",
        r"the $k$-th largest score has weight iff $(\frac{\tau}{\alpha-1})^b > \sum_{j<k}(s_j - s_k)^b$, $b = \frac1{\alpha-1}$; $H = 0$, $\langle p, s\rangle = \max s$ for $\tau \le (\alpha-1)\delta$",
        assumptions=(r"$\alpha \in \{1, \frac32, 2\}$", "six scores"),
        spec=("RA.A4", "RA.A5"),
        cites=SPARSE,
        provenance=("derived", "refereed"),
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
        alpha, alone, whole = float(rows["alpha"][0]), rows.intervals("alone")[0], rows.intervals("whole")[0]
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
