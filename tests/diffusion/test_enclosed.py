"""Instruments that are asked with enclosures hold the truth, on cases where a width that lacks a part would not."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory import Measure, attend
from theory.attention import Softmatch, SquaredDistance
from theory.attention.sinkhorn import doubly_normalised
from theory.diffusion import (
    Bilinear,
    CircleDensity,
    PeriodicGrid,
    convolve,
    drift_diffusion,
    heat_multiplier,
    semigroup,
)
from theory.diffusion.layers import advance_tokens, line_tokens, stationary_law
from theory.diffusion.limits import (
    average_balanced,
    divide_series,
    enclose_rows,
    laplace_series,
    peak_correction,
    quantile_aliases,
    read_levels,
    sinkhorn_change,
    sweep_law,
    sweep_shift,
)
from theory.diffusion.similarity import sphere_tokens
from theory.diffusion.similarity.bilinear import resultant
from theory.evidence import Interval, Kind, Table, exact, within
from theory.evidence.systems import inverse_of

RNG = np.random.default_rng(5)
GRID = PeriodicGrid((32,))
X = GRID.axes[0]


def corners(values, reach):
    """Yield arrays at the ends of what is known of one, entry by entry."""
    for at in range(values.size):
        for sign in (-1.0, 1.0):
            moved = values.copy()
            moved[at] += sign * reach
            yield moved
    yield values + reach
    yield values - reach


def test_multiplied_values_move_with_what_they_are_off():
    values = np.cos(X) + 0.25 * np.sin(3 * X)
    reach = 1e-6
    multiplier = heat_multiplier(1e-9)  # nearly the identity, which moves a value by what it is off
    found = GRID.multiply(within(values, reach), multiplier)
    for moved in corners(values, reach):
        assert GRID.multiply(moved, multiplier) in found


def test_multiplied_values_hold_for_factors_that_are_rounded():
    values = np.cos(X) + 0.25 * np.sin(3 * X)
    found = GRID.multiply(exact(values), heat_multiplier(0.1))
    of_factors = 64.0 * 2.0**-53 * float(np.linalg.norm(values))  # no data attain it beside the bound of transforms
    assert (found.radius >= GRID.rounding(values) + (1.0 - 1e-9) * of_factors).all()


def test_convolution_of_an_enclosed_density_holds_all_of_them():
    p = 1.0 + 0.5 * np.cos(X)
    h = np.sin(X)
    reach = 1e-7
    found = convolve(GRID, within(p, reach), h, heat_multiplier(0.2))
    for moved in corners(p, reach):
        assert convolve(GRID, moved, h, heat_multiplier(0.2)) in found


def test_sinkhorn_of_an_enclosed_density_holds_all_of_them():
    p = 1.0 + 0.5 * np.cos(X)
    h = np.sin(X)
    reach = 1e-4
    found = sinkhorn_change(GRID, within(p, reach), h, heat_multiplier(0.2))
    for moved in corners(p, reach):
        assert sinkhorn_change(GRID, moved, h, heat_multiplier(0.2))[0] in found


def test_semigroup_of_an_enclosed_generator_holds_its_parts():
    generator = RNG.normal(size=(4, 4))
    reach = 1e-6
    start = RNG.normal(size=4)
    found = semigroup(within(generator, reach), 1.5, start)
    for moved in corners(generator.ravel(), reach):
        assert semigroup(moved.reshape(4, 4), 1.5, start) in found
    assert found.radius.max() < 1e-2


@pytest.mark.parametrize("degree", [2, 3, 18])
def test_semigroup_against_forty_digits(degree, monkeypatch):
    monkeypatch.setattr("theory.diffusion.limits.generators._DEGREE", degree)
    generator, start = np.array([[0.0, 40.0], [-40.0, -0.5]]), np.array([1.0, 0.25])
    with mpmath.workdps(40):
        truth = mpmath.expm(mpmath.matrix(generator.tolist())) * mpmath.matrix(start.tolist())
        ends = semigroup(exact(generator), 1.0, start)
        assert all(ends.lo[k] <= truth[k] <= ends.hi[k] for k in range(2))


def test_drift_diffusion_of_enclosed_functions_is_that_of_floats():
    p = 1.0 + 0.5 * np.cos(X)
    h = np.sin(X)
    assert drift_diffusion(GRID, p, h) in drift_diffusion(GRID, exact(p), exact(h))


def test_inverse_of_an_enclosed_matrix_holds_all_of_them():
    matrix = np.array([[2.0, 0.5], [0.25, 1.0]])
    reach = 1e-3
    found = inverse_of(within(matrix, reach))
    for moved in corners(matrix.ravel(), reach):
        assert np.linalg.inv(moved.reshape(2, 2)) in found
    number = inverse_of(within([[1.0]], 0.25))  # for which the bound is attained
    assert np.array([[1.0 / 0.75]]) in number
    assert number.hi[0, 0] < 1.0 / 0.75 + 1e-12
    with pytest.raises(ValueError, match=r"^system: expected one that certainly has an inverse"):
        inverse_of(within(matrix, 2.0))


def test_peak_correction_in_fractions():
    hessian, slope = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.25, -0.5])
    case = hessian, np.ones((2, 2, 2)), slope, np.array([1.0, 0.5]), np.eye(2)
    found = peak_correction(*map(exact, case))
    assert peak_correction(*case) in exact([0.0]) + found


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_resultant_of_an_enclosed_pull_holds_all_of_them(dim):
    for b in (1e-3, 0.5, 30.0):
        found = resultant(dim, within(b, 0.5 * b))
        for moved in (0.5 * b, 1.5 * b):
            assert resultant(dim, moved) in found


def test_bilinear_forms_of_enclosed_queries_hold_all_of_them():
    score = Bilinear(RNG.normal(size=(3, 3)))
    query = np.array([0.5, -0.25, 1.0])
    reach = 1e-4
    w, a = np.array([1.0, -0.5, 0.25]), np.array([0.25, 0.5, 0.0])
    wide = within(query, reach)
    for moved in corners(query, reach):
        assert score.strength(moved) in score.strength(wide)
        assert score.minimiser(moved, shape=np.diag([1.0, 2.0, 3.0])) in score.minimiser(
            wide, shape=np.diag([1.0, 2.0, 3.0])
        )
        assert score.average_linear(moved, w, a, 0.3) in score.average_linear(wide, w, a, 0.3)


def test_sphere_tokens_hold_gauss_rule():
    points, areas = sphere_tokens(24, 5, enclosed=True)
    with mpmath.workdps(40):
        legendre = mpmath.taylor(lambda x: mpmath.legendre(24, x), 0, 24)
        nodes = mpmath.polyroots(legendre[::-1], maxsteps=200, extraprec=400)
        heights = sorted(float(mpmath.re(node)) for node in nodes)
    assert np.repeat(heights, 5) in within(points.mid[:, 2], 8.0 * 2.0**-53)
    for sign in (-1.0, 1.0):  # a ring moves with its height
        moved = np.sqrt(1.0 - (points.mid[:, 2] + sign * 8.0 * 2.0**-53) ** 2)
        assert (np.abs(moved - np.hypot(points.mid[:, 0], points.mid[:, 1])) <= points.radius[:, 0]).all()
    assert areas.mid.sum() == pytest.approx(4.0 * math.pi, rel=1e-14, abs=0)


def test_tokens_that_are_off_move_all_outputs():
    tokens = RNG.normal(size=(12, 2))
    reach = 1e-5
    found = advance_tokens(within(tokens, reach), 0.05)
    for sign in np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]):
        for at in range(12):
            moved = tokens - reach * sign
            moved[at] += 2.0 * reach * sign
            assert advance_tokens(moved, 0.05) in found


def test_two_tokens_that_move_apart():
    # so that the first token attends to both alike
    reach = 1e-6
    weights = np.array([1.0, math.exp(10.0)])
    found = advance_tokens(within([[0.0], [1.0]], reach), 0.05, weights)
    for sign in (-1.0, 1.0):
        assert advance_tokens([[-sign * reach], [1.0 + sign * reach]], 0.05, weights) in found


def test_weights_of_a_mixture_that_is_not_known_exactly():
    tokens, found = line_tokens(within([0.5, -1.0], 1e-6), [0.5, 0.25], [0.25, 0.75], 0.25)
    for shift in (-1e-6, 1e-6):
        there, weights = line_tokens([0.5 + shift, -1.0 + shift], [0.5, 0.25], [0.25, 0.75], 0.25)
        common = np.isin(tokens[:, 0], there[:, 0])
        assert weights[np.isin(there[:, 0], tokens[:, 0])] in found[common]


def test_quantiles_hold_the_levels():
    density = CircleDensity([2.5], [0.0])  # so sharp that places are ill-conditioned
    levels = (np.arange(9) + 0.5) / 9
    found = density.quantiles(exact(levels))
    with mpmath.workdps(30):
        total = mpmath.quad(lambda t: mpmath.exp(2.5 * mpmath.cos(t)), [0, mpmath.pi, 2 * mpmath.pi])

        def mass(x):
            return mpmath.quad(lambda t: mpmath.exp(2.5 * mpmath.cos(t)), [0, x / 2, x]) / total

        for level, lo, hi in zip(levels.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True):
            assert mass(lo) <= level <= mass(hi)
    with pytest.raises(ValueError, match=r"^levels: expected exactly known ones"):
        density.quantiles(within(levels, 1e-3))


def test_density_at_enclosed_angles_holds_the_normalised_one():
    density = CircleDensity([0.8, 0.0], [0.0, 0.3])
    found = density(exact(X))
    with mpmath.workdps(30):
        total = mpmath.quad(
            lambda t: mpmath.exp(mpmath.mpf(0.8) * mpmath.cos(t) + mpmath.mpf(0.3) * mpmath.sin(2 * t)),
            mpmath.linspace(0, 2 * mpmath.pi, 9),
        )
        for x, lo, hi in zip(X.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True):
            value = (
                mpmath.exp(mpmath.mpf(0.8) * mpmath.cos(x) + mpmath.mpf(0.3) * mpmath.sin(2 * mpmath.mpf(x))) / total
            )
            assert lo <= value <= hi


def test_aliases_against_tokens():
    density = CircleDensity([0.8], [0.3])

    def h(x):
        return np.sin(x) + 0.5 * np.cos(2 * x)

    found = quantile_aliases(density, h, 0.05, (12, 20))
    grid = PeriodicGrid((256,))
    x = grid.axes[0][:, np.newaxis]
    y = 2.0 * np.pi * np.arange(4096) / 4096
    whole = np.exp((np.cos(x - y) - 1.0) / 0.05) * density(y)
    law = (whole @ h(y)) / whole.sum(axis=1)
    for n, (error, bound) in found.items():
        keys = density.tokens(n)[:, 0]
        kernel = np.exp((np.cos(x - keys) - 1.0) / 0.05)
        apart = (kernel @ h(keys)) / kernel.sum(axis=1) - law
        assert apart in error + Interval.within(0.0, 1e-13)
        assert np.abs(apart).max() <= bound
    assert found[20].error.radius.max() < 1e-9
    with pytest.raises(ValueError, match=r"^density: expected the exponential of a trigonometric polynomial"):
        quantile_aliases(CircleDensity([0.3], [0.0], logarithmic=False), h, 0.05, (12,))


def test_balanced_averages_keep_constants_and_their_tokens(monkeypatch):
    monkeypatch.setattr("theory.diffusion.limits.normalisers._STILL", 1e-2)  # stopped early
    points = RNG.normal(size=(9, 1))
    found = average_balanced(points, points, np.column_stack([np.ones(9), points[:, 0]]), score=SquaredDistance(0.5))
    assert np.ones(9) in found[:, 0]
    assert float(points.sum()) in found[:, 1].sum()  # every column adds to one


def test_rows_of_a_limit_hold_the_columns():
    points = RNG.normal(size=(7, 2))
    found = doubly_normalised(points, points, score=SquaredDistance(0.25), tolerance=1e-6)
    assert np.ones(7) in enclose_rows(found).sum(axis=0)
    assert np.abs(found.rows().sum(axis=0) - 1.0).max() > 1e-12  # which the middles miss


def test_rows_after_few_sweeps_are_those_of_the_sweeps():
    points = RNG.normal(size=(5, 1))
    found = doubly_normalised(points, points, score=SquaredDistance(0.5), sweeps=2, tolerance=0.0)
    kernel = np.exp(-0.5 * (points - points.T) ** 2)
    columns = np.ones(5)
    for _ in range(2):
        rows = 1.0 / (kernel @ columns)
        columns = 1.0 / (rows @ kernel)
    exactly = kernel * columns
    assert exactly / exactly.sum(axis=1, keepdims=True) in enclose_rows(found)


def test_a_shift_without_sweeps_is_that_of_softmax():
    s, epsilon = 1.08, 0.25
    found = sweep_shift([0.5, 1.5], s, epsilon, 0)
    for x, value in zip((0.5, 1.5), found, strict=True):
        assert Fraction(-x) / (Fraction(s) + Fraction(epsilon)) in value


def test_levels_are_read_by_falling_bandwidth():
    rows = [
        {"epsilon": e, "x": x, "value": Interval.exactly(Fraction(e) * 8 + Fraction(x))}
        for e in (0.25, 0.5) for x in (1.0, 2.0)
    ]  # fmt: skip
    bandwidths, levels = read_levels(Table.from_rows(Kind.CERTIFIED, rows), "value")
    assert bandwidths.tolist() == [0.5, 0.25]
    assert levels.mid.tolist() == [[5.0, 6.0], [3.0, 4.0]]


def test_moments_of_a_quartic():
    f = [Fraction(0), Fraction(0), Fraction(1), Fraction(0), Fraction(1), Fraction(0), Fraction(0)]
    one = [Fraction(1), *[Fraction(0)] * 6]
    below = laplace_series(f, one, 2)
    assert below == [1, Fraction(-3, 2)]  # the mean of -w^4 / 2
    assert divide_series(laplace_series(f, [Fraction(0), Fraction(0), Fraction(1), *[Fraction(0)] * 4], 2), below) == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    "asked",
    [
        lambda x: inverse_of(np.eye(4) + x * np.eye(4)),
        lambda x: PeriodicGrid((4,)).multiply(x, np.ones_like),
        lambda x: sweep_law(PeriodicGrid((4,)), 1.0 + x, np.ones_like, 1),
        lambda x: stationary_law(np.full((4, 4), 0.25) + x / 8.0),
        lambda x: attend(x[:, np.newaxis], np.ones((4, 1)), np.eye(4)),
        lambda x: Softmatch(SquaredDistance(), Measure(np.ones((4, 1)))).rows(x[:, np.newaxis]),
    ],
)  # fmt: skip
def test_the_kind_of_what_is_asked_with_is_kept(asked):
    assert asked(within(np.zeros(4), 1e-3, Kind.STATISTICAL)).kind is Kind.STATISTICAL
