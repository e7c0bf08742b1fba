"""How a density on cells moves with its score: escort covariances, and the gradients of normaliser and conjugate."""

from fractions import Fraction

import numpy as np

from theory.evidence import Claim, ball, balls, bug, constant, equals, hull, hypothesis, limit, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.once import once
from theory.maxent import BetaGaussian
from theory.maxent.densities import density_on_cells, escort_covariance
from verify.maxent.test_continuous_attention import (
    DIMENSIONS,
    SOURCES,
    density_below,
    eliminated,
    integrated,
    objective,
    powers,
    printed,
    scatters,
)
from verify.textbook import exp

STEPS = (0.1, 0.05, 0.025, 0.0125, 0.00625, -0.1, -0.05, -0.025, -0.0125, -0.00625)


@once
def exact(f, mu, alpha):
    """The normaliser by bisection of the mass, and the bases 1 + e (f - N) on the support; balls."""
    e = Fraction(alpha) - 1
    top = Fraction(float(max(f, key=lambda ball: float(ball.mid())).mid()))
    low = top - (50 if e >= 0 else Fraction(999, 1000) / -e)
    high = top + (1 / e if e > 0 else 50)
    for _ in range(110):
        middle = (low + high) / 2
        at = f - ball(middle)
        p = exp(at) if e == 0 else powers(1 + ball(e) * at, ball(1 / e))
        low, high = (middle, high) if (mu * p).sum() > 1 else (low, middle)
    return ball(low).union(ball(high))


@once
def derivative(f, mu, psi, phi, alpha):
    """The derivative of the mean of psi along f + t phi, as the linear term of the definition; balls, no escort in it."""
    normaliser = exact(f, mu, alpha)
    e = ball(Fraction(alpha) - 1)
    t = variable(2)
    inside = np.array([alpha <= 1.0 or bool(1 + e * (s - normaliser) > 0) for s in f])
    f = f[inside]
    mu = mu[inside]
    psi = psi[inside]
    phi = phi[inside]

    def linear(way):
        path = f - normaliser + way * t
        p = exp(path) if alpha == 1.0 else np.frompyfunc(lambda x: (1 + e * x) ** (1 / e), 1, 1)(path)
        return np.array([coefficient(x, 1) for x in p], dtype=object)

    ones = balls(np.ones(f.size))
    moved = linear(phi) - linear(ones) * ((mu * linear(phi)).sum() / (mu * linear(ones)).sum())
    return (mu * psi * moved).sum()


def usual(alpha):
    """The order of which the covariance is that of p^alpha, the usual escort, as far as there is one."""
    return 2.0 - alpha if alpha < 2.0 else alpha


def quadratics(run):
    """Yield densities of quadratic scores with their dimension: the parabola, then every order in every dimension."""
    yield BetaGaussian([0.0], [[1.0]], 2.0), 1
    for dim, rng in zip(DIMENSIONS, run.streams(4), strict=True):
        for alpha in (1.1, 4 / 3, 1.5, 2.0, 3.0, 6.0):
            yield BetaGaussian(np.zeros(dim), scatters(rng, dim)[1], alpha), dim


@verifies(
    Claim(
        "density.escort",
        "expectations move with the score by the covariance under the power 2 - alpha of the density",
        r"$f = \langle\vartheta, \phi\rangle$: $\partial_\vartheta\mathbb E_p\psi = \int q\psi\phi - \frac{\int q\psi\int q\phi}{\int q}$, $q = p^{2-\alpha}$ on the support; for a quadratic score $\int q \cdot \mathrm{Cov}_{q/\int q} = \Sigma$",
        assumptions=("no score on the edge of the support",),
        spec=("RA.F4",),
        cites=SOURCES,
        source_status=("seen", "recalled", "refereed"),
    ),
    bug("ordinary", "the ordinary covariance stands for it, as for softmax", order=lambda _: 1.0),
    constant("usual", "the escort is the power alpha instead of 2 - alpha", order=usual),
    bug("normalised", "the covariance of the normalised escort, without its mass", weighed=False),
)
def test_escort(run, *, order=lambda alpha: alpha, weighed=True):
    for rng in run.draws(quick=2, paper=15):
        x = np.sort(rng.uniform(-1.5, 1.5, size=9))
        mu = rng.uniform(0.05, 0.5, size=9)
        for alpha in (0.75, 1.0, 4 / 3, 1.5, 2.0):
            f = np.column_stack([x, x**2, x**3]) @ rng.normal(size=3)
            density = density_on_cells(balls(f), balls(mu), alpha).density
            mass = 1.0 if weighed else float(mu @ np.where(density.mid > 0.0, density.mid, 1.0) ** (2.0 - alpha))
            for psi, phi in ((x, x), (x**2, x), (np.cos(x), x**3)):
                moved = escort_covariance(density, mu, psi[:, None], phi[:, None], order(alpha))[0, 0]
                claimed = derivative(*map(balls, (f, mu, psi, phi)), alpha)
                yield equals(moved / mass, claimed, scale=1, part="cells", alpha=alpha)
    for law, dim in quadratics(run):
        case = {"d": dim, "alpha": law.alpha}
        det = eliminated(law.scatter, law.mean)[0]
        (b, level), power = printed(dim, law.alpha, det), ball(2 - Fraction(order(law.alpha)))
        mass, covariance = law.enclosed().escort()
        if law.alpha == 2.0 and dim == 1:  # length of the support times the variance of the uniform law on it
            reach = (np.sqrt(2 * level) if weighed else ball(1)) * np.sqrt(ball(det))
            yield equals(2 * reach**3 / 3, ball(det), part="parabola", **case)
        yield equals(mass, integrated(dim, b, level, det, order=power), part="mass", **case)
        second = integrated(dim, b, level, det, power=2, order=power) / dim
        yield equals(second if weighed else hull(second) / mass, 1, part="integral", **case)
        product = mass * covariance if order(1.5) == 1.5 else law.enclosed().covariance()
        size = float(np.abs(law.scatter).max())  # the mean is Sigma times the linear coefficient of the score
        yield equals(product if weighed else covariance, law.scatter, scale=size, part="mean", **case)


