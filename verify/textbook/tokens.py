"""Attention of one token, and how far tokens have moved, in intervals that carry their errors; plain sums, in order."""

import numpy as np


def soft_mean(scores, points):
    """The mean of some points by the exponentials of their scores."""
    raw = [np.exp(score) for score in scores]
    total = sum(raw[1:], start=raw[0])
    weighted = [share * point for share, point in zip(raw, points, strict=True)]
    return sum(weighted[1:], start=weighted[0]) / total


def displacement_sizes(before, after):
    """The mean, the largest and the root of the sum of squares of the displacements of tokens."""
    moves = [np.sqrt(((one - other) ** 2).sum()) for one, other in zip(before, after, strict=True)]
    largest = moves[0]
    for move in moves[1:]:
        largest = np.maximum(largest, move)
    return {
        "mean": sum(moves[1:], start=moves[0]) / len(moves),
        "max": largest,
        "frobenius": np.sqrt(sum((m * m for m in moves[1:]), start=moves[0] * moves[0])),
    }
