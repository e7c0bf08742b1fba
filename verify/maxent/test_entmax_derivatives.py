"""The derivatives of entmax, in the scores and in the order, against the power series of its definition."""

from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.enclosure import balls, coefficient, hull, variable
from theory.evidence.roundoff import U, gamma
from theory.maxent import entmax, entmax_alpha_derivative, entmax_vjp
from verify import textbook
from verify.maxent.test_entmax import weight_bound

SOURCES = ("peters2019", "correia2019")
OFF = weight_bound(7)  # of a weight of order at most two, of as many scores as there are here
NEAR_ONE = (1.0 - 1e-9, 1.0, 1.0 + 1e-12, 1.0 + 1e-9)


definition = cache(lambda s, alpha, tau: textbook.entmax(np.array(s), alpha, tau))  # once for a claim and its twins


@cache
def series(s, alpha, tau, along=None, faster=0):
    """Differentiate the definition along scores s + t ``along`` and orders alpha + t ``faster``; balls out.

    The weights exp(log(1 + e x)/e), x = (s - nu)/tau, are power series in t for any slope of the threshold nu. Their
    first coefficients are affine in that slope, which is the one at which they sum to zero. At order one, where the
    quotient is log(1 + e x)/e = x - e x^2/2 + ..., the series of the logarithm is divided by that of e.
    """
    t, e, top = variable(3), ball(alpha) - 1, int(np.argmax(s))
    law, z = definition(s, alpha, tau), balls(s) / ball(tau)
    nu = z[top] - (law[top].log() if alpha == 1.0 else (law[top] ** e - 1) / e)
    way = balls(along or np.zeros(len(s))) / ball(tau)
    on = [i for i in range(len(s)) if law[i] > 0]

    def slopes(guess):
        found = []
        for i in on:
            x = (z[i] - nu) + t.item() * (way[i] - guess)
            power = x if alpha == 1.0 and not faster else quotient(x, e, faster, t.item())
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


def vjp_error(p, c, alpha, tau):
    """Bound the error of a computed q (c - <q, c>/sum q)/tau whose weights are off by their bound.

    A slope q = p^(2 - alpha) is off by |2 - alpha| p^(1 - alpha) times that and by the power's own rounding. Above order
    two it is the base of a weight that is off, by (2 (alpha - 1) + 8) u, and a weight by q / (alpha - 1) times as much.
    """
    on = p > 0.0
    q = np.where(on, np.where(on, p, 1.0) ** (2.0 - alpha), 0.0)
    of_weight = np.maximum(OFF, (4.0 + 16.0 / (alpha - 1.0)) * U * q) if alpha > 2.0 else OFF
    off = np.where(on, abs(2.0 - alpha) * q / np.where(on, p, 1.0) * of_weight + 16 * U * q, 0.0)
    apart = np.abs(c - q @ c / q.sum())
    mean = (off @ apart) / q.sum() + gamma(p.size + 6) * float(np.abs(c).max())
    return 2.0 * (off * apart + q * (mean + 4 * U * apart)) / tau


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
        provenance=("recalled", "refereed"),
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
        q = np.where(p > 0.0, np.where(p > 0.0, p, 1.0) ** (2.0 - order), 0.0)
        found = entmax_vjp(p if support else np.maximum(p, 1e-300), c, order, tau=scale)
        return found + (1.0 - share) * q * (q @ c) / q.sum() / scale

    ways = run.streams(10**4)
    for s in rows(run, quick=4, paper=40):
        for alpha, tau in (
            (0.5, 1.0),
            (1.0, 0.5),
            (1.0 + 1e-9, 1.0),
            (1.25, 2.0),
            (1.5, 1.0),
            (1.75, 0.5),
            (2.0, 1.0),
            (2.5, 1.0),
        ):
            c, p = next(ways).normal(size=s.size), entmax(s, alpha, tau=tau)
            found = product(p, c, alpha, tau)
            error = vjp_error(p, c, alpha, tau)
            size = float(np.abs(c).max()) / tau
            for x, width, law in zip(found, error, series(tuple(s), alpha, tau, along=tuple(c)), strict=True):
                yield equals(Interval.within(float(x), float(width)), hull(law), scale=size, alpha=alpha, tau=tau)
    # below order two the derivative is continuous: exact edges of the support, the weight of the last entry vanishes
    for s, alpha in (
        (np.array([2.0, 0.0]), 1.5),
        (np.array([4.0, 0.0]), 1.25),
        (np.array([1.0, 1.0, 1.0 - 2.0**0.5]), 1.5),
    ):
        c, p = np.array([1.0, -2.0, 0.5])[: s.size], entmax(s, alpha)
        found, law = product(p, c, alpha), series(tuple(s), alpha, 1.0, along=tuple(c))
        # the square root of a lost weight, at most
        width = 4.0 * OFF ** min(1.0, 2.0 - alpha) if p[-1] > 0.0 else 64 * U
        for x, exact in zip(found, law, strict=True):
            yield equals(Interval.within(float(x), width), hull(exact), scale=1, alpha=alpha, part="edge")


