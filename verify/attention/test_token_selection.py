"""Which direction selects tokens in the end: of a query with differences at any angle, and of a product of two matrices."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from scipy.integrate import solve_ivp

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    estimated,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.maxent.gibbs import ascended_query

F = Fraction
# differences of the token to select and the other one, and what selecting is worth; the first two decide
QUERIES = {
    "acute": (((F(0), F(5, 4)), (F(1), F(1, 2)), (F(2), F(2))), (1, 4, 2)),
    "obtuse": (((F(0), F(25, 16)), (F(11, 4), F(-1, 2))), (1, 4)),
    "steep": (((F(-7, 16), F(17, 16)), (F(1, 2), F(43, 64)), (F(0), F(2))), (4, 1, 1)),
}
LEAST_SUM = {
    "acute": (F(3, 5), F(4, 5)),
    "obtuse": (F(6, 5), F(8, 5)),
    "steep": (F(0), F(52, 43)),
}  # of sizes of entries


def dot(one, other):
    """The inner product."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def separating(name):
    """The statement: the shortest p with <p, d> >= 1, its multipliers, and the exponent, for the first two differences."""
    (a, b), (c, d) = QUERIES[name][0][:2]
    det = a * d - b * c
    p = ((d - b) / det, (a - c) / det)
    multipliers = ((d * p[0] - c * p[1]) / det, (a * p[1] - b * p[0]) / det)
    assert min(multipliers) > 0
    assert all(dot(p, other) > 1 for other in QUERIES[name][0][2:])
    return p, multipliers, multipliers[0] * (a * a + b * b) + multipliers[1] * (c * c + d * d) - 1


def mean_token(name):
    """The mean difference, as long as is needed to separate."""
    differences = QUERIES[name][0]
    mean = [sum(d[k] for d in differences) / len(differences) for k in (0, 1)]
    return [x / min(dot(mean, d) for d in differences) for x in mean]


