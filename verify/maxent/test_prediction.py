"""Attention weights as a summary that a prediction model learns: what the choice of the map does on held-out digits.

No theorem: a measurement on one set of data, over random splits and starts. It is here because what is said of these
maps in general is said of trained models.
"""

from theory.evidence import Claim, at_least, at_most, bug, constant, run_mean, verifies
from theory.maxent import studies

FIRST = ("bahdanau2014",)


@verifies(
    Claim(
        "prediction.attention",
        "on held-out digits, learned weights beat the plain mean of the rows by at least three points",
        r"$\mathbb E[\mathrm{accuracy}(\mathrm{softmax}) - \mathrm{accuracy}(\mathrm{mean})] \ge 0.03$ over splits and starts",
        assumptions=("scikit-learn's digits, 200 for training", "four heads of width 8", "60 iterations of L-BFGS"),
        cites=FIRST,
        provenance=("derived",),
    ),
    constant("fifteen", "they beat it by at least fifteen points", least=0.15),
    bug("shuffled", "the predictions are compared with the labels of other examples", column="shuffled"),
)
def test_learned_weights(run, *, least=0.03, column="accuracy"):
    # differences spread by 0.02 and the twin is 0.12 off: n >= (3 (5.4 + 2.4) 0.02 / 0.12)^2 = 16 splits have the power
    table = run.study(studies.prediction)
    mean, learned = table.where(map="uniform"), table.where(map="softmax")
    yield at_least(run_mean(learned[column] - mean[column]), least, scale=1, splits=len(mean))


@verifies(
    Claim(
        "prediction.sparse",
        "on held-out digits, sparse maps lose at most five points to softmax and look at half of the rows or fewer",
        r"$\mathbb E[\mathrm{accuracy}(\mathrm{softmax}) - \mathrm{accuracy}] \le 0.05$ for entmax 1.5, sparsemax, fusedmax, with at most 4, 3, 3 of 8 rows in the support",
        assumptions=("scikit-learn's digits, 200 for training", "four heads of width 8", "60 iterations of L-BFGS"),
        cites=("bahdanau2014", "niculae2017"),
        provenance=("derived",),
    ),
    constant("gain", "they gain at least five points", most=-0.05),
    constant("two-rows", "they look at half as many rows", half=0.5),
    bug("shuffled", "the predictions are compared with the labels of other examples", column="shuffled"),
)
def test_sparse_weights(run, *, most=0.05, half=1.0, column="accuracy"):
    # differences spread by 0.022 and the twin is 0.1 off: n >= (3 (5.7 + 2.4) 0.022 / 0.1)^2 = 29 splits have the power,
    # fewer than the 32 and 48 there are
    table = run.study(studies.prediction)
    softmax = table.where(map="softmax")
    for name, rows in (("entmax15", 4), ("sparsemax", 3), ("fusedmax", 3)):
        found = table.where(map=name)
        if len(found):  # fusedmax is trained at paper scale
            lost = run_mean(softmax["accuracy"] - found[column], among=6)
            yield at_most(lost, most, scale=1, part="accuracy", map=name, splits=len(found))
            yield at_most(run_mean(found["rows"], among=6), half * rows, scale=8, part="rows", map=name)
