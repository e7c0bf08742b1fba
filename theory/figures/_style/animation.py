"""Figures that move: frames on one palette, made into a GIF that comes out equal every time.

A figure has an animation if its module has ``animate(table)``, which yields the frames as figures of one size.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

DOTS = 110  # chosen: per inch; twice the dots of a screen's column would be four times the bytes
_COLOURS = 48  # chosen: enough for one hue with its shades
_PAUSE, _REST = 90, 1500  # milliseconds per frame, and of the last one


def encode_gif(frames: Iterable[Figure]) -> bytes:
    """Return the GIF that shows frames as an endless animation.

    Raises
    ------
    ValueError
        If there are fewer than two frames.
    """
    pictures = [_picture(frame) for frame in frames]
    if len(pictures) < 2:
        raise ValueError(f"frames: expected at least two, got {len(pictures)}")
    sample = Image.fromarray(np.hstack([np.asarray(pictures[k]) for k in (0, len(pictures) // 2, -1)]))
    palette = sample.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT)
    first, *rest = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    pauses = [_PAUSE] * (len(pictures) - 1) + [_REST]
    out = io.BytesIO()
    first.save(out, format="GIF", save_all=True, append_images=rest, duration=pauses, loop=0, optimize=False)
    return out.getvalue()


def _picture(figure: Figure) -> Image.Image:
    figure.set_dpi(DOTS)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