@verifies(
    Claim(
        "descent.oblique",
        "gradient ascent on a query tends to the largest margin at any angle of the tokens: it follows the separating query times log t, at a distance that worths decide",
        r"$\dot p = \nabla\sum_ic_i\sigma(\langle p, d_i\rangle)$, $p(0) = 0$, in the plane: $\hat p = \alpha_1d_1 + \alpha_2d_2$ the shortest $p$ with all $\langle p, d_i\rangle \ge 1$, $\alpha_i > 0$, $\tilde p$ with $\langle\tilde p, d_i\rangle = \log\frac{c_i}{\alpha_i}$ for $i = 1, 2$, $\kappa = \alpha_1|d_1|^2 + \alpha_2|d_2|^2 - 1$: $p - \hat p\log t \to \tilde p$, like $t^{-\kappa}$ if $\kappa < 1$, and if $\kappa > 1$ like $-2(\frac{\alpha_1^2}{c_1} + \frac{\alpha_2^2}{c_2})\frac{\hat p}{|\hat p|^2}\frac{\log t}t$; so $|p|/\log t \to |\hat p|$, one over the margin",
        assumptions=(
            "one query, two tokens in each example; all gaps are positive from some time on",
            r"$d_1, d_2$ independent, for the others $\langle\hat p, d_i\rangle > 1 + \min(\kappa, 1)$",
            r"judged on three instances up to $t = 10^{12}$: with $\kappa < 1$ the distance is $\frac13t^{-\kappa}$ to $2t^{-\kappa}$, with $\kappa > 1$ at most $\frac3{2t}$ from the stated one",
        ),
        spec=("FN.N12",),
        cites=("tarzanagh2023", "soudry2018"),
        source_status=("seen", "derived"),
    ),
    hypothesis("mean-token", "the direction is that of the mean difference", direction=mean_token),
    hypothesis("least-sum", "the limit has the least sum of sizes of entries", direction=LEAST_SUM.get),
    constant("no-worth", "the distance from the direction does not know worths", distance=False),
    constant("faster", "the exponent is one eighth larger", more=F(1, 8)),
    constant("slower", "the exponent is one eighth less", more=F(-1, 8)),
    constant("no-resonance", "the distance is of order 1/t for a large exponent", resonant=0),
    bug("other-token", "the other token is selected", sign=-1),
)
def test_oblique(run, *, direction=None, distance=True, more=0, resonant=1, sign=1):
    exponents = run.pick(quick=(1, 3, 6, 12), paper=(1, 2, 3, 4, 6, 9, 12))
    for name, (differences, worths) in QUERIES.items():
        separates, multipliers, power = separating(name)
        heading = separates if direction is None else direction(name)
        logs = [
            (ball(c) / ball(a) if distance else ball(1)).log() for c, a in zip(worths[:2], multipliers, strict=True)
        ]
        (a, b), (c, d) = differences[:2]
        det = ball(a * d - b * c)
        offset = [(ball(d) * logs[0] - ball(b) * logs[1]) / det, (ball(a) * logs[1] - ball(c) * logs[0]) / det]
        times = [10.0**exponent for exponent in exponents]
        table = sign * ascended_query(np.array(differences, dtype=float), np.array(worths, dtype=float), times)
        for exponent, row in zip(exponents, table, strict=True):
            case = {"query": name, "time": exponent}
            p = [ball(float(lo)).union(ball(float(hi))) for lo, hi in zip(row.lo, row.hi, strict=True)]
            time = exponent * ball(10).log()
            for d in differences:
                yield at_least(hull(dot(p, [ball(x) for x in d])), 0, scale=1, part="distance", **case)
            left = [x - ball(y) * time - z for x, y, z in zip(p, heading, offset, strict=True)]
            if power < 1:
                away, shrinks = hull(dot(left, left).sqrt()), (-ball(power + more) * time).exp()
                yield at_most(away, hull(2 * shrinks), part="distance", **case)
                yield at_least(away, hull(shrinks / 3), part="distance", **case)
            else:
                share = (
                    2 * sum(x * x / F(c) for x, c in zip(multipliers, worths, strict=True)) / dot(separates, separates)
                )
                stated = [resonant * ball(share * x) * time for x in separates]
                rest = [(time.exp() * x + y) for x, y in zip(left, stated, strict=True)]
                yield at_most(hull(dot(rest, rest).sqrt()), 1.5, part="distance", **case)
            off = abs(dot(p, p).sqrt() - ball(dot(heading, heading)).sqrt() * time) / time
            yield at_most(hull(off), hull((dot(offset, offset).sqrt() + 2) / time), part="length", **case)


DIFFERENCES = np.array(
    [[1.0, 1.0], [0.0, 2.0]]
)  # lengths: 11, 12 and 22 are to be large, the last with half of the gap
STARTS = {
    "together": np.diag([0.1, 0.1]),
    "opposite": np.diag([0.1, -0.1]),
}  # of the first factor; the second: the unit / 10


@cache
def grown(start, sizes, tolerance, *, one=False, third=2.0):
    """The matrix of scores when its first entry is each of the sizes, along normalised gradient ascent of the worth."""
    lengths = DIFFERENCES * np.array([[1.0, 1.0], [1.0, third / 2.0]])

    def pull(w):
        gaps = lengths * w
        logs = np.where(lengths > 0.0, -np.abs(gaps) - 2.0 * np.log1p(np.exp(-np.abs(gaps))), -np.inf)
        weights = np.exp(logs - logs.max())
        return lengths * weights / weights.sum()

    def score(state):
        return state.reshape(2, 2) if one else state[:4].reshape(2, 2) @ state[4:].reshape(2, 2)

    def field(_, state):
        g = pull(score(state))
        if one:
            return g.ravel()
        a, b = state[:4].reshape(2, 2), state[4:].reshape(2, 2)
        return np.concatenate([(g @ b.T).ravel(), (a.T @ g).ravel()])

    first, second = np.array(start).reshape(2, 2), np.eye(2) / 10.0
    state = (first @ second).ravel() if one else np.concatenate([first.ravel(), second.ravel()])
    found = []
    for size in sizes:

        def reached(_, state, size=size):
            return score(state)[0, 0] - size

        reached.terminal = True
        solved = solve_ivp(field, (0.0, 1e6), state, method="DOP853", rtol=tolerance, atol=tolerance, events=reached)
        state = solved.y[:, -1]
        found.append(score(state))
    return found


