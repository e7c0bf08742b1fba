"""The derivatives of softmax: its Jacobian, the spectrum of it, and the third derivative of the log-partition."""

from itertools import pairwise

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    Kind,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import gamma
from theory.maxent import softmax, softmax_jacobian, softmax_vjp
from verify import textbook
from verify.maxent.laws import off
from verify.textbook import balls, gap, hull


def drawn(run, *, quick, paper):
    """Yield scores, a direction and a temperature."""
    yield np.array([0.0, 1.0, 3.0]), np.array([1.0, 0.0, -2.0]), 0.5
    yield np.array([0.0, 1.0, 3.0]), np.ones(3), 0.5  # along which nothing moves
    for size in (2.0**-40, 2.0**40):  # of scores and temperature at once
        yield size * np.array([0.0, 1.0, 3.0]), size * np.array([1.0, 0.0, -2.0]), size
    for rng in run.draws(quick=quick, paper=paper):
        n, tau = int(rng.integers(2, 25)), float(rng.uniform(0.2, 4.0))
        yield rng.normal(size=n) * float(rng.choice([0.1, 1.0, 5.0])), rng.normal(size=n), tau


@verifies(
    Claim(
        "softmax.jacobian",
        "the Jacobian of softmax is the covariance of the one-hot vector over the temperature",
        r"$\nabla\,\mathrm{softmax}(s/\tau) = (\mathrm{diag}(p) - pp^\top)/\tau \succeq 0$, which maps constants to zero",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B7",),
        cites=("gao2017",),
        provenance=("recalled", "refereed"),
    ),
    bug("uncentred", "the sum of the exponentials is held fixed", centred=False),
    constant("unit-factor", "the factor 1 / tau is missing", power=0),
    hypothesis("elsewhere", "the derivative is that at twice the temperature", warmer=2.0),
    bug("twice", "the outer product is subtracted twice", outer=2.0),
)
def test_jacobian(run, *, centred=True, power=1, warmer=1.0, outer=1.0):
    for s, way, tau in drawn(run, quick=25, paper=300):
        n, t, size = s.size, ball(tau), float(np.abs(way).max())
        law, relative = softmax(s, tau=warmer * tau), off(s, tau)
        weights = textbook.exp((balls(s) + balls(way) * variable(2)) / t)
        mass = weights.sum() if centred else coefficient(weights.sum(), 0)
        exact = np.array([coefficient(weight / mass, 1) for weight in weights]) * t ** (1 - power)
        error = law * 2.0 * size / (warmer * tau) * 2.0 * (3.0 * relative + gamma(n + 8))
        matrix = softmax_jacobian(law, tau=warmer * tau) - (outer - 1.0) * np.outer(law, law) / (warmer * tau)
        pulled = softmax_vjp(law, way, tau=warmer * tau)
        scale = size / tau
        for name, found in (("product", pulled), ("matrix", matrix @ way)):
            yield equals(gap(found, exact, error), 0, scale=scale, part=name, n=n, tau=tau)
        form = Interval.within(float(way @ matrix @ way), float(error.sum()) * size)
        yield at_least(form, 0, scale=scale * size, part="positive", n=n, tau=tau)


@verifies(
    Claim(
        "softmax.third-derivative",
        "the third derivative of the log-partition is the third central moment over the squared temperature",
        r"$\frac{d^3}{dt^3}\,\tau\log\sum_i e^{(s_i + tv_i)/\tau} = \mathbb E_p[(v - \mathbb E_pv)^3]/\tau^2$, that is $\mathbb E[(e - p)^{\otimes 3}]/\tau^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B7",),
        provenance=("recalled", "refereed"),
    ),
    hypothesis("uncentred", "the third moment is not centred", centred=False),
    constant("temperature", "the temperature is not squared", power=1),
    bug("sign", "the sign is that of the second derivative of the entropy", sign=-1.0),
)
def test_third_derivative(run, *, centred=True, power=2, sign=1.0):
    for s, way, tau in drawn(run, quick=25, paper=300):
        n, t, size = s.size, ball(tau), float(np.abs(way).max())
        law = softmax(s, tau=tau)
        third = float(law @ (way - centred * float(law @ way)) ** 3)
        moment = Interval.within(third, 16.0 * size**3 * (4.0 * off(s, tau) + gamma(2 * n + 16)))
        value = textbook.log(textbook.exp((balls(s) + balls(way) * variable(4)) / t).sum())
        claimed = hull(6 * t * coefficient(value, 3) * t**power)
        yield equals(moment, sign * claimed, scale=size**3, n=n, tau=tau)


