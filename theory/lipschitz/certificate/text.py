"""A certificate as text or as JSON, and the command that prints it."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from theory._validate import as_instance
from theory.lipschitz.certificate.block_text import run_blocks
from theory.lipschitz.certificate.certify import Certificate, Row, certify
from theory.lipschitz.certificate.comparison import FAMILIES, Comparison, compare
from theory.lipschitz.certificate.local import certify_at
from theory.lipschitz.certificate.printed import DOWN, NAMES, UP, digits, theorem
from theory.lipschitz.certificate.turned import PAIRS
from theory.lipschitz.certificate.weights_file import read_layer

_UNSEEN = "scores of {of}: what else a model does to queries, keys or scores in its code is not in the file"
_SHOWN = 40  # taken: letters of an argument in a message


def run_command(options: argparse.Namespace) -> str:
    """Return what the command prints.

    Raises
    ------
    ValueError, TypeError, ModuleNotFoundError
        With one line that says what is wrong.
    """
    names = None if options.names is None else parse_names(options.names)
    if options.block or options.norm is not None:
        return run_blocks(options, names, lambda: _tokens(options))
    for name in ("eps", "kind", "activation", "variance", "prefix"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name}: expected with --block or --norm only, which take norms")
    weights, notes = read_layer(
        options.file, names, convention=options.convention, score=options.score, rotary=options.rotary
    )
    given = _tokens(options)
    layer = {
        "heads": options.heads,
        "causal": options.causal,
        "residual": options.residual,
        "score": options.score,
        "scale": options.scale,
    }
    tokens = given if isinstance(given, np.ndarray) else None
    turned = {"base": options.base, "pairs": options.pairs or "halves"} if options.rotary else {}
    here = None if tokens is None else certify_at(tokens, **weights, **layer, **turned, reach=options.reach)
    radius = options.radius if options.radius is not None else 1.0 if here is None else here.radius or 1.0
    if here is not None and here.radius > radius:
        raise ValueError(f"--radius: expected at least the length of the longest token, {here.radius}, got {radius}")
    certificate = certify(
        **weights,
        **layer,
        radius=radius,
        n=given if here is None else here.n,
        rotary=options.rotary,
        search=not options.no_search,
    )
    notes.append(_UNSEEN.format(of="tokens turned by their positions" if options.rotary else "tokens alone"))
    if here is not None and options.rotary:
        notes.append(PAIRS[turned["pairs"]].format(base=options.base))
    compared = None if here is None else compare(certificate, here, **weights, **layer)
    if options.json:
        content = {**json.loads(as_json(certificate)), "notes": notes}
        if compared is not None:
            content["local"] = [_local_row(row) for row in compared]
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    more = "" if compared is None else _local_text(compared)
    return as_text(certificate) + more + "".join(f"{note}\n" for note in ("", "Read as:", *notes))


def _tokens(options: argparse.Namespace) -> Any:
    """Return the number of tokens that is given, or the tokens of a file, or None."""
    text = options.tokens
    count = text is None or text.lstrip("+-").isdecimal()
    for name in ("base", "pairs"):
        if getattr(options, name) is not None and (count or not options.rotary):
            raise ValueError(f"--{name}: expected with --rotary and a file of --tokens only, whose positions it is of")
    if count:
        if options.reach is not None:
            raise ValueError("--reach: expected with a file of --tokens only, around which it is")
        try:
            return None if text is None else int(text)
        except ValueError as error:  # two signs, or more digits than Python reads
            raise ValueError(f"--tokens: expected a number or a file ending in .npy, got {text[:_SHOWN]!r}") from error
    path = Path(text)
    if path.suffix != ".npy":
        raise ValueError(f"--tokens: expected a number or a file ending in .npy, got {text!r}")
    if options.rotary and options.base is None:
        raise ValueError("--base: expected that of the rotary positions of the tokens, such as 10000, got none")
    if not path.is_file():
        raise ValueError(f"{path}: expected a file, found none")
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ValueError(f"{path}: expected an .npy file of NumPy, got none that can be read without pickle") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 2:
        came = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "several arrays"
        raise ValueError(f"{path}: expected an array of real numbers of shape (n, d), got {came}")
    if array.dtype.kind in "iu" and ((array > 2**53) | (array < -(2**53))).any():
        raise ValueError(f"{path}: expected integers that float64 holds, at most 2**53 in size, got larger ones")
    if array.dtype.itemsize > 8:
        raise ValueError(f"{path}: expected at most double precision, which tokens are taken in, got {array.dtype}")
    return array.astype(np.float64)


def _local_text(compared: list[Comparison]) -> str:
    """Return a table: a line for every metric, and below it the multiples of the norm at the tokens."""
    words = ("at tokens", "at least", "reach", "in reach", *FAMILIES)
    lines = ["", "".join([f"{'metric':<11}", *(f"{word:>13}" for word in words)])]
    ways = (UP, UP, UP, DOWN)  # what is found is a lower bound
    for row in compared:
        here = row.local
        known = [row.bounds.get(family) for family in FAMILIES]
        first = [digits(here.norm.hi, UP), digits(max(here.norm.lo, 0.0), DOWN), digits(here.reach, DOWN)]
        values = [
            *first,
            digits(here.bound, UP),
            *(
                _unknown(here.metric, name) if v is None else digits(v, way) + "*" * _marked(row, name)
                for name, v, way in zip(FAMILIES, known, ways, strict=True)
            ),
        ]
        size = here.norm.hi or math.inf
        ratios = [here.bound / size, *(None if v is None or v == math.inf else v / size for v in known)]
        times = ["", "", "", *("" if ratio is None else f"x {ratio:.3g}" for ratio in ratios)]
        lines += ["".join([f"{name:<11}", *(f"{cell:>13}" for cell in cells)]).rstrip()
                  for name, cells in ((NAMES.get(here.metric, here.metric), values), ("", times))]  # fmt: skip
    lines += [
        "",
        "At the given tokens no small displacement is stretched by more than 'at tokens', to first order, and one by",
        "'at least'. Between any two places of all tokens, each within the reach of where it is, none is stretched by",
        "more than 'in reach'. For all tokens in the ball: the constant above, that by products of norms of matrices,",
        "the published one, and, a lower bound only, what the search found. Below: multiples of 'at tokens'. What is",
        "published is of the Frobenius norm, without biases and positions.",
    ]
    if any(row.unbiased for row in compared):
        lines.append("* Of the layer without its query bias, which no published constant has: no bound of this layer.")
    if any((row.bounds["found"] or math.inf) < row.local.norm.lo for row in compared):
        lines += [
            "Where 'found' is below 'at least': the search tries few places, in the plane of one head, and missed what",
            "the given tokens do. They lie in the ball, so that 'at least' is the better lower bound there.",
        ]
    return "\n".join(lines) + "\n"


def _marked(row: Comparison, family: str) -> bool:
    """Tell whether a number is not of this layer."""
    return row.unbiased and family == "published"


def _unknown(metric: str, family: str) -> str:
    """Return what stands where there is no number."""
    return "not stated" if family == "published" and metric == "frobenius" else "-"


def _local_row(row: Comparison) -> dict[str, Any]:
    here = row.local
    bounds = {name: None if bound in (None, math.inf) else bound for name, bound in row.bounds.items()}
    norm = [here.norm.lo, here.norm.hi]
    return {
        "metric": here.metric,
        "norm": norm,
        "reach": here.reach,
        "bound": here.bound,
        "bounds": bounds,
        "published_without_bias": row.unbiased,
    }


def as_text(certificate: Certificate) -> str:
    """Return a table: a line for every metric, constants rounded up, lower bounds rounded down."""
    as_instance(certificate, "certificate", Certificate)
    alphas = ", ".join(digits(a, UP) for a in certificate.alphas)
    norm, shift = ("scale |W_Q| |W_K|", "scale |W_K| |b_Q|") if certificate.rotary else ("|B|", "|c|")
    lines = [f"tokens of length at most {certificate.radius!r}; {norm} R^2 by heads at most {alphas}", ""]
    if certificate.betas != certificate.alphas:
        betas = ", ".join(digits(b, UP) for b in certificate.betas)
        lines[0] += f"; with the query bias ({norm} R + {shift}) R at most {betas}"
    lines.append(f"{'metric':<11}{'constant':>13}{'at least':>13}  theorem")
    for row in certificate.rows:
        upper = "-" if row.constant is None else digits(row.constant, UP)
        lower = "-" if row.lower is None else digits(row.lower, DOWN)
        lines.append(f"{NAMES.get(row.metric, row.metric):<11}{upper:>13}{lower:>13}  {theorem(row)}")
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


def parse_names(text: str) -> dict[str, str]:
    """Return which array of a file is which, of a text ``NAME=KEY,...``."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and called for name, equals, called in pairs):
        raise ValueError(f"--names: expected NAME=KEY, separated by commas, got {text!r}")
    names = {name.strip(): called.strip() for name, _, called in pairs}
    if len(names) < len(pairs):
        raise ValueError(f"--names: expected every name once, got {text!r}")
    return names
