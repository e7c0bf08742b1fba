"""The Runge-Kutta methods of the room: their tableaux in rationals, their orders on problems made for it, the sphere."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    gamma,
    hypothesis,
    limit,
    order,
    outcome,
    verifies,
)
from theory.particles import FLAT, METHODS, RK4, SPHERE, integrate, on_sphere, studies
from verify.textbook import balls, hull

TINY = Fraction(1, 1000)
SHORT = replace(RK4, b=tuple(w * Fraction(9999, 10000) for w in RK4.b))
LATE = replace(RK4, c=(*RK4.c[:3], RK4.c[2]))
BENT = replace(RK4, a=((), *RK4.a[1:3], (Fraction(0), Fraction(1, 100), Fraction(99, 100))))


def trees(size):
    """The rooted trees with that many nodes, each the tuple of its branches."""
    if size == 1:
        return [()]
    return sorted({tuple(sorted(branches)) for branches in forests(size - 1)})


def forests(size, largest=None):
    """The multisets of trees with that many nodes together."""
    if size == 0:
        yield ()
        return
    for first in range(min(size, largest or size), 0, -1):
        for copies in range(size // first, 0, -1):
            for same in combinations_with_replacement(trees(first), copies):
                for rest in forests(size - first * copies, first - 1) if first > 1 else [()] * (size == copies):
                    yield (*same, *rest)


def nodes(tree):
    return 1 + sum(nodes(branch) for branch in tree)


def density(tree):
    """The product of the sizes of all subtrees."""
    product = nodes(tree)
    for branch in tree:
        product *= density(branch)
    return product


def weight(method, tree):
    """The elementary weight: the sum over the tree's nodes of the products of entries along its edges."""

    def inner(stage, branches):
        product = Fraction(1)
        for branch in branches:
            product *= sum((a * inner(j, branch) for j, a in enumerate(method.a[stage])), Fraction(0))
        return product

    return sum((b * inner(i, tree) for i, b in enumerate(method.b)), Fraction(0))


@verifies(
    Claim(
        "flow.tableaux",
        "four tableaux satisfy the order conditions of all rooted trees up to their order, and not beyond, in rationals",
        r"$\sum_i b_i\Phi_i(t) = 1/\gamma(t)$ for all rooted trees with $|t| \le p$, $c_i = \sum_j a_{ij}$, and not for all with $|t| = p + 1$: $p = 1, 2, 4, 6$",
        assumptions=("Euler, Heun, Kutta, Butcher",),
        cites=("hairer1993", "butcher1964"),
        provenance=("recalled", "derived"),
    ),
    constant("one-more", "each method has one order more", more=1),
    bug("weights", "the weights add up to 0.9999", methods=(SHORT,)),
    bug("node", "the last stage lies at half the step", methods=(LATE,)),
    bug("coupling", "a hundredth of the last stage's weight is at the wrong entry", methods=(BENT,)),
)
def test_tableaux(run, *, methods=METHODS, more=0):
    del run
    for method in methods:
        p = method.order + more
        for row, node in zip(method.a, method.c, strict=True):
            yield equals(sum(row, Fraction(0)), node, scale=1, method=method.name, part="node")
        for size in range(1, p + 1):
            for number, tree in enumerate(trees(size)):
                yield equals(
                    weight(method, tree), Fraction(1, density(tree)), method=method.name, size=size, tree=number
                )
        beyond = max(abs(weight(method, tree) * density(tree) - 1) for tree in trees(p + 1))
        yield at_least(beyond, TINY, scale=1, method=method.name, size=p + 1)


def ending(problem, at):
    """The solution that the force keeps, at time one, as it is printed, in balls."""
    u = balls(problem.centre[at[0]]).copy()
    for k, phase in enumerate(problem.phase[at[0]]):
        angle = balls(problem.frequency).item() * balls(studies.END).item() + balls(phase).item()
        u[k] += balls(problem.swing).item() * angle.sin()
    return hull(u[at[1]] / sum(x * x for x in u).sqrt() if problem.space is SPHERE else u[at[1]])


@verifies(
    Claim(
        "flow.order",
        "each method has its order on attention under a force that makes the solution known, in the plane, in angles, on the sphere",
        r"$|x_h(1) - x^*(1)| \sim h^p$, $x_h(1) \to x^*(1)$ for $\dot x = F(x) + \dot x^*(t) - F(x^*(t))$, on the sphere in charts $(x + v)/|x + v|$: $p = 1, 2, 4, 6$",
        assumptions=("fixed steps", "a smooth field"),
        cites=("hairer1993", "hairer2006"),
        provenance=("recalled", "derived"),
    ),
    constant("one-more", "each method has one order more", more=1),
    bug("weights", "the weights add up to 0.9999", methods=(SHORT,)),
    bug("node", "the last stage lies at half the step", methods=(LATE,)),
)
def test_order(run, *, methods=METHODS, more=0):
    table = run.study(studies.orders) if methods is METHODS else run.study(studies.orders, methods=methods)
    for name, problem in studies.PROBLEMS.items():
        exact = ending(problem, studies.OBSERVED[name])
        for method in methods:
            values = table.where(problem=name, method=method.name).intervals("value")[-4:]
            case = {"problem": name, "method": method.name}
            yield equals(order([value - exact for value in values]), method.order + more, scale=1, part="order", **case)
            yield equals(limit(values, order=method.order), exact, scale=1, part="limit", **case)


def lengthened(points, square):
    """How far squares of lengths of rows are from ``square``, in rationals."""
    off = max(abs(sum(Fraction(float(x)) ** 2 for x in row) - Fraction(square)) for row in points)
    return Interval.exactly(off, Kind.CERTIFIED)


@verifies(
    Claim(
        "flow.sphere",
        "in charts tokens stay on the sphere up to the rounding of one division, however many steps are made",
        r"$\bigl||x_i|^2 - 1\bigr| \le (d + 6)u$ after any number of steps, $u = 2^{-53}$",
        assumptions=("projective charts of the sphere",),
        cites=("hairer2006",),
    ),
    constant("longer", "squares of lengths are 1 + 2^-40", square=1.0 + 2.0**-40),
    hypothesis("flat", "steps are made in flat space, under a field that is tangent on the sphere", space=FLAT),
)
def test_sphere(run, *, space=SPHERE, square=1.0):
    for rng in run.streams(run.pick(quick=2, paper=3)):
        n, d, beta = int(rng.integers(3, 9)), int(rng.integers(2, 6)), float(rng.uniform(0.5, 5.0))
        points = rng.normal(size=(n, d))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        for method in METHODS:
            for steps in (1, run.pick(quick=30, paper=200)):
                end = integrate(on_sphere(beta), points, step=0.2, steps=steps, method=method, space=space)
                off = lengthened(end, square)  # rounding, and so another number on another processor
                yield outcome(at_most(off, gamma(d + 6), scale=1, method=method.name, steps=steps, d=d))
