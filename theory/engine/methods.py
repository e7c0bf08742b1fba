"""One door to attention: dense, fast sums, neighbours or cells, whichever keeps the promise at the least cost."""

from __future__ import annotations

from typing import NamedTuple

from theory._validate import as_between
from theory.engine import dense
from theory.engine.pairs import Array, AttentionResult, Counts, Pairs

METHODS = ("dense", "nufft", "local", "cells", "auto")
_SMALL = 1 << 20  # measured: pairs that the dense method does before another one has looked at its input
_LARGE = 1 << 28  # measured: the same for cells, which look at some thousand tokens


class Costs(NamedTuple):
    """What each method is expected to cost, in pairs of the dense one; infinite where it does not apply."""

    dense: float
    nufft: float
    local: float
    cells: float = float("inf")


def costs(pairs: Pairs, values: Array, accuracy: float) -> Costs:
    """Estimate what attention of these pairs costs by each method, without computing it."""
    m = pairs.queries.shape[0]
    n = pairs.keys.shape[0]
    d_v = values.shape[1]
    if m * n <= _SMALL:
        return Costs(float(m * n), float("inf"), float("inf"))
    from theory.engine import cells, fastsum, local  # noqa: PLC0415  load FINUFFT and the k-d trees

    over_cells = cells.cost(pairs, m, n, d_v, accuracy) if m * n > _LARGE else float("inf")
    sums = fastsum.cost(pairs, m, n, d_v, accuracy)
    return Costs(float(m * n), sums, local.cost(pairs, m, n, d_v, accuracy), over_cells)


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, visible: Counts | None = None,
    precision: str = "double", method: str = "dense", accuracy: float = 1e-12,
) -> AttentionResult:  # fmt: skip
    """Average the values of the keys under the softmax of the scores.

    Parameters
    ----------
    pairs, values, log_weights, visible, precision
        As in :func:`theory.engine.dense.attention`.
    method : {"dense", "nufft", "local", "cells", "auto"}
        ``dense`` is exact for any score. ``nufft`` (:mod:`theory.engine.fastsum`), ``local``
        (:mod:`theory.engine.local`) and ``cells`` (:mod:`theory.engine.cells`) cost about as much as the tokens, not
        their pairs, and keep to ``accuracy``; they know no mask and no single precision. ``auto`` takes the cheapest
        one that applies.
    accuracy : float, default 1e-12
        Largest error of any entry of the output beyond rounding, in units of the largest size of a value; not used by
        ``dense``, which has none.

    Returns
    -------
    AttentionResult
        With the method taken and the error that it certifies or has seen.

    Raises
    ------
    ValueError
        If ``method`` is unknown, does not apply to this score or cannot reach ``accuracy``, and as the method says.
    ArithmeticError
        If ``nufft`` finds its promise broken by its own check.
    """
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if not isinstance(method, str):
        raise TypeError(f"method: expected one of {', '.join(METHODS)}, got {type(method).__name__}")
    accuracy = as_between(accuracy, "accuracy", 0, 1)
    if accuracy in (0.0, 1.0):
        raise ValueError(f"accuracy: expected a number between 0 and 1, got {accuracy!r}")
    plain = visible is None and precision == "double"
    if method in ("nufft", "local", "cells") and not plain:
        raise ValueError(f"method: expected dense under a mask or in single precision, got {method!r}")
    if method == "auto" and plain:
        estimate = costs(pairs, values, accuracy)._asdict()
        for name in sorted(estimate, key=estimate.__getitem__):
            if name == "dense":
                break
            try:
                return _fast(name, pairs, values, log_weights, accuracy)
            except (ValueError, ArithmeticError):  # out of its reach, as only its own look at the rows can tell
                continue
    elif method in ("nufft", "local", "cells"):
        return _fast(method, pairs, values, log_weights, accuracy)
    return dense.attention(pairs, values, log_weights=log_weights, visible=visible, precision=precision)


def _fast(method: str, pairs: Pairs, values: Array, log_weights: Array | None, accuracy: float) -> AttentionResult:
    if method == "nufft":
        from theory.engine import fastsum  # noqa: PLC0415  loads FINUFFT

        return fastsum.attention(pairs, values, log_weights=log_weights, accuracy=accuracy)
    if method == "cells":
        from theory.engine import cells  # noqa: PLC0415  as the others, only where it is asked for

        return cells.attention(pairs, values, log_weights=log_weights, accuracy=accuracy)
    from theory.engine import local  # noqa: PLC0415  loads the k-d trees

    return local.attention(pairs, values, log_weights=log_weights, accuracy=accuracy)
