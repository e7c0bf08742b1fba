"""What attention costs: operations counted by numbers that tally them, on the code of the suite itself."""

from collections import Counter
from fractions import Fraction

import numpy as np

from theory.attention.linear import products
from theory.engine import Form, Pairs, reference
from theory.evidence import Claim, bug, constant, equals, hypothesis, verifies

TALLY = Counter()


class Counted:
    """A number that tallies every operation on it."""

    def __init__(self, value):
        self.value = float(value)

    def _done(self, name, value):
        TALLY[name] += 1
        return Counted(value)

    def __add__(self, other):
        return self._done("additions", self.value + float(other))

    def __sub__(self, other):
        return self._done("additions", self.value - float(other))

    def __mul__(self, other):
        return self._done("multiplications", self.value * float(other))

    def __truediv__(self, other):
        return self._done("divisions", self.value / float(other))

    def exp(self):
        """Return the exponential."""
        return self._done("exponentials", np.exp(self.value))

    def log(self):
        """Return the logarithm."""
        return self._done("logarithms", np.log(self.value))

    def __ge__(self, other):
        return self.value >= float(other)

    def __float__(self):
        return self.value

    __radd__, __rmul__ = __add__, __mul__


def counts(rng, n, d):
    """Tallies of the two products of a head as NumPy takes them, and of a head and linear attention by the suite's code."""
    q, k, v = np.vectorize(Counted, otypes=[object])(rng.normal(size=(3, n, d)))
    pairs = Pairs(Form.DOT, q, k, np.array([1.0]))
    found = {}
    for part in ("products", "head", "linear"):
        TALLY.clear()
        if part == "products":
            (q @ k.T) @ v
        elif part == "head":
            reference.attention(pairs, v, np.zeros(n), np.full(n, n))
        else:
            products(q, k, v)
        found[part] = Counter(TALLY)
    return found


@verifies(
    Claim(
        "variant.cost",
        "a head takes 2 n^2 d multiplications and n^2 exponentials, linear attention 2 n d^2 multiplications",
        r"$QK^\top$ and $PV$: $2n^2d$ multiplications, $n^2(d-1) + nd(n-1)$ additions; a whole head with weighted keys has $n^2$ exponentials and divisions, and $n^2$ multiplications and $3n^2$ additions more; linear attention with $d$ features: $2nd^2$ multiplications, and $nd$ for the normaliser",
        assumptions=("as many queries as keys", "operations are counted, not timed"),
        spec=("RA.G12",),
        cites=("vaswani2017", "katharopoulos2020"),
        provenance=("seen", "derived", "refereed on paper"),
    ),
    constant("linear", "the multiplications of a head grow like the number of tokens", exponent=1),
    constant("square-dimension", "they grow like the square of the dimension", power=2),
    hypothesis("same", "linear attention takes as many as softmax attention", same=True),
    bug("no-normaliser", "linear attention is not divided by its normaliser", normaliser=0),
)
def test_cost(run, *, exponent=2, power=1, same=False, normaliser=1):
    sizes = [(7, 3), (14, 3), (5, 1), (8, 6), *run.pick(quick=[], paper=[(28, 3), (56, 3), (20, 20), (40, 10)])]
    (rng,) = run.streams(1)
    tallies = {(n, d): counts(rng, n, d) for n, d in sizes}
    for (n, d), tally in tallies.items():
        case = {"n": n, "d": d}
        pure, head, linear = tally["products"], tally["head"], tally["linear"]
        yield equals(pure["multiplications"], 2 * n**exponent * d**power, part="products", **case)
        added = n**exponent * (d**power - 1) + n * d**power * (n ** (exponent - 1) - 1)
        yield equals(pure["additions"], added, scale=n * n * d, part="products", **case)
        yield equals(head["exponentials"], n**exponent, part="head", **case)
        yield equals(head["divisions"], n**exponent, part="head", **case)
        yield equals(head["multiplications"] - pure["multiplications"], n**exponent, part="head", **case)
        yield equals(head["additions"] - pure["additions"], 3 * n**exponent, part="head", **case)
        claimed = 2 * n * n * d if same else 2 * n * d * d + normaliser * n * d
        yield equals(linear["multiplications"], claimed, part="linear", **case)
    for (n, d), tally in tallies.items():
        if (2 * n, d) in tallies:
            twice = tallies[2 * n, d]
            grows = Fraction(twice["products"]["multiplications"], tally["products"]["multiplications"])
            yield equals(grows, 2**exponent, part="doubled", n=n, d=d)
            grows = Fraction(twice["linear"]["multiplications"], tally["linear"]["multiplications"])
            yield equals(grows, 2**exponent if same else 2, part="doubled linear", n=n, d=d)
