"""Infinitely deep networks with shared weights: one fixed point where layers contract, and what happens where not."""

import math
from itertools import accumulate

import numpy as np

from theory import Measure, w1
from theory.attention import DotProduct, FeedForward, SelfAttention, Stack
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
    outcome,
    verifies,
)
from theory.evidence.once import once
from theory.lipschitz import displacement, studies
from theory.lipschitz.depth import equilibrium, fixed_measure
from verify import textbook

ROA = ("vuckovic2020",)
apart_of = once(w1)
VALUE, ALPHA, SHIFT = 0.35, 0.2, 0.4  # the layer of the claim on the ball of radius one: 0.4 + 0.35 <= 1


def rate_of(value=VALUE, alpha=ALPHA, grow=2):
    """|V| C_1(alpha); the twins change the exponent."""
    v, a = ball(value), ball(alpha)
    return hull(v * np.exp(grow * a) * (1 + 2 * a))


def rotation(angle):
    """The rotation of the plane, as floats."""
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def sink(turn, shift, sign=1):
    """The solution of x = V x + b for V = VALUE times the rotation by the angle."""
    v = ball(sign * VALUE)
    b = balls(shift)
    if b.size == 1:
        return hull(b / (1 - v))
    c, s = 1 - v * ball(turn).cos(), v * ball(turn).sin()
    return hull(np.array([c * b[0] - s * b[1], s * b[0] + c * b[1]]) / (c * c + s * s))


def contractions(run):
    """Yield a name, an angle, a form, a shift, two measures and a number of passes."""
    line = np.eye(1)
    edge = 1.0 - 1e-4
    far = [Measure([[1.0], [-1.0 + h]], [edge, 1.0 - edge]) for h in (0.0, 0.01)]
    yield "far atom", 0.0, -ALPHA * line, [SHIFT], far, 6
    yield "alpha = 0", 0.0, 0.0 * line, [SHIFT], [Measure.dirac([1.0]), Measure.dirac([0.8])], 12
    yield "Diracs", 0.0, ALPHA * line, [SHIFT], [Measure.dirac([0.3]), Measure.dirac([0.6])], 12
    yield "apart", 0.0, ALPHA * line, [SHIFT], [Measure([[0.6], [0.3]]), Measure([[-0.5], [-0.4]])], 12
    for rng in run.draws(quick=2, paper=20):
        d = int(rng.integers(1, 3))
        turn = float(rng.uniform(0.0, 6.0))
        clouds = []
        for n in (3, 6):
            points = rng.uniform(-1.0, 1.0, size=(n, d)) / math.sqrt(d)
            clouds.append(Measure(points, rng.dirichlet(np.full(n, 0.5))))
        form = rng.normal(size=(d, d))
        form = 0.99 * ALPHA * form / np.linalg.norm(form, 2)
        yield "random", turn, form, [SHIFT] if d == 1 else [0.3, -0.4], clouds, 8


def block_of(attention, moved, outer):
    """Attention, then a shift and a function of every coordinate."""
    return Stack((attention, FeedForward(lambda x: outer(x + moved))))


@once
def followed(attention, moved, outer, clouds, count):
    """The orbits of measures under such a block."""
    return [orbit(block_of(attention, moved, outer), mu, count) for mu in clouds]


@once
def settled(attention, moved, outer, start, rate, count, rounding):
    """Its fixed measure, by so many passes."""
    return fixed_measure(block_of(attention, moved, outer), start, rate, count=count, rounding=rounding)


