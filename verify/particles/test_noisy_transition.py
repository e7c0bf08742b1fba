"""Noise keeps tokens apart up to a threshold, and what comes above it: linear theory, transitions, the uniform law."""

import math
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    run_mean,
    verifies,
)
from theory.evidence.roundoff import U
from theory.particles import CircleField, Diffusion, Noise, studies
from theory.particles.mean_field import (
    ZonalFreeEnergy,
    couplings,
    enclose_free_energy,
    threshold,
    zonal_means,
    zonal_polynomials,
)
from verify.textbook import balls, hull


def bessel(beta, order):
    """The ball I_order(beta), of a number or a ball."""
    return (beta if hasattr(beta, "bessel_i") else ball(beta)).bessel_i(order)


def quotient(beta, dim, shift=1):
    """I_{d/2 + 1} / I_{d/2}, the share of the second harmonic in the first."""
    half = ball(dim) / 2
    return bessel(beta, half + shift) / bessel(beta, half + shift - 1)


@cache
def star(dim, part=None):
    """The ball around the beta at which that quotient is 1/d; it grows with beta."""
    share = ball(1) / (dim if part is None else part)
    low = ball(1) / 4
    high = ball(8)
    for _ in range(90):
        middle = ((low + high) / 2).mid()
        if quotient(middle, dim) < share:
            low = middle
        elif quotient(middle, dim) > share:
            high = middle
        else:
            break
    return low.union(high)


FREE = r"$F_K(\rho) = \int\rho\log\rho\,d\sigma - K\iint W_\beta\,\rho\rho$, $W_\beta = (e^{\beta\langle x, y\rangle} - 1)/\beta$ on $S^{d - 1}$"
couple, level = cache(couplings), cache(threshold)


def weight(degree, dim):
    """(d - 1)! (l - 1)! / (2 (l + d - 2)!), the weight of a harmonic in the entropy bound, times two."""
    return ball(math.factorial(dim - 1) * math.factorial(degree - 1)) / math.factorial(degree + dim - 2)


def harmonics(logarithm, dim, degrees=16):
    """Entropy of the density exp of ``logarithm``, divided by its mass; squared norms of its harmonics, and the rest."""
    masses = zonal_means(lambda u: logarithm(u).exp(), degrees, dim=dim)
    square = zonal_means(lambda u: (2 * logarithm(u)).exp(), 0, dim=dim)[0] / masses[0] ** 2
    mean = zonal_means(lambda u: logarithm(u).exp() * logarithm(u), 0, dim=dim)[0]
    entropy = mean / masses[0] - masses[0].log()
    count = [math.comb(ell + dim - 1, dim - 1) - math.comb(ell + dim - 3, dim - 1) for ell in range(1, degrees + 1)]
    norms = [n * (m / masses[0]) ** 2 for n, m in zip(count, masses[1:], strict=True)]
    return entropy, norms, square - 1 - sum(norms, square * 0)


def conformal(r, dim):
    """The logarithm of ((1 - r^2) / (1 - 2 r u + r^2))^{d - 1}."""
    square = ball(r) ** 2
    return lambda u: (dim - 1) * (((1 - square) / (1 + square - 2 * ball(r) * u)).log())


def exponential(kappa, dim):
    """A combination of the first harmonics."""
    return lambda u: sum(
        (k * p for k, p in zip(balls(kappa), zonal_polynomials(u, len(kappa), dim)[1:], strict=True)), u * 0
    )


@cache
def entropies(scale, potentials):
    """What the densities of the next check are made of, by name, dimension and parameter."""
    dims, images = ((2, 3), (0.5,)) if scale == "quick" else ((2, 3, 4, 8), (0.1, 0.25, 0.5))
    found = [("conformal", dim, r, harmonics(conformal(r, dim), dim)) for dim in dims for r in images]
    for number, kappa in enumerate(potentials):
        found += [("exponential", dim, number, harmonics(exponential(kappa, dim), dim)) for dim in dims]
    return found


