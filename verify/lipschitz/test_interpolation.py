"""Between W1 and W-infinity: constants in W_p, and the cloud that strains W2 most."""

import math
from functools import partial

import numpy as np

from theory import Measure
from theory.attention import AttentionKernel, DotProduct
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    sup_over,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import response, response_ratio, studies, witnesses, wp_line, wp_tokens
from theory.lipschitz.constants import interpolated_constant
from theory.lipschitz.studies import METRICS
from verify.inputs import FLOOR, draw_cloud, draw_layer, push_within

SOURCES = ("vuckovic2020", "castin2024")
REFEREED = ("derived", "refereed")
ORDERS = (1.0, 1.25, 2.0, 3.0, math.inf)
PRINTED = {  # alpha: the answer of the straining cloud, its mass
    0.25: ("0.817844", "0.2939"),
    0.5: ("1.29787", "0.1712"),
    1.0: ("2.9926", "0.05910"),
    2.0: ("12.8754", "0.007329"),
    3.0: ("47.9815", "0.0009431"),
}


def between(a, p, exponent=1.0, weak=1.0):
    """C_p as it is printed, of a ball or an interval: for twins with another exponent."""
    x = 1 / ball(p) if math.isfinite(p) else ball(0)
    spread = ball(2) ** (2 * x - 1) if p < 2.0 else 1
    return np.exp(2 * exponent * x * a) * (1 + spread * a) + weak * a


def schur_of(a, p):
    """The constant that Schur's test gives, of a ball or an interval."""
    x = 1 / ball(p) if math.isfinite(p) else ball(0)
    return np.exp(2 * x * a) * (1 + 2 * a)


