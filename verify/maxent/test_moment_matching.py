"""Linear models match the moments of their labels, independent blocks add up, and only softmax factorises."""

from fractions import Fraction
from functools import reduce

import numpy as np
from scipy.optimize import minimize

from theory.evidence import Claim, Interval, at_least, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import precision
from theory.maxent import entmax, fenchel_young_gradient, fenchel_young_loss
from theory.maxent.gibbs import expectation
from theory.maxent.losses import loss_interval
from verify.maxent.test_fenchel_young import BITS, law_of, loss_of, omega, potential
from verify.textbook import balls, hull

BLONDEL = ("blondel2020",)


def fitted(design, labels, alpha):
    """Minimise the mean loss of a linear model over its parameters, with the gradient that the instrument returns."""

    def mean_loss(theta):
        s = np.broadcast_to(design @ theta, labels.shape)
        gradient = fenchel_young_gradient(s, labels, alpha).mean(axis=0)
        return float(fenchel_young_loss(s, labels, alpha).mean()), gradient @ design

    start = np.zeros(design.shape[1])
    return minimize(mean_loss, start, jac=True, method="BFGS", options={"gtol": 1e-13, "maxiter": 500}).x


def slopes(design, mean_label, theta, alpha, step=Fraction(1, 2**40)):
    """Enclose the derivatives of the mean loss at ``theta`` by difference quotients of exact losses, as it is convex.

    Labels enter through their mean and a constant, which drops out.
    """

    def value(at):
        s = [sum((Fraction(b) * x for b, x in zip(row, at, strict=True)), Fraction(0)) for row in design.tolist()]
        return loss_of(s, mean_label, alpha)

    here = [Fraction(x) for x in theta.tolist()]
    found = []
    with precision(BITS):
        middle = value(here)
        for j in range(len(here)):
            ahead, behind = (value([x + side * step * (i == j) for i, x in enumerate(here)]) for side in (1, -1))
            found.append(hull(((ahead - middle).union(middle - behind)) / ball(step)))
    return found


@verifies(
    Claim(
        "loss.moments",
        "a fitted linear model has the moments of its labels, not their frequencies",
        r"$\theta$ minimises $\sum_i L(B\theta; y_i)$ only if $B^\top\hat y = B^\top\bar y$, $\hat y = \mathrm{entmax}_\alpha(B\theta)$",
        assumptions=("a minimiser exists", r"$1 \le \alpha \le 2$"),
        spec=("RA.E6",),
        cites=BLONDEL,
        source_status=("recalled",),
    ),
    hypothesis("saturated", "the design is the identity: every frequency is matched", saturated=True),
    bug("softmax", "the moments are those of softmax, whatever the order of the loss", softmax=True),
)
def test_moments(run, *, saturated=False, softmax=False):
    orders = (1.0, 1.5, 2.0)
    for number, rng in enumerate(run.draws(quick=6, paper=45)):
        n = int(rng.integers(4, 7))
        alpha = orders[number % len(orders)]
        design = np.round(rng.normal(size=(n, 2)) * 2**6) / 2**6
        classes = np.concatenate([np.arange(n), rng.integers(n, size=16 - n)])  # every class occurs: a minimiser exists
        labels = np.eye(n)[classes]
        theta = fitted(design, labels, alpha)
        mean = labels.mean(axis=0)  # in sixteenths, hence exact
        law = entmax(exact(design) @ theta, 1.0 if softmax else alpha)
        weights = np.eye(n) if saturated else design
        # so far from a minimiser, the moments miss
        rest = max(abs(slope).hi for slope in slopes(design, mean, theta, alpha))
        missed = Interval(-rest, rest)
        for column in weights.T:
            claimed = (balls(mean) * balls(column)).sum()
            yield equals(expectation(law, column) + missed, claimed, scale=1, alpha=alpha, n=n)


def product_value(scores, alpha, tau):
    """Enclose the maximum over a product of simplices of the sum of the blocks' values, by one Frank-Wolfe gap."""
    attained, gap = ball(0), ball(0)
    for s in scores:
        middle = np.array([weight.mid() for weight in law_of(s, alpha, tau)], dtype=object)
        p = middle / middle.sum()
        slope = balls(s) - ball(tau) * potential(p, alpha)
        attained += (p * balls(s)).sum() - ball(tau) * omega(p, alpha)
        gap += reduce(lambda a, b: a.max(b), slope) - (p * slope).sum()
    return hull(attained.union(attained + gap.upper()))


