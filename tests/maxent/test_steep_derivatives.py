"""Derivatives of entmax beside a change of the support and above order 2, against hundreds of digits; normmax there."""

import mpmath as mp
import numpy as np
import pytest

from theory.evidence import ball, stream
from theory.evidence.enclosure import balls, precision
from theory.maxent import entmax, entmax_value, entmax_vjp, normmax, normmax_vjp
from theory.maxent.sparse import entmax_alpha_derivative

DIGITS = 300
LAWS = ([1 - 1e-12, 1e-12], [0.6, 0.4], [1 - 3e-9, 1e-9, 2e-9], [0.5, 0.3, 0.2], [1.0, 1e-17], [0.7, 0.3, 0.0])


def apart(found, truth):
    """Return the largest error in units of the largest entry."""
    off = max(abs(mp.mpf(float(x)) - y) for x, y in zip(found, truth, strict=True))
    return float(off / max(abs(y) for y in truth))


@pytest.mark.parametrize("alpha", [2.5, 3.0, 6.0, 10.0])
def test_product_with_the_jacobian_beside_an_edge(alpha):
    for case in range(40):
        rng = stream("tests.steep.vjp", case)
        n = int(rng.integers(2, 5))
        low = -rng.choice([0.0, 0.01, 2.0**-30], size=n - 1)
        low[0] = 0.0
        p = entmax(np.append(1 - 2.0 ** -int(rng.integers(1, 50)), low) / (alpha - 1.0), alpha)
        c = rng.normal(size=n)
        with mp.workdps(DIGITS):
            q = [mp.mpf(x) ** (2 - mp.mpf(alpha)) if x > 0 else mp.mpf(0) for x in p.tolist()]
            mean = mp.fdot(q, c.tolist()) / mp.fsum(q)
            truth = [a * (mp.mpf(b) - mean) for a, b in zip(q, c.tolist(), strict=True)]
            if any(truth):
                assert apart(entmax_vjp(p, c, alpha), truth) <= 4e-15


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1 + 1e-9, 1.3, 1.9, 2.0, 2.5, 3.0, 6.0, 10.0])
@pytest.mark.parametrize("law", LAWS)
def test_derivative_in_the_order_of_tiny_weights(law, alpha):
    p = np.array(law) if alpha > 1.0 else np.array([x for x in law if x > 0.0])
    with mp.workdps(DIGITS):
        e = mp.mpf(alpha) - 1
        on = [mp.mpf(x) for x in p.tolist() if x > 0.0]
        r = [x * (1 - x**-e - e * mp.log(x)) / e**2 for x in on]
        q = [x ** (1 - e) for x in on]
        truth = [a - b * mp.fsum(r) / mp.fsum(q) for a, b in zip(r, q, strict=True)]
        truth += [mp.mpf(0)] * (p.size - len(on))
        assert apart(entmax_alpha_derivative(p, alpha), truth) <= 4e-15


@pytest.mark.parametrize("alpha", [2.5, 3.0, 6.0, 10.0, 50.0])
def test_normmax_at_the_margin_and_just_inside(alpha):
    assert np.array_equal(normmax([1.0, 0.0], alpha), [1.0, 0.0])
    for bits in (1, 10, 30, 51):
        short = mp.mpf(2) ** -bits
        with mp.workdps(DIGITS):
            c = mp.mpf(alpha) / (mp.mpf(alpha) - 1)
            low = mp.mpf(0)
            high = 1 - short
            for _ in range(900):  # (1 - short - t)^c + (0 - t)^c = 1 for t = -x
                x = (low + high) / 2
                low, high = (x, high) if (1 - short + x) ** c + x**c < 1 else (low, x)
            powers = [(1 - short + x) ** (c - 1), x ** (c - 1)]
            truth = [y / mp.fsum(powers) for y in powers]
            assert apart(normmax([1.0 - 2.0**-bits, 0.0], alpha), truth) <= 1e-15


def halved(scores, alpha):
    """Return entmax by halving for the largest weight, in balls of more bits than its power loses."""
    steps = int(60 * alpha) + 100
    with precision(steps + 200):
        (order, *given), one = balls([alpha, *scores]), ball(1)
        e = order - 1
        gaps = [s - max(scores) for s in given]

        def weights(w):
            left = [1 + e * gap / w**e for gap in gaps]
            return [w * r ** (1 / e) if r > 0 else one * 0 for r in left]

        low = one / len(scores)
        high = one
        for _ in range(steps):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if sum(weights(middle)) >= 1 else (middle, high)
        return [float(w.mid()) for w in weights(high)]


@pytest.mark.parametrize(("alpha", "cases"), [(2.5, 12), (10.0, 12), (50.0, 4)])
def test_near_ties_of_a_high_order(alpha, cases):
    """Beside ties the threshold has no digits, and the weights still have all but those of the power."""
    for case in range(cases):
        rng = stream("tests.steep.ties", case)
        n = int(rng.integers(2, 5))
        scores = [1.0, *(1.0 - 10.0 ** rng.uniform(-16, -1, size=n))] if case % 2 else rng.normal(size=n) * 1e-3
        scores = [float(s) for s in scores]
        truth = np.array(halved(scores, alpha))
        assert truth.sum() == pytest.approx(1.0, rel=0.0, abs=1e-15)
        assert np.abs(entmax(scores, alpha) - truth).max() <= 8 * alpha * 2.0**-53


@pytest.mark.parametrize("alpha", [50.0, 1e3, 1e9, 1e300])
def test_ties_of_any_order_are_equal(alpha):
    assert np.array_equal(entmax([1.0, 1.0, 0.0, -1.0], alpha), [0.5, 0.5, 0.0, 0.0])
    assert entmax_value([1.0, 1.0, 0.0], alpha) == pytest.approx(1.0, rel=0.0, abs=1.0 / alpha)


@pytest.mark.parametrize("alpha", [1.5, 3.0, 60.0, 1e6, 1e16, 1e200])
def test_product_with_the_jacobian_of_normmax_at_any_order(alpha):
    """From the weights as they are given; no power of an order loses its digits, and none is 0 / 0."""
    for p in ([0.5, 0.5], [0.5, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25], [0.6, 0.4, 0.0], [0.5 + 2.0**-52, 0.5 - 2.0**-52]):
        c = [1.0, -0.5, 0.25, 2.0][: len(p)]
        with mp.workdps(DIGITS + 400):
            a = mp.mpf(alpha)
            q = [mp.mpf(x) for x in p]
            norm = mp.fsum(x**a for x in q if x > 0) ** (1 / a)
            h = [x * (norm / x) ** (a - 1) / (a - 1) if x > 0 else mp.mpf(0) for x in q]
            mean = mp.fdot(q, c)
            moved = [y * (mp.mpf(b) - mean) for y, b in zip(h, c, strict=True)]
            truth = [y - x * mp.fsum(moved) for x, y in zip(q, moved, strict=True)]
        if max(h) < 1e300:
            found = normmax_vjp(p, c, alpha)
            size = max(map(abs, h))
            assert max(abs(mp.mpf(float(x)) - y) for x, y in zip(found, truth, strict=True)) <= 4e-13 * size
        else:
            with pytest.raises(ValueError, match=r"^weights, cotangent, alpha, tau: expected"):
                normmax_vjp(p, c, alpha)
