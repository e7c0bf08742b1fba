"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.studies.boolean import boolean as boolean, delays as delays
    from theory.particles.studies.chaos import chaos as chaos
    from theory.particles.studies.clusters import (
        CLUSTER_ATOL as CLUSTER_ATOL,
        CLUSTER_RTOL as CLUSTER_RTOL,
        clusters as clusters,
    )
    from theory.particles.studies.comparison import comparison as comparison
    from theory.particles.studies.cone import CONE_BETA as CONE_BETA, cones as cones
    from theory.particles.studies.consensus import anchors as anchors, collapses as collapses, starts as starts
    from theory.particles.studies.critical import critical as critical
    from theory.particles.studies.eigenvalues import eigenvalues as eigenvalues
    from theory.particles.studies.energy import dissipation as dissipation, values as values
    from theory.particles.studies.equiangular import equiangular as equiangular
    from theory.particles.studies.fluctuation import drawn_outputs as drawn_outputs, outputs as outputs
    from theory.particles.studies.gaussian import (
        FORM as FORM,
        KEY as KEY,
        SKEW as SKEW,
        START as START,
        gaussian_ellipses as gaussian_ellipses,
        gaussian_growth as gaussian_growth,
    )
    from theory.particles.studies.merging import merging as merging
    from theory.particles.studies.metastable import passages as passages, staircase as staircase
    from theory.particles.studies.noisy import noisy as noisy
    from theory.particles.studies.norms import norms as norms
    from theory.particles.studies.onset import onset as onset
    from theory.particles.studies.orders import (
        END as END,
        OBSERVED as OBSERVED,
        PROBLEMS as PROBLEMS,
        orders as orders,
    )
    from theory.particles.studies.solvable import (
        CROSSING as CROSSING,
        FEW as FEW,
        SHIFTS as SHIFTS,
        approach as approach,
    )

open_lazily(__name__)
