"""Closures of Gaussians against definitions in sixty digits and drawn tokens, and the solved cases against flows."""

import math

import mpmath
import numpy as np
import pytest

from theory.evidence import exact, stream, within
from theory.evidence.enclosure import balls, precision
from theory.particles import flow, studies
from theory.particles.mean_field import (
    DistanceClosure,
    SinkhornClosure,
    SoftmaxClosure,
    blow_up_time,
    collapse_shape,
    coupling_error,
    gauss_hermite,
    gaussian,
    log_variance_field,
    mixture_field,
    moment_field,
    sinkhorn_coupling,
    softmax_covariance,
)


def rng(case=0):
    return stream("tests.gaussian", case)


def drawn(case=0, d=2):
    draw = rng(case)
    root = draw.normal(size=(d, d))
    return draw.normal(size=d), root @ root.T + 0.2 * np.eye(d), draw.normal(size=(d, d)), draw.normal(size=(d, d))


def weighted_mean(logs, points):
    law = np.exp(logs - logs.max())
    return law @ points / law.sum()


def test_softmax_and_distance_against_a_fine_grid():
    mean, covariance, form, value = drawn()
    query = 0.3 * form
    key = 0.4 * value
    x = np.array([0.3, -0.2])
    z = np.linspace(-9.0, 9.0, 241)
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    y = mean + grid @ np.linalg.cholesky(covariance).T
    prior = -0.5 * (grid * grid).sum(axis=1)
    form = 0.3 * form
    for closure, scores in (
        (SoftmaxClosure(form, value), y @ form @ x),
        (DistanceClosure(query, key, value), -((query @ x - y @ key.T) ** 2).sum(axis=1)),
    ):
        velocity, slope = closure.affine(mean, covariance)
        truth = value @ weighted_mean(prior + scores, y)
        np.testing.assert_allclose(velocity + slope @ (x - mean), truth, rtol=0.0, atol=1e-11)


def test_without_a_value_matrix_it_is_one():
    mean, covariance, form, _ = drawn()
    for made in (SoftmaxClosure, SinkhornClosure):
        for got, wanted in zip(
            made(form).affine(mean, covariance), made(form, np.eye(2)).affine(mean, covariance), strict=True
        ):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_coupling_makes_the_scores(d):
    _, covariance, form, _ = drawn(d, d)
    c = sinkhorn_coupling(covariance, form)
    error = coupling_error(covariance, form)
    with mpmath.workdps(50):  # the same by matrix roots, without singular values
        sigma = mpmath.matrix(covariance.tolist())
        a = mpmath.matrix(form.tolist())
        root = mpmath.sqrtm(sigma)
        inner = root * a.T * root
        one = mpmath.eye(d)
        exact = root * (2 * mpmath.inverse(one + mpmath.sqrtm(one + 4 * inner * inner.T))) * inner * root
        truth = np.array([[float(mpmath.re(exact[i, j])) for j in range(d)] for i in range(d)])
        prior = mpmath.inverse(sigma)
        lacking = prior * exact * mpmath.inverse(sigma - exact.T * prior * exact) - a.T
        assert mpmath.mnorm(lacking, "f") < 1e-40
    assert np.linalg.norm(c - truth) <= error < 1e-9


