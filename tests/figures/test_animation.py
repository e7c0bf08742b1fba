"""Animations: equal bytes every time, named by the manifest, and stamped with their figure."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from theory.evidence import Kind, Table
from theory.figures import manifest, render
from theory.figures._style import animation, style
from theory.figures.verified_table import TableVerdict

TABLE = Table(Kind.NUMERIC, {"x": "1"}, {"x": np.arange(3.0)})


def study(*, scale, root):
    return TABLE


def frames(table):
    for place in table["x"].tolist():
        figure = Figure(figsize=(2.0, 1.0))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.plot([place], [0.0], "o", color=style.BLUE)
        axes.set(xlim=(-1.0, 3.0), ylim=(-1.0, 1.0))
        axes.axis("off")
        yield figure


def draw(table):
    figure = style.canvas(style.SINGLE, 2.0)
    figure.subplots().plot(table["x"], table["x"])
    return figure


MODULE = SimpleNamespace(TITLE="a wave", STUDY=study, CLAIMS=("toy.double",), draw=draw, animate=frames)


def test_an_animation_is_equal_again_and_moves():
    with style.drawing():
        first = animation.encode_gif(frames(TABLE))
        again = animation.encode_gif(frames(TABLE))
    assert first == again
    with Image.open(io.BytesIO(first)) as picture:
        assert picture.n_frames == 3
        assert picture.info["loop"] == 0
        assert picture.size == (2 * animation.DOTS, animation.DOTS)
        shown = []
        for number in range(3):
            picture.seek(number)
            shown.append(np.asarray(picture.convert("L")).argmin() % picture.size[0])
    assert sorted(set(shown)) == shown


def test_one_frame_is_no_animation():
    with pytest.raises(ValueError, match="frames: expected at least two, got 1"):
        animation.encode_gif(list(frames(TABLE))[:1])


def test_a_figure_with_frames_has_an_animation(tmp_path):
    verdict = TableVerdict(TABLE, (), "quick", 1)
    rendered = render.render_figure("wave", MODULE, verdict, ("png",))
    assert sorted(rendered.files) == ["wave.csv", "wave.gif", "wave.png"]
    render.write_figure(rendered, tmp_path, ["wave"])
    entries = manifest.load(tmp_path)
    assert sorted(entries["wave"]["files"]) == ["wave.gif", "wave.png"]
    assert list(manifest.disagreements("wave", MODULE, verdict, tmp_path, entries)) == []
    (tmp_path / "wave.gif").write_bytes(b"GIF89a")
    found = list(manifest.disagreements("wave", MODULE, verdict, tmp_path, entries))
    assert found == ["wave.gif is not the file that manifest.json names"]


def test_a_stamped_figure_has_a_stamped_animation():
    stamped = TableVerdict(TABLE, (), "quick", 1, "toy.double is refuted", "pytest")
    fine, wrong = (
        render.render_figure("wave", MODULE, verdict, ("png",))
        for verdict in (TableVerdict(TABLE, (), "quick", 1), stamped)
    )
    assert fine.files["wave.gif"] != wrong.files["wave.unverified.gif"]
    assert sorted(wrong.files) == ["wave.unverified.gif", "wave.unverified.png"]
