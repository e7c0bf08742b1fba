"""Velocity fields of tokens, and integrators that follow them: adaptive, of fixed step, with noise, resumed."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.dynamics.checkpoints import (
        fingerprint as fingerprint,
        run_checkpointed as run_checkpointed,
    )
    from theory.particles.dynamics.circle import CircleField as CircleField
    from theory.particles.dynamics.energy import Interaction as Interaction
    from theory.particles.dynamics.fields import (
        Field as Field,
        Overlap as Overlap,
        PreNorm as PreNorm,
        SoftmaxField as SoftmaxField,
        Tangential as Tangential,
        UnnormalisedField as UnnormalisedField,
        on_sphere as on_sphere,
    )
    from theory.particles.dynamics.flows import (
        Trajectory as Trajectory,
        flow as flow,
    )
    from theory.particles.dynamics.graph import (
        GraphField as GraphField,
        complete as complete,
        consensus_gap as consensus_gap,
        mean_length as mean_length,
        ring as ring,
        twisted as twisted,
        twisted_balls as twisted_balls,
    )
    from theory.particles.dynamics.manufactured import Manufactured as Manufactured
    from theory.particles.dynamics.passages import first_passage_time as first_passage_time
    from theory.particles.dynamics.perturbation import (
        Stability as Stability,
        jacobian as jacobian,
        rounding as rounding,
        stability as stability,
    )
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
    from theory.particles.dynamics.sinkhorn import SinkhornField as SinkhornField
    from theory.particles.dynamics.stochastic import (
        BLOCK as BLOCK,
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

open_lazily(__name__)
