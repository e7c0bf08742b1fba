"""Certificates of blocks of a transformer: norms, attention, feed-forward parts and residuals, one after another."""

import math

import numpy as np

from theory.attention import Measure
from theory.distance import w1
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    balls,
    bug,
    constant,
    hull,
    hypothesis,
    norm,
    precision,
    verifies,
)
from theory.lipschitz import displacement
from theory.lipschitz.certificate import certify_blocks
from verify.inputs import FLOOR, draw_cloud, push_within

UNITS = (1.0, 2.0**-20, 2.0**20)  # of tokens, with the root of eps
PEAKS = {"relu": 1.0, "gelu": math.sqrt(2.0), "gelu-tanh": 1.4185040087908284, "silu": 2.3993572805154668}
METRICS = {"W1": 1.0, "W2": 2.0, "Winf": math.inf, "mean": 1.0, "max": math.inf, "frobenius": 2.0}
SMALL = 2.0**-16  # of the root of eps: a norm is nearly linear there


def each(name, x):
    """Apply a method to every ball of an array."""
    return np.frompyfunc(lambda ball: getattr(ball, name)(), 1, 1)(x)


def activated(name, t):
    """An activation as it is printed."""
    if name == "relu":
        return np.frompyfunc(lambda ball: ball.max(0), 1, 1)(t)
    if name == "silu":
        return t / (1 + each("exp", -t))
    if name == "gelu":
        return t * (1 + each("erf", t / ball(2.0).sqrt())) / 2
    pi = 4 * ball(1.0).atan()
    inner = (2 / pi).sqrt() * (t + ball(0.044715) * t * t * t)
    return t / 2 * (1 + each("tanh", inner))


def normed(weights, at, x, kind, eps):
    """A norm of tokens as it is printed."""
    centred = x - x.mean(axis=1, keepdims=True) if kind == "layer" else x
    spread = each("sqrt", (centred * centred).mean(axis=1, keepdims=True) + ball(eps))
    gain, shift = weights.get(f"gain_{at}"), weights.get(f"shift_{at}")
    y = centred / spread
    y = y if gain is None else y * balls(gain)
    return y if shift is None else y + balls(shift)


def attended(weights, x, masses, heads):
    """Attention in several heads as it is printed, with biases."""
    q, k, v = (
        x @ balls(weights[f"w_{name}"].T) + balls(weights.get(f"b_{name}", np.zeros(len(weights[f"w_{name}"]))))
        for name in ("query", "key", "value")
    )
    size = q.shape[1] // heads
    outs = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        raw = each("exp", q[:, part] @ k[:, part].T / ball(float(size)).sqrt()) * balls(masses)
        outs.append((raw / raw.sum(axis=1, keepdims=True)) @ v[:, part])
    joined = np.concatenate(outs, axis=1) @ balls(weights["w_out"].T)
    return joined + balls(weights["b_out"]) if "b_out" in weights else joined


def fed(weights, x, activation):
    """A feed-forward part as it is printed, gated or not."""

    def affine(name, y):
        return y @ balls(weights[f"w_{name}"].T) + balls(weights.get(f"b_{name}", np.zeros(len(weights[f"w_{name}"]))))

    if "w_gate" not in weights:
        return affine("down", activated(activation, affine("up", x)))
    return affine("down", activated(activation, affine("gate", x)) * affine("up", x))


def images(stack, x, masses, *, order, kind, eps, activation, heads, residual):
    """Tokens after all blocks, as they are printed."""
    y = balls(x)
    for weights in stack:
        for at, part in ((1, lambda z, w=weights: attended(w, z, masses, heads)),
                         (2, lambda z, w=weights: fed(w, z, activation))):  # fmt: skip
            if at == 2 and "w_up" not in weights:
                continue
            into = normed(weights, at, y, kind, eps) if order == "pre" else y
            out = part(into) + y if residual else part(into)
            y = normed(weights, at, out, kind, eps) if order == "post" else out
    return y


PLAIN = {"order": "pre", "kind": "rms", "activation": "relu", "heads": 1, "residual": True}


