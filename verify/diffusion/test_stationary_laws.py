"""What layers with the same weights leave alone: balance, the square of the density, and the spectrum of the limit."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion import TokenLayer, studies
from theory.diffusion.layers import stationary_law
from theory.diffusion.limits import extrapolate, largest_errors
from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.enclosure import precision
from theory.evidence.roundoff import U, gamma
from verify.diffusion.equidistant import around, bessel
from verify.diffusion.schroedinger import circle
from verify.textbook import balls, exp, hull

RUAN = ("ruan2024", "coifman2006")
DERIVED = ("derived", "refereed")
MODES = {0: (1, 0), 1: (Fraction(3, 10), 0), 2: (0, Fraction(-3, 20))}  # of 2 pi p = 1 + 0.6 cos x + 0.3 sin 2x
TESTS = ((1, 0), (2, 1), (3, 1))  # mean cosines or sines: frequency, part


def density(x):
    """The density of which the Fourier coefficients are MODES, per 2 pi."""
    return 1.0 + 0.6 * np.cos(x) + 0.3 * np.sin(2 * x)


def mode(k):
    """Real and imaginary part of a Fourier coefficient of 2 pi p."""
    re, im = MODES.get(abs(k), (0, 0))
    return (re, im if k > 0 else -im)


def product(two, *, factor=None):
    """Fourier coefficients of p times smoothed waves, given by a function of k up to 2; exact without smoothing."""
    found = {}
    for j in range(-2, 3):
        for k in range(-2, 3):
            (a, b), (c, d) = mode(j), two(k)
            part = [Fraction(a * c - b * d), Fraction(a * d + b * c)]
            if factor is not None:
                part = [factor(abs(k)) * ball(v) for v in part]
            re, im = found.get(j + k, (0, 0))
            found[j + k] = (re + part[0], im + part[1])
    return found


def moments(law):
    """The means of some waves under a law with these Fourier coefficients."""
    return [(-1 if part else 1) * law[k][part] / law[0][0] for k, part in TESTS]


@verifies(
    Claim(
        "layers.reversible",
        "attention with a symmetric score is reversible, for the masses times the normalisers",
        r"$\pi_iP_{ij} = \pi_jP_{ji}$, $\pi_i \propto m_i\sum_jm_je^{-f_{ij}/2\varepsilon}$, the stationary law; and $P_{ij}P_{jk}P_{ki} = P_{ik}P_{kj}P_{ji}$",
        assumptions=("f symmetric", "finitely many tokens with positive masses"),
        spec=("DL.B9",),
        cites=("ruan2024",),
        provenance=DERIVED,
    ),
    constant("masses", "the law is that of the masses", power=0),
    hypothesis("asymmetric", "scores are x'By with B not symmetric", form=np.array([[0.3, 0.9], [-0.5, 0.6]])),
    bug("columns", "the normalisers are those of the columns of the weights", columns=True),
)
def test_reversible(run, *, power=1, form=None, columns=False):
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        n = int(rng.integers(6, 20))
        tokens, masses = rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)) + 1e-3
        masses /= masses.sum()
        epsilon = float(rng.choice([0.25, 0.5, 1.0]))
        symmetric = SquaredDistance(0.5 / epsilon) if number % 2 else DotProduct(form=np.eye(2) / (2 * epsilon))
        layer = TokenLayer(tokens, epsilon, score=symmetric if form is None else DotProduct(form=form), weights=masses)
        p, x, m = layer.rows, balls(tokens), balls(masses)
        with precision():
            apart = x[:, np.newaxis] - x
            f = (apart * apart).sum(axis=2) if number % 2 else -(x @ x.T)
            weighted = m[:, np.newaxis] * exp(-f / ball(2 * epsilon)) * m
            law = weighted.sum(axis=1) if power else m
            if columns:
                law = (weighted / weighted.sum(axis=1)[:, np.newaxis]).sum(axis=0)
            law = np.array([float((q / law.sum()).mid()) for q in law])
        flux = law[:, np.newaxis] * p
        balance = Interval.within(float(np.abs(flux - flux.T).max()), float(flux.max()) * (2 * layer.error + 8 * U))
        yield equals(balance, 0, scale=float(flux.max()), n=n, part="balance")
        found, bound = stationary_law(p, error=layer.error)
        far = Interval.within(0.5 * float(np.abs(found - law).sum()), bound + gamma(n + 4))
        yield equals(far, 0, scale=1, n=n, part="stationary")
        i, j, k = rng.choice(n, size=3, replace=False)
        there, back = p[i, j] * p[j, k] * p[k, i], p[i, k] * p[k, j] * p[j, i]
        loop = Interval.within(there - back, (there + back) * (4 * layer.error + 8 * U))
        yield equals(loop, 0, scale=there + back, n=n, part="loop")


def kept(rows):
    """The stationary law of a chain of fractions, by elimination without a subtraction."""
    n, left = len(rows), [list(row) for row in rows]
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


@verifies(
    Claim(
        "layers.perturbed",
        "a layer whose rows are off by e in total variation has a stationary law within m e / (1 - tau), if m layers bring any two rows within tau",
        r"$\|\pi - \pi'\| \le \min_m\frac{m\,e}{1 - \tau(P^m)}$, m a power of two, for $\max_i\|P_i - P'_i\| \le e$ in total variation, $\tau(Q) = \max_{i,k}\|Q_i - Q_k\|$: what is reported of the law that is found; equality with $m = 1$ for two states that are left equally often",
        assumptions=("finitely many tokens", r"$\tau(P^m) < 1$ for some m"),
        spec=("DL.B9",),
        cites=("dobrushin1956",),
    ),
    constant("near", "one per cent less", share=Fraction(99, 100)),
    hypothesis("farther", "rows are off by a hundred times what is said", push=100),
    bug("once", "the law is taken to be off by what one layer is", carried=False),
)
def test_perturbed(run, *, share=1, push=1, carried=True):
    off = Fraction(1, 2**30)
    chains = [("two states", np.array([[1 - slow, slow], [slow, 1 - slow]])) for slow in (2.0**-4, 2.0**-10, 2.0**-14)]
    for rng in run.draws(quick=6, paper=60):
        drawn = np.round(rng.dirichlet(np.ones(4), size=4) * 2.0**12) / 2.0**20  # slow, and exact
        drawn[np.arange(4), np.arange(4)] += 1.0 - drawn.sum(axis=1)
        chains.append(("drawn", drawn))
    for part, rows in chains:
        law, bound = stationary_law(rows, error=float(off))
        found, other = [Fraction(v) for v in law.tolist()], [[Fraction(v) for v in row] for row in rows.tolist()]
        for i, row in enumerate(other):  # towards the first state, from everywhere
            j = 1 if i == 0 else i
            row[0], row[j] = row[0] + push * off, row[j] - push * off
        apart = sum(abs(a - b) for a, b in zip(found, kept(other), strict=True)) / 2
        claimed = share * Interval.exactly(bound if carried else float(off))
        yield at_most(apart, claimed, n=len(rows), part=part)


@verifies(
    Claim(
        "layers.equilibrium",
        "the stationary law of a layer is p times the smoothed p, which tends to the square of the density, not to the density",
        r"$\pi_\varepsilon \propto p\cdot K_\varepsilon p \to p^2/\!\int p^2$ exactly to first order; $2\pi p = 1 + 0.6\cos x + 0.3\sin 2x$, chordal kernel, by the means of $\cos x$, $\sin 2x$, $\sin 3x$",
        assumptions=("circle, equidistant tokens that weigh their density", "row-normalised"),
        spec=("DL.B9",),
        cites=RUAN,
        provenance=DERIVED,
    ),
    constant("density", "the limit is the density", squared=False),
    constant("second", "the error is of second order", rate=2),
    hypothesis("heat", "the kernel is taken to be the heat kernel at finite bandwidth", heat=True),
    bug("uniform", "tokens weigh the same", weighed=False),
)
def test_equilibrium(run, *, squared=True, rate=1, heat=False, weighed=True):
    one = {0: (1, 0)}
    target = moments(product(mode if squared else lambda k: one.get(k, (0, 0))))
    levels = []
    for epsilon in (2.0**-j for j in range(2, run.pick(quick=9, paper=11))):
        x, _, layer = around(epsilon, density if weighed else np.ones_like)
        law, bound = stationary_law(layer.rows, error=layer.error)
        with precision():
            e = ball(epsilon)
            factor = (lambda k, e=e: (-e * k * k / 2).exp()) if heat else bessel(epsilon)
            claimed = [hull(v) for v in moments(product(mode, factor=factor))]
        levels.append([])
        for (k, part), value in zip(TESTS, claimed, strict=True):
            wave = np.sin(k * x) if part else np.cos(k * x)
            levels[-1].append(Interval.within(float(law @ wave), 2 * bound + 8 * U * k))
            yield equals(levels[-1][-1], value, scale=1, epsilon=epsilon, part="tokens", wave=k)
    for at, (k, _) in enumerate(TESTS):
        yield equals(limit([level[at] for level in levels], order=1), target[at], scale=1, wave=k, part="limit")
    errors = largest_errors(levels, [Interval.exactly(t) for t in target])
    yield equals(order(errors[-4:]), rate, scale=1, part="order")


@verifies(
    Claim(
        "layers.spectrum",
        "the eigenvalues of a layer are those of the drift-diffusion, to first order",
        r"$\frac2\varepsilon(1 - \mu_k(P_\varepsilon)) = \lambda_k(-L) + O(\varepsilon)$ for $k = 0, \dots, 7$, order exactly 1, after extrapolation 2; $p \propto e^{0.8\cos x + 0.3\sin 2x}$, chordal kernel",
        assumptions=("circle, equidistant tokens that weigh their density", "row-normalised"),
        spec=("DL.B9",),
        cites=RUAN,
        provenance=DERIVED,
    ),
    constant("drift", "the drift coefficient is one", kappa=0.5),
    constant("double", "a layer takes the time epsilon", clock=Fraction(1, 2)),
    hypothesis("uniform", "the density is constant in the limit", kappa=0.0),
)
def test_spectrum(run, *, kappa=1.0, clock=1):
    table = run.study(studies.rates).where(part="layer")
    exact, _, slip = circle((0.8, 0.0), (0.0, 0.3), kappa)
    epsilons = sorted(set(table["epsilon"].tolist()), reverse=True)
    ladder = []
    for index in range(8):
        values = [clock * table.where(epsilon=e, index=index).intervals("value")[0] for e in epsilons]
        claimed = Interval.within(float(exact[index]), slip)
        ladder.append([(value - claimed) / (1 + claimed) for value in values])
    levels = list(zip(*ladder, strict=True))
    for k in (1, 2):
        errors = largest_errors(levels, [0] * 8)
        yield equals(limit(errors[-4:], order=k), 0, scale=1, part="largest relative error", extrapolations=k - 1)
        yield equals(order(errors[-4:]), k, scale=1, part="its order", extrapolations=k - 1)
        levels = extrapolate(levels, order=k)


@verifies(
    Claim(
        "layers.walk",
        "the keys that a query draws are the steps of a diffusion with drift twice the slope of log p and unit noise",
        r"$\frac2\varepsilon P_\varepsilon\{\sin(y - x)\}(x) \to 2(\log p)'(x)$, $\frac2\varepsilon P_\varepsilon\{2 - 2\cos(y - x)\}(x) \to 2$, $\frac2\varepsilon P_\varepsilon\{(2 - 2\cos(y - x))^2\}(x) \to 0$ to first order: $dX = 2(\log p)'dt + \sqrt2\,dB$; $2\pi p = 1 + 0.6\cos x + 0.3\sin 2x$, heat kernel",
        assumptions=("circle, in the limit of many tokens",),
        spec=("DL.B9",),
        cites=RUAN,
        provenance=DERIVED,
    ),
    constant("drift", "the drift is the slope of log p", drift=1),
    constant("noise", "the noise is that of a standard Brownian motion", noise=1),
    hypothesis("uniform", "the density is constant", drift=0),
    constant("jumps", "fourth powers of steps do not vanish beside squares", fourth=2),
)
def test_walk(run, *, drift=2, noise=2, fourth=0):
    with precision():
        for x in (Fraction(k, 4) for k in range(0, 25, run.pick(quick=4, paper=1))):
            waves = {k: ((ball(x) * k).cos(), (ball(x) * k).sin()) for k in range(-2, 3)}
            found = []
            for j in range(4, run.pick(quick=11, paper=16)):
                e = ball(Fraction(1, 2**j))
                mass, (one, turned), two = smooth(0, e, waves)[0], smooth(1, e, waves), smooth(2, e, waves)[0]
                steps = (turned, 2 * mass - 2 * one, 6 * mass - 8 * one + 2 * two)
                found.append([hull(2 * v / (e * mass)) for v in steps])
            rise = 2 * ball(Fraction(3, 10)) * (waves[2][0] - waves[1][1])  # of 1 + 0.6 cos x + 0.3 sin 2x
            slope = hull(rise / smooth(0, ball(0), waves)[0])
            for at, (name, aim) in enumerate((("drift", drift * slope), ("square", noise), ("fourth", fourth))):
                values = [steps[at] for steps in found]
                yield equals(limit(values[-4:], order=1), aim, scale=2, part=name, x=float(x))


def smooth(shift, e, waves):
    """Real and imaginary part of the mean of exp(i shift (y - x)) over keys y, times their mass, in balls."""
    re, im = ball(0), ball(0)
    for k, (c, s) in waves.items():
        a, b = (ball(Fraction(part)) for part in mode(k))
        f = (-e * (k + shift) ** 2 / 2).exp()
        re, im = re + f * (a * c - b * s), im + f * (a * s + b * c)
    return re, im
