"""Widths that are planted in theory/lipschitz: each is caught by the named test or claim."""

CERTIFY = "tests/lipschitz/test_certify.py::"
NORMS = "tests/lipschitz/test_local_norms.py::"
MATCHING = "tests/lipschitz/test_matching.py::"

WEIGHTS = "lipschitz/certificate/weights.py"
UPPER = "lipschitz/certificate/upper_bounds.py"
LOWER = "lipschitz/certificate/lower_bounds.py"
CERTIFICATE = "lipschitz/certificate/certify.py"
REFINED = "lipschitz/constants/refined.py"
LOCAL = "lipschitz/local_norms.py"
MATCHED = "lipschitz/matching.py"

WIDTHS = [
    ("spectral-unrounded", CERTIFY + "test_product_norms_are_as_wide_as_the_lemma", WEIGHTS,
     "float(np.linalg.norm(matrix, 2)), error))", "float(np.linalg.norm(matrix, 2)), 0.0))"),
    ("spectral-without-its-product", CERTIFY + "test_product_norms_are_as_wide_as_the_lemma", WEIGHTS,
     " + 2 * max(max(f.shape) for f in factors)", ""),
    ("spectral-of-one-row", CERTIFY + "test_product_norms_are_as_wide_as_the_lemma", WEIGHTS,
     "_SPECTRAL * max(matrix.shape)", "_SPECTRAL"),
    ("constant-unrounded", CERTIFY + "test_an_inexact_library_is_covered", UPPER,
     "value * _FEW).hi", "0.0).hi"),
    ("constant-half-rounded", CERTIFY + "test_an_inexact_library_is_covered", UPPER,
     "_FEW = gamma(256)", "_FEW = gamma(128)"),
    ("squares-for-the-largest", "certificate.valid", UPPER,
     "together(2.0)", "together(math.inf)"),
    ("root-dropped-at-a-distance", CERTIFY + "test_distance_attention", UPPER,
     "squares = bounded + [_times_root(bound, n)", "squares = bounded + [_times(bound, 1.0, \"\")"),
    ("root-dropped-under-a-mask", "certificate.valid", UPPER,
     "by_tokens[\"frobenius\"] = [_times_root(bound, n)", "by_tokens[\"frobenius\"] = [_times(bound, 1.0, \"\")"),
    ("number-dropped-in-the-mean", "certificate.valid", UPPER,
     "_times(bound, float(n), ", "_times(bound, 1.0, "),
    ("oscillation-halved", CERTIFY + "test_distance_attention", UPPER,
     "(slope * Interval.exactly(diameter) ** 2).hi", "(slope * Interval.exactly(diameter) ** 2).hi / 2.0"),
    ("some-outputs-apart", CERTIFY + "test_outputs_that_coincide_are_seen_among_others", LOWER,
     "all((g * g).sum() > 0 for g in gaps)", "any((g * g).sum() > 0 for g in gaps)"),
    ("three-of-two", CERTIFY + "test_what_is_found_has_no_more_tokens_than_the_layer", LOWER,
     "few = min(n or 3, 3)", "few = 3"),
    ("masses-above-the-number", CERTIFY + "test_what_is_found_has_no_more_tokens_than_the_layer", LOWER,
     "np.array([float(first), float(n - first)])", "np.array([float(first), float(n)])"),
    ("keys-untied", CERTIFY + "test_bad_input", WEIGHTS,
     "kind == \"distance\" and not np.array_equal(query, key)", "kind == \"distance\" and query.shape != key.shape"),
    ("output-range-unchecked", CERTIFY + "test_an_output_matrix_out_of_range_is_refused", WEIGHTS,
     "(\"w_value\", value), (\"w_out\", out)):", "(\"w_value\", value)):"),
    ("key-range-unchecked", CERTIFY + "test_sizes_whose_products_leave_float64_are_refused", WEIGHTS,
     "((\"w_query\", query), (\"w_key\", key), (\"w_value\"", "((\"w_query\", query), (\"w_value\""),
    ("radius-not-squared", "certificate.valid", CERTIFICATE,
     "(norm * size * size).hi", "(norm * size).hi"),
    ("root-of-the-key-dimension", "certificate.valid", WEIGHTS,
     "root = Interval.exactly(self.w_query.shape[1]).sqrt()", "root = Interval.exactly(self.w_query.shape[1])"),
    ("alpha-unrounded", CERTIFY + "test_norms_that_a_library_finds_short_are_covered", CERTIFICATE,
     "(norm * size * size).hi", "(norm * size * size).mid"),
    ("root-from-above", NORMS + "test_a_displacement_that_may_vanish_may_have_no_length", LOCAL,
     "return (0 * top).union(top)", "return top"),
    ("below-its-own-bound", CERTIFY + "test_a_constant_below_its_own_lower_bound_cannot_be_made",
     CERTIFICATE,
     "self.lower > self.constant:", "self.lower > 2.0 * self.constant:"),
    ("lengths-out-of-range", MATCHING + "test_squares_may_leave_the_range", MATCHED,
     "np.linalg.norm(np.ldexp(gaps, -np.frexp(np.abs(gaps).max())[1]), axis=2)", "np.linalg.norm(gaps, axis=2)"),
    ("coarse-grid", "lipschitz.refined-w2", REFINED, "for _ in range(4):", "for _ in range(1):"),
    ("first-plan-alone", MATCHING + "test_plans_that_floats_cannot_tell_apart_are_all_enclosed",
     MATCHED,
     "chosen[worth <= worth.min() + tie]", "chosen[worth <= worth.min()]"),
    ("sums-unrounded", NORMS + "test_sums_of_entries_hold_their_rounding", LOCAL,
     "rounding = (gamma(8 * n + 16 * out * d) * size + reach)", "rounding = reach"),
    ("sums-half-rounded", NORMS + "test_sums_of_entries_hold_their_rounding", LOCAL,
     "gamma(8 * n + 16 * out * d)", "gamma(4 * n + 8 * out * d)"),
    ("climb-for-the-supremum", NORMS + "test_no_sum_of_rank_one_is_above_the_upper_end", LOCAL,
     "return min(lower, upper), max(lower, upper)", "return lower, lower"),
    ("entries-unwidened", NORMS + "test_errors_of_the_entries_widen", LOCAL,
     "(gamma(8 * n + 16 * out * d) * size + reach)", "(gamma(8 * n + 16 * out * d) * size)"),
    ("squares-unrounded", NORMS + "test_norms_in_squares_are_as_wide_as_the_lemma", LOCAL,
     "(gamma(_SPECTRAL * n * max(out, d)) * size + reach)", "reach"),
    ("atoms-known-exactly", MATCHING + "test_errors_of_the_atoms_travel", MATCHED,
     "distance + Interval.within(0.0, reach.hi)", "distance + Interval.within(0.0, 0.0)"),
    ("tokens-unrounded", "tests/lipschitz/test_euclidean.py::test_enclosures_are_as_wide_as_the_lemma",
     "lipschitz/constants/distance.py", "_ROUNDING * constant)) if", "0.0)) if"),
    ("refined-unrounded", "tests/lipschitz/test_refined.py::test_an_enclosure_is_as_wide_as_the_lemma", REFINED,
     "_ROUNDING = gamma(64)", "_ROUNDING = 0.0"),
    ("draws-unrounded", "gibbs.sampling", "lipschitz/constants/gibbs.py",
     "lost * float(np.ptp(points.mid))", "0.0"),
]  # fmt: skip
