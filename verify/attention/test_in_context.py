"""Linear attention in context: one preconditioned step of descent, how it is learned, and what ridge regression does."""

from fractions import Fraction
from functools import cache
from itertools import product

from theory.attention import in_context
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    verifies,
)

# of a Gaussian variable of variance 3 r^2: exact for polynomials up to degree five
NODES = ((-3, Fraction(1, 6)), (0, Fraction(2, 3)), (3, Fraction(1, 6)))
LAWS = {  # halves of deviations over the root of three, and how many tokens of context
    "isotropic, one": ((Fraction(1, 2), Fraction(1, 2)), 1),
    "isotropic, two": ((Fraction(1, 3), Fraction(1, 3)), 2),
    "isotropic, three": ((Fraction(1, 2), Fraction(1, 2)), 3),
    "line": ((Fraction(2, 3),), 4),
    "two scales": ((Fraction(1), Fraction(1, 6)), 3),
}


@cache
def moments(name):
    """The mean of S and of S C S for unit matrices C, S the second moment of the context, by going through all nodes."""
    roots, count = LAWS[name]
    d = len(roots)
    vectors = []
    for picks in product(NODES, repeat=d):
        weight = Fraction(1)
        for _, share in picks:
            weight *= share
        vectors.append((weight, [root * node for root, (node, _) in zip(roots, picks, strict=True)]))
    first = [[Fraction(0)] * d for _ in range(d)]
    second = {}
    for drawn in product(vectors, repeat=count):
        weight = Fraction(1)
        for share, _ in drawn:
            weight *= share
        s = [[sum(x[i] * x[j] for _, x in drawn) / count for j in range(d)] for i in range(d)]
        for i, j in product(range(d), repeat=2):
            first[i][j] += weight * s[i][j]
            for k, m in product(range(d), repeat=2):
                second[i, j, k, m] = second.get((i, j, k, m), 0) + weight * s[i][j] * s[k][m]
    return first, second


def risk(name, gamma, noise):
    """The mean square error of the prediction with the matrix gamma, for tasks of unit covariance."""
    roots, count = LAWS[name]
    d = len(roots)
    own = [3 * root * root for root in roots]
    first, second = moments(name)
    total = sum(own)
    for i in range(d):
        total -= 2 * own[i] * sum(gamma[i][j] * first[j][i] for j in range(d))
        for j, k in product(range(d), repeat=2):
            inner = sum(second[j, m, m, k] for m in range(d)) + noise / Fraction(count) * first[j][k]
            total += own[i] * gamma[i][j] * inner * gamma[i][k]
    return total


def best(name, noise, *, trace=1, one=1):
    """The matrix that is claimed, which is diagonal."""
    roots, count = LAWS[name]
    own = [3 * root * root for root in roots]
    rest = (trace * sum(own) + noise) / Fraction(count)
    return [
        [1 / ((1 + Fraction(one, count)) * a + rest) if i == j else Fraction(0) for j in range(len(own))]
        for i, a in enumerate(own)
    ]


