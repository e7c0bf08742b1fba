"""Layers applied over and over, on the line, and the volume that a residual layer gives to its tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from theory.attention import AttentionKernel, DotProduct, FeedForward, Measure, SelfAttention, SquaredDistance, Stack
from theory.attention.score import Array
from theory.distance import w1
from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import EXP_ULPS, gamma
from theory.lipschitz.constants.distance import nearness_constant
from theory.lipschitz.depth.fixed_points import mirrored_tokens, residual_determinant

RESIDUAL_SHARES = (0.1, 0.5)
DISTANCE_SHARE = 0.9 / (1.0 + 4.0 * nearness_constant(3))  # taken: nine tenths of what keeps X - cF(X) injective


class System(NamedTuple):
    """Attention on the line with form and value, a shift, and perhaps tanh after it; where it starts, and how long."""

    form: float
    value: float
    shift: float
    squashed: bool
    starts: dict[str, tuple[float, ...]]
    steps: int

    @property
    def block(self) -> Stack:
        """The layers of one pass."""
        squash = np.tanh if self.squashed else np.positive
        attention = SelfAttention(DotProduct(form=np.array([[self.form]])), np.array([[self.value]]))
        return Stack((attention, FeedForward(lambda x: squash(x + self.shift))))

    def advance(self, mu: Measure, off: float) -> tuple[Measure, float]:
        r"""Return the next measure, and how far its atoms may be off if those of ``mu`` are off by ``off``.

        Moving all tokens by h moves an output by at most :math:`|V|(1 + |B|(D^2/4 + RD))|h|`, with D their diameter
        and R the radius, and tanh has the slope :math:`1 - \tanh^2` at its smallest argument.
        """
        kernel = AttentionKernel(DotProduct(form=np.array([[self.form]])), mu, np.array([[self.value]]))
        after = self.block.push(mu)
        width = float(np.ptp(mu.points)) + 2.0 * off
        radius = float(np.abs(mu.points).max()) + off
        spread = abs(self.value) * (1.0 + abs(self.form) * (width**2 / 4.0 + radius * width))
        own = kernel.rounding(mu.points)
        reached = float(np.abs(after.points).max())
        if self.squashed:
            least = float(np.abs(after.points).min()) if np.ptp(np.sign(after.points)) == 0.0 else 0.0
            least = max(least - spread * off - own, 0.0)
            spread, own = spread * (1.0 - least**2), own * (1.0 - least**2)
        return after, (spread * off + own) * (1.0 + 2.0**-30) + gamma(2 * EXP_ULPS + 4) * reached


SYSTEMS = {
    "contraction": System(
        -0.2, 0.35, 0.4, squashed=False, steps=24,
        starts={"left": (-1.0, -0.9, -0.7), "right": (1.0, 1.0, 0.8), "spread": (1.0,) * 15 + (-1.0,)},
    ),
    "identity": System(
        1.0, 1.0, 0.0, squashed=False, steps=12,
        starts={"pair": (-0.9, 0.9), "upper": (0.1, 0.6, 0.9), "lower": (-1.0, -0.8, 0.2), "middle": (-0.6, -0.3, 0.5)},
    ),
    "reflection": System(
        1.0, -1.0, 0.0, squashed=False, steps=12, starts={"upper": (0.1, 0.6, 0.9), "lower": (-0.4, -0.3, 0.2)},
    ),
    "squashed": System(
        0.2, 1.5, 0.0, squashed=True, steps=60,
        starts={
            "low": (-1.0, -0.9, -0.2), "just below": (-0.5, -0.05, 0.4), "symmetric": (-0.8, 0.0, 0.8),
            "just above": (-0.4, 0.05, 0.5), "high": (0.3, 0.9, 1.0),
        },
    ),
}  # fmt: skip


def fixed_points(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here, and no system is large
    """Return where the tokens of four weight-shared networks are after every pass, and how far the next one moves them.

    ``low``, ``mean`` and ``high`` are the least token, the mean and the largest; ``move`` is W1 to the next measure.
    """
    names = ("system", "start", "step", "low", "mean", "high", "move")
    columns: dict[str, list[object]] = {name: [] for name in names}
    for name, system in SYSTEMS.items():
        for start, tokens in system.starts.items():
            mu = Measure(np.array(tokens)[:, np.newaxis])
            off = 0.0
            for step in range(system.steps):
                after, then = system.advance(mu, off)
                moved = _apart(mu, after, off + then)
                mean = Interval.within(float(mu.mean()[0]), off + gamma(2 * mu.size) * float(np.abs(mu.points).max()))
                ends = (Interval.within(float(edge), off) for edge in (mu.points.min(), mu.points.max()))
                low, high = ends
                for key, cell in zip(names, (name, start, step, low, mean, high, moved), strict=True):
                    columns[key].append(cell)
                mu, off = after, then
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), columns)  # type: ignore[arg-type]


def _apart(mu: Measure, nu: Measure, off: float) -> Interval:
    """Enclose W1 of two measures with atoms that are off by ``off`` together."""
    around = w1(mu, nu) + Interval.within(0.0, off)
    return Interval(max(around.lo, 0.0), around.hi, around.kind)


def determinants(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return determinants of residual layers at the tokens 0, t, -t, and tokens that X - cF(X) sends to one place.

    Parts ``dot`` and ``distance``: ``value`` is the determinant at ``place`` t of X - cF(X), c the ``share``. Part
    ``preimages``: ``value`` is the first of three tokens that go to (0, s, -s), s the ``place``.
    """
    rows: list[tuple[str, float, float, Interval]] = []
    density = 8 if scale == "quick" else 32
    for share in RESIDUAL_SHARES:
        for t in sorted({*np.linspace(0.0, 6.5, 6 * density + density // 2 + 1).tolist(), 1.0, 2.0, 4.0, 6.0}):
            volume = _volume(t, DotProduct(scale=1.0), -share)
            rows.append(("dot", share, t, volume))
        for middle in np.linspace(0.0, 1.2, density + 5)[1:].tolist():
            tokens = mirrored_tokens(middle, share)
            place = _image(tokens[:, 0], share)[1]
            rows += [("preimages", share, place, Interval.exactly(side * middle)) for side in (-1.0, 1.0)]
        for t in np.linspace(0.0, 13.0, 4 * density + 1).tolist():
            rows.append(("preimages", share, _image(np.array([0.0, t, -t]), share)[1], Interval.exactly(0.0)))
    for t in np.linspace(0.0, 6.5, 6 * density + density // 2 + 1).tolist():
        rows.append(("distance", DISTANCE_SHARE, t, _volume(t, SquaredDistance(1.0), -DISTANCE_SHARE)))
    names = ("part", "share", "place", "value")
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return Table(Kind.CERTIFIED, dict.fromkeys(names, "1"), columns)


def _volume(t: float, score: DotProduct | SquaredDistance, share: float) -> Interval:
    return residual_determinant(np.array([[0.0], [t], [-t]]), score, share)


def _image(x: Array, share: float) -> list[float]:
    """Return X - cF(X) for three tokens on the line, in floats: where a point is drawn."""
    mu = Measure(x[:, np.newaxis])
    moved: list[float] = (x - share * AttentionKernel(DotProduct(scale=1.0), mu).output(mu.points)[:, 0]).tolist()
    return moved