@verifies(
    Claim(
        "lipschitz.interpolated",
        "attention on a ball is Lipschitz in every W_p, with the exponent two alpha over p",
        r"$W_p(T\mu, T\nu) \le \|V\|\,C_p\,W_p(\mu, \nu)$, $C_p = e^{2\alpha/p}(1 + 2^{(2/p - 1)_+}\alpha) + \alpha$, and with $e^{2\alpha/p}(1 + 2\alpha)$ in its place, by Schur's test between $1 + 2\alpha$ and $e^{2\alpha}(1 + 2\alpha)$, which is no smaller for $p \ge 2$ and smaller at $p = 1$; $1 \le p \le \infty$",
        assumptions=("scores x'By, no mask", "tokens in a ball of radius R"),
        spec=("MA.L8",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("max-norm", "the constant in W2 is 1 + 2 alpha, as in W-infinity", exponent=0.0),
    constant("slower", "the exponent is alpha over p", exponent=0.5),
    hypothesis("outside", "the straining cloud lies in the ball of twice the radius", reach=2.0),
    constant("tenth", "the constant of Schur's test is a tenth smaller than it is", share=0.9),
    bug("first-token", "distances after the layer are those of the first token, times the number", other=False),
)
def test_interpolated(run, *, exponent=1.0, reach=1.0, other=True, share=1.0):
    for rng in run.draws(quick=8, paper=80):
        d = int(rng.integers(1, 4))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        n = int(rng.integers(2, 6))
        form, value = draw_layer(rng, d, radius)
        value *= 10.0 ** rng.uniform(-3.0, 3.0)
        x = draw_cloud(rng, n, d, radius)
        y = push_within(rng, x, radius) if rng.uniform() < 0.8 else draw_cloud(rng, n, d, radius)
        weights = rng.dirichlet(np.full(n, 0.4)) + 1e-12
        pair = [Measure.normalised(z, weights) if d == 1 else Measure(z) for z in (x, y)]
        images = [AttentionKernel(DotProduct(form=form), mu, value).push(mu.enclosed()) for mu in pair]
        alpha = spectral_norm(form) * exact(radius) ** 2
        size = spectral_norm(value)
        for p in ORDERS:
            if d == 1:
                before, after = wp_line(*pair, p), wp_line(*images, p)
            else:
                before = wp_tokens(x, y, p)
                after = wp_tokens(*(image.points for image in images), p)
            if before.lo < FLOOR * radius:
                continue
            case = {"d": d, "n": n, "alpha": alpha.mid, "p": p}
            yield at_most(after, size * between(alpha, p, exponent) * before, **case)
            yield at_most(after, share * size * schur_of(alpha, p) * before, part="Schur", **case)
    table = run.study(studies.tightness)
    for metric, p in METRICS.items():
        part = table.where(metric=metric)
        for alpha, way, stretch in zip(part["alpha"].tolist(), part["way"].tolist(), part["stretch"], strict=True):
            yield at_most(stretch, between(ball(alpha), p, exponent), alpha=alpha, p=p, way=way)
            yield at_most(stretch, share * schur_of(ball(alpha), p), alpha=alpha, p=p, way=way, part="Schur")
    for alpha in PRINTED:
        push = witnesses.far_atom(alpha, witnesses.straining_mass(alpha))
        wide = push._replace(points=reach * push.points)
        for p in ORDERS:
            claimed, true, schur = (f(ball(alpha), p) for f in (partial(between, exponent=exponent), between, schur_of))
            measured = response_ratio(wide, p) if other else 2.0 * response_ratio(wide, 1.0)
            yield at_most(measured, claimed, alpha=alpha, p=p, way="straining")
            yield equals(interpolated_constant(exact(alpha), p), claimed, alpha=alpha, p=p, part="constant")
            if p >= 2.0:
                yield at_most(true, share * schur, alpha=alpha, p=p, part="no smaller")
            elif p == 1.0:
                yield at_least(claimed, schur, alpha=alpha, p=p, part="smaller")


@verifies(
    Claim(
        "lipschitz.straining",
        "one light atom strains W2 by the exponential of alpha, with a best mass in closed form",
        r"$(1 - \epsilon)\delta_R + \epsilon\delta_{-R}$, $B = -\alpha/R^2$: the heavy atom answers by $\max_\epsilon = e^\alpha\sqrt{q(1 - q)}(1 + 2\alpha q)$ in $W_2$, where $8\alpha q^2 = (6\alpha - 2)q + 1$",
        assumptions=("one dimension", "the answer of the atom that is pushed is left out"),
        spec=("MA.L8",),
        cites=("castin2024",),
        source_status=REFEREED,
    ),
    constant("near", "the largest answer is five per cent less", share=0.95),
    hypothesis("other-mass", "the mass is half as large", mass=0.5),
    bug("density", "the weight of the light atom is its mass", tilted=False),
)
def test_straining(run, *, share=1.0, mass=1.0, tilted=True):
    def answer(alpha, epsilon):
        push = witnesses.far_atom(alpha, epsilon if tilted else epsilon * math.exp(-2.0 * alpha))
        radius = 2.0**-7 if alpha < 1.0 else 2.0**9  # any one serves
        push = push._replace(points=radius * push.points, form=push.form / radius**2)
        odds = ball(push.masses[0]) / ball(push.masses[1])
        return hull(abs(response(push)[0, 0]) * odds.sqrt())

    for alpha, (printed, light) in PRINTED.items():
        epsilon = mass * witnesses.straining_mass(alpha)
        a = ball(alpha)
        q = (6 * a - 2 + ((6 * a - 2) ** 2 + 32 * a).sqrt()) / (16 * a)
        largest = share * hull(a.exp() * (q * (1 - q)).sqrt() * (1 + 2 * a * q))
        yield equals(answer(alpha, epsilon), largest, alpha=alpha)
        yield equals(answer(alpha, epsilon), Interval.printed(printed), alpha=alpha, part="printed")
        told = mass * witnesses.straining_mass(exact(alpha))
        yield equals(told, Interval.printed(light), alpha=alpha, part="mass")
        top = sup_over(f"exp(2*{alpha})*q*(1 - q)*(1 + 2*{alpha}*q)**2", tolerance=2e-4, q=(0, 1))
        yield at_most(top, largest**2, alpha=alpha, part="all masses, squared")
        for factor in (0.25, 0.5, 0.9, 1.1, 2.0):
            yield at_most(answer(alpha, factor * epsilon), largest, alpha=alpha, part="other masses")
