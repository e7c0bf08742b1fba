"""The derivatives that training uses are those of the layer: directional derivatives of the printed formula in balls."""

import itertools

import numpy as np

from theory.evidence import Claim, ball, balls, bug, constant, equals, exact, hull, hypothesis, limit, order, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.metric import average_tokens, make_similarity, sizes_of, split_parameters, vjp
from verify.textbook import squares, tanh_series

RUAN = ("ruan2024",)
KINDS = ("metric", "l2", "self")
PATH = np.eye(4, dtype=bool) | np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)  # neighbours on a path


def kernel(kind, parts, h, mask):
    """The exponentials of the scores of visible pairs as printed, of balls or of power series."""
    if kind == "self":
        scores = (h @ parts[0]) @ (h @ parts[1]).T / np.sqrt(ball(parts[0].shape[1]))
    elif kind == "l2":
        scores = -squares(h @ parts[0])
    else:
        inner, bias, outer, _ = parts
        scores = -squares(h + tanh_series(h @ inner + bias) @ outer)
    return np.exp(scores) * balls(mask.astype(float))


def layer(kind, parts, h, start, mask, *, held=()):
    """The layer of tokens h, where what is held stays that of the parameters and tokens at the ``start``."""
    now, before = kernel(kind, parts, h, mask), kernel(kind, *start, mask)
    if "values" in held:
        return now / now.sum(axis=1, keepdims=True) @ start[1]
    exponentials = before if "weights" in held else now
    sums = before if held else now
    return exponentials / sums.sum(axis=1, keepdims=True) @ h


def named(kind, similar):
    """Four tokens in the plane, parameters, and directions."""
    h = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.5], [0.25, 1.25]])
    move = np.roll(h, 1)
    bar = np.array([[1.0, -0.5], [0.25, 0.5], [-0.75, 1.0], [0.5, 0.25]])
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
            mask = (rng.uniform(size=(n, n)) < 0.8) | np.eye(n, dtype=bool)
            for graph in (np.ones((4, 4), dtype=bool), PATH) if number == 0 else (mask,):
                yield kind, similar, theta, way, h, move, bar, graph


@verifies(
    Claim(
        "metric.gradient",
        "the analytic gradients of a layer in its tokens and parameters are the derivatives of the printed formula",
        r"$\frac d{dt}\langle\bar Y, S(H_t, \theta_t)H_t\rangle = \langle\dot H, S^\top\bar Y + \partial_Ha^*\bar S\rangle + \langle\dot\theta, \partial_\theta a^*\bar S\rangle$ with $\bar S = S\circ(C - (S\circ C)\mathbf 1\mathbf 1^\top)$, $C = \bar YH^\top$",
        remark=r"for metric, L2 and self-attention, masked or not",
        assumptions=("finite tokens and parameters", "every query sees a key"),
        spec=("DL.E1", "DL.E2"),
        cites=RUAN,
        source_status=("derived",),
    ),
    bug("no-values", "the tokens that are averaged are taken for constants", held=("values",)),
    bug("no-weights", "the weights are taken for constants", held=("weights",)),
    bug("no-sums", "the row sums are taken for constants: S o C without its sums", held=("sums",)),
    constant("half", "the gradient in the parameters is half as large", factor=0.5),
    hypothesis("complete", "the graph is complete", complete=True),
)
def test_gradient(run, *, held=(), factor=1.0, complete=False):
    t = variable(2)
    for kind, similar, theta, way, h, move, bar, mask in problems(run):
        tokens, slopes = vjp(similar, theta, exact(h), bar, mask=mask)
        seen = np.ones_like(mask) if complete else mask
        at = split_parameters(balls(theta), similar.shapes)
        along = split_parameters(balls(theta) + balls(way) * t, similar.shapes)
        moving = layer(kind, at, balls(h) + balls(move) * t, (at, balls(h)), seen, held=held)
        turning = layer(kind, along, balls(h), (at, balls(h)), seen)
        rates = {
            "tokens": ((tokens * move).sum(), coefficient((balls(bar) * moving).sum(), 1)),
            "parameters": ((slopes * way).sum(), factor * coefficient((balls(bar) * turning).sum(), 1)),
        }
        case = {"attention": kind, "n": len(h), "d": h.shape[1], "masked": not bool(mask.all())}
        for part, (found, claimed) in rates.items():
            yield equals(found, claimed, scale=1 + abs(hull(claimed)), part=part, **case)


@verifies(
    Claim(
        "metric.differences",
        "central differences of the layer itself tend to the same gradients at order two in the step",
        r"$\frac1{2s}\langle\bar Y, F(H + s\dot H, \theta + s\dot\theta) - F(H - s\dot H, \theta - s\dot\theta)\rangle \to \langle\dot H, \bar H\rangle + \langle\dot\theta, \bar\theta\rangle$, error $O(s^2)$",
        assumptions=("four tokens in the plane, three attentions",),
        spec=("DL.E1",),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("order", "the error is of order one", power=1),
    bug("one-sided", "the difference is taken on one side, over the same step", sides=(0.0, 1.0)),
    hypothesis("tokens", "the parameters stay", shared=False),
)
def test_differences(run, *, power=2, sides=(-1.0, 1.0), shared=True):
    for kind, similar, theta, way, h, move, bar, mask in itertools.islice(problems(run), 0, 2 * len(KINDS), 2):
        tokens, slopes = vjp(similar, theta, exact(h), bar, mask=mask)
        claimed = (tokens * move).sum() + (slopes * way).sum()
        quotients = []
        for step in 2.0 ** -np.arange(4.0, 10.0):
            ends = [
                average_tokens(
                    similar, theta + side * step * shared * exact(way), h + side * step * exact(move), mask=mask
                )
                for side in sides
            ]
            quotients.append((bar * (ends[1] - ends[0])).sum() / (2.0 * step))
        yield equals(limit(quotients, order=2), claimed, scale=1 + abs(claimed), attention=kind)
        yield equals(order([q - claimed for q in quotients[:5]]), power, scale=1, attention=kind, part="order")
