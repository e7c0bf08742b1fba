"""All files of known answers: what each says, and where they are kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import theory
from theory._validate import as_choice
from theory.evidence.files import write_together
from theory.reference import attention, distances, entmax, heads, rotary, rounded, softmax, streaming, tolerances
from theory.reference.cases import Subject, document, schema, text


def _products() -> Subject:
    return Subject(
        "jacobian_products",
        "products of Jacobians with vectors: softmax and logsumexp of a row, and gradients of attention",
        {
            "scores": "s_j; -inf masks a key, and the vector is 0 there",
            "vector": "c_j",
            "softmax": "(diag p - p p^T) c, p = softmax(s), for tangents and cotangents alike",
            "log_softmax_vjp": "c - p sum_j c_j, the gradient of <c, log p>; 0 at a masked key",
            "log_softmax_jvp": "c - <p, c>, the derivative of log p along c; 0 at a masked key",
            "logsumexp": "<p, c>, the derivative of logsumexp along c",
            **attention.SYMBOLS,
            "cotangent": "g_i, shape (m, d_v)",
            "moved_queries": "direction in which the queries move",
            "moved_keys": "direction in which the keys move",
            "moved_values": "direction in which the values move",
            "grad_queries": "gradient of sum_i <g_i, output_i> in the queries",
            "grad_keys": "the same in the keys",
            "grad_values": "the same in the values",
            "grad_bias": "the same in the bias, where one is given; 0 at a hidden pair",
            "grad_sink": "the same in the sink, where there is one",
            "moved_output": "derivative of the outputs along the three directions together",
        },
        [*softmax.products(), *attention.products()],
        (softmax.ROW_OF_NOTHING, *attention.CONVENTIONS),
    )


_SUBJECTS: dict[str, Callable[[], Subject]] = {
    "softmax": softmax.softmax,
    "logsumexp": softmax.logsumexp,
    "attention": attention.subject,
    "streaming": streaming.subject,
    "heads": heads.subject,
    "tolerances": tolerances.subject,
    "rotary": rotary.subject,
    "entmax": entmax.subject,
    "entmax_derivatives": entmax.derivatives,
    "jacobian_products": _products,
    "w1": distances.w1,
    "lipschitz": distances.lipschitz,
    "float32": partial(rounded.subject, "binary32", "float32"),
    "float16": partial(rounded.subject, "binary16", "float16"),
    "bfloat16": partial(rounded.subject, "bfloat16", "bfloat16"),
}
SUBJECTS = tuple(_SUBJECTS)


def known_answers(subject: str) -> str:
    """Return the file of a subject as it should stand, its answers computed in balls.

    Parameters
    ----------
    subject : str
        One of ``SUBJECTS``.

    Returns
    -------
    str
        JSON, as ``reference/schema.json`` says.

    Examples
    --------
    >>> '"subject": "w1"' in known_answers("w1")
    True
    """
    return f"{text(document(_SUBJECTS[as_choice(subject, 'subject', SUBJECTS)]()))}\n"


def folder() -> Path:
    """Return the folder of the files in a clone of the repository.

    Raises
    ------
    FileNotFoundError
        If there is none, as where the package is installed from a wheel.
    """
    found = Path(theory.__file__).resolve().parent.parent / "reference"
    if not (found / "schema.json").is_file():
        raise FileNotFoundError(f"no {found}: a clone of the repository has it; --out DIR writes elsewhere")
    return found


def run_command(out: Path | None, *, check: bool) -> int:
    """Write all files, or say which differ from what is computed; 0 if all is well, 1 if one differs."""
    there = folder() if out is None else out
    contents = {"schema.json": f"{text(schema())}\n", **{f"{name}.json": known_answers(name) for name in SUBJECTS}}
    old = {
        name
        for name, content in contents.items()
        if not (there / name).is_file() or (there / name).read_bytes() != content.encode("utf-8")
    }
    if check:
        sys.stdout.writelines(f"{there / name}: is not what is computed\n" for name in sorted(old))
        sys.stdout.write("" if old else f"{there}: {len(contents)} files, as computed\n")
        return int(bool(old))
    there.mkdir(parents=True, exist_ok=True)
    write_together({there / name: contents[name] for name in sorted(old)})
    sys.stdout.write(f"{there}: {len(old)} of {len(contents)} files written, the others were as computed\n")
    return 0
