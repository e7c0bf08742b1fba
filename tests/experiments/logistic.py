"""A task of a few parameters, for the tests of what runs tasks: logistic regression by gradient descent with decay.

The attentions differ in how many features they see; ``metric`` draws noise at every epoch, from its state.
"""

import os
import time
from dataclasses import dataclass

import numpy as np

from theory.evidence import ROOT, stream
from theory.experiments.tasks.task import VARIANTS, Variant

HUGE = 1e300  # a learning rate at which training diverges
FEW = (Variant("self"), Variant("metric"), Variant("metric", rule="tuned"))
FEATURES = {"self": 2, "again": 2, "wide": 2, "l2": 3, "metric": 4}


class Slope:
    """The learner."""

    def __init__(self, x, y, test, theta, rng, rate, noise, pause):
        self.x, self.y, self.test, self.theta = x, y, test, theta
        self.rng, self.rate, self.noise, self.pause = rng, rate, noise, pause

    @property
    def parameters(self):
        """Return how many numbers are trained."""
        return self.theta.size

    def advance(self):
        """Make a step, or fail."""
        if self.pause == "crash":
            os._exit(3)
        if self.pause == "mistake":
            raise ValueError("x: expected a sum, got a difference")
        time.sleep(self.pause)
        x = self.x + self.noise * self.rng.normal(size=self.x.shape)
        gradient = x.T @ (1.0 / (1.0 + np.exp(-x @ self.theta)) - self.y) / len(x)
        self.theta = self.theta - self.rate * (gradient + 0.01 * self.theta)

    def measure(self):
        """Return losses and scores."""
        parts = [(self.x, self.y), self.test]
        losses = [float(np.mean(np.logaddexp(0.0, x @ self.theta) - y * (x @ self.theta))) for x, y in parts]
        right = float(np.mean((self.test[0] @ self.theta > 0.0) == self.test[1]))
        return {
            "train_loss": losses[0],
            "test_loss": losses[1],
            "accuracy": right,
            "size": float(np.sum(self.theta**2)),
        }

    def state(self):
        """Return the parameters and the place in the stream."""
        place = self.rng.bit_generator.state["state"]
        words = {name: np.array(place[name]) for name in ("counter", "key")}
        rest = [self.rng.bit_generator.state[name] for name in ("buffer_pos", "has_uint32", "uinteger")]
        return {"theta": self.theta, **words, "buffer": self.rng.bit_generator.state["buffer"], "rest": np.array(rest)}

    def restore(self, state):
        """Go on from there."""
        self.theta = np.array(state["theta"])
        names = ("buffer_pos", "has_uint32", "uinteger")
        rest = dict(zip(names, (int(part) for part in state["rest"]), strict=True))
        place = {"counter": state["counter"], "key": state["key"]}
        self.rng.bit_generator.state = {"bit_generator": "Philox", "state": place, "buffer": state["buffer"], **rest}


@dataclass(frozen=True)
class Logistic:
    """The task; ``pause`` is a time per epoch, or ``crash`` or ``mistake``."""

    data: None = None
    root: int = ROOT
    pause: float | str = 0.0
    published_rate: float = 0.1
    rates: tuple[float, ...] = (0.1, 1.0, HUGE)
    variants: tuple[Variant, ...] = VARIANTS
    length: int = 7

    name = "logistic"
    columns = {"train_loss": "nat", "test_loss": "nat", "accuracy": "1", "size": "1"}  # noqa: RUF012

    def epochs(self, scale):
        """Return the budget."""
        return self.length if scale == "quick" else 2 * self.length

    def every(self, scale):  # noqa: ARG002
        """Return the distance of two points of a curve."""
        return 3

    def seeds(self, scale):  # noqa: ARG002
        """Return the number of runs."""
        return 3

    def tuning_seeds(self, scale):  # noqa: ARG002
        """Return the number of runs of the search."""
        return 2

    def learner(self, setting, *, validation=False):
        """Make the learner."""
        rng = stream("tests.logistic", setting.seed, root=self.root)
        x, hidden = rng.normal(size=(60, 4)), rng.normal(size=4)
        y = (x @ hidden + rng.normal(size=60) > 0.0).astype(float)
        held = slice(20, 40) if validation else slice(40, 60)
        train = rng.permutation(y[:20]) if setting.labels == "permuted" else y[:20]
        k = FEATURES[setting.attention] - (setting.matching == "parameters")
        start = stream(f"tests.logistic.{setting.attention == 'again'}", setting.seed, root=self.root)
        noise = 0.3 * (setting.attention == "metric")
        test = (x[held, :k], y[held])
        return Slope(x[:20, :k], train, test, 0.1 * start.normal(size=4)[:k], rng, setting.rate, noise, self.pause)
