r"""Lipschitz constants of one layer of self-attention from its weights, each with the theorem that it comes from.

Every constant is a function of the norms :math:`\alpha_h = \|B_h\|R^2`, :math:`\beta_h = (\|B_h\|R + |c_h|)R`, which
differ by a query bias, :math:`\|V_h\|` of :mod:`theory.lipschitz.certificate.weights` and, without a mask, a bias or
positions, the detours of :mod:`theory.lipschitz.certificate.detour`, taken at the upper ends of their enclosures, and
grows with all of them.
Where several theorems speak of a metric the smallest constant stands. A search adds the largest stretch that it finds,
a lower bound: between the two lies the Lipschitz constant of the layer on the ball, and nothing more is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_count, as_flag, as_generator, as_positive
from theory.lipschitz.certificate.detour import detours
from theory.lipschitz.certificate.lower_bounds import Stretch, lower_bounds, turned_lower_bounds
from theory.lipschitz.certificate.upper_bounds import UpperBound, above, distance_bounds, dot_bounds, turned_bounds
from theory.lipschitz.certificate.weights import AttentionWeights, Norms, as_attention_weights, in_range

METRICS = ("W1", "W2", "Winf", "mean", "max", "frobenius")
_MOST = 10**7  # taken: the constant under a causal mask sums as many terms
_SEED = 0  # of the generator that a search draws its starts from, unless one is given


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of the Lipschitz constant of a layer in one metric.

    Parameters
    ----------
    metric : str
        One of ``METRICS``: Wasserstein distances, or displacements of n tokens: mean, largest, root of the sum of
        squares.
    constant : float or None
        A valid constant, rounding charged; infinite if float64 cannot hold it, None if no theorem applies.
    claim, label : str
        The claim that decides the theorem, and its label in this suite's list of statements; empty for None.
    hypotheses : str
        Of the theorem, in one line; for None, why there is none.
    found : Stretch or None
        The worst displacement found; of blocks a pair of clouds, with such a bound.

    Raises
    ------
    ArithmeticError
        If the constant is below the stretch found, which would be a fault of this package.
    """

    metric: str
    constant: float | None
    claim: str
    label: str
    hypotheses: str
    found: Stretch | None

    def __post_init__(self) -> None:
        if self.constant is not None and self.lower is not None and self.lower > self.constant:
            raise ArithmeticError(
                f"{self.metric}: the constant {self.constant} is below {self.lower}, which is reached"
            )

    @property
    def lower(self) -> float | None:
        """A lower bound of every valid constant, certified at the displacement found; None if none was found."""
        return None if self.found is None else max(self.found.bound.lo, 0.0)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Constants of one layer on the ball of a radius.

    Parameters
    ----------
    rows : tuple of Row
        In the order of ``METRICS``.
    alphas : tuple of float
        Upper bound of the norm of each head's form times the squared radius.
    betas : tuple of float
        The same with a query bias: radius times the most by which a score changes per length of the key.
    radius : float
        Of the ball that must hold all tokens.
    n : int or None
        Number of tokens, if constants may depend on it.
    heads : int
    causal, residual : bool
    score : str
    rotary : bool
    """

    rows: tuple[Row, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    radius: float
    n: int | None
    heads: int
    causal: bool
    residual: bool
    score: str
    rotary: bool

    def row(self, metric: str) -> Row:
        """Return the row of a metric."""
        return self.rows[METRICS.index(as_choice(metric, "metric", METRICS))]


def certify(
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    radius: float,
    *,
    n: int | None = None,
    w_out: ArrayLike | None = None,
    b_query: ArrayLike | None = None,
    b_key: ArrayLike | None = None,
    scale: float | None = None,
    heads: int = 1,
    causal: bool = False,
    residual: bool = False,
    score: str = "dot",
    rotary: bool = False,
    search: bool = True,
    rng: np.random.Generator | None = None,
) -> Certificate:
    r"""Bound the Lipschitz constants of a layer of self-attention on the ball of radius :math:`R`, on both sides.

    Parameters
    ----------
    w_query, w_key : array_like, shape (h * d_k, d)
        Heads stacked along the rows; scores are divided by :math:`\sqrt{d_k}` unless ``scale`` is given. Keys and
        values may have fewer heads, each for as many consecutive heads of the queries.
    w_value : array_like, shape (h * d_v, d)
    radius : float
        Every token must have at most this length. The constants grow with it, most of them exponentially.
    n : int, optional
        Number of tokens, for the constants that depend on it.
    w_out : array_like, shape (d_out, h * d_v), optional
        Output matrix; heads are concatenated unless it is given.
    b_query : array_like, shape (h * d_k,), optional
        Bias of the queries. Those of values and outputs change no constant and are not asked for: they move all outputs
        alike. Distance attention admits none.
    b_key : array_like, shape (h * d_k,), optional
        Bias of the keys, as many as ``w_key`` has rows. It enters the constants under ``rotary`` only; otherwise it
        drops out of the softmax.
    scale : float, optional
        Factor of the scores.
    heads : int, default 1
        Of the queries.
    causal : bool, default False
        Whether token i sees the tokens up to i only.
    residual : bool, default False
        Whether the input is added to the output.
    score : {"dot", "distance"}
        Distance attention has ``w_key`` equal to ``w_query`` and multiplies by :math:`W_Q^\top W_Q/\sqrt{d_k}` before
        ``w_value``.
    rotary : bool, default False
        Whether queries and keys, their biases included, are turned by their positions. Constants then hold for all
        positions and isometries.
    search : bool, default True
        Whether to look for displacements that are stretched much.
    rng : numpy.random.Generator, optional
        Draws the starts of the search; a fixed one unless given.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If shapes do not fit or a number is out of range.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> layer = certify([[1.0]], [[-1.0]], [[1.0]], 1.0)
    >>> row = layer.row("W1")
    >>> round(row.constant, 3), round(row.lower, 3), row.label
    (22.167, 22.167, 'MA.L6')
    """
    layer = as_attention_weights(
        w_query, w_key, w_value, w_out, heads=heads, causal=causal, residual=residual, score=score, b_query=b_query,
        b_key=b_key, scale=scale,
    )  # fmt: skip
    size = as_positive(radius, "radius")
    in_range(size, "radius")
    count = None if n is None else as_count(n, "n")
    if count is not None and count > _MOST:
        raise ValueError(f"n: expected at most {_MOST} tokens, got {count}")
    generator = np.random.default_rng(_SEED) if rng is None else as_generator(rng, "rng")
    searched = as_flag(search, "search")
    turned = as_flag(rotary, "rotary")
    if turned and layer.score != "dot":
        raise ValueError("rotary: expected dot products, which alone have a bound for all positions, got distances")
    norms = layer.norms(turned=turned)
    if not turned:
        norms = norms._replace(detours=detours(layer))
    alphas, betas, bounds = upper_bounds(layer, norms, size, count, turned=turned)
    found: dict[str, Stretch] = {}
    if searched:
        found = turned_lower_bounds(layer) if turned else lower_bounds(generator, layer, norms, size, count)
    rows = tuple(_row(metric, bounds.get(metric, []), found.get(metric), layer.residual, turned) for metric in METRICS)
    return Certificate(rows, alphas, betas, size, count, layer.heads, layer.causal, layer.residual, layer.score, turned)


def upper_bounds(
    layer: AttentionWeights, norms: Norms, size: float, count: int | None, *, turned: bool
) -> tuple[tuple[float, ...], tuple[float, ...], dict[str, list[UpperBound]]]:
    """Return alphas and betas of norms on the ball of a radius, and what theorems say there, without the residual."""
    alphas = tuple((norm * size * size).hi for norm in norms.forms)
    further = [(shift * size).hi for shift in norms.shifts]
    if norms.tilts:
        alphas = tuple(above(a + (tilt * size).hi) for a, tilt in zip(alphas, norms.tilts, strict=True))
        further = [above(more + offset.hi) for more, offset in zip(further, norms.offsets, strict=True)]
    betas = tuple(above(a + more) if more else a for a, more in zip(alphas, further, strict=True))
    if turned:
        bounds = turned_bounds(norms, alphas, betas, count, causal=layer.causal)
    elif layer.score == "dot":
        reached = tuple((detour * size * size).hi for detour in norms.detours)
        bounds = dot_bounds(norms, alphas, betas, count, causal=layer.causal, detours=reached)
    else:
        bounds = distance_bounds(norms, size, count, causal=layer.causal)
    return alphas, betas, bounds


def _row(metric: str, bounds: list[UpperBound], found: Stretch | None, residual: bool, turned: bool) -> Row:
    """Return the row of a metric, by the least of the upper bounds."""
    if not bounds:
        return Row(metric, None, "", "", _missing(metric, turned), found)
    least = min(bounds, key=lambda bound: bound.constant)
    constant = above(1.0 + least.constant) if residual else least.constant
    return Row(metric, constant, least.claim, least.label, least.hypotheses, found)


def _missing(metric: str, turned: bool) -> str:
    if turned and metric.startswith("W"):
        return "no theorem: outputs depend on positions, which measures of tokens do not have"
    if metric.startswith("W"):
        return "no theorem: under a causal mask close measures may have distant images"
    return "no theorem without the number of tokens"
