"""The largest detour of a form against ascents and wrong libraries, its constants against pairs of laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from theory.lipschitz.certificate import certify, largest_detour
from theory.lipschitz.constants import refined_w2_constant, sharp_w1_constant

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
PLAIN = {"w_value": np.eye(2), "radius": 1.0, "search": False}


def climbed(form):
    """Return the largest of x'B(y - x) over the unit ball, by ascents from many starts."""
    x = np.random.default_rng(0).normal(size=(200, len(form)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for _ in range(2000):
        sides = x @ form
        up = sides / np.linalg.norm(sides, axis=1, keepdims=True) @ form.T - x @ (form + form.T)
        x = x + up / (4.0 * np.linalg.norm(form, 2))
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    return float((np.linalg.norm(x @ form, axis=1) - ((x @ form) * x).sum(axis=1)).max())


@pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 2), (1, 2), (3, 3), (5, 5), (3, 6), (2, 6), (2, 30)])
def test_the_bound_is_the_detour(k, d):
    """Duality leaves no gap, whether rows are few or many, and sizes of queries and keys do not matter."""
    rng = np.random.default_rng(d + 100 * k)
    query, key = rng.normal(size=(2, k, d))
    for other in (key, query, -query, key + query):
        best = climbed(query.T @ other)
        for size in (1.0, 2.0**30):
            found = largest_detour(size * query, other / size).hi
            assert best * (1.0 - 1e-12) <= found <= best * (1.0 + 1e-7)
            assert 0.25 <= found / np.linalg.norm(query.T @ other, 2) <= 2.0 + 1e-10


def test_detours_in_closed_form():
    for size in (2.0**-20, 3.0, 2.0**20):
        for form, share in ((np.eye(2), 0.25), (np.diag([1.0, 0.0]), 0.25), (TURN, 1.0), (-np.eye(2), 2.0)):
            found = largest_detour(np.eye(2), size * form).hi
            assert share * size <= found <= share * size * (1.0 + 1e-7)
    assert largest_detour(np.zeros((2, 3)), np.ones((2, 3))).hi < 1e-300
    with pytest.raises(ValueError, match=r"key: expected shape \(2, 3\), that of query, got \(3, 2\)"):
        largest_detour(np.ones((2, 3)), np.ones((3, 2)))


def test_eigenvalues_that_a_library_finds_short_are_covered(monkeypatch):
    """An eigenvalue 60 roundings of the norm short, of 64 that are charged, still bounds the detour."""
    true = np.linalg.eigvalsh
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda m: true(m) - 60 * 2.0**-53 * np.sqrt((m * m).sum()))
    for size in (0.7, 1.0, 1.9):
        for share, form in ((2.0, -size), (0.25, size)):
            assert largest_detour(np.ones((1, 1)), np.array([[form]])).hi >= share * size


def test_factors_need_not_be_right(monkeypatch):
    """Factors that are off, or longer or shorter than they should be, widen the bound and do not break it."""
    true = np.linalg.qr
    rng = np.random.default_rng(1)
    query, key = rng.normal(size=(2, 2, 9))
    best = climbed(query.T @ key)
    for off in (1e-3, 0.1):
        noise = off * rng.normal(size=(9, 4))
        for way in (1.0, -1.0):
            monkeypatch.setattr(np.linalg, "qr", lambda m, n=way * noise: (true(m)[0] + n, true(m)[1]))
            assert largest_detour(query, key).hi >= best
            for longer in (1.0, 1.0 + way * off):  # with columns as they are the product is off
                monkeypatch.setattr(
                    np.linalg, "qr", lambda m, v=longer, w=1.0 + way * off: (v * true(m)[0], true(m)[1] / w)
                )
                assert largest_detour(query, key).hi >= best


def wasserstein(one, other, light, p):
    """Return the distance of laws of two atoms, the first of mass ``light``, at most a half."""
    cost = np.linalg.norm(one[:, np.newaxis] - other[np.newaxis], axis=2) ** p
    straight = light * cost[0, 0] + (1.0 - light) * cost[1, 1]
    crossed = light * (cost[0, 1] + cost[1, 0]) + (1.0 - 2.0 * light) * cost[1, 1]
    return min(straight, crossed) ** (1.0 / p)


def attended(points, light, form):
    """Return the outputs of two atoms."""
    scores = points @ form @ points.T + np.log([light, 1.0 - light])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ points


def stretched(numbers, form, p, floor):
    """Return by how much a pair of laws of two atoms in the unit ball is stretched, if ``floor`` apart."""
    points = numbers[:-1].reshape(4, -1)
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    light = 0.5 / (1.0 + math.exp(min(numbers[-1], 40.0)))
    before = wasserstein(points[:2], points[2:], light, p)
    if before < floor:  # differences of floats would lose their digits
        return 0.0
    return wasserstein(*(attended(part, light, form) for part in (points[:2], points[2:])), light, p) / before


