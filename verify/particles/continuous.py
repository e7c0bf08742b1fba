"""What the claims in continuous time share: how finely is integrated, and what is then known of every entry."""

import numpy as np

LOOSE = {"rtol": 1e-6, "atol": 1e-8}  # of the coarser run; the width tells what is left


def states(path):
    """The states of a trajectory, and how far any entry may be off, an estimate, after each time."""
    entries = [path.observe(lambda x, at=at: float(x[at])) for at in np.ndindex(path.states.shape[1:])]
    return path.states, [max(entry[k].width for entry in entries) for k in range(path.times.size)]
