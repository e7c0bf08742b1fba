r"""Pairs of clouds whose distance a stack of blocks stretches much: lower bounds of its Lipschitz constants.

Unlike a displacement to first order a pair is finite. Tokens at one place all attend to it, whatever the scores, so
that a stack maps them as a map of one token, which is searched first: at such places along the directions that its
derivative, by differences, stretches most; these hold in every metric and for all positions. Clouds of a few tokens
follow, which climb by drawn steps. What is found by floats is evaluated in enclosures. A pair of measures counts in a
Wasserstein metric if no image moves further than half of the way to the nearest other image, since then no coupling is
shorter than the one in which tokens stay together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theory.evidence import Interval, exact, norm as length_of
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.ascent import main_directions
from theory.lipschitz.certificate.block import Block
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.weights import Array

_DIRECTIONS = 48  # taken: directions of one token that are tried, if it has more numbers
_WORK = 2e9  # taken: multiplications of a search, about a second
_CLIMBS = (12, 100)  # taken: steps of a climb, least and most
_FEW = 4  # taken: the most tokens of a cloud
_STEPS = (1e-4, 1e-2, 0.3)  # taken: lengths of displacements beside those of tokens
EXPONENTS = {"W1": 1.0, "W2": 2.0, "Winf": math.inf, "mean": 1.0, "max": math.inf, "frobenius": 2.0}


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two clouds of the same masses, and by how much a stack stretches the distance between them.

    Parameters
    ----------
    points, others : numpy.ndarray, shape (n, d)
    masses : numpy.ndarray, shape (n,)
        Positive; only their ratios matter.
    p : {1, 2, inf}
        Exponent of the weighted norm of displacements.
    bound : Interval
        The stretch: its lower end is a lower bound of the Lipschitz constant.
    """

    points: Array
    others: Array
    masses: Array
    p: float
    bound: Interval


def search_pairs(
    rng: np.random.Generator, stack: list[Block], radius: float | None, n: int | None, *, turned: bool,
    tokens: Array | None,
) -> dict[str, Pair]:  # fmt: skip
    """Return the pair of largest stretch that is found, by the names of the metrics for which it is a lower bound."""
    causal = stack[0].attention.causal
    metrics = [metric for metric in EXPONENTS if not (metric.startswith("W") and (causal or turned))]
    if causal and n is None:
        metrics = ["max"]
    search = _Search(rng, stack, radius, causal=causal)
    tell("search of pairs of tokens at one place")
    starts = [np.zeros((1, stack[0].dim))] if tokens is None else list(tokens[:_FEW, np.newaxis])
    alone = [pair for start in starts for pair in search.alone(start)]
    best: dict[str, Pair] = {}
    for x, y in alone:
        one = search.certified(x, y, None, 1.0)
        for metric in metrics:
            if one is not None:
                _keep(best, metric, replace(one[0], p=EXPONENTS[metric]))
    if turned or n == 1 or not best:  # what one token does not show, through wide blocks, several will not
        return best
    ends: dict[Any, tuple[Pair, bool] | None] = {}
    limited = any(norm.least for block in stack for norm in (block.first, block.second) if norm is not None)
    for metric in metrics:
        law = _law(metric, n, causal=causal)
        if causal and limited and n != len(law):  # those that follow might not be allowed to enter a norm
            continue
        at = EXPONENTS[metric], law.tobytes()
        if at not in ends:
            tell(f"search of pairs of clouds by the exponent {at[0]:g}")
            end = search.climbed(law, at[0], alone, tokens)
            ends[at] = None if end is None else search.certified(*end, law, at[0])
        found = ends[at]
        if found is not None and (found[1] or not metric.startswith("W")):
            _keep(best, metric, found[0])
    return best


def _keep(best: dict[str, Pair], metric: str, pair: Pair) -> None:
    if metric not in best or pair.bound.lo > best[metric].bound.lo:
        best[metric] = pair


