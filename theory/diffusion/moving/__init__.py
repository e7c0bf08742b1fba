"""Tokens that move through layers of self-attention, what many of them tend to, and the equations of their density."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.moving.chaos import (
        displacement_variances as displacement_variances,
        interacting_tokens as interacting_tokens,
        linear_displacements as linear_displacements,
        mean_field_deviations as mean_field_deviations,
        response_control as response_control,
    )
    from theory.diffusion.moving.equations import solve_density as solve_density
    from theory.diffusion.moving.forward import (
        CircleLayer as CircleLayer,
        NoisyLayer as NoisyLayer,
        circle_density as circle_density,
        circle_points as circle_points,
        far_means as far_means,
        turn_angles as turn_angles,
        wave_factor as wave_factor,
    )
    from theory.diffusion.moving.measure import (
        agreed_mean as agreed_mean,
        lattice_growth as lattice_growth,
        mixture_quantiles as mixture_quantiles,
        move_tokens as move_tokens,
        plane_tokens as plane_tokens,
        rearranged_distance as rearranged_distance,
    )
    from theory.diffusion.moving.settings import (
        DEEPEST as DEEPEST,
        MOVED_DEPTH as MOVED_DEPTH,
        MOVED_MIXTURE as MOVED_MIXTURE,
        MOVED_RATES as MOVED_RATES,
        MOVED_STEPS as MOVED_STEPS,
        MOVED_TIME as MOVED_TIME,
        MOVED_WAVES as MOVED_WAVES,
    )

open_lazily(__name__)
