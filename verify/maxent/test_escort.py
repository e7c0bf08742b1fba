"""How a density on cells moves with its score: escort covariances, and the gradients of normaliser and conjugate."""

import math
from fractions import Fraction

import numpy as np

from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import U, gamma
from theory.maxent import BetaGaussian, density_on_cells, escort_covariance
from verify.maxent.quadratic_scores import (
    DIMENSIONS,
    SOURCES,
    density_below,
    eliminated,
    integrated,
    known,
    objective,
    powers,
    printed,
    scatters,
    slack,
)
from verify.textbook import balls, exp, hull

STEPS = (0.1, 0.05, 0.025, 0.0125, 0.00625, -0.1, -0.05, -0.025, -0.0125, -0.00625)


def exact(f, mu, alpha):
    """The normaliser by bisection of the mass, and the bases 1 + e (f - N) on the support; balls."""
    e = Fraction(alpha) - 1
    top = Fraction(float(max(f, key=lambda ball: float(ball.mid())).mid()))
    low, high = top - (50 if e >= 0 else Fraction(999, 1000) / -e), top + (1 / e if e > 0 else 50)
    for _ in range(110):
        middle = (low + high) / 2
        at = f - ball(middle)
        p = exp(at) if e == 0 else powers(1 + ball(e) * at, ball(1 / e))
        low, high = (middle, high) if (mu * p).sum() > 1 else (low, middle)
    return ball(low).union(ball(high))


def derivative(f, mu, psi, phi, alpha):
    """The derivative of the mean of psi along f + t phi, as the linear term of the definition; balls, no escort in it."""
    normaliser, e, t = exact(f, mu, alpha), ball(Fraction(alpha) - 1), variable(2)
    inside = np.array([alpha <= 1.0 or bool(1 + e * (s - normaliser) > 0) for s in f])
    f, mu, psi, phi = f[inside], mu[inside], psi[inside], phi[inside]

    def linear(way):
        path = f - normaliser + way * t
        p = exp(path) if alpha == 1.0 else np.frompyfunc(lambda x: (1 + e * x) ** (1 / e), 1, 1)(path)
        return np.array([coefficient(x, 1) for x in p], dtype=object)

    ones = balls(np.ones(f.size))
    moved = linear(phi) - linear(ones) * ((mu * linear(phi)).sum() / (mu * linear(ones)).sum())
    return (mu * psi * moved).sum()


def rounded(found, f, mu, psi, phi, alpha):
    """Bound the error of an escort covariance: that of its bases, through two powers, and of two sums."""
    p, e = found.density, alpha - 1.0
    p = np.where(p > 0.0, p, 1.0)
    base = 16 * U * (1.0 + abs(e) * np.abs(f - found.normaliser))
    p_error = p ** (2.0 - alpha) * base / abs(e or 1.0) + 32 * U * p * (1.0 + np.abs(f - found.normaliser))
    q = np.where(found.density > 0.0, p ** (2.0 - alpha), 0.0)
    q_error = np.where(q > 0.0, abs(2.0 - alpha) * p ** (1.0 - alpha) * p_error, 0.0) + 16 * U * q
    spread = np.ptp(psi) * np.ptp(phi)
    return float(4.0 * (mu * q_error).sum() * spread + gamma(4 * f.size + 16) * (mu * q).sum() * spread)


def usual(alpha):
    """The order of which the covariance is that of p^alpha, the usual escort, as far as there is one."""
    return 2.0 - alpha if alpha < 2.0 else alpha


