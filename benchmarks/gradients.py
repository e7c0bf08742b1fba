"""Products with the Jacobian of dense attention and its transpose, in units of the forward pass, beside PyTorch."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.timing import REPEATS, interleaved, ratio
from theory import engine
from theory.engine import Direction, Form, Pairs
from theory.engine.threads import threads
from theory.figures._style import style

Array = NDArray[np.float64]

TITLE = "products with the Jacobian and its transpose against the forward pass and PyTorch"
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = (1024, 4096)
RATIOS = (
    ("jvp", "forward"), ("vjp", "forward"), ("torch backward", "torch forward"), ("torch both", "vjp"),
    ("torch backward", "vjp"),
)  # fmt: skip
_ROWS = 2  # of which errors are taken


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per size, width and score."""
    if quick:
        return [_case(128, d, form, repeats=2) for d in (2, 16) for form in (Form.DOT, Form.DISTANCE)]
    cases = [(n, d, form) for n in SIZES for d in WIDTHS for form in (Form.DOT, Form.DISTANCE)]
    return [_case(n, d, form, repeats=REPEATS if n > SIZES[0] else 4 * REPEATS) for n, d, form in cases]


def _case(n: int, d: int, form: Form, *, repeats: int) -> dict[str, Any]:
    q, k, v = peers.cloud(n, d)
    way = Direction(*peers.cloud(n, d, root=1), np.zeros(n))
    cotangent = peers.cloud(n, d, root=2)[0]
    pairs = Pairs(form, q, k, np.array([d**-0.5 if form is Form.DOT else 0.5]))
    calls: dict[str, Callable[[], Any]] = {
        "forward": lambda: engine.attention(pairs, v).output,
        "jvp": lambda: engine.jvp(pairs, v, way)[1],
        "vjp": lambda: engine.vjp(pairs, v, cotangent),
    }
    if form is Form.DOT and importlib.util.find_spec("torch") is not None:
        calls["torch forward"], calls["torch both"] = _torch(q, k, v, cotangent)
    times = interleaved(calls, repeats)
    row: dict[str, Any] = {"n": n, "d": d, "score": form.name.lower()}
    row["ns per pair"] = 1e9 * statistics.median(times["forward"]) / n**2
    if "torch both" in times:
        times["torch backward"] = np.subtract(times["torch both"], times["torch forward"]).tolist()
    for of, to in RATIOS:
        if of in times:
            name = f"{of}/{to}"
            row[name], row[f"{name}, low"], row[f"{name}, high"] = ratio(times[of], times[to])
    gradients = calls["vjp"]()
    row["jvp error"], row["vjp error"] = _errors(pairs, v, way, cotangent, calls["jvp"](), gradients)
    if "torch both" in calls:
        apart = (np.abs(a - b).max() / np.abs(b).max() for a, b in zip(gradients, calls["torch both"](), strict=False))
        row["apart from torch"] = float(max(apart))
    return row


def _torch(q: Array, k: Array, v: Array, cotangent: Array) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return PyTorch's attention as it is trained, forward alone, and with the gradients of its three arguments."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads())
    tensors = [torch.from_numpy(x)[None, None].requires_grad_() for x in (q, k, v)]
    pulled = torch.from_numpy(cotangent)[None, None]
    attend = torch.nn.functional.scaled_dot_product_attention

    def both() -> list[Array]:
        return [np.asarray(part[0, 0]) for part in torch.autograd.grad(attend(*tensors), tensors, pulled)]

    return lambda: attend(*tensors), both


def _errors(
    pairs: Pairs, values: Array, way: Direction, cotangent: Array, derivative: Array, gradients: Direction
) -> tuple[float, float]:
    """Return the errors of derivatives and of gradients in queries, of a few rows, in units of their largest entry.

    The reference is computed in extended precision.
    """
    rows = np.linspace(0, len(cotangent) - 1, _ROWS).astype(int)
    queries, along, pulled = (
        x[rows].astype(np.longdouble)[:, None, :] for x in (pairs.queries, way.queries, cotangent)
    )
    keys, v, d_keys, d_values = (x.astype(np.longdouble)[None] for x in (pairs.keys, values, way.keys, way.values))
    scale = np.longdouble(pairs.coefficients[0])
    apart = queries - keys
    if pairs.form is Form.DOT:
        scores, slope = scale * (queries * keys).sum(axis=2), scale * keys
        change = scale * (along * keys + queries * d_keys).sum(axis=2)
    else:
        scores, slope = -scale * (apart**2).sum(axis=2), -2 * scale * apart
        change = -2 * scale * (apart * (along - d_keys)).sum(axis=2)
    law = np.exp(scores - scores.max(axis=1, keepdims=True))
    law = (law / law.sum(axis=1, keepdims=True))[:, :, None]
    change = change[:, :, None]
    centred = change - (law * change).sum(axis=1, keepdims=True)
    true = (law * (d_values + centred * v)).sum(axis=1)
    pull = (pulled * v).sum(axis=2, keepdims=True)
    gradient = (law * (pull - (law * pull).sum(axis=1, keepdims=True)) * slope).sum(axis=1)
    found = (derivative[rows], true), (gradients.queries[rows], gradient)
    left, right = (float(np.abs(a - b).max() / np.abs(b).max()) for a, b in found)
    return left, right


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the times of derivatives of dot products over that of the forward pass, at the largest size."""
    chosen = [row for row in rows if row["n"] == rows[-1]["n"] and row["score"] == "dot"]
    d = [row["d"] for row in chosen]
    looks = {
        "jvp/forward": ("o-", style.BLUE), "vjp/forward": ("s-", style.GREEN),
        "torch backward/torch forward": ("^--", style.VERMILION),
    }  # fmt: skip
    for name, (mark, colour) in looks.items():
        if name in chosen[0]:
            axes.plot(d, [row[name] for row in chosen], mark, color=colour, label=name)
    axes.set(xscale="log", xlabel="dimension", ylabel="time over that of the forward pass", ylim=(0.0, None))
    axes.set_title(f"derivatives, n = {chosen[0]['n']}")
