"""The compiled backend: what :mod:`theory.engine.reference` does, under the same names and signatures."""

from theory.engine.covariance import moments as moments
from theory.engine.jacobian import jvp as jvp, vjp as vjp
from theory.engine.passes import attention as attention
from theory.engine.rows import weights as weights
