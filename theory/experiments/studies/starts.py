r"""How much of the variance between tokens is left in the networks of the comparison at their start, block by block.

The networks are those of :mod:`theory.experiments.arms` before the first step, with the parameters that are drawn for
the runs of the same seeds; deeper ones go on drawing. Moons and bodies are the training sets of these runs. For the
images, which are data of another package, stand normal tokens of 64 features with about the same mean and spectrum:
squared length 10.3 of the mean, and variances that fall by a seventh each from two thirds on, which sum to 4.7.

``share`` is the variance between tokens over that before the first block. ``means`` bounds what the averages alone may
vary, over the variance before the block: the mean chi-square divergence of the weights from the law that all queries
share, times the variance under that law; or the number of tokens, which no averages exceed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, Table, exact, stream, sweep
from theory.experiments.arms import SUBJECTS, Arm, Lessons
from theory.metric import (
    CentredTokens,
    SplitScores,
    average_centred,
    centre_tokens,
    row_divergences,
    shared_law,
    split_parameters,
    split_scores,
)
from theory.metric.similarity import Shapes, draw_parameters

Array = NDArray[np.float64]
TASKS = {"moons": "moons", "images": "digits", "meshes": "meshes"}  # and whose sizes and starts they have
KINDS = ("dot", "distance", "metric", "features")
WAYS = ("published", "residual")
_MEAN = 0.4
_SPECTRUM = 2.0 / 3.0 * (6.0 / 7.0) ** np.arange(64)
_STARTS = {"quick": 32, "paper": 64}
_ENCLOSED = {"quick": 1, "paper": 16}
_DEPTH = {"quick": 2, "paper": 4}


class Start(NamedTuple):
    """Tokens before the first block, (n, d), and the parameters of every block."""

    tokens: Array
    parameters: list[list[Array]]


def starts(*, scale: str, root: int) -> Table:
    """Return the decimal logarithm of the share after every block, and of the bound of ``means``, for every start."""
    cases = [
        {"task": task, "similarity": kind, "count": _STARTS[scale], "depth": _DEPTH[scale], "root": root}
        for task in TASKS
        for kind in KINDS
    ]
    rows = [row for part in sweep(_logarithms, cases, pool=scale == "paper") for row in part]
    return Table.from_rows(Kind.STATISTICAL, rows)


def start_blocks(*, scale: str, root: int) -> Table:
    """Return, enclosed, the variance before and after two blocks of a few starts, and the bound of ``means``."""
    rows = [
        {"task": task, "similarity": kind, "way": way, "start": k, "block": block, **found}
        for task in TASKS
        for kind in KINDS
        for k, start in enumerate(draw_starts(task, kind, _ENCLOSED[scale], 2, root))
        for way in WAYS
        for block, found in enumerate(walk(start, kind, way, enclosed=True), start=1)
    ]
    return Table.from_rows(Kind.NUMERIC, rows)


def _logarithms(task: str, similarity: str, count: int, depth: int, root: int) -> list[dict[str, Any]]:
    rows = []
    for k, start in enumerate(draw_starts(task, similarity, count, depth, root)):
        for way in WAYS:
            share = 0.0
            for block, found in enumerate(walk(start, similarity, way), start=1):
                share += float(np.log10(found["after"] / found["before"]))
                means = float(np.log10(found["means"] / found["before"]))
                rows.append(
                    {"task": task, "similarity": similarity, "way": way, "start": k, "block": block,
                     "share": share, "means": means}
                )  # fmt: skip
    return rows


def walk(start: Start, similarity: str, way: str, *, enclosed: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the variance before and after every block, and what bounds that of the averages alone."""
    known = exact if enclosed else np.asarray
    centred = centre_tokens(known(start.tokens))
    for parts in start.parameters:
        scores = split_scores(similarity, [known(part) for part in parts], centred)
        before, most = _spread(centred.offsets), _averages(centred, scores)
        centred = average_centred(centred, scores, residual=way == "residual")
        yield {"before": before, "after": _spread(centred.offsets), "means": most}


def draw_starts(task: str, similarity: str, count: int, depth: int, root: int) -> list[Start]:
    """Return the first starts of a task, with the sizes and the random streams of the comparison."""
    lessons = Lessons(TASKS[task], tuple(range(count)), root=root)
    arm, sizes = Arm("published", similarity), lessons.sizes
    scored, first = arm.scored(sizes), ((sizes.inputs, sizes.dim), (sizes.dim,))
    found = []
    for seed, (ends, inner) in enumerate(zip(lessons.starts(), lessons.inner(arm), strict=True)):
        matrix, bias = _drawn(first, ends)
        tokens = _inputs(task, seed, root) @ matrix + bias
        found.append(Start(tokens, [_drawn(scored, inner) for _ in range(depth)]))
    return found


@lru_cache(maxsize=4)
def _sets(task: str, seed: int, root: int) -> Array:
    tokens, _ = SUBJECTS[task].draw(seed, False, root)["train"]
    return tokens


def _inputs(task: str, start: int, root: int) -> Array:
    """Return a set of tokens: of the training sets of the first seeds, one after another; drawn for the images."""
    if task == "images":
        rng = stream("starts.images", start, root=root)
        tokens: Array = _MEAN + np.sqrt(_SPECTRUM) * rng.standard_normal((100, _SPECTRUM.size))
        return tokens
    count = len(_sets(task, 0, root))
    chosen: Array = _sets(task, start // count, root)[start % count]
    return chosen


def _drawn(shapes: Shapes, rng: np.random.Generator) -> list[Array]:
    return split_parameters(draw_parameters(shapes, rng), shapes)


def _spread(offsets: Array) -> Any:
    away = offsets - offsets.mean(axis=0)
    return np.square(away).sum() / len(away)


def _averages(tokens: CentredTokens, scores: SplitScores) -> Any:
    law = shared_law(scores.common)
    offsets = tokens.offsets - law @ tokens.offsets
    bound = row_divergences(scores).mean() * (law @ np.square(offsets)).sum()
    return np.minimum(bound, len(offsets) * _spread(tokens.offsets))
