"""Infinitely deep networks with shared weights: one fixed point where layers contract, and what happens where not."""

import math
from itertools import pairwise

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, DotProduct, FeedForward, SelfAttention, Stack
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.roundoff import EXP_ULPS, gamma
from theory.lipschitz import displacement, studies
from theory.lipschitz.depth import equilibrium, fixed_measure
from verify import textbook
from verify.lipschitz.networks import slip
from verify.textbook import balls, gap, hull

ROA = ("vuckovic2020",)
VALUE, ALPHA, SHIFT = 0.35, 0.2, 0.4  # the layer of the claim on the ball of radius one: 0.4 + 0.35 <= 1


def rate_of(value=VALUE, alpha=ALPHA, grow=2):
    """|V| C_1(alpha), in balls; the twins change the exponent."""
    v, a = (ball(x) for x in (value, alpha))
    return hull(v * ((grow * a).exp() * (1 + 2 * a) + a))


def passes(value, shift, form, outer, mu, count):
    """The measures after each pass of attention, shift and ``outer``, and how far their atoms may be off."""
    score = DotProduct(form=form)
    block = Stack((SelfAttention(score, value), FeedForward(lambda x: outer(x + shift))))
    size = float(np.abs(mu.points).max()) + float(np.linalg.norm(shift))
    stretch = np.linalg.norm(value, 2) * (1.0 + 2.0 * np.linalg.norm(form, 2) * size**2)
    yield mu, 0.0
    off = 0.0
    for _ in range(count):
        own = AttentionKernel(score, mu, value).rounding(mu.points) + gamma(EXP_ULPS + 4) * size
        mu, off = block.push(mu), 1.01 * (stretch * off + math.sqrt(mu.dim) * own)
        yield mu, off


def apart(first, second):
    """W1 of two measures of which the atoms are known to some error."""
    around = w1(first[0], second[0]) + Interval.within(0.0, 1.01 * (first[1] + second[1]))
    return Interval(max(around.lo, 0.0), around.hi, around.kind)


def sink(turn, shift, sign=1):
    """The solution of x = V x + b for V = VALUE times the rotation by the angle, as floats and their error."""
    v, angle = ball(sign * VALUE), ball(turn)
    b = balls(shift)
    if b.size == 1:
        exact = b / (1 - v)
    else:
        c, s = 1 - v * angle.cos(), v * angle.sin()
        exact = np.array([(c * b[0] - s * b[1]), (s * b[0] + c * b[1])]) / (c * c + s * s)
    point = np.array([hull(x).mid for x in exact])
    return Measure.dirac(point), float(gap(point, exact).hi) * math.sqrt(b.size)


