r"""Lipschitz constants of blocks of a transformer and of stacks of them, from their weights, on both sides.

Maps of single tokens have one Lipschitz constant in every metric, and constants multiply along a path and add at a
residual connection (:mod:`theory.lipschitz.depth`). Attention on tokens :math:`\gamma z + \beta` that a norm has left
is attention on z, in the ball of radius :math:`\rho \le \sqrt d`, with :math:`W\Gamma P` for every matrix W and the
query bias :math:`b_Q + W_Q\beta` (:mod:`theory.lipschitz.certificate.normalised`): so its constant is the smaller of
that of these and :math:`\|\Gamma P\|` times that of W on the ball of the longest normalised token. Distances see no
shift. In a product of L blocks the mean of n tokens grows by at most n times the product of the constants of the
largest displacement, and the root of the sum of squares by the root of n times it.

After a pre-norm nothing depends on the tokens, so that a constant holds for tokens anywhere. It has a factor
:math:`\varepsilon^{-1/2}` for each norm: that is what a norm does to tokens of nearly equal entries. Under the
hypothesis that no token which enters a norm has a variance below v, the factor is :math:`(v + \varepsilon)^{-1/2}`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_bound, as_choice, as_count, as_flag, as_generator, as_points, as_positive
from theory.evidence import Interval, Kind, exact, norm as length_of
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.block import CHOICES, Block, as_block, attended
from theory.lipschitz.certificate.block_search import search_pairs
from theory.lipschitz.certificate.certify import METRICS, Row, upper_bounds
from theory.lipschitz.certificate.detour import detours
from theory.lipschitz.certificate.feed_forward import FeedForwardNorms
from theory.lipschitz.certificate.normalised import FAR, TokenNorm, fold
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.tangents import factor_of
from theory.lipschitz.certificate.upper_bounds import UpperBound, above
from theory.lipschitz.certificate.weights import AttentionWeights, Norms, in_range
from theory.lipschitz.depth import BallBound, Bound, composed_bound, residual_bound

CLAIM, LABEL = "certificate.blocks", "MA.A5"
_SEED = 0  # of the generator that a search draws from, unless one is given
_MOST = 10**7  # taken: as many tokens as in certify
_TINY = 1e-200  # taken: smaller constants are raised to it, so that products do not underflow


class Part(NamedTuple):
    """What is known of a norm, or of a part, as it stands in its block."""

    name: str
    constant: float
    """Lipschitz constant of tokens in every metric; of attention none, which has one for each."""
    radius: float
    """No output is longer."""


@dataclass(frozen=True, slots=True)
class BlockLayer:
    """One block of a stack.

    Parameters
    ----------
    rows : tuple of Row
        Its constants, in the order of ``METRICS``; nothing is searched for.
    radius : float
        Of the ball that holds what attention sees.
    alphas, betas : tuple of float
        Of attention, as in a ``Certificate``.
    norms : tuple of Part
    feed_forward : float or None
        Lipschitz constant of the feed-forward part, of its norm without the gain where that comes before it.
    least : tuple of float
        Of the variances, or mean squares, that are allowed to enter the norms.
    """

    rows: tuple[Row, ...]
    radius: float
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    norms: tuple[Part, ...]
    feed_forward: float | None
    least: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BlockCertificate:
    """Constants of a stack of blocks.

    Parameters
    ----------
    layers : tuple of BlockLayer
    rows : tuple of Row
        Of the whole stack, in the order of ``METRICS``, beside the worst pair that a search found.
    radius : float or None
        Of the ball that must hold the tokens; None if they may be anywhere.
    n : int or None
    heads : int
    order, kind : str
        Where the norms are, and which.
    eps : float or None
    activation : str or None
    causal, residual : bool
    score : str
    rotary : bool
    """

    layers: tuple[BlockLayer, ...]
    rows: tuple[Row, ...]
    radius: float | None
    n: int | None
    heads: int
    order: str
    kind: str
    eps: float | None
    activation: str | None
    causal: bool
    residual: bool
    score: str
    rotary: bool

    def row(self, metric: str) -> Row:
        """Return the row of a metric, of the whole stack."""
        return self.rows[METRICS.index(as_choice(metric, "metric", METRICS))]


def certify_blocks(
    blocks: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    radius: float | None = None,
    n: int | None = None,
    tokens: ArrayLike | None = None,
    heads: int | None = None,
    norm: str | None = None,
    kind: str | None = None,
    eps: float | None = None,
    activation: str | None = None,
    variance: float = 0.0,
    causal: bool = False,
    residual: bool = True,
    score: str = "dot",
    scale: float | None = None,
    rotary: bool = False,
    search: bool = True,
    rng: np.random.Generator | None = None,
) -> BlockCertificate:
    r"""Bound the Lipschitz constants of a block of a transformer, or of a stack of blocks, on both sides.

    Parameters
    ----------
    blocks : mapping or sequence of mappings
        Arrays by their roles: ``w_query``, ``w_key``, ``w_value`` and perhaps ``w_out``, ``b_query``, ``b_key``,
        ``b_value``, ``b_out`` as :func:`certify` takes them; ``gain_1``, ``shift_1``, ``gain_2``, ``shift_2``, shape
        (d,), of the norms beside attention and the feed-forward part, ones and zeros unless given; ``w_up``, shape
        (m, d), ``b_up``, ``w_down``, shape (d, m), ``b_down``, and of a gated part ``w_gate`` and ``b_gate``, whose
        outputs the activation takes. Without ``w_up`` there is no feed-forward part. A mapping may hold ``heads``,
        ``norm``, ``kind``, ``eps`` and ``activation`` as well.
    radius : float, optional
        No token that enters is longer. Needed unless a norm comes first.
    n : int, optional
        Number of tokens, for the constants that depend on it.
    tokens : array_like, shape (n, d), optional
        Tokens that enter. They give ``n``, the radius unless a larger one is given, and for every norm the least
        variance of what enters it, below which no token may be for the constants to hold.
    heads : int, default 1
        Of the queries.
    norm : {"pre", "post", "none"}
        Where the norms are: before attention and the feed-forward part, or after they are added; "pre" unless given.
    kind : {"layer", "rms"}
        LayerNorm unless given.
    eps : float
        Of the norms.
    activation : {"relu", "gelu", "gelu-tanh", "silu"}
        Of the feed-forward part; gated, "silu" makes it SwiGLU.
    variance : float, default 0.0
        No token that enters a norm has a smaller variance (RMSNorm: mean square). Zero allows all.
    causal, score, scale, rotary
        Of attention, as in :func:`certify`.
    residual : bool, default True
        Whether attention and the feed-forward part are added to what enters them.
    search : bool, default True
        Whether to look for pairs of clouds of which the whole stack stretches the distance much.
    rng : numpy.random.Generator, optional
        Draws the starts of the search; a fixed one unless given.

    Returns
    -------
    BlockCertificate

    Raises
    ------
    ValueError
        If shapes do not fit, a number is out of range, or an option is missing.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> line = {"w_query": [[0.0]], "w_key": [[0.0]], "w_value": [[1.0]], "w_up": [[1.0]], "w_down": [[2.0]]}
    >>> found = certify_blocks([line, line], kind="rms", eps=0.25, activation="relu")
    >>> [round(layer.rows[0].constant, 3) for layer in found.layers], round(found.row("W1").constant, 3)
    ([15.0, 15.0], 225.0)
    """
    given = [blocks] if isinstance(blocks, Mapping) else list(blocks) if isinstance(blocks, (list, tuple)) else None
    if not given or not all(isinstance(block, Mapping) for block in given):
        raise ValueError("blocks: expected arrays by their roles, or a list of such blocks, got none")
    options = _options(given, {"heads": heads, "norm": norm, "kind": kind, "eps": eps, "activation": activation})
    options |= {"causal": causal, "residual": residual, "score": score, "scale": scale}
    options["rotary"] = turned = as_flag(rotary, "rotary")
    floor = as_bound(variance, "variance")
    if not floor < math.inf:
        raise ValueError(f"variance: expected a finite number, got {variance!r}")
    stack = [as_block(block, least=(floor, floor), **options) for block in given]
    if any(block.dim != stack[0].dim for block in stack):
        raise ValueError(f"blocks: expected tokens of {stack[0].dim} numbers in all, got others")
    if turned and score != "dot":
        raise ValueError("rotary: expected dot products, which alone have a bound for all positions, got distances")
    count = None if n is None else as_count(n, "n")
    size = None if radius is None else as_positive(radius, "radius")
    points = None
    if tokens is not None:
        points = as_points(tokens, "tokens", dim=stack[0].dim)
        in_range(points, "tokens")
        if count is not None:
            raise ValueError(f"n: expected none beside tokens, which are {len(points)}, got {n}")
        count = len(points)
        longest = length_of(exact(points), axis=1).max().hi
        if size is not None and size < longest:
            raise ValueError(f"radius: expected at least the length of the longest token, {longest}, got {size}")
        size = size or longest or 1.0
        if turned:
            raise ValueError(
                "tokens: expected none with rotary, as the positions of tokens are not asked for, got some"
            )
        stack = _observed(stack, points)
    if size is None and stack[0].order != "pre":
        raise ValueError(f"radius: expected one, as attention sees the tokens themselves (norm {stack[0].order})")
    if size is not None:
        in_range(size, "radius")
    if count is not None and count > _MOST:
        raise ValueError(f"n: expected at most {_MOST} tokens, got {count}")
    generator = np.random.default_rng(_SEED) if rng is None else as_generator(rng, "rng")
    found = {}
    searched = as_flag(search, "search")
    with np.errstate(all="ignore"):  # what leaves float64 is infinite, refused, or no pair that counts
        layers, products = _bounded(stack, Interval.exactly(FAR if size is None else size), count, turned=turned)
        if searched:
            found = search_pairs(generator, stack, size, count, turned=turned, tokens=points)
    rows = tuple(_whole(metric, layers, products, found.get(metric), count) for metric in METRICS)
    first = stack[0]
    return BlockCertificate(
        layers, rows, size, count, first.attention.heads, first.order, options["kind"],
        None if first.order == "none" else first.first.eps,  # type: ignore[union-attr]
        None if first.feed_forward is None else first.feed_forward.activation, first.attention.causal,
        first.residual, first.attention.score, turned,
    )  # fmt: skip


def _options(blocks: list[Mapping[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of all blocks, those given by name or those that blocks hold."""
    found: dict[str, Any] = {"heads": 1, "norm": "pre", "kind": "layer", "eps": None, "activation": None}
    for name in CHOICES:
        held = [block[name] for block in blocks if name in block]
        if any(value != held[0] for value in held[1:]):
            raise ValueError(f"{name}: expected the same in all blocks, got {held}")
        if given[name] is not None:
            found[name] = given[name]
        elif held:
            found[name] = held[0]
    return found


