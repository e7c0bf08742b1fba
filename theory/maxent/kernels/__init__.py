"""Maps of rows, compiled: what :mod:`theory.maxent.gibbs` and :mod:`theory.maxent.sparse` do in plain NumPy."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.maxent.kernels.entmax import entmax_rows as entmax_rows, solved_rows as solved_rows
    from theory.maxent.kernels.rows import over as over
    from theory.maxent.kernels.softmax import softmax_rows as softmax_rows

open_lazily(__name__)
