"""What is lost when tokens are kept in few bits.

Sweeps are in ``studies``.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.precision.quantiser import (
        Codebook as Codebook,
        best_codebook as best_codebook,
        corrected_products as corrected_products,
        quantise as quantise,
    )

open_lazily(__name__)
