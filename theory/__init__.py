"""Attention as mathematics, decided numerically.

``Measure`` is a token cloud, ``attend`` computes attention, ``w1`` encloses the Wasserstein-1 distance. The rooms of
the package are its subjects; each room's ``__init__`` is its one door. Nothing slow loads before it is used.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.attention import Measure as Measure, attend as attend
    from theory.distance import w1 as w1

__version__ = "0.1.0"

open_lazily(__name__)
