"""Densities on cells: the best one against any measure, its derivatives, its normaliser, and what a grid costs."""

from fractions import Fraction

import flint
import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    order,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.maxent import frank_wolfe_gap, studies
from theory.maxent.densities import density_on_cells
from verify.maxent.test_continuous_attention import SOURCES, objective, pi, powers
from verify.textbook import balls, log

SCORES = {
    "quartic": lambda x: -(x**4),
    "absolute": lambda x: -np.abs(x),
    "two humps": lambda x: np.cos(3.0 * x) - x**2 / 8.0,
}


def deformed(p, alpha):
    """The deformed logarithm of densities, and its limit -1 / (alpha - 1) where they vanish; balls."""
    e = ball(Fraction(alpha) - 1)
    return log(p) if alpha == 1.0 else (powers(p, e) - 1) / e


def known(values):
    """The balls around enclosures."""
    return np.array([ball(value.lo).union(ball(value.hi)) for value in values])


def bregman(mu, q, p, alpha):
    """The Bregman divergence of minus the entropy between densities on cells; ball."""
    order = ball(alpha)
    if alpha == 1.0:
        return (mu * (q * log(q / p) - q + p)).sum()
    return (mu * ((powers(q, order) - powers(p, order)) / order - powers(p, order - 1) * (q - p))).sum() / (order - 1)


def problems(run):
    """Scores and measures: three shapes on a grid, and atoms of any mass."""
    x = np.linspace(-3.0, 3.0, 41)
    for name, score in SCORES.items():
        yield name, score(x), np.full(x.size, 0.15)
    for rng in run.draws(quick=2, paper=30):
        yield "atoms", rng.normal(size=9), rng.uniform(0.01, 3.0, size=9)


def on_the_line(power, alpha):
    """The normaliser of -|x|^k / k on the line by its mass equation, and where the density ends; balls."""
    e = ball(Fraction(alpha) - 1)
    b = 1 / e
    shape = integral_over(lambda u: sum(((1 - u) ** j for j in range(1, power)), 1 + 0 * u) ** b, 0, 1, exponent=b)
    end = (2 * (e / power) ** b * shape) ** (-1 / (power * b + 1))
    return 1 / e - end**power / power, end


@verifies(
    Claim(
        "density.maximiser",
        "the deformed exponential of any score, normalised, is the density of largest mean score plus entropy",
        r"$p = \exp_\alpha(f - N)$ with $\int p\,d\mu = 1$ maximises $\int pf\,d\mu + H_\alpha(p)$ for every measure $\mu$ and $\alpha > 0$; a density $q$ misses it by at least $B_{-H_\alpha}(q, p)$, exactly if it lives on the support of $p$",
        assumptions=("a normaliser exists", "finite mean score and entropy"),
        spec=("RA.F1",),
        cites=SOURCES,
        source_status=("seen", "recalled", "refereed on paper"),
    ),
    constant("double", "other densities miss it by twice the divergence", factor=2),
    bug("unweighted", "entmax of the scores, without the masses of the cells, is spread over them", weighted=False),
    hypothesis("shannon", "the normalised exponential is best for every entropy", used=lambda _: 1.0),
)
def test_maximiser(run, *, factor=1, weighted=True, used=lambda alpha: alpha):
    for (name, f, mu), rng in zip(problems(run), run.streams(100), strict=False):
        for alpha in (0.5, 1.0, 4 / 3, 2.0, 3.0):
            case = {"score": name, "alpha": alpha}
            found = density_on_cells(balls(f), balls(mu if weighted else np.ones(f.size)), used(alpha)).density
            p = found.mid if weighted else found.mid / mu
            densities = known(found) if weighted else known(found) / balls(mu)
            slope = hull(balls(f) - deformed(densities, alpha), found.kind)
            yield equals(frank_wolfe_gap(slope, exact(mu * p)), 0, scale=1, part="gap", **case)
            top = objective(balls(f), balls(mu), densities, alpha)
            within = p * rng.uniform(0.5, 1.5, size=f.size)
            anywhere = rng.dirichlet(np.ones(f.size)) / mu
            for part, rival in (("on the support", within), ("anywhere", anywhere)):
                q = balls(rival) / (balls(mu) * balls(rival)).sum()
                short = hull(top - objective(balls(f), balls(mu), q, alpha), found.kind)
                gap = bregman(balls(mu), q, densities, alpha) * factor
                yield (equals if rival is within else at_least)(short, gap, scale=1, part=part, **case)
    # twelve of Gauss' nodes are exact for the polynomials that the integer powers are
    gauss = [flint.arb.legendre_p_root(12, k, weight=True) for k in range(12)]
    nodes, weights = (np.array(column, dtype=object) for column in zip(*gauss, strict=True))
    for power in (1, 2, 4):
        for alpha in (4 / 3, 1.5, 2.0):
            claimed, end = on_the_line(power, alpha)
            f = -((end * (1 + nodes) / 2) ** power) / power
            mu = end * weights
            found = density_on_cells(f, mu, used(alpha)).normaliser
            yield equals(found, claimed, scale=1, part="line", power=power, alpha=alpha)


