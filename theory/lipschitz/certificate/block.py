r"""One block of a transformer: a norm, attention and a feed-forward part, each added to what enters, or without.

*Pre-norm*: :math:`y = x + A(N_1(x))`, then :math:`y + F(N_2(y))`. *Post-norm*: :math:`y = N_1(x + A(x))`, then
:math:`N_2(y + F(y))`. *None*: :math:`y = x + A(x)`, then :math:`y + F(y)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_flag, as_vector
from theory.evidence import Kind, is_enclosed, within
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.feed_forward import FeedForwardWeights, as_feed_forward
from theory.lipschitz.certificate.normalised import TokenNorm, as_token_norm
from theory.lipschitz.certificate.tangents import factor_of, laws_of
from theory.lipschitz.certificate.weights import Array, AttentionWeights, as_attention_weights, in_range

ORDERS = ("pre", "post", "none")
BLOCK_ROLES = (
    "gain_1", "shift_1", "gain_2", "shift_2", "w_up", "b_up", "w_gate", "b_gate", "w_down", "b_down",
)  # fmt: skip
ATTENTION_ROLES = ("w_query", "w_key", "w_value", "w_out", "b_query", "b_key", "b_value", "b_out")
CHOICES = ("heads", "norm", "kind", "eps", "activation")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block of a transformer.

    Parameters
    ----------
    attention : AttentionWeights
        Without its residual.
    moved : numpy.ndarray, shape (d,)
        What the biases of values and outputs add to every output of attention, in floats.
    off : float
        By how much these floats may be off, in length.
    order : {"pre", "post", "none"}
        Where the norms are.
    first, second : TokenNorm or None
    feed_forward : FeedForwardWeights or None
    residual : bool
        Whether both parts are added to what enters.
    """

    attention: AttentionWeights
    moved: Array
    off: float
    order: str
    first: TokenNorm | None
    second: TokenNorm | None
    feed_forward: FeedForwardWeights | None
    residual: bool

    @property
    def dim(self) -> int:
        """Dimension of a token."""
        return self.attention.dim

    def __call__(self, x: Any, masses: Array | None = None, *, spreads: list[Any] | None = None) -> Any:
        """Return the tokens after the block, floats or enclosures, shape (n, d).

        Parameters
        ----------
        x : numpy.ndarray or Intervals, shape (n, d)
        masses : numpy.ndarray, shape (n,), optional
            Of the tokens as keys; under a causal mask they have to be equal. None makes every token a sequence of its
            own.
        spreads : list, optional
            What enters the norms is appended to it.
        """
        kept = spreads if spreads is not None else []

        def normed(norm: TokenNorm | None, entering: Any) -> Any:
            if norm is None:
                return entering
            kept.append(entering)
            return norm(entering)

        def part(function: Any, norm: TokenNorm | None, entering: Any) -> Any:
            if self.order == "post":
                out = function(entering)
                return normed(norm, entering + out if self.residual else out)
            out = function(normed(norm, entering))
            return entering + out if self.residual else out

        moved = within(self.moved, self.off, Kind.CERTIFIED) if is_enclosed(x) else self.moved
        x = part(lambda tokens: attended(self.attention, tokens, masses) + moved, self.first, x)
        return x if self.feed_forward is None else part(self.feed_forward, self.second, x)


def attended(layer: AttentionWeights, x: Any, masses: Array | None) -> Any:
    """Return the outputs of attention without biases of values and outputs, in floats or enclosures."""
    factor = factor_of(layer) if is_enclosed(x) else 1.0 / layer.divisor
    total: Any = 0.0
    for head in range(layer.heads):
        query, key, value = layer.w_query[head].T, layer.w_key[head].T, layer.w_value[head].T
        mean = x
        if masses is not None:
            q, k = x @ query, x @ key
            if layer.score == "dot":
                q = q if layer.b_query is None else q + layer.b_query[head]
                scores = (q @ k.T) * factor
            else:
                apart = q[:, np.newaxis] - q[np.newaxis]
                scores = -((apart * apart).sum(axis=2) * factor)
            mean = laws_of(scores, causal=layer.causal, masses=masses) @ x
        if layer.score == "distance":
            mean = ((mean @ query) @ layer.w_query[head]) * factor
        part = mean @ value
        total = total + (part @ np.ascontiguousarray(layer.slice(head).T))
    return total


