"""Bugs that are planted in what floats are answered, where claims ask with enclosures: floats and enclosures part."""

_T = "tests/test_float_answers.py::test_floats_are_answered_inside_what_is_enclosed"

WIDTHS = [
    # (name, caught by, path under theory/, old text, new text)
    ("divergence-of-the-reference", f"{_T}[maxent.gibbs.divergence]", "maxent/gibbs/principle.py",
     "right = p[on] * np.log(q[on])", "right = q[on] * np.log(q[on])"),
    ("gap-of-another-law", f"{_T}[maxent.frank_wolfe_gap]", "maxent/certificate.py",
     "mean = (gradient * p).sum()", "mean = (gradient * p[::-1]).sum()"),
    ("semigroup-backwards", f"{_T}[diffusion.semigroup]", "diffusion/limits/generators.py",
     "expm(exponent) @ function if fits", "expm(exponent).T @ function if fits"),
    ("tangent-along-the-field", f"{_T}[Tangential]", "particles/dynamics/fields.py",
     'tangent: Array = y - np.einsum("ij,ij->i", x, y)[:, np.newaxis] * x',
     'tangent: Array = y - np.einsum("ij,ij->i", x, y)[:, np.newaxis] * y'),
    ("power-of-another-exponent", f"{_T}[lipschitz.constants.interpolated_constant]", "lipschitz/_numbers.py",
     "float(base**t)", "float(base ** (t + 1e-12))"),
    ("products-of-one-factor", f"{_T}[metric.vjp]", "metric/similarity.py",
     'np.einsum("...k,...k->...", a, b)', 'np.einsum("...k,...k->...", a, a)'),
    ("tilt-not-halved", "tests/particles/test_gaussian.py::test_floats_of_a_mixture_lie_in_its_enclosure",
     "particles/mean_field/gaussian_exact.py", "0.5 * np.einsum", "np.einsum"),
    ("tangent-doubled-in-floats", f"{_T}[Tangential]", "particles/dynamics/fields.py",
     'tangent: Array = y - np.einsum("ij,ij->i", x, y)', 'tangent: Array = y - 2.0 * np.einsum("ij,ij->i", x, y)'),
]  # fmt: skip
