"""``python -m theory certify``: files of both formats, what it prints, and files that are not what they should be."""

from __future__ import annotations

import importlib
import json
import math

import numpy as np
import pytest
import safetensors.numpy

from theory.__main__ import main
from theory.lipschitz.certificate import METRICS, certify, certify_at, read_weights

RNG = np.random.default_rng(0)
WEIGHTS = {name: 0.5 * RNG.normal(size=(4, 4)) for name in ("w_query", "w_key", "w_value", "w_out")}


@pytest.fixture
def npz(tmp_path):
    np.savez(tmp_path / "weights.npz", **WEIGHTS)
    return tmp_path / "weights.npz"


def run(capsys, *arguments):
    """Return status, output and errors of one command."""
    status = main(["certify", *(str(a) for a in arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_json_is_what_the_library_returns(capsys, npz):
    options = ("--radius", 1.5, "--tokens", 5, "--heads", 2, "--residual")
    status, out, err = run(capsys, npz, *options, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    expected = certify(**WEIGHTS, radius=1.5, n=5, heads=2, residual=True)
    assert (found["radius"], found["n"], found["heads"], found["residual"]) == (1.5, 5, 2, True)
    for row, truth in zip(found["rows"], expected.rows, strict=True):
        assert (row["metric"], row["constant"], row["lower"]) == (truth.metric, truth.constant, truth.lower)
        assert (row["claim"], row["label"], row["hypotheses"]) == (truth.claim, truth.label, truth.hypotheses)
        np.testing.assert_array_equal(row["witness"]["points"], truth.found.points)


def test_constants_beyond_float64_are_no_json_numbers(capsys, npz):
    found = json.loads(run(capsys, npz, "--radius", 1e3, "--no-search", "--json")[1])
    first = found["rows"][0]
    assert (first["constant"], first["overflow"], first["lower"], first["witness"]) == (None, True, None, None)


def test_table_rounds_in_the_safe_direction(capsys, npz):
    status, out, err = run(capsys, npz)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()[3:9]]
    expected = certify(**WEIGHTS, radius=1.0)
    assert [line[0] for line in lines] == ["W1", "W2", "W_inf", "mean", "max", "Frobenius"]
    for line, row in zip(lines, expected.rows, strict=True):
        assert row.constant <= float(line[1]) <= row.constant * (1 + 1e-5)
        assert row.lower * (1 - 1e-5) <= float(line[2]) <= row.lower
        assert line[3] == row.label
    assert "lower bounds only" in out


def test_a_dash_where_no_theorem_applies(capsys, npz):
    out = run(capsys, npz, "--causal", "--no-search")[1]
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines()[3:9]}
    assert [metric for metric, constant in rows.items() if constant == "-"] == [
        "W1",
        "W2",
        "W_inf",
        "mean",
        "Frobenius",
    ]
    assert run(capsys, npz, "--radius", 1e3, "--no-search")[1].count("> 1.79e308") == 4


def test_distance_attention(capsys, tmp_path):
    tied = {**WEIGHTS, "w_key": WEIGHTS["w_query"]}
    np.savez(tmp_path / "tied.npz", **tied)
    options = ("--score", "distance", "--tokens", 6, "--no-search", "--json")
    found = json.loads(run(capsys, tmp_path / "tied.npz", *options)[1])
    expected = certify(**tied, radius=1.0, n=6, score="distance", search=False)
    assert [row["constant"] for row in found["rows"]] == [row.constant for row in expected.rows]
    assert len(expected.rows) == len(METRICS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_safetensors(capsys, tmp_path, dtype):
    rounded = {name: matrix.astype(dtype) for name, matrix in WEIGHTS.items()}
    safetensors.numpy.save_file(rounded, tmp_path / "weights.safetensors")
    found = json.loads(run(capsys, tmp_path / "weights.safetensors", "--no-search", "--json")[1])
    expected = certify(**rounded, radius=1.0, search=False)
    assert [row["constant"] for row in found["rows"]] == [row.constant for row in expected.rows]


def test_other_names(capsys, tmp_path):
    calls = {"w_query": "layer.0.q", "w_key": "layer.0.k", "w_value": "layer.0.v"}
    arrays = {called: WEIGHTS[name] for name, called in calls.items()} | {"norm": np.ones(4)}
    safetensors.numpy.save_file(arrays, tmp_path / "model.safetensors")
    read = read_weights(tmp_path / "model.safetensors", calls)
    assert set(read) == set(calls)
    for name in calls:
        np.testing.assert_array_equal(read[name], WEIGHTS[name])
    text = ",".join(f"{name}={called}" for name, called in calls.items())
    assert run(capsys, tmp_path / "model.safetensors", "--names", text, "--no-search")[0] == 0


@pytest.mark.parametrize("options", [(), ("--causal", "--tokens", 9), ("--residual",)])
@pytest.mark.parametrize("metric", METRICS)
def test_a_constant_that_the_search_refutes_is_not_printed(capsys, npz, monkeypatch, options, metric):
    """Whichever row is wrong, nothing is printed and the status tells."""
    room = importlib.import_module("theory.lipschitz.certificate.certify")
    true = room.dot_bounds

    def short(*args, **more):
        rows = true(*args, **more)
        return rows | {metric: [bound._replace(constant=1e-3) for bound in rows.get(metric, [])]}

    monkeypatch.setattr(room, "dot_bounds", short)
    status, out, err = run(capsys, npz, *options)
    if "--causal" in options and metric.startswith("W"):
        assert status == 0
    else:
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert f"{metric}: the constant {int('--residual' in options)}.001" in err


def refused(capsys, words, *arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w_key": None}, "expected an array 'w_key' as w_key"),
        ({"bias": np.ones(4)}, "got also bias"),
        ({"w_value": np.ones((4, 3))}, "w_value: expected shape (n, 4), got shape (4, 3)"),
        ({"w_query": np.ones((4, 4), dtype=complex)}, "w_query: expected real numbers"),
        ({"w_query": np.full((4, 4), math.nan)}, "w_query: expected finite numbers"),
        ({"w_query": np.array([["a"]])}, "w_query: expected real numbers"),
        ({"w_query": np.array([[None]])}, "expected arrays of numbers that NumPy can read"),
    ],
)
def test_arrays_that_do_not_fit(capsys, tmp_path, change, words):
    arrays = {name: value for name, value in {**WEIGHTS, **change}.items() if value is not None}
    np.savez(tmp_path / "weights.npz", **arrays)
    refused(capsys, words, tmp_path / "weights.npz")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--heads", 3), "w_query: expected a multiple of 3 rows"),
        (("--tokens", 0), "n: expected an integer of at least 1"),
        (("--radius", -1), "radius: expected a positive"),
        (("--radius", "nan"), "radius: expected a positive"),
        (("--score", "cosine"), "score: expected one of dot, distance"),
        (("--names", "w_query"), "--names: expected NAME=KEY"),
        (("--names", "w_gate=w_out"), "names: expected any of w_query"),
        (("--names", "w_query=q"), "expected an array 'q' as w_query"),
    ],
)
def test_options_that_do_not_fit(capsys, npz, options, words):
    refused(capsys, words, npz, *options)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"not weights", b"PK\x03\x04 cut off", b"\x93NUMPY\x01"])
