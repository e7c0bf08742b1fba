"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.studies.bounded import METRICS as METRICS, stretches as stretches, tightness as tightness
    from theory.lipschitz.studies.collapse import (
        attended as attended,
        collapse as collapse,
        log_diameter as log_diameter,
    )
    from theory.lipschitz.studies.contamination import (
        RARE as RARE,
        SLOPES as SLOPES,
        contamination as contamination,
        fluctuations as fluctuations,
    )
    from theory.lipschitz.studies.depth import (
        DISTANCE_SHARE as DISTANCE_SHARE,
        RESIDUAL_SHARES as RESIDUAL_SHARES,
        SYSTEMS as SYSTEMS,
        determinants as determinants,
        fixed_points as fixed_points,
    )
    from theory.lipschitz.studies.growth import growth as growth
    from theory.lipschitz.studies.search import (
        GROWTH as GROWTH,
        SEARCHED as SEARCHED,
        searches as searches,
        worst_pairs as worst_pairs,
    )
    from theory.lipschitz.studies.star import (
        STEP as STEP,
        column_sum as column_sum,
        row_sum as row_sum,
        stars as stars,
    )

open_lazily(__name__)
