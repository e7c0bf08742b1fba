r"""How bodies differ: lengths and girths as shares of the stature, and the angles at the joints.

Lengths are the means of R. Drillis and R. Contini, *Body segment parameters*, 1966, as printed in D. A. Winter,
*Biomechanics and motor control of human movement*, 2009, figure 4.1; girths, which are not listed there, are rough. A
body draws every length with 6 per cent of deviation, and every girth with 7 per cent beside 15 per cent that all its
girths share. Angles are uniform within ranges that lie inside the usual ranges of motion (C. C. Norkin and
D. J. White, *Measurement of joint motion*, 2016); every side draws its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

LENGTHS = {
    "trunk": 0.288, "neck": 0.055, "head": 0.127, "shoulder": 0.118, "upper arm": 0.186, "forearm": 0.146,
    "hand": 0.108, "thigh": 0.245, "shank": 0.246, "foot": 0.152, "ankle": 0.039,
}  # fmt: skip
GIRTHS = {  # half widths
    "hip": 0.098, "waist": 0.080, "chest": 0.098, "neck": 0.033, "head": 0.046, "deltoid": 0.034, "elbow": 0.024,
    "forearm": 0.025, "wrist": 0.017, "thigh": 0.047, "knee": 0.033, "calf": 0.034, "ankle": 0.021, "foot": 0.026,
}  # fmt: skip
ANGLES = {  # degrees
    "trunk bend": (-15.0, 45.0), "trunk lean": (-20.0, 20.0), "trunk twist": (-30.0, 30.0),
    "head bend": (-25.0, 30.0), "head lean": (-20.0, 20.0), "head twist": (-50.0, 50.0),
    "arm abduction": (12.0, 115.0), "arm flexion": (-35.0, 100.0), "arm twist": (-45.0, 45.0),
    "elbow": (0.0, 110.0), "wrist": (-35.0, 35.0),
    "hip flexion": (-20.0, 80.0), "hip abduction": (0.0, 30.0), "hip twist": (-10.0, 25.0),
    "knee": (0.0, 95.0), "ankle": (-15.0, 25.0),
}  # fmt: skip
_LENGTH, _GIRTH, _BULK = 0.06, 0.07, 0.15


class Limb(NamedTuple):
    """Orientations of the three bones of a limb, each in the frame of what carries the limb."""

    upper: Rotation
    lower: Rotation
    end: Rotation


class Pose(NamedTuple):
    """Orientations in the frame of the pelvis (chest), of the chest (head, arms) and of the pelvis (legs).

    Both sides are described as left ones; the right is mirrored. At rest arms point sideways and legs down.
    """

    chest: Rotation
    head: Rotation
    arms: tuple[Limb, Limb]
    legs: tuple[Limb, Limb]


def draw_proportions(rng: np.random.Generator) -> tuple[dict[str, float], dict[str, float]]:
    """Draw lengths and girths, in units of a mean stature."""
    bulk = _BULK * rng.normal()
    lengths = {name: mean * float(np.exp(_LENGTH * rng.normal())) for name, mean in LENGTHS.items()}
    girths = {name: mean * float(np.exp(bulk + _GIRTH * rng.normal())) for name, mean in GIRTHS.items()}
    return lengths, girths


def draw_pose(rng: np.random.Generator) -> Pose:
    """Draw the angles at all joints."""
    chest, head = (_euler("xzy", [_angle(rng, f"{part} {way}") for way in _WAYS]) for part in ("trunk", "head"))
    return Pose(chest, head, (_arm(rng), _arm(rng)), (_leg(rng), _leg(rng)))


def scale_rotation(rotation: Rotation, share: float) -> Rotation:
    """Turn about the same axis by a share of the angle."""
    return Rotation.from_rotvec(share * rotation.as_rotvec())


def middle_rotation(first: Rotation, second: Rotation) -> Rotation:
    """Return the orientation half way from one to another."""
    return first * scale_rotation(first.inv() * second, 0.5)


_WAYS = ("bend", "lean", "twist")


def _arm(rng: np.random.Generator) -> Limb:
    down = 90.0 - _angle(rng, "arm abduction")
    turned = _euler("xzx", [-_angle(rng, "arm flexion"), -down, _angle(rng, "arm twist")])
    lower = turned * _euler("y", [-_angle(rng, "elbow")])
    return Limb(turned, lower, lower * _euler("z", [_angle(rng, "wrist")]))


def _leg(rng: np.random.Generator) -> Limb:
    turned = _euler("xzy", [-_angle(rng, "hip flexion"), _angle(rng, "hip abduction"), _angle(rng, "hip twist")])
    lower = turned * _euler("x", [_angle(rng, "knee")])
    return Limb(turned, lower, lower * _euler("x", [_angle(rng, "ankle")]))


def _angle(rng: np.random.Generator, name: str) -> float:
    return float(rng.uniform(*ANGLES[name]))


def _euler(axes: str, degrees: list[float]) -> Rotation:
    """Return the product of turns about the axes, the first of them outermost."""
    result = Rotation.identity()
    for axis, angle in zip(axes, degrees, strict=True):
        vector: NDArray[np.float64] = np.deg2rad(angle) * np.eye(3)["xyz".index(axis)]
        result = result * Rotation.from_rotvec(vector)
    return result
