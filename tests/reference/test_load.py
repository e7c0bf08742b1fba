"""As a user does who has the files and not the package: json, NumPy and SciPy alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

FOLDER = Path(__file__).parent.parent.parent / "reference"


QUIET = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # -inf less itself, gaps beyond the range


def load(subject):
    return json.loads((FOLDER / f"{subject}.json").read_text(encoding="utf-8"))["cases"]


def array(tensor, key):
    numbers = [float.fromhex(x) if isinstance(x, str) else x for x in tensor[key]]
    return np.array(numbers).reshape(tensor["shape"])


def known(answer):
    """Nearest numbers, and decimals where the format overflows."""
    decimals = np.array([float(x) for x in answer["lo"]]).reshape(answer["shape"])
    nearest = array(answer, "nearest")
    return np.where(np.isfinite(nearest), nearest, decimals)


def named(subject, *wanted):
    """The cases whose inputs are these and no others."""
    return [pytest.param(case, id=case["name"]) for case in load(subject) if set(case["inputs"]) == set(wanted)]


@pytest.mark.parametrize("case", named("softmax", "scores"))
@QUIET
def test_softmax_of_numpy_and_scipy(case):
    scores, weights = array(case["inputs"]["scores"], "data"), array(case["answers"]["weights"], "nearest")
    if not np.isfinite(scores).any():  # NaN in SciPy; the convention here is zero
        assert np.isnan(softmax(scores)).all()
        assert not weights.any()
        return
    terms = np.exp(scores - scores.max())
    tolerance = 2.0**-52 * (2 + np.log2(scores.size))
    for found in (terms / terms.sum(), softmax(scores)):
        assert np.abs(found - weights).max() <= tolerance
    logs = array(case["answers"]["log_weights"], "nearest")
    seen = np.isfinite(logs)
    np.testing.assert_allclose(log_softmax(scores)[seen], logs[seen], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("case", named("logsumexp", "scores"))
@QUIET
def test_logsumexp_of_scipy(case):
    scores, value = array(case["inputs"]["scores"], "data"), array(case["answers"]["value"], "nearest")[()]
    size = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    found = logsumexp(scores)
    assert found == value or abs(found - value) <= 4 * np.spacing(max(size, 1.0))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in load("streaming")])
@QUIET
def test_tiles_merge_to_the_whole(case, order):
    """With a running maximum, from either end; a tile without keys and a query that sees nothing stay zero."""
    form = case["answers"]["output"]["format"]
    epsilon = {"binary64": 2.0**-52, "binary32": 2.0**-23, "binary16": 2.0**-10, "bfloat16": 2.0**-7}[form]
    outputs, partitions = (
        array(case["answers"]["tile_outputs"], "nearest"),
        known(case["answers"]["tile_log_partitions"]),
    )
    size = np.abs(partitions[np.isfinite(partitions)]).max(initial=0.0)
    if "sink" in case["inputs"]:
        size = max(size, abs(array(case["inputs"]["sink"], "data")))
    most = np.full(partitions.shape[1], -np.inf)
    mass, total = np.zeros(most.shape), np.zeros(outputs.shape[1:])
    tiles = list(zip(partitions[::order], outputs[::order], strict=True))
    if "sink" in case["inputs"]:
        tiles.append((np.full(most.shape, array(case["inputs"]["sink"], "data")), np.zeros(total.shape)))
    for partition, output in tiles:
        new = np.maximum(most, partition)
        base = np.where(np.isfinite(new), new, 0.0)
        old, own = np.exp(most - base), np.exp(partition - base)
        mass, total, most = old * mass + own, old[:, None] * total + own[:, None] * output, new
    whole = total / np.where(mass > 0.0, mass, 1.0)[:, None]
    right = array(case["answers"]["output"], "nearest")
    assert np.abs(whole - right).max() <= (4 + 2 * size) * epsilon * np.abs(outputs).max()
    log_partition = known(case["answers"]["log_partition"])
    seen = np.isfinite(log_partition)
    assert np.array_equal(mass > 0.0, seen)
    assert np.abs(most + np.log(mass) - log_partition)[seen].max(initial=0.0) <= 2 * epsilon * max(size, 1.0)


def test_ends_are_decimals_around_the_nearest_number():
    for path in sorted(FOLDER.glob("*.json")):
        if path.name == "schema.json":
            continue
        for case in load(path.stem):
            for answer in case["answers"].values():
                if answer["format"] != "binary64":
                    continue
                ends = np.array([[float(x) for x in answer[end]] for end in ("lo", "hi")])
                nearest = array({**answer, "shape": [-1]}, "nearest")
                assert (ends[0] <= ends[1]).all()
                assert ((ends[0] <= nearest) & (nearest <= ends[1])).all()  # conversion rounds to nearest as well


@QUIET
def test_a_wrong_softmax_fails():
    (case,) = [case for case in load("softmax") if case["name"] == "shifted-up"]
    scores, weights = array(case["inputs"]["scores"], "data"), array(case["answers"]["weights"], "nearest")
    unshifted = np.exp(scores) / np.exp(scores).sum()
    assert not np.abs(unshifted - weights).max() <= 1e-12
