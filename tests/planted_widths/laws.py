"""Widths that are planted in what measures laws: each is caught by the named test or claim."""

GIBBS, TESTS = "maxent/gibbs/principle.py", "tests/maxent"

WIDTHS = [
    # (name, caught by, path under theory/, old text, new text)
    ("summands-exact", "maxent.enclosures", GIBBS, "_OPS = 2 * EXP_ULPS + 4", "_OPS = 0"),
    ("divergence-of-differences", "maxent.enclosures", GIBBS,
     "gamma(_OPS) * np.abs(np.concatenate([left, right]))", "gamma(_OPS) * np.abs(left - right).repeat(2)"),
    ("products-exact", "maxent.enclosures", GIBBS, "gamma(2) * np.abs(summands)", "gamma(0) * np.abs(summands)"),
    ("subnormal-products", f"{TESTS}/test_gibbs.py::test_products_below_the_normal_range_are_charged", GIBBS,
     "np.abs(summands) + SUBNORMAL)", "np.abs(summands))"),
    ("subnormal-weights", f"{TESTS}/test_gibbs.py::test_entropy", GIBBS,
     "gamma(_OPS) * np.abs(summands) + _LOST)", "gamma(_OPS) * np.abs(summands))"),
    ("logits-exact", "maxent.enclosures", GIBBS,
     "value, relative + (2 * EXP_ULPS", "value, 0.0 * relative + (2 * EXP_ULPS"),
    ("scores-exact", "maxent.enclosures", GIBBS,
     "transform_error(reference, s * (1.0 + 1.0 / EXP_ULPS))", "transform_error(reference, 0.0 * s)"),
    ("logarithms-exact", "maxent.enclosures", GIBBS,
     "softmax_error((2 * EXP_ULPS + 4) * U * size, float(np.ptp", "softmax_error(0.0 * size, float(np.ptp"),
    ("basis-sums-exact", "maxent.enclosures", "maxent/layers/linear_scores.py",
     "gamma(self.basis.shape[1] + 4) * size + (2", "(2"),
    ("sets-exact", f"{TESTS}/test_norm_studies.py::test_enclosures_hold_the_largest_cut_of_many_laws",
     "maxent/studies/norms.py", 'gamma(4 * law.size + 16 + _SPECTRAL * (name == "two_two")) * size', "gamma(0) * size"),
    ("edge-exact", f"{TESTS}/test_densities.py::test_what_is_charged_for_roundings_holds_up_to_the_edge",
     "maxent/studies/densities.py", "_ROUNDINGS = 256", "_ROUNDINGS = 1"),
    ("powers-exact", f"{TESTS}/test_spectral.py::test_powers_are_charged_as_inexact",
     "maxent/sparse/enclosed.py", "np.expm1(2 * EXP_ULPS * U + off", "np.expm1(off"),
    ("exponents-exact", f"{TESTS}/test_spectral.py::test_rounded_exponents_are_charged",
     "maxent/sparse/enclosed.py", "U + off * np.abs(np.log(p))", "U + 0.0 * np.abs(np.log(p))"),
]  # fmt: skip
