"""Layers of attention among tokens of the two-torus: the equation that they run, to second order, and with few tokens.

The equation is solved in Fourier modes, in which the generator of a density whose logarithm is a trigonometric
polynomial is a sparse matrix: no grid and no transform. Its exponential by Taylor series is compared with the steps of
Runge and Kutta among fewer modes.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import expm_multiply

from theory.diffusion import studies
from theory.diffusion.limits import largest_errors, read_levels
from theory.diffusion.stack_settings import TORUS_TIMES
from theory.evidence import (
    Claim,
    ball,
    bug,
    constant,
    equals,
    estimated,
    hypothesis,
    limit,
    order,
    verifies,
)

RUAN = ("ruan2024", "coifman2006")
DERIVED = ("derived",)
TORUS_WAVES = {(1, 0): (0.5, 0.0), (0, 1): (0.0, 0.4), (1, -1): (0.3, 0.0)}  # of log p, cosines and sines
SPARSE_SHARE, WAVE_EPSILON, WAVE_LAYERS = 3, 0.0625, 3
REACH, FEWER = 13, 10  # of modes in either direction
START = {(1, 0): -0.25j, (0, 1): 0.125, (1, 1): -0.125j}  # sin x / 2 + (cos y + sin(x + y)) / 4, half of its waves
SETTING = {
    "remark": r"$p \propto e^{\frac12\cos x + \frac25\sin y + \frac3{10}\cos(x - y)}$, $h = \frac12\sin x + \frac14\cos y + \frac14\sin(x + y)$, $t = \frac18, \frac14$",
    "cites": RUAN,
    "source_status": DERIVED,
}  # fmt: skip


def whole(half):
    """The Fourier coefficients of a real function from half of its waves."""
    mirrored = {(-a, -b): np.conj(value) for (a, b), value in half.items()}
    return {**half, **mirrored}


def log_density():
    """The waves of log p: a cosine of size c and a sine of size s are (c - i s) / 2 and its mirror image."""
    return whole({wave: 0.5 * (c - 1j * s) for wave, (c, s) in TORUS_WAVES.items()})


def bump(phi):
    """The waves of Delta p / p = Delta log p + |grad log p|^2."""
    found = {wave: -(wave[0] ** 2 + wave[1] ** 2) * value for wave, value in phi.items()}
    for (k, one), (m, other) in product(phi.items(), repeat=2):
        both = (k[0] + m[0], k[1] + m[1])
        found[both] = found.get(both, 0.0) - (k[0] * m[0] + k[1] * m[1]) * one * other
    return found


def along(slope, modes):
    """The sparse matrix of h -> <grad s, grad h> for the waves of s."""
    number = {k: at for at, k in enumerate(modes)}
    entries = []
    for k, at in number.items():
        for wave, value in slope.items():
            to = number.get((k[0] + wave[0], k[1] + wave[1]))
            if to is not None:
                entries.append((to, at, -(wave[0] * k[0] + wave[1] * k[1]) * value))
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(modes), len(modes)), dtype=complex)


@cache
def pieces(reach):
    """Modes, the Laplacian, the drift of the density and the second drift, as sparse matrices."""
    modes = list(product(range(-reach, reach + 1), repeat=2))
    phi = log_density()
    flat = sparse.diags([complex(-(k * k) - m * m) for k, m in modes])
    return modes, flat, along(phi, modes), along(bump(phi), modes)


def problem(reach, kappa, clock, kernel, bent):
    """Modes, the generator and what the bandwidth adds to it."""
    modes, flat, drift, second = pieces(reach)
    generator = clock * (flat + 2.0 * kappa * drift)
    return modes, generator.tocsr(), (kernel * generator + clock * bent * second).tocsr()


def started(modes):
    """The coefficients of the function."""
    start = whole(START)
    return np.array([start.get(k, 0.0) for k in modes], dtype=complex)


def read(coefficients, modes, places):
    """Values at places, in turns, of a function of these coefficients."""
    waves = np.exp(2j * np.pi * (np.asarray(places) @ np.array(modes).T))
    return (waves @ coefficients).real


@cache
def flow(places, t, kappa=1.0, clock=1.0):
    """The solution at places and a time, enclosed by how far two computations are apart."""
    modes, generator, _ = problem(REACH, kappa, clock, 0.0, 0.0)
    fine = read(expm_multiply(t * generator, started(modes)), modes, places)
    modes, generator, _ = problem(FEWER, kappa, clock, 0.0, 0.0)
    steps = solve_ivp(lambda _, u: generator @ u, (0.0, t), started(modes), method="DOP853", rtol=1e-11, atol=1e-13)
    coarse = read(steps.y[:, -1], modes, places)
    return np.array([estimated(a, b, times=2) for a, b in zip(fine.tolist(), coarse.tolist(), strict=True)])


@cache
def first_order(places, t, kernel, bent, kappa=1.0):
    """The coefficient of the bandwidth in the stack, by the equation of the solution and its derivative together."""
    found = []
    for reach in (REACH, FEWER):
        modes, generator, added = problem(reach, kappa, 1.0, kernel, bent)
        both = sparse.bmat([[generator, None], [added, generator]], format="csr")
        start = np.concatenate([started(modes), np.zeros(len(modes))])
        found.append(read(expm_multiply(t * both, start)[len(modes) :], modes, places).tolist())
    return np.array([estimated(a, b, times=2) for a, b in zip(*found, strict=True)])


def stacks(table, t):
    """Places, bandwidths and values of the stacks at a time, coarse to fine."""
    part = table.where(part="stack", t=t)
    epsilons, levels = read_levels(part, "value")
    return places_of(part.where(epsilon=epsilons[0])), epsilons, levels


def places_of(part):
    """Places, in turns."""
    return tuple(zip(part["first"].tolist(), part["second"].tolist(), strict=True))


@verifies(
    Claim(
        "layers.torus",
        "on the torus a stack of layers with the same weights runs the drift-diffusion: error of order one in the bandwidth",
        r"$\|P_\varepsilon^{2t/\varepsilon}h - e^{tL}h\| = O(\varepsilon)$, $L = \Delta + 2\langle\nabla\log p, \nabla\cdot\rangle$ in two dimensions, order exactly 1",
        assumptions=(
            "flat torus, squared chordal distances of both angles",
            r"a lattice of $m^2$ tokens that weigh p, $m \ge 9/\sqrt\varepsilon$, which is no product of densities",
            "averaging layers, weights computed once",
            "largest error over 64 tokens",
        ),
        spec=("DL.B8",),
        **SETTING,
    ),
    constant("drift", "the drift coefficient is one", kappa=0.5),
    constant("clock", "a layer takes the time epsilon", clock=2.0),
    hypothesis("uniform", "the density is taken to be constant in the limit", kappa=0.0),
)
def test_torus(run, *, kappa=1.0, clock=1.0):
    table = run.study(studies.torus_stack)
    for t in TORUS_TIMES:
        places, _, levels = stacks(table, t)
        truth = flow(places, t, kappa, clock)
        errors = largest_errors(levels, truth)
        yield equals(limit(errors[-4:], order=1), 0, scale=1, t=t, part="largest error")
        yield equals(order(errors[-4:]), 1, scale=1, t=t, part="order")


@verifies(
    Claim(
        "layers.torus-constant",
        "the error of the stack is, to first order, that of a clock that is fast by the bandwidth and of a second drift, up the slope of the curvature of the density",
        r"$P_\varepsilon^{2t/\varepsilon}h = e^{tL_\varepsilon}h + O(\varepsilon^2)$, $L_\varepsilon = (1 + \frac\varepsilon2)L + \frac\varepsilon2\langle\nabla\frac{\Delta p}p, \nabla\cdot\rangle$; so the error is $\varepsilon\int_0^te^{(t-s)L}(\frac12L + \frac12\langle\nabla\frac{\Delta p}p, \nabla\cdot\rangle)e^{sL}h\,ds + O(\varepsilon^2)$",
        assumptions=(
            "flat torus, squared chordal distances of both angles; with the heat kernel the clock is right",
            r"a lattice of $m^2$ tokens that weigh p, $m \ge 9/\sqrt\varepsilon$",
            "averaging layers, weights computed once",
            "64 tokens",
        ),
        spec=("DL.B2", "DL.B8"),
        **SETTING,
    ),
    hypothesis("heat", "the kernel is taken to be the heat kernel: the clock is right", kernel=0.0),
    constant("twice", "the second drift is twice as strong", bent=1.0),
    bug("curvature", "the second drift is left out", bent=0.0),
    constant("drift", "the first drift is half as strong", kappa=0.5),
)
def test_torus_constant(run, *, kernel=0.5, bent=0.5, kappa=1.0):
    table = run.study(studies.torus_stack)
    for t in TORUS_TIMES:
        places, epsilons, levels = stacks(table, t)
        truth = flow(places, t, kappa)
        coefficient = first_order(places, t, kernel, bent, kappa)
        found = [(values - truth) / e for values, e in zip(levels, epsilons.tolist(), strict=True)]
        apart = largest_errors(np.stack(found), coefficient)
        size = float(max(abs(value).hi for value in coefficient))
        yield equals(limit(apart[-4:], order=1), 0, scale=size, t=t, part="coefficient")
        stated = [truth + e * coefficient for e in epsilons.tolist()]
        left = [largest_errors(levels[k : k + 1], stated[k])[0] for k in range(len(stated))]
        yield equals(order(left[-4:]), 2, scale=1, t=t, part="order of the rest")


def aliased(wave, count, epsilon, harmonics=range(-24, 25)):
    """What a lattice of tokens multiplies a wave by: Bessel functions of all orders that look alike there, in balls."""
    b = 1 / ball(epsilon)
    if count > 48:
        harmonics = [0]  # the others are below exp(-800) for 320 tokens around and more
    sums = [sum((b.bessel_i(ball(abs(k + j * count))) for j in harmonics), ball(0)) for k in (wave, 0)]
    return sums[0] / sums[1]


def slowed(share):
    """The diffusion coefficient among tokens of which ``share`` are within a bandwidth, in balls."""
    weights = {j: (-((ball(share) * j) ** 2) / 2).exp() for j in range(-9, 10)}
    total = sum(weights.values(), ball(0))
    return 1 - sum((ball(share) ** 2 * j * j * w for j, w in weights.items()), ball(0)) / total


@verifies(
    Claim(
        "layers.torus-tokens",
        "how many tokens a bandwidth needs: a lattice folds the waves of the kernel, so that sparse tokens run the same equation on a slow clock, and at the bandwidth 1/8 a thousand tokens are as good as a million",
        r"equal tokens, m around, multiply $\cos(x_1 + 2x_2)$ by $\rho_1\rho_2$, $\rho_k = \sum_jI_{k + jm}(\frac1\varepsilon)/\sum_jI_{jm}(\frac1\varepsilon)$; with $m\sqrt\varepsilon = c$ kept the stack of weighted tokens tends to $e^{D_ctL}h$, $D_c = 1 - c^2\sum_jj^2e^{-c^2j^2/2}/\sum_je^{-c^2j^2/2}$",
        remark=r"$D_3 = 0.805$, $D_{2\pi} = 1 - 2\cdot10^{-7}$; equal tokens with m from 4 to 320; $32^2$ and $10^6$ tokens at $\varepsilon = \frac18$",
        assumptions=(
            "flat torus, squared chordal distances of both angles",
            "a lattice of tokens, functions read among them",
            "averaging layers, weights computed once",
            "c = 3 for the slow clock, and t = 1 / 8",
        ),
        spec=("DL.B8",),
        cites=RUAN,
        source_status=DERIVED,
    ),
    hypothesis("dense", "sums over tokens are taken for integrals", harmonics=(0,)),
    constant("clock", "sparse tokens keep the clock", clock=lambda _: 1),
    bug("depth", "the stack of a million tokens is compared with one of twice or half as many layers", depth=2.0),
)
def test_torus_tokens(run, *, harmonics=range(-24, 25), clock=slowed, depth=1.0):
    table = run.study(studies.torus_stack)
    waves = table.where(part="wave")
    for n in waves.levels("n"):
        m = round(n**0.5)
        factor = (aliased(1, m, WAVE_EPSILON, harmonics) * aliased(2, m, WAVE_EPSILON, harmonics)) ** WAVE_LAYERS
        part = waves.where(n=n)
        for (x, y), value in zip(places_of(part), part.intervals("value"), strict=True):
            phase = (ball(Fraction(x) + 2 * Fraction(y)) * 2).cos_pi()
            yield equals(value, factor * phase, scale=1, part="waves", n=n, x=x, y=y)
    sparse_ones = table.where(part="sparse", t=TORUS_TIMES[0])
    _, levels = read_levels(sparse_ones, "value")
    places = places_of(sparse_ones.where(epsilon=sparse_ones.levels("epsilon")[0]))
    truth = flow(places, TORUS_TIMES[0], 1.0, float(clock(SPARSE_SHARE)))
    for at, place in enumerate(places):
        yield equals(limit(levels[:, at], ratio=4, order=1), truth[at], scale=1, part="clock", place=place)
    many = table.where(part="million")
    [t] = many.levels("t")
    [epsilon] = many.levels("epsilon")
    few = table.where(part="stack", epsilon=epsilon, t=t * depth if t * depth in TORUS_TIMES else t / depth)
    for place, value, claimed in zip(places_of(many), many["value"], few["value"], strict=True):
        yield equals(value, claimed, scale=1, part="million", place=place)
