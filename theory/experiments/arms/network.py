r"""Many networks of one arm at once: parameters and tokens have a leading axis of runs, and runs never mix.

.. math:: H_0 = XA + a, \qquad H_{\ell + 1} = \text{layer}_\ell(H_\ell), \qquad F = H_LB + b .

Small networks leave a processor idle between operations; thirty of them in one batch of matrix products take little
longer than one. The sum of the losses of all runs has the gradient of each run in its own slice, and Adam works entry
by entry, so that a run is trained as if it were alone, up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from theory._extra import extra
from theory.experiments.arms.arm import Arm, Sizes
from theory.metric.similarity import Shapes, draw_parameters, split_parameters

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

_LEAST = 1e-12  # under a root, where its derivative is still a number; no threshold that is taken comes near
_SMALLEST_VARIANCE = 1e-5  # as PyTorch's LayerNorm


class Networks(torch.nn.Module):
    """The networks of one arm, one for every run.

    Parameters
    ----------
    arm : Arm
    sizes : Sizes
    starts, inner : sequence of numpy.random.Generator
        For every run, what draws the parameters that all arms share, and those of its own.
    dtype : torch.dtype, optional
        Of parameters and tokens; single precision unless given.
    """

    def __init__(
        self,
        arm: Arm,
        sizes: Sizes,
        starts: Sequence[np.random.Generator],
        inner: Sequence[np.random.Generator],
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.arm, self.sizes = arm, sizes
        self.dtype = torch.float32 if dtype is None else dtype
        self.ends = self._drawn(_ends(arm, sizes), starts)
        blocks = range(0 if arm.architecture == "linear" else sizes.blocks)
        self.mixed = torch.nn.ModuleList([self._drawn(arm.mixed(sizes), starts) for _ in blocks])
        self.scored = torch.nn.ModuleList([self._drawn(arm.scored(sizes), inner) for _ in blocks])

    @property
    def parameters_each(self) -> int:
        """How many numbers are trained in one run."""
        return sum(p[0].numel() for p in self.parameters())

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of the classes, (runs, sets, n, classes), of tokens (runs, sets, n, inputs)."""
        if self.arm.architecture == "linear":
            return _affine(x, *self.ends)
        h = _affine(x, *self.ends[:2])
        for mixed, scored in zip(self.mixed, self.scored, strict=True):
            h = self._layer(h, [*mixed.parameters()], [*scored.parameters()])
        return _affine(h, *self.ends[2:])

    def _layer(self, h: Tensor, mixed: list[Tensor], scored: list[Tensor]) -> Tensor:
        if self.arm.architecture == "published":
            return self._means(h, scored, h)
        if self.arm.architecture == "residual":
            return h + self._means(h, scored, h)
        scale, shift, value, output, bias, *forward = mixed
        own = _normalised(h, scale, shift)
        h = h + _affine(self._means(own, scored, own @ value.unsqueeze(1)), output, bias)
        scale, shift, wide, wide_bias, narrow, narrow_bias = forward
        hidden = torch.relu(_affine(_normalised(h, scale, shift), wide, wide_bias))
        return h + _affine(hidden, narrow, narrow_bias)

    def _means(self, h: Tensor, scored: list[Tensor], values: Tensor) -> Tensor:
        means: Tensor = _rows(self.arm.similarity, _SCORES[self.arm.similarity](h, *scored)) @ values
        return means

    def _drawn(self, shapes: Shapes, generators: Sequence[np.random.Generator]) -> torch.nn.ParameterList:
        """Return parameters as they are drawn elsewhere in the suite, but that scales of normalisations are one."""
        if not shapes:
            return torch.nn.ParameterList()
        each = [split_parameters(draw_parameters(shapes, rng), shapes) for rng in generators]
        stacked = [np.stack(parts) for parts in zip(*each, strict=True)]
        if len(shapes) > 4:  # of a block: the scales of its two normalisations
            stacked[0] += 1.0
            stacked[5] += 1.0
        return torch.nn.ParameterList([torch.tensor(part, dtype=self.dtype) for part in stacked])


