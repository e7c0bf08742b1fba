"""Which of two ways a room computes in: its compiled kernels, or what it says in plain NumPy."""

from __future__ import annotations

import os

BACKENDS = ("compiled", "reference")


def backend() -> str:
    """Return the backend that ``THEORY_BACKEND`` names, or ``compiled``.

    Raises
    ------
    ValueError
        If it names none.
    """
    name = os.environ.get("THEORY_BACKEND", "compiled")
    if name not in BACKENDS:
        raise ValueError(f"THEORY_BACKEND: expected one of {', '.join(BACKENDS)}, got {name!r}")
    return name
