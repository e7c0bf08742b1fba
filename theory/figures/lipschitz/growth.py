r"""How the Lipschitz constants of dot-product attention grow: with the radius, the number of tokens, and alpha.

With the radius: three tokens :math:`0, R, -R`, whose Jacobian grows like :math:`R^2`, past a line that circulates as a
bound. With the number of tokens, at :math:`\alpha = 3`: four constants in the Frobenius norm above two witnesses. One
leader loses its hold on many tokens; a fixed share of leaders does not, and the constant without n stays above it. With
alpha: the largest norm for two opposite atoms between the exponentials of :math:`\alpha` and :math:`2\alpha`, and what
it is of the constant and of :math:`\alpha e^\alpha`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Array, Axes, Figure
from theory.lipschitz import studies
from theory.lipschitz.constants import frobenius_constants, published_constant

TITLE = "constants of dot-product attention grow with radius, tokens and alpha; two simple formulas are no bounds"
STUDY = studies.growth
CLAIMS = ("dot-product.leader", "lipschitz.refined-w2", "dot-product.mean-field-exponent", "dot-product.quadratic")

_FORMS = (
    ("published", r"$\sqrt{3}\sqrt{\alpha^2(4n+1)+n}$", style.GREY, (0, (1, 1))),
    ("squares", r"$\sqrt{3}\sqrt{\alpha^2(n+1)+n}$", style.ORANGE, (0, (5, 1.5, 1, 1.5))),
    ("terms", r"$\sqrt{n}(1+\alpha)+\alpha$", style.PURPLE, (0, (5, 1.5))),
    ("schur", "Schur's test", style.GREEN, (0, (2.5, 1))),
    ("free", r"$e^\alpha(1+\alpha)+\alpha$", style.BLUE, "solid"),
)
_MARK: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0}
_LIMIT = 3.0 * 3.0**0.5 / 8.0


def draw(table: Table) -> Figure:
    """Draw growth with the radius and with the number of tokens, above growth with alpha."""
    figure = style.canvas(style.DOUBLE, 5.0)
    axes = figure.subplot_mosaic([["a", "b"], ["c", "d"]])
    _radius(axes["a"], table)
    _tokens(axes["b"], table)
    _alpha(axes["c"], axes["d"], table.where(part="minority"))
    return figure


def _radius(axes: Axes, table: Table) -> None:
    style.panel(axes, "a", r"tokens $0, R, -R$ on the line, $B = V = 1$")
    across = np.geomspace(1.0, 128.0, 200)
    axes.plot(across, (2.0 * across**2 + 1.0) / 3.0, color=style.BLUE, label=r"$(2R^2+1)/3$", zorder=1)
    linear = 1.0 + 6.0 * 2.0**0.5 * across
    axes.plot(across, linear, color=style.VERMILION, linestyle=(0, (4, 2)), label=r"$1 + 2\sqrt{2}\,nR$: not a bound")
    for part, words, mark, size, hue in (
        ("norm", r"$\|dF\|_2$", "o", 5.2, style.SKY), ("entry", r"$\partial F_1/\partial x_1$", "D", 2.6, style.BLACK),
    ):  # fmt: skip
        found = table.where(part=part)
        axes.plot(
            np.sqrt(found["alpha"]), found.middles("value"), mark, color=hue, markersize=size, label=words, **_MARK
        )
    axes.set(xscale="log", yscale="log", xlabel="radius $R$", ylabel="local Lipschitz constant")
    axes.legend(loc="upper left")


def _tokens(axes: Axes, table: Table) -> None:
    style.panel(axes, "b", r"$n$ tokens in a ball, $\alpha = \|B\|R^2 = 3$, $\|V\| = 1$")
    sizes = np.unique(np.round(np.geomspace(3.0, 1e6, 200))).astype(np.int64)
    constants = [frobenius_constants(3.0, int(n)) for n in sizes]
    for name, words, hue, dash in _FORMS:
        heights = [getattr(each, name) for each in constants]
        axes.plot(sizes, heights, color=hue, linestyle=dash, label=words, zorder=1)
    for part, words, mark, size, hue in (
        ("leaders", "best leaders", "o", 5.0, style.SKY), ("leader", "one leader", "v", 3.0, style.BLACK),
    ):  # fmt: skip
        found = table.where(part=part)
        axes.plot(found["tokens"], found.middles("value"), mark, color=hue, markersize=size, label=words, **_MARK)
    axes.set(xscale="log", yscale="log", xlabel="number $n$ of tokens", ylabel="constant in the Frobenius norm")
    axes.set_ylim(1.3, 4e5)
    axes.legend(loc="upper left", ncols=2, columnspacing=0.8)


def _alpha(left: Axes, right: Axes, table: Table) -> None:
    style.panel(left, "c", r"two opposite atoms of any masses, $B = -\alpha$")
    style.panel(right, "d", "what the atoms reach")
    order = np.argsort(table["alpha"])
    alpha = table["alpha"][order]
    found = table.middles("value")[order]
    grid = np.linspace(1.0, 16.0, 200)
    most = [published_constant(float(a)) for a in grid]
    left.plot(grid, most, color=style.GREY, linestyle=(0, (1, 1)), label=r"published, $(1+3\alpha)e^{2\alpha}$")
    left.plot(grid, _free(grid), color=style.BLUE, label=r"$e^\alpha(1+\alpha)+\alpha$", zorder=1)
    half = np.exp(grid / 2.0) * (1.0 + grid) + grid
    words = r"$e^{\alpha/2}(1+\alpha)+\alpha$: not a bound"
    left.plot(grid, half, color=style.VERMILION, linestyle=(0, (4, 2)), label=words)
    near = alpha <= 16.0
    look: dict[str, Any] = {"color": style.BLACK, "markersize": 3.4, **_MARK}
    left.plot(alpha[near], found[near], "o", label=r"largest $\|dF\|$ found", **look)
    left.set(yscale="log", xlabel=r"$\alpha = \|B\|R^2$", ylabel="constant in $W_2$", xlim=(0.5, 16.5))
    left.legend(loc="upper left")
    over = found / (alpha * np.exp(alpha))
    share = found / _free(alpha)
    style.guide(right, y=_LIMIT, line="dashed")
    thin: dict[str, Any] = {"markersize": 3.4, "markeredgewidth": 0, "linewidth": 0.5}
    right.plot(alpha, over, "s-", color=style.VERMILION, label=r"over $\alpha e^\alpha$", **thin)
    right.plot(alpha, share, "o-", color=style.BLUE, label=r"over $e^\alpha(1+\alpha)+\alpha$", **thin)
    style.note(right, r"$3\sqrt{3}/8$", (1.0, _LIMIT), offset=(2.0, 2.0), color=style.GREY)
    right.set(xlabel=r"$\alpha = \|B\|R^2$", ylabel=r"largest $\|dF\|$ found, relative", ylim=(0.4, 1.2))
    right.set_xscale("log", base=2)
    style.ticks(right, x=[1, 2, 4, 8, 16, 32, 64])
    right.legend(loc="upper right")


def _free(alpha: Array) -> Array:
    """Return the constant of all measures on the ball."""
    return np.array([frobenius_constants(float(a), 1).free for a in alpha])
