"""What one layer of attention tends to as its bandwidth shrinks: operators, generators, and how far it is from them."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.limits.aliases import quantile_aliases as quantile_aliases
    from theory.diffusion.limits.bandwidth import StepError as StepError
    from theory.diffusion.limits.densities import CircleDensity as CircleDensity
    from theory.diffusion.limits.extrapolation import (
        extrapolate as extrapolate,
        largest_errors as largest_errors,
        read_levels as read_levels,
    )
    from theory.diffusion.limits.generators import drift_diffusion as drift_diffusion, semigroup as semigroup
    from theory.diffusion.limits.grid import PeriodicGrid as PeriodicGrid
    from theory.diffusion.limits.kernels import KERNELS as KERNELS, kernel_multiplier as kernel_multiplier
    from theory.diffusion.limits.laplace import (
        GeneralScore as GeneralScore,
        average_at_peak as average_at_peak,
        lattice as lattice,
        peak_correction as peak_correction,
    )
    from theory.diffusion.limits.moments import divide_series as divide_series, laplace_series as laplace_series
    from theory.diffusion.limits.normalisers import (
        average_balanced as average_balanced,
        balance_error as balance_error,
        balance_tokens as balance_tokens,
        convolve_reweighted as convolve_reweighted,
        enclose_rows as enclose_rows,
        sinkhorn_change as sinkhorn_change,
        sweep_law as sweep_law,
        sweep_shift as sweep_shift,
    )
    from theory.diffusion.limits.operators import (
        bessel_quotients as bessel_quotients,
        chordal as chordal,
        chordal_multiplier as chordal_multiplier,
        convolve as convolve,
        heat_multiplier as heat_multiplier,
        propagate as propagate,
        sphere_multipliers as sphere_multipliers,
    )
    from theory.diffusion.limits.resolution import (
        compare_halves as compare_halves,
        seen_dimension as seen_dimension,
        smallest_bandwidth as smallest_bandwidth,
    )
    from theory.diffusion.limits.sampling import SampledOutput as SampledOutput

open_lazily(__name__)
