"""Moving tokens against the definition, Bessel functions of mpmath, and closed forms for ellipses and Gaussians."""

import math
from importlib import import_module

import mpmath
import numpy as np
import pytest

from theory.diffusion.layers import (
    PlaneCurve,
    advance_rounding,
    advance_tokens,
    ellipse,
    line_tokens,
    shorten_curve,
    sphere_layer,
    sphere_radii,
)
from theory.diffusion.layers.self_dynamics import height_tokens
from theory.evidence import Interval

module = import_module("theory.diffusion.layers.self_dynamics")


@pytest.mark.parametrize(("radius", "epsilon", "dim"), [(1.0, 0.5, 1), (1.0, 0.125, 2), (0.75, 0.25, 3)])
def test_a_radius_that_is_not_known_exactly_is_moved_as_a_whole(radius, epsilon, dim):
    wide = sphere_layer(Interval.within(radius, 1e-4), epsilon, dim)
    ends = [sphere_layer(Interval.exactly(radius + side), epsilon, dim) for side in (-1e-4, 1e-4)]
    assert wide.lo <= ends[0].lo < ends[1].hi <= wide.hi
    assert ends[1].mid - ends[0].mid >= 0.9 * wide.width  # the slope is the true one


def test_moved_is_the_definition():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(9, 3))
    masses = rng.uniform(0.5, 1.5, 9)
    found = advance_tokens(cloud, 0.4, masses)
    error = advance_rounding(cloud, 0.4, masses)
    with mpmath.workdps(30):
        for at in range(9):
            squares = [sum((mpmath.mpf(a) - b) ** 2 for a, b in zip(cloud[at], key, strict=True)) for key in cloud]
            weights = [m * mpmath.exp(-f / mpmath.mpf("0.8")) for m, f in zip(masses.tolist(), squares, strict=True)]
            exact = [
                sum(w * v for w, v in zip(weights, column, strict=True)) / sum(weights) for column in cloud.T.tolist()
            ]
            np.testing.assert_allclose(found[at], [float(v) for v in exact], rtol=0, atol=error + 1e-15)
    assert error < 1e-11


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize(("radius", "epsilon"), [(1.0, 0.5), (0.5, 0.01), (2.0, 0.2), (0.01, 1.0)])
def test_sphere_against_bessel_functions(dim, radius, epsilon):
    found = sphere_layer(Interval.exactly(radius), epsilon, dim)
    with mpmath.workdps(40):
        b = mpmath.mpf(radius) ** 2 / mpmath.mpf(epsilon)
        exact = radius * mpmath.besseli(mpmath.mpf(dim + 1) / 2, b) / mpmath.besseli(mpmath.mpf(dim - 1) / 2, b)
        assert found.lo <= float(exact) <= found.hi
    assert found.width < 1e-10 * max(radius, 1e-3)


def test_errors_of_the_radius_are_carried_on():
    wide = sphere_layer(Interval.within(1.0, 1e-6), 0.1, 2)
    ends = [sphere_layer(Interval.exactly(1.0 + slip), 0.1, 2) for slip in (-1e-6, 1e-6)]
    assert wide.lo <= ends[0].hi
    assert ends[1].lo <= wide.hi
    assert wide.width < 4e-6


@pytest.mark.parametrize("dim", [1, 2, 3, 10])
def test_slope_of_the_ratio_of_bessel_functions_is_bounded_and_nearly_so(dim):
    for b in (0.01, 0.3, 1.0, 7.0, 100.0, 3000.0):
        bound = module._steepest_ratio(Interval(b, b * (1.0 + 1e-9)), dim)
        with mpmath.workdps(60):
            ratio = mpmath.besseli(mpmath.mpf(dim + 1) / 2, b) / mpmath.besseli(mpmath.mpf(dim - 1) / 2, b)
            slope = float(1 - ratio**2 - dim * ratio / b)
        assert slope <= bound
        assert bound < 4.0 * slope + 32.0 * (1 + dim) * 2.0**-53


def test_radii_of_a_thousand_layers_are_still_known():
    radii = sphere_radii(1.0, 2.0**-11, 2, 1000)
    assert radii[-1].width < 1e-6


def test_kept_weights_multiply_and_new_ones_do_not():
    kept, anew = (sphere_radii(1.0, 0.1, 2, 5, kept=kept) for kept in (True, False))
    assert len(kept) == len(anew) == 6
    share = anew[1].mid
    np.testing.assert_allclose([r.mid for r in kept], share ** np.arange(6), rtol=1e-12, atol=0)
    assert anew[5].hi < kept[5].lo


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_sphere_tokens_have_the_moments_of_the_sphere(dim):
    points, masses = height_tokens(dim, 12)
    np.testing.assert_allclose((points**2).sum(axis=1), 1.0, rtol=1e-14, atol=0)
    np.testing.assert_allclose(masses @ points, 0.0, rtol=0, atol=1e-15)
    assert masses @ points[:, 0] ** 2 == pytest.approx(1.0 / (dim + 1), rel=1e-13, abs=0)
    assert masses @ points[:, 0] ** 4 == pytest.approx(3.0 / ((dim + 1) * (dim + 3)), rel=1e-13, abs=0)


