"""A verdict as a picture: what remains possible, what is allowed, where the nearest twin stands, by powers of ten."""

from __future__ import annotations

import math

from markupsafe import Markup

from theory.evidence.judge import Part

_WIDTH = 240
_LEAST, _LARGEST = (
    -17.0,
    1.0,
)  # chosen: powers of ten, from below one rounding to ten times a claim


def draw_margin(part: Part | None) -> Markup:
    """Draw the part of a claim that uses most of what it may, as SVG; empty without one.

    The style sheet colours it, and draws the axis behind it: every third power of ten from the 15th below one has a
    tick. What the marks mean, and their numbers, stand below the picture.
    """
    if part is None:
        return Markup("")
    failed = part.departure.lo > 0.0
    shapes = []
    if part.departure.hi > 0.0:
        shapes.append(f'<path class="{"b-failed" if failed else "b-left"}" d="M0 9H{_place(part.departure.hi)}"/>')
    if part.reach > 0.0:
        shapes.append(f'<path class="b-allowed" d="M{_place(part.reach)} 2v14"/>')
    if part.gap > 0.0:
        x = _place(part.gap)
        shapes.append(f'<path class="b-twin" d="M{x} 9l-4 -7h8z"/>')
    return Markup('<svg class="bar" viewBox="-2 0 246 18" aria-hidden="true">{}</svg>').format(
        Markup("").join(map(Markup, shapes))
    )


def _place(value: float) -> int:
    """Return where a positive number stands."""
    power = min(max(math.log10(value), _LEAST), _LARGEST)
    return round(_WIDTH * (power - _LEAST) / (_LARGEST - _LEAST))
