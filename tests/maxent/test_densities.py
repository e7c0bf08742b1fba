"""Beta-Gaussians against quadrature at thirty digits and the printed table, their sampler, escorts and grids."""

import math

import mpmath as mp
import numpy as np
import pytest

from theory.evidence import stream
from theory.maxent import BetaGaussian, entmax, studies
from theory.maxent.densities import density_at, density_on_cells, escort_covariance
from theory.maxent.densities.beta_gaussian import log_rising
from theory.maxent.studies.densities import _moved

U = 2.0**-53
SCATTER = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 0.5]])
ORDERS = (1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.1, 4 / 3, 1.5, 2.0, 3.0, 6.0)


def radial(law, power, order=1):
    """Integrate r^power p^order over space at thirty digits, in the Mahalanobis radius, from the density alone."""
    d = law.dim
    with mp.workdps(30):
        peak = mp.exp(mp.mpf(law.log_peak))
        e = mp.mpf(law.alpha) - 1
        det = mp.det(mp.matrix(law.scatter.tolist()))
        surface = 2 * mp.pi ** (mp.mpf(d) / 2) / mp.gamma(mp.mpf(d) / 2) * mp.sqrt(det)

        def density(r):
            if e == 0:
                return peak * mp.exp(-r * r / 2)
            base = peak**e - e * r * r / 2
            return base ** (1 / e) if base > 0 else mp.mpf(0)

        end = mp.sqrt(2 * peak**e / e) if e > mp.mpf("1e-6") else mp.inf if e < -mp.mpf("1e-6") else mp.mpf(25)
        pieces = [mp.mpf(0), end / 2, end] if end < mp.inf else [mp.mpf(0), 1, 4, 16, mp.inf]
        return surface * mp.quad(lambda r: r ** (power + d - 1) * density(r) ** order, pieces)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_mass_covariance_and_entropy(alpha, dim):
    law = BetaGaussian(np.zeros(dim), SCATTER[:dim, :dim], alpha)
    tolerance = 1e-13  # the logarithm of the peak rounds to some 2^-49, and the quadrature stops at the singular edge
    assert float(radial(law, 0)) == pytest.approx(1.0, rel=tolerance, abs=0.0)
    variance = float(radial(law, 2)) / dim
    assert np.abs(law.covariance() - variance * law.scatter).max() <= tolerance * 4.0
    with mp.workdps(30):
        a = mp.mpf(alpha)
        if alpha == 1.0:
            assert law.entropy() == pytest.approx(float(dim * variance / 2 - law.log_peak), rel=1e-12, abs=1e-12)
        elif abs(alpha - 1.0) > 1e-6:  # nearer to one the printed form cancels
            entropy = float((1 - radial(law, 0, a)) / (a * (a - 1)))
            assert law.entropy() == pytest.approx(entropy, rel=1e-12, abs=1e-12)


def test_everything_is_continuous_at_one():
    """The second difference over 1e-9 is below rounding, and the first has the slope seen from afar."""
    gauss = BetaGaussian(np.zeros(3), SCATTER, 1.0)

    def numbers(alpha):
        law = BetaGaussian(np.zeros(3), SCATTER, alpha)
        return np.array([law.entropy(), law.log_peak, *law.covariance().ravel()])

    near, far = 2.0**-30, 2.0**-10
    assert np.abs(numbers(1.0 + near) + numbers(1.0 - near) - 2.0 * numbers(1.0)).max() <= 256 * U
    slope, wide = ((numbers(1.0 + h) - numbers(1.0 - h)) / (2.0 * h) for h in (near, far))
    assert np.abs(slope - wide).max() <= 1e3 * far**2 + 256 * U / near  # third derivatives here are some hundreds
    assert np.array_equal(gauss.covariance(), SCATTER)
    log_det = math.log(np.linalg.det(SCATTER))
    assert gauss.entropy() == pytest.approx(1.5 * (1.0 + math.log(2 * math.pi)) + 0.5 * log_det, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("alpha", "half_width", "peak", "ratio"),
    [
        (4 / 3, lambda v: (945 / 4 * v**3) ** (1 / 7), 35 / 32, 9),
        (1.5, lambda v: (15 * v**2) ** (1 / 5), 15 / 16, 7),
        (2.0, lambda v: (1.5 * v) ** (1 / 3), 3 / 4, 5),
        (3.0, lambda v: math.sqrt(2 / math.pi) * v**0.25, 2 / math.pi, 4),
    ],
)
def test_the_printed_table(alpha, half_width, peak, ratio):
    for v in (0.3, 1.0, 5.0):
        law = BetaGaussian([0.5], [[v]], alpha)
        a = half_width(v)
        assert law.radius * math.sqrt(v) == pytest.approx(a, rel=32 * U, abs=0.0)
        assert float(law.density([0.5])) * a == pytest.approx(peak, rel=32 * U, abs=0.0)
        assert law.covariance().item() == pytest.approx(a**2 / ratio, rel=32 * U, abs=0.0)
        assert float(law.density([0.5 + 1.0001 * a])) == 0.0
        assert float(law.density([0.5 - 0.9999 * a])) > 0.0


