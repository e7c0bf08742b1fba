"""What a layer needs: scores that are linear in parameters, maps as objects, a model, and weights without entropy."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.layers.linear_scores import LinearScores as LinearScores
    from theory.maxent.layers.naive import cosine as cosine, cosine_law as cosine_law, linear_law as linear_law
    from theory.maxent.layers.predictor import Fit as Fit, Prediction as Prediction, Predictor as Predictor
    from theory.maxent.layers.row_map import RowMap as RowMap, row_map as row_map

open_lazily(__name__)
