"""How the runs of a task are made: the search for rates, the processes, the files that survive being killed."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.training.adam import Adam as Adam
    from theory.experiments.training.checkpoint import (
        Progress as Progress,
        load as load,
        mark as mark,
        place as place,
        save as save,
    )
    from theory.experiments.training.loop import Outcome as Outcome, Watch as Watch, train as train
    from theory.experiments.training.progress import Board as Board, duration as duration
    from theory.experiments.training.runner import Stopped as Stopped, run as run
    from theory.experiments.training.sources import content as content, sources as sources
    from theory.experiments.training.tuning import chosen as chosen, settings as settings

open_lazily(__name__)
