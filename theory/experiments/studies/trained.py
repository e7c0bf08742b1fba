"""What training makes of metric-attention on the two moons: the learned metric, and one layer against its limit.

Networks are trained here, at the published rate. The law of the points is known, so the layer is compared with its
first order without sampling; ``token`` columns are what the layer does to 100 points drawn from it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table, sweep
from theory.evidence.roundoff import U
from theory.experiments.published import NOISE, moon_sets, train_moons
from theory.metric import MetricScore, softmax_rows
from theory.metric.plane import (
    Chart,
    MoonsLaw,
    chart_of_first_layer,
    count_undecided_pairs,
    first_order,
    flatten_chart,
    layer_change,
    semigroup_change,
    weakest_stretch,
)

Array = NDArray[np.float64]
STAGES = ("before", "after")
EPOCHS = {"quick": 60, "paper": 250}
NETWORKS = {"quick": 32, "paper": 64}
CHARTS = {"quick": 4, "paper": 12}  # networks whose maps and layers are examined
NEAR, FAR = 0.3, 0.9  # taken: how far apart a pair of points is, below one radius of a moon and above the noise
EPSILONS = tuple(2.0**-k for k in range(1, 18, 2))
RUNGS = range(4, 9)  # powers of four by which a bandwidth is below what the law and the weakest stretch allow
POINTS = 8
_SPACING = {"quick": 0.1, "paper": 0.05}
_FEW = 2_000  # pairs that are split before a map that is certainly not injective is given up


def trained_metric(*, scale: str, root: int) -> Table:
    r"""Return averages of the learned metric over the training points of every network, before and after training.

    ``branch`` is :math:`\|U\|\|W\|`. Mean logarithms are: ``stretch``, of the root mean square of the two singular
    values of J; ``shape``, of their ratio; ``contrast``, of :math:`|G(x) - G(y)|/|x - y|` over pairs of different class
    less that over pairs of the same class, at distances from 0.3 to 0.9; ``crossing``, of the length of the direction
    in which the odds of the classes change, relative to that along the boundary, weighted by the product of the
    probabilities of both.
    """
    cases = [{"network": n, "epochs": EPOCHS[scale], "root": root} for n in range(NETWORKS[scale])]
    rows = [row for both in sweep(_averages, cases, pool=scale == "paper") for row in both]
    return _table(Kind.STATISTICAL, rows)


def trained_embedding(*, scale: str, root: int) -> Table:
    """Return what is certain of the map of each network on the rectangle within three standard deviations of the moons.

    ``weakest`` encloses the smallest singular value of the derivative; ``undecided`` counts pairs of rectangles that
    may hold two points of one image, none if the map is an injective immersion. In stage ``flat`` the linear map before
    the trained features of the first network has rank one.
    """
    cases = [{"network": n, "epochs": EPOCHS[scale], "root": root} for n in range(CHARTS[scale])]
    rows = [row for each in sweep(_embedded, cases, pool=scale == "paper") for row in each]
    return _table(Kind.CERTIFIED, rows)


def trained_layer(*, scale: str, root: int) -> Table:
    r"""Return what one layer adds to points, in the plane, and the parts of the operator it tends to, at bandwidths.

    ``change`` is the layer on the law of the points, ``token`` that on 100 points, ``flow`` the semigroup at time
    :math:`\varepsilon/2`, known at :math:`\varepsilon = \frac12` alone; ``laplace``, ``pull`` and ``volume`` are as in
    :class:`theory.metric.plane.arcs.FirstOrder`. The first network has all bandwidths, a ladder of smaller ones, where
    ``rung`` is not zero, and rows at bandwidth zero, for more points, that tell its metric M.
    """
    cases: list[dict[str, Any]] = [
        {"network": n, "stage": stage, "scale": scale, "root": root} for n in range(CHARTS[scale]) for stage in STAGES
    ]
    rows = [row for each in sweep(_layers, cases, pool=scale == "paper") for row in each]
    return _table(Kind.TREND, rows)


@lru_cache(maxsize=64)
def train_charts(seed: int, *, root: int, epochs: int) -> tuple[Chart, Chart]:
    """Train metric-attention on the two moons at the published rate; return its map before and after.

    Parameters
    ----------
    seed : int
        Number of the network.
    root : int
        Entropy of the data and the start.
    epochs : int
        Budget.
    """
    made = train_moons("metric", seed, epochs=epochs, root=root)
    return chart_of_first_layer(made.network, made.before), chart_of_first_layer(made.network, made.after)


def _averages(network: int, epochs: int, root: int) -> list[dict[str, Any]]:
    x, y = (part.reshape(400, -1) for part in moon_sets(network, root=root)[0])
    law, (i, j) = MoonsLaw(NOISE), np.triu_indices(len(x), 1)
    length = np.linalg.norm(x[i] - x[j], axis=1)
    kept = (length > NEAR) & (length < FAR)
    i, j, length = i[kept], j[kept], length[kept]
    other = (y[i] != y[j])[:, 0]
    odds = law.odds(x)
    across = law.across(x)
    along, weight = across[:, ::-1] * np.array([-1.0, 1.0]), odds * (1.0 - odds)
    rows = []
    for stage, chart in zip(STAGES, train_charts(network, root=root, epochs=epochs), strict=True):
        metric = chart.metric(x)
        image = chart(x)
        values = np.linalg.eigvalsh(metric)
        stretch = np.log(np.linalg.norm(image[i] - image[j], axis=1) / length)
        crossing = np.log(_length(metric, across) / _length(metric, along))
        rows.append({
            "network": network,
            "stage": stage,
            "branch": chart.features.branch,
            "stretch": float(0.5 * np.log(values.mean(axis=1)).mean()),
            "shape": float(0.5 * np.log(values[:, 1] / values[:, 0]).mean()),
            "contrast": float(stretch[other].mean() - stretch[~other].mean()),
            "crossing": float(np.average(crossing, weights=weight)),
        })  # fmt: skip
    return rows


def _length(metric: Array, direction: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ni,nij,nj->n", direction, metric, direction)))


def _embedded(network: int, epochs: int, root: int) -> list[dict[str, Any]]:
    box = MoonsLaw(NOISE).box
    before, after = train_charts(network, root=root, epochs=epochs)
    rows = [
        {
            "network": network,
            "stage": stage,
            "undecided": count_undecided_pairs(chart, box),
            "weakest": weakest_stretch(chart, box),
        }
        for stage, chart in zip(STAGES, (before, after), strict=True)
    ]
    if network == 0:
        flat = flatten_chart(after)
        rows.append({
            "network": network, "stage": "flat", "undecided": count_undecided_pairs(flat, box, most=_FEW),
            "weakest": weakest_stretch(flat, box, most=_FEW),
        })  # fmt: skip
    return rows


def _layers(network: int, stage: str, scale: str, root: int) -> list[dict[str, Any]]:
    law = MoonsLaw(NOISE)
    chart = train_charts(network, root=root, epochs=EPOCHS[scale])[STAGES.index(stage)]
    tokens = moon_sets(network, root=root)[1][0][0]
    points = tokens[:POINTS]
    chosen = [(0, epsilon) for epsilon in (EPSILONS if network == 0 else EPSILONS[:1])]
    if network == 0:
        weakest = float(np.linalg.eigvalsh(chart.metric(points)).min())
        chosen += [(k, 2.0 ** (round(np.log2(NOISE**2 * weakest)) - 2 * k)) for k in RUNGS]
    rows = []
    for rung, epsilon in chosen:
        change = layer_change(chart, law, points, epsilon)
        sampled = softmax_rows(MetricScore(chart, epsilon).matrix(points, tokens)) @ tokens - points
        known = (
            semigroup_change(chart, law, points, 0.5 * epsilon, spacing=_SPACING[scale])
            if epsilon == EPSILONS[0]
            else None
        )
        moved = [known.intervals(axis) if known else [Interval.unknown()] * POINTS for axis in (0, 1)]
        found = _rows(chart, law, points, sampled, [change.intervals(axis) for axis in (0, 1)], moved)
        rows += [{"rung": rung, "epsilon": epsilon} | row for row in found]
    if network == 0:
        still = [[Interval.exactly(0.0)] * len(tokens)] * 2
        found = _rows(chart, law, tokens, np.zeros_like(tokens), still, still)
        rows += [{"rung": 0, "epsilon": 0.0} | row for row in found]
    return [{"network": network, "stage": stage} | row for row in rows]


def _rows(
    chart: Chart, law: MoonsLaw, points: Array, tokens: Array, change: list[list[Interval]], flow_: list[list[Interval]]
) -> list[dict[str, Any]]:
    order = first_order(chart, law, points)
    metric = chart.metric(points)
    rows = []
    for k, (x, y) in enumerate(points.tolist()):
        row: dict[str, Any] = {"point": k, "x": x, "y": y}
        row |= {
            f"m_{a}{b}": float(metric[k, i, j]) for a, b, i, j in (("x", "x", 0, 0), ("x", "y", 0, 1), ("y", "y", 1, 1))
        }
        for axis, name in enumerate("xy"):
            row |= {f"change_{name}": change[axis][k], f"flow_{name}": flow_[axis][k]}
            row[f"token_{name}"] = float(tokens[k, axis])
            for part in ("laplace", "pull", "volume"):
                row[f"{part}_{name}"] = Interval.within(float(getattr(order, part)[k, axis]), float(order.error[k]) + U)
        rows.append(row)
    return rows


def _table(kind: Kind, rows: list[dict[str, Any]]) -> Table:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Table(kind, dict.fromkeys(columns, "1"), columns)
