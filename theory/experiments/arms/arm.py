r"""Arms of the comparison: which part of a gain is due to the network, which to the distance, which to the block.

An arm is an architecture with a similarity. Architectures differ in what surrounds the weights S(H) of a layer, the
tokens being the rows of H:

- ``linear``: no attention at all; the classes are an affine function of the inputs of a token;
- ``published``: :math:`H \mapsto S(H)H`, as metric-attention was reported;
- ``residual``: :math:`H \mapsto H + S(H)H`;
- ``block``: a pre-LN transformer block, with values, an output map and a feed-forward network.

Similarities differ in the scores, of which S is the softmax, for ``entmax`` the 3/2-entmax:

- ``dot``, ``entmax``: the dot product of a query and a key, over the root of their width;
- ``distance``: minus the squared distance of linear features;
- ``metric``: minus the squared distance of the features g of a residual network, which is metric-attention;
- ``features``: the dot product of the same features g, over the root of their number.

So ``features`` against ``dot`` is what the network is good for, ``metric`` against ``features`` what the distance is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from theory._validate import as_choice
from theory.metric.similarity import Shapes, make_similarity

ARCHITECTURES = ("published", "residual", "block")
SIMILARITIES = ("dot", "distance", "metric", "features", "entmax")
LABELS = ("true", "permuted")
STARTS = ("paired", "again")  # whether a run begins as its partners do, or from a start of its own
_SHAPES = {"dot": "self", "entmax": "self", "distance": "l2", "metric": "metric", "features": "metric"}


class Sizes(NamedTuple):
    """Numbers of a task that its networks share: inputs and classes of a token, its dimension, width, and blocks."""

    inputs: int
    classes: int
    dim: int
    width: int
    blocks: int = 2


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """An architecture with a similarity.

    Parameters
    ----------
    architecture : {"linear", "published", "residual", "block"}
    similarity : {"none", "dot", "distance", "metric", "features", "entmax"}
        ``none`` if and only if the architecture is ``linear``.

    Raises
    ------
    ValueError
        If a word is none of these.
    """

    architecture: str
    similarity: str

    def __post_init__(self) -> None:
        as_choice(self.architecture, "architecture", ("linear", *ARCHITECTURES))
        allowed = ("none",) if self.architecture == "linear" else SIMILARITIES
        as_choice(self.similarity, "similarity", allowed)

    @property
    def name(self) -> str:
        """Both words, as ``block-metric``; ``linear`` by itself."""
        return "linear" if self.architecture == "linear" else f"{self.architecture}-{self.similarity}"

    def scored(self, sizes: Sizes) -> Shapes:
        """Return the shapes of the parameters that make the scores of one block.

        They number as nearly as possible what those of ``dot`` do at width ``sizes.width``; ``linear`` has none.
        """
        if self.similarity == "none":
            return ()
        return make_similarity(_SHAPES[self.similarity], sizes.dim, sizes.width, matching="parameters").shapes

    def mixed(self, sizes: Sizes) -> Shapes:
        """Return the shapes of what surrounds the weights of one block; empty unless it is ``block``.

        Scale and shift of the first normalisation, values, output map; scale and shift of the second one, and the two
        layers of a feed-forward network that is twice as wide.
        """
        if self.architecture != "block":
            return ()
        d = sizes.dim
        norm: Shapes = ((d,), (d,))
        return (*norm, (d, d), (d, d), (d,), *norm, (d, 2 * d), (2 * d,), (2 * d, d), (d,))


LINEAR = Arm("linear", "none")
ARMS = (LINEAR, *(Arm(each, similarity) for each in ARCHITECTURES for similarity in SIMILARITIES))


def find_arm(name: str) -> Arm:
    """Return the arm of a name such as ``block-metric``; ``ValueError`` if there is none."""
    names = {arm.name: arm for arm in ARMS}
    return names[as_choice(name, "arm", tuple(names))]
