"""Widths that are planted in the rules of enclosures: each is caught by the property test of those rules."""

# ruff: noqa: E501

_TEST = "tests/evidence/test_intervals.py::test_"
_SUMS = f"{_TEST}sums_are_as_wide_as_their_lemma"
_MATRICES = f"{_TEST}products_of_matrices_are_as_wide_as_their_lemma"
_ARITHMETIC = f"{_TEST}arithmetic_contains_every_exact_result"
_LIBRARY = f"{_TEST}functions_are_wide_enough_for_the_library"
_RULES = "evidence/outward.py"

WIDTHS = [
    ("sum-below-not-rounded", _ARITHMETIC, _RULES, "np.where(error >= 0.0, below, _down(below))", "below"),
    ("sum-above-not-rounded", _ARITHMETIC, _RULES, "np.where(error <= 0.0, above, _up(above))", "above"),
    ("error-of-sum-reversed", _ARITHMETIC, _RULES, "np.where(error >= 0.0, below", "np.where(error <= 0.0, below"),
    ("corner-not-rounded-below", _ARITHMETIC, _RULES, "np.where(nothing, 0.0, _down(corner))", "np.where(nothing, 0.0, corner)"),
    ("corner-not-rounded-above", _ARITHMETIC, _RULES, "np.where(nothing, 0.0, _up(corner))", "np.where(nothing, 0.0, corner)"),
    ("corner-left-out", _ARITHMETIC, _RULES, "for below, above in found[1:]", "for below, above in found[2:]"),
    ("divided-by-zero", _ARITHMETIC, _RULES, "unknown = (b.lo <= 0.0) & (b.hi >= 0.0)", "unknown = (b.lo < 0.0) & (b.hi > 0.0)"),
    ("square-not-rounded", f"{_TEST}squares_are_of_one_number", _RULES, "np.where(most == 0.0, 0.0, _up(most * most))", "most * most"),
    ("square-through-zero", f"{_TEST}squares_are_of_one_number", _RULES, "np.where((a.lo < 0.0) & (a.hi > 0.0), 0.0, least)", "least"),
    ("root-not-rounded", f"{_TEST}a_root_of_what_may_be_negative_is_that_of_the_rest", _RULES, "np.where(high == 0.0, 0.0, _up(high))", "high"),
    ("root-not-rounded-below", f"{_TEST}functions_contain_the_value_of_many_bits", _RULES, "np.maximum(_down(low), 0.0), np.where(high", "np.maximum(low, 0.0), np.where(high"),
    ("library-without-error-below", _LIBRARY, _RULES, "_down(low - _STEP * abs(low) - EXP_ULPS * SUBNORMAL)", "_down(low)"),
    ("library-without-error-above", _LIBRARY, _RULES, "_up(high + _STEP * abs(high) + EXP_ULPS * SUBNORMAL)", "_up(high)"),
    ("half-the-units", _LIBRARY, _RULES, "_STEP = 2 * EXP_ULPS * U", "_STEP = EXP_ULPS * U"),
    ("wave-without-its-argument", f"{_TEST}functions_contain_the_value_of_many_bits", _RULES, "hi = np.minimum(_up(hi + reach), 1.0)", "hi = hi"),
    ("sum-of-half-a-gamma", _SUMS, _RULES, "off = gamma(max(terms - 1, 0)) * (1.0 + gamma(terms + 2))", "off = gamma(max(terms // 2, 0))"),
    ("sum-without-slack", _SUMS, _RULES, "np.where(slack > 0.0, _up(above + slack), above)", "above"),
    ("sum-of-exact-without-slack", _SUMS, _RULES, "np.where(slack > 0.0, _up(below + slack), below)", "below"),
    ("sum-below-without-slack", _SUMS, _RULES, "np.where(slack > 0.0, _down(below - slack), below)", "below"),
    ("matrix-without-rounding", _MATRICES, _RULES, "b.radius + rounding", "b.radius"),
    ("exact-matrix-without-rounding", _MATRICES, _RULES, "rounding if b.is_exact", "0.0 * rounding if b.is_exact"),
    ("matrix-of-half-a-gamma", _MATRICES, _RULES, "rounding = _rounding_of(abs(y), n)", "rounding = _rounding_of(abs(y), n // 2)"),
    ("right-radius-left-out", _MATRICES, _RULES, "else b.radius + rounding", "else rounding"),
    ("left-radius-left-out", _MATRICES, _RULES, "reach = reach + a.radius @ (abs(y) + b.radius)", "reach = reach + 0.0"),
    ("both-radii-left-out", _MATRICES, _RULES, "a.radius @ (abs(y) + b.radius)", "a.radius @ abs(y)"),
    ("matrix-without-underflow", f"{_TEST}products_of_matrices_charge_what_underflows", _RULES, " + 2 * n * SUBNORMAL", ""),
    ("matrix-whose-rounding-underflows", f"{_TEST}products_charge_a_rounding_that_underflows", _RULES, "np.where(sizes == 0.0, 0.0, _up(gamma(n) * sizes))", "gamma(n) * sizes"),
    ("overflow-below-zero", f"{_TEST}functions_that_overflow_below_have_an_upper_end", _RULES, "high = np.maximum(high, -_LARGEST)", "high = high + 0.0"),
    ("underflow-not-refuted", f"{_TEST}the_underflow_is_charged_to_the_smallest_entry", "evidence/claim.py", "certain = as_intervals(off).lo > 0.0", "certain = departures.lo > 0.0"),
    ("radius-not-rounded", f"{_TEST}middle_and_radius_hold_the_truth", "evidence/intervals.py", "return np.where(reach == 0.0, 0.0, np.nextafter(reach, np.inf))", "return reach"),
    ("radius-of-one-side", f"{_TEST}middle_and_radius_hold_the_truth", "evidence/intervals.py", "reach = np.maximum(middle - self.lo, self.hi - middle)", "reach = self.hi - middle"),
    ("within-not-rounded", f"{_TEST}within_holds_every_number_that_near", "evidence/intervals.py", "np.nextafter(centre + reach, np.inf)", "centre + reach"),
    ("within-not-rounded-below", f"{_TEST}within_holds_every_number_that_near", "evidence/intervals.py", "np.nextafter(centre - reach, -np.inf)", "centre - reach"),
]  # fmt: skip
