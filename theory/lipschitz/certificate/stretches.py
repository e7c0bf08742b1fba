r"""How much a layer of given weights stretches a displacement: lower bounds of its Lipschitz constants.

The search of :mod:`theory.lipschitz.search.worst_cloud` runs in the plane of the largest singular pair of one head's
form, where attention of that head is attention again. At the cloud that it finds, the displacement is improved for
the whole layer, with all heads, value matrices and the residual, and its stretch is evaluated in balls from the
weights themselves. What is found is not proved largest; but a smaller constant is refuted by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theory._validate import as_count, as_instance, as_masses, as_points, as_positive
from theory.attention import DotProduct, SquaredDistance
from theory.evidence import Interval, Kind
from theory.evidence.roundoff import gamma
from theory.lipschitz.certificate.ascent import improve_displacement, orthonormal_basis
from theory.lipschitz.certificate.weights import Array, AttentionWeights, in_range
from theory.lipschitz.local_norms import as_exponent, weighted_norm
from theory.lipschitz.search.worst_cloud import search_worst_cloud

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

    order, places = as_exponent(p), as_points(points, "points", dim=as_instance(layer, "layer", AttentionWeights).dim)
    steps = as_points(tangent, "tangent", size=places.shape[0], dim=places.shape[1])
    law = as_masses(masses, "masses", size=places.shape[0])
    if not steps.any():
        raise ValueError("tangent: expected a displacement, got zero")
    with precision():
        x, h, w = balls(places), balls(steps), balls(law)
        outputs, moved = layer.push(x, h, w, balls, exp)
        gaps = [outputs[i] - outputs[j] for i in range(len(x)) for j in range(i)]
        ratio = weighted_norm(moved, w, order) / weighted_norm(h, w, order)
        return hull(ratio, Kind.CERTIFIED), all((g * g).sum() > 0 for g in gaps)


def search_lower_bound(
    rng: np.random.Generator,
    layer: AttentionWeights,
    radius: float,
    p: float,
    *,
    masses: Array | None = None,
    atoms: int = 2,
) -> Stretch | None:
    """Search for a large stretch; None if nothing certain is found.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the starts.
    layer : Layer
        The weights.
    radius : float
        Of the ball that holds the tokens.
    p : {1, 2, inf}
        Exponent.
    masses : numpy.ndarray, optional
        Masses that stay fixed. Unless given they are searched as well, and no two outputs may coincide, so that the
        displacement is the distance of the image measures to first order.
    atoms : int, default 2
        Number of atoms, if no masses are given.
    """
    radius, p, atoms = as_positive(radius, "radius"), as_exponent(p), as_count(atoms, "atoms")
    masses = None if masses is None else as_masses(masses, "masses")
    head = _leading(as_instance(layer, "layer", AttentionWeights))
    norm = layer.form_norm(head).hi
    reaches = {radius, min(radius, math.sqrt(_SHARPEST / norm))} if norm else {radius}
    best: Stretch | None = None
    for reach in sorted(reaches):
        for points, tangent, law in _tried(rng, layer, head, reach, p, masses, atoms):
            inside = np.linalg.norm(points, axis=1) * (1.0 + gamma(layer.dim + 4)) <= radius
            if tangent.any() and np.isfinite(tangent).all() and inside.all():
                bound, apart = enclose_stretch(layer, points, tangent, law, p)
                if (apart or masses is not None) and (best is None or bound.lo > best.bound.lo):
                    best = Stretch(points, tangent, law, p, bound)
    return best


def balanced_stretch(layer: AttentionWeights, radius: float, n: int | None) -> Stretch | None:
    """Return the stretch of the largest displacement at a query amid two opposed keys, which it attends to equally.

    Then the query alone moves its output by the covariance of the keys, as large as can be. One token of
    ``n``, at least three, is the query; keys come before it, so that a causal mask lets it see them. None if two
    outputs coincide.
    """
    radius, n = as_positive(radius, "radius"), None if n is None else as_count(n, "n", least=3)
    in_range(radius, "radius")
    head = _leading(as_instance(layer, "layer", AttentionWeights))
    plane = _plane(layer, head)[0]
    key = radius * _INSIDE * plane[:, -1]
    points = np.array([key, -key, np.zeros(layer.dim)])
    rest = 2 if n is None or layer.causal else n - 1
    masses = np.array([float(rest - rest // 2), float(rest // 2), 1.0])
    tangent = improve_displacement(layer, points, masses, math.inf, plane)
    if not tangent.any():
        return None
    bound, apart = enclose_stretch(layer, points, tangent, masses, math.inf)
    return Stretch(points, tangent, masses, math.inf, bound) if apart else None


def _tried(
    rng: np.random.Generator,
    layer: AttentionWeights,
    head: int,
    reach: float,
    p: float,
    masses: Array | None,
    atoms: int,
) -> list[tuple[Array, Array, Array]]:
    """Return clouds, displacements and masses that a search in the plane of a head finds; none if it overflows."""
    plane, score = _plane(layer, head)
    size, law = (atoms, None) if masses is None else (masses.size, masses / masses.sum())
    with np.errstate(all="ignore"):  # sharp laws overflow in the gradient; what comes of it is certified or dropped
        try:
            found = search_worst_cloud(
                rng,
                score,
                p=p,
                atoms=size,
                dim=plane.shape[1],
                radius=reach * _INSIDE,
                weights=law,
                causal=layer.causal,
                starts=_STARTS,
                steps=_CLIMBS,
            )
        except (ValueError, ZeroDivisionError):  # the end of the climb is no number
            return []
        points, law = found.measure.points @ plane.T, found.measure.weights if masses is None else masses
        better = improve_displacement(layer, points, law, p, plane)
    return [(points, found.tangent @ plane.T, law), (points, better, law)]


def coincident_stretch(layer: AttentionWeights) -> Stretch:
    """Return the displacement of tokens at one place that stretches most: they move on together, in any metric."""
    origin, mass = np.zeros((1, as_instance(layer, "layer", AttentionWeights).dim)), np.ones(1)
    tangent = np.linalg.svd(layer.mean_map())[2][:1]
    return Stretch(origin, tangent, mass, 1, enclose_stretch(layer, origin, tangent, mass, 1)[0])


@lru_cache(maxsize=1)
def _leading(layer: AttentionWeights) -> int:
    """Return the head that moves its output most with its query; asked for once in every metric."""
    return max(range(layer.w_query.shape[0]), key=lambda k: layer.value_norm(k).hi * layer.form_norm(k).hi)


def _plane(layer: AttentionWeights, head: int) -> tuple[Array, DotProduct | SquaredDistance]:
    """Return an orthonormal basis of one or two directions, shape (d, r), and the head's score in its coordinates."""
    if layer.score == "distance":
        _, sizes, right = np.linalg.svd(layer.w_query[head])
        scale = max(float(sizes[0]) ** 2 / math.sqrt(layer.w_query.shape[1]), 1e-12)
        return np.ascontiguousarray(right[:1].T), SquaredDistance(scale)
    form = layer.form(head)
    left, _, right = np.linalg.svd(form)
    basis = orthonormal_basis([right[0], left[:, 0]])[:, ::-1]  # the key last
    return basis, DotProduct(form=basis.T @ form @ basis)
