"""What is asked with floats besides the tables of valid calls, and what answers no enclosure, with the reason."""

from __future__ import annotations

import numpy as np

from theory.attention import (
    Dirac,
    DotProduct,
    Head,
    Measure,
    MultiHead,
    SelfAttention,
    SquaredDistance,
    attend,
    prepare,
    read,
)
from theory.attention.measure import as_law
from theory.diffusion import CircleDensity, Neighbourhoods, PeriodicGrid, TokenLayer
from theory.diffusion.layers import FeatureLayer
from theory.diffusion.layers.self_dynamics import PlaneCurve
from theory.diffusion.similarity import radial_multiplier
from theory.evidence import is_enclosed
from theory.lipschitz.certificate import as_attention_weights
from theory.lipschitz.certificate.block import Block
from theory.lipschitz.certificate.feed_forward import activate
from theory.lipschitz.constants import distance_constant, nearness_constant, tied_constants
from theory.lipschitz.depth import attention_bound, concatenated_bound, feed_forward_bound, layer_norm_bound
from theory.maxent import softmax, softmax_value
from theory.metric import attention_weights, average_tokens, make_similarity, sizes_of, vjp
from theory.particles import CircleField, Interaction, Overlap, PreNorm, SoftmaxField, Tangential, UnnormalisedField
from theory.particles.exact import Equiangular, GapField
from theory.particles.mean_field import mixture_field

X = np.array([[0.5, -1.25], [1.5, 0.25], [-0.75, 2.0]])
Y = np.array([[1.0, 0.5], [-0.5, 1.25], [0.25, -2.0]])
V = np.array([[1.5, -0.5], [0.25, 2.0], [-1.0, 0.75]])
UNIT = np.array([[0.6, 0.8], [1.0, 0.0], [0.8, -0.6]])
SQUARE = np.array([[1.5, 0.25], [-0.5, 0.75]])
POSITIVE = np.array([[1.5, 0.25], [0.25, 0.75]])
MASSES = np.array([0.5, 1.5, 1.0])
ANGLES = np.array([[0.5], [1.5], [-0.75], [2.5]])
SELF = make_similarity("self", 2, 3)
THETA = np.linspace(-0.75, 0.5, sum(sizes_of(SELF.shapes)))
GRID = PeriodicGrid((8,))
DENSITY = 1.0 + 0.25 * np.cos(GRID.axes[0])
PLAIN = as_attention_weights(SQUARE, SQUARE, SQUARE, None, heads=1, causal=False, residual=False, score="dot")
BLOCK = Block(PLAIN, np.array([0.5, -0.25]), 2.0**-60, "pre", None, None, None, residual=True)
TOKENS = {"queries": X, "keys": Y, "values": V}


def _count(n):
    return n if is_enclosed(n) else int(n)


def _half(x):
    return 0.5 * x


def _mix(x, means):
    return mixture_field(SQUARE, MASSES, means, [(0.5 + k) * POSITIVE for k in range(len(MASSES))], SQUARE)(x)


