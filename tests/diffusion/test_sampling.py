"""Outputs over drawn tokens and best bandwidths against mpmath, sampling, exhaustion and closed forms."""

import math

import mpmath
import numpy as np
import pytest

from theory.diffusion import CircleDensity, PeriodicGrid, SampledOutput, StepError
from theory.diffusion.limits import sampling
from theory.diffusion.limits.bandwidth import least
from theory.diffusion.limits.sampling import chordal_output, draw_angles
from theory.diffusion.studies.sampling import enclose_spreads
from theory.evidence import Kind

DENSITY = CircleDensity([0.5, 0.0], [0.0, 0.2], logarithmic=False)
ATOMS = np.array([1.0, 0.4, 0.1, 0.7]), np.array([0.1, 0.4, 0.3, 0.2]), np.array([1.0, -2.0, 0.5, 3.0])


def output(epsilon=0.1, nodes=256):
    grid = PeriodicGrid((nodes,))
    x = grid.axes[0]
    return chordal_output(grid, DENSITY(x), np.sin(x) - 0.25 * np.cos(2 * x), [1.0], epsilon)


def exhausted(n, own=None):
    """Bias and mean square of n draws from four atoms, by all of their 4^n outcomes."""
    k, w, h = ATOMS
    c = (w * k) @ h / (w @ k)
    picks = np.stack(np.meshgrid(*[np.arange(4)] * n, indexing="ij"), axis=-1).reshape(-1, n)
    mass = w[picks].prod(axis=1)
    top = (k * h)[picks].sum(axis=1)
    bottom = k[picks].sum(axis=1)
    if own is not None:
        top, bottom = top + own, bottom + 1.0
    off = top / bottom - c
    return mass @ off, mass @ off**2 - (mass @ off) ** 2, off, mass


def doubled():
    """The atoms, each written twice, so that every second node is the same law."""
    k, w, h = (np.repeat(a, 2) for a in ATOMS)
    return SampledOutput(k, w / 2, h)


def within(interval, value, slack=1e-9):
    return interval.lo - slack <= value <= interval.hi + slack


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("own", [None, 1.5])
def test_moments_are_those_of_all_outcomes(n, own):
    bias, variance, _, _ = exhausted(n, own)
    [(found, spread)] = doubled().moments((n,), own=own)
    assert within(found, bias)
    assert found.width < 1e-6
    if own is None:
        assert within(spread, variance)
        assert spread.width < 1e-6


def test_leading_laws_against_mpmath():
    def integral(power, square):
        f = lambda y: (  # noqa: E731
            mpmath.exp(-square * (1 - mpmath.cos(y - 1)) * 10)
            * (mpmath.sin(y) - mpmath.cos(2 * y) / 4 - centre) ** power
            * (1 + mpmath.cos(y) / 2 + mpmath.mpf(0.2) * mpmath.sin(2 * y)) / (2 * mpmath.pi)
        )  # fmt: skip
        return mpmath.quad(f, mpmath.linspace(1 - mpmath.pi, 1 + mpmath.pi, 9))

    centre = 0
    mass = integral(0, 1)
    centre = integral(1, 1) / mass
    found = output()
    assert within(found.population(), float(centre), 0.0)
    assert within(found.variance(), float(integral(2, 2) / mass**2), 0.0)
    assert within(found.bias(), float(-integral(1, 2) / mass**2), 0.0)
    assert found.variance().width < 1e-11


def test_moments_and_coverage_of_drawn_tokens():
    rng = np.random.default_rng(5)
    n = 128
    runs = 20_000
    y = draw_angles(DENSITY, rng, n * runs).reshape(runs, n)
    k = np.exp(-(1 - np.cos(y - 1.0)) / 0.1)
    h = np.sin(y) - 0.25 * np.cos(2 * y)
    off = (k * h).sum(axis=1) / k.sum(axis=1) - output().population().mid
    [(bias, variance)] = output().moments((n,))
    assert abs(off.mean() - bias.mid) < 5 * off.std() / math.sqrt(runs)
    assert abs(off.var() / variance.mid - 1) < 5 * math.sqrt(3 / runs)
    reach = 1.5 * math.sqrt(variance.mid)
    [inside] = output().coverage((n,), [reach])
    assert inside.width < 1e-6
    assert abs((np.abs(off) <= reach).mean() - inside.mid) < 5 * math.sqrt(0.12 / runs)