@verifies(
    Claim(
        "loss.additive",
        "over independent blocks the losses add up",
        r"$\max_{p \in \Delta_1 \times \Delta_2}\sum_j[\langle p_j, s_j\rangle - \Omega(p_j)] + \sum_j\Omega(y_j) - \langle y, s\rangle = \sum_j L_\Omega(s_j; y_j)$",
        assumptions=(r"$\alpha \ge \frac12$",),
        spec=("RA.E7",),
        cites=BLONDEL,
        source_status=("recalled",),
    ),
    hypothesis("one-simplex", "the blocks share one simplex, each with half of the mass", shared=True),
    constant("mean", "the losses are averaged", factor=0.5),
)
def test_additive(run, *, shared=False, factor=1.0):
    named = [np.array([3.0, 0.0]), np.array([0.0, 1.0, 0.0])], [np.array([0.0, 1.0]), np.array([0.5, 0.25, 0.25])]
    cases = [(*named, alpha, 1.0) for alpha in (1.0, 2.0)]
    for rng in run.draws(quick=12, paper=200):
        alpha = float(rng.choice([0.5, 1.0, 1.5, 2.0]))
        tau = float(rng.choice([0.5, 1.0, 2.0]))
        scores = [np.round(rng.normal(size=int(rng.integers(2, 5))) * 2**9) / 2**8 for _ in range(2)]
        targets = [rng.multinomial(2**10, rng.dirichlet(np.ones(s.size))) / 2**10 for s in scores]
        cases.append((scores, targets, alpha, tau))
    for scores, targets, alpha, tau in cases:
        own = sum(
            ball(tau) * omega(balls(y), alpha) - (balls(s) * balls(y)).sum()
            for s, y in zip(scores, targets, strict=True)
        )
        claimed = factor * (product_value(scores, alpha, tau) + hull(own))
        losses = [loss_interval(np.concatenate(scores), np.concatenate(targets) / 2, alpha, tau=tau)] if shared else [
            loss_interval(s, y, alpha, tau=tau) for s, y in zip(scores, targets, strict=True)]  # fmt: skip
        measured = sum(losses[1:], losses[0])
        yield equals(measured, claimed, scale=tau + max(float(np.ptp(s)) for s in scores), alpha=alpha, tau=tau)


def joint(first, second):
    """Scores s_i + t_j of pairs, flat."""
    return (first[:, np.newaxis] + second).ravel()


@verifies(
    Claim(
        "loss.factorisation",
        "softmax of summed scores is the product law, and the loss of a product target is the sum of the losses",
        r"$\mathrm{softmax}(s_i + t_j) = p_iq_j$ and $L_1(s \oplus t; y \otimes z) = L_1(s; y) + L_1(t; z)$",
        assumptions=("Shannon entropy",),
        spec=("RA.E7",),
        cites=BLONDEL,
        source_status=("recalled",),
    ),
    hypothesis("sparsemax", "the order is 2", order=2.0),
    constant("near", "the order is 1.01", order=1.01),
    bug("outer-scores", "the scores are multiplied", multiplied=True),
)
def test_factorisation(run, *, order=1.0, multiplied=False):
    cases = [(np.array([0.5, 0.0, 0.0, 0.0]), np.zeros(2), np.full(4, 0.25), np.full(2, 0.5))]  # 3/16 at order 2
    for rng in run.draws(quick=12, paper=200):
        s, t = (np.round(rng.normal(size=int(rng.integers(2, 5))) * 2**9) / 2**8 for _ in range(2))
        y, z = (rng.multinomial(2**10, rng.dirichlet(np.ones(x.size))) / 2**10 for x in (s, t))
        cases.append((s, t, y, z))
    for s, t, y, z in cases:
        scores = np.outer(s, t).ravel() if multiplied else joint(s, t)
        product = np.outer(law_of(s, order), law_of(t, order)).ravel()
        yield equals(entmax(exact(scores), order), product, scale=1, part="law", n=s.size, m=t.size)
        apart = loss_of(s, y, order) + loss_of(t, z, order)
        loss = loss_interval(scores, np.outer(y, z).ravel(), order)
        yield equals(loss, apart, scale=1.0 + float(np.ptp(scores)), part="loss", n=s.size, m=t.size)


@verifies(
    Claim(
        "loss.only-shannon",
        "at other orders the law of summed scores differs from the product law by a share of the distance to order one",
        r"$s = t = (\frac14, 0)$: $\max_{ij}|\mathrm{entmax}_\alpha(s_i + t_j) - p_iq_j| \ge \frac1{40}|\alpha - 1|$",
        assumptions=(r"$\alpha \in \{\frac12, \frac32, 2, 3\}$ and $1 \pm 2^{-k}$ for $k$ from 2 to 20",),
        spec=("RA.E7",),
        cites=BLONDEL,
        source_status=("recalled", "derived"),
    ),
    constant("twice", "the difference is at least a twentieth", share=0.05),
    bug("softmax", "softmax is computed at every order", shannon=True),
    hypothesis("constant", "the second scores are equal: then their law is uniform, at every order", rise=0.0),
)
def test_only_shannon(run, *, share=0.025, shannon=False, rise=0.25):
    s, t = np.array([0.25, 0.0]), np.array([rise, 0.0])
    near = [1.0 + side * 2.0**-k for k in range(2, 21, run.pick(quick=6, paper=1)) for side in (1, -1)]
    for alpha in (0.5, *near, 1.5, 2.0, 3.0):
        order = 1.0 if shannon else alpha
        scores = joint(s, t)
        laws = [law_of(x, order) for x in (s, t)]
        apart = entmax(exact(scores), order) - np.outer(*laws).ravel()
        yield at_least(abs(apart).max(), share * abs(alpha - 1.0), scale=abs(alpha - 1.0), alpha=alpha)
