"""The derivatives of entmax, in the scores and in the order, against the power series of its definition."""

import itertools
from functools import cache

import numpy as np

from theory.evidence import Claim, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import balls, coefficient, variable
from theory.maxent import entmax, entmax_vjp
from theory.maxent.sparse import entmax_alpha_derivative
from verify import textbook

SOURCES = ("peters2019", "correia2019")
ORDERS = (
    (0.5, 1.0), (1.0, 0.5), (1.0 + 1e-9, 1.0), (1.25, 2.0), (1.5, 1.0), (1.75, 0.5), (2.0, 1.0), (2.5, 1.0),
)  # fmt: skip
NEAR_ONE = (1.0 - 1e-9, 1.0, 1.0 + 1e-12, 1.0 + 1e-9)


definition = cache(lambda s, alpha, tau: textbook.entmax(np.array(s), alpha, tau))  # once for a claim and its twins


@cache
def series(s, alpha, tau, along=None, faster=0):
    """Differentiate the definition along scores s + t ``along`` and orders alpha + t ``faster``; balls out.

    The weights exp(log(1 + e x)/e), x = (s - nu)/tau, are power series in t for any slope of the threshold nu. Their
    first coefficients are affine in that slope, which is the one at which they sum to zero. At order one, where the
    quotient is log(1 + e x)/e = x - e x^2/2 + ..., the series of the logarithm is divided by that of e.
    """
    t = variable(3)[()]
    e = ball(alpha) - 1
    top = int(np.argmax(s))
    law = definition(s, alpha, tau)
    z = balls(s) / ball(tau)
    nu = z[top] - (law[top].log() if alpha == 1.0 else (law[top] ** e - 1) / e)
    way = balls(along or np.zeros(len(s))) / ball(tau)
    on = [i for i in range(len(s)) if law[i] > 0]

    def slopes(guess):
        found = []
        for i in on:
            x = (z[i] - nu) + t * (way[i] - guess)
            power = x if alpha == 1.0 and not faster else quotient(x, e, faster, t)
            found.append(coefficient(power.exp(), 1))
        return np.array(found, dtype=object)

    still, moving = slopes(0), slopes(1)
    rate = still.sum() / (still.sum() - moving.sum())
    out = balls(np.zeros(len(s)))
    out[on] = still + rate * (moving - still)
    return out


def quotient(x, e, faster, t):
    """Return log(1 + (e + t faster) x) / (e + t faster) as a series, also where e vanishes."""
    if e != 0:
        return (1 + (e + t * faster) * x).log() / (e + t * faster)
    long = (1 + t * faster * x).log()  # without a constant term: one power of t cancels
    return (coefficient(long, 1) + t * coefficient(long, 2)) / faster


def rows(run, *, quick, paper):
    yield np.array([0.7, 0.1, -0.4, 0.35])
    yield np.array([1.0, 1.0, 0.5])
    for rng in run.draws(quick=quick, paper=paper):
        yield rng.normal(size=int(rng.integers(2, 8)))


