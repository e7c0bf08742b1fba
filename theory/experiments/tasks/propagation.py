"""Training of an information propagation network, which tells the classes of all tokens of a set at once.

A token's answer depends on the others of its set. So data come as sets: points (sets, tokens, inputs) with classes
(sets, tokens). Where a set is nothing but a batch of points, the training points are dealt to new sets in every epoch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_real, as_vector
from theory.experiments.tasks.task import Setting, State
from theory.experiments.training.adam import Adam
from theory.metric import InformationPropagation, log_softmax_rows, make_similarity

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
WIDE = 3.0  # taken: in pilots on moons no run from such a start ended on the plateau
_TOGETHER = 4  # sets that are measured at a time; of 100 tokens, as many as stay in the cache


class PropagationLearner:
    """A network with its data and Adam, at some epoch.

    Parameters
    ----------
    network : InformationPropagation
    train, test : pair of array_like, shapes (sets, tokens, inputs) and (sets, tokens)
        Token sets and classes from 0.
    noisy : mapping of str to such pairs, optional
        Further test data, by the name of the column that their accuracy gets.
    rate, decay : float
        Learning rate, positive, and decay of the weights, not negative.
    start, order : numpy.random.Generator
        What draws the initial parameters, and what draws the order of the data in every epoch; ``order`` is the
        learner's own from then on.
    batch : int, default 1
        Token sets per step; the last step of an epoch has what is left.
    regroup : bool, default False
        Whether every epoch deals the training points to new sets of the same size, instead of only changing the order
        of the sets.

    Raises
    ------
    ValueError, TypeError
        If a shape does not fit, a number is not finite, a class is none, or a size or a rate is out of its range.
    """

    def __init__(
        self,
        network: InformationPropagation,
        train: tuple[ArrayLike, ArrayLike],
        test: tuple[ArrayLike, ArrayLike],
        noisy: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        *,
        rate: float,
        decay: float,
        start: np.random.Generator,
        order: np.random.Generator,
        batch: int = 1,
        regroup: bool = False,
    ) -> None:
        self._network = network
        self._batch = as_count(batch, "batch")
        self._regroup = regroup
        self._train, self._test = _sets(network, train, "train"), _sets(network, test, "test")
        self._noisy = {name: _sets(network, sets, f"noisy[{name!r}]") for name, sets in (noisy or {}).items()}
        for name in {"train_loss", "test_loss", "accuracy"} & set(self._noisy):
            raise ValueError(f"noisy: expected names of columns that are free, got {name}")
        self._adam = Adam(network.size, rate, decay)
        self._order = order
        self._theta = network.initial(start)

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return self._network.size

    @property
    def theta(self) -> Array:
        """The parameters now, a copy."""
        return self._theta.copy()

    def advance(self) -> None:
        """Train for one epoch; parameters that are no finite numbers stay as they are."""
        x, y = self._train
        if self._regroup:
            x = x.reshape(-1, x.shape[-1])
            y = y.ravel()
            places = self._order.permutation(y.size).reshape(self._train[1].shape)
        else:
            places = self._order.permutation(len(y))
        with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges does so without a word
            for first in range(0, len(places), self._batch):
                if not np.isfinite(self._theta).all():
                    return
                chosen = places[first : first + self._batch]
                self._theta = self._adam.step(
                    self._theta, self._network.objective(self._theta, x[chosen], y[chosen])[1]
                )

    def measure(self, *, further: bool = True) -> dict[str, float]:
        """Return the losses, in nat, on the sets of training as they were given and of test, and the accuracies.

        Without ``further``, the accuracy on the sets of test alone.

        A loss that is no finite number is infinite; a token whose scores are not finite is not recognised.
        """
        test_loss, accuracy = self._measured(self._test)
        found = {"train_loss": self._measured(self._train)[0], "test_loss": test_loss, "accuracy": accuracy}
        return found | {name: self._measured(sets)[1] for name, sets in self._noisy.items() if further}

    def state(self) -> State:
        """Return the parameters, Adam's memory, and the place in the stream of orders as the bytes of its JSON."""
        place = json.dumps(self._order.bit_generator.state, default=lambda part: part.tolist()).encode()
        return {"theta": self.theta, "order": np.frombuffer(place, np.uint8).copy(), **self._adam.state()}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a state that :meth:`state` returned.

        Raises
        ------
        ValueError
            If it is that of another network or another kind of stream.
        """
        theta = as_vector(state["theta"], "state['theta']", size=self.parameters).copy()
        place = json.loads(state["order"].tobytes())
        own = self._order.bit_generator.state["bit_generator"]
        if place["bit_generator"] != own:
            raise ValueError(f"state['order']: expected a place in a stream of {own}, got {place['bit_generator']}")
        self._adam.restore(state)
        self._theta, self._order.bit_generator.state = theta, place

    def _measured(self, sets: tuple[Array, Labels]) -> tuple[float, float]:
        if not np.isfinite(self._theta).all():
            return np.inf, 0.0
        x, y = sets
        loss, right = 0.0, 0
        for first in range(0, len(y), _TOGETHER):
            truth = y[first : first + _TOGETHER]
            with np.errstate(over="ignore", invalid="ignore"):
                logs = log_softmax_rows(self._network.predict(self._theta, x[first : first + _TOGETHER]))
            loss -= float(np.take_along_axis(logs, truth[..., np.newaxis], axis=-1).sum())
            right += int(((logs.argmax(axis=-1) == truth) & np.isfinite(logs).all(axis=-1)).sum())
        return loss / y.size if np.isfinite(loss) else np.inf, right / y.size


def propagation_network(setting: Setting, inputs: int, classes: int, *, dim: int, width: int) -> InformationPropagation:
    """Return the network of a run, with two blocks; ``again`` and ``wide`` have the attention of ``self``.

    Drawn as usual, dot products of tokens hardly differ, and self-attention begins as the plain mean, on a plateau of
    the loss. ``wide`` begins with queries and keys that are three times as large.

    Raises
    ------
    ValueError
        If the setting's attention is none of this network's, or a size is not positive.
    """
    kind = "self" if setting.attention in ("again", "wide") else setting.attention
    return InformationPropagation(
        make_similarity(kind, dim, width, matching=setting.matching),
        inputs,
        classes,
        stretch=WIDE if setting.attention == "wide" else 1.0,
    )


def permute_labels(labels: Labels, rng: np.random.Generator) -> Labels:
    """Give every token the label of a random one, each label once, across all sets."""
    return np.asarray(rng.permutation(labels.ravel()).reshape(labels.shape))


def _sets(network: InformationPropagation, sets: tuple[ArrayLike, ArrayLike], name: str) -> tuple[Array, Labels]:
    x = as_real(sets[0], name)
    y = np.asarray(sets[1])
    if x.ndim != 3 or x.shape[-1] != network.inputs or not x.size:
        raise ValueError(f"{name}: expected points of shape (sets, tokens, {network.inputs}), got shape {x.shape}")
    if y.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers for classes, got {y.dtype}")
    if y.shape != x.shape[:-1]:
        raise ValueError(f"{name}: expected classes of shape {x.shape[:-1]}, got shape {y.shape}")
    if y.min() < 0 or y.max() >= network.classes:
        raise ValueError(f"{name}: expected classes from 0 to {network.classes - 1}, got {y.min()} to {y.max()}")
    return x, y.astype(np.int64)
