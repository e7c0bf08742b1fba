"""Strong convexity of the Tsallis entropies, its dual, and the orders at which entmax has no or a special constant."""

from itertools import product

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, balls, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import U
from theory.maxent import entmax, entmax_vjp, sparsemax
from theory.maxent.gibbs import induced_norms
from theory.maxent.losses import loss_interval
from theory.maxent.sparse import entmax_norm

SOURCES = ("peters2019", "blondel2020")
DERIVED = ("derived", "refereed")


def to_power(x, exponent):
    """The power of a non-negative ball that may reach zero; the exponent is positive."""
    x = abs(x)
    return x**exponent if x > 0 else ball(0).union(abs(x.upper()) ** exponent)


def squared_norm(v, r):
    """The square of the norm with exponent r of an array of balls."""
    total = sum((to_power(x, r) for x in v), ball(0))
    return to_power(total, 2 / r)


def bregman(p, q, alpha):
    """The Bregman divergence of the negative entropy on the positive orthant, as it is printed."""
    a = ball(alpha)
    if alpha == 1.0:
        return sum(x * (x / y).log() - x + y for x, y in zip(p, q, strict=True))
    apart = [
        (x**a - y**a) / (a * (a - 1)) - y ** (a - 1) * (x - y) / (a - 1) for x, y in zip(p, q, strict=True)
    ]  # fmt: skip
    return sum(apart, ball(0))


def masses(run):
    """Yield masses p and q of sum at most 1, where the bound holds too, q of the interior and p near or far; balls."""
    for rng in run.draws(quick=12, paper=250):
        n = int(rng.integers(2, 12))
        size = float(rng.choice([1e-4, 0.1, 1.0]))
        q = rng.dirichlet(np.full(n, 0.7)) * 0.99 + 0.01 / n
        p = (1.0 - size) * q + size * rng.dirichlet(np.full(n, 0.7)) + 1e-9
        yield balls(p / (1.0 + 2.0 * n * 1e-9)), balls(q / (1.0 + 4.0 * n * U))


