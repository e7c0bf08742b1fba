"""Attack certificates of drawn layers by an optimiser that shares nothing with the suite's own searches.

    python -m benchmarks.attack --seconds 60 --layers 20 --out attack.csv

Layers are drawn with one to four numbers a token, one or two heads, also two that share their keys, masks, biases,
scales, rotary positions, residual connections and distances. Batches of tokens, masses and displacements climb by Adam
on gradients of PyTorch, from random starts until the time of a metric is over, of the processor; half of it goes to
constants of the ball, half to those at given tokens, within a 16th of the reach where a bound has doubled. What is
printed is found over certified: a number above one is a fault. A layer is written when it is done.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from theory.lipschitz.certificate import certify, certify_at

BATCH = 64
STEPS = 250
TOKENS = 5
BASE = 10.0
POWERS = {"W1": 1.0, "W2": 2.0, "Winf": math.inf, "mean": 1.0, "max": math.inf, "frobenius": 2.0}
Tensor = torch.Tensor


def drawn(k: int) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Return weights, options and radius of a layer."""
    rng = np.random.default_rng([2026, k])
    d, heads, size = 1 + k % 4, 1 + k % 2, 4 if k % 8 == 5 else 2
    score = "distance" if k % 5 == 4 else "dot"
    options: dict[str, Any] = {
        "heads": heads, "causal": bool(k // 2 % 2), "residual": k % 3 == 0, "score": score,
        "rotary": score == "dot" and k % 4 == 1,
    }  # fmt: skip
    steep = math.sqrt(rng.uniform(0.2, 3.0))
    weights = {name: steep * rng.normal(size=(heads * size, d)) / math.sqrt(d) for name in ("w_query", "w_key")}
    weights["w_value"], weights["w_out"] = rng.normal(size=(heads * size, d)), rng.normal(size=(d, heads * size))
    if score == "distance":
        weights["w_key"] = weights["w_query"]
    elif k % 3 == 1 or options["rotary"]:
        weights["b_query"] = rng.normal(size=heads * size)
    if options["rotary"]:
        weights["b_key"] = rng.normal(size=heads * size)
    if k % 8 == 3 and score == "dot":  # two heads of queries, one of keys and values
        weights |= {name: weights[name][:size] for name in ("w_key", "w_value")}
    if k % 6 == 2:
        options["scale"] = float(rng.uniform(0.2, 2.0))
    return weights, options, float(rng.choice([0.5, 1.0]))


class Layer:
    """A layer on batches of tokens, shape (b, n, d), with logarithms of masses, by the formula."""

    def __init__(self, weights: dict[str, Any], options: dict[str, Any]) -> None:
        self.w = {name: torch.tensor(array) for name, array in weights.items()}
        self.o = options

    def __call__(self, x: Tensor, logs: Tensor) -> Tensor:
        """Return the outputs."""
        n, total = x.shape[1], x if self.o["residual"] else torch.zeros(())
        size = len(self.w["w_query"]) // self.o["heads"]
        shared = len(self.w["w_query"]) // len(self.w["w_key"])
        scale = self.o.get("scale", 1.0 / math.sqrt(size))
        for head in range(self.o["heads"]):
            part = slice(head * size, (head + 1) * size)
            own = slice(head // shared * size, (head // shared + 1) * size)
            q = self._turned(x @ self.w["w_query"][part].T + self._bias("query", part))
            k = self._turned(x @ self.w["w_key"][own].T + self._bias("key", own))
            v = x @ self.w["w_value"][own].T
            if self.o["score"] == "dot":
                scores = scale * q @ k.transpose(1, 2)
            else:
                scores = -((q[:, :, None] - q[:, None]) ** 2).sum(-1) / math.sqrt(size)
                form = self.w["w_query"][part].T @ self.w["w_query"][part] / math.sqrt(size)
                v = x @ form @ self.w["w_value"][part].T
            scores = scores + logs[:, None]
            if self.o["causal"]:
                scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -math.inf)
            total = total + scores.softmax(-1) @ v @ self.w["w_out"][:, part].T
        return total

    def _bias(self, side: str, part: slice) -> Tensor | float:
        return self.w[f"b_{side}"][part] if f"b_{side}" in self.w else 0.0

    def _turned(self, x: Tensor) -> Tensor:
        if not self.o["rotary"]:
            return x
        planes = x.shape[-1] // 2
        angles = torch.arange(x.shape[1])[:, None] * BASE ** (-torch.arange(planes, dtype=x.dtype) / planes)
        turns = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turns * torch.view_as_complex(x.reshape(*x.shape[:-1], planes, 2))).flatten(-2)


def size(moves: Tensor, logs: Tensor, p: float) -> Tensor:
    """Return the size of displacements of weighted atoms, shape (b,)."""
    lengths = (moves.square().sum(-1) + 1e-300).sqrt()
    if p == math.inf:
        return lengths.amax(-1)
    return ((logs.exp() * lengths**p).sum(-1)) ** (1.0 / p)


