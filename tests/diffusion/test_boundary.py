"""Attention beside a wall against quadratures and error functions, and stacks against a matrix of another rule."""

import math
import re

import mpmath
import numpy as np
import pytest
from scipy.special import erf

from theory.diffusion.geometry import gauss_tokens, layer_rise, segment_stack
from theory.evidence import Kind


def test_gauss_tokens_integrate_polynomials():
    tokens, masses = gauss_tokens([0.0, 0.5, 2.0], 5)
    assert tokens.shape == (10, 1)
    assert math.fsum(masses.tolist()) == pytest.approx(2.0, rel=1e-15, abs=0)
    assert float(masses @ tokens[:, 0] ** 9) == pytest.approx(2.0**10 / 10, rel=1e-14, abs=0)


@pytest.mark.parametrize("epsilon", [0.3, 1e-4])
@pytest.mark.parametrize("s", [0.0, 0.7, 5.0, 40.0])
def test_layer_rise_against_quadrature(epsilon, s):
    with mpmath.workdps(30):
        unit = mpmath.sqrt(mpmath.mpf(epsilon))
        x = s * unit
        ends = [max(-mpmath.mpf(s), -14)] + [k for k in range(-13, 15) if k > -s]

        def weight(u):
            return mpmath.exp(-(u**2) / 2 + (x + unit * u) / 3)

        top = mpmath.quad(lambda u: (mpmath.sin(x + unit * u) - mpmath.sin(x)) * weight(u), ends)
        exact = top / mpmath.quad(weight, ends)
    found = layer_rise(np.sin, lambda y: np.exp(y / 3.0), epsilon, s)
    assert found.lo <= exact <= found.hi
    assert found.width < 1e-11 * math.sqrt(epsilon) * (1.0 + s**2) + 1e-12  # distances are bounded by those to zero


def test_one_layer_of_a_segment():
    epsilon = 0.02
    x = np.array([0.0, 0.3, 1.0])
    found = segment_stack(lambda y: y, epsilon, 0.01, x.tolist())

    def normal(z):
        return np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi), 0.5 * (1 + erf(z / math.sqrt(2)))

    unit = math.sqrt(epsilon)
    (low, below), (high, above) = normal(-x / unit), normal((1 - x) / unit)
    exact = x + unit * (low - high) / (above - below)
    for value, claimed in zip(found, exact.tolist(), strict=True):
        assert value.lo <= claimed <= value.hi


def test_a_stack_against_the_midpoint_rule():
    epsilon = 0.02
    n = 4000
    places = [0.0, 0.4, 0.9]
    y = (np.arange(n) + 0.5) / n
    rows = np.exp(-((y[:, np.newaxis] - y) ** 2) / (2 * epsilon))
    rows /= rows.sum(axis=1, keepdims=True)
    values = np.cos(math.pi * y)
    for _ in range(4):
        values = rows @ values
    asked = np.exp(-((np.array(places)[:, np.newaxis] - y) ** 2) / (2 * epsilon))
    exact = (asked / asked.sum(axis=1, keepdims=True)) @ values
    found = segment_stack(lambda x: np.cos(math.pi * x), epsilon, 0.05, places)
    np.testing.assert_allclose([v.mid for v in found], exact, rtol=0, atol=1e-6)  # of the midpoint rule
    assert max(v.width for v in found) < 1e-11


def test_layer_rise_holds_the_truth_with_too_few_nodes():
    """Fifty radians of wave to a deviation: eighteen nodes are too few, and fourteen fewer still."""
    epsilon, s = 0.04, 40.0
    found = layer_rise(lambda x: np.cos(50.0 * x / math.sqrt(epsilon)), np.ones_like, epsilon, s)
    exact = -math.cos(50.0 * s)  # its mean is exp(-1250)
    assert found.lo <= exact <= found.hi
    assert abs(found.mid - exact) > 1e-9
    assert found.kind is Kind.ESTIMATED


def test_layer_rise_of_a_function_far_from_zero():
    """What its values round is of their own size, and not of that of the rise."""
    far, near = (layer_rise(f, np.ones_like, 1e-4, 1.55) for f in (lambda x: 1e8 + x, lambda x: x))
    assert far.lo <= near.lo
    assert near.hi <= far.hi
    assert abs(far.mid - near.mid) > 10 * near.width


def test_segment_stack_holds_the_truth_with_too_few_nodes():
    epsilon, x, wave = 0.02, 0.4, 130.0
    (found,) = segment_stack(lambda y: np.cos(wave * y), epsilon, 0.01, [x])
    with mpmath.workdps(30):

        def weight(y):
            return mpmath.exp(-((y - mpmath.mpf(x)) ** 2) / (2 * mpmath.mpf(epsilon)))

        ends = mpmath.linspace(0, 1, 65)
        exact = mpmath.quad(lambda y: mpmath.cos(wave * y) * weight(y), ends) / mpmath.quad(weight, ends)
    assert found.lo <= exact <= found.hi
    assert abs(found.mid - exact) > 1e-9
    assert found.kind is Kind.ESTIMATED


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gauss_tokens([0.0], 4), "ends: expected at least two rising"),
        (lambda: gauss_tokens([0.0, 0.0], 4), "ends: expected at least two rising"),
        (lambda: gauss_tokens([0.0, 1.0], 0), "nodes: expected an integer of at least 1"),
        (lambda: layer_rise(np.sin, np.ones_like, 0.0, 1.0), "epsilon: expected a positive"),
        (lambda: layer_rise(np.sin, np.ones_like, 0.1, -1.0), "place: expected"),
        (lambda: layer_rise(np.sin, np.ones_like, 0.1, math.nan), "place: expected"),
        (lambda: segment_stack(np.sin, 0.1, 0.2, [1.5]), "places: expected numbers from 0 to 1"),
        (lambda: segment_stack(np.sin, 0.3, 0.2, [0.5]), "time: expected a multiple"),
        (lambda: segment_stack(np.sin, -0.3, 0.2, [0.5]), "epsilon: expected a positive"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