def as_block(weights: Mapping[str, ArrayLike], *, least: tuple[float, float] = (0.0, 0.0), **options: Any) -> Block:
    """Check the weights of a block by their roles, as ``certify_blocks`` takes them with its options.

    Raises
    ------
    ValueError
        If shapes do not fit, an option is missing, or a number is out of range.
    TypeError
        If an argument is of the wrong type.
    """
    order = as_choice(options["norm"], "norm", ORDERS)
    residual = as_flag(options["residual"], "residual")
    unknown = sorted(set(weights) - {*BLOCK_ROLES, *ATTENTION_ROLES, *CHOICES})
    if unknown:
        raise ValueError(f"blocks: expected arrays {', '.join((*ATTENTION_ROLES, *BLOCK_ROLES))}, got {unknown[0]!r}")
    missing = [name for name in ("w_query", "w_key", "w_value") if name not in weights]
    if missing:
        raise ValueError(f"blocks: expected an array {missing[0]}, got {', '.join(sorted(weights))}")
    of: dict[str, Any] = {name: weights.get(name) for name in (*ATTENTION_ROLES, *BLOCK_ROLES)}
    attention = as_attention_weights(
        of["w_query"], of["w_key"], of["w_value"], of["w_out"], heads=options["heads"], causal=options["causal"],
        residual=residual, score=options["score"], scale=options["scale"], b_query=of["b_query"],
        b_key=of["b_key"] if options["score"] == "dot" and options["rotary"] else None,
    )  # fmt: skip
    width = attention.slice(0).shape[0]
    parted = of["w_up"] is not None or of["w_down"] is not None
    if width != attention.dim:
        raise ValueError(f"w_out: expected outputs of dimension {attention.dim} as the tokens, got {width}")
    feed = None
    if parted:
        for name in ("w_up", "w_down"):
            if of[name] is None:
                raise ValueError(f"blocks: expected both of w_up and w_down, got no {name}")
        if options["activation"] is None:
            raise ValueError("activation: expected that of the feed-forward part, which no file tells, got None")
        names = ("w_up", "w_down", "b_up", "b_down", "w_gate", "b_gate")
        feed = as_feed_forward(
            **{name: of[name] for name in names}, activation=options["activation"], dim=attention.dim
        )
    norms = []
    for at, floor in zip(("_1", "_2"), least, strict=True):
        used = order != "none" and (at == "_1" or parted)
        if not used and (of[f"gain{at}"] is not None or of[f"shift{at}"] is not None):
            raise ValueError(f"gain{at}: expected none without a norm there (norm {order}), got one")
        if used and options["eps"] is None:
            raise ValueError("eps: expected that of the norms, which no file tells, got None")
        norms.append(
            as_token_norm(
                of[f"gain{at}"], of[f"shift{at}"], kind=options["kind"], eps=options["eps"], dim=attention.dim,
                variance=floor, at=at,
            ) if used else None
        )  # fmt: skip
    moved, off = _moved(attention, np.shape(of["w_value"])[0], of["b_value"], of["b_out"])
    return Block(replace(attention, residual=False), moved, off, order, norms[0], norms[1], feed, residual)


def _moved(
    layer: AttentionWeights, rows: int, b_value: ArrayLike | None, b_out: ArrayLike | None
) -> tuple[Array, float]:
    """Return what biases add to every output, in floats, and by how much that may be off."""
    total, size = np.zeros(layer.dim), np.zeros(layer.dim)
    if b_value is not None:
        bias = as_vector(b_value, "b_value", size=rows)
        in_range(bias, "b_value")
        size = layer.w_value.shape[1]
        each = np.repeat(bias.reshape(-1, size), layer.heads * size // rows, axis=0)
        for head in range(layer.heads):
            total = total + layer.slice(head) @ each[head]
            size = size + np.abs(layer.slice(head)) @ np.abs(each[head])
    if b_out is not None:
        bias = as_vector(b_out, "b_out", size=layer.dim)
        in_range(bias, "b_out")
        total, size = total + bias, size + np.abs(bias)
    terms = layer.heads * (layer.w_value.shape[1] + 1) + 2
    return total, float(np.linalg.norm(size)) * gamma(2 * terms + layer.dim + 8)