def test_plane_and_large_orders():
    plane = BetaGaussian([0.0, 0.0], SCATTER[:2, :2], 2.0)
    theta = math.pi**-0.5 * np.linalg.det(SCATTER[:2, :2]) ** -0.25
    assert plane.radius == pytest.approx(math.sqrt(2.0 * theta), rel=32 * U, abs=0.0)
    flat = BetaGaussian([0.0], [[3.0]], 1e4)
    assert flat.radius * math.sqrt(3.0) == pytest.approx(0.5, rel=1e-3, abs=0.0)


def test_student():
    """Order 1/2 in one dimension has three degrees of freedom."""
    law = BetaGaussian([0.0], [[1.0]], 0.5)
    scale = math.sqrt(law.covariance().item() / 3.0)
    for x in (0.0, 0.5, 3.0, 20.0):
        y = x / scale
        student = 2.0 / (math.pi * math.sqrt(3.0) * (1.0 + y * y / 3.0) ** 2) / scale
        assert float(law.density([x])) == pytest.approx(student, rel=64 * U, abs=0.0)
    with pytest.raises(ValueError, match=r"^alpha: expected more than d/\(d \+ 2\)"):
        BetaGaussian(np.zeros(3), SCATTER, 0.4).entropy()


@pytest.mark.parametrize("alpha", [1.0, 4 / 3, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("dim", [1, 2])
def test_escort(alpha, dim):
    law = BetaGaussian(np.zeros(dim), SCATTER[:dim, :dim], alpha)
    mass, covariance = law.escort()
    if alpha <= 2.0:  # beyond, the integrand is infinite on the edge, and plain quadrature too slow
        with mp.workdps(30):
            order = 2 - mp.mpf(alpha)
            if alpha < 2.0:
                assert float(radial(law, 0, order)) == pytest.approx(mass, rel=1e-12, abs=0.0)
                second = float(radial(law, 2, order) / radial(law, 0, order)) / dim
                assert np.abs(covariance - second * law.scatter).max() <= 1e-12 * 4.0
    assert np.abs(mass * covariance - law.scatter).max() <= 64 * U * 2.0


def test_escort_of_order_two_is_uniform():
    law = BetaGaussian([0.0], [[1.0]], 2.0)
    mass, covariance = law.escort()
    assert mass == pytest.approx(2.0 * law.radius, rel=32 * U, abs=0.0)
    assert covariance.item() == pytest.approx(law.radius**2 / 3.0, rel=32 * U, abs=0.0)


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.5, 2.0, 4.0])
def test_sampler(alpha):
    """Each entry of the mean of 40 000 outer products, within 6 of its standard errors."""
    law = BetaGaussian([1.0, -1.0, 0.0], SCATTER, alpha)
    drawn = law.sample(stream("tests.densities.sampler", int(10 * alpha)), 40_000) - law.mean
    products = drawn[:, :, np.newaxis] * drawn[:, np.newaxis, :]
    error = products.std(axis=0) / math.sqrt(len(drawn))
    assert np.all(np.abs(products.mean(axis=0) - law.covariance()) <= 6.0 * error)
    assert np.all(np.abs(drawn.mean(axis=0)) <= 6.0 * drawn.std(axis=0) / math.sqrt(len(drawn)))
    radii = np.sqrt((np.linalg.solve(np.linalg.cholesky(SCATTER), drawn.T) ** 2).sum(axis=0))
    assert radii.max() <= law.radius * (1.0 + 64 * U)
    if alpha > 1.0:  # the radius has a Beta law: its second moment is known as well
        share = (radii / law.radius) ** 2
        p = 1.5
        q = 1.0 / (alpha - 1.0) + 1.0
        truth = p * (p + 1.0) / ((p + q) * (p + q + 1.0))
        assert abs((share**2).mean() - truth) <= 6.0 * (share**2).std() / math.sqrt(len(share))


