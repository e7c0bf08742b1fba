"""Distance attention in several heads with tied queries and keys: the published constants, and how far they are from sharp."""

import numpy as np

from theory.attention import DotProduct, Measure, SquaredDistance, attend
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, exact, hull, hypothesis, verifies
from theory.evidence.once import once
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import block_jacobian, displacement_ratio
from theory.lipschitz.constants import column_constant, distance_constant, tied_constants
from verify.textbook.lambert import FAR, FIRST, SCORE, bound, dyadic, moves, near, pushed_apart

ONE = np.ones((1, 1))
NORMS = {np.inf: "largest entry", 2.0: "Euclidean"}
SIZES = ((0, 0, 0), (-40, 40, -40), (40, -40, 40), (0, 3, 0))  # binary logarithms: tokens, queries, values
ratio_of, norm_of, constants_of = once(displacement_ratio), once(spectral_norm), once(tied_constants)


@once
def headed(x, queries, values, output, *, dot=False):
    """Outputs of heads of width 1 or 4; dyadic tokens and matrices make all else exact."""
    width = queries[0].shape[1]
    total = 0.0
    scale = width**-0.5
    score = DotProduct(scale) if dot else SquaredDistance(scale)
    for h, (w, v) in enumerate(zip(queries, values, strict=True)):
        looked_up = x @ (w @ w.T * scale) @ v @ output[h * width : (h + 1) * width]
        total = total + attend(exact(x @ w), exact(x @ w), looked_up, score=score)
    return total


def claimed_constants(n, queries, values, output, *, slope, transposed, degree):
    """The two constants, as intervals."""
    s = np.sqrt(exact(queries[0].shape[1]))
    c = slope * hull(near(n))
    heads = max(np.abs(w).sum(axis=1).max() * np.abs(w).sum(axis=0).max() for w in queries)
    heads *= max(np.abs(v).sum(axis=0).max() for v in values)  # sums of dyadic numbers are exact
    largest = (c + 1 / s) * float(np.abs(output).sum(axis=0 if transposed else 1).max()) * float(heads)
    squares = sum((norm_of(w) ** degree * norm_of(v)) ** 2 for w, v in zip(queries, values, strict=True))
    euclidean = np.sqrt(exact(n)) / s * (c + 1) * np.sqrt(squares) * norm_of(output)
    return {np.inf: largest, 2.0: euclidean}


def shifted(size):
    """Two tokens on the line that move together, by half their distance, and one head whose queries have this size."""
    x = np.array([[0.0], [1.0]]) / size  # they hear each other
    return x, x + 0.5 / size, [size * ONE], [ONE], ONE


