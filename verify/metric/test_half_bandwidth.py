"""The bandwidth that is in use is not small: what a layer does there, and what its asymptotics say it does."""

from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.metric import studies

RUAN = ("ruan2024",)
ON_PAPER = ("derived", "refereed on paper")
RATES = {"circle": lambda k: k * k, "sphere": lambda k: k * (k + 1)}  # minus the eigenvalues of the Laplacian


@cache
def closed(space, degree, epsilon):
    """I_k(b) / I_0(b) on the circle, i_l(b) / i_0(b) on the sphere, b = 1 / epsilon, in balls."""
    b = 1 / ball(epsilon)
    if space == "circle":
        return b.bessel_i(degree) / b.bessel_i(0)
    before = ball(1)
    here = (b.exp() + (-b).exp()) / (b.exp() - (-b).exp()) - 1 / b
    for k in range(1, degree):
        before, here = here, before - (2 * k + 1) * here / b
    return here


def half(space, degree, epsilon):
    """Half the rate times the bandwidth, in balls."""
    return RATES[space](degree) * ball(epsilon) / 2


def rows(table, **where):
    """Yield every row of a part of the table: its case, and the multiplier."""
    part = table.where(**where) if where else table
    columns = (part[name].tolist() for name in ("space", "degree", "epsilon"))
    for space, degree, epsilon, value in zip(*columns, part.intervals("multiplier"), strict=True):
        yield {"space": space, "degree": degree, "epsilon": epsilon}, value