def test_rising():
    for x in (1e-3, 0.5, 1.0, 7.25, 149.0, 151.0, 1e4, 1e9, 1e15):
        for steps in (1, 2, 3, 5, 6):
            with mp.workdps(60):
                truth = mp.loggamma(mp.mpf(x) + mp.mpf(steps) / 2) - mp.loggamma(mp.mpf(x))
                assert abs(float(log_rising(x, steps) - truth)) <= 8 * U * (1.0 + abs(float(truth)))


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.25, 2.0, 3.0])
def test_cells(alpha):
    """With unit masses it is entmax; with any masses the condition of the optimum holds cell by cell."""
    rng = stream("tests.grid", 0)
    f = rng.normal(size=9)
    mu = rng.uniform(0.01, 3.0, size=9)
    unit = density_on_cells(f, np.ones(9), alpha)
    assert np.abs(unit.density - entmax(f, alpha)).max() <= 32 * U
    mu[4] = 0.0
    found = density_on_cells(f, mu, alpha)
    assert abs(mu @ found.density - 1.0) <= 64 * U
    assert found.density[4] == 0.0
    again = density_at(f, found.normaliser, alpha)
    assert np.abs(np.where(mu > 0.0, again, 0.0) - found.density).max() <= 256 * U * max(1.0, float(again.max()))
    fine = density_on_cells(f, mu / 128.0, alpha)  # a hundredth of the volume: densities above one
    assert fine.density.max() > 1.0
    assert abs(mu @ fine.density / 128.0 - 1.0) <= 256 * U
    again = np.where(mu > 0.0, density_at(f, fine.normaliser, alpha), 0.0)
    assert np.abs(again - fine.density).max() <= 4096 * U * float(again.max())
    split = density_on_cells(np.repeat(f, 2), np.repeat(mu / 2.0, 2), alpha)  # cells cut in two change nothing
    assert np.abs(split.density[::2] - found.density).max() <= 64 * U
    assert abs(split.normaliser - found.normaliser) <= 64 * U * (1.0 + abs(found.normaliser))


@pytest.mark.parametrize(("alpha", "order"), [(4 / 3, 4.0), (1.5, 3.0), (2.0, 2.0), (3.0, 1.5)])
def test_grids_converge_to_the_density(alpha, order):
    """The mass at the true normaliser errs by O(h^(1 + b)), worst over phases and widths; Gaussian grids by nothing."""
    errors = []
    for h in (2.0**-4, 2.0**-6):
        worst = 0.0
        for phase in np.arange(8) / 8.0:
            for v in np.linspace(0.7, 1.4, 6):
                law = BetaGaussian([0.0], [[v]], alpha)
                x = h * (np.arange(-80 / h / 20, 80 / h / 20) + phase)
                worst = max(worst, abs(h * law.density(x[:, np.newaxis]).sum() - 1.0))
        errors.append(worst)
    slope = math.log2(errors[0] / errors[1]) / 2.0
    assert abs(slope - order) <= 0.35
    gauss = BetaGaussian([0.0], [[1.0]], 1.0)
    x = 0.4 * np.arange(-40, 41)
    cells = density_on_cells(-0.5 * x**2, np.full(x.size, 0.4), 1.0)
    assert np.abs(cells.density - gauss.density(x[:, np.newaxis])).max() <= 16 * U