@verifies(
    Claim(
        "entmax.strong-convexity",
        "the negative Tsallis entropy is strongly convex with constant 1 in the norm with exponent 2 / (3 - alpha)",
        r"$B_{\Omega_\alpha}(p, q) \ge \frac12\|p - q\|_r^2$, $r = \frac2{3-\alpha}$, for $0 < \alpha \le 2$; $\frac12$ is best possible: $\min_{p\in\Delta}\sum p_i^{\alpha-2}v_i^2 = \|v\|_r^2$ at $p \propto |v|^r$",
        assumptions=(
            r"$0 < \alpha \le 2$",
            r"$q$ in the interior",
            r"below order 1, $r < 1$ and $\|\cdot\|_r$ is no norm",
        ),
        spec=("RA.D8",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    hypothesis("taxicab", "the norm is ell_1 at every order, as it is for Shannon's entropy", taxicab=True),
    hypothesis("beyond", "orders above 2", beyond=0.625),
    constant("near", "the constant 1/2 is replaced by 0.51", half=0.51),
    constant("less", "the constant is 0.49 and no better", half=0.49),
)
def test_strong_convexity(run, *, taxicab=False, beyond=0.0, half=0.5):
    for order in (0.5, 1.0, 1.25, 1.5, 1.75, 2.0):
        alpha = order + beyond
        own = 2 / (3 - ball(alpha))
        r = ball(1) if taxicab else own
        for v in ([1.0, -1.0], [2.0, -1.0, -1.0], [3.0, 1.0, -2.0, -2.0]):  # the witnesses, where the bound is attained
            way = balls(v)
            law = np.abs(way) ** own
            law = law / law.sum()
            slope = coefficient(bregman(law + way * variable(3), law, alpha), 2)
            size = squared_norm(way, r)
            yield at_least(slope, half * size, scale=size, alpha=alpha, part="curvature")
            yield at_most(slope, half * squared_norm(way, own), scale=size, alpha=alpha, part="sharp")
        for p, q in masses(run):
            far = squared_norm(p - q, r)
            yield at_least(bregman(p, q, alpha), half * far, scale=far, alpha=alpha, n=p.size)


def norm_of(v, r):
    """The norm of exponent r of enclosures."""
    return abs(v).max() if r == np.inf else np.power(np.power(abs(v), r).sum(), 1 / r)


def pairs(run):
    """Yield scores before and after: two that are as far apart as the constant allows, up to 1e-4, then random ones."""
    yield np.zeros(2), np.array([1.0, -1.0]) / 128.0
    for rng in run.draws(quick=8, paper=120):
        n = int(rng.integers(2, 30))
        size = float(rng.choice([0.01, 0.3, 3.0]))
        x = rng.normal(size=n)
        yield x, x + size * rng.normal(size=n)


@verifies(
    Claim(
        "entmax.dual-lipschitz",
        "entmax is nonexpansive from the norm with exponent 2 / (alpha - 1) to that with exponent 2 / (3 - alpha)",
        r"$\|p(s) - p(s')\|_{2/(3-\alpha)} \le \|s - s'\|_{2/(\alpha-1)}$ for $1 \le \alpha \le 2$; the loss is at least $\frac12\|y - p(s)\|_{2/(3-\alpha)}^2$",
        assumptions=(r"$1 \le \alpha \le 2$", "temperature 1"),
        spec=("RA.D8",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    hypothesis("taxicab", "weights are measured in ell_1 at every order", taxicab=True),
    constant("near", "the constant is one in a thousand smaller", factor=0.999),
    bug("unscaled", "the scores are not multiplied by alpha - 1", unscaled=True),
)
def test_dual_lipschitz(run, *, taxicab=False, factor=1.0, unscaled=False):
    for alpha in (1.0, 1.25, 1.5, 1.75, 2.0):
        r = 1.0 if taxicab else 2 / (3 - ball(alpha))
        dual = np.inf if alpha == 1.0 else 2 / (ball(alpha) - 1)
        stretch = 1.0 / (alpha - 1.0) if unscaled and alpha > 1.0 else 1.0
        for x, y in pairs(run):
            p = entmax(exact(stretch * x), alpha)
            q = entmax(exact(stretch * y), alpha)
            moved, far = norm_of(p - q, r), norm_of(exact(x) - exact(y), dual)
            yield at_most(moved, factor * far, scale=far, alpha=alpha, n=x.size)
            target = entmax(stretch * y, alpha)  # any law will do as a target
            loss = loss_interval(stretch * x, target, alpha)
            least = norm_of(p - exact(target), r) ** 2 / 2
            yield at_least(loss, least, scale=far**2, alpha=alpha, n=x.size, part="loss")


@verifies(
    Claim(
        "entmax.sparsemax-norms",
        "the Jacobian of sparsemax is a projector of norm 1, and its row sums reach 2 (1 - 1/n)",
        r"$\alpha = 2$, support of $k > 1$ entries: $\|J\|_2 = 1$, $\|J\|_{\infty\to\infty} = 2(1 - \frac1k) \le 2(1 - \frac1n)$, attained at full support",
        assumptions=("no score on the edge of the support",),
        spec=("RA.D7",),
        cites=("martins2016",),
        source_status=DERIVED,
    ),
    constant("nonexpansive", "the constant is 1 from ell_inf to ell_inf as well", rows=1.0),
    hypothesis("order", "the order is 3/2", alpha=1.5),
    bug("all", "the entries off the support count", everywhere=True),
)
def test_sparsemax_norms(run, *, rows=2.0, alpha=2.0, everywhere=False):
    scores = [np.zeros(n) for n in (2, 3, 8)]
    scores += [rng.normal(size=int(rng.integers(3, 9))) * 0.4 for rng in run.draws(quick=12, paper=100)]
    for s in scores:
        n = s.size
        law = sparsemax(s)
        size = np.count_nonzero(law)
        if size < 2:
            continue
        found = induced_norms(np.stack([entmax_vjp(exact(law), unit, alpha) for unit in np.eye(n)]))
        yield equals(found.two_two, 1, n=n, norm="two")
        yield equals(entmax_norm(law, alpha), 1, n=n, norm="two, enclosed")
        most = rows * (1 - 1 / ball(n if everywhere else size))
        yield equals(found.inf_inf, most, n=n, norm="sup")
        yield at_most(found.inf_inf, rows * (1 - 1 / ball(n)), n=n, norm="largest")


@verifies(
    Claim(
        "entmax.not-lipschitz",
        "above order 2 entmax of three scores has no Lipschitz constant",
        r"$p = (1 - 2\varepsilon, \varepsilon, \varepsilon)$: $\|J\|_2 = \varepsilon^{2-\alpha}$ for $\alpha > 2$; at $\alpha = \frac52$: $10, 10^2, 10^3$ for $\varepsilon = 10^{-2}, 10^{-4}, 10^{-6}$",
        assumptions=(r"$n \ge 3$", r"$\varepsilon \le \frac13$"),
        spec=("RA.D7",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    hypothesis("two", "there are two scores: then the norm is at most max(2, 2^(alpha - 2))", third=False),
    constant("exponent", "the norm is eps^(1 - alpha)", taken=1.0),
    bug("mirrored", "the slopes are p^(alpha - 2)", mirrored=True),
)
def test_not_lipschitz(run, *, third=True, taken=2.0, mirrored=False):
    for alpha, small in product((2.25, 2.5, 3.0, 3.5), np.geomspace(1e-2, 1e-6, run.pick(quick=3, paper=9)).tolist()):
        law = [1.0 - 2.0 * small, small, small] if third else [1.0 - small, small]
        norm = entmax_norm(law, 4.0 - alpha if mirrored else alpha)
        yield equals(norm, ball(small) ** ball(taken - alpha), alpha=alpha, eps=small)
