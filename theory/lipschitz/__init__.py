"""How much attention can move a measure: constants, the witnesses that attain them, and a search for worse ones."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.certificate.certify import (
        METRICS as METRICS,
        Certificate as Certificate,
        Row as Row,
        certify as certify,
    )
    from theory.lipschitz.certificate.stretches import Stretch as Stretch, stretched as stretched
    from theory.lipschitz.certificate.weights import Layer as Layer, as_layer as as_layer, spectral as spectral
    from theory.lipschitz.certificate.weights_file import read_weights as read_weights
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
        cooled as cooled,
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
    )
    from theory.lipschitz.constants.refined import (
        refined_w2_constant as refined_w2_constant,
        sharp_w1_constant as sharp_w1_constant,
    )
    from theory.lipschitz.depth.bounds import (
        Bound as Bound,
        Passage as Passage,
        attention_bound as attention_bound,
        composed_bound as composed_bound,
        concatenated_bound as concatenated_bound,
        depth_constant as depth_constant,
        feed_forward_bound as feed_forward_bound,
        layer_norm as layer_norm,
        layer_norm_bound as layer_norm_bound,
        passages as passages,
        residual_bound as residual_bound,
        summed_bound as summed_bound,
    )
    from theory.lipschitz.depth.fixed_points import (
        Limit as Limit,
        equilibrium as equilibrium,
        fixed_measure as fixed_measure,
        mirrored_tokens as mirrored_tokens,
        posterior as posterior,
        residual_determinant as residual_determinant,
        residual_inverse as residual_inverse,
    )
    from theory.lipschitz.depth.hilbert import (
        crossed_spread as crossed_spread,
        plan as plan,
        rows_bound as rows_bound,
        sweep as sweep,
        sweep_bound as sweep_bound,
    )
    from theory.lipschitz.displacement import (
        displacement as displacement,
        displacement_ratio as displacement_ratio,
    )
    from theory.lipschitz.jacobian import (
        block_jacobian as block_jacobian,
        dot_form as dot_form,
        enclosed_jacobian as enclosed_jacobian,
        multihead_jacobian as multihead_jacobian,
    )
    from theory.lipschitz.local_norms import (
        certified_stretch as certified_stretch,
        local_norm as local_norm,
        norm_at as norm_at,
    )
    from theory.lipschitz.matching import wp_line as wp_line, wp_tokens as wp_tokens
    from theory.lipschitz.response import Push as Push, response as response, response_ratio as response_ratio
    from theory.lipschitz.search.worst_cloud import FLOOR as FLOOR, Found as Found, search as search, shrink as shrink
    from theory.lipschitz.witnesses_bounded import (
        balanced_query as balanced_query,
        far_atom as far_atom,
        first_token as first_token,
        near_atom as near_atom,
        overtaken as overtaken,
        straining_mass as straining_mass,
        two_tokens as two_tokens,
    )
    from theory.lipschitz.witnesses_distance import (
        folded_star as folded_star,
        hidden_atom as hidden_atom,
        leg as leg,
        one_sided as one_sided,
        star as star,
        two_sided as two_sided,
    )
    from theory.lipschitz.witnesses_gibbs import (
        TiltedPair as TiltedPair,
        light_atom as light_atom,
        light_ramp as light_ramp,
    )

open_lazily(__name__)
