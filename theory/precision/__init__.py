"""What is lost when tokens are kept in few bits, and when attention and positions are computed in them.

Sweeps are in ``studies``.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.precision.backward import (
        GradientError as GradientError,
        Gradients as Gradients,
        gradient_error as gradient_error,
        slope_power as slope_power,
        stream_gradients as stream_gradients,
    )
    from theory.precision.formats import round_to as round_to
    from theory.precision.passes import (
        PassError as PassError,
        gradient_tolerance as gradient_tolerance,
        pass_error as pass_error,
        stream_logarithm as stream_logarithm,
    )
    from theory.precision.quantiser import (
        Codebook as Codebook,
        best_codebook as best_codebook,
        corrected_products as corrected_products,
        quantise as quantise,
    )
    from theory.precision.rotary import rotary_phases as rotary_phases
    from theory.precision.streaming import (
        StreamError as StreamError,
        stream_attention as stream_attention,
        stream_error as stream_error,
        stream_row as stream_row,
    )

open_lazily(__name__)
