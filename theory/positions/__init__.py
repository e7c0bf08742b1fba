"""What layers know of positions: how far influence travels, what rotary positions prefer, and what they can select.

Sweeps are in ``studies``.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.positions.influence import (
        Walk as Walk,
        causal_influence as causal_influence,
        window_walk as window_walk,
    )
    from theory.positions.pieces import (
        Piece as Piece,
        admissible_bases as admissible_bases,
        least_sum_beyond as least_sum_beyond,
    )
    from theory.positions.rotary import (
        Cell as Cell,
        cosine_sums as cosine_sums,
        least_base as least_base,
        least_sum as least_sum,
        rotate as rotate,
        rule_out as rule_out,
    )
    from theory.positions.selection import (
        Radon as Radon,
        least_width as least_width,
        margin_ceiling as margin_ceiling,
        moment_keys as moment_keys,
        radon_partition as radon_partition,
        selecting_query as selecting_query,
    )

open_lazily(__name__)
