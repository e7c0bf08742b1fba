"""Maps with zeros: entmax of every order, sparsemax, and the penalties on variation, norm and budget."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.sparse.bisection import bisect_entmax as bisect_entmax
    from theory.maxent.sparse.budget import budget as budget, budget_vjp as budget_vjp
    from theory.maxent.sparse.entmax import (
        entmax as entmax,
        entmax_alpha_derivative as entmax_alpha_derivative,
        entmax_support as entmax_support,
        entmax_threshold as entmax_threshold,
        entmax_value as entmax_value,
        entmax_vjp as entmax_vjp,
    )
    from theory.maxent.sparse.fusedmax import (
        fusedmax as fusedmax,
        fusedmax_vjp as fusedmax_vjp,
        total_variation_prox as total_variation_prox,
    )
    from theory.maxent.sparse.normmax import normmax as normmax, normmax_vjp as normmax_vjp
    from theory.maxent.sparse.sorting import (
        entmax15 as entmax15,
        entmax15_vjp as entmax15_vjp,
        sparsemax as sparsemax,
        sparsemax_vjp as sparsemax_vjp,
    )
    from theory.maxent.sparse.spectral import entmax_norm as entmax_norm
    from theory.maxent.sparse.threshold import weight_error as weight_error
    from theory.maxent.sparse.tsallis import tsallis as tsallis

open_lazily(__name__)
