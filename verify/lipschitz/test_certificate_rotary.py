"""Certificates of layers whose positions turn queries and keys: one bound for all positions."""

import math

import numpy as np

from theory.evidence import Claim, at_most, bug, constant, exact, hypothesis, verifies
from theory.lipschitz import displacement
from theory.lipschitz.certificate import certify
from verify.inputs import FLOOR, draw_cloud, push_within
from verify.textbook.tokens import displacement_sizes, soft_mean

STEP = 2.0**-10  # of the radius: how far tokens are moved where the constant is nearly attained
QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


def outputs(tokens, weights, biases, turns, causal):
    """What the layer makes of tokens, by the formula: every query and key is turned by its position."""
    points = exact(tokens)
    scale = 1.0 / np.sqrt(exact(float(weights["w_query"].shape[0])))
    q, k, v = (points @ exact(weights[name].T) for name in ("w_query", "w_key", "w_value"))
    q, k = q + exact(biases["b_query"]), k + exact(biases["b_key"])
    rows = []
    for i in range(len(tokens)):
        seen = range(i + 1 if causal else len(tokens))
        turned = exact(turns[i]) @ q[i]
        scores = [scale * (turned @ (exact(turns[j]) @ k[j])) for j in seen]
        rows.append(soft_mean(scores, [v[j] for j in seen]))
    return rows


def drawn(run, reach):
    """Yield weights, biases, radius, isometries of the positions, tokens before and after a move, and the mask."""
    for k, rng in enumerate(run.draws(quick=12, paper=120)):
        d, size, n, radius = 1 + k % 3, 3, int(rng.integers(2, 6)), (1.0, 2.0**-6, 2.0**5)[k // 2 % 3]
        weights = {name: 0.6 * rng.normal(size=(size, d)) for name in ("w_query", "w_key", "w_value")}
        weights["w_key"] = weights["w_key"] / radius**2
        turns = [np.eye(size)[rng.permutation(size)] * rng.choice([-1.0, 1.0], size=size) for _ in range(n)]
        x = draw_cloud(rng, n, d, reach * radius)
        y = push_within(rng, x, reach * radius)
        if displacement(x, y, 1.0).lo >= FLOOR * radius:
            yield (
                weights,
                {
                    "b_query": 0.3 * radius * rng.normal(size=size),
                    "b_key": rng.choice([0.0, 0.3]) / radius * rng.normal(size=size),
                },
                radius,
                turns,
                x,
                y,
                bool(k % 2),
                ("mean", "max", "frobenius"),
            )


def attained(reach):
    """Yield the same where constants are nearly attained: a form that is zero unless a quarter turn is between."""
    for radius in (1.0, 2.0**-6):
        for alpha, rows, causal, places, moves, turned in (
            (0.5, ("max",), False, [1.0] * 20 + [-1.0] * 20 + [0.0], [1.0] * 41, [40]),
            (0.5, ("max",), True, [1.0] * 20 + [-1.0] * 20 + [0.0], [1.0] * 41, [40]),
            (0.25, ("mean",), False, [1.0] * 39 + [-1.0], [0.0] * 39 + [1.0], range(39)),
            (0.125, ("mean",), True, [-1.0] + [1.0] * 39, [1.0] + [0.0] * 39, range(1, 40)),
            (0.25, ("frobenius",), False, [0.0, 0.0], [1.0, 1.0], [0]),
            (0.0625, ("frobenius",), True, [0.0, 0.0], [1.0, 1.0], [0]),
        ):
            root = math.sqrt(2.0)
            weights = {
                "w_query": np.array([[root * alpha], [0.0]]),
                "w_key": np.array([[0.0], [1.0 / radius**2]]),
                "w_value": np.array([[1.0]]),
            }
            sign = 1.0 if "max" in rows else -1.0  # of the score with a quarter turn between query and key
            turns = [sign * QUARTER if i in turned else np.eye(2) for i in range(len(places))]
            x = reach * radius * (1.0 - STEP) * np.array(places)[:, np.newaxis]
            y = x + STEP * radius * np.array(moves)[:, np.newaxis]
            yield weights, {"b_query": np.zeros(2), "b_key": np.zeros(2)}, radius, turns, x, y, causal, rows
        # keys are their bias alone, turned to either side of the query, which moves from one to the other
        weights = {"w_query": np.array([[root], [0.0]]), "w_key": np.zeros((2, 1)), "w_value": np.array([[1.0]])}
        biases = {"b_query": np.zeros(2), "b_key": np.array([0.0, 1.0 / radius])}
        x = reach * radius * (1.0 - STEP) * np.array([[1.0], [-1.0]] * 20 + [[0.0]])
        turns = [-QUARTER, QUARTER] * 20 + [np.eye(2)]
        for causal in (False, True):
            yield weights, biases, radius, turns, x, x + STEP * radius, causal, ("max",)


@verifies(
    Claim(
        "certificate.rotary",
        "where positions turn queries and keys, the product of norms gives constants that hold at all positions",
        r"Scores $\sigma\langle T_i(W_Qx_i + b_Q), T_j(W_Kx_j + b_K)\rangle$ with isometries $T_i$ of the positions: with $\kappa = \|W_K\|R + |b_K|$, $\alpha = \sigma\|W_Q\|R\kappa$ and $\beta = \sigma(\|W_Q\|R + |b_Q|)\kappa$ the largest displacement grows by at most $1 + \alpha + \beta$ under any mask, the mean one by $e^{2\beta}(1 + 2\beta) + \alpha$, under a causal mask by $\alpha + e^{2\beta}(1 + 2\beta)H_n$, and the root of the sum of squares as in certificate.query-bias, under a causal mask by $\sqrt n(1 + \alpha + \beta)$, times $\|V\|$",
        assumptions=("dot product", "no token is longer than R", "positions fixed"),
        spec=("MA.L6", "MA.L7", "MA.M2", "MA.K3"),
        cites=(),
        source_status=("derived",),
    ),
    constant("half", "the constants are half as large", factor=0.5),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
    bug("unturned", "the norm of the product stands for the product of norms", rotary=False),
    bug("unbiased-keys", "the bias of the keys is dropped, as if it dropped out of the softmax", keys=0.0),
)
def test_rotary(run, *, factor=1.0, reach=1.0, rotary=True, keys=1.0):
    for way, cases in (("drawn", drawn(run, reach)), ("nearly attained", attained(reach))):
        for weights, biases, radius, turns, x, y, causal, rows in cases:
            options = {"n": len(x), "causal": causal, "rotary": rotary, "search": False}
            given = {**biases, "b_key": keys * biases["b_key"]}
            found = certify(**weights, **given, radius=radius, **options)
            before = displacement_sizes(exact(x), exact(y))
            after = displacement_sizes(*(outputs(tokens, weights, biases, turns, causal) for tokens in (x, y)))
            for metric in rows:
                bound = factor * found.row(metric).constant
                part = f"{metric} causal" if causal else metric
                yield at_most(after[metric], bound * before[metric], part=part, way=way, n=len(x), radius=radius)
