"""How the runs of a task are made: the search for rates, the processes, the files that survive being killed."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.training.adam import Adam as Adam
    from theory.experiments.training.checkpoint import (
        Progress as Progress,
        fingerprint_run as fingerprint_run,
        load as load,
        path_of_run as path_of_run,
        save as save,
    )
    from theory.experiments.training.loop import Outcome as Outcome, Watch as Watch, train as train
    from theory.experiments.training.progress import Board as Board, format_duration as format_duration
    from theory.experiments.training.runner import Stopped as Stopped, run_experiment as run_experiment
    from theory.experiments.training.sources import (
        fingerprint_folder as fingerprint_folder,
        fingerprint_sources as fingerprint_sources,
    )
    from theory.experiments.training.tuning import choose_rates as choose_rates, settings as settings

open_lazily(__name__)
