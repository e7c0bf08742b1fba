"""Widths that are planted in theory/precision: each is caught by the named test or claim."""

EDGE = "tests/precision/test_streaming.py::test_rounded_weights_nearly_reach_the_bound"
SUMS = "tests/precision/test_streaming.py::test_sums_nearly_reach_the_bound"
VALUES = "tests/precision/test_streaming.py::test_bounds_have_their_values"
STREAMING = "precision/streaming.py"
BACKWARD = "precision/backward.py"
PASSES = "precision/passes.py"
PARTS = "tests/precision/test_passes.py::test_parts_have_their_values"
GRADIENTS = "tests/precision/test_backward.py::test_bounds_have_their_values"

WIDTHS = [
    ("rounded-weights-halved", EDGE, STREAMING, "normal = (n - 1) *", "normal = (n - 1) / 2 *"),
    ("vanishing-weights-forgotten", EDGE, STREAMING,
     "return vanishing if vanishing > normal else normal", "return normal"),
    ("sums-of-masses-only", SUMS, STREAMING, "(2 * (c + r) + 4)", "(c + r + 4)"),
    ("factors-uncounted", VALUES, STREAMING, "(2 * (c + r) + 4)", "(2 * c + 4)"),
    ("widths-halved", VALUES, STREAMING, '"width") + 4', '"width") // 2 + 4'),
    ("scores-exact", "streaming.heads", STREAMING, "steps * u / (1 - steps * u)", "0 * u"),
    ("saved-logarithms-exact", "streaming.gradients", BACKWARD, "(1 + u) * (away + 2 * delta)", "(1 + u) * 2 * delta"),
    ("slopes-of-scores-exact", "streaming.gradients", BACKWARD,
     "first + u * (t + first) + coarse * whole + specks", "first + u * (t + first) + specks"),
    ("saved-means-exact", "streaming.gradients", BACKWARD, "speck + eta)", "speck)"),
    ("weights-exact", GRADIENTS, BACKWARD, "value = one_weight + coarse", "value = coarse"),
    ("sums-of-queries-exact", GRADIENTS, BACKWARD, "off + roundings(n + 2, u) * summed + tiny", "off + tiny"),
    ("own-logarithms-exact", "streaming.passes", PASSES, "(u * (1 + scores) + 2 * scores) * s", "0 * s"),
    ("own-means-exact", "streaming.passes", PASSES,
     "off + own.products * (b + off) + own.least", "own.products * b + own.least"),
    ("gradients-unrounded", PARTS, PASSES, "last = ball(outer.unit if", "last = ball(0.0 if"),
    ("saved-sums-exact", PARTS, PASSES, "(c + r) * u / (1 - u) + n * far", "n * far"),
    ("saved-distances-exact", PARTS, PASSES, "u * (most + mean) / (1 - u)", "0"),
    ("slopes-do-not-vanish", PARTS, PASSES, "lost = n * vanishing(form) * 5 / 4", "lost = 0 * vanishing(form)"),
    ("weights-do-not-vanish", PARTS, PASSES, "+ weight_speck(form)", "+ 0 * weight_speck(form)"),
    ("additions-uncounted", PARTS, PASSES, "in (c + 3, m + 2)", "in (3, m + 2)"),
]  # fmt: skip
