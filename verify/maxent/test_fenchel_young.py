"""Fenchel-Young losses: what a target falls short of the maximum by, where it is nothing, and how it changes."""

from fractions import Fraction
from functools import lru_cache, reduce
from math import inf

import numpy as np

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
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import precision
from theory.maxent import entmax, fenchel_young_gradient
from theory.maxent.losses import loss_interval
from verify import textbook

BITS = 192  # taken: differences over 2**-40 keep forty digits


def power_of(weight, exponent):
    """The power of a weight that is positive, exactly zero, or within a speck of zero."""
    if weight > 0:
        return weight**exponent
    return ball(0) if weight <= 0 else ball(0).union(weight.upper() ** exponent)


def omega(law, alpha):
    """Minus the entropy of order alpha: (sum p**alpha - 1) / (alpha (alpha - 1)), sum p log p at 1, 0 at infinity."""
    if alpha == inf:
        return ball(0)
    a = ball(Fraction(alpha))
    if alpha == 1:
        return sum((p * p.log() for p in law if p > 0), ball(0))
    return (sum((power_of(p, a) for p in law), ball(0)) - 1) / (a * (a - 1))


def potential(law, alpha):
    """The gradient of omega, up to a constant; finite orders, and positive weights if alpha is at most 1."""
    if alpha == 1:
        return textbook.log(law)
    e = ball(Fraction(alpha)) - 1
    return np.array([(power_of(p, e) - 1) / e for p in law], dtype=object)


def law_of(scores, alpha, tau=1):
    """Entmax as an array of balls."""
    return _law(tuple(map(Fraction, scores)), Fraction(alpha), Fraction(tau))


def conjugate_of(scores, alpha, tau=1):
    """The largest <p, s> - tau omega(p) over the laws p; at infinite order the largest score."""
    s = tuple(map(Fraction, scores))
    return ball(max(s)) if alpha == inf else _conjugate(s, Fraction(alpha), Fraction(tau))


def loss_of(scores, target, alpha, tau=1):
    """The conjugate plus tau omega(y) minus <s, y>, for a target of floats or balls that sums to one."""
    y = target if isinstance(target, np.ndarray) and target.dtype == object else balls(target)
    with precision(BITS):
        own = ball(Fraction(tau)) * omega(y, alpha) - (_exact(scores) * y).sum()
        return conjugate_of(scores, alpha, tau) + own


def divergence_of(target, law, alpha):
    """The Bregman divergence of omega from a law to a target, both arrays of balls; constants of the slope drop out."""
    y = target if target.dtype == object else balls(target)
    return omega(y, alpha) - omega(law, alpha) - (potential(law, alpha) * (y - law)).sum()


def _exact(scores):
    return np.array([ball(Fraction(x)) for x in scores], dtype=object)


@lru_cache(maxsize=4096)
def _law(s, alpha, tau):
    with precision(BITS):
        return textbook.entmax(_exact(s), alpha, tau)


@lru_cache(maxsize=4096)
def _conjugate(s, alpha, tau):
    with precision(BITS):
        exact = _exact(s)
        t = ball(tau)
        middle = np.array([p.mid() for p in _law(s, alpha, tau)], dtype=object)
        law = middle / middle.sum()
        attained = (law * exact).sum() - t * omega(law, alpha)
        slope = exact - t * potential(law, alpha)
        mean = (law * slope).sum()
        gap = reduce(lambda a, b: a.max(b), slope - mean)
        return attained.union(attained + gap.upper())


