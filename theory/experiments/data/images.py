"""The 1797 images of 8 x 8 pixels that come with scikit-learn, and images cut into sets of tokens.

References
----------
E. Alpaydin and C. Kaynak, *Optical recognition of handwritten digits*, UCI machine learning repository, 1998.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from theory._extra import extra

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Images = tuple[Array, Labels]  # (n, pixels), between 0 and 1, and (n,)
TOKENS = 100  # images that attend to each other


@lru_cache(maxsize=1)
def small_images() -> Images:
    """Return the images, pixels between 0 and 1, and their labels."""
    pixels, labels = extra("sklearn.datasets").load_digits(return_X_y=True)
    return np.asarray(pixels, dtype=np.float64) / 16.0, np.asarray(labels, dtype=np.int64)


def group_images(x: Array, y: Labels) -> Images:
    """Cut images into sets of 100, or 99 where that is what comes out even."""
    size = next(size for size in (TOKENS, TOKENS - 1) if y.size % size == 0)
    return x.reshape(-1, size, x.shape[1]), y.reshape(-1, size)
