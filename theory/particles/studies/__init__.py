"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.studies.boolean import boolean as boolean, delays as delays
    from theory.particles.studies.chaos import (
        CHAOS_ALPHA as CHAOS_ALPHA,
        CHAOS_DIMS as CHAOS_DIMS,
        CHAOS_FAR as CHAOS_FAR,
        CHAOS_TIME as CHAOS_TIME,
        chaos as chaos,
    )
    from theory.particles.studies.clusters import (
        CLUSTER_ATOL as CLUSTER_ATOL,
        CLUSTER_RTOL as CLUSTER_RTOL,
        clusters as clusters,
    )
    from theory.particles.studies.comparison import COMPARISON_WITNESS as COMPARISON_WITNESS, comparison as comparison
    from theory.particles.studies.cone import (
        CONE_BETA as CONE_BETA,
        CONE_MIRROR as CONE_MIRROR,
        CONE_TOKENS as CONE_TOKENS,
        cones as cones,
    )
    from theory.particles.studies.consensus import anchors as anchors, collapses as collapses, starts as starts
    from theory.particles.studies.critical import critical as critical
    from theory.particles.studies.eigenvalues import eigenvalues as eigenvalues
    from theory.particles.studies.energy import (
        TURN as TURN,
        dissipation as dissipation,
        enclose_energy_rates as enclose_energy_rates,
        values as values,
    )
    from theory.particles.studies.equiangular import (
        EQUIANGULAR_TOKENS as EQUIANGULAR_TOKENS,
        equiangular as equiangular,
        uniform_gaps as uniform_gaps,
    )
    from theory.particles.studies.fluctuation import (
        OUTPUT_COVARIANCE as OUTPUT_COVARIANCE,
        OUTPUT_ENTRIES as OUTPUT_ENTRIES,
        OUTPUT_GROWTHS as OUTPUT_GROWTHS,
        OUTPUT_QUERY as OUTPUT_QUERY,
        drawn_outputs as drawn_outputs,
        outputs as outputs,
    )
    from theory.particles.studies.gaussian import (
        FORM as FORM,
        KEY as KEY,
        SKEW as SKEW,
        START as START,
        gaussian_ellipses as gaussian_ellipses,
        gaussian_growth as gaussian_growth,
    )
    from theory.particles.studies.merging import (
        MERGING_BETAS as MERGING_BETAS,
        MERGING_END as MERGING_END,
        MERGING_STARTS as MERGING_STARTS,
        merging as merging,
    )
    from theory.particles.studies.metastable import (
        CLUSTER_RUNS as CLUSTER_RUNS,
        STAIRCASE_ANGLES as STAIRCASE_ANGLES,
        STAIRCASE_BETAS as STAIRCASE_BETAS,
        STAIRCASE_WEIGHTS as STAIRCASE_WEIGHTS,
        passages as passages,
        staircase as staircase,
    )
    from theory.particles.studies.noisy import noisy as noisy
    from theory.particles.studies.norms import (
        NORM_BETA as NORM_BETA,
        NORM_SIMPLICES as NORM_SIMPLICES,
        NORM_TOKENS as NORM_TOKENS,
        norms as norms,
    )
    from theory.particles.studies.onset import onset as onset
    from theory.particles.studies.orders import END as END, OBSERVED as OBSERVED, PROBLEMS as PROBLEMS, orders as orders
    from theory.particles.studies.solvable import (
        CROSSING as CROSSING,
        FEW as FEW,
        SHIFTS as SHIFTS,
        approach as approach,
    )

open_lazily(__name__)
