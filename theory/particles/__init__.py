"""Attention as a system of interacting particles: fields, flows, energies, exact solutions and what they tend to."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.dynamics.checkpoints import fingerprint as fingerprint, march as march
    from theory.particles.dynamics.circle import Circle as Circle
    from theory.particles.dynamics.energy import Interaction as Interaction
    from theory.particles.dynamics.fields import (
        Field as Field,
        Overlap as Overlap,
        PreNorm as PreNorm,
        Softmax as Softmax,
        Tangential as Tangential,
        Unnormalised as Unnormalised,
        on_sphere as on_sphere,
    )
    from theory.particles.dynamics.flows import Trajectory as Trajectory, flow as flow
    from theory.particles.dynamics.graph import (
        Graph as Graph,
        complete as complete,
        consensus_gap as consensus_gap,
        mean_length as mean_length,
        ring as ring,
        twisted as twisted,
        twisted_balls as twisted_balls,
    )
    from theory.particles.dynamics.manufactured import Manufactured as Manufactured
    from theory.particles.dynamics.passages import passage as passage
    from theory.particles.dynamics.runge_kutta import (
        BUTCHER6 as BUTCHER6,
        EULER as EULER,
        FLAT as FLAT,
        HEUN as HEUN,
        METHODS as METHODS,
        RK4 as RK4,
        SPHERE as SPHERE,
        Method as Method,
        RungeKutta as RungeKutta,
        Space as Space,
        integrate as integrate,
    )
    from theory.particles.dynamics.sinkhorn import Doubly as Doubly
    from theory.particles.dynamics.stochastic import (
        EULER_MARUYAMA as EULER_MARUYAMA,
        GEODESIC as GEODESIC,
        PLATEN as PLATEN,
        PROJECTED as PROJECTED,
        SCHEMES as SCHEMES,
        Diffusion as Diffusion,
        Noise as Noise,
        Scheme as Scheme,
        sample as sample,
    )
    from theory.particles.exact.boolean import Line as Line, Undecided as Undecided
    from theory.particles.exact.coarsening import coarsening as coarsening
    from theory.particles.exact.comparison import (
        clusters as clusters,
        slowest_pair as slowest_pair,
        slowest_rate as slowest_rate,
    )
    from theory.particles.exact.cone import (
        chart as chart,
        diameter as diameter,
        hemisphere_probability as hemisphere_probability,
        margins as margins,
        sign_patterns as sign_patterns,
    )
    from theory.particles.exact.equiangular import Equiangular as Equiangular
    from theory.particles.exact.half_sphere import Collapse as Collapse
    from theory.particles.exact.merging import Approach as Approach, Pair as Pair, approach as approach
    from theory.particles.exact.metastable import (
        log_asymptote as log_asymptote,
        log_lifetime as log_lifetime,
        meeting_point as meeting_point,
    )
    from theory.particles.exact.overlaps import Overlaps as Overlaps, gaps as gaps
    from theory.particles.exact.solvable import (
        cross_ratio_rates as cross_ratio_rates,
        cross_ratios as cross_ratios,
        distance_to_consensus as distance_to_consensus,
        mean_overlap as mean_overlap,
        poisson_quantiles as poisson_quantiles,
        rate_of_approach as rate_of_approach,
    )
    from theory.particles.exact.spectra import spectrum as spectrum, sphere_jacobian as sphere_jacobian
    from theory.particles.mean_field.gaussian import (
        Closure as Closure,
        DistanceClosure as DistanceClosure,
        SinkhornClosure as SinkhornClosure,
        SoftmaxClosure as SoftmaxClosure,
        coupling_error as coupling_error,
        log_variance as log_variance,
        moments as moments,
        sinkhorn_coupling as sinkhorn_coupling,
    )
    from theory.particles.mean_field.gaussian_exact import (
        blow_up_time as blow_up_time,
        collapse_shape as collapse_shape,
        mixture_field as mixture_field,
        softmax_covariance as softmax_covariance,
    )
    from theory.particles.mean_field.hermite import gauss_hermite as gauss_hermite

open_lazily(__name__)
