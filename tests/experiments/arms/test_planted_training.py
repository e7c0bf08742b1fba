"""Faults that are planted in training with PyTorch are caught."""

import pytest

pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from tests.planted_widths.experiments import TORCH
from tests.test_planted import Bug, test_a_planted_width_is_caught as caught


@pytest.mark.parametrize("name", [name for name, *_ in TORCH])
def test_a_planted_fault_is_caught(name, tmp_path):
    (where,) = (each for each in TORCH if each[0] == name)
    _, caught_by, path, old, new = where
    caught(Bug(name, caught_by, f"theory/{path}", ((old, new),)), tmp_path)