@verifies(
    Claim(
        "descent.in-context",
        "the best linear attention takes one preconditioned step of descent, and its risk at N tokens is exact",
        r"$x_i \sim N(0, \Lambda)$, $y_i = \langle w, x_i\rangle + \sigma\epsilon_i$, $w \sim N(0, I)$, $\hat y = x^\top\Gamma\frac1N\sum x_iy_i$: the least risk is at $\Gamma = [(1 + \frac1N)\Lambda + \frac{\mathrm{tr}\Lambda + \sigma^2}NI]^{-1}$ only; for $\Lambda = \lambda I$ it is $\lambda d\frac{d + 1 + \sigma^2/\lambda}{N + d + 1 + \sigma^2/\lambda}$",
        assumptions=("independent Gaussian tokens, tasks and noise",),
        spec=("FN.N09",),
        cites=("zhang2023", "ahn2023"),
        remark="expectations of polynomials of degree four in each token are exact on three nodes for each coordinate",
        source_status=("recalled", "derived"),
    ),
    constant("no-trace", "the trace does not occur", trace=0),
    hypothesis("many-tokens", "the coefficient of the covariance is one", one=0),
    constant("no-dimension", "the dimension does not enter the risk", dimension=0),
    hypothesis("ridge", "without noise the risk is that of ridge regression on the context", squares=True),
    bug("noiseless", "noise does not enter the matrix", noisy=0),
)
def test_in_context(run, *, trace=1, one=1, dimension=1, squares=False, noisy=1):
    for name, (roots, count) in LAWS.items():
        d = len(roots)
        for noise in (Fraction(0), Fraction(1, 2)):
            gamma = best(name, noisy * noise, trace=trace, one=one)
            least = risk(name, gamma, noise)
            for i, j in product(range(d), repeat=2):
                around = []
                for step in (Fraction(1, 8), Fraction(-1, 8)):
                    moved = [row.copy() for row in gamma]
                    moved[i][j] += step
                    around.append(risk(name, moved, noise))
                yield equals(around[0] - around[1], 0, scale=1, part="best", law=name, noise=float(noise))
                yield at_least(min(around) - least, 0, scale=1, part="best", law=name, noise=float(noise))
            if name.startswith("isotropic"):
                size = 3 * roots[0] ** 2
                rest = dimension * (d + 1) + noise / size
                claimed = size * d * rest / (count + rest) if rest else Fraction(0)
                claimed = size * max(d - count, 0) if squares and not noise else claimed
                found = risk(name, best(name, noise), noise)
                yield equals(found, Interval.exactly(claimed), scale=1, part="risk", law=name, noise=float(noise))


@verifies(
    Claim(
        "descent.rates",
        "gradient flow of linear attention goes to the best matrix, each entry at a rate of its own, and the risk falls all the way",
        r"$m_j = (1 + \frac1N)\lambda_j^2 + \frac{\mathrm{tr}\Lambda + \sigma^2}N\lambda_j$: the risk of any $\Gamma$ is $R^* + \sum_{ij}\lambda_im_j(\Gamma - \Gamma^*)_{ij}^2$ and its gradient $2\lambda_im_j(\Gamma - \Gamma^*)_{ij}$, so that under $\dot\Gamma = -\nabla R$ $(\Gamma - \Gamma^*)_{ij}$ decays like $e^{-2\lambda_im_jt}$; from $0$ the excess is $\sum_i\lambda_im_i(\gamma_i^*)^2e^{-4\lambda_im_it}$",
        assumptions=(
            "as in descent.in-context, coordinates of a token independent",
            "the layer is trained as one matrix",
        ),
        spec=("FN.N09",),
        cites=("zhang2023", "ahn2023"),
        source_status=("derived",),
    ),
    hypothesis("one-rate", "all entries have the rate of the largest deviation", largest=True),
    constant("slower", "the excess decays at the rate of the matrix", power=1),
    bug("noiseless", "noise does not enter rates", noisy=0),
)
def test_rates(run, *, largest=False, power=2, noisy=1):
    shares = run.pick(quick=(Fraction(1, 3),), paper=(Fraction(1, 7), Fraction(1, 3), Fraction(5, 6)))
    for name, (roots, count) in LAWS.items():
        d = len(roots)
        own = [max(roots) ** 2 * 3 if largest else 3 * root * root for root in roots]
        for noise in (Fraction(0), Fraction(1, 2)):
            gamma = best(name, noise)
            least = risk(name, gamma, noise)
            rest = sum(3 * root * root for root in roots) + noisy * noise
            m = [(1 + Fraction(1, count)) * a * a + rest / count * a for a in own]
            for share in shares:
                moved = [[gamma[i][j] + share * (1 + i) - Fraction(j, 5) for j in range(d)] for i in range(d)]
                for i, j in product(range(d), repeat=2):
                    around = []
                    for step in (1, -1):  # differences are exact, as the risk is quadratic
                        there = [row.copy() for row in moved]
                        there[i][j] += step
                        around.append(risk(name, there, noise))
                    slope = 2 * own[i] * m[j] * (moved[i][j] - gamma[i][j])
                    found = Interval.exactly((around[0] - around[1]) / 2)
                    yield equals(found, Interval.exactly(slope), scale=1, part="gradient", law=name)
                left = [share ** (1 + i) for i in range(d)]  # of the way from zero, in place of exponentials
                there = [[gamma[i][j] * (1 - left[i]) for j in range(d)] for i in range(d)]
                excess = sum(own[i] * m[i] * gamma[i][i] ** 2 * left[i] ** power for i in range(d))
                found = Interval.exactly(risk(name, there, noise) - least)
                yield equals(found, Interval.exactly(excess), scale=1, part="excess", law=name)
    for case, share, found in times_of(run, "one matrix"):
        d, n, noise = case["d"], case["n"], noisy * Fraction(case["noise"])
        m = 1 + (d + 1 + noise) / n
        left = ball(1 - in_context.START) / ball(1 - share)
        yield equals(found, hull(left.log() / ball(2 * m)), part="time", **case)


