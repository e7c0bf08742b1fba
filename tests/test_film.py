"""Animations: equal bytes every time, named by the manifest, and stamped with their figure."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from theory.evidence import Kind, Table
from theory.figures import manifest, press
from theory.figures._style import film, style
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


def test_a_film_is_equal_again_and_moves():
    with style.drawing():
        first, again = film.made_of(frames(TABLE)), film.made_of(frames(TABLE))
    assert first == again
    with Image.open(io.BytesIO(first)) as picture:
        assert picture.n_frames == 3
        assert picture.info["loop"] == 0
        assert picture.size == (2 * film.DOTS, film.DOTS)
        shown = []
        for number in range(3):
            picture.seek(number)
            shown.append(np.asarray(picture.convert("L")).argmin() % picture.size[0])
    assert sorted(set(shown)) == shown


def test_one_frame_is_no_film():
    with pytest.raises(ValueError, match="frames: expected at least two, got 1"):
        film.made_of(list(frames(TABLE))[:1])


def test_a_figure_with_frames_has_a_film_beside_it(tmp_path):
    ruling = Ruling(TABLE, (), "quick", 1)
    sheet = press.produce("film", PLATE, ruling, ("png",))
    assert sorted(sheet.files) == ["film.csv", "film.gif", "film.png"]
    press.publish(sheet, tmp_path, ["film"])
    entries = manifest.load(tmp_path)
    assert sorted(entries["film"]["files"]) == ["film.gif", "film.png"]
    assert list(manifest.disagreements("film", PLATE, ruling, tmp_path, entries)) == []
    (tmp_path / "film.gif").write_bytes(b"GIF89a")
    found = list(manifest.disagreements("film", PLATE, ruling, tmp_path, entries))
    assert found == ["film.gif is not the file that manifest.json names"]


def test_a_stamped_figure_has_a_stamped_film():
    stamped = Ruling(TABLE, (), "quick", 1, "toy.double is refuted", "pytest")
    fine, wrong = (
        press.produce("film", PLATE, ruling, ("png",)) for ruling in (Ruling(TABLE, (), "quick", 1), stamped)
    )
    assert fine.files["film.gif"] != wrong.files["film.unverified.gif"]
    assert sorted(wrong.files) == ["film.unverified.gif", "film.unverified.png"]
