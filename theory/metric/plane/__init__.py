"""A trained first layer as a map of the plane: its metric, its certificate, and one layer on the law of two moons."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.plane.arcs import (
        Change as Change,
        FirstOrder as FirstOrder,
        MoonsLaw as MoonsLaw,
        first_order as first_order,
        layer_change as layer_change,
    )
    from theory.metric.plane.chart import (
        Chart as Chart,
        chart_of_first_layer as chart_of_first_layer,
        flatten_chart as flatten_chart,
    )
    from theory.metric.plane.embedding import (
        count_undecided_pairs as count_undecided_pairs,
        weakest_stretch as weakest_stretch,
    )
    from theory.metric.plane.semigroup import apply_semigroup as apply_semigroup, semigroup_change as semigroup_change

open_lazily(__name__)