@verifies(
    Claim(
        "noisy.entropy",
        "entropy bounds the squares of all harmonics, with equality at the conformal images of the uniform law",
        r"$\int\rho\log\rho\,d\sigma \ge \frac12\sum_{l \ge 1}\frac{(d - 1)!\,(l - 1)!}{(l + d - 2)!}\|\rho_l\|^2$, the dual of Beckner's inequality; on the circle $\sum_l|\hat\rho_l|^2/l$; equality at $\big(\frac{1 - r^2}{1 - 2ru + r^2}\big)^{d - 1}$",
        assumptions=(r"$\rho \ge 0$, $\int\rho\,d\sigma = 1$",),
        spec=("FR.F21",),
        cites=("beckner1993",),
        source_status=("recalled", "derived"),
    ),
    constant("near", "the right side is one per cent larger", factor=1.01),
    bug("equal", "every harmonic has the weight of the first: entropy is at least half of chi squared", equal=True),
)
def test_entropy(run, *, factor=1.0, equal=False):
    drawn = tuple(tuple(rng.normal(size=4).tolist()) for rng in run.draws(quick=2, paper=20))
    for name, dim, parameter, (entropy, norms, rest) in entropies(run.scale, drawn):
        halves = [(1 if equal else weight(ell, dim)) / ball(2) for ell in range(1, len(norms) + 2)]
        bound = sum((h * n for h, n in zip(halves, norms, strict=False)), entropy * 0)
        bound = factor * (bound + halves[-1] * rest.union(entropy * 0))  # the other weights are smaller
        yield at_least(hull(entropy), hull(bound), density=name, dim=dim, parameter=parameter)
        if name == "conformal":
            yield equals(hull(entropy), hull(bound), density=name, dim=dim, parameter=parameter)


@verifies(
    Claim(
        "noisy.uniform",
        "up to the threshold the uniform law has the least free energy whenever beta is at most critical",
        rf"{FREE}: for $\beta \le \beta_\star$ and $K \le K_\#$, $F_K(\rho) - F_K(1) \ge \sum_l\big(\frac{{(d - 1)!\,(l - 1)!}}{{2(l + d - 2)!}} - KW_l\big)\|\rho_l\|^2 \ge 0$, since $W_{{l + 1}}/W_l \le W_2/W_1 \le \frac1d \le \frac l{{l + d - 1}}$; the bound is lost at $l = 2$ exactly beyond $\beta_\star$",
        assumptions=("the entropy bound", r"$I_{\nu + 1}/I_\nu$ grows with $\beta$ and decreases in $\nu$"),
        spec=("FR.F21",),
        cites=("beckner1993", "balasubramanian2025"),
        source_status=("seen", "derived"),
    ),
    constant("third", "on the circle the critical beta has quotient 1/3", part=3),
    hypothesis("above", "beta may be two per cent above the critical one", over=1.02),
    bug("shifted", "the weight of a harmonic is that of the next one", shift=1),
)
def test_uniform(run, *, part=None, over=1.0, shift=0):
    for dim in (2, 3, 4, 8):
        top = over * hull(star(dim, part if dim == 2 else None)).lo
        for beta in (0.5 * top, 0.9 * top, top):
            waves = couple(beta, 12, dim=dim)
            for ell in range(1, 13):
                bound = hull(weight(ell + shift, dim) / 2 - level(beta, dim=dim) * waves[ell])
                yield at_least(bound, 0, scale=0.5, dim=dim, beta=beta, ell=ell)
                if 1 < ell < 12:
                    yield at_most(
                        hull(waves[ell + 1] / waves[ell]),
                        hull(waves[ell] / waves[ell - 1]),
                        dim=dim,
                        beta=beta,
                        ell=ell,
                    )
        edge = couple(top, 2, dim=dim)[2] * level(top, dim=dim)
        tight = hull(edge) + Interval(-(2.0**-50), 2.0**-50, Kind.CERTIFIED)  # the critical beta is rounded
        yield equals(tight, hull(weight(2, dim) / 2), dim=dim, part="second harmonic at the critical beta")


@cache
def parted(dim, potential):
    """The squared norms of the harmonics of a density, what is left of them, and the interaction as it is enclosed."""
    _, norms, rest = harmonics(exponential(potential, dim), dim)
    return norms, rest, enclose_free_energy(4.0, potential, dim=dim, degrees=len(potential)).interaction


