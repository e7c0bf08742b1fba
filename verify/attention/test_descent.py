"""Linear attention as a step of descent, retrieval by entmax, descent to the largest margin: finite statements."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
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

# of a Gaussian variable of variance 3 r^2: exact for polynomials up to degree five
NODES = ((-3, Fraction(1, 6)), (0, Fraction(2, 3)), (3, Fraction(1, 6)))
LAWS = {  # halves of deviations over the root of three, and how many tokens of context
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
    constant("ridge", "the risk is that of the first step with the noise alone", dimension=0),
    bug("noiseless", "noise does not enter the matrix", noisy=0),
)
def test_in_context(run, *, trace=1, one=1, dimension=1, noisy=1):
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
