"""The limit on curves, on surfaces, in other metrics, and near an end of the tokens."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.geometry.boundary import (
        gauss_tokens as gauss_tokens,
        layer_rise as layer_rise,
        segment_stack as segment_stack,
    )
    from theory.diffusion.geometry.conformal import (
        coordinates as coordinates,
        diagonal_metric as diagonal_metric,
        inner_product as inner_product,
        jets as jets,
        laplacian as laplacian,
        lift_metric as lift_metric,
        limit_operator as limit_operator,
        mixed_metric as mixed_metric,
        weighted_divergence as weighted_divergence,
    )
    from theory.diffusion.geometry.curves import (
        Curve as Curve,
        Ellipse as Ellipse,
        Modulated as Modulated,
        Reparametrised as Reparametrised,
        layer_change as layer_change,
        linear_multiplier as linear_multiplier,
        root_length as root_length,
    )
    from theory.diffusion.geometry.heat_flow import heat_flow as heat_flow
    from theory.diffusion.geometry.revolution import Revolution as Revolution

open_lazily(__name__)