@verifies(
    Claim(
        "noisy.tail",
        "what the first few harmonics of the interaction leave out is between zero and the next coefficient times what they leave of the square of the density",
        r"$0 \le \iint W_\beta\,\rho\rho - \sum_{l \le L}W_l\|\rho_l\|^2 \le W_{L + 1}\sum_{l > L}\|\rho_l\|^2$, the enclosure by $L$ degrees, of which the truth may take $0.93$",
        assumptions=(
            r"$\rho \propto \exp\sum_{l \le L}\kappa_lP_l$",
            "decided at $d = 2, 3$, $L = 1, 2$, at paper scale $d = 6$, $L = 4$ too",
        ),
        spec=("FR.F21",),
        source_status=("derived",),
    ),
    constant("near", "four fifths of it are room enough", share=0.8),
    bug("one-more", "the coefficient after the next is taken", later=1),
    hypothesis("repelling", "tokens repel, so that coefficients change their signs", sign=-1.0),
)
def test_tail(run, *, share=1.0, later=0, sign=1.0):
    for dim in run.pick(quick=(2, 3), paper=(2, 3, 6)):
        for potential in run.pick(quick=((2.5,), (1.5, 0.75)), paper=((2.5,), (1.5, 0.75), (1.0, -0.5, 0.25, 0.5))):
            degrees, (norms, rest, told) = len(potential), parted(dim, potential)
            given = ball(sign * 4.0)
            waves = zonal_means(lambda u, b=given: ((b * u).exp() - 1) / b, len(norms) + 1, dim=dim)
            parts = [w * norm for w, norm in zip(waves[1:], norms, strict=False)]
            whole = sum(parts, rest * 0) + (waves[-1] * rest).union(rest * 0)
            case = {"dim": dim, "degrees": degrees}
            left = whole - sum(parts[:degrees], rest * 0)
            most = waves[degrees + 1 + later] * (sum(norms[degrees:], rest * 0) + rest)
            yield at_least(hull(left), 0, scale=hull(abs(most)), part="at least", **case)
            yield at_most(hull(left), share * hull(most), scale=hull(abs(most)), part="at most", **case)
            room = hull(told.upper() - told.lower())
            yield at_least(hull(whole), hull(told.lower()), scale=room, part="enclosed", **case)
            yield at_most(hull(whole), hull(told.lower()) + share * room, scale=room, part="enclosed", **case)


SEEN = ("seen", "derived", "refereed")
SOURCES = ("balasubramanian2025",)
SLIGHT = Interval(-(2.0**-50), 2.0**-50, Kind.CERTIFIED)  # the critical beta is rounded
STARS = {2: "2.44692", 3: "1.81615", 4: "1.57526", 8: "1.26655"}


@verifies(
    Claim(
        "noisy.threshold",
        "noise keeps the uniform law linearly stable up to a strength that is a Bessel function of beta",
        rf"{FREE}: the second variation along the first harmonic vanishes at $K_\# = \frac{{\beta^{{d/2}}}}{{2^{{d/2}}\Gamma(d/2)I_{{d/2}}(\beta)}}$, along higher ones later",
        assumptions=(r"$\beta > 0$", r"$d \ge 2$"),
        spec=("FR.F21",),
        cites=SOURCES,
        source_status=SEEN,
    ),
    constant("doubled", "the threshold is twice as large", factor=2.0),
    constant("half", "every harmonic needs twice the strength of the one before", share=0.5),
    bug("order", "the Bessel function of order d/2 - 1", shift=-1),
)
def test_threshold(run, *, factor=1.0, share=1.0, shift=0):
    for dim in (2, 3, 4, 8):
        half = ball(dim) / 2
        for beta in run.pick(quick=(0.5, 2.5, 4.0), paper=(0.1, 0.5, 1.0, 2.0, 2.5, 4.0, 10.0)):
            b = ball(beta)
            claimed = factor * (b / 2) ** half / (half.lgamma().exp() * bessel(b, half + shift))
            yield equals(hull(level(beta, dim=dim)), hull(claimed), dim=dim, beta=beta)
            waves = couple(beta, 9, dim=dim)
            for ell in range(1, 9):
                yield at_most(hull(waves[ell + 1] / waves[ell]), share, dim=dim, beta=beta, ell=ell, part="later")