def test_coverage_is_unknown_where_a_few_tokens_decide():
    [inside] = output(epsilon=0.01).coverage((3,), [0.1])
    assert math.isinf(inside.width)


def test_draws_follow_the_density():
    angles = draw_angles(DENSITY, np.random.default_rng(1), 200_000)
    assert angles.shape == (200_000,)
    assert abs(np.cos(angles).mean() - 0.25) < 5 * math.sqrt(0.5 / 200_000)
    assert abs(np.sin(2 * angles).mean() - 0.1) < 5 * math.sqrt(0.5 / 200_000)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_steps_and_variances_by_two_routes(dim):
    grid = PeriodicGrid((10,) * dim)
    epsilon = 0.2
    fine = PeriodicGrid((40,) * dim)

    def problem(on):
        p = np.ones(on.shape) / (2 * math.pi) ** dim * (1 + 0.4 * np.sin(on.axes[-1]))
        return p, np.broadcast_to(np.sin(on.axes[0]) + 0.5 * np.sin(on.axes[-1]), on.shape)

    error = StepError(grid, *problem(grid))
    node = (1,) + (3,) * (dim - 1)
    place = [float(axis.ravel()[k]) for axis, k in zip(grid.axes, node, strict=True)]
    found = chordal_output(fine, *problem(fine), place, epsilon)
    step = (found.population().mid - error.values[node]) / epsilon
    assert error.step(epsilon)[node] == pytest.approx(step, rel=1e-9, abs=1e-10)
    variance = found.variance().mid / epsilon**2
    assert error.variance(epsilon)[node] == pytest.approx(variance, rel=1e-9, abs=0)


def test_variance_of_the_extrapolation_against_a_direct_sum():
    grid = PeriodicGrid((24,))
    fine = PeriodicGrid((512,))
    e = 0.05
    x, y = grid.axes[0], fine.axes[0]
    error = StepError(grid, DENSITY(x), np.sin(x))
    outputs = [chordal_output(fine, DENSITY(y), np.sin(y), [float(x[2])], a) for a in (e, e / 2)]
    influence = np.zeros(y.size)
    for found, weight in zip(outputs, (-1 / e, 4 / e), strict=True):
        mass = (found.masses * found.kernel).sum()
        influence += weight * found.kernel * (found.values - found.population().mid) / mass
    expected = (outputs[0].masses * influence**2).sum()
    assert error.variance(e, extrapolated=True)[2] == pytest.approx(expected, rel=1e-9, abs=0)


def test_limit_is_that_of_steps():
    grid = PeriodicGrid((24,))
    x = grid.axes[0]
    error = StepError(grid, DENSITY(x), np.sin(x))
    half = -0.5 * np.sin(x) + DENSITY.log_slope(x) * np.cos(x)
    np.testing.assert_allclose(error.limit(), half, rtol=0, atol=1e-12)
    np.testing.assert_allclose(2 * error.step(1e-4) - error.step(2e-4), half, rtol=0, atol=1e-6)


def test_least_encloses_the_place():
    found = least(lambda x: (x**2 + 1 / x, 1e-15), 1e-3, 10.0)
    assert 2.0 ** (-1 / 3) in found.place
    assert found.place.width < 1e-5
    assert within(found.value, 3 * 2.0 ** (-2 / 3), 0.0)
    rising = least(lambda x: (x, 1e-15), 0.5, 2.0)
    assert math.isinf(rising.place.width)


