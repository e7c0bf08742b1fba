"""What was reported of metric-attention, made again: training on the tasks of the paper, the runs, and their analysis.

``python -m theory.experiments`` makes the runs; :mod:`theory.experiments.analysis` reads what came out.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.tasks import Setting as Setting, Task as Task, Variant as Variant, make_task as make_task
    from theory.experiments.training import run_experiment as run_experiment

open_lazily(__name__)
