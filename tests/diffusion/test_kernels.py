"""The Fourier coefficients of isotropic kernels against quadratures of their profiles."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import j0

from theory.diffusion.limits import KERNELS, kernel_multiplier

PROFILES = {
    "gaussian": lambda r: math.exp(-(r**2) / 2), "narrow": lambda r: math.exp(-(r**2)),
    "exponential": lambda r: math.exp(-r), "ball": lambda _: 1.0,
}  # fmt: skip


def transform(name, s, dim):
    """The transform of the profile at a radial frequency, over its mass."""
    end = 1.0 if name == "ball" else 45.0

    def wave(r):
        return math.cos(s * r) if dim == 1 else r * j0(s * r)

    def mass(r):
        return 1.0 if dim == 1 else r

    settings = {"epsabs": 1e-13, "epsrel": 1e-13, "limit": 400}
    above = quad(lambda r: PROFILES[name](r) * wave(r), 0.0, end, **settings)[0]
    return above / quad(lambda r: PROFILES[name](r) * mass(r), 0.0, end, **settings)[0]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dim", [1, 2])
def test_transforms_of_the_profiles(name, dim):
    epsilon = 0.3
    modes = np.array([0.0, 1.0, -2.0, 5.0])
    k = (modes,) if dim == 1 else (modes, np.array([0.0, 3.0, 1.0, -2.0]))
    found = kernel_multiplier(name, epsilon, dim)(*k)
    lengths = np.sqrt(epsilon * sum(mode**2 for mode in k))
    np.testing.assert_allclose(found, [transform(name, s, dim) for s in lengths], rtol=0, atol=1e-11)
    assert found[0] == 1.0


@pytest.mark.parametrize("dim", [1, 2])
def test_disc_at_long_waves(dim):
    lengths = np.array([0.0, 1e-9, 9.9e-5, 1.01e-4, 1e-3])  # on either side of where the series takes over
    k = (lengths,) if dim == 1 else (lengths, np.zeros(5))
    series = 1 - lengths**2 / (2 * (dim + 2)) + lengths**4 / (120 if dim == 1 else 192)
    np.testing.assert_allclose(kernel_multiplier("ball", 1.0, dim)(*k), series, rtol=0, atol=4e-16)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kernel_multiplier("box", 0.1, 1), "name: expected one of gaussian"),
        (lambda: kernel_multiplier("ball", 0.1, 3), "dim: expected 1 or 2, got 3"),
        (lambda: kernel_multiplier("ball", 0.1, True), "dim: expected 1 or 2, got True"),
        (lambda: kernel_multiplier("ball", 0.0, 1), "epsilon: expected a positive"),
        (lambda: kernel_multiplier("ball", math.inf, 1), "epsilon: expected a"),
        (lambda: kernel_multiplier("ball", 0.1, 2)(np.arange(3.0)), "k: expected 2 arrays of frequencies, got 1"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match="^" + words):
        call()
