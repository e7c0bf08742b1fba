"""In exact algebra: the first-order term in other coordinates, and for a symmetric score the geometry that it comes to.

At one place all derivatives are independent, so that an identity is one between polynomials in as many symbols.
"""

import itertools
from fractions import Fraction

import sympy
from sympy.polys.rings import ring

from theory.diffusion.geometry import coordinates, jets
from theory.evidence import Claim, bug, constant, equals, hypothesis, verifies
from theory.evidence.symbolic import zero

RUAN = ("ruan2024",)


def pairs(d):
    return list(itertools.product(range(d), repeat=2))


def triples(d):
    return list(itertools.product(range(d), repeat=3))


def table(d, order, entry):
    """A nested list of what ``entry`` gives for each tuple of indices."""
    if order == 1:
        return [entry(i) for i in range(d)]
    return [table(d, order - 1, lambda *rest, i=i: entry(i, *rest)) for i in range(d)]


def adjugate(m):
    """The adjugate and the determinant of a matrix of one or two rows."""
    if len(m) == 1:
        return [[m[0][0] ** 0]], m[0][0]
    return [[m[1][1], -m[0][1]], [-m[1][0], m[0][0]]], m[0][0] * m[1][1] - m[0][1] * m[1][0]


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
    d = len(second)
    found = sum(adj[i][j] * (det * hessian[i][j] + drift * slope[i] * gradient[j]) for i, j in pairs(d))
    pull = [sum(third[i][j][m] * adj[i][j] for i, j in pairs(d)) for m in range(d)]
    return found - cubic * sum(pull[m] * adj[m][n] * gradient[n] for m, n in pairs(d))


def both(d, *, density, drift, cubic):
    """The symbols, and det(c)^2 det(J)^4 times the first-order term in z and in y = J z + B z z / 2."""
    index = {"c": 2, "d": 3, "r": 1, "g": 1, "h": 2}
    names = [name + "".join(map(str, at)) for name, order in index.items()
             for at in itertools.combinations_with_replacement(range(d), order)]  # fmt: skip
    names += [f"b{a}{i}{j}" for a in range(d) for i in range(d) for j in range(i, d)]
    names += [f"j{a}{i}" for a, i in pairs(d)] if d == 1 else []
    known = Symbols(names)
    c, t, r, g, h = (table(d, order, lambda *at, name=name: known(name, *at)) for name, order in index.items())
    one = known.ring.one
    turn = [[known("j", 0, 0)]] if d == 1 else [[2 * one, one], [-one, 3 * one]]
    bend = table(d, 3, lambda a, i, j: known("b", a, i, j, head=1))

    def pulled(tensor, *at):
        span = itertools.product(range(d), repeat=len(at))
        found = 0
        for up in span:
            part = tensor
            for a in up:
                part = part[a]
            for a, i in zip(up, at, strict=True):
                part = part * turn[a][i]
            found = found + part
        return found

    def third(i, j, k):
        extra = (
            turn[a][x] * bend[b][y][z] * c[a][b] for a, b in pairs(d) for x, y, z in ((i, j, k), (j, i, k), (k, i, j))
        )
        return pulled(t, i, j, k) + sum(extra)

    back, stretch = adjugate(turn)
    depth = adjugate(c)[1] * stretch  # det(c) det(J); once more det(J) makes the determinant in z
    slope = [
        depth * (stretch * pulled(r, j) + density * sum(back[k][a] * bend[a][k][j] for a, k in pairs(d)))
        for j in range(d)
    ]
    hessian = table(d, 2, lambda i, j: pulled(h, i, j) + sum(bend[a][i][j] * g[a] for a in range(d)))
    here = first_order(
        table(d, 2, lambda i, j: pulled(c, i, j)), table(d, 3, third), slope, table(d, 1, lambda i: pulled(g, i)), hessian,
        drift=drift, cubic=cubic,
    )  # fmt: skip
    there = first_order(c, t, [adjugate(c)[1] * part for part in r], g, h, drift=drift, cubic=cubic)
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
        provenance=("derived", "refereed"),
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
    x, t = coordinates(d), sympy.Symbol("t", real=True)
    v = sympy.symbols(f"v1:{d + 1}", real=True)
    shift = {a: a + t * b / 2 for a, b in zip(x, v, strict=True)}
    metric = table(d, 2, lambda i, j: sympy.Function(f"g{min(i, j)}{max(i, j)}", real=True)(*x))
    form = sum(metric[i][j] * v[i] * v[j] for i, j in pairs(d))
    found = form.subs(shift, simultaneous=True).diff(t).subs(t, 0).doit()
    along = sum(form.diff(a) * b for a, b in zip(x, v, strict=True))
    return found + odd * sum(v) ** 3 * sympy.Symbol("k", real=True), along


