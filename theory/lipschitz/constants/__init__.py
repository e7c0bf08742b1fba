"""Lipschitz constants of attention in closed form, one family of scores and metrics after another."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.constants.bounded import (
        causal_constant as causal_constant,
        contracted_diameter as contracted_diameter,
        interpolated_constant as interpolated_constant,
        joint_constant as joint_constant,
        kernel_constant as kernel_constant,
        log_collapsed_diameter as log_collapsed_diameter,
        max_norm_constant as max_norm_constant,
        measure_constant as measure_constant,
        query_constant as query_constant,
        schur_constant as schur_constant,
        score_constant as score_constant,
    )
    from theory.lipschitz.constants.distance import (
        atoms_constant as atoms_constant,
        column_constant as column_constant,
        distance_constant as distance_constant,
        near_constant as near_constant,
        nearness_constant as nearness_constant,
        tied_constants as tied_constants,
    )
    from theory.lipschitz.constants.frobenius import (
        FrobeniusConstants as FrobeniusConstants,
        column_sum_constant as column_sum_constant,
        frobenius_constants as frobenius_constants,
        leader as leader,
        leader_bound as leader_bound,
        leader_gap as leader_gap,
        opposed_ratio as opposed_ratio,
        published_constant as published_constant,
    )
    from theory.lipschitz.constants.gibbs import (
        contaminated_share as contaminated_share,
        logit_distance as logit_distance,
        lookup_constant as lookup_constant,
        mean_distance as mean_distance,
        query_distance as query_distance,
        query_slope as query_slope,
        sampling_deviation as sampling_deviation,
        sampling_distance as sampling_distance,
        transform_constant as transform_constant,
        unseen_distance as unseen_distance,
        weight_constant as weight_constant,
        with_temperature as with_temperature,
    )
    from theory.lipschitz.constants.refined import (
        refined_w2_constant as refined_w2_constant,
        sharp_w1_constant as sharp_w1_constant,
    )

open_lazily(__name__)
