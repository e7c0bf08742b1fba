"""The derivatives of softmax: its Jacobian, the spectrum of it, and the third derivative of the log-partition."""

from itertools import pairwise

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, balls, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.maxent import softmax, softmax_vjp
from theory.maxent.gibbs import expectation, softmax_jacobian, softmax_spectrum
from verify import textbook


def drawn(run, *, quick, paper):
    """Yield scores, a direction and a temperature."""
    yield np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0, -2.0]), 0.5
    yield np.array([0.0, 1.0, 3.0]), np.ones(3), 0.5  # along which nothing moves
    for size in (2.0**-40, 2.0**40):  # of scores and temperature at once
        yield size * np.array([0.0, 1.0, 3.0]), size * np.array([1.0, 0.0, -2.0]), size
    for rng in run.draws(quick=quick, paper=paper):
        n = int(rng.integers(2, 25))
        tau = float(rng.uniform(0.2, 4.0))
        yield rng.normal(size=n) * float(rng.choice([0.1, 1.0, 5.0])), rng.normal(size=n), tau


@verifies(
    Claim(
        "softmax.jacobian",
        "the Jacobian of softmax is the covariance of the one-hot vector over the temperature",
        r"$\nabla\,\mathrm{softmax}(s/\tau) = (\mathrm{diag}(p) - pp^\top)/\tau \succeq 0$, which maps constants to zero",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B7",),
        cites=("gao2017",),
        source_status=("recalled", "refereed"),
    ),
    bug("uncentred", "the sum of the exponentials is held fixed", centred=False),
    constant("unit-factor", "the factor 1 / tau is missing", power=0),
    hypothesis("elsewhere", "the derivative is that at twice the temperature", warmer=2.0),
    bug("twice", "the outer product is subtracted twice", outer=2.0),
)
def test_jacobian(run, *, centred=True, power=1, warmer=1.0, outer=1.0):
    for s, way, tau in drawn(run, quick=25, paper=300):
        case = {"n": s.size, "tau": tau}
        size = float(np.abs(way).max())
        scale = size / tau
        masses = np.exp((balls(s) + balls(way) * variable(2)) / ball(tau))
        total = masses.sum() if centred else coefficient(masses.sum(), 0)
        claimed = np.array([coefficient(mass / total, 1) for mass in masses]) * ball(tau) ** (1 - power)
        warm = warmer * tau
        law = softmax(exact(s), tau=warm)
        matrix = softmax_jacobian(law, tau=warm) - (outer - 1.0) * np.outer(law, law) / warm
        for name, found in (("product", softmax_vjp(law, way, tau=warm)), ("matrix", matrix @ way)):
            yield equals(found, claimed, scale=scale, part=name, **case)
        yield at_least(way @ matrix @ way, 0, scale=scale * size, part="positive", **case)


@verifies(
    Claim(
        "softmax.third-derivative",
        "the third derivative of the log-partition is the third central moment over the squared temperature",
        r"$\frac{d^3}{dt^3}\,\tau\log\sum_i e^{(s_i + tv_i)/\tau} = \mathbb E_p[(v - \mathbb E_pv)^3]/\tau^2$, that is $\mathbb E[(e - p)^{\otimes 3}]/\tau^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B7",),
        source_status=("recalled", "refereed"),
    ),
    hypothesis("uncentred", "the third moment is not centred", centred=False),
    constant("temperature", "the temperature is not squared", power=1),
    bug("sign", "the sign is that of the second derivative of the entropy", sign=-1.0),
)
def test_third_derivative(run, *, centred=True, power=2, sign=1.0):
    for s, way, tau in drawn(run, quick=25, paper=300):
        t = ball(tau)
        size = float(np.abs(way).max())
        law = softmax(exact(s), tau=tau)
        mean = expectation(law, way) if centred else 0.0
        moment = expectation(law, (exact(way) - mean) ** 3)
        value = textbook.log(textbook.exp((balls(s) + balls(way) * variable(4)) / t).sum())
        yield equals(moment, sign * 6 * t * coefficient(value, 3) * t**power, scale=size**3, n=s.size, tau=tau)


def secular(values, masses):
    """Bisect the roots of sum m / (v - x) between neighbouring values v, which increases there; largest first."""
    roots = []
    for low, high in pairwise(values):
        a = low
        b = high
        for _ in range(90):
            middle = ((9 * a + 7 * b) / 16).mid()  # not half-way, where simple laws have their roots
            total = (masses / (values - middle)).sum()
            if total > 0:
                b = middle
            elif total < 0:
                a = middle
            else:
                break
        roots.append(a.union(b))
    return roots[::-1]


@verifies(
    Claim(
        "softmax.spectrum",
        "the eigenvalues of the Jacobian lie between neighbouring weights and solve the secular equation",
        r"$p_{(1)} \ge \lambda_1 \ge p_{(2)} \ge \dots \ge p_{(n)} \ge \lambda_n = 0$; the others solve $\sum_i\frac{p_i}{p_i - \lambda} = 0$, or are weights that repeat",
        assumptions=(r"$p_i > 0$", "temperature one"),
        spec=("RA.B7",),
        cites=("golub1973",),
        source_status=("recalled", "refereed"),
    ),
    constant("shifted", "the second largest eigenvalue is at least the second largest weight", shift=1),
    constant("next", "every eigenvalue is at most the next smaller weight", ahead=1),
    bug("unweighted", "the terms of the secular equation lack their numerators", weighted=False),
    hypothesis("distinct", "weights that repeat are counted once", repeated=False),
    hypothesis("unnormalised", "the weights sum to 0.9", mass=0.9),
)
def test_spectrum(run, *, shift=0, ahead=0, weighted=True, repeated=True, mass=1):
    laws = [np.array([0.375, 0.375, 0.25]), np.array([2.0, 2.0, 2.0, 1.0, 1.0, 0.5]) / 8.5, np.array([0.5, 0.5])]
    laws += [rng.dirichlet(np.ones(int(rng.integers(2, 10)))) for rng in run.draws(quick=12, paper=150)]
    for law in laws:
        n = law.size
        whole = balls(law).sum()
        weights = balls(np.sort(law)[::-1]) / whole
        found = softmax_spectrum(balls(law) / whole * ball(mass))
        for i in range(n - 1):
            yield at_most(found[i], weights[i + ahead], scale=1, part="from above", n=n, i=i + 1)
            yield at_least(found[i], weights[max(i + 1 - shift, 0)], scale=1, part="from below", n=n, i=i + 1)
        yield equals(found[-1], 0, scale=1, part="kernel", n=n)
        values, counts = np.unique(law, return_counts=True)
        points = balls(values) / whole
        roots = secular(points, (balls(counts) if repeated else 1) * (points if weighted else points * 0 + 1))
        roots += [point for point, count in zip(points, counts, strict=True) for _ in range(count - 1)]
        falling = sorted(roots, key=lambda root: -float(root.mid()))
        yield equals(found[:-1], np.array(falling), scale=1, part="secular", n=n)
