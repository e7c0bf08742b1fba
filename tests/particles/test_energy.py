"""The energy, its metric and its rate against mpmath and differences; its errors hold; bad input."""

from importlib import import_module

import mpmath
import numpy as np
import pytest

from theory.evidence import Kind, exact, stream
from theory.particles import Interaction
from theory.particles.studies.energy import FORM, dissipation, energy_rates, unit_tokens, values

FORMS = (None, FORM)


def cloud(case, n=4):
    rng = stream("tests.energy", case)
    return unit_tokens(n, 3, rng), rng.dirichlet(np.ones(n))


def printed(x, beta, form, masses):
    """Energy, sums and velocities of SA and USA as they are defined, in 40 digits."""
    with mpmath.workdps(40):
        tokens = [[mpmath.mpf(float(entry)) for entry in row] for row in x]
        form = np.eye(3) if form is None else form
        n = len(tokens)

        def score(a, b):
            return beta * mpmath.fsum(a[k] * mpmath.mpf(float(form[k, m])) * b[m] for k in range(3) for m in range(3))

        weights = [[mpmath.mpf(float(masses[j])) * mpmath.exp(score(a, tokens[j])) for j in range(n)] for a in tokens]
        sums = [mpmath.fsum(row) for row in weights]
        energy = mpmath.fsum(mpmath.mpf(float(m)) * z for m, z in zip(masses, sums, strict=True)) / (2 * beta)
        velocities = {}
        for name in ("SA", "USA"):
            rows = []
            for x_i, row, z in zip(tokens, weights, sums, strict=True):
                mean = [mpmath.fsum(w * y[k] for w, y in zip(row, tokens, strict=True)) for k in range(3)]
                mean = [entry / z for entry in mean] if name == "SA" else mean
                out = [mpmath.fsum(mpmath.mpf(float(form[k, m])) * mean[m] for m in range(3)) for k in range(3)]
                along = mpmath.fsum(a * b for a, b in zip(x_i, out, strict=True))
                rows.append([b - along * a for a, b in zip(x_i, out, strict=True)])
            velocities[name] = rows
        return energy, sums, velocities


@pytest.mark.parametrize("form", FORMS, ids=("identity", "form"))
@pytest.mark.parametrize("beta", [0.25, 4.0, 40.0])
def test_all_quantities_are_enclosed(beta, form):
    x, masses = cloud(0)
    law = Interaction(beta, form=form, weights=masses)
    energy, sums, velocities = printed(x, beta, form, masses)
    found = law.energy(x)
    assert found.lo <= energy <= found.hi
    assert found.kind is Kind.NUMERIC
    assert found.width < 1e-9 * found.hi
    for z, printed_sum in zip(law.partitions(exact(x)), sums, strict=True):
        assert z.lo <= printed_sum <= z.hi
    for name in ("SA", "USA"):
        normalised = name == "SA"
        moving = law.velocity(exact(x), normalised=normalised)
        for at in np.ndindex(moving.shape):
            assert moving[at].lo <= velocities[name][at[0]][at[1]] <= moving[at].hi
        assert law.velocity(x, normalised=normalised) in moving
        assert moving.width.max() < 1e-5 * max(1.0, float(np.abs(moving.mid).max()))
        squares = [mpmath.fsum(entry**2 for entry in row) for row in velocities[name]]
        weights = sums if normalised else [1] * 4
        climbed = mpmath.fsum(mpmath.mpf(float(m)) * w * q for m, w, q in zip(masses, weights, squares, strict=True))
        rate = law.dissipation(x, normalised=normalised)
        assert rate.lo <= climbed <= rate.hi


def test_rates_in_half_the_digits_are_within_their_errors(monkeypatch):
    module = import_module("theory.particles.studies.energy")
    rng = stream("tests.energy", 3)
    unit = 2.0**-24
    x = np.stack([unit_tokens(2, 3, rng) for _ in range(400)]).astype(np.float32)
    form, value = rng.normal(size=(2, 400, 3, 3)).astype(np.float32)
    form /= np.float32(10.0) * np.linalg.norm(form, axis=(1, 2), keepdims=True)
    right, _ = energy_rates(*(given.astype(np.float64) for given in (x, form, value)))
    monkeypatch.setattr(module, "gamma", lambda k: k * unit / (1.0 - k * unit))
    monkeypatch.setattr(module, "U", unit)
    found, errors = energy_rates(x, form, value)
    assert found.dtype == np.float32
    assert 5e-4 < (np.abs(found - right) / errors).max() <= 1.0


