"""Real tokens: every patch is where it should be, and the projection is what the docstring says."""

from importlib.machinery import ModuleSpec

import numpy as np
import pytest

from theory.attention import DotProduct, photograph, studies
from theory.evidence import Kind, exact, stream
from theory.evidence.roundoff import gamma

PATCH = photograph.PATCH


def test_grid_covers_the_whole_patches():
    height, width, channels = photograph.pixels().shape
    down, across = photograph.grid()
    assert channels == 3
    assert 0 <= height - PATCH * down < PATCH
    assert 0 <= width - PATCH * across < PATCH
    assert photograph.pixels().dtype == np.uint8


def test_tokens_are_the_projected_patches_row_by_row():
    picture = photograph.pixels().astype(float) / 127.5 - 1.0
    down, across = photograph.grid()
    tokens = photograph.tokens(5, stream("tests.photograph", 0))
    weights = stream("tests.photograph", 0).normal(size=(PATCH * PATCH * 3, 5)) / np.sqrt(PATCH * PATCH * 3)
    assert tokens.shape == (down * across, 5)
    for row, column in ((0, 0), (0, 1), (1, 0), (3, 7), (down - 1, across - 1)):
        patch = picture[row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH].ravel()
        error = gamma(patch.size + 2) * np.abs(patch) @ np.abs(weights)
        assert np.all(np.abs(tokens[row * across + column] - patch @ weights) <= 2.0 * error)


def test_tokens_depend_on_the_stream_alone():
    first, again = (photograph.tokens(3, stream("tests.photograph", 1)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, photograph.tokens(3, stream("tests.photograph", 2)))


@pytest.mark.parametrize("dim", [0, -1, 2.0, "3", None, True])
def test_bad_dimension(dim):
    with pytest.raises((ValueError, TypeError), match=r"^dim: expected an integer"):
        photograph.tokens(dim, stream("tests.photograph", 3))


def test_missing_sample_data(monkeypatch, tmp_path):
    monkeypatch.setattr(photograph, "find_spec", lambda _: None)
    with pytest.raises(FileNotFoundError, match=r"^photograph: expected Matplotlib to be installed$"):
        photograph.pixels()
    bare = ModuleSpec("matplotlib", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(photograph, "find_spec", lambda _: bare)
    with pytest.raises(FileNotFoundError, match=r"^photograph: expected Matplotlib's sample data, got none at "):
        photograph.pixels()


def test_unit_tokens():
    x = studies.unit_tokens(0, root=1)
    assert np.abs((x**2).sum(axis=1) - 1.0).max() <= gamma(40)
    assert not np.array_equal(x, studies.unit_tokens(1, root=1))
    assert x.shape[0] == np.prod(photograph.grid())


def test_watched_patch_is_in_the_picture():
    down, across = photograph.grid()
    assert studies.query_index() == studies.PATCH[0] * across + studies.PATCH[1] < down * across


def test_transport_study():
    table = studies.transport(scale="quick", root=1)
    assert len(table) == 60
    assert table.kind is Kind.NUMERIC
    assert abs(table["weight"].sum() - 1.0) <= gamma(60)
    assert np.unique(table["weight"]).size == 60
    points = np.column_stack([table["x1"], table["x2"]])
    laws = exact.laws(exact.scores(studies.TILT, points[list(studies.WATCHED)], points), table["weight"])[0]
    for query, law in zip(studies.WATCHED, laws, strict=True):
        lo, hi = table[f"row{query}.lo"], table[f"row{query}.hi"]
        assert exact.apart((lo + hi) / 2.0, law) <= (hi - lo).max()
        assert np.all((lo > 0.0) & (lo < hi) & (hi < 1.0))
        assert lo.sum() <= 1.0 <= hi.sum()
    assert table.sha256 == studies.transport(scale="quick", root=1).sha256
    assert table.sha256 != studies.transport(scale="quick", root=2).sha256


def test_attention_map_study():
    table = studies.attention_map(scale="quick", root=1)
    down, across = photograph.grid()
    assert len(table) == studies.HEADS * down * across
    for head in range(studies.HEADS):
        part = table.where(head=head)
        assert part["weight.lo"].sum() <= 1.0 <= part["weight.hi"].sum()
        assert np.array_equal(part["row"] * across + part["column"], np.arange(down * across))
        assert int(part["weight.lo"].argmax()) == studies.query_index()  # unit tokens: the patch itself scores highest
        x = studies.unit_tokens(head, 1)
        asked = x[studies.query_index()][np.newaxis]
        law = exact.laws(exact.scores(DotProduct(scale=studies.SHARPNESS), asked, x))[0][0]
        middle = (part["weight.lo"] + part["weight.hi"]) / 2.0
        assert exact.apart(middle, law) <= (part["weight.hi"] - part["weight.lo"]).max()
