"""How much attention can move a measure: constants, the witnesses that attain them, and a search for worse ones.

What is measured is here: Jacobians and their norms, stretches, displacements and distances of small clouds. Constants
in closed form are in ``constants`` and ``depth``, those of given weights in ``certificate``, the search for bad clouds
in ``search``, named bad clouds in ``witnesses``, sweeps in ``studies``.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.certificate import (
        certify as certify,
        certify_at as certify_at,
        certify_blocks as certify_blocks,
        read_blocks as read_blocks,
        read_weights as read_weights,
    )
    from theory.lipschitz.displacement import (
        diameter as diameter,
        displacement as displacement,
        displacement_ratio as displacement_ratio,
    )
    from theory.lipschitz.jacobian import (
        block_jacobian as block_jacobian,
        dot_form as dot_form,
        enclosed_jacobian as enclosed_jacobian,
        multihead_jacobian as multihead_jacobian,
    )
    from theory.lipschitz.local_norms import (
        certified_stretch as certified_stretch,
        local_norm as local_norm,
        norm_at as norm_at,
    )
    from theory.lipschitz.matching import wp_line as wp_line, wp_tokens as wp_tokens
    from theory.lipschitz.response import Push as Push, response as response, response_ratio as response_ratio
    from theory.lipschitz.search import search_worst_cloud as search_worst_cloud, simplify_cloud as simplify_cloud

open_lazily(__name__)
