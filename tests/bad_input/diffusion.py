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
    balanced_tokens,
    heat_multiplier,
)
from theory.diffusion.geometry import Modulated, Reparametrised
from theory.diffusion.layers import ellipse, field
from theory.diffusion.limits.sampling import chordal_output
from theory.diffusion.similarity import LogDistance, Profile
from theory.evidence import Interval


def wave(x):
    """Return a function of angles or heights."""
    return 1.5 + 0.25 * np.cos(np.asarray(x))


def first_wave(x):
    """Return the same of the first coordinate of points."""
    return wave(x[:, 0])


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
LEVELS = ((Interval(0.5, 0.75), Interval(1.0, 1.25)), (Interval(0.25, 0.5), Interval(0.5, 0.75)))

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
    "PeriodicGrid.multiplied": {"self": GRID, "values": H, "multiplier": HEAT},
    "PeriodicGrid.laplacian": {"self": GRID, "values": H},
    "PeriodicGrid.gradient": {"self": TORUS, "values": NEAR[:1, :1] + np.zeros((4, 4))},
    "PeriodicGrid.rounding": {"self": GRID, "values": H, "largest": 1.5},
    "Neighbourhoods": {"grid": GRID, "density": P, "queries": np.array([[0.5], [1.5]]), "share": 0.25},
    "Neighbourhoods.masses": {"self": BALLS, "values": H, "radii": np.array([0.5, 1.5])},
    "Neighbourhoods.average": {"self": BALLS, "values": H},
    "Neighbourhoods.rounding": {"self": BALLS, "values": H},
    "balance_error": {"found": balanced_tokens(X, score=SCORE), "values": Y, "queries": Y},
    "balanced_tokens": {"points": X, "score": SCORE, "masses": MASSES, "steps": 120},
    "reweighted": {**ON, "multiplier": HEAT, "alpha": 0.5},
    "sinkhorn_change": {**ON, "multiplier": HEAT},
    "chordal": {"epsilon": 0.25},
    "chordal_multiplier": {"epsilon": 0.25},
    "convolved": {**ON, "multiplier": HEAT},
    "heat_multiplier": {"epsilon": 0.25},
    "propagate": {
        "queries": X, "keys": Y, "values": X, "epsilon": 0.25, "score": SCORE, "masses": MASSES, "method": "dense",
        "accuracy": 1e-9,
    },
    "sphere_multipliers": {"degrees": 3, "b": 1.5},
    "operators.bessel_quotients": {"top": 3, "b": 1.5, "least": 0.5},
    "axioms.defects": {"values": NEAR},
    "axioms.relaxed": {"values": NEAR, "factor": 1.5},
    "axioms.distances": {"points": X},
    "axioms.angles": {"points": X},
    "axioms.cosine_gaps": {"points": X},
    "axioms.kernel_distances": {"points": X, "scale": 0.75},
    "bandwidth.StepError": ON,
    "bandwidth.StepError.step": {"self": ERROR, "epsilon": 0.25},
    "bandwidth.StepError.variance": {"self": ERROR, "epsilon": 0.25, "extrapolated": True},
    "bandwidth.StepError.best": {"self": ERROR, "node": (2,), "n": 100.0, "extrapolated": False},
    "bandwidth.least": {"function": bowl, "low": 0.125, "high": 1.5},
    "bilinear.resultant": {"dim": 3, "b": 1.5},
    "bilinear.Bilinear": {"form": SQUARE},
    "bilinear.Bilinear.score": {"self": BOTH, "epsilon": 0.25},
    "bilinear.Bilinear.strength": {"self": BOTH, "query": X[0]},
    "bilinear.Bilinear.minimiser": {"self": BOTH, "query": X[0], "shape": POSITIVE},
    "bilinear.Bilinear.propagated": {
        "self": BOTH, "query": X[0], "function": X[1], "tilt": np.array([0.25, -0.5]), "epsilon": 0.25,
    },
    "bilinear.sphere_tokens": {"polar": 3, "around": 4},
    "bilinear.radial_multiplier": {"radius": 1.5, "epsilon": 0.25},
    "bilinear.hot_expansion": {"keys": X, "values": Y, "pull": np.array([0.5, -0.25]), "masses": MASSES},
    "boundary.gauss_tokens": {"ends": np.array([0.0, 0.5, 1.5]), "nodes": 3},
    "boundary.layer_rise": {"function": wave, "density": wave, "epsilon": 0.25, "place": 0.5},
    "boundary.segment_stack": {"function": wave, "epsilon": 0.25, "time": 0.25, "places": np.array([0.25, 0.5])},
    "curves.Ellipse": {"a": 1.5, "b": 0.75},
    "curves.Ellipse.features": {"self": Ellipse(1.5, 0.75), "x": ANGLES[:, None]},
    "curves.Reparametrised": {"strength": 0.5},
    "curves.Reparametrised.features": {"self": Reparametrised(0.5), "x": ANGLES[:, None]},
    "curves.Modulated": {"strength": 0.5, "symmetric": False},
    "curves.change": {"curve": Modulated(0.5), "density": CIRCLE, "function": wave, "epsilon": 0.0625, "x": 0.5},
    "curves.root_length": {"curve": Modulated(0.5), "angles": ANGLES},
    "curves.linear_multiplier": {"epsilon": 0.25, "matrix": SQUARE},
    "equilibrium.as_rows": {"rows": ROWS, "error": 1e-12},
    "equilibrium.stationary": {"rows": ROWS, "error": 1e-12},
    "equilibrium.spectrum": {"rows": ROWS, "error": 1e-12},
    "equilibrium.rates_below": {"level": Fraction(1, 2), "height": 2, "wells": 2, "sector": 1, "modes": 20},
    "equilibrium.rate": {"height": 1, "index": 1, "wells": 2, "sector": 0},
    "equilibrium.scaled": {"rate": Interval(0.5, 0.75), "height": 2, "power": 1},
    "gradient_flow.field": {"tokens": X, "form": SQUARE, "value": POSITIVE, "normaliser": "sinkhorn", "sweeps": 2},
    "gradient_flow.asymmetry": {"derivative": field(X, SQUARE, normaliser="softmax").derivative},
    "graphs.GraphScore": {"left": X[0], "right": X[1], "slope": 0.25, "temperature": 1.5},
    "graphs.GraphScore.matrix": {"self": GraphScore(X[0], X[1]), "x": X, "y": Y},
    "graphs.masked": {"weights": ROWS, "adjacency": NEAR},
    "graphs.convolved_features": {"adjacency": NEAR, "features": X},
    "kernels.kernel_multiplier": {"name": "ball", "epsilon": 0.25, "dim": 2},
    "ladders.extrapolated": {"levels": LEVELS, "order": 2},
    "ladders.worst": {"levels": LEVELS, "truth": (0.5, 0.75)},
    "laplace.GeneralScore": {"dissimilarity": squares, "epsilon": 0.25, "error": 1e-12},
    "laplace.GeneralScore.matrix": {"self": GENERAL, "x": X, "y": Y},
    "laplace.lattice": {"centre": X[0], "widths": MASSES[:2], "reach": 2.5, "per_width": 1.5},
    "laplace.concentrated": {
        "score": GENERAL, "query": np.array([0.5]), "centre": np.array([0.5]), "widths": np.array([0.5]),
        "function": first_wave, "density": first_wave, "reach": 10.0,
    },
    "laplace.first_order": {
        "hessian": POSITIVE, "third": np.ones((2, 2, 2)), "log_slope": X[0], "gradient": X[1], "second": SQUARE,
    },
    "minimisers.Profile": {"second": MASSES, "third": MASSES * 0.5, "fourth": MASSES * 0.25, "volume": 0.5},
    "minimisers.Profile.correction": {"self": ALONG, "value": MASSES, "slope": MASSES, "curvature": MASSES},
    "minimisers.along": {"profile": ALONG, "density": THREE, "product": THREE * 0.5},
    "minimisers.fibred": {
        "score": GENERAL, "query": np.array([0.5, 0.25]), "centre": 0.5, "width": 0.25, "function": first_wave,
        "density": first_wave, "nodes": 8,
    },
    "neighbours.ball_transform": {"lengths": np.array([0.5, 1.5]), "radii": np.array([0.25, 0.75]), "dim": 2},
    "normalisers.balanced_law": {"grid": GRID, "density": P, "multiplier": HEAT, "steps": 20},
    "normalisers.swept_law": {"grid": GRID, "density": P, "multiplier": HEAT, "sweeps": 2},
    "pipeline.chain": {"stages": (np.abs, np.sqrt)},
    "pipeline.metric_similarity": {"distances": NEAR, "t": 2.0, "c": 1.5},
    "pipeline.inflation": {"similarity": NEAR, "r": 2.0},
    "pipeline.exponential_inflation": {"similarity": NEAR, "sigma": MASSES},
    "pipeline.by_rows": {"similarity": NEAR},
    "pipeline.by_columns": {"similarity": NEAR},
    "pipeline.two_sided": {"similarity": NEAR},
    "pipeline.overall": {"similarity": NEAR},
    "pipeline.without_self": {"similarity": NEAR},
    "pipeline.symmetrised": {"similarity": NEAR},
    "pipeline.fuzzy_union": {"similarity": NEAR},
    "revolution.Revolution": {"density": CIRCLE, "steepest": 0.75},
    "revolution.Revolution.radius": {"self": Revolution(CIRCLE), "x": ANGLES},
    "revolution.Revolution.height": {"self": Revolution(CIRCLE), "x": ANGLES},
    "revolution.Revolution.points": {"self": Revolution(CIRCLE), "x": ANGLES, "theta": ANGLES},
    "sampling.SampledOutput": {name: getattr(DRAWN, name) for name in ("kernel", "masses", "values")},
    "sampling.SampledOutput.moments": {"self": DRAWN, "counts": (2, 4), "own": 0.5},
    "sampling.SampledOutput.coverage": {"self": DRAWN, "counts": (2, 4), "reaches": np.array([0.5, 0.25])},
    "sampling.chordal_output": {
        "grid": GRID, "density": P / P.sum() * 8.0 / (2.0 * np.pi), "values": H, "place": np.array([0.5]),
        "epsilon": 0.25,
    },
    "sampling.draw": {"density": PLAIN, "rng": np.random.default_rng(0), "n": 3},
    "self_dynamics.moved": {"tokens": X, "epsilon": 0.25, "masses": MASSES},
    "self_dynamics.rounded": {"tokens": X, "epsilon": 0.25, "masses": MASSES},
    "self_dynamics.ellipse": {"first": 1.5, "second": 0.75, "nodes": 8},
    "self_dynamics.sphere_tokens": {"dim": 2, "nodes": 4},
    "self_dynamics.sphere_layer": {"radius": Interval(1.0, 1.0), "epsilon": 0.25, "dim": 2},
    "self_dynamics.sphere_radii": {"start": 1.0, "epsilon": 0.25, "dim": 2, "layers": 1, "kept": False},
    "self_dynamics.line_tokens": {
        "means": MASSES, "variances": MASSES * 0.5, "shares": MASSES, "step": 0.25,
    },
    "self_dynamics.shortening": {"curve": ellipse(1.5, 0.75, 8), "epsilon": 0.25, "layers": 1},
    "stacking.depth": {"time": 0.5, "epsilon": 0.25},
    "stacking.stacked": {"layer": TokenLayer(X, 0.25), "values": X, "depths": (1, 2)},
    "stacking.TokenLayer": {"keys": X, "epsilon": 0.25, "score": SCORE, "masses": MASSES, "queries": Y},
    "stacking.TorusLayer": {"grid": GRID, "density": P, "multiplier": HEAT},
    "stacking.ZonalLayer": {"density": wave, "b": 1.5, "nodes": 8},
    "zoo.LogDistance": {"power": 1.5, "offset": 0.5},
    "zoo.LogDistance.matrix": {"self": LogDistance(1.5, 0.5), "x": X, "y": Y},
    "zoo.laws": {"queries": X, "keys": Y, "score": SCORE, "bias": MASSES},
    "zoo.regrouped": {
        "points": X, "centres": Y, "score": SCORE, "power": 1.5, "back": DotProduct(0.5), "bias": MASSES, "values": Y,
    },
    "zoo.nearest": {"scores": X, "k": 1},
    "zoo.unnormalised": {"queries": X, "keys": Y, "coefficients": MASSES, "score": SCORE},
    "zoo.density_corrected": {"tokens": X, "score": SCORE, "alpha": 0.5, "queries": Y},
}  # fmt: skip

