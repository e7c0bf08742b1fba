"""Gaussian scores against quadrature, drawn scores and derivatives; the scale of gaps against all of them."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad

from theory.evidence import ball, hull, precision
from theory.maxent.gibbs import gap_scale, gaussian_scores, gaussian_weights, softmax


@pytest.mark.parametrize("deviation", [0.0625, 0.3, 1.0, 5.0])
def test_two_scores_are_an_integral(deviation):
    """Of two scores only the difference counts, which has twice the variance."""
    x = np.linspace(-12.0, 12.0, 200_001)
    density = np.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    weight = 1.0 / (1.0 + np.exp(-math.sqrt(2.0) * deviation * x))
    found = gaussian_weights(2, deviation)
    step = x[1] - x[0]
    assert found.participation.mid == pytest.approx(
        float((density * (weight**2 + (1.0 - weight) ** 2)).sum() * step), rel=1e-11, abs=0.0
    )
    log = -np.log(weight)
    assert found.entropy.mid == pytest.approx(float(2.0 * (density * weight * log).sum() * step), rel=1e-11, abs=0.0)
    assert found.participation.width < 1e-12


def test_three_scores_are_a_double_integral():
    def square(y, x):
        p = softmax(np.array([x, y, 0.0]) * 1.0)
        return float((p**2).sum()) * math.exp(-(x * x - x * y + y * y) / 3.0) / (2.0 * math.pi * math.sqrt(3.0))

    mean = dblquad(square, -12.0, 12.0, -12.0, 12.0, epsabs=1e-9)[0]
    assert gaussian_weights(3, 1.0).participation.mid == pytest.approx(mean, rel=1e-7, abs=0.0)


@pytest.mark.parametrize(("size", "deviation"), [(50, 0.5), (50, 3.0), (1000, 6.0)])
def test_drawn_scores(size, deviation):
    draws = 4000
    scores = deviation * np.random.default_rng(size).normal(size=(draws, size))
    p = softmax(scores)
    found = gaussian_weights(size, deviation)
    squares, entropies = (p**2).sum(axis=1), -np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0).sum(axis=1)
    for seen, value in ((squares, found.participation), (entropies, found.entropy)):
        assert abs(seen.mean() - value.mid) < 5.0 * seen.std() / math.sqrt(draws)


@pytest.mark.parametrize(("size", "deviation"), [(2, 2.0), (100, 0.25), (10**5, 4.0), (10**12, 9.0)])
def test_the_density_sums_to_one_and_the_slope_is_that_of_the_partition(size, deviation):
    found = gaussian_weights(size, deviation)
    assert 1.0 in found.mass
    assert found.mass.width < 1e-12
    by = 1.0 / 128.0
    above, below = (gaussian_weights(size, deviation + sign * by).log_partition.mid for sign in (1, -1))
    slope = (above - below) / (2.0 * by)
    assert slope == pytest.approx(deviation * (1.0 - found.participation.mid), rel=1e-4, abs=0.0)
    entropy = found.log_partition.mid - deviation**2 * (1.0 - found.participation.mid)
    assert found.entropy.mid == pytest.approx(entropy, rel=1e-10, abs=0.0)


@pytest.mark.parametrize("every", [3, 5, 7])
@pytest.mark.parametrize(("size", "deviation"), [(3, 2.0), (500, 6.0)])
def test_sums_over_fewer_places_enclose_the_same(monkeypatch, size, deviation, every):
    fine = gaussian_weights(size, deviation)
    lattice = gaussian_scores._lattice

    def fewer(sigma, nats):
        step, reach, *functions = lattice(sigma, nats)
        kept = reach // every
        return step * every, kept, *(f[reach - kept * every :: every][: 2 * kept + 1] for f in functions)

    monkeypatch.setattr(gaussian_scores, "_lattice", fewer)
    for narrow, wide in zip(fine, gaussian_weights(size, deviation), strict=True):
        assert wide.lo <= narrow.lo
        assert narrow.hi <= wide.hi


@pytest.mark.parametrize("nats", [3.0, 6.0, 12.0])
@pytest.mark.parametrize("deviation", [0.5, 2.0, 8.0])
def test_a_coarse_convolution_encloses_the_functions(deviation, nats):
    step, reach, *functions = gaussian_scores._lattice(deviation, nats)
    g = np.linspace(-10.0, 10.0, 400_001)
    law = np.exp(-g * g / 2.0) / math.sqrt(2.0 * math.pi) * (g[1] - g[0])
    for j in (-2, 0, 1, 3):
        y = np.exp(deviation * (g - j * float(step.mid())))
        for found, values in zip(functions, (np.exp(-y), y * np.exp(-y)), strict=True):
            inside = hull(found[reach + j])
            assert inside.lo - 1e-9 <= float((law * values).sum()) <= inside.hi + 1e-9


@pytest.mark.parametrize(("deviation", "edge"), [(0.5, 3.0), (1.5, 2.0), (6.0, 2.5)])
def test_what_is_left_out_is_less_than_its_bound(deviation, edge):
    """Of the first function, and of it times the distance, at places beyond an edge; the edges are too near."""
    step = 1.0 / 8.0
    g = np.linspace(-12.0, 12.0, 1201)
    law = np.exp(-g * g / 2.0) / math.sqrt(2.0 * math.pi) * (g[1] - g[0])
    beyond = np.arange(edge + step, edge + 40.0 / min(deviation, 1.0), step)
    places = np.concatenate([-beyond, beyond])
    y = np.exp(np.minimum(deviation * (g[:, np.newaxis] - places), 700.0))
    first = law @ (y * np.exp(-y))
    with precision():
        bounds = gaussian_scores._left_out(ball(deviation), ball(edge))
        for bound, seen in zip(bounds, (first.sum(), (first * np.abs(places)).sum()), strict=True):
            assert 1e-4 * hull(bound).lo < step * seen < hull(bound).lo


def test_scale_of_gaps():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=30)
    found = gap_scale(scores)
    gaps = np.sort(scores.max() - scores)[1:]
    ratios = np.log(np.arange(2.0, 31.0)) / gaps
    assert found.scale.mid == pytest.approx(ratios.max(), rel=1e-13, abs=0.0)
    assert found.gaps == int(np.argmax(ratios)) + 1
    assert gap_scale(1e6 * scores).scale.mid == pytest.approx(1e-6 * found.scale.mid, rel=1e-12, abs=0.0)
    assert gap_scale([1.0, 0.5]).scale.mid == pytest.approx(2.0 * math.log(2.0), rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gap_scale([1.0]), "scores"),
        (lambda: gap_scale([1.0, 1.0, 0.0]), "scores"),
        (lambda: gaussian_weights(1, 1.0), "size"),
        (lambda: gaussian_weights(10**31, 1.0), "size"),
        (lambda: gaussian_weights(5, 0.01), "deviation"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