def eigenvalues(law, mass=1):
    r"""Certify the eigenvalues of diag(q) - qq', q = mass p, largest first, from approximate ones and their vectors.

    With :math:`J = V\Lambda V^\top + E` they are those of :math:`V\Lambda V^\top` up to :math:`\|E\|` (Weyl), which are
    :math:`\lambda_i` up to :math:`\|V^\top V - I\||\lambda_i|` (Ostrowski); both in balls and in the Frobenius norm.
    """
    found, vectors = np.linalg.eigh(mass * (softmax_jacobian(law) + (1 - mass) * np.outer(law, law)))
    p, v = balls(law) / balls(law).sum() * ball(mass), balls(vectors)
    rest = np.diag(p) - np.outer(p, p) - (v * balls(found)) @ v.T
    turned = v.T @ v - balls(np.eye(law.size))
    far, bent = (hull((m * m).sum()).sqrt().hi for m in (rest, turned))
    return [Interval.within(float(x), 1.001 * (far + bent * abs(float(x))), Kind.CERTIFIED) for x in found[::-1]]


def secular(values, masses):
    """Bisect the roots of sum m / (v - x) between neighbouring values v, which increases there; largest first."""
    roots = []
    for low, high in pairwise(values):
        a, b = low, high
        for _ in range(90):
            middle = (
                (9 * a + 7 * b) / 16
            ).mid()  # not half-way, where simple laws have their roots and the sign is unknown
            total = (masses / (values - middle)).sum()
            if total > 0:
                b = middle
            elif total < 0:
                a = middle
            else:
                break
        roots.append(hull(a.union(b)))
    return roots[::-1]


@verifies(
    Claim(
        "softmax.spectrum",
        "the eigenvalues of the Jacobian lie between neighbouring weights and solve the secular equation",
        r"$p_{(1)} \ge \lambda_1 \ge p_{(2)} \ge \dots \ge p_{(n)} \ge \lambda_n = 0$; the others solve $\sum_i\frac{p_i}{p_i - \lambda} = 0$, or are weights that repeat",
        assumptions=(r"$p_i > 0$", "temperature one"),
        spec=("RA.B7",),
        cites=("golub1973",),
        provenance=("recalled", "refereed"),
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
        n, ordered = law.size, np.sort(law)[::-1]
        exact = [hull(p) for p in balls(ordered) / balls(law).sum()]
        found = eigenvalues(law, mass)
        for i in range(n - 1):
            yield at_most(found[i], exact[i + ahead], scale=1, part="from above", n=n, i=i + 1)
            yield at_least(found[i], exact[max(i + 1 - shift, 0)], scale=1, part="from below", n=n, i=i + 1)
        yield equals(found[-1], 0, scale=1, part="kernel", n=n)
        values, counts = np.unique(law, return_counts=True)
        points = balls(values) / balls(law).sum()
        roots = secular(points, (balls(counts) if repeated else 1) * (points if weighted else points * 0 + 1))
        again = [hull(p) for p, count in zip(points, counts, strict=True) for _ in range(count - 1)]
        for root, eigenvalue in zip(sorted(roots + again, key=lambda r: -r.mid), found[:-1], strict=True):
            yield equals(eigenvalue, root, scale=1, part="secular", n=n)
