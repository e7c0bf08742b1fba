"""Many layers in a row: stacks of equal ones, what they forget last, and tokens that move."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.layers.equilibrium import (
        chain_spectrum as chain_spectrum,
        count_rates as count_rates,
        relaxation_rate as relaxation_rate,
        scale_rate as scale_rate,
        stationary_law as stationary_law,
        stationary_means as stationary_means,
    )
    from theory.diffusion.layers.gradient_flow import asymmetry as asymmetry, velocity_field as velocity_field
    from theory.diffusion.layers.metric_stack import FeatureLayer as FeatureLayer
    from theory.diffusion.layers.score_stack import (
        orbit_tokens as orbit_tokens,
        score_layer as score_layer,
    )
    from theory.diffusion.layers.self_dynamics import (
        PlaneCurve as PlaneCurve,
        advance_rounding as advance_rounding,
        advance_tokens as advance_tokens,
        ellipse as ellipse,
        line_tokens as line_tokens,
        shorten_curve as shorten_curve,
        sphere_layer as sphere_layer,
        sphere_radii as sphere_radii,
    )
    from theory.diffusion.layers.stacking import (
        TokenLayer as TokenLayer,
        TorusLayer as TorusLayer,
        ZonalLayer as ZonalLayer,
        apply_layers as apply_layers,
        count_layers as count_layers,
        equidistant_layer as equidistant_layer,
    )
    from theory.diffusion.layers.torus_stack import (
        LatticeLayer as LatticeLayer,
        resolving_count as resolving_count,
    )

open_lazily(__name__)
