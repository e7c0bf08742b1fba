"""Losses of one-hot targets: the margin at which they vanish, their fall with the order, and the perceptron's loss."""

import itertools
import math

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.once import once
from theory.maxent import studies
from theory.maxent.gibbs import expectation
from theory.maxent.losses import loss_interval
from verify.textbook import hull

loss_of = once(loss_interval)

BLONDEL = ("blondel2020",)
DERIVED = ("derived", "refereed")
STEEP = (1.25, 1.5, 2.0, 3.0, 5.0)  # orders above one whose margin at temperature one is a float
FLAT = (0.5, 0.75, 0.9, 1.0)


def losses_of(table, panel):
    """Order, number of classes, range of the scores, lead, shortfall and loss of every row of one panel."""
    part = table.where(panel=panel)
    names = ("alpha", "classes", "range", "lead", "shortfall")
    return zip(*(part[name].tolist() for name in names), part.intervals("loss"), strict=True)


def beside(share, alpha):
    """What the loss over temperature is at least, with the score short of the margin by a share of it.

    With e = alpha - 1, the weight q of the nearest rival solves (1 - q)**e - q**e = 1 - share, so it is at least
    (share / 2)**(1 / e) for e <= 1 and share / (1 + e) for e >= 1, and the loss of two classes is its integral; more
    classes only lose more.
    """
    x = ball(share)
    e = ball(alpha) - 1
    if alpha < 2.0:
        return hull((x / 2) ** (1 / e) * x / (1 + e))
    return hull(x * x / (2 * e * (1 + e)))


def tail(lead, alpha, start):
    """The integral from the lead g on of what bounds the weight of a rival, (start**e + e g)**(-1 / e), e = 1 - alpha.

    The multiplier lies at most as far above the largest score as at equal scores, which is start**e = n**e, and at
    least at it, which is 1; more than two classes only lose more.
    """
    a = ball(alpha)
    g = ball(lead)
    e = 1 - ball(alpha)
    if alpha == 1.0:
        return (-g).exp() / start
    return (ball(start) ** e + e * g) ** (-a / e) / a


@verifies(
    Claim(
        "loss.margin",
        "above order one the loss vanishes from the margin tau/(alpha - 1) on and not before",
        r"$L(s; e_k) = 0$ if $s_k \ge \max_{j \ne k}s_j + \frac{\tau}{\alpha-1}$; at $(1 - x)$ of the margin, $0 < x \le 1$, $L \ge \tau\frac{x}{\alpha}(\frac x2)^{b}$, $b = \frac1{\alpha-1}$, for $\alpha \le 2$, and $\frac{\tau x^2}{2\alpha(\alpha-1)}$ for $\alpha \ge 2$",
        assumptions=(r"$\alpha > 1$", "one-hot target"),
        spec=("RA.E3",),
        cites=(*BLONDEL, "santos2024"),
        source_status=("seen", "recalled", "derived", "refereed"),
    ),
    constant("unit", "the margin is tau at every order", unit=True),
    constant("near", "a margin one per cent smaller is enough", share=0.99),
    hypothesis("softmax", "the order is one, with a margin of 8 tau", shannon=True),
    bug("squared-margin", "below the margin the loss is at least half its squared shortfall", quadratic=True),
)
def test_margin(run, *, unit=False, share=1.0, shannon=False, quadratic=False):
    cases = [(alpha, tau, np.zeros(2)) for alpha in STEEP for tau in (1.0, 0.5)]  # the case with two equal rivals
    for number, rng in enumerate(run.draws(quick=5, paper=50)):
        n = int(rng.integers(1, 6))
        tau = 2.0 ** int(rng.integers(-3, 4))
        cases.append((STEEP[number % len(STEEP)], tau, np.round(rng.normal(size=n) * 64) / 64))
    for alpha, tau, rivals in cases:
        margin = 8.0 * tau if shannon else tau if unit else tau / (alpha - 1.0)
        for lead in (share * margin, 1.5 * margin):
            s = np.array([rivals.max() + lead, *rivals])
            y = np.eye(rivals.size + 1)[0]
            loss = loss_of(s, y, 1.0 if shannon else alpha, tau=tau)
            yield equals(loss, 0, scale=tau, part="beyond", alpha=alpha, tau=tau, lead=lead)
        for x in (1 / 64, 0.5, 1.0):
            s = np.array([rivals.max() + (1.0 - x) * tau / (alpha - 1.0), *rivals])
            loss = loss_of(s, np.eye(s.size)[0], alpha, tau=tau)
            bound = tau * (0.5 * (x / (alpha - 1.0)) ** 2 if quadratic else beside(x, alpha))
            yield at_least(loss, bound, scale=bound, part="before", alpha=alpha, tau=tau, x=x)
    for alpha, _, _, lead, _, loss in losses_of(run.study(studies.losses), "two"):
        if 1.0 < alpha < math.inf and lead * (1.0 if unit else alpha - 1.0) >= share:
            yield equals(loss, 0, scale=1, part="study", alpha=alpha, lead=lead)


