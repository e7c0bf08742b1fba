"""Widths that are planted in what speaks of Gibbs laws, depth and distances: a named test or claim catches each."""

FEWER = "tests/maxent/test_length.py::test_sums_over_fewer_places_enclose_the_same"
COARSE = "tests/maxent/test_length.py::test_a_coarse_convolution_encloses_the_functions"
BEYOND = "tests/maxent/test_length.py::test_what_is_left_out_is_less_than_its_bound"
FIXED = "tests/lipschitz/test_fixed_points.py::test_posterior_is_attained"

# name, what catches it, path under theory/, old text, new text
WIDTHS = [
    (
        "gaussian-sum-exact",
        FEWER,
        "maxent/gibbs/gaussian_scores.py",
        "n * s * weighted + summed * farthest / c",
        "n * s * weighted",
    ),
    ("gaussian-square-exact", FEWER, "maxent/gibbs/gaussian_scores.py", "left + summed / c**2", "left"),
    (
        "gaussian-convolution-exact",
        COARSE,
        "maxent/gibbs/gaussian_scores.py",
        "_wider(coefficient(zeroth, k), lost)",
        "coefficient(zeroth, k)",
    ),
    (
        "gaussian-tail-halved",
        BEYOND,
        "maxent/gibbs/gaussian_scores.py",
        "slope * slope / 2 - slope * edge",
        "slope * slope / 4 - 2 * slope * edge",
    ),
    (
        "gaussian-tail-without-its-distance",
        BEYOND,
        "maxent/gibbs/gaussian_scores.py",
        "height * (edge + 2 / slope)",
        "0 * height",
    ),
    (
        "posterior-exact-steps",
        FIXED,
        "lipschitz/depth/fixed_points.py",
        'nonnegative(rounding, "rounding")) / (1',
        "0.0) / (1",
    ),
    (
        "posterior-loose",
        "depth.fixed-point",
        "lipschitz/depth/fixed_points.py",
        "/ (1 - Interval.exactly(rate))).hi",
        "/ (1 - Interval.exactly(rate))).hi * 100.0",
    ),
    (
        "posterior-looser",
        "depth.inverse",
        "lipschitz/depth/fixed_points.py",
        "/ (1 - Interval.exactly(rate))).hi",
        "/ (1 - Interval.exactly(rate))).hi * 1.001",
    ),
    (
        "equilibrium-loose",
        "depth.equilibrium",
        "lipschitz/depth/fixed_points.py",
        "/ (1 - Interval.exactly(rate))).hi",
        "/ (1 - Interval.exactly(rate))).hi * 1.001",
    ),
    (
        "inverse-of-another-target",
        "depth.inverse",
        "lipschitz/depth/fixed_points.py",
        "moved: Array = target - as_points(branch",
        "moved: Array = target + 1e-9 - as_points(branch",
    ),
    (
        "euclidean-degree",
        "distance-attention.heads",
        "lipschitz/constants/distance.py",
        "math.hypot(*(q * q * v for q, v in norms))",
        "math.hypot(*(q * v for q, v in norms))",
    ),
    (
        "bounded-mixed",
        "distance-attention.bounded",
        "lipschitz/constants/distance.py",
        "(1.0 + 2.0 * spread) + spread / 2.0",
        "(1.0 + 2.0 * spread)",
    ),
    (
        "atoms-far-weight",
        "distance-attention.atoms",
        "lipschitz/constants/distance.py",
        "far = 0.5 + 2.0 *",
        "far = 2.0 *",
    ),
    (
        "layer-norm-shift",
        "depth.layer-norm",
        "lipschitz/depth/bounds.py",
        'finite(largest * length + offset, "gain")',
        'finite(largest * length, "gain")',
    ),
    (
        "layer-norm-gain",
        "depth.layer-norm",
        "lipschitz/depth/bounds.py",
        "slope = finite(largest / root(floor)",
        "slope = finite(1.0 / root(floor)",
    ),
    (
        "sampling-unseen",
        "gibbs.sampling",
        "lipschitz/constants/gibbs.py",
        "(1.0 - 1.0 / like(count, spacing)) ** draws",
        "(1.0 - 1.0 / like(count, spacing)) ** (draws + 1)",
    ),
]