def climb(layer: Layer, d: int, ratio: Any, shapes: int, seconds: float, seed: int) -> float:
    """Return the largest ratio that batches of starts lead to."""
    generator = torch.Generator().manual_seed(seed)
    best, stop = 0.0, time.process_time() + seconds
    while time.process_time() < stop:
        spread = 10.0 ** (torch.rand((BATCH, 1, 1), generator=generator, dtype=torch.float64) * 2.0 - 1.0)
        start = [
            spread * torch.randn((BATCH, TOKENS, d), generator=generator, dtype=torch.float64) for _ in range(shapes)
        ]
        start.append(3.0 * torch.randn((BATCH, TOKENS), generator=generator, dtype=torch.float64))
        given = [x.requires_grad_() for x in start]
        steps = torch.optim.Adam(given, lr=0.1)
        for k in range(STEPS):
            for group in steps.param_groups:
                group["lr"] = 0.1 * 0.985**k
            found = ratio(layer, *given)
            best = max(best, float(found.detach().nan_to_num(0.0, 0.0, 0.0).max()))
            steps.zero_grad()
            (-found.log().nan_to_num(0.0, 0.0, 0.0).sum()).backward()
            for x in given:
                if x.grad is not None:  # masses are not always free
                    x.grad.nan_to_num_(0.0, 0.0, 0.0)
            steps.step()
            if time.process_time() > stop:
                break
    return best


def in_ball(radius: float, p: float, massive: bool) -> Any:
    """Return the stretch of a displacement of tokens in the ball, to first order."""

    def ratio(layer: Layer, x: Tensor, h: Tensor, logs: Tensor) -> Tensor:
        points = radius * x / torch.clamp(x.norm(dim=-1, keepdim=True), min=1.0)
        masses = logs.log_softmax(-1) if massive else torch.full_like(logs, -math.log(TOKENS))
        moved = torch.func.jvp(lambda y: layer(y, masses), (points,), (h,))[1]
        return size(moved, masses, p) / size(h, masses, p)

    return ratio


def in_reach(tokens: Tensor, reach: float, p: float) -> Any:
    """Return by how much the displacement between two places is stretched, every token within its reach."""

    def ratio(layer: Layer, x: Tensor, y: Tensor, logs: Tensor) -> Tensor:
        flat = torch.full_like(logs, -math.log(TOKENS))
        places = [tokens + reach * z / torch.clamp(z.norm(dim=-1, keepdim=True), min=1.0) for z in (x, y)]
        return size(layer(places[0], flat) - layer(places[1], flat), flat, p) / (
            size(places[0] - places[1], flat, p).clamp(min=1e-6 * reach)
        )

    return ratio


def attack(k: int, seconds: float) -> list[dict[str, Any]]:
    """Return a row for every constant of a layer."""
    weights, options, radius = drawn(k)
    layer, d = Layer(weights, options), weights["w_query"].shape[1]
    whole = certify(**weights, **options, radius=radius, n=TOKENS)
    tokens = np.random.default_rng([2027, k]).uniform(-radius, radius, size=(TOKENS, d)) / math.sqrt(d)
    positions: dict[str, Any] = {"base": BASE, "pairs": "neighbours"} if options["rotary"] else {}
    given = {**weights, **{name: value for name, value in options.items() if name != "rotary"}, **positions}
    doubled = min(own.reach for own in certify_at(tokens, **given).rows)
    local = certify_at(tokens, **given, reach=doubled / 16)
    rows = [row for row in whole.rows if row.constant is not None]
    each = seconds / (2 * len(rows))
    about = {"layer": k, "seconds": seconds, "d": d, "radius": radius, "scale": "", **options}
    about |= {"biases": "b_query" in weights, "shared": len(weights["w_query"]) > len(weights["w_key"])}
    found = []
    for row in rows:
        ratio = in_ball(radius, POWERS[row.metric], row.metric.startswith("W"))
        reached = climb(layer, d, ratio, 2, each, k)
        found.append({**about, "metric": row.metric, "of": "ball", "found": reached, "certified": row.constant,
                      "own_search": row.lower})  # fmt: skip
    for own in local.rows:
        ratio = in_reach(torch.tensor(tokens), own.reach, POWERS[own.metric])
        reached = climb(layer, d, ratio, 2, seconds / 6, k)
        found.append({**about, "metric": own.metric, "of": "tokens", "found": reached, "certified": own.bound,
                      "own_search": own.norm.lo})  # fmt: skip
    return found


def main() -> None:
    """Attack layers, one after another, and print the largest ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor, for every layer")
    parser.add_argument("--first", type=int, default=0, help="where to start")
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--out", type=Path, help="a CSV file of all rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for k in range(options.first, options.first + options.layers):
        rows += attack(k, options.seconds)
        shares = {f"{r['metric']}@{r['of']}": r["found"] / r["certified"] for r in rows if r["layer"] == k}
        sys.stdout.write(f"{k} {' '.join(f'{name} {share:.3f}' for name, share in shares.items())}\n")
        sys.stdout.flush()
        if options.out is not None:
            with options.out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    worst = max(rows, key=lambda row: row["found"] / row["certified"])
    share = worst["found"] / worst["certified"]
    sys.stdout.write(f"largest ratio {share:.6f}, of {worst['metric']} at {worst['of']}\n")


if __name__ == "__main__":
    main()
