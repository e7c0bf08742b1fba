"""A causal mask: discontinuous where tokens may overtake each other in time, logarithmic in their number if not."""

from functools import cache

import numpy as np

from theory import Measure, w1
from theory.attention import CausalKernel, DotProduct, attend
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
    limit,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import displacement, response, response_ratio, witnesses
from theory.lipschitz.constants import causal_constant
from verify.inputs import FLOOR, draw_cloud, draw_layer, push_within

PLAIN = DotProduct(scale=1.0)
JUMPS = {1e-1: "2.384", 1e-3: "238.4", 1e-6: "2.384e5"}
HARMONIC = {10: "2.928968", 100: "5.187378"}


@cache
def harmonic(n, start=1):
    """The sum of 1 / i from ``start`` to n, in balls."""
    return sum((ball(1) / i for i in range(start, n + 1)), ball(0))


def outputs(mu, *, masked):
    """Times and outputs of causal attention, or of attention that keeps times and heeds none."""

    def unmasked(tokens):
        values = tokens[:, 1:]
        return np.hstack([tokens[:, :1], attend(values, values, values, score=PLAIN)])

    return mu.enclosed().push_forward(CausalKernel(PLAIN, mu).output if masked else unmasked)


@verifies(
    Claim(
        "lipschitz.masked-jump",
        "if times are part of the tokens, causal attention is not even continuous in W1",
        r"$x_1 = 1$ at time $\frac12$, $x_2 = -1$ at $\frac12 \pm \delta$, $B = V = 1$: $W_1 = \delta$ before, and $W_1 = 1 - \tanh 1$ after, in the space of values, for every $\delta \in (0, \frac12]$",
        assumptions=("time and value together are the token", "equal masses"),
        spec=("MA.M1",),
        cites=("castin2024",),
        source_status=("derived", "refereed on paper"),
    ),
    constant("larger", "the jump is tanh 1", jump=lambda t: t),
    constant("near", "the jump is 1 - 1.01 tanh 1", jump=lambda t: 1 - ball(1.01) * t),
    hypothesis("unmasked", "there is no mask", masked=False),
    bug("reordered", "tokens are sorted by the order of writing, not by time", sort=False),
)
def test_jump(run, *, jump=lambda t: 1 - t, masked=True, sort=True):
    claimed = hull(jump(ball(1).tanh()))
    for gap in (*JUMPS, *(0.5 ** np.arange(1, run.pick(quick=20, paper=45), 4)).tolist()):
        pair = witnesses.order_swap_pair(gap)
        if not sort:
            pair = (pair[0], Measure([[0.5, 1.0], [0.5 + gap, -1.0]]))
        one, two = (outputs(mu, masked=masked) for mu in pair)
        after = w1(*(mu.push_forward(lambda tokens: tokens[:, 1:]) for mu in (one, two)))
        yield equals(after, claimed, gap=gap, part="jump")
        rounded = Interval(-(2.0**-54), 2.0**-54)  # each time is a sum that was rounded
        yield equals(w1(*pair) + 2.0 * rounded, gap, gap=gap, part="distance")
        yield at_least(w1(one, two), claimed, gap=gap, part="both")
        if gap in JUMPS:
            yield equals(after / gap, Interval.printed(JUMPS[gap]), gap=gap, part="printed")


@once
def apart_after(x, y, form, value, causal):
    """The sum of the distances of the outputs at two clouds of tokens."""
    images = [attend(z, z, z @ value.T, score=DotProduct(form=form), causal=causal) for z in (exact(x), exact(y))]
    return displacement(*images, 1.0)


