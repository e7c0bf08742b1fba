r"""The published network, trained in NumPy: for claims on what a trained network is, without a comparison of arms.

Adam has the decay of the weights in the gradient:

.. math:: g \leftarrow \nabla L + \lambda\vartheta, \quad m \leftarrow \beta_1m + (1 - \beta_1)g, \quad
    v \leftarrow \beta_2v + (1 - \beta_2)g^2, \quad
    \vartheta \leftarrow \vartheta - \frac{\eta}{1 - \beta_1^t}\frac{m}{\sqrt{v/(1 - \beta_2^t)} + \delta} .

On the two moons, as in the paper, 400 points are for training, queries, keys and hidden layer have width 10, noise has
the standard deviation 0.2. The paper does not say which points attend to each other, or the dimension of a token. Here
tokens have dimension 10, there are two blocks of attention, and a token set is a batch of 100 points: an epoch deals
the 400 points to four sets and takes a step with each. Test data are ten sets of 100.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, appendix A; D. Kingma and J. Ba, *Adam*, ICLR 2015.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_choice, as_count, as_positive
from theory.evidence.streams import ROOT, stream
from theory.experiments.data.moons import draw_two_moons
from theory.metric import InformationPropagation, log_softmax_rows, make_similarity

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Sets = tuple[Array, Labels]  # points (sets, tokens, inputs) and classes (sets, tokens)

ATTENTIONS = ("self", "l2", "metric")  # dot products, distances of linear features, and of those of a network
NOISE = 0.2
TOKENS = 100  # points of the moons that attend to each other
TRAIN, TEST = 4, 10  # sets of the moons
WIDTH = 10  # also the dimension of a token
RATE = 1e-3  # that the paper states
DECAY = 1e-4
_BETAS = 0.9, 0.999
_DELTA = 1e-8


class Trained(NamedTuple):
    """A network, its parameters before and after training, its training loss in nat and its accuracy in the test."""

    network: InformationPropagation
    before: Array
    after: Array
    train_loss: float
    accuracy: float


def published_network(
    attention: str, inputs: int, classes: int, *, width: int, matching: str = "width"
) -> InformationPropagation:
    """Return the network with two blocks, and tokens as wide as queries, keys and hidden layer.

    With ``matching="parameters"`` features are as wide as makes their parameters number what those of dot products do.

    Raises
    ------
    ValueError
        If the attention is none of ``ATTENTIONS``, or a number is not positive.
    """
    similarity = make_similarity(as_choice(attention, "attention", ATTENTIONS), width, width, matching=matching)
    return InformationPropagation(similarity, inputs, classes)


def train_network(
    network: InformationPropagation,
    theta: Array,
    sets: Sets,
    *,
    rate: float,
    epochs: int,
    order: np.random.Generator,
    regroup: bool,
) -> Array:
    """Return the parameters after so many epochs of one step a set, from ``theta``.

    Parameters
    ----------
    network : InformationPropagation
    theta : array_like, shape (size,)
        Initial parameters.
    sets : pair of ndarray, shapes (sets, tokens, inputs) and (sets, tokens)
        Points and classes.
    rate : float
        Learning rate, positive.
    epochs : int
    order : numpy.random.Generator
        Draws the order of the data in every epoch.
    regroup : bool
        Whether every epoch deals the points to new sets, instead of only changing the order of the sets.

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range, the sets are not those of such a network, or the parameters do not stay finite.
    """
    rate = as_positive(rate, "rate")
    x, y = sets
    points, classes = x.reshape(-1, x.shape[-1]), y.ravel()
    places = np.arange(y.size).reshape(y.shape)
    mean, square = np.zeros(network.size), np.zeros(network.size)
    count = 0
    for _ in range(as_count(epochs, "epochs")):
        dealt = order.permutation(y.size).reshape(y.shape) if regroup else places[order.permutation(len(y))]
        for chosen in dealt:
            with np.errstate(over="ignore", invalid="ignore"):
                g = network.objective(theta, points[chosen][np.newaxis], classes[chosen][np.newaxis])[1] + DECAY * theta
                count += 1
                mean += (1.0 - _BETAS[0]) * (g - mean)
                square = _BETAS[1] * square + (1.0 - _BETAS[1]) * g * g
                scale = np.sqrt(square) / math.sqrt(1.0 - _BETAS[1] ** count) + _DELTA
                theta = theta - rate / (1.0 - _BETAS[0] ** count) * mean / scale
            if not np.isfinite(theta).all():
                raise ValueError(f"rate: expected one at which training stays finite, got {rate}")
    return theta


def measure_network(network: InformationPropagation, theta: Array, sets: Sets) -> tuple[float, float]:
    """Return the mean cross-entropy, in nat, and the share of tokens that are recognised."""
    x, y = sets
    logs = log_softmax_rows(network.predict(theta, x))
    loss = -float(np.take_along_axis(logs, y[..., np.newaxis], axis=-1).sum()) / y.size
    return loss, float((logs.argmax(axis=-1) == y).mean())


def moon_sets(seed: int, *, root: int = ROOT) -> tuple[Sets, Sets]:
    """Draw the sets for training and for testing."""
    seed = as_count(seed, "seed", least=0)
    rng = stream("metric.moons", seed, root=root)
    x, y = draw_two_moons(TRAIN * TOKENS, NOISE, rng)
    tests = [draw_two_moons(TOKENS, NOISE, rng) for _ in range(TEST)]
    train = x.reshape(TRAIN, TOKENS, 2), y.reshape(TRAIN, TOKENS)
    return train, (np.stack([points for points, _ in tests]), np.stack([classes for _, classes in tests]))


def train_moons(
    attention: str, seed: int, *, rate: float = RATE, epochs: int, matching: str = "width", root: int = ROOT
) -> Trained:
    """Train on the two moons; runs of one seed share data, order, and the start outside attention.

    Parameters
    ----------
    attention : {"self", "l2", "metric"}
    seed : int
        Of data, order and start, not negative.
    rate : float
        Learning rate, positive; unless given, that of the paper.
    epochs : int
    matching : {"width", "parameters"}
        What all attentions have alike.
    root : int
        Entropy of every random stream.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range, or the parameters do not stay finite.
    """
    network = published_network(attention, 2, 2, width=WIDTH, matching=matching)
    train, test = moon_sets(seed, root=root)
    before = network.initial(stream("metric.moons.start", seed, root=root))
    order = stream("metric.moons.order", seed, root=root)
    after = train_network(network, before, train, rate=rate, epochs=epochs, order=order, regroup=True)
    loss, _ = measure_network(network, after, train)
    return Trained(network, before, after, loss, measure_network(network, after, test)[1])
