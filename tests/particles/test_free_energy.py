"""Free energies against a plain double sum on the circle, and equilibria against their equation."""

from importlib import import_module

import numpy as np
import pytest
from scipy import special

from theory.evidence.enclosure import hull, precision
from theory.particles.mean_field import ZonalFreeEnergy, couplings, enclose_free_energy, free_energy, threshold


def on_a_grid(beta, strength, potential, n=400):
    """The free energy less that of the uniform law by the double sum of its definition."""
    angles = 2.0 * np.pi * np.arange(n) / n
    density = np.exp(sum(k * np.cos(ell * angles) for ell, k in enumerate(potential, start=1)))
    density /= density.mean()
    kernel = np.expm1(beta * np.cos(angles[:, np.newaxis] - angles)) / beta
    return (density * np.log(density)).mean() - strength * (density @ kernel @ density / n**2 - kernel.mean())


def test_enclosed_is_the_double_sum():
    with precision():
        for beta, strength, potential in ((1.0, 0.9, [0.4, 0.1]), (3.0, 0.37, [1.2, -0.3, 0.2]), (4.0, 0.2, [2.5])):
            found = enclose_free_energy(beta, potential)
            assert abs(found.excess(strength).mid - on_a_grid(beta, strength, potential)) < 1e-13
            assert found.excess(strength).width < 1e-14
            level = hull(found.crossing()).mid
            assert abs(on_a_grid(beta, level, potential)) < 1e-13


def test_enclosed_on_the_sphere_by_a_double_sum():
    u, masses = special.roots_legendre(48)
    turns = 2.0 * np.pi * np.arange(64) / 64
    beta = 2.0
    potential = [0.8, 0.3]
    density = np.exp(0.8 * u + 0.3 * special.eval_legendre(2, u))
    density /= masses @ density / 2.0
    across = np.sqrt(np.outer(1 - u * u, 1 - u * u))
    kernel = np.mean([np.expm1(beta * (np.outer(u, u) + across * np.cos(t))) / beta for t in turns], axis=0)
    law = masses * density / 2.0
    interaction = law @ kernel @ law - (masses @ kernel @ masses) / 4.0
    with precision():
        found = enclose_free_energy(beta, potential, dim=3)
        assert abs(hull(found.interaction).mid - interaction) < 1e-13
        assert abs(hull(found.entropy).mid - law @ np.log(density)) < 1e-13


def test_couplings_and_threshold_against_bessel_functions():
    with precision():
        for dim in (2, 3, 5):
            expected = special.gamma(dim / 2) * (2 / 1.5) ** (dim / 2 - 1) * special.iv(np.arange(4) + dim / 2 - 1, 1.5)
            expected[0] -= 1.0
            found = [hull(ball).mid for ball in couplings(1.5, 3, dim=dim)]
            np.testing.assert_allclose(found, expected / 1.5, rtol=1e-13, atol=0.0)
            assert abs(hull(threshold(1.5, dim=dim)).mid - 0.5 / found[1]) < 1e-12


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_equilibria_solve_their_equation(dim):
    sphere = ZonalFreeEnergy(2.0, dim)
    found = sphere.branch(1.5)
    assert found.settled
    np.testing.assert_allclose(
        found.potential, 2.0 * found.strength * sphere.weights * found.overlaps, rtol=0.0, atol=1e-12
    )
    with precision():
        balls = enclose_free_energy(2.0, found.potential[:16], dim=dim)
        assert abs(balls.excess(found.strength).mid - found.excess) < 1e-12
        assert abs(hull(balls.order).mid - found.overlaps[0]) < 1e-12


def test_descent_finds_the_ordered_branch_and_lowers_the_free_energy():
    sphere = ZonalFreeEnergy(3.0)
    strength = 1.05 * 0.5 / (0.5 * sphere.weights[0])
    start = np.zeros(sphere.degrees)
    start[0] = 2.0
    found = sphere.descend(strength, start)
    again = sphere.branch(float(found.potential[0]))
    assert found.settled
    assert abs(again.strength - strength) < 1e-9
    values, potential = [], start
    for _ in range(5):
        values.append(on_a_grid(3.0, strength, potential[:16]))
        masses = sphere._rule[1]
        harmonics = sphere._harmonics
        density = masses * np.exp(potential @ harmonics)
        potential = 2.0 * strength * sphere.weights * (harmonics @ density) / density.sum()
    assert np.diff(values).max() < 0.0
    assert found.excess < values[-1]


