"""Stacked attention as a discretised drift-diffusion, and, but in two dimensions, a heat equation with a clock."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.limits.densities import CircleDensity as CircleDensity
    from theory.diffusion.limits.generators import drift_diffusion as drift_diffusion, semigroup as semigroup
    from theory.diffusion.limits.grid import PeriodicGrid as PeriodicGrid
    from theory.diffusion.limits.normalisers import (
        balance_error as balance_error,
        balanced_tokens as balanced_tokens,
        reweighted as reweighted,
        sinkhorn_change as sinkhorn_change,
    )
    from theory.diffusion.limits.operators import (
        chordal as chordal,
        chordal_multiplier as chordal_multiplier,
        convolved as convolved,
        heat_multiplier as heat_multiplier,
        propagate as propagate,
        sphere_multipliers as sphere_multipliers,
    )
    from theory.diffusion.similarity.neighbours import Neighbourhoods as Neighbourhoods

open_lazily(__name__)
