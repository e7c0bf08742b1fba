"""Certified Wasserstein-1 distances between token clouds."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.distance.line import w1_line as w1_line
    from theory.distance.normal import w1_to_normal as w1_to_normal
    from theory.distance.w1 import w1 as w1

open_lazily(__name__)