@verifies(
    Claim(
        "depth.fixed-point",
        "attention with shared weights and a constant below one has one fixed point, a Dirac measure",
        r"$W_1(T^n\mu, T^n\nu) \le C^nW_1(\mu, \nu)$, $W_1(T^n\mu, \mu^*) \le \frac{C^n}{1-C}W_1(T\mu, \mu)$ and $\le \frac C{1-C}W_1(T^n\mu, T^{n-1}\mu)$, both attained at $\alpha = 0$, $\mu^* = \delta_{(I-V)^{-1}b}$ for $x \mapsto V\,\Gamma_\mu(x) + b$; $\|V\| = 0.35$, $\alpha = 0.2$: $C = 0.8010$",
        assumptions=(r"$C = \|V\|C_1(\alpha) < 1$", r"tokens in $B_R$, and $|b| + \|V\|R \le R$"),
        spec=("MA.A6",),
        cites=("banach1922", *ROA),
        provenance=("derived", "refereed on paper"),
    ),
    hypothesis("identity", "the value matrix is the identity, the shift zero", value=1.0, shift=0.0),
    hypothesis("reflection", "the value matrix is minus the identity, the shift zero", value=-1.0, shift=0.0),
    hypothesis(
        "squashed", "the value matrix is 1.5, the shift zero, and tanh follows", value=1.5, shift=0.0, outer=np.tanh
    ),
    constant("no-exponential", "the rate is |V|(1 + 3 alpha)", grow=0),
    bug("sign", "the fixed point is (I + V)^(-1) b", target=-1),
    constant("third", "the rate is a third of C", part=1.0 / 3.0),
)
def test_fixed_point(run, *, value=VALUE, shift=SHIFT, outer=np.positive, grow=2, target=1, part=1.0):
    claimed = {alpha: part * rate_of(alpha=alpha, grow=grow) for alpha in (0.0, ALPHA)}
    yield equals(claimed[ALPHA], Interval.printed("0.80099"), part="constant, as printed")
    line, edge = np.eye(1), 1.0 - 1e-4
    far = [Measure([[1.0], [-1.0 + h]], [edge, 1.0 - edge]) for h in (0.0, 0.01)]
    inputs = [("far atom", 0.0, -ALPHA * line, [SHIFT], far, 6)]
    inputs += [("alpha = 0", 0.0, 0.0 * line, [SHIFT], [Measure.dirac([1.0]), Measure.dirac([0.8])], 12)]
    inputs += [("Diracs", 0.0, ALPHA * line, [SHIFT], [Measure.dirac([0.3]), Measure.dirac([0.6])], 12)]
    inputs += [("apart", 0.0, ALPHA * line, [SHIFT], [Measure([[0.6], [0.3]]), Measure([[-0.5], [-0.4]])], 12)]
    for rng in run.draws(quick=2, paper=20):
        d, turn = int(rng.integers(1, 3)), float(rng.uniform(0.0, 6.0))
        clouds = [
            Measure(rng.uniform(-1.0, 1.0, size=(n, d)) / math.sqrt(d), rng.dirichlet(np.full(n, 0.5))) for n in (3, 6)
        ]
        form = rng.normal(size=(d, d))
        inputs.append(
            (
                "random",
                turn,
                0.99 * ALPHA * form / np.linalg.norm(form, 2),
                [SHIFT] * (d == 1) or [0.3, -0.4],
                clouds,
                8,
            )
        )
    for name, turn, form, b, clouds, count in inputs:
        d = len(b)
        turned = (
            np.eye(1) if d == 1 else np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        )
        place, placed = sink(turn, b, target)
        moved = shift / SHIFT * np.array(b)
        alpha = ALPHA if form.any() else 0.0
        rate = claimed[alpha]
        paths = [list(passes(value * turned, moved, form, outer, mu, count)) for mu in clouds]
        before, first = apart(paths[0][0], paths[1][0]), apart(paths[0][1], paths[0][0])
        for n in range(1, count + 1):
            yield at_most(
                apart(paths[0][n], paths[1][n]), rate**n * before, scale=before, input=name, n=n, part="two starts"
            )
            near = apart(paths[0][n], (place, placed))
            bound = rate**n / (1 - rate) * first
            yield at_most(near, bound, scale=1, input=name, n=n, part="a priori")
            if not form.any():
                yield equals(near, bound, scale=1, input=name, n=n, part="a priori, attained")
        block = Stack(
            (SelfAttention(DotProduct(form=form), value * turned), FeedForward(lambda x, b=moved: outer(x + b)))
        )
        own = slip(DotProduct(form=form), VALUE * turned, clouds[0].size, d)
        for stop in (5, 15):
            stated = rate_of(alpha=alpha)
            found = fixed_measure(block, clouds[0], stated.hi, count=stop, rounding=own)
            off = apart((found.point, 0.0), (place, placed))
            yield outcome(at_most(off - found.error, 0, scale=1, input=name, n=stop))  # than what it says of itself
            if not form.any():
                told = Interval.within(found.error, 2.0 * own / (1.0 - stated.hi))
                yield equals(off, told, scale=1, input=name, n=stop, part="a posteriori, attained")
    rate, (place, placed) = claimed[ALPHA], sink(0.0, [SHIFT], target)
    table = run.study(studies.fixed_points)
    for start in studies.SYSTEMS["contraction"].starts:
        rows = table.where(system="contraction", start=start)
        moves = rows.intervals("move")
        for n, move in enumerate(moves[1:], start=1):
            yield at_most(move, rate**n * moves[0], scale=moves[0], input=start, n=n, part="moves")
        for end in ("low", "high"):  # the last move bounds what is left
            left = rate_of() / (1 - rate_of()) * moves[-1]
            last = rows.intervals(end)[-1] + Interval.within(0.0, moves[-1].hi + left.hi + placed)
            yield equals(last, place.points.item(), scale=1, input=start, part="limit")


