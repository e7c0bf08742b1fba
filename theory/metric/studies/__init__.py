"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.studies.half_bandwidth import half_bandwidth as half_bandwidth

open_lazily(__name__)
