"""What the studies of stacks are about: densities, functions, places and times that claims and figures name, too."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.studies.forward import (
        CONTEXT_DENSITY as CONTEXT_DENSITY,
        EVEN_DENSITY as EVEN_DENSITY,
        FORWARD_PLACES as FORWARD_PLACES,
    )
    from theory.diffusion.studies.interacting import INTERACTING as INTERACTING
    from theory.diffusion.studies.metric_stack import (
        METRIC_STACKS as METRIC_STACKS,
    )
    from theory.diffusion.studies.self_dynamics import (
        HALF_AXES as HALF_AXES,
        SHORTENING_TIMES as SHORTENING_TIMES,
        SPHERE_DIMENSIONS as SPHERE_DIMENSIONS,
    )
    from theory.diffusion.studies.stacking import (
        HEIGHT_SLOPE as HEIGHT_SLOPE,
        STACK_TIMES as STACK_TIMES,
        height_function as height_function,
    )
    from theory.diffusion.studies.torus_stack import (
        TORUS_TIMES as TORUS_TIMES,
        torus_density as torus_density,
        torus_function as torus_function,
    )

open_lazily(__name__)