def test_sinkhorn_slope_is_the_coupling_over_the_covariance():
    mean, covariance, form, value = drawn(3)
    velocity, slope = SinkhornClosure(form, value).affine(mean, covariance)
    wanted = value @ sinkhorn_coupling(covariance, form).T @ np.linalg.inv(covariance)
    np.testing.assert_allclose(slope, wanted, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(velocity, value @ mean, rtol=0.0, atol=1e-14)


def test_the_velocity_of_the_moments_is_that_of_drawn_tokens():
    mean, covariance, form, value = drawn(4)
    closure = SoftmaxClosure(0.3 * form, value)
    state = np.column_stack([mean, covariance])
    rate = moment_field(closure)(state)
    h = 1e-6
    velocity, slope = closure.affine(mean, covariance)
    moved = np.eye(2) + h * slope  # of a token, less its mean
    np.testing.assert_allclose(rate[:, 0], velocity, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose((moved @ covariance @ moved.T - covariance) / h, rate[:, 1:], rtol=0.0, atol=1e-4)


def test_between_its_steps_a_flow_still_covers_the_solution():
    _, covariance, form, _ = drawn(6)
    end = min(blow_up_time(form, covariance), 4.0)
    times = np.linspace(0.0, 0.9 * end, 12)
    path = flow(moment_field(SoftmaxClosure(form)), np.column_stack([np.zeros(2), covariance]), times)
    for at in np.ndindex(2, 2):
        for t, found in zip(times.tolist(), path.observe(lambda s, at=at: float(s[at[0], 1 + at[1]])), strict=True):
            truth = softmax_covariance(form, covariance, t)[at]
            assert found.lo - 1e-13 <= truth <= found.hi + 1e-13


def test_on_the_line_the_variance_keeps_its_digits():
    rate = log_variance_field(SinkhornClosure([[2.0]], [[0.5]]))
    for log in (-60.0, 0.0, 60.0):
        with mpmath.workdps(80):
            s = mpmath.exp(mpmath.mpf(log))
            wanted = 4 * mpmath.mpf("0.5") * 2 * s / (1 + mpmath.sqrt(1 + 16 * s**2))
        np.testing.assert_allclose(float(rate(np.asarray(log))), float(wanted), rtol=1e-13, atol=0.0)


def test_blow_up_and_collapse():
    assert blow_up_time([[2.0]], [[0.5]]) == pytest.approx(0.5, rel=1e-14, abs=0.0)
    assert blow_up_time([[-1.0, 5.0], [-5.0, -1.0]], np.eye(2)) == math.inf
    np.testing.assert_allclose(collapse_shape([[-1.0, 5.0], [-5.0, -2.0]]), np.diag([0.5, 0.25]), rtol=0.0, atol=1e-15)
    late = 1e8 * softmax_covariance([[-1.0, 5.0], [-5.0, -2.0]], [[2.0, 1.0], [1.0, 3.0]], 1e8)
    np.testing.assert_allclose(late, np.diag([0.5, 0.25]), rtol=0.0, atol=1e-8)


def test_a_mixture_of_one_is_a_gaussian():
    mean, covariance, form, value = drawn(7)
    x = rng(8).normal(size=(3, 2))
    velocity, slope = SoftmaxClosure(form, value).affine(mean, covariance)
    found = mixture_field(form, [0.3], mean[np.newaxis], [covariance], value)(x)
    np.testing.assert_allclose(found, velocity + (x - mean) @ slope.T, rtol=0.0, atol=1e-11)
    points = mixture_field([[2.0]], [1.0, 3.0], [[1.0], [-1.0]], [[[0.0]], [[0.0]]])([[0.5]])  # two atoms
    law = np.array([math.exp(1.0), 3.0 * math.exp(-1.0)])
    assert points[0, 0] == pytest.approx((law[0] - law[1]) / law.sum(), rel=1e-14, abs=0.0)


def test_floats_of_a_mixture_lie_in_its_enclosure():
    parts = [drawn(case) for case in (9, 10)]
    form, value = parts[0][2:]
    means, covariances = zip(*(part[:2] for part in parts), strict=True)
    field = mixture_field(form, [0.25, 0.5], means, covariances, value)
    x = rng(11).normal(size=(5, 2))
    inside = field(exact(x))
    apart = np.abs(field(x) - inside.mid)
    assert (apart <= 4.0 * inside.radius).all()  # the two are summed in different orders
    assert inside.radius.max() < 1e-9


@pytest.mark.parametrize("nodes", [1, 2, 5, 40, 90])
def test_gauss_hermite_integrates_polynomials(nodes):
    rule = gauss_hermite([0.0], [[1.0]], nodes=nodes)
    for degree in range(0, min(2 * nodes, 12), 2):
        truth = math.prod(range(1, degree, 2))
        assert rule.weights @ rule.points[:, 0] ** degree == pytest.approx(truth, rel=1e-12, abs=0.0)
    if nodes >= 40:
        assert rule.weights @ np.exp(2.0 * rule.points[:, 0]) == pytest.approx(math.exp(2.0), rel=1e-13, abs=0.0)


def test_gauss_hermite_in_the_plane():
    mean, covariance, _, _ = drawn(9)
    rule = gauss_hermite(mean, np.linalg.cholesky(covariance), nodes=12)
    np.testing.assert_allclose(rule.mean(), mean, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(rule.covariance(), covariance, rtol=0.0, atol=1e-12)


def test_studies_at_both_scales():
    for scale in ("quick", "paper"):
        assert len(studies.gaussian_growth(scale=scale, root=1)) > 100
        assert set(studies.gaussian_ellipses(scale=scale, root=1)["kernel"]) == {"softmax", "distance", "sinkhorn"}


SPREAD = np.eye(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SoftmaxClosure([[1.0, 0.0]]), "form: expected shape"),
        (lambda: SoftmaxClosure(SPREAD, [[1.0]]), "value: expected shape"),
        (lambda: SinkhornClosure([1.0]), "form: expected shape"),
        (lambda: DistanceClosure(SPREAD, [[1.0, 0.0]]), "key: expected shape"),
        (lambda: DistanceClosure([[1.0, 0.0]], [[1.0, 0.0]], [[1.0]]), "value: expected shape"),
        (lambda: sinkhorn_coupling(-SPREAD, SPREAD), "covariance: expected a positive definite"),
        (lambda: sinkhorn_coupling(SPREAD, [[1.0]]), "form: expected shape"),
        (lambda: blow_up_time(SPREAD, np.zeros((2, 2))), "covariance: expected a positive definite"),
        (lambda: softmax_covariance(SPREAD, SPREAD, 0.5), "time: expected one before the blow-up"),
        (lambda: collapse_shape(SPREAD), "form: expected a negative definite"),
        (lambda: mixture_field(SPREAD, [1.0, 0.0], SPREAD, [SPREAD, SPREAD]), "weights, covariances: expected 2"),
        (lambda: mixture_field(SPREAD, [1.0, 1.0], SPREAD, [SPREAD]), "weights, covariances: expected 2"),
        (lambda: gauss_hermite([0.0], [[1.0]], nodes=0), "nodes: expected an integer of at least 1"),
        (lambda: gauss_hermite([0.0], [[1.0]], nodes=201), "nodes: expected at most 200"),
        (lambda: gauss_hermite([0.0], SPREAD), "root: expected shape"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("size", [1e80, 1e160, 1e300])
def test_a_strong_coupling_takes_all_of_the_covariance(size):
    with mpmath.workdps(60):
        b = mpmath.mpf(size)
        exact = float(2 * b / (1 + mpmath.sqrt(1 + 4 * b * b)))
    assert sinkhorn_coupling([[1.0]], [[size]]).item() == pytest.approx(exact, rel=1e-14, abs=0.0)


def test_what_leaves_float64_is_refused_and_never_returned():
    for call, words in (
        (lambda: sinkhorn_coupling([[1e300]], [[1e300]]), "covariance, form: expected ones whose products"),
        (lambda: blow_up_time([[1e300]], [[1e300]]), "form, covariance: expected ones whose products"),
        (lambda: blow_up_time([[1.7e308]], [[1.0]]), "form: expected one that float64 can double"),
        (lambda: collapse_shape([[-1.7e308]]), "form: expected one that float64 can double"),
        (lambda: collapse_shape([[-5e-324]]), "form: expected one of which float64 holds the inverse"),
        (lambda: softmax_covariance([[-1.0]], [[1e200]], -1e200), "time"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_decompositions_err_by_less_than_what_is_taken():
    draws = np.random.default_rng(3)
    worst = 0.0
    for d in (2, 3, 5, 8):
        for _ in range(12):
            root = draws.normal(size=(d, d))
            covariance = root @ root.T
            covariance = (covariance + covariance.T) / 2.0
            unit = d**1.5 * 2.0**-53
            with precision():
                values, vectors = (balls(part) for part in np.linalg.eigh(covariance))
                left, size, right = (balls(part) for part in np.linalg.svd(root))
                for off, whole in (
                    (vectors * values @ vectors.T - balls(covariance), covariance),
                    (left * size @ right - balls(root), root),
                ):
                    lost = np.linalg.norm(np.vectorize(lambda ball: float(ball.mid()))(off))
                    worst = max(worst, lost / np.linalg.norm(whole, 2) / unit)
    assert 2.0 < worst <= gaussian._LAPACK


def test_the_error_of_a_coupling_covers_a_coarse_root(monkeypatch):
    """A root and an inner product as far off as is taken, if decompositions had 23 bits."""
    root_of = gaussian._root
    svd = np.linalg.svd
    draws = np.random.default_rng(0)
    used = []
    monkeypatch.setattr(gaussian, "_LAPACK", 64.0 * 2.0**30)

    def turned(matrix, size):
        off = draws.normal(size=matrix.shape)
        off = off + off.T if np.abs(matrix - matrix.T).max() < 1e-9 else off
        return matrix + size * off / np.linalg.norm(off)

    for spread, steep in ((1.0, 1.0), (0.04, 1.0), (1.0, 30.0), (0.04, 0.1)):
        covariance = np.diag([1.0, spread])
        form = steep * draws.normal(size=(2, 2))
        exact = sinkhorn_coupling(covariance, form)
        bound = coupling_error(covariance, form)
        unit = gaussian._LAPACK * 2.0**1.5 * 2.0**-53
        moved = unit / (2.0 * math.sqrt(spread)) + unit
        with monkeypatch.context() as coarse:
            for _ in range(20):
                coarse.setattr(gaussian, "_root", lambda s, moved=moved: turned(root_of(s), moved))
                coarse.setattr(np.linalg, "svd", lambda a, unit=unit: svd(turned(a, unit * np.linalg.norm(a, 2))))
                used.append(np.linalg.norm(sinkhorn_coupling(covariance, form) - exact) / bound)
    assert 0.1 < max(used) <= 1.0


@pytest.mark.parametrize(
    "asked",
    [
        lambda wide: sinkhorn_coupling(wide, np.eye(2)), lambda wide: sinkhorn_coupling(np.eye(2), wide),
        lambda wide: softmax_covariance(-np.eye(2), wide, 0.1), lambda wide: blow_up_time(np.eye(2), wide),
        lambda wide: collapse_shape(-1.0 * wide),
    ],
)  # fmt: skip
def test_a_width_that_no_lemma_covers_is_refused(asked):
    with pytest.raises(ValueError, match="expected numbers that are known exactly"):
        asked(within(np.eye(2), 0.1))