def unprojected(p, alpha):
    """The derivative of positive weights in the order at a fixed threshold, to a few digits."""
    e, log = alpha - 1.0, np.log(p)
    return -0.5 * p * log**2 if abs(e) < 1e-4 else (p - p ** (1.0 - e) - e * p * log) / e**2


def order_error(p, alpha):
    """Bound the error of the computed derivative in the order at weights off by their bound.

    r = (p - p^(1 - e) - e p log p)/e^2 has the slope ((1 - e)(1 - p^-e) - e log p)/e^2, at order one -log p - (log p)^2/2;
    as it is computed, its logarithm, its power and phi lose at most 64 u of it.
    """
    e, own = alpha - 1.0, p[p > 0.0]
    log = np.log(own)
    r, slope = unprojected(own, alpha), np.abs(log) + 0.5 * log**2  # doubled below
    if abs(e) >= 1e-4:
        slope = np.abs((1.0 - e) * (1.0 - own**-e) - e * log) / e**2
    q, total = own ** (1.0 - e), (own ** (1.0 - e)).sum()
    mean = abs(r.sum() / total)
    off, moved = slope * OFF + 64 * U * np.abs(r), np.abs(1.0 - e) * own**-e * OFF + 16 * U * q
    out = np.zeros_like(p)
    out[p > 0.0] = 2.0 * (
        off + moved * mean + q * (off.sum() + moved.sum() * mean) / total + gamma(p.size + 4) * q * mean
    )
    return 2.0 * out


def printed(law, alpha, half):
    """The derivative in the order as it is printed, in balls: at order one the limit."""
    on = np.array([p for p in law if p > 0], dtype=object)
    log, e = textbook.log(on), ball(alpha) - 1
    if alpha == 1.0:
        return -(on * (log * log - (on * log * log).sum())) * half
    q = on ** (1 - e)
    tilde = q / q.sum()
    return (on - tilde) / (e * e) - (on * log - tilde * (on * log).sum()) / e


@verifies(
    Claim(
        "entmax.order-derivative",
        "the derivative of entmax in the order, and its limit at softmax",
        r"$\partial_\alpha p = \frac{p - \tilde q}{(\alpha-1)^2} - \frac{p\log p - \tilde q\sum p\log p}{\alpha-1}$, $\tilde q = q/\sum q$; $-\frac12p(\log^2p - \mathbb E_p\log^2p)$ at $\alpha = 1$",
        assumptions=("the scores have distinct gaps to the edge of the support", r"$\frac12 \le \alpha \le 2$"),
        spec=("RA.D6",),
        cites=("correia2019",),
        provenance=("recalled", "refereed"),
    ),
    constant("no-half", "the limit at order one has no factor 1/2", half=1.0),
    bug("not-normalised", "the rank-one term is dropped: the weights no longer sum to one", projected=False),
    hypothesis("mixed", "the weights are those of another order, 1/16 higher", shift=0.0625),
)
def test_order_derivative(run, *, half=0.5, projected=True, shift=0.0):
    for s in rows(run, quick=4, paper=40):
        for alpha in (0.5, 0.75, *NEAR_ONE, 1.001, 1.25, 1.5, 1.75, 2.0):
            p = entmax(s, alpha + shift)
            found, error = entmax_alpha_derivative(p, alpha), order_error(p, alpha)
            if not projected:
                found[p > 0.0] = unprojected(p[p > 0.0], alpha)
            exact = series(tuple(s), alpha, 1.0, faster=1)
            for x, width, law in zip(found, error, exact, strict=True):
                yield equals(Interval.within(float(x), float(width)), hull(law), scale=1, alpha=alpha, part="series")
            if alpha in (1.0 - 1e-12, 1.0 + 1e-12):
                continue  # the printed formula divides by (alpha - 1)^2 what cancels
            law = definition(tuple(s), alpha, 1.0)
            on = [i for i in range(s.size) if law[i] > 0]
            for i, formula in zip(on, printed(law, alpha, half), strict=True):
                yield equals(
                    Interval.within(float(found[i]), float(error[i])),
                    hull(formula),
                    scale=1,
                    alpha=alpha,
                    part="formula",
                )