def _observed(stack: list[Block], points: Any) -> list[Block]:
    """Return blocks whose norms let no token pass of less variance than the given ones have there, by floats."""
    seen = []
    x = points
    for block in stack:
        entering: list[Any] = []
        norms = [norm for norm in (block.first, block.second) if norm is not None]
        with np.errstate(all="ignore"):
            x = block(x, np.ones(len(x)), spreads=entering)
            spreads = [norm.spread(rows) for norm, rows in zip(norms, entering, strict=True)]
        if not all(np.isfinite(found).all() for found in (x, *spreads)):
            raise ValueError("tokens: expected ones that float64 can take through the blocks, got others")
        floors = [
            replace(norm, least=max(norm.least, float(spread.min()) * (1.0 - 1e-6)))
            for norm, spread in zip(norms, spreads, strict=True)
        ]
        changes: Any = dict(zip(("first", "second"), floors, strict=False))
        seen.append(replace(block, **changes))
    return seen


class _Attention:
    """Constants of attention in a block, of tokens in a ball or of z, whose norm they have passed."""

    def __init__(self, block: Block, count: int | None, *, turned: bool) -> None:
        self.layer, self.count, self.turned = block.attention, count, turned
        self.norm: TokenNorm | None = block.first if block.order == "pre" else None
        self.moved = length_of(exact(block.moved)) + block.off
        self.plain: Norms | None = None
        self.folded: tuple[AttentionWeights, Norms] | None = None
        if self.norm is not None and self.layer.score == "dot":
            self.folded = _folded(self.layer, self.norm, turned=turned)
        straight = not (turned or self.layer.causal) and self.layer.b_query is None
        if self.norm is None or self.folded is None or (straight and self.norm.shift.any()):
            # elsewhere the gains in the matrices are never worse: a shift alone costs the detours of the forms
            self.plain = _with_detours(self.layer, self.layer.norms(turned=turned), turned=turned)
        self._known: dict[float, Any] = {}

    def at(self, reach: Interval) -> Any:
        """Return the least bounds by metric, alphas, betas, the radius that is seen, and one of outputs."""
        if reach.hi not in self._known:
            self._known[reach.hi] = self._at(Interval.exactly(reach.hi))
        return self._known[reach.hi]

    def _at(self, reach: Interval) -> Any:
        seen = reach if self.norm is None else self.norm.length(reach)
        found: dict[str, list[UpperBound]] = {}
        alphas: tuple[float, ...] = ()
        betas: tuple[float, ...] = ()
        if self.plain is not None:
            stretch = Interval.exactly(1.0) if self.norm is None else self.norm.stretch()
            near = seen if self.layer.score == "dot" or self.norm is None else stretch * reach
            alphas, betas, plain = upper_bounds(self.layer, self.plain, near.hi, self.count, turned=self.turned)
            found = {metric: [_times(bound, stretch) for bound in bounds] for metric, bounds in plain.items()}
        if self.folded is not None:
            alphas, betas, more = upper_bounds(*self.folded, reach.hi, self.count, turned=self.turned)
            for metric, bounds in more.items():
                words = "gains in the matrices"
                own = [bound._replace(hypotheses=f"{bound.hypotheses}; {words}") for bound in bounds]
                found[metric] = found.get(metric, []) + own
        least = {metric: min(bounds, key=lambda b: b.constant) for metric, bounds in found.items() if bounds}
        return least, alphas, betas, seen.hi, self._longest(reach, seen).hi

    def _longest(self, reach: Interval, seen: Interval) -> Interval:
        """Bound the length of outputs."""
        biases: Interval = self.moved
        if self.folded is not None and self.norm is not None:
            middle = attended(self.layer, exact(self.norm.shift[np.newaxis]), None)  # what all tokens have in common
            size: Interval = length_of(middle)
            return _total(self.folded[1].values) * reach + size + biases
        norms = self.plain
        if norms is None:
            raise ValueError("blocks: expected norms of attention, got none")
        if self.layer.score == "distance":
            pairs = zip(norms.values, norms.forms, strict=True)
            return _total(tuple(value * form for value, form in pairs)) * seen + biases
        return _total(norms.values) * seen + biases


