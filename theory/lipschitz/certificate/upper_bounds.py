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

from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate import biased, detour, distant
from theory.lipschitz.certificate.weights import Norms

_COLUMNS, _DISTANCES, _SINGLE = "certificate.columns", "certificate.distances", "lipschitz.single-form"
_FEW = gamma(256)  # derived: rounding of a constant in closed form of exact arguments, exponentials within four units


class UpperBound(NamedTuple):
    """A constant of the branch of attention, and where it comes from."""

    constant: float
    claim: str
    label: str
    hypotheses: str


def dot_bounds(
    norms: Norms,
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    n: int | None,
    *,
    causal: bool,
    detours: tuple[float, ...] = (),
) -> dict[str, list[UpperBound]]:
    """Return what theorems say of the scaled dot product, without the residual; ``detours`` without a bias only."""
    if alphas == betas:
        return _dot_bounds(norms, alphas, betas, n, causal=causal, detours=detours)
    found = _dot_bounds(norms, alphas, betas, n, causal=causal)
    return _renamed(found, "certificate.query-bias", "query bias, |B|R + |c|")


def _dot_bounds(
    norms: Norms,
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    n: int | None,
    *,
    causal: bool,
    detours: tuple[float, ...] = (),
) -> dict[str, list[UpperBound]]:
    """Return the bounds under the claims of scores without a bias."""

    def summed(constant: Callable[[float, float], float]) -> float:
        pairs = zip(alphas, betas, strict=True)
        return _summed(norms, [_rounded(partial(constant, a, max(b, sys.float_info.min))) for a, b in pairs])

    def single(one: Callable[[float, float], float], general: Callable[[float, float], float]) -> float:
        """Add up the smaller constants of the heads: of the form itself, or of its norm."""
        pairs = zip(alphas, detours, strict=True)
        return _summed(
            norms,
            [
                min(_rounded(partial(one, a, largest)), _rounded(partial(general, a, max(a, sys.float_info.min))))
                for a, largest in pairs
            ],
        )

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
            own = UpperBound(summed(partial(biased.masked, n=n)), _COLUMNS, "MA.M2", fixed)
            by_tokens["mean"] = [own, *_times_number(largest, n)]
            by_tokens["frobenius"] = [_times_root(bound, n) for bound in largest]
            least = summed(partial(biased.schur, n=n, causal=True))
            by_tokens["frobenius"].append(UpperBound(least, _COLUMNS, "MA.M2", fixed))
        return {"max": largest, **by_tokens}
    first = [UpperBound(summed(biased.first), "lipschitz.sharp-w1", "MA.L6", f"{wide}; no mask")]
    second = [UpperBound(summed(biased.squares), "lipschitz.refined-w2", "MA.L8", f"{wide}; no mask")]
    if detours:
        words = f"{wide}; no mask; detours of the forms"
        first.append(UpperBound(single(detour.first, biased.first), _SINGLE, "MA.L6", words))
        second.append(UpperBound(single(detour.squares, biased.squares), _SINGLE, "MA.L8", words))
    if len(alphas) > 1:
        first.append(UpperBound(together(1.0), "depth.heads", "MA.A5", f"{wide}; no mask; heads together"))
        second.append(UpperBound(together(2.0), "depth.heads", "MA.A5", f"{wide}; no mask; heads together"))
    squares, mean = list(second), list(first)
    if n is not None:
        mean += _times_number(largest, n)
        fixed = f"{ball}; no mask; {n} tokens"
        mean.append(UpperBound(summed(partial(biased.columns, n=n)), _COLUMNS, "MA.M2", fixed))
        least = summed(partial(biased.counted, n=n))
        squares.append(UpperBound(least, "dot-product.frobenius", "MA.K3", fixed))
        squares.append(UpperBound(summed(partial(biased.schur, n=n, causal=False)), _COLUMNS, "MA.M2", fixed))
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
            for metric in ("mean", "frobenius"):
                found[metric] += [bound for bound in plain[metric] if bound.claim == _COLUMNS]
    return _renamed(found, "certificate.rotary", "rotary positions, |W_Q| |W_K| for |B|")


def _renamed(found: dict[str, list[UpperBound]], claim: str, words: str) -> dict[str, list[UpperBound]]:
    """Return bounds under another claim, unless theirs speaks of biases and positions itself."""
    return {
        metric: [
            bound._replace(
                claim=claim if bound.claim != _COLUMNS else _COLUMNS, hypotheses=f"{words}; {bound.hypotheses}"
            )
            for bound in bounds
        ]
        for metric, bounds in found.items()
    }


def distance_bounds(norms: Norms, radius: float, n: int | None, *, causal: bool) -> dict[str, list[UpperBound]]:
    """Return what theorems say of distance attention, without the residual."""
    diameter = 2.0 * radius
    slopes = [norm.hi for norm in norms.forms]

    def summed(constant: Callable[[float], float]) -> float:
        spreads = [(slope * Interval.exactly(diameter) ** 2).hi for slope in slopes]  # exponentials enlarge what rounds
        each = zip(slopes, spreads, strict=True)
        return _summed(norms, [_rounded(partial(_product, slope, constant, spread)) for slope, spread in each])

    ball = "distance attention, tied; tokens in the ball"
    largest = [UpperBound(summed(distant.largest), _DISTANCES, "MA.R8", f"{ball}; any number of tokens; any mask")]
    mean: list[UpperBound] = []
    squares: list[UpperBound] = []
    if n is not None:
        words = f"distance attention, tied; tokens anywhere; {n} tokens; any mask"
        rows, columns, both = distant.anywhere(n)
        far = UpperBound(summed(lambda _: rows), "distance-attention.max-norm", "MA.R2", words)
        largest.append(far)
        mean = [*_times_number(largest, n), UpperBound(summed(lambda _: columns), _DISTANCES, "MA.R2", words)]
        squares = [_times_root(bound, n) for bound in largest]
        squares.append(UpperBound(summed(lambda _: both), _DISTANCES, "MA.R2", words))
    if causal:
        return {"max": largest} | ({"mean": mean, "frobenius": squares} if n is not None else {})
    words = f"{ball}; any number of tokens; no mask"
    first, second = ([UpperBound(summed(partial(distant.power, p=p)), _DISTANCES, "MA.R8", words)] for p in (1.0, 2.0))
    return {
        "W1": first,
        "W2": second,
        "Winf": largest[:1],
        "mean": first + mean,
        "max": largest,
        "frobenius": second + squares,
    }


def _product(slope: float, constant: Callable[[float], float], spread: float) -> float:
    return slope * constant(spread)


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
