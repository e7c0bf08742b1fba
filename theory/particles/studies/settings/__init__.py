"""With what the studies of this room are made: sizes, times, starts and tolerances."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.studies.chaos import (
        CHAOS_ALPHA as CHAOS_ALPHA,
        CHAOS_DIMS as CHAOS_DIMS,
        CHAOS_FAR as CHAOS_FAR,
        CHAOS_TIME as CHAOS_TIME,
    )
    from theory.particles.studies.clusters import CLUSTER_ATOL as CLUSTER_ATOL, CLUSTER_RTOL as CLUSTER_RTOL
    from theory.particles.studies.comparison import COMPARISON_WITNESS as COMPARISON_WITNESS
    from theory.particles.studies.cone import (
        CONE_BETA as CONE_BETA,
        CONE_MIRROR as CONE_MIRROR,
        CONE_TOKENS as CONE_TOKENS,
    )
    from theory.particles.studies.energy import TURN as TURN
    from theory.particles.studies.equiangular import EQUIANGULAR_TOKENS as EQUIANGULAR_TOKENS
    from theory.particles.studies.fluctuation import (
        OUTPUT_COVARIANCE as OUTPUT_COVARIANCE,
        OUTPUT_ENTRIES as OUTPUT_ENTRIES,
        OUTPUT_GROWTHS as OUTPUT_GROWTHS,
        OUTPUT_QUERY as OUTPUT_QUERY,
    )
    from theory.particles.studies.gaussian import FORM as FORM, KEY as KEY, SKEW as SKEW, START as START
    from theory.particles.studies.merging import (
        MERGING_BETAS as MERGING_BETAS,
        MERGING_END as MERGING_END,
        MERGING_STARTS as MERGING_STARTS,
    )
    from theory.particles.studies.metastable import (
        CLUSTER_RUNS as CLUSTER_RUNS,
        STAIRCASE_ANGLES as STAIRCASE_ANGLES,
        STAIRCASE_BETAS as STAIRCASE_BETAS,
        STAIRCASE_WEIGHTS as STAIRCASE_WEIGHTS,
    )
    from theory.particles.studies.norms import (
        NORM_BETA as NORM_BETA,
        NORM_SIMPLICES as NORM_SIMPLICES,
        NORM_TOKENS as NORM_TOKENS,
    )
    from theory.particles.studies.orders import END as END, OBSERVED as OBSERVED, PROBLEMS as PROBLEMS
    from theory.particles.studies.solvable import CROSSING as CROSSING, FEW as FEW, SHIFTS as SHIFTS

open_lazily(__name__)
