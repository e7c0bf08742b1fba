"""From a similarity to what propagates: axioms of a distance, instances of attention, graphs, minimisers."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.similarity.axioms import (
        angles as angles,
        cosine_gaps as cosine_gaps,
        defects as defects,
        distances as distances,
        kernel_distances as kernel_distances,
        relaxed as relaxed,
    )
    from theory.diffusion.similarity.bilinear import (
        Bilinear as Bilinear,
        hot_expansion as hot_expansion,
        radial_multiplier as radial_multiplier,
        sphere_tokens as sphere_tokens,
    )
    from theory.diffusion.similarity.graphs import (
        GraphScore as GraphScore,
        convolved_features as convolved_features,
        masked as masked,
    )
    from theory.diffusion.similarity.instances import (
        LogDistance as LogDistance,
        density_corrected as density_corrected,
        laws as laws,
        nearest as nearest,
        regrouped as regrouped,
        unnormalised as unnormalised,
    )
    from theory.diffusion.similarity.minimisers import (
        Profile as Profile,
        along as along,
        fibred as fibred,
    )
    from theory.diffusion.similarity.neighbours import Neighbourhoods as Neighbourhoods
    from theory.diffusion.similarity.pipeline import (
        by_columns as by_columns,
        by_rows as by_rows,
        chain as chain,
        exponential_inflation as exponential_inflation,
        fuzzy_union as fuzzy_union,
        inflation as inflation,
        metric_similarity as metric_similarity,
        overall as overall,
        symmetrised as symmetrised,
        two_sided as two_sided,
        without_self as without_self,
    )

open_lazily(__name__)