@verifies(
    Claim(
        "density.escort",
        "expectations move with the score by the covariance under the power 2 - alpha of the density",
        r"$f = \langle\vartheta, \phi\rangle$: $\partial_\vartheta\mathbb E_p\psi = \int q\psi\phi - \frac{\int q\psi\int q\phi}{\int q}$, $q = p^{2-\alpha}$ on the support; for a quadratic score $\int q \cdot \mathrm{Cov}_{q/\int q} = \Sigma$",
        assumptions=("no score on the edge of the support",),
        spec=("RA.F4",),
        cites=SOURCES,
        provenance=("seen", "recalled", "refereed"),
    ),
    bug("ordinary", "the ordinary covariance stands for it, as for softmax", order=lambda _: 1.0),
    constant("usual", "the escort is the power alpha instead of 2 - alpha", order=usual),
    bug("normalised", "the covariance of the normalised escort, without its mass", weighed=False),
)
def test_escort(run, *, order=lambda alpha: alpha, weighed=True):
    for rng in run.draws(quick=2, paper=15):
        x, mu = np.sort(rng.uniform(-1.5, 1.5, size=9)), rng.uniform(0.05, 0.5, size=9)
        for alpha in (0.75, 1.0, 4 / 3, 1.5, 2.0):
            f = np.column_stack([x, x**2, x**3]) @ rng.normal(size=3)
            found = density_on_cells(f, mu, alpha)
            mass = 1.0 if weighed else float(mu @ np.where(found.density > 0.0, found.density, 1.0) ** (2.0 - alpha))
            for psi, phi in ((x, x), (x**2, x), (np.cos(x), x**3)):
                moved = escort_covariance(found.density, mu, psi[:, None], phi[:, None], order(alpha)).item() / mass
                error = rounded(found, f, mu, psi, phi, alpha) / mass
                claimed = hull(derivative(*map(balls, (f, mu, psi, phi)), alpha))
                yield equals(Interval.within(moved, error), claimed, scale=1, part="cells", alpha=alpha)
    cases = [(BetaGaussian([0.0], [[1.0]], 2.0), 1)]
    for dim, rng in zip(DIMENSIONS, run.streams(4), strict=True):
        cases += [
            (BetaGaussian(np.zeros(dim), scatters(rng, dim)[1], alpha), dim)
            for alpha in (1.1, 4 / 3, 1.5, 2.0, 3.0, 6.0)
        ]
    for law, dim in cases:
        case, det = {"d": dim, "alpha": law.alpha}, eliminated(law.scatter, law.mean)[0]
        rise = 2.0 * abs(law.alpha - 1.0) * slack(law)[1] + 32 * U
        (b, level), power = printed(dim, law.alpha, det), ball(2 - Fraction(order(law.alpha)))
        mass, covariance = law.escort()
        if law.alpha == 2.0 and dim == 1:  # length of the support times the variance of the uniform law on it
            scatter = ball(det)
            reach = ((2 * level).sqrt() if weighed else ball(1)) * scatter.sqrt()
            yield equals(hull(2 * reach**3 / 3), hull(scatter), part="parabola", **case)
        yield equals(
            Interval.within(mass, mass * rise), hull(integrated(dim, b, level, det, order=power)), part="mass", **case
        )
        second = hull(integrated(dim, b, level, det, power=2, order=power) / dim)
        yield equals(second if weighed else second / mass, 1, part="integral", **case)
        product = mass * covariance if order(1.5) == 1.5 else law.covariance()
        for (i, j), entry in np.ndenumerate(product if weighed else covariance):
            size = float(np.abs(law.scatter).max())  # the mean is Sigma times the linear coefficient of the score
            yield equals(
                Interval.within(entry, abs(entry) * rise), float(law.scatter[i, j]), scale=size, part="mean", **case
            )


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
        provenance=("recalled", "refereed"),
    ),
    constant("mean", "the gradient is the mean, as for softmax", power=lambda _: 1.0),
    bug("usual", "the escort is the power alpha instead of 2 - alpha", power=lambda alpha: alpha),
    hypothesis("uniform", "the mean is uniform on the support, which it is at order 2 alone", power=lambda _: 0.0),
)
def test_normaliser(run, *, power=lambda alpha: 2.0 - alpha):
    for alpha, f, phi, mu in gentle(run):
        found = {
            h: known(density_on_cells(f + h * phi, mu, alpha).normaliser, along(f, phi, h), balls(mu), alpha)
            for h in STEPS
        }
        yield equals(slope(found), hull(weighed_mean(f, phi, mu, alpha, power)), scale=1, alpha=alpha)


@verifies(
    Claim(
        "density.conjugate",
        "the largest mean score plus entropy is a known function of density and normaliser, and its gradient is the mean",
        r"$\Omega_\alpha^*(f) = (1-\frac1\alpha)\mathbb E_pf + \frac A\alpha + \frac1{\alpha(\alpha-1)}$ and $\nabla_\vartheta\Omega_\alpha^*(\langle\vartheta, \phi\rangle) = \mathbb E_p\phi$",
        assumptions=("no score on the edge of the support",),
        spec=("RA.F5",),
        cites=SOURCES,
        provenance=("recalled", "refereed"),
    ),
    constant("escort", "its gradient is the escort mean, as that of the normaliser", power=lambda alpha: 2.0 - alpha),
    bug("normaliser", "the normaliser stands for the conjugate", share=lambda _: 0.0),
    hypothesis("order", "the relation of density and normaliser is that of order 2", share=lambda _: 0.5),
)
def test_conjugate(run, *, power=lambda _: 1.0, share=lambda alpha: 1.0 - 1.0 / alpha):
    for alpha, f, phi, mu in gentle(run):

        def value(h, alpha=alpha, f=f, phi=phi, mu=mu):
            density, found = density_on_cells(f + h * phi, mu, alpha)
            exact_f, mean = along(f, phi, h), float((mu * density) @ (f + h * phi))
            normaliser = known(found, exact_f, balls(mu), alpha)
            if not math.isfinite(normaliser.width):
                return normaliser
            ends = ball(normaliser.lo).union(ball(normaliser.hi))
            off = (balls(mu) * density_below(exact_f, ends, alpha) * exact_f).sum() - ball(mean)
            return share(alpha) * Interval.within(mean, abs(hull(off)).hi) + (1.0 - share(alpha)) * normaliser

        truth = objective(balls(f), balls(mu), exact_density(f, mu, alpha), alpha)
        yield equals(value(0.0), hull(truth), scale=1, part="value", alpha=alpha)
        measured = slope({h: value(h) for h in STEPS})
        yield equals(measured, hull(weighed_mean(f, phi, mu, alpha, power)), scale=1, part="gradient", alpha=alpha)
