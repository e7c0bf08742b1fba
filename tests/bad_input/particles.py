"""One valid call of everything that theory.particles shows."""

from __future__ import annotations

import numpy as np

from theory.attention import Measure, SquaredDistance
from theory.evidence.enclosure import ball
from theory.particles import (
    EULER_MARUYAMA,
    FLAT,
    RK4,
    SPHERE,
    Circle,
    Collapse,
    Diffusion,
    Doubly,
    Equiangular,
    Graph,
    Interaction,
    Line,
    Manufactured,
    Noise,
    Overlap,
    Overlaps,
    PreNorm,
    RungeKutta,
    Softmax,
    SoftmaxClosure,
    Tangential,
    Unnormalised,
    approach,
    flow,
    ring,
    sphere_jacobian,
    twisted,
)
from theory.particles.free_energy import Sphere
from theory.particles.perturbation import Stability


def decay(x):
    """Return the velocity of states that fall to the origin."""
    return -np.asarray(x)


def driven(t, x):
    """Return the velocity of states that fall to the origin, at any time."""
    return -np.asarray(x) + 0.0 * t


def half(x):
    """Return what changes its sign when a state is half of what it was."""
    return float(np.sum(x)) - 0.5


def stops(exponent):
    """Return exponents at which an approach is seen."""
    return np.array([0.75, 0.5, 0.25]) * exponent


def plain(u):
    """Return a kernel of cosines."""
    return u * u


X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
UNIT = np.array([[0.6, 0.8], [1.0, 0.0], [0.8, -0.6]])
SQUARE = np.array([[1.5, 0.25], [-0.5, 0.75]])
SYMMETRIC = np.array([[0.5, 0.25], [0.25, -0.75]])
POSITIVE = np.array([[1.5, 0.25], [0.25, 0.75]])
NEGATIVE = -POSITIVE
ANGLES = np.array([[0.5], [1.5], [-0.75], [2.5]])
MASSES = np.array([0.5, 1.5, 1.0])
MU = Measure(X, [0.25, 0.5, 0.25])
SCORE = SquaredDistance(0.75)
LINE = np.array([-0.5, 0.25, 1.5])
RING = ring(4)
GAPS = np.array([[0.0, 0.5, 0.75], [0.5, 0.0, 0.25], [0.75, 0.25, 0.0]])
FIELD = {"score": Overlap(0.75), "value": SQUARE, "masses": MASSES, "causal": False}
FIELD |= {"method": "dense", "accuracy": 1e-9}
ON_LINE = Line(0.75, 0.5)
ROOM = Interaction(0.75, SYMMETRIC, MASSES)
EVEN = Equiangular(3, 0.75)
CLOSE = Collapse(np.array([0.6, 0.8]), 0.75)
TOGETHER = CLOSE.state(UNIT[:2] * 0.5 + 0.25)
MADE = Manufactured(decay, X, X + 0.5, 0.25, 1.5)
NOISE = Noise(3, 5)
WALK = Diffusion(decay, 0.25, 0.125, NOISE)
CLUSTERS = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
MET = approach(CLUSTERS, MASSES / 3.0, 4.0, np.array([0.5, 0.25]))
BALL = Sphere(1.5, dim=3, nodes=16, degrees=3)
PATH = flow(decay, X, [0.0, 0.5])
TWO = {"start": 1.25, "beta": 4.5, "masses": (0.25, 0.75)}