@verifies(
    Claim(
        "score.symmetric",
        "a symmetric score has the third derivatives of its own metric, and its first-order term is half the drift-diffusion",
        r"$f(x, y) = f(y, x)$, $f(x, x) = 0$: $f(x, x + v) = g_{ij}v^iv^j + T_{ijk}v^iv^jv^k + O(v^4)$ with $T = \frac12\partial g$, symmetrised",
        remark=r"hence $C\partial^2h + 2C\,\partial\log q\,\partial h - dCC\,\partial h = \frac12L_{g,p}h$ with $q = p\sqrt{|g|}$",
        assumptions=("f smooth, positive off the diagonal", "d = 1 and 2 decided, with any metric"),
        spec=("DL.B3", "DL.C6", "DL.D2"),
        cites=RUAN,
        provenance=("derived", "refereed"),
    ),
    constant("whole", "T is the whole derivative of g", share=1),
    bug("original", "p is the density with respect to the coordinates", volume=0),
    hypothesis("asymmetric", "f has a cubic part of its own", odd=1),
)
def test_symmetric(run, *, share=Fraction(1, 2), volume=Fraction(1, 2), odd=0):
    for d in (1, 2):
        cubic, along = midpoint(d, odd)
        yield equals(zero(*jets(sympy.expand(cubic - share * along))), 0, scale=1, d=d, part="third derivatives")
        yield equals(
            geometric(d, sympy.QQ(*Fraction(share).as_integer_ratio()), volume, odd), 0, scale=1, d=d, part="operator"
        )


def geometric(d, share, volume, odd):
    """det(c)^2 times the first-order term of a symmetric score less half the drift-diffusion of its metric."""
    span = list(itertools.combinations_with_replacement(range(d), 2))
    names = [f"g{i}{j}" for i, j in span] + [f"h{i}{j}" for i, j in span]
    names += [f"e{k}{i}{j}" for k in range(d) for i, j in span] + [f"{n}{i}" for n in "us" for i in range(d)] + ["k"]
    known = Symbols(names)
    g, hess = (table(d, 2, lambda i, j, n=n: known(n, i, j)) for n in "gh")
    slope_g = table(d, 3, lambda k, i, j: known("e", k, i, j, head=1))
    u, s = ([known(n, i) for i in range(d)] for n in "us")
    adj, det = adjugate(g)
    slope_det = [sum(adj[i][j] * slope_g[k][i][j] for i, j in pairs(d)) for k in range(d)]
    third = table(d, 3, lambda i, j, k: 2 * share * (slope_g[i][j][k] + slope_g[j][i][k] + slope_g[k][i][j])
                  + 6 * odd * known("k"))  # fmt: skip
    half = sympy.QQ(*Fraction(volume).as_integer_ratio())
    scale = 2**d  # c = 2 g
    first = first_order([[2 * part for part in row] for row in g], third,
                        [scale * (det * u[k] + half * slope_det[k]) for k in range(d)], s, hess)  # fmt: skip
    flow = sum(
        adj[i][j] * (det * hess[i][j] + 2 * det * u[i] * s[j] + sympy.QQ(1, 2) * slope_det[i] * s[j])
        for i, j in pairs(d)
    )
    flow -= sum(adj[i][a] * slope_g[i][a][b] * adj[b][j] * s[j] for i, a in pairs(d) for b, j in pairs(d))
    return known.vanishes(first - sympy.QQ(1, 2) * scale**2 * flow)