@verifies(
    Claim(
        "loss.no-margin",
        "up to order one the loss vanishes at no lead but in the limit, so a one-hot target has no minimiser",
        r"$\frac\tau\alpha\big(2^{1-\alpha} + (1-\alpha)\frac g\tau\big)^{-\frac{\alpha}{1-\alpha}} \le L(s; e_k) \le (n-1)\frac\tau\alpha\big(1 + (1-\alpha)\frac g\tau\big)^{-\frac{\alpha}{1-\alpha}}$ at the lead $g$, for $\alpha = 1$: $\frac\tau2e^{-g/\tau}$ and $(n-1)\tau e^{-g/\tau}$",
        assumptions=(r"$\frac12 \le \alpha \le 1$", "one-hot target", r"$g \ge 0$"),
        spec=("RA.E3", "RA.E6"),
        cites=BLONDEL,
        source_status=("recalled", "derived", "refereed"),
    ),
    hypothesis("above", "the order is 1.05", raised=1.05),
    constant("thrice", "the lower bound is three times as large", factor=3.0),
    bug("one-rival", "the upper bound counts one rival", counted=False),
)
def test_no_margin(run, *, raised=None, factor=1.0, counted=True):
    leads = (0.0, 1.0, 8.0, 20.0, 30.0, 40.0)
    sizes = run.pick(quick=(2, 3), paper=(2, 3, 5, 17))
    for alpha, g, n, tau in itertools.product(FLAT, leads, sizes, (1.0, 2.0)):
        loss = loss_interval([tau * g, *np.zeros(n - 1)], np.eye(n)[0], raised or alpha, tau=tau)
        least, most = (tau * hull(tail(g, alpha, start)) for start in (2, 1))
        yield at_least(loss, factor * least, scale=least, part="lower", alpha=alpha, lead=g, n=n)
        yield at_most(loss, (n - 1 if counted else 1) * most, scale=most, part="upper", alpha=alpha, lead=g, n=n)
        if (raised or alpha) == 1.0:
            exact = ball(tau) * (1 + (n - 1 if counted else 1) * (-ball(g)).exp()).log()
            yield equals(loss, exact, part="softmax", lead=g, n=n)


@verifies(
    Claim(
        "loss.monotone",
        "the loss of a one-hot target falls as the order grows",
        r"$\alpha \le \alpha'$ implies $L_{\alpha}(s; e_k) \ge L_{\alpha'}(s; e_k)$, up to $\alpha' = \infty$",
        assumptions=("one-hot target", r"$\alpha \ge \frac12$"),
        spec=("RA.E4",),
        cites=BLONDEL,
        source_status=DERIVED,
    ),
    hypothesis("soft", "the target is any law", soft=True),
    constant("times-order", "even the order times the loss falls", power=1),
)
def test_monotone(run, *, soft=False, power=0):
    orders = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 10.0)
    cases = [(np.array([30.0, 0.0, 0.0]), np.full(3, 1 / 3) if soft else np.eye(3)[1], 1.0)]
    for rng in run.draws(quick=8, paper=60):
        n = int(rng.integers(2, 8))
        y = rng.dirichlet(np.ones(n)) if soft else np.eye(n)[int(rng.integers(n))]
        cases.append((rng.normal(size=n) * float(rng.choice([0.3, 1.0, 3.0])), y, float(rng.choice([0.5, 1.0, 2.0]))))
    for s, y, tau in cases:
        losses = [a**power * loss_interval(s, y, a, tau=tau) for a in orders]
        if not power:
            losses.append(loss_interval(s, y, math.inf, tau=tau))
        for a, (before, after) in zip(orders, itertools.pairwise(losses), strict=False):
            yield at_most(after, before, scale=tau, alpha=a, tau=tau, n=s.size)
    rows = sorted(losses_of(run.study(studies.losses), "four"), key=lambda row: (row[2], row[0]))
    for before, after in itertools.pairwise(row for row in rows if row[0] < math.inf or not power):
        if before[2] == after[2]:
            yield at_most(after[0] ** power * after[5], before[0] ** power * before[5], scale=1, alpha=before[0])