def _total(sizes: tuple[Interval, ...]) -> Interval:
    return sum(sizes, start=Interval.exactly(0.0))


def _times(bound: UpperBound, stretch: Interval) -> UpperBound:
    if bound.constant == math.inf or stretch.hi == 1.0:
        return bound
    return bound._replace(constant=(stretch * bound.constant).hi)


def _with_detours(layer: AttentionWeights, norms: Norms, *, turned: bool) -> Norms:
    return norms if turned else norms._replace(detours=detours(layer))


def _folded(layer: AttentionWeights, norm: TokenNorm, *, turned: bool) -> tuple[AttentionWeights, Norms]:
    r"""Return attention as a function of z, and its norms, charged with the rounding of :math:`W\Gamma P`.

    A matrix is off by at most :math:`\epsilon w`, :math:`\epsilon = \gamma_{2d + 8}` and w at least its Frobenius norm,
    a bias by :math:`\epsilon(|b| + \|W\|_F|\beta|)`; so products of two are off by less than four times epsilon times
    the product of these sizes.
    """
    unit = gamma(2 * norm.dim + 8)
    shift = length_of(exact(norm.shift))
    folded: dict[str, list[Any]] = {"w_query": [], "w_key": [], "w_value": []}
    sizes: dict[str, list[Interval]] = {name: [] for name in folded}
    for name, kept in folded.items():
        for matrix in getattr(layer, name):
            product, size = fold(matrix, norm)
            small = np.abs(product) < 1e-60  # taken: such parts are dropped, and charged
            kept.append(np.where(small, 0.0, product))
            sizes[name].append(Interval.exactly(size) + 1e-40)
    biases: dict[str, Any] = {}
    lengths: dict[str, list[Interval]] = {}
    for name, matrices, given in (
        ("b_query", layer.w_query, layer.b_query), ("b_key", layer.w_key, layer.b_key if turned else None),
    ):  # fmt: skip
        needed = bool(norm.shift.any()) and (turned or name == "b_query")
        own = np.zeros(matrices.shape[:2]) if given is None else given
        biases[name] = own + matrices @ norm.shift if needed else given
        lengths[name] = [
            length_of(exact(row)) + length_of(exact(matrix).reshape(-1)) * shift
            for row, matrix in zip(own, matrices, strict=True)
        ]
    changes: Any = {name: np.array(kept) for name, kept in folded.items()} | biases
    changed = replace(layer, **changes)
    norms = _with_detours(changed, changed.norms(turned=turned), turned=turned)

    def charged(found: tuple[Interval, ...], *parts: list[Interval], times: float = 4.0) -> tuple[Interval, ...]:
        slack = [Interval.exactly(times * unit)] * len(found)
        for each in parts:
            slack = [one * size for one, size in zip(slack, each, strict=True)]
        return tuple(Interval(0.0, (one + more).hi, one.kind) for one, more in zip(found, slack, strict=True))

    same = [factor_of(layer)] * layer.heads
    outs = [_size(layer.slice(head)) for head in range(layer.heads)]
    queries, keys, values = (sizes[name] for name in ("w_query", "w_key", "w_value"))
    ones = [Interval.exactly(1.0)] * layer.heads
    of_values = charged(norms.values, values, ones if layer.w_out is None else outs)
    of_own = charged(norms.own, values)
    more: dict[str, Any] = {}
    if norms.tilts:
        more["tilts"] = charged(norms.tilts, queries, lengths["b_key"], same)
        more["offsets"] = charged(norms.offsets, lengths["b_query"], lengths["b_key"], same)
    if norms.detours:
        more["detours"] = charged(norms.detours, queries, keys, same, times=8.0)
    shifts = norms.shifts
    if changed.b_query is not None:
        shifts = charged(shifts, keys, lengths["b_query"], same)
    forms = charged(norms.forms, queries, keys, same)
    return changed, norms._replace(forms=forms, values=of_values, own=of_own, shifts=shifts, **more)


