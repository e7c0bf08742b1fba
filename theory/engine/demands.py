"""What every fast method refuses before any work, in the same words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theory.engine.pairs import Array, Form, Pairs


def demand(
    pairs: Pairs, values: Array, added: Array, accuracy: float, *,
    method: str, forms: Sequence[Form], within: tuple[float, float], dimensions: int | None = None,
) -> None:  # fmt: skip
    """Refuse other forms, more dimensions, another accuracy, shapes that do not fit and numbers that are not finite."""
    if pairs.form not in forms:
        names = ", ".join(form.name for form in forms)
        raise ValueError(f"method: expected a form among {names} for {method}, got {pairs.form.name}")
    if dimensions is not None and not 1 <= pairs.queries.shape[1] <= dimensions:
        raise ValueError(f"method: expected at most {dimensions} dimensions for {method}, got {pairs.queries.shape[1]}")
    if not within[0] <= accuracy <= within[1]:
        raise ValueError(f"accuracy: expected a number from {within[0]:g} to {within[1]:g}, got {accuracy!r}")
    if pairs.keys.shape[1] != pairs.queries.shape[1]:
        raise ValueError(f"keys: expected {pairs.queries.shape[1]} dimensions, got {pairs.keys.shape[1]}")
    for name, array in (("values", values), ("log_weights", added)):
        if array.shape[0] != pairs.keys.shape[0]:
            raise ValueError(f"{name}: expected {pairs.keys.shape[0]} rows, got {array.shape[0]}")
    named = {"queries": pairs.queries, "keys": pairs.keys, "coefficients": pairs.coefficients, "values": values}
    for name, array in {**named, "log_weights": added}.items():
        if array.size == 0 or not np.isfinite(array).all():
            raise ValueError(f"{name}: expected finite numbers, got {'none' if array.size == 0 else 'others'}")
    if pairs.form is not Form.DOT and pairs.coefficients[0] < 0.0:
        raise ValueError(f"coefficients: expected a positive sharpness, got {float(pairs.coefficients[0])!r}")
