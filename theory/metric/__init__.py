"""Metric-attention: a score whose distances are learned, what it does, and the experiments that were reported of it."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.features import LinearFeatures as LinearFeatures, ResidualFeatures as ResidualFeatures
    from theory.metric.layer import propagate as propagate, vjp as vjp, weights as weights
    from theory.metric.network import InformationPropagation as InformationPropagation
    from theory.metric.score import MetricScore as MetricScore
    from theory.metric.similarity import similarity as similarity

open_lazily(__name__)
