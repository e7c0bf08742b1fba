"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.studies.cooling import COOLED as COOLED, cooling as cooling
    from theory.maxent.studies.densities import NAMED as NAMED, SCATTERS as SCATTERS, densities as densities
    from theory.maxent.studies.entmax import (
        PATH_ORDERS as PATH_ORDERS,
        PATH_SCORES as PATH_SCORES,
        TABULATED as TABULATED,
        THREE as THREE,
        paths as paths,
        weights as weights,
    )
    from theory.maxent.studies.landscape import SCORES as SCORES, TEMPERATURES as TEMPERATURES, landscape as landscape
    from theory.maxent.studies.losses import (
        LOGITS as LOGITS,
        ORDERS as ORDERS,
        SPREADS as SPREADS,
        losses as losses,
    )
    from theory.maxent.studies.maximisers import (
        PATH as PATH,
        PLANE as PLANE,
        PLANE_TEMPERATURES as PLANE_TEMPERATURES,
        maximisers as maximisers,
    )
    from theory.maxent.studies.norms import norms_of as norms_of, operator_norms as operator_norms
    from theory.maxent.studies.prediction import prediction as prediction
    from theory.maxent.studies.stability import (
        CROSSINGS as CROSSINGS,
        STEEP_ORDERS as STEEP_ORDERS,
        conditioning as conditioning,
        steepness as steepness,
    )

open_lazily(__name__)
