"""Averages over balls against quadrature, and what they refuse."""

import math

import mpmath
import numpy as np
import pytest

from theory.diffusion import Neighbourhoods, PeriodicGrid
from theory.diffusion.similarity.neighbours import ball_transform
from theory.evidence import exact
from theory.evidence.roundoff import U

LINE, PLANE = PeriodicGrid((32,)), PeriodicGrid((24, 24))
X = LINE.axes[0]
P = (1 + 0.5 * np.cos(X) + 0.2 * np.sin(2 * X)) / (2 * math.pi)
H = np.sin(X) + 0.5 * np.cos(2 * X)


@pytest.mark.parametrize("phase", [0.0, 1e-4, 0.9999e-3, 1.0001e-3, 0.5, 7.0])
@pytest.mark.parametrize("dim", [1, 2])
def test_transform_of_a_ball(phase, dim):
    r = 0.5
    found = float(ball_transform(phase / r, r, dim))
    with mpmath.workdps(40):
        s = mpmath.mpf(phase / r)
        if dim == 1:
            exact = 2 * mpmath.sin(s * r) / s if phase else mpmath.mpf(2 * r)
        else:
            exact = 2 * mpmath.pi * r * mpmath.besselj(1, s * r) / s if phase else mpmath.pi * r**2
    assert found == pytest.approx(float(exact), rel=4e-15, abs=1e-16)


def test_line_against_quadrature():
    held = Neighbourhoods(LINE, 3.0 * P, [[0.3], [4.0]], 0.2)
    found = held.average(H)
    r = held.radii()

    def density(y):
        return (1 + mpmath.cos(y) / 2 + mpmath.sin(2 * y) / 5) / (2 * mpmath.pi)

    for x, radius, value in zip((0.3, 4.0), r.tolist(), found.tolist(), strict=True):
        mass = mpmath.quad(density, [x - radius, x + radius])
        total = mpmath.quad(lambda y: density(y) * (mpmath.sin(y) + mpmath.cos(2 * y) / 2), [x - radius, x + radius])
        assert float(mass) == pytest.approx(0.2, rel=1e-13, abs=0)
        assert value == pytest.approx(float(total / mass), rel=0, abs=held.rounding(H))
    assert held.rounding(H) < 1e-11


def test_plane_against_quadrature():
    x, y = PLANE.axes
    p = (1 + 0.4 * np.cos(x) + 0.2 * np.sin(y) + 0.1 * np.cos(x - y)) / (4 * math.pi**2)
    h = np.broadcast_to(np.sin(x) + 0.5 * np.cos(y - x), PLANE.shape)
    held = Neighbourhoods(PLANE, p, [[1.0, 2.0]], 0.1)
    (r,), (value,) = held.radii().tolist(), held.average(h).tolist()
    nodes, weights = np.polynomial.legendre.leggauss(40)
    rho, turn = 0.5 * r * (nodes + 1), 2 * math.pi * np.arange(64) / 64
    u = 1.0 + np.multiply.outer(rho, np.cos(turn))
    v = 2.0 + np.multiply.outer(rho, np.sin(turn))
    area = (0.5 * r * weights * rho)[:, np.newaxis] * (2 * math.pi / 64)
    density = (1 + 0.4 * np.cos(u) + 0.2 * np.sin(v) + 0.1 * np.cos(u - v)) / (4 * math.pi**2) * area
    assert density.sum() == pytest.approx(0.1, rel=1e-12, abs=0)
    expected = (density * (np.sin(u) + 0.5 * np.cos(v - u))).sum() / density.sum()
    assert value == pytest.approx(expected, rel=0, abs=1e-12)


def test_uniform_tokens_have_balls_of_the_share():
    held = Neighbourhoods(LINE, np.ones(32), [[0.0], [2.0]], 0.25)
    np.testing.assert_allclose(held.radii(), 0.25 * math.pi, rtol=1e-14, atol=0)


def test_rounding_holds_where_the_density_almost_vanishes():
    """Masses are sums of waves that cancel: what they are off is relative to the largest, not to the least density."""
    low, share, x = 1e-6, 1e-12, 1e-3
    held = Neighbourhoods(LINE, 1.0 - (1.0 - low) * np.cos(X), [[x]], share)
    (found,), (radius,) = held.average(H).tolist(), held.radii().tolist()
    with mpmath.workdps(40):
        place, top = mpmath.mpf(x), mpmath.mpf(1.0 - low)

        def mass(r):
            return (2 * r - top * (mpmath.sin(place + r) - mpmath.sin(place - r))) / (2 * mpmath.pi) - mpmath.mpf(share)

        r = mpmath.findroot(mass, (radius, 1.01 * radius), tol=1e-60, verify=False)
        weighed = mpmath.quad(
            lambda y: (1 - top * mpmath.cos(y)) * (mpmath.sin(y) + mpmath.cos(2 * y) / 2), [place - r, place, place + r]
        )
        error = abs(float(found - weighed / (2 * mpmath.pi * mpmath.mpf(share))))
    assert 1e-12 < error <= held.rounding(H)


def test_radii_hold_where_the_density_almost_vanishes():
    low, share, x = 1e-6, 1e-10, 1e-3
    density = 1.0 - (1.0 - low) * np.cos(X)
    held = Neighbourhoods(LINE, density, exact([[x]]), share)
    (radius,) = held.radii()
    with mpmath.workdps(40):
        place, top = mpmath.mpf(x), mpmath.mpf(1.0 - low)

        def mass(r):
            return (2 * r - top * (mpmath.sin(place + r) - mpmath.sin(place - r))) / (2 * mpmath.pi) - mpmath.mpf(share)

        r = mpmath.findroot(mass, (radius.mid, 1.01 * radius.mid), tol=1e-60, verify=False)
        error = float(abs(radius.mid - r))
    assert 16.0 * U * radius.mid < error <= 0.5 * radius.width
    assert Neighbourhoods(LINE, density, [[x]], share).radii()[0] in radius


def test_bad_input():
    with pytest.raises(ValueError, match="grid: expected dimension 1 or 2, got 3"):
        Neighbourhoods(PeriodicGrid((4, 4, 4)), np.ones((4, 4, 4)), [[0.0, 0.0, 0.0]], 0.1)
    with pytest.raises(ValueError, match="density: expected positive numbers"):
        Neighbourhoods(LINE, P - 1.0, [[0.0]], 0.1)
    with pytest.raises(ValueError, match="queries"):
        Neighbourhoods(LINE, P, [[0.0, 1.0]], 0.1)
    with pytest.raises(ValueError, match="share: expected one that a ball of radius pi holds"):
        Neighbourhoods(LINE, P, [[0.0]], 1.5)
    with pytest.raises(ValueError, match="dim: expected 1 or 2, got 3"):
        ball_transform(1.0, 1.0, 3)
    held = Neighbourhoods(LINE, P, [[0.0]], 0.5)
    with pytest.raises(ValueError, match="values: expected shape"):
        held.masses(3.0, [1.0])
    with pytest.raises(ValueError, match="radii: expected shape"):
        held.masses(P, [1.0, 2.0])
    with pytest.raises(ValueError, match="radii: expected non-negative"):
        held.masses(P, [-1.0])
