"""A trained first layer as a map of the plane: its metric, its certificate, and one layer on the law of two moons."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.plane.arcs import (
        Arcs as Arcs,
        Change as Change,
        FirstOrder as FirstOrder,
        first_order as first_order,
        layer as layer,
    )
    from theory.metric.plane.chart import Composed as Composed, first_layer as first_layer, flattened as flattened
    from theory.metric.plane.embedding import undecided as undecided, weakest_stretch as weakest_stretch
    from theory.metric.plane.semigroup import exponential as exponential, flow as flow

open_lazily(__name__)