@verifies(
    Claim(
        "depth.fixed-point",
        "attention with shared weights and a constant below one has one fixed point, a Dirac measure",
        r"$W_1(T^n\mu, T^n\nu) \le C^nW_1(\mu, \nu)$, $W_1(T^n\mu, \mu^*) \le \frac{C^n}{1-C}W_1(T\mu, \mu)$ and $\le \frac C{1-C}W_1(T^n\mu, T^{n-1}\mu)$, both attained by Dirac measures at $\alpha = 0$, $V = v \ge 0$; $\mu^* = \delta_{(I-V)^{-1}b}$ for $x \mapsto V\,\Gamma_\mu(x) + b$; $\|V\| = 0.35$, $\alpha = 0.2$: $C = 0.7310$",
        assumptions=(
            r"$C = \|V\|C_1(\alpha) < 1$, $C_1 = e^{2\alpha}(1 + 2\alpha)$",
            r"tokens in $B_R$, and $|b| + \|V\|R \le R$",
        ),
        spec=("MA.A6",),
        cites=("banach1922", *ROA),
        source_status=("derived",),
    ),
    hypothesis("identity", "the value matrix is the identity, the shift zero", value=1.0, shift=0.0),
    hypothesis("reflection", "the value matrix is minus the identity, the shift zero", value=-1.0, shift=0.0),
    hypothesis(
        "squashed", "the value matrix is 1.5, the shift zero, and tanh follows", value=1.5, shift=0.0, outer=np.tanh
    ),
    constant("no-exponential", "the rate is |V|(1 + 2 alpha)", grow=0),
    bug("sign", "the fixed point is (I + V)^(-1) b", target=-1),
    constant("third", "the rate is a third of C", part=1.0 / 3.0),
)
def test_fixed_point(run, *, value=VALUE, shift=SHIFT, outer=np.positive, grow=2, target=1, part=1.0):
    claimed = {alpha: part * rate_of(alpha=alpha, grow=grow) for alpha in (0.0, ALPHA)}
    yield equals(claimed[ALPHA], Interval.printed("0.73099"), part="constant, as printed")
    for name, turn, form, b, clouds, count in contractions(run):
        alpha = ALPHA if form.any() else 0.0
        rate = claimed[alpha]
        stated = rate_of(alpha=alpha).hi
        place = Measure.dirac(sink(turn, b, target))
        moved = shift / SHIFT * np.array(b)
        attention = SelfAttention(DotProduct(form=form), value * (rotation(turn) if len(b) == 2 else np.eye(1)))
        paths = followed(attention, moved, outer, clouds, count)
        before, first = apart_of(paths[0][0], paths[1][0]), apart_of(paths[0][1], paths[0][0])
        for n in range(1, count + 1):
            apart = apart_of(paths[0][n], paths[1][n])
            yield at_most(apart, rate**n * before, scale=before, input=name, n=n, part="two starts")
            near = apart_of(paths[0][n], place)
            bound = rate**n / (1 - rate) * first
            yield at_most(near, bound, scale=1, input=name, n=n, part="a priori")
            if not form.any():
                yield equals(near, bound, scale=1, input=name, n=n, part="a priori, attained")
        own = misplaced(attention, clouds[0].size, len(b))
        for stop in (5, 15):
            found = settled(attention, moved, outer, clouds[0], stated, stop, own)
            off = apart_of(found.point, place)
            yield outcome(at_most(off - found.error, 0, scale=1, input=name, n=stop))  # than what it says of itself
            if not form.any():
                told = found.error + Interval(-1.0, 1.0) * 2.0 * own / (1.0 - stated)
                yield equals(off, told, scale=1, input=name, n=stop, part="a posteriori, attained")
    rate = claimed[ALPHA]
    place = sink(0.0, [SHIFT], target)[0]
    table = run.study(studies.fixed_points).where(system="contraction")
    for start in studies.SYSTEMS["contraction"].starts:
        rows = table.where(start=start)
        moves = rows["move"]
        for n in range(1, len(moves)):
            yield at_most(moves[n], rate**n * moves[0], scale=moves[0], input=start, n=n, part="moves")
        for end in ("low", "high"):  # the last move bounds what is left
            left = (moves[-1] + rate_of() / (1 - rate_of()) * moves[-1]).hi
            yield equals(rows[end][-1] + Interval(-left, left), place, scale=1, input=start, part="limit")


def orbit(block, mu, count):
    """The measures after 0, 1, ... passes."""
    return list(accumulate(range(count), lambda nu, _: block.push(nu), initial=mu.enclosed()))


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
        source_status=("derived", "refereed on paper"),
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
        return part["low"], part["high"], part["move"]

    for start in studies.SYSTEMS["identity"].starts:
        low, high, _ = path("identity", start)
        widths = np.maximum(high - low, 0.0)
        shrunk = widths * np.tanh(widths**2 / eighth)
        for n in range(len(widths) - 1):  # both become rounding
            yield at_most(widths[n + 1] - shrunk[n], 0, scale=1, start=start, n=n)
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
            yield equals(end[20] if side == 0 else end[-1], (0 if shared else side) * root, scale=1, start=start)


