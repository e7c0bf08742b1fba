"""The Fenchel-Young loss is a Bregman divergence plus what the target pays off the support, and what bounds it below."""

from fractions import Fraction

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.maxent import entmax_value
from theory.maxent.losses import loss_interval
from verify.maxent.test_fenchel_young import divergence_of, law_of, power_of as raised
from verify.textbook import balls

BLONDEL = ("blondel2020",)
OFF = (np.array([3.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))  # sparsemax is e_1, and the target lies off its support
SURE = (np.array([4.0, 0.0]), np.array([1.0, 0.0]))  # at temperature 1/2 and above order 9/8 the prediction


def multiplier(s, law, alpha, tau):
    """The level nu at which s - tau p**(alpha - 1) / (alpha - 1) stands on the support; from the heaviest entry."""
    k = int(np.argmax(s))
    e = ball(alpha) - 1
    return ball(s[k]) - ball(tau) * raised(law[k], e) / e


def problems(run, *, quick, paper, orders):
    """Yield scores, a target, an order and a temperature: the target off the support first, then random ones."""
    yield from ((*OFF, alpha, 1.0) for alpha in orders)
    yield from ((*SURE, alpha, 0.5) for alpha in orders)
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n = int(rng.integers(2, 7))
        s = np.round(rng.normal(size=n) * float(rng.choice([0.3, 1.0, 3.0])) * 2**10) / 2**10
        y = rng.multinomial(2**10, rng.dirichlet(np.full(n, 0.5))) / 2**10
        yield s, y, orders[number % len(orders)], float(rng.choice([0.5, 1.0, 2.0]))


@verifies(
    Claim(
        "loss.bregman",
        "the loss is the Bregman divergence from the prediction plus the price of the target off the support",
        r"$L(s; y) = \tau B_\Omega(y, \hat y) + \sum_{\hat y_i = 0}y_i(\nu - s_i)$, $\nu = s_i - \frac{\tau\hat y_i^{\alpha-1}}{\alpha-1}$ on the support; $L = \tau B_\Omega(y, \hat y)$ for $\alpha \le 1$",
        assumptions=(r"$\alpha \ge \frac12$", r"$\Omega = -H_\alpha$"),
        spec=("RA.E2",),
        cites=BLONDEL,
        source_status=("recalled", "derived", "refereed"),
    ),
    hypothesis("equality", "the loss is the Bregman divergence, as for a gradient at the boundary", price=0),
    constant("half-price", "the price off the support is halved", price=Fraction(1, 2)),
    bug("swapped", "the arguments of the divergence are exchanged", swapped=True),
)
def test_bregman(run, *, price=1, swapped=False):
    for s, y, alpha, tau in problems(run, quick=20, paper=200, orders=(0.5, 1.0, 1.25, 1.5, 2.0, 3.0)):
        law = law_of(s, alpha, tau)
        target = balls(y)
        pair = (law, target) if swapped and (alpha > 1.0 or (y > 0.0).all()) else (target, law)
        claimed = ball(tau) * divergence_of(*pair, alpha)
        if alpha > 1.0:
            nu = multiplier(s, law, alpha, tau)
            off = [v * (nu - ball(x)) for x, v, p in zip(s, target, law, strict=True) if p <= 0]
            claimed += ball(price) * sum(off, ball(0))
        measured = loss_interval(s, y, alpha, tau=tau)
        yield equals(measured, claimed, scale=tau + float(np.ptp(s)), alpha=alpha, tau=tau, n=s.size)


def norm(apart, r):
    """The norm of order r of an array of balls, squared."""
    return raised(sum((raised(abs(a), r) for a in apart), ball(0)), 2 / r)


@verifies(
    Claim(
        "loss.norm-bound",
        "the loss is at least half the squared distance of target and prediction in the norm of its order",
        r"$L(s; y) \ge \frac\tau2\|y - \hat y\|_{2/(3-\alpha)}^2$; within $1 + h^2$ of equality at $s = 0$, $y = (\frac12 + h, \frac12 - h)$, $0 < h \le \frac25$",
        assumptions=(r"$1 \le \alpha \le 2$",),
        spec=("RA.E2",),
        cites=BLONDEL,
        source_status=("derived", "refereed"),
    ),
    constant("near", "the constant is 0.51", half=Fraction(51, 100)),
    bug("taxicab", "the distance is taken in the norm of order one", taxicab=True),
    hypothesis("steep", "the order is raised by three quarters, the norm is not", raise_by=0.75),
)
def test_norm_bound(run, *, half=Fraction(1, 2), taxicab=False, raise_by=0.0):
    h = 2.0**-9
    for alpha in (1.0, 1.25, 1.5, 2.0):
        s = np.zeros(2)
        y = np.array([0.5 + h, 0.5 - h])
        loss = loss_interval(s, y, alpha + raise_by)
        size = norm(balls(y - 0.5), ball(1 if taxicab else 2) / (1 if taxicab else 3 - ball(alpha)))
        bound = ball(half) * size
        yield at_least(loss, bound, scale=bound, part="sharp", alpha=alpha)
        yield at_most(loss, (1.0 + h * h) * bound, scale=bound, part="sharp", alpha=alpha)
    for s, y, alpha, tau in problems(run, quick=20, paper=200, orders=(1.0, 1.25, 1.5, 2.0)):
        steep = alpha + raise_by
        apart = balls(y) - law_of(s, steep, tau)
        size = norm(apart, ball(1) if taxicab else 2 / (3 - ball(alpha)))
        bound = tau * ball(half) * size
        yield at_least(loss_interval(s, y, steep, tau=tau), bound, scale=tau, alpha=alpha, tau=tau, n=s.size)


@verifies(
    Claim(
        "loss.value",
        "the regularised maximum is affine in the mean score and the multiplier",
        r"$\max_{p \in \Delta}\langle p, s\rangle + \tau H_\alpha(p) = (1 - \frac1\alpha)\langle\hat y, s\rangle + \frac\nu\alpha + \frac{\tau}{\alpha(\alpha-1)}$",
        assumptions=(
            r"$\alpha \ge \frac12$, $\alpha \ne 1$",
            r"$\nu = s_i - \tau\hat y_i^{\alpha-1}/(\alpha-1)$ on the support",
        ),
        spec=("RA.E2",),
        cites=BLONDEL,
        source_status=("derived", "refereed"),
    ),
    bug("swapped", "the factors of mean score and multiplier are exchanged", swapped=True),
    constant("no-offset", "the constant is missing", offset=0),
    hypothesis("unit-temperature", "the temperature is taken to be one in the constant", tempered=False),
)
def test_value(run, *, swapped=False, offset=1, tempered=True):
    for s, _, alpha, tau in problems(run, quick=20, paper=200, orders=(0.5, 0.75, 1 + 2.0**-20, 1.25, 1.5, 2.0, 3.0)):
        law = law_of(s, alpha, tau)
        a = ball(alpha)
        mean = (law * balls(s)).sum()
        nu = multiplier(s, law, alpha, tau)
        first, second = (1 / a, 1 - 1 / a) if swapped else (1 - 1 / a, 1 / a)
        claimed = first * mean + second * nu + offset * (ball(tau) if tempered else 1) / (a * (a - 1))
        size = tau * (2.0 + np.log(s.size)) / alpha + float(np.ptp(s)) + float(np.abs(s).max())
        value = entmax_value(exact(s), alpha, tau=tau)
        yield equals(value, claimed, scale=size, alpha=alpha, tau=tau, n=s.size)
