r"""An adversarial search: the worst cloud that can be found, with a lower bound certified at it.

Over all clouds of n weighted atoms in the ball of radius R, or in all of space, the largest local stretch of
self-attention in :math:`W_p` is a Lipschitz constant. Positions run through :math:`x = R\,\theta \tanh|\theta| /
|\theta|`, weights through a softmax above a floor, a free form B of given norm through the hyperbolic tangent of its
singular values; L-BFGS climbs the logarithm of the stretch by its exact gradient, from many random starts. A stretch
is found, not proved largest, but it is certain: it is evaluated in balls at the cloud that is returned, which is then
shrunk to fewer atoms and shorter numbers. A constant below it is refuted.

Where a climb ends depends on the last digits of a processor. So the cloud, the form and the displacement are rounded to
few bits before anything is certified, and of starts that end equally high the first stands: the result is the same on
every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_generator, as_instance, as_positive, as_simplex
from theory.attention import DotProduct, Measure, SquaredDistance
from theory.attention.measure import as_measure
from theory.evidence import Interval, coarse, first_best
from theory.lipschitz.jacobian import dot_form
from theory.lipschitz.local_norms import as_exponent, certified_stretch
from theory.lipschitz.search.objective import Array, State, log_stretch
from theory.lipschitz.search.parameters import Cloud, Parameters
from theory.lipschitz.search.rounded import round_displacement, round_form, round_points, round_values

LEAST_WEIGHT = 1e-12  # the least weight before it is normalised: lighter atoms would be lost in rounding
_DRAWS = 16  # taken: each start is the best of so many random clouds


@dataclass(frozen=True, slots=True, eq=False)
class WorstCloud:
    """The worst cloud of a search.

    Parameters
    ----------
    measure : Measure
        Its atoms and weights, rounded to few bits.
    score : DotProduct or SquaredDistance
        The score at which it was found.
    tangent : numpy.ndarray, shape (n, d)
        The displacement that is stretched.
    p : {1, 2, inf}
        The distance is W_p.
    causal : bool
        Whether token i sees the tokens up to i only.
    fixed : bool
        Whether the weights were given.
    bound : Interval
        The stretch, enclosed in balls: a lower bound of the Lipschitz constant. Kind ``CERTIFIED``.
    reached : tuple of float
        Where every start ended, uncertified and unrounded, in the order of the starts.
    evaluations : int
        How often the objective was evaluated in all.
    """

    measure: Measure
    score: DotProduct | SquaredDistance
    tangent: NDArray[np.float64]
    p: float
    causal: bool
    fixed: bool
    bound: Interval
    reached: tuple[float, ...]
    evaluations: int


def search_worst_cloud(
    rng: np.random.Generator,
    score: DotProduct | SquaredDistance | float,
    *,
    p: float,
    atoms: int,
    dim: int = 1,
    radius: float | None = 1.0,
    weights: ArrayLike | None = None,
    causal: bool = False,
    starts: int = 8,
    steps: int = 200,
    first: Measure | None = None,
) -> WorstCloud:
    """Look for the cloud at which self-attention, value matrix the identity, stretches W_p most.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the starts.
    score : DotProduct, SquaredDistance or float
        The score; a number stands for dot products of which the form B runs through all of that norm or less, both
        signs on the line.
    p : {1, 2, inf}
        The distance.
    atoms, dim : int
        Number and dimension of the atoms.
    radius : float or None, default 1.0
        Of the ball; None lets the atoms run through all of space.
    weights : array_like, shape (atoms,), optional
        Positive masses that stay fixed; unless given they are searched as well.
    causal : bool, default False
        Whether token i sees the tokens up to i only.
    starts, steps : int
        Number of starts, and most steps of each. For p other than 2, with a mask or unequal weights, the starts single
        out the atoms in turn, from the last: fewer starts than atoms leave some out.
    first : Measure, optional
        A cloud to start from as well, before the random ones; of ``atoms`` atoms inside the ball.

    Returns
    -------
    Found

    Raises
    ------
    ValueError
        If a number is out of range or shapes do not fit.
    TypeError
        If ``rng`` is no generator or the score is none of these.
    """
    from scipy.optimize import minimize  # noqa: PLC0415  loads slowly

    as_generator(rng, "rng")
    p = as_exponent(p)
    atoms = as_count(atoms, "atoms")
    dim = as_count(dim, "dim")
    causal = as_flag(causal, "causal")
    reach = None if radius is None else as_positive(radius, "radius")
    count, most = as_count(starts, "starts"), as_count(steps, "steps")
    law = None if weights is None else as_simplex(weights, "weights", size=atoms)
    if law is not None and law.min() == 0.0:
        raise ValueError(f"weights: expected positive masses, got 0.0 at index {int(law.argmin())}")
    form, beta, norm = _score(score, dim)
    distinct = causal or (law is not None and law.min() < law.max())  # else all atoms are alike: single out the first
    if first is not None:
        as_measure(first, "first")
    parameters = Parameters(atoms, dim, reach, law, norm, LEAST_WEIGHT)

    def state(where: Cloud, chosen: int) -> State:
        b = where.form if norm is not None else form
        return State(where.points, where.log_weights, where.direction, chosen, b, beta, causal)

    ends: list[tuple[float, int, Array]] = []
    evaluations = 0
    for k in range(count):
        chosen = (atoms - 1 - k) % atoms if distinct else 0

        def descent(z: Array, chosen: int = chosen) -> tuple[float, Array]:
            where = parameters.read(z)
            try:
                value, gradient, _ = log_stretch(state(where, chosen), p)
            except np.linalg.LinAlgError as error:  # of a matrix that is no longer finite
                raise ValueError(f"radius: expected one at which float64 holds a stretch, got {radius!r}") from error
            return -value, -parameters.pull(z, where, gradient)

        drawn = [parameters.draw(rng, sign=1 - 2 * (k % 2)) for _ in range(_DRAWS)]
        start = min(drawn, key=lambda z: descent(z)[0])
        evaluations += _DRAWS
        if k == 0 and first is not None:
            start = parameters.write(first, start)
        end = minimize(descent, start, jac=True, method="L-BFGS-B", options={"maxiter": most, "maxcor": 20})
        evaluations += int(end.nfev)
        ends.append((-float(end.fun), chosen, np.asarray(end.x)))
    reached = tuple(math.exp(value) for value, _, _ in ends)
    best = first_best([size if math.isfinite(size) else 0.0 for size in reached])
    where = parameters.read(ends[best][2])
    masses = coarse(np.exp(where.log_weights)) if law is None else law
    where = where._replace(
        points=round_points(where.points, reach),
        log_weights=np.log(masses),
        direction=round_values(where.direction),
        form=None if norm is None or where.form is None else round_form(where.form, norm),
    )
    tangent = round_displacement(log_stretch(state(where, ends[best][1]), p)[2], masses, p)
    found_score = score if isinstance(score, (DotProduct, SquaredDistance)) else DotProduct(form=where.form)
    measure = Measure.normalised(where.points, masses)
    bound = certified_stretch(measure, found_score, tangent, p, causal=causal)
    return WorstCloud(measure, found_score, tangent, p, causal, law is not None, bound, reached, evaluations)


def simplify_cloud(found: WorstCloud, *, loss: float = 1e-3) -> WorstCloud:
    """Return a simpler cloud that stretches nearly as much: fewer atoms unless their weights were given, fewer digits.

    Parameters
    ----------
    found : Found
        What a search returned.
    loss : float, default 1e-3
        Largest part of the bound that may be given up in all.

    Returns
    -------
    Found
        Certified afresh; the same object if nothing can be left out.

    Raises
    ------
    ValueError
        If ``loss`` is not positive and below one.
    """
    share = as_positive(loss, "loss")
    if not share < 1.0:
        raise ValueError(f"loss: expected a number below 1, got {loss!r}")
    least = (1.0 - share) * as_instance(found, "found", WorstCloud).bound.lo

    def tried(points: Array, masses: Array, tangent: Array) -> WorstCloud | None:
        if masses.min() <= 0.0 or not tangent.any():
            return None
        measure = Measure.normalised(points, masses)
        bound = certified_stretch(measure, found.score, tangent, found.p, causal=found.causal)
        if bound.lo < least:
            return None
        return replace(found, measure=measure, tangent=tangent, bound=bound)

    best = found
    removable = [] if found.causal or found.fixed else sorted(range(found.measure.size), reverse=True)
    for j in removable:
        if best.measure.size > 2:
            kept = np.delete(np.arange(best.measure.size), j)
            parts = (best.measure.points, best.measure.weights, best.tangent)
            best = tried(*(part[kept] for part in parts)) or best
    for digits in range(1, 16):
        inward = np.sign(best.measure.points) * np.floor(np.abs(best.measure.points) * 10.0**digits) / 10.0**digits
        masses = best.measure.weights
        short = masses if found.fixed else np.array([float(f"{v:.{digits}g}") for v in masses.tolist()])
        simple = tried(inward, short, np.round(best.tangent / np.abs(best.tangent).max(), digits))
        if simple is not None:
            return simple
    return best


def _score(score: DotProduct | SquaredDistance | float, dim: int) -> tuple[Array | None, float, float | None]:
    """Return the form, the inverse temperature of squared distance, and the norm of a free form."""
    if isinstance(score, SquaredDistance):
        return None, score.scale, None
    if isinstance(score, DotProduct):
        return dot_form(score, dim), 0.0, None
    return None, 0.0, as_positive(score, "score")
