"""Many layers in a row: stacks of equal ones, what they forget last, and tokens that move."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.layers.equilibrium import (
        rate as rate,
        rates_below as rates_below,
        scaled as scaled,
        spectrum as spectrum,
        stationary as stationary,
    )
    from theory.diffusion.layers.gradient_flow import asymmetry as asymmetry, field as field
    from theory.diffusion.layers.self_dynamics import (
        Curve as Curve,
        ellipse as ellipse,
        line_tokens as line_tokens,
        moved as moved,
        rounded as rounded,
        shortening as shortening,
        sphere_layer as sphere_layer,
        sphere_radii as sphere_radii,
    )
    from theory.diffusion.layers.stacking import (
        TokenLayer as TokenLayer,
        TorusLayer as TorusLayer,
        ZonalLayer as ZonalLayer,
        depth as depth,
        stacked as stacked,
    )

open_lazily(__name__)