def times_of(run, trained):
    """What a case is, which share of the best multiple is learned, and after which time."""
    table = run.study(in_context.learned).where(trained=trained)
    for d, n, noise, share, found in zip(
        *(table[name].tolist() for name in ("d", "n", "noise", "share")), table["time"], strict=True
    ):
        yield {"d": d, "n": n, "noise": noise, "share": share}, Fraction(round(100 * share), 100), found


def slopes(name, v, g, noise):
    """The velocities of the value v and of the matrix g: differences, which are exact for a quadratic function."""

    def at(value, matrix):
        return risk(name, [[value * x for x in row] for row in matrix], noise)

    to_g = [[None] * len(g) for _ in g]
    for i, j in product(range(len(g)), repeat=2):
        ends = []
        for step in (1, -1):
            there = [row.copy() for row in g]
            there[i][j] += step
            ends.append(at(v, there))
        to_g[i][j] = (ends[1] - ends[0]) / 2
    return (at(v - 1, g) - at(v + 1, g)) / 2, to_g


@verifies(
    Claim(
        "descent.factored",
        "as a product of a value and a matrix the layer learns along a logistic curve, at a rate that knows neither noise nor the number of tokens",
        r"$\hat y = x^\top vG\frac1N\sum x_iy_i$, $\dot v = -\partial_vR$, $\dot G = -\partial_GR$: $\|G\|_F^2 - v^2$ is kept; for $\Lambda = \lambda I$ and $G = gI$, $\gamma = vg$, $\kappa = v^2 - dg^2$: $\dot\gamma = -2\lambda m(\gamma - \gamma^*)\sqrt{\kappa^2 + 4d\gamma^2}$; for $\kappa = 0$, $\gamma(0) = \gamma_0 > 0$: $\gamma(t) = \gamma^*/(1 + (\gamma^*/\gamma_0 - 1)e^{-4\sqrt d\lambda^2t})$",
        assumptions=(
            "as in descent.in-context",
            "$m$ and $\\gamma^*$ those of descent.rates, which are multiples of the identity",
        ),
        spec=("FN.N09",),
        cites=("zhang2023", "zhangy2025"),
        source_status=("derived",),
    ),
    hypothesis("as-one-matrix", "the rate is that of the layer as one matrix", one=True),
    hypothesis("unbalanced", "the value has not the length of the matrix", balance=Fraction(3)),
    constant("no-root", "the rate does not know the dimension", root=False),
    bug("no-plateau", "the curve is an exponential from the start", plateau=False),
    bug("sum-kept", "the sum of the squares is kept", sign=-1),
)
def test_factored(run, *, one=False, balance=Fraction(0), root=True, plateau=True, sign=1):
    shares = run.pick(
        quick=(Fraction(1, 3), Fraction(5)), paper=(Fraction(1, 7), Fraction(1, 3), Fraction(1), Fraction(5))
    )
    for name, (roots, _) in LAWS.items():
        d, law = len(roots), {"law": name}
        for noise in (Fraction(0), Fraction(1, 2)):
            v, g = Fraction(2, 3), [[Fraction(1 + i + 2 * j, 7) for j in range(d)] for i in range(d)]
            to_v, to_g = slopes(name, v, g, noise)
            change = 2 * sum(g[i][j] * to_g[i][j] for i, j in product(range(d), repeat=2)) - sign * 2 * v * to_v
            yield equals(Interval.exactly(change), 0, scale=1, part="kept", noise=float(noise), **law)
            if name == "two scales":
                continue
            size, best_one = 3 * roots[0] ** 2, best(name, noise)[0][0]
            m = size / best_one
            for share in shares:
                v, g = Fraction(3, 5), share
                to_v, to_g = slopes(name, v, [[g * (i == j) for j in range(d)] for i in range(d)], noise)
                speed = to_v * g + v * to_g[0][0]
                kept, there = (v * v - d * g * g) * plateau, v * g
                claimed = ball(-2 * size * m * (there - best_one)) * (ball(kept) ** 2 + 4 * d * ball(there) ** 2).sqrt()
                yield equals(Interval.exactly(speed), hull(claimed), scale=1, part="speed", noise=float(noise), **law)
                # share stands for the exponential, and the start for (best/start - 1) = 3
                there = best_one / (1 + 3 * share)
                moved = [[there * (i == j) for j in range(d)] for i in range(d)]
                ahead, behind = (
                    [[x + step * (i == j == 0) for j, x in enumerate(row)] for i, row in enumerate(moved)]
                    for step in (1, -1)
                )
                slope = (risk(name, ahead, noise) - risk(name, behind, noise)) / 2
                # v^2 + d g^2, of which the difference is the balance and the product is there^2
                pace = (ball(balance) ** 2 + 4 * d * ball(there) ** 2).sqrt()
                rate = 2 * ball(size * m) if one else 4 * (ball(d).sqrt() if root else 1) * ball(size) ** 2
                curve = rate * ball(3 * share * best_one / (1 + 3 * share) ** 2)
                curve = curve if plateau else rate * ball(there)
                yield equals(hull(ball(-slope) * pace), hull(curve), scale=1, part="curve", noise=float(noise), **law)
    for case, share, found in times_of(run, "product"):
        d, n, start = case["d"], case["n"], in_context.START
        m = 1 + (d + 1 + Fraction(case["noise"])) / n
        rate = 2 * ball(m) if one else 4 * (ball(d).sqrt() if root else 1)
        grown = share / (1 - share) * (1 - start) / start if plateau else (1 - start) / (1 - share)
        yield equals(found, hull(ball(grown).log() / rate), part="time", **case)


