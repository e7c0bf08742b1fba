"""How attention is computed: streaming over tiles, compiled, with a plain NumPy oracle of the same signature.

Knows no theorem. Callers see :func:`attention`, :func:`prepare`, :func:`weights`, :func:`moments`, :func:`jvp`,
:func:`vjp` and :func:`merge`; ``THEORY_BACKEND=reference`` in the environment runs everything on the oracle instead of
the compiled kernels.
"""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.engine.dense import jvp as jvp, moments as moments, vjp as vjp, weights as weights
    from theory.engine.methods import METHODS as METHODS, attention as attention
    from theory.engine.pairs import (
        TILE as TILE,
        AttentionResult as AttentionResult,
        Direction as Direction,
        Form as Form,
        Moments as Moments,
        Pairs as Pairs,
    )
    from theory.engine.prepared import Prepared as Prepared, prepare as prepare
    from theory.engine.streaming import merge as merge
    from theory.engine.threads import quiet_blas as quiet_blas

open_lazily(__name__)
