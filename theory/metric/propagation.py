"""The network of the experiments as a module of PyTorch, with any attention of :mod:`theory.metric.modules`.

It has several heads, masks, entmax and float32 beside what the network of NumPy has, and needs PyTorch, the extra
``learn``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from theory._validate import as_count
from theory.metric._extra import extra
from theory.metric.modules import attention_module
from theory.metric.parametrised import Affine, load
from theory.metric.similarity import drawn

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")


class InformationPropagation(torch.nn.Module):
    """The network of :class:`theory.metric.network.InformationPropagation`, with the same parameters in the same order.

    Parameters
    ----------
    kind : {"self", "l2", "metric", "entmax"}
        Attention of every block.
    inputs, dim, classes : int
        Features of a token given, of a token compared, and classes to tell apart.
    width, heads, alpha, matching
        As in :func:`theory.metric.modules.attention_module`.
    blocks : int, default 2
        How often the tokens are averaged.
    """

    def __init__(
        self, kind: str, *, inputs: int, dim: int, classes: int, width: int, blocks: int = 2,
        heads: int = 1, alpha: float = 1.5, matching: str = "width",
    ) -> None:  # fmt: skip
        super().__init__()
        dim = as_count(dim, "dim")
        self.first = Affine(as_count(inputs, "inputs"), dim)
        self.last = Affine(dim, as_count(classes, "classes"))
        make = partial(attention_module, kind, dim, width, heads=heads, alpha=alpha, matching=matching)
        self.blocks = torch.nn.ModuleList([make() for _ in range(as_count(blocks, "blocks"))])

    def reset(self, rng: np.random.Generator) -> None:
        """Draw the parameters that the network of NumPy draws, with the same numbers."""
        load(self, drawn(tuple(tuple(p.shape) for p in self.parameters()), rng))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return class scores, (..., n, classes), of tokens (..., n, inputs); ``mask`` as for an attention."""
        h = self.first(x)
        for block in self.blocks:
            h = block(h, h, h, mask)
        scores: Tensor = self.last(h)
        return scores
