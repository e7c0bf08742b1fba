"""Which arrays of a file are which parts of a block, and which blocks a file holds.

Nothing of a block is passed over in silence: what is in its module and is neither a part that is covered nor a stored
mask is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from theory.lipschitz.certificate.block import BLOCK_ROLES
from theory.lipschitz.certificate.layout import (
    PARTS,
    ROLES,
    Arrays,
    arranged,
    chosen,
    is_mask,
    is_rotary,
    listed,
    proposals,
)
from theory.lipschitz.certificate.weights_file import opened

_OUT = r"attention\.output\.dense"  # of BERT, in another module than the queries
_FIRST = (
    r"ln_?1|norm_?1|layer_?norm_?1|input_layernorm|self_attn_layer_norm|attention_norm|attn_norm|attn_ln"
    r"|layernorm_before|sa_layer_norm|attention\.output\.LayerNorm|norms\.0"
)
_SECOND = (
    r"ln_?2|norm_?2|layer_?norm_?2|post_attention_layernorm|final_layer_norm|ffn_norm|mlp_norm|mlp_ln"
    r"|layernorm_after|output_layer_norm|output\.LayerNorm|norms\.1"
)
_UP = (
    r"mlp\.(c_fc|fc1|up_proj|dense_h_to_4h|fc_in|w3|0)|linear1|fc1|intermediate\.dense|ffn\.(lin1|fc1|w3)"
    r"|feed_forward\.w3"
)
_GATE = r"mlp\.(gate_proj|w1)|ffn\.w1|feed_forward\.w1"
_DOWN = (
    r"mlp\.(c_proj|fc2|down_proj|dense_4h_to_h|fc_out|w2|2)|linear2|fc2|output\.dense|ffn\.(lin2|fc2|w2)"
    r"|feed_forward\.w2"
)
_KNOWN = {"gain_1": _FIRST, "gain_2": _SECOND, "w_up": _UP, "w_gate": _GATE, "w_down": _DOWN}
_FOLLOWING = re.compile(r"attention\.output\.LayerNorm|sa_layer_norm")  # of BERT and its kin: after attention
_BIAS = {"gain_1": "shift_1", "gain_2": "shift_2", "w_up": "b_up", "w_gate": "b_gate", "w_down": "b_down"}
_NUMBERED = re.compile(r"(.*\.)?\d+\.(?=.*\.)")  # greedy: up to the last number that has modules below it


def read_blocks(
    path: Path | str,
    names: Mapping[str, str] | None = None,
    *,
    convention: str | None = None,
    score: str = "dot",
    rotary: bool = False,
    prefix: str = "",
) -> list[dict[str, Any]]:
    """Return the blocks of a file in their order, as ``certify_blocks`` takes them.

    Parameters
    ----------
    path : path
        As :func:`read_weights` takes it.
    names : mapping, optional
        Of a single block: which array is which role. Unless given, arrays have the names of these roles, or names of
        blocks that are known.
    convention : {"rows", "columns"}, optional
        Of all matrices.
    score, rotary
        As :func:`read_weights` takes them.
    prefix : str
        Only blocks whose names begin with it.

    Returns
    -------
    list of dict
        With ``norm`` where names tell that norms come after the parts, as those of BERT do.

    Raises
    ------
    ValueError
        If the file holds no block, several stacks of them, blocks of different parts or with gaps between their
        numbers, or a part that is not covered.
    ModuleNotFoundError
        If the package safetensors is needed and missing.
    """
    return read_stack(Path(path), names, convention=convention, score=score, rotary=rotary, prefix=prefix)[0]


def read_stack(
    path: Path, names: Mapping[str, str] | None, *, convention: str | None, score: str, rotary: bool, prefix: str,
    whole: bool = True,
) -> tuple[list[dict[str, Any]], list[str], list[str]]:  # fmt: skip
    """Return blocks, what they are called, and what was understood, a line each; ``whole`` with feed-forward parts."""
    with opened(path) as (present, get):
        file = Arrays(path, frozenset(present), get)
        if names is not None or present & {*ROLES, *BLOCK_ROLES}:
            found, called = {"": dict(names) if names is not None else {n: n for n in present}}, [""]
            unknown = sorted(set(found[""]) - {*ROLES, *BLOCK_ROLES})
            if unknown:
                raise ValueError(f"names: expected any of {', '.join((*ROLES, *BLOCK_ROLES))}, got {unknown[0]!r}")
            for role, name in found[""].items():
                if name not in present:
                    raise ValueError(f"{path}: expected an array {name!r} as {role}, got {listed(present)}")
        else:
            found = _blocks(file, prefix)
            called = list(found)
            if not whole and len(found) > 1:
                raise ValueError(
                    f"{path}: expected one layer, got {len(found)}, from {called[0]} to {called[-1]}; --block takes "
                    f"all, --prefix {called[0]} the first"
                )
        blocks, notes = [], []
        for place, roles in found.items():
            block, more = _read(file, place, roles, convention, score, rotary=rotary, whole=whole, named=names is None)
            blocks.append(block)
            notes += more if len(blocks) == 1 else []
        used = {name for roles in found.values() for name in roles.values()}
        left = {name for name in present - used if not any(place and name.startswith(place) for place in called)}
        if names is None and not called[0]:  # what is there is refused or said above
            left = set()
        if len(blocks) > 1:
            notes = [f"{len(blocks)} blocks, {called[0]} to {called[-1]}; of the first:", *notes]
        if left:
            notes.append(f"not used, outside of blocks: {listed(left)}")
    return blocks, called, notes


def _blocks(file: Arrays, prefix: str) -> dict[str, dict[str, str]]:
    """Return the roles of every block by what its names begin with, in order."""
    found: dict[str, dict[str, str]] = {}
    present = frozenset(name for name in file.names if name.startswith(prefix))
    for base, roles in proposals(present).items():
        numbered = _NUMBERED.match(base)
        place = numbered.group(0) if numbered else base[: base.rfind(".", 0, -1) + 1]
        if place in found:
            raise ValueError(
                f"{file.path}: {base}: expected one attention in a block, got a second one beside "
                f"{sorted(found[place].values())[0]}, for which no theorem here holds"
            )
        found[place] = roles | _parts(present, place, roles)
    if not found:
        got = listed(present) or f"none that begins with {prefix!r}, of {listed(file.names)}"
        raise ValueError(
            f"{file.path}: expected blocks of names that are known, got {got}; --names NAME=KEY,... says which is "
            "which, of one block"
        )
    roots = sorted({re.sub(r"\d+\.$", "", place) for place in found})
    if len(roots) > 1:
        raise ValueError(f"{file.path}: expected one stack of blocks, got {', '.join(roots)}; --prefix chooses one")
    ordered = dict(sorted(found.items(), key=lambda pair: [int(n) for n in re.findall(r"\d+", pair[0])]))
    _one_after_another(file, ordered)
    return ordered


def _one_after_another(file: Arrays, found: Mapping[str, Mapping[str, str]]) -> None:
    """Raise unless blocks have numbers that follow each other, and the same parts."""
    for before, after in pairwise(found):
        numbers = [re.findall(r"\d+", place)[-1:] for place in (before, after)]
        if not all(numbers) or int(numbers[1][0]) != int(numbers[0][0]) + 1:
            raise ValueError(f"{file.path}: expected blocks that follow each other, got {after} after {before}")
        parts, others = ({role for role in found[place] if role in _KNOWN} for place in (before, after))
        if parts != others:
            odd = sorted(parts ^ others)[0]
            having, lacking = (before, after) if odd in parts else (after, before)
            raise ValueError(
                f"{file.path}: expected the same parts in all blocks, got no {odd} in {lacking}, unlike {having}"
            )


def _parts(present: frozenset[str], place: str, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the norms and the feed-forward part of a block."""
    found: dict[str, str] = {}
    base = re.escape(place)
    if "w_out" not in roles:
        outs = [name for name in present if re.fullmatch(rf"{base}(?:{_OUT})\.weight", name)]
        found |= {"w_out": outs[0]} if outs else {}
    used = {*roles.values(), *found.values()}
    for role, words in _KNOWN.items():
        kind = "weight|gamma" if role.startswith("gain") else "weight"  # older files have gamma and beta
        fits = [name for name in sorted(present - used) if re.fullmatch(rf"{base}(?:{words})\.(?:{kind})", name)]
        if len(fits) > 1:
            raise ValueError(f"{fits[1]}: expected one {role} in a block, got it beside {fits[0]}")
        if fits:
            found[role] = fits[0]
            module, _, last = fits[0].rpartition(".")
            bias = f"{module}.{'beta' if last == 'gamma' else 'bias'}"
            if bias in present:
                found[_BIAS[role]] = bias
    if "w_gate" in found and "w_up" not in found:  # w1 is the gate of Llama's own names, and elsewhere the only one
        found["w_up"] = found.pop("w_gate")
        found |= {"b_up": found.pop("b_gate")} if "b_gate" in found else {}
    return found


