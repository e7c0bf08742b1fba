"""Attention weights as solutions of entropy problems."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.certificate import entmax_gap as entmax_gap, frank_wolfe_gap as frank_wolfe_gap
    from theory.maxent.densities.beta_gaussian import BetaGaussian as BetaGaussian
    from theory.maxent.gibbs.softmax import (
        log_softmax as log_softmax,
        softmax as softmax,
        softmax_value as softmax_value,
        softmax_vjp as softmax_vjp,
    )
    from theory.maxent.layers.linear_scores import LinearScores as LinearScores
    from theory.maxent.layers.predictor import Predictor as Predictor
    from theory.maxent.layers.row_map import RowMap as RowMap, row_map as row_map
    from theory.maxent.losses.fenchel_young import (
        fenchel_young_gradient as fenchel_young_gradient,
        fenchel_young_loss as fenchel_young_loss,
    )
    from theory.maxent.sparse.budget import budget as budget, budget_vjp as budget_vjp
    from theory.maxent.sparse.entmax import entmax as entmax, entmax_value as entmax_value, entmax_vjp as entmax_vjp
    from theory.maxent.sparse.fusedmax import fusedmax as fusedmax, fusedmax_vjp as fusedmax_vjp
    from theory.maxent.sparse.normmax import normmax as normmax, normmax_vjp as normmax_vjp
    from theory.maxent.sparse.sorting import (
        entmax15 as entmax15,
        entmax15_vjp as entmax15_vjp,
        sparsemax as sparsemax,
        sparsemax_vjp as sparsemax_vjp,
    )

open_lazily(__name__)
