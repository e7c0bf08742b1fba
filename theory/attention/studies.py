"""Sweeps shared by the claims and the figures of this room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.attention import photograph
from theory.attention.kernel import AttentionKernel, Softmatch
from theory.attention.measure import Measure
from theory.attention.output import weight_error
from theory.attention.score import DotProduct
from theory.attention.transport import SelfAttention, step
from theory.evidence import Interval, Kind, Table, stream, sweep

TILT = DotProduct(scale=1.5, form=np.array([[0.9, 0.3], [-0.3, 0.9]]))  # turned a little, so that no row is symmetric
WATCHED = (3, 25, 47)  # queries of which the whole row is kept, one in each cluster
PATCH = (11, 18)  # the row and column of the patch whose attention is kept: an eye of the portrait
HEADS = 4
SHARPNESS = 12.0  # inverse temperature of the photograph's heads, chosen so that a head attends to a few dozen patches


def cloud(root: int) -> Measure:
    """Return sixty tokens of the plane in three clusters, with unequal weights."""
    rng = stream("studies.transport", 0, root=root)
    centres = np.array([[1.5, 0.2], [-0.7, 1.3], [-0.6, -1.2]])
    points = np.repeat(centres, 20, axis=0) + 0.35 * rng.normal(size=(60, 2))
    return Measure.normalised(points, rng.uniform(0.5, 1.5, size=60))


def transport(*, scale: str, root: int) -> Table:  # noqa: ARG001  one size serves both scales
    """Return a cloud, its image under one attention layer, and three rows of the kernel, one line per token.

    The distance between both clouds is computed by whoever reads the table: this room knows no transport solver.
    """
    mu = cloud(root)
    image = step(SelfAttention(TILT), mu)
    rows = Softmatch(TILT, mu).rows(mu.points[list(WATCHED)])
    relative = weight_error(mu.points, mu.points, TILT, np.log(mu.weights))
    columns: dict[str, object] = {
        "weight": mu.weights, "x1": mu.points[:, 0], "x2": mu.points[:, 1],
        "y1": image.points[:, 0], "y2": image.points[:, 1],
    }  # fmt: skip
    for query, row in zip(WATCHED, rows, strict=True):
        columns[f"row{query}"] = [Interval.within(float(p), relative * float(p)) for p in row]
    units = {name: "1" if name[0] in "wr" else "length" for name in columns}
    return Table(Kind.NUMERIC, units, columns)  # type: ignore[arg-type]


def query_index() -> int:
    """Return the number of the watched patch, row by row."""
    return PATCH[0] * photograph.grid()[1] + PATCH[1]


def unit_tokens(head: int, root: int) -> NDArray[np.float64]:
    """Return the photograph's patches under the projection of one head, centred and scaled to unit length."""
    x = photograph.tokens(16, stream("studies.attention_map", head, root=root))
    x -= x.mean(axis=0)
    unit: NDArray[np.float64] = x / np.sqrt(np.einsum("ij,ij->i", x, x))[:, np.newaxis]
    return unit


def attention_map(*, scale: str, root: int) -> Table:  # noqa: ARG001  the picture has one size
    """Return how one patch of the photograph attends to all others, per head of seeded projections."""
    across = photograph.grid()[1]
    score = DotProduct(scale=SHARPNESS)
    columns: dict[str, list[object]] = {name: [] for name in ("head", "row", "column", "weight")}
    for head in range(HEADS):
        x = unit_tokens(head, root)
        weights = Softmatch(score, Measure(x)).rows(x[query_index()][np.newaxis])[0]
        relative = weight_error(x, x, score, np.full(x.shape[0], -np.log(x.shape[0])))
        for patch, p in enumerate(weights.tolist()):
            columns["head"].append(head)
            columns["row"].append(patch // across)
            columns["column"].append(patch % across)
            columns["weight"].append(Interval.within(p, relative * p))
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


QUERY = 0.8  # of the sampled field, in standard deviations of the tokens
BATCHES = 64  # derived: Student's quantile at this level is 9.0 for 16 batches, 6.1 for 64


def _sampled(batch: int, sizes: tuple[int, ...], repetitions: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """Return the first two moments of the field at the query over many clouds, for one batch and every size."""
    rows = []
    for n in sizes:
        outputs = np.empty(repetitions)
        for k in range(repetitions):
            mu = Measure(rng.normal(size=(n, 1)))
            outputs[k] = AttentionKernel(DotProduct(scale=1.0), mu).output([[QUERY]])[0, 0]
        rows.append({"batch": batch, "n": n, "first": outputs.mean(), "second": (outputs**2).mean()})
    return rows


def sampled_field(*, scale: str, root: int) -> Table:
    """Return moments of dot-product attention at one query against iid standard normal tokens, per batch and size."""
    sizes, repetitions = (
        ((256, 512, 1024, 2048, 4096), 30) if scale == "quick" else ((512, 1024, 2048, 4096, 8192, 16384), 200)
    )
    cases = [
        {"batch": b, "sizes": sizes, "repetitions": repetitions, "rng": stream("studies.sampled_field", b, root=root)}
        for b in range(BATCHES)
    ]
    rows = [row for batch in sweep(_sampled, cases, pool=scale == "paper") for row in batch]
    columns = {name: [row[name] for row in rows] for name in ("batch", "n", "first", "second")}
    return Table(Kind.STATISTICAL, {"batch": "1", "n": "1", "first": "length", "second": "length^2"}, columns)
