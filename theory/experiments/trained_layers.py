"""The layers of attention of transformers that were trained here, with the tokens that reach them.

Written by :func:`theory.experiments.arms.layers.train_layers`, each in a minute, at the rate that the search of the arm
``block-dot`` chose: 1e-4 for two moons, 0.01 for images of digits. On another processor a training ends elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from theory._validate import as_choice

TASKS = ("moons", "digits")
_RESULTS = Path(__file__).parent / "results"


def trained_layers(*tasks: str) -> dict[str, dict[str, Any]]:
    """Return layers by name: weights as ``certify`` takes them, ``tokens``, and the ``radius`` of all that may come.

    Parameters
    ----------
    tasks : {"moons", "digits"}
        Both unless given.

    Raises
    ------
    ValueError
        If there is no such task.

    Examples
    --------
    >>> sorted(trained_layers("moons")["moons 1"])
    ['radius', 'tokens', 'w_key', 'w_out', 'w_query', 'w_value']
    """
    found: dict[str, dict[str, Any]] = {}
    for task in [as_choice(task, "tasks", TASKS) for task in tasks] or TASKS:
        found |= read_layers(_RESULTS / f"layers-{task}.npz", task)
    return found


def read_layers(path: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the layers of a file that ``train_layers`` has written, as ``NAME 1`` and so on.

    Raises
    ------
    ValueError
        If the file is none.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        with np.load(path, allow_pickle=False) as file:
            for stored in file.files:
                number, _, own = stored.partition(".")
                if own:
                    found.setdefault(f"{name} {number}", {})[own] = file[stored]
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ValueError(f"path: expected a file that train_layers has written, got {path}") from error
    return {layer: {**arrays, "radius": float(arrays["radius"])} for layer, arrays in found.items()}