def test_files_that_are_none(capsys, tmp_path, suffix, content):
    (tmp_path / f"weights{suffix}").write_bytes(content)
    refused(capsys, f"expected a{'n' if suffix == '.npz' else ''} {suffix} file", tmp_path / f"weights{suffix}")


def test_a_damaged_array(capsys, npz):
    content = bytearray(npz.read_bytes())
    content[150:160] = bytes(10)
    npz.write_bytes(bytes(content))
    refused(capsys, "expected arrays of numbers that NumPy can read", npz)


def test_a_single_array(capsys, tmp_path):
    with (tmp_path / "weights.npz").open("wb") as file:
        np.save(file, np.ones(3))
    refused(capsys, "got a single array", tmp_path / "weights.npz")


def test_no_file_and_another_suffix(capsys, tmp_path):
    refused(capsys, "expected a file, found none", tmp_path / "weights.npz")
    refused(capsys, "expected a file ending in .npz or .safetensors", tmp_path / "weights.pt")
    refused(capsys, "expected a file, found none", tmp_path / "a\nb.npz".replace("\n", "_"))


def test_safetensors_may_be_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    (tmp_path / "weights.safetensors").write_bytes(b"")
    refused(capsys, "pip install safetensors", tmp_path / "weights.safetensors")


def test_tokens_of_a_file(capsys, npz, tmp_path):
    """The norm at the tokens, rounded outward, beside the constant of the ball that just holds them."""
    tokens = RNG.normal(size=(5, 4))
    np.save(tmp_path / "tokens.npy", tokens)
    options = ("--tokens", tmp_path / "tokens.npy", "--heads", 2, "--no-search")
    here = certify_at(tokens, **WEIGHTS, heads=2)
    found = json.loads(run(capsys, npz, *options, "--json")[1])
    assert (found["n"], found["radius"]) == (5, here.radius)
    ball = certify(**WEIGHTS, radius=here.radius, n=5, heads=2, search=False)
    status, out, err = run(capsys, npz, *options)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    for row in here.rows:
        told = next(entry for entry in found["local"] if entry["metric"] == row.metric)
        assert told["norm"] == [row.norm.lo, row.norm.hi]
        assert (told["reach"], told["bound"]) == (row.reach, row.bound)
        assert told["bounds"]["on the ball"] == ball.row(row.metric).constant
        assert told["bounds"]["found"] is None
        name = {"frobenius": "Frobenius"}.get(row.metric, row.metric)
        upper, lower, reach, bound = map(float, [line for line in lines if line[:1] == [name]][-1][1:5])
        assert row.norm.hi <= upper <= row.norm.hi * (1 + 1e-5)
        assert row.norm.lo * (1 - 1e-5) <= lower <= row.norm.lo
        assert reach <= row.reach
        assert row.bound <= bound
    within = json.loads(run(capsys, npz, *options, "--reach", 1e-3, "--json")[1])
    assert {entry["reach"] for entry in within["local"]} == {1e-3}
    turned = json.loads(run(capsys, npz, *options, "--rotary", "--base", 100.0, "--pairs", "neighbours", "--json")[1])
    there = certify_at(tokens, **WEIGHTS, heads=2, base=100.0, pairs="neighbours")
    assert [entry["norm"] for entry in turned["local"]] == [[row.norm.lo, row.norm.hi] for row in there.rows]
    assert turned["local"][0]["norm"] != found["local"][0]["norm"]
    assert "coordinates 2 k and 2 k + 1, base 100.0" in turned["notes"][-1]


