"""Widths that are planted in the room of learned metrics: each is caught by the named test or claim."""

HALF = "tests/metric/test_half_bandwidth.py"
SPECTRUM = "tests/metric/test_spectrum.py"
SCORE = "tests/metric/test_score.py::test_errors_of_both_features_are_charged"
FEATURES = "tests/metric/test_features.py::test_rounding_of_what_cancels_is_charged"
TRAINED = "tests/metric/plane/test_plane.py"
STRETCH = TRAINED + "::test_weakest_stretch_of_one_unit_is_that_of_its_worst_point"

# name, what catches it, path under theory/, old text, new text
WIDTHS = [
    (
        "quadrature-exact",
        HALF + "::test_few_tokens_leave_what_the_width_says",
        "metric/half_bandwidth.py",
        "error + _quadrature_error(",
        "error + 0.0 * _quadrature_error(",
    ),
    (
        "quadrature-tenth",
        HALF + "::test_few_tokens_leave_what_the_width_says",
        "metric/half_bandwidth.py",
        "return 4.0 * tail",
        "return 0.2 * tail",
    ),
    (
        "quadrature-degree",
        HALF + "::test_few_tokens_leave_what_the_width_says",
        "metric/half_bandwidth.py",
        "2 * n - degree)",
        "2 * n + degree)",
    ),
    (
        "spectrum-residual",
        SPECTRUM + "::test_eigenvectors_that_are_off_widen_the_interval",
        "metric/spectrum.py",
        "rest = _norm(near - np.diag(middles)) + gamma",
        "rest = gamma",
    ),
    (
        "spectrum-defect",
        SPECTRUM + "::test_eigenvectors_that_are_off_widen_the_interval",
        "metric/spectrum.py",
        "(rest + off * (2.0 + off))",
        "(rest + off * off)",
    ),
    (
        "spectrum-scores",
        SPECTRUM + "::test_scores_that_are_off_widen_the_interval",
        "metric/spectrum.py",
        "* (1.0 + relative) + relative + n",
        "* (1.0 + relative) + n",
    ),
    (
        "stationary-scores",
        SPECTRUM + "::test_scores_that_are_off_widen_the_interval",
        "metric/spectrum.py",
        "_quotient_error(relative) * (1.0 + gamma(3 * n + 4)) - 1.0",
        "gamma(3 * n + 4)",
    ),
    (
        "score-one-slip",
        SCORE,
        "metric/score.py",
        "slip = self.features.rounding(x) + self.features.rounding(y)",
        "slip = self.features.rounding(x)",
    ),
    ("score-half-reach", SCORE, "metric/score.py", "(2.0 * reach + slip)", "(reach + slip)"),
    ("score-no-slip", SCORE, "metric/score.py", "(error + moved) * (1.0", "error * (1.0"),
    (
        "spectrum-large-scores",
        SPECTRUM + "::test_large_scores_widen_the_interval",
        "metric/spectrum.py",
        "drift = 2.0 * error + gamma(8) * size",
        "drift = 2.0 * error",
    ),
    (
        "score-exact-distances",
        "tests/metric/test_score.py::test_error_of_the_distances_is_charged",
        "metric/score.py",
        "(error + moved) * (1.0",
        "moved * (1.0",
    ),
    (
        "features-squares-vanish",
        "tests/metric/test_features.py::test_rounding_of_lengths_whose_squares_float64_cannot_hold",
        "metric/features.py",
        "return scale * float(np.linalg.norm(rows / scale, axis=1).max(initial=0.0))",
        "return float(np.linalg.norm(rows, axis=1).max(initial=0.0))",
    ),
    (
        "features-products-vanish",
        "tests/metric/test_features.py::test_rounding_of_products_that_leave_the_normal_range_is_charged",
        "metric/features.py",
        "lost = self.matrix.shape[0] * SUBNORMAL",
        "lost = 0.0",
    ),
    (
        "features-no-argument",
        FEATURES,
        "metric/features.py",
        "after = (before + 2 * _TANH_ULPS * U) @ outer",
        "after = (2 * _TANH_ULPS * U * np.ones_like(before)) @ outer",
    ),
    (
        "stretch-half-bend",
        STRETCH,
        "metric/plane/embedding.py",
        "return np.asarray(np.minimum(single, joint) * (1.0 + 256.0 * U))",
        "return np.asarray(0.5 * np.minimum(single, joint))",
    ),
    (
        "stretch-at-corners",
        STRETCH,
        "metric/plane/chart.py",
        "low = np.maximum(z - reach, 0.0)",
        "low = z",
    ),
    (
        "stretch-cancelled-squares",
        TRAINED + "::test_weakest_stretch_encloses_the_truth_where_squares_cancel",
        "metric/plane/embedding.py",
        "    error = gamma(2 * jacobian.shape[1] + 16) * (a + c)",
        "    error = 0.0 * (a + c)",
    ),
    (
        "lattice-without-gaps",
        TRAINED + "::test_a_lattice_much_too_coarse_owns_up",
        "metric/plane/arcs.py",
        "(first + second) / 2.0, apart + slip",
        "(first + second) / 2.0, slip",
    ),
]