@verifies(
    Claim(
        "lipschitz.masked",
        "at fixed positions a causal mask costs the factor of a harmonic number in the mean displacement",
        r"$\frac1n\sum_i|F_i(X) - F_i(Y)| \le \|V\|\left(\alpha + e^{2\alpha}(1 + 2\alpha)H_n\right)\frac1n\sum_i|x_i - y_i|$, $H_n = \sum_{i \le n}\frac1i$; attained at $\alpha = 0$",
        assumptions=("causal mask", "scores x'By", "tokens in a ball of radius R"),
        spec=("MA.M2",),
        cites=("castin2024",),
        source_status=("derived", "refereed"),
    ),
    constant("unmasked", "the constant is that without a mask", number=lambda n: n**0),
    constant("near", "H_n is one per cent smaller", whole=0.99),
    hypothesis("no-mask", "no token is masked, and the constant is attained at alpha = 0", causal=False),
    bug("strict", "the harmonic sum starts at 1/2", start=2),
)
def test_masked(run, *, whole=1.0, causal=True, start=1, number=lambda n: n):
    def sum_of(n):
        return whole * hull(harmonic(number(n), start))

    for rng in run.draws(quick=12, paper=300):
        d = int(rng.integers(1, 4))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        n = int(rng.integers(2, 20))
        form, value = draw_layer(rng, d, radius)
        value *= 10.0 ** rng.uniform(-3.0, 3.0)
        form *= rng.choice([1.0, 0.01])
        x = draw_cloud(rng, n, d, radius)
        y = push_within(rng, x, radius)
        before = displacement(x, y, 1.0) / n
        if before.lo < FLOOR * radius:
            continue
        alpha = spectral_norm(form) * exact(radius) ** 2
        bound = alpha + np.exp(2.0 * alpha) * (1.0 + 2.0 * alpha) * sum_of(n)
        after = apart_after(x, y, form, value, causal) / n
        yield at_most(after, spectral_norm(value) * bound * before, n=n, d=d, alpha=alpha.mid)
    for n in (2, 10, 100):
        answer = response_ratio(witnesses.first_token(n), 1, causal=causal)
        yield equals(answer, sum_of(n), n=n, part="first token")
        yield at_most(answer, sum_of(n), n=n, alpha=0.0)
        if n in HARMONIC:
            for known in (sum_of(n), answer):
                yield equals(known, Interval.printed(HARMONIC[n]), n=n, part="printed")
    a = exact(0.5)
    for n in (7, 10**5):
        claimed = 2.0 * (a + np.exp(2.0 * a) * (1.0 + 2.0 * a) * sum_of(n))
        yield equals(causal_constant(a, n, 2.0), claimed, n=n, part="constant")


@cache
def answer_of(alpha, i):
    """What token i answers if the first of i tokens, alone at -1 while the others are at 1, is pushed."""
    radius = 64.0 * alpha  # any one serves
    push = witnesses.far_atom(1.0, 0.5)._replace(
        masses=np.array([float(i - 1), 1.0]), form=np.array([[-alpha / radius**2]])
    )
    push = push._replace(points=radius * push.points)
    return abs(response(push)[0, 0])


@verifies(
    Claim(
        "lipschitz.masked-growth",
        "the factor before the harmonic number cannot be smaller: the first token moves all later ones",
        r"$x_1 = -R$, $x_i = R$ for $i \ge 2$, $B = -\alpha/R^2$: $\sum_{n < i \le 2n}|dF_i|/|h_1| \to e^{2\alpha}(1 + 2\alpha)\log 2$ as $n \to \infty$",
        assumptions=("causal mask", "one dimension"),
        spec=("MA.M2",),
        cites=(),
        source_status=("derived",),
    ),
    constant("single-exponent", "the limit is exp(alpha)(1 + 2 alpha) log 2", rate=1.0),
    constant("near", "the limit is five per cent smaller", share=0.95),
    hypothesis("positive", "the form is positive", sign=-1.0),
    hypothesis("unmasked", "a token sees those after it as well", masked=False),
)
def test_growth(run, *, rate=2.0, share=1.0, sign=1.0, masked=True):
    levels = range(6, run.pick(quick=11, paper=14))
    for alpha in (0.125, 0.5):
        sums = []
        for level in levels:
            pushed = (answer_of(sign * alpha, i) for i in range(2**level + 1, 2 ** (level + 1) + 1))
            sums.append(hull(sum(pushed, ball(0))))
        a = exact(alpha)
        claimed = share * np.exp(rate * a) * (1.0 + 2.0 * a) * np.log(exact(2.0))
        yield equals(limit(sums, order=1), claimed, alpha=alpha)
        line = np.ones((40, 1))
        line[0] = -1.0
        push = witnesses.first_token(40)._replace(points=line, form=np.array([[-sign * alpha]]))
        causal = response(push, causal=masked)
        for i in (2, 7, 40):
            yield equals(hull(abs(causal[i - 1, 0])), hull(answer_of(sign * alpha, i)), alpha=alpha, part="row")
