"""Attention as a system of interacting particles: velocity fields, and the integrators that follow them."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.particles.dynamics.checkpoints import run_checkpointed as run_checkpointed
    from theory.particles.dynamics.circle import CircleField as CircleField
    from theory.particles.dynamics.energy import Interaction as Interaction
    from theory.particles.dynamics.fields import (
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
    from theory.particles.dynamics.graph import GraphField as GraphField
    from theory.particles.dynamics.passages import first_passage_time as first_passage_time
    from theory.particles.dynamics.runge_kutta import (
        METHODS as METHODS,
        RK4 as RK4,
        SPHERE as SPHERE,
        RungeKutta as RungeKutta,
        integrate as integrate,
    )
    from theory.particles.dynamics.sinkhorn import SinkhornField as SinkhornField
    from theory.particles.dynamics.stochastic import (
        SCHEMES as SCHEMES,
        Diffusion as Diffusion,
        Noise as Noise,
        sample as sample,
    )

open_lazily(__name__)
