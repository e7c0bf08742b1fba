r"""How much a layer of given weights stretches a displacement: lower bounds of its Lipschitz constants.

The search of :mod:`theory.lipschitz.search.worst_cloud` runs in the plane of the largest singular pair of one head's
form, where attention of that head is attention again. At the cloud that it finds, the displacement is improved for
the whole layer, with all heads, value matrices and the residual, and its stretch is evaluated in balls from the
weights themselves. What is found is not proved largest; but a smaller constant is refuted by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from theory._validate import as_instance, as_masses, as_points
from theory.attention import DotProduct, SquaredDistance
from theory.evidence import Interval, Kind
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.ascent import improve_displacement, main_directions, orthonormal_basis, singular_pair
from theory.lipschitz.certificate.leaning import leaning_pair
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.weights import Array, AttentionWeights, Norms
from theory.lipschitz.constants.frobenius import opposed_ratio
from theory.lipschitz.local_norms import as_exponent, weighted_norm
from theory.lipschitz.search.worst_cloud import search_worst_cloud

_FEW = 6  # taken: the most tokens that a search places one by one
_INSIDE = 1.0 - 2.0**-40  # of the radius: rounded tokens of this length are in the ball
_SHARPEST = 14.0  # taken: alpha at which exp(2 alpha) is what the lightest atoms of a search can make use of
_STARTS, _CLIMBS = 3, 80  # taken: starts of the search and steps of each


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """A displacement of tokens and by how much the layer stretches it.

    Parameters
    ----------
    points, tangent : numpy.ndarray, shape (n, d)
        Atoms in the ball and their displacement.
    masses : numpy.ndarray, shape (n,)
        Positive; only their ratios matter.
    p : {1, 2, inf}
        Exponent of the weighted norm in which both displacements are measured.
    bound : Interval
        The stretch, of kind ``CERTIFIED``: its lower end is a lower bound of the Lipschitz constant.
    """

    points: Array
    tangent: Array
    masses: Array
    p: float
    bound: Interval


def enclose_stretch(
    layer: AttentionWeights, points: Array, tangent: Array, masses: Array, p: float
) -> tuple[Interval, bool]:
    """Enclose the stretch of a displacement in balls; tell as well whether no two outputs coincide."""
    from theory.evidence.enclosure import balls, exp, hull, precision  # noqa: PLC0415  balls load on first use
    from theory.lipschitz.certificate.wide import is_wide, push_wide  # noqa: PLC0415

    dim = as_instance(layer, "layer", AttentionWeights).dim
    places = as_points(points, "points", dim=dim)
    steps = as_points(tangent, "tangent", size=places.shape[0], dim=dim)
    law = as_masses(masses, "masses", size=places.shape[0])
    order = as_exponent(p)
    if not steps.any():
        raise ValueError("tangent: expected a displacement, got zero")
    with precision():
        h, w = balls(steps), balls(law)
        pushed = push_wide(layer, places, steps, law) if is_wide(layer) else None
        outputs, moved = pushed or layer.push(balls(places), h, w, balls, exp)
        gaps = [outputs[i] - outputs[j] for i in range(len(h)) for j in range(i)]
        ratio = weighted_norm(moved, w, order) / weighted_norm(h, w, order)
        return hull(ratio, Kind.CERTIFIED), all((g * g).sum() > 0 for g in gaps)


class _Plane(NamedTuple):
    """Where a layer is searched: the directions and the score there of the head that its query moves most."""

    layer: AttentionWeights
    head: int
    basis: Array  # orthonormal, shape (d, r), r one or two, the key last
    score: DotProduct | SquaredDistance
    radius: float
    reaches: tuple[float, ...]  # radii of the balls in which the search starts


def turned_lower_bounds(layer: AttentionWeights) -> dict[str, Stretch]:
    """Return what holds whatever turns queries and keys: tokens at the origin move on together."""
    return dict.fromkeys(("mean", "max", "frobenius"), _coincident_stretch(layer))


def lower_bounds(
    rng: np.random.Generator, layer: AttentionWeights, norms: Norms, radius: float, n: int | None
) -> dict[str, Stretch]:
    """Search for a large stretch in every metric for which one is a lower bound.

    Without a mask tokens at one place act as one atom, so that ``n`` tokens stand for masses that are multiples of
    1/n; with ``n`` unknown, for any masses. Under a causal mask every token is an atom; the largest displacement of a
    few tokens is one of more tokens as well.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the starts.
    layer : AttentionWeights
    norms : Norms
        Of the layer.
    radius : float
        Of the ball that holds the tokens.
    n : int or None
        Number of tokens.

    Returns
    -------
    dict
        The worst displacement found, by the names of the metrics; without those in which there is no certain one.
    """
    plane = _plane(layer, norms, radius)
    together = _coincident_stretch(layer)
    several = n is None or n > 1
    balanced = _balanced_stretch(plane, n) if n is None or n > 2 else None
    tried: dict[str, Stretch | None] = dict.fromkeys(("mean", "max", "frobenius"), together)
    if layer.causal:
        few = min(n or 3, 3)
        if several:
            tried["max"] = _larger(_found_stretch(rng, plane, math.inf, np.ones(few)), balanced)
        if n is not None and several:  # tokens after these that stay where they are only add to what is stretched
            tried["mean"] = _found_stretch(rng, plane, 1, np.ones(min(n, _FEW)))
            tried["frobenius"] = _found_stretch(rng, plane, 2, np.ones(min(n, _FEW)))
        return {name: _larger(together, stretch) or together for name, stretch in tried.items()}
    for name, p in (("W1", 1), ("W2", 2), ("Winf", math.inf)):
        tried[name] = _found_stretch(rng, plane, p)
    tried["Winf"] = _larger(tried["Winf"], _balanced_stretch(plane, None))
    for name, like, p in (("mean", "W1", 1), ("max", "Winf", math.inf), ("frobenius", "W2", 2)):
        if n is None:
            tried[name] = tried[like]
        elif several:
            best = _found_stretch(rng, plane, p, _masses(norms, radius, n, p))
            tried[name] = _larger(best, balanced) if p == math.inf else best
    return {name: _larger(together, stretch) or together for name, stretch in tried.items()}


def _plane(layer: AttentionWeights, norms: Norms, radius: float) -> _Plane:
    """Return the plane of the largest singular pair of the form of the head that its query moves most."""
    head = max(range(layer.heads), key=lambda k: norms.values[k].hi * norms.forms[k].hi)
    size = norms.forms[head].hi
    reaches = {radius, min(radius, math.sqrt(_SHARPEST / size))} if size else {radius}
    if layer.score == "distance":
        _, sizes, right = np.linalg.svd(layer.w_query[head], full_matrices=False)
        scale = max(float(sizes[0]) ** 2 / layer.divisor, 1e-12)
        basis = np.ascontiguousarray(right[:1].T)
        return _Plane(layer, head, basis, SquaredDistance(scale), radius, tuple(sorted(reaches)))
    basis = orthonormal_basis([*singular_pair(layer.w_query[head], layer.w_key[head])])[:, ::-1]
    turned = (layer.w_query[head] @ basis).T @ (layer.w_key[head] @ basis) / layer.divisor
    return _Plane(layer, head, basis, DotProduct(form=turned), radius, tuple(sorted(reaches)))


def _coincident_stretch(layer: AttentionWeights) -> Stretch:
    """Return the displacement of tokens at one place that stretches most: they move on together, in any metric."""
    origin = np.zeros((1, layer.dim))
    mass = np.ones(1)
    tangent = main_directions(layer)[:1]
    return Stretch(origin, tangent, mass, 1, enclose_stretch(layer, origin, tangent, mass, 1)[0])


def _balanced_stretch(plane: _Plane, n: int | None) -> Stretch | None:
    """Return the stretch of the largest displacement at a query amid two opposed keys, which it attends to equally.

    Then the query alone moves its output by the covariance of the keys, as large as can be. One token of
    ``n``, at least three, is the query; keys come before it, so that a causal mask lets it see them. None if two
    outputs coincide.
    """
    layer = plane.layer
    key = plane.radius * _INSIDE * plane.basis[:, -1]
    points = np.array([key, -key, np.zeros(layer.dim)])
    rest = 2 if n is None or layer.causal else n - 1
    masses = np.array([float(rest - rest // 2), float(rest // 2), 1.0])
    if layer.b_query is not None and n is None and not layer.causal:  # masses are free: they take back what it adds
        lean = float(np.clip(layer.shift(plane.head) @ key, -_SHARPEST, _SHARPEST))
        masses = np.array([math.exp(-lean), math.exp(lean), math.exp(-_SHARPEST)])
    tangent = improve_displacement(layer, points, masses, math.inf, plane.basis)
    if not tangent.any():
        return None
    bound, apart = enclose_stretch(layer, points, tangent, masses, math.inf)
    return Stretch(points, tangent, masses, math.inf, bound) if apart else None


def _found_stretch(rng: np.random.Generator, plane: _Plane, p: float, masses: Array | None = None) -> Stretch | None:
    """Search for a large stretch of two atoms, or of as many as there are masses; None if nothing certain is found.

    Unless masses are given they are searched as well, and no two outputs may coincide, so that the displacement is
    the distance of the image measures to first order.
    """
    best: Stretch | None = None
    tell(f"search of large stretches by the exponent {p:g}, {'any masses' if masses is None else 'masses given'}")
    for reach in plane.reaches:
        found = _found_displacements(rng, plane, reach, p, masses)
        if plane.layer.b_query is not None and (masses is None or masses.size > 1):
            found.append(leaning_pair(plane.layer, plane.head, plane.basis, reach * _INSIDE, p, masses))
        for points, tangent, law in found:
            inside = np.linalg.norm(points, axis=1) * (1.0 + gamma(plane.layer.dim + 4)) <= plane.radius
            if tangent.any() and np.isfinite(tangent).all() and inside.all():
                bound, apart = enclose_stretch(plane.layer, points, tangent, law, p)
                if (apart or masses is not None) and (best is None or bound.lo > best.bound.lo):
                    best = Stretch(points, tangent, law, p, bound)
    return best


def _found_displacements(
    rng: np.random.Generator, plane: _Plane, reach: float, p: float, masses: Array | None
) -> list[tuple[Array, Array, Array]]:
    """Return clouds, displacements and masses that a search in the plane finds; none if it overflows."""
    with np.errstate(all="ignore"):  # sharp laws overflow in the gradient; what comes of it is certified or dropped
        try:
            found = search_worst_cloud(
                rng,
                plane.score,
                p=p,
                atoms=2 if masses is None else masses.size,
                dim=plane.basis.shape[1],
                radius=reach * _INSIDE,
                weights=None if masses is None else masses / masses.sum(),
                causal=plane.layer.causal,
                starts=_STARTS,
                steps=_CLIMBS,
            )
        except (ValueError, ZeroDivisionError):  # the end of the climb is no number
            return []
        points = found.measure.points @ plane.basis.T
        law = found.measure.weights if masses is None else masses
        better = improve_displacement(plane.layer, points, law, p, plane.basis)
    return [(points, found.tangent @ plane.basis.T, law), (points, better, law)]


def _masses(norms: Norms, radius: float, n: int, p: float) -> Array:
    """Return how many of n tokens are at the first of two places, and how many at the other."""
    leaders = 1 if p == 1 else n // 2
    if p == 2:
        alpha = max(norm.hi for norm in norms.forms) * radius * radius
        leaders = round(n / (1.0 + opposed_ratio(min(max(alpha, 1e-3), 300.0))))
    first = min(max(leaders, 1), n - 1)
    return np.array([float(first), float(n - first)])


def _larger(one: Stretch | None, other: Stretch | None) -> Stretch | None:
    if one is None or other is None:
        return one or other
    return one if other.bound.lo <= one.bound.lo else other
