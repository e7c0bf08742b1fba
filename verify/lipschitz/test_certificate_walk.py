"""Layers of trained transformers: what is certified of them, for all tokens and for those that reach them."""

from theory.evidence import Claim, at_most, bug, constant, hypothesis, verifies
from theory.experiments import studies


@verifies(
    Claim(
        "certificate.walk",
        "in trained layers what a search finds is below the certified constants, and at their tokens the derivative stretches by less",
        r"four layers of attention of transformers that were trained here, the mean, the largest and the root of the squared displacements: what is found in the ball that the normalisation leaves is at most the constant there; the norm of the derivative at the tokens of a set is at most that constant as well; what a displacement within the reach of these tokens is stretched by is at most the bound there",
        assumptions=("two moons and images of digits, two blocks each", "no residual connection, no bias"),
        spec=("MA.L7", "MA.K3"),
        cites=(),
        source_status=("derived",),
        remark="Constants are found by theorems, stretches by search and by the formula of the layer in enclosures. Where the weights of a layer are nearly uniform, constants are attained to a tenth; in the first layer on two moons they are up to seven times what is found.",
    ),
    constant("six-tenths", "constants and bounds are six tenths as large", factor=0.6),
    hypothesis("outside", "the constant is that of tokens half as long", share=0.5),
    bug("one-for-all", "every layer has the constants of the last", last=True),
)
def test_walk(run, *, factor=1.0, share=1.0, last=False):
    table = run.study(studies.walked_layers)
    for metric in ("mean", "max", "frobenius"):
        balls = list(table.where(metric=metric, share=share).intervals("ball"))
        part = table.where(metric=metric, share=1.0)
        reached, norms, bounds, moved = (list(part.intervals(name)) for name in ("found", "norm", "bound", "moved"))
        for k, layer in enumerate(part["layer"]):
            at = -1 if last else k
            case = {"layer": str(layer), "metric": metric, "n": int(part["n"][k])}
            yield at_most(reached[k], factor * balls[at], part=f"{metric}, ball", **case)
            yield at_most(norms[k], factor * balls[at], part=f"{metric}, tokens in the ball", **case)
            yield at_most(moved[k], factor * bounds[at], part=f"{metric}, reach", **case)