def drawn(rng):
    """Dyadic matrices of one or two heads of width one or four."""
    dim, heads = [(1, 1), (2, 2), (4, 1), (8, 2)][int(rng.integers(4))]
    shape = (dim, dim // heads)
    queries, values = ([dyadic(rng.normal(size=shape), 2) for _ in range(heads)] for _ in range(2))
    return queries, values, dyadic(rng.normal(size=(dim, dim)), 2)


@verifies(
    Claim(
        "distance-attention.heads",
        "multi-head distance attention with tied queries and keys is Lipschitz in the largest entry and in the Euclidean norm, of degree two in the queries' matrices",
        r"$\mathrm{Lip}_\infty \le \big(4c_N + \frac1{\sqrt{D/H}}\big)\|W^{O\top}\|_\infty\max_h\|W^{Q,h}\|_\infty\|W^{Q,h\top}\|_\infty\max_h\|W^{V,h\top}\|_\infty$, $\mathrm{Lip}_2 \le \frac{\sqrt N}{\sqrt{D/H}}(4c_N + 1)\big(\sum_h\|W^{Q,h}\|_2^4\|W^{V,h}\|_2^2\big)^{1/2}\|W^O\|_2$; with $\|W^{Q,h}\|_2^2$ under the root it fails for $D = H = 1$, $N = 2$: both tokens moved together move by $16$, not $11.96$, times as much at $W^Q = 4$, by $100$, not $29.9$, at $W^Q = 10$",
        assumptions=(r"$W^K = W^Q$", r"heads $P^hXA_hW^{V,h}$ with $A_h = W^{Q,h}W^{Q,h\top}/\sqrt{D/H}$"),
        spec=("MA.R9", "FR.F05"),
        cites=("kim2021",),
        source_status=("derived", "recalled"),
    ),
    constant("two", "the factor is two, not four", slope=2),
    constant("degree", "the norms of the queries' matrices are squared under the root, not their squares", degree=1),
    bug("transposed", "the largest row sum of the output matrix stands for its largest column sum", transposed=False),
    hypothesis("dot", "the scores are dot products", dot=True),
)
def test_heads(run, *, slope=4, degree=2, transposed=True, dot=False):
    _, x, y = pushed_apart(101)
    sides = [np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])]
    both = np.array([[1.0, 0.0], [1.0, 0.0]])
    cases = [("one head", x, y, [ONE], [ONE], ONE), ("far", FAR, FAR + FIRST, [ONE], [ONE], ONE)]
    x, y = dyadic(x, 24), dyadic(y, 24)
    cases.append(("equal heads", np.hstack([x, x]), np.hstack([y, y]), sides, sides, both))
    for number, rng in enumerate(run.draws(quick=12, paper=250)):
        matrices = drawn(rng)
        n = int(rng.integers(2, 16))
        d = matrices[2].shape[0]
        tokens, *sizes = (2.0**power for power in SIZES[number % len(SIZES)])
        scaled = [[size * w for w in each] for size, each in zip(sizes, matrices, strict=False)]
        for name, x, y in moves(rng, n, d):
            cases.append((name, tokens * dyadic(x, 20), tokens * dyadic(y, 20), *scaled, matrices[2]))
    cases += [("together", *shifted(size)) for size in (4.0, 10.0, 2.0**-40, 2.0**40)]
    for name, x, y, queries, values, output in cases:
        images = [headed(z, queries, values, output, dot=dot).reshape(-1, 1) for z in (x, y)]
        entries = [z.reshape(-1, 1) for z in (x, y)]
        matrices = (queries, values, output)
        case = {"n": len(x), "heads": len(queries), "input": name}
        claimed = claimed_constants(len(x), *matrices, slope=slope, transposed=transposed, degree=degree)
        for (p, most), computed in zip(claimed.items(), constants_of(exact(len(x)), *matrices), strict=True):
            ratio = ratio_of(*entries, images, p)
            if most.lo > 0.0:
                yield at_most(ratio, most, **case, part=NORMS[p])
                yield equals(computed, most, **case, p=p, part="instrument")
            if name == "together":
                yield equals(ratio, exact(queries[0][0, 0]) ** 2, **case, p=p, part="moved together")
    for size, digits in ((4.0, "11.958"), (10.0, "29.894")):
        least = claimed_constants(2, *shifted(size)[2:], slope=slope, transposed=True, degree=degree - 1)[2.0]
        yield equals(least, Interval.printed(digits), size=size, part="as recalled, printed")


@verifies(
    Claim(
        "distance-attention.euclidean",
        "at the two-sided star of 64 tokens the Euclidean norm of the Jacobian is far below its bounds; that of dot products grows like the square",
        r"$\|J\|_2 = 4.94$ at $x = (0, \pm\sqrt{c_N + 1})$, $N = 64$, against $\sqrt N(1 + 4c_N) = 81.8$ and $\sqrt{K_1(1 + 4c_N)} = 35.8$; dot products at $(0, R, -R)$: $\|J\|_2/R^2 = 0.670$, $0.66670$ at $R = 10$, $100$",
        assumptions=(r"$\beta = 1$, $d = 1$",),
        spec=("FR.F05", "MA.R4"),
        cites=("kim2021",),
        source_status=("derived",),
    ),
    constant("third", "the norm for dot products grows like R^2 / 3", share=0.5),
    bug("far", "the star has its crowds at twice the distance", stretch=2.0),
    hypothesis("distance", "the scores at (0, R, -R) are distances", score=SCORE),
    constant("two", "the factor in the bounds is two, not four", slope=2),
)
def test_euclidean(run, *, share=1.0, stretch=1.0, score=None, slope=4):
    _, star, _ = pushed_apart(64)
    size = spectral_norm(block_jacobian(Measure(stretch * star), SCORE)[:, :, 0, 0])
    yield equals(size, Interval.printed("4.94"), n=64, part="printed")
    rows = distance_constant(exact(64))
    column = column_constant(exact(64))
    yield equals(rows, bound(64, slope=slope), n=64, part="bounds")
    for value, digits in ((8 * bound(64, slope=slope), "81.8"), (np.sqrt(column * bound(64, slope=slope)), "35.8")):
        yield equals(value, Interval.printed(digits), n=64, part="bounds")
    for reach, digits in ((10.0, "0.670"), (100.0, "0.66670")):
        jacobian = block_jacobian(Measure([[0.0], [reach], [-reach]]), score or DotProduct(1.0))[:, :, 0, 0]
        measured = spectral_norm(jacobian) / exact(reach) ** 2
        yield equals(measured, share * Interval.printed(digits), reach=reach, part="dot products")
