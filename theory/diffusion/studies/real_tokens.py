r"""Real tokens under the engine's attention: what halves of a set agree upon, and what stacked layers make of it.

A split draws from a set, without repetition, queries and two disjoint clouds of keys; of the tori and of the Gaussian
it draws new tokens. Bandwidths are in units of the total variance of the set, and on a logarithmic scale with base two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.diffusion.layers.equilibrium import chain_spectrum
from theory.diffusion.layers.self_dynamics import advance_tokens
from theory.diffusion.layers.stacking import TokenLayer
from theory.diffusion.limits.resolution import compare_halves, seen_dimension, smallest_bandwidth
from theory.diffusion.moving.measure import agreed_mean
from theory.diffusion.studies.real_sets import REAL_SETS, draw_like, real_set
from theory.evidence import Interval, Kind, exact, stream, study

Array = NDArray[np.float64]
SHARE = 0.1  # of the disagreement
QUERIES = 64
KEYS = (512,)
GAIN_KEYS = (64, 512)  # of the sets of which the gain is judged
TORUS_KEYS = {1: (256, 1024), 2: (512, 2048), 3: (1024, 4096)}
SPLITS = {"patches": 32, "digits": 32, "faces": 16, "learned": 48, "gaussian": 16, "shuffled": 32}
TORUS_SPLITS = {1: 32, 2: 32, 3: 16}
STACK_SPLITS = {"patches": 32, "digits": 16, "faces": 64, "learned": 16, "torus1": 32}
TIMES = {"quick": 1, "paper": 4}  # as many splits
OCTAVES = 2.0  # above the smallest bandwidth, where the step is read again
STACKED = 128  # tokens
RATE_OCTAVES = (1, 4)  # below the variance
DEPTHS = (1, 4, 16)


@study(Kind.NUMERIC)
def real_tokens(*, scale: str, root: int) -> Iterator[dict[str, Any]]:
    r"""Yield what two disjoint clouds of keys make of 64 other tokens, a row for every split and number of keys.

    ``smallest``: logarithm of the smallest bandwidth at which their steps disagree by no more than a tenth. ``change``:
    logarithm of the step over its bandwidth two octaves above, in units of that at the smallest bandwidth.
    ``dimension``: intrinsic dimension that the queries see in one of the clouds at the smallest bandwidth. ``variance``
    is that of the set, the unit, and where the search begins; all is unknown where they disagree by more even there.
    """
    plan = [(name, GAIN_KEYS if name in ("digits", "shuffled") else KEYS, splits) for name, splits in SPLITS.items()]
    plan += [(f"torus{d}", keys, TORUS_SPLITS[d]) for d, keys in TORUS_KEYS.items()]
    for number, (name, counts, splits) in enumerate(plan):
        tokens = real_set(name, root=root) if name in REAL_SETS else None
        given = None if tokens is None else float(tokens.var(axis=0).sum())
        for split, rng in enumerate(_streams("diffusion.real-halves", number, TIMES[scale] * splits, root)):
            drawn = _drawn(name, tokens, QUERIES + 2 * counts[-1], rng)
            variance = float(drawn.var(axis=0).sum()) if given is None else given
            for n in counts:
                clouds = drawn[QUERIES : QUERIES + n], drawn[QUERIES + counts[-1] : QUERIES + counts[-1] + n]
                row = _read(drawn[:QUERIES], *clouds, variance)
                yield {"set": name, "n": n, "split": split, "variance": variance, **row}


@study(Kind.ESTIMATED)
def real_stacks(*, scale: str, root: int) -> Iterator[dict[str, Any]]:
    r"""Yield what layers make of 128 tokens of a set with variance v, a row for every split.

    ``rate1`` and ``rate4``: :math:`v\,2(1 - \mu_1)/\varepsilon` of one layer at :math:`\varepsilon = v/2` and
    :math:`v/16`, where :math:`\mu_1` is its second eigenvalue. ``moved1``, ``moved4`` and ``moved16``: the share of the
    variance that so many averaging layers leave at :math:`k\varepsilon = v/2`, with weights that are computed anew in
    every layer, ``kept1`` and so on with those of the first. The moved ones are computed again with the tokens in
    another order and turned, and enclosed by what this changes.
    """
    for number, (name, splits) in enumerate(STACK_SPLITS.items()):
        tokens = real_set(name, root=root) if name in REAL_SETS else None
        for split, rng in enumerate(_streams("diffusion.real-stacks", number, TIMES[scale] * splits, root)):
            cloud = _drawn(name, tokens, STACKED, rng)
            yield {"set": name, "split": split, **_rates(cloud), **_moved(cloud, rng)}


def _streams(name: str, number: int, count: int, root: int) -> Iterator[np.random.Generator]:
    return (stream(name, 10_000 * number + split, root=root) for split in range(count))


def _drawn(name: str, tokens: Array | None, count: int, rng: np.random.Generator) -> Array:
    found = draw_like(name, count, rng) if tokens is None else tokens
    return found[rng.permutation(len(found))[:count]]


def _read(queries: Array, first: Array, second: Array, variance: float) -> dict[str, Interval]:
    bandwidth = smallest_bandwidth(queries, first, second, widest=variance, share=SHARE)
    if not np.isfinite(bandwidth.width):
        return dict.fromkeys(("smallest", "change", "dimension"), Interval.unknown())
    low = bandwidth.mid
    steps = [compare_halves(queries, first, second, low * factor).size for factor in (1.0, 2.0**OCTAVES)]
    return {
        "smallest": _log2(bandwidth / Interval.exactly(variance)),
        "change": _log2(steps[1] / steps[0]),
        "dimension": seen_dimension(queries, first, low),
    }


def _log2(value: Interval) -> Interval:
    found: Interval = np.log(value) / np.log(exact(2.0))
    return found


def _rates(cloud: Array) -> dict[str, Interval]:
    variance = float(cloud.var(axis=0).sum())
    found = {}
    for octaves in RATE_OCTAVES:
        epsilon = variance * 0.5**octaves
        gap = 1.0 - chain_spectrum(TokenLayer(exact(cloud), epsilon).rows)[1]
        found[f"rate{octaves}"] = 2.0**octaves * 2.0 * gap
    return found


def _moved(cloud: Array, rng: np.random.Generator) -> dict[str, Interval]:
    basis = np.linalg.qr(rng.normal(size=(cloud.shape[1],) * 2))[0]
    turned = cloud[rng.permutation(len(cloud))] @ basis
    found = {}
    for depth in DEPTHS:
        shares = [_left(tokens, depth) for tokens in (cloud, turned)]
        for name, values in zip(("moved", "kept"), zip(*shares, strict=True), strict=True):
            left, other = values
            found[f"{name}{depth}"] = agreed_mean(other, left, size=left, layers=depth)
    return found


def _left(cloud: Array, depth: int) -> tuple[float, float]:
    """Return the shares of the variance that layers leave with weights recomputed and with weights kept."""
    variance = float(cloud.var(axis=0).sum())
    epsilon = 0.5 * variance / depth
    moved = kept = cloud
    layer = TokenLayer(cloud, epsilon)
    for _ in range(depth):
        moved, kept = advance_tokens(moved, epsilon), layer(kept)
    return float(moved.var(axis=0).sum()) / variance, float(kept.var(axis=0).sum()) / variance
