"""What an experiment is made of: a setting, a learner that is trained in it, and a task that makes the learner.

A run is one learner trained once. Runs with the same task and seed see the same data in the same order, and start from
the same parameters outside attention, all but those of ``again``; so they are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count, as_instance, as_positive

# the last two are self-attention: from a start that is wider, so that weights differ, and from another one
ATTENTIONS = ("self", "l2", "metric", "entmax", "wide", "again")
MATCHINGS = ("width", "parameters")
LABELS = ("true", "permuted")
RULES = ("published", "tuned")  # whether the learning rate is the paper's or the attention's own choice

State = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One run.

    Parameters
    ----------
    task : str
        Name of the task.
    attention : {"self", "l2", "metric", "entmax", "wide", "again"}
        What gives the weights; ``wide`` is ``self`` from queries and keys drawn larger, ``again`` is ``self`` from
        another start, a comparison of a thing with itself.
    seed : int
        Of data and start, not negative.
    rate : float
        Learning rate, positive.
    matching : {"width", "parameters"}
        Whether the attentions share the width of their features, or have the number of parameters of ``self``.
    labels : {"true", "permuted"}
        ``permuted`` gives every example the label of another one.
    scale : {"quick", "paper"}
        Size of the experiment.

    Raises
    ------
    ValueError, TypeError
        If a field is none of these.
    """

    task: str
    attention: str
    seed: int
    rate: float
    matching: str = "width"
    labels: str = "true"
    scale: str = "paper"

    def __post_init__(self) -> None:
        as_instance(self.task, "task", str)
        for name, allowed in (("attention", ATTENTIONS), ("matching", MATCHINGS), ("labels", LABELS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if self.scale not in ("quick", "paper"):
            raise ValueError(f"scale: expected one of quick, paper, got {self.scale!r}")
        object.__setattr__(self, "seed", as_count(self.seed, "seed", least=0))
        object.__setattr__(self, "rate", as_positive(self.rate, "rate"))


@dataclass(frozen=True, slots=True)
class Variant:
    """What is compared: an attention, what it shares with the others, its labels, and where its rate comes from.

    Raises
    ------
    ValueError
        If a field is none of ``ATTENTIONS``, ``MATCHINGS``, ``LABELS`` and ``RULES``.
    """

    attention: str
    matching: str = "width"
    labels: str = "true"
    rule: str = "published"

    def __post_init__(self) -> None:
        Setting("", self.attention, 0, 1.0, self.matching, self.labels)
        if self.rule not in RULES:
            raise ValueError(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")


VARIANTS = (  # of a task that names none
    *(Variant(name) for name in ("self", "l2", "metric", "wide", "again")),
    *(Variant(name, rule="tuned") for name in ("self", "l2", "metric", "wide", "again")),
    *(Variant(name, "parameters", rule="tuned") for name in ("l2", "metric")),
    *(Variant(name, labels="permuted") for name in ("self", "metric")),
)


def variants_without(attention: str) -> tuple[Variant, ...]:
    """Return the usual comparisons but for those of one attention."""
    return tuple(each for each in VARIANTS if each.attention != attention)


class Learner(Protocol):
    """A model with its data and its optimiser, at some epoch."""

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        ...

    def advance(self) -> None:
        """Train for one epoch."""
        ...

    def measure(self) -> Mapping[str, float]:
        """Return the losses and scores now, the same keys at every call.

        All tasks have ``train_loss`` and ``test_loss``, in nat, and ``accuracy`` on the test data, between 0 and 1.
        """
        ...

    def state(self) -> State:
        """Return all that the next epochs depend on, as arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a state that :meth:`state` returned."""
        ...


class Task(Protocol):
    """A problem, its sizes at a scale, and how a learner for it is made.

    A task may also have ``variants``, a tuple of :class:`Variant`, in place of ``VARIANTS``; ``rules``, some of
    ``RULES``, or ``permutes = False``, which leave out the variants with others and those with permuted labels; and
    ``tuning_seeds(scale)``, how many runs choose among the rates.
    """

    @property
    def name(self) -> str:
        """The word by which the command line knows it."""
        ...

    @property
    def columns(self) -> Mapping[str, str]:
        """What a learner measures, with units."""
        ...

    def epochs(self, scale: str) -> int:
        """Return the budget of a run."""
        ...

    def every(self, scale: str) -> int:
        """Return after how many epochs a curve has its next point."""
        ...

    def seeds(self, scale: str) -> int:
        """Return how many runs there are of every kind."""
        ...

    @property
    def published_rate(self) -> float:
        """The learning rate that the paper states."""
        ...

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates among which every attention may choose, on validation data."""
        ...

    def learner(self, setting: Setting, *, validation: bool = False) -> Learner:
        """Make the learner of a setting at epoch zero; with ``validation`` the test data are validation data."""
        ...
