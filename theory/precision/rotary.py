r"""Phases of rotary positions as tables of cosines have them: frequencies in few bits, times whole positions.

The frequency :math:`\theta_i = b^{-2i/d}` is rounded to the format in which it is kept, and its product with the
position m to the format in which cosines are taken; both to nearest. What the first loses grows with m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_choice, as_count, as_counts
from theory.evidence import ball, precision
from theory.precision.formats import FORMATS
from theory.precision.streaming import nearest_to

_MOST = 2.0**40  # taken: of a base and of a position, far above those in use
_BITS = 256  # taken: a frequency or a product that lies nearer to a tie is refused


def rotary_phases(
    base: float, dim: int, positions: ArrayLike, *, frequencies: str = "float32", product: str = "float32"
) -> NDArray[np.float64]:
    r"""Return the phases :math:`m\theta_i` as they are computed, correctly rounded at each of two steps.

    Parameters
    ----------
    base : float
        More than one.
    dim : int
        The dimension d of queries and keys, even.
    positions : array_like of int, shape (n,)
        The m, not negative, which are exact.
    frequencies : {"float64", "float32", "bfloat16", "float16"}
        The format in which frequencies are kept.
    product : {"float64", "float32", "bfloat16", "float16"}
        The format in which they are multiplied with positions.

    Returns
    -------
    array, shape (n, d / 2)

    Raises
    ------
    ValueError
        If the base is not more than one, the dimension is odd or a phase is beyond the format.

    Examples
    --------
    >>> rotary_phases(10000.0, 128, [4095], frequencies="bfloat16")[0, :2].tolist()
    [4095.0, 3551.1328125]
    """
    size = as_count(dim, "dim")
    if size % 2:
        raise ValueError(f"dim: expected an even number, got {size}")
    b = as_between(base, "base", 1.0, _MOST)
    if b == 1.0:
        raise ValueError("base: expected more than 1, got 1.0")
    places = as_counts(positions, "positions", least=0)
    if (places > _MOST).any():
        raise ValueError(f"positions: expected at most {_MOST:g}, got {places.max()}")
    kept, formed = (
        FORMATS[as_choice(form, name, ("float64", "float32", "bfloat16", "float16"))]
        for form, name in ((frequencies, "frequencies"), (product, "product"))
    )
    if places.max(initial=0) > formed.largest:
        raise ValueError(f"positions: expected phases of at most {formed.largest:g}, got {places.max()}")
    with precision(_BITS):
        own = [nearest_to(ball(b) ** (ball(-2 * i) / size), kept) for i in range(size // 2)]
        found = [[nearest_to(ball(m) * ball(one), formed) for one in own] for m in places.tolist()]
    return np.array(found).reshape(places.size, size // 2)
