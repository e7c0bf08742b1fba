r"""What the theorems of this room say of a layer with given weights, metric by metric.

Constants are evaluated at the upper ends of the norms, with which they grow, and are rounded up. Heads either add up,
by the triangle inequality with one coupling for all, or are taken together
(:func:`~theory.lipschitz.certificate.biased.together`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from theory.attention.score import Constants
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate import biased
from theory.lipschitz.certificate.weights import Norms
from theory.lipschitz.constants.bounded import score_constant
from theory.lipschitz.constants.distance import distance_constant

_FEW = gamma(256)  # derived: rounding of a constant in closed form of exact arguments, exponentials within four units


class UpperBound(NamedTuple):
    """A constant of the branch of attention, and where it comes from."""

    constant: float
    claim: str
    label: str
    hypotheses: str


def dot_bounds(
    norms: Norms, alphas: tuple[float, ...], betas: tuple[float, ...], n: int | None, *, causal: bool
) -> dict[str, list[UpperBound]]:
    """Return what theorems say of the scaled dot product, without the residual."""
    if alphas == betas:
        return _dot_bounds(norms, alphas, betas, n, causal=causal)
    return {
        metric: [
            bound._replace(claim="certificate.query-bias", hypotheses=f"query bias, |B|R + |c|; {bound.hypotheses}")
            for bound in bounds
        ]
        for metric, bounds in _dot_bounds(norms, alphas, betas, n, causal=causal).items()
    }


def _dot_bounds(
    norms: Norms, alphas: tuple[float, ...], betas: tuple[float, ...], n: int | None, *, causal: bool
) -> dict[str, list[UpperBound]]:
    """Return the bounds under the claims of scores without a bias."""

    def summed(constant: Callable[[float, float], float]) -> float:
        pairs = zip(alphas, betas, strict=True)
        return _summed(norms, [_rounded(partial(constant, a, max(b, sys.float_info.min))) for a, b in pairs])

    def together(p: float) -> float:
        values = [norm.hi for norm in norms.own]
        return _rounded(lambda: biased.together(alphas, betas, values, norms.out.hi, p))

    ball = "dot product; tokens in the ball"
    wide = f"{ball}; any number of tokens"
    largest = [UpperBound(summed(biased.largest), "lipschitz.max-norm", "MA.L7", f"{wide}; any mask")]
    if len(alphas) > 1:
        largest.append(UpperBound(together(math.inf), "depth.heads", "MA.A5", f"{wide}; any mask; heads together"))
    if causal:
        by_tokens = {}
        if n is not None:
            fixed = f"{ball}; causal mask; {n} tokens, positions fixed"
            own = UpperBound(summed(partial(biased.masked, n=n)), "lipschitz.masked", "MA.M2", fixed)
            by_tokens["mean"] = [own, *_times_number(largest, n)]
            by_tokens["frobenius"] = [_times_root(bound, n) for bound in largest]
        return {"max": largest, **by_tokens}
    first = [UpperBound(summed(biased.first), "lipschitz.sharp-w1", "MA.L6", f"{wide}; no mask")]
    second = [UpperBound(summed(biased.squares), "lipschitz.refined-w2", "MA.L8", f"{wide}; no mask")]
    if len(alphas) > 1:
        first.append(UpperBound(together(1.0), "depth.heads", "MA.A5", f"{wide}; no mask; heads together"))
        second.append(UpperBound(together(2.0), "depth.heads", "MA.A5", f"{wide}; no mask; heads together"))
    squares, mean = list(second), list(first)
    if n is not None:
        mean += _times_number(largest, n)
        least = summed(partial(biased.counted, n=n))
        squares.append(UpperBound(least, "dot-product.frobenius", "MA.K3", f"{ball}; no mask; {n} tokens"))
        squares += [_times_root(bound, n) for bound in largest]  # finite where an exponential above is not
    return {"W1": first, "W2": second, "Winf": largest, "mean": mean, "max": largest, "frobenius": squares}


def turned_bounds(
    norms: Norms, alphas: tuple[float, ...], betas: tuple[float, ...], n: int | None, *, causal: bool
) -> dict[str, list[UpperBound]]:
    """Return what holds of dot products with rotary positions, for norms that are turned, without the residual."""
    plain = _dot_bounds(norms, alphas, betas, n, causal=causal)
    found = {"max": plain["max"]}
    if causal:
        found |= plain
    else:
        pairs = list(zip(alphas, betas, strict=True))
        fixed = "dot product; tokens in the ball; no mask"
        mean = UpperBound(_summed(norms, [_rounded(partial(biased.joint, a, b)) for a, b in pairs]), "", "MA.L6", fixed)
        found["mean"] = [mean]
        if n is not None:
            least = _summed(norms, [_rounded(partial(biased.counted, a, b, n)) for a, b in pairs])
            squares = UpperBound(least, "", "MA.K3", f"{fixed}; {n} tokens")
            found["mean"] += _times_number(plain["max"], n)
            found["frobenius"] = [squares, *(_times_root(bound, n) for bound in plain["max"])]
    words = "rotary positions, |W_Q| |W_K| for |B|"
    return {
        metric: [
            bound._replace(claim="certificate.rotary", hypotheses=f"{words}; {bound.hypotheses}") for bound in bounds
        ]
        for metric, bounds in found.items()
    }


def distance_bounds(norms: Norms, radius: float, n: int | None, *, causal: bool) -> dict[str, list[UpperBound]]:
    """Return what theorems say of distance attention, without the residual."""
    diameter = 2.0 * radius
    slopes = [norm.hi for norm in norms.forms]

    def near(slope: float) -> float:  # osc = beta D^2, Lipschitz constants 2 beta D in either slot, mixed 2 beta
        spread = (slope * Interval.exactly(diameter) ** 2).hi  # the exponential would enlarge what is rounded here
        steep = 2.0 * slope * diameter
        return slope * score_constant(Constants(spread, steep, steep, 2.0 * slope), diameter)

    def far(slope: float) -> float:
        return slope * distance_constant(n) if n is not None and n > 1 else slope

    everywhere: list[UpperBound] = []
    if n is not None:
        constant = _summed(norms, [_rounded(partial(far, slope)) for slope in slopes])
        words = f"distance attention, tied; tokens anywhere; {n} tokens; any mask"
        everywhere.append(UpperBound(constant, "distance-attention.max-norm", "MA.R2", words))
    if causal:
        if n is None:
            return {}
        roots = [_times_root(bound, n) for bound in everywhere]
        return {"max": everywhere, "frobenius": roots, "mean": _times_number(everywhere, n)}
    words = "distance attention, tied; tokens in the ball; any number of tokens; no mask"
    constant = _summed(norms, [_rounded(partial(near, slope)) for slope in slopes])
    bounded = [UpperBound(constant, "distance-attention.bounded", "MA.R8", words)]
    squares = bounded + [_times_root(bound, n) for bound in everywhere if n is not None]
    return {
        "W1": bounded,
        "W2": bounded,
        "Winf": bounded,
        "mean": bounded + _times_number(everywhere, n or 1),
        "max": bounded + everywhere,
        "frobenius": squares,
    }


def _summed(norms: Norms, constants: list[float]) -> float:
    """Add up the constants of heads whose value matrices are the identity, times the norms of theirs, rounded up."""
    sizes = [norm.hi for norm in norms.values]
    parts = [above(size * constant) if size else 0.0 for size, constant in zip(sizes, constants, strict=True)]
    return above(math.fsum(parts))


def _rounded(constant: Callable[[], float]) -> float:
    """Evaluate a constant in closed form and charge its rounding; infinite if float64 cannot hold it."""
    try:
        value = constant()
    except (ValueError, OverflowError):  # arguments are checked above: only the range of float64 is left
        return math.inf
    return Interval.within(value, value * _FEW).hi if value < math.inf else math.inf


def _times_number(bounds: list[UpperBound], n: int) -> list[UpperBound]:
    """Pass from the largest displacement to the sum of those of n tokens, and so to their mean."""
    return [_times(bound, float(n), f"{n} times the largest displacement") for bound in bounds]


def _times_root(bound: UpperBound, n: int) -> UpperBound:
    """Pass from the largest displacement to the root of the sum of squares of n tokens."""
    return _times(bound, above(math.sqrt(n)), f"root of {n} times the largest displacement")


def _times(bound: UpperBound, factor: float, words: str) -> UpperBound:
    return bound._replace(constant=above(factor * bound.constant), hypotheses=f"{bound.hypotheses}; {words}")


def above(number: float) -> float:
    """Return the next float above: what one rounding may have taken off."""
    return math.nextafter(number, math.inf)
