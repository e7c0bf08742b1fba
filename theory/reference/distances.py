r"""Known answers of W_1 between small clouds, and of Lipschitz constants that are attained or approached."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import ball
from theory.reference.attention import causal
from theory.reference.cases import Case, Inputs, Subject, scattered
from theory.reference.digits import Answers
from theory.reference.formulas import (
    attention_jacobian,
    entmax,
    entmax_slopes,
    largest,
    largest_eigenvalue,
    law,
    least_assignment,
    lift,
    number,
    scalar,
    spectral_norm,
)

# --- distances ---


def _distance(inputs: Inputs) -> Answers:
    """Write each atom as often as its mass, a multiple of one over ``parts``, says, and take the best assignment."""
    left, right = (
        np.repeat(lift(inputs[points]), inputs[masses].astype(int), axis=0)
        for points, masses in (("left", "left_counts"), ("right", "right_counts"))
    )
    apart = left[:, np.newaxis, :] - right[np.newaxis, :, :]
    costs = np.frompyfunc(lambda square: square.sqrt(), 1, 1)((apart * apart).sum(axis=2))
    return {"distance": scalar(least_assignment(costs) / len(left))}


def _clouds() -> dict[str, dict[str, NDArray[np.float64]]]:
    draw = partial(scattered, bits=12)

    def equal(left: NDArray[np.float64], right: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return {
            "left": left, "left_counts": np.ones(len(left)), "right": right, "right_counts": np.ones(len(right)),
        }  # fmt: skip

    def shared(
        left: NDArray[np.float64], first: list[float], right: NDArray[np.float64], second: list[float]
    ) -> dict[str, NDArray[np.float64]]:
        return {"left": left, "left_counts": np.array(first), "right": right, "right_counts": np.array(second)}

    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return {
        "two-points": equal(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])),
        "equal-clouds": equal(square, square[::-1]),
        "turned-square": equal(square, square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 0.25),
        "crossing": equal(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])),
        "near": equal(square, square + 2.0**-40 * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 2.0]])),
        "line": equal(draw(7, 1, seed=301), draw(7, 1, seed=302)),
        "line-masses": shared(draw(3, 1, seed=303), [1.0, 2.0, 5.0], draw(2, 1, seed=304), [3.0, 5.0]),
        "plane": equal(draw(6, 2, seed=305), draw(6, 2, seed=306)),
        "plane-masses": shared(draw(3, 2, seed=307), [4.0, 1.0, 2.0], draw(4, 2, seed=308), [1.0, 1.0, 2.0, 3.0]),
        "plane-one-to-many": shared(np.array([[0.25, -0.5]]), [6.0], draw(6, 2, seed=309), [1.0] * 6),
        "space": equal(draw(7, 3, seed=310), draw(7, 3, seed=311)),
        "eight-dimensions": equal(draw(5, 8, seed=312), draw(5, 8, seed=313)),
        "large": equal(2.0**500 * draw(5, 2, seed=314), 2.0**500 * draw(5, 2, seed=315)),
        "tiny": equal(2.0**-600 * draw(5, 2, seed=316), 2.0**-600 * draw(5, 2, seed=317)),
        "two-scales": equal(
            np.concatenate([draw(3, 2, seed=318), 2.0**30 + draw(2, 2, seed=319)]),
            np.concatenate([draw(3, 2, seed=320), 2.0**30 + draw(2, 2, seed=321)]),
        ),
    }


def w1() -> Subject:
    """Return the file ``w1``."""
    return Subject(
        "w1",
        "Wasserstein-1 distances between small clouds, Euclidean",
        {
            "left": "atoms, shape (n, d)",
            "left_counts": "masses of these atoms, up to their total, which is the same on both sides",
            "right": "atoms, shape (m, d)",
            "right_counts": "masses of these atoms, up to their total",
            "distance": "least of sum_ij P_ij |x_i - y_j| over all couplings P of the two laws",
        },
        [Case(name, inputs, _distance) for name, inputs in _clouds().items()],
        ("Masses are counts divided by their total.",),
    )


# --- constants ---


def _ball_constants(inputs: Inputs) -> Answers:
    """Return the constants of dot-product attention on the unit ball."""
    alpha = number(inputs["alpha"])
    return {"w1_constant": scalar(np.exp(2 * alpha) * (1 + 2 * alpha)), "query_constant": scalar(alpha)}


def _nearness(inputs: Inputs) -> Answers:
    tokens = number(inputs["tokens"])
    return {"nearness": scalar(((tokens - 1) / ball(1.0).exp()).lambertw())}


def _moved_logits(inputs: Inputs) -> Answers:
    delta = number(inputs["delta"])
    return {"moved_law": scalar(np.tanh(delta / 2)), "turned_law": scalar(np.tanh(delta / 4))}


def _row_norms(inputs: Inputs) -> Answers:
    """Return norms of the Jacobian of softmax; variances are sums of products, in which nothing cancels."""
    p = law(lift(inputs["scores"])).weights
    n = p.size
    jacobian = np.where(np.eye(n) == 1.0, p, p * 0) - np.outer(p, p)
    own = np.array([p[i] * np.delete(p, i).sum() for i in range(n)], dtype=object)
    halves = [
        p[list(chosen)].sum() * p[[i for i in range(n) if i not in chosen]].sum()
        for size in range(1, n)
        for chosen in itertools.combinations(range(n), size)
    ]
    return {
        "one_to_one": scalar(2 * _most(own.tolist())),
        "one_to_infinity": scalar(_most(own.tolist())),
        "infinity_to_one": scalar(4 * _most(halves)),
        "two_to_two": scalar(largest_eigenvalue(jacobian)),
    }


def _most(values: list[Any]) -> Any:
    """Enclose the largest of some balls."""
    found = np.array(values, dtype=object)
    return largest(np.array([v.lower() for v in found], dtype=object)).union(
        largest(np.array([v.upper() for v in found], dtype=object))
    )


def _entmax_norm(inputs: Inputs) -> Answers:
    alpha = number(inputs["alpha"])
    q = entmax_slopes(entmax(lift(inputs["scores"]), alpha), alpha)
    jacobian = np.where(np.eye(q.size) == 1.0, q, q * 0) - np.outer(q, q) / q.sum()
    return {"two_to_two": scalar(largest_eigenvalue(jacobian))}


def _token_norm(inputs: Inputs) -> Answers:
    tokens = lift(inputs["tokens"])
    bias = None
    if "mask" in inputs:
        bias = np.where(inputs["mask"], lift(np.zeros(inputs["mask"].shape)), -math.inf)
    jacobian = attention_jacobian(tokens, scale=number(inputs["scale"]), bias=bias)
    return {"frobenius": scalar(spectral_norm(jacobian))}


def lipschitz() -> Subject:
    """Return the file ``lipschitz``."""
    rows = {
        "two": [0.5, -0.25],
        "two-equal": [1.0, 1.0],
        "three": [0.5, 0.25, -1.0],
        "beside-a-vertex": [30.0, 0.0, 1.0],
        "eight": scattered(8, seed=401, bits=12).tolist(),
    }
    tokens = scattered(4, 2, seed=402, bits=10)
    at = {"plain": {}, "causal": {"mask": causal(4, 4)}}
    orders = (1.0, 1.5, 2.0, 3.0)
    return Subject(
        "lipschitz",
        "Lipschitz constants that are attained or approached, and norms of Jacobians at given points",
        {
            "alpha": "in ball-...: |B| R^2, of scores <x, B y> tokens of length R at most; in entmax-...: the order",
            "w1_constant": "e^(2 alpha) (1 + 2 alpha): the least Lipschitz constant in W_1, for all forms with this "
            "alpha, of the map that attention with values y is on laws on the ball",
            "query_constant": "alpha: the least constant of an output in its query, the law of the keys held fixed",
            "tokens": "in nearness-...: N; in tokens-...: x_i, shape (n, d)",
            "nearness": "W_0((N - 1) / e): the largest value of beta sum_j P_ij |x_i - x_j|^2 for N tokens and scores "
            "-beta |x_i - x_j|^2",
            "delta": "largest change of a score; in turned_law the change of scores has this oscillation",
            "moved_law": "tanh(delta / 2): the largest total variation (half of the l1 distance) between the laws of "
            "scores that are delta apart in the largest entry",
            "turned_law": "tanh(delta / 4): the same for scores of which the difference has the oscillation delta",
            "scores": "s_j",
            "one_to_one": "norm of the Jacobian of softmax from l1 to l1, and from l-infinity to l-infinity",
            "one_to_infinity": "the same from l1 to l-infinity, its largest entry",
            "infinity_to_one": "the same from l-infinity to l1",
            "two_to_two": "the same from l2 to l2, of softmax or, where an order is given, of entmax",
            "scale": "sigma, the factor of the scores",
            "mask": "true where query i sees key j",
            "frobenius": "largest singular value of the derivative of X -> softmax(sigma X X^T) X, a matrix of n d "
            "rows: how much it stretches small moves of all tokens, in the Frobenius norm",
        },
        [
            *(Case(f"ball-{k}", {"alpha": a}, _ball_constants) for k, a in enumerate((0.0, 0.125, 1.0, 4.5, 30.0))),
            *(Case(f"nearness-{n}", {"tokens": float(n)}, _nearness) for n in (2, 3, 10, 1000, 10**6)),
            *(Case(f"logits-{k}", {"delta": d}, _moved_logits) for k, d in enumerate((2.0**-30, 0.5, 2.0, 40.0))),
            *(Case(f"softmax-{name}", {"scores": scores}, _row_norms) for name, scores in rows.items()),
            *(
                Case(f"entmax-{k}", {"scores": [0.5, 0.25, -0.125, 0.0], "alpha": a}, _entmax_norm)
                for k, a in enumerate(orders)
            ),
            *(
                Case(f"tokens-{name}", {"tokens": tokens, "scale": 0.5, **more}, _token_norm)
                for name, more in at.items()
            ),
        ],
    )
