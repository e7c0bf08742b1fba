"""Gaussian laws in ball arithmetic, and how far finitely many tokens that stand for one may be off."""

import math

import numpy as np
from scipy.special import gammainc, ndtr

from theory.attention import SquaredDistance, attend, lattice, rounding
from theory.evidence.roundoff import gamma
from theory.particles import hermite
from verify.textbook import balls

POSITIONS = 8  # roundings of a token's coordinate beyond its products: mean, sum and the masses that carry it


def inverse(matrix):
    """The inverse of a square array of balls, by elimination with the largest pivots."""
    n = len(matrix)
    rows = np.concatenate([matrix, balls(np.eye(n))], axis=1)
    for k in range(n):
        best = max(range(k, n), key=lambda r: abs(float(rows[r, k].mid())))
        rows[[k, best]] = rows[[best, k]]
        rows[k] = rows[k] / rows[k, k]
        for r in range(n):
            if r != k:
                rows[r] = rows[r] - rows[r, k] * rows[k]
    return rows[:, n:]


def eigenvalues(matrix):
    """The two eigenvalues of a 2 x 2 array of balls, the larger first, if they are real."""
    (a, b), (c, d) = matrix
    half, root = (a + d) / 2, (((a - d) / 2) ** 2 + b * c).sqrt()
    return half + root, half - root


def root_of(matrix):
    """The symmetric root of a positive definite 2 x 2 array of balls."""
    (a, b), (c, d) = matrix
    det = (a * d - b * c).sqrt()
    return (matrix + det * balls(np.eye(2))) / (a + d + 2 * det).sqrt()


def ring(rng, d):
    """A root of a covariance with singular values between 0.4 and 1, a mean, and two matrices of norm about one."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    root = left * rng.uniform(0.4, 1.0, size=d) @ right
    form, value = (part / np.linalg.norm(part, 2) for part in rng.normal(size=(2, d, d)))
    return rng.normal(size=d) / 2, root, form * rng.uniform(0.5, 1.0), value


def tilted(centres, nodes):
    """By how much the mean of each coordinate of a Gauss-Hermite rule is off under the tilts ``centres``."""
    tail = gammainc(nodes - 1, np.asarray(centres) ** 2 / 2.0) * (1.0 + 1e-9)  # a Poisson law, and SciPy's own error
    return np.where(tail < 0.5, np.abs(centres) * tail / (1.0 - np.minimum(tail, 0.5)), np.inf)


def rounded(kernel, x, slopes, error):
    """Rounding of the field at each query: of the passes, of the masses, and of tokens that carry their scores along."""
    n, size = kernel.nu.dim, float(np.abs(kernel.values).max())
    reach = float(np.abs(kernel.nu.points).sum(axis=1).max())
    moved = gamma(n + POSITIONS) * reach * np.abs(slopes).max(axis=1)  # of a score
    return kernel.rounding(x) + 2.0 * size * (error + 2.0 * moved) + gamma(n + POSITIONS) * size * (n + 1)


def hermite_errors(kernel, x, form, root, nodes=hermite.NODES):
    """How far any entry of the field at each query, on Gauss-Hermite tokens, is from that of the Gaussian."""
    slopes = x @ form.T  # of the score <Ax, y> in y
    spread = np.abs(root if kernel.value is None else kernel.value @ root)
    return rounded(kernel, x, slopes, hermite.ERROR) + (tilted(slopes @ root, nodes) @ spread.T).max(axis=1)


def lattice_errors(kernel, x, slopes, root, centres, variances):
    """The same on the lattice, where z has means ``centres`` and variances (the least one given) up to one.

    The cube drops at most the sum of two tails per axis, which moves a mean by its root (Cauchy and Schwarz); the step
    enters through the frequencies 2 pi k / h, as a power of q = exp(-2 pi^2 p / h^2) each.
    """
    outside = 2.0 * ndtr(np.abs(centres) + lattice.STEP - lattice.REACH).sum(axis=1)
    d, q = centres.shape[1], math.exp(-2.0 * (math.pi / lattice.STEP) ** 2 * variances)
    coarse = 2.0 * math.pi / lattice.STEP * ((1.0 + 2.0 * q / (1.0 - q) ** 2) ** d - 1.0)
    spread = np.abs(root if kernel.value is None else kernel.value @ root).sum(axis=1).max()
    means = 4.0 * (np.sqrt(outside) + coarse) * (1.0 + np.abs(centres).max(axis=1))
    return rounded(kernel, x, slopes, lattice.ERROR) + means * spread


def typical(errors, masses):
    """The root mean square of errors under masses, which is what they can move an average of values of size one by."""
    return float(np.sqrt(masses @ np.asarray(errors) ** 2)) * (1.0 + gamma(len(masses) + 4))


def symmetric(part, row):
    """The covariance of one row of a table, in intervals."""
    xx, xy, yy = (part.intervals(name)[row] for name in ("xx", "xy", "yy"))
    return np.array([[xx, xy], [xy, yy]], dtype=object)


def lengths(matrix):
    """The two eigenvalues of a symmetric 2 x 2 array of intervals, the larger first."""
    (a, b), (_, d) = matrix
    half, root = (a + d) / 2, (((a - d) / 2) ** 2 + b**2).sqrt()
    return half + root, half - root


class Distance:
    """Attention with the scores -|Qx - Ky|^2 to the tokens of a measure."""

    def __init__(self, nu, query, key, value):
        self.nu, self.query, self.key, self.value = nu, query, key, value
        self.values = nu.points @ value.T

    def output(self, x):
        """What the queries read."""
        return attend(*self._features(x), self.values, score=SquaredDistance(), weights=self.nu.weights)

    def rounding(self, x):
        """How far that is from the truth about these tokens."""
        return rounding(*self._features(x), self.values, score=SquaredDistance(), weights=self.nu.weights)

    def _features(self, x):
        return x @ self.query.T, self.nu.points @ self.key.T

    def errors(self, x, mean, root):
        """How far any entry at each query is from that under N(mean, root root'), for tokens on a lattice.

        In z = root^-1 (y - mean) the key has the precision 1 + 2 (K root)'(K root), and the score has the slope
        2 K'(Qx - Ky) in y.
        """
        inner = self.key @ root
        precision = np.eye(len(mean)) + 2.0 * inner.T @ inner
        centres = np.linalg.solve(precision, 2.0 * inner.T @ (x @ self.query.T - mean @ self.key.T).T).T
        spread = np.abs(self.nu.points @ (self.key.T @ self.key)).max(axis=0)
        slopes = 2.0 * (np.abs(x @ self.query.T @ self.key) + spread)
        return lattice_errors(self, x, slopes, root, centres, 1.0 / float(np.linalg.eigvalsh(precision)[-1]))
