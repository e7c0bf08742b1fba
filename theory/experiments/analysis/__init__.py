"""The recorded runs read again, compared in pairs, and two trained networks to look at."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.analysis.arms import (
        TASKS as TASKS,
        pair_scores as pair_scores,
        read_arms as read_arms,
        read_manifest as read_manifest,
        runs_of as runs_of,
    )
    from theory.experiments.analysis.example import Example as Example
    from theory.experiments.analysis.paired import (
        adjust_holm as adjust_holm,
        count_pairs as count_pairs,
        enclose_mean as enclose_mean,
        flip_signs as flip_signs,
    )

open_lazily(__name__)