def line(value, wide, *, gain=1.0, shift=None, **more):
    """A block on the line that attends to all tokens alike."""
    found = {name: np.zeros((1, 1)) for name in ("w_query", "w_key")} | {
        "w_value": np.eye(1) * value,
        "w_out": np.eye(1),
    }
    found |= {"w_up": np.eye(1), "w_down": np.eye(1) * wide, **more}
    if gain is not None:
        found |= {"gain_1": np.array([gain]), "gain_2": np.array([gain])}
    return found | ({} if shift is None else {"shift_2": np.array([shift])})


def spread_out(matrix, d):
    """Return a matrix on tokens of d numbers that acts on them as one number does."""
    return matrix * np.eye(d)


def witnesses(reach, closer):
    """Yield a name, blocks, options, radius, least variance, and two places of tokens that move on together.

    All constants of these are attained, up to a part in a million, but for the shift, to an eighth.
    """
    for unit in UNITS:
        eps, h = (unit / 4.0) ** 2, unit * SMALL
        zero, near = np.zeros((1, 1)), np.full((1, 1), h)
        size = unit / 4.0  # of values: z is of no unit
        one = line(2.0 * size, 3.0 * size, gain=3.0)
        for count in (1, 3):
            yield f"{count} blocks", [one] * count, {"eps": eps}, None, 0.0, zero, near * 2.0 ** (-12 * (count - 1))
        yield "post", [line(2.0, 3.0, gain=3.0 * size)], {"order": "post", "eps": eps}, unit, 0.0, zero, near
        flat = np.array([[1.0, -1.0]])
        pair = {name: spread_out(m[0, 0], 2) for name, m in line(2.0 * size, 3.0 * size, gain=None).items()}
        pair["w_up"] = np.array([[1.0, -1.0], [0.0, 0.0]]) / math.sqrt(2.0)
        pair["w_down"] = np.array([[1.0, 0.0], [-1.0, 0.0]]) * 3.0 * size / math.sqrt(2.0)
        yield "layer norm", [pair], {"kind": "layer", "eps": eps}, None, 0.0, 0.0 * flat, h * flat
        for name, peak in PEAKS.items():
            kinked = {} if name == "relu" else {"b_up": np.array([peak])}
            bent = line(1.0, 3.0, gain=None, **kinked) | {"w_up": np.eye(1) / unit, "w_down": 3.0 * unit * np.eye(1)}
            only = {"order": "none", "eps": None, "activation": name}
            yield f"activation {name}", [bent], only, unit, 0.0, zero, near
        gated = {"w_gate": np.eye(1), "w_down": np.eye(1) * 3.0 * size}
        yield "shift", [line(size, 1.0, shift=8.0, gain=1.0) | gated], {"eps": eps}, None, 0.0, zero, near
        far = reach * unit * np.ones((1, 1))
        inside = line(1.0, 1.0, gain=None) | {"w_gate": np.eye(1) / unit}
        yield "ball", [inside], {"order": "none", "eps": None}, unit, 0.0, far * (1.0 - SMALL), far
        # finite: the ends of a diameter are stretched as much as nearby tokens there could be
        alone = {
            name: m for name, m in line(2.0 * size, 0.0, gain=3.0).items() if not name.endswith(("up", "down", "_2"))
        }
        ends = closer * 0.5 * unit * np.ones((1, 1))
        yield "variance", [alone], {"eps": eps}, None, (0.5 * unit) ** 2, -ends, ends


def longest(unit):
    """Yield weights, their kind and eps, and a token that their norm makes as long as any."""
    gain, shift = np.array([3.0, 1.0, -2.0]), np.array([1.0, 0.5, -2.0])
    found = {name: np.zeros((3, 3)) for name in ("w_query", "w_key", "w_value", "w_out")}
    found |= {"gain_1": gain, "shift_1": shift}
    for kind in ("rms", "layer"):
        z = np.array([1.0, 0.0, 1.0])
        for _ in range(3000):  # each step makes it longer
            z = gain * (gain * z + shift)
            z = z - z.mean() if kind == "layer" else z
            z = z / np.linalg.norm(z)
        yield found, kind, (unit * 2.0**-20) ** 2, unit * z[np.newaxis]


_CONSTANTS = {}  # certified once for a claim and its twins