@verifies(
    Claim(
        "depth.equilibrium",
        "a contracting layer with inputs has one equilibrium of tokens, which are as distinct as their inputs",
        r"$X_{t+1} = V\,\Gamma_{m(X_t)}(X_t) + U$: $\frac1n\sum_i|x^t_i - x^*_i| \le C^t\frac1n\sum_i|x^0_i - x^*_i|$, attained at $\alpha = 0$; $|x^*_i - x^*_j| \ge |u_i - u_j|/(1 + \|V\|\alpha)$",
        assumptions=(r"$C = \|V\|C_1(\alpha) < 1$", r"tokens in $B_R$, and $|u_i| + \|V\|R \le R$"),
        spec=("MA.A7",),
        cites=("banach1922", "bai2019"),
        source_status=("derived",),
    ),
    constant("near", "the rate is one per cent smaller", share=0.99),
    hypothesis("expanding", "the value matrix is three times as large", stretch=3.0),
    bug("no-input", "the inputs are added before the first pass only", injected=False),
)
def test_equilibrium(run, *, share=1.0, stretch=1.0, injected=True):
    for name, value, form, u, x in equilibria(run):
        n = len(u)
        alpha = 0.0 if not form.any() else ALPHA
        rate = rate_of(alpha=alpha)
        layer = SelfAttention(DotProduct(form=form), stretch * value)
        added = u if injected else np.zeros_like(u)
        own = misplaced(SelfAttention(DotProduct(form=form), value), n, u.shape[1])
        given = {"start": x, "rounding": own}
        rest = equilibrium(layer, added, rate.hi, count=60, **given)
        scores = balls(rest.point) @ balls(form) @ balls(rest.point).T
        claimed = textbook.average(scores, rest.point) @ balls(value).T + balls(u)
        astray = 2.0 * n * rest.error  # the error is of the mean: one token may have it all, and its image no more
        near = Interval(-astray, astray)
        yield equals(exact(rest.point) + near, claimed, scale=1, input=name, n=n, part="equation")
        reach = 2.0 * rest.error + own / (1.0 - rate.hi)
        wide = Interval(-reach, reach)
        start = displacement(x, rest.point, 1.0) / n
        for t in (1, 2, 4, 8):
            found = equilibrium(layer, added, rate.hi, count=t, **given)
            off = displacement(found.point, rest.point, 1.0) / n + wide
            yield at_most(off, (share * rate) ** t * start, scale=start, input=name, n=n, t=t)
            beyond = off - (found.error + 2.0 * reach)  # than what the method says of itself
            yield outcome(at_most(beyond, 0, scale=start, input=name, n=n, t=t, part="a posteriori"))
            if not form.any() and t > 1:  # the first pass makes all errors equal
                told = found.error + Interval(-1.0, 1.0) * 2.0 * own / (1.0 - rate.hi)
                yield equals(off, told, scale=start, input=name, t=t, part="a posteriori, attained")
        for i in range(1, n):
            after, before = (displacement(z[:1], z[i : i + 1]) for z in (rest.point, u))
            least = before / (1 + VALUE * exact(alpha))
            yield at_least(after + n * wide, least, scale=1, input=name, part="distinct")


def misplaced(layer, n, d):
    """How far one pass may misplace any of n tokens of the unit ball: no cloud there is larger than this one."""
    corners = Measure(np.ones((n, d)) * np.where(np.arange(n) % 2, 1.0, -1.0)[:, np.newaxis])
    outputs = layer(exact(corners.points), corners.enclosed()) + exact(corners.points)
    return math.sqrt(d) * float(outputs.width.max())


def equilibria(run):
    """Yield a name, a value matrix, a form, inputs and a start."""
    line = VALUE * np.eye(1), np.zeros((1, 1))
    yield "alpha = 0", *line, np.array([[0.2], [0.5], [-0.6]]), np.array([[0.5], [0.6], [0.1]])
    angle = np.arange(6) * np.pi / 3.0  # six tokens around a circle
    ring = 0.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    yield "six", VALUE * np.eye(2), ALPHA * np.array([[0.0, -1.0], [1.0, 0.0]]), ring, -ring
    for rng in run.draws(quick=3, paper=25):
        n, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        value, form = rng.normal(size=(d, d)), rng.normal(size=(d, d))
        u, x = (rng.uniform(-1.0, 1.0, size=(n, d)) / math.sqrt(d) * most for most in (0.65, 1.0))
        yield "random", VALUE * value / np.linalg.norm(value, 2), ALPHA * form / np.linalg.norm(form, 2), u, x
