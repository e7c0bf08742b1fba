"""One valid call of everything that theory.diffusion shows, and of what its modules have beside."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.diffusion import (
    Bilinear,
    CircleDensity,
    Ellipse,
    GeneralScore,
    GraphScore,
    Neighbourhoods,
    PeriodicGrid,
    Revolution,
    StepError,
    TokenLayer,
    balance_tokens,
    heat_multiplier,
)
from theory.diffusion.geometry import Modulated, Reparametrised
from theory.diffusion.layers import ellipse, velocity_field
from theory.diffusion.limits.sampling import chordal_output
from theory.diffusion.moving import CircleLayer, NoisyLayer
from theory.diffusion.similarity import LogDistance, Profile
from theory.evidence import Interval, Kind, Table


def wave(x):
    """Return a function of angles or heights."""
    return 1.5 + 0.25 * np.cos(np.asarray(x))


def flat(x, y):
    """Return equal masses of a lattice."""
    return np.ones(np.broadcast_shapes(x.shape, y.shape))


def turned(x, y):
    """Return a dissimilarity of angles that is least a half ahead."""
    return 1.0 - np.cos((y - x)[..., 0] - 0.5)


def first_wave(x):
    """Return the same of the first coordinate of points."""
    return wave(x[:, 0])


def decay(u, d, x):
    """Return an equation without derivatives."""
    return -u


def squares(x, y):
    """Return squared distances of points that broadcast."""
    return np.square(x - y).sum(axis=-1)


def bowl(x):
    """Return a function that falls and then rises, and its error."""
    return (np.log(x) + 1.0) ** 2 + 0.5, 1e-12


X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
SQUARE = np.array([[1.5, 0.25], [-0.5, 0.75]])
POSITIVE = np.array([[1.5, 0.25], [0.25, 0.75]])
MASSES = np.array([0.5, 1.5, 1.0])
ROWS = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
NEAR = np.array([[0.5, 0.25, 0.75], [0.25, 0.5, 0.125], [0.75, 0.125, 0.5]])
SCORE = SquaredDistance(0.75)
GRID = PeriodicGrid((8,))
TORUS = PeriodicGrid((4, 4))
ANGLES = GRID.axes[0]
P = 1.0 + 0.25 * np.cos(ANGLES)
H = np.sin(ANGLES)
HEAT = heat_multiplier(0.25)
CIRCLE = CircleDensity(np.array([0.25, 0.125]), np.array([0.5, 0.0]))
PLAIN = CircleDensity(np.array([0.25]), np.array([0.125]), logarithmic=False)
ON = {"grid": GRID, "density": P, "values": H}
ERROR = StepError(GRID, P, H)
BOTH = Bilinear(SQUARE)
BALLS = Neighbourhoods(GRID, P, np.array([[0.5], [1.5]]), 0.25)
GENERAL = GeneralScore(squares, 0.25, 1e-12)
ALONG = Profile(MASSES, MASSES * 0.5, MASSES * 0.25)
DRAWN = chordal_output(GRID, P / P.sum() * 8.0 / (2.0 * np.pi), H, np.array([0.5]), 0.25)
THREE = np.stack([P, H, P])[:, :3] + 1.0
FEW = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0], [1.5, 0.25]])
LEVELS = ((Interval(0.5, 0.75), Interval(1.0, 1.25)), (Interval(0.25, 0.5), Interval(0.5, 0.75)))

READ = [Interval(0.5, 0.75), Interval(0.25, 0.5)]
STUDY = Table(Kind.NUMERIC, {"epsilon": "1", "value": "1"}, {"epsilon": [0.5, 0.25], "value": READ})

VALID = {
    "CircleDensity": {"cosines": np.array([0.25, 0.125]), "sines": np.array([0.5, 0.0]), "logarithmic": True},
    "CircleDensity.__call__": {"self": CIRCLE, "x": ANGLES},
    "CircleDensity.log_slope": {"self": CIRCLE, "x": ANGLES},
    "CircleDensity.cumulative": {"self": CIRCLE, "x": ANGLES},
    "CircleDensity.quantiles": {"self": CIRCLE, "levels": np.array([0.25, 0.5])},
    "CircleDensity.tokens": {"self": CIRCLE, "n": 3},
    "CircleDensity.sample": {"self": CIRCLE, "rng": np.random.default_rng(0), "n": 3},
    "drift_diffusion": {**ON, "kappa": 0.5, "inverse_metric": np.array([[1.5]])},
    "semigroup": {"generator": SQUARE, "time": 0.5, "values": np.array([0.5, 1.5])},
    "PeriodicGrid": {"shape": (8, 4)},
    "PeriodicGrid.integral": {"self": GRID, "values": H},
    "PeriodicGrid.multiply": {"self": GRID, "values": H, "multiplier": HEAT},
    "PeriodicGrid.laplacian": {"self": GRID, "values": H},
    "PeriodicGrid.gradient": {"self": TORUS, "values": NEAR[:1, :1] + np.zeros((4, 4))},
    "PeriodicGrid.rounding": {"self": GRID, "values": H, "largest": 1.5},
    "Neighbourhoods": {"grid": GRID, "density": P, "queries": np.array([[0.5], [1.5]]), "share": 0.25},
    "Neighbourhoods.masses": {"self": BALLS, "values": H, "radii": np.array([0.5, 1.5])},
    "Neighbourhoods.average": {"self": BALLS, "values": H},
    "Neighbourhoods.rounding": {"self": BALLS, "values": H},
    "limits.balance_error": {"found": balance_tokens(X, score=SCORE), "values": Y, "queries": Y},
    "balance_tokens": {"points": X, "score": SCORE, "weights": MASSES, "steps": 120},
    "convolve_reweighted": {**ON, "multiplier": HEAT, "alpha": 0.5},
    "limits.sinkhorn_change": {**ON, "multiplier": HEAT},
    "chordal": {"epsilon": 0.25},
    "chordal_multiplier": {"epsilon": 0.25},
    "convolve": {**ON, "multiplier": HEAT},
    "heat_multiplier": {"epsilon": 0.25},
    "propagate": {
        "queries": X, "keys": Y, "values": X, "epsilon": 0.25, "score": SCORE, "weights": MASSES, "method": "dense",
        "accuracy": 1e-9,
    },
    "limits.sphere_multipliers": {"degrees": 3, "b": 1.5},
    "limits.bessel_quotients": {"top": 3, "b": 1.5, "least": 0.5},
    "similarity.defects": {"values": NEAR},
    "similarity.relaxed_excess": {"values": NEAR, "factor": 1.5},
    "similarity.distances": {"points": X},
    "similarity.angles": {"points": X},
    "similarity.cosine_gaps": {"points": X},
    "similarity.kernel_distances": {"points": X, "scale": 0.75},
    "StepError": ON,
    "StepError.step": {"self": ERROR, "epsilon": 0.25},
    "StepError.variance": {"self": ERROR, "epsilon": 0.25, "extrapolated": True},
    "StepError.best": {"self": ERROR, "node": (2,), "n": 100.0, "extrapolated": False},
    "limits.bandwidth.least": {"function": bowl, "low": 0.125, "high": 1.5},
    "similarity.bilinear.resultant": {"dim": 3, "b": 1.5},
    "Bilinear": {"form": SQUARE},
    "Bilinear.score": {"self": BOTH, "epsilon": 0.25},
    "Bilinear.strength": {"self": BOTH, "query": X[0]},
    "Bilinear.minimiser": {"self": BOTH, "query": X[0], "shape": POSITIVE},
    "Bilinear.average_linear": {
        "self": BOTH, "query": X[0], "function": X[1], "tilt": np.array([0.25, -0.5]), "epsilon": 0.25,
    },
    "similarity.sphere_tokens": {"polar": 3, "around": 4},
    "similarity.radial_multiplier": {"radius": 1.5, "epsilon": 0.25},
    "similarity.hot_expansion": {"keys": X, "values": Y, "pull": np.array([0.5, -0.25]), "weights": MASSES},
    "geometry.coordinates": {"d": 2},
    "geometry.gauss_tokens": {"ends": np.array([0.0, 0.5, 1.5]), "nodes": 3},
    "geometry.heat_flow": {
        "metric": lambda x: [[wave(x) ** 2]], "start": wave, "time": 0.25, "places": np.array([[0.5], [1.5]]),
        "nodes": (7,), "weight": wave, "speed": wave,
    },
    "geometry.layer_rise": {"function": wave, "density": wave, "epsilon": 0.25, "place": 0.5},
    "geometry.segment_stack": {"function": wave, "epsilon": 0.25, "time": 0.25, "places": np.array([0.25, 0.5])},
    "Ellipse": {"a": 1.5, "b": 0.75},
    "Ellipse.features": {"self": Ellipse(1.5, 0.75), "x": ANGLES[:, None]},
    "geometry.Reparametrised": {"strength": 0.5},
    "geometry.Reparametrised.features": {"self": Reparametrised(0.5), "x": ANGLES[:, None]},
    "geometry.Modulated": {"strength": 0.5, "symmetric": False},
    "geometry.layer_change": {
        "curve": Modulated(0.5), "density": CIRCLE, "function": wave, "epsilon": 0.0625, "x": 0.5,
    },
    "geometry.root_length": {"curve": Modulated(0.5), "angles": ANGLES},
    "geometry.linear_multiplier": {"epsilon": 0.25, "matrix": SQUARE},
    "layers.equilibrium.as_rows": {"rows": ROWS},
    "layers.stationary_law": {"rows": ROWS},
    "layers.stationary_means": {"rows": ROWS, "values": X},
    "layers.chain_spectrum": {"rows": ROWS},
    "layers.count_rates": {"level": Fraction(1, 2), "height": 2, "wells": 2, "sector": 1, "modes": 20},
    "layers.relaxation_rate": {"height": 1, "index": 1, "wells": 2, "sector": 0},
    "layers.scale_rate": {"rate": Interval(0.5, 0.75), "height": 2, "power": 1},
    "layers.velocity_field": {"tokens": X, "form": SQUARE, "value": POSITIVE, "normaliser": "sinkhorn", "sweeps": 2},
    "layers.asymmetry": {"derivative": velocity_field(X, SQUARE, normaliser="softmax").derivative},
    "GraphScore": {"left": X[0], "right": X[1], "slope": 0.25, "temperature": 1.5},
    "GraphScore.matrix": {"self": GraphScore(X[0], X[1]), "x": X, "y": Y},
    "similarity.attend_graph": {"weights": ROWS, "adjacency": NEAR},
    "similarity.convolve_features": {"adjacency": NEAR, "features": X},
    "limits.average_balanced": {"queries": X, "points": Y, "values": X, "score": SCORE, "weights": MASSES},
    "limits.divide_series": {"above": (1.0, 0.5, 0.25), "below": (2.0, 1.0, 0.5)},
    "limits.enclose_rows": {"found": balance_tokens(X, score=SCORE)},
    "limits.laplace_series": {"f": (0.0, 0.0, 1.5, 0.5, 0.25), "g": (1.0, 0.5, 0.25), "terms": 2},
    "limits.quantile_aliases": {"density": CIRCLE, "function": np.sin, "epsilon": 0.25, "counts": (12, 16)},
    "limits.read_levels": {"table": STUDY, "name": "value", "by": "epsilon"},
    "limits.sweep_shift": {"places": MASSES, "variance": 1.5, "epsilon": 0.5, "sweeps": 2},
    "limits.kernel_multiplier": {"name": "ball", "epsilon": 0.25, "dim": 2},
    "limits.extrapolate": {"levels": LEVELS, "order": 2},
    "limits.largest_errors": {"levels": LEVELS, "truth": (0.5, 0.75)},
    "GeneralScore": {"dissimilarity": squares, "epsilon": 0.25, "error": 1e-12},
    "GeneralScore.matrix": {"self": GENERAL, "x": X, "y": Y},
    "limits.lattice": {"centre": X[0], "widths": MASSES[:2], "reach": 2.5, "per_width": 1.5},
    "limits.average_at_peak": {
        "score": GENERAL, "query": np.array([0.5]), "centre": np.array([0.5]), "widths": np.array([0.5]),
        "function": first_wave, "density": first_wave, "reach": 10.0,
    },
    "limits.peak_correction": {
        "hessian": POSITIVE, "third": np.ones((2, 2, 2)), "log_slope": X[0], "gradient": X[1], "second": SQUARE,
    },
    "similarity.Profile": {"second": MASSES, "third": MASSES * 0.5, "fourth": MASSES * 0.25, "volume": 0.5},
    "similarity.Profile.correction": {"self": ALONG, "value": MASSES, "slope": MASSES, "curvature": MASSES},
    "similarity.expand_along": {"profile": ALONG, "density": THREE, "product": THREE * 0.5},
    "similarity.average_along": {
        "score": GENERAL, "query": np.array([0.5, 0.25]), "centre": 0.5, "width": 0.25, "function": first_wave,
        "density": first_wave, "nodes": 8,
    },
    "similarity.neighbours.ball_transform": {
        "lengths": np.array([0.5, 1.5]), "radii": np.array([0.25, 0.75]), "dim": 2,
    },
    "limits.normalisers.balance_law": {"grid": GRID, "density": P, "multiplier": HEAT, "steps": 20},
    "limits.sweep_law": {"grid": GRID, "density": P, "multiplier": HEAT, "sweeps": 2},
    "similarity.compose": {"stages": (np.abs, np.sqrt)},
    "similarity.metric_similarity": {"distances": NEAR, "t": 2.0, "c": 1.5},
    "similarity.inflate": {"similarity": NEAR, "r": 2.0},
    "similarity.inflate_exponentially": {"similarity": NEAR, "sigma": MASSES},
    "similarity.normalise_rows": {"similarity": NEAR},
    "similarity.normalise_columns": {"similarity": NEAR},
    "similarity.normalise_two_sided": {"similarity": NEAR},
    "similarity.normalise_overall": {"similarity": NEAR},
    "similarity.clear_diagonal": {"similarity": NEAR},
    "similarity.symmetrise": {"similarity": NEAR},
    "similarity.fuzzy_union": {"similarity": NEAR},
    "Revolution": {"density": CIRCLE, "steepest": 0.75},
    "Revolution.radius": {"self": Revolution(CIRCLE), "x": ANGLES},
    "Revolution.height": {"self": Revolution(CIRCLE), "x": ANGLES},
    "Revolution.points": {"self": Revolution(CIRCLE), "x": ANGLES, "theta": ANGLES},
    "SampledOutput": {name: getattr(DRAWN, name) for name in ("kernel", "masses", "values")},
    "SampledOutput.moments": {"self": DRAWN, "counts": (2, 4), "own": 0.5},
    "SampledOutput.coverage": {"self": DRAWN, "counts": (2, 4), "reaches": np.array([0.5, 0.25])},
    "limits.compare_halves": {"queries": X, "first": Y, "second": SQUARE, "epsilon": 1.5},
    "limits.smallest_bandwidth": {
        "queries": X, "first": FEW, "second": -FEW[::-1], "widest": 16.0, "share": 0.25
    },
    "limits.seen_dimension": {"queries": X, "keys": Y, "epsilon": 1.5},
    "limits.sampling.chordal_output": {
        "grid": GRID, "density": P / P.sum() * 8.0 / (2.0 * np.pi), "values": H, "place": np.array([0.5]),
        "epsilon": 0.25,
    },
    "limits.sampling.draw_angles": {"density": PLAIN, "rng": np.random.default_rng(0), "n": 3},
    "moving.mean_field_deviations": {"epsilon": 0.25, "layers": 2, "value": 0.5},
    "moving.interacting_tokens": {
        "start": X, "epsilon": 0.25, "depths": [0, 2], "value": 0.5, "kept": False, "method": "dense", "accuracy": 1e-9,
    },
    "moving.displacement_variances": {
        "dim": 2, "epsilon": 0.75, "layers": 2, "value": 0.5, "feedback": True, "degree": 12,
    },
    "moving.linear_displacements": {
        "start": X[:, :1], "epsilon": 0.75, "depths": [0, 2], "value": 0.5, "feedback": True, "degree": 12,
    },
    "moving.response_control": {"start": X, "epsilon": 0.75, "depths": [0, 2], "value": 0.5},
    "moving.CircleLayer": {
        "epsilon": 0.25, "step": -0.5, "rule": "softmax", "alpha": 0.5, "context": ANGLES, "among": ANGLES,
    },
    "moving.CircleLayer.__call__": {"self": CircleLayer(0.25), "angles": ANGLES, "weights": 0.5 + 0.0 * ANGLES},
    "moving.CircleLayer.shift": {"self": CircleLayer(0.25), "angles": ANGLES, "weights": 0.5 + 0.0 * ANGLES},
    "moving.NoisyLayer": {"layer": CircleLayer(0.25), "noise": 0.5, "modes": 2},
    "moving.NoisyLayer.__call__": {"self": NoisyLayer(CircleLayer(0.25), 0.5, modes=2), "density": P},
    "moving.circle_density": {"angles": ANGLES, "places": ANGLES, "modes": 2},
    "moving.circle_points": {"angles": ANGLES},
    "moving.turn_angles": {"angles": ANGLES[:3], "shifts": 0.25 * X},
    "moving.far_means": {"queries": X, "tokens": Y, "epsilon": 0.25},
    "moving.solve_density": {"change": decay, "start": wave, "time": 0.25, "places": 4},
    "moving.wave_factor": {"layer": CircleLayer(0.25), "frequency": 2, "layers": 1, "size": 0.125},
    "layers.advance_tokens": {"tokens": X, "epsilon": 0.25, "weights": MASSES},
    "layers.advance_rounding": {"tokens": X, "epsilon": 0.25, "weights": MASSES},
    "moving.agreed_mean": {"coarse": 1.5, "fine": 1.25, "size": 2.0, "layers": 2},
    "moving.lattice_growth": {"period": 4, "turns": 1, "spacing": 1.5, "amplitude": 0.125, "kept": False},
    "moving.mixture_quantiles": {
        "means": MASSES, "variances": MASSES * 0.5, "shares": MASSES, "levels": np.array([0.25, 0.5]),
    },
    "moving.move_tokens": {
        "tokens": X, "epsilon": 0.25, "layers": 2, "weights": MASSES, "step": 0.5, "kept": False,
    },
    "moving.plane_tokens": {
        "means": X, "covariances": np.stack([POSITIVE, POSITIVE, POSITIVE]), "shares": MASSES, "step": 0.5,
        "least": 1e-3,
    },
    "moving.rearranged_distance": {
        "tokens": X, "weights": MASSES, "start": (MASSES, MASSES * 0.5, MASSES), "end": (MASSES, MASSES, MASSES),
    },
    "layers.ellipse": {"first": 1.5, "second": 0.75, "nodes": 8},
    "layers.self_dynamics.height_tokens": {"dim": 2, "nodes": 4},
    "layers.sphere_layer": {"radius": Interval(1.0, 1.0), "epsilon": 0.25, "dim": 2},
    "layers.sphere_radii": {"start": 1.0, "epsilon": 0.25, "dim": 2, "layers": 1, "kept": False},
    "layers.line_tokens": {
        "means": MASSES, "variances": MASSES * 0.5, "shares": MASSES, "step": 0.25,
    },
    "layers.shorten_curve": {"curve": ellipse(1.5, 0.75, 8), "epsilon": 0.25, "layers": 1},
    "layers.count_layers": {"time": 0.5, "epsilon": 0.25},
    "apply_layers": {"layer": TokenLayer(X, 0.25), "values": X, "depths": (1, 2)},
    "TokenLayer": {"keys": X, "epsilon": 0.25, "score": SCORE, "weights": MASSES, "queries": Y},
    "layers.FeatureLayer": {
        "features": X, "epsilon": 0.25, "masses": MASSES, "queries": Y, "copies": np.array([0, 2, 1]),
    },
    "layers.TorusLayer": {"grid": GRID, "density": P, "multiplier": HEAT},
    "layers.ZonalLayer": {"density": wave, "b": 1.5, "nodes": 8},
    "similarity.LogDistance": {"power": 1.5, "offset": 0.5},
    "similarity.LogDistance.matrix": {"self": LogDistance(1.5, 0.5), "x": X, "y": Y},
    "layers.LatticeLayer": {"count": 4, "density": flat, "epsilon": 0.25, "accuracy": 1e-9},
    "layers.resolving_count": {"epsilon": 0.25, "per_width": 3.0, "multiple": 2},
    "layers.score_layer": {
        "dissimilarity": turned, "density": wave, "epsilon": 0.25, "count": 8, "slope": 2.0, "error": 1e-12,
    },
    "layers.orbit_tokens": {"tokens": X, "form": SQUARE, "epsilon": 0.75, "layers": 2},
    "layers.equidistant_layer": {"density": lambda x: 1.0 + 0.25 * np.cos(x), "epsilon": 0.25, "count": 8},
    "similarity.kernel_machine": {"points": X, "labels": np.array([0.0, 1.0, 1.0]), "queries": Y, "scale": 0.7},
    "similarity.lloyd_steps": {"points": X, "centres": Y, "steps": 1},
    "similarity.log_density": {"points": X, "queries": Y, "bandwidth": 0.5},
    "similarity.mixture_step": {"points": X, "centres": Y, "precision": 2.0},
    "similarity.neighbour_means": {"points": X, "values": MASSES, "queries": Y, "k": 1, "bandwidth": 0.5},
    "similarity.biased_weights": {"queries": X, "keys": Y, "score": SCORE, "bias": MASSES},
    "similarity.regroup": {
        "points": X, "centres": Y, "score": SCORE, "power": 1.5, "back": DotProduct(0.5), "bias": MASSES, "values": Y,
    },
    "similarity.nearest_rows": {"scores": X, "k": 1},
    "similarity.attend_unnormalised": {"queries": X, "keys": Y, "coefficients": MASSES, "score": SCORE},
    "similarity.attend_density_corrected": {"tokens": X, "score": SCORE, "alpha": 0.5, "queries": Y},
}  # fmt: skip

SYMBOLIC = "SymPy knows what an expression is"
SKIPPED = {
    "diagonal_metric": SYMBOLIC, "inner_product": SYMBOLIC, "jets": SYMBOLIC, "laplacian": SYMBOLIC,
    "lift_metric": SYMBOLIC, "limit_operator": SYMBOLIC, "mixed_metric": SYMBOLIC, "weighted_divergence": SYMBOLIC,
}  # fmt: skip
ALIASES = {
    "tokens": ("score",),  # of which the layer makes one, with distances that leave float64
    ("limits.balance_error", "queries"): ("score",),
    ("moving.interacting_tokens", "start"): ("score",),
    ("limits.sampling.chordal_output", "density"): ("masses",),  # which it makes of the density
    ("limits.average_at_peak", "query"): ("dissimilarity",),
    ("limits.average_at_peak", "centre"): ("dissimilarity",),
    ("limits.average_at_peak", "widths"): ("dissimilarity",),
    ("similarity.average_along", "query"): ("dissimilarity",),
    ("similarity.average_along", "centre"): ("dissimilarity",),
    ("similarity.regroup", "points"): ("score",),
}
SHAPES = "numbers of any shape, none among them"
ACCEPTED = {
    ("CircleDensity.*", "x", "empty"): SHAPES,
    ("CircleDensity.*", "x", "rank"): SHAPES,
    ("layers.count_rates", "level", "number"): "any number",
    ("layers.count_rates", "modes", "none"): "as many as matter",
    ("GraphScore", "slope", "none"): "the even function",
    ("similarity.neighbours.ball_transform", "*", "rank"): "numbers of any shape",
    ("apply_layers", "values", "rank"): "whatever the layer takes",
    ("similarity.nearest_rows", "scores", "-inf"): "a masked score",
}
LISTED = {}
INFINITE = {
    # bounds that know nothing, alone or beside a value
    "PeriodicGrid.rounding", "Neighbourhoods.rounding", "limits.sinkhorn_change", "layers.stationary_law",
    "layers.chain_spectrum", "GeneralScore", "similarity.biased_weights", "similarity.regroup",
    # intervals or balls that know nothing, in a tuple or a list
    "StepError.best", "layers.velocity_field", "SampledOutput.moments",
    "SampledOutput.coverage",
}  # fmt: skip
