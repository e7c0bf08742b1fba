"""Attention as a system of interacting particles: fields, flows, energies, exact solutions and what they tend to."""

from theory.particles.circle import Circle as Circle
from theory.particles.fields import (
    Field as Field,
    Overlap as Overlap,
    PreNorm as PreNorm,
    Softmax as Softmax,
    Tangential as Tangential,
    Unnormalised as Unnormalised,
    on_sphere as on_sphere,
)
from theory.particles.flows import Trajectory as Trajectory, flow as flow, passage as passage