def test_masses_are_even_unless_given_and_a_mass_of_zero_is_absent():
    x, _ = cloud(1)
    even = Interaction(2.0, weights=np.full(4, 0.25))
    assert abs(Interaction(2.0).energy(x) - even.energy(x)).lo == 0.0
    assert np.array_equal(Interaction(2.0).metric(x, normalised=False), np.full(4, 0.25))
    without = Interaction(2.0, weights=np.array([0.5, 0.0, 0.25, 0.25]))
    kept = Interaction(2.0, weights=np.array([0.5, 0.25, 0.25]))
    assert abs(without.energy(x) - kept.energy(x[[0, 2, 3]])).lo == 0.0


def test_consensus_has_the_largest_energy_and_no_velocity():
    x = np.tile([[0.6, 0.0, 0.8]], (5, 1))
    law = Interaction(3.0)
    assert abs(law.energy(x) - float(np.exp(3.0)) / 6.0).lo < 1e-12
    assert law.dissipation(x).hi < 1e-20


def test_rates_are_derivatives():
    rng = stream("tests.energy", 2)
    x = np.stack([unit_tokens(5, 3, rng) for _ in range(20)])
    form, value = rng.normal(size=(2, 20, 3, 3))
    rates, errors = energy_rates(x, form, value)
    for cloud_, a, v, rate, error in zip(x, form, value, rates, errors, strict=True):
        exact = [[mpmath.mpf(float(entry)) for entry in row] for row in cloud_]
        with mpmath.workdps(50):

            def height(t, x0=exact, a=a, v=v):
                weights = [[mpmath.exp(_form(p, a, q)) for q in x0] for p in x0]
                moved = []
                for p, row in zip(x0, weights, strict=True):
                    mean = [
                        mpmath.fsum(w * q[k] for w, q in zip(row, x0, strict=True)) / mpmath.fsum(row) for k in range(3)
                    ]
                    out = [mpmath.fsum(mpmath.mpf(float(v[k, m])) * mean[m] for m in range(3)) for k in range(3)]
                    along = mpmath.fsum(s * o for s, o in zip(p, out, strict=True))
                    moved.append([s + t * (o - along * s) for s, o in zip(p, out, strict=True)])
                return mpmath.fsum(mpmath.exp(_form(p, a, q)) for p in moved for q in moved)

            step = mpmath.mpf(10) ** -15
            slope = (height(step) - height(-step)) / (2 * step)
            assert abs(slope - mpmath.mpf(float(rate))) <= error + 1e-20


def _form(p, a, q):
    return mpmath.fsum(p[k] * mpmath.mpf(float(a[k, m])) * q[m] for k in range(3) for m in range(3))


def test_studies():
    table = dissipation(scale="quick", root=5)
    assert table.kind is Kind.ESTIMATED
    for run in ("SA", "USA", "form", "turned", "causal"):
        part = table.where(run=run)
        assert part["time"][0] == 0.0
        assert part.intervals("climbed")[0].hi < 1e-6
        assert (np.diff(part.middles("climbed")) > 0.0).all()
    counts = values(scale="quick", root=5)
    assert counts["value"].tolist() == ["free", "form", "skew"]
    assert counts.where(value="skew")["falling"][0] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0,), "beta: expected a positive"),
        ((1.0, np.ones((2, 3))), "form: expected shape"),
        ((1.0, None, np.array([1.0, -1.0])), "weights: expected non-negative"),
    ],
)
def test_bad_interactions(arguments, words):
    with pytest.raises(ValueError, match=words):
        Interaction(*arguments)


def test_bad_tokens():
    law = Interaction(1.0, weights=np.full(4, 0.25))
    x, _ = cloud(3)
    with pytest.raises(ValueError, match="expected unit vectors, got length off by"):
        law.dissipation(2.0 * x)
    with pytest.raises(ValueError, match=r"weights: expected shape \(3,\), got shape \(4,\)"):
        law.energy(x[:3])
    with pytest.raises(ValueError, match="tokens: expected finite"):
        law.energy(np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="form: expected Frobenius norms up to"):
        energy_rates(x[np.newaxis], 100.0 * np.ones((1, 3, 3)), np.ones((1, 3, 3)))