def certified(stack, radius, n, options, **more):
    """The certificate of a stack."""
    arrays = (name + str(array.shape) + array.tobytes().hex() for weights in stack for name, array in weights.items())
    key = (*arrays, radius, n, *options.items(), *more.items())
    if key not in _CONSTANTS:
        asked = {"norm": options["order"], **{k: v for k, v in options.items() if k != "order"}}
        _CONSTANTS[key] = certify_blocks(stack, radius=radius, n=n, search=False, **(asked | more))
    return _CONSTANTS[key]


_MEASURED = {}  # once for a claim and its twins


def pushed(run, reach):
    """List blocks, options, radius, number of tokens, sizes before and after by metric, and the case."""
    key = (run.scale, run.root, reach)
    if key in _MEASURED:
        return _MEASURED[key]
    kept = _MEASURED[key] = []
    for k, rng in enumerate(run.draws(quick=18, paper=120)):
        stack, options, d = drawn(rng, k)
        n, radius = int(rng.integers(2, 6)), float(rng.uniform(0.5, 1.5))
        x = draw_cloud(rng, n, d, reach * radius)
        y = push_within(rng, x, reach * radius)
        even = k % 2 == 0
        masses = np.ones(n) if even else rng.dirichlet(np.full(n, 0.5)) + 1e-3
        if displacement(x, y).lo < FLOOR * radius:
            continue
        with precision():
            first, second = (hull(images(stack, z, masses, **options)) for z in (x, y))
        sizes = {"W1": tuple(w1(*(Measure.normalised(z, masses) for z in pair)) for pair in ((x, y), (first, second)))}
        if even:
            powers = (("mean", 1.0), ("max", math.inf), ("frobenius", 2.0))
            sizes |= {m: (displacement(x, y, p), displacement(first, second, p)) for m, p in powers}
        kept.append((stack, options, radius, n if even else None, sizes, {"draw": k, "order": options["order"]}))
    return kept


