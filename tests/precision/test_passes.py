"""What a forward pass saves, and bounds of gradients that rest on it, against a calculator and their parts."""

import math

import mpmath
import numpy as np
import pytest

from theory.precision import gradient_error, gradient_tolerance, pass_error, stream_error, stream_logarithm
from theory.precision.backward import KEPT


@pytest.mark.parametrize("form", ["float64", "float32"])
def test_logarithms_are_near_those_of_numpy(form):
    scores = np.random.default_rng(3).integers(-64, 64, 40) / 8.0
    plan = ([range(0, 40, 2), []], [range(1, 40, 2)])
    right = math.log(np.exp(scores).sum() + math.exp(0.5))
    near = 8.0 * {"float64": 2.0**-52, "float32": 2.0**-23}[form] * abs(right)
    assert abs(stream_logarithm(scores, plan, form=form, sink=0.5) - right) <= near


def test_nothing_has_the_logarithm_minus_infinity():
    assert stream_logarithm([-math.inf, -math.inf], [[0], [1]]) == -math.inf
    assert stream_logarithm([-math.inf], [[0]], sink=2.0) == 2.0


@pytest.mark.parametrize(("form", "bits", "speck"), [("bfloat16", 8, 0.0), ("e4m3", 4, 2.0**-18)])
def test_parts_have_their_values(form, bits, speck):
    """As a calculator finds them; outputs are in bfloat16."""
    n, m, e, c, r = 2048, 64, 128, 142, 15
    with mpmath.workdps(40):
        u, coarse, last = mpmath.mpf(2) ** -24, 1 / mpmath.mpf(2**bits + 1), 1 + mpmath.mpf(2) ** -8
        most = -(r + 1) * mpmath.log1p(-4 * u)
        own = most + u * (most + mpmath.lambertw((n - 1) / mpmath.e).real) / (1 - u) + (c + r) * u / (1 - u)
        right = {
            "logarithm": own + 4 * u * (mpmath.log(n) + own) + u * (1 + 4 * u) * (mpmath.log(n) + own),
            "exponentials": mpmath.mpf(n) ** u / (1 - 4 * u) - 1,
            "products": (1 + u) * e * u / (1 - e * u),
            "queries": last * (1 + coarse) * (1 + u) / (1 - (c + 3) * u) - 1,
            "keys": last * (1 + coarse) * (1 + u) / (1 - (m + 2) * u) - 1,
            "values": last * ((1 + coarse) / (1 - 4 * u) + speck) / (1 - m * u) - 1,
            "vanishing": 1.25 * n * 2.0**-10 / mpmath.mpf(448) * (form == "e4m3"),
        }
    found = pass_error(n, m, form=form, depth=e, additions=c, rises=r)
    for part, value in right.items():
        assert getattr(found, part).mid == pytest.approx(float(value), rel=1e-12, abs=0.0), part
    assert found.least.hi < 2.0**-113
    assert found.specks.hi < 2.0**-65


@pytest.mark.parametrize("form", KEPT)
def test_tolerances_are_no_smaller_than_the_bound_that_they_rest_on(form):
    """With what is saved off as far as it may be; gradients are rounded on top, which costs the unit of the format."""
    n, m, d, e = 700, 5, 48, 32
    sizes = {"size": 3.0, "spread": 2.0}
    score, reach, slope = 40.0, 4.0, 6.0
    heads = stream_error(n, form=form, width=d)
    off = (reach * (heads.weights + score * heads.scores + heads.output) + slope * heads.least).hi
    parts = pass_error(n, m, form=form, depth=e)
    u = 2.0 ** -(53 if form == "float64" else 24)
    saved = parts.logarithm.hi + u * score * (1.0 + heads.scores.hi)
    mean = off + e * u / (1.0 - e * u) * (sizes["size"] + off)
    under = gradient_error(n, m, form=form, depth=e, **sizes, partition=saved, mean=mean, score=score * heads.scores.hi)
    found = gradient_tolerance(n, m, form=form, width=d, depth=e, score=score, reach=reach, slope=slope, **sizes)
    unit = {"float64": 0.0, "float32": 0.0, "bfloat16": 2.0**-8, "float16": 2.0**-11, "e4m3": 2.0**-8}[form]
    whole = {"queries": sizes["spread"], "keys": m * sizes["spread"], "values": float(m)}
    for part, size in whole.items():
        least = getattr(under, part).hi * (1.0 + unit) + unit * size
        assert least <= getattr(found, part).hi * (1.0 + 1e-9)
        assert getattr(found, part).hi <= 1.01 * least + 3e-4 * m * (form == "float16")


@pytest.mark.parametrize("name", ["length", "rows", "width", "depth", "additions", "rises"])
def test_counts_beyond_a_million_are_refused(name):
    """A count of roundings above one over their unit would make a bound negative."""
    given = {"length": 8, "rows": 1, "width": 4, "depth": 4, "additions": 3, "rises": 3, name: 2**24}
    sizes = dict.fromkeys(("score", "size", "spread", "reach", "slope"), 1.0)
    with pytest.raises(ValueError, match=f"{name}: expected at most 1000000"):
        gradient_tolerance(**given, form="bfloat16", **sizes)
