"""Widths that are planted in certificates of blocks: each is caught by the named test or claim."""

BLOCKS = "tests/lipschitz/test_blocks.py::"

PARTS = "lipschitz/certificate/feed_forward.py"
NORMED = "lipschitz/certificate/normalised.py"
STACK = "lipschitz/certificate/blocks.py"
ONE = "lipschitz/certificate/block.py"

WIDTHS = [
    ("folds-unrounded", BLOCKS + "test_folds_that_are_rounded_short_are_covered", STACK,
     "Interval.exactly(times * unit)", "Interval.exactly(0.0 * unit)"),
    ("gram-unrounded", BLOCKS + "test_an_eigenvalue_that_a_library_finds_short_is_covered", PARTS,
     "gamma(matrix.shape[1] + _SPECTRAL * n)", "gamma(n)"),
    ("biases-unrounded", BLOCKS + "test_biases_are_known_up_to_what_is_told", ONE,
     "* gamma(2 * terms + layer.dim + 8)", "* 0.0"),
    ("gains-dropped", BLOCKS + "test_gains_in_the_matrices", NORMED,
     "folded = matrix * norm.gain", "folded = 1.0 * matrix"),
    ("means-kept", BLOCKS + "test_gains_in_the_matrices", NORMED,
     "folded - folded.mean(axis=1, keepdims=True)", "folded"),
    ("shift-kept-from-biases", BLOCKS + "test_gains_in_the_matrices", STACK, "own + matrices @ norm.shift", "own"),
    ("floor-doubled", BLOCKS + "test_layer_norm_is_that_of_the_room", NORMED,
     "float(self.dim) + self.eps).sqrt()", "float(self.dim) + 2.0 * self.eps).sqrt()"),
    ("multiplier-unchecked", BLOCKS + "test_longest_normalised_token", NORMED,
     "total = multiplier * reach * reach + (shift * shift).sum() +", "total = multiplier * reach * reach +"),
    ("variance-doubled", BLOCKS + "test_norm_among_tokens_of_a_least_variance", NORMED,
     "(Interval.exactly(self.eps) + self.least).sqrt()", "(Interval.exactly(self.eps) + 2.0 * self.least).sqrt()"),
    ("gate-alone", BLOCKS + "test_constant_of_a_feed_forward_part", PARTS,
     'self._scaled(most, "gate") * slope + self._scaled(gated, "up")', 'self._scaled(most, "gate") * slope'),
    ("rows-without-their-shift", BLOCKS + "test_constant_of_a_feed_forward_part", PARTS,
     "+ error) * reach + middle).hi)", "+ error) * reach).hi)"),
    ("root-of-the-number-dropped", BLOCKS + "test_constants_of_a_stack_are_products_or_less", STACK,
     "above(math.sqrt(count))\n        other", "1.0\n        other"),
    ("slope-of-gelu", "certificate.blocks", PARTS, "1.128904145185155", "1.128"),
    ("half-of-the-product", "certificate.blocks", PARTS, "0.5 * straight +", "0.4 * straight +"),
]  # fmt: skip