# other settings than those of the tables, and what functions and records answer
MORE = {
    "attend.plain": (attend, TOKENS),
    "certify.block": (lambda x: BLOCK(x, MASSES), {"x": X}),
    "certify.gelu": (lambda t: activate("gelu", t), {"t": X}),
    "certify.gelu-tanh": (lambda t: activate("gelu-tanh", t), {"t": X}),
    "attend.form": (
        lambda form, **tokens: attend(**tokens, score=DotProduct(0.75, form=form)),
        {**TOKENS, "form": SQUARE},
    ),
    "attend.causal": (lambda **tokens: attend(**tokens, score=SquaredDistance(0.75), causal=True), TOKENS),
    "read": (read, {**TOKENS, "weights": MASSES}),
    "prepare": (
        lambda queries, keys, values, weights: prepare(keys=keys, values=values, weights=weights)(queries),
        {**TOKENS, "weights": MASSES},
    ),
    "DotProduct.form": (lambda x, y, form: DotProduct(form=form).matrix(x, y), {"x": X, "y": Y, "form": SQUARE}),
    "SelfAttention": (SelfAttention(DotProduct()), {"x": X, "mu": Measure(Y)}),
    "MultiHead.causal": (
        lambda x: MultiHead((Head(SQUARE, SQUARE.T, SQUARE, SQUARE.T),) * 2)(x, as_law(x), causal=True),
        {"x": X},
    ),
    "Interaction.even": (Interaction(0.75).energy, {"tokens": UNIT}),
    "Interaction.velocity": (lambda x: Interaction(0.75).velocity(x, normalised=True), {"x": UNIT}),
    "Interaction.metric": (lambda x: Interaction(0.75).metric(x, normalised=True), {"x": UNIT}),
    "SoftmaxField.valued": (SoftmaxField(Overlap(0.75), value=SQUARE, weights=MASSES, causal=True), {"x": X}),
    "UnnormalisedField.valued": (UnnormalisedField(Overlap(0.75), value=SQUARE, weights=MASSES), {"x": X}),
    "Tangential": (Tangential(SoftmaxField(Overlap(0.75))), {"x": UNIT}),
    "PreNorm": (PreNorm(SoftmaxField(Overlap(0.75))), {"x": X}),
    "Dirac.push": (Dirac(_half).push, {"nu": Measure(X)}),
    "Measure.integrate": (lambda mu: mu.integrate(_half), {"mu": Measure(X, MASSES / 3.0)}),
    "Measure.push_forward": (lambda mu: mu.push_forward(_half), {"mu": Measure(X, MASSES / 3.0)}),
    "Measure.covariance": (lambda mu: (mu.mean(), mu.covariance(), mu.variance()), {"mu": Measure(X, MASSES / 3.0)}),
    "CircleField.still": (CircleField(0.0), {"theta": ANGLES}),
    "CircleField.unnormalised": (CircleField(0.0, normalised=False), {"theta": ANGLES}),
    "CircleField.weighted": (CircleField(0.0, weights=np.array([0.5, 1.5, 1.0, 0.25])), {"theta": ANGLES}),
    "CircleField.repelling": (CircleField(-0.75, normalised=False), {"theta": ANGLES}),
    "Equiangular.normalised": (Equiangular(3, 0.75, normalised=True).shrinking, {"gap": MASSES / 4.0}),
    "Equiangular.unnormalised": (Equiangular(3, 0.75, normalised=False).shrinking, {"gap": MASSES / 4.0}),
    "Equiangular.far": (Equiangular(5, 10.0).gap, {"times": MASSES, "start": 0.75}),
    "Equiangular.post_norm": (Equiangular(3, 0.75).post_norm, {"log_gap": np.log(MASSES / 4.0)}),
    "Equiangular.pre_norm": (Equiangular(3, 0.75).pre_norm, {"state": np.stack([np.log(MASSES / 4.0), MASSES])}),
    "GapField.normalised": (GapField(0.75, normalised=True), {"state": 1.0 - UNIT @ UNIT.T}),
    "mixture_field": (_mix, {"x": X, "means": X}),
    "radial_multiplier": (radial_multiplier(1.5, 0.25), {"k": np.arange(1.0, 5.0)}),
    "PlaneCurve.area": (
        lambda points: PlaneCurve(points).area,
        {"points": np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.5], [0.0, -1.0]])},
    ),
    "TokenLayer": (
        lambda keys, queries, values: TokenLayer(keys, 0.25, queries=queries)(values),
        {"keys": X, "queries": Y, "values": X},
    ),
    "FeatureLayer": (
        lambda features, masses, queries, values: FeatureLayer(features, 0.25, masses=masses, queries=queries)(values),
        {"features": X, "masses": MASSES, "queries": Y, "values": MASSES},
    ),
    "TokenLayer.rows": (
        lambda keys, weights: TokenLayer(keys, 0.25, weights=weights).rows,
        {"keys": X, "weights": MASSES},
    ),
    "Neighbourhoods.radii": (
        lambda queries: Neighbourhoods(GRID, DENSITY, queries, 0.25).radii(),
        {"queries": np.array([[0.5], [1.5]])},
    ),
    "CircleDensity.positive": (CircleDensity([0.25], [0.125], logarithmic=False), {"x": ANGLES}),
    "CircleDensity.levels": (CircleDensity([0.25], [0.125], logarithmic=False).quantiles, {"levels": MASSES / 4.0}),
    "attention_weights.self": (lambda h: attention_weights(SELF, THETA, h), {"h": X}),
    "average_tokens.self": (lambda h: average_tokens(SELF, THETA, h), {"h": X}),
    "vjp.self": (lambda h, cotangent: vjp(SELF, THETA, h, cotangent), {"h": X, "cotangent": Y}),
    "softmax.plain": (softmax, {"scores": X}),
    "softmax.cold": (softmax, {"scores": X, "tau": 0.01}),
    "softmax_value.plain": (softmax_value, {"scores": X}),
    "distance_constant": (lambda n: distance_constant(_count(n), SQUARE), {"n": 4.0}),
    "nearness_constant": (lambda n: nearness_constant(_count(n)), {"n": 4.0}),
    "tied_constants": (lambda n: tied_constants(_count(n), (SQUARE,), (SQUARE,), SQUARE.T), {"n": 4.0}),
    "attention_bound": (
        lambda form, value, radius: attention_bound(form, value, p=2.0)(radius),
        {"form": 0.5, "value": 1.25, "radius": 0.75},
    ),
    "concatenated_bound": (
        lambda forms, values, out, radius: concatenated_bound(forms, values, out, p=2.0)(radius),
        {"forms": MASSES, "values": MASSES, "out": 1.25, "radius": 0.75},
    ),
    "concatenated_bound.first": (
        lambda forms, values, radius: concatenated_bound(forms, values)(radius),
        {"forms": MASSES, "values": MASSES, "radius": 0.75},
    ),
    "feed_forward_bound": (
        lambda lipschitz, at_zero, radius: feed_forward_bound(lipschitz, at_zero)(radius),
        {"lipschitz": 0.5, "at_zero": 0.25, "radius": 0.75},
    ),
    "layer_norm_bound": (
        lambda eps, gain, shift, radius: layer_norm_bound(eps, 3, gain=gain, shift=shift)(radius),
        {"eps": 0.25, "gain": 1.5, "shift": 0.25, "radius": 0.75},
    ),
}

