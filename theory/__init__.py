"""Attention as mathematics, decided numerically.

``Measure`` is a token cloud, ``attend`` computes attention, ``w1`` encloses the Wasserstein-1 distance. The rooms of
the package are its subjects; each room's ``__init__`` is its one door. Nothing slow loads before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theory.attention import Measure as Measure, attend as attend
    from theory.distance import w1 as w1  # type: ignore[no-redef]  # its module has the same name

__version__ = "0.1.0"
__all__ = ["Measure", "attend", "w1"]

_HOME = {"Measure": "theory.attention", "attend": "theory.attention", "w1": "theory.distance"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