def _size(matrix: Any) -> Interval:
    size: Interval = length_of(exact(matrix).reshape(-1))
    return size


class _Prepared:
    """The bounds of one block."""

    def __init__(self, block: Block, count: int | None, *, turned: bool) -> None:
        self.block = block
        self.attention = _Attention(block, count, turned=turned)
        self.feed: FeedForwardNorms | None = None
        if block.feed_forward is not None:
            norm = {"pre": block.second, "post": block.first, "none": None}[block.order]
            self.feed = FeedForwardNorms(block.feed_forward, norm, by_unit=block.order == "pre")

    def bound(self, metric: str | None) -> Bound:
        """Return the bound of the block in a metric; of radii alone, with constants of one, for None."""
        block = self.block
        parts = [self._part(self._attention(metric), block.first, metric)]
        if self.feed is not None:
            parts.append(self._part(self._feed_forward(metric), block.second, metric))
        return composed_bound(*parts)

    def _part(self, part: Bound, norm: TokenNorm | None, metric: str | None) -> Bound:
        """Return a part with its norm and residual."""
        kept = residual_bound if self.block.residual else lambda branch: branch
        if norm is None:
            return kept(part)
        if self.block.order == "pre":
            return kept(composed_bound(_unit_bound(norm, metric), part))
        return composed_bound(kept(part), _norm_bound(norm, metric))

    def _attention(self, metric: str | None) -> Bound:
        def bound(radius: Any) -> BallBound:
            least, _, _, _, out = self.attention.at(_interval(radius))
            return _ball_bound(1.0 if metric is None else least[metric].constant, out)

        return bound

    def _feed_forward(self, metric: str | None) -> Bound:
        def bound(radius: Any) -> BallBound:
            constant, out = self.feed_at(_interval(radius))
            return _ball_bound(1.0 if metric is None else constant, out)

        return bound

    def feed_at(self, radius: Interval) -> tuple[float, float]:
        """Return constant and radius of outputs of the feed-forward part, of what enters it up to a radius."""
        feed = self.feed
        if feed is None:
            raise ValueError("blocks: expected a feed-forward part, got none")
        reach, far = radius, radius
        if self.block.order == "post" and feed.norm is not None:
            reach = feed.norm.reach(Interval.exactly(FAR))
            far = feed.norm.stretch() * reach
        size = feed.constant(Interval.exactly(reach.hi))
        return size.hi, feed.radius(far, size).hi


