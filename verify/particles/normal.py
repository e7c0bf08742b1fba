"""Gaussian laws in ball arithmetic: matrices and their eigenvalues."""

import numpy as np

from verify.textbook import balls


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


def symmetric(part, row):
    """The covariance of one row of a table, in intervals."""
    xx, xy, yy = (part.intervals(name)[row] for name in ("xx", "xy", "yy"))
    return np.array([[xx, xy], [xy, yy]], dtype=object)


def lengths(matrix):
    """The two eigenvalues of a symmetric 2 x 2 array of intervals, the larger first."""
    (a, b), (_, d) = matrix
    half, root = (a + d) / 2, (((a - d) / 2) ** 2 + b**2).sqrt()
    return half + root, half - root
