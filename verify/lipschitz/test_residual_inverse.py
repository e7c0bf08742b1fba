"""Residual attention that can be inverted, and the determinant that shows when it cannot."""

import math
from functools import cache

import numpy as np

from theory.attention import AttentionKernel, DotProduct, Measure, SquaredDistance
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    coarse,
    constant,
    equals,
    exact,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.once import once
from theory.lipschitz import displacement, studies, witnesses
from theory.lipschitz.depth import mirrored_tokens, residual_determinant, residual_inverse
from verify import textbook
from verify.textbook import balls, hull

KIM = ("kim2021",)
PRINTED = {
    0.1: {0: "0.900", 1: "0.669", 2: "0.551", 4: "-0.0810", 6: "-1.161"},
    0.5: {0: "0.500", 1: "0.044", 2: "-0.091"},
}
RHO = 0.9


@cache
def spread_of(n):
    """1 + 4 c_N, with c_N e^(c_N + 1) = N - 1 found by bisection among balls."""
    low, high = ball(0), ball(n)
    for _ in range(90):
        c = ((low + high) / 2).mid()
        low, high = (c, high) if c * (c + 1).exp() < n - 1 else (low, c)
    return hull(1 + 4 * low.union(high))


def displaced(run):
    """Yield a name, tokens, a start near them, their number, and masses where atoms stand for many tokens."""
    n = 11  # half of the others to either side of the first token, where they are felt most
    c_n = (spread_of(n) - 1) / 4
    around = math.sqrt(c_n.mid + 1.0) * np.array([[0.0]] + [[1.0]] * 5 + [[-1.0]] * 5)
    against = np.array([[1.0]] + [[-1.0]] * 10)
    yield "two-sided", around, around + 1e-4 * against, n, None
    x = np.array([[0.0], [6.0], [-6.0]])
    yield "0, 6, -6", x, x + 0.01 * np.eye(3)[:, :1], 3, None
    many = witnesses.two_sided(10**5 + 1)  # three atoms for so many tokens
    yield "two crowds", many.points, many.points + 1e-4 * against[[0, 1, 1]], 10**5 + 1, many.weights
    for rng in run.draws(quick=8, paper=80):
        m, d = int(rng.integers(2, 12)), int(rng.integers(1, 4))
        x = rng.normal(size=(m, d)) * rng.uniform(0.3, 3.0)
        yield "random", x, x + 10.0 ** rng.uniform(-3.0, 1.0) * rng.normal(size=(m, d)), m, None


@once
def inverted(score, factor, masses, outputs, start, count, rounding):
    """Tokens by so many iterations from a start."""

    def branch(z):
        return factor * AttentionKernel(score, Measure(z, masses)).output(z)

    return residual_inverse(branch, outputs, RHO, start=start, count=count, rounding=rounding)


@verifies(
    Claim(
        "depth.inverse",
        "residual distance attention is inverted by iteration if its share is small enough",
        r"$X_{k+1} = Y - cF(X_k)$, $c = \rho/(1 + 4c_N)$: $\max_i|x^k_i - x_i| \le \rho^k\max_i|x^0_i - x_i|$ where $X + cF(X) = Y$; sum of the witness's row: $4.5547$ of $5.6275$ for $N = 11$",
        assumptions=("distance attention on the line or in space, any number of tokens", r"$\rho < 1$"),
        spec=("MA.A8",),
        cites=(*KIM, "behrmann2019"),
        source_status=("derived", "refereed"),
    ),
    constant("faster", "errors shrink by 0.75 rho", share=0.75),
    hypothesis("dot-product", "scores are dot products", dot=True),
    bug("sign", "the branch is added instead of subtracted", sign=-1.0),
)
def test_inverse(run, *, share=1.0, dot=False, sign=1.0):
    score = DotProduct(scale=1.0) if dot else SquaredDistance(1.0)
    for name, x, start, count, masses in displaced(run):
        factor = RHO / spread_of(count).hi

        def branch(z, c=factor, w=masses):
            return sign * c * AttentionKernel(score, Measure(z, w)).output(z)

        own = misplaced(score, branch, x, start)
        outputs = x + sign * branch(x)
        before = displacement(start, x)
        for k in (1, 2, 4, 8) if name == "random" else (1, 2, 4, 8, 256):  # to the end, where rounding is all
            found = inverted(score, sign * RHO / spread_of(count).hi, masses, outputs, start, k, own)
            reach = 2.0 * own / (1.0 - RHO)
            off = displacement(found.point, x) + Interval(-reach, reach)
            if k <= 8:
                most = (share * exact(RHO)) ** k * before
                yield at_most(off, most, scale=before, input=name, n=count, k=k)
            beyond = off - (found.error + 2.0 * reach)  # than what the method says of itself
            yield outcome(at_most(beyond, 0, scale=before, input=name, k=k, part="a posteriori"))
    x = np.array([[0.5], [-1.0], [0.25]])
    for k in (1, 2, 8, 32):  # X - rho X = Y: errors keep their sign, and the bound has nothing to spare
        start, own = x + 0.75, 2.0**-49
        found = residual_inverse(lambda z: -sign * RHO * z, x - RHO * x, RHO, start=start, count=k, rounding=own)
        told = found.error + Interval(-1.0, 1.0) * 4.0 * own / (1.0 - RHO)
        yield equals(displacement(found.point, x), told, k=k, scale=0.75, part="a posteriori, attained")