@verifies(
    Claim(
        "noisy.star",
        "the critical beta is 2.44692 on the circle, 1.81615 on the sphere, and tends to one in high dimension",
        r"$I_{d/2 + 1}(\beta_\star)/I_{d/2}(\beta_\star) = 1/d$: $\beta_\star = 2.44692, 1.81615, 1.57526, 1.26655$ for $d = 2, 3, 4, 8$, and $\beta_\star \to 1$ like $1 + 2/d$; the quotient is that of the second and first coefficient of $W_\beta$ by quadrature",
        spec=("FR.F21",),
        cites=SOURCES,
        source_status=SEEN,
    ),
    constant("third", "the quotient is 1/(d + 1) at the critical beta, on the circle 1/3", of=lambda dim: dim + 1),
    constant("twice", "the quotient is 2/d, so that the critical beta tends to two", of=lambda dim: dim / 2),
    bug("order", "the quotient of the Bessel functions of order d/2 and d/2 - 1", shift=0),
)
def test_star(run, *, of=lambda dim: dim, shift=1):
    for dim, digits in STARS.items():
        found = star(dim, of(dim))
        yield equals(hull(found), Interval.printed(digits), dim=dim, part="printed")
        waves = couple(float(found.mid()), 2, dim=dim)
        yield equals(hull(waves[2] / waves[1]), hull(quotient(float(found.mid()), dim, shift)), dim=dim, part="ratio")
        yield equals(hull(waves[2] / waves[1]) + SLIGHT, Interval.exactly(1) / dim, dim=dim)
    sizes = [2**k for k in range(5, run.pick(quick=10, paper=14))]
    roots = [hull(star(dim, of(dim))) for dim in sizes]
    yield equals(limit(roots, ratio=2.0, order=1), 1, part="limit")
    yield equals(limit([(r - 1) * d for r, d in zip(roots, sizes, strict=True)], ratio=2.0, order=1), 2, part="rate")


