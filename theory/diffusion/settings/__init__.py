"""What the studies are about: densities, functions, places and times that claims and figures name, too."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.studies.boundary import (
        SEGMENT_TIME as SEGMENT_TIME,
        segment_wave as segment_wave,
    )
    from theory.diffusion.studies.metrics import (
        LEARNED_CURVES as LEARNED_CURVES,
    )
    from theory.diffusion.studies.million import (
        MILLION_COUNTS as MILLION_COUNTS,
        MILLION_EPSILON as MILLION_EPSILON,
        MILLION_PLACES as MILLION_PLACES,
    )
    from theory.diffusion.studies.normalisers import (
        ALPHAS as ALPHAS,
        NORMAL_VARIANCE as NORMAL_VARIANCE,
        PRINTED_EPSILONS as PRINTED_EPSILONS,
        SHIFT_PLACES as SHIFT_PLACES,
        way_of as way_of,
    )
    from theory.diffusion.studies.real_sets import REAL_SETS as REAL_SETS, TRAINED_BANDWIDTH as TRAINED_BANDWIDTH
    from theory.diffusion.studies.sampling import (
        CRITICAL_PLACE as CRITICAL_PLACE,
        FIXED_EPSILON as FIXED_EPSILON,
        FIXED_TOKENS as FIXED_TOKENS,
        REGULAR_PLACE as REGULAR_PLACE,
        SAMPLED_DENSITIES as SAMPLED_DENSITIES,
        sampled_function as sampled_function,
        sampled_places as sampled_places,
    )
    from theory.diffusion.studies.scores import (
        CUBIC_SHARE as CUBIC_SHARE,
        SCORE_AXES as SCORE_AXES,
        query_path as query_path,
        relabelled as relabelled,
        stiffness as stiffness,
    )
    from theory.diffusion.studies.surface import (
        MERIDIAN_DENSITY as MERIDIAN_DENSITY,
        STEEPEST as STEEPEST,
        meridian_function as meridian_function,
    )
    from theory.diffusion.studies.wavy import (
        WAVY_DENSITY as WAVY_DENSITY,
        wavy_function as wavy_function,
    )
    from theory.diffusion.studies.zoo import (
        CENTRES as CENTRES,
        METHODS as METHODS,
    )

open_lazily(__name__)
