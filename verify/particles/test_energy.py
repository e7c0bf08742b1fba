"""Attention on the sphere climbs an energy: its gradient, its rate, and value matrices for which there is none."""

import numpy as np

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
    hypothesis,
    proportion,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.particles import Interaction, SoftmaxField, Tangential, studies
from theory.particles.studies import enclose_energy_rates
from theory.particles.studies.settings import TURN
from verify.inputs import draw_on_sphere
from verify.textbook import balls, exp, hull

PAPER = ("geshkovski2025",)
SEEN = ("seen", "derived", "refereed")
TILTED = np.array([[1.0, 0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])  # a form that is not symmetric


def clouds(run, *, quick, paper, symmetric=True):
    """Yield tokens, beta, form and masses: two tokens at a right angle and a skewed form first, then random ones."""
    yield np.eye(2), 1.0, None, None
    yield draw_on_sphere(np.random.default_rng(1), 4, 3), 2.0, (TILTED + TILTED.T if symmetric else TILTED), None
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n, d = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        form = rng.normal(size=(d, d))
        masses = rng.dirichlet(np.full(n, 4.0))
        form = (form + form.T) / 2.0 if symmetric else form
        beta = float(rng.uniform(0.3, 4.0))
        yield draw_on_sphere(rng, n, d), beta, form if number % 2 else None, masses if number % 3 else None


class Printed:
    """The definitions in balls: scores, sums, outputs and velocities of tokens that are floats."""

    def __init__(self, x, beta, form, masses):
        n, d = x.shape
        self.x = balls(x)
        self.beta = ball(beta)
        self.form = balls(np.eye(d) if form is None else form)
        self.masses = balls(np.ones(n)) / n if masses is None else balls(masses)

    def energy(self, x):
        """Return the energy of balls, or of power series of them."""
        weights = exp((x @ self.form @ x.T) * self.beta)
        return (weights * np.outer(self.masses, self.masses)).sum() / (2 * self.beta)

    def sums(self):
        """Return Z of every token."""
        return exp((self.x @ self.form @ self.x.T) * self.beta) @ self.masses

    def projected(self, vectors):
        """Return vectors less their part along the tokens."""
        return vectors - (self.x * vectors).sum(axis=1)[:, np.newaxis] * self.x

    def velocity(self, value, *, normalised=True, causal=False):
        """Return the velocities under a value matrix."""
        weights = exp((self.x @ self.form @ self.x.T) * self.beta) * self.masses
        weights = weights * balls(np.tri(len(self.x), dtype=int)) if causal else weights
        mass = weights.sum(axis=1) if normalised else 1
        return self.projected(((weights @ self.x).T / mass).T @ value.T)

    def slope(self, moving):
        """Return the derivative of the energy along velocities, from a power series: no difference is taken."""
        return coefficient(self.energy(self.x + moving * variable(2)), 1)


@verifies(
    Claim(
        "energy.gradient",
        "the velocity of attention, in the metric of its row sums, is the gradient of the interaction energy",
        r"$\nabla_i\mathcal{E} = m_iZ_i\dot x_i$ (SA), $m_i\dot x_i$ (USA), $\mathcal{E} = \frac1{2\beta}\sum_{ij}m_im_je^{\beta x_i^\top Bx_j}$, $Z_i = \sum_jm_je^{\beta x_i^\top Bx_j}$; $m_i = \frac1n$: $\frac1{n^2}$ times the printed $Z_i$",
        assumptions=(r"$B = B^\top = V$", "tokens on the unit sphere, no mask"),
        spec=("FR.F11",),
        cites=PAPER,
        source_status=SEEN,
    ),
    bug("flat", "the gradient of attention is taken in the metric without row sums", weighted=False),
    hypothesis("form", "the form of the scores is not symmetric", symmetric=False),
    hypothesis("causal", "the attention has a causal mask", causal=True),
    constant("mass", "the factor is Z, without the mass of the token", power=0),
)
def test_gradient(run, *, weighted=True, symmetric=True, causal=False, power=1):
    for x, beta, form, masses in clouds(run, quick=4, paper=60, symmetric=symmetric):
        law = Interaction(beta, form=form, weights=masses)
        printed = Printed(x, beta, form, masses)
        n, d = x.shape
        euclidean = np.empty((n, d), dtype=object)
        for at in np.ndindex(n, d):
            way = np.zeros((n, d))
            way[at] = 1.0
            euclidean[at] = printed.slope(balls(way))
        claimed = printed.projected(euclidean)
        m = law.metric(exact(x), normalised=False)
        for name in ("SA", "USA"):
            normalised = name == "SA"
            metric = law.metric(exact(x), normalised=normalised and weighted) * m ** (power - 1)
            moving = law.velocity(exact(x), normalised=normalised)
            if causal and normalised:
                moving = Tangential(SoftmaxField(law.score, value=form, weights=masses, causal=True))(exact(x))
            size = metric.max() * np.maximum(abs(moving).max(), 1.0)
            yield equals(metric[:, np.newaxis] * moving, claimed, scale=size, field=name, n=n, d=d)


@verifies(
    Claim(
        "energy.dissipation",
        "the energy grows by the squared velocities, each weighted by its mass and, for attention, by its row sum",
        r"$\dot{\mathcal{E}} = \sum_im_iZ_i|\dot x_i|^2$ (SA), $\sum_im_i|\dot x_i|^2$ (USA); two tokens at a right angle, $\beta = 1$: $\frac1{2(e + 1)}$ (SA), $\frac14$ (USA)",
        assumptions=(r"$B = B^\top = V$", "tokens on the unit sphere, no mask"),
        spec=("FR.F11",),
        cites=PAPER,
        source_status=SEEN,
    ),
    bug("flat", "attention has the weights of the unnormalised field", weighted=False),
    hypothesis("value", "the value matrix is a rotation while the form is the identity", turned=True),
    hypothesis("causal", "the attention has a causal mask", causal=True),
    constant("half", "the energy has the factor 1 / beta", factor=2),
)
def test_dissipation(run, *, weighted=True, turned=False, causal=False, factor=1):
    one = ball(1)
    for name, claimed in (("SA", 1 / (2 * (one.exp() + 1))), ("USA", one / 4)):
        measured = Interaction(1.0).dissipation(np.eye(2), normalised=name == "SA")
        if name == "SA" and not weighted:
            measured = flat(Interaction(1.0), np.eye(2))
        yield equals(measured, hull(claimed * factor), field=name, input="right angle")
    for x, beta, form, masses in clouds(run, quick=10, paper=150):
        law = Interaction(beta, form=form, weights=masses)
        printed = Printed(x, beta, form, masses)
        value = balls(TURN) if turned and x.shape[1] == 3 else printed.form
        for name in ("SA", "USA"):
            normalised = name == "SA"
            measured = law.dissipation(x, normalised=normalised) if weighted or not normalised else flat(law, x)
            moving = printed.velocity(value, normalised=normalised, causal=causal and normalised)
            # <v, v> = <y, v> - <x, y>^2 (1 - |x|^2) for v = y - <x, y> x, and tokens are unit vectors up to rounding
            along = (printed.x * printed.x).sum(axis=1) - 1
            top = printed.sums() ** 2 * (printed.form**2).sum() * printed.masses
            slack = hull((top * abs(along) * (1 + 1 / printed.sums())).sum()).hi
            claimed = hull(printed.slope(moving) * factor) + Interval(-slack, slack)
            yield equals(measured, claimed, scale=max(1.0, measured.hi), field=name, n=x.shape[0], d=x.shape[1])


def flat(law, x):
    """The squared velocities of attention under the masses alone, as for the unnormalised field."""
    return law.metric(exact(x), normalised=False) @ (law.velocity(exact(x)) ** 2).sum(axis=1)


@verifies(
    Claim(
        "energy.climb",
        "along true runs the energy never falls, grows by exactly what the velocities say, and stays below that of consensus",
        r"$\mathcal{E}(t) - \mathcal{E}(0) = \int_0^t\sum_im_iZ_i|\dot x_i|^2\,ds \ge 0$ (SA), without $Z_i$ (USA); $\mathcal{E} \le \frac{e^{\beta\|B\|}}{2\beta}$",
        assumptions=(r"$B = B^\top = V$", "tokens on the unit sphere, no mask, total mass one"),
        spec=("FR.F11",),
        cites=PAPER,
        source_status=SEEN,
    ),
    bug("flat", "the squared velocities of attention are not weighted by row sums", column="unweighted"),
    hypothesis("value", "the value matrix is a rotation while the form is the identity", runs=("SA", "USA", "turned")),
    hypothesis("causal", "the attention has a causal mask", runs=("SA", "USA", "causal")),
    constant("top", "consensus has half of that energy", height=0.5),
    constant("falls", "the energy never grows", way=-1),
)
def test_climb(run, *, column="climbed", runs=("SA", "USA", "form"), height=1.0, way=1):
    table = run.study(studies.dissipation)
    beta = run.pick(quick=3.0, paper=5.0)
    top = hull(ball(beta).exp() / (2 * ball(beta)))
    for name in runs:
        part = table.where(run=name)
        energies = part.intervals("energy")
        climbed = part.intervals("climbed" if name == "USA" else column)
        for t, before, after in zip(part["time"][1:].tolist(), energies, energies[1:], strict=False):
            yield at_least(way * (after - before), 0, scale=top, run=name, t=t, part="monotone")
        for t, energy, sum_ in zip(part["time"].tolist(), energies, climbed, strict=True):
            yield equals(energy - energies[0], sum_, scale=top, run=name, t=t, part="integral")
            yield at_most(energy, height * top, scale=top, run=name, t=t, part="consensus")


@verifies(
    Claim(
        "energy.value",
        "for a value matrix of its own the energy is no Lyapunov function: it falls for exactly half of all matrices",
        r"$\frac{d}{dt}\sum_{ij}e^{x_i^\top Ax_j}$ along $\dot x_i = P^\perp_{x_i}V\sum_jP_{ij}x_j$ is linear in $V$: of $V$ and $-V$ one lowers it, and a symmetric law of $V$ does with probability $\frac12$; never if $V = A = A^\top$",
        assumptions=("tokens on the unit sphere", "a rate that is not zero"),
        spec=("FR.F11",),
        cites=(),
        source_status=("derived",),
    ),
    constant("printed", "the probability is 0.53", share=0.53),
    constant("always", "the energy never falls", share=0.0),
    bug("even", "V and -V have the same rate", odd=-1),
    hypothesis("asymmetric", "the value matrix equals a form that is not symmetric", skew=True),
    bug("transposed", "the value matrix acts from the other side", acting=np.transpose),
)
def test_value(run, *, share=0.5, odd=1, skew=False, acting=np.asarray):
    table = run.study(studies.values)
    free = table.where(value="free")
    own = table.where(value="skew" if skew else "form")
    hits, unclear, draws = (int(free[key][0]) for key in ("falling", "unclear", "draws"))
    low, high = proportion(hits, draws), proportion(hits + unclear, draws)
    yield equals(Interval(low.lo, high.hi, low.kind), share, scale=1, part="free")
    yield at_most(int(own["falling"][0]), 0, scale=int(own["draws"][0]), part="symmetric")
    for rng in run.draws(quick=6, paper=60):
        x = draw_on_sphere(rng, 4, 3)[np.newaxis]
        a, v = rng.normal(size=(2, 1, 3, 3))
        up, down = enclose_energy_rates(x, a, v), enclose_energy_rates(x, a, -v)
        size = abs(up.mid)
        yield equals(up + odd * down, 0, scale=size, part="sign")
        # the rate itself, as a power series of balls
        moving = Printed(x[0], 1.0, a[0], None).velocity(balls(acting(v[0])))
        line = balls(x[0]) + moving * variable(2)
        slope = coefficient(exp(line @ balls(a[0]) @ line.T).sum(), 1)
        yield equals(up, slope, scale=size, part="rate")
