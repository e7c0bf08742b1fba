"""Attention weights as solutions of entropy problems."""

from theory.maxent.gibbs import (
    Law as Law,
    divergence as divergence,
    entropy as entropy,
    expectation as expectation,
    free_energy as free_energy,
    log_partition as log_partition,
    softmax as softmax,
)
from theory.maxent.moments import Tilt as Tilt, tilted as tilted
