"""Which array of a file is which matrix or bias of attention, and how it lies in memory.

Nothing that changes a score is passed over in silence: a bias beside a matrix that is read is read with it, and what is
known to change scores otherwise is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theory._validate import as_choice

PARTS = ("w_query", "w_key", "w_value")
ROLES = (*PARTS, "w_out", "b_query", "b_key", "b_value", "b_out", "w_qkv", "b_qkv")
CONVENTIONS = ("rows", "columns")
_SHOWN = 12  # taken: names of a file in a message

_START = r"(^|[._/])"
_PART = r"(q|k|v|qk|qkv|query|key|value)"
_ROTARY = re.compile(rf"rotary|{_START}rope|inv_freq|freqs_cis", re.IGNORECASE)
_POSITIONS = re.compile(
    rf"relative|rel_(pos|emb|attn)|{_START}rpe($|[._/])|alibi|distance_embedding|pos(ition(al)?)?_bias|linear_pos"
    rf"|{_START}pos_({_PART}_)?proj",
    re.IGNORECASE,
)
_OTHER = re.compile(
    rf"{_START}{_PART}s?(_\w*)?(layer)?_?(norm|ln)|{_START}(norm|ln)_?{_PART}s?($|[._/])|sub_?(layer)?_?(norm|ln)"
    rf"|inner_attn_ln|{_START}bias_[kv]$|{_START}sinks?$|logit_scale|temperature|{_START}tau$|lora_|{_START}ia3_",
    re.IGNORECASE,
)
_NORM = re.compile(rf"norm|{_START}ln", re.IGNORECASE)  # of whole tokens, before or after: those of queries are refused
_QUERY_NORM = re.compile(
    rf"{_START}(q|k|qk|query|key)s?_?(layer)?_?(norm|ln)($|[._/])|{_START}(norm|ln)_?(q|k|qk|query|key)s?($|[._/])",
    re.IGNORECASE,
)
_FEED_FORWARD = re.compile(
    rf"mlp|{_START}(ffn?|feed_?forward)($|[._/])|{_START}(linear[12]|lin[12]|fc[12]|c_fc|dense_h|intermediate)($|[._/])"
    rf"|{_START}(gate|up|down)_proj($|[._/])|{_START}w[123]($|[._/])",
    re.IGNORECASE,
)
_BIAS = re.compile(rf"bias|{_START}b($|_|({_PART}|o|out)$)|{_START}({_PART}|o|out)_?b$", re.IGNORECASE)
_ABOVE = re.compile(rf"^({_PART}_?b(ias)?|b(ias)?_?{_PART})$", re.IGNORECASE)  # what a module above may hold itself
_KNOWN = {
    "w_query": r"(q_proj|query|to_q|wq|q_lin|q)\.weight|q_proj_weight",
    "w_key": r"(k_proj|key|to_k|wk|k_lin|k)\.weight|k_proj_weight",
    "w_value": r"(v_proj|value|to_v|wv|v_lin|v)\.weight|v_proj_weight",
    "w_out": r"(o_proj|out_proj|c_proj|proj|to_out\.0|wo|out_lin|o)\.weight",
    "w_qkv": r"(c_attn|qkv|Wqkv|qkv_proj)\.weight|in_proj_weight",
}
_IRRELEVANT = {
    "b_key": "multiplies all weights of a row alike and drops out of the softmax",
    "b_value": "moves all outputs alike, as weights sum to one",
    "b_out": "moves all outputs alike",
}


_CHANGED = (
    "expected scores of dot products, got what looks like another change of queries, keys or values, for which no "
    "theorem here holds"
)


class Arrays(NamedTuple):
    """What a file holds: the names of its arrays, and a way to one."""

    path: Path
    names: frozenset[str]
    get: Callable[[str], Any]


def chosen(file: Arrays, names: Mapping[str, str] | None, *, rotary: bool) -> tuple[dict[str, str], list[str]]:
    """Return which name of a file stands for which role, and notes for a reader.

    Raises
    ------
    ValueError
        If a name is missing, the file holds others and none are given, or it holds what changes scores unaccounted for.
    """
    path, present = file.path, file.names
    for name in names or {}:
        if name not in ROLES:
            raise ValueError(f"names: expected any of {', '.join(ROLES)}, got {name!r}")
    given, notes = dict(names or {}), []
    proposal = proposed(present)
    if names is None and not present & set(ROLES) and proposal and set(proposal.values()) == present:
        given = proposal
        notes.append(f"names taken: {', '.join(f'{role} is {called}' for role, called in given.items())}")
    elif names is None and present - set(ROLES):
        _refuse_scores(file, proposal, rotary=rotary)
        extra = listed(present - set(ROLES))
        raise ValueError(
            f"{path}: expected arrays {', '.join(PARTS)} and perhaps w_out, got also {extra}{_advice(proposal)}"
        )
    fused = "w_qkv" in given or ("w_qkv" in present and "w_query" not in present | set(given))
    wanted = {name: given.get(name, name) for name in (("w_qkv",) if fused else PARTS)}
    wanted |= {
        name: given.get(name, name) for name in ROLES if name in given or (name in present and name not in wanted)
    }
    if "w_qkv" in wanted and set(wanted) & set(PARTS):
        raise ValueError(f"{path}: expected w_qkv or {', '.join(PARTS)}, got both")
    if "b_qkv" in wanted and not fused:
        raise ValueError(f"{path}: expected b_qkv beside w_qkv only, got it beside {', '.join(PARTS)}")
    for name, called in wanted.items():
        if called not in present:
            raise ValueError(
                f"{path}: expected an array {called!r} as {name}, got {listed(present)}{_advice(proposal)}"
            )
    notes += _biases(wanted, present)
    if "b_qkv" in wanted and set(wanted) & {"b_query", "b_key", "b_value"}:
        raise ValueError(f"{path}: expected b_qkv or b_query, b_key, b_value, got both")
    for called in sorted(set(wanted.values())):
        roles = [role for role, other in wanted.items() if other == called]
        if len(roles) > 1:
            notes.append(f"{called} is taken as each of {', '.join(roles)}")
    return wanted, notes + _left(file, wanted, rotary=rotary)


def proposed(present: frozenset[str]) -> dict[str, str]:
    """Return the roles of the first layer among names that are common, its biases included; empty if there is none."""
    return next(iter(proposals(present).values()), {})


def proposals(present: frozenset[str]) -> dict[str, dict[str, str]]:
    """Return the roles of all layers among names that are common, by what their names begin with, in order."""
    known: dict[str, dict[str, str]] = {}
    for called in sorted(present):
        for start in ("w_qkv", "w_query"):
            match = re.fullmatch(rf"((?:.*\.)?)(?:{_KNOWN[start]})", called)
            if match is None or match.group(1) in known:
                continue
            roles = (start, "w_out") if start == "w_qkv" else (*PARTS, "w_out")
            base = match.group(1)
            found: dict[str, str] = {}
            for role in roles:  # of BERT the output is not in the module of the queries, and is left to the reader
                pattern = re.compile(rf"(?:{_KNOWN[role]})")
                fits = [n for n in sorted(present) if n.startswith(base) and pattern.fullmatch(n, len(base))]
                found |= {role: fits[0]} if fits else {}
            if set(roles) - set(found) <= {"w_out"}:
                _biases(found, present)
                known[base] = found
    return known


def _refuse_scores(file: Arrays, proposal: Mapping[str, str], *, rotary: bool) -> None:
    """Raise if no names would help: the layer proposed, or any where none is, has scores that no theorem covers."""
    if proposal:
        _unlike(file, proposal, rotary=rotary)
        return
    for called in sorted(file.names):
        _refuse_positions(file.path, called)
        if _QUERY_NORM.search(called):
            raise ValueError(f"{file.path}: {called}: {_CHANGED}")


def _refuse_positions(path: Path, called: str) -> None:
    if _POSITIONS.search(called):
        raise ValueError(
            f"{path}: {called}: expected scores of tokens alone, got what looks like relative positions, for which no "
            "theorem here holds"
        )


def _advice(proposal: dict[str, str]) -> str:
    if not proposal:
        return "; --names NAME=KEY,... says which is which"
    return f"; try --names {','.join(f'{role}={called}' for role, called in proposal.items())}"


def listed(names: set[str] | frozenset[str]) -> str:
    """Return names in order, the first of many."""
    rest = len(names) - _SHOWN
    return ", ".join(sorted(names)[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _biases(wanted: dict[str, str], present: frozenset[str]) -> list[str]:
    """Add the biases that stand beside matrices, and say so."""
    notes = []
    for role, called in list(wanted.items()):
        bias = f"b_{role[2:]}"
        head, weight, tail = called.rpartition("weight")
        own = f"{head}bias{tail}" if weight else f"b_{called[2:]}" if called.startswith("w_") else f"{called}.bias"
        if role.startswith("w_") and bias not in wanted and own in present and own not in wanted.values():
            wanted[bias] = own
            notes.append(f"{own} stands beside {called} and is taken as {bias}")
    return notes


def _unlike(file: Arrays, wanted: Mapping[str, str], *, rotary: bool) -> dict[str, str]:
    """Return what else the module of the matrices holds, by its name there; raise if it changes scores otherwise."""
    used = set(wanted.values())
    place = _shared_start(sorted(used))
    above = _parent(place)
    modules = tuple(name.removesuffix("weight") for name in used if name.endswith(".weight"))  # what else they hold
    found: dict[str, str] = {}
    for called in sorted(used):
        if re.search("query_key_value", called):
            raise ValueError(
                f"{file.path}: {called}: expected queries, keys and values one after another, got a name under which "
                "they are stored head by head; split them"
            )
    for called in sorted(file.names - used):
        if _ROTARY.search(called):
            if not rotary:
                raise ValueError(
                    f"{file.path}: {called}: expected scores of tokens alone, got what looks like rotary positions: "
                    "--rotary bounds the layer at all positions"
                )
            continue
        _refuse_positions(file.path, called)
        near = called.startswith(place)
        own = called[len(place) :]  # a module above may be called anything
        if not near and called.startswith(above):
            own = called[len(above) :]
            near = bool(_OTHER.search(own.partition(".")[0]) or _ABOVE.search(own))
        if near and (_OTHER.search(own) or called.startswith(modules)):
            raise ValueError(f"{file.path}: {called}: {_CHANGED}")
        if near:
            found[called] = own
    return found


def _left(file: Arrays, wanted: Mapping[str, str], *, rotary: bool) -> list[str]:
    """Say what else the file holds; raise if it changes the scores of the layer and is not accounted for."""
    left = []
    near = _unlike(file, wanted, rotary=rotary)
    for called, own in near.items():
        bias = _BIAS.search(own) and not _NORM.search(own) and not _FEED_FORWARD.search(own)
        if bias and not is_mask(file.get(called)):
            raise ValueError(
                f"{file.path}: {called}: expected every bias beside the matrices to be known; --names b_query={called} "
                "(or b_key, b_value, b_out, b_qkv) says which it is"
            )
        if bias:
            left.append(f"{called} is a causal mask or fills one: --causal is the option for it")
            continue
        if not _is_part(own):
            left.append(f"{called} is beside what was read and is not used")
    left = left if len(left) <= _SHOWN else [*left[:_SHOWN], f"and {len(left) - _SHOWN} more are not used"]
    return left + _parts_left(file, wanted, near)


def _is_part(own: str) -> bool:
    """Tell whether a name is that of a norm of tokens or of a feed-forward part."""
    return bool(_NORM.search(own) or _FEED_FORWARD.search(own))


def _parts_left(file: Arrays, wanted: Mapping[str, str], near: Mapping[str, str]) -> list[str]:
    """Say which norms and feed-forward parts of the same layer, and how many other arrays, are not used."""
    used = set(wanted.values())
    place = _shared_start(sorted(used))
    above = _parent(place) or place
    rest = file.names - used - set(near)
    beside = {called for called in rest if above and called.startswith(above)} | set(near)
    parts: dict[str, set[str]] = {"norm": set(), "feed-forward part": set()}
    for called in beside:
        own = called[len(above) :] if called.startswith(above) else called
        if _FEED_FORWARD.search(own):
            parts["feed-forward part"].add(called)
        elif _NORM.search(own):
            parts["norm"].add(called)
    notes = [
        f"{listed(names)}: {'norms' if kind == 'norm' else kind} of the same layer, not used"
        for kind, names in parts.items()
        if names
    ]
    others = {called for called in rest if not _ROTARY.search(called)} - parts["norm"] - parts["feed-forward part"]
    if others:
        notes.append(f"not used, of other parts: {listed(others)}")
    return notes


def _parent(place: str) -> str:
    """Return the module above a module, both up to a dot."""
    return place[: place.rfind(".", 0, -1) + 1]


def _shared_start(names: list[str]) -> str:
    """Return the module that all names share: what they begin with, up to a dot."""
    first, last = names[0], names[-1]
    count = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    place = first[: first.rfind(".", 0, count) + 1]
    alone = all(name[len(place) :] in ("weight", "bias") for name in names)  # one fused matrix: its module is above
    return _parent(place) if alone else place


def is_rotary(called: str) -> bool:
    """Tell whether a name is that of rotary positions, which are known from their base."""
    return bool(_ROTARY.search(called))


def is_mask(array: Any) -> bool:
    """Tell whether an array is a stored causal mask, or one number that fills it."""
    numbers = np.asarray(array)
    if numbers.ndim == 0:
        return True
    if numbers.ndim < 2 or numbers.shape[-1] != numbers.shape[-2] or numbers.size != numbers.shape[-1] ** 2:
        return False
    square = numbers.reshape(numbers.shape[-2:])
    return bool(np.array_equal(square, np.tril(np.ones_like(square))))


def arranged(
    arrays: Mapping[str, Any], names: Mapping[str, str], *, convention: str | None, score: str, rotary: bool,
    every: bool = False,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """Return matrices with outputs along their rows, split, with the bias of the queries; and notes for a reader.

    With ``every`` bias, where biases of values and outputs decide where tokens come to lie.

    Raises
    ------
    ValueError
        If shapes and convention do not fit, or distance attention has biases of queries and keys that differ.
    """
    way = None if convention is None else as_choice(convention, "convention", CONVENTIONS)
    found = dict(arrays)
    fused = found.pop("w_qkv", None)
    told = way is not None
    if fused is not None:
        shape = np.shape(fused)
        rows, columns = (len(shape) == 2 and shape[k] == 3 * shape[1 - k] for k in (0, 1))
        if not rows and not columns:
            raise ValueError(f"w_qkv: expected shape (3 d, d) or (d, 3 d), got shape {shape}; split grouped heads")
        seen = CONVENTIONS[columns]
        if way not in (None, seen):
            raise ValueError(f"convention: expected {seen} for w_qkv of shape {shape}, got {way}")
        way, told = seen, True
        found |= dict(zip(PARTS, np.split(np.asarray(fused), 3, axis=1 if columns else 0), strict=True))
        if "b_qkv" in found:
            joined = np.asarray(found.pop("b_qkv"))
            if joined.shape != (max(shape),):
                raise ValueError(f"b_qkv: expected shape ({max(shape)},), got shape {joined.shape}")
            found |= dict(zip(("b_query", "b_key", "b_value"), np.split(joined, 3), strict=True))
    way = way or CONVENTIONS[0]
    matrices = {name: array for name, array in found.items() if name.startswith("w_")}
    if way == "columns":
        matrices = {name: np.asarray(array).T for name, array in matrices.items()}
    notes = [f"outputs along the {way} of matrices: {'y = W x' if way == 'rows' else 'y = x W'}"]
    size = np.shape(matrices["w_query"])[1:]
    if fused is not None:
        notes[0] += f", as the shape of {names['w_qkv']} says, whose blocks are those of queries, keys and values"
    elif not told and len(size) == 1:
        square = all(len(set(np.shape(m))) == 1 for m in matrices.values())
        seen = "all are square, so that their shapes cannot tell" if square else f"tokens are of {size[0]} numbers"
        notes[0] += f"; {seen}: --convention columns if it is the other way"
    return matrices | _kept(found | matrices, names, score, notes, rotary=rotary, every=every), notes


def _kept(
    found: Mapping[str, Any], names: Mapping[str, str], score: str, notes: list[str], *, rotary: bool, every: bool
) -> dict[str, Any]:
    """Return the biases that change constants, and say of the others why they do not."""
    entering = ("b_query", "b_key") if rotary else ("b_query",)
    biases = {name: np.asarray(array) for name, array in found.items() if name.startswith("b_")}
    for name, bias in biases.items():
        sizes = np.shape(found.get(f"w_{name[2:]}", bias))[:1]
        if bias.ndim != 1 or bias.shape != sizes:
            raise ValueError(f"{name}: expected one number for every output of its matrix, got shape {bias.shape}")
        if bias.dtype.kind not in "fiu" or not np.isfinite(bias).all():
            raise ValueError(f"{name}: expected finite numbers, got {bias}")
    if score == "distance" and {"b_query", "b_key"} & set(biases):
        query, key = (biases.pop(name, None) for name in ("b_query", "b_key"))
        if query is None or key is None or not np.array_equal(query, key):
            raise ValueError("b_query, b_key: expected the same for distance attention, where they cancel, got others")
        notes.append("b_query and b_key are the same and cancel in every difference")
    for name, why in _IRRELEVANT.items():
        if name in biases and name not in entering:
            notes.append(f"{names.get(name, names.get('b_qkv', name))}, as {name}: in no constant, it {why}")
    kept = {name: bias for name, bias in biases.items() if name in entering}
    notes += [f"{names.get(name, names.get('b_qkv', name))}, as {name}: enters the constants" for name in kept]
    if "b_key" in kept:
        notes[-1] += ", as |W_K| R + |b_K| for |W_K| R wherever positions turn keys"
    return biases if every else kept