VALID = {
    "Line": {"score": 0.75, "value": 0.5, "copies": MASSES},
    "Line.state": {"self": ON_LINE, "tokens": LINE},
    "Undecided": {"score": 0.75, "value": 0.5},
    "Circle": {"beta": 0.75, "normalised": True, "masses": MASSES, "method": "dense", "accuracy": 1e-9},
    "Circle.__call__": {"self": Circle(0.75), "theta": ANGLES},
    "coarsening": {"points": CLUSTERS[:2], "masses": MASSES[:2] / 2.0, "beta": 4.5, "stops": stops},
    "clusters": {"gap": 0.5, "sizes": np.array([2, 1])},
    "slowest_pair": {"gaps": GAPS, "beta": 0.75, "normalised": True},
    "slowest_rate": {"gap": np.array([0.5, 0.25]), "tokens": 3, "beta": 0.75, "normalised": True},
    "chart": {"tokens": UNIT, "axis": np.array([1.0, 0.25])},
    "diameter": {"points": X},
    "hemisphere_probability": {"n": 5, "d": 3},
    "margins": {"clouds": np.stack([X, UNIT])},
    "sign_patterns": {"points": X},
    "Doubly": {"score": SCORE, "value": SQUARE, "masses": MASSES, "sweeps": 500, "tolerance": 1e-9},
    "Doubly.__call__": {"self": Doubly(SquaredDistance(0.125)), "x": X},
    "Interaction": {"beta": 0.75, "form": SYMMETRIC, "masses": MASSES},
    "Interaction.energy": {"self": ROOM, "tokens": UNIT},
    "Interaction.partitions": {"self": ROOM, "tokens": UNIT},
    "Interaction.metric": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.velocity": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.velocity_error": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.dissipation": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.partition_error": {"self": ROOM, "tokens": UNIT},
    "Equiangular": {"tokens": 3, "beta": 0.75, "normalised": False},
    "Equiangular.shrinking": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "Equiangular.rate": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "Equiangular.outward": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "Equiangular.time": {"self": EVEN, "gap": np.array([0.5, 0.25]), "start": 0.75},
    "Equiangular.gap": {"self": EVEN, "times": np.array([0.5, 1.25]), "start": 0.75},
    "Equiangular.log_prefactor": {"self": EVEN, "start": 0.75},
    "Equiangular.pre_norm_tail": {"self": EVEN, "start": 0.75, "norm": 1.5},
    "Overlap": {"beta": 0.75},
    "Overlap.matrix": {"self": Overlap(0.75), "x": X, "y": UNIT},
    "Softmax": FIELD,
    "Softmax.__call__": {"self": Softmax(Overlap(0.75)), "x": X},
    "Unnormalised": FIELD,
    "Unnormalised.__call__": {"self": Unnormalised(Overlap(0.75)), "x": X},
    "Tangential": {"field": decay},
    "Tangential.__call__": {"self": Tangential(decay), "x": UNIT},
    "PreNorm": {"field": decay},
    "PreNorm.__call__": {"self": PreNorm(decay), "x": X},
    "on_sphere": {"beta": 0.75, "normalised": False, "masses": MASSES, "causal": False},
    "flow": {
        "field": decay, "start": X, "times": np.array([0.0, 0.5, 0.75]), "rtol": 1e-6, "atol": 1e-8, "method": "RK45",
    },
    "Trajectory.observe": {"self": PATH, "function": half},
    "SoftmaxClosure": {"form": SQUARE, "value": SYMMETRIC},
    "SinkhornClosure": {"form": SQUARE, "value": SYMMETRIC},
    "DistanceClosure": {"query": SQUARE, "key": SYMMETRIC, "value": SQUARE},
    "moments": {"closure": SoftmaxClosure(SQUARE)},
    "log_variance": {"closure": SoftmaxClosure(SQUARE[:1, :1])},
    "sinkhorn_coupling": {"covariance": POSITIVE, "form": SQUARE},
    "coupling_error": {"covariance": POSITIVE, "form": SQUARE},
    "softmax_covariance": {"form": SQUARE, "covariance": POSITIVE, "time": 0.125},
    "blow_up_time": {"form": SQUARE, "covariance": POSITIVE},
    "collapse_shape": {"form": NEGATIVE},
    "mixture_field": {
        "form": SQUARE, "weights": MASSES, "means": X, "covariances": (POSITIVE, POSITIVE, POSITIVE), "value": SQUARE,
    },
    "ring": {"n": 4},
    "complete": {"n": 4},
    "twisted": {"n": 5, "winding": 1, "dim": 3},
    "twisted_balls": {"n": 5, "winding": 1, "dim": 3},
    "Graph": {"adjacency": RING, "beta": 0.75, "normalised": True},
    "Graph.__call__": {"self": Graph(RING, 0.75), "x": twisted(4, 1)},
    "consensus_gap": {"x": UNIT},
    "mean_length": {"x": UNIT},
    "Collapse": {
        "centre": np.array([0.6, 0.8]), "beta": 0.75, "form": SQUARE, "normalised": False, "causal": True,
    },
    "Collapse.state": {"self": CLOSE, "tokens": UNIT[:2] * 0.5 + 0.25},
    "gauss_hermite": {"mean": np.array([0.5, -0.25]), "root": SQUARE, "nodes": 3},
    "Manufactured": {
        "field": decay, "centre": X, "phase": X + 0.5, "swing": 0.25, "frequency": 1.5, "space": SPHERE,
    },
    "Manufactured.path": {"self": MADE, "t": 0.5},
    "Manufactured.velocity": {"self": MADE, "t": 0.5},
    "Manufactured.force": {"self": MADE, "t": 0.5},
    "march": {"stepper": RungeKutta(decay, 0.125), "start": X, "steps": 2, "every": 60.0},
    "fingerprint": {"stepper": WALK.noise, "start": X},
    "Pair": {"points": CLUSTERS, "masses": MASSES / 3.0, "beta": 4.5},
    "approach": {"points": CLUSTERS, "masses": MASSES / 3.0, "beta": 4.5, "angles": np.array([0.5, 0.25])},
    "log_asymptote": {**TWO, "corrected": False},
    "log_lifetime": {**TWO, "end": 0.25, "normalised": False},
    "meeting_point": TWO,
    "Overlaps": {"beta": 0.75, "normalised": False, "pre_norm": False},
    "Overlaps.__call__": {"self": Overlaps(0.75), "state": GAPS},
    "gaps": {"x": UNIT},
    "passage": {
        "field": decay, "start": np.array([1.0]), "event": half, "horizon": 2.0, "rtol": 1e-6, "atol": 1e-8,
        "method": "RK45",
    },
    "Method": {name: getattr(RK4, name) for name in ("name", "order", "a", "b", "c", "source")},
    "RungeKutta": {"field": driven, "step": 0.125, "method": RK4, "space": FLAT, "time": 0.5},
    "RungeKutta.checked": {"self": RungeKutta(decay, 0.125), "start": X},
    "integrate": {
        "field": driven, "start": X, "step": 0.125, "steps": 2, "method": RK4, "space": FLAT, "time": 0.5,
    },
    "cross_ratio_rates": {"theta": ANGLES, "velocity": ANGLES * 0.5},
    "cross_ratios": {"theta": ANGLES},
    "distance_to_consensus": {"theta": ANGLES},
    "mean_overlap": {"theta": ANGLES},
    "poisson_quantiles": {"n": 4, "radius": 0.5},
    "rate_of_approach": {"theta": ANGLES, "velocity": ANGLES * 0.5},
    "spectrum": {"matrix": sphere_jacobian(np.array([[1.0, 0.0], [1.0, 0.0]]))},
    "sphere_jacobian": {
        "tokens": UNIT, "beta": 0.75, "form": SQUARE, "value": SYMMETRIC, "normalised": True, "causal": False,
        "adjacency": np.ones((3, 3)),
    },
    "Diffusion": {
        "drift": decay, "sigma": 0.25, "step": 0.125, "noise": NOISE, "scheme": EULER_MARUYAMA, "above": 0,
    },
    "Diffusion.checked": {"self": WALK, "start": X},
    "Diffusion.moved": {"self": WALK, "x": X, "increment": X * 0.25},
    "Noise": {"first": 3, "second": 5},
    "Noise.drawn": {"rng": np.random.default_rng(0)},
    "Noise.normals": {"self": NOISE, "number": 2, "rows": 3, "columns": 2, "above": 0},
    "sample": {"stepper": WALK, "start": X, "steps": 2, "first": 1},
    "chaos.spread": {"alpha": 0.25, "time": 0.5},
    "chaos.tagged_variance": {"dim": 2, "alpha": 0.25, "time": 0.5, "feedback": False},
    "chaos.linear_displacement": {"start": LINE[:, None], "alpha": 0.25, "time": 0.5, "feedback": False},
    "chaos.normal_distance": {"cloud": LINE[:, None], "deviation": 1.5},
    "critical.equiangular": {"n": 4, "overlap": 0.5},
    "critical.output_overlaps": {"tokens": UNIT, "beta": 0.75},
    "critical.pushed": {"tokens": UNIT, "beta": 0.75, "tangent": X},
    "critical.jacobian_size": {"n": 4, "overlap": 0.5, "beta": 0.75, "tangential": False},
    "critical.folded": {"n": 6, "overlap": 0.5, "beta": 0.75},
    "fluctuation.delta_method": {"mu": MU, "tilt": np.array([0.5, -0.25])},
    "fluctuation.gaussian_fluctuation": {"covariance": POSITIVE, "tilt": np.array([0.5, -0.25])},
    "fluctuation.participation": {"tilt": 0.75, "keys": 16},
    "free_energy.Sphere": {"beta": 1.5, "dim": 3, "nodes": 16, "degrees": 6},
    "free_energy.Sphere.branch": {"self": BALL, "field": 0.75},
    "free_energy.Sphere.descend": {"self": BALL, "strength": 0.75, "start": np.array([0.5, 0.25, 0.125])},
    "free_energy.couplings": {"beta": 1.5, "degree": 2, "dim": 3},
    "free_energy.threshold": {"beta": 1.5, "dim": 3},
    "free_energy.enclosed": {"beta": 1.5, "potential": np.array([0.5, 0.25]), "dim": 3, "degrees": 4},
    "onset.growth_rates": {"beta": 1.5, "degree": 2, "dim": 3, "normalised": False},
    "onset.tie": {"degree": 2, "dim": 2},
    "onset.quantiles": {"n": 5, "degree": 2, "amplitude": 0.25},
    "onset.mode": {"angles": ANGLES, "degree": 2},
    "onset.mode_growth": {"field": Circle(0.75), "angles": ANGLES, "degree": 2},
    "perturbation.stability": {"fields": (decay, decay), "states": (X, X * 0.5), "step": 0.125, "space": FLAT},
    "perturbation.jacobian": {"field": decay, "x": X, "space": FLAT},
    "perturbation.rounding": {
        "method": RK4, "step": 0.125, "steps": 8, "stable": Stability(1.5, 2.5), "size": 1.5, "speed": 0.75,
        "relative": 1e-12,
    },
    "self_normalised.atomic_moments": {"mu": MU, "tilt": np.array([0.5, -0.25]), "sizes": (8, 16)},
    "self_normalised.gaussian_moments": {"covariance": POSITIVE, "tilt": np.array([0.5, -0.25]), "sizes": (8, 16)},
    "self_normalised.along_tilt": {"p": 0.75, "sizes": (8, 16)},
    "merging.energy": {"points": CLUSTERS, "masses": MASSES, "beta": 1.5},
    "merging.shortfall": {"x": CLUSTERS},
    "half_sphere.frame_of": {"centre": np.array([0.6, 0.8])},
    "gaussian.as_pair": {"form": SQUARE, "covariance": POSITIVE},
    "zonal.polynomials": {"u": ball(0.5), "degree": 3, "dim": 3},
    "zonal.means": {"kernel": plain, "degree": 2, "dim": 3, "panels": 4},
}  # fmt: skip