SKIPPED = {}
ALIASES = {
    "tokens": ("score",),  # of which the layer makes one, with distances that leave float64
    ("balance_error", "queries"): ("score",),
    ("sampling.chordal_output", "density"): ("masses",),  # which it makes of the density
    ("laplace.concentrated", "query"): ("dissimilarity",),
    ("laplace.concentrated", "centre"): ("dissimilarity",),
    ("laplace.concentrated", "widths"): ("dissimilarity",),
    ("minimisers.fibred", "query"): ("dissimilarity",),
    ("minimisers.fibred", "centre"): ("dissimilarity",),
    ("zoo.regrouped", "points"): ("score",),
}
SHAPES = "numbers of any shape, none among them"
ACCEPTED = {
    ("CircleDensity.*", "x", "empty"): SHAPES,
    ("CircleDensity.*", "x", "rank"): SHAPES,
    ("equilibrium.rates_below", "level", "number"): "any number",
    ("equilibrium.rates_below", "modes", "none"): "as many as matter",
    ("graphs.GraphScore", "slope", "none"): "the even function",
    ("neighbours.ball_transform", "*", "rank"): "numbers of any shape",
    ("stacking.stacked", "values", "rank"): "whatever the layer takes",
    ("zoo.nearest", "scores", "-inf"): "a masked score",
}
LISTED = {}
INFINITE = {
    # bounds that know nothing, alone or beside a value
    "PeriodicGrid.rounding", "Neighbourhoods.rounding", "sinkhorn_change", "equilibrium.stationary",
    "equilibrium.spectrum", "laplace.GeneralScore", "zoo.laws", "zoo.regrouped",
    # intervals or balls that know nothing, in a tuple or a list
    "bandwidth.StepError.best", "gradient_flow.field", "sampling.SampledOutput.moments",
    "sampling.SampledOutput.coverage",
}  # fmt: skip
