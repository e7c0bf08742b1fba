"""What the study of a moving measure is about: the mixture, the time, and how deep its stacks are."""

from __future__ import annotations

MOVED_MIXTURE = ((-1.0, 0.5, 2.0), (0.75, 0.5, 0.625), (0.25, 0.5, 0.25))
MOVED_TIME = 0.1
MOVED_STEPS = {"averaging": 1.0, "residual": 0.5, "kept": 1.0}
MOVED_RATES = (2.0, 1.0, -2.0)
MOVED_WAVES = (1.0, 2.0, 3.0)
MOVED_DEPTH = 16
DEEPEST = 64
