"""Networks of many layers: bounds that multiply, fixed points of equal layers, sweeps of Sinkhorn."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
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

open_lazily(__name__)
