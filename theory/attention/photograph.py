r"""Real tokens: the patches of the photograph that Matplotlib ships as sample data.

The picture is cut into 16 x 16 pixel patches (the last rows that make no whole patch are dropped), each flattened to
:math:`[-1, 1]^{768}` and projected to dimension :math:`d` by Gaussian weights of variance :math:`1/768`, drawn from
a seeded stream.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count

PATCH = 16


def pixels() -> NDArray[np.uint8]:
    """Return the photograph as an (h, w, 3) array.

    Raises
    ------
    FileNotFoundError
        If the installed Matplotlib has no sample data.
    """
    from PIL import Image  # noqa: PLC0415  loads only where a picture is wanted

    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("photograph: expected Matplotlib to be installed")
    path = Path(spec.origin).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg"
    if not path.exists():
        raise FileNotFoundError(f"photograph: expected Matplotlib's sample data, got none at {path}")
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def grid() -> tuple[int, int]:
    """Return how many patches fit down and across."""
    height, width, _ = pixels().shape
    return height // PATCH, width // PATCH


def tokens(dim: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return one token per patch, row by row, shape (patches, dim), projected by weights drawn from ``rng``."""
    picture = pixels().astype(np.float64) / 127.5 - 1.0
    down, across = grid()
    whole = picture[: down * PATCH, : across * PATCH].reshape(down, PATCH, across, PATCH, 3)
    patches = whole.swapaxes(1, 2).reshape(down * across, PATCH * PATCH * 3)
    weights = rng.normal(size=(patches.shape[1], as_count(dim, "dim"))) / np.sqrt(patches.shape[1])
    projected: NDArray[np.float64] = patches @ weights
    return projected
