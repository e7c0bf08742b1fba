"""Fenchel-Young losses, and how far a computed one can be from the truth."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.losses.fenchel_young import (
        fenchel_young_gradient as fenchel_young_gradient,
        fenchel_young_loss as fenchel_young_loss,
    )
    from theory.maxent.losses.rounding import (
        law_error as law_error,
        loss_interval as loss_interval,
        stationarity_residual as stationarity_residual,
    )

open_lazily(__name__)
