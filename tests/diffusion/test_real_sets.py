"""The sets of real tokens: that the stored table is what a trained network makes, and what clouds like them keep."""

import numpy as np
import pytest

from theory.diffusion.studies.real_sets import FACES, REAL_SETS, draw_like, real_set
from theory.experiments.analysis.face_tokens import face_tokens

SHAPES = {"patches": (1184, 16), "digits": (1797, 64), "faces": (1224, 10), "learned": (1224, 64)}


@pytest.mark.parametrize("name", REAL_SETS)
def test_sets_have_their_sizes(name):
    tokens = real_set(name, root=0)
    assert tokens.shape == SHAPES[name]
    assert np.isfinite(tokens).all()


def test_the_table_is_what_the_trained_network_makes():
    made = face_tokens()
    with np.load(FACES, allow_pickle=False) as stored:
        assert sorted(stored) == sorted(made)
        for name, values in made.items():
            step = np.spacing(np.abs(stored[name]))  # another machine may round to the neighbour in half precision
            assert stored[name].dtype == np.float16
            assert (np.abs(stored[name].astype(float) - values.astype(float)) <= step.astype(float)).all()


def test_the_gaussian_has_the_moments_of_the_digits():
    digits = real_set("digits", root=0)
    drawn = draw_like("gaussian", 200_000, np.random.default_rng(0))
    assert np.abs(drawn.mean(axis=0) - digits.mean(axis=0)).max() < 6e-3
    assert np.abs(np.cov(drawn.T) - np.cov(digits.T)).max() < 6e-3


def test_shuffling_keeps_every_column_and_no_row():
    digits = real_set("digits", root=0)
    drawn = draw_like("shuffled", 1, np.random.default_rng(0))
    assert (np.sort(drawn, axis=0) == np.sort(digits, axis=0)).all()
    off = np.cov(drawn.T)
    assert np.abs(off - np.diag(np.diag(off))).max() < 0.03


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tori_have_their_density(d):
    drawn = draw_like(f"torus{d}", 50_000, np.random.default_rng(d))
    assert drawn.shape == (50_000, 2 * d)
    assert (drawn[:, :d] ** 2 + drawn[:, d:] ** 2).max() == pytest.approx(1.0, rel=1e-12, abs=0.0)
    assert drawn[:, :d].mean() == pytest.approx(0.25, rel=0.0, abs=0.01)
    assert drawn.var(axis=0).sum() == pytest.approx(15 / 16 * d, rel=0.0, abs=0.02)
