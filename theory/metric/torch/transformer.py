r"""A transformer that translates, with any attention of :mod:`theory.metric.torch.modules` in all its layers.

Encoder and decoder as they were proposed, with these choices. Layers are normalised before attention and before the
feed-forward part, and once at the end ("pre-LN"), so that training needs no warm-up. Positions are sinusoids.
Embeddings of source, target and output are not tied. The attention is of the given kind in the encoder, in the decoder
(causal) and from the decoder to the encoder; for L2 and for metric-attention the states of both go through one map
there. Values and output of each are affine maps, as usual, so that kinds differ in nothing but their weights.
Dropout acts on embeddings and on what is added to the residual stream, not on weights. Attention does not see the id 0,
which is padding.

References
----------
A. Vaswani et al., *Attention is all you need*, NeurIPS 2017; R. Xiong et al., *On layer normalization in the
transformer architecture*, ICML 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from theory._extra import extra
from theory._validate import as_count
from theory.metric.torch.modules import Attention, attention_module
from theory.metric.torch.parametrised import Affine, Dropout, Table, positions

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

PADDING = 0


class Mixing(torch.nn.Module):
    """Attention with values and output."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.value = Affine(attention.dim, attention.dim)
        self.output = Affine(attention.dim, attention.dim)
        self.attention = attention

    def forward(self, x: Tensor, seen: Tensor, mask: Tensor) -> Tensor:
        """Return what tokens (B, m, d) learn from tokens ``seen``, (B, n, d), where ``mask`` is true."""
        y: Tensor = self.output(self.attention(x, seen, self.value(seen), mask))
        return y


class Layer(torch.nn.Module):
    """Attention to oneself, in a decoder attention to the encoder, and a feed-forward network, each added."""

    def __init__(self, mixings: list[Mixing], dim: int, hidden: int) -> None:
        super().__init__()
        self.mixings = torch.nn.ModuleList(mixings)
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(dim) for _ in range(len(mixings) + 1)])
        self.widen, self.narrow = Affine(dim, hidden), Affine(hidden, dim)

    def forward(self, x: Tensor, mask: Tensor, drop: Dropout, *others: Tensor) -> Tensor:
        """Return the next tokens; ``others`` are those of the encoder and their mask, if any."""
        own = self.norms[0](x)
        x = x + drop(self.mixings[0](own, own, mask))
        if others:
            x = x + drop(self.mixings[1](self.norms[1](x), *others))
        y: Tensor = x + drop(self.narrow(torch.relu(self.widen(self.norms[-1](x)))))
        return y


