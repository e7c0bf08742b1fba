"""What many particles tend to: Gaussian laws, fluctuations about the limit, and the free energy under noise."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.mean_field.chaos import (
        linear_displacement as linear_displacement,
        mean_field_deviation as mean_field_deviation,
        tagged_variance as tagged_variance,
    )
    from theory.particles.mean_field.fluctuation import (
        Fluctuation as Fluctuation,
        delta_method as delta_method,
        gaussian_fluctuation as gaussian_fluctuation,
        participation as participation,
    )
    from theory.particles.mean_field.free_energy import (
        Equilibrium as Equilibrium,
        FreeEnergyParts as FreeEnergyParts,
        ZonalFreeEnergy as ZonalFreeEnergy,
        couplings as couplings,
        enclose_free_energy as enclose_free_energy,
        threshold as threshold,
    )
    from theory.particles.mean_field.gaussian import (
        Closure as Closure,
        DistanceClosure as DistanceClosure,
        SinkhornClosure as SinkhornClosure,
        SoftmaxClosure as SoftmaxClosure,
        coupling_error as coupling_error,
        log_variance_field as log_variance_field,
        moment_field as moment_field,
        sinkhorn_coupling as sinkhorn_coupling,
    )
    from theory.particles.mean_field.gaussian_attention import (
        DistanceAttention as DistanceAttention,
        enclose_hermite as enclose_hermite,
        enclose_lattice as enclose_lattice,
    )
    from theory.particles.mean_field.gaussian_exact import (
        blow_up_time as blow_up_time,
        collapse_shape as collapse_shape,
        mixture_field as mixture_field,
        softmax_covariance as softmax_covariance,
    )
    from theory.particles.mean_field.hermite import gauss_hermite as gauss_hermite
    from theory.particles.mean_field.onset import (
        cosine_quantiles as cosine_quantiles,
        crossover_beta as crossover_beta,
        fourier_mode as fourier_mode,
        growth_rates as growth_rates,
        mode_growth as mode_growth,
    )
    from theory.particles.mean_field.self_normalised import (
        OutputMoments as OutputMoments,
        atomic_moments as atomic_moments,
        gaussian_moments as gaussian_moments,
    )
    from theory.particles.mean_field.zonal import (
        zonal_means as zonal_means,
        zonal_polynomials as zonal_polynomials,
    )

open_lazily(__name__)
