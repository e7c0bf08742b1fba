"""Bilinear scores on spheres and ellipsoids, and distances from a query off the keys' circle: closed forms, cold."""

import math
from fractions import Fraction

import numpy as np
import sympy

from theory.diffusion import Bilinear, propagate, studies
from theory.diffusion.limits import extrapolate, largest_errors
from theory.diffusion.settings import SCORE_AXES, query_path
from theory.diffusion.similarity import sphere_tokens
from theory.evidence import (
    Claim,
    at_least,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    norm,
    order,
    verifies,
    zero,
)

RUAN = ("ruan2024",)
FISHER = ("ruan2024", "mardia2000")
WITNESS = (
    np.array([[0.9, -1.2, 0.3], [0.4, 0.5, 1.1], [-0.6, 0.8, 0.7]]), np.array([0.5, -1.0, 0.8]),
    np.array([0.3, 0.4, -0.2]), np.array([1.0, -0.5, 0.7]),
)  # fmt: skip


def problem(rng, n):
    """A form, a query, the tilt of the density and the function."""
    tilt = rng.normal(size=n)
    return rng.normal(size=(n, n)), rng.normal(size=n), 0.5 * tilt / np.linalg.norm(tilt), rng.normal(size=n)


def cold(case, epsilon):
    """P h(x) for tokens of density 1 + <a, y> on the sphere, in balls; their law is von Mises and Fisher's."""
    form, x, a, w = (balls(part) for part in case)
    pull = x @ form
    n = len(a)
    r = (pull @ pull).sqrt()
    u = pull / r
    b = r / (2 * ball(epsilon))
    half = ball(Fraction(n, 2))
    first = b.coth() - 1 / b if n == 3 else b.bessel_i(half) / b.bessel_i(half - 1)
    crossed = first / b * (a @ w) + (1 - n * first / b) * (a @ u) * (w @ u)
    return (first * (w @ u) + crossed) / (1 + first * (a @ u))


def stated(case, *, sign=1, share=lambda r: 1 / r, drift=2):
    """h(y*) and the first-order term as it is stated, in balls."""
    form, x, a, w = (balls(part) for part in case)
    pull = x @ form
    r = (pull @ pull).sqrt()
    y = sign * pull / r
    flat = (1 - len(a)) * (w @ y)
    return w @ y, share(r) * (flat + drift * (a @ w - (a @ y) * (w @ y)) / (1 + a @ y))


@verifies(
    Claim(
        "score.bilinear",
        "a bilinear score on the sphere sends a query to the direction that it pulls to, and diffuses by the bandwidth over the pull",
        r"$f = -\langle x, Ay\rangle$ on $S^{n-1}$: $P_\varepsilon h(x) = h(y_*) + \frac\varepsilon rL_{\mathrm{round},p}h(y_*) + O(\varepsilon^2)$, $y_* = A^\top x/r$, $r = |A^\top x|$",
        remark="orders 1 and, extrapolated, 2; $n = 2, 3, 4$",
        assumptions=(r"$A^\top x \ne 0$", r"$p \propto 1 + \langle a, y\rangle$, $h = \langle w, y\rangle$"),
        spec=("DL.D3",),
        cites=FISHER,
        source_status=("derived", "refereed"),
    ),
    bug("antipode", "the minimiser is -A'x / r, as printed", sign=-1),
    constant("no-pull", "the first order is epsilon, without 1 / r", share=lambda _: ball(1)),
    constant("drift", "the drift of the density is taken once", drift=1),
    hypothesis("transposed", "A is taken to be symmetric: A for its transpose", mirrored=True),
)
def test_bilinear(run, *, sign=1, share=lambda r: 1 / r, drift=2, mirrored=False):
    count = run.pick(quick=12, paper=200)
    cases = [WITNESS, *(problem(rng, 2 + k % 3) for k, rng in enumerate(run.streams(count)))]
    form, *rest = WITNESS  # bandwidths are in units of the pull, so that the size of the form falls out
    cases += [(factor * form, *rest) for factor in (2.0**-40, 2.0**40)]
    for number, case in enumerate(cases):
        form, x, a, w = case
        claimed = (form.T, x, a, w) if mirrored else case
        there, first = stated(claimed, sign=sign, share=share, drift=drift)
        pull = float(np.linalg.norm(x @ form))
        epsilons = [Fraction(pull) * Fraction(1, 2 ** (30 + k)) for k in range(4)]  # what is left is below rounding
        plain = [cold(case, e) for e in epsilons]
        read = [(value - there) / ball(e) for value, e in zip(plain, epsilons, strict=True)]
        size = math.hypot(*w) / pull + abs(hull(first).mid)
        yield equals(limit(plain, order=1), there, scale=math.hypot(*w),
                     case=number, n=a.size, part="relabelling")  # fmt: skip
        yield equals(limit(read, order=1), first, scale=size, case=number, n=a.size)
        epsilons = [Fraction(pull) * Fraction(1, 200 * 2**k) for k in range(7)]
        if number == 0:
            levels = hull(np.array([[(cold(case, e) - there) / ball(e)] for e in epsilons]))
            for extrapolations, values in enumerate((levels, extrapolate(levels))):
                found = order(largest_errors(values, [first]))
                yield equals(
                    found, 1 + extrapolations, scale=1, case=number, extrapolations=extrapolations, part="order"
                )
        told = Bilinear(form).average_linear(exact(x), w, a, float(epsilons[0]))
        yield equals(told, cold((claimed[0], x, a, w), float(epsilons[0])), scale=1, case=number, part="instrument")


