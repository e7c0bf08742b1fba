"""Operator norms of the Jacobian of softmax: closed forms, where their suprema are attained, and where only approached."""

from itertools import product

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_most,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    verifies,
)
from theory.maxent import studies
from theory.maxent.gibbs import softmax_jacobian

ROOT = Interval.exactly(2).sqrt()
SUPREMA = {
    "two_two": Interval.exactly(0.5), "inf_inf": Interval.exactly(0.5), "one_one": Interval.exactly(0.5),
    "one_inf": Interval.exactly(0.25), "inf_one": Interval.exactly(1.0),
    "one_two": ROOT / 4, "two_inf": ROOT / 4, "two_one": ROOT / 2, "inf_two": ROOT / 2,
}  # fmt: skip
INTERIOR = ("inf_inf", "one_one", "one_inf", "inf_one")  # attained inside the simplex whatever the number of scores
EDGE = tuple(name for name in SUPREMA if name not in INTERIOR)


def printed(law, *, largest_set=None):
    """Return the closed forms as they are printed, in balls; sets of up to ``largest_set`` entries only."""
    p = balls(law) / balls(law).sum()
    q = 1 - p
    squares = (p * p).sum()
    columns = [a * (b * b + squares - a * a).sqrt() for a, b in zip(p, q, strict=True)]
    sets = [np.array(s, dtype=bool) for s in product((False, True), repeat=law.size)]
    sets = [s for s in sets if s.any() and s.sum() <= (largest_set or law.size)]
    halves = [
        2 * ((p[~s].sum() ** 2) * (p[s] ** 2).sum() + (p[s].sum() ** 2) * (p[~s] ** 2).sum()).sqrt()
        for s in sets
        if not s.all()
    ]
    cuts = [4 * p[s].sum() * p[~s].sum() for s in sets if not s.all()]
    rows, entries = list(2 * p * q), list(p * q)
    named = {"inf_inf": rows, "one_one": rows, "one_inf": entries, "inf_one": cuts}
    named |= {"one_two": columns, "two_inf": columns, "two_one": halves, "inf_two": halves}
    return {name: Interval.largest(hull(value) for value in values) for name, values in named.items()}


def stretched(matrix, r):
    """Enclose how much some vector is stretched in the r-norm: what forty steps of the power method find."""
    x = np.arange(1.0, 1.0 + matrix.shape[0]) - 1.3
    for _ in range(40):
        y = matrix.mid @ x
        dual = matrix.mid.T @ (np.sign(y) * np.abs(y) ** (r - 1.0))
        x = np.sign(dual) * np.abs(dual) ** (1.0 / (r - 1.0))
        x = x / np.abs(x).max()
    longer, shorter = ((abs(v) ** r).sum() for v in (matrix @ x, exact(x)))
    return np.power(longer / shorter, 1.0 / r)


@verifies(
    Claim(
        "softmax.norms",
        "the operator norms of the Jacobian at a law have closed forms, and one bound serves all equal exponents",
        r"$\|J\|_{\infty\infty} = 2\max p_iq_i$, $\|J\|_{1\infty} = \max p_iq_i$, $\|J\|_{\infty 1} = \max_S 4PQ$, $\|J\|_{12} = \max p_j\sqrt{q_j^2 + \sum_{i \ne j}p_i^2}$, $\|J\|_{\infty 2} = \max_S 2\sqrt{Q^2\sum_Sp^2 + P^2\sum_{S^c}p^2}$, with $q = 1 - p$, $P = p(S)$, $Q = 1 - P$, equal to those of the dual spaces; $\|J\|_{rr} \le 2\max p_iq_i$, with equality at $p = (\frac12, \frac12)$",
        assumptions=("temperature one", r"$r = \frac32$ and $3$: for the vectors that a power method finds"),
        spec=("RA.B7",),
        cites=("gao2017", "nair2025"),
        source_status=("derived", "refereed"),
    ),
    constant("half", "the Euclidean norm is at most max p (1 - p)", row=1.0),
    bug("singletons", "only sets of one score are tried", largest_set=1),
    hypothesis("unnormalised", "the weights sum to 0.9", mass=0.9),
)
def test_norms(run, *, row=2.0, largest_set=None, mass=1.0):
    laws = [np.array([0.5, 0.5]), np.full(4, 0.25), np.array([0.5, 0.499, 0.001]), np.array([1.0 - 2.0**-40, 2.0**-40])]
    laws += [rng.dirichlet(np.ones(int(rng.integers(2, 7)))) for rng in run.draws(quick=10, paper=150)]
    for law in laws:
        n = law.size
        claimed = printed(law, largest_set=largest_set)
        for name, both in studies.norms_of(law).items():
            for way, measured in zip(("extreme", "closed"), both, strict=True):
                if name == "two_two":
                    bound = row * claimed["one_inf"]
                    yield at_most(measured, bound, scale=1, part=name, way=way, n=n)
                else:
                    yield equals(mass * measured, claimed[name], scale=1, part=name, way=way, n=n)
        jacobian = softmax_jacobian(exact(law))
        for r in (1.5, 3.0):
            reached = stretched(jacobian, r)
            yield at_most(reached, row * claimed["one_inf"], scale=1, part=f"{r:g} to {r:g}", n=n)
            if law is laws[0]:  # two equal scores, of which the difference is halved in every norm
                yield equals(mass * reached, 0.5, part=f"{r:g} to {r:g}, attained", n=n)


