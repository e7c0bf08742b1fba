"""Networks of many layers: bounds that multiply, fixed points, variances that are left, sweeps of Sinkhorn."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.depth.bounds import (
        BallBound as BallBound,
        Bound as Bound,
        attention_bound as attention_bound,
        composed_bound as composed_bound,
        concatenated_bound as concatenated_bound,
        depth_constant as depth_constant,
        feed_forward_bound as feed_forward_bound,
        layer_norm as layer_norm,
        layer_norm_bound as layer_norm_bound,
        layerwise_bounds as layerwise_bounds,
        residual_bound as residual_bound,
        summed_bound as summed_bound,
    )
    from theory.lipschitz.depth.fixed_points import (
        FixedPoint as FixedPoint,
        equilibrium as equilibrium,
        fixed_measure as fixed_measure,
        mirrored_tokens as mirrored_tokens,
        posterior_error as posterior_error,
        residual_determinant as residual_determinant,
        residual_inverse as residual_inverse,
    )
    from theory.lipschitz.depth.hilbert import (
        crossed_spread as crossed_spread,
        rows_bound as rows_bound,
        sinkhorn_plan as sinkhorn_plan,
        sinkhorn_sweep as sinkhorn_sweep,
        sinkhorn_sweep_bound as sinkhorn_sweep_bound,
    )
    from theory.lipschitz.depth.variance import (
        token_variance as token_variance,
        variance_bound as variance_bound,
        variance_floor as variance_floor,
    )

open_lazily(__name__)
