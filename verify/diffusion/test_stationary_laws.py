"""What layers with the same weights leave alone: balance, the square of the density, and the spectrum of the limit."""

from fractions import Fraction
from functools import cache

import numpy as np
from flint import acb, arb

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion import TokenLayer, studies
from theory.diffusion.layers import equidistant_layer, stationary_law, stationary_means
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import (
    Claim,
    Interval,
    Intervals,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.once import once
from verify.textbook import balls

RUAN = ("ruan2024", "coifman2006")
DERIVED = ("derived", "refereed")
MODES = {0: acb(1), 1: acb(ball("0.3")), 2: acb(0, ball("-0.15"))}  # of 2 pi p = 1 + 0.6 cos x + 0.3 sin 2x
TESTS = {1: "cosine", 2: "sine", 3: "sine"}  # the means, by frequency


def density(x):
    """The density of which the Fourier coefficients are MODES, per 2 pi."""
    return 1.0 + 0.6 * np.cos(x) + 0.3 * np.sin(2 * x)


def mode(k):
    """A Fourier coefficient of 2 pi p."""
    return MODES[k] if k >= 0 else MODES[-k].conjugate()


def product(two):
    """Fourier coefficients of p times a function, of which ``two`` gives those up to frequency 2."""
    found = {}
    for j in range(-2, 3):
        for k in range(-2, 3):
            found[j + k] = found.get(j + k, acb(0)) + mode(j) * two(k)
    return found


def moments(law):
    """The means of some waves under a law with these Fourier coefficients."""
    return [(law[k].real if part == "cosine" else -law[k].imag) / law[0].real for k, part in TESTS.items()]


@verifies(
    Claim(
        "layers.reversible",
        "attention with a symmetric score is reversible, for the masses times the normalisers",
        r"$\pi_iP_{ij} = \pi_jP_{ji}$, $\pi_i \propto m_i\sum_jm_je^{-f_{ij}/2\varepsilon}$, the stationary law; and $P_{ij}P_{jk}P_{ki} = P_{ik}P_{kj}P_{ji}$",
        assumptions=("f symmetric", "finitely many tokens with positive masses"),
        spec=("DL.B9",),
        cites=("ruan2024",),
        source_status=DERIVED,
    ),
    constant("masses", "the law is that of the masses", power=0),
    hypothesis("asymmetric", "scores are x'By with B not symmetric", form=np.array([[0.3, 0.9], [-0.5, 0.6]])),
    bug("columns", "the normalisers are those of the columns of the weights", columns=True),
)
def test_reversible(run, *, power=1, form=None, columns=False):
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        n = int(rng.integers(6, 20))
        by_distance = bool(number % 2)
        tokens = rng.normal(size=(n, 2))
        masses = rng.dirichlet(np.ones(n)) + 1e-3
        masses /= masses.sum()
        epsilon = float(rng.choice([0.25, 0.5, 1.0]))
        score = SquaredDistance(0.5 / epsilon) if by_distance else DotProduct(form=np.eye(2) / (2 * epsilon))
        if form is not None:
            score = DotProduct(form=form)
        p = TokenLayer(exact(tokens), epsilon, score=score, weights=masses).rows
        law = hull(balanced(tokens, masses, epsilon, by_distance=by_distance, power=power, columns=columns))
        flux = law[:, np.newaxis] * p
        yield equals(flux - flux.T, 0, scale=float(flux.mid.max()), n=n, part="balance")
        far = abs(stationary_law(p) - law).sum() / 2
        yield equals(far, 0, scale=1, n=n, part="stationary")
        i, j, k = rng.choice(n, size=3, replace=False)
        there, back = p[i, j] * p[j, k] * p[k, i], p[i, k] * p[k, j] * p[j, i]
        yield equals(there - back, 0, scale=(there + back).mid, n=n, part="loop")


def balanced(tokens, masses, epsilon, *, by_distance, power, columns):
    """Masses times normalisers, of total one, in balls; or the masses, or the normalisers of the columns."""
    x, m = balls(tokens), balls(masses)
    scores = -((x[:, np.newaxis] - x) ** 2).sum(axis=2) / 2 if by_distance else x @ x.T / 2
    weighted = m[:, np.newaxis] * np.exp(scores / ball(epsilon)) * m
    law = weighted.sum(axis=1) if power else m
    if columns:
        law = (weighted / weighted.sum(axis=1)[:, np.newaxis]).sum(axis=0)
    return law / law.sum()


def eliminate(rows):
    """The stationary law of a chain of fractions, by elimination without a subtraction."""
    n = len(rows)
    left = [list(row) for row in rows]
    for k in range(n - 1, 0, -1):
        out = sum(left[k][:k])
        for i in range(k):
            left[i][k] /= out
            for j in range(k):
                left[i][j] += left[i][k] * left[k][j]
    law = [Fraction(1)]
    for k in range(1, n):
        law.append(sum(law[i] * left[i][k] for i in range(k)))
    return [mass / sum(law) for mass in law]


def slow_chains(run):
    """Two states that are left equally often, and four that are left seldom; all numbers are exact."""
    for slow in (2.0**-4, 2.0**-10, 2.0**-14):
        yield "two states", np.array([[1 - slow, slow], [slow, 1 - slow]])
    for rng in run.draws(quick=6, paper=60):
        drawn = np.round(rng.dirichlet(np.ones(4), size=4) * 2.0**12) / 2.0**20
        drawn[np.arange(4), np.arange(4)] += 1.0 - drawn.sum(axis=1)
        yield "drawn", drawn


@verifies(
    Claim(
        "layers.perturbed",
        "a layer whose rows are off by e in total variation has a stationary law within m e / (1 - tau), if m layers bring any two rows within tau",
        r"$\|\pi - \pi'\| \le \min_m\frac{m\,e}{1 - \tau(P^m)}$, m a power of two, for $\max_i\|P_i - P'_i\| \le e$ in total variation, $\tau(Q) = \max_{i,k}\|Q_i - Q_k\|$",
        remark=r"what is reported of the law that is found; equality with $m = 1$ for two states that are left equally often",
        assumptions=("finitely many tokens", r"$\tau(P^m) < 1$ for some m"),
        spec=("DL.B9",),
        cites=("dobrushin1956",),
    ),
    constant("near", "one per cent less", share=Fraction(99, 100)),
    hypothesis("farther", "rows are off by a hundred times what is said", push=100),
    bug("once", "the law is taken to be off by what one layer is", carried=False),
)
def test_perturbed(run, *, share=1, push=1, carried=True):
    off = 2.0**-30
    for part, rows in slow_chains(run):
        n = len(rows)
        towards = np.zeros((n, n))  # the first state, from everywhere
        for i in range(n):
            towards[i, 0] += off
            towards[i, max(i, 1)] -= off
        found = stationary_law(Intervals(rows - abs(towards), rows + abs(towards)))
        bound = float(found.radius.max()) if carried else off
        moved = eliminate([[Fraction(value) for value in row] for row in (rows + push * towards).tolist()])
        apart = sum(abs(Fraction(a) - b) for a, b in zip(found.mid.tolist(), moved, strict=True)) / 2
        yield at_most(apart, share * exact(bound), n=n, part=part)


@verifies(
    Claim(
        "layers.equilibrium",
        "the stationary law of a layer is p times the smoothed p, which tends to the square of the density, not to the density",
        r"$\pi_\varepsilon \propto p\cdot K_\varepsilon p \to p^2/\!\int p^2$ exactly to first order; $2\pi p = 1 + 0.6\cos x + 0.3\sin 2x$, chordal kernel, by the means of $\cos x$, $\sin 2x$, $\sin 3x$",
        assumptions=("circle, equidistant tokens that weigh their density", "row-normalised"),
        spec=("DL.B9",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("density", "the limit is the density", squared=False),
    constant("second", "the error is of second order", rate=2),
    hypothesis("heat", "the kernel is taken to be the heat kernel at finite bandwidth", heat=True),
    bug("uniform", "tokens weigh the same", weighed=False),
)
def test_equilibrium(run, *, squared=True, rate=1, heat=False, weighed=True):
    target = moments(product(mode if squared else lambda k: acb(k == 0)))
    levels = []
    for epsilon in (2.0**-j for j in range(2, run.pick(quick=9, paper=11))):
        claimed = moments(product(lambda k, e=epsilon: multiplier(k, e, heat=heat) * mode(k)))
        levels.append(list(means_of_waves(epsilon, weighed=weighed)))
        for k, found, value in zip(TESTS, levels[-1], claimed, strict=True):
            yield equals(found, value, scale=1, epsilon=epsilon, part="tokens", wave=k)
    for at, k in enumerate(TESTS):
        yield equals(limit([level[at] for level in levels], order=1), target[at], scale=1, wave=k, part="limit")
    errors = largest_errors(levels, target)
    yield equals(order(errors[-4:]), rate, scale=1, part="order")


@once
def means_of_waves(epsilon, *, weighed):
    """The means of TESTS under the stationary law of a layer over tokens at equal distances."""
    x, layer = equidistant_layer(density if weighed else lambda x: np.ones(len(x)), epsilon)
    angles = exact(x)
    waves = [np.cos(k * angles) if part == "cosine" else np.sin(k * angles) for k, part in TESTS.items()]
    return stationary_means(layer.rows, np.stack(waves, axis=1))


def multiplier(k, epsilon, *, heat):
    """By what the chordal kernel, or the heat kernel, multiplies a wave."""
    if heat:
        return (-ball(epsilon) * k * k / 2).exp()
    b = 1 / ball(epsilon)
    return b.bessel_i(abs(k), scaled=True) / b.bessel_i(0, scaled=True)


@verifies(
    Claim(
        "layers.spectrum",
        "the eigenvalues of a layer are those of the drift-diffusion, to first order",
        r"$\frac2\varepsilon(1 - \mu_k(P_\varepsilon)) = \lambda_k(-L) + O(\varepsilon)$ for $k = 0, \dots, 7$, order exactly 1, after extrapolation 2; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, chordal kernel",
        assumptions=("circle, equidistant tokens that weigh their density", "row-normalised"),
        spec=("DL.B9",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("drift", "the drift coefficient is one", kappa=0.5),
    constant("double", "a layer takes the time epsilon", clock=Fraction(1, 2)),
    hypothesis("uniform", "the density is constant in the limit", kappa=0.0),
)
def test_spectrum(run, *, kappa=1.0, clock=1):
    table = run.study(studies.rates).where(part="layer")
    epsilons = table.levels("epsilon")[::-1]
    levels = []
    for epsilon in epsilons:
        found = table.where(epsilon=epsilon)["value"]
        levels.append([(clock * value - rate) / (1 + rate) for value, rate in zip(found, rates(kappa), strict=True)])
    for k in (1, 2):
        errors = largest_errors(levels, [0] * 8)
        yield equals(limit(errors[-4:], order=k), 0, scale=1, part="largest relative error", extrapolations=k - 1)
        yield equals(order(errors[-4:]), k, scale=1, part="its order", extrapolations=k - 1)
        levels = extrapolate(levels, order=k)


@cache
def rates(kappa, *, count=8, modes=24):
    """The least eigenvalues of -L for log p = 0.8 cos x + 0.3 sin 2x: they lie near Rayleigh quotients.

    With v = p^kappa h it is -v'' + (kappa u'' + kappa^2 u'^2) v for u = log p, symmetric in Fourier modes, of which
    those that are left out are far below rounding.
    """
    u = {1: acb(ball("0.4")), -1: acb(ball("0.4")), 2: acb(0, ball("-0.15")), -2: acb(0, ball("0.15"))}
    k = ball(kappa)
    potential = {wave: -k * wave**2 * size for wave, size in u.items()}
    for one, first in u.items():
        for two, second in u.items():
            potential[one + two] = potential.get(one + two, acb(0)) - k**2 * one * two * first * second
    lags = np.subtract.outer(np.arange(2 * modes + 1), np.arange(2 * modes + 1))
    matrix = np.array([[potential.get(lag, acb(0)) for lag in row] for row in lags.tolist()])
    for at in range(2 * modes + 1):
        matrix[at, at] += (at - modes) ** 2
    _, vectors = np.linalg.eigh(matrix.astype(complex))
    found = []
    for column in vectors.T[:count].tolist():
        v = np.array([acb(entry.real, entry.imag) for entry in column])
        adjoint = np.array([entry.conjugate() for entry in v])
        size = (adjoint @ v).real
        image = matrix @ v
        quotient = (adjoint @ image).real / size
        left = sum((abs(entry) ** 2 for entry in image - v * quotient), arb(0)) / size
        residual = hull(left.sqrt()).hi
        found.append(hull(quotient) + Interval(-residual, residual))
    return found


@verifies(
    Claim(
        "layers.walk",
        "the keys that a query draws are the steps of a diffusion with drift twice the slope of log p and unit noise",
        r"$\frac2\varepsilon P_\varepsilon\{\sin(y - x)\}(x) \to 2(\log p)'(x)$, $\frac2\varepsilon P_\varepsilon\{2 - 2\cos(y - x)\}(x) \to 2$, $\frac2\varepsilon P_\varepsilon\{(2 - 2\cos(y - x))^2\}(x) \to 0$ to first order",
        remark=r"$dX = 2(\log p)'dt + \sqrt2\,dB$; $2\pi p = 1 + 0.6\cos x + 0.3\sin 2x$, heat kernel",
        assumptions=("circle, in the limit of many tokens",),
        spec=("DL.B9",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    constant("drift", "the drift is the slope of log p", drift=1),
    constant("noise", "the noise is that of a standard Brownian motion", noise=1),
    hypothesis("uniform", "the density is constant", drift=0),
    constant("jumps", "fourth powers of steps do not vanish beside squares", fourth=2),
)
def test_walk(run, *, drift=2, noise=2, fourth=0):
    for x in (Fraction(k, 4) for k in range(0, 25, run.pick(quick=4, paper=1))):
        steps = {"drift": [], "square": [], "fourth": []}
        for e in (ball(Fraction(1, 2**j)) for j in range(4, run.pick(quick=11, paper=16))):
            mass, one, two = (smooth(shift, e, x) for shift in (0, 1, 2))
            scale = 2 / (e * mass.real)
            steps["drift"].append(scale * one.imag)
            steps["square"].append(scale * (2 * mass - 2 * one).real)
            steps["fourth"].append(scale * (6 * mass - 8 * one + 2 * two).real)
        y = ball(x)
        slope = ((2 * y).cos() - y.sin()) * ball("0.6") / smooth(0, ball(0), x).real
        aims = {"drift": drift * slope, "square": noise, "fourth": fourth}
        for name, aim in aims.items():
            yield equals(limit(steps[name][-4:], order=1), aim, scale=2, part=name, x=float(x))


def smooth(shift, e, x):
    """The mean of exp(i shift (y - x)) over keys y, times their mass."""
    total = acb(0)
    for k in range(-2, 3):
        wave = acb((k * ball(x)).cos(), (k * ball(x)).sin())
        total += mode(k) * wave * (-e * (k + shift) ** 2 / 2).exp()
    return total
