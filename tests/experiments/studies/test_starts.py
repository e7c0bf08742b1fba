"""Starts of which the variance is followed are those of the networks that are trained, and lose what those lose."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.evidence import ROOT  # noqa: E402  as all that needs PyTorch
from theory.experiments.arms import Arm, Lessons, Networks  # noqa: E402
from theory.experiments.studies import KINDS, draw_starts, walk  # noqa: E402

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["published", "residual"])
def test_variances_are_those_of_the_trained_networks_before_training(kind, way):
    lessons, arm = Lessons("moons", SEEDS, root=ROOT), Arm(way, kind)
    networks = Networks(arm, lessons.sizes, lessons.starts(), lessons.inner(arm), dtype=torch.float64)
    matrix, bias = (part.detach().numpy() for part in list(networks.ends)[:2])
    for run, start in enumerate(draw_starts("moons", kind, len(SEEDS), 2, ROOT)):
        inputs, *_ = np.linalg.lstsq(matrix[run].T, (start.tokens - bias[run]).T, rcond=None)
        given = torch.tensor(inputs.T[np.newaxis, np.newaxis])
        h = given @ torch.tensor(matrix[run]) + torch.tensor(bias[run])
        assert np.abs(h[0, 0].numpy() - start.tokens).max() <= 1e-12
        h = h.repeat(len(SEEDS), 1, 1, 1)
        for found, mixed, scored in zip(walk(start, kind, way), networks.mixed, networks.scored, strict=True):
            h = networks._layer(h, [*mixed.parameters()], [*scored.parameters()]).detach()
            left = h[run, 0].numpy().var(axis=0).sum()
            assert found["after"] == pytest.approx(left, rel=1e-2, abs=1e-26)  # in coordinates the last digits are lost
            assert way == "residual" or found["after"] <= found["means"] * (1.0 + 1e-9)


def test_images_are_as_large_as_those_they_stand_for():
    starts = draw_starts("images", "dot", 4, 1, ROOT)
    again = draw_starts("images", "dot", 4, 1, ROOT)
    assert all((one.tokens == other.tokens).all() for one, other in zip(starts, again, strict=True))
    assert np.mean([start.tokens.var(axis=0).sum() for start in starts]) == pytest.approx(
        32 * 4.67 / (3 * 64), rel=0.2, abs=0.0
    )
