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
        relaxed_excess as relaxed_excess,
    )
    from theory.diffusion.similarity.bilinear import (
        Bilinear as Bilinear,
        hot_expansion as hot_expansion,
        radial_multiplier as radial_multiplier,
        sphere_tokens as sphere_tokens,
    )
    from theory.diffusion.similarity.graphs import (
        GraphScore as GraphScore,
        attend_graph as attend_graph,
        convolve_features as convolve_features,
    )
    from theory.diffusion.similarity.instances import (
        LogDistance as LogDistance,
        attend_density_corrected as attend_density_corrected,
        attend_unnormalised as attend_unnormalised,
        biased_weights as biased_weights,
        nearest_rows as nearest_rows,
        regroup as regroup,
    )
    from theory.diffusion.similarity.minimisers import (
        Profile as Profile,
        average_along as average_along,
        expand_along as expand_along,
    )
    from theory.diffusion.similarity.neighbours import Neighbourhoods as Neighbourhoods
    from theory.diffusion.similarity.peers import (
        kernel_machine as kernel_machine,
        lloyd_steps as lloyd_steps,
        log_density as log_density,
        mixture_step as mixture_step,
        neighbour_means as neighbour_means,
    )
    from theory.diffusion.similarity.pipeline import (
        clear_diagonal as clear_diagonal,
        compose as compose,
        fuzzy_union as fuzzy_union,
        inflate as inflate,
        inflate_exponentially as inflate_exponentially,
        metric_similarity as metric_similarity,
        normalise_columns as normalise_columns,
        normalise_overall as normalise_overall,
        normalise_rows as normalise_rows,
        normalise_two_sided as normalise_two_sided,
        symmetrise as symmetrise,
    )

open_lazily(__name__)