def left_over(rows, d):
    """The mean error of least squares from rows without noise, the shortest solution: unit vectors less their projections."""
    basis = []

    def off(vector):
        for other in basis:
            share = sum(a * b for a, b in zip(vector, other, strict=True)) / sum(b * b for b in other)
            vector = [a - share * b for a, b in zip(vector, other, strict=True)]
        return vector

    for row in rows:
        rest = off(row)
        basis += [rest] if any(rest) else []
    return sum(entry**2 for k in range(d) for entry in off([Fraction(int(i == k)) for i in range(d)]))


@verifies(
    Claim(
        "descent.ridge",
        "ridge regression on the context is better than the best linear attention, and least squares is from an exact number of tokens on",
        r"$\Lambda = I$, $R$ the least risk of linear attention: without noise least squares has the risk $\max(d - N, 0)$, which is $R - \frac{N(N+1)}{N+d+1}$ for $N \le d$; with noise $\frac{d\sigma^2}{N-d-1}$ for $N > d + 1$, which is $R - d\frac{(d+1)N - (d+1+\sigma^2)^2}{(N-d-1)(N+d+1+\sigma^2)}$, so less than $R$ iff $N > \frac{(d+1+\sigma^2)^2}{d+1}$; ridge regression with the penalty $\sigma^2$ has a risk between $\frac{d\sigma^2}{N+\sigma^2}$ and the least of both, and $R$ is $(1 + \frac{d+1}{\sigma^2})$ times it, up to factors $\frac{N-d-1}{N+d+1+\sigma^2}$ and $\frac{N+\sigma^2}{N+d+1+\sigma^2}$",
        assumptions=("as in descent.in-context",),
        spec=("FN.N09",),
        cites=("zhang2023", "ahn2023"),
        remark="means over eigenvalues of the context are rational integrals of their joint density; for ridge regression, of one in two dimensions, exponential integrals",
        source_status=("derived",),
    ),
    hypothesis("same", "the best linear attention has the risk of ridge regression", same=True),
    constant("one-less", "the factor is 1 + d over the variance of the noise", plus=0),
    constant("from-dimension", "least squares is better from N = d + 2 on", late=False),
    bug("no-correction", "the variance of least squares is that of known covariance", off=0),
)
def test_ridge(run, *, same=False, plus=1, late=True, off=1):
    for name, (roots, count) in LAWS.items():
        if name == "two scales":
            continue
        d, size = len(roots), 3 * roots[0] ** 2
        found = risk(name, best(name, Fraction(0)), Fraction(0)) / size
        tokens = min(count, d)
        excess = Fraction(0) if same else Fraction(count * (count + 1), count + d + 1)
        if count <= d:
            yield equals(
                Interval.exactly(found), Interval.exactly(d - tokens + excess), scale=1, part="noiseless", law=name
            )
    for rng in run.draws(quick=2, paper=10):
        for d, count in ((3, 1), (3, 2), (4, 4), (3, 5)):
            rows = [[Fraction(int(entry)) for entry in row] for row in rng.integers(-40, 41, size=(count, d))]
            yield equals(
                Interval.exactly(left_over(rows, d)), max(d - count, 0), scale=1, part="noiseless", d=d, n=count
            )
    table = run.study(in_context.in_context)
    cells = zip(*(table[name].tolist() for name in ("d", "n", "noise")), strict=True)
    for (d, count, level), attention, least, found in zip(
        cells, table["attention"], table["squares"], table["ridge"], strict=True
    ):
        noise, s = Fraction(level), {"d": d, "n": count, "noise": level}
        total = d + 1 + noise
        claimed = Fraction(d * total, count + total)
        if count >= d + 3:
            yield equals(attention, Interval.exactly(claimed), part="least squares", **s)
            variance = Fraction(d * noise, count - off * (d + 1))
            yield equals(least, Interval.exactly(variance), part="least squares", **s)
            ahead = Fraction(d * ((d + 1) * count - total**2), (count - d - 1) * (count + total))
            yield equals(attention - least, Interval.exactly(ahead), scale=1, part="least squares", **s)
            where = Fraction(total**2, d + 1) if late else Fraction(d + 1)
            relation = at_least if count > where else at_most
            yield relation(attention - least, 0, scale=1, part="sooner", **s)
        if d <= in_context.PLANE:
            yield at_least(found, Interval.exactly(d * noise / (count + noise)), part="ridge", **s)
            yield at_most(found, Interval.exactly(claimed), part="ridge", **s)
            if count > d + 1:
                yield at_most(found, Interval.exactly(d * noise / (count - off * (d + 1))), part="ridge", **s)
                factor = 1 + Fraction(d + plus, noise)
                low, high = factor * (count - d - 1) / (count + total), factor * (count + noise) / (count + total)
                low, high = (min(low, 1), 1) if same else (low, high)
                yield at_least(Interval.exactly(claimed) / found, Interval.exactly(low), part="factor", **s)
                yield at_most(Interval.exactly(claimed) / found, Interval.exactly(high), part="factor", **s)
