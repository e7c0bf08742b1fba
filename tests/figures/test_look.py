"""``python -m theory look`` and ``look``: what is drawn is what was computed, files are whole, bad input is named."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from theory.__main__ import main
from theory.figures.portrait import PICTURES, look
from theory.lipschitz.portrait import portray

RNG = np.random.default_rng(0)
WEIGHTS = {name: 0.5 * RNG.normal(size=(4, 4)) for name in ("w_query", "w_key", "w_value", "w_out")}
TOKENS = RNG.normal(size=(7, 4))
FLAT = {"w_query": np.zeros((4, 4)), "w_key": np.zeros((4, 4)), "w_value": np.eye(4)}


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "weights.npz", **WEIGHTS)
    np.save(tmp_path / "tokens.npy", TOKENS)
    return tmp_path


def run(capsys, files, *arguments, weights="weights.npz", tokens="tokens.npy", out="out"):
    """Return status, output and errors of one command."""
    given = [str(files / weights), "--tokens", str(files / tokens), "--out", str(files / out)]
    status = main(["look", *given, *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_command_writes_all_pictures_and_their_numbers(capsys, files):
    status, shown, _ = run(capsys, files, "--heads", 2, "--causal", "--residual", "--format", "svg,png")
    assert status == 0
    wanted = {f"{name}.{form}" for name in PICTURES for form in ("svg", "png")} | {"look.json"}
    assert {path.name for path in (files / "out").iterdir()} == wanted
    found = json.loads((files / "out" / "look.json").read_text())
    same = portray(**WEIGHTS, tokens=TOKENS, heads=2, causal=True, residual=True)
    np.testing.assert_array_equal(found["entropy"], same.entropy)
    np.testing.assert_array_equal(found["singular"], same.singular)
    assert found["levels"] == {level.name: level.value for level in same.levels}
    assert f"largest singular value {same.singular[0]:.6g}" in shown
    assert "7 tokens of 4 numbers, 2 heads" in shown
    assert "outputs along the rows of matrices" in shown
    first = (files / "out" / "maps.svg").read_bytes()
    run(capsys, files, "--heads", 2, "--causal", "--residual")
    assert (files / "out" / "maps.svg").read_bytes() == first


def test_rotary_positions_from_a_file(capsys, files):
    """The key bias of a file is read, and what is drawn is what Python draws of the same base."""
    biases = {"b_query": RNG.normal(size=4), "b_key": RNG.normal(size=4)}
    np.savez(files / "biased.npz", **WEIGHTS, **biases)
    options = ("--heads", 2, "--rotary", "--base", 100, "--pairs", "neighbours", "--layers", 2)
    status, shown, _ = run(capsys, files, *options, weights="biased.npz")
    assert status == 0
    assert "plane k is coordinates 2 k and 2 k + 1, base 100.0" in shown
    found = json.loads((files / "out" / "look.json").read_text())
    turned = {"heads": 2, "base": 100.0, "pairs": "neighbours", "layers": 2}
    same = look(files / "biased.npz", TOKENS, out=files / "again", **turned)
    np.testing.assert_array_equal(found["entropy"], same.entropy)
    np.testing.assert_array_equal(found["paths"], same.paths)
    np.testing.assert_array_equal(same.maps, portray(**WEIGHTS, **biases, tokens=TOKENS, **turned).maps)
    still = portray(**WEIGHTS, **biases, tokens=TOKENS, heads=2)
    assert np.abs(same.maps - still.maps).max() > 0.01


def test_three_lines_of_python(tmp_path):
    found = look(FLAT, TOKENS, out=tmp_path / "flat", heads=2)
    np.testing.assert_allclose(found.entropy, math.log(7.0), rtol=1e-14, atol=0.0)
    assert (tmp_path / "flat" / "factors.svg").stat().st_size > 1000


def test_maps_are_the_weights():
    portrait = portray(**WEIGHTS, tokens=TOKENS, heads=2, causal=True)
    figure, (words,) = PICTURES["maps"](portrait)
    for head in range(2):
        axes = figure.axes[head]
        np.testing.assert_array_equal(axes.images[0].get_array(), portrait.maps[head])
        mean = portrait.effective[head].mean()
        assert axes.get_title() == f"head {head + 1}: {portrait.entropy[head].mean():.2f} nat, {mean:.1f} tokens"
        np.testing.assert_array_equal(figure.axes[2].lines[head].get_ydata(), portrait.effective[head])
    np.testing.assert_array_equal(figure.axes[2].lines[2].get_ydata(), np.arange(1, 8))
    assert "effective number of tokens" in words


def test_of_many_heads_some_have_a_map():
    portrait = portray(np.eye(20), np.eye(20), np.eye(20), np.eye(20)[:3], heads=20)
    figure, (words,) = PICTURES["maps"](portrait)
    assert sum(bool(axes.images) for axes in figure.axes) == 16
    assert len(figure.axes[16].lines) == 21
    assert "The first 16 of 20 heads" in words


def test_ellipses_are_as_large_as_the_caption_says():
    portrait = portray(**WEIGHTS, tokens=TOKENS, residual=True)
    figure, (words,) = PICTURES["ellipses"](portrait)
    plane, sizes = figure.axes
    factor = float(words.partition("drawn ")[2].partition(" times")[0])
    for line, output, matrix in zip(plane.lines[1:], portrait.followed, portrait.ellipses, strict=True):
        drawn = line.get_xydata() - portrait.centres[output]
        half = np.linalg.norm(drawn, axis=1).max()
        assert half == pytest.approx(factor * np.linalg.norm(matrix, 2), rel=0.1, abs=0.0)
    heights = [line.get_ydata()[0] for line in sizes.lines]
    expected = sorted((np.linalg.norm(matrix, 2) for matrix in portrait.ellipses), reverse=True)
    np.testing.assert_allclose(heights, expected, rtol=1e-13, atol=0.0)


def test_paths_spectra_and_factors_are_those_of_the_portrait():
    portrait = portray(**WEIGHTS, tokens=TOKENS, residual=True, layers=3)
    paths = PICTURES["paths"](portrait)[0].axes
    for token in range(7):
        np.testing.assert_array_equal(paths[0].lines[token].get_xydata(), portrait.paths[:, token])
    np.testing.assert_array_equal(paths[1].lines[0].get_ydata(), portrait.spreads)
    spectrum = PICTURES["spectrum"](portrait)[0].axes
    np.testing.assert_array_equal(spectrum[0].lines[0].get_ydata(), portrait.singular)
    lengths = [bar.get_height() for bar in spectrum[1].patches]
    np.testing.assert_array_equal(lengths, np.linalg.norm(portrait.worst, axis=1))
    factors = PICTURES["factors"](portrait)[0].axes[0]
    assert [bar.get_height() for bar in factors.patches] == [level.value for level in portrait.levels]
    values = [level.value for level in portrait.levels]
    shown = [text.get_text() for text in factors.texts if "times" in text.get_text()]
    for words, cause, k in zip(shown, ("radius", "softmax", "heads"), range(3), strict=True):
        assert words == f"{cause}\n$\\times$ {values[k] / values[k + 1]:.3g}"


def test_extreme_layers_are_drawn(tmp_path):
    steep = {**FLAT, "w_query": 1e6 * np.eye(4), "w_key": 1e6 * np.eye(4)}
    found = look(steep, TOKENS, out=tmp_path / "steep")
    assert found.levels[0].value > 1e10
    nothing = look({**FLAT, "w_value": np.zeros((4, 4))}, TOKENS, out=tmp_path / "nothing")
    assert nothing.singular[0] == 0.0
    wide = look({**FLAT, "w_out": np.ones((3, 4))}, TOKENS, out=tmp_path / "narrow", formats=["pdf"])
    assert wide.paths.shape == (1, 7, 2)


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({"weights": "none.npz"}, [], "expected a file, found none"),
        ({"tokens": "none.npy"}, [], "--tokens: expected a file of NumPy, found none"),
        ({"tokens": "weights.npz"}, [], "--tokens: expected one array"),
        ({"tokens": "text.npy"}, [], "--tokens: expected an .npy file"),
        ({"tokens": "narrow.npy"}, [], "tokens: expected"),
        ({"out": "text.npy"}, [], "out: expected a folder, got the file"),
        ({}, ["--heads", "3"], "w_query: expected a multiple of 3 rows"),
        ({}, ["--format", "gif"], "formats: expected one of svg, png, pdf"),
        ({}, ["--layers", "0"], "layers: expected"),
        ({}, ["--rotary"], "--base: expected that of the rotary positions"),
        ({}, ["--rotary", "--base", "1"], "base: expected a number between"),
        ({}, ["--rotary", "--base", "9", "--heads", "4"], "base: expected an even number of coordinates"),
        ({}, ["--rotary", "--base", "9", "--pairs", "all"], "pairs: expected one of halves, neighbours"),
        ({}, ["--base", "100"], "--base: expected with --rotary only"),
        ({}, ["--pairs", "halves"], "--pairs: expected with --rotary only"),
        ({}, ["--score", "cosine"], "score: expected one of dot, distance"),
        ({}, ["--names", "w_query"], "--names: expected NAME=KEY"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(capsys, files, changes, arguments, words):
    (files / "text.npy").write_text("no array")
    np.save(files / "narrow.npy", TOKENS[:, :2])
    status, shown, errors = run(capsys, files, *arguments, **changes)
    assert (status, shown) == (2, "")
    assert words in errors
    assert errors.count("\n") == 1
    assert not (files / "out").exists()


def test_what_is_no_weights_is_refused(tmp_path):
    with pytest.raises(TypeError, match="weights: expected a path, arrays by name, or a module of PyTorch, got int"):
        look(3, TOKENS, out=tmp_path)
    with pytest.raises(ValueError, match="formats: expected some of svg, png, pdf, got none"):
        look(FLAT, TOKENS, out=tmp_path, formats=())
