"""A certificate as text or as JSON, and the command that prints it."""

from __future__ import annotations

import argparse
import json
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from theory._validate import as_instance
from theory.lipschitz.certificate.certify import Certificate, Row, certify
from theory.lipschitz.certificate.weights_file import read_layer

_UP = Context(prec=6, rounding=ROUND_CEILING)
_DOWN = Context(prec=6, rounding=ROUND_FLOOR)
_UNSEEN = "scores of {of}: what else a model does to queries, keys or scores in its code is not in the file"
_NAMES = {"Winf": "W_inf", "frobenius": "Frobenius"}


def run_command(options: argparse.Namespace) -> str:
    """Return what the command prints.

    Raises
    ------
    ValueError, TypeError, ModuleNotFoundError
        With one line that says what is wrong.
    """
    names = None if options.names is None else parse_names(options.names)
    weights, notes = read_layer(
        options.file, names, convention=options.convention, score=options.score, rotary=options.rotary
    )
    certificate = certify(
        **weights,
        radius=options.radius,
        n=options.tokens,
        heads=options.heads,
        causal=options.causal,
        residual=options.residual,
        score=options.score,
        scale=options.scale,
        rotary=options.rotary,
        search=not options.no_search,
    )
    notes.append(_UNSEEN.format(of="tokens turned by their positions" if options.rotary else "tokens alone"))
    if options.json:
        return json.dumps({**json.loads(as_json(certificate)), "notes": notes}, indent=1, allow_nan=False) + "\n"
    return as_text(certificate) + "".join(f"{note}\n" for note in ("", "Read as:", *notes))


def as_text(certificate: Certificate) -> str:
    """Return a table: a line for every metric, constants rounded up, lower bounds rounded down."""
    as_instance(certificate, "certificate", Certificate)
    alphas = ", ".join(_digits(a, _UP) for a in certificate.alphas)
    norm, shift = ("scale |W_Q| |W_K|", "scale |W_K| |b_Q|") if certificate.rotary else ("|B|", "|c|")
    lines = [f"tokens of length at most {certificate.radius!r}; {norm} R^2 by heads at most {alphas}", ""]
    if certificate.betas != certificate.alphas:
        betas = ", ".join(_digits(b, _UP) for b in certificate.betas)
        lines[0] += f"; with the query bias ({norm} R + {shift}) R at most {betas}"
    lines.append(f"{'metric':<11}{'constant':>13}{'at least':>13}  theorem")
    for row in certificate.rows:
        upper = "-" if row.constant is None else _digits(row.constant, _UP)
        lower = "-" if row.lower is None else _digits(row.lower, _DOWN)
        lines.append(f"{_NAMES.get(row.metric, row.metric):<11}{upper:>13}{lower:>13}  {_theorem(row)}")
    lines += [
        "",
        "A constant holds for all tokens in the ball. A search gives lower bounds only ('at least'): the smallest",
    ]
    lines += ["valid constant lies between the two, and need not be near either."]
    return "\n".join(lines) + "\n"


def as_json(certificate: Certificate) -> str:
    """Return everything, worst tokens included; a constant that float64 cannot hold is null, with ``overflow``."""
    rows = [
        {
            "metric": row.metric,
            "constant": None if row.constant == math.inf else row.constant,
            "overflow": row.constant == math.inf,
            "claim": row.claim or None,
            "label": row.label or None,
            "hypotheses": row.hypotheses,
            "lower": row.lower,
            "witness": _witness(row),
        }
        for row in as_instance(certificate, "certificate", Certificate).rows
    ]
    about = {
        name: getattr(certificate, name) for name in ("radius", "n", "heads", "causal", "residual", "score", "rotary")
    }
    for name in ("alphas", "betas"):
        about[name] = [None if a == math.inf else a for a in getattr(certificate, name)]
    return json.dumps({**about, "rows": rows}, indent=1, allow_nan=False) + "\n"


def _witness(row: Row) -> dict[str, Any] | None:
    if row.found is None:
        return None
    found = row.found
    exponent = "inf" if found.p == math.inf else found.p
    parts = {name: getattr(found, name).tolist() for name in ("points", "tangent", "masses")}
    return {**parts, "p": exponent}


def _theorem(row: Row) -> str:
    return row.hypotheses if row.constant is None else f"{row.label} {row.claim}: {row.hypotheses}"


def _digits(number: float, context: Context) -> str:
    """Return six digits, rounded in the safe direction."""
    return "> 1.79e308" if number == math.inf else f"{context.create_decimal(number):.6g}"


def parse_names(text: str) -> dict[str, str]:
    """Return which array of a file is which, of a text ``NAME=KEY,...``."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and called for name, equals, called in pairs):
        raise ValueError(f"--names: expected NAME=KEY, separated by commas, got {text!r}")
    names = {name.strip(): called.strip() for name, _, called in pairs}
    if len(names) < len(pairs):
        raise ValueError(f"--names: expected every name once, got {text!r}")
    return names