def _unit_bound(norm: TokenNorm, metric: str | None) -> Bound:
    """Return the bound of a norm without gain and shift."""

    def bound(radius: Any) -> BallBound:
        return _ball_bound(1.0 if metric is None else norm.slope().hi, norm.reach(_interval(radius)).hi)

    return bound


def _norm_bound(norm: TokenNorm, metric: str | None) -> Bound:
    def bound(radius: Any) -> BallBound:
        slope = 1.0 if metric is None else (norm.slope() * norm.stretch()).hi
        return _ball_bound(slope, norm.length(norm.reach(_interval(radius))).hi)

    return bound


def _ball_bound(constant: float, radius: float) -> BallBound:
    """Return a bound in enclosures, so that what becomes of it is rounded outward."""
    if not max(constant, radius) < math.inf:
        raise ValueError("blocks: expected constants that float64 can hold, got one that it cannot")
    size = max(constant, _TINY) if constant else 0.0
    numbers: Any = Interval(0.0, size, Kind.CERTIFIED), Interval(0.0, radius, Kind.CERTIFIED)
    return BallBound(*numbers)


def _interval(radius: Any) -> Interval:
    return radius if isinstance(radius, Interval) else Interval.exactly(radius)


def _bounded(
    stack: list[Block], radius: Interval, count: int | None, *, turned: bool
) -> tuple[tuple[BlockLayer, ...], dict[str, float]]:
    """Return what is known of every block, and the constants of the stack by metric; those without a theorem lack."""
    entering = radius
    start: Any = radius
    prepared, layers = [], []
    for number, block in enumerate(stack):
        if len(stack) > 1:
            tell(f"block {number + 1} of {len(stack)}")
        one = _Prepared(block, count, turned=turned)
        prepared.append(one)
        layers.append(_layer(one, entering))
        start = entering
        entering = _interval(one.bound(None)(start).radius)
    start = radius
    known = [metric for metric in METRICS if all(row.constant is not None for row in (
        layer.rows[METRICS.index(metric)] for layer in layers))]  # fmt: skip
    products = {
        metric: _held(lambda at=metric: composed_bound(*(one.bound(at) for one in prepared))(start)) for metric in known
    }
    return tuple(layers), products


