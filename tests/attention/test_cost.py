"""What attention costs: operations counted by numbers that tally them, on the code of the suite itself."""

from collections import Counter

import numpy as np
import pytest

from theory.attention.variants.linear import products
from theory.engine import Form, Pairs, reference
from theory.evidence import stream

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
    """Tallies of the two products of a head by NumPy, and of a head and linear attention by the code of the suite."""
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


SIZES = [(7, 3), (14, 3), (5, 1), (8, 6)]  # tokens and dimensions


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_operations(n, d):
    """A head takes 2 n^2 d multiplications and n^2 exponentials, linear attention 2 n d^2 multiplications."""
    tally = counts(stream("tests.cost", n), n, d)
    pure, head, linear = tally["products"], tally["head"], tally["linear"]
    assert pure == {"multiplications": 2 * n * n * d, "additions": n * n * (d - 1) + n * d * (n - 1)}
    assert head["exponentials"] == head["divisions"] == n * n  # with weighted keys, as they always are here
    assert head["multiplications"] == pure["multiplications"] + n * n
    assert head["additions"] == pure["additions"] + 3 * n * n
    assert linear["multiplications"] == 2 * n * d * d + n * d  # the normaliser
