"""Widths that are planted in theory/positions: each is caught by the named test."""

PIECES = "positions/pieces.py"

WIDTHS = [
    ("rates-halved", "tests/positions/test_pieces.py::test_the_rate_is_nearly_reached", PIECES,
     "(orders * np.exp(-orders * start)).sum()", "(orders * np.exp(-orders * start)).sum() / 2"),
    ("cosines-beyond-at-zero", "tests/positions/test_pieces.py::test_sums_beyond_a_base", PIECES,
     "else ball(-1)", "else ball(1)"),
]  # fmt: skip
