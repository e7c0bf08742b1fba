"""Wide layers: products by floats hold what balls find, thin norms hold whatever factors a library finds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.evidence.enclosure import balls, exp, hull, precision
from theory.lipschitz.certificate import as_attention_weights, certify, enclose_stretch, product_norm, thin, wide
from theory.lipschitz.certificate.ascent import main_directions, restricted_jacobian, singular_pair
from theory.lipschitz.certificate.progress import listening


def drawn(seed, *, d=8, heads=4, out=7, score="dot", causal=False, bias=True, residual=False, scale=None):
    rng = np.random.default_rng(seed)
    query, key, value = (0.5 * rng.normal(size=(2 * heads, d)) for _ in range(3))
    return as_attention_weights(
        query, query if score == "distance" else key, value, rng.normal(size=(out, 2 * heads)), heads=heads,
        causal=causal, residual=residual, score=score, scale=scale,
        b_query=rng.normal(size=2 * heads) if bias and score == "dot" else None,
    )  # fmt: skip


KINDS = list(itertools.product(("dot", "distance"), (False, True), (7, 8)))


@pytest.mark.parametrize(("score", "causal", "out"), KINDS)
def test_products_by_floats_hold_what_balls_find(score, causal, out):
    rng = np.random.default_rng(5)
    layer = drawn(1, score=score, causal=causal, out=out, residual=out == 8, scale=0.3 if causal else None)
    points, tangent = rng.normal(size=(2, 5, 8))
    masses = np.array([1.0, 1e-9, 2.0, 0.5, 1.0])
    with precision():
        exact = layer.push(balls(points), balls(tangent), balls(masses), balls, exp)
        found = wide.push_wide(layer, points, tangent, masses)
        for one, other in zip(exact, found, strict=True):
            inner, outer = hull(one), hull(other)
            assert (outer.lo <= inner.hi).all()
            assert (inner.lo <= outer.hi).all()
            assert (outer.width <= 1e-12 * np.abs(outer.mid).max()).all()


def test_where_one_key_has_all_the_mass_its_light_partner_still_counts():
    """A hundred million millionth of the mass is moved: what weights lose of themselves, rounded, is more than that."""
    d = 64
    spread = np.eye(d)[:1]
    layer = as_attention_weights(
        10.0 * spread, spread, spread, None, heads=1, causal=False, residual=False, score="dot", scale=1.0
    )
    points = np.zeros((2, d))
    points[:, 0] = 1.0, -1.0
    tangent = np.zeros((2, d))
    tangent[1, 0] = 1.0
    masses = np.array([1.0, 1e-16])
    wideness = enclose_stretch(layer, points, tangent, masses, 1)[0]
    line = as_attention_weights([[10.0]], [[1.0]], [[1.0]], None, heads=1, causal=False, residual=False, score="dot")
    exact = enclose_stretch(line, points[:, :1], tangent[:, :1], masses, 1)[0]
    assert wideness.lo <= exact.hi
    assert exact.lo <= wideness.hi
    assert wideness.width < 1e-9 * exact.lo


def test_what_leaves_float64_is_left_to_balls():
    points, tangent = np.full((2, 8), 1e200), np.ones((2, 8))
    huge = as_attention_weights(
        np.full((2, 8), 1e60), np.full((2, 8), 1e60), np.full((8, 8), 1e60), np.full((8, 8), 1e60), heads=1,
        causal=False, residual=False, score="dot",
    )  # fmt: skip
    with precision():
        assert wide.push_wide(huge, points * 1e60, tangent, np.ones(2)) is None


def test_a_product_is_as_near_as_its_bound_says():
    """Rows whose small terms are lost, and rows that cancel, against fractions."""
    n = 2**14
    x = np.array([np.full(n, 2.0**-27), np.random.default_rng(0).normal(size=n)])
    x[0, 0] = 1.0
    w = np.array([np.full(n, 2.0**-27), np.random.default_rng(1).normal(size=n)]).T
    w[0, 0] = 1.0
    off = np.abs(x) * 1e-3
    for radius in (np.zeros_like(x), off):
        middle, error = wide.product(x, radius, w)
        for i, j in itertools.product(range(2), range(2)):
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x[i].tolist(), w[:, j].tolist(), strict=True))
            most = sum(
                Fraction(a) * abs(Fraction(b)) for a, b in zip(radius[i].tolist(), w[:, j].tolist(), strict=True)
            )
            assert abs(Fraction(middle[i, j]) - exact) + most <= Fraction(error[i, j])
            assert error[i, j] <= 1.1 * (float(most) + 2.0 * n * 2.0**-53 * np.abs(x[i]) @ np.abs(w[:, j]))


def thin_pair(seed, m=24, k=2, n=32):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, k)), rng.normal(size=(k, n))


def exact_norm(a, b):
    with mpmath.workdps(40):
        return mpmath.svd_r(mpmath.matrix(a.tolist()) * mpmath.matrix(b.tolist()), compute_uv=False)[0]


def test_thin_products_hold_their_norm():
    for seed in range(4):
        a, b = thin_pair(seed)
        assert thin.is_thin(a, b)
        exact = exact_norm(a, b)
        found = product_norm(a, b)
        assert found.lo <= exact <= found.hi
        assert found.width < 1e-11 * found.hi
    a, b = np.zeros((24, 2)), thin_pair(0)[1]
    assert 0.0 in product_norm(a, b)
    a = np.stack([np.ones(24), np.ones(24) + 2.0**-45 * np.arange(24)], axis=1)  # nearly dependent
    b = thin_pair(1)[1]
    b[1] = -b[0]
    exact = exact_norm(a, b)
    found = product_norm(a, b)
    assert found.lo <= exact <= found.hi


@pytest.mark.parametrize("broken", ["basis", "upper", "both"])
def test_factors_need_not_be_right(broken, monkeypatch):
    """What a library gets wrong in its factors is measured and charged, on either side."""
    true = np.linalg.qr

    def wrong(matrix):
        basis, upper = true(matrix)
        factor = {"basis": (1.05, 1.0), "upper": (1.0, 0.9), "both": (0.9, 1.0 / 0.9)}[broken]
        return basis * factor[0], upper * factor[1]

    monkeypatch.setattr(np.linalg, "qr", wrong)
    for seed in range(4):
        a, b = thin_pair(seed)
        exact = exact_norm(a, b)
        found = product_norm(a, b)
        assert found.lo <= exact <= found.hi


def test_thin_norms_are_charged_what_the_lemma_says():
    """Factors that are exact, of a matrix with orthonormal columns, leave the a-priori terms alone."""
    a = np.eye(24)[:, :2]
    found = thin.factored(a)
    u = 2.0**-53
    assert found.residual.hi >= 5 * u * (2.0 + np.sqrt(2.0)) * (1 - 1e-9)
    assert found.skew >= 26 * u * 4.0 * (1 - 1e-9)
    assert found.size.width >= 2 * 52 * u * np.sqrt(2.0) * (1 - 1e-9)


@pytest.mark.parametrize(("score", "causal", "out"), KINDS)
def test_the_derivative_in_a_few_directions_is_that_of_the_layer(score, causal, out):
    rng = np.random.default_rng(3)
    layer = drawn(2, score=score, causal=causal, out=out, residual=out == 8, scale=0.3 if causal else None)
    points, space, masses = rng.normal(size=(5, 8)), rng.normal(size=(8, 3)), rng.uniform(0.1, 1.0, size=5)
    found = restricted_jacobian(layer, points, masses, space)
    for j, k in itertools.product(range(5), range(3)):
        tangent = np.zeros((5, 8))
        tangent[j] = space[:, k]
        with precision():
            exact = hull(layer.push(balls(points), balls(tangent), balls(masses), balls, exp)[1]).mid
        np.testing.assert_allclose(found[:, j, :, k], exact, rtol=1e-10, atol=1e-12)


def test_directions_are_those_of_the_singular_values():
    layer = drawn(4, d=12)
    _, _, right = np.linalg.svd(layer.mean_map())
    found = main_directions(layer)
    assert found.shape == (8, 12)
    np.testing.assert_allclose(np.abs(np.sum(found[:3] * right[:3], axis=1)), 1.0, rtol=1e-9, atol=0.0)
    key, query = singular_pair(layer.w_query[0], layer.w_key[0])
    form = layer.w_query[0].T @ layer.w_key[0]
    assert query @ form @ key == pytest.approx(np.linalg.norm(form, 2), rel=1e-12, abs=0.0)


def test_a_wide_layer_is_judged_on_both_sides():
    rng = np.random.default_rng(0)
    w = {name: 0.1 * rng.normal(size=(64, 64)) for name in ("w_query", "w_key", "w_value", "w_out")}
    said = []
    with listening(said.append):
        found = certify(**w, radius=3.0, heads=8, n=10)
    for row in found.rows:
        assert 0.0 < row.lower <= row.constant
    assert said[0] == "norms of 8 heads of 64 numbers a token"
    assert said[1] == "detours of 8 forms"
    assert len(said) == 8
    certify(**w, radius=3.0, heads=8, search=False)
    assert said[1] == "detours of 8 forms"
    assert len(said) == 8