def test_an_unsettled_descent_says_so():
    sphere = ZonalFreeEnergy(1.0)
    start = np.zeros(sphere.degrees)
    start[0] = 0.5
    critical = 0.5 / (0.5 * sphere.weights[0])
    assert not sphere.descend(critical, start).settled


def test_bad_input_is_refused():
    sphere = ZonalFreeEnergy(1.0)
    for call in (
        lambda: ZonalFreeEnergy(0.0),
        lambda: ZonalFreeEnergy(1.0, 1),
        lambda: ZonalFreeEnergy(1.0, nodes=8, degrees=8),
        lambda: sphere.branch(0.0),
        lambda: sphere.descend(-1.0, np.zeros(sphere.degrees)),
        lambda: sphere.descend(1.0, np.zeros(3)),
        lambda: couplings(-1.0, 2),
        lambda: threshold(0.0),
        lambda: enclose_free_energy(1.0, np.zeros(30)),
        lambda: enclose_free_energy(1.0, [np.nan]),
    ):
        with pytest.raises(ValueError, match="expected"):
            call()


@pytest.mark.parametrize(("dim", "beta", "field"), [(2, 1.0, 0.5), (2, 2.4, 0.03125), (2, 4.0, 4.0), (3, 2.0, 0.25)])
def test_slack_covers_where_an_iteration_ends(dim, beta, field, monkeypatch):
    sphere = ZonalFreeEnergy(beta, dim)
    fine = sphere.branch(field)
    bound = sphere.slack(fine)
    assert max(bound.strength, 100.0 * bound.order, 10.0 * bound.excess) < 1e-10
    monkeypatch.setattr(free_energy, "_SETTLED", 1e-7)
    rough = sphere.branch(field)
    wide = sphere.slack(rough)
    apart = (rough.strength - fine.strength, rough.overlaps[0] - fine.overlaps[0], rough.excess - fine.excess)
    assert (
        max(abs(apart[0]) / bound.strength, abs(apart[1]) / bound.order) > 10.0
    )  # so it is not rounding that is covered
    for off, most, least in zip(apart, wide, bound, strict=True):
        assert abs(off) <= 1.001 * most + least
    assert wide.order < 100.0 * abs(apart[1]) + 2.0 * bound.order


def test_slack_covers_the_rounding_of_every_sum():
    sphere = ZonalFreeEnergy(2.4)
    fine = sphere.branch(0.0625)
    turned = ZonalFreeEnergy(2.4)
    order = np.random.default_rng(0).permutation(sphere.nodes)  # another order of the sums, as on another processor
    turned.__dict__["_rule"] = tuple(part[order] * (1.0 + 1e-16) for part in sphere._rule)
    moved = turned.branch(0.0625)
    bound = sphere.slack(fine)
    for one, other, most in zip(
        (fine.strength, fine.overlaps[0], fine.excess),
        (moved.strength, moved.overlaps[0], moved.excess),
        bound,
        strict=True,
    ):
        assert abs(one - other) <= 2.0 * most


def test_a_witness_does_not_see_rounding():
    module = import_module("theory.particles.studies.noisy")
    sphere = ZonalFreeEnergy(2.5)
    found = sphere.branch(0.4)
    rng = np.random.default_rng(0)
    moved = found._replace(potential=found.potential + 1e-13 * rng.normal(size=found.potential.size))
    with precision():
        (field, one), (again, other) = (module._witness(sphere, each) for each in (found, moved))
        assert field == again
        assert one.excess(0.5) == other.excess(0.5)
        assert abs(one.excess(found.strength).mid - found.excess) < 1e-12


@pytest.mark.parametrize(("dim", "potential"), [(2, [2.5]), (3, [1.5, 0.8])])
def test_degrees_that_are_left_out_are_in_the_width(dim, potential):
    with precision():
        whole = enclose_free_energy(4.0, potential, dim=dim).interaction
        for degrees in (2, 3, 5):
            part = enclose_free_energy(4.0, potential, dim=dim, degrees=degrees).interaction
            missing, allowed = hull(whole - part.lower()), hull(part.upper() - part.lower())
            assert 0.5 * allowed.hi < missing.lo
            assert missing.hi <= allowed.lo
