"""In exact algebra: the first-order term in other coordinates, and for a symmetric score the geometry that it comes to.

At one place all derivatives are independent, so that an identity is one between polynomials in as many symbols.
"""

import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import sympy
from sympy.polys.rings import ring

from theory.diffusion.geometry import coordinates, jets
from theory.evidence import Claim, bug, constant, equals, hypothesis, verifies
from theory.evidence.symbolic import zero

RUAN = ("ruan2024",)


def table(d, order, entry):
    """An array of what ``entry`` gives for each tuple of indices."""
    found = np.empty((d,) * order, dtype=object)
    for at in np.ndindex(found.shape):
        found[at] = entry(*at)
    return found


def adjugate(m):
    """The adjugate and the determinant of a matrix of one or two rows."""
    if len(m) == 1:
        return np.array([[m[0, 0] ** 0]]), m[0, 0]
    return np.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]]), m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


class Symbols:
    """Polynomials over the rationals, with a generator for each name and sorted indices."""

    def __init__(self, names):
        self.ring, *generators = ring(names, sympy.QQ)
        self.named = dict(zip(names, generators, strict=True))

    def __call__(self, name, *at, head=0):
        """Return the generator of a name, symmetric in the indices after the first ``head``."""
        return self.named[name + "".join(map(str, (*at[:head], *sorted(at[head:]))))]

    def vanishes(self, polynomial):
        """Decide whether a polynomial is zero."""
        expression = polynomial.as_expr() if polynomial else sympy.Integer(0)
        free = sorted(expression.free_symbols, key=str)
        return zero(expression, {s: sympy.Rational(1, sympy.prime(k + 2)) for k, s in enumerate(free)})


def first_order(second, third, slope, gradient, hessian, *, drift=2, cubic=1):
    """The first-order term times det(c)^2; ``slope`` is that of log q times det(c)."""
    adj, det = adjugate(second)
    moved = adj * (hessian * det + drift * np.outer(slope, gradient))
    pull = np.einsum("ijm,ij->m", third, adj)
    return moved.sum() - cubic * (pull @ adj @ gradient)


def names_of(d):
    """The derivatives of f, log q and h at the minimiser, and those of the change of coordinates."""
    names = []
    for name, order in {"c": 2, "d": 3, "r": 1, "g": 1, "h": 2}.items():
        span = itertools.combinations_with_replacement(range(d), order)
        names += [name + "".join(map(str, at)) for at in span]
    second = itertools.combinations_with_replacement(range(d), 2)
    names += [f"b{a}{i}{j}" for i, j in second for a in range(d)]
    return [*names, "j00"] if d == 1 else names


def both(d, *, density, drift, cubic):
    """The symbols, and det(c)^2 det(J)^4 times the first-order term in z and in y = J z + B z z / 2."""
    known = Symbols(names_of(d))
    one = known.ring.one
    c, t, r, g, h = (
        table(d, order, partial(known, name)) for name, order in zip("cdrgh", (2, 3, 1, 1, 2), strict=True)
    )
    turn = np.array([[known("j", 0, 0)]] if d == 1 else [[2 * one, one], [-one, 3 * one]])
    bend = table(d, 3, lambda a, i, j: known("b", a, i, j, head=1))
    back, stretch = adjugate(turn)
    depth = adjugate(c)[1] * stretch  # det(c) det(J); once more det(J) makes the determinant in z
    crossed = np.einsum("ai,bjk,ab->ijk", turn, bend, c)
    third = np.einsum("abc,ai,bj,ck->ijk", t, turn, turn, turn)
    third = third + crossed + crossed.transpose(1, 0, 2) + crossed.transpose(2, 1, 0)
    slope = ((r @ turn) * stretch + density * np.einsum("ka,akj->j", back, bend)) * depth
    hessian = turn.T @ h @ turn + np.einsum("aij,a->ij", bend, g)
    here = first_order(turn.T @ c @ turn, third, slope, g @ turn, hessian, drift=drift, cubic=cubic)
    there = first_order(c, t, r * adjugate(c)[1], g, h, drift=drift, cubic=cubic)
    return known, here, there * stretch**4