def misplaced(score, branch, x, start):
    """How far one pass may misplace the tokens: iterates are less than one and a half times as large as these."""
    widest = 1.5 * np.concatenate([x, start, x + branch(x)])
    return math.sqrt(x.shape[1]) * float(
        (AttentionKernel(score, Measure(widest)).output(exact(widest)) + exact(widest)).width.max()
    )


def image(x, share, *, frozen=None, distance=False):
    """X + cF(X) for tokens on the line as it is printed, in balls or their power series; ``frozen`` queries stay."""
    queries = x if frozen is None else frozen
    apart = queries[:, np.newaxis] - x[np.newaxis]
    weights = textbook.exp(-apart * apart if distance else queries[:, np.newaxis] * x[np.newaxis])
    return x + ball(share) * ((weights * x[np.newaxis]).sum(axis=1) / weights.sum(axis=1))


def slopes(x, share, *, frozen=False, distance=False):
    """The Jacobian of X + cF(X) at three balls, from power series."""
    columns = []
    for j in range(3):
        step = balls(np.eye(3)[j])
        moved = image(
            x + step * variable(2),
            share,
            frozen=x + balls(np.zeros(3)) * variable(2) if frozen else None,
            distance=distance,
        )
        columns.append([coefficient(entry, 1) for entry in moved])
    return np.array(columns, dtype=object).T


def volume(j):
    """The determinant of a 3 by 3 matrix by the rule of Sarrus."""
    plus = j[0, 0] * j[1, 1] * j[2, 2] + j[0, 1] * j[1, 2] * j[2, 0] + j[0, 2] * j[1, 0] * j[2, 1]
    return plus - j[0, 2] * j[1, 1] * j[2, 0] - j[0, 1] * j[1, 0] * j[2, 2] - j[0, 0] * j[1, 2] * j[2, 1]


@verifies(
    Claim(
        "depth.determinant",
        "the determinant of residual dot-product attention changes sign, at every share that was tried from 2^-10 to nearly one",
        r"$\det(I - c\,dF)$ at $(0, t, -t)$, $B = V = 1$: $1 - c$ at $t = 0$; at most $-(1-c)^2$ at $t = \sqrt{6/c}$ for $c \le 0.95$ and $c \ge 1 - 2^{-6}$, at $t = \sqrt{8/c}$ for $0.95 \le c \le 1 - 2^{-6}$, but positive at $t = \sqrt{6/c}$ for $c = 0.975$; $c = 0.1$: $0.9$, $0.669$, $0.551$, $-0.0810$, $-1.161$ at $t = 0, 1, 2, 4, 6$; for distances and $c = \rho/(1 + 4c_N)$ at least $(1-\rho)^N$",
        assumptions=("three tokens on the line", "eleven shares c from $2^{-10}$ to $1 - 2^{-6}$"),
        spec=("MA.A8",),
        cites=KIM,
        source_status=("derived", "refereed"),
    ),
    constant("six-throughout", "t is the root of 6/c at every share, 0.975 included", late=6.0),
    constant("negative-throughout", "the determinant is not positive at the root of 6/c for c = 0.975", turned=-1),
    constant("four-times-as-deep", "the determinant is at most -4(1-c)^2", deep=4),
    hypothesis("distance", "scores are squared distances", distance=True),
    bug("frozen-queries", "the Jacobian lets no query move", frozen=True),
    bug("added", "the branch is added, not subtracted", sign=1),
    hypothesis("no-distance", "scores are dot products where the share is that of distances", dot=True),
)
def test_determinant(run, *, late=8.0, turned=1, deep=1, distance=False, frozen=False, sign=-1, dot=False):
    table = run.study(studies.determinants)
    for share in studies.RESIDUAL_SHARES:
        part = table.where(part="dot", share=share)
        for t, measured in zip(part["place"].tolist(), part["value"], strict=True):
            claimed = hull(volume(slopes(balls([0.0, t, -t]), sign * share, frozen=frozen, distance=distance)))
            yield equals(measured, claimed, scale=1, share=share, t=t)
            if t in PRINTED[share]:
                printed = Interval.printed(PRINTED[share][t])
                yield equals(claimed, printed, scale=1, share=share, t=t, part="as printed")
    part = table.where(part="distance")
    for t, given in zip(part["place"].tolist(), part["value"], strict=True):
        share = float(part["share"][0])
        measured = hull(volume(slopes(balls([0.0, t, -t]), -share))) if dot else given
        yield at_least(measured, deep * (1 - Interval.exactly(RHO)) ** 3, scale=1, part="distance", t=t)
    score = SquaredDistance(1.0) if distance else DotProduct(scale=1.0)
    shares = (2.0**-10, 0.01, 0.1, 0.3, 0.5, 0.75, 0.9, 0.95, 1.0 - 2.0**-6)
    for c, square in [*((c, 6.0) for c in shares), *((c, late) for c in (0.95, 0.96, 0.975, 1.0 - 2.0**-6))]:
        kept = 1 - Interval.exactly(c)
        still = residual_determinant(np.zeros((3, 1)), score, sign * c)
        yield equals(still, kept, share=c, part="t = 0")
        t = math.sqrt(square / c)
        far = residual_determinant(np.array([[0.0], [t], [-t]]), score, sign * c)
        yield at_most(far, -deep * kept**2, share=c, t=t)
    t = math.sqrt(6.0 / 0.975)
    beside = residual_determinant(np.array([[0.0], [t], [-t]]), DotProduct(scale=1.0), -0.975)
    yield at_least(turned * beside, 1e-6, scale=1e-6, part="positive at 0.975")


