"""A matrix of scores that is trained as one matrix, and as a product of queries and keys."""

from fractions import Fraction
from itertools import product

from theory.evidence import Claim, Interval, at_least, ball, bug, equals, hull, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable

EXAMPLES = ((0, 0), (0, 1), (1, 1))  # entries of the matrix that are to be large, one in each example
STEPS = [Fraction(k, 2) for k in range(-3, 3)]


def squared_nuclear(w):
    """The square of the sum of singular values of a matrix of two rows."""
    (a, b), (c, d) = w
    return a * a + b * b + c * c + d * d + 2 * abs(a * d - b * c)


def squared_frobenius(w):
    """The sum of squares."""
    return sum(entry * entry for row in w for entry in row)


def times(a, b):
    """The product of two matrices of two rows."""
    return [[a[i][0] * b[0][j] + a[i][1] * b[1][j] for j in range(2)] for i in range(2)]


def worth(w):
    """What the three examples are worth: the weights of the tokens to select."""
    return sum(1 / (1 + (-w[i][j]).exp()) for i, j in EXAMPLES)


def slope(at):
    """The gradient of a function of a matrix, as Taylor coefficients; the function takes rows."""

    def of(matrix):
        found = [[None, None], [None, None]]
        for i, j in product(range(2), repeat=2):
            t = variable(2).item()
            moved = [[matrix[k][m] + (t if (k, m) == (i, j) else 0 * t) for m in range(2)] for k in range(2)]
            found[i][j] = coefficient(at(moved), 1)
        return found

    return of


def factors(w):
    """Balanced factors of a matrix of positive determinant: w is the first times the second."""
    square = times(w, [[w[0][0], w[1][0]], [w[0][1], w[1][1]]])  # w w^T, of which two roots are taken
    for _ in range(2):
        root = (square[0][0] * square[1][1] - square[0][1] * square[1][0]).sqrt()
        unit = (square[0][0] + square[1][1] + 2 * root).sqrt()
        square = [[(square[i][j] + (root if i == j else 0)) / unit for j in range(2)] for i in range(2)]
    (a, b), (c, d) = square
    det = a * d - b * c
    return square, times([[d / det, -b / det], [-c / det, a / det]], w)


@verifies(
    Claim(
        "descent.product",
        "trained as one matrix scores go to the least Frobenius norm, which is no direction in which a product of two can stay; the least nuclear norm is another",
        r"$W_{11}, W_{12}, W_{22} \ge 1$: the Frobenius norm is least at $W^F = \binom{1\ 1}{0\ 1}$ only, the nuclear one at $W^* = \binom{1\ 1}{1\ 1}$ only, $\|W^F\|_* = \sqrt5 > 2 = \|W^*\|_*$; gradient ascent of $\sum\sigma(W_{ij})$ over these entries leaves $W_{21} = 0$ and the others equal; as $W = AB$ with $A^\top A = BB^\top$ it has $\dot W_{21} = \frac{2s}{\sqrt5}\sigma'(s)$ at $W = sW^F$",
        assumptions=("two tokens in an example, differences and queries on the axes", "both factors are trained"),
        spec=("FN.N12",),
        cites=("tarzanagh2023",),
        remark="that the product goes to the least nuclear norm is not decided here; that it leaves the direction of one matrix is",
        source_status=("recalled", "derived"),
    ),
    hypothesis("nuclear-for-one", "one matrix goes to the least nuclear norm", one=True),
    hypothesis("frobenius-for-both", "a product stays in the direction of the least Frobenius norm", stays=True),
    bug("no-third", "the example off the diagonal is left out", corner=False),
    hypothesis("same-least", "the least Frobenius norm has the least nuclear norm", same=True),
)
def test_product(run, *, one=False, stays=False, corner=True, same=False):
    flat = [[Fraction(1), Fraction(1)], [Fraction(0), Fraction(1)]]
    full = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]]
    apart = Fraction(1, 16)
    for steps in product(STEPS, repeat=4):
        w = [[1 + steps[0], 1 + steps[1]], [1 + steps[2], 1 + steps[3]]]
        if min(steps[0], steps[3]) < 0 or (corner and steps[1] < 0):
            continue
        far = apart if w != flat else Fraction(0)
        yield at_least(Interval.exactly(squared_frobenius(w)), 3 + far, part="frobenius")
        far = apart if w != full else Fraction(0)
        yield at_least(Interval.exactly(squared_nuclear(w)), 4 + far, part="nuclear")
    yield equals(Interval.exactly(squared_nuclear(flat)), 4 if same else 5, part="apart")
    for s in run.pick(quick=(Fraction(1, 2), 2, 8), paper=(Fraction(1, 8), Fraction(1, 2), 1, 2, 4, 8, 16)):
        w = [[ball(s) * ball(entry) for entry in row] for row in flat]
        moved = slope(worth)(w)
        speed = hull(moved[0][0])
        kept = moved[1][0] - (moved[0][0] if one else 0)
        yield equals(hull(kept), 0, scale=speed, part="one matrix", size=float(s))
        for i, j in EXAMPLES:
            yield equals(hull(moved[i][j]), speed, part="one matrix", size=float(s))
        a, b = factors(w)
        to_a = slope(lambda first, b=b: worth(times(first, b)))(a)
        to_b = slope(lambda second, a=a: worth(times(a, second)))(b)
        left, right = times(to_a, b), times(a, to_b)
        leaves = 0 if stays else 2 * ball(s) / ball(5).sqrt() * ball(s).exp() / (1 + ball(s).exp()) ** 2
        yield equals(hull(left[1][0] + right[1][0]), hull(ball(leaves)), scale=speed, part="product", size=float(s))
