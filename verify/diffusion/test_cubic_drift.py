"""The drift that the third derivatives of a score make, in two dimensions."""

import math

import numpy as np

from theory.diffusion import GeneralScore
from theory.diffusion.limits import average_at_peak, extrapolate, largest_errors, peak_correction
from theory.evidence import (
    Claim,
    ball,
    balls,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.roundoff import U

RUAN = ("ruan2024", "wong2001")


def cubic_case(rng):
    """Hessian, third derivatives, log-slope, gradient and Hessian of h, of two dimensions."""
    root, tensor = rng.normal(size=(2, 2)), rng.normal(size=(2, 2, 2))
    full = sum(np.transpose(tensor, p) for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))) / 6
    second = rng.normal(size=(2, 2))
    return 2 * np.eye(2) + 0.3 * root @ root.T, 2.0 * full, rng.normal(size=2), rng.normal(size=2), second + second.T


WITNESS = (
    np.array([[2.0, 0.5], [0.5, 1.5]]),
    np.array([[[0.9, 0.6], [0.6, -0.5]], [[0.6, -0.5], [-0.5, 0.8]]]),
    np.array([0.7, -0.4]), np.array([1.0, 0.8]), np.array([[0.5, -0.3], [-0.3, 1.2]]),
)  # fmt: skip


def planar(case, epsilon):
    """P h at a score with these derivatives at the origin, and a quartic term that keeps it positive."""
    c, d, slope, gradient, second = case

    def f(_, y):
        cubed = np.einsum("klm,...k,...l,...m->...", d, y, y, y) / 6
        return np.einsum("kl,...k,...l->...", c, y, y) / 2 + cubed + ((y * y).sum(axis=-1)) ** 2

    spread = math.sqrt(2.0 * epsilon / float(np.linalg.eigvalsh(c)[-1]))
    score = GeneralScore(f, epsilon, 64 * U * 400.0 * epsilon)
    return average_at_peak(
        score, [0.0], [0.0, 0.0], [spread, spread],
        lambda y: y @ gradient + np.einsum("kl,ik,il->i", second, y, y) / 2 + np.sin(y @ gradient) ** 3,
        lambda y: np.exp(y @ slope - (y * y).sum(axis=1)),
    )  # fmt: skip


@verifies(
    Claim(
        "score.cubic-tensor",
        "in two dimensions the cubic drift contracts the whole tensor of third derivatives",
        r"$P_\varepsilon h = h(y_*) + \varepsilon\big[C^{kl}\partial_k\partial_lh + 2C^{kl}\partial_k\log q\,\partial_lh - d_{klm}C^{kl}C^{mi}\partial_ih\big] + O(\varepsilon^2)$ for full $c$ and $d$, $d = 2$",
        assumptions=(
            "one minimiser, with a Hessian that is not degenerate", "q positive and smooth",
            "the order from the four finest bandwidths, as few as there may be: coarser ones are not yet asymptotic",
        ),
        spec=("DL.D2",),
        cites=RUAN,
        source_status=("seen", "derived", "refereed"),
    ),
    bug("printed", "the terms with C are divided by m_0 = 4 pi / sqrt(det c), as printed", printed=True),
    bug("diagonal", "only the pure third derivatives enter", pure=True),
    hypothesis("even", "the score is taken to be even about its minimiser: no cubic drift", cubic=0),
    constant("drift", "the drift of the density is taken once", drift=1),
)  # fmt: skip
def test_cubic_tensor(run, *, printed=False, pure=False, cubic=1, drift=2):
    cases = [WITNESS, *(cubic_case(rng) for rng in run.draws(quick=2, paper=10))]
    for number, case in enumerate(cases):
        c, d, slope, gradient, second = (balls(part) for part in case)
        inverse = np.array([[c[1, 1], -c[0, 1]], [-c[1, 0], c[0, 0]]]) / (c[0, 0] * c[1, 1] - c[0, 1] * c[1, 0])
        if pure:
            d = d * balls(np.eye(2)[:, :, None] * np.eye(2)[:, None, :])
        mass = 4 * ball(-1).acos() / (c[0, 0] * c[1, 1] - c[0, 1] * c[1, 0]).sqrt() if printed else ball(1)
        plain = (inverse * second).sum() + drift * slope @ inverse @ gradient
        truth = plain / mass - cubic * ((d * inverse).sum(axis=(1, 2)) @ inverse @ gradient)
        epsilons = [0.00125 * 0.5**k for k in range(run.pick(quick=6, paper=7))]
        levels = [[planar_once(number, run.root, case, e) / e] for e in epsilons]
        if number == 0:
            yield equals(order(largest_errors(levels, [truth])[-4:]), 1, scale=1, case=number, part="order")
            yield equals(limit([level[0] for level in levels], order=1), truth, scale=1, case=number)
        before, last = extrapolate(levels)[-2:, 0]  # of order two, so that the one before is off by four times as much
        yield equals(estimated(last, before, times=1.0), truth, scale=1, case=number, part="extrapolated")
        yield equals(peak_correction(*map(exact, case)), truth, scale=1, case=number, part="from derivatives")


_PLANAR = {}


def planar_once(number, root, case, epsilon):
    """A case of two dimensions, computed once for a claim and its twins."""
    key = (number, root, epsilon)
    if key not in _PLANAR:
        _PLANAR[key] = planar(case, epsilon)
    return _PLANAR[key]
