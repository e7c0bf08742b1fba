"""Widths that are planted in the rules of enclosures: each is caught by the property test of those rules."""

# ruff: noqa: E501

_TEST = "tests/evidence/test_intervals.py::test_"
_SUMS = f"{_TEST}sums_are_as_wide_as_their_lemma"
_MATRICES = f"{_TEST}products_of_matrices_are_as_wide_as_their_lemma"
_ARITHMETIC = f"{_TEST}arithmetic_contains_every_exact_result"
_LIBRARY = f"{_TEST}functions_are_wide_enough_for_the_library"
_RULES = "evidence/outward.py"
_COMPILED = "tests/evidence/test_compiled.py::test_compiled_rules_answer_every_bit"
_LOOPS = "evidence/compiled.py"

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
    ("library-without-error-below", _LIBRARY, _RULES, "_down(low - STEP * abs(low) - SLIP)", "_down(low)"),
    ("library-without-error-above", _LIBRARY, _RULES, "_up(high + STEP * abs(high) + SLIP)", "_up(high)"),
    ("half-the-units", _LIBRARY, _RULES, "STEP = 2 * EXP_ULPS * U", "STEP = EXP_ULPS * U"),
    ("wave-without-its-argument", f"{_TEST}functions_contain_the_value_of_many_bits", _RULES, "hi = np.minimum(_up(hi + reach), 1.0)", "hi = hi"),
    ("sum-of-half-a-gamma", _SUMS, _RULES, "return gamma(max(terms - 1, 0)) * (1.0 + gamma(terms + 2))", "return gamma(max(terms // 2, 0))"),
    ("sum-without-slack", _SUMS, _RULES, "np.where(slack > 0.0, _up(above + slack), above)", "above"),
    ("total-without-slack", _SUMS, _RULES, "math.nextafter(float(above) + slack, math.inf) if slack > 0.0 else float(above)", "float(above)"),
    ("total-below-without-slack", _SUMS, _RULES, "math.nextafter(float(below) - slack, -math.inf) if slack > 0.0 else float(below)", "float(below)"),
    ("sum-below-without-slack", _SUMS, _RULES, "np.where(slack > 0.0, _down(below - slack), below)", "below"),
    ("matrix-without-rounding", _MATRICES, _RULES, "radius + rounding", "radius"),
    ("exact-matrix-without-rounding", _MATRICES, _RULES, "rounding if b.is_exact", "0.0 * rounding if b.is_exact"),
    ("matrix-of-half-a-gamma", _MATRICES, _RULES, "rounding = _rounding_of(sizes, n)", "rounding = _rounding_of(sizes, n // 2)"),
    ("right-radius-left-out", _MATRICES, _RULES, "else radius + rounding", "else rounding"),
    ("left-radius-left-out", _MATRICES, _RULES, "reach = reach + a.radius_about(x) @ (sizes + radius)", "reach = reach + 0.0"),
    ("both-radii-left-out", _MATRICES, _RULES, "a.radius_about(x) @ (sizes + radius)", "a.radius_about(x) @ sizes"),
    ("matrix-without-underflow", f"{_TEST}products_of_matrices_charge_what_underflows", _RULES, ", 2 * n * SUBNORMAL", ", 0.0"),
    ("matrix-whose-rounding-underflows", f"{_TEST}products_charge_a_rounding_that_underflows", _RULES, "np.where(sizes == 0.0, 0.0, _up(_gamma(n) * sizes))", "_gamma(n) * sizes"),
    ("overflow-below-zero", f"{_TEST}functions_that_overflow_below_have_an_upper_end", _RULES, "high = np.maximum(high, -LARGEST)", "high = high + 0.0"),
    ("underflow-not-refuted", f"{_TEST}the_underflow_is_charged_to_the_smallest_entry", "evidence/claim.py", "certain = as_intervals(off).lo > 0.0", "certain = departures.lo > 0.0"),
    ("radius-not-rounded", f"{_TEST}middle_and_radius_hold_the_truth", "evidence/intervals.py", "return np.where(reach == 0.0, 0.0, np.nextafter(reach, np.inf))", "return reach"),
    ("radius-of-one-side", f"{_TEST}middle_and_radius_hold_the_truth", "evidence/intervals.py", "reach = np.maximum(middle - self.lo, self.hi - middle)", "reach = self.hi - middle"),
    ("row-by-column-not-rounded", _MATRICES, _RULES, "_about(float(middle), float(reach) * factor + more)", "_about(float(middle), more)"),
    ("row-by-column-of-one-side", _MATRICES, _RULES, "return math.nextafter(middle - reach, -math.inf)", "return middle"),
    ("length-not-rounded", f"{_TEST}lengths_hold_the_truth", _RULES, "math.nextafter(high, math.inf) if high else 0.0", "high"),
    ("length-not-rounded-below", f"{_TEST}lengths_hold_the_truth", _RULES, "max(math.nextafter(low, -math.inf), 0.0)", "low"),
    ("compiled-neighbour", _COMPILED, _LOOPS, "(1 if x > 0.0 else -1)", "1"),
    ("compiled-sum-not-rounded", _COMPILED, _LOOPS, "error = (a_hi[k] - (total - part)) + (b_hi[k] - part)", "error = 0.0"),
    ("compiled-corner-left-out", _COMPILED, _LOOPS, "product_below(a_hi[k], b[k]), product_below(a_hi[k], b_hi[k])", "product_below(a_hi[k], b_hi[k])"),
    ("compiled-quotient-by-zero", _COMPILED, _LOOPS, "b[k] <= 0.0 and b_hi[k] >= 0.0", "b[k] < 0.0 and b_hi[k] > 0.0"),
    ("compiled-square-not-rounded", _COMPILED, _LOOPS, "up(most * most)", "most * most"),
    ("compiled-library-without-error", _COMPILED, _LOOPS, "up(above + STEP * abs(above) + SLIP)", "up(above)"),
    ("compiled-radius-of-one-side", _COMPILED, _LOOPS, "max(mid[k] - lo[k], hi[k] - mid[k])", "hi[k] - mid[k]"),
    ("compiled-sums-without-slack", _COMPILED, _LOOPS, "up(above[k] + slack) if slack > 0.0 else above[k]", "above[k]"),
    ("compiled-matrix-of-one-side", _COMPILED, _LOOPS, "down(middle[k] - off) if known", "middle[k] if known"),
    ("compiled-within-not-rounded", _COMPILED, _LOOPS, "up(centre[k] + reach[k])", "centre[k] + reach[k]"),
    ("within-not-rounded", f"{_TEST}within_holds_every_number_that_near", "evidence/intervals.py", "np.nextafter(centre + reach, np.inf)", "centre + reach"),
    ("within-not-rounded-below", f"{_TEST}within_holds_every_number_that_near", "evidence/intervals.py", "np.nextafter(centre - reach, -np.inf)", "centre - reach"),
]  # fmt: skip
