"""Studies shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.studies.boolean import boolean as boolean, delays as delays
    from theory.particles.studies.chaos import chaos as chaos
    from theory.particles.studies.clusters import clusters as clusters
    from theory.particles.studies.comparison import comparison as comparison
    from theory.particles.studies.cone import cones as cones
    from theory.particles.studies.consensus import anchors as anchors, collapses as collapses, starts as starts
    from theory.particles.studies.critical import critical as critical
    from theory.particles.studies.eigenvalues import eigenvalues as eigenvalues
    from theory.particles.studies.energy import (
        dissipation as dissipation,
        enclose_energy_rates as enclose_energy_rates,
        values as values,
    )
    from theory.particles.studies.equiangular import equiangular as equiangular, uniform_gaps as uniform_gaps
    from theory.particles.studies.fluctuation import drawn_outputs as drawn_outputs, outputs as outputs
    from theory.particles.studies.gaussian import (
        gaussian_ellipses as gaussian_ellipses,
        gaussian_growth as gaussian_growth,
    )
    from theory.particles.studies.merging import merging as merging
    from theory.particles.studies.metastable import passages as passages, staircase as staircase
    from theory.particles.studies.noisy import noisy as noisy
    from theory.particles.studies.norms import norms as norms
    from theory.particles.studies.onset import onset as onset
    from theory.particles.studies.orders import orders as orders
    from theory.particles.studies.solvable import approach as approach

open_lazily(__name__)