BLONDEL = ("blondel2020",)
SEEN = ("seen", "recalled", "refereed on paper")
ORDERS = (0.5, 1.0, 1.25, 1.5, 2.0, 3.0)
FAR = (np.array([3.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))  # a target off the support of sparsemax
ENDS = (np.array([0.0, 1.0, -10.0]), np.array([5.0, -5.0, 5.0]))  # between them, e_2 is far from sparsemax


def scores_of(rng, n):
    """Scores on a grid of 2**-10, so that sums and halves of them are exact."""
    return np.round(rng.normal(size=n) * float(rng.choice([0.2, 1.0, 4.0])) * 2**10) / 2**10


def target_of(rng, n):
    """A law in multiples of 2**-10, often with zeros, which sums to one exactly."""
    return rng.multinomial(2**10, rng.dirichlet(np.full(n, 0.5))) / 2**10


def problems(run, *, quick, paper, orders=ORDERS):
    """Yield scores, a target, an order, a temperature and the generator: a named case per order, then random ones."""
    count = run.pick(quick=quick, paper=paper)
    for number, rng in enumerate(run.streams(count * len(orders))):
        alpha = orders[number % len(orders)]
        tau = float(rng.choice([0.25, 1.0, 4.0]))
        n = int(rng.integers(2, 7))
        s, y = (scores_of(rng, n), target_of(rng, n)) if number >= len(orders) else FAR
        yield s, y, alpha, (tau if number >= len(orders) else 0.5), rng


def distance(s, y, alpha, tau):
    """Enclose the squared Euclidean distance of entmax to a target, sometimes taken for the loss of sparsemax."""
    return ((entmax(exact(s), alpha, tau=tau) - y) ** 2).sum()


@verifies(
    Claim(
        "loss.shortfall",
        "the loss is what the target falls short of the regularised maximum by",
        r"$L_\Omega(s; y) = \max_{p \in \Delta}[\langle p, s\rangle - \Omega(p)] - [\langle y, s\rangle - \Omega(y)]$, $\Omega = -\tau H_\alpha$",
        assumptions=("finite scores", r"$y \in \Delta$", r"$\alpha \ge \frac12$", "positive temperature"),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=SEEN,
    ),
    bug("no-entropy", "the entropy of the target is left out", own=0),
    constant("unit-temperature", "the entropy of the target lacks the factor tau", power=0),
    bug("unit-order", "the entropy of the target is Shannon's at every order", shannon=True),
    hypothesis("linear", "the maximum is that of the mean score alone", linear=True),
)
def test_shortfall(run, *, own=1, power=1, shannon=False, linear=False):
    for s, y, alpha, tau, _ in problems(run, quick=4, paper=30, orders=(*ORDERS, np.inf)):
        entropy = own * omega(balls(y), 1 if shannon else alpha) * ball(tau) ** power
        best = conjugate_of(s, np.inf if linear else alpha, tau)
        claimed = best - (balls(s) * balls(y)).sum() + entropy
        scale = tau + float(np.ptp(s))
        yield equals(loss_interval(s, y, alpha, tau=tau), claimed, scale=scale, alpha=alpha, tau=tau, n=s.size)


@verifies(
    Claim(
        "loss.zero",
        "the loss is never negative and vanishes exactly at the prediction",
        r"$L(s; \hat y) = 0$ and $L(s; y) \ge \frac\tau2\|y - \hat y\|_2^2$ for $\alpha \le 2$, $\ge \frac{\tau}{\alpha(\alpha-1)}\|y - \hat y\|_\alpha^\alpha$ for $\alpha \ge 2$",
        assumptions=(r"$\hat y = \mathrm{entmax}_\alpha(s/\tau)$", r"$\alpha \ge \frac12$"),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=(*SEEN, "derived"),
    ),
    constant("near", "the lower bound is two per cent larger", factor=1.02),
    hypothesis("softmax", "the prediction is softmax at every order", softmax=True),
    bug("no-temperature", "the loss is compared at temperature one", cold=True),
)
def test_zero(run, *, factor=1.0, softmax=False, cold=False):
    full = (np.array([0.25, 0.0, -0.25]), np.array([0.0, 0.0, 1.0]), 2.0, 1.0, None)  # every class has weight: equality
    for s, y, alpha, tau, _ in [full, *problems(run, quick=4, paper=35)]:
        case = {"alpha": alpha, "tau": tau}
        prediction = entmax(s, 1.0 if softmax else alpha, tau=1.0 if cold else tau)
        yield equals(loss_interval(s, prediction, alpha, tau=tau), 0, scale=tau, part="zero", **case)
        apart = np.abs(balls(y) - law_of(s, alpha, tau))
        order = ball(max(alpha, 2.0))
        least = sum((power_of(a, order) for a in apart), ball(0)) / (order * (order - 1))
        loss = loss_interval(s, y, alpha, tau=tau)
        yield at_least(loss, factor * tau * least, scale=tau, part="distance", **case)


def slope(f, s, way, *, step=Fraction(1, 2**40)):
    """Enclose the derivative of a convex function between its difference quotients on either side, in exact numbers."""
    here = [Fraction(x) for x in s]
    ahead = [x + step * Fraction(w) for x, w in zip(here, way, strict=True)]
    behind = [x - step * Fraction(w) for x, w in zip(here, way, strict=True)]
    with precision(BITS):
        middle = f(here)
        return ((f(ahead) - middle) / ball(step)).union((middle - f(behind)) / ball(step))


@verifies(
    Claim(
        "loss.gradient",
        "the gradient of the loss is the prediction less the target",
        r"$\nabla_s L_\Omega(s; y) = \hat y - y$, whatever the temperature",
        assumptions=(r"$\alpha \ge \frac12$",),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=SEEN,
    ),
    bug("squared-distance", "the squared distance of prediction and target is taken for the loss", square=True),
    constant("temperature", "the gradient is divided by the temperature", power=-1),
    bug("sign", "the target less the prediction", sign=-1),
    hypothesis("hard", "the prediction is that of infinite order", hard=True),
)
def test_gradient(run, *, square=False, power=0, sign=1, hard=False):
    for s, y, alpha, tau, rng in problems(run, quick=4, paper=35):
        way = rng.integers(-8, 9, size=s.size) / 8.0 if s is not FAR[0] else np.array([1.0, 0.0, 0.0])

        def value(at, y=y, alpha=alpha, tau=tau):
            apart = law_of(at, alpha, tau) - balls(y)
            return (apart * apart).sum() if square else loss_of(at, y, alpha, tau)

        gradient = fenchel_young_gradient(s if hard else exact(s), y, np.inf if hard else alpha, tau=tau)
        measured = sign * (exact(gradient) * way).sum() * tau**power
        yield equals(measured, slope(value, s, way), scale=1, alpha=alpha, tau=tau, n=s.size)


@verifies(
    Claim(
        "loss.convex",
        "the loss is convex in the scores",
        r"$L(\frac{s + s'}2; y) \le \frac12L(s; y) + \frac12L(s'; y)$",
        assumptions=(r"$\alpha \ge \frac12$",),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=SEEN,
    ),
    bug("squared-distance", "the squared distance of prediction and target is taken for the loss", square=True),
    constant("strongly", "the loss is strongly convex with constant 0.01", modulus=0.01),
    hypothesis("jointly", "the target moves along with the scores", jointly=True),
)
def test_convex(run, *, square=False, modulus=0.0, jointly=False):
    def loss(s, y, alpha, tau):
        return distance(s, y, alpha, tau) if square else loss_interval(s, y, alpha, tau=tau)

    pairs = [(*ENDS, FAR[1], alpha, 1.0) for alpha in ORDERS]
    for s, y, alpha, tau, rng in problems(run, quick=4, paper=35):
        pairs.append((s, s + scores_of(rng, s.size) if rng.uniform() < 0.5 else scores_of(rng, s.size), y, alpha, tau))
    for a, b, y, alpha, tau in pairs:
        other = np.roll(y, 1) if jointly else y
        chord = 0.5 * (loss(a, y, alpha, tau) + loss(b, other, alpha, tau)) - modulus / 8.0 * float((a - b) @ (a - b))
        middle = loss((a + b) / 2, (y + other) / 2, alpha, tau)
        scale = 1.0 + float(np.ptp(a) + np.ptp(b))
        yield at_most(middle, chord, scale=scale, alpha=alpha, tau=tau, n=a.size)


@verifies(
    Claim(
        "loss.invariance",
        "temperature scales scores and loss alike, classes may be permuted and scores shifted",
        r"$L_{\tau\Omega}(Ps + c\mathbf 1; Py) = \tau L_\Omega(s/\tau; y)$",
        assumptions=(r"$\alpha \ge \frac12$", "$P$ a permutation"),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=SEEN,
    ),
    constant("unscaled", "the loss at scores divided by the temperature is not multiplied by it", power=0),
    bug("target-in-place", "the scores are permuted, the target is not", together=False),
    hypothesis("one-score", "only the first score is shifted", everywhere=False),
)
def test_invariance(run, *, power=1, together=True, everywhere=True):
    for s, y, alpha, tau, rng in problems(run, quick=4, paper=30, orders=(*ORDERS, np.inf)):
        order = np.roll(np.arange(s.size), 1) if s is FAR[0] else rng.permutation(s.size)
        shift = float(rng.integers(1, 9)) * (np.ones(s.size) if everywhere else np.eye(s.size)[0])
        measured = loss_interval(s[order] + shift, y[order] if together else y, alpha, tau=tau)
        claimed = loss_of([Fraction(x) / Fraction(tau) for x in s], y, alpha) * ball(tau) ** power
        yield equals(measured, claimed, scale=tau + float(np.ptp(s)), alpha=alpha, tau=tau, n=s.size)


def sparsemax_form(s, k):
    """The printed loss of sparsemax for the k-th class, in rational numbers: its threshold separates the support."""
    falling = sorted(s, reverse=True)
    size = max(j for j in range(1, len(s) + 1) if 1 + j * falling[j - 1] > sum(falling[:j]))
    theta = (sum(falling[:size]) - 1) / size
    return -s[k] + sum((x * x - theta * theta for x in falling[:size]), Fraction(0)) / 2 + Fraction(1, 2)


@verifies(
    Claim(
        "loss.forms",
        "cross-entropy, the modified Huber loss, the sparsemax loss and the perceptron loss are special cases",
        r"$L_1(s; e_k) = -\log\mathrm{softmax}(s)_k$; $L_2((x, 0); e_1) = \frac14(1 - x)^2$ for $|x| \le 1$, $(-x)_+$ beyond; $L_2(s; e_k) = -s_k + \frac12\sum_{S}(s_i^2 - \theta^2) + \frac12$; $L_\infty(s; e_k) = \max s - s_k$",
        assumptions=("one-hot target", "temperature one"),
        spec=("RA.E5",),
        cites=("martins2016", "blondel2020"),
        source_status=("recalled", "refereed"),
    ),
    bug("hinge", "the binary form is the hinge", binary=lambda x: max(1 - x, Fraction(0))),
    constant(
        "half", "the square has the factor one half", binary=lambda x: (1 - x) ** 2 / 2 if abs(x) <= 1 else max(-x, 0)
    ),
    bug("mean-score", "cross-entropy lacks the normalisation", normalised=False),
    hypothesis("soft", "half of the target's mass is spread over all classes", soft=True),
)
def test_forms(
    run, *, binary=lambda x: (1 - x) ** 2 / 4 if abs(x) <= 1 else max(-x, Fraction(0)), normalised=True, soft=False
):
    for x in range(-24, 25, run.pick(quick=3, paper=1)):
        yield equals(
            loss_interval([x / 8, 0.0], [1.0, 0.0], 2.0), Interval.exactly(binary(Fraction(x, 8))), scale=1, x=x / 8
        )
    for s, _, _, _, rng in problems(run, quick=2, paper=15):
        k = int(rng.integers(s.size))
        size = 1.0 + float(np.ptp(s))
        y = np.eye(s.size)[k]
        weights = np.exp(balls(s))
        y = 0.5 * y + 0.5 / s.size if soft else y
        cross = -np.log(weights[k] / (weights.sum() if normalised else 1))
        exact = sparsemax_form(list(map(Fraction, s)), k)
        for alpha, claimed in ((1.0, cross), (2.0, Interval.exactly(exact)), (np.inf, float(s.max() - s[k]))):
            yield equals(loss_interval(s, y, alpha), claimed, scale=size, alpha=alpha, n=s.size)


def perturbed(run):
    """Yield scores, the way they move, a target, an order and a temperature: named cases, then random ones."""
    for alpha in ORDERS:
        for tau in (1.0, 0.5):
            yield np.zeros(2), np.array([1.0, -1.0]), np.eye(2)[1], alpha, tau
    for n in (4, 10):
        yield np.zeros(n), np.tile([1.0, -1.0], n // 2), np.eye(n)[0], 2.0, 1.0
    for x in (-0.499, -0.4999):  # two light weights above order 2, of which one takes from the other
        yield np.array([0.0, x, x]), np.array([0.0, 1.0, -1.0]), np.eye(3)[0], 3.0, 1.0
    for s, y, alpha, tau, rng in problems(run, quick=2, paper=20):
        yield s, np.sign(rng.normal(size=s.size)), y, alpha, tau


@verifies(
    Claim(
        "loss.perturbed",
        "when no score moves by more than rho, the law moves by n rho at most up to order 2, and the loss by rho times the distance from the target",
        r"$|s_i - s'_i| \le \tau\rho$: $\|p - p'\|_1 \le n\rho$ for $\alpha \le 2$, $\le n(\frac12\alpha(\alpha-1)\rho)^{1/(\alpha-1)}$ for $\alpha \ge 2$; $|L(s; y) - L(s'; y)| \le \tau\rho(\|p - y\|_1 + \|p - p'\|_1)$; even $n$, $n\rho \le 1$: the first is attained at order 2; $n = 2$: the last to first order in $\rho$",
        assumptions=(r"$\alpha \ge \frac12$",),
        spec=("RA.E1",),
        cites=BLONDEL,
        source_status=("derived",),
    ),
    constant("law", "the law moves by 0.99 of that", share=0.99),
    constant("no-number", "the law moves by two thirds of that from four scores on", many=2.0 / 3.0),
    constant("loss", "the loss moves by 0.99 of that", slope=0.99),
    hypothesis("steep", "the bound is n rho above order 2 as well", steep=False),
    bug("untempered", "the scores move by rho, whatever the temperature", tempered=False),
)
def test_perturbed(run, *, share=1.0, many=1.0, slope=1.0, steep=True, tempered=True):
    rho = 2.0**-12
    for s, way, y, alpha, tau in perturbed(run):
        n = s.size
        e = ball(alpha) - 1
        r = ball(rho)
        step = Fraction(rho) * Fraction(tau if tempered else 1)
        there = [Fraction(x) + step * int(w) for x, w in zip(s, way, strict=True)]
        law, other = law_of(s, alpha, tau), law_of(there, alpha, tau)
        moved = np.abs(law - other).sum()
        bound = n * r if alpha <= 2.0 or not steep else n * ((e + 1) * e * r / 2) ** (1 / e)
        bound = bound * (many if n >= 4 else 1)
        yield at_most(moved, share * bound, part="law", alpha=alpha, tau=tau, n=n)
        changed = abs(loss_of(there, y, alpha, tau) - loss_of(s, y, alpha, tau))
        apart = np.abs(law - balls(y)).sum() + moved
        yield at_most(changed, slope * tau * r * apart, part="loss", alpha=alpha, tau=tau, n=n)
