"""Two tokens on a line contract by a hyperbolic tangent, wherever they lie: on a whole box."""

from functools import cache

from theory.evidence import Claim, at_least, at_most, bug, constant, hypothesis, sup_over, verifies

sup = cache(sup_over)  # once for the claim and its twins, which change what is claimed of it


@verifies(
    Claim(
        "lipschitz.two-tokens",
        "two tokens on a line come as near as two opposite ones at the same distance, or nearer, wherever they lie",
        r"$\frac12[\tanh(u + v) - \tanh(u - v)] = \frac{\tanh v}{1 + (\sinh u/\cosh v)^2} \le \tanh v$, $u = \frac B4(x^2 - y^2)$, $v = \frac B4(x - y)^2$; equality at $u = 0$",
        assumptions=("two tokens of equal weight, dimension one, $V = 1$", r"$0 \le u \le 3$, $\frac18 \le v \le 3$"),
        spec=("MA.L9",),
        cites=("dobrushin1956",),
        provenance=("derived", "refereed"),
    ),
    constant("near", "they come nearer by one per cent", share="0.99"),
    hypothesis("skip", "the layer has a skip connection", skip=" + 1 / tanh(v)"),
    bug("unhalved", "the two tangents are subtracted, and the difference is not halved", factor="2"),
)
def test_two_tokens(run, *, share="1", skip="", factor="1"):
    image = f"{factor} / (1 + (sinh(u) / cosh(v)) ** 2){skip}"  # each variable once: no box is wasted
    largest = sup(image, u=(0, 3), v=("1/8", 3))
    yield at_most(largest, float(share), part="bound")
    yield at_least(largest, 1, part="attained")
