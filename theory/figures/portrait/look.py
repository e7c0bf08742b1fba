"""Pictures of a layer at given tokens, from a file, from arrays or from a module of PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice
from theory.evidence.files import write_together
from theory.figures._style import style
from theory.figures.portrait.ellipses import draw_ellipses
from theory.figures.portrait.factors import draw_factors
from theory.figures.portrait.maps import draw_maps
from theory.figures.portrait.paths import draw_paths
from theory.figures.portrait.spectrum import draw_spectrum
from theory.lipschitz import read_weights
from theory.lipschitz.portrait import Portrait, portray

PICTURES = {
    "maps": draw_maps, "ellipses": draw_ellipses, "paths": draw_paths, "spectrum": draw_spectrum,
    "factors": draw_factors,
}  # fmt: skip
FORMATS = ("svg", "png", "pdf")


def look(
    weights: Any, tokens: ArrayLike, *, out: Path | str, formats: Sequence[str] = ("svg",), **options: Any
) -> Portrait:
    """Draw what a layer does to tokens, and write the pictures and their numbers into a folder.

    Parameters
    ----------
    weights : path, mapping or torch.nn.Module
        A file as ``certify`` reads it, arrays by the names of :func:`theory.lipschitz.portrait.portray`, or a module as
        :func:`theory.metric.torch.module_weights` reads it.
    tokens : array_like, shape (n, d)
        In the space of the weights.
    out : path
        The folder, made if it is not there: ``maps``, ``ellipses``, ``paths``, ``spectrum`` and ``factors`` in every
        format, and ``look.json`` with the numbers that are drawn. All are written, or none.
    formats : sequence of str
        Any of svg, png and pdf.
    options
        ``heads``, ``causal``, ``residual``, ``score``, ``scale``, ``base``, ``pairs`` and ``layers``, as
        :func:`portray` has them.

    Returns
    -------
    Portrait

    Raises
    ------
    ValueError, TypeError
        If something is out of range or of the wrong type.
    OSError
        If a file cannot be written; all are what they were.
    """
    wanted = [as_choice(form, "formats", FORMATS) for form in dict.fromkeys(formats)]
    if not wanted:
        raise ValueError(f"formats: expected some of {', '.join(FORMATS)}, got none")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"out: expected a folder, got the file {folder}")
    arrays = _arrays(weights, str(options.get("score", "dot")), rotary=options.get("base") is not None)
    if "norm" in arrays:
        raise ValueError(
            "weights: expected a layer of attention, got a block around one, whose norms and feed-forward part are not "
            "drawn; give its attention alone (self_attn), and the tokens that reach it"
        )
    portrait = portray(tokens=tokens, **{**arrays, **options})
    files: dict[str, str | bytes] = {"look.json": as_json(portrait)}
    with style.drawing():
        for name, draw in PICTURES.items():
            figure, words = draw(portrait)
            style.caption(figure, words)
            files |= {f"{name}.{form}": picture for form, picture in style.pictures(figure, wanted).items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / name: content for name, content in files.items()})
    return portrait


def as_json(portrait: Portrait) -> str:
    """Return the numbers that are drawn."""
    arrays = ("entropy", "effective", "singular", "worst", "centres", "ellipses", "paths", "spreads")
    found: dict[str, Any] = {name: np.asarray(getattr(portrait, name)).tolist() for name in arrays}
    levels = {level.name: level.value if np.isfinite(level.value) else None for level in portrait.levels}
    more = {"sensitive": portrait.sensitive, "followed": list(portrait.followed), "whole": portrait.whole}
    return json.dumps({**more, "levels": levels, **found}, indent=1, allow_nan=False) + "\n"


def _arrays(weights: Any, score: str, *, rotary: bool) -> dict[str, Any]:
    if isinstance(weights, Mapping):
        return dict(weights)
    if isinstance(weights, (str, Path)):
        return read_weights(Path(weights), score=score, rotary=rotary)
    if hasattr(weights, "state_dict"):
        from theory.metric.torch import module_weights  # noqa: PLC0415  it needs PyTorch

        return module_weights(weights)
    raise TypeError(f"weights: expected a path, arrays by name, or a module of PyTorch, got {type(weights).__name__}")
