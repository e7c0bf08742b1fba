"""The derivatives that training uses are those of the layer: directional derivatives of the printed formula in balls."""

import itertools

import numpy as np

from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import U, gamma, softmax_error
from theory.metric import average_tokens, make_similarity, sizes_of, vjp
from verify.metric.residual import squares, tanh
from verify.textbook import balls, exp, hull

RUAN = ("ruan2024",)
KINDS = ("metric", "l2", "self")
PATH = np.eye(4, dtype=bool) | np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)  # neighbours on a path


def cut(theta, shapes):
    """The parameters, one array after the other."""
    ends = np.cumsum([0, *sizes_of(shapes)])
    return [theta[a:b].reshape(shape) for a, b, shape in zip(ends, ends[1:], shapes, strict=False)]


def kernel(kind, parts, h, visible):
    """The exponentials of the scores of visible pairs as printed, of balls or of power series."""
    if kind == "self":
        scores = (h @ parts[0]) @ (h @ parts[1]).T / ball(parts[0].shape[1]).sqrt()
    elif kind == "l2":
        scores = -squares(h @ parts[0])
    else:
        inner, bias, outer, _ = parts
        scores = -squares(h + tanh(h @ inner + bias) @ outer)
    return exp(scores) * balls(visible.astype(float))


def layer(kind, parts, h, still, visible, *, held=()):
    """The layer of tokens h, where what is held stays that of the tokens and parameters ``still``."""
    now, old = kernel(kind, parts, h, visible), kernel(kind, *still, visible)
    weights = (old if "weights" in held else now) / (old if held else now).sum(axis=1, keepdims=True)
    if "values" in held:
        weights = now / now.sum(axis=1, keepdims=True)
    return weights @ (still[1] if "values" in held else h)


def slack(kind, parts, h, bar, rows):
    """What rounding may do to every entry of the gradients: magnitudes of all terms, times their relative errors.

    Every entry is a sum of products of entries of H, of the parameters, of the cotangent, of weights (three at most)
    and of hyperbolic tangents, for which one stands; a weight is off relatively by what its score is, a tangent by
    four units and the error of its argument.
    """
    n, (h, bar) = len(h), map(np.abs, (h, bar))
    parts = [np.abs(p) for p in parts]
    steep = gamma(h.shape[1] + 2) * float((h @ parts[0] + (parts[1] if kind == "metric" else 0.0)).max()) + 16 * U
    inner = bar @ h.T
    inner = rows * (inner + (rows * inner).sum(axis=1, keepdims=True))
    both = inner + inner.T
    if kind == "self":
        q, k = parts
        size = float(((h @ q) @ (h @ k).T).max())
        found = [both @ h @ (q @ k.T + k @ q.T), h.T @ both @ h @ k, h.T @ both @ h @ q]
    else:
        f = h @ parts[0] if kind == "l2" else h + np.ones((n, parts[0].shape[1])) @ parts[2]
        size, pulled = 4.0 * float((f * f).sum(axis=1).max()), 2.0 * (both @ f + both.sum(axis=1, keepdims=True) * f)
        if kind == "l2":
            found = [pulled @ parts[0].T, h.T @ pulled]
        else:
            back = pulled @ parts[2].T
            found = [pulled + back @ parts[0].T, h.T @ back, back.sum(axis=0), np.ones((parts[0].shape[1], n)) @ pulled,
                     np.zeros(parts[3].size)]  # fmt: skip
    moved = size * (gamma(2 * h.shape[1] + parts[0].shape[1] + 16) + 4.0 * steep)
    relative = 4.0 * softmax_error(moved, 2.0 * size, n) + 8.0 * steep + gamma(4 * n + 4 * parts[0].size + 64)
    found[0] = found[0] + rows.T @ bar
    return [2.0 * relative * part for part in found]


def named(kind, similar):
    """Four tokens in the plane, parameters, and directions."""
    h = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.5], [0.25, 1.25]])
    move, bar = np.roll(h, 1), np.array([[1.0, -0.5], [0.25, 0.5], [-0.75, 1.0], [0.5, 0.25]])
    count = sum(sizes_of(similar.shapes))
    theta = {"metric": 0.5, "l2": 0.75, "self": 1.0}[kind] * np.cos(np.arange(count) * 2.0)
    return theta, np.sin(np.arange(count) + 1.0), h, move, bar


def problems(run):
    """Yield an attention with parameters, tokens, directions, a cotangent and a graph; named ones first."""
    for number, rng in enumerate(run.draws(quick=4, paper=80)):
        for kind in KINDS:
            n, d = (4, 2) if number == 0 else (int(rng.integers(2, 6)), int(rng.integers(1, 4)))
            similar = make_similarity(kind, d, 2 if number == 0 else int(rng.integers(1, 4)))
            theta, way = 0.7 * rng.normal(size=(2, sum(sizes_of(similar.shapes))))
            h, move, bar = rng.normal(size=(3, n, d))
            if number == 0:
                theta, way, h, move, bar = named(kind, similar)
            visible = (rng.uniform(size=(n, n)) < 0.8) | np.eye(n, dtype=bool)
            for graph in (np.ones((4, 4), dtype=bool), PATH) if number == 0 else (visible,):
                yield kind, similar, theta, way, h, move, bar, graph