class Transformer(torch.nn.Module):
    """An encoder-decoder transformer.

    Parameters
    ----------
    source, target : int
        Sizes of the vocabularies, padding included.
    dim : int
        Of a token, even.
    heads, layers, hidden : int
        Heads of an attention, layers of encoder and decoder each, width of a feed-forward network.
    width : int
        Of queries and keys of all heads together; what it is for other kinds says
        :func:`theory.metric.torch.modules.attention_module`.
    attention : {"self", "l2", "metric", "entmax"}
        Kind of every attention.
    matching : {"width", "parameters"}
        Whether ``width`` is taken as it is, or changed until an attention has as many parameters as ``self``, nearly.
    dropout : float, default 0.0
        Rate, in training.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """

    def __init__(
        self, source: int, target: int, *, dim: int = 64, heads: int = 4, layers: int = 2, hidden: int = 128,
        width: int = 64, attention: str = "self", matching: str = "width", dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        dim = as_count(dim, "dim", least=2)
        heads = as_count(heads, "heads")
        hidden = as_count(hidden, "hidden")
        if dim % 2 or dim % heads:
            raise ValueError(f"dim: expected an even multiple of the {heads} heads, got {dim}")

        def mixings(count: int) -> list[Mixing]:
            return [
                Mixing(attention_module(attention, dim, width, heads=heads, matching=matching)) for _ in range(count)
            ]

        self.sizes = as_count(source, "source", least=2), as_count(target, "target", least=2)
        self.words = torch.nn.ModuleList([Table(count, dim) for count in self.sizes])
        deep = range(as_count(layers, "layers"))
        self.encoder = torch.nn.ModuleList([Layer(mixings(1), dim, hidden) for _ in deep])
        self.decoder = torch.nn.ModuleList([Layer(mixings(2), dim, hidden) for _ in deep])
        self.ends = torch.nn.ModuleList([torch.nn.LayerNorm(dim) for _ in range(2)])
        self.output = Affine(dim, self.sizes[1])
        self.drop = Dropout(dropout)

    def reset(self, rng: np.random.Generator) -> None:
        """Draw all parameters, and the masks of dropout to come.

        What the kinds share is drawn first, in one order, and so does not depend on the kind; normalisations begin as
        such.
        """
        self.drop.reset(rng)
        for module in self.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.reset_parameters()  # ones and zeros
            elif isinstance(module, (Affine, Table)):
                module.reset(rng)
        for module in self.modules():
            if isinstance(module, Attention):
                module.reset(rng)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Return scores of the next word after every word of the target, (B, T, target).

        Parameters
        ----------
        source_ids : Tensor of int, shape (B, S)
            Each row has a word, that is an id above 0.
        target_ids : Tensor of int, shape (B, T)
            Each row begins with one; word t is scored by those up to t.

        Raises
        ------
        ValueError, TypeError
            If ids are not in a vocabulary, not integers, or a shape does not fit.
        """
        memory, visible = self.encode(source_ids)
        return self.decode(target_ids, memory, visible)

    def encode(self, source_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states of the source, (B, S, dim), and which are words, (B, 1, S); errors as in ``forward``."""
        x = self._embedded(0, source_ids, "source_ids")
        visible = (source_ids != PADDING).unsqueeze(-2)
        if not visible.any(dim=-1).all():
            raise ValueError("source_ids: expected a word in every row, got padding only")
        for layer in self.encoder:
            x = layer(x, visible, self.drop)
        return self.ends[0](x), visible

    def decode(self, target_ids: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        """Return what ``forward`` does, from what :meth:`encode` returned."""
        x = self._embedded(1, target_ids, "target_ids")
        if len(target_ids) != len(memory):
            raise ValueError(f"target_ids: expected {len(memory)} rows as source_ids, got {len(target_ids)}")
        words = target_ids != PADDING
        if not words[:, 0].all():
            raise ValueError("target_ids: expected a word at the beginning of every row, got padding")
        length = target_ids.shape[1]
        past = torch.ones(length, length, dtype=torch.bool, device=x.device).tril() & words.unsqueeze(-2)
        for layer in self.decoder:
            x = layer(x, past, self.drop, memory, visible)
        scores: Tensor = self.output(self.ends[1](x))
        return scores

    @torch.no_grad()
    def greedy(self, source_ids: Tensor, start: int, end: int, longest: int) -> Tensor:
        """Translate by the likeliest word at every step, without dropout.

        The source is encoded once; the decoder runs afresh over all words so far at every step, nothing is kept.

        Returns
        -------
        Tensor of int, shape (B, T), T at most ``longest``
            The words after ``start`` up to and including ``end``, if it came, then padding, which is never chosen.
        """
        before = self.training
        self.eval()
        try:
            memory, visible = self.encode(source_ids)
            ids = source_ids.new_full((len(source_ids), 1), start)
            open_ = torch.ones_like(ids[:, 0], dtype=torch.bool)
            while ids.shape[1] <= as_count(longest, "longest") and open_.any():
                scores = self.decode(ids, memory, visible)[:, -1]
                scores[:, PADDING] = -torch.inf
                word = torch.where(open_, scores.argmax(dim=-1), PADDING)
                ids = torch.cat([ids, word.unsqueeze(1)], dim=1)
                open_ = open_ & (word != end)
        finally:
            self.train(before)
        return ids[:, 1:]

    def _embedded(self, side: int, ids: Tensor, name: str) -> Tensor:
        if ids.ndim != 2 or not ids.numel():
            raise ValueError(f"{name}: expected shape (B, length), got shape {tuple(ids.shape)}")
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{name}: expected integers, got {ids.dtype}")
        least, most = int(ids.min()), int(ids.max())
        if least < 0 or most >= self.sizes[side]:
            raise ValueError(f"{name}: expected ids from 0 to {self.sizes[side] - 1}, got {least} to {most}")
        x = self.words[side](ids)
        y: Tensor = self.drop(x + positions(*x.shape[1:]).to(x))
        return y
