"""A walk through layers that are known, and through those that were trained: certificates beside portraits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.experiments import read_layers, trained_layers
from theory.figures.portrait import draw_walk, walk as drawn
from theory.lipschitz import certify
from theory.lipschitz.portrait import portray, walk

TOKENS = np.array([[1.0, 0.5], [-2.0, 0.25], [0.5, 3.0]])
FLAT = {"w_query": np.zeros((2, 2)), "w_key": np.eye(2), "w_value": 2.0 * np.eye(2), "tokens": TOKENS}


def test_steps_are_certificates_and_portraits():
    steep = {**FLAT, "w_query": np.eye(2), "radius": 4.0}
    first, second = walk({"flat": FLAT, "steep": steep}, residual=True)
    assert (first.name, second.name) == ("flat", "steep")
    assert first.certificate.radius == pytest.approx(math.hypot(0.5, 3.0), rel=1e-9, abs=0.0)
    assert first.certificate.row("frobenius").constant == pytest.approx(3.0, rel=1e-9, abs=0.0)
    assert first.portrait.levels[3].value == pytest.approx(3.0, rel=1e-9, abs=0.0)
    weights = {name: steep[name] for name in ("w_query", "w_key", "w_value")}
    alone = certify(**weights, radius=4.0, n=3, residual=True)
    assert [row.constant for row in second.certificate.rows] == [row.constant for row in alone.rows]
    assert second.portrait.levels == portray(**weights, tokens=TOKENS, residual=True).levels


def test_rotary_layers_are_certified_for_all_positions():
    given = {**FLAT, "w_query": np.eye(2), "b_key": np.array([0.5, -0.5])}
    (step,) = walk({"turned": given}, base=100.0, pairs="neighbours")
    assert step.certificate.rotary
    weights = {name: array for name, array in given.items() if name != "tokens"}
    alone = certify(**weights, radius=step.certificate.radius, n=3, rotary=True)
    assert [row.constant for row in step.certificate.rows] == [row.constant for row in alone.rows]
    assert step.portrait.turns is not None
    assert step.portrait.levels[0].value == pytest.approx(alone.row("frobenius").constant, rel=1e-9, abs=0.0)
    assert step.portrait.levels[3].value <= alone.row("frobenius").constant
    wide = {"w_query": np.eye(4), "w_key": np.eye(4), "w_value": np.eye(4), "tokens": np.eye(4)[:3] + 0.5}
    maps = [walk({"turned": wide}, base=100.0, pairs=pairs)[0].portrait.maps for pairs in ("halves", "neighbours")]
    assert np.abs(maps[0] - maps[1]).max() > 0.01


def test_trained_layers_are_between_their_bounds():
    layers = trained_layers()
    assert list(layers) == ["moons 1", "moons 2", "digits 1", "digits 2"]
    for layer in layers.values():
        lengths = np.linalg.norm(layer["tokens"], axis=1)
        assert lengths.max() <= layer["radius"] <= 1.5 * lengths.max()
        assert len(layer["tokens"]) == 100
    for step in walk(trained_layers("moons")):
        for row in step.certificate.rows:
            assert 0.0 < row.lower <= row.constant
        values = drawn.heights(step, "frobenius")
        assert values["found at the tokens"] <= values["constant at the tokens"] <= values["constant on the ball"]


def test_marks_are_the_numbers():
    (step,) = walk({"flat": FLAT})
    figure, _ = drawn.draw_steps([step])
    for axes, metric in zip(figure.axes, ("W2", "max", "frobenius"), strict=True):
        shown = [line.get_ydata()[0] for line in axes.lines if line.get_marker() != "None" and len(line.get_ydata())]
        assert shown == list(drawn.heights(step, metric).values())
    (step,) = walk({"masked": FLAT}, causal=True)
    assert drawn.heights(step, "W2") == {}
    figure, (words,) = drawn.draw_steps([step])
    assert [text.get_text() for text in figure.axes[0].texts] == ["no theorem"]
    assert "in balls of radius 3.04, certified" in words


def test_constants_that_are_too_tall_are_written(tmp_path):
    tall = {**FLAT, "w_query": 30.0 * np.eye(2)}
    steps = walk({"tall": tall})
    figure, _ = drawn.draw_steps(steps)
    assert any("uparrow" in text.get_text() for text in figure.axes[0].texts)
    draw_walk(steps, tmp_path / "walk.png")
    assert (tmp_path / "walk.png").read_bytes()[1:4] == b"PNG"


def test_bad_input_is_named(tmp_path):
    for given, words in (
        ({}, "layers: expected weights by the names of layers"),
        ([FLAT], "layers: expected weights by the names of layers"),
        ({"flat": {name: FLAT[name] for name in ("w_query", "w_key", "w_value")}}, "layers: expected tokens of flat"),
        ({"flat": {**FLAT, "radius": 1.0}}, "layers: expected tokens of flat no longer than 1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            walk(given)
    with pytest.raises(ValueError, match="path: expected one of svg, png, pdf"):
        draw_walk(walk({"flat": FLAT}), tmp_path / "walk.gif")
    with pytest.raises(ValueError, match="steps: expected at least one layer"):
        draw_walk([], tmp_path / "walk.svg")
    with pytest.raises(ValueError, match="tasks: expected one of moons, digits"):
        trained_layers("meshes")
    (tmp_path / "layers.npz").write_text("none")
    with pytest.raises(ValueError, match="path: expected a file that train_layers has written"):
        read_layers(tmp_path / "layers.npz", "none")


def test_layers_of_a_training_are_those_of_the_network(tmp_path):
    pytest.importorskip("torch", reason="PyTorch comes with the extra learn")
    from theory.experiments.arms import train_layers  # noqa: PLC0415  it imports PyTorch

    first = train_layers(tmp_path / "one.npz", "moons", rate=1e-3, epochs=1)
    again = train_layers(tmp_path / "two.npz", "moons", rate=1e-3, epochs=1)
    assert first == again
    assert 0.3 < first < 1.0
    found = read_layers(tmp_path / "one.npz", "moons")
    assert list(found) == ["moons 1", "moons 2"]
    for layer in found.values():
        shapes = {name: np.shape(array) for name, array in layer.items()}
        assert shapes == dict.fromkeys(("w_query", "w_key", "w_value", "w_out"), (10, 10)) | {
            "tokens": (100, 10),
            "radius": (),
        }
        assert np.linalg.norm(layer["tokens"], axis=1).max() <= layer["radius"]
    with pytest.raises(ValueError, match="rate: expected"):
        train_layers(tmp_path / "one.npz", "moons", rate=0.0)
