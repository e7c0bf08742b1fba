r"""Maximum entropy under moment constraints.

Among the laws :math:`\nu \ll \mu` with :math:`\nu(\Phi) = m`, the relative entropy :math:`\mathrm{KL}(\nu\,\|\,\mu)`
is least at the tilt :math:`\Psi_{e^{\langle\lambda, \Phi\rangle}}(\mu)`, where :math:`\lambda` minimises the convex
dual :math:`\log\mu(e^{\langle\lambda,\Phi\rangle}) - \langle\lambda, m\rangle`; it exists when :math:`m` is interior
to the convex hull of the features. Every other feasible law exceeds it by :math:`\mathrm{KL}(\nu\,\|\,\Psi)`.

References
----------
I. Csiszar, *Ann. Probab.* 3 (1975), 146-158.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, minimize

from theory._validate import as_instance, as_number, as_points, as_vector
from theory.attention import Measure, boltzmann_gibbs, transform_error
from theory.attention.measure import EnclosedMeasure
from theory.evidence import Interval, as_intervals, exact, is_enclosed, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import SUBNORMAL, average_error

Array = NDArray[np.float64]
_INTERIOR = 1e-6  # taken: ten times the feasibility tolerance of the linear program, relative to equal weights
_STEPS = 50  # taken: Newton's method needs about ten; the residual is reported, so nothing rests on it


class Tilt(NamedTuple):
    """The multiplier, the tilted measure, and by how much each of its moments misses the target."""

    multiplier: Array
    measure: Measure
    residual: Array


def match_moments(mu: Measure, features: ArrayLike, moment: ArrayLike) -> Tilt:
    r"""Return the measure nearest to ``mu`` in relative entropy with the given moments.

    Parameters
    ----------
    mu : Measure
        The reference, with n atoms.
    features : array_like, shape (n, k)
        :math:`\Phi` at the atoms.
    moment : array_like, shape (k,)
        Target :math:`m`.

    Returns
    -------
    Tilt
        The dual is solved by a trust-region Newton method and polished by plain Newton steps; the residual tells how
        well. Of enclosed features or moments the measure, which is that of this very multiplier, and the residual are
        enclosed.

    Raises
    ------
    ValueError
        If the shapes differ or no law near ``mu`` has these moments: the target is not interior to the hull of the
        features.
    """
    as_instance(mu, "mu", Measure)
    if is_enclosed(features, moment):
        known, wanted = as_intervals(features), as_intervals(moment)
        found = match_moments(mu, known.mid, wanted.mid)
        weights = boltzmann_gibbs(mu, known @ found.multiplier).law()  # type: ignore[attr-defined]
        # a residual is a mean under rounded weights, of numbers that may be known up to an error
        far = np.abs((known - wanted).mid).max(axis=0)
        relative = transform_error(mu, known.mid @ found.multiplier)
        error = [average_error(size, mu.size, relative=relative) for size in far.tolist()]
        residual = within(found.residual, np.array(error) + (weights @ (known - wanted)).radius, weakest(known, wanted))
        return Tilt(found.multiplier, EnclosedMeasure(mu.points, weights), residual)
    given = as_points(features, "features", size=mu.size)
    centred = given - as_vector(moment, "moment", size=given.shape[1])
    size = np.abs(centred[mu.weights > 0.0]).max(axis=0)
    phi = centred / np.where(size > 0.0, size, 1.0)  # so that no unit matters
    target = np.zeros(given.shape[1])
    if not _is_interior(phi[mu.weights > 0.0]):
        raise ValueError(
            f"moment: expected a point interior to the hull of the features, got {np.asarray(moment).tolist()}"
        )

    def law(multiplier: Array) -> Array:
        return boltzmann_gibbs(mu, phi @ multiplier).weights

    def dual(multiplier: Array) -> float:
        logits = phi @ multiplier + np.log(np.where(mu.weights > 0.0, mu.weights, 1.0))
        logits = logits[mu.weights > 0.0]
        peak = float(logits.max())
        return peak + float(np.log(np.exp(logits - peak).sum())) - float(multiplier @ target)

    def gradient(multiplier: Array) -> Array:
        slope: Array = law(multiplier) @ (phi - target)
        return slope

    def hessian(multiplier: Array) -> Array:
        p = law(multiplier)
        centred = phi - p @ phi
        curvature: Array = centred.T @ (p[:, np.newaxis] * centred)
        return curvature

    start = np.zeros(target.size)
    best: Array = minimize(dual, start, jac=gradient, hess=hessian, method="trust-exact").x
    for _ in range(_STEPS):
        step = np.linalg.lstsq(hessian(best), gradient(best), rcond=None)[0]
        if np.abs(gradient(best - step)).max() >= np.abs(gradient(best)).max():
            break
        best = best - step
    multiplier = best / np.where(size > 0.0, size, 1.0)
    measure = boltzmann_gibbs(mu, given @ multiplier)
    return Tilt(multiplier, measure, measure.weights @ centred)


def mean_multiplier(scores: ArrayLike, mean: float | Interval) -> Interval:
    r"""Enclose the multiplier :math:`\lambda` at which :math:`\mathrm{softmax}(\lambda s)` has the mean score ``mean``.

    What :func:`match_moments` finds is off by the missed mean over the least variance near. The variance moves at most
    by the factor :math:`e^{Rh}` over a step h of the multiplier, R the range: its derivative is the third central
    moment, at most R times it. Half of it is kept as long as the bound is at most :math:`\log 2/R`; a larger one is
    none.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Finite scores, not all equal, exactly known.
    mean : float or Interval
        Strictly between the smallest score and the largest.

    Raises
    ------
    ValueError
        If a score is not finite, or the mean is not between them.
    """
    s = as_vector(scores, "scores")
    wanted = mean if isinstance(mean, Interval) else exact(as_number(mean, "mean"))
    if not float(s.min()) < wanted.lo <= wanted.hi < float(s.max()):
        raise ValueError(f"mean: expected a number strictly between {s.min()} and {s.max()}, got {mean!r}")
    features = exact(s)[:, np.newaxis]
    found = match_moments(Measure(s[:, np.newaxis]), features, as_intervals(wanted).reshape(1))
    law = found.measure.weights
    spread = (law * (exact(s) - law @ s) ** 2).sum()
    error = 2.0 * abs(found.residual[0]).hi / max(spread.lo, SUBNORMAL)
    reach = error if error * float(np.ptp(s)) < 0.5 else np.inf
    return Interval.within(float(found.multiplier[0]), reach, weakest(wanted))


def _is_interior(phi: Array) -> bool:
    """Tell whether a mixture of all the features, none left out, vanishes, as a linear program decides."""
    n, k = phi.shape
    # the largest least weight t of a mixture p = t + q, q >= 0, that attains zero
    equal = np.vstack([np.column_stack([phi.T, phi.sum(axis=0)]), np.append(np.ones(n), n)])
    found = linprog(np.append(np.zeros(n), -1.0), A_eq=equal, b_eq=np.append(np.zeros(k), 1.0), bounds=(0.0, None))
    return found.fun is not None and -n * found.fun > _INTERIOR