@verifies(
    Claim(
        "descent.nuclear",
        "trained as a product of two matrices scores tend to the direction of the least nuclear norm, and what is left of the second singular value grows or falls as a root",
        r"$W_{11}, W_{12}, 2W_{22} \ge 1$: the nuclear norm is least at $W^* = \binom{1\ 1}{\frac12\ \frac12}$ only, where it is $\sqrt{5/2}$. For $W = AB$, both trained by gradient ascent of $\sigma(W_{11}) + \sigma(W_{12}) + \sigma(2W_{22})$ from $A = \frac1{10}\mathrm{diag}(1, \pm1)$, $B = \frac1{10}I$: $W/W_{11} \to W^*$, and the second singular value is of the order $W_{11}^{\pm1/2}$",
        assumptions=("curves by Runge-Kutta, limits from first entries that double up to 2048",),
        spec=("FN.N12",),
        cites=("tarzanagh2023", "tarzanaghsvm2023", "sheen2024"),
        remark="along one matrix the second row tends to (0, 1/2); where both factors start with a positive determinant the error falls like a root only",
        source_status=("seen", "derived"),
    ),
    hypothesis("one-matrix", "the matrix of scores is trained itself", one=True),
    constant("frobenius", "the direction is that of the least Frobenius norm", corner=0.0),
    constant("linear", "the second singular value grows or falls like the first", power=1.0),
    bug("third-as-long", "the third difference is taken as long as the others", third=1.0),
)
def test_nuclear(run, *, one=False, corner=0.5, power=0.5, third=2.0):
    least = F(5, 2) if corner else F(13, 4)  # squared
    for a, b, c, d in product([F(k, 2) for k in range(-2, 5)], repeat=4):
        if min(a, b, 2 * d) >= 1:
            square = a * a + b * b + c * c + d * d + 2 * abs(a * d - b * c)
            far = F(0) if (a, b, c, d) == (1, 1, F(1, 2), F(1, 2)) else F(1, 16)
            yield at_least(Interval.exactly(square), Interval.exactly(least + far), part="least")
    sizes = tuple(2.0**k for k in range(*run.pick(quick=(5, 11), paper=(4, 12))))
    for name, start in STARTS.items():
        side = 1.0 if name == "together" else -1.0
        steps = [
            grown(tuple(start.ravel().tolist()), sizes, tolerance, one=one, third=third) for tolerance in (1e-10, 1e-8)
        ]

        def levels(of, steps=steps):
            return [estimated(float(of(fine)), float(of(rough)), times=2.0) for fine, rough in zip(*steps, strict=True)]

        leading = 0.5 if name == "together" else 1.0
        for k, entry in (((0, 1), 1.0), ((1, 0), corner), ((1, 1), 0.5)):
            found = limit(levels(lambda w, k=k: w[k] / w[0, 0]), order=leading if k == (1, 0) else 1.0)
            yield equals(found, entry, scale=1, part="direction", start=name, entry=str(k))
        norm = limit(levels(lambda w: np.linalg.svd(w)[1].sum() / min(w[0, 0], w[0, 1], 2.0 * w[1, 1])), order=leading)
        yield equals(norm, hull(ball(least).sqrt()), part="norm", start=name)
        found = order(levels(lambda w: np.linalg.svd(w)[1][1]))
        yield equals(found, -side * power, scale=1, part="second", start=name)
