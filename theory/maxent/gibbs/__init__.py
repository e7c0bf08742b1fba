"""Softmax and the Gibbs variational principle: laws, free energies, their derivatives and operator norms."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.gibbs.ascent import ascended_query as ascended_query
    from theory.maxent.gibbs.gap_counting import GapScale as GapScale, gap_scale as gap_scale
    from theory.maxent.gibbs.gaussian_retrieval import retrieval_weight as retrieval_weight
    from theory.maxent.gibbs.gaussian_scores import (
        GaussianWeights as GaussianWeights,
        gaussian_weights as gaussian_weights,
    )
    from theory.maxent.gibbs.moments import (
        Tilt as Tilt,
        match_moments as match_moments,
        mean_multiplier as mean_multiplier,
    )
    from theory.maxent.gibbs.noise_spectrum import (
        lognormal_moments as lognormal_moments,
        second_value_bound as second_value_bound,
        trace_moment as trace_moment,
    )
    from theory.maxent.gibbs.norms import (
        Norms as Norms,
        induced_norms as induced_norms,
        softmax_norms as softmax_norms,
        softmax_spectrum as softmax_spectrum,
    )
    from theory.maxent.gibbs.principle import (
        Law as Law,
        divergence as divergence,
        entropy as entropy,
        expectation as expectation,
        free_energy as free_energy,
        gibbs_law as gibbs_law,
        log_partition as log_partition,
    )
    from theory.maxent.gibbs.softmax import (
        log_softmax as log_softmax,
        softmax as softmax,
        softmax_jacobian as softmax_jacobian,
        softmax_value as softmax_value,
        softmax_vjp as softmax_vjp,
    )
    from theory.maxent.gibbs.spread import (
        Peaks as Peaks,
        WeightRange as WeightRange,
        peak_entropy as peak_entropy,
        tokens_to_disperse as tokens_to_disperse,
        weight_range as weight_range,
    )

open_lazily(__name__)
