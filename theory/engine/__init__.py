"""How attention is computed: streaming over tiles, compiled, with a plain NumPy oracle of the same signature.

Knows no theorem. Callers see :func:`attention` and :func:`weights`; ``THEORY_BACKEND=reference`` in the environment
runs everything on the oracle instead of the compiled kernels.
"""

from theory.engine.dense import attention as attention, weights as weights
from theory.engine.pairs import Form as Form, Pairs as Pairs
from theory.engine.reference import TILE as TILE
