"""Continuous attention: densities of largest entropy, in closed form and on cells."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.densities.beta_gaussian import BetaGaussian as BetaGaussian
    from theory.maxent.densities.cells import (
        OnCells as OnCells,
        density_at as density_at,
        density_on_cells as density_on_cells,
        escort_covariance as escort_covariance,
    )

open_lazily(__name__)