def test_what_is_published_and_what_is_found_are_marked(capsys, tmp_path):
    """With a bias the published constant is that of the layer without it; a search may find less than the tokens."""
    tokens = RNG.normal(size=(5, 4))
    np.save(tmp_path / "tokens.npy", tokens)
    options = ("--tokens", tmp_path / "tokens.npy", "--heads", 2)
    np.savez(tmp_path / "biased.npz", **WEIGHTS, b_query=np.ones(4))
    np.savez(tmp_path / "weights.npz", **WEIGHTS)
    out = run(capsys, tmp_path / "biased.npz", *options, "--no-search")[1]
    assert "* Of the layer without its query bias" in out
    plain = run(capsys, tmp_path / "weights.npz", *options, "--no-search")[1]
    assert "* Of the layer" not in plain
    assert "Where 'found' is below" not in plain
    last = [line.split() for line in out.splitlines() if line.startswith("Frobenius")][-1]
    other = [line.split() for line in plain.splitlines() if line.startswith("Frobenius")][-1]
    assert last[-2] == f"{other[-2]}*"
    found = json.loads(run(capsys, tmp_path / "biased.npz", *options, "--json")[1])["local"]
    assert [row["published_without_bias"] for row in found] == [False, False, True]
    low = any(row["bounds"]["found"] < row["norm"][0] for row in found)
    assert ("Where 'found' is below" in run(capsys, tmp_path / "biased.npz", *options)[1]) is low


