"""What one pass over the keys gives besides outputs: moments, derivatives, and attention over parts of the keys."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.attention.calculus.derivatives import attend_jvp as attend_jvp, attend_vjp as attend_vjp
    from theory.attention.calculus.merging import merge_attention as merge_attention
    from theory.attention.calculus.spread import attend_moments as attend_moments

open_lazily(__name__)
