r"""What the best linear attention loses in context, beside least squares and ridge regression.

The context are N examples :math:`y_i = \langle w, x_i\rangle + \sigma\epsilon_i`, all standard normal, in dimension d;
what is predicted is :math:`\langle w, x\rangle`. With the eigenvalues l of :math:`S = \sum x_ix_i^\top` the least risk
of linear attention, which takes a multiple of :math:`\sum x_iy_i`, is
:math:`d - (\mathbb E\sum l)^2/\mathbb E\sum(l^2 + \sigma^2l)`, that of least squares
:math:`\sigma^2\mathbb E\sum l^{-1}`, and that of ridge regression with the penalty :math:`\sigma^2`, which is the mean
of w given the context, :math:`\sigma^2\mathbb E\sum(l + \sigma^2)^{-1}`.

The density of :math:`l_1 < \dots < l_d` is the product of all :math:`l_j - l_i` and of all :math:`l^me^{-l/2}`,
:math:`2m = N - d - 1`. In the gaps it is a polynomial times exponentials, of which means are rational; those of ridge
regression, in one dimension or two, are exponential integrals.

Attention also learns its multiple :math:`\gamma I` by gradient flow of the risk, as one matrix or as a number v times a
matrix :math:`gI`, both trained, with :math:`v^2 = dg^2`: then :math:`\gamma = vg` has the velocity
:math:`-\partial_\gamma R/d` or :math:`-\partial_\gamma R\,(g^2 + v^2/d)`, of which the inverse is integrated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import comb, factorial, inf, prod
from typing import Any, TypeAlias

from theory.evidence import Interval, Kind, ball, hull, precision, study
from theory.evidence.quadrature import integral_over

Polynomial: TypeAlias = "dict[tuple[int, ...], Fraction]"  # coefficients by powers
NOISES = (Fraction(1, 2), Fraction(1), Fraction(3))  # variances
PLANE = 2  # the dimension in which there are many lengths
LENGTHS = (3, 5, 7, 9, 11, 15, 21, 31, 41, 51, 71, 101)
_OTHERS = {
    "quick": ((1, 2), (1, 4), (1, 6), (1, 50), (3, 6), (3, 8), (3, 12), (3, 14)),
    "paper": ((1, 2), (1, 4), (1, 6), (1, 50), (1, 200), (3, 6), (3, 8), (3, 12), (3, 14), (4, 7), (4, 9), (2, 201)),
}  # dimensions and lengths


TRAINED = ("product", "one matrix")
LEARNERS = ((1, 4), (2, 5), (4, 7))  # dimensions and lengths
START = Fraction(1, 100)  # of the best multiple
LEARNED = tuple(Fraction(k, 100) for k in (2, 4, 7, 12, 20, 30, 40, 50, 60, 70, 80, 88, 93, 96, 98, 99))


@study(Kind.CERTIFIED)
def learned(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  one size serves both scales
    """Yield the times after which shares of the best multiple are learned, from ``START`` of it on."""
    for trained, (d, n), noise in product(TRAINED, LEARNERS, (NOISES[0], NOISES[-1])):
        first, second, _ = _means(d, n)
        with precision():  # the risk of a multiple gamma: d - 2 linear gamma + square gamma^2
            linear, square = ball(first / n), ball((second + noise * first) / n**2)
            pace = 4 / ball(d).sqrt() if trained == "product" else ball(Fraction(2, d))
            rate = partial(_velocity, linear, square, pace, by_itself=trained == "product")
            before, time = ball(START) * linear / square, ball(0)
            for share in LEARNED:
                after = ball(share) * linear / square
                time += integral_over(lambda gamma, rate=rate: 1 / rate(gamma), before, after)  # type: ignore[misc]
                before = after
                row = {"trained": trained, "d": d, "n": n, "noise": float(noise), "share": float(share)}
                yield {**row, "time": hull(time)}


def _velocity(linear: Any, square: Any, pace: Any, gamma: Any, *, by_itself: bool) -> Any:
    slope = pace * (linear - square * gamma)
    return slope * gamma if by_itself else slope


@study(Kind.CERTIFIED)
def in_context(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield risks by dimension ``d``, length ``n`` of the context and variance ``noise``, unbounded if not computed.

    Those of attention and least squares are computed for ``n >= d + 3``, that of ridge regression for ``d <= 2``.
    """
    for d, n in (*((PLANE, n) for n in LENGTHS), *_OTHERS[scale]):
        for noise in NOISES:
            row = {"d": d, "n": n, "noise": float(noise)}
            attention = squares = ridge = Interval(0.0, inf, Kind.CERTIFIED)
            if n >= d + 3:
                first, second, inverse = _means(d, n)
                attention = Interval.exactly(d - first**2 / (second + noise * first))
                squares = Interval.exactly(noise * inverse)
            if d <= PLANE:
                with precision(64 * n + 256):
                    ridge = hull(_ridge(d, n, noise))
            yield {**row, "attention": attention, "squares": squares, "ridge": ridge}