def root_of(slope):
    """The positive solution of x = tanh(slope x), enclosed by a change of sign."""
    s, low, high = ball(slope), ball(0.25), ball(1)
    for _ in range(80):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if (s * middle).tanh() > middle else (low, middle)
    return hull(low.union(high))


@verifies(
    Claim(
        "depth.several-limits",
        "without a constant below one there may be many fixed points or a cycle, though clouds still collapse",
        r"$V = I$: $D_{n+1} \le D_n\tanh(\|B\|D_n^2/4)$, with limits that depend on the start; $V = -I$: $T^{n+2}\mu - T^n\mu \to 0$ but $W_1(T\mu, \mu) \to 2|x|$; $\tanh$ after $V = 1.5$: Dirac measures at $0$ and at $\pm 0.85856$ are fixed",
        assumptions=("tokens on the line, B = 1, 1 and 0.2",),
        spec=("MA.A6",),
        cites=ROA,
        provenance=("derived", "refereed on paper"),
    ),
    constant("slope", "the fixed points are those of tanh(1.4 x)", slope=1.4),
    constant("faster", "the diameter shrinks by tanh(|B| D^2 / 8)", eighth=8),
    constant("at-once", "clouds have collapsed after one pass", last=1),
    hypothesis("settles", "the reflected network comes to rest", still=True),
    bug("one-limit", "all starts lead to the fixed point zero", shared=True),
)
def test_several(run, *, slope=1.5, eighth=4, still=False, shared=False, last=-1):
    table = run.study(studies.fixed_points)

    def path(system, start):
        part = table.where(system=system, start=start)
        return [part.intervals(name) for name in ("low", "high", "move")]

    for start in studies.SYSTEMS["identity"].starts:
        low, high, _ = path("identity", start)
        widths = [h - ell for ell, h in zip(low, high, strict=True)]
        for n, (before, after) in enumerate(pairwise(widths)):
            least, most = (hull(ball(w) * (ball(w) ** 2 / eighth).tanh()) for w in (max(before.lo, 0.0), before.hi))
            yield at_most(after - Interval(least.lo, most.hi), 0, scale=1, start=start, n=n)  # both become rounding
        yield at_most(widths[last], 1e-9, scale=1, start=start, part="collapsed")
    for start, digits in (("lower", "-0.6585"), ("upper", "0.5892"), ("middle", "-0.1576"), ("pair", "0.0000")):
        place = (0 if shared else 1) * Interval.printed(digits)
        yield equals(path("identity", start)[0][-1], place, scale=1, start=start, part="limits differ")
    for start in studies.SYSTEMS["reflection"].starts:
        low, high, moves = path("reflection", start)
        yield equals(low[-1], low[-2] if still else low[-3], scale=1, start=start, part="two passes")
        yield equals(moves[-1], (0 if still else 2) * abs(high[-1]), scale=1, start=start, part="one pass")
    root = root_of(slope)
    yield equals(root, Interval.printed("0.85855964"), part="as printed")
    sides = {"low": -1, "just below": -1, "symmetric": 0, "just above": 1, "high": 1}
    for start, side in sides.items():
        for end in path("squashed", start)[:2]:
            last = end[20] if side == 0 else end[-1]
            yield equals(last, (0 if shared else side) * root, scale=1, start=start)


