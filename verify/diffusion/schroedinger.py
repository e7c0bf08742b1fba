"""The drift-diffusion by its Schroedinger form in Fourier or Legendre modes: what stacks of layers are compared with.

With density p = exp(u) and drift coefficient 2 kappa, v = p**kappa h turns L h = h'' + 2 kappa u' h' into
v'' - (kappa u'' + kappa**2 u'**2) v, which is symmetric and negative. Modes fall faster than geometrically, and those
that are left out are far below rounding.
"""

from functools import cache

import numpy as np
from numpy.polynomial import legendre

from theory.evidence.roundoff import U

MODES = 32


@cache
def circle(cosines, sines, kappa):
    """Rates, modes as columns and what rounding may do to a rate, for log p with these coefficients."""
    k = np.arange(-MODES, MODES + 1)
    u = np.zeros(2 * len(cosines) + 1, dtype=complex)  # its own Fourier coefficients
    for j, (a, b) in enumerate(zip(cosines, sines, strict=True), start=1):
        u[len(cosines) + j], u[len(cosines) - j] = (a - 1j * b) / 2, (a + 1j * b) / 2
    m = np.arange(-len(cosines), len(cosines) + 1)
    potential = kappa**2 * np.convolve(1j * m * u, 1j * m * u)
    potential[len(cosines) : len(cosines) + u.size] += kappa * -(m**2) * u
    half = (potential.size - 1) // 2
    lag = k[:, np.newaxis] - k
    near = np.abs(lag) <= half
    matrix = np.diag(k.astype(float) ** 2).astype(complex)
    matrix[near] += potential[(lag + half)[near]]
    rates, modes = np.linalg.eigh(matrix)
    return rates, modes, 4 * k.size * U * float(np.abs(matrix).sum(axis=1).max())


def evolved_on_circle(cosines, sines, kappa, function, times, x):
    """The solution at places x after each of some times, shape (times, places), and a bound on its error."""
    rates, modes, slip = circle(cosines, sines, kappa)
    k = np.arange(-MODES, MODES + 1)
    j = np.arange(1, len(cosines) + 1)

    def weight(y):
        return np.exp(kappa * (np.cos(np.multiply.outer(y, j)) @ cosines + np.sin(np.multiply.outer(y, j)) @ sines))

    nodes = 2 * np.pi * np.arange(512) / 512
    start = (np.exp(-1j * np.multiply.outer(k, nodes)) @ (weight(nodes) * function(nodes))) / nodes.size
    parts = modes.conj().T @ start
    waves = np.exp(1j * np.multiply.outer(x, k)) @ modes
    found = np.stack([(waves @ (np.exp(-t * rates) * parts)).real for t in times]) / weight(x)
    # a symmetric matrix known to slip has a semigroup known to t slip; 64 modes of size one, and their sums
    size = float(np.linalg.norm(start)) * np.sqrt(k.size) / float(weight(x).min())
    return found, size * (max(times) * slip + 512 * U)


def evolved_on_sphere(slope, kappa, function, times, z, *, degrees=48):
    """The same on the sphere, for functions of the height and p = 1 + slope z."""
    nodes, weights = legendre.leggauss(2 * degrees)
    norm = np.sqrt(np.arange(degrees) + 0.5)
    basis = legendre.legvander(nodes, degrees - 1) * norm
    p = 1 + slope * nodes
    # lap of p**kappa over p**kappa, with lap z = -2 z and |grad z|**2 = 1 - z**2
    potential = kappa * slope * (-2 * nodes / p + (kappa - 1) * slope * (1 - nodes**2) / p**2)
    matrix = (basis.T * (weights * potential)) @ basis + np.diag(np.arange(degrees) * (np.arange(degrees) + 1.0))
    rates, modes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    start = modes.T @ (basis.T @ (weights * p**kappa * function(nodes)))
    waves = (legendre.legvander(z, degrees - 1) * norm) @ modes
    found = np.stack([waves @ (np.exp(-t * rates) * start) for t in times]) / (1 + slope * z) ** kappa
    slip = 4 * degrees * U * float(np.abs(matrix).sum(axis=1).max())
    size = float(np.linalg.norm(start)) * degrees / float(1 - abs(slope)) ** kappa
    return found, size * (max(times) * slip + 1024 * U)