def _times(one: Mapping[tuple[int, ...], Fraction], other: Mapping[tuple[int, ...], Fraction]) -> Polynomial:
    found: Polynomial = {}
    for (a, x), (b, y) in product(one.items(), other.items()):
        powers = tuple(i + j for i, j in zip(a, b, strict=True))
        found[powers] = found.get(powers, Fraction(0)) + x * y
    return found


def _summed(terms: list[Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for term in terms:
        for powers, weight in term.items():
            total[powers] = total.get(powers, Fraction(0)) + weight
    return total


@cache
def _means(d: int, n: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the means of sums of eigenvalues, of their squares and inverses."""
    m, rest = divmod(n - d - 1, 2)
    if m < 1 or rest:
        raise ValueError(f"n: expected {d + 3} and as many more as are even, got {n}")
    unit = [tuple(int(i == k) for i in range(d)) for k in range(d)]
    values: list[Polynomial] = [{unit[i]: Fraction(1) for i in range(k + 1)} for k in range(d)]  # sums of gaps
    density: Polynomial = {(0,) * d: Fraction(1)}
    for i, j in product(range(d), repeat=2):
        if i < j:
            density = _times(density, {unit[k]: Fraction(1) for k in range(i + 1, j + 1)})
    for value in values * (m - 1):
        density = _times(density, value)

    def mean(polynomial: Polynomial) -> Fraction:
        terms = _times(density, polynomial).items()
        return sum(
            (
                weight * prod(factorial(a) * Fraction(2, d - k) ** (a + 1) for k, a in enumerate(powers))
                for powers, weight in terms
            ),
            Fraction(0),
        )

    one: Polynomial = {(0,) * d: Fraction(1)}
    whole, without = one, [one for _ in range(d)]
    for k, value in enumerate(values):
        whole = _times(whole, value)
        without = [_times(term, value) if i != k else term for i, term in enumerate(without)]
    norm = mean(whole)
    squares = [_times(value, value) for value in values]
    return (
        mean(_times(whole, _summed(values))) / norm,
        mean(_times(whole, _summed(squares))) / norm,
        mean(_summed(without)) / norm,
    )


def _ridge(d: int, n: int, noise: Fraction) -> Any:
    """Return the risk of ridge regression in a ball, in one dimension or two.

    The density of an eigenvalue l is a sum of l^k e^(-al), and the integral of l^k e^(-al)/(l + s) is an exponential
    integral for k = 0 and follows from k - 1.
    """
    half = Fraction(1, 2)
    m = (n - d - 1) // 2
    terms = {(m, half): Fraction(1)}  # by power and rate
    if d == PLANE:
        terms = {
            (m + 1, half): factorial(m) * Fraction(2) ** (m + 1),
            (m, half): -factorial(m + 1) * Fraction(2) ** (m + 2),
        }
        for k in range(m + 1):
            terms[2 * m - k, 2 * half] = 2 * comb(m, k) * factorial(k + 1) * Fraction(2) ** (k + 2)
    s = ball(noise)
    total, norm = ball(0), Fraction(0)
    for (power, rate), weight in terms.items():
        a = ball(rate)
        value = (a * s).exp() * (a * s).expint(1)
        for k in range(power):
            value = ball(factorial(k) / rate ** (k + 1)) - s * value
        total += ball(weight) * value
        norm += weight * factorial(power) / rate ** (power + 1)
    return d * s * total / ball(norm)
