"""The stored pair of networks is what its command makes, and the study draws fresh bodies."""

from __future__ import annotations

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments import studies
from theory.experiments.analysis import example
from theory.experiments.data.bodies import LABELS, draw_body
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.published import measure_network

ROOT = 20070


def test_an_example_comes_back_as_it_was_stored(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn comes with the extra learn")
    monkeypatch.setattr(example, "BODIES", 2)
    made = example.train_example(epochs=1)
    example.store_example(made, tmp_path / "a.npz")
    found = example.load_example(tmp_path / "a.npz")
    assert np.array_equal(found.centre, made.centre)
    assert np.array_equal(found.scales, made.scales)
    for name, theta in made.parameters.items():
        assert np.allclose(found.parameters[name], theta, rtol=2.0**-23, atol=1e-30)


def test_the_stored_networks_are_those_of_seed_0():
    """Inputs are standardised as in training, and the networks know the training bodies."""
    stored = example.load_example()
    train = example.draw_example_bodies()
    described = [describe_faces(body.vertices, body.faces) for body in train]
    assert np.allclose(stored.centre, np.concatenate(described).mean(axis=0), rtol=1e-9, atol=1e-12)
    assert np.allclose(stored.scales, np.concatenate(described).std(axis=0), rtol=1e-9, atol=1e-12)
    assert stored.centre.shape == stored.scales.shape == (len(NAMES),)
    right = {name: np.mean([stored.labels(name, body) == body.labels for body in train]) for name in example.ATTENTIONS}
    assert right["metric"] > 0.98
    assert right["self"] > 0.5
    sets = (np.stack(described) - stored.centre) / stored.scales, np.stack([body.labels for body in train])
    assert measure_network(example.example_network("metric"), stored.parameters["metric"], sets)[0] < 0.1


def test_a_missing_or_damaged_example_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.npz: .*python -m theory\.experiments\.analysis\.example"):
        example.load_example(tmp_path / "a.npz")
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(ValueError, match=r"a\.npz: expected trained networks, got a damaged file"):
        example.load_example(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", centre=np.zeros(2))
    with pytest.raises(ValueError, match=r"b\.npz: expected trained networks, got a damaged file"):
        example.load_example(tmp_path / "b.npz")


def test_the_study_has_a_row_per_face_of_fresh_bodies():
    table, other = (studies.segmented_bodies(scale="quick", root=root) for root in (ROOT, 1))
    assert len(table) == 3 * 408
    assert set(table["part"].tolist()) == set(range(len(LABELS)))
    trained = {body.vertices.tobytes() for body in example.draw_example_bodies()}
    drawn = [draw_body(stream("studies.segmented_bodies", number, root=ROOT)) for number in range(3)]
    assert not trained & {body.vertices.tobytes() for body in drawn}
    assert [body.labels.tolist() for body in drawn] == [table.where(body=k)["part"].tolist() for k in range(3)]
    assert not np.array_equal(table["x0"], other["x0"])
    assert table.differs(studies.segmented_bodies(scale="paper", root=ROOT)) is None


def test_drawn_corners_are_those_of_a_body_of_unit_area():
    table = studies.segmented_bodies(scale="quick", root=ROOT).where(body=1)
    a, b, c = (np.stack([table[f"{axis}{k}"] for axis in "xyz"], axis=1) for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    assert areas.sum() == pytest.approx(1.0, rel=1e-3, abs=0.0)


def test_counts_are_those_of_the_faces_that_are_drawn():
    counts, drawn = (study(scale="quick", root=ROOT) for study in (studies.named_faces, studies.segmented_bodies))
    assert len(counts) == 24
    assert (counts["faces"] == 408).all()
    for number in range(3):
        body = drawn.where(body=number)
        for name in example.ATTENTIONS:
            assert counts[name][number] == sum(a == b for a, b in zip(body[name], body["part"], strict=True))
