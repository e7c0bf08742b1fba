"""The tasks of the paper: what a run is, the learner that is trained, and the tasks by name."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.tasks.bleu import bleu as bleu, exact_match as exact_match
    from theory.experiments.tasks.digits import Digits as Digits
    from theory.experiments.tasks.moons import Moons as Moons
    from theory.experiments.tasks.propagation import (
        PropagationLearner as PropagationLearner,
        propagation_network as propagation_network,
    )
    from theory.experiments.tasks.registry import TASKS as TASKS, make_task as make_task
    from theory.experiments.tasks.segmentation import Segmentation as Segmentation
    from theory.experiments.tasks.task import (
        ATTENTIONS as ATTENTIONS,
        LABELS as LABELS,
        MATCHINGS as MATCHINGS,
        RULES as RULES,
        VARIANTS as VARIANTS,
        Learner as Learner,
        Setting as Setting,
        Task as Task,
        Variant as Variant,
    )
    from theory.experiments.tasks.translation import Translation as Translation

open_lazily(__name__)