@verifies(
    Claim(
        "score.bilinear-tokens",
        "real softmax over tokens of the sphere has these closed forms",
        r"attention with scores $\langle x, Ay\rangle/2\varepsilon$ over a product quadrature of $S^2$ weighted by $1 + \langle a, y\rangle$, values $\langle w, y\rangle$: $\frac{A_3\langle w, u\rangle + \frac{A_3}b\langle a, w\rangle + (1 - \frac{3A_3}b)\langle a, u\rangle\langle w, u\rangle}{1 + A_3\langle a, u\rangle}$, $u = A^\top x/r$, $b = r/2\varepsilon$, $A_3 = \coth b - \frac1b$",
        assumptions=(r"$A^\top x \ne 0$", "48 x 96 tokens, b up to 30"),
        spec=("DL.D3",),
        cites=FISHER,
        source_status=("derived", "refereed"),
    ),
    bug("antipode", "the law points to -A'x / r, as printed", sign=-1.0),
    constant("temperature", "b is r / epsilon", factor=2.0),
    hypothesis("uniform", "the density is taken to be constant", tilted=0.0),
)
def test_bilinear_tokens(run, *, sign=1.0, factor=1.0, tilted=1.0):
    points, areas = sphere_tokens(48, 96, enclosed=True)
    for case in [WITNESS, *(problem(rng, 3) for rng in run.draws(quick=2, paper=30))]:
        form, x, a, w = case
        for b in (0.7, 6.0, 30.0):
            epsilon = 0.5 * float(np.linalg.norm(x @ form)) / b
            score = Bilinear(form).score(epsilon)
            values, weights = points @ w, areas * (1.0 + points @ a)
            found = propagate(exact(x[np.newaxis]), points, values, epsilon, score=score, weights=weights)[0]
            yield equals(found, cold((sign * form, x, tilted * a, w), epsilon / factor), scale=1, b=b)


@verifies(
    Claim(
        "score.minimiser",
        "on a sphere or an ellipsoid a bilinear score has one minimiser, from which it rises like a squared distance",
        r"$f = \langle w, y\rangle$ on $\langle y, My\rangle = 1$: $f(y) - f(y_*) = \frac\rho2\langle y - y_*, M(y - y_*)\rangle$, $y_* = -M^{-1}w/\rho$, $\rho = \sqrt{\langle w, M^{-1}w\rangle}$",
        remark=r"so for $f = \sum_ia_ix_iy_i$ on the sphere $y_* = -a_ix_i/\sqrt{\sum_ja_j^2x_j^2}$, and with $Q = K = I$ the minimiser of $-\langle x, y\rangle$ is x itself",
        assumptions=(
            "w is not zero, which holds for x not zero and a form of full rank",
            "M positive definite",
            "n = 2, 3 in algebra",
        ),
        spec=("DL.D3",),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("printed", "the minimiser has the opposite sign, as printed: it is the maximiser", sign=1),
    constant("whole", "it rises by rho times the squared distance", share=1),
    hypothesis("sphere", "the ellipsoid is taken to be a sphere", sphere=True),
)
def test_minimiser(run, *, sign=-1, share=Fraction(1, 2), sphere=False):
    for n in (2, 3):
        yield equals(rise(n, sign, sympy.Rational(share), sphere), 0, scale=1, n=n)
    for rng in run.draws(quick=6, paper=60):
        form, x, _, _ = problem(rng, 3)
        form = form * 2.0 ** float(rng.choice([-40, 0, 40]))
        root = rng.normal(size=(3, 3))
        shape = root @ root.T + np.eye(3)
        found = -sign * Bilinear(form).minimiser(exact(x), shape=np.eye(3) if sphere else shape)  # of -<x, A y>
        others = exact(rng.normal(size=(8, 3)))
        others = others / np.sqrt(((others @ shape) * others).sum(axis=1))[:, np.newaxis]
        gap = ((found - others) @ (exact(x) @ form)).min()
        yield at_least(gap, 0, scale=float(np.linalg.norm(x @ form)) * 3.0, part="other keys")
    table = run.study(studies.scores).where(part="sphere")
    for t in table.levels("x"):
        pull = balls(SCORE_AXES * query_path(t))
        length = norm(pull)
        for epsilon in table.levels("epsilon"):
            mean = table.where(x=t, epsilon=epsilon)["value"]  # the coordinates, in order
            b = length / (2 * ball(epsilon))
            claimed = b.coth() - 1 / b
            yield equals(
                sign * mean @ hull(pull / length), claimed, scale=1, part="engine", x=round(t, 3), epsilon=epsilon
            )


def rise(n, sign, share, is_round):
    """f(y) - f(y*) less its stated value; with w = rho M z both y and z are on the ellipsoid, which is divided out."""
    m = sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"m{min(i, j)}{max(i, j)}", real=True))
    y, z = (sympy.Matrix(sympy.symbols(f"{name}0:{n}", real=True)) for name in "yz")
    rho = sympy.Symbol("rho", positive=True)
    w, best = rho * m * z, sign * z
    apart = (y - best).T * (sympy.eye(n) if is_round else m) * (y - best)
    residual = (w.T * (y - best))[0] - share * rho * apart[0]
    on_it = [sympy.expand((part.T * m * part)[0] - 1) for part in (y, z)]
    left = sympy.reduced(sympy.expand(residual), on_it, *y, *z, *sorted(m.free_symbols, key=str), rho)[1]
    place = dict.fromkeys((*y, *z, *m.free_symbols), 0) | {rho: 2, y[0]: 1, z[0]: Fraction(3, 5), z[1]: Fraction(4, 5)}
    place |= {m[0, 0]: 1, m[0, 1]: Fraction(1, 10), m[1, 1]: Fraction(17, 20), m[n - 1, n - 1]: Fraction(17, 20)}
    return zero(left, place)
