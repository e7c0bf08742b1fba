"""The command that looks at a layer from a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from theory.figures.portrait.look import PICTURES, look
from theory.lipschitz.certificate import PAIRS, parse_names, read_layer


def run_command(options: argparse.Namespace) -> str:
    """Write the pictures and return what the command prints.

    Raises
    ------
    ValueError, TypeError, ImportError, OSError
        With one line that says what is wrong.
    """
    names = None if options.names is None else parse_names(options.names)
    turned = _turned(options)
    weights, notes = read_layer(
        options.file, names, convention=options.convention, score=options.score, rotary=options.rotary
    )
    given = {"heads": options.heads, "causal": options.causal, "residual": options.residual, "score": options.score}
    portrait = look(
        weights, _tokens(options.tokens), out=options.out, formats=options.format.split(","), scale=options.scale,
        layers=options.layers, **given, **turned,
    )  # fmt: skip
    if turned:
        notes.append(PAIRS[turned["pairs"]].format(base=options.base))
    count, dim = portrait.tokens.shape
    entropy, effective = portrait.entropy.mean(), portrait.effective.mean()
    lines = [
        f"{count} tokens of {dim} numbers, {len(portrait.maps)} heads: on average {entropy:.4g} nat, {effective:.4g} "
        "effective tokens",
        f"largest singular value {portrait.singular[0]:.6g}; token {portrait.sensitive + 1} is the most sensitive",
        *(f"{level.name:<13}{level.value:>13.6g}" for level in portrait.levels),
        f"{', '.join(PICTURES)} and look.json in {options.out.resolve()}",
        "",
        "Read as:",
        *notes,
    ]
    return "".join(f"{line}\n" for line in lines)


def _turned(options: argparse.Namespace) -> dict[str, Any]:
    """Return base and pairs of rotary positions, or nothing without them."""
    if options.rotary:
        if options.base is None:
            raise ValueError("--base: expected that of the rotary positions of the tokens, such as 10000, got none")
        return {"base": options.base, "pairs": options.pairs or "halves"}
    for name in ("base", "pairs"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name}: expected with --rotary only, whose positions it is of")
    return {}


def _tokens(path: Path) -> np.ndarray:
    if not path.is_file():
        raise ValueError(f"--tokens: expected a file of NumPy, found none at {path}")
    try:
        found = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ValueError(f"--tokens: expected an .npy file of NumPy, got {path}, which is none") from error
    if not isinstance(found, np.ndarray):
        raise ValueError(f"--tokens: expected one array, got {path}, which holds several")
    return found
