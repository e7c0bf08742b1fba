"""Closed forms, closed equations and enclosures: what is known of particles without integrating them."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.exact.boolean import (
        LineField as LineField,
        UndecidedField as UndecidedField,
    )
    from theory.particles.exact.common_noise import (
        antipodal_probability as antipodal_probability,
        antipodal_threshold as antipodal_threshold,
        common_noise_step as common_noise_step,
    )
    from theory.particles.exact.comparison import (
        cluster_gaps as cluster_gaps,
        slowest_pair as slowest_pair,
        slowest_rate as slowest_rate,
    )
    from theory.particles.exact.cone import (
        central_projection as central_projection,
        diameter as diameter,
        hemisphere_margins as hemisphere_margins,
        hemisphere_probability as hemisphere_probability,
        sign_patterns as sign_patterns,
    )
    from theory.particles.exact.critical import (
        LayerStatistics as LayerStatistics,
        equiangular_tokens as equiangular_tokens,
        jacobian_size as jacobian_size,
        layer_statistics as layer_statistics,
        output_overlaps as output_overlaps,
        squared_derivative as squared_derivative,
    )
    from theory.particles.exact.equiangular import Equiangular as Equiangular
    from theory.particles.exact.half_sphere import (
        CollapseField as CollapseField,
        frame_of as frame_of,
    )
    from theory.particles.exact.merging import (
        JOINED as JOINED,
        Approach as Approach,
        ClosestPair as ClosestPair,
        follow_coarsening as follow_coarsening,
        follow_pair as follow_pair,
    )
    from theory.particles.exact.metastable import (
        log_asymptote as log_asymptote,
        log_lifetime as log_lifetime,
        meeting_point as meeting_point,
    )
    from theory.particles.exact.overlaps import (
        GapField as GapField,
        gaps as gaps,
    )
    from theory.particles.exact.solvable import (
        cross_ratio_rates as cross_ratio_rates,
        cross_ratios as cross_ratios,
        distance_to_consensus as distance_to_consensus,
        mean_overlap as mean_overlap,
        poisson_quantiles as poisson_quantiles,
        rate_of_approach as rate_of_approach,
    )
    from theory.particles.exact.spectra import (
        spectrum as spectrum,
        sphere_jacobian as sphere_jacobian,
    )

open_lazily(__name__)
