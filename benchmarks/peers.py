"""What else a user would call: plain NumPy, PyTorch, KeOps; and an exact reference on a few rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from theory import engine
from theory.engine import Form, Pairs
from theory.engine.threads import threads
from theory.evidence.enclosure import hull, precision

Array = NDArray[np.float64]
Peer = Callable[[], Array]


def cloud(n: int, d: int, root: int = 0) -> tuple[Array, Array, Array]:
    """Return queries, keys and values: standard normals, seeded."""
    rng = np.random.default_rng([root, n, d])
    return rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng.normal(size=(n, d))


def ours(q: Array, k: Array, v: Array, *, form: Form = Form.DOT, **options: Any) -> Peer:
    """Return the engine, for scaled dot products or squared distances at scale one half."""
    scale = q.shape[1] ** -0.5 if form is Form.DOT else 0.5
    pairs = Pairs(form, q, k, np.array([scale]))
    return lambda: engine.attention(pairs, v, **options).output


def numpy(q: Array, k: Array, v: Array) -> Peer:
    """Return softmax attention as it is written down."""

    def attend() -> Array:
        s = (q * q.shape[1] ** -0.5) @ k.T
        s -= s.max(axis=1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=1, keepdims=True)
        out: Array = s @ v
        return out

    return attend


def torch(q: Array, k: Array, v: Array) -> Peer | None:
    """Return PyTorch's scaled dot-product attention on as many threads as the engine uses, if it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch as pytorch  # noqa: PLC0415

    pytorch.set_num_threads(threads())
    tensors = [pytorch.from_numpy(x)[None, None] for x in (q, k, v)]
    attend = pytorch.nn.functional.scaled_dot_product_attention
    return lambda: np.asarray(attend(*tensors)[0, 0])


def keops(q: Array, k: Array, v: Array) -> Peer | None:
    """Return KeOps' lazy softmax on the CPU, if it is installed and finds a compiler."""
    if importlib.util.find_spec("pykeops") is None:
        return None
    import pykeops  # noqa: PLC0415
    from pykeops.numpy import LazyTensor  # noqa: PLC0415

    pykeops.set_verbose(False)
    left, right, values = LazyTensor(q[:, None] * q.shape[1] ** -0.5), LazyTensor(k[None]), LazyTensor(v[None])
    return lambda: (left | right).sumsoftmaxweight(values, axis=1)


def error(
    output: Array, q: Array, k: Array, v: Array, *, form: Form = Form.DOT, scale: float | None = None, rows: int = 2
) -> float:
    """Return the largest error of a few rows against ball arithmetic, in units of the largest value."""
    return errors({"": output}, q, k, v, form=form, scale=scale, rows=rows)[""]


def errors(
    outputs: Mapping[str, Array], q: Array, k: Array, v: Array, *,
    form: Form = Form.DOT, scale: float | None = None, rows: int = 2,
) -> dict[str, float]:  # fmt: skip
    """Return the largest errors of several outputs for one problem, as :func:`error` does."""
    worst = dict.fromkeys(outputs, 0.0)
    for i in np.linspace(0, q.shape[0] - 1, rows).astype(int).tolist():
        with precision():
            query = [flint.arb(x) for x in q[i].tolist()]
            usual = 1 / flint.arb(q.shape[1]).sqrt() if form is Form.DOT else flint.arb(-0.5)
            factor = usual if scale is None else flint.arb(scale if form is Form.DOT else -scale)
            mass, sums = flint.arb(0), [flint.arb(0)] * v.shape[1]
            for key, value in zip(k.tolist(), v.tolist(), strict=True):
                if form is Form.DOT:
                    s = sum((a * b for a, b in zip(query, key, strict=True)), flint.arb(0))
                else:
                    s = sum(((a - b) ** 2 for a, b in zip(query, key, strict=True)), flint.arb(0))
                w = (factor * s).exp()
                mass += w
                sums = [a + w * b for a, b in zip(sums, value, strict=True)]
            for name, output in outputs.items():
                apart = [abs(total / mass - x) for total, x in zip(sums, output[i].tolist(), strict=True)]
                worst[name] = max(worst[name], *(hull(ball).hi for ball in apart))
    return {name: off / float(np.abs(v).max()) for name, off in worst.items()}
