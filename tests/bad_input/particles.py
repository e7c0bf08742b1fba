"""One valid call of everything that theory.particles shows."""

from __future__ import annotations

import numpy as np

from theory.attention import Measure, SquaredDistance
from theory.evidence.enclosure import ball
from theory.particles import (
    RK4,
    SPHERE,
    CircleField,
    Diffusion,
    GraphField,
    Interaction,
    Noise,
    Overlap,
    PreNorm,
    RungeKutta,
    SinkhornField,
    SoftmaxField,
    Tangential,
    UnnormalisedField,
    flow,
)
from theory.particles.dynamics import EULER_MARUYAMA, FLAT, Manufactured, ring, twisted
from theory.particles.dynamics.perturbation import Stability
from theory.particles.exact import CollapseField, Equiangular, GapField, LineField, follow_pair, sphere_jacobian
from theory.particles.mean_field import DistanceAttention, SoftmaxClosure, ZonalFreeEnergy


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
GAUSSIAN = DistanceAttention(MU, SQUARE, SYMMETRIC, SQUARE)
LINE = np.array([-0.5, 0.25, 1.5])
RING = ring(4)
GAPS = np.array([[0.0, 0.5, 0.75], [0.5, 0.0, 0.25], [0.75, 0.25, 0.0]])
FIELD = {"score": Overlap(0.75), "value": SQUARE, "weights": MASSES, "causal": False}
FIELD |= {"method": "dense", "accuracy": 1e-9}
ON_LINE = LineField(0.75, 0.5)
ROOM = Interaction(0.75, SYMMETRIC, MASSES)
EVEN = Equiangular(3, 0.75)
CLOSE = CollapseField(np.array([0.6, 0.8]), 0.75)
TOGETHER = CLOSE.state(UNIT[:2] * 0.5 + 0.25)
MADE = Manufactured(decay, X, X + 0.5, 0.25, 1.5)
NOISE = Noise(3, 5)
WALK = Diffusion(decay, 0.25, 0.125, NOISE)
CLUSTERS = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
MET = follow_pair(CLUSTERS, MASSES / 3.0, 4.0, np.array([0.5, 0.25]))
BALL = ZonalFreeEnergy(1.5, dim=3, nodes=16, degrees=3)
PATH = flow(decay, X, [0.0, 0.5])
TWO = {"start": 1.25, "beta": 4.5, "weights": (0.25, 0.75)}

