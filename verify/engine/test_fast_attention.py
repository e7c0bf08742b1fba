"""Attention at less than the cost of all pairs: keys that are dropped, fast sums, local sums, and transport at scale."""

import numpy as np

from theory import Measure, engine
from theory.attention import (
    DotProduct,
    Softmatch,
    SquaredDistance,
    TorusDistance,
    boltzmann_gibbs,
    partition_error,
    rounding,
)
from theory.engine import Form, Pairs
from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, exact, hypothesis, outcome, verifies
from theory.evidence.once import once
from theory.evidence.roundoff import discrepancy
from verify import inputs, textbook
from verify.textbook import balls, gap, hull


@verifies(
    Claim(
        "markov.key-tilt",
        "dot-product attention is Gaussian attention with keys re-weighted by exp(|k|^2 / 2)",
        r"$\mathrm{softmax}_j\langle q, k_j\rangle = \mathrm{softmax}_j(-\frac12|q - k_j|^2 + \frac12|k_j|^2)$; a score $a(x)$ of the query alone changes nothing",
        assumptions=("finite tokens",),
        spec=("DL.A3", "RA.G13"),
        source_status=("derived",),
    ),
    bug("untilted", "the keys keep their weights", tilt=0.0),
    constant("near", "the tilt is one per cent too small", tilt=0.99),
    hypothesis("key-gauge", "a score of the key alone is added, and taken to change nothing either", gauge=1.0),
)
def test_key_tilt(run, *, tilt=1.0, gauge=0.0):
    for p in inputs.problems(run, quick=8, paper=200):
        nu = Measure.normalised(p.keys, p.masses)
        present = nu.weights > 0.0
        squares = (exact(nu.points) ** 2).sum(axis=1)
        potential = ball(tilt) / 2 * squares + gauge * np.cos(np.arange(nu.size))
        tilted = boltzmann_gibbs(nu.enclosed(), potential)
        measured = Softmatch(SquaredDistance(0.5), tilted).rows(exact(p.queries))[:, present]
        own = balls(np.sin(np.arange(len(p.queries))))[:, np.newaxis]
        scores = textbook.dot_scores(p.queries, nu.points[present], beta=1.0) + own
        yield equals(measured, textbook.laws(scores, nu.weights[present]), scale=1, **p.case)


FORMS = {
    "circle": (1, TorusDistance(50.0), lambda x, y: textbook.torus_scores(x, y, beta=50.0)),
    "torus": (2, TorusDistance(4.0), lambda x, y: textbook.torus_scores(x, y, beta=4.0)),
    "line": (1, SquaredDistance(8.0), lambda x, y: textbook.distance_scores(x, y, beta=8.0)),
    "space": (3, SquaredDistance(0.8), lambda x, y: textbook.distance_scores(x, y, beta=0.8)),
    "dot": (2, DotProduct(scale=0.8), lambda x, y: textbook.dot_scores(x, y, beta=0.8)),
}

UNEVEN = {
    "clusters": (2, SquaredDistance(50.0), lambda x, y: textbook.distance_scores(x, y, beta=50.0)),
    "far queries": (3, SquaredDistance(2.0), lambda x, y: textbook.distance_scores(x, y, beta=2.0)),
    "steep": (2, DotProduct(scale=30.0), lambda x, y: textbook.dot_scores(x, y, beta=30.0)),
}


