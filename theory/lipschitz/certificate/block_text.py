"""A certificate of blocks as text or as JSON, and the part of the command that prints it."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from theory._validate import as_instance
from theory.lipschitz.certificate.block_file import read_stack
from theory.lipschitz.certificate.block_search import Pair
from theory.lipschitz.certificate.blocks import BlockCertificate, certify_blocks
from theory.lipschitz.certificate.certify import METRICS
from theory.lipschitz.certificate.printed import DOWN, NAMES, UP, digits, theorem

_WIDE = 13  # of a column


def run_blocks(options: argparse.Namespace, names: dict[str, str] | None, read: Callable[[], Any]) -> str:
    """Return what the command prints of blocks, or of attention with its norm; ``read`` reads the option of tokens.

    Raises
    ------
    ValueError, TypeError, ModuleNotFoundError
        With one line that says what is wrong.
    """
    for name in ("reach", "base", "pairs"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name}: expected none with --block or --norm, which do not ask for it")
    if options.rotary and options.tokens is not None and options.tokens.endswith(".npy"):
        raise ValueError("--tokens: expected a number with --block or --norm and --rotary, as no theorem here has both")
    given = read()
    blocks, called, notes = read_stack(
        options.file, names, convention=options.convention, score=options.score, rotary=options.rotary,
        prefix=options.prefix or "", whole=options.block,
    )  # fmt: skip
    order = options.norm or blocks[0].get("norm", "pre")
    kind = options.kind or _kind(blocks, order)
    tokens = given if isinstance(given, np.ndarray) else None
    certificate = certify_blocks(
        blocks, radius=options.radius, n=None if tokens is not None else given, tokens=tokens, heads=options.heads,
        norm=order, kind=kind, eps=options.eps, activation=options.activation, variance=options.variance or 0.0,
        causal=options.causal, residual=options.residual or options.block, score=options.score, scale=options.scale,
        rotary=options.rotary, search=not options.no_search,
    )  # fmt: skip
    notes.append("what else a model does to tokens in its code, such as a scale of residuals, is not in the file")
    if options.json:
        content = {**json.loads(blocks_as_json(certificate)), "blocks": called, "notes": notes}
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    return blocks_as_text(certificate, called) + "".join(f"{note}\n" for note in ("", "Read as:", *notes))


def _kind(blocks: list[dict[str, Any]], order: str) -> str:
    """Return LayerNorm where a shift shows it."""
    if order == "none" or any(name.startswith("shift") for block in blocks for name in block):
        return "layer"
    raise ValueError("--kind: expected layer or rms, as no shift of a norm shows which it is, got none")


def blocks_as_text(certificate: BlockCertificate, called: list[str] | None = None) -> str:
    """Return a line for every block, and below them the whole; constants rounded up, lower bounds rounded down.

    Parameters
    ----------
    certificate : BlockCertificate
    called : list of str, optional
        Names of the blocks; their numbers unless given.
    """
    found = as_instance(certificate, "certificate", BlockCertificate)
    if called is not None and not (isinstance(called, (list, tuple)) and all(isinstance(one, str) for one in called)):
        raise TypeError(f"called: expected a list of names, got {called!r}")
    labels = [name.rstrip(".") or str(k + 1) for k, name in enumerate(called or [""] * len(found.layers))]
    if len(labels) != len(found.layers):
        raise ValueError(f"called: expected {len(found.layers)} names, got {len(labels)}")
    first = max(11, *(len(label) + 2 for label in labels))
    where = "tokens anywhere" if found.radius is None else f"tokens of length at most {found.radius!r}"
    what = {"pre": "norms before each part", "post": "norms after each part", "none": "no norms"}[found.order]
    name = {"layer": "LayerNorm", "rms": "RMSNorm"}[found.kind]
    parts = [where, what if found.order == "none" else f"{what}: {name}, eps {found.eps!r}"]
    parts += [] if found.activation is None else [f"feed-forward part with {found.activation}"]
    lines = ["; ".join(parts), ""]
    lines.append(_line("", ["radius", "|B| R^2", "norm 1", "norm 2", "feed-forward"], first))
    for label, layer in zip(labels, found.layers, strict=True):
        norms = [digits(norm.constant, UP) for norm in layer.norms] + ["-", "-"]
        feed = "-" if layer.feed_forward is None else digits(layer.feed_forward, UP)
        cells = [digits(layer.radius, UP), digits(max(layer.alphas), UP), *norms[:2], feed]
        lines.append(_line(label, cells, first))
    lines += ["", _line("", [NAMES.get(metric, metric) for metric in METRICS], first)]
    for label, layer in zip(labels, found.layers, strict=True):
        lines.append(_line(label, ["-" if r.constant is None else digits(r.constant, UP) for r in layer.rows], first))
    if len(labels) > 1:
        cells = ["-" if row.constant is None else digits(row.constant, UP) for row in found.rows]
        lines.append(_line("all", cells, first))
    cells = ["-" if row.lower is None else digits(row.lower, DOWN) for row in found.rows]
    lines += [_line("at least", cells, first), ""]
    lines += [f"{NAMES.get(row.metric, row.metric):<11}{theorem(row)}" for row in found.rows]
    lines += ["", *_explained(found)]
    return "\n".join(lines) + "\n"


def _explained(found: BlockCertificate) -> list[str]:
    lines = [
        "First the parts: the longest token that attention sees, its exponent, the largest of the heads, and Lipschitz",
        "constants of norms, with their gains, and of the feed-forward part, of what a norm before it leaves ungained.",
        "Then constants of blocks, which hold for all such tokens, and of all together, at most their product. 'At",
        "least' is by how much a search found the whole to stretch a pair of clouds, a lower bound only.",
    ]
    floors = [layer.least for layer in found.layers if any(layer.least)]
    if floors:
        spread = "variance" if found.kind == "layer" else "mean square"
        lines.append(f"They hold only while no token that enters a norm has a {spread} below these, block by block:")
        lines += ["  " + "; ".join(", ".join(f"{v:.6g}" for v in layer.least) for layer in found.layers)]
    elif found.order != "none":
        lines.append(
            "A norm stretches by the root of 1 / eps where all numbers of a token are nearly equal; --variance V,"
        )
        lines.append("or a file of --tokens, bounds it for tokens that stay away from there.")
    return lines


def _line(label: str, cells: list[str], first: int) -> str:
    return (f"{label:<{first}}" + "".join(f"{cell:>{_WIDE}}" for cell in cells)).rstrip()


def blocks_as_json(certificate: BlockCertificate) -> str:
    """Return everything, the worst pairs included; a constant that float64 cannot hold is null, with ``overflow``."""
    found = as_instance(certificate, "certificate", BlockCertificate)
    names = ("radius", "n", "heads", "order", "kind", "eps", "activation", "causal", "residual", "score", "rotary")
    about: dict[str, Any] = {name: getattr(found, name) for name in names}
    about["layers"] = [
        {
            "radius": _number(layer.radius),
            "alphas": [_number(a) for a in layer.alphas],
            "betas": [_number(b) for b in layer.betas],
            "norms": [[_number(norm.constant), _number(norm.radius)] for norm in layer.norms],
            "feed_forward": None if layer.feed_forward is None else _number(layer.feed_forward),
            "least": list(layer.least),
            "rows": [_row(row) for row in layer.rows],
        }
        for layer in found.layers
    ]
    about["rows"] = [{**_row(row), "lower": row.lower, "witness": _witness(row.found)} for row in found.rows]
    return json.dumps(about, indent=1, allow_nan=False) + "\n"


def _row(row: Any) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "constant": None if row.constant is None else _number(row.constant),
        "overflow": row.constant == math.inf,
        "claim": row.claim or None,
        "label": row.label or None,
        "hypotheses": row.hypotheses,
    }


def _witness(found: Any) -> dict[str, Any] | None:
    if not isinstance(found, Pair):
        return None
    exponent = "inf" if found.p == math.inf else found.p
    return {**{name: getattr(found, name).tolist() for name in ("points", "others", "masses")}, "p": exponent}


def _number(value: float) -> float | None:
    return None if value == math.inf else value
