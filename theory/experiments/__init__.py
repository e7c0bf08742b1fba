"""What was reported of metric-attention, made again with arms that separate causes: training, runs, and their analysis.

``python -m theory.experiments`` makes the runs; :mod:`theory.experiments.analysis` reads what came out.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.experiments.published import train_moons as train_moons
    from theory.experiments.trained_layers import read_layers as read_layers, trained_layers as trained_layers

open_lazily(__name__)
