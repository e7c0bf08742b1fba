"""Retrieval by entmax, and descent to the largest margin on the axes: finite statements."""

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.maxent import entmax
from verify import textbook


def retrieved(patterns, query, beta, alpha):
    """The weights of the patterns at a query."""
    scores = beta * (exact(patterns) @ exact(query))
    return entmax(scores, alpha)


@verifies(
    Claim(
        "descent.retrieval",
        "entmax retrieves a pattern exactly in one step if gaps exceed a margin and the error of the query; softmax never does",
        r"$|x_j| \le M$, $\alpha > 1$: if $\langle x_i, x_i - x_j\rangle \ge \frac1{\beta(\alpha - 1)} + 2M|q - x_i|$ for all $j \ne i$, then $\mathrm{entmax}_\alpha(\beta\langle q, x_j\rangle) = e_i$; for $x_j = -x_i$ and $q$ on the way to it less will not do; softmax leaves at least $\frac{n-1}{n - 1 + e^{2\beta M|q|}}$ to the others",
        assumptions=("finitely many patterns",),
        spec=("FN.N11",),
        cites=("santos2024", "hu2023"),
        source_status=("recalled", "derived"),
    ),
    hypothesis("softmax", "the weights are those of softmax", order=1.0),
    constant("half-margin", "half of the margin is enough", margin=0.5),
    constant("own-error", "the query's error counts once", twice=1.0),
    constant("still-exact", "two per cent less of the margin will do", short=1.01),
    bug("other-rest", "softmax leaves twice as much", rest=2.0),
)
def test_retrieval(run, *, order=None, margin=1.0, twice=2.0, short=0.98, rest=1.0):
    axis = np.array([[0.75, 1.0], [-0.75, -1.0]])  # of length 1.25
    for alpha in (1.5, 2.0, 3.0):
        used = alpha if order is None else order
        for away in (0.0, 0.25, 0.5):  # the query lies by so many lengths nearer to the other pattern
            gap = 2.0 * 1.5625
            beta = margin / ((alpha - 1.0) * (gap - twice * 1.25 * 1.25 * away))
            query = (1.0 - away) * axis[0]
            yield at_least(retrieved(axis, query, beta * (1.0 + 1e-9), used)[0], 1.0 - 1e-12, part="exact", alpha=alpha)
            less = retrieved(axis, query, beta * short, used)
            yield at_most(less[0], 1.0 - 1e-9, part="sharp", alpha=alpha)
        for rng in run.draws(quick=4, paper=20):
            patterns = rng.normal(size=(6, 8))
            most = float(np.linalg.norm(patterns, axis=1).max()) * (1.0 + 1e-12)
            gaps = (patterns[0] * (patterns[0] - patterns[1:])).sum(axis=1)
            if gaps.min() < 0.5:
                continue
            move = rng.normal(size=8)
            away = 0.25 * gaps.min() / (2.0 * most)
            query = patterns[0] + away * move / np.linalg.norm(move)
            beta = margin * (1.0 + 1e-9) / ((alpha - 1.0) * (gaps.min() - twice * most * away))
            yield at_least(retrieved(patterns, query, beta, used)[0], 1.0 - 1e-12, part="exact", alpha=alpha)
            law = retrieved(patterns, query, beta, 1.0)
            reach = 2.0 * beta * most * float(np.linalg.norm(query)) * (1.0 + 1e-12)
            yield at_least(1.0 - law[0], rest * 5.0 / (5.0 + hull(ball(reach).exp())) * (1.0 - 1e-9), part="softmax")
    for n in (2, 5):
        points = np.concatenate([np.ones((1, 1)), -np.ones((n - 1, 1))])
        law = retrieved(points, np.ones(1), 1.5, 1.0)
        claimed = rest * (n - 1.0) / (n - 1.0 + hull(ball(3.0).exp()))
        yield at_least(1.0 - law[0], claimed * (1.0 - 1e-9), part="softmax", n=n)


TOKENS = (  # the token to select, the other one, and what selecting is worth: differences lie on the axes
    ((1.5, 0.5), (-0.5, 0.5), 1.0),
    ((0.25, 1.0), (0.25, 0.5), 4.0),
)


