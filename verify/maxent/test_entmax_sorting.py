"""Sparsemax and entmax of order 3/2 by sorting: the printed rules, and why counting finds the support."""

from fractions import Fraction

import numpy as np

from theory.evidence import Claim, at_most, ball, bug, constant, equals, hypothesis, outcome, verifies
from theory.evidence.enclosure import balls
from theory.maxent import entmax15, sparsemax
from verify.maxent.test_entmax import farthest, many, missed, rows

ULP = 2.0**-52  # the unit in the last place of one


def printed_sparsemax(s, *, falling):
    """Sparsemax in rational numbers by the printed rule."""
    z = [Fraction(x) for x in s.tolist()]
    sums = [Fraction(0)]
    order = sorted(z, reverse=True) if falling else z
    for x in order:
        sums.append(sums[-1] + x)
    k = max(k for k in range(1, len(z) + 1) if 1 + k * order[k - 1] > sums[k])
    theta = (sums[k] - 1) / k
    return balls([max(x - theta, Fraction(0)) for x in z])


def printed_entmax15(s, *, halved, falling):
    """Entmax of order 3/2 in balls by the printed rule, the comparison of which is squared and rational."""
    z = [Fraction(x) / (2 if halved else 1) for x in s.tolist()]
    order = sorted(z, reverse=True) if falling else z
    last = (Fraction(0), Fraction(0), 1)
    sums = Fraction(0)
    squares = Fraction(0)
    for k, x in enumerate(order, 1):
        sums = sums + x
        squares = squares + x * x
        mean = sums / k
        room = max(1 - squares + k * mean**2, Fraction(0)) / k
        last = (mean, room, k) if mean <= x or (mean - x) ** 2 <= room else last
    mean = last[0]
    root = ball(last[1]).sqrt()
    cut = order[last[2] - 1]
    return np.array([(ball(x - mean) + root) ** 2 if x >= cut else ball(0) for x in z], dtype=object)


@verifies(
    Claim(
        "entmax.sorted",
        "sorting solves orders 2 and 3/2 exactly, by counting the scores above a threshold",
        r"$\alpha = 2$: $k^* = \max\{k : 1 + kz_k > \sum_{j\le k}z_j\}$, $p = [z - \theta]_+$, $\theta = (\sum_{j\le k^*}z_j - 1)/k^*$; $\alpha = \frac32$, $z = s/2\tau$: $\theta_k = \mu_k - \sqrt{(1-S_k)_+/k}$, $k^* = \#\{k : \theta_k \le z_k\}$, $p = [z - \theta_{k^*}]_+^2$",
        assumptions=(
            r"$z_1 \ge z_2 \ge \dots$",
            "up to four units in the last place of one",
            r"judged up to $n = 10^5$",
        ),
        spec=("RA.D3",),
        cites=("held1974", "condat2016", "martins2016", "peters2019"),
        source_status=("seen", "recalled", "refereed on paper"),
    ),
    bug("not-halved", "at order 3/2 the scores are not halved", halved=False),
    constant("sixteenth", "the computed weights are within a sixteenth of one unit", units=0.0625),
    hypothesis("unsorted", "the printed rules are applied to scores that are not sorted", falling=False),
)
def test_sorted(run, *, halved=True, units=4.0, falling=True):
    for name, s in rows(run, quick=8, paper=40, longest=300):
        for alpha, computed, printed in (
            (2.0, sparsemax(s), printed_sparsemax(s, falling=falling)),
            (1.5, entmax15(s), printed_entmax15(s, halved=halved, falling=falling)),
        ):
            case = {"input": name, "alpha": alpha, "n": s.size}
            yield outcome(at_most(farthest(computed, printed), units * ULP, part="rule", **case))
            yield outcome(at_most(missed(computed, s, alpha), units * ULP, part="law", **case))
    # the sum of squares is that of many, its distance from their mean nothing: a difference of the two has few digits
    near = "many near", np.append(0.0, np.full(10**5 - 1, -1.999))
    for name, s in (*many(10**5), near):
        for alpha, solve in ((2.0, sparsemax), (1.5, entmax15)):
            off = missed(solve(s), s, alpha)
            yield outcome(at_most(off, units * ULP, part="law", input=name, alpha=alpha, n=s.size))


@verifies(
    Claim(
        "entmax.prefix",
        "the numbers of entries that pass the test of sorting are a prefix, so counting finds the last one",
        r"$\theta_k \le z_k \iff \sum_{j\le k}(z_j - z_k)^2 \le 1$ at order 3/2, $1 + kz_k > \sum_{j\le k}z_j \iff \sum_{j\le k}(z_j - z_k) < 1$ at 2; neither sum decreases in $k$",
        assumptions=(r"$z_1 \ge z_2 \ge \dots$", r"$\theta_k$ with $(1 - S_k)_+$ under the root"),
        spec=("RA.D3",),
        cites=("held1974", "condat2016", "martins2016", "peters2019"),
        source_status=("derived", "refereed on paper"),
    ),
    hypothesis("unsorted", "the scores are not sorted", falling=False),
    constant("two", "the sums are compared with two", limit=2),
    bug("absolute", "the root is taken of |1 - S_k|", clamped=False),
)
def test_prefix(run, *, falling=True, limit=1, clamped=True):
    cases = [np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0, -3.0, -3.0]), np.array([0.0, 4.0, 1.0, 3.5])]
    cases += [
        rng.normal(size=int(rng.integers(2, 12))) * float(rng.choice([0.1, 1.0, 3.0]))
        for rng in run.draws(quick=20, paper=400)
    ]
    for s in cases:
        z = [Fraction(x) for x in (np.sort(s)[::-1] if falling else s).tolist()]
        passed = {}
        for name in ("3/2", "3/2 by leads", "2", "2 by leads"):
            passed[name] = [passes(name, z[:k], limit=limit, clamped=clamped) for k in range(1, len(z) + 1)]
        for name in ("3/2", "2"):
            mismatches = sum(a != b for a, b in zip(passed[name], passed[f"{name} by leads"], strict=True))
            returns = sum(later and not here for here, later in zip(passed[name], passed[name][1:], strict=False))
            yield equals(mismatches, 0, scale=len(z), alpha=name, part="equivalence")
            yield equals(returns, 0, scale=len(z), alpha=name, part="prefix")


def passes(name, z, *, limit, clamped):
    """Tell whether the last of these entries passes, in rational numbers: theta <= z_k squared, or the sum of leads."""
    k = len(z)
    mean = sum(z) / len(z)
    if name == "2":
        return 1 + k * z[-1] > sum(z)
    if name == "2 by leads":
        return sum(x - z[-1] for x in z) < limit
    if name == "3/2 by leads":
        return sum((x - z[-1]) ** 2 for x in z) <= limit
    room = 1 - sum((x - mean) ** 2 for x in z)
    return mean <= z[-1] or (mean - z[-1]) ** 2 <= (max(room, 0) if clamped else abs(room)) / k