def _read(
    file: Arrays, place: str, roles: dict[str, str], convention: str | None, score: str, *, rotary: bool, whole: bool,
    named: bool,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """Return the arrays of one block with outputs along rows, and notes."""
    own = {role: name for role, name in roles.items() if role in ROLES}
    if not set(own) & {"w_qkv", *PARTS}:
        raise ValueError(f"{file.path}: expected arrays {', '.join(PARTS)}, got {listed(file.names)}")
    others = {name for role, name in roles.items() if role in BLOCK_ROLES}
    wanted, notes = chosen(file._replace(names=file.names - others), own, rotary=rotary)
    arrays = {role: file.get(name) for role, name in wanted.items()}
    found, more = arranged(arrays, wanted, convention=convention, score=score, rotary=rotary, every=True)
    parts = {role: name for role, name in roles.items() if role in BLOCK_ROLES}
    if not whole:
        parts = {role: name for role, name in parts.items() if role in ("gain_1", "shift_1")}
    columns = more[0].startswith("outputs along the columns")
    for role, name in parts.items():
        array = np.asarray(file.get(name))
        found[role] = array.T if role.startswith("w_") and columns else array
    used = {*wanted.values(), *(parts if not whole else roles).values()}
    inside = sorted(name for name in file.names - used if name.startswith(place) and (place or named))
    inside = [name for name in inside if not is_rotary(name) and not is_mask(file.get(name))]
    if whole and inside:
        raise ValueError(
            f"{file.path}: {inside[0]}: expected attention, norms before or after it and a feed-forward part, got "
            "something else in a block, for which no theorem here holds"
        )
    following = whole and named and bool(_FOLLOWING.search(parts.get("gain_1", "")))
    told = [note for note in [*notes, *more] if "not used" not in note and "in no constant" not in note]
    if parts:
        told.append(", ".join(f"{name} as {role}" for role, name in parts.items()))
    if following:
        found["norm"] = "post"
        told.append(f"{parts['gain_1']} comes after attention, as its name says: --norm post unless --norm is given")
    if inside:
        told.append(f"not used, of the same block: {listed(frozenset(inside))}; --block takes all of it")
    return found, told
