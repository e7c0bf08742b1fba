"""Arms that separate causes: which part of a gain is the network, which the distance, which the transformer block.

``python -m theory.experiments moons --out DIR`` makes the runs of a task.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.arms.arm import (
        ARCHITECTURES as ARCHITECTURES,
        ARMS as ARMS,
        LINEAR as LINEAR,
        SIMILARITIES as SIMILARITIES,
        Arm as Arm,
        Sizes as Sizes,
        find_arm as find_arm,
    )
    from theory.experiments.arms.experiment import run_experiment as run_experiment
    from theory.experiments.arms.layers import train_layers as train_layers
    from theory.experiments.arms.lessons import SUBJECTS as SUBJECTS, Lessons as Lessons
    from theory.experiments.arms.network import Networks as Networks
    from theory.experiments.arms.plan import (
        PLAIN as PLAIN,
        TWINS as TWINS,
        Budget as Budget,
        Condition as Condition,
        budget as budget,
        comparisons as comparisons,
        conditions as conditions,
        margin as margin,
        tasks as tasks,
    )
    from theory.experiments.arms.search import Found as Found, choose_rate as choose_rate
    from theory.experiments.arms.sentences import Sentences as Sentences
    from theory.experiments.arms.training import Trained as Trained, train as train
    from theory.experiments.arms.translating import Translators as Translators, translate as translate

open_lazily(__name__)