def test_tokens_at_the_origin(capsys, npz, tmp_path):
    """A ball of radius zero would hold them; the default radius holds them as well."""
    np.save(tmp_path / "tokens.npy", np.zeros((2, 4)))
    options = ("--tokens", tmp_path / "tokens.npy", "--heads", 2, "--no-search", "--json")
    assert json.loads(run(capsys, npz, *options)[1])["radius"] == 1.0


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="the longest floats are double here")
def test_scores_that_no_enclosure_holds(capsys, tmp_path):
    drawn = {name: RNG.normal(size=(20, 20)) for name in ("w_query", "w_key", "w_value")}
    np.savez(tmp_path / "large.npz", **drawn | {"w_query": 1e28 * drawn["w_query"]})
    np.save(tmp_path / "tokens.npy", RNG.normal(size=(300, 20)))
    refused(
        capsys, "tokens: expected ones at which float64", tmp_path / "large.npz", "--tokens", tmp_path / "tokens.npy"
    )


def test_tokens_of_more_than_double_precision(capsys, npz, tmp_path):
    np.save(tmp_path / "tokens.npy", np.ones((2, 4), np.longdouble))
    refused(capsys, "expected at most double precision", npz, "--tokens", tmp_path / "tokens.npy")


def test_tokens_that_do_not_fit(capsys, npz, tmp_path):
    np.save(tmp_path / "tokens.npy", np.ones((2, 4)))
    np.save(tmp_path / "flat.npy", np.ones(4))
    np.save(tmp_path / "long.npy", np.full((2, 4), 2**53 + 1))
    (tmp_path / "damaged.npy").write_bytes(b"\x93NUMPY")
    for words, *options in (
        ("--radius: expected at least the length of the longest token", tmp_path / "tokens.npy", "--radius", 1.0),
        ("--base: expected that of the rotary positions", tmp_path / "tokens.npy", "--rotary"),
        ("--base: expected with --rotary and a file", tmp_path / "tokens.npy", "--base", 100.0),
        ("--pairs: expected with --rotary and a file", tmp_path / "tokens.npy", "--pairs", "halves"),
        ("--base: expected with --rotary and a file", "5", "--rotary", "--base", 100.0),
        ("base: expected", tmp_path / "tokens.npy", "--rotary", "--base", 1.0),
        ("pairs: expected", tmp_path / "tokens.npy", "--rotary", "--base", 100.0, "--pairs", "thirds"),
        ("expected an array of real numbers of shape (n, d), got float64 of shape (4,)", tmp_path / "flat.npy"),
        ("expected integers that float64 holds", tmp_path / "long.npy"),
        ("--tokens: expected a number or a file ending in .npy", "+-3"),
        ("--tokens: expected a number or a file ending in .npy", "\u00b2"),
        ("expected an .npy file of NumPy", tmp_path / "damaged.npy"),
        ("expected a file, found none", tmp_path / "none.npy"),
        ("--tokens: expected a number or a file ending in .npy", "many"),
        ("--reach: expected with a file of --tokens only", "5", "--reach", 0.1),
        ("reach: expected a positive", tmp_path / "tokens.npy", "--reach", -1.0),
    ):
        refused(capsys, words, npz, "--tokens", *options)
