"""The study of saturation: its rows, and its means against plain softmax of independent normal numbers."""

import numpy as np
import pytest
from scipy.special import softmax

from theory.attention.saturation import DIMENSIONS, KEYS, RANKS, saturation
from theory.evidence import Kind, stream


@pytest.fixture(scope="module")
def table():
    """The study at its smallest size."""
    return saturation(scale="quick", root=1)


def test_rows_and_kind(table):
    assert table["d"].tolist() == [d for d in DIMENSIONS for _ in range(2)]
    assert table["scaled"].tolist() == [0, 1] * len(DIMENSIONS)
    assert table.kind is Kind.STATISTICAL
    assert set(table.units.values()) == {"1"}


def test_intervals_hold_the_means_of_plain_softmax(table):
    """The oracle draws the scores themselves, and its own error is a tenth of the widths."""
    rng = stream("tests.saturation", 0)
    for d, scaled, *intervals in zip(
        table["d"].tolist(), table["scaled"].tolist(),
        *(table.intervals(name) for name in ("trace", "score", *(f"weight{k}" for k in range(1, RANKS + 1)))),
        strict=True,
    ):  # fmt: skip
        sigma = 1.0 if scaled else np.sqrt(d)
        s = sigma * rng.normal(size=(40_000, KEYS))
        p = softmax(s, axis=1)
        oracle = np.vstack([1.0 - (p**2).sum(axis=1), (p * s).sum(axis=1), -np.sort(-p, axis=1)[:, :RANKS].T])
        error = 6.0 * oracle.std(axis=1) / np.sqrt(oracle.shape[1])
        for mean, slack, interval in zip(oracle.mean(axis=1), error, intervals, strict=True):
            assert interval.lo - slack <= mean <= interval.hi + slack
            assert interval.width <= 40.0 * slack / 6.0  # neither empty words nor wider than Student's at this level


def test_the_root_moves_the_draws_and_nothing_else(table):
    again = saturation(scale="quick", root=1)
    other = saturation(scale="quick", root=2)
    assert table.sha256 == again.sha256
    assert table.sha256 != other.sha256
    assert list(table.columns) == list(other.columns)
