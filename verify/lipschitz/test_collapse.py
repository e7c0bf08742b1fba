"""Attention alone contracts diameters, in the end cubically, and one number bounds rows and Sinkhorn's sweeps."""

import math
from functools import cache
from itertools import pairwise

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure, Softmatch, SquaredDistance
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    verifies,
)
from theory.evidence.enclosure import precision
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import diameter, studies, witnesses
from theory.lipschitz.constants import contracted_diameter, log_collapsed_diameter
from theory.lipschitz.depth import crossed_spread, rows_bound, sinkhorn_sweep, sinkhorn_sweep_bound
from verify.inputs import FLOOR, draw_cloud

DERIVED = ("derived", "refereed")
ISOMETRY = np.array([[0.0, -1.0], [1.0, 0.0]])


def shrunk(size, slope, rate=4.0):
    """D tanh(|B| D^2 / 4) as it is printed."""
    return size * np.tanh(slope * size**2 / rate)


def attended(points, score, value, *, skip):
    """The diameter of the outputs at the tokens, with or without a skip connection."""
    x = exact(points)
    outputs = AttentionKernel(score, Measure(points), value).output(x)
    return diameter(x + outputs if skip else outputs)


@verifies(
    Claim(
        "lipschitz.diameter",
        "no cloud of diameter D has an image of diameter above D tanh(|B| D^2 / 4), and two tokens attain it",
        r"$D(F(X)) \le \|V\|\,D\tanh(\|B\|D^2/4) \le \tfrac14\|B\|\|V\|D^3$, and $D\tanh(\beta D^2/2)$ for $-\beta|x - y|^2$; equality at $\pm c$, and two tokens elsewhere on a line have $D\tanh v/(1 + (\sinh u/\cosh v)^2)$, $u = \frac B4(x^2 - y^2)$, $v = \frac B4D^2$",
        assumptions=("no skip connection",),
        spec=("MA.L9", "FR.F02"),
        cites=("dobrushin1956", "dong2021"),
        source_status=DERIVED,
    ),
    constant("eighth", "the argument of tanh is an eighth of |B| D^2", rate=8.0),
    constant("near", "the argument of tanh is one per cent smaller", rate=4.04),
    hypothesis("skip", "the layer has a skip connection", skip=True),
    bug("radius", "the radius about the mean is taken for the diameter", factor=0.5),
)
def test_diameter(run, *, rate=4.0, skip=False, factor=1.0):
    for rng in run.draws(quick=8, paper=500):
        n = int(rng.integers(2, 7))
        d = int(rng.integers(1, 4))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        points = draw_cloud(rng, n, d, radius)
        value = 10.0 ** rng.uniform(-3.0, 3.0) * rng.normal(size=(d, d))
        form = 10.0 ** rng.uniform(-1.0, 1.0) / radius**2 * rng.normal(size=(d, d))
        beta = float(rng.uniform(0.1, 2.0)) / radius**2
        before = factor * diameter(points)
        out = spectral_norm(value)
        if before.lo < FLOOR * radius:
            continue
        scores = {
            "dot": (DotProduct(form=form), spectral_norm(form)),
            "distance": (SquaredDistance(beta), 2.0 * exact(beta)),
        }
        for name, (score, slope) in scores.items():
            after = attended(points, score, value, skip=skip)
            case = {"score": name, "n": n, "d": d}
            yield at_most(after, out * shrunk(before, slope, rate), scale=out * before, part="bound", **case)
        x, y = radius * rng.uniform(-1.0, 1.0, size=2)
        after = attended(np.array([[x], [y]]), DotProduct(form=form[:1, :1]), None, skip=skip)
        claimed = closed(x, y, form[0, 0], rate)
        yield equals(after / abs(exact(x) - exact(y)), claimed, scale=1, part="anywhere")
    for squared in (0.1, 1.0, 4.0, 10.0):
        line = witnesses.two_tokens(math.sqrt(squared) / 2.0).points
        plane = np.hstack([0.6 * line, 0.8 * line])
        for points, value, way in ((line, None, "line"), (plane, ISOMETRY, "plane")):
            before = factor * diameter(points)
            for name, score in (("dot", DotProduct(scale=1.0)), ("distance", SquaredDistance(0.5))):
                after = attended(points, score, value, skip=skip)
                case = {"squared": squared, "way": way, "score": name}
                yield equals(after, shrunk(before, exact(1.0), rate), part="two tokens", **case)
                yield at_most(after, before**3 / 4.0, part="cubic", **case)
    after = attended(witnesses.two_tokens(1.0).points, DotProduct(scale=1.0), None, skip=skip)
    yield equals(after, Interval.printed("1.5232"), part="two tokens", way="printed")
    for size in (0.5, 2.0):
        claimed = 2.0 * shrunk(exact(size), 3.0, rate)
        yield equals(contracted_diameter(exact(size), 3.0, 2.0), claimed, part="constant", size=size)