@verifies(
    Claim(
        "depth.equilibrium",
        "a contracting layer with inputs has one equilibrium of tokens, which are as distinct as their inputs",
        r"$X_{t+1} = V\,\Gamma_{m(X_t)}(X_t) + U$: $\frac1n\sum_i|x^t_i - x^*_i| \le C^t\frac1n\sum_i|x^0_i - x^*_i|$, attained at $\alpha = 0$; $|x^*_i - x^*_j| \ge |u_i - u_j|/(1 + \|V\|\alpha)$",
        assumptions=(r"$C = \|V\|C_1(\alpha) < 1$", r"tokens in $B_R$, and $|u_i| + \|V\|R \le R$"),
        spec=("MA.A7",),
        cites=("banach1922", "bai2019"),
        provenance=("derived", "refereed on paper"),
    ),
    constant("near", "the rate is one per cent smaller", share=0.99),
    hypothesis("expanding", "the value matrix is three times as large", stretch=3.0),
    bug("no-input", "the inputs are added before the first pass only", injected=False),
)
def test_equilibrium(run, *, share=1.0, stretch=1.0, injected=True):
    inputs = [
        (
            "alpha = 0",
            VALUE * np.eye(1),
            np.zeros((1, 1)),
            np.array([[0.2], [0.5], [-0.6]]),
            np.array([[0.5], [0.6], [0.1]]),
        )
    ]
    angle = np.arange(6) * np.pi / 3.0  # six tokens around a circle
    ring = 0.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    inputs.append(("six", VALUE * np.eye(2), ALPHA * np.array([[0.0, -1.0], [1.0, 0.0]]), ring, -ring))
    for rng in run.draws(quick=3, paper=25):
        n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        value, form = rng.normal(size=(d, d)), rng.normal(size=(d, d))
        u, x = (rng.uniform(-1.0, 1.0, size=(n, d)) / math.sqrt(d) * most for most in (0.65, 1.0))
        inputs.append(
            ("random", VALUE * value / np.linalg.norm(value, 2), ALPHA * form / np.linalg.norm(form, 2), u, x)
        )
    for name, value, form, u, x in inputs:
        n, alpha = len(u), 0.0 if not form.any() else ALPHA
        rate, used = rate_of(alpha=alpha), stretch * value
        layer, added = SelfAttention(DotProduct(form=form), used), u if injected else np.zeros_like(u)
        rounding = slip(DotProduct(form=form), value, n, u.shape[1])
        rest = equilibrium(layer, added, rate.hi, start=x, count=60, rounding=rounding)
        scores = balls(rest.point) @ balls(form) @ balls(rest.point).T
        claimed = textbook.average(scores, rest.point) @ balls(value).T + balls(u)
        yield equals(gap(rest.point, claimed, 4.0 * rest.error), 0, scale=1, input=name, n=n, part="equation")
        reach = Interval.within(0.0, 2.0 * rest.error + rounding / (1.0 - rate.hi))
        start = displacement(x, rest.point, 1.0) / n
        for t in (1, 2, 4, 8):
            found = equilibrium(layer, added, rate.hi, start=x, count=t, rounding=rounding)
            off = displacement(found.point, rest.point, 1.0) / n + reach
            yield at_most(off, (share * rate) ** t * start, scale=start, input=name, n=n, t=t)
            beyond = off - (found.error + 2.0 * reach.hi)  # than what the method says of itself
            yield outcome(at_most(beyond, 0, scale=start, input=name, n=n, t=t, part="a posteriori"))
            if not form.any() and t > 1:  # the first pass makes all errors equal
                told = Interval.within(found.error, 2.0 * rounding / (1.0 - rate.hi))
                yield equals(off, told, scale=start, input=name, t=t, part="a posteriori, attained")
        for i in range(1, n):
            gaps = [displacement(z[:1], z[i : i + 1]) for z in (rest.point, u)]
            yield at_least(
                gaps[0] + 2 * reach,
                gaps[1] / (1 + VALUE * Interval.exactly(alpha)),
                scale=1,
                input=name,
                part="distinct",
            )