@verifies(
    Claim(
        "metric.gradient",
        "the analytic gradients of a layer in its tokens and parameters are the derivatives of the printed formula",
        r"$\bar S = S\circ(C - (S\circ C)\mathbf 1\mathbf 1^\top)$, $C = \bar YH^\top$: $\frac d{dt}\langle\bar Y, S(H_t, \theta_t)H_t\rangle = \langle\dot H, S^\top\bar Y + \partial_Ha^*\bar S\rangle + \langle\dot\theta, \partial_\theta a^*\bar S\rangle$, for metric, L2 and self-attention, masked or not",
        assumptions=("finite tokens and parameters", "every query sees a key"),
        spec=("DL.E1", "DL.E2"),
        cites=RUAN,
        provenance=("derived",),
    ),
    bug("no-values", "the tokens that are averaged are taken for constants", held=("values",)),
    bug("no-weights", "the weights are taken for constants", held=("weights",)),
    bug("no-sums", "the row sums are taken for constants: S o C without its sums", held=("sums",)),
    constant("half", "the gradient in the parameters is half as large", factor=0.5),
    hypothesis("complete", "the graph is complete", complete=True),
)
def test_gradient(run, *, held=(), factor=1.0, complete=False):
    t = variable(2)
    for kind, similar, theta, way, h, move, bar, visible in problems(run):
        tokens, slopes = vjp(similar, theta, h, bar, mask=visible)
        rows = np.abs(_rows(similar, theta, h, visible))
        seen = np.ones_like(visible) if complete else visible
        at = [balls(p) for p in cut(theta, similar.shapes)]
        along = [p + balls(v) * t for p, v in zip(at, cut(way, similar.shapes), strict=True)]
        moving, still = balls(h) + balls(move) * t, (at, balls(h))
        errors = slack(kind, cut(theta, similar.shapes), h, bar, rows)
        case = {"attention": kind, "n": len(h), "d": h.shape[1], "masked": not bool(visible.all())}
        for part, found, direction, error, claimed in (
            ("tokens", tokens, move, errors[0], layer(kind, at, moving, still, seen, held=held)),
            (
                "parameters",
                slopes,
                way,
                np.concatenate([e.ravel() for e in errors[1:]]),
                layer(kind, along, balls(h), still, seen),
            ),
        ):
            value = float((found * direction).sum())
            # and the sum itself
            width = float((error * np.abs(direction)).sum()) + gamma(found.size) * float(
                np.abs(found * direction).sum()
            )
            exact = hull(coefficient((balls(bar) * claimed).sum(), 1)) * (factor if part == "parameters" else 1.0)
            yield equals(Interval.within(value, width), exact, scale=1 + abs(exact), part=part, **case)


def _rows(similar, theta, h, visible):
    """The weights in float64, whose sizes the widths need."""
    scores = np.where(visible, similar.scores(theta, h), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@verifies(
    Claim(
        "metric.differences",
        "central differences of the layer itself tend to the same gradients at order two in the step",
        r"$\frac1{2s}\langle\bar Y, F(H + s\dot H, \theta + s\dot\theta) - F(H - s\dot H, \theta - s\dot\theta)\rangle \to \langle\dot H, \bar H\rangle + \langle\dot\theta, \bar\theta\rangle$, error $O(s^2)$",
        assumptions=("four tokens in the plane, three attentions",),
        spec=("DL.E1",),
        cites=RUAN,
        provenance=("derived",),
    ),
    constant("order", "the error is of order one", power=1),
    bug("one-sided", "the difference is taken on one side, over the same step", sides=(0.0, 1.0)),
    hypothesis("tokens", "the parameters stay", shared=False),
)
def test_differences(run, *, power=2, sides=(-1.0, 1.0), shared=True):
    for kind, similar, theta, way, h, move, bar, visible in itertools.islice(problems(run), 0, 2 * len(KINDS), 2):
        tokens, slopes = vjp(similar, theta, h, bar, mask=visible)
        exact = float((tokens * move).sum() + (slopes * way).sum())
        error = slack(kind, cut(theta, similar.shapes), h, bar, _rows(similar, theta, h, visible))
        width = sum(float(np.abs(e).sum()) * 4.0 for e in error)
        claimed = Interval.within(exact, width)
        quotients = []
        for k in range(4, 10):
            s = 2.0**-k
            ends = [
                average_tokens(similar, theta + side * s * way * shared, h + side * s * move, mask=visible)
                for side in sides
            ]
            difference = float((bar * (ends[1] - ends[0])).sum())
            loose = width + 512 * U * float(np.abs(bar).sum()) * float(np.abs(h).max())
            quotients.append(Interval.within(difference, loose) / Interval.exactly(2.0 * s))
        yield equals(limit(quotients, order=2), claimed, scale=1 + abs(claimed), attention=kind)
        yield equals(order([q - claimed for q in quotients[:5]]), power, scale=1, attention=kind, part="order")
