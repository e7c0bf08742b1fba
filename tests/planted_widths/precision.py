"""Widths that are planted in theory/precision: each is caught by the named test or claim."""

EDGE = "tests/precision/test_streaming.py::test_rounded_weights_nearly_reach_the_bound"
SUMS = "tests/precision/test_streaming.py::test_sums_nearly_reach_the_bound"
VALUES = "tests/precision/test_streaming.py::test_bounds_have_their_values"
STREAMING = "precision/streaming.py"

WIDTHS = [
    ("rounded-weights-halved", EDGE, STREAMING, "normal = (n - 1) *", "normal = (n - 1) / 2 *"),
    ("vanishing-weights-forgotten", EDGE, STREAMING,
     "return vanishing if vanishing > normal else normal", "return normal"),
    ("sums-of-masses-only", SUMS, STREAMING, "(2 * (c + r) + 4)", "(c + r + 4)"),
    ("factors-uncounted", VALUES, STREAMING, "(2 * (c + r) + 4)", "(2 * c + 4)"),
    ("widths-halved", VALUES, STREAMING, '"width") + 4', '"width") // 2 + 4'),
    ("scores-exact", "streaming.heads", STREAMING, "steps * u / (1 - steps * u)", "0 * u"),
]  # fmt: skip