SKIPPED = {
    "Approach": "what approach returns",
    "Trajectory": "what flow returns",
    "Scheme": "what is known of a scheme; only those of the package are taken",
}
ALIASES = {("coarsening", "beta"): ("angles",), "tilt": ("p",)}
SHAPES = "numbers of any shape"
ACCEPTED = {
    ("slowest_rate", "gap", "rank"): SHAPES,
    ("Equiangular.*", "gap", "rank"): SHAPES,
    ("Equiangular.gap", "times", "rank"): SHAPES,
    ("Overlaps.__call__", "state", "rank"): "leading axes are batches",
    ("flow", "start", "rank"): SHAPES,
    ("passage", "start", "rank"): SHAPES,
    ("march", "start", "rank"): SHAPES,
    ("fingerprint", "start", "rank"): SHAPES,
    ("integrate", "start", "rank"): SHAPES,
    ("RungeKutta.checked", "start", "rank"): SHAPES,
    ("perturbation.jacobian", "x", "rank"): SHAPES,
    ("RungeKutta", "time", "none"): "a field without a clock",
    ("Diffusion", "drift", "none"): "noise alone",
    ("Method", "name", "text"): "any name",
    ("Method", "source", "text"): "any source",
    ("Method", "name", "blank"): "any name",
    ("Method", "source", "blank"): "any source",
}
STEPS = "every step of an integrator calls it; a trial step may go anywhere, and is rejected by its NaN"
NEVER = "ArithmeticError, as documented: it does not happen in the time given"
LEFT = "OverflowError, as documented: a step left float64"
LISTED = {
    ("Tangential.__call__", "x", "1e?00"): STEPS,
    ("Graph.__call__", "x", "1e?00"): STEPS,
    ("passage", "start", "*"): NEVER,
    ("passage", "horizon", "denormal"): NEVER,
    ("integrate", "step", "1e?00"): LEFT,
    ("sign_patterns", "points", "1e?00"): "ArithmeticError, as documented: such points are in no general position",
    ("sign_patterns", "points", "denormal"): "ArithmeticError, as documented: such points are in no general position",
    ("merging.*", "*", "*"): "parts of the field of Pair, which has checked what they are given",
    ("zonal.polynomials", "u", "*"): "whatever can be added and multiplied: an array, a ball, a power series",
}
INFINITE = {
    "Pair", "approach", "coarsening",  # the gap of a pair without others, as documented
    "Interaction.partition_error",  # a bound that knows nothing
    "blow_up_time",  # of what never blows up, as documented
    "perturbation.rounding",  # a bound that knows nothing
    "critical.output_overlaps",  # intervals that know nothing
    "slowest_pair",  # an interval that knows nothing, beside a gap
}  # fmt: skip
