"""Animations: equal bytes every time, named by the manifest, and stamped with their figure."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from theory.evidence import Kind, Table
from theory.figures import film, manifest, press, style
from theory.figures.gate import Ruling

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


PLATE = SimpleNamespace(TITLE="a film", STUDY=study, CLAIMS=("toy.double",), draw=draw, animate=frames)


def test_a_film_is_equal_again_and_moves(tmp_path):
    with style.drawing():
        prints = [film.write(frames(TABLE), tmp_path / f"{name}.gif") for name in "ab"]
    assert prints[0] == prints[1]
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
    with Image.open(tmp_path / "a.gif") as picture:
        assert picture.n_frames == 3
        assert picture.info["loop"] == 0
        assert picture.size == (2 * film.DOTS, film.DOTS)
        shown = []
        for number in range(3):
            picture.seek(number)
            shown.append(np.asarray(picture.convert("L")).argmin() % picture.size[0])
    assert sorted(set(shown)) == shown


def test_one_frame_is_no_film(tmp_path):
    with pytest.raises(ValueError, match="frames: expected at least two, got 1"):
        film.write(list(frames(TABLE))[:1], tmp_path / "a.gif")


def test_a_figure_with_frames_has_a_film_beside_it(tmp_path):
    ruling = Ruling(TABLE, (), "quick", 1)
    entry = press.produce("film", PLATE, ruling, tmp_path, ("png",))
    assert sorted(entry["files"]) == ["film.gif", "film.png"]
    manifest.store(tmp_path, {"film": entry})
    entries = json.loads((tmp_path / manifest.NAME).read_text())
    assert list(manifest.disagreements("film", PLATE, ruling, tmp_path, entries)) == []
    (tmp_path / "film.gif").write_bytes(b"GIF89a")
    found = list(manifest.disagreements("film", PLATE, ruling, tmp_path, entries))
    assert found == ["film.gif is not the file that manifest.json names"]


def test_a_stamped_figure_has_a_stamped_film(tmp_path):
    stamped = Ruling(TABLE, (), "quick", 1, "toy.double is refuted", "pytest")
    for name, ruling in (("fine", Ruling(TABLE, (), "quick", 1)), ("not", stamped)):
        press.produce(name, PLATE, ruling, tmp_path, ("png",))
    assert (tmp_path / "fine.gif").read_bytes() != (tmp_path / "not.gif").read_bytes()
    assert not (tmp_path / "not.csv").exists()
