"""Attention weights as solutions of entropy problems."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.basis import LinearScores as LinearScores
    from theory.maxent.bisection import bisected_entmax as bisected_entmax
    from theory.maxent.budget import budget as budget, budget_vjp as budget_vjp
    from theory.maxent.certificate import entmax_gap as entmax_gap, frank_wolfe_gap as frank_wolfe_gap
    from theory.maxent.densities import BetaGaussian as BetaGaussian
    from theory.maxent.entmax import (
        entmax as entmax,
        entmax_alpha_derivative as entmax_alpha_derivative,
        entmax_support as entmax_support,
        entmax_value as entmax_value,
        entmax_vjp as entmax_vjp,
    )
    from theory.maxent.fusedmax import (
        fusedmax as fusedmax,
        fusedmax_vjp as fusedmax_vjp,
        total_variation_prox as total_variation_prox,
    )
    from theory.maxent.gibbs import (
        Law as Law,
        divergence as divergence,
        entropy as entropy,
        expectation as expectation,
        free_energy as free_energy,
        gibbs_law as gibbs_law,
        log_partition as log_partition,
    )
    from theory.maxent.grid import (
        OnCells as OnCells,
        density_at as density_at,
        density_on_cells as density_on_cells,
        escort_covariance as escort_covariance,
    )
    from theory.maxent.loss_interval import (
        law_error as law_error,
        loss_interval as loss_interval,
        stationarity_residual as stationarity_residual,
    )
    from theory.maxent.losses import (
        fenchel_young_gradient as fenchel_young_gradient,
        fenchel_young_loss as fenchel_young_loss,
    )
    from theory.maxent.moments import Tilt as Tilt, tilted as tilted
    from theory.maxent.naive import cosine as cosine, cosine_law as cosine_law, linear_law as linear_law
    from theory.maxent.normmax import normmax as normmax, normmax_vjp as normmax_vjp
    from theory.maxent.norms import Norms as Norms, induced_norms as induced_norms, softmax_norms as softmax_norms
    from theory.maxent.predictor import Fit as Fit, Prediction as Prediction, Predictor as Predictor
    from theory.maxent.rowmap import RowMap as RowMap, row_map as row_map
    from theory.maxent.softmax import (
        log_softmax as log_softmax,
        softmax as softmax,
        softmax_jacobian as softmax_jacobian,
        softmax_value as softmax_value,
        softmax_vjp as softmax_vjp,
    )
    from theory.maxent.sorting import (
        entmax15 as entmax15,
        entmax15_vjp as entmax15_vjp,
        sparsemax as sparsemax,
        sparsemax_vjp as sparsemax_vjp,
    )
    from theory.maxent.spectral import entmax_norm as entmax_norm
    from theory.maxent.tsallis import tsallis as tsallis

open_lazily(__name__)
