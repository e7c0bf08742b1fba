"""What features and learned scores say of their own rounding: that it holds, and that little of it is spare."""

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    hull,
    hypothesis,
    norm,
    outcome,
    verifies,
)
from theory.metric import MetricScore, ResidualFeatures
from verify.inputs import UNITS, draw_residual
from verify.textbook import residual_image, squares


def cancelling(rng):
    """A unit of which the two terms of the argument cancel, with a steep output; and two tokens that it moves apart."""
    a, b = (1.0 + rng.uniform(size=2)).tolist()
    g = ResidualFeatures([[a], [-b]], [0.25], [[1e12, 0.0]], [0.0, 0.0])
    return g, 1e8 * np.array([[b, a]]), 1e8 * np.array([[b, a]]) * (1.0 + 2.0**-20) + [[0.0, 4e8]]


def adding(rng):
    """Features that only add a shift, of the size of the tokens."""
    g = ResidualFeatures([[1e-30], [0.0]], [0.0], [[0.0, 0.0]], [1.0 / 3.0, 0.0])
    return g, np.array([[1.0, 0.0]]) * (1.0 + rng.uniform(size=(40, 1))), np.array([[-2.0, 0.0]])


@verifies(
    Claim(
        "metric.rounding",
        "learned features and scores are off by at most what they say, and by a twentieth of it where arguments cancel",
        r"$|\hat g(x) - g(x)| \le$ `rounding`, $|\hat a(x, y) - a(x, y)| \le$ the error in `bounds`",
        remark=r"here $g(x) = x + \tanh(xW + b)U + c$ and $a = -|g(x) - g(y)|^2/2\varepsilon$; at least $\frac1{20}$ of the former is reached for one hidden unit of which $xW$ cancels",
        assumptions=("a hyperbolic tangent within four units in the last place",),
        spec=("DL.E2",),
        cites=("ruan2024",),
        source_status=("derived",),
    ),
    constant("hundredth", "a hundredth of the stated error is enough", factor=0.01),
    bug("argument", "the rounding of the argument is forgotten", seen=0.0),
    hypothesis("single", "tokens are rounded to single precision first", given=np.float32),
    constant("half", "half of the stated error is reached", share=0.5),
)
def test_rounding(run, *, factor=1.0, seen=1.0, given=np.float64, share=0.05):
    cases = []
    worst = {"cancelling": [], "adding": []}
    for number, rng in enumerate(run.draws(quick=6, paper=120)):
        cases += [("cancelling", 0.5, *cancelling(rng)), ("adding", 0.5, *adding(rng))]
        d = int(rng.integers(1, 5))
        unit = UNITS[number % len(UNITS)]
        g = draw_residual(rng, d, int(rng.integers(1, 5)), float(rng.uniform(0.1, 3.0)), unit)
        x, y = unit * rng.normal(size=(2, 5, d))
        cases.append(("random", unit**2 * float(rng.uniform(0.1, 2.0)), g, x, y))
    for name, epsilon, g, x, y in cases:
        f, h = (residual_image(g, z) for z in (x, y))
        stated = ResidualFeatures(seen * g.inner, g.inner_bias, g.outer, g.outer_bias)  # by which the error is bounded
        off = hull(norm(balls(g(given(x))) - f, axis=1)).max() / stated.rounding(x)
        case = {"input": name, "n": len(x), "d": g.dim}
        yield outcome(at_most(off, factor, part="features", **case))
        if name in worst:
            worst[name].append(off)
        wrong = balls(MetricScore(g, epsilon).matrix(given(x), y)) - squares(f, h) / (-2 * ball(epsilon))
        limit = MetricScore(stated, epsilon).bounds(x, y)[1]
        yield outcome(at_most(hull(abs(wrong)).max() / limit, factor, part="scores", **case))
    for name, shares in worst.items():
        yield outcome(at_least(Interval.largest(shares), share, input=name, part="nearly attained"))
