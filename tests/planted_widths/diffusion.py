"""Widths that are planted in the diffusion room: each is caught by the named test or claim."""

TESTS = "tests/diffusion"
LATTICE = "estimated(fine, coarse, times=2.0) + Interval.within(0.0, error + size * (2.0 * moved + 256.0 * U))"
RISE = "estimated(fine, coarse, times=2.0) + Interval.within(0.0, width + slip)"

WIDTHS = [
    # scores that are no distance
    ("error-of-f", "score.rounding", "diffusion/limits/laplace.py",
        "error = self.error / (2.0 * self.epsilon) +", "error = self.error +"),
    ("laplace-one-lattice", f"{TESTS}/test_laplace.py::test_concentrated_holds_the_truth_on_a_coarse_lattice",
        "diffusion/limits/laplace.py", LATTICE, LATTICE.replace("estimated(fine, coarse, times=2.0)", "fine")),
    ("laplace-places", f"{TESTS}/test_laplace.py::test_concentrated_holds_the_truth_far_from_the_origin",
        "diffusion/limits/laplace.py", LATTICE, LATTICE.replace("2.0 * moved + ", "")),
    ("laplace-score", f"{TESTS}/test_laplace.py::test_concentrated_holds_the_truth_of_a_dissimilarity_that_is_off",
        "diffusion/limits/laplace.py", LATTICE, LATTICE.replace("error + ", "")),
    ("fibred-one-lattice", f"{TESTS}/test_minimisers.py::test_fibred_holds_the_truth_on_a_coarse_lattice",
        "diffusion/similarity/minimisers.py", LATTICE, LATTICE.replace("estimated(fine, coarse, times=2.0)", "fine")),
    ("fibred-same-around", f"{TESTS}/test_minimisers.py::test_fibred_holds_the_truth_with_too_few_tokens_around",
        "diffusion/similarity/minimisers.py", "(2.5, n + n // 4)", "(2.5, n)"),
    ("fibred-places", f"{TESTS}/test_minimisers.py::test_fibred_holds_the_truth_far_from_the_origin",
        "diffusion/similarity/minimisers.py", LATTICE, LATTICE.replace("2.0 * moved + ", "")),
    ("fibred-score", f"{TESTS}/test_minimisers.py::test_fibred_holds_the_truth_of_a_dissimilarity_that_is_off",
        "diffusion/similarity/minimisers.py", LATTICE, LATTICE.replace("error + ", "")),
    # learned metrics
    ("reach-dropped", f"{TESTS}/test_curves.py::test_the_error_of_a_score_covers_every_key",
        "diffusion/geometry/curves.py", "largest * (_REACH * width) ** 2", "largest * width**2"),
    ("start-dropped", f"{TESTS}/test_curves.py::test_change_of_a_function_far_from_zero",
        "diffusion/geometry/curves.py", "16.0 * U * (1.0 + abs(start))", "16.0 * U"),
    ("angles-dropped", f"{TESTS}/test_curves.py::test_root_length_at_large_angles",
        "diffusion/geometry/curves.py",
        "64.0 * U * total + 4.0 * U * largest * float(np.abs(x).sum())", "64.0 * U * total"),
    # walls
    ("one-rule", f"{TESTS}/test_boundary.py::test_layer_rise_holds_the_truth_with_too_few_nodes",
        "diffusion/geometry/boundary.py", RISE, RISE.replace("estimated(fine, coarse, times=2.0)", "fine")),
    ("wall-start-dropped", f"{TESTS}/test_boundary.py::test_layer_rise_of_a_function_far_from_zero",
        "diffusion/geometry/boundary.py", "16.0 * U * (abs(start) + size)", "16.0 * U * size"),
    ("one-rule-stacked", f"{TESTS}/test_boundary.py::test_segment_stack_holds_the_truth_with_too_few_nodes",
        "diffusion/geometry/boundary.py",
        "return [estimated(fine, coarse, times=2.0) + off for", "return [fine + off for"),
    # sampling
    ("one-grid", f"{TESTS}/test_sampling.py::test_laws_hold_the_truth_on_a_grid_that_is_too_coarse",
        "diffusion/limits/sampling.py",
        "return estimated(value, other, times=1.0) + Interval", "return value + Interval"),
    ("one-grid-of-moments", f"{TESTS}/test_sampling.py::test_laws_hold_the_truth_on_a_grid_that_is_too_coarse",
        "diffusion/limits/sampling.py", "abs(value - steps) + abs(value - nodes)", "abs(value - steps)"),
    ("one-step", f"{TESTS}/test_sampling.py::test_moments_hold_the_truth_with_a_step_that_is_too_large",
        "diffusion/limits/sampling.py", "abs(value - steps) + abs(value - nodes)", "abs(value - nodes)"),
    ("least-without-noise", f"{TESTS}/test_sampling.py::test_least_holds_the_place_in_spite_of_noise",
        "diffusion/limits/bandwidth.py", "other - rough > value + error", "other > value"),
    # layers and spectra
    ("transforms-exact", f"{TESTS}/test_stacking.py::test_an_exact_layer_where_the_density_almost_vanishes",
        "diffusion/layers/stacking.py", "2.01 * slip / float(mass.min()) + 256 * U", "256 * U"),
    ("eigenvalues-exact", f"{TESTS}/test_equilibrium.py::test_spectrum_of_weights_that_are_exact",
        "diffusion/layers/equilibrium.py", "error + 8.0 * n * U + n * 1e-150", "error + n * 1e-150"),
    # grids and multipliers
    ("least-dropped", f"{TESTS}/test_neighbours.py::test_rounding_holds_where_the_density_almost_vanishes",
        "diffusion/similarity/neighbours.py", "least = float(self.density.min())", "least = 1.0"),
    ("radius-from-rounded-masses", f"{TESTS}/test_neighbours.py::test_radii_hold_where_the_density_almost_vanishes",
        "diffusion/similarity/neighbours.py", "self._mass_error / self.grid.dim + 16.0 * U", "16.0 * U"),
    ("sweeps-exact",
        f"{TESTS}/test_normalisers.py::test_sweeps_hold_the_truth_where_the_density_almost_vanishes",
        "diffusion/limits/normalisers.py", "share += own + rounding / float(mass.min()) + 8.0 * U",
        "share += own + 8.0 * U"),
    ("root-mean-square", "limit.transform", "diffusion/limits/grid.py", '"largest") * length',
        '"largest") * length / math.sqrt(self.size)'),
    ("recurrence-undamped", "limit.multipliers", "diffusion/limits/operators.py", "if twice < b:", "if twice < 0.0:"),
]  # fmt: skip