@verifies(
    Claim(
        "noisy.bifurcation",
        "small order branches off the uniform law forwards below the critical beta and backwards above it: a quartic coefficient changes its sign",
        r"near the threshold $K/K_\# - 1 \sim \frac{d(1 - dr)}{(d + 2)(1 - r)}\,m^2$ for equilibria with $m = |\int x\rho|$ small, $r = I_{d/2 + 1}(\beta)/I_{d/2}(\beta)$; for $d = 2$ it is $\frac{1 - 2r}{2(1 - r)}m^2$, positive iff $\beta < \beta_\star$. At $K_\#$ the least free energy of given small $m$ is $\frac{d^2(1 - dr)}{4(d + 2)(1 - r)}m^4 + O(m^6)$",
        assumptions=(
            "local: laws near the uniform one; whether another has less free energy is noisy.uniform's and noisy.transition's",
        ),
        spec=("FR.F21",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("third", "on the circle the sign changes where r is 1/3", part=3),
    bug("unslaved", "the second harmonic stays zero", slaved=False),
    hypothesis("circle", "spheres have the coefficient of the circle", flat=True),
)
def test_bifurcation(run, *, part=2, slaved=True, flat=False):
    table = run.study(studies.noisy).where(part="small")
    for dim in table.levels("dim"):
        of_dim = table.where(dim=dim)
        for beta in of_dim.levels("beta"):
            rows = of_dim.where(beta=beta)
            r = quotient(beta, dim)
            d = 2 if flat else dim
            share = part if d == 2 else d
            slope = (d - d * share * r) / ((d + 2) * (1 - r)) if slaved else ball(d) / (d + 2)
            strengths, orders, values = (rows.intervals(name) for name in ("strength", "order", "value"))
            slopes = [(k - 1) / m**2 for k, m in zip(strengths, orders, strict=True)]
            yield equals(limit(slopes, ratio=2.0, order=2), hull(slope), scale=1, dim=dim, beta=beta)
            # along the branch F = A (K_# - K) m^2 + C m^4 with its derivative zero: F = -C m^4
            fourths = [-v / m**4 for v, m in zip(values[:-1], orders[:-1], strict=True)]
            yield equals(limit(fourths, ratio=2.0, order=2), hull(slope * d / 4), scale=1, dim=dim, beta=beta, part="F")


@verifies(
    Claim(
        "noisy.transition",
        "above the critical beta a certified density beats the uniform law below its threshold: the transition jumps",
        rf"{FREE}, $d = 2$: least value found at $K_\#$ is $0$ for $\beta = 1, 2, 2.4$ and $-3.6236 \cdot 10^{{-6}}, -2.9025 \cdot 10^{{-3}}, -3.6345 \cdot 10^{{-2}}$ for $\beta = 2.5, 3, 4$; at $0.98K_\#$ it is $-1.8452 \cdot 10^{{-2}}$ for $\beta = 4$ and $0$ for the others, at $1.02K_\#$ negative for all. Of these six $K_c < K_\#$ iff $\beta > \beta_\star$; $K_c/K_\#$ is between $W_1/(dW_2)$ and $0.99990, 0.99123, 0.95515$, the first since $W_3/W_2 \le \frac2{{d + 1}}$ there",
        assumptions=(
            "a negative value is certified; zero is what five descents found, and for small beta a theorem",
            r"the lower bound: $\min_l\frac{(d - 1)!\,(l - 1)!}{(l + d - 2)!}\frac{W_1}{W_l}$ is attained at $l = 2$, which for large $\beta$ it is not: on the circle from $6.5$ on",
        ),
        spec=("FR.F21",),
        cites=SOURCES,
        source_status=("seen", "derived"),
    ),
    constant("third", "on the circle the critical beta has quotient 1/3, 1.44455", part=3),
    constant("doubled", "the threshold is twice as large", unit=2.0),
    constant("halved", "the threshold is half as large", unit=0.5),
    hypothesis("noiseless", "a harmonic counts by its eigenvalue, as it does without noise", power=2),
    bug("rounded", "the free energy is the entropy alone", share=0),
    bug("sign", "the uniform law has the part of the density", share=-1),
    hypothesis(
        "steep", "the coefficients are those of twice the beta, where the third harmonic is lost first", steep=2.0
    ),
)
def test_transition(run, *, part=None, unit=1.0, power=1, share=1, steep=1.0):
    table = run.study(studies.noisy)
    critical = float(star(2, part).mid())
    crossings = {beta: strength.hi for beta, strength in _rows(table.where(part="crossing", dim=2), "strength")}
    for beta, strength, value in _rows(table.where(part="search"), "strength", "value"):
        factor = round(strength.mid, 9) / unit
        ordered = factor > 1.0 or (beta > critical and factor >= crossings.get(beta, 1.0))
        if ordered:
            yield at_most(share * value, -1e-6, scale=1e-6, beta=beta, factor=factor)
        else:
            yield at_least(share * value, 0, scale=1, beta=beta, factor=factor)
    certified = _rows(table.where(part="certified"), "strength", "value")
    for beta, strength, value in [*certified, *_rows(table.where(part="crossing", dim=2), "strength", "value")]:
        yield at_most(share * value, 0, scale=1, beta=beta, strength=strength.mid, part="certified")
    found = {(beta, round(strength.mid, 6)): value for beta, strength, value in certified}
    printed = {(2.5, 1.0): "-3.6236e-6", (3.0, 1.0): "-2.9025e-3", (4.0, 1.0): "-3.6345e-2", (4.0, 0.98): "-1.8452e-2"}
    for (beta, strength), digits in printed.items():
        value = share * found[beta, strength]
        yield equals(value, Interval.printed(digits), beta=beta, strength=strength, part="printed")
    located = {2.5: "0.99990", 3.0: "0.99123", 4.0: "0.95515"}
    for beta, strength in _rows(table.where(part="crossing", dim=2), "strength"):
        yield equals(strength / unit, Interval.printed(located[beta]), beta=beta, part="crossing")
        waves = couple(steep * beta, 12)
        lost = [hull(waves[1] / (ell**power * waves[ell])) for ell in range(2, 13)]  # the bound of a harmonic
        yield at_least(strength / unit, lost[0], beta=beta, part="no sooner")
        for bound in lost[1:]:
            yield at_most(lost[0], bound, beta=beta, part="the second harmonic is the first to be lost")
    for dim in (2, 3, 4):
        for beta, strength in _rows(table.where(part="crossing", dim=dim), "strength"):
            yield at_most(strength / unit, 1, beta=beta, dim=dim, part="before the threshold")


def _rows(table, *names):
    """Pairs of beta and the named intervals."""
    return list(zip(table["beta"].tolist(), *(table.intervals(name) for name in names), strict=True))


STEP, SPAN, TOKENS, HARMONICS = 0.1, 8.0, 64, 8
BELOW, ABOVE = 0.6, 2.0  # strengths, in units of the threshold


def pulled(theta, pull):
    """The drift of tokens on circles, one circle a row: ``pull`` times the mean of e^cos sin, by its Fourier series."""
    turns = np.exp(1j * theta)
    drift = np.zeros(theta.shape)
    power = np.ones_like(turns)
    for k in range(1, HARMONICS + 1):
        power = power * turns
        drift += 2 * k * hull(bessel(1.0, k)).mid * (power.mean(axis=1, keepdims=True) * power.conj()).imag
    return pull * drift


@cache  # claim and twins ask for the same runs
def squared_orders(strength, noise, *, runs, n=TOKENS, step=STEP, factor=2.0):
    """Mean squared order over the later half of time of so many runs from the uniform law, at beta one.

    Besides, the same of the linear equation for the first mode that is driven by the very noise of the tokens.
    """
    pull = factor * strength * hull(level(1.0)).mid
    share = factor * strength / 2.0
    walk = Diffusion(lambda theta: pulled(theta, pull), 2.0**0.5, step, noise)
    rng = np.random.default_rng([noise.first, noise.second])
    theta = rng.uniform(-np.pi, np.pi, size=(runs, n))
    steps = round(SPAN / step)
    mode = np.exp(1j * theta).mean(axis=1)
    kept = math.exp(-step)
    total = np.zeros((2, runs))
    for number in range(steps):
        theta = walk(number, theta)
        kick = np.exp(1j * math.sqrt(2.0 * step) * noise.normals(number, runs, n))
        turns = np.exp(1j * theta)
        mode = kept * (1.0 + step * share) * mode + (turns * (1.0 - kept / kick)).mean(axis=1)
        if number >= steps // 2:
            total += np.abs([turns.mean(axis=1), mode]) ** 2
    return total / (steps - steps // 2)


def linear_order(strength, step=STEP):
    """The mean of that of the linear equation, times n: noise takes a mode down and feeds it, drift lets it grow."""
    kept = math.exp(-2.0 * step)
    square, seen = 1.0, []
    for _ in range(round(SPAN / step)):
        square = kept * (1.0 + step * strength) ** 2 * square + 1.0 - kept
        seen.append(square)
    return math.fsum(seen[len(seen) // 2 :]) / (len(seen) - len(seen) // 2)


def settled_order(strength):
    """The squared order of the equilibrium to which the free energy descends from a density with order."""
    sphere = ZonalFreeEnergy(1.0)
    start = np.eye(sphere.degrees)[0]
    return float(sphere.descend(strength * hull(level(1.0)).mid, start).overlaps[0]) ** 2


@verifies(
    Claim(
        "noisy.particles",
        "noisy tokens stay disordered below the threshold, by as much as linear theory says, and above it come to the order of the equilibrium",
        r"$d\theta_i = \frac{2K}n\sum_je^{\beta\cos(\theta_j - \theta_i)}\sin(\theta_j - \theta_i)\,dt + \sqrt2\,dB_i$, $\beta = 1$, tokens from the uniform law: $n\,\mathbb{E}|\frac1n\sum_je^{i\theta_j}|^2 \to (1 - K/K_\#)^{-1}$ at $K = 0.6K_\#$, and $\mathbb{E}|\frac1n\sum_je^{i\theta_j}|^2 \to m^2 = 0.819$ at $K = 2K_\#$, of the equilibrium $m = \int\cos\theta\,\rho$, $\log\rho = 2K\,W_\beta * \rho + c$",
        assumptions=(
            f"{TOKENS} tokens, charged with what half of them change; times 4 to 8",
            "steps of Euler and Maruyama: of 0.1 below, where linear theory takes the same steps, and to none above",
        ),
        spec=("FR.F21",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("doubled", "the threshold is twice as large", unit=2.0),
    bug("sign", "tokens move away from each other", factor=-2.0),
)
def test_particles(run, *, unit=1.0, factor=2.0):
    first, second, third = (Noise.drawn(rng) for rng in run.streams(3))
    runs = run.pick(quick=512, paper=4096)
    found = []
    for n, noise in ((TOKENS, first), (TOKENS // 2, second)):
        square, linear = squared_orders(BELOW, noise, runs=runs, n=n, factor=factor)
        found.append(run_mean(n * (square - linear), among=8) + linear_order(BELOW * factor / 2.0))  # of known mean
    apart = abs(found[0] - found[1]).hi  # which is sampled itself
    yield equals(found[0] + Interval(-apart, apart, Kind.STATISTICAL), linear_order(BELOW / unit), part="below")
    steps = [2 * STEP / 2**k for k in range(4)]
    seen = [run_mean(squared_orders(ABOVE, third, runs=32, step=h, factor=factor)[0], among=8) for h in steps]
    yield equals(limit(seen, order=1), settled_order(ABOVE / unit), scale=1, part="above")
    yield equals(Interval.printed("0.819"), settled_order(ABOVE / unit), scale=1, part="above")
    theta = np.pi * np.linspace(-1.0, 0.75, TOKENS)[np.newaxis] ** 3
    drift = exact(pulled(theta, factor)[0]) - 2 * CircleField(1.0, normalised=False)(exact(theta.T))[:, 0]
    rest = 24 * hull(bessel(1.0, HARMONICS + 1)).hi + 32 * TOKENS * U  # harmonics that are left out, and rounding
    yield equals(drift + Interval(-rest, rest), 0, scale=1, part="drift")
