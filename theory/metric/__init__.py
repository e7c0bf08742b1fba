"""Metric-attention: a score whose distances are learned, its layer with analytic derivatives, and what it does."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.centred import (
        CentredTokens as CentredTokens,
        SplitScores as SplitScores,
        average_centred as average_centred,
        centre_tokens as centre_tokens,
        row_divergences as row_divergences,
        shared_law as shared_law,
        split_scores as split_scores,
    )
    from theory.metric.features import LinearFeatures as LinearFeatures, ResidualFeatures as ResidualFeatures
    from theory.metric.fibres import fibre_mean as fibre_mean, find_fibre as find_fibre
    from theory.metric.half_bandwidth import laplacian_rate as laplacian_rate, wave_multipliers as wave_multipliers
    from theory.metric.layer import (
        attention_weights as attention_weights,
        average_tokens as average_tokens,
        softmax_rows as softmax_rows,
        vjp as vjp,
    )
    from theory.metric.network import (
        InformationPropagation as InformationPropagation,
        log_softmax_rows as log_softmax_rows,
    )
    from theory.metric.score import MetricScore as MetricScore
    from theory.metric.similarity import (
        DistanceSimilarity as DistanceSimilarity,
        MetricSimilarity as MetricSimilarity,
        Similarity as Similarity,
        draw_parameters as draw_parameters,
        make_similarity as make_similarity,
        sizes_of as sizes_of,
        split_parameters as split_parameters,
    )
    from theory.metric.spectrum import attention_spectrum as attention_spectrum, stationary_law as stationary_law

open_lazily(__name__)
