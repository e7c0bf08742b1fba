"""Stacked attention as a discretised drift-diffusion, and, but in two dimensions, a heat equation with a clock.

The rest stands by subject: one layer and its limit in :mod:`~theory.diffusion.limits`, many layers in
:mod:`~theory.diffusion.layers`, curved tokens in :mod:`~theory.diffusion.geometry`, and what else propagates by
attention in :mod:`~theory.diffusion.similarity`.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.geometry import Ellipse as Ellipse, Revolution as Revolution
    from theory.diffusion.layers import TokenLayer as TokenLayer, apply_layers as apply_layers
    from theory.diffusion.limits import (
        CircleDensity as CircleDensity,
        GeneralScore as GeneralScore,
        PeriodicGrid as PeriodicGrid,
        SampledOutput as SampledOutput,
        StepError as StepError,
        balance_tokens as balance_tokens,
        chordal as chordal,
        chordal_multiplier as chordal_multiplier,
        convolve as convolve,
        convolve_reweighted as convolve_reweighted,
        drift_diffusion as drift_diffusion,
        heat_multiplier as heat_multiplier,
        propagate as propagate,
        semigroup as semigroup,
    )
    from theory.diffusion.similarity import (
        Bilinear as Bilinear,
        GraphScore as GraphScore,
        Neighbourhoods as Neighbourhoods,
    )

open_lazily(__name__)
