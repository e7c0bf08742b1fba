"""The tables of steepness and of rounding against dense eigenvalues and against sixty digits."""

import importlib

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import Kind
from theory.maxent import entmax, studies
from theory.maxent.sparse import bisect_entmax


def two_weights(alpha, lead):
    """The weights of the scores 0 and -lead; the smaller one is halved on a logarithmic scale."""
    with mp.workdps(oracle.DIGITS):
        e = mp.mpf(alpha) - 1
        d = mp.mpf(lead)
        low, high = mp.mpf(10) ** -40, mp.mpf(1) / 2
        for _ in range(300):
            middle = mp.sqrt(low * high)
            low, high = (middle, high) if ((1 - middle) ** e - middle**e) / e > d else (low, middle)
        return [1 - high, high]


def test_family_is_steeper_than_its_neighbours():
    table = studies.steepness(scale="quick", root=1)
    assert table.kind is Kind.NUMERIC
    for alpha in studies.STEEP_ORDERS:
        part = table.where(part="family", alpha=alpha)
        assert {studies.CROSSINGS[alpha] - 1, studies.CROSSINGS[alpha]} <= set(part["n"].tolist())
        for n, share, norm in zip(part["n"].tolist(), part["share"].tolist(), part.intervals("norm"), strict=True):
            if n > 60:
                continue
            for a in (share, 0.99 * share, 1.0 - 0.99 * (1.0 - share)):
                q = np.append(a, np.full(n - 1, (1.0 - a) / (n - 1))) ** (2.0 - alpha)
                top = np.linalg.eigvalsh(np.diag(q) - np.outer(q, q) / q.sum())[-1]
                assert top <= norm.hi + 1e-14
                assert a != share or top == pytest.approx(norm.mid, rel=1e-13, abs=0.0)


def test_climbs_start_where_the_root_says(monkeypatch):
    module = importlib.import_module("theory.maxent.studies.stability")
    starts = []

    def climb(logits, alpha):
        starts.append(logits)
        return np.full(logits.size, 1.0 / logits.size)

    monkeypatch.setattr(module, "_climbed", climb)
    tables = [module.steepness(scale="quick", root=root).where(part="climbed") for root in (1, 1, 2)]
    assert set(tables[0]["n"].tolist()) == {3, 5, 20}
    again, other = (slice(k * len(starts) // 3, (k + 1) * len(starts) // 3) for k in (1, 2))
    for one, same, another in zip(starts, starts[again], starts[other], strict=False):
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, another)


@pytest.mark.parametrize(("alpha", "n"), [(1.25, 5), (1.5, 20), (1.75, 20)])
def test_climbed_laws_are_the_same_however_the_objective_is_rounded(alpha, n, monkeypatch):
    module = importlib.import_module("theory.maxent.studies.stability")
    climb = module.minimize
    rng = np.random.default_rng(0)
    ends = []

    def perturbed(objective, start, **options):
        def rounded(x):
            value, slope = objective(x)
            return value * rng.uniform(1 - 1e-15, 1 + 1e-15), slope * rng.uniform(1 - 1e-15, 1 + 1e-15, slope.shape)

        found = climb(rounded, start, **options)
        ends.append(found.x)
        return found

    logits = np.random.default_rng(1).normal(size=n)
    law = module._climbed(logits, alpha)
    monkeypatch.setattr(module, "minimize", perturbed)
    for _ in range(3):
        np.testing.assert_array_equal(module._climbed(logits, alpha), law)
    assert len({end.tobytes() for end in ends}) == 3  # the climbs themselves do end elsewhere


def test_errors_are_those_against_sixty_digits():
    table = studies.conditioning(scale="quick", root=1)
    assert table.kind is Kind.CERTIFIED
    assert (table["distance"] > 0.0).all()
    for row in range(0, len(table), 9):
        alpha, distance = table["alpha"][row].item(), table["distance"][row].item()
        if table["part"][row] == "edge":
            power = round(-np.log2(distance))
            if distance != 2.0**-power:
                continue
            lead = (1.0 - 2.0**-power) / (alpha - 1.0)
        else:
            lead = distance
        truth = two_weights(alpha, lead)
        laws = {"plain": bisect_entmax([0.0, -lead], alpha, 60, normalised=True), "ours": entmax([0.0, -lead], alpha)}
        for name, law in laws.items():
            interval = table.intervals(name)[row]
            off = oracle.apart(law, truth)
            assert interval.lo <= off * (1.0 + 1e-14) + 1e-40
            assert interval.hi >= off * (1.0 - 1e-14) - 1e-40
