"""Sweeps shared by the claims and the figures of this room."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.studies.arms import (
        TOGETHER as TOGETHER,
        Comparison as Comparison,
        arm_curves as arm_curves,
        arm_runs as arm_runs,
        enclose_gain as enclose_gain,
        enclose_together as enclose_together,
        list_comparisons as list_comparisons,
        pair_gains as pair_gains,
        summarise_arms as summarise_arms,
        summarise_gains as summarise_gains,
    )
    from theory.experiments.studies.reported import AFRESH as AFRESH, moons_afresh as moons_afresh
    from theory.experiments.studies.segmentation import named_faces as named_faces, segmented_bodies as segmented_bodies
    from theory.experiments.studies.starts import (
        KINDS as KINDS,
        Start as Start,
        draw_starts as draw_starts,
        start_blocks as start_blocks,
        starts as starts,
        walk as walk,
    )
    from theory.experiments.studies.trained import (
        trained_embedding as trained_embedding,
        trained_layer as trained_layer,
        trained_metric as trained_metric,
    )
    from theory.experiments.studies.walked import walked_layers as walked_layers

open_lazily(__name__)
