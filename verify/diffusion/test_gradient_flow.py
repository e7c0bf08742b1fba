"""Normalised twice, attention forgets norms and is a gradient; normalised once it is neither, and nearly is no proof."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.attention.sinkhorn import doubly_normalised
from theory.diffusion.layers import asymmetry, velocity_field
from theory.diffusion.limits import enclose_rows
from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    verifies,
)

SANDER = ("sander2022",)
SEEN = ("seen", "refereed")
WITNESS = np.array([[0.7, 1.6], [0.2, 1.0], [0.2, 1.1], [1.0, 0.5]])
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


@cache
def witness(normaliser="sinkhorn", sweeps=None):
    """The field of the witness with A = V = I."""
    return velocity_field(WITNESS, np.eye(2), normaliser=normaliser, sweeps=sweeps)


def clouds(run, *, quick, paper):
    """Yield tokens and a symmetric form: the witness, a form that is not definite, then random ones."""
    yield WITNESS, np.eye(2)
    yield WITNESS[:3], np.array([[1.0, 0.5], [0.5, -0.75]])
    for rng in run.draws(quick=quick, paper=paper):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        form = rng.normal(size=(d, d))
        yield rng.uniform(-1.0, 1.0, size=(n, d)), (form + form.T) / 2.0


@verifies(
    Claim(
        "normaliser.gradient",
        "the velocity of doubly normalised attention is a gradient, and so is that of attention that is not normalised",
        r"$F_i = A\sum_jp_{ij}x_j$, $p_{ij} = e^{f_i + x_i^\top Ax_j + g_j}$ with $p$ doubly stochastic, or $f = g = 0$: $\partial_{x_k}F_i = (\partial_{x_i}F_k)^\top$",
        assumptions=("A = V symmetric", "equal masses", "iterated to convergence"),
        spec=("FR.F24",),
        cites=SANDER,
        source_status=SEEN,
    ),
    hypothesis("softmax", "the rows alone are normalised, and the metric is flat", ways=(("softmax", None),)),
    hypothesis("truncated", "one sweep is made", ways=(("sinkhorn", 1),)),
    hypothesis("value", "the value matrix is a rotation", value=TURN),
    bug("masses", "the velocity of a token is multiplied by a mass that differs from token to token", mass=True),
)
def test_gradient(run, *, ways=(("sinkhorn", None), ("unnormalised", None)), value=None, mass=False):
    for x, form in clouds(run, quick=4, paper=60):
        n, d = x.shape
        for normaliser, sweeps in ways:
            v = value if value is not None and d == 2 else None
            own = v is None and x is WITNESS
            if own:
                derivative = witness(normaliser, sweeps).derivative
            else:
                derivative = velocity_field(x, form, v, normaliser=normaliser, sweeps=sweeps).derivative
            if mass:
                derivative = derivative * np.repeat(np.arange(1, n + 1), d)[:, np.newaxis]
            yield equals(asymmetry(derivative), 0, scale=1, normaliser=normaliser, n=n, d=d)


@verifies(
    Claim(
        "normaliser.potential",
        "the velocity of doubly normalised attention is the gradient of a transport cost",
        r"$F = -\frac n2\nabla W$, $W(x) = \min_P-\sum_{ij}P_{ij}x_i^\top Ax_j + \mathrm{KL}(P\,\|\,\mathbf 1\mathbf 1^\top/n^2)$ over $P\mathbf 1 = P^\top\mathbf 1 = \mathbf 1/n$, through the engine",
        assumptions=("A = V symmetric", "equal masses", "iterated to convergence"),
        spec=("FR.F24",),
        cites=SANDER,
        source_status=SEEN,
    ),
    constant("whole", "the factor is n", factor=Fraction(1)),
    hypothesis("softmax", "the rows alone are normalised", sweeps=0),
    bug("potential", "the cost is that of one normalisation", normaliser="softmax"),
)
def test_potential(run, *, factor=Fraction(1, 2), sweeps=None, normaliser="sinkhorn"):
    for x, form in clouds(run, quick=6, paper=60):
        n, d = x.shape
        velocity = scaled_rows(x, x, DotProduct(1.0, form), sweeps) @ x @ form.T
        claimed = witness(normaliser) if x is WITNESS else velocity_field(x, form, normaliser=normaliser)
        gradient = claimed.slope * int(-n * factor.numerator) / factor.denominator
        size = float(np.abs(x).max() * np.abs(form).sum(axis=1).max())
        yield equals(velocity, gradient, scale=max(1.0, size), n=n, d=d)


def scaled_rows(queries, keys, score, sweeps):
    """The weights of doubly normalised attention, in the limit or after some sweeps."""
    count = {} if sweeps is None else {"sweeps": sweeps, "tolerance": 0.0}
    return enclose_rows(doubly_normalised(queries, keys, score=score, **count))


NEAREST = np.array([[-1.125, -0.125], [1.4375, 0.0625], [1.5, 0.03125]])  # of 8000 drawn ones, to a few bits


@cache
def outlived(tokens, count, sweeps):
    """Asymmetry over residual after some sweeps, with A = V = I."""
    x = np.frombuffer(tokens).reshape(count, -1)
    found = velocity_field(x, np.eye(x.shape[1]), normaliser="sinkhorn", sweeps=sweeps)
    return asymmetry(found.derivative) / found.residual


@verifies(
    Claim(
        "normaliser.truncated",
        "attention normalised by a few sweeps is no gradient, and for the witness the asymmetry outlives the residual by a factor that grows with the sweeps",
        r"$\frac{\|J - J^\top\|}{\|J\|} = 0.755$ without a sweep (softmax), $0.059$ after one, $0.0033$ after two, $5.89\cdot10^{-14}$ after ten, for tokens $(.7, 1.6), (.2, 1), (.2, 1.1), (1, .5)$ and $A = V = I$",
        remark="asymmetry over residual after $k$ sweeps is of order $k$; for drawn tokens, and three that come near to it, the asymmetry is a quarter of the residual at least after 1, 2, 4 and 8 sweeps",
        assumptions=("rows last", "the residual is the largest error of a column sum", "A = V = I, tokens in the plane"),
        spec=("FR.F24",),
        cites=SANDER,
        source_status=("seen", "refereed", "derived"),
    ),
    constant("gradient", "softmax is a gradient in the flat metric", printed=("0.000", "0.059", "0.0033")),
    constant("tracks", "the asymmetry tracks the residual", growth=1),
    constant("as-large", "it is as large as the residual, whatever the tokens", least=1),
    bug("count", "a sweep more is made than is counted", extra=1),
)  # fmt: skip
def test_truncated(run, *, printed=("0.755", "0.059", "0.0033"), growth=2, least=Fraction(1, 4), extra=0):
    for sweeps, digits in enumerate(printed):
        yield equals(
            asymmetry(witness("sinkhorn", sweeps + extra).derivative), Interval.printed(digits, Kind.CERTIFIED), scale=1,
            sweeps=sweeps,
        )  # fmt: skip
    late = asymmetry(witness("sinkhorn", 10 + extra).derivative)
    yield equals(late, Interval.printed("5.89e-14", Kind.CERTIFIED), part="after ten")
    soft = witness("softmax").derivative
    yield equals(asymmetry(soft), Interval.printed(printed[0], Kind.CERTIFIED), scale=1, normaliser="softmax")
    ratios = [outlived(WITNESS.tobytes(), len(WITNESS), 2**level + extra) for level in range(5)]
    doubled = [b / a for a, b in itertools.pairwise(ratios)]
    yield equals(limit(doubled, order=1), growth, scale=1, part="growth as sweeps double")
    drawn = [rng.uniform(-1.5, 1.5, size=(int(rng.integers(3, 6)), 2)) for rng in run.draws(quick=4, paper=60)]
    for number, x in enumerate((NEAREST, *drawn)):
        for sweeps in (1, 2, 4, 8):
            ratio = outlived(x.tobytes(), len(x), sweeps + extra)
            yield at_least(ratio, least, part="drawn", cloud=number, sweeps=sweeps)


def lifted(x, u):
    """Tokens with two more features each, as query and as key, so that dot products gain <u, x_i> - |x_j|^2 + 1."""
    rise = (x @ u)[:, np.newaxis]
    norm = (x * x).sum(axis=1)[:, np.newaxis]
    one = np.ones((len(x), 1))
    return np.hstack([x, one, rise]), np.hstack([x, one - norm, one])


def _drawn(rng):
    """Draw tokens and an inverse temperature."""
    n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    return rng.uniform(-1.0, 1.0, size=(n, d)), float(rng.uniform(0.5, 2.0))


@verifies(
    Claim(
        "normaliser.gauge",
        "doubly normalised attention forgets what queries or keys add to the scores: dot product and distance attend alike",
        r"Sinkhorn's rows for $\beta\langle x_i, x_j\rangle$, $-\frac\beta2|x_i - x_j|^2$ and $\beta\langle x_i, x_j\rangle + f_i + g_j$ are equal; softmax's forget $f_i$ only",
        remark=r"for keys at 1 and 3 and the query at 1 dot product and distance differ by $\tanh\beta$, $0.80$ at $\beta = \log3$",
        assumptions=("iterated to convergence",),
        spec=("FR.F24", "DL.A3"),
        cites=SANDER,
        source_status=("derived", "refereed"),
    ),
    hypothesis("softmax", "the rows alone are normalised", sweeps=0),
    hypothesis("truncated", "one sweep is made", sweeps=1),
    bug("half", "the distance has no factor one half", scale=1.0),
    constant("moved", "softmax differs by tanh of half of beta", share=Fraction(1, 2)),
)
def test_gauge(run, *, sweeps=None, scale=0.5, share=1):
    line = np.array([[1.0], [3.0]])
    beta = math.log(3.0)
    soft = [scaled_rows(line, line, score, 0) for score in (DotProduct(beta), SquaredDistance(beta / 2))]
    apart = abs(soft[0] - soft[1])[0].max()
    yield equals(apart, (ball(share) * ball(beta)).tanh(), scale=1, input="1, 3", normaliser="softmax")
    cases = [(line, beta), *(_drawn(rng) for rng in run.draws(quick=6, paper=80))]
    for x, beta in cases:
        queries, keys = lifted(x, np.linspace(0.5, 1.0, x.shape[1]))
        dot = scaled_rows(x, x, DotProduct(beta), sweeps)
        forms = {
            "distance": scaled_rows(x, x, SquaredDistance(scale * beta), sweeps),
            "lifted": scaled_rows(queries, keys, DotProduct(beta), sweeps),
        }
        for name, rows in forms.items():
            yield equals(abs(dot - rows).max(), 0, scale=1, against=name, n=len(x), d=x.shape[1])


@verifies(
    Claim(
        "normaliser.field",
        "the enclosed velocities are those of the engine, for every normalisation and number of sweeps",
        r"$F_i = V\sum_jp_{ij}x_j$ in balls against streamed attention: softmax, Sinkhorn, and Sinkhorn after 0, 1, 2 and 5 sweeps",
        assumptions=("any square form and value matrix",),
        spec=("FR.F24",),
        cites=SANDER,
        source_status=("derived",),
    ),
    bug("transposed", "the form of the scores is transposed", transposed=True),
    hypothesis("count", "a sweep more is made", extra=1),
    hypothesis("rows", "what is not normalised has its rows normalised", plain="softmax"),
)
def test_field(run, *, transposed=False, extra=0, plain="unnormalised"):
    skew = np.array([[1.0, 0.5], [-0.3, 0.8]])
    cases = [(WITNESS, skew, TURN)]
    for rng in run.draws(quick=2, paper=20):
        d = int(rng.integers(1, 4))
        cases.append((rng.uniform(-1.0, 1.0, size=(4, d)), rng.normal(size=(d, d)), rng.normal(size=(d, d))))
    for x, form, value in cases:
        score = DotProduct(1.0, form)
        for sweeps in (0, 1, 2, 5, None):
            rows = scaled_rows(x, x, score, None if sweeps is None else sweeps + extra)
            claimed = velocity_field(x, form.T if transposed else form, value, sweeps=sweeps).velocity
            size = float(np.abs(x).max() * np.abs(value).sum(axis=1).max())
            yield equals(rows @ x @ value.T, claimed, scale=max(1.0, size), n=len(x), sweeps=str(sweeps))
    x = WITNESS
    plain = velocity_field(x, np.eye(2), normaliser=plain).velocity[0, 0]
    points = exact(x)
    yield equals(plain, np.exp(points @ points[0]) @ points[:, 0], part="not normalised")
