"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.diffusion.studies.boundary import boundary as boundary
    from theory.diffusion.studies.equilibrium import rates as rates
    from theory.diffusion.studies.forward import forward as forward
    from theory.diffusion.studies.interacting import interacting as interacting
    from theory.diffusion.studies.ladder import ladder as ladder
    from theory.diffusion.studies.metric_stack import metric_stack as metric_stack
    from theory.diffusion.studies.metrics import metrics as metrics
    from theory.diffusion.studies.million import million as million
    from theory.diffusion.studies.moving import moving as moving
    from theory.diffusion.studies.normalisers import normalisers as normalisers
    from theory.diffusion.studies.real_tokens import real_stacks as real_stacks, real_tokens as real_tokens
    from theory.diffusion.studies.sampling import (
        sampled_output as sampled_output,
        sampling as sampling,
        variances as variances,
    )
    from theory.diffusion.studies.score_stack import score_stack as score_stack
    from theory.diffusion.studies.scores import scores as scores
    from theory.diffusion.studies.self_dynamics import self_dynamics as self_dynamics
    from theory.diffusion.studies.stacking import stacking as stacking
    from theory.diffusion.studies.surface import surface as surface
    from theory.diffusion.studies.torus_stack import torus_stack as torus_stack
    from theory.diffusion.studies.zoo import zoo as zoo

open_lazily(__name__)