@verifies(
    Claim(
        "softmax.norms-attained",
        "no operator norm of the Jacobian exceeds its supremum, which is attained as stated",
        r"$n = 2$: all nine suprema at $p = u$; any $n \ge 2$: those of $\ell_\infty \to \ell_\infty$, $\ell_1 \to \ell_1$, $\ell_1 \to \ell_\infty$ at $p_i = \frac12$, of $\ell_\infty \to \ell_1$ at $p(S) = \frac12$, inside the simplex",
        assumptions=("temperature one", "up to 16 scores: the norms go through all sets of them"),
        spec=("RA.B7",),
        cites=("gao2017", "maeda2025", "nair2025"),
        source_status=("derived", "refereed"),
    ),
    constant("quarter", "the Euclidean supremum is 1/4", changed=("two_two", 0.25)),
    constant("near", "the suprema are two per cent smaller", factor=0.98),
    bug("dual", "the norms of the dual spaces are exchanged", changed=("one_two", 2**-0.5)),
    hypothesis(
        "euclidean", "the Euclidean supremum is attained inside the simplex over three scores", inner=("two_two",)
    ),
)
def test_attained(run, *, changed=(), factor=1.0, inner=()):
    suprema = {name: factor * value for name, value in SUPREMA.items()}
    suprema |= {changed[0]: Interval.exactly(changed[1])} if changed else {}
    table = run.study(studies.operator_norms)
    columns = (table["n"].tolist(), table["weight"].tolist(), table["norm"].tolist())
    for n, weight, name, *both in zip(*columns, table.intervals("extreme"), table.intervals("closed"), strict=True):
        for measured in both:
            yield at_most(measured, suprema[name], n=n, weight=weight, part=name)
            if (n == 2 and weight == 0.5) or (n == 3 and name in (*INTERIOR, *inner)):
                yield equals(measured, suprema[name], n=n, weight=weight, part=f"{name}, attained")
    sizes = [15] + [0] * run.pick(quick=10, paper=100)
    for size, rng in zip(sizes, run.streams(len(sizes)), strict=True):
        law = rng.dirichlet(np.full(size or int(rng.integers(2, 7)), 0.3))
        for name, (measured, _) in studies.norms_of(law).items():
            yield at_most(measured, suprema[name], n=law.size, part=name)
        for name, both in studies.norms_of(np.append(0.5, law / 2.0)).items():
            for measured in both if name in INTERIOR else ():
                yield equals(measured, suprema[name], n=law.size + 1, part=f"{name}, attained")


@verifies(
    Claim(
        "softmax.norms-limit",
        "over three scores the suprema of norms that involve the Euclidean one are limits, and are missed by every such law",
        r"$p = (\frac12, \frac12 - \epsilon, \epsilon)$, $\epsilon \to 0$: $\|J\|_{22} \to \frac12$, $\|J\|_{12}, \|J\|_{2\infty} \to \frac{\sqrt2}4$, $\|J\|_{\infty 2}, \|J\|_{21} \to \frac1{\sqrt2}$, each missed by at least $\epsilon/4$ of itself for $\epsilon \le \frac14$; $\lambda_1 = \frac{1 - \epsilon}2$ at $(\frac{1 - \epsilon}2, \frac{1 - \epsilon}2, \epsilon)$ for $\epsilon \le \frac13$",
        assumptions=("three scores", "temperature one"),
        spec=("RA.B7",),
        cites=("gao2017", "nair2025"),
        source_status=("derived", "refereed"),
    ),
    constant("near", "the limits are two per cent smaller", factor=0.98),
    constant("rate", "each is missed by twice epsilon of itself", rate=2.0),
    hypothesis("balanced", "the two large weights stay 1/2 and 0.4", balanced=False),
    hypothesis("heavy", "epsilon is 0.4, no light weight", largest=0.4),
)
def test_limit(run, *, factor=1.0, rate=0.25, balanced=True, largest=0.25):
    table = run.study(studies.operator_norms).where(n=3)
    for name in EDGE:
        rows = table.where(norm=name)
        values = rows.intervals("extreme")
        if not balanced:
            values = [studies.norms_of(np.array([0.5, 0.4 - w, 0.1 + w]))[name][0] for w in rows["weight"].tolist()]
        yield equals(limit(values, order=1), factor * SUPREMA[name], part=name)
        for weight, value in zip(rows["weight"].tolist(), values, strict=True):
            bound = SUPREMA[name] * (1.0 - rate * weight)
            yield at_most(value, bound, weight=weight, part=f"{name}, missed")
        value = studies.norms_of(np.array([0.5, 0.5 - largest, largest]))[name][0]
        yield at_most(value, SUPREMA[name] * (1.0 - rate * largest), weight=largest, part=f"{name}, missed")
    for digits, small in (("0.4950", 1e-2), ("0.49995", 1e-4), ("0.4999995", 1e-6), (None, 0.8 * largest), (None, 0.3)):
        law = np.array([(1.0 - small) / 2, (1.0 - small) / 2, small])
        norm = studies.norms_of(law / law.sum())["two_two"][1]
        for claimed in (*([Interval.printed(digits)] if digits else []), (1.0 - Interval.exactly(small)) / 2):
            yield equals(norm, factor * claimed, weight=small, part="eigenvalue")