@verifies(
    Claim(
        "entmax.jacobian",
        "the derivative of entmax in the scores is a diagonal less a rank one, on the support",
        r"$\partial p/\partial s = \frac1\tau\left(\mathrm{diag}(q) - \frac{qq^\top}{\sum q}\right)$, $q_i = p_i^{2-\alpha}$ on the support, 0 off it",
        assumptions=(r"$\frac12 \le \alpha \le \frac52$; from 2 on the support is constant nearby",),
        spec=("RA.D6",),
        cites=SOURCES,
        source_status=("recalled", "refereed"),
    ),
    bug("exponent", "q is p to the power alpha - 1, which is right at 3/2 only", swapped=True),
    bug("temperature", "the factor 1/tau is missing", cooled=False),
    constant("rank-one", "the rank one is taken at nine tenths", share=0.9),
    hypothesis("everywhere", "q is one off the support as well at order two", support=False),
)
def test_jacobian(run, *, swapped=False, cooled=True, share=1.0, support=True):
    def product(p, c, alpha, tau=1.0):
        order = 3.0 - alpha if swapped else alpha
        scale = tau if cooled else 1.0
        found = entmax_vjp(p if support else np.maximum(p, 1e-300), c, order, tau=scale)
        if share == 1.0:
            return found
        q = np.where(p.mid > 0.0, np.where(p.mid > 0.0, p.mid, 1.0) ** (2.0 - order), 0.0)
        return found + (1.0 - share) * q * (q @ c) / q.sum() / scale

    ways = run.streams(10**4)
    for s, (alpha, tau) in itertools.product(rows(run, quick=4, paper=40), ORDERS):
        c = next(ways).normal(size=s.size)
        p = entmax(exact(s), alpha, tau=tau)
        claimed = series(tuple(s), alpha, tau, along=tuple(c))
        size = float(np.abs(c).max()) / tau
        yield equals(product(p, c, alpha, tau), claimed, scale=size, alpha=alpha, tau=tau)
    # below order two the derivative is continuous: exact edges of the support, the weight of the last entry vanishes
    edges = [([2.0, 0.0], 1.5), ([4.0, 0.0], 1.25), ([1.0, 1.0, 1.0 - 2.0**0.5], 1.5)]
    for s, alpha in edges:
        c = np.array([1.0, -2.0, 0.5])[: len(s)]
        p = entmax(exact(s), alpha)
        claimed = series(tuple(s), alpha, 1.0, along=tuple(c))
        yield equals(product(p, c, alpha), claimed, scale=1, alpha=alpha, part="edge")


def printed(law, alpha, half):
    """The derivative in the order as it is printed, in balls: at order one the limit."""
    on = np.array([p for p in law if p > 0], dtype=object)
    log = textbook.log(on)
    e = ball(alpha) - 1
    if alpha == 1.0:
        return -(on * (log * log - (on * log * log).sum())) * half
    q = on ** (1 - e)
    tilde = q / q.sum()
    return (on - tilde) / (e * e) - (on * log - tilde * (on * log).sum()) / e


def unprojected(law, alpha):
    """The derivative of weights in the order at a fixed threshold, to a few digits."""
    e = alpha - 1.0
    p = np.where(law > 0.0, law, 1.0)
    log = np.log(p)
    return -0.5 * p * log**2 if abs(e) < 1e-4 else (p - p ** (1.0 - e) - e * p * log) / e**2


@verifies(
    Claim(
        "entmax.order-derivative",
        "the derivative of entmax in the order, and its limit at softmax",
        r"$\partial_\alpha p = \frac{p - \tilde q}{(\alpha-1)^2} - \frac{p\log p - \tilde q\sum p\log p}{\alpha-1}$, $\tilde q = q/\sum q$; $-\frac12p(\log^2p - \mathbb E_p\log^2p)$ at $\alpha = 1$",
        assumptions=("the scores have distinct gaps to the edge of the support", r"$\frac12 \le \alpha \le 2$"),
        spec=("RA.D6",),
        cites=("correia2019",),
        source_status=("recalled", "refereed"),
    ),
    constant("no-half", "the limit at order one has no factor 1/2", half=1.0),
    bug("not-normalised", "the rank-one term is dropped: the weights no longer sum to one", projected=False),
    hypothesis("mixed", "the weights are those of another order, 1/16 higher", shift=0.0625),
)
def test_order_derivative(run, *, half=0.5, projected=True, shift=0.0):
    orders = (0.5, 0.75, *NEAR_ONE, 1.001, 1.25, 1.5, 1.75, 2.0)
    for s, alpha in itertools.product(rows(run, quick=4, paper=40), orders):
        p = entmax(exact(s), alpha + shift)
        found = entmax_alpha_derivative(p, alpha) if projected else exact(unprojected(p.mid, alpha))
        yield equals(found, series(tuple(s), alpha, 1.0, faster=1), scale=1, alpha=alpha, part="series")
        if alpha in (1.0 - 1e-12, 1.0 + 1e-12):
            continue  # the printed formula divides by (alpha - 1)^2 what cancels
        law = definition(tuple(s), alpha, 1.0)
        on = [i for i in range(s.size) if law[i] > 0]
        yield equals(found[on], printed(law, alpha, half), scale=1, alpha=alpha, part="formula")