def gentle(run):
    """Scores and a direction of atoms on which every density lives, also a step of 0.1 along the direction."""
    for rng in run.draws(quick=2, paper=20):
        for alpha in (0.5, 1.0, 4 / 3, 1.5, 2.0, 3.0):
            f = rng.uniform(-0.3, 0.3, size=8) / max(1.0, alpha - 1.0)
            yield alpha, f, rng.uniform(-1.0, 1.0, size=8) / max(1.0, alpha - 1.0), rng.dirichlet(np.full(8, 3.0))


def along(f, phi, h):
    """The scores moved by a step; balls."""
    return balls(f) + balls(phi) * ball(h)


def slope(values):
    """The limit of central differences at zero."""
    return limit([(values[h] - values[-h]) / (2 * h) for h in STEPS[:5]], order=2)


def exact_density(f, mu, alpha):
    """The density from its definition; balls."""
    return density_below(balls(f), exact(balls(f), balls(mu), alpha), alpha)


def weighed_mean(f, phi, mu, alpha, power):
    """The mean of the statistic under the density to a power, normalised; ball."""
    q = balls(mu) * powers(exact_density(f, mu, alpha), ball(power(alpha)))
    return (q * balls(phi)).sum() / q.sum()


@verifies(
    Claim(
        "density.normaliser",
        "the gradient of the normaliser is the escort mean, and the mean only for softmax",
        r"$f = \langle\vartheta, \phi\rangle$, $p = [(\alpha-1)(f-A)]_+^{1/(\alpha-1)}$: $\nabla A = \int p^{2-\alpha}\phi\,/\int p^{2-\alpha}$",
        assumptions=("no score on the edge of the support",),
        spec=("RA.F5",),
        cites=SOURCES,
        source_status=("recalled", "refereed"),
    ),
    constant("mean", "the gradient is the mean, as for softmax", power=lambda _: 1.0),
    bug("usual", "the escort is the power alpha instead of 2 - alpha", power=lambda alpha: alpha),
    hypothesis("uniform", "the mean is uniform on the support, which it is at order 2 alone", power=lambda _: 0.0),
)
def test_normaliser(run, *, power=lambda alpha: 2.0 - alpha):
    for alpha, f, phi, mu in gentle(run):
        found = {h: density_on_cells(along(f, phi, h), balls(mu), alpha).normaliser for h in STEPS}
        yield equals(slope(found), weighed_mean(f, phi, mu, alpha, power), scale=1, alpha=alpha)


@verifies(
    Claim(
        "density.conjugate",
        "the largest mean score plus entropy is a known function of density and normaliser, and its gradient is the mean",
        r"$\Omega_\alpha^*(f) = (1-\frac1\alpha)\mathbb E_pf + \frac A\alpha + \frac1{\alpha(\alpha-1)}$ and $\nabla_\vartheta\Omega_\alpha^*(\langle\vartheta, \phi\rangle) = \mathbb E_p\phi$",
        assumptions=("no score on the edge of the support",),
        spec=("RA.F5",),
        cites=SOURCES,
        source_status=("recalled", "refereed"),
    ),
    constant("escort", "its gradient is the escort mean, as that of the normaliser", power=lambda alpha: 2.0 - alpha),
    bug("normaliser", "the normaliser stands for the conjugate", share=lambda _: 0.0),
    hypothesis("order", "the relation of density and normaliser is that of order 2", share=lambda _: 0.5),
)
def test_conjugate(run, *, power=lambda _: 1.0, share=lambda alpha: 1.0 - 1.0 / alpha):
    def value(h, alpha, f, phi, mu):
        normaliser = density_on_cells(along(f, phi, h), balls(mu), alpha).normaliser
        if not np.isfinite(normaliser.width):
            return normaliser
        around = ball(normaliser.lo).union(ball(normaliser.hi))
        density = density_below(along(f, phi, h), around, alpha)
        mean = hull((balls(mu) * density * along(f, phi, h)).sum())
        return share(alpha) * mean + (1.0 - share(alpha)) * normaliser

    for case in gentle(run):
        alpha, f, phi, mu = case
        truth = objective(balls(f), balls(mu), exact_density(f, mu, alpha), alpha)
        yield equals(value(0.0, *case), truth, scale=1, part="value", alpha=alpha)
        measured = slope({h: value(h, *case) for h in STEPS})
        yield equals(measured, weighed_mean(f, phi, mu, alpha, power), scale=1, part="gradient", alpha=alpha)
