r"""Operator norms of the Jacobian of softmax, and where they reach their suprema, the Lipschitz constants of softmax.

Over two scores all nine are multiples of :math:`p(1 - p)` and attain their suprema at :math:`p = 1/2`. Along
:math:`(\frac12, \frac12 - \epsilon, \epsilon)` those between absolute and largest norms keep them for every
:math:`\epsilon`, while those that involve the Euclidean norm miss them by a multiple of :math:`\epsilon`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from theory.evidence import Table
from theory.figures import _style as style
from theory.figures._style import Axes, Figure
from theory.maxent import studies

TITLE = "the Jacobian of softmax reaches its constants with two scores, and with three some in the limit only"
STUDY = studies.operator_norms
CLAIMS = ("softmax.norms-attained", "softmax.norms-limit")


class _Norm(NamedTuple):
    """How a norm, equal to that of the dual spaces, is named, and its supremum."""

    name: str
    words: str
    supremum: float
    printed: str
    hue: str
    mark: str
    euclidean: bool


_NORMS = (
    _Norm("inf_one", r"$\ell_\infty\to\ell_1$", 1.0, "$1$", style.BLACK, "v", euclidean=False),
    _Norm("inf_two", r"$\ell_\infty\to\ell_2\to\ell_1$", 0.5**0.5, r"$1/\sqrt{2}$", style.PURPLE, "D", euclidean=True),
    _Norm("inf_inf", r"$\ell_\infty\to\ell_\infty,\ \ell_1\to\ell_1$", 0.5, "$1/2$", style.BLUE, "s", euclidean=False),
    _Norm("two_two", r"$\ell_2\to\ell_2$", 0.5, "", style.VERMILION, "o", euclidean=True),
    _Norm("one_two", r"$\ell_1\to\ell_2\to\ell_\infty$", 0.125**0.5, r"$\sqrt{2}/4$", style.GREEN, "^", euclidean=True),
    _Norm("one_inf", r"$\ell_1\to\ell_\infty$", 0.25, "$1/4$", style.ORANGE, "P", euclidean=False),
)
_TURNS = ((0, 3), (0, 2), (1, 3), (0, 1), (1, 2), (2, 3))  # of norms that coincide over three scores
_DASH = 3.0  # line widths
_MARK: dict[str, Any] = {"markersize": 2.8, "markeredgewidth": 0}


def draw(table: Table) -> Figure:
    """Draw norms over two scores, their shares of the suprema over three, and by how much these are missed."""
    figure, (first, second, third) = style.row(
        3.1,
        r"two scores, $p = (p_1, 1 - p_1)$",
        r"three, $(\frac{1}{2}, \frac{1}{2} - \epsilon, \epsilon)$",
        "what is missing",
        widths=[1.25, 1.0, 1.0],
    )
    two, three, rest = first, second, third
    handles = []
    for number, norm in enumerate(_NORMS):
        part = table.where(norm=norm.name)
        handles.append(_curve(two, part.where(n=2), norm, number))
        _share(three, rest, part.where(n=3), norm, number)
        if norm.printed:
            style.guide(two, y=norm.supremum, line="dotted")
    two.set(xlabel="$p_1$", ylabel=r"operator norm of $\mathrm{diag}(p) - pp^\top$", xlim=(0, 1), ylim=(0, 1.05))
    right = two.secondary_yaxis("right")
    named = [norm for norm in _NORMS if norm.printed]
    right.set_yticks([norm.supremum for norm in named], [norm.printed for norm in named])
    right.tick_params(length=0, pad=1)
    right.spines["right"].set_visible(False)
    eps = np.unique(table.where(n=3)["weight"])
    three.set(xscale="log", xlabel=r"$\epsilon$", ylabel="norm over its supremum", ylim=(0.74, 1.01))
    three.set_yticks([0.75, 0.8, 0.85, 0.9, 0.95, 1.0])
    rest.plot(eps, eps / 4, color=style.GREY, linestyle=(0, (4, 2)), zorder=1)
    style.note(rest, r"dashed: $\epsilon/4$, claimed least", (0.04, 0.04), inside=True)
    rest.set(xscale="log", yscale="log", xlabel=r"$\epsilon$", ylabel=r"$1\ -$ norm over its supremum")
    style.note(two, "lines: closed form\nmarks: extreme points, svd", (0.5, 0.04), ha="center", va="bottom")
    for each in (three, rest):
        each.invert_xaxis()
    figure.legend(handles=handles, loc="outside upper center", ncols=6, columnspacing=1.2)
    return figure


def _curve(axes: Axes, part: Table, norm: _Norm, number: int) -> object:
    """Draw the closed form as a line, the norm by extreme points as marks; norms that coincide take turns."""
    order = np.argsort(part["weight"])
    across = part["weight"][order]
    closed = part.middles("closed")[order]
    extreme = part.middles("extreme")[order]
    turns = slice(1 + 2 * (number % 2), None, 4)
    axes.plot(across, closed, color=norm.hue, linestyle=_dashes(number % 2, 2) if norm.supremum == 0.5 else "solid")
    axes.plot(across[turns], extreme[turns], norm.mark, color=norm.hue, **_MARK)
    (handle,) = axes.plot([], [], color=norm.hue, marker=norm.mark, markersize=3, markeredgewidth=0, label=norm.words)
    return handle


def _dashes(turn: int, among: int) -> tuple[float, tuple[float, float]]:
    """Return the dashes of one of several lines that coincide, each of which draws its part of a period."""
    return -turn * _DASH, (_DASH, _DASH * (among - 1))


def _share(three: Axes, rest: Axes, part: Table, norm: _Norm, number: int) -> None:
    """Draw shares of the supremum, and what is missing; norms that coincide take turns in dashes and marks."""
    order = np.argsort(part["weight"])[::-1]
    across = part["weight"][order]
    share = part.middles("extreme")[order] / norm.supremum
    closed = part.middles("closed")[order] / norm.supremum
    turn, among = _TURNS[number]
    line: dict[str, Any] = {"color": norm.hue, "linestyle": _dashes(turn, among) if among > 1 else "solid"}
    mark: dict[str, Any] = {"color": norm.hue, "linestyle": "none", "marker": norm.mark, **_MARK}
    here = slice(turn, None, among)
    three.plot(across, closed, **line)
    three.plot(across[here], share[here], **mark)
    if norm.euclidean:
        rest.plot(across, 1.0 - closed, **line)
        rest.plot(across[here], 1.0 - share[here], **mark)