def _ends(arm: Arm, sizes: Sizes) -> Shapes:
    if arm.architecture == "linear":
        return (sizes.inputs, sizes.classes), (sizes.classes,)
    return (sizes.inputs, sizes.dim), (sizes.dim,), (sizes.dim, sizes.classes), (sizes.classes,)


def _affine(x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """Return the images of (runs, sets, n, inputs) by (runs, inputs, outputs) and (runs, outputs)."""
    y: Tensor = x @ matrix.unsqueeze(1) + bias[:, None, None]
    return y


def _normalised(h: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    centred = h - h.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    y: Tensor = centred * (variance + _SMALLEST_VARIANCE).rsqrt() * scale[:, None, None] + shift[:, None, None]
    return y


def _rows(similarity: str, scores: Tensor) -> Tensor:
    if similarity != "entmax":
        return scores.softmax(dim=-1)
    sound = scores.isfinite().flatten(1).all(dim=1)[:, None, None, None]  # a run that diverges is seen in its own loss
    return torch.where(sound, sparse_rows(torch.where(sound, scores, 0.0)), math.nan)


def sparse_rows(scores: Tensor) -> Tensor:
    r"""Return the 3/2-entmax of rows: :math:`p_j = (s_j/2 - \tau)_+^2`, with :math:`\tau` such that they sum to one.

    The threshold is that of the largest support k for which it stays below the k-th largest score. Of the k largest
    halves, with mean m and mean squared deviation v, :math:`\tau = m - \sqrt{1/k - v}`; its derivative is that of
    the last formula.

    References
    ----------
    B. Peters, V. Niculae, A. F. T. Martins, *Sparse sequence-to-sequence models*, ACL 2019, algorithm 2.
    """
    halves = scores / 2.0
    halves = halves - halves.amax(dim=-1, keepdim=True).detach()  # entmax does not see what is added to a row
    ordered = halves.sort(dim=-1, descending=True).values
    count = torch.arange(1, ordered.shape[-1] + 1, dtype=ordered.dtype)
    mean = ordered.cumsum(dim=-1) / count
    spread = ordered.square().cumsum(dim=-1) / count - mean.square()
    thresholds = mean - (1.0 / count - spread).clamp(min=_LEAST).sqrt()
    support = (thresholds <= ordered).sum(dim=-1, keepdim=True)
    threshold = thresholds.gather(-1, support - 1)
    law: Tensor = (halves - threshold).clamp(min=0.0).square()
    return law


def _dots(h: Tensor, query: Tensor, key: Tensor) -> Tensor:
    left = h @ (query / math.sqrt(query.shape[-1])).unsqueeze(1)
    y: Tensor = left @ (h @ key.unsqueeze(1)).transpose(-1, -2)
    return y


def _distances(h: Tensor, matrix: Tensor) -> Tensor:
    return _minus_squares(h @ matrix.unsqueeze(1))


def _features(h: Tensor, inner: Tensor, inner_bias: Tensor, outer: Tensor, outer_bias: Tensor) -> Tensor:
    y: Tensor = h + _affine(torch.tanh(_affine(h, inner, inner_bias)), outer, outer_bias)
    return y


def _metric_distances(h: Tensor, *parameters: Tensor) -> Tensor:
    return _minus_squares(_features(h, *parameters))


def _metric_dots(h: Tensor, *parameters: Tensor) -> Tensor:
    f = _features(h, *parameters)
    y: Tensor = (f / math.sqrt(f.shape[-1])) @ f.transpose(-1, -2)
    return y


def _minus_squares(f: Tensor) -> Tensor:
    """Return minus the squared distances of the rows of f, up to a number for each query, which no weight sees."""
    f = f - f[..., :1, :].detach()  # no distance depends on the origin; one of the rows keeps the sums small
    y: Tensor = (2.0 * f) @ f.transpose(-1, -2) - f.square().sum(-1).unsqueeze(-2)
    return y


_SCORES: dict[str, Callable[..., Tensor]] = {
    "dot": _dots,
    "entmax": _dots,
    "distance": _distances,
    "metric": _metric_distances,
    "features": _metric_dots,
}