@verifies(
    Claim(
        "metric.multipliers",
        "uniform tokens on the circle and the sphere: a layer multiplies waves by quotients of Bessel functions, for every bandwidth",
        r"$f = |x - y|^2$: $\cos k\theta \mapsto \frac{I_k(1/\varepsilon)}{I_0(1/\varepsilon)}\cos k\theta$, $P_l \mapsto \frac{i_l(1/\varepsilon)}{i_0(1/\varepsilon)}P_l$, $k, l \le 3$, $\varepsilon$ from $\frac1{256}$ to $2\sqrt2$",
        remark=r"all lie between 0 and 1, as eigenvalues of a positive reversible kernel do, and fall in $\varepsilon$ and in the degree",
        assumptions=("uniform tokens, in the limit of many",),
        spec=("DL.E2", "DL.B5"),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("bandwidth", "the concentration is 1 / 2 epsilon", share=2),
    hypothesis("swapped", "the sphere is a circle, and the other way round", swap=True),
    bug("rising", "multipliers grow with the bandwidth and with the degree", rising=True),
    constant("tenth", "none is below a tenth", least=Fraction(1, 10)),
)
def test_multipliers(run, *, share=1, swap=False, rising=False, least=0):
    other = {"circle": "sphere", "sphere": "circle"} if swap else {"circle": "circle", "sphere": "sphere"}
    order = at_least if rising else at_most
    last = {}
    for case, value in rows(run.study(studies.half_bandwidth)):
        space, degree, epsilon = case.values()
        yield equals(value, closed(other[space], degree, Fraction(epsilon) * share), scale=1, **case)
        yield at_least(value, least, scale=1, part="positive", **case)
        if (space, degree) in last:
            yield order(value, last[space, degree], scale=1, part="bandwidth", **case)
        yield order(value, last.get((space, degree - 1), 1), scale=1, part="degree", **case)
        last[space, degree] = value


PRINTED = {  # layer, first order, semigroup
    ("sphere", 1, 1.0): ("0.3130", "0.0000", "0.3679"), ("sphere", 1, 0.5): ("0.5373", "0.5000", "0.6065"),
    ("sphere", 2, 0.5): ("0.1940", "-0.5000", "0.2231"), ("sphere", 3, 0.5): ("0.0522", "-2.0000", "0.0498"),
    ("circle", 1, 0.5): ("0.6978", "0.7500", "0.7788"), ("circle", 2, 0.5): ("0.3022", "0.0000", "0.3679"),
    ("circle", 3, 0.5): ("0.0933", "-1.2500", "0.1054"),
}  # fmt: skip


@verifies(
    Claim(
        "metric.half-bandwidth",
        "at the bandwidth in use the asymptotics are qualitative only: on the sphere the slowest wave keeps 0.313, first order says nothing, the semigroup 0.368",
        r"$S^2$, $f = -x\cdot y$, $\varepsilon = \frac12$: $l = 1$ multiplier $\coth1 - 1 = 0.313$, first order $1 - 2\varepsilon = 0$, semigroup $e^{-1} = 0.368$",
        remark=r"metric-attention, $f = |x - y|^2$, $\varepsilon = \frac12$: $\coth2 - \frac12 = 0.537$ against $\frac12$ and $e^{-1/2} = 0.607$, for $l = 3$ $0.052$ against $-2$ and $0.050$; on the circle $k = 1$ $0.698$ against $0.75$ and $0.779$",
        assumptions=("uniform tokens, in the limit of many", r"$-x\cdot y$ is $\frac12|x - y|^2 - 1$ on the sphere"),
        spec=("DL.E2",),
        cites=RUAN,
        source_status=ON_PAPER,
    ),
    constant("semigroup", "the multipliers are those of the semigroup", of="semigroup"),
    constant("first-order", "the multipliers are those of first order", of="first order"),
    hypothesis("squared", "metric-attention has the bandwidth of the dot product", shift=2),
    bug("whole", "the asymptotics have the time epsilon, not half of it", time=2),
    constant("far", "both asymptotics are off by a tenth at least", least=Fraction(1, 10)),
)
def test_half_bandwidth(run, *, of="layer", shift=1, time=1, least=None):
    table = run.study(studies.half_bandwidth)
    for (space, degree, epsilon), texts in PRINTED.items():
        wide = shift if space == "sphere" and epsilon < 1 else 1
        ((_, found),) = rows(table, space=space, degree=degree, epsilon=epsilon * wide)
        quotient = time * half(space, degree, epsilon)
        case = {"space": space, "degree": degree, "epsilon": epsilon}
        truth = {"layer": closed(space, degree, epsilon), "first order": 1 - quotient, "semigroup": np.exp(-quotient)}
        digits = {name: Interval.printed(text) for name, text in zip(truth, texts, strict=True)}
        yield equals(found, truth[of], scale=1, **case)
        yield equals(found, digits[of], scale=1, **case)
        # the first order is nowhere within three hundredths, the semigroup, near zero for l = 3, within two thousandths
        for name, most in (("first order", Fraction(3, 100)), ("semigroup", Fraction(1, 500))):
            yield equals(truth[name], digits[name], scale=1, part=f"printed, {name}", **case)
            yield at_least(abs(found - truth[name]), least or most, scale=1, part=f"off, {name}", **case)


@verifies(
    Claim(
        "metric.asymptotics",
        "the semigroup is off at second order, by a quarter of the rate; the first order is not for the slowest wave of the sphere, and for it alone",
        r"$\lambda - e^{-\varepsilon\mu/2} = -\frac\mu4\varepsilon^2 + O(\varepsilon^3)$, $\mu = k^2$ or $l(l + 1)$",
        remark=r"$\lambda - (1 - \frac\varepsilon2\mu) = c\,\varepsilon^2 + O(\varepsilon^3)$ with $c = \frac18\mu(\mu - 2)$, which is zero for $l = 1$ on the sphere, where $\lambda = 1 - \varepsilon + \frac2{e^{2/\varepsilon} - 1}$; the first order is negative from $\varepsilon = 2/\mu$ on, no step of a diffusion",
        assumptions=("uniform tokens, in the limit of many", "degrees 1 to 3"),
        spec=("DL.E2", "DL.B2"),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("half", "the semigroup is off by half the rate", share=Fraction(1, 2)),
    hypothesis("geodesic", "distances are those along the space, as in the heat kernel of the circle", share=0),
    bug("first", "the first order is 1 - epsilon times the rate", time=2),
)
def test_asymptotics(run, *, share=Fraction(1, 4), time=1):
    table = run.study(studies.half_bandwidth)
    epsilons = [2.0**-k for k in range(3, run.pick(quick=9, paper=11))]
    for space, rate in RATES.items():
        for degree in (1, 2, 3):
            mu = rate(degree)
            case = {"space": space, "degree": degree}
            claimed = {"semigroup": -share * mu, "first order": Fraction(mu * mu, 8) - share * mu}
            rests = {part: [] for part in claimed}
            for epsilon in epsilons:
                ((_, value),) = rows(table, epsilon=epsilon, **case)
                quotient = half(space, degree, epsilon)
                rests["semigroup"].append((value - np.exp(-quotient)) / epsilon**2)
                rests["first order"].append((value - (1 - time * quotient)) / epsilon**2)
            for part, rest in rests.items():
                yield equals(limit(rest, order=1), claimed[part], scale=1 + abs(claimed[part]), part=part, **case)
    for case, value in rows(table, space="sphere", degree=1):
        e = ball(case["epsilon"])
        claimed = 1 - e * time + 2 / (np.exp(2 / e) - 1)
        yield equals(value, claimed, scale=1, part="slowest", epsilon=case["epsilon"])
    yield at_least(1 - time * half("sphere", 3, 0.125), 0, scale=1, part="sign")  # 2 / mu is a sixth
    yield at_most(1 - time * half("sphere", 3, 0.25), 0, scale=1, part="sign")