def _held(bound: Any) -> float:
    """Return the upper end of a constant; infinite if float64 cannot hold it."""
    try:
        return _interval(bound().constant).hi
    except ValueError:  # weights are checked: only the range of float64 is left
        return math.inf


def _layer(one: _Prepared, entering: Interval) -> BlockLayer:
    block = one.block
    into = block.first.reach(entering) if block.order == "pre" and block.first is not None else entering
    least, alphas, betas, seen, _ = one.attention.at(into)
    start: Any = entering
    rows = []
    for metric in METRICS:
        if metric not in least:
            rows.append(Row(metric, None, "", "", _missing(metric, turned=one.attention.turned), None))
            continue
        constant = _held(lambda at=metric: one.bound(at)(start))
        words = f"{_words(block)}; attention by {least[metric].claim}: {least[metric].hypotheses}"
        rows.append(Row(metric, constant, CLAIM, LABEL, words, None))
    norms = [
        Part(name, (norm.slope() * norm.stretch()).hi, norm.length(norm.reach(Interval.exactly(FAR))).hi)
        for name, norm in (("first", block.first), ("second", block.second))
        if norm is not None
    ]
    floors = tuple(norm.least for norm in (block.first, block.second) if norm is not None)
    feed = None
    if one.feed is not None:
        norm = one.feed.norm
        reach = _before_feed(one, start) if norm is None else norm.reach(Interval.exactly(FAR))
        feed = one.feed_at(reach)[0]
    return BlockLayer(tuple(rows), seen, alphas, betas, tuple(norms), feed, floors)


