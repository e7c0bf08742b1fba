"""The tables of stretches and of diameters over depth: rows, agreement with floats, and what they must show."""

import math

import mpmath
import numpy as np
import pytest

from theory.evidence import Kind, stream
from theory.lipschitz import response_ratio, studies
from theory.lipschitz.constants import interpolated_constant
from theory.lipschitz.studies import bounded
from theory.lipschitz.studies.bounded import METRICS, steepest, stretches, witness
from theory.lipschitz.studies.collapse import CLOUD, FORM, STARTS, VALUE, diameter


def test_rows_of_stretches():
    table = studies.tightness(scale="quick", root=1)
    assert table.kind is Kind.CERTIFIED
    for metric, p in METRICS.items():
        for way in ("witness", "random", "climbed"):
            alphas, found = stretches(table, metric, way)
            assert len(alphas) == 8
            assert all(s.width <= 1e-12 * s.mid for s in found)
            for alpha, stretch in zip(alphas.tolist(), found, strict=True):
                assert 0.0 < stretch.hi <= interpolated_constant(alpha, p) * (1.0 + 1e-12)
                if way == "witness":
                    assert stretch == response_ratio(witness(alpha, metric), p)
        uphill = [s.mid for s in stretches(table, metric, "climbed")[1]]
        named = [s.mid for s in stretches(table, metric, "witness")[1]]
        assert all(a >= 0.9 * b for a, b in zip(uphill, named, strict=True))


@pytest.mark.parametrize("p", list(METRICS.values()))
def test_no_displacement_is_stretched_more(p):
    rng = stream("tests.tightness", 0)
    points = rng.normal(size=(3, 2))
    masses = rng.dirichlet(np.ones(3))
    form = rng.normal(size=(2, 2))
    value, push = steepest((points, masses, form), p)
    assert value * (1.0 - 1e-10) <= response_ratio(push, p).mid <= value * (1.0 + 2e-2)
    others = [response_ratio(push._replace(velocities=rng.normal(size=(3, 2))), p).mid for _ in range(40)]
    assert max(others) <= value * (1.0 + 2e-2)  # one direction in sixteen of the plane is tried


@pytest.mark.parametrize("p", list(METRICS.values()))
def test_climbs_end_alike_however_stretches_are_rounded(p, monkeypatch):
    noise = np.random.default_rng(0)

    def rounded(cloud, p):
        value, push = steepest(cloud, p)
        push = push._replace(velocities=push.velocities * noise.choice([-1.0, 1.0]))
        return value * noise.uniform(1.0 - 1e-14, 1.0 + 1e-14), push

    def found():
        rng = np.random.default_rng(3)
        return bounded._best([bounded._climb(sign * 0.5, p, 150, rng) for sign in (-1.0, 1.0)], 0.5, p)

    first = found()
    monkeypatch.setattr(bounded, "steepest", rounded)
    for _ in range(3):
        for part, again in zip(first, found(), strict=True):
            np.testing.assert_array_equal(again, part)


def test_diameters_of_two_tokens_in_many_digits():
    table = studies.collapse(scale="quick", root=1)
    with mpmath.workdps(900):
        for start in STARTS:
            size = mpmath.mpf(start)
            for found in table.where(way="pair", start=start).intervals("log"):
                assert found.width <= 1e-9 * max(1.0, abs(found.mid))
                assert found.mid == pytest.approx(float(mpmath.log(size)), rel=1e-9, abs=1e-9)
                size = size * mpmath.tanh(size**2 / 4)


def test_the_first_layer_of_a_cloud():
    table = studies.collapse(scale="quick", root=1)
    x = 1.5 / diameter(CLOUD) * CLOUD
    weights = np.exp(x @ FORM @ x.T)
    y = (weights @ x) / weights.sum(axis=1, keepdims=True) @ VALUE.T
    logs = table.where(way="cloud", start=1.5).intervals("log")
    assert logs[0].mid == pytest.approx(math.log(1.5), rel=1e-12, abs=0.0)
    assert logs[1].mid == pytest.approx(math.log(diameter(y)), rel=1e-12, abs=0.0)
    assert np.linalg.norm(FORM, 2) == 1.0
    kept = table.where(way="residual", start=1.5).intervals("log")
    assert len(kept) == 7
    assert kept[-1].lo > kept[0].hi
