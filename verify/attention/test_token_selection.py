"""Which direction selects tokens in the end: of a query with differences at any angle, and of a product of two matrices."""

from fractions import Fraction
from itertools import product

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.maxent.studies import factors, selecting

F = Fraction
QUERIES = {  # rational
    name: (tuple(tuple(map(F, d)) for d in differences), tuple(map(F, worths)))
    for name, (differences, worths) in selecting.QUERIES.items()
}
LEAST_SUM = {
    "acute": (F(3, 5), F(4, 5)),
    "obtuse": (F(6, 5), F(8, 5)),
    "steep": (F(0), F(52, 43)),
}  # of sizes of entries


def dot(one, other):
    """The inner product."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def separating(name):
    """The statement: the shortest p with <p, d> >= 1, its multipliers, and the exponent, for the first two differences."""
    (a, b), (c, d) = QUERIES[name][0][:2]
    det = a * d - b * c
    p = ((d - b) / det, (a - c) / det)
    multipliers = ((d * p[0] - c * p[1]) / det, (a * p[1] - b * p[0]) / det)
    assert min(multipliers) > 0
    assert all(dot(p, other) > 1 for other in QUERIES[name][0][2:])
    return p, multipliers, multipliers[0] * (a * a + b * b) + multipliers[1] * (c * c + d * d) - 1


def mean_token(name):
    """The mean difference, as long as is needed to separate."""
    differences = QUERIES[name][0]
    mean = [sum(d[k] for d in differences) / len(differences) for k in (0, 1)]
    return [x / min(dot(mean, d) for d in differences) for x in mean]


@verifies(
    Claim(
        "descent.oblique",
        "gradient ascent on a query tends to the largest margin at any angle of the tokens: it follows the separating query times log t, at a distance that worths decide",
        r"$\dot p = \nabla\sum_ic_i\sigma(\langle p, d_i\rangle)$, $p(0) = 0$, in the plane: $\hat p = \alpha_1d_1 + \alpha_2d_2$ the shortest $p$ with all $\langle p, d_i\rangle \ge 1$, $\alpha_i > 0$, $\tilde p$ with $\langle\tilde p, d_i\rangle = \log\frac{c_i}{\alpha_i}$ for $i = 1, 2$, $\kappa = \alpha_1|d_1|^2 + \alpha_2|d_2|^2 - 1$: $p - \hat p\log t \to \tilde p$, like $t^{-\kappa}$ if $\kappa < 1$, and if $\kappa > 1$ like $-2(\frac{\alpha_1^2}{c_1} + \frac{\alpha_2^2}{c_2})\frac{\hat p}{|\hat p|^2}\frac{\log t}t$; so $|p|/\log t \to |\hat p|$, one over the margin",
        assumptions=(
            "one query, two tokens in each example; all gaps are positive from some time on",
            r"$d_1, d_2$ independent, for the others $\langle\hat p, d_i\rangle > 1 + \min(\kappa, 1)$",
            r"judged on three instances up to $t = 10^{12}$: with $\kappa < 1$ the distance is $\frac13t^{-\kappa}$ to $2t^{-\kappa}$, with $\kappa > 1$ at most $\frac3{2t}$ from the stated one",
        ),
        spec=("FN.N12",),
        cites=("tarzanagh2023", "soudry2018"),
        source_status=("seen", "derived"),
    ),
    hypothesis("mean-token", "the direction is that of the mean difference", direction=mean_token),
    hypothesis("least-sum", "the limit has the least sum of sizes of entries", direction=LEAST_SUM.get),
    constant("no-worth", "the distance from the direction does not know worths", distance=False),
    constant("faster", "the exponent is one eighth larger", more=F(1, 8)),
    constant("slower", "the exponent is one eighth less", more=F(-1, 8)),
    constant("no-resonance", "the distance is of order 1/t for a large exponent", resonant=0),
    bug("other-token", "the other token is selected", sign=-1),
)
def test_oblique(run, *, direction=None, distance=True, more=0, resonant=1, sign=1):
    learned = run.study(selecting.selecting)
    for name, (differences, worths) in QUERIES.items():
        separates, multipliers, power = separating(name)
        heading = separates if direction is None else direction(name)
        logs = [
            (ball(c) / ball(a) if distance else ball(1)).log() for c, a in zip(worths[:2], multipliers, strict=True)
        ]
        (a, b), (c, d) = differences[:2]
        det = ball(a * d - b * c)
        offset = [(ball(d) * logs[0] - ball(b) * logs[1]) / det, (ball(a) * logs[1] - ball(c) * logs[0]) / det]
        table = learned.where(query=name)
        for exponent, x, y in zip(table["exponent"].tolist(), table["x"], table["y"], strict=True):
            case = {"query": name, "time": exponent}
            p = [ball(z.lo).union(ball(z.hi)) for z in (sign * x, sign * y)]
            time = exponent * ball(10).log()
            for d in differences:
                yield at_least(hull(dot(p, [ball(x) for x in d])), 0, scale=1, part="distance", **case)
            left = [x - ball(y) * time - z for x, y, z in zip(p, heading, offset, strict=True)]
            if power < 1:
                away, shrinks = hull(dot(left, left).sqrt()), (-ball(power + more) * time).exp()
                yield at_most(away, hull(2 * shrinks), part="distance", **case)
                yield at_least(away, hull(shrinks / 3), part="distance", **case)
            else:
                share = (
                    2 * sum(x * x / F(c) for x, c in zip(multipliers, worths, strict=True)) / dot(separates, separates)
                )
                stated = [resonant * ball(share * x) * time for x in separates]
                rest = [(time.exp() * x + y) for x, y in zip(left, stated, strict=True)]
                yield at_most(hull(dot(rest, rest).sqrt()), 1.5, part="distance", **case)
            off = abs(dot(p, p).sqrt() - ball(dot(heading, heading)).sqrt() * time) / time
            yield at_most(hull(off), hull((dot(offset, offset).sqrt() + 2) / time), part="length", **case)


@verifies(
    Claim(
        "descent.nuclear",
        "trained as a product of two matrices scores tend to the direction of the least nuclear norm, and as one matrix do not; what is left of the second singular value grows or falls as a root",
        r"$W_{11}, W_{12}, 2W_{22} \ge 1$: the nuclear norm is least at $W^* = \binom{1\ 1}{\frac12\ \frac12}$ only, where it is $\sqrt{5/2}$. For $W = AB$, both trained by gradient ascent of $\sigma(W_{11}) + \sigma(W_{12}) + \sigma(2W_{22})$ from $A = \frac1{10}\mathrm{diag}(1, \pm1)$, $B = \frac1{10}I$: $W/W_{11} \to W^*$, and the second singular value is of the order $W_{11}^{\pm1/2}$; if $W$ is trained itself from there, $W_{21} = 0$ stays, and $\|W\|_*/\min(W_{11}, W_{12}, 2W_{22}) \to \frac{\sqrt{13}}2$, which is the nuclear norm at the least Frobenius norm",
        assumptions=("curves by Runge-Kutta, limits from first entries that double up to 2048",),
        spec=("FN.N12",),
        cites=("tarzanagh2023", "tarzanaghsvm2023", "sheen2024"),
        remark="where both factors start with a positive determinant the error falls like a root only",
        source_status=("seen", "derived"),
    ),
    hypothesis("one-matrix", "the matrix of scores is trained itself", one=True),
    constant("frobenius", "the direction is that of the least Frobenius norm", corner=0.0),
    constant("same-norm", "one matrix tends to the least nuclear norm as well", alike=True),
    constant("linear", "the second singular value grows or falls like the first", power=1.0),
    bug("third-as-long", "the third difference is taken as long as the others", third=1.0),
)
def test_nuclear(run, *, one=False, corner=0.5, alike=False, power=0.5, third=2.0):
    least = F(5, 2) if corner else F(13, 4)  # squared
    for a, b, c, d in product([F(k, 2) for k in range(-2, 5)], repeat=4):
        if min(a, b, 2 * d) >= 1:
            square = a * a + b * b + c * c + d * d + 2 * abs(a * d - b * c)
            far = F(0) if (a, b, c, d) == (1, 1, F(1, 2), F(1, 2)) else F(1, 16)
            yield at_least(Interval.exactly(square), Interval.exactly(least + far), part="least")
    table = run.study(factors.factors, **({} if third == factors.LENGTH else {"third": third}))
    first = run.pick(quick=5, paper=4)
    for name in factors.STARTS:
        side = 1.0 if name == "together" else -1.0
        rows, alone = (
            table.where(trained=trained, start=name) for trained in ("one matrix" if one else "product", "one matrix")
        )
        late = [k for k, exponent in enumerate(rows["exponent"]) if first <= exponent <= run.pick(quick=10, paper=11)]

        def levels(column, rows=rows, late=late):
            return [rows[column][k] for k in late]

        leading = 0.5 if name == "together" else 1.0
        for k, column, entry in (((0, 1), "beside", 1.0), ((1, 0), "corner", corner), ((1, 1), "last", 0.5)):
            found = limit(levels(column), order=leading if column == "corner" else 1.0)
            yield equals(found, entry, scale=1, part="direction", start=name, entry=str(k))
        norm = limit(levels("norm"), order=leading)
        yield equals(norm, hull(ball(least).sqrt()), part="norm", start=name)
        yield equals(order(levels("second")), -side * power, scale=1, part="second", start=name)
        for k in late:
            yield equals(alone["corner"][k], 0, scale=1, part="one matrix", start=name)
        norm = limit(levels("norm", alone), order=1.0)
        yield equals(norm, hull(ball(F(5, 2) if alike else F(13, 4)).sqrt()), part="one matrix", start=name)