def climbed(length, worth, time):
    """The gap of scores at a time, in balls: the root of 2 u + 2 sinh u = worth length^2 time."""
    total = worth * length * length * time
    u = total.log().mid()
    for _ in range(60):
        value = 2 * u + u.exp() - (-u).exp() - total
        u = (u - value / (2 + u.exp() + (-u).exp())).mid()
    low, high = u - ball("1e-30"), u + ball("1e-30")
    assert 2 * low + low.exp() - (-low).exp() < total < 2 * high + high.exp() - (-high).exp()
    return low.union(high)


def gain(p, k):
    """The derivative, along an axis, of the worth of what attention with the query p selects, as a Taylor coefficient."""
    t = variable(2)
    moved = [coordinate + (t if axis == k else 0 * t) for axis, coordinate in enumerate(p)]
    total = 0 * t
    for chosen, other, worth in TOKENS:
        terms = [textbook.exp(sum(ball(x) * q for x, q in zip(token, moved, strict=True))) for token in (chosen, other)]
        total = total + worth * terms[0] / (terms[0] + terms[1])
    return coefficient(total, 1)


@verifies(
    Claim(
        "descent.max-margin",
        "gradient ascent on a query selects tokens in the direction of the largest margin, whatever selecting them is worth, and as slowly as a logarithm",
        r"pairs of tokens with differences $d_i = r_ie_i$ and worths $c_i$, $\dot p = \nabla\sum_ic_i\,\mathrm{softmax}_1$ from $p = 0$: $u_i = r_ip_i$ solves $2u + 2\sinh u = T_i$, $T_i = c_ir_i^2t$; $\log(T_i - 2\log T_i) \le u_i \le \log T_i$ for $T_i \ge 4$; so $|p_i - \frac{\log t}{r_i}| \le \frac{|\log c_ir_i^2| + 1}{r_i}$ for $t \ge 10^3$, $\frac1{r_i}$ being the solution of least length of $\langle p, d_i\rangle \ge 1$",
        assumptions=("one query, two tokens in each example, one example for each axis",),
        spec=("FN.N12",),
        cites=("tarzanagh2023",),
        source_status=("recalled", "derived"),
    ),
    hypothesis("worth", "the direction is that of the first gradient", first=True),
    constant("root", "the length grows like the root of the logarithm", power=0.5),
    bug("other-token", "the other token is selected", sign=-1),
    constant("shorter", "gaps are at most nine tenths of the logarithm", upper=0.9),
    constant("exact-logarithm", "gaps are the logarithm itself", lower=False),
)
def test_max_margin(run, *, first=False, power=1.0, sign=1, lower=True, upper=1.0):
    lengths = [max(abs(a - b) for a, b in zip(chosen, other, strict=True)) for chosen, other, _ in TOKENS]
    for exponent in run.pick(quick=(1, 3, 6, 12, 30, 300), paper=(1, 2, 3, 4, 6, 9, 12, 20, 30, 100, 300, 1000)):
        time = ball(10) ** exponent
        gaps = [climbed(ball(r), ball(c), time) for r, (_, _, c) in zip(lengths, TOKENS, strict=True)]
        p = [u / r for u, r in zip(gaps, lengths, strict=True)]
        for k, (u, r, (_, _, worth)) in enumerate(zip(gaps, lengths, TOKENS, strict=True)):
            total = worth * r * r * time
            if exponent <= 12:
                speed = worth * r * r / (2 + u.exp() + (-u).exp()) / r
                yield equals(hull(sign * gain(p, k) * time), hull(speed * time), scale=1, part="flow", time=exponent)
            if total > 4:
                yield at_most(hull(u), hull(upper * total.log()), part="gap", time=exponent)
                least = (total - 2 * total.log()).log() if lower else total.log()
                yield at_least(hull(u), hull(least), part="gap", time=exponent)
            if exponent >= 3:
                along = time.log() if power == 1.0 else time.log().sqrt()
                target = (worth * r if first else 1 / ball(r)) * along
                near = (abs((ball(worth) * r * r).log()) + 1) / r
                yield at_most(hull(abs(p[k] - target)), hull(near), part="direction", time=exponent)