def test_curve_of_an_ellipse():
    curve = ellipse(2.0, 0.5, 64)
    angle = 2.0 * np.pi * np.arange(64) / 64
    np.testing.assert_allclose(curve.speed, np.hypot(2.0 * np.sin(angle), 0.5 * np.cos(angle)), rtol=1e-13, atol=0)
    assert curve.area == pytest.approx(math.pi, rel=1e-14, abs=0)
    assert PlaneCurve(curve.points[::-1]).area == pytest.approx(-math.pi, rel=1e-14, abs=0)


def test_a_circle_stays_one_as_it_shortens():
    path = list(shorten_curve(ellipse(1.0, 1.0, 96), 0.05, 4))
    radii = sphere_radii(1.0, 0.05, 1, 4)
    for curve, radius in zip(path, radii, strict=True):
        np.testing.assert_allclose(np.hypot(*curve.points.T), radius.mid, rtol=1e-12, atol=0)


def test_line_tokens_have_the_moments_of_the_mixture():
    tokens, masses = line_tokens([-1.0, 2.0], [0.5, 0.25], [0.25, 0.75], 0.1)
    assert masses.sum() == pytest.approx(1.0, rel=1e-15, abs=0)
    assert masses @ tokens[:, 0] == pytest.approx(1.25, rel=1e-13, abs=0)
    assert masses @ tokens[:, 0] ** 2 == pytest.approx(0.25 * 1.5 + 0.75 * 4.25, rel=1e-13, abs=0)


def test_bad_input():
    with pytest.raises(ValueError, match="variances: expected positive"):
        line_tokens([0.0], [0.0], [1.0], 0.1)
    with pytest.raises(ValueError, match="variances"):
        line_tokens([0.0], [1.0, 1.0], [1.0], 0.1)
    with pytest.raises(ValueError, match="step"):
        line_tokens([0.0], [1.0], [1.0], 0.0)
    with pytest.raises(ValueError, match="first"):
        ellipse(-1.0, 1.0, 32)
    with pytest.raises(ValueError, match="nodes"):
        ellipse(1.0, 1.0, 4)
    with pytest.raises(ValueError, match="dim"):
        height_tokens(0, 8)
    with pytest.raises(ValueError, match="epsilon"):
        advance_tokens(np.zeros((2, 1)), 0.0)
    with pytest.raises(ValueError, match="radius"):
        sphere_layer(Interval.exactly(0.0), 0.1, 2)
    with pytest.raises(ValueError, match="radius"):
        sphere_layer(Interval(-0.1, 1.0), 0.1, 2)
    with pytest.raises(ValueError, match="start"):
        sphere_radii(-1.0, 0.1, 2, 1)


def test_a_layer_of_a_sphere_that_is_rounded_coarsely_is_enclosed(monkeypatch):
    right = sphere_layer(Interval.exactly(1.0), 0.25, 2)
    plain = module.propagate
    monkeypatch.setattr(module, "rounding", lambda *_, **__: 1e-6)
    for sign in (-1.0, 1.0):
        monkeypatch.setattr(module, "propagate", lambda *a, sign=sign, **k: plain(*a, **k) + sign * 0.99e-6)
        rough = sphere_layer(Interval.exactly(1.0), 0.25, 2)
        assert rough.lo <= right.lo < right.hi <= rough.hi
        assert rough.width < 2.1e-6


def test_a_layer_of_a_sphere_with_coarse_nodes_is_enclosed(monkeypatch):
    right = sphere_layer(Interval.exactly(1.0), 0.25, 2)
    plain = module.height_tokens
    unit = 2.0**-20

    def rough_tokens(dim, nodes):  # what is taken of nodes and masses, with another unit of rounding
        points, masses = plain(dim, nodes)
        return points * (1.0 + unit * np.sign(points)), masses * (1.0 + unit * np.sign(points[:, 0]))

    monkeypatch.setattr(module, "height_tokens", rough_tokens)
    monkeypatch.setattr(module, "U", unit)
    rough = sphere_layer(Interval.exactly(1.0), 0.25, 2)
    assert rough.lo <= right.lo < right.hi <= rough.hi
    assert abs(rough.mid - right.mid) > 1e-7