def drawn(rng, k):
    """Draw one or two blocks of any kind."""
    d, heads, order = 2 + k % 3, 1 + k % 2, ("pre", "post", "none")[k // 2 % 3]
    activation, kind = list(PEAKS)[k % 4], ("layer", "rms")[k // 3 % 2]
    stack = []
    for _ in range(1 + k % 2):
        shapes = {"query": (2 * heads, d), "key": (2 * heads, d), "value": (2 * heads, d), "out": (d, 2 * heads)}
        found = {f"w_{name}": 0.5 * rng.normal(size=shape) for name, shape in shapes.items()}
        found |= {f"b_{name}": 0.3 * rng.normal(size=shape[0]) for name, shape in shapes.items()}
        wide = {"up": (3, d), "down": (d, 3)} | ({"gate": (3, d)} if k % 5 < 2 else {})
        found |= {f"w_{name}": 0.7 * rng.normal(size=shape) for name, shape in wide.items()}
        found |= {f"b_{name}": 0.5 * rng.normal(size=shape[0]) for name, shape in wide.items()}
        if order != "none":
            found |= {f"{name}_{at}": rng.normal(size=d) for name in ("gain", "shift") for at in (1, 2)}
        stack.append(found)
    eps = None if order == "none" else float(rng.choice([0.01, 0.3, 1.0]))
    return stack, {**PLAIN, "order": order, "kind": kind, "eps": eps, "activation": activation, "heads": heads}, d


def told(stack, options, dropped, floor, activation, residual):
    """Return what a twin believes of blocks and their options."""
    kept = [{name: array for name, array in weights.items() if not name.startswith(dropped)} for weights in stack]
    changed = dict(options)
    if floor != 1.0 and changed["eps"] is not None:
        changed["eps"] = floor * changed["eps"]
    if activation is not None:
        changed["activation"] = activation
    return kept, changed | ({} if residual is None else {"residual": residual})


@verifies(
    Claim(
        "certificate.blocks",
        "blocks of a transformer move tokens by the product of the constants of their norms, attention and feed-forward parts, one more for each residual",
        r"blocks $y = x + A(N_1(x))$, $y + F(N_2(y))$ (pre), $y = N_1(x + A(x))$, $N_2(y + F(y))$ (post) or without norms, constants as \texttt{certify\_blocks} computes them: in every metric a norm $\gamma z + \beta$ has $\|\Gamma P\|(v + \varepsilon)^{-1/2}$ among tokens of variance at least $v$ (RMSNorm: mean square, $P = 1$), $F(x) = W_D\phi(W_Ux + b_U) + b_D$ has $\frac12\|W_DW_U\| + (M - \frac12)\|W_D\|\|W_U\|$, $M = 1$ for ReLU, $1.1289041\ldots$ for GELU, $1.1289930\ldots$ for its form by tanh, $1.0998393\ldots$ for SiLU, gated $F(x) = W_D(\phi(W_Gx + b_G) \circ (W_Ux + b_U)) + b_D$ the least of $M\|W_D\mathrm{diag}\,s\|\|W_G\|$ and $M\|W_D\|\|\mathrm{diag}\,s\,W_G\|$, and the same of $r$ and $W_U$ without $M$, $s_i \ge |W_Ux + b_U|_i$, $r_i \ge |W_Gx + b_G|_i$; attention those of certificate.valid and certificate.query-bias on the ball of the longest normalised token $\max\{|\gamma z + \beta| : |z| \le \sqrt d\}$, $\sum z_i = 0$ for LayerNorm, or, smaller, those of $z$, with matrices $W\Gamma P$ and the bias $b_Q + W_Q\beta$; along a path they are multiplied, and a residual adds one",
        assumptions=(
            "scaled dot product; real weights",
            "where no norm comes before attention, no token is longer than R",
            "tokens that enter a norm have a variance, or mean square, of at least v; v = 0 allows all",
        ),
        spec=("MA.A5",),
        cites=("ba2016", "vuckovic2021"),
        source_status=("derived",),
    ),
    constant("near", "constants and the length of normalised tokens are one per cent smaller", factor=0.99),
    constant("eps-doubled", "epsilon is twice as large in the constants", floor=2.0),
    hypothesis("no-floor", "epsilon of the blocks is a hundredth of what is told", within=0.01),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
    hypothesis("closer", "tokens may have a fourth of the least variance", closer=0.5),
    bug("no-shift", "shifts are left out of where normalised tokens are", dropped=("shift",)),
    bug("no-gain", "gains are taken for one", dropped=("gain",)),
    bug("slope-one", "activations have the constant of ReLU", activation="relu"),
    bug("no-residual", "residuals are left out", residual=False),
    bug("added", "constants of blocks are added up", combine=sum),
)
def test_blocks(
    run, *, factor=1.0, floor=1.0, within=1.0, reach=1.0, closer=1.0, dropped=("none",), activation=None,
    residual=None, combine=math.prod,
):  # fmt: skip
    def bounds(stack, radius, n, options, **more):
        """By metric, the product of what is certified of the blocks, or of all together."""
        kept, changed = told(stack, options, dropped, floor, activation, residual)
        found = certified(kept, radius, n, changed, **more)
        whole = {row.metric: row.constant for row in found.rows}
        if combine is not math.prod:
            rows = zip(*(layer.rows for layer in found.layers), strict=True)
            whole = {same[0].metric: combine(row.constant for row in same) for same in rows}
        return {metric: Interval.exactly(size) for metric, size in whole.items() if size < math.inf}

    for name, stack, more, radius, least, x, y in witnesses(reach, closer):
        options = PLAIN | more
        bound = bounds(stack, radius, 1, options, variance=least)
        at = options | ({} if options["eps"] is None else {"eps": within * options["eps"]})
        with precision():
            before = norm(hull(balls(y) - balls(x)))
            first, second = (images(stack, z, np.ones(1), **at) for z in (x, y))
            after = norm(hull(second - first))
        for metric in METRICS:
            yield at_most(after, factor * bound[metric] * before, part=metric, way=name, blocks=len(stack))
    for unit in UNITS:
        for weights, kind, eps, x in longest(unit):
            kept, changed = told([weights], PLAIN | {"kind": kind, "eps": eps}, dropped, 1.0, None, None)
            most = Interval.exactly(certified(kept, None, None, changed).layers[0].radius)
            with precision():
                length = norm(hull(normed(weights, 1, balls(x), kind, eps)))
            yield at_most(length, factor * most, part="longest token", kind=kind)
    for stack, options, radius, n, sizes, case in pushed(run, reach):
        bound = bounds(stack, radius, n, options)
        for metric, (before, after) in sizes.items():
            if metric in bound:
                yield at_most(after, factor * bound[metric] * before, part=metric, way="drawn", **case)