def uneven(name, n, d, rng):
    """Return queries and keys whose partitions differ by many orders; the first query has one of the smallest."""
    x = rng.normal(size=(n, d))
    x[0] = 1.0
    if name == "clusters":
        x[n // 10 :] = 3.0 + 0.01 * x[n // 10 :]
    far = np.where(np.arange(n) % 10 == 0, 6.0, 1.0)[:, np.newaxis]
    return (far * x if name == "far queries" else x), x


@once
def written(form, x, v, some):
    """Outputs and logarithms of partitions of some queries as they are printed."""
    scores = FORMS[form][2](x[some], x)
    return textbook.average(scores, v), textbook.log(textbook.exp(scores).sum(axis=1))


@once
def dense_of(score, x, v):
    """Outputs and logarithms of partitions by the dense method."""
    return engine.attention(score.pairs(x, x), v)


@verifies(
    Claim(
        "engine.fast-sums",
        "attention by non-uniform Fourier transforms keeps the accuracy that it promises",
        r"$|\tilde o_i - o_i| \le \alpha \max_j |v_j|$ for $\alpha = 10^{-12}, 10^{-6}$, on circle, torus, line and space, for distances and dot products; over cells also for clusters of density ratio $10^4$, far queries, and dot products of scale times variance 30, beyond rounding",
        assumptions=("at most three dimensions",),
        cites=("barnett2019",),
        source_status=("derived",),
    ),
    bug("untilted", "the keys of a dot product lose the weight exp(|k|^2 / 2)", tilted=False),
    hypothesis("cut", "the circle is cut open and taken for a line", wrapped=False),
    constant("loose", "the sums are computed to an accuracy a million times looser", loose=1e6),
    bug("shared", "a row is right to a share of the largest partition, not of its own", shared=True),
)
def test_fast_sums(run, *, tilted=True, wrapped=True, loose=1.0, shared=False):
    n = run.pick(quick=1200, paper=6000)
    for (form, (d, score, _)), rng in zip(FORMS.items(), run.streams(len(FORMS)), strict=True):
        x = rng.uniform(-4.0, 9.0, size=(n, d)) if isinstance(score, TorusDistance) else rng.normal(size=(n, d))
        v = rng.normal(size=(n, 2)) + 3.0
        pairs = score.pairs(x, x)
        if form == "dot" and not tilted:
            pairs = Pairs(Form.DISTANCE, x, x, pairs.coefficients / 2)
        if form == "circle" and not wrapped:
            pairs = Pairs(Form.DISTANCE, x, x, pairs.coefficients)
        some = np.array([0, n // 2])
        size = float(np.abs(v).max())
        claimed, partition = written(form, x, v, some)
        dense = dense_of(score, x, v)
        rounds = rounding(x, x, v, score=score), partition_error(x, x, score)
        for accuracy in (1e-12, 1e-6):
            found = engine.attention(pairs, v, method="nufft", accuracy=min(loose * accuracy, 0.1))
            case = {"form": form, "n": n, "accuracy": accuracy}
            yield outcome(at_most(gap(found.output[some], claimed) / size, accuracy, part="output", **case))
            logs = gap(found.log_partition[some], partition) - rounds[1]  # what the exponents round is not promised
            yield outcome(at_most(logs, accuracy, part="log-partition", **case))
            if accuracy > 1e-9:  # every row, against the dense method within its own rounding
                off = discrepancy(found.output, dense.output, rounds[0]) / size
                yield outcome(at_most(off, accuracy, part="output", rows=n, **case))
                off = discrepancy(found.log_partition, dense.log_partition, rounds[1])
                yield outcome(at_most(off, accuracy, part="log-partition", rows=n, **case))
    for (name, (d, score, exact_scores)), rng in zip(UNEVEN.items(), run.streams(len(UNEVEN)), strict=True):
        x, y = uneven(name, n // 2, d, rng)
        v = rng.normal(size=(n // 2, 2)) + 3.0
        some = np.array([0, n // 4])
        size = float(np.abs(v).max())
        scores = exact_scores(x[some], y)
        claimed = textbook.average(scores, v)
        partition = textbook.log(textbook.exp(scores).sum(axis=1))
        dense = engine.attention(score.pairs(x, y), v)
        rounds = rounding(x, y, v, score=score), partition_error(x, y, score)
        for accuracy in (1e-12, 1e-6):
            found = engine.attention(score.pairs(x, y), v, method="cells", accuracy=min(loose * accuracy, 0.1))
            case = {"input": name, "n": n // 2, "accuracy": accuracy}
            fall = np.minimum(found.log_partition.max() - found.log_partition, 10.0)
            output = found.output + (accuracy * size * np.exp(fall)[:, np.newaxis] if shared else 0.0)
            beyond = gap(output[some], claimed) - rounds[0]
            yield outcome(at_most(beyond / size, accuracy, part="output", **case))
            logs = gap(found.log_partition[some], partition) - rounds[1]
            yield outcome(at_most(logs, accuracy, part="log-partition", **case))
            if accuracy > 1e-9:
                off = discrepancy(output, dense.output, rounds[0]) / size
                yield outcome(at_most(off, accuracy, part="output", rows=n // 2, **case))
                off = discrepancy(found.log_partition, dense.log_partition, rounds[1])
                yield outcome(at_most(off, accuracy, part="log-partition", rows=n // 2, **case))


CLOUDS = ((1, 3000.0), (2, 200.0), (3, 60.0), (5, 20.0))  # dimensions and sharpness; of the last none is dropped
PLACE = 80  # keys in one place, more than a leaf of the tree holds, so that a block is a place and its radius is zero


def crowds(run):
    """Queries near one another in a cloud of keys, and no log-weights."""
    n = run.pick(quick=800, paper=3000)
    for (d, scale), rng in zip(CLOUDS, run.streams(len(CLOUDS)), strict=True):
        x = rng.normal(size=(n, d))
        queries = x[np.argsort(((x - x[0]) ** 2).sum(axis=1))[:60:15]]
        scores = textbook.distance_scores(queries, x, beta=scale)
        for accuracy in (1e-12, 1e-7):
            yield "cloud", SquaredDistance(scale), queries, x, np.zeros(n), scores, accuracy


def places():
    """Keys in two places: what the farther one weighs is just below or just above what may be dropped."""
    rows = np.repeat([0, 1], PLACE)
    for accuracy in (1e-12, 1e-7, 1e-2):
        for share in (0.499, 0.501):
            # the farther keys are also heavier: their score and their log-weight make up the share together
            heavier = np.log([1.0, 20.0])[rows]
            away = np.sqrt(np.log(20.0 / (share * accuracy)))
            x = np.array([[0.0, 0.0], [0.6 * away, -0.8 * away]])[rows]
            scores = textbook.distance_scores(x[:1], x, beta=1.0)
            yield "two places", SquaredDistance(1.0), x[:3], x, heavier, scores, accuracy
            turn = 2.0 * np.arcsin(away / 16.0)
            x = np.array([[3.0], [3.0 + turn]])[rows]
            scores = textbook.torus_scores(x[:1], x, beta=64.0)
            yield "two angles", TorusDistance(64.0), x[:3], x, heavier, scores, accuracy


@verifies(
    Claim(
        "engine.local-sums",
        "keys that are dropped because they are far bring no more than is reported, and that no more than is promised",
        r"beyond rounding $|\tilde o_i - o_i| \le 2\,p_i(D) \max_j |v_j| \le r \max_j |v_j|$ and $|\log\tilde Z_i - \log Z_i| \le -\log(1 - \frac r2)$ with $r \le \alpha$ reported; for keys in two places $r \le (1 + 10^{-9})\,2\,p(D)$",
        assumptions=("a squared-distance score, or that of the torus",),
        source_status=("derived",),
    ),
    constant("loose", "blocks are dropped as for an accuracy three times looser", loose=3.0),
    constant("understated", "one per cent less is reported", stated=0.99),
    constant("overstated", "one per cent more is reported", stated=1.01),
    bug("nearest", "only the two nearest keys are kept", nearest=2),
)
def test_local_sums(run, *, loose=1.0, stated=1.0, nearest=0):
    for name, score, queries, keys, added, scores, accuracy in (*crowds(run), *places()):
        n = keys.shape[0]
        case = {"input": name, "d": keys.shape[1], "accuracy": accuracy}
        # a value of each key tells which are summed; the first is minus one at the nearer place, and one at the other
        first = np.where(np.arange(n) < PLACE, -1.0, 1.0)
        pairs = score.pairs(queries, keys)
        found = engine.attention(
            pairs, np.column_stack([first, np.eye(n)]), log_weights=added, method="local", accuracy=loose * accuracy
        )
        output = found.output[:, 0]
        partition = found.log_partition
        reported = Interval.exactly(found.error) * stated
        kept = found.output[:, 1:] > 0.0
        if nearest:
            kept = np.argsort(np.argsort(-engine.weights(pairs), axis=1, kind="stable"), axis=1) < nearest
            few = [
                engine.attention(score.pairs(q[np.newaxis], keys[k]), first[k, np.newaxis], log_weights=added[k])
                for q, k in zip(queries, kept, strict=True)
            ]
            output, partition = (np.concatenate([part[i].ravel() for part in few]) for i in (0, 1))
        yield outcome(at_most(reported, accuracy, part="promise", **case))
        weights = textbook.exp(scores) * textbook.exp(balls(added))
        mass = weights.sum(axis=1)
        for i in range(scores.shape[0]):
            none = 0 * mass[i]
            dropped = 2 * ((weights[i, ~kept[i]].sum() + none) / mass[i])
            yield outcome(at_most(hull(dropped), reported, scale=accuracy, part="mass", **case))
            if name != "cloud" and hull(dropped).lo > 0.0:  # radii are zero, and nothing is left to bound
                yield outcome(at_most(reported, hull(dropped) * (1.0 + 1e-9), part="attained", **case))
            # what the kept keys round is that of the dense method, and is not counted
            q, k, logs = queries[i : i + 1], keys[kept[i]], added[kept[i]]
            rounds = rounding(q, k, first[kept[i], np.newaxis], score=score, weights=np.exp(logs))
            beyond = gap(output[i : i + 1], weights[i : i + 1] @ balls(first) / mass[i]) - rounds
            yield outcome(at_most(beyond, reported, scale=accuracy, part="output", **case))
            apart = gap(partition[i : i + 1], textbook.log(mass[i : i + 1]))
            fall = -np.log(1 - ball(found.error) * ball(stated) / 2)
            yield outcome(
                at_most(apart - partition_error(q, k, score, logs), fall, scale=accuracy, part="partition", **case)
            )