def closed(x, y, slope, rate):
    """By how much two tokens come nearer, as it is printed, in balls."""
    x, y, slope, rate = (ball(value) for value in (x, y, slope, rate))
    u, v = slope / rate * (x**2 - y**2), slope / rate * (x - y) ** 2
    return abs(hull(v.tanh() / (1 + (u.sinh() / v.cosh()) ** 2)))


NORMS = ((16.0, 0.125, 0.5), (2.0**-8, 3.0, 8.0), (2.0**-20, 2.0, 2.0**9))  # of form and value, and a start


@cache
def walked(norm, value, start, residual, middle=0.0):
    """Enclose the logarithms of the diameters of two tokens under four layers of these norms, from about a middle."""
    with precision(4000):
        points = balls(start / 2 * np.array([[-1.0], [1.0]])) + ball(middle)
        parts = [balls([[norm]]), balls([[value]])]
        logs = [studies.log_diameter(points)]
        for _ in range(4):
            outputs = studies.attended(points, *parts)
            points = points + outputs if residual else outputs
            logs.append(studies.log_diameter(points))
    return logs


@verifies(
    Claim(
        "lipschitz.collapse",
        "below the threshold the diameter collapses at least doubly exponentially with depth, in 400 digits",
        r"$D_{L + 1} \le \|V\|D_L\tanh(\|B\|D_L^2/4)$, with equality for two opposite tokens on the line, hence $D_L \le (\|B\|\|V\|/4)^{(3^L - 1)/2}D_0^{3^L}$",
        assumptions=("no skip connection", "the same norms in all layers"),
        spec=("FR.F02", "MA.L9"),
        cites=("dong2021",),
        source_status=DERIVED,
    ),
    constant("eighth", "the argument of tanh is an eighth of |B| D^2", rate=8.0),
    constant("unhalved", "the power of |B| |V| / 4 is 3^L - 1", power=lambda depth: 3.0**depth - 1.0),
    hypothesis("skip", "the layers have skip connections", way="residual"),
    bug("unscaled", "the norms of form and value are left out", norms=False),
    hypothesis("aside", "the two tokens lie about a half and not about zero", middle=0.5),
)
def test_collapse(run, *, rate=4.0, power=lambda depth: (3.0**depth - 1.0) / 2.0, way="pair", norms=True, middle=0.0):
    table = run.study(studies.collapse)
    walks = [(kind, 1.0, 1.0, start, table.where(way=kind, start=start).intervals("log"))
             for kind in (way, "cloud") for start in table.levels("start")]  # fmt: skip
    walks += [(way, *given, walked(*given, way == "residual", middle)) for given in NORMS]
    for kind, norm_, value, start, logs in walks:
        size = (norm_, value) if norms else (1.0, 1.0)
        for depth, (before, after) in enumerate(pairwise(logs)):
            case = {"way": kind, "start": start, "depth": depth + 1}
            low, high = (contracted(end, rate, *size) for end in (before.lo, before.hi))
            claimed = Interval(low.lo, high.hi, before.kind)
            yield at_most(after, claimed, scale=1, part="layer", **case)
            if kind != "cloud":
                yield equals(after, claimed, scale=1, part="two tokens", **case)
            yield at_most(after, grown(start, depth + 1, power, *size), scale=1, part="all layers", **case)
    for depth in range(5):
        told = log_collapsed_diameter(*(exact(number) for number in (1.5, 0.5, 3.0)), depth)
        claimed = grown(1.5, depth, power, *((0.5, 3.0) if norms else (1.0, 1.0)))
        yield equals(told, claimed, scale=1, part="constant", depth=depth)


def contracted(log_diameter, rate, norm, value):
    """The logarithm of |V| D tanh(|B| D^2 / 4), from that of D; an end of an interval."""
    with precision(3000):
        size = ball(log_diameter).exp()
        steep = ball(norm) / ball(rate)
        return hull((ball(value) * size * (steep * size**2).tanh()).log())


def grown(start, layers, power, norm, value):
    """The logarithm of (|B| |V| / 4) to the power claimed after so many layers, times the start to the 3^L."""
    factor = ball(norm) * ball(value) / 4
    return hull(3**layers * ball(start).log() + ball(power(layers)) * factor.log())


