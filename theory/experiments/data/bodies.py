r"""Human-like bodies as labelled triangle meshes, of drawn proportions, in drawn poses.

All bodies share one template, whose topology is the boundary of a figure made of cubes: a closed surface of genus zero,
consistently oriented, 408 triangles. Cross-sections of the figure become elliptic rings around the bones; a ring at a
joint is turned half way between the bones that meet there. Every face knows its cube, so that the labels are exact:
head (with the neck), torso, upper arm, forearm, hand, thigh, shank and foot, the sides not told apart. Height is the
second coordinate; every body stands at an angle of its own about that axis. Poses in which one limb would pass through
another, the trunk or the head are drawn again; what overlaps then are the creases of some shoulders, with two faces in
a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from theory._validate import as_count
from theory.experiments.data.anatomy import Limb, Pose, draw_pose, draw_proportions, middle_rotation, scale_rotation
from theory.experiments.data.cubes import LABELS as LABELS, Cell, Integers, template

Array = NDArray[np.float64]
Sizes = dict[str, float]

_TRIES = 1000  # of twenty poses about nineteen are kept
_SIDES = ((1, 1.0), (-1, -1.0))


class Body(NamedTuple):
    """Vertices (V, 3), in units of a mean stature; faces (F, 3), anticlockwise seen from outside; a label a face."""

    vertices: Array
    faces: Integers
    labels: Integers


def draw_body(rng: np.random.Generator) -> Body:
    """Draw one body."""
    keys, faces, labels = template()
    lengths, girths = draw_proportions(rng)
    for _ in range(_TRIES):
        drawn = draw_pose(rng)
        if _is_free(drawn, lengths, girths):
            break
    else:
        raise RuntimeError(f"pose: expected one without contact in {_TRIES} draws, got none")
    places = _places(drawn, lengths, girths)
    turned = Rotation.from_euler("y", float(rng.uniform(-np.pi, np.pi)))
    return Body(turned.apply(np.stack([places[key] for key in keys])), faces.copy(), labels.copy())


def draw_bodies(rng: np.random.Generator, count: int) -> list[Body]:
    """Draw several bodies."""
    return [draw_body(rng) for _ in range(as_count(count, "count"))]


def _ring(centre: Array, frame: Rotation, radii: tuple[float, float], axis: int) -> Iterator[tuple[int, int, Array]]:
    """Yield six points of an ellipse across ``axis``: which side, 0 or 1, how far forward, 0 to 2, and where."""
    for side, forward in product(range(2), range(3)):
        angle = np.deg2rad(60.0 * (forward - 1))
        point = np.zeros(3)
        point[1 - axis], point[2] = radii[0] * (2 * side - 1) * np.cos(angle), radii[1] * np.sin(angle)
        yield side, forward, centre + frame.apply(point)


def _places(drawn: Pose, lengths: Sizes, girths: Sizes) -> dict[Cell, Array]:
    """Return where the corners of the figure go, in the frame of the pelvis."""
    top, places = _trunk(drawn.chest, lengths, girths)
    places |= _head(top, drawn, lengths, girths)
    for (sign, mirror), arm, leg in zip(_SIDES, drawn.arms, drawn.legs, strict=True):
        flip = np.array([mirror, 1.0, 1.0])
        for (x, y, z), point in _arm(arm, lengths, girths).items():
            places[x if sign > 0 else 3 - x, y, z] = top + drawn.chest.apply(flip * point)
        for (x, y, z), point in _leg(leg, lengths, girths).items():
            places[x if sign > 0 else 3 - x, y, z] = flip * point
    return places


def _trunk(chest: Rotation, lengths: Sizes, girths: Sizes) -> tuple[Array, dict[Cell, Array]]:
    """Return the middle of the shoulders, and the rings between hips and shoulders."""
    places: dict[Cell, Array] = {}
    centre = np.zeros(3)
    height = 0.0
    angles = {3: 40.0, 2: 72.0, 1: 108.0, 0: 140.0}
    rings = ((1, 0.25, 0.2, "hip", 0.68), (2, 0.5, 0.6, "waist", 0.72), (3, 0.76, 1.0, "chest", 0.70))
    for level, share, turn, name, depth in rings:
        frame = scale_rotation(chest, turn)
        width = girths[name]
        centre = centre + scale_rotation(chest, turn - 0.2).apply([0.0, (share - height) * lengths["trunk"], 0.0])
        height = share
        for x, z in product(range(4), range(3)):
            if z != 1 or x in (0, 3):
                angle = np.deg2rad(angles[x] * (z - 1) if z != 1 else 60.0 * (3 - x))
                point = np.array([width * np.cos(angle), 0.0, depth * width * np.sin(angle)])
                places[x, level, z] = centre + frame.apply(point)
    top = centre + chest.apply([0.0, (1.0 - height) * lengths["trunk"], 0.0])
    for (_, mirror), x, z in ((side, x, z) for side, x in zip(_SIDES, (3, 0), strict=True) for z in range(3)):
        rise = 0.0 if z == 1 else -0.15 * girths["chest"]
        point = np.array([mirror * 0.88 * lengths["shoulder"], rise, 0.45 * (z - 1) * girths["chest"]])
        places[x, 4, z] = top + chest.apply(point)
    return top, places


def _head(top: Array, drawn: Pose, lengths: Sizes, girths: Sizes) -> dict[Cell, Array]:
    turned = drawn.chest * drawn.head
    base = top + drawn.chest.apply([0.0, 0.12 * lengths["neck"], 0.0])
    nape = base + middle_rotation(drawn.chest, turned).apply([0.0, lengths["neck"], 0.0])
    neck, wide, tall = girths["neck"], girths["head"], lengths["head"]
    rings = (
        (4, base, drawn.chest, 1.3 * neck, 1.3 * neck),
        (5, nape, middle_rotation(drawn.chest, turned), neck, neck),
        (6, nape + turned.apply([0.0, 0.3 * tall, 0.15 * wide]), turned, 0.95 * wide, 1.25 * wide),
        (7, nape + turned.apply([0.0, 0.7 * tall, 0.1 * wide]), turned, wide, 1.3 * wide),
        (8, nape + turned.apply([0.0, tall, 0.0]), turned, 0.55 * wide, 0.75 * wide),
    )
    return {
        (1 + side, y, z): point
        for y, centre, frame, *radii in rings
        for side, z, point in _ring(centre, frame, (radii[0], radii[1]), 1)
    }


def _joints(limb: Limb, start: Array, along: int, sizes: tuple[float, float, float]) -> list[Array]:
    """Return the ends of the bones of a limb that starts at ``start`` and points along an axis, up or down."""
    ends = [start]
    way = np.zeros(3)
    way[along] = 1.0 if along == 0 else -1.0
    for bone, length in zip(limb, sizes, strict=True):
        ends.append(ends[-1] + bone.apply(length * way))
    return ends


def _arm_joints(arm: Limb, lengths: Sizes, girths: Sizes) -> list[Array]:
    start = np.array([lengths["shoulder"], -0.9 * girths["deltoid"], 0.0])
    return _joints(arm, start, 0, (lengths["upper arm"], lengths["forearm"], 0.85 * lengths["hand"]))


def _leg_joints(leg: Limb, lengths: Sizes, girths: Sizes) -> list[Array]:
    start = np.array([0.53 * girths["hip"], 0.0, 0.0])
    return _joints(leg, start, 1, (lengths["thigh"], lengths["shank"], lengths["ankle"]))


def _arm(arm: Limb, lengths: Sizes, girths: Sizes) -> dict[Cell, Array]:
    """Return the rings of a left arm, in the frame of the chest, from the shoulder on."""
    shoulder, elbow, wrist, tip = _arm_joints(arm, lengths, girths)
    flat = girths["wrist"]
    rings = (
        (shoulder, middle_rotation(Rotation.identity(), arm.upper), girths["deltoid"], girths["deltoid"]),
        (elbow, middle_rotation(arm.upper, arm.lower), girths["elbow"], girths["elbow"]),
        (0.65 * elbow + 0.35 * wrist, arm.lower, girths["forearm"], girths["forearm"]),
        (wrist, middle_rotation(arm.lower, arm.end), 0.8 * flat, 1.1 * flat),
        (tip, arm.end, 0.5 * flat, 1.6 * flat),
    )
    return {
        (4 + step, 3 + side, z): point
        for step, (centre, frame, *radii) in enumerate(rings)
        for side, z, point in _ring(centre, frame, (radii[0], radii[1]), 0)
    }


def _leg(leg: Limb, lengths: Sizes, girths: Sizes) -> dict[Cell, Array]:
    """Return the rings of a left leg, in the frame of the pelvis, from the groin on."""
    hip, knee, ankle, _ = _leg_joints(leg, lengths, girths)
    wide = 0.47 * girths["hip"]
    calf = girths["calf"]
    rings = (
        (hip, Rotation.from_euler("z", 35.0, degrees=True), 1.1 * wide, 1.3 * wide),
        (0.55 * hip + 0.45 * knee, leg.upper, girths["thigh"], 1.1 * girths["thigh"]),
        (knee, middle_rotation(leg.upper, leg.lower), girths["knee"], girths["knee"]),
        (0.65 * knee + 0.35 * ankle + leg.lower.apply([0.0, 0.0, -0.2 * calf]), leg.lower, calf, calf),
        (ankle, middle_rotation(leg.lower, leg.end), girths["ankle"], 1.2 * girths["ankle"]),
    )
    places = {
        (2 + side, -step, z): point
        for step, (centre, frame, *radii) in enumerate(rings)
        for side, z, point in _ring(centre, frame, (radii[0], radii[1]), 1)
    }
    deep, long, broad = lengths["ankle"], lengths["foot"], girths["foot"]
    sole = [(-5, z, forward, -1.0) for z, forward in enumerate((-0.25, 0.05, 0.4, 0.75))] + [(-4, 3, 0.7, -0.5)]
    for y, z, forward, low in sole:
        for side in range(2):
            point = [(2 * side - 1) * broad * (0.75 if z in (0, 3) else 1.0), low * deep, forward * long]
            places[2 + side, y, z] = ankle + leg.end.apply(point)
    return places


def _is_free(drawn: Pose, lengths: Sizes, girths: Sizes) -> bool:
    """Tell whether no limb comes within its girth of another one, the trunk or the head."""
    top = _trunk(drawn.chest, lengths, girths)[0]
    back = drawn.chest.inv()
    flips = [np.array([mirror, 1.0, 1.0]) for _, mirror in _SIDES]
    arms = [flip * _dense(_arm_joints(a, lengths, girths)) for flip, a in zip(flips, drawn.arms, strict=True)]
    legs = [flip * _dense(_leg_joints(leg, lengths, girths)) for flip, leg in zip(flips, drawn.legs, strict=True)]
    legs = [back.apply(leg - top) for leg in legs]  # all in the frame of the chest from here on
    crown = drawn.head.apply([0.0, lengths["neck"] + 0.5 * lengths["head"], 0.0])
    arm, leg = 1.2 * girths["forearm"], 1.1 * girths["knee"]
    apart = [(arms[0], arms[1], 2.0 * arm), (legs[0][8:], legs[1][8:], 2.0 * leg)]
    apart += [(one[10:], other, arm + 1.4 * leg) for one, other in product(arms, legs)]
    apart += [(one[10:], crown[np.newaxis], arm + 1.5 * girths["head"]) for one in arms]
    if any(np.linalg.norm(a[:, np.newaxis] - b, axis=2).min() < gap for a, b, gap in apart):
        return False
    width = girths["chest"] + arm
    reach = np.concatenate([a[8:] for a in arms])
    inside = (reach[:, 0] / width) ** 2 + (reach[:, 2] / (0.7 * girths["chest"] + arm)) ** 2 < 1.0
    below = (reach[:, 1] < arm) & (reach[:, 1] > -1.1 * lengths["trunk"])
    return not bool((inside & below).any())


def _dense(ends: list[Array]) -> Array:
    """Return ten points of every bone of a chain."""
    shares = np.linspace(0.0, 1.0, 10, endpoint=False)[:, np.newaxis]
    parts = [one + shares * (two - one) for one, two in pairwise(ends)]
    return np.concatenate([*parts, ends[-1][np.newaxis]])
