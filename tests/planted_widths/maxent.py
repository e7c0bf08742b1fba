"""Widths and roundings that are planted in the room of entropies: each is caught by the named test or claim."""

COARSE = "tests/maxent/test_coarse.py::test_"

WIDTHS = [
    ("plain-sum", COARSE + "sums_that_cancel_keep_all_digits", "maxent/batch.py",
     "    return (sums - 1.0) + lost\n", "    return sums - 1.0\n"),
    ("surplus-divided", "entmax.conditioning", "maxent/threshold.py",
     "least + (most - least) * way,", "most / (1.0 + over),"),
    ("threshold-as-sorted", "entmax.sorted", "maxent/sorting.py",
     "        step = excess(root**power) / np.maximum", "        step = 0.0 * excess(root**power) / np.maximum"),
    ("ties-counted-less", "normmax.law", "maxent/normmax.py", "(ties - 1.0)", "0.99 * (ties - 1.0)"),
    ("gap-loosened", "entmax.optimal", "maxent/certificate.py",
     "        return Interval.largest(evidence.hull(g - mean) for g in gradient)",
     "        return 100 * Interval.largest(evidence.hull(g - mean) for g in gradient)"),
    ("weights-as-exact", COARSE + "the_published_error_is_the_one_that_is_claimed", "maxent/threshold.py",
     "(6.0 + 3.0 * math.log(n)) * U", "6.0 * U"),
    ("law-moves-less", COARSE + "a_law_of_scores_that_are_off", "maxent/loss_interval.py",
     "        return n * rho\n", "        return 0.5 * rho\n"),
    ("mass-of-the-law", COARSE + "a_law_of_scores_that_are_off", "maxent/loss_interval.py",
     "float(found.alpha[0, 0])) + rest)", "float(found.alpha[0, 0])))"),
    ("residual-of-the-loss", COARSE + "a_loss_of_scores_that_are_off", "maxent/loss_interval.py",
     "rho * (3.0 * apart", "rho * (0.4 * apart"),
    ("mass-of-the-loss", COARSE + "a_loss_at_a_threshold_that_is_off", "maxent/loss_interval.py", " + rest**2", ""),
    ("far-terms", COARSE + "what_rounding_adds_is_charged", "maxent/loss_interval.py", " + gamma(_FAR) * far", ""),
    ("near-terms", COARSE + "what_rounding_adds_is_charged", "maxent/loss_interval.py",
     "gamma(_NEAR + s.size) * value", "gamma(s.size) * value"),
    ("slopes-as-exact", COARSE + "what_rounding_adds_is_charged", "maxent/spectral.py", "EXP_ULPS * U", "0.0 * U"),
]  # fmt: skip