@verifies(
    Claim(
        "lipschitz.cubic",
        "in the end each layer triples the logarithm of the diameter of two tokens, up to a constant",
        r"$3\log D + \log\frac{\|B\|\|V\|}4 - \frac{\|B\|^2D^4}{48} \le \log D' \le 3\log D + \log\frac{\|B\|\|V\|}4$ for two opposite tokens; hence $\log D_{L + 1}/\log D_L \to 3$ as soon as $D_L \to 0$, as from every start under $\|B\| = \|V\| = 1$, where $D_{L + 1} < D_L$; judged from $D_0 \le 3$",
        assumptions=("no skip connection", "two opposite tokens on a line"),
        spec=("FR.F02", "MA.L9"),
        cites=("dong2021",),
        source_status=("derived",),
    ),
    constant("quadratic", "each layer doubles it", power=2.0),
    constant("near", "each layer multiplies it by 2.9", power=2.9),
    constant("eighth", "the constant is the logarithm of an eighth of |B| |V|", rate=8.0),
    hypothesis("skip", "the layers have skip connections", way="residual"),
)
def test_cubic(run, *, power=3.0, way="pair", rate=4.0):
    table = run.study(studies.collapse)
    walks = [(1.0, 1.0, table.where(way=way, start=start).intervals("log")) for start in sorted(set(table["start"]))]
    for _, _, logs in walks:
        ratios = [after / before for before, after in pairwise(logs[-6:])]
        yield equals(limit(ratios, ratio=3.0, order=1), power, part="limit")
    for norm_, value, logs in walks + [(*given[:2], walked(*given, way == "residual")) for given in NORMS]:
        least = hull((ball(norm_) * ball(value) / ball(rate)).log())
        for before, after in pairwise(logs):
            most, scale = power * before + least, 1 + abs(before)
            yield at_most(after, most, scale=scale, part="above", norm=norm_)
            yield at_least(after, most - norm_**2 * expanded(4 * before) / 48, scale=scale, part="below", norm=norm_)
            if norm_ == value == 1.0:
                yield at_most(after, before, scale=scale, part="falling")


def expanded(exponent):
    """The exponential of an interval, in balls."""
    return ball(exponent.lo).union(ball(exponent.hi)).exp()


def spread(scores, *, crossed=True):
    """Delta of the scores in exact arithmetic; a twin takes the oscillation of all scores instead."""
    s = balls(scores)
    if not crossed:
        return np.ptp(hull(s))
    rows = s[:, np.newaxis] - s[np.newaxis]
    return hull(rows[..., np.newaxis] - rows[..., np.newaxis, :]).max()


def drawn(rng):
    """Draw scores of sizes 2 to 7 and scales 0.01 to 10, and a potential of their rows, small or not."""
    m, n = (int(k) for k in rng.integers(2, 8, size=2))
    return 10.0 ** rng.uniform(-2.0, 1.0) * rng.normal(size=(m, n)), rng.choice([1e-6, 1.0]) * rng.normal(size=m)


@verifies(
    Claim(
        "lipschitz.rows",
        "two rows of softmax differ by at most tanh(Delta / 4) in total variation, and sweeps of Sinkhorn contract by its square",
        r"$\max_{i, k}\mathrm{TV}(P_i, P_k) \le \tanh(\Delta/4)$, $d_H(\text{sweep}\,u, \text{sweep}\,u') \le \tanh^2(\Delta/4)\,d_H(u, u')$, $\Delta = \max(s_{ij} - s_{kj} - s_{il} + s_{kl})$; equality at $\begin{pmatrix}s & -s\\-s & s\end{pmatrix}$, for sweeps as $u, u' \to 0$",
        spec=("FR.F01",),
        cites=("dobrushin1956", "birkhoff1957", "franklin1989"),
        source_status=("derived", "recalled", "refereed"),
    ),
    constant("eighth", "tanh(Delta / 8)", rate=8.0),
    constant("near", "tanh(Delta / 4.04)", rate=4.04),
    bug("oscillation", "Delta is the largest score less the smallest", crossed=False),
)
def test_rows(run, *, rate=4.0, crossed=True):
    cases = [drawn(rng) for rng in run.draws(quick=8, paper=150)]
    small = 2.0**-20 * np.array([1.0, -1.0])
    named = [(s * np.array([[1.0, -1.0], [-1.0, 1.0]]), small) for s in (0.1, 1.0, 3.0)]
    for number, (scores, potential) in enumerate(named + cases):
        m, n = scores.shape
        laws = Softmatch(DotProduct(form=scores), Measure(np.eye(n))).rows(exact(np.eye(m)))
        measured = abs(laws[:, np.newaxis] - laws[np.newaxis]).sum(axis=2).max() / 2.0
        delta = spread(scores, crossed=crossed)
        claimed = np.tanh(delta / rate)
        yield at_most(measured, claimed, scale=1, part="rows", m=m, n=n)
        with precision(300):
            step = sinkhorn_sweep(scores, potential) - sinkhorn_sweep(scores, np.zeros(m))
            after = hull(step[:, np.newaxis] - step).max()
        ratio = after / np.ptp(exact(potential))
        yield at_most(ratio, claimed**2, scale=1, part="sweep", m=m, n=n)
        if number < len(named):
            yield equals(measured, claimed, scale=1, part="two rows")
            # potentials u apart contract by tanh^2 times no less than 1 - u^2 / 2, and here u = 2^-19
            yield equals(ratio * Interval(1.0, 1.0 + 2.0**-38), claimed**2, scale=1, part="two rows, sweep")
        yield equals(crossed_spread(exact(scores)), delta, part="spread")
        for name, told, power in (("rows", rows_bound, 1), ("sweep", sinkhorn_sweep_bound, 2)):
            stated = (ball(m) / ball(rate)).tanh() ** power
            yield equals(told(exact(float(m))), stated, part=f"{name} constant")