def attacked(form, p, floor):
    """Return the largest stretch that climbs find, from atoms that attain the detour and from anywhere."""
    rng = np.random.default_rng(len(form))
    d = len(form)
    tries = rng.normal(size=(4000, d))
    tries /= np.maximum(np.linalg.norm(tries, axis=1, keepdims=True), 1.0)
    x = tries[(np.linalg.norm(tries @ form, axis=1) - ((tries @ form) * tries).sum(axis=1)).argmax()]
    y = x @ form / np.linalg.norm(x @ form)
    exponent = float(x @ form @ (y - x))
    starts = [np.concatenate([y, x, 0.999 * y, x, [lean]]) for lean in (exponent, exponent + 4.0)]
    starts += list(rng.normal(size=(2, 4 * d + 1)))
    options = {"maxfev": 600, "xatol": 1e-9, "fatol": 1e-9}
    ends = [
        scipy.optimize.minimize(
            lambda z: -stretched(z, form, p, floor), start, method="Nelder-Mead", options=options
        ).fun
        for start in starts
    ]
    return -min(ends)


FORMS = [
    (alpha * np.array(form), alpha)
    for alpha in (1.0, 4.0, 10.0)
    for form in ([[1.0]], [[-1.0]], np.eye(2), np.diag([1.0, 0.0]), TURN, -np.eye(3), (np.eye(2) + TURN) / 2.0**0.5)
]
FORMS += [
    (alpha * form / np.linalg.norm(form, 2), alpha)
    for alpha in (2.0, 6.0)
    for form in np.random.default_rng(5).normal(size=(3, 3, 3))
]


@pytest.mark.parametrize("p", [1, 2])
def test_no_pair_of_laws_is_stretched_by_more(p):
    """Neither constant is passed, and where forms are large an exponent nine tenths as large would be."""
    passed = {}
    for k, (form, alpha) in enumerate(FORMS):
        d = len(form)
        most = certify(np.eye(d), math.sqrt(d) * form, np.eye(d), 1.0, search=False).row(f"W{p}").constant
        found = attacked(form, p, 1e-9 / most)  # outputs are rounded by less than 1e-15
        assert found <= most * (1.0 + 1e-6)
        detour = largest_detour(np.eye(d), form).hi
        least = math.exp(detour) * (1.0 + detour) if p == 1 else 0.5 * math.exp(detour / 2.0) * (1.0 + detour / 2.0)
        assert found >= 0.9 * least
        general = sharp_w1_constant(alpha) if p == 1 else refined_w2_constant(alpha)
        factor = 1.0 + 2.0 * alpha if p == 1 else math.hypot(1.0, alpha)
        assert most <= min(math.exp(detour / p) * factor + alpha, general) * (1.0 + 1e-7)
        passed[k] = found > math.exp(0.9 * detour / p) * factor + alpha
    assert sum(passed.values()) >= 5


def test_where_the_theorem_says_nothing_it_is_not_used():
    """Under a mask, a query bias, positions or distances the constants are those they were."""
    both = {"w_query": 2.0 * np.eye(2), "w_key": 2.0 * np.eye(2)}
    assert {certify(**both, **PLAIN).row(name).claim for name in ("W1", "W2", "mean")} == {"lipschitz.single-form"}
    for options in (
        {"causal": True, "n": 3}, {"b_query": [0.0, 1e-30]}, {"rotary": True, "n": 3}, {"score": "distance", "n": 3},
    ):  # fmt: skip
        rows = certify(**both, **PLAIN, **options).rows
        assert "lipschitz.single-form" not in {row.claim for row in rows}


def test_heads_that_add_up_take_the_smaller_constant_each():
    """One positive head and one negative: each has its own least constant, the residual one more."""
    alpha = 3.0
    key = math.sqrt(2.0) * alpha * np.concatenate([np.eye(2), -np.eye(2)])
    layer = {"w_query": np.concatenate([np.eye(2)] * 2), "w_key": key, "w_value": np.concatenate([np.eye(2)] * 2)}
    found = certify(**layer, w_out=np.concatenate([np.eye(2), 1e-3 * np.eye(2)], axis=1), heads=2, radius=1.0,
                    residual=True, search=False)  # fmt: skip
    first = math.exp(alpha / 4.0) * (1.0 + 2.0 * alpha) + alpha + 1e-3 * sharp_w1_constant(alpha)
    second = math.exp(alpha / 8.0) * math.hypot(1.0, alpha) + alpha + 1e-3 * refined_w2_constant(alpha)
    for metric, constant in (("W1", first), ("W2", second)):
        assert 1.0 + constant <= found.row(metric).constant <= (1.0 + constant) * (1.0 + 1e-6)