def test_laws_hold_the_truth_on_a_grid_that_is_too_coarse():
    """Twenty nodes for a kernel of a seventh of a radian: half of them are worse, which the widths must tell."""
    coarse = output(epsilon=0.02, nodes=20)
    fine = output(epsilon=0.02, nodes=512)
    for read in (SampledOutput.population, SampledOutput.variance, SampledOutput.bias):
        found, truth = read(coarse), read(fine)
        assert found.lo <= truth.mid <= found.hi
        assert abs(found.mid - truth.mid) > 1e-9
        assert found.kind is Kind.ESTIMATED
    for found, truth in zip(coarse.moments((64,))[0], fine.moments((64,))[0], strict=True):
        assert found.lo <= truth.mid <= found.hi
        assert abs(found.mid - truth.mid) > 1e-9
    (found,), (truth,) = (output(nodes=n).coverage((128,), [0.1]) for n in (10, 512))
    assert found.lo <= truth.mid <= found.hi
    assert abs(found.mid - truth.mid) > 1e-9


def test_moments_hold_the_truth_with_a_step_that_is_too_large(monkeypatch):
    monkeypatch.setattr(sampling, "_STEP", 1.4)
    bias, variance, _, _ = exhausted(5)
    for found, truth in zip(doubled().moments((5,))[0], (bias, variance), strict=True):
        assert found.lo <= truth <= found.hi
        assert abs(found.mid - truth) > 1e-6


def test_least_holds_the_place_in_spite_of_noise():
    """A value that is off by as much as is said hides where the least one is."""
    found = least(lambda x: (x**2 + 1 / x + 1e-4 * math.sin(1e5 * x), 1e-4), 1e-3, 10.0)
    assert 2.0 ** (-1 / 3) in found.place
    assert found.value.lo <= 3 * 2.0 ** (-2 / 3) <= found.value.hi
    assert abs(found.place.mid - 2.0 ** (-1 / 3)) > 1e-5


def test_bad_input():
    k = np.ones(4)
    w = np.full(4, 0.25)
    h = np.zeros(4)
    for bad, message in (
        ((2 * k, w, h), "kernel: expected weights of at most 1"),
        ((-k, w, h), "kernel: expected non-negative"),
        ((k, w[:2], h), r"masses: expected the even shape of kernel, \(4,\), got \(2,\)"),
        ((k[:3], w[:3], h[:3]), "kernel: expected the even shape"),
        ((k, 2 * w, h), "masses: expected a sum of 1, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            SampledOutput(*bad)
    with pytest.raises(ValueError, match="counts: expected"):
        doubled().moments((1,))
    with pytest.raises(ValueError, match="reaches"):
        doubled().coverage((5, 6), [0.1])
    with pytest.raises(ValueError, match="density: expected a trigonometric polynomial"):
        draw_angles(CircleDensity([0.5], [0.0]), np.random.default_rng(0), 5)
    with pytest.raises(ValueError, match="epsilon"):
        chordal_output(PeriodicGrid((4,)), np.full(4, 0.5 / math.pi), h, [0.0], 0.0)
    with pytest.raises(ValueError, match=r"values: expected shape \(4,\)"):
        StepError(PeriodicGrid((4,)), w, h[:3])
    with pytest.raises(ValueError, match="density: expected positive"):
        StepError(PeriodicGrid((4,)), h, h)
    with pytest.raises(ValueError, match="high: expected more than"):
        least(lambda x: (x, 0.0), 2.0, 1.0)


def test_what_reads_are_off_is_in_the_spread():
    """Two reads that are off in opposite directions attain the bound; the mean of one batch is not exact."""
    y, off = 0.75, 1e-6
    found = enclose_spreads(np.array([[[y], [-y]]]), off)
    for shift in (-off, off):
        assert 2.0 * (y + shift) ** 2 in found
    assert found.hi[0] < 2.0 * (y + off) ** 2 * (1.0 + 1e-12)
    far = enclose_spreads(np.array([[[1e8 + 1.0], [1e8], [1e8 - 1.0]]]) + 1.0 / 3.0, 0.0)
    assert far.lo[0] < 1.0 - 1e-8 < 1.0 + 1e-8 < far.hi[0]
