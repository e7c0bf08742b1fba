r"""How far the Boltzmann-Gibbs transform moves a law: in the measure, the query, the logits, and with outliers.

:math:`\Psi_g(\mu)(dy) = g(y)\,\mu(dy)/\mu(g)` with :math:`g = e^a` on a set of diameter :math:`D`. Everything rests on
one identity: for any f and :math:`c = \Psi_g(\nu)(f)`,

.. math:: \Psi_g(\mu)(f) - \Psi_g(\nu)(f) = \frac{(\mu - \nu)(g(f - c))}{\mu(g)},

because :math:`\nu(g(f - c)) = 0`. No convexity of the set is needed, so the constants hold on finite sets too. Each is
a float64 evaluation, a few roundings from its formula, or enclosed if it is asked with intervals.

References
----------
J. Vuckovic, A. Baratin, R. Tachet des Combes, *On the regularity of attention*, arXiv:2102.05628 (constants of this
kind, which are derived here with the values that the proofs give).
P. Del Moral, *Feynman-Kac Formulae*, Springer 2004 (the transform).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_points, as_vector
from theory.attention import Measure
from theory.attention.measure import as_measure
from theory.attention.score import Constants
from theory.evidence import Interval, exact, is_enclosed
from theory.evidence.roundoff import gamma
from theory.lipschitz._numbers import (
    as_constants,
    as_float,
    exponential,
    finite,
    like,
    nonnegative,
    positive,
    root,
    smaller,
    tanh,
    upper,
)


def transform_constant(oscillation: float, slope: float, diameter: float, value: float = 1.0) -> float:
    r"""Return :math:`v e^o(1 + D\ell)`: how much :math:`\mu \mapsto \Psi_{e^a}(\mu)` stretches :math:`W_1`.

    ``oscillation`` and ``slope`` are :math:`o` and the Lipschitz constant :math:`\ell` of a potential on a set of
    ``diameter`` D; ``value`` is the product of the constants of lookup and projection that follow. Derived: for f of
    slope one :math:`|f - c| \le D`, so that :math:`g(f - c)` has slope at most :math:`\sup g\,(1 + D\ell)`. Sharp in
    the limit at :func:`theory.lipschitz.witnesses.light_ramp`, and there also after the projection to barycentres.
    """
    o, rate, size = (
        nonnegative(c, n) for c, n in ((oscillation, "oscillation"), (slope, "slope"), (diameter, "diameter"))
    )
    return finite(nonnegative(value, "value") * exponential(o) * (1.0 + size * rate), "oscillation")


def weight_constant(most: float, slope: float, diameter: float, mass: float) -> float:
    r"""Return :math:`(\sup g + D\,\mathrm{Lip}(g))/m`: the same for weights :math:`g > 0` instead of a potential.

    It stretches :math:`W_1(\mu, \nu)` with :math:`m = \max(\mu(g), \nu(g))`, and all pairs with :math:`m = \inf g`.
    Derived. With ``slope`` 0 or ``diameter`` 0 it is :math:`\sup g/m`, the constant of total variation, which two atoms
    attain: :func:`theory.lipschitz.witnesses.light_atom`.

    Raises
    ------
    ValueError
        If ``mass`` is not positive or exceeds ``most``.
    """
    high, rate, size = (nonnegative(c, n) for c, n in ((most, "most"), (slope, "slope"), (diameter, "diameter")))
    least = positive(mass, "mass")
    if not upper(least) <= upper(high):
        raise ValueError(f"mass: expected at most the largest weight {high!r}, got {mass!r}")
    return finite((high + size * rate) / least, "mass")


def query_distance(oscillation: float, diameter: float) -> float:
    r"""Return :math:`D\tanh(o/4)`, which bounds :math:`W_1(S_\mu(x, \cdot), S_\mu(x', \cdot))`.

    ``oscillation`` is that of :math:`a(x, \cdot) - a(x', \cdot)` and ``diameter`` that of the atoms of :math:`\mu`.
    Derived: laws with a density ratio in :math:`[r_-, r_+]` differ in total variation by at most
    :math:`(r_+ - 1)(1 - r_-)/(r_+ - r_-)`, which is largest at :math:`r_\pm = e^{\pm o/2}`. Attained by two equal atoms
    with opposite logits.
    """
    return nonnegative(diameter, "diameter") * tanh(nonnegative(oscillation, "oscillation") / 4.0)


def query_slope(score: Constants, diameter: float) -> float:
    r"""Return :math:`\min(\frac D2\ell_x, \frac{D^2}4\ell_{xy})`: how fast the matched key turns with the query.

    In :math:`W_1` per unit of query. Derived from :func:`query_distance` and :math:`\tanh z \le z`, since
    :math:`a(x, \cdot) - a(x', \cdot)` oscillates by at most :math:`2\ell_x|x - x'|` and :math:`\ell_{xy}D|x - x'|`.
    """
    size = nonnegative(diameter, "diameter")
    _, query, _, mixed = as_constants(score)
    return finite(smaller(size / 2.0 * query, finite(size * size, "diameter") / 4.0 * mixed), "score")


def logit_distance(error: float, diameter: float) -> float:
    r"""Return :math:`D\tanh(\delta/2)`, which bounds how far logits :math:`\delta` apart move a law.

    In :math:`W_1`, for :math:`|a - b| \le \delta`. Derived: :func:`query_distance` at an oscillation of
    :math:`2\delta`. Attained by two atoms, of which one logit is too large and the other too small.
    """
    return nonnegative(diameter, "diameter") * tanh(nonnegative(error, "error") / 2.0)


def lookup_constant(keys: ArrayLike, values: ArrayLike) -> float:
    r"""Return :math:`\max_{i \ne j}|v_i - v_j|/|k_i - k_j|`: how much looking keys up stretches :math:`W_1`.

    For measures on the keys, shape (n, d_k), which must be distinct, with values of shape (n, d_v). Recalled: any
    Lipschitz map stretches :math:`W_1` by its constant, and Dirac masses at the steepest pair attain it.

    Raises
    ------
    ValueError
        If there are no two keys, or two are equal.
    """
    k = as_points(keys, "keys")
    v = as_points(values, "values", size=k.shape[0])
    if k.shape[0] < 2 or np.unique(exact(k).mid + 0.0, axis=0).shape[0] < k.shape[0]:  # -0.0 is 0.0
        raise ValueError(f"keys: expected at least two, all distinct, got {k.shape[0]} with equal ones or too few")
    first, second = np.triu_indices(k.shape[0], 1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what float64 cannot hold is refused
        rises = np.linalg.norm(v[first] - v[second], axis=1)
        ways = np.linalg.norm(k[first] - k[second], axis=1)
        return finite((rises / ways).max(), "keys, values")


def with_temperature(score: Constants, temperature: float) -> Constants:
    r"""Return the constants of :math:`a/\tau`: each divided by :math:`\tau`, and so is :math:`\alpha = \|B\|R^2`.

    There is no constant free of :math:`\tau`: between two equal tokens at :math:`\pm 1` the output for
    :math:`a = xy/\tau` is :math:`\tanh(x/\tau)`, of slope :math:`1/\tau` at zero.
    """
    tau = positive(temperature, "temperature")
    return Constants(*(finite(c / tau, "temperature") for c in as_constants(score)))


def contaminated_share(share: float, oscillation: float) -> float:
    r"""Return :math:`\epsilon e^o/(1 - \epsilon + \epsilon e^o)`: the largest share that outliers can take.

    :math:`\Psi_g((1 - \epsilon)\mu + \epsilon\eta) = (1 - \theta)\Psi_g(\mu) + \theta\Psi_g(\eta)` with
    :math:`\theta = \epsilon\eta(g)/((1 - \epsilon)\mu(g) + \epsilon\eta(g))`; all distances to :math:`\Psi_g(\mu)` are
    :math:`\theta` times that of :math:`\Psi_g(\eta)`, exactly. Derived. Attained where :math:`\mu` sits at the least
    and :math:`\eta` at the largest score.

    Raises
    ------
    ValueError
        If ``share`` is not in [0, 1].
    """
    part = nonnegative(share, "share")
    o = nonnegative(oscillation, "oscillation")
    if upper(part) > 1.0:
        raise ValueError(f"share: expected a number in [0, 1], got {share!r}")
    return 0.0 if upper(part) == 0.0 else part / (part + (1.0 - part) * exponential(-o))


def sampling_deviation(mu: Measure, potential: ArrayLike) -> float:
    r"""Return :math:`\sigma = \sqrt{\mu(g^2|y - c|^2)}/\mu(g)`, :math:`c = \Psi_g(\mu)(y)`: how samples spread.

    For N tokens drawn independently from ``mu`` the output at a fixed query is off by about :math:`\sigma/\sqrt N` in
    root mean square, in the unit of the atoms; ``potential``, shape (n,), is the score at the atoms. To first order
    the output less c is :math:`m_N(g(y - c))/\mu(g)`. The law :math:`\Psi_g(\mu)` alone does not know it: its variance
    has g in place of :math:`g^2/\mu(g)`. Derived. Times :math:`\mu(g)/\inf g` it bounds the error for every N.
    """
    a = as_vector(potential, "potential", size=as_measure(mu, "mu").size)
    present = exact(mu.weights).hi > 0.0
    points = mu.points[present]
    weights = mu.weights[present]
    scores = a[present]
    with np.errstate(over="ignore", invalid="ignore"):
        g = np.exp(scores - scores.max())
        mass = weights @ g
        off = points - (weights * g) @ points / mass
        return finite(root(weights @ (g * g * (off * off).sum(axis=1))) / mass, "mu")


def mean_distance(mu: Measure, n: int) -> float:
    r"""Return :math:`\mathbb{E}\,W_1(m_n, \mu)` for n independent draws from a law on the line.

    :math:`\sum_k (y_{k+1} - y_k)\,\mathbb{E}|F_n(y_k) - F(y_k)|` with F the distribution function, where De Moivre's
    formula :math:`\mathbb{E}|B - np| = 2\nu\binom n\nu p^\nu(1 - p)^{n - \nu + 1}`,
    :math:`\nu = \lfloor np\rfloor + 1`, gives the mean deviation of a binomial number. In the unit of the atoms.
    A term is the exponential of logarithms of size :math:`n\log n`, and of :math:`40n` for p from 1e-17 on, each within
    a few roundings: 1e-8 of its value for a million draws, to which a law that is enclosed has its distance enclosed.

    Raises
    ------
    ValueError
        If the dimension is not one.
    """
    draws = as_count(n, "n")
    if as_measure(mu, "mu").dim != 1:
        raise ValueError(f"mu: expected dimension 1, got {mu.dim}")
    if is_enclosed(mu.points, mu.weights):
        points, weights = exact(mu.points), exact(mu.weights)
        if points.radius.any() or weights.radius.any():
            raise ValueError("mu: expected a law that is known exactly")
        mean = mean_distance(Measure.normalised(points.mid, weights.mid), draws)
        lost = gamma(16 * (draws + mu.size) * (40 + draws.bit_length()))  # of a share, which is at most one
        return as_float(Interval.within(mean, lost * float(np.ptp(points.mid))))
    order = np.argsort(mu.points[:, 0])
    below = np.cumsum(mu.weights[order])[:-1]
    above = np.cumsum(mu.weights[order][::-1])[::-1][1:]  # complementary sums: 1 - p would lose its digits
    with np.errstate(over="ignore"):
        gaps = np.diff(mu.points[order, 0])
    steps = zip(gaps.tolist(), below.tolist(), above.tolist(), strict=True)
    return finite(math.fsum(gap * _deviation(draws, p, q) for gap, p, q in steps), "mu")


def sampling_distance(diameter: float, n: int) -> float:
    r"""Return :math:`D/(2\sqrt n)`, which bounds :math:`\mathbb{E}\,W_1(m_n, \mu)` for laws on an interval of length D.

    :math:`\mathbb{E}|F_n - F| \le \sqrt{F(1 - F)/n} \le 1/(2\sqrt n)`. Derived. Attained at n = 1 by two equal atoms
    at the ends. In a cube of three or more dimensions the rate is :math:`n^{-1/d}`: :func:`unseen_distance`.
    """
    return nonnegative(diameter, "diameter") / (2.0 * root(like(as_count(n, "n"), diameter)))


def unseen_distance(spacing: float, atoms: int, n: int) -> float:
    r"""Return :math:`h(1 - 1/K)^n`: no less is :math:`\mathbb{E}\,W_1(m_n, \mu)` for K equal atoms at least h apart.

    An atom that was not drawn receives its mass over a distance of at least h. For the cubic lattice with
    :math:`K = n = m^d` and :math:`h = 1/(m - 1)` this decays like :math:`n^{-1/d}/e`. Derived.
    """
    count, draws = as_count(atoms, "atoms"), as_count(n, "n")
    return nonnegative(spacing, "spacing") * (1.0 - 1.0 / like(count, spacing)) ** draws


def _deviation(n: int, p: float, q: float) -> float:
    """Return the mean absolute deviation of a binomial share, for odds p to q = 1 - p."""
    if p <= 0.0 or q <= 0.0:
        return 0.0
    if p > 0.5:
        p, q = q, p
    nu = math.floor(n * p) + 1  # at most n, since p is at most one half and n at least one
    log = math.lgamma(n + 1) - math.lgamma(nu) - math.lgamma(n - nu + 1) + nu * math.log(p) + (n - nu + 1) * math.log(q)
    return 2.0 * math.exp(log) / n