@verifies(
    Claim(
        "score.coordinates",
        "the first-order term is the same in all coordinates, because q is a density and not a scalar",
        r"under $y = \psi(z)$, $h \mapsto h\circ\psi$, $q \mapsto q\circ\psi\,|\det\psi'|$ the operator $C^{kl}\partial_k\partial_lh + 2C^{kl}\partial_k\log q\,\partial_lh - d_{klm}C^{kl}C^{mi}\partial_ih$ is unchanged",
        remark=r"on the line, taking q for a scalar leaves $2h'\psi''/(c\,\psi'^2)$",
        assumptions=(
            "the gradient of f vanishes at the minimiser",
            "d = 1, and d = 2 with one linear part and every second-order part of the change of coordinates",
        ),
        spec=("DL.C6", "DL.D2"),
        cites=RUAN,
        source_status=("derived", "refereed"),
    ),
    bug("scalar", "the density is treated as a scalar", density=0),
    constant("drift", "the drift of the density is taken once", drift=1),
    hypothesis("even", "the score is taken to be even about its minimiser", cubic=0),
)
def test_coordinates(run, *, density=1, drift=2, cubic=1):
    for d in (1, 2):
        known, here, there = both(d, density=density, drift=drift, cubic=cubic)
        yield equals(known.vanishes(here - there), 0, scale=1, d=d)
    known, here, there = both(1, density=density - 1, drift=drift, cubic=cubic)
    left = 2 * known("g", 0) * known("b", 0, 0, 0) * known("c", 0, 0) * known("j", 0, 0) ** 2
    yield equals(known.vanishes(here + left - there), 0, scale=1, d=1, part="what a scalar leaves")


def midpoint(d, odd):
    """The coefficient of t^3 in f(x, x + t v) for a symmetric f, which is even in v about the midpoint."""
    x = coordinates(d)
    t = sympy.Symbol("t", real=True)
    v = np.array(sympy.symbols(f"v1:{d + 1}", real=True))
    shift = {a: a + t * b / 2 for a, b in zip(x, v, strict=True)}
    metric = table(d, 2, lambda i, j: sympy.Function(f"g{min(i, j)}{max(i, j)}", real=True)(*x))
    form = v @ metric @ v
    found = form.subs(shift, simultaneous=True).diff(t).subs(t, 0).doit()
    along = sum(form.diff(a) * b for a, b in zip(x, v, strict=True))
    return found + odd * sum(v) ** 3 * sympy.Symbol("k", real=True), along


@verifies(
    Claim(
        "score.symmetric",
        "a symmetric score has the third derivatives of its own metric, and its first-order term is half the drift-diffusion",
        r"$f(x, y) = f(y, x)$, $f(x, x) = 0$: $f(x, x + v) = g_{ij}v^iv^j + T_{ijk}v^iv^jv^k + O(v^4)$ with $T = \frac12\partial g$, symmetrised",
        remark=r"hence $C\partial^2h + 2C\,\partial\log q\,\partial h - dCC\,\partial h = \frac12L_{g,p}h$ with $q = p\sqrt{|g|}$",
        assumptions=(
            "f smooth, positive off the diagonal, g positive definite",
            "d = 1 and 2 decided, with any metric",
        ),
        spec=("DL.B3", "DL.C6", "DL.D2"),
        cites=RUAN,
        source_status=("derived", "refereed"),
    ),
    constant("whole", "T is the whole derivative of g", share=1),
    bug("original", "p is the density with respect to the coordinates", volume=0),
    hypothesis("asymmetric", "f has a cubic part of its own", odd=1),
)
def test_symmetric(run, *, share=Fraction(1, 2), volume=Fraction(1, 2), odd=0):
    del run
    for d in (1, 2):
        cubic, along = midpoint(d, odd)
        yield equals(zero(*jets(sympy.expand(cubic - share * along))), 0, scale=1, d=d, part="third derivatives")
        yield equals(geometric(d, share, volume, odd), 0, scale=1, d=d, part="operator")


def rational(value):
    """A fraction as a number of the ring."""
    return sympy.QQ(*Fraction(value).as_integer_ratio())


def geometric(d, share, volume, odd):
    """det(c)^2 times the first-order term of a symmetric score less half the drift-diffusion of its metric."""
    span = list(itertools.combinations_with_replacement(range(d), 2))
    names = [f"{name}{i}{j}" for name in "gh" for i, j in span]
    names += [f"e{k}{i}{j}" for k in range(d) for i, j in span]
    names += [f"{name}{i}" for name in "us" for i in range(d)]
    known = Symbols([*names, "k"])
    g, hessian = (table(d, 2, partial(known, name)) for name in "gh")
    u, s = (table(d, 1, partial(known, name)) for name in "us")  # the slopes of log p and of h
    slope_g = table(d, 3, lambda k, i, j: known("e", k, i, j, head=1))
    adj, det = adjugate(g)
    slope_det = np.einsum("ij,kij->k", adj, slope_g)
    symmetric = slope_g + slope_g.transpose(1, 0, 2) + slope_g.transpose(2, 1, 0)
    third = 2 * rational(share) * symmetric + 6 * odd * known("k")
    scale = 2**d  # c = 2 g
    slope_q = scale * (u * det + rational(volume) * slope_det)
    first = first_order(2 * g, third, slope_q, s, hessian)
    half = rational(Fraction(1, 2))
    flow = (adj * (hessian * det + 2 * np.outer(u, s) * det + half * np.outer(slope_det, s))).sum()
    flow = flow - np.einsum("ia,iab,bj,j->", adj, slope_g, adj, s)
    return known.vanishes(first - half * scale**2 * flow)