@verifies(
    Claim(
        "density.discretised",
        "a grid errs in mass by a power 1 + b of its step, and in density, anywhere, by the power min(1, b)(1 + b)",
        r"$h\sum_i p(x_i) - 1 = O(h^{1+b})$, and $\sup_x|p_h(x) - p(x)| = O(h^{\min(1,b)(1+b)})$ for the density found from the cells, both attained over phases and widths, $b = \frac1{\alpha-1}$",
        assumptions=(
            "quadratic score",
            r"$\alpha \in \{\frac43, \frac32, 2, 3\}$",
            "cells of mass $h$",
            "no node on an edge",
        ),
        spec=("RA.F6",),
        cites=(*SOURCES, "sidi2004"),
        source_status=("derived", "refereed"),
    ),
    constant("second", "the error is of second order, as for smooth functions", mass=lambda _: 2.0),
    constant("as-mass", "the density errs like the mass also for b < 1", sup=lambda b: 1.0 + b),
    hypothesis("unweighted", "the cells have mass one: entmax of the scores, divided by the step", part="plain"),
)
def test_discretised(run, *, mass=lambda b: 1.0 + b, sup=lambda b: min(1.0, b) * (1.0 + b), part="sup"):
    table = run.study(studies.densities)
    for alpha in studies.NAMED:
        b = 1.0 / (alpha - 1.0)
        for name, claimed in (("mass", mass), (part, sup)):
            rows = table.where(part=name, alpha=alpha)
            seen = order(rows.intervals("value")[-5:])
            yield equals(seen, claimed(b), scale=1, part=name, alpha=alpha, finest=float(rows["at"].min()))
        errors = table.where(part=part, alpha=alpha).intervals("value")
        yield at_most(errors[-1], errors[0] / 16, part="finest beside coarsest", alpha=alpha)


@verifies(
    Claim(
        "density.spectral",
        "the Gaussian's grid errs by what Poisson's summation says, far below rounding from a step of 0.4 on",
        r"$\max_s\big|h\sum_i p(h(i+s)) - 1\big| = 2\sum_{k\geq1}e^{-2\pi^2k^2/h^2}$ for the standard normal density $p$",
        assumptions=("order one", "unit variance"),
        spec=("RA.F6",),
        cites=(*SOURCES, "trefethen2014"),
        source_status=("derived", "refereed"),
    ),
    constant("half", "the exponent is pi squared over the square of the step", factor=1),
    bug("one-sided", "the waves of one sign are counted only", sides=1),
    hypothesis("wider", "the variance is two", variance=2),
)
def test_spectral(run, *, factor=2, sides=2, variance=1):
    table = run.study(studies.densities).where(part="mass", alpha=1.0)
    for h, error in zip(table["at"].tolist(), table.intervals("value"), strict=True):
        waves = [(-factor * variance * (pi() * k / ball(h)) ** 2).exp() for k in range(1, 9)]
        claimed = sides * sum(waves[1:], waves[0])
        yield equals(error, claimed, scale=claimed if h >= 1.0 else 1, step=h)