def surplus(alpha, n):
    """The entropy of the uniform law on n classes, by which a loss exceeds the perceptron's at most."""
    a, size = ball(alpha), ball(n)
    return hull(size.log() if alpha == 1.0 else (1 - size ** (1 - a)) / (a * (a - 1)))


def one_hot(run):
    """Yield scores, a class, an order and a temperature: equal scores, one far ahead, then random ones."""
    for n, alpha, tau in itertools.product((2, 5), (0.5, 1.0, 1.5, 2.0, 3.0), (0.5, 2.0)):
        yield np.zeros(n), 0, alpha, tau
    for alpha in (1.0, 2.0):
        yield np.array([30.0, 0.0, 0.0]), 1, alpha, 1.0
    for rng in run.draws(quick=24, paper=300):
        n = int(rng.integers(2, 8))
        alpha = float(rng.choice([0.5, 0.75, 1.0, 1.25, 2.0, 4.0]))
        yield (
            np.round(rng.normal(size=n) * 2**9) / 2**8,
            int(rng.integers(n)),
            alpha,
            float(rng.choice([0.5, 1.0, 2.0])),
        )


@verifies(
    Claim(
        "loss.sandwich",
        "the loss of a one-hot target lies between the perceptron's and that plus the largest entropy",
        r"$\max s - s_k \le L_\alpha(s; e_k) \le \max s - s_k + \tau\frac{1 - n^{1-\alpha}}{\alpha(\alpha-1)}$; equality on the right at equal scores, on the left where the largest score leads by $\frac{\tau}{\alpha-1}$",
        assumptions=("one-hot target", r"$\frac12 \le \alpha < \infty$"),
        spec=("RA.E4",),
        cites=BLONDEL,
        source_status=DERIVED,
    ),
    constant("near", "the upper bound has 0.999 of the entropy", factor=0.999),
    hypothesis("soft", "the target is any law, the perceptron's loss max s - <s, y>", soft=True),
    bug("unit-temperature", "the entropy lacks the temperature", power=0),
    constant("margin", "three quarters of the lead are enough for the perceptron's loss", enough=0.75),
)
def test_sandwich(run, *, factor=1.0, soft=False, power=1, enough=1.0):
    for s, k, alpha, tau in one_hot(run):
        y = np.full(s.size, 1 / s.size) if soft else np.eye(s.size)[k]
        least = float(s.max()) - expectation(y, s) if soft else float(s.max() - s[k])
        loss = loss_of(s, y, alpha, tau=tau)
        most = factor * tau**power * surplus(alpha, s.size)
        yield at_least(loss, least, scale=tau, part="perceptron", alpha=alpha, tau=tau, n=s.size)
        yield at_most(loss, least + most, scale=tau, part="entropy", alpha=alpha, tau=tau, n=s.size)
        if not s.any():
            yield equals(loss, most, scale=tau, part="equal scores", alpha=alpha, tau=tau, n=s.size)
    for panel in ("two", "four"):
        for alpha, n, reach, lead, shortfall, loss in losses_of(run.study(studies.losses), panel):
            yield at_least(loss, shortfall, scale=1, part="study", alpha=alpha, lead=lead)
            # the largest of the four scores leads by a quarter of their range, that of two by all of it
            if alpha > 1.0 and (reach / 4.0 if panel == "four" else reach) * (alpha - 1.0) >= enough:
                yield equals(loss, shortfall, scale=1, part="margin", alpha=alpha, lead=lead)
            if alpha < math.inf:
                most = shortfall + factor * surplus(alpha, int(n))
                yield at_most(loss, most, scale=1, part="study", alpha=alpha, lead=lead)