def test_study_holds_what_it_names():
    """The table of the figure: shapes against the printed formulas, grids against sums at thirty digits."""
    table = studies.densities(scale="quick", root=1)
    assert set(table["part"].tolist()) == {"density", "peak", "half-width", "variance", "mass", "sup", "plain"}
    rows = table.where(part="density", alpha=1.5)
    with mp.workdps(30):
        a = mp.mpf(15) ** (mp.mpf(1) / 5)
        for x, found in zip(rows["at"].tolist(), rows.intervals("value"), strict=True):
            truth = 15 / (16 * a) * (1 - (mp.mpf(x) / a) ** 2) ** 2 if abs(x) < a else mp.mpf(0)
            assert found.lo <= truth <= found.hi
            assert found.width <= 1e-12
        masses = table.where(part="mass", alpha=2.0)
        for h, found in zip(masses["at"].tolist(), masses.intervals("value"), strict=True):
            worst = mp.mpf(0)
            for j in range(4):
                half = mp.mpf(1.5) + mp.mpf(h) * (j + mp.mpf(0.25)) / 4
                for i in range(4):
                    nodes = [mp.mpf(h) * (k + mp.mpf(i) / 4) for k in range(int(-2 / h), int(2 / h))]
                    mass = h * mp.fsum(3 / (4 * half) * max(1 - (x / half) ** 2, mp.mpf(0)) for x in nodes)
                    worst = max(worst, abs(mass - 1))
            assert found.lo <= worst <= found.hi
            assert found.width <= 1e-5 * found.mid
    lone = table.where(part="sup", alpha=2.0)  # at order 2 the densities differ by the same everywhere inside
    ratio = lone["value.lo"] * 2.0 * 1.5 / masses["value.lo"]  # error of the mass over the width of the support
    assert np.all(np.abs(ratio - 1.0) <= 0.2)
    assert len(studies.densities(scale="paper", root=1)) > len(table)


@pytest.mark.parametrize("alpha", [0.8, 1.0, 4 / 3, 1.5, 2.0])
def test_escort_covariance_is_the_derivative(alpha):
    """Central differences of expectations on a grid, with Richardson's step; both statistics at once."""
    x = np.linspace(-6.0, 6.0, 241)
    mu = np.full(x.size, 0.05)
    phi = np.column_stack([x, -0.5 * x**2])
    psi = np.column_stack([x, np.cos(x)])
    theta = np.array([0.3, 1.1])

    def mean(parameters):
        return (mu * density_on_cells(phi @ parameters, mu, alpha).density) @ psi

    found = density_on_cells(phi @ theta, mu, alpha)
    claimed = escort_covariance(found.density, mu, psi, phi, alpha)
    for k, direction in enumerate(np.eye(2)):
        near, far = (
            (mean(theta + h * direction) - mean(theta - h * direction)) / (2.0 * h) for h in (2.0**-13, 2.0**-12)
        )
        slope = (4.0 * near - far) / 3.0 if alpha < 2.0 else near
        assert np.abs(slope - claimed[:, k]).max() <= 1e-8


@pytest.mark.parametrize("alpha", studies.NAMED)
def test_what_is_charged_for_roundings_holds_up_to_the_edge(alpha):
    """Beside the edge a base of a few roundings is all that is left of the density."""
    law = BetaGaussian(np.zeros(1), np.eye(1), alpha)
    ways = stream("tests.densities.edge", 0).uniform(size=60)
    for x in law.radius * (1.0 - ways * 0.5 ** np.arange(60)):
        p = float(law.density([x]))
        reach = float(_moved(np.array([p]), np.array([x]), law).item())
        with mp.workdps(40):
            e = mp.mpf(alpha) - 1
            b = 1 / e
            mass = mp.sqrt(2 * mp.pi * b) * mp.gamma(b + 1) / mp.gamma(b + mp.mpf(3) / 2)
            base = mass ** (-e / (1 + e / 2)) - e * mp.mpf(float(x)) ** 2 / 2
            truth = base**b if base > 0 else mp.mpf(0)
            assert abs(p - truth) <= reach + mp.mpf(2) ** -1000