NEAR_SINGULAR = "the landmarks of some versions nearly repeat, and their matrix is inverted"
WIDE = {"attention.variants.attend_nystrom": NEAR_SINGULAR, "attention.variants.nystrom_weights": NEAR_SINGULAR}

_GROUPS = {
    "keeps floats, or hands its numbers to what takes floats alone": """
        attention.Additive attention.Dirac.at attention.Dirac.push attention.Head attention.Lookup
        attention.Measure.integrate attention.Measure.push_forward attention.Measure.sample
        attention.SelfAttention attention.prepare attention.variants.PositiveFeatures
        attention.variants.TrigonometricFeatures
        diffusion.Bilinear diffusion.CircleDensity diffusion.GraphScore diffusion.StepError
        diffusion.geometry.root_length diffusion.layers.velocity_field evidence.enclosure.balls
        evidence.intervals.Intervals lipschitz.block_jacobian lipschitz.certificate.as_attention_weights
        lipschitz.certificate.as_feed_forward lipschitz.certificate.as_token_norm
        lipschitz.certificate.certify lipschitz.certificate.certify_at lipschitz.certificate.certify_blocks
        lipschitz.certificate.largest_detour
        lipschitz.certificate.product_norm
        lipschitz.depth.sinkhorn_plan
        lipschitz.depth.sinkhorn_sweep lipschitz.dot_form lipschitz.enclosed_jacobian
        lipschitz.multihead_jacobian lipschitz.norm_at lipschitz.portrait.portray lipschitz.response
        maxent.LinearScores
        metric.InformationPropagation.objective metric.InformationPropagation.predict metric.LinearFeatures
        metric.ResidualFeatures metric.plane.Chart metric.plane.Chart.differences
        metric.plane.chart_of_first_layer metric.similarity.DistanceSimilarity.features
        metric.similarity.MetricSimilarity.features particles.Diffusion.moved particles.PreNorm.__call__
        particles.SinkhornField particles.Tangential.__call__ particles.dynamics.Manufactured
        particles.dynamics.fingerprint particles.dynamics.perturbation.jacobian
        particles.dynamics.perturbation.stability particles.exact.sphere_jacobian
        particles.mean_field.DistanceClosure particles.mean_field.SinkhornClosure
        particles.mean_field.SoftmaxClosure particles.mean_field.atomic_moments
        particles.mean_field.enclose_free_energy
    """,
    "needs what arrays of floats alone have": """
        diffusion.moving.mixture_quantiles diffusion.moving.plane_tokens diffusion.moving.rearranged_distance
        attention.Additive.bounds attention.AttentionKernel.rounding attention.DotProduct.bounds
        attention.DotProduct.pairs attention.Head.rounding attention.Measure attention.MultiHead.rounding
        attention.SquaredDistance.bounds attention.SquaredDistance.pairs attention.TorusDistance.bounds
        attention.partition_error attention.rounding attention.variants.nystrom_error attention.weight_error
        diffusion.Neighbourhoods.rounding diffusion.SampledOutput.coverage diffusion.SampledOutput.moments
        diffusion.geometry.Modulated diffusion.geometry.Reparametrised diffusion.geometry.heat_flow
        diffusion.similarity.average_along
        evidence.convergence.limit evidence.convergence.order evidence.statistics.batch_mean
        evidence.statistics.bounded_mean evidence.statistics.run_mean experiments.data.draw_two_moons
        lipschitz.certificate.AttentionWeights.norms lipschitz.depth.residual_determinant
        lipschitz.witnesses.two_sided maxent.LinearScores.error maxent.entmax15_vjp maxent.entmax_gap
        maxent.entmax_value maxent.entmax_vjp maxent.fenchel_young_loss maxent.gibbs.log_partition
        maxent.gibbs.softmax_norms maxent.normmax maxent.normmax_vjp maxent.row_map maxent.sparse.entmax_support
        maxent.sparse.entmax_threshold maxent.sparse.total_variation_prox maxent.sparsemax_vjp
        metric.LinearFeatures.rounding metric.ResidualFeatures.rounding metric.attention_spectrum
        metric.fibre_mean metric.plane.Chart.rounding metric.plane.MoonsLaw.density metric.stationary_law
        particles.CircleField particles.Diffusion.checked particles.Overlap particles.RungeKutta.checked
        particles.Trajectory.observe particles.dynamics.Manufactured.force particles.dynamics.Manufactured.path
        particles.dynamics.Manufactured.velocity particles.dynamics.consensus_gap particles.dynamics.mean_length
        particles.exact.CollapseField particles.exact.Equiangular particles.exact.GapField
        particles.exact.cluster_gaps particles.exact.equiangular_tokens particles.exact.frame_of
        particles.exact.jacobian_size particles.exact.layer_statistics
        particles.exact.merging.interaction_energy particles.exact.poisson_quantiles
        particles.mean_field.enclose_hermite particles.on_sphere particles.run_checkpointed particles.sample
    """,
    "takes its number as a float": """
        attention.Additive.constants attention.DotProduct.constants attention.GaussianAttention
        attention.SquaredDistance attention.SquaredDistance.constants attention.TorusDistance
        attention.TorusDistance.constants attention.sinkhorn.doubly_normalised attention.variants.landmark_error
        diffusion.Bilinear.score diffusion.Ellipse diffusion.GeneralScore diffusion.Revolution
        diffusion.StepError.best diffusion.StepError.step diffusion.StepError.variance diffusion.chordal
        diffusion.chordal_multiplier diffusion.geometry.layer_change diffusion.geometry.layer_rise
        diffusion.geometry.linear_multiplier diffusion.heat_multiplier diffusion.layers.LatticeLayer
        diffusion.layers.ZonalLayer diffusion.layers.resolving_count diffusion.layers.score_layer
        diffusion.layers.advance_rounding diffusion.layers.count_layers diffusion.layers.ellipse
        diffusion.layers.equidistant_layer diffusion.layers.sphere_layer diffusion.layers.sphere_radii
        diffusion.limits.bandwidth.least diffusion.limits.bessel_quotients diffusion.limits.kernel_multiplier
        diffusion.limits.quantile_aliases diffusion.limits.sampling.chordal_output
        diffusion.limits.sphere_multipliers diffusion.limits.sweep_shift diffusion.moving.CircleLayer
        diffusion.moving.NoisyLayer diffusion.moving.displacement_variances diffusion.moving.lattice_growth
        diffusion.moving.mean_field_deviations diffusion.moving.solve_density diffusion.moving.wave_factor
        diffusion.similarity.LogDistance distance.w1_to_normal
        diffusion.similarity.radial_multiplier engine.attention evidence.enclosure.as_ball
        evidence.enclosure.ball evidence.enclosure.sup_over evidence.interval.Interval
        evidence.interval.Interval.exactly evidence.interval.Interval.within evidence.quadrature.integral_over
        evidence.roundoff.average_error evidence.roundoff.covariance_error evidence.roundoff.softmax_error
        evidence.witness.first_best experiments.train_moons
        lipschitz.certificate.enclose_stretch lipschitz.certified_stretch lipschitz.constants.atoms_constant
        lipschitz.constants.leader lipschitz.constants.leader_gap lipschitz.constants.opposed_ratio
        lipschitz.constants.published_constant lipschitz.depth.mirrored_tokens lipschitz.local_norm
        lipschitz.response_ratio lipschitz.search.search_worst_cloud lipschitz.search.simplify_cloud
        lipschitz.witnesses.balanced_query lipschitz.witnesses.far_atom lipschitz.witnesses.folded_star
        lipschitz.witnesses.hidden_atom lipschitz.witnesses.light_atom lipschitz.witnesses.light_ramp
        lipschitz.witnesses.near_atom lipschitz.witnesses.one_sided lipschitz.witnesses.order_swap_pair
        lipschitz.witnesses.star lipschitz.witnesses.star_radius lipschitz.witnesses.two_tokens
        maxent.Predictor.fit maxent.Predictor.objective maxent.densities.density_at maxent.gibbs.ascended_query
        maxent.densities.density_on_cells maxent.gibbs.gap_scale maxent.gibbs.gaussian_weights
        maxent.gibbs.lognormal_moments maxent.gibbs.second_value_bound maxent.gibbs.trace_moment
        maxent.gibbs.retrieval_weight maxent.gibbs.peak_entropy maxent.gibbs.tokens_to_disperse
        maxent.gibbs.weight_range maxent.losses.law_error maxent.losses.loss_interval
        maxent.losses.stationarity_residual maxent.sparse.bisect_entmax maxent.sparse.tsallis
        metric.InformationPropagation metric.MetricScore metric.MetricScore.constants metric.plane.MoonsLaw
        metric.plane.layer_change metric.plane.semigroup_change metric.wave_multipliers particles.Diffusion
        particles.GraphField.__call__ particles.Interaction particles.RungeKutta particles.SoftmaxField
        particles.UnnormalisedField particles.dynamics.perturbation.rounding particles.exact.ClosestPair
        particles.exact.LineField
        particles.exact.antipodal_probability particles.exact.antipodal_threshold particles.exact.common_noise_step
        particles.exact.UndecidedField particles.exact.follow_coarsening
        particles.exact.follow_pair particles.exact.log_lifetime particles.exact.meeting_point
        particles.first_passage_time particles.integrate particles.mean_field.ZonalFreeEnergy
        particles.mean_field.ZonalFreeEnergy.branch particles.mean_field.ZonalFreeEnergy.descend
        particles.mean_field.cosine_quantiles particles.mean_field.couplings
        particles.mean_field.enclose_lattice particles.mean_field.fourier_mode particles.mean_field.growth_rates
        particles.mean_field.mean_field_deviation particles.mean_field.mode_growth
        particles.mean_field.participation particles.mean_field.self_normalised.along_tilt
        particles.mean_field.tagged_variance particles.mean_field.threshold
        positions.Walk.horizon positions.causal_influence positions.cosine_sums positions.least_base
        positions.least_sum positions.moment_keys positions.radon_partition positions.rule_out
        positions.selecting_query positions.window_walk precision.gradient_error
        positions.admissible_bases positions.least_sum_beyond precision.gradient_tolerance
        precision.rotary_phases precision.slope_power
    """,
    "made of functions of NumPy that have no rule for enclosures": """
        attention.MultiHead.from_matrices attention.variants.PositiveFeatures.__call__
        attention.variants.TrigonometricFeatures.__call__ attention.variants.segment_means
        diffusion.moving.linear_displacements diffusion.moving.response_control
        diffusion.moving.CircleLayer.__call__ diffusion.moving.NoisyLayer.__call__ diffusion.moving.circle_density
        diffusion.moving.turn_angles
        diffusion.similarity.nearest_rows maxent.BetaGaussian maxent.BetaGaussian.density
        maxent.Predictor.predict metric.plane.Chart.hessian metric.plane.Chart.jacobian
        metric.plane.Chart.metric metric.plane.MoonsLaw.across metric.plane.MoonsLaw.odds
        metric.plane.MoonsLaw.slope metric.plane.first_order particles.exact.slowest_pair
        particles.mean_field.DistanceAttention.enclosed particles.mean_field.coupling_error
        particles.mean_field.gaussian_moments particles.mean_field.linear_displacement
    """,
    "compares, which enclosures cannot": """
        attention.Additive.pairs attention.Softmatch.error attention.sinkhorn.Sinkhorn.output
        attention.sinkhorn.potential_error attention.sinkhorn.sinkhorn_error attention.transform_error
        diffusion.CircleDensity.cumulative diffusion.GeneralScore.matrix diffusion.Neighbourhoods.masses
        diffusion.Revolution.height diffusion.SampledOutput diffusion.balance_tokens
        diffusion.geometry.gauss_tokens diffusion.geometry.segment_stack diffusion.layers.TorusLayer
        diffusion.limits.average_at_peak diffusion.limits.balance_error diffusion.limits.enclose_rows
        diffusion.limits.lattice diffusion.limits.normalisers.balance_law diffusion.similarity.kernel_machine
        diffusion.similarity.lloyd_steps diffusion.similarity.log_density diffusion.similarity.mixture_step
        diffusion.similarity.neighbour_means diffusion.similarity.neighbours.ball_transform distance.w1_line
        engine.merge evidence.intervals.within evidence.roundoff.discrepancy evidence.roundoff.total
        evidence.statistics.slope evidence.witness.coarse maxent.budget_vjp metric.plane.weakest_stretch
        particles.GraphField particles.exact.CollapseField.state particles.exact.LineField.state
        particles.exact.hemisphere_margins particles.exact.output_overlaps particles.exact.sign_patterns
        particles.exact.squared_derivative particles.flow precision.corrected_products precision.quantise
        precision.round_to precision.stream_attention precision.stream_gradients precision.stream_row
        precision.stream_logarithm
    """,
    "answers the middle and the radii apart": """
        diffusion.layers.equilibrium.as_rows
    """,
    "made here; MORE calls it": """
        diffusion.TokenLayer diffusion.layers.FeatureLayer
    """,
    "compiled": """
        engine.jvp engine.moments engine.prepare engine.Prepared.__call__ engine.vjp engine.weights
    """,
    "a row that is there already": """
        lipschitz.certificate.BlockCertificate.row lipschitz.certificate.Certificate.row
        lipschitz.certificate.LocalCertificate.row
    """,
    "words": """
        lipschitz.certificate.as_json lipschitz.certificate.as_text lipschitz.certificate.blocks_as_json
        lipschitz.certificate.blocks_as_text
    """,
    "answers a function, which MORE calls": """
        lipschitz.depth.attention_bound lipschitz.depth.concatenated_bound lipschitz.depth.feed_forward_bound
        lipschitz.depth.layer_norm_bound particles.mean_field.mixture_field
    """,
    "enclosed by its number of tokens, as MORE asks": """
        lipschitz.constants.distance_constant lipschitz.constants.tied_constants
    """,
    "a bound, of which only the move may be an interval": """
        lipschitz.depth.posterior_error
    """,
    "the same matrix everywhere": """
        metric.LinearFeatures.jacobian
    """,
    "masses, wherever the tokens are": """
        particles.Interaction.metric
    """,
}
NO_ENCLOSURE = {name: reason for reason, names in _GROUPS.items() for name in names.split()}