def _law(metric: str, n: int | None, *, causal: bool) -> Array:
    """Return masses that stand for n tokens, or any number."""
    few = min(n or 3, 3)
    if causal:
        return np.ones(few)
    if n is None:
        return np.array([1e-3, 0.4, 0.6]) if metric in ("W1", "mean") else np.array([0.05, 0.4, 0.55])
    if metric in ("W1", "W2", "Winf"):
        return np.ones(few)
    counts = np.ones(few)
    counts[-1] += n - few
    return counts


class _Search:
    """A stack, and where its tokens may be."""

    def __init__(self, rng: np.random.Generator, stack: list[Block], radius: float | None, *, causal: bool) -> None:
        self.rng, self.stack, self.causal = rng, stack, causal
        self.radius = math.inf if radius is None else radius * (1.0 - 2.0**-40)
        numbers = sum(
            block.attention.w_query.size * 4 + (0 if block.feed_forward is None else 3 * block.feed_forward.w_up.size)
            for block in stack
        )
        self.climbs = int(np.clip(_WORK / (8.0 * numbers + 2e5 * len(stack)), *_CLIMBS))
        norms = [norm for block in stack for norm in (block.first, block.second) if norm is not None]
        size = math.sqrt(stack[0].dim)
        near = {math.sqrt(norm.eps + norm.least) * size for norm in norms[:2]}
        far = {
            3.0 * math.sqrt(norm.least) * size for norm in norms if norm.least
        }  # most drawn tokens are allowed there
        self.scales = sorted({*near, *far, min(size, self.radius)})

    def forward(self, x: Any, masses: Array | None, spreads: list[Any] | None = None) -> Any:
        """Return the tokens after all blocks."""
        for block in self.stack:
            x = block(x, masses, spreads=spreads)
        return x

    def allowed(self, spreads: list[Any]) -> bool:
        """Tell whether tokens that entered the norms have variances that are allowed, for certain if enclosed."""
        norms = [norm for block in self.stack for norm in (block.first, block.second) if norm is not None]
        for norm, x in zip(norms, spreads, strict=True):
            if norm.least > 0.0:
                spread = norm.spread(x)
                if not (getattr(spread, "lo", spread) >= norm.least).all():
                    return False
        return True

    def inside(self, x: Array) -> Array:
        """Return tokens, moved into the ball."""
        lengths = np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + gamma(x.shape[1] + 4))
        return np.asarray(x * np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300)))

    def stretch(self, x: Array, y: Array, masses: Array | None, p: float) -> float:
        """Return the stretch of a pair by floats; zero where none is defined."""
        seen: tuple[list[Any], list[Any]] = ([], [])
        with np.errstate(all="ignore"):
            first, second = (self.forward(z, masses, kept) for z, kept in zip((x, y), seen, strict=True))
            before, after = (_weighted(np.linalg.norm(h, axis=1), masses, p) for h in (y - x, second - first))
            ratio = float(after / before)
        return ratio if math.isfinite(ratio) and all(self.allowed(kept) for kept in seen) else 0.0

    def certified(self, x: Array, y: Array, masses: Array | None, p: float) -> tuple[Pair, bool] | None:
        """Enclose the stretch of a pair, and tell whether it is one of measures; None if it may not be allowed."""
        if not (x != y).any():
            return None
        seen: tuple[list[Any], list[Any]] = ([], [])
        with np.errstate(all="ignore"):
            first, second = (self.forward(exact(z), masses, kept) for z, kept in zip((x, y), seen, strict=True))
            moved = length_of(second - first, axis=1)
            before = length_of(exact(y) - exact(x), axis=1)
            if not np.isfinite(moved.hi).all() or not before.max().lo > 0.0:
                return None
            bound = _weighted(moved, masses, p) / _weighted(before, masses, p)
        for kept in seen:
            if not self.allowed(kept):
                return None
        lengths = np.concatenate([length_of(exact(z), axis=1).hi for z in (x, y)])
        if lengths.max() > self.radius * (1.0 + 2.0**-40):
            return None
        gaps = [length_of(first[i] - first[j]).lo for i in range(len(x)) for j in range(i)]
        if (
            not bound.lo > 0.0
        ):  # enclosures have grown wider than the pair is apart, as they do through many wide blocks
            return None
        apart = all(gap >= 2.0 * moved.max().hi for gap in gaps)
        return Pair(x, y, np.ones(len(x)) if masses is None else masses, p, bound), apart

    def alone(self, start: Array) -> list[tuple[Array, Array]]:
        """Return pairs of one token that the map of one token stretches much."""
        found = []
        dim = start.shape[1]
        ways = np.eye(dim)
        if dim > _DIRECTIONS:
            drawn = [main_directions(self.stack[0].attention), self.rng.normal(size=(_DIRECTIONS, dim))]
            ways = np.linalg.qr(np.concatenate(drawn).T)[0].T
        places = [start] + [start + self.inside(size * self._drawn(1)) for size in self.scales]
        for place in places:
            at = self.inside(place)
            near = (1e-7 * self.scales[0], 1e-4 * self.scales[0]) if dim <= _DIRECTIONS else ()  # else not enclosed
            for step in (*near, 1e-2 * self.scales[-1]):
                with np.errstate(all="ignore"):
                    ends = [self.forward(at + side * step * ways, None) for side in (1.0, -1.0)]
                    jacobian = (ends[0] - ends[1]) / (2.0 * step)
                if not np.isfinite(jacobian).all():
                    continue
                left = np.linalg.svd(jacobian, full_matrices=False)[0]
                way = (left[:, 0] @ ways)[np.newaxis]
                found.append((self.inside(at + step * way), self.inside(at - step * way)))
        rated = sorted(found, key=lambda pair: -self.stretch(pair[0], pair[1], None, 2.0))
        return [self._climb(*pair, None, 2.0) for pair in rated[:2]]

    def climbed(
        self, masses: Array, p: float, alone: list[tuple[Array, Array]], tokens: Array | None
    ) -> tuple[Array, Array] | None:
        """Return the best pair of clouds that a few climbs end at."""
        n = len(masses)
        starts = []
        for size in self.scales:
            x = self.inside(size * self._drawn(n))
            x[0] = -x[-1]
            starts += [(x, self.inside(x + step * size * self._drawn(n))) for step in _STEPS]
        starts += [(np.repeat(x, n, axis=0), np.repeat(y, n, axis=0)) for x, y in alone[:1]]
        if tokens is not None and len(tokens) >= n:
            x = self.inside(tokens[:n])
            starts += [(x, self.inside(x + step * np.linalg.norm(x) * self._drawn(n))) for step in _STEPS]
        rated = sorted(starts, key=lambda pair: -self.stretch(pair[0], pair[1], masses, p))
        ends = [self._climb(*pair, masses, p) for pair in rated[:2]]
        best = max(ends, key=lambda pair: self.stretch(pair[0], pair[1], masses, p))
        return best if self.stretch(best[0], best[1], masses, p) > 0.0 else None

    def _drawn(self, n: int) -> Array:
        """Draw n tokens of length about one."""
        dim = self.stack[0].dim
        return np.asarray(self.rng.normal(size=(n, dim)) / math.sqrt(dim))

    def _climb(self, x: Array, y: Array, masses: Array | None, p: float) -> tuple[Array, Array]:
        """Take drawn steps of tokens and of displacements that raise the stretch."""
        best, step = self.stretch(x, y, masses, p), 0.3
        for _ in range(self.climbs):
            move, size = y - x, float(np.linalg.norm(y - x))
            far = max(size, float(np.linalg.norm(x)))
            place = x + step * far * self._drawn(len(x)) * (self.rng.random() < 0.7)
            turned = move + step * size * self._drawn(len(x))
            near, other = self.inside(place), self.inside(place + turned * math.exp(0.5 * step * self.rng.normal()))
            rate = self.stretch(near, other, masses, p)
            if rate > best:
                x, y, best, step = near, other, rate, min(1.5 * step, 1.0)
            else:
                step = max(0.85 * step, 1e-4)
        return x, y


def _weighted(lengths: Any, masses: Array | None, p: float) -> Any:
    """Return the weighted p-norm of lengths, up to a factor that all have in common."""
    if p == math.inf:
        return lengths.max()
    w = np.ones(len(lengths)) if masses is None else masses
    return (w * lengths).sum() if p == 1.0 else np.sqrt((w * lengths * lengths).sum())