def _before_feed(one: _Prepared, start: Any) -> Interval:
    part = one._part(one._attention(None), one.block.first, None)  # noqa: SLF001
    return _interval(part(start).radius)


def _words(block: Block) -> str:
    """Return in a few words what a block is."""
    if block.order == "none":
        return "no norm"
    name = "LayerNorm" if block.first is not None and block.first.centred else "RMSNorm"
    limited = any(norm.least for norm in (block.first, block.second) if norm is not None)
    spread = "variances" if name == "LayerNorm" else "mean squares"
    return f"{block.order}-{name}" + f" of {spread} that are not below the least" * limited


def _missing(metric: str, *, turned: bool) -> str:
    if turned and metric.startswith("W"):
        return "no theorem: outputs depend on positions, which measures of tokens do not have"
    if metric.startswith("W"):
        return "no theorem: under a causal mask close measures may have distant images"
    return "no theorem without the number of tokens"


def _whole(
    metric: str, layers: tuple[BlockLayer, ...], products: Mapping[str, float], found: Any, count: int | None
) -> Row:
    """Return the row of the stack."""
    own = [layer.rows[METRICS.index(metric)] for layer in layers]
    if metric not in products:
        return Row(metric, None, "", "", own[0].hypotheses, found)
    texts = list(dict.fromkeys(row.hypotheses for row in own))
    words = texts[0]
    if len(layers) > 1:
        words = f"{len(layers)} blocks; {'; or '.join(dict.fromkeys(text.partition(': ')[0] for text in texts))}"
    product = products[metric]
    if count is not None and metric in ("mean", "frobenius"):
        factor = float(count) if metric == "mean" else above(math.sqrt(count))
        other = above(factor * products["max"])
        if other < product:
            times = f"{count}" if metric == "mean" else f"root of {count}"
            return Row(metric, other, CLAIM, LABEL, f"{times} times the product of the largest displacement", found)
    return Row(metric, product, CLAIM, LABEL, words, found)
