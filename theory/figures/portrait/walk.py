"""The layers of a network side by side: constants, what holds at their tokens, and what a search finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from theory._validate import as_choice
from theory.evidence.files import write_whole
from theory.figures import _style as style
from theory.figures._style import Figure, style as drawings
from theory.figures.portrait.look import FORMATS
from theory.lipschitz.certificate import Certificate
from theory.lipschitz.portrait import Step

_PANELS = {"W2": "distance $W_2$", "max": "largest displacement", "frobenius": "Frobenius"}
_MARKS = {
    "constant on the ball": ("s", style.BLUE), "constant at the tokens": ("D", style.GREEN),
    "found at the tokens": ("o", style.ORANGE), "found in the ball": ("o", style.VERMILION),
}  # fmt: skip
_TALLEST = 1e12  # taken: higher marks stand at the edge


def draw_walk(steps: Sequence[Step], path: Path | str) -> None:
    """Draw the layers that :func:`theory.lipschitz.portrait.walk` returns, and write the picture.

    Parameters
    ----------
    steps : sequence of Step
        At least one.
    path : path
        Ends in .svg, .png or .pdf.

    Raises
    ------
    ValueError
        If there is no step, or the file has another suffix.
    OSError
        If it cannot be written; it is what it was.
    """
    target = Path(path)
    form = as_choice(target.suffix.removeprefix("."), "path", FORMATS)
    if not steps:
        raise ValueError("steps: expected at least one layer, got none")
    with drawings.drawing():
        figure, words = draw_steps(steps)
        drawings.caption(figure, words)
        picture = drawings.pictures(figure, [form])[form]
    write_whole(target, picture)


def draw_steps(steps: Sequence[Step]) -> tuple[Figure, list[str]]:
    """Draw what is certified and what is found of each layer, by metrics."""
    figure, panels = style.row(2.6, *_PANELS.values())
    for axes, metric in zip(panels, _PANELS, strict=True):
        for place, step in enumerate(steps):
            found = heights(step, metric)
            shown = [value for value in found.values() if math.isfinite(value) and 0.0 < value <= _TALLEST]
            for name, value in found.items():
                mark, color = _MARKS[name]
                if value > _TALLEST:
                    above = ((place + 0.5) / len(steps), 0.98)
                    words = f"$\\uparrow$ {_digits(value)}"
                    style.note(axes, words, above, inside=True, ha="center", va="top", color=color)
                elif value > 0.0:
                    style.marks(axes, place, value, mark, color=color, size=4.0)
            if shown:
                axes.plot([place, place], [min(shown), max(shown)], color=style.PALE, linewidth=2.0, zorder=0)
        if not any(heights(step, metric) for step in steps):
            style.note(axes, "no theorem", (0.5, 0.5), inside=True, ha="center", va="center", color=style.GREY)
        axes.set(yscale="log", xlim=(-0.5, len(steps) - 0.5))
        axes.set_xticks(range(len(steps)), [step.name for step in steps])
    for name, (mark, color) in _MARKS.items():
        style.marks(panels[-1], [], [], mark, color=color, size=4.0, label=name)
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    ends = [f"{end(step.certificate.radius for step in steps):.3g}" for end in (min, max)]
    radii = " to ".join(dict.fromkeys(ends))
    words = (
        f"Lipschitz constants of the attention of every layer, for all tokens in balls of radius {radii}, "
        "certified, and what a search finds there, a lower bound; in the Frobenius norm also a constant at the tokens "
        "that reach the layer, whatever the softmax gives, and the norm of the derivative there, in floats. The best "
        "constant lies between squares and red marks."
    )
    return figure, [words]


def heights(step: Step, metric: str) -> dict[str, float]:
    """Return what is drawn of a layer in a metric, by the names of the marks."""
    certificate: Certificate = step.certificate
    row = certificate.row(metric)
    found = {}
    if row.constant is not None:
        found["constant on the ball"] = row.constant
    if row.lower is not None:
        found["found in the ball"] = row.lower
    if metric == "frobenius":
        levels = step.portrait.levels
        found["constant at the tokens"] = levels[1].value
        found["found at the tokens"] = levels[3].value
    return found


def _digits(value: float) -> str:
    return r"$\infty$" if math.isinf(value) else f"{value:.0e}"