def reduced(j):
    """The Jacobian of the first image and the sum of the others by the second and the third token."""
    return np.array([[j[0, 1], j[0, 2]], [j[1, 1] + j[2, 1], j[1, 2] + j[2, 2]]], dtype=object)


def newton(x, share, *, turn=-1, distance=False):
    """The inverse of that Jacobian at three balls, and what it makes of how far the two images are apart."""
    (a, b), (c, d) = reduced(slopes(x, share, distance=distance))
    inverse = np.array([[d, -b], [-c, a]], dtype=object) / (a * d - b * c)
    gaps = image(x, share, distance=distance) - image(turn * x[[0, 2, 1]], share, distance=distance)
    return inverse, inverse @ np.array([gaps[0] / 2, gaps[1]], dtype=object)


@cache
def witness(first, share):
    """Tokens that are sent where their mirror images are, to the last digit of a float and the same on every machine.

    Where a solver in floats ends depends on the machine: it is rounded, and mended by Newton's method in balls.
    """
    x = coarse(mirrored_tokens(first, share)[:, 0], 36)
    x[0] = first
    for _ in range(2):
        x[1:] -= [float(ball.mid()) for ball in newton(balls(x), -share)[1]]
    return x


@verifies(
    Claim(
        "depth.not-injective",
        "residual dot-product attention sends different tokens to one place, at shares of a tenth and a half",
        r"for some $x$ with $x_1 \in \{0.1, \dots, 1.2\}$: $X - cF(X)$ is the same at $(x_1, x_2, x_3)$ and at $(-x_1, -x_3, -x_2)$, $c = 0.1$ and $0.5$, $B = V = 1$",
        assumptions=("three tokens on the line",),
        spec=("MA.A8",),
        cites=KIM,
        source_status=("derived", "refereed"),
    ),
    hypothesis("plus", "the branch is added, at the tokens that serve when it is subtracted", sign=1.0),
    hypothesis("distance", "scores are squared distances, at the tokens that serve for dot products", distance=True),
    bug("not-turned", "the image keeps its signs: (x_1, x_3, x_2)", turn=1),
    constant("nearer", "the tokens lie within 1e-20 of those that are found", radius=1e-20),
)
def test_not_injective(run, *, sign=-1.0, distance=False, turn=-1, radius=1e-10):
    table = run.study(studies.determinants)
    for share in studies.RESIDUAL_SHARES:
        part = table.where(part="preimages", share=share)
        for middle in part["value.lo"].tolist():
            if not middle > 0.0:  # the branch (0, t, -t), and mirror images
                continue
            x = balls(witness(middle, share))
            inverse, step = newton(x, sign * share, turn=turn, distance=distance)
            step = np.abs(step)
            wide = x + np.array([ball(0), *[ball(radius).union(-ball(radius))] * 2], dtype=object)
            contraction = np.abs(balls(np.eye(2)) - inverse @ reduced(slopes(wide, sign * share, distance=distance)))
            # by the theorem of Krawczyk a solution lies within the radius if this does not exceed it
            reach = Interval.largest(
                hull(s) + hull(sum(row)) * radius for s, row in zip(step, contraction, strict=True)
            )
            yield at_most(reach, radius, share=share, middle=middle)
            yield at_least(hull(abs(x[0] - turn * x[0])), 2 * middle, share=share, middle=middle, part="different")
            tokens = exact(witness(middle, share)[:, np.newaxis])
            kernel = AttentionKernel(DotProduct(scale=1.0), Measure(tokens.mid))
            place = tokens - share * kernel.output(tokens)  # by the engine
            seen = hull(image(wide, sign * share, distance=distance)[1])
            yield equals(place[1, 0], seen, scale=1, share=share, part="image")
