"""Doubly normalised attention, and how far its limit is from what was computed."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.attention.sinkhorn.bounds import potential_error as potential_error, sinkhorn_error as sinkhorn_error
    from theory.attention.sinkhorn.iteration import (
        TOLERANCE as TOLERANCE,
        Sinkhorn as Sinkhorn,
        doubly_normalised as doubly_normalised,
    )

open_lazily(__name__)
