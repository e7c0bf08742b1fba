"""What layers know of positions: how far influence travels, and what rotary positions prefer.

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
    from theory.positions.rotary import (
        Cell as Cell,
        cosine_sums as cosine_sums,
        least_base as least_base,
        least_sum as least_sum,
        rotate as rotate,
        rule_out as rule_out,
    )

open_lazily(__name__)