VALID = {
    "mean_field.DistanceAttention": {"nu": MU, "query": SQUARE, "key": SYMMETRIC, "value": SQUARE},
    "mean_field.DistanceAttention.output": {"self": GAUSSIAN, "x": X},
    "mean_field.DistanceAttention.enclosed": {"self": GAUSSIAN, "x": X, "mean": X[0], "root": POSITIVE},
    "mean_field.enclose_hermite": {
        "kernel": GAUSSIAN, "x": X, "form": SQUARE, "roots": [POSITIVE], "value": SQUARE, "nodes": 8,
    },
    "mean_field.enclose_lattice": {
        "kernel": GAUSSIAN, "x": X, "slopes": X, "root": POSITIVE, "centres": X, "variance": 0.5, "value": SQUARE,
        "parts": 1,
    },
    "exact.LineField": {"score": 0.75, "value": 0.5, "copies": MASSES},
    "exact.LineField.state": {"self": ON_LINE, "tokens": LINE},
    "exact.UndecidedField": {"score": 0.75, "value": 0.5},
    "CircleField": {"beta": 0.75, "normalised": True, "weights": MASSES, "method": "dense", "accuracy": 1e-9},
    "CircleField.__call__": {"self": CircleField(0.75), "theta": ANGLES},
    "exact.follow_coarsening": {"points": CLUSTERS[:2], "weights": MASSES[:2] / 2.0, "beta": 4.5, "stops": stops},
    "exact.cluster_gaps": {"gap": 0.5, "sizes": np.array([2, 1])},
    "exact.slowest_pair": {"gaps": GAPS, "beta": 0.75, "normalised": True},
    "exact.slowest_rate": {"gap": np.array([0.5, 0.25]), "tokens": 3, "beta": 0.75, "normalised": True},
    "exact.central_projection": {"tokens": UNIT, "axis": np.array([1.0, 0.25])},
    "exact.diameter": {"points": X},
    "exact.hemisphere_probability": {"n": 5, "d": 3},
    "exact.hemisphere_margins": {"clouds": np.stack([X, UNIT])},
    "exact.sign_patterns": {"points": X},
    "SinkhornField": {"score": SCORE, "value": SQUARE, "weights": MASSES, "sweeps": 500, "tolerance": 1e-9},
    "SinkhornField.__call__": {"self": SinkhornField(SquaredDistance(0.125)), "x": X},
    "Interaction": {"beta": 0.75, "form": SYMMETRIC, "weights": MASSES},
    "Interaction.energy": {"self": ROOM, "tokens": UNIT},
    "Interaction.partitions": {"self": ROOM, "tokens": UNIT},
    "Interaction.metric": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.velocity": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "Interaction.dissipation": {"self": ROOM, "tokens": UNIT, "normalised": False},
    "exact.Equiangular": {"tokens": 3, "beta": 0.75, "normalised": False},
    "exact.Equiangular.shrinking": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "exact.Equiangular.rate": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "exact.Equiangular.outward": {"self": EVEN, "gap": np.array([0.5, 0.25])},
    "exact.Equiangular.time": {"self": EVEN, "gap": np.array([0.5, 0.25]), "start": 0.75},
    "exact.Equiangular.gap": {"self": EVEN, "times": np.array([0.5, 1.25]), "start": 0.75},
    "exact.Equiangular.log_prefactor": {"self": EVEN, "start": 0.75},
    "exact.Equiangular.pre_norm_tail": {"self": EVEN, "start": 0.75, "norm": 1.5},
    "Overlap": {"beta": 0.75},
    "Overlap.matrix": {"self": Overlap(0.75), "x": X, "y": UNIT},
    "SoftmaxField": FIELD,
    "SoftmaxField.__call__": {"self": SoftmaxField(Overlap(0.75)), "x": X},
    "UnnormalisedField": FIELD,
    "UnnormalisedField.__call__": {"self": UnnormalisedField(Overlap(0.75)), "x": X},
    "Tangential": {"field": decay},
    "Tangential.__call__": {"self": Tangential(decay), "x": UNIT},
    "PreNorm": {"field": decay},
    "PreNorm.__call__": {"self": PreNorm(decay), "x": X},
    "on_sphere": {"beta": 0.75, "normalised": False, "weights": MASSES, "causal": False},
    "flow": {
        "field": decay, "start": X, "times": np.array([0.0, 0.5, 0.75]), "rtol": 1e-6, "atol": 1e-8, "method": "RK45",
    },
    "Trajectory.observe": {"self": PATH, "function": half},
    "mean_field.SoftmaxClosure": {"form": SQUARE, "value": SYMMETRIC},
    "mean_field.SinkhornClosure": {"form": SQUARE, "value": SYMMETRIC},
    "mean_field.DistanceClosure": {"query": SQUARE, "key": SYMMETRIC, "value": SQUARE},
    "mean_field.moment_field": {"closure": SoftmaxClosure(SQUARE)},
    "mean_field.log_variance_field": {"closure": SoftmaxClosure(SQUARE[:1, :1])},
    "mean_field.sinkhorn_coupling": {"covariance": POSITIVE, "form": SQUARE},
    "mean_field.coupling_error": {"covariance": POSITIVE, "form": SQUARE},
    "mean_field.softmax_covariance": {"form": SQUARE, "covariance": POSITIVE, "time": 0.125},
    "mean_field.blow_up_time": {"form": SQUARE, "covariance": POSITIVE},
    "mean_field.collapse_shape": {"form": NEGATIVE},
    "mean_field.mixture_field": {
        "form": SQUARE, "weights": MASSES, "means": X, "covariances": (POSITIVE, POSITIVE, POSITIVE), "value": SQUARE,
    },
    "dynamics.ring": {"n": 4},
    "dynamics.complete": {"n": 4},
    "dynamics.twisted": {"n": 5, "winding": 1, "dim": 3},
    "dynamics.twisted_balls": {"n": 5, "winding": 1, "dim": 3},
    "GraphField": {"adjacency": RING, "beta": 0.75, "normalised": True},
    "GraphField.__call__": {"self": GraphField(RING, 0.75), "x": twisted(4, 1)},
    "dynamics.consensus_gap": {"x": UNIT},
    "dynamics.mean_length": {"x": UNIT},
    "exact.CollapseField": {
        "centre": np.array([0.6, 0.8]), "beta": 0.75, "form": SQUARE, "normalised": False, "causal": True,
    },
    "exact.CollapseField.state": {"self": CLOSE, "tokens": UNIT[:2] * 0.5 + 0.25},
    "mean_field.gauss_hermite": {"mean": np.array([0.5, -0.25]), "root": SQUARE, "nodes": 3},
    "dynamics.Manufactured": {
        "field": decay, "centre": X, "phase": X + 0.5, "swing": 0.25, "frequency": 1.5, "space": SPHERE,
    },
    "dynamics.Manufactured.path": {"self": MADE, "t": 0.5},
    "dynamics.Manufactured.velocity": {"self": MADE, "t": 0.5},
    "dynamics.Manufactured.force": {"self": MADE, "t": 0.5},
    "run_checkpointed": {"stepper": RungeKutta(decay, 0.125), "start": X, "steps": 2, "every": 60.0},
    "dynamics.fingerprint": {"stepper": WALK.noise, "start": X},
    "exact.ClosestPair": {"points": CLUSTERS, "weights": MASSES / 3.0, "beta": 4.5},
    "exact.antipodal_threshold": {"dim": 4},
    "exact.antipodal_probability": {"beta": 1.5, "dim": 3, "overlap": 0.25},
    "exact.common_noise_step": {
        "tokens": np.array([[[0.6, 0.8, 0.0], [0.0, 0.8, -0.6]]]), "beta": 1.5, "step": 0.01,
        "noise": np.arange(-4.0, 5.0).reshape(1, 3, 3) / 50.0,
    },
    "exact.follow_pair": {"points": CLUSTERS, "weights": MASSES / 3.0, "beta": 4.5, "angles": np.array([0.5, 0.25])},
    "exact.log_asymptote": {**TWO, "corrected": False},
    "exact.log_lifetime": {**TWO, "end": 0.25, "normalised": False},
    "exact.meeting_point": TWO,
    "exact.GapField": {"beta": 0.75, "normalised": False, "pre_norm": False},
    "exact.GapField.__call__": {"self": GapField(0.75), "state": GAPS},
    "exact.gaps": {"x": UNIT},
    "first_passage_time": {
        "field": decay, "start": np.array([1.0]), "event": half, "horizon": 2.0, "rtol": 1e-6, "atol": 1e-8,
        "method": "RK45",
    },
    "dynamics.Method": {name: getattr(RK4, name) for name in ("name", "order", "a", "b", "c", "source")},
    "RungeKutta": {"field": driven, "step": 0.125, "method": RK4, "space": FLAT, "time": 0.5},
    "RungeKutta.checked": {"self": RungeKutta(decay, 0.125), "start": X},
    "integrate": {
        "field": driven, "start": X, "step": 0.125, "steps": 2, "method": RK4, "space": FLAT, "time": 0.5,
    },
    "exact.cross_ratio_rates": {"theta": ANGLES, "velocity": ANGLES * 0.5},
    "exact.cross_ratios": {"theta": ANGLES},
    "exact.distance_to_consensus": {"theta": ANGLES},
    "exact.mean_overlap": {"theta": ANGLES},
    "exact.poisson_quantiles": {"n": 4, "radius": 0.5},
    "exact.rate_of_approach": {"theta": ANGLES, "velocity": ANGLES * 0.5},
    "exact.spectrum": {"matrix": sphere_jacobian(np.array([[1.0, 0.0], [1.0, 0.0]]))},
    "exact.sphere_jacobian": {
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
    "mean_field.mean_field_deviation": {"alpha": 0.25, "time": 0.5},
    "mean_field.tagged_variance": {"dim": 2, "alpha": 0.25, "time": 0.5, "feedback": False},
    "mean_field.linear_displacement": {"start": LINE[:, None], "alpha": 0.25, "time": 0.5, "feedback": False},
    "exact.equiangular_tokens": {"n": 4, "overlap": 0.5},
    "exact.output_overlaps": {"tokens": UNIT, "beta": 0.75},
    "exact.squared_derivative": {"tokens": UNIT, "beta": 0.75, "tangent": X},
    "exact.jacobian_size": {"n": 4, "overlap": 0.5, "beta": 0.75, "tangential": False},
    "exact.layer_statistics": {"n": 6, "overlap": 0.5, "beta": 0.75},
    "mean_field.delta_method": {"mu": MU, "tilt": np.array([0.5, -0.25])},
    "mean_field.gaussian_fluctuation": {"covariance": POSITIVE, "tilt": np.array([0.5, -0.25])},
    "mean_field.participation": {"tilt": 0.75, "keys": 16},
    "mean_field.ZonalFreeEnergy": {"beta": 1.5, "dim": 3, "nodes": 16, "degrees": 6},
    "mean_field.ZonalFreeEnergy.branch": {"self": BALL, "field": 0.75},
    "mean_field.ZonalFreeEnergy.descend": {"self": BALL, "strength": 0.75, "start": np.array([0.5, 0.25, 0.125])},
    "mean_field.couplings": {"beta": 1.5, "degree": 2, "dim": 3},
    "mean_field.threshold": {"beta": 1.5, "dim": 3},
    "mean_field.enclose_free_energy": {"beta": 1.5, "potential": np.array([0.5, 0.25]), "dim": 3, "degrees": 4},
    "mean_field.growth_rates": {"beta": 1.5, "degree": 2, "dim": 3, "normalised": False},
    "mean_field.crossover_beta": {"degree": 2, "dim": 2},
    "mean_field.cosine_quantiles": {"n": 5, "degree": 2, "amplitude": 0.25},
    "mean_field.fourier_mode": {"angles": ANGLES, "degree": 2},
    "mean_field.mode_growth": {"field": CircleField(0.75), "angles": ANGLES, "degree": 2},
    "dynamics.perturbation.stability": {"fields": (decay, decay), "states": (X, X * 0.5), "step": 0.125, "space": FLAT},
    "dynamics.perturbation.jacobian": {"field": decay, "x": X, "space": FLAT},
    "dynamics.perturbation.rounding": {
        "method": RK4, "step": 0.125, "steps": 8, "stable": Stability(1.5, 2.5), "size": 1.5, "speed": 0.75,
        "relative": 1e-12,
    },
    "mean_field.atomic_moments": {"mu": MU, "tilt": np.array([0.5, -0.25]), "sizes": (8, 16)},
    "mean_field.gaussian_moments": {"covariance": POSITIVE, "tilt": np.array([0.5, -0.25]), "sizes": (8, 16)},
    "mean_field.self_normalised.along_tilt": {"p": 0.75, "sizes": (8, 16)},
    "exact.merging.interaction_energy": {"points": CLUSTERS, "weights": MASSES, "beta": 1.5},
    "exact.merging.shortfall": {"x": CLUSTERS},
    "exact.frame_of": {"centre": np.array([0.6, 0.8])},
    "mean_field.gaussian.as_pair": {"form": SQUARE, "covariance": POSITIVE},
    "mean_field.zonal_polynomials": {"u": ball(0.5), "degree": 3, "dim": 3},
    "mean_field.zonal_means": {"kernel": plain, "degree": 2, "dim": 3, "panels": 4},
}  # fmt: skip

SKIPPED = {
    "Approach": "what follow_pair returns",
    "Trajectory": "what flow returns",
    "OutputMoments": "what atomic_moments and gaussian_moments return",
    "Stability": "what stability returns",
    "Scheme": "what is known of a scheme; only those of the package are taken",
}
ALIASES = {
    ("exact.follow_coarsening", "beta"): ("angles",),
    "tilt": ("p",),
    ("mean_field.DistanceAttention.output", "x"): ("score",),
    ("mean_field.DistanceAttention.enclosed", "x"): ("score",),
    ("mean_field.DistanceAttention.enclosed", "root"): ("centres",),
    ("mean_field.enclose_hermite", "x"): ("score",),
    ("mean_field.enclose_lattice", "x"): ("score",),
}
SHAPES = "numbers of any shape"
ACCEPTED = {
    ("exact.slowest_rate", "gap", "rank"): SHAPES,
    ("exact.Equiangular.*", "gap", "rank"): SHAPES,
    ("exact.Equiangular.gap", "times", "rank"): SHAPES,
    ("exact.GapField.__call__", "state", "rank"): "leading axes are batches",
    ("flow", "start", "rank"): SHAPES,
    ("first_passage_time", "start", "rank"): SHAPES,
    ("run_checkpointed", "start", "rank"): SHAPES,
    ("dynamics.fingerprint", "start", "rank"): SHAPES,
    ("integrate", "start", "rank"): SHAPES,
    ("RungeKutta.checked", "start", "rank"): SHAPES,
    ("dynamics.perturbation.jacobian", "x", "rank"): SHAPES,
    ("RungeKutta", "time", "none"): "a field without a clock",
    ("Diffusion", "drift", "none"): "noise alone",
    ("dynamics.Method", "name", "text"): "any name",
    ("dynamics.Method", "source", "text"): "any source",
    ("dynamics.Method", "name", "blank"): "any name",
    ("dynamics.Method", "source", "blank"): "any source",
}
STEPS = "every step of an integrator calls it; a trial step may go anywhere, and is rejected by its NaN"
NEVER = "ArithmeticError, as documented: it does not happen in the time given"
LEFT = "OverflowError, as documented: a step left float64"
LISTED = {
    ("Tangential.__call__", "x", "1e?00"): STEPS,
    ("GraphField.__call__", "x", "1e?00"): STEPS,
    ("first_passage_time", "start", "*"): NEVER,
    ("first_passage_time", "horizon", "denormal"): NEVER,
    ("integrate", "step", "1e?00"): LEFT,
    (
        "exact.sign_patterns",
        "points",
        "1e?00",
    ): "ArithmeticError, as documented: such points are in no general position",
    (
        "exact.sign_patterns",
        "points",
        "denormal",
    ): "ArithmeticError, as documented: such points are in no general position",
    ("exact.merging.*", "*", "*"): "parts of the field of a pair, which has checked what they are given",
    (
        "mean_field.zonal_polynomials",
        "u",
        "*",
    ): "whatever can be added and multiplied: an array, a ball, a power series",
}
INFINITE = {
    # the gap of a pair without others, as documented
    "exact.ClosestPair", "exact.follow_pair", "exact.follow_coarsening",
    "mean_field.blow_up_time",  # of what never blows up, as documented
    "dynamics.perturbation.rounding",  # a bound that knows nothing
    "exact.output_overlaps",  # intervals that know nothing
    "exact.slowest_pair",  # an interval that knows nothing, beside a gap
}  # fmt: skip
