"""Layer norm: its Lipschitz constant, where that is attained, and the size of its outputs."""

import math

import numpy as np

from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz import displacement
from theory.lipschitz.depth import layer_norm, layer_norm_bound
from verify.inputs import UNITS
from verify.textbook import hull


def variants(rule):
    """Layer norm as it is written in code, with its mistakes."""

    def plain(x, eps, *, gain=1.0, shift=0.0):
        centred = x if rule == "uncentred" else x - x.mean(axis=1, keepdims=True)
        variance = (centred**2).mean(axis=1, keepdims=True)
        if rule == "outside":
            return gain * centred / (np.sqrt(variance) + eps) + shift
        return gain * centred / np.sqrt(variance + (2.0**-400 if rule == "no-floor" else eps)) + shift

    return layer_norm if rule is None else plain


@verifies(
    Claim(
        "depth.layer-norm",
        "layer norm has the constant one over the root of epsilon, attained at constant vectors, and bounded outputs",
        r"$|N(x) - N(y)| \le \varepsilon^{-1/2}|x - y|$ for $N(x) = (x - \bar x)/\sqrt{\mathrm{var}(x) + \varepsilon}$, with equality of the derivative at constant x if $d \ge 2$; $N = 0$ if $d = 1$; $|N(x)| \le |x|/\sqrt{|x|^2/d + \varepsilon} < \sqrt d$; gain and shift: $\max|\gamma|\varepsilon^{-1/2}$, $\sqrt d\max|\gamma| + |\beta|$",
        assumptions=(r"$\varepsilon > 0$",),
        spec=("MA.A5",),
        cites=("ba2016",),
        provenance=("derived", "refereed on paper"),
    ),
    constant("near", "the constant is one per cent smaller", share=0.99),
    hypothesis("no-floor", "epsilon is next to nothing, with the same constant", rule="no-floor"),
    bug("outside", "epsilon is added to the deviation, not to the variance", rule="outside"),
    bug("uncentred", "the mean is not subtracted", rule="uncentred"),
    constant("root", "the largest length of an output is half the root of d", reach=0.5),
    bug("no-shift", "the shift is left out of the length of an output", shifted=0.0),
)
def test_layer_norm(run, *, share=1.0, rule=None, reach=1.0, shifted=1.0):
    normed = variants(rule)

    def longest(size, d, eps):  # of an output, for an input of this length
        return reach * size / (size**2 / d + eps).sqrt()

    def off(x, eps):  # the mean of d numbers and a difference, then a map of constant eps^(-1/2), then ten operations
        size, d = float(np.abs(x).max()), x.shape[1]
        return math.sqrt(d) * (
            2.0 * gamma(d + 4) * size / math.sqrt(eps) + gamma(d + 12) * min(1.0, size / math.sqrt(eps))
        )

    for eps in (2.0**-16, 2.0**-6, 1.0):
        root = hull(1 / ball(eps).sqrt())
        for d in (2, 3, 8):
            h = 2.0**-30 * math.sqrt(eps)
            y = np.zeros((1, d))
            y[0, :2] = h, -h
            ratio = displacement(normed(y, eps), normed(-y, eps), error=off(y, eps)) / displacement(y, -y)
            slope = ratio * (1 + Interval.within(0.0, 2.0 * h * h / eps))  # the map is odd, with curvature 1 / eps
            yield equals(slope, share * root, eps=eps, d=d, part="attained at zero")
            wide = 64.0 * math.sqrt(eps) * y / h  # of mean zero: the bound of the outputs is attained
            image = displacement(normed(wide, eps), np.zeros_like(wide), error=off(wide, eps))
            radius = displacement(wide, np.zeros_like(wide))
            yield equals(image, longest(radius, d, eps), eps=eps, d=d, part="outputs")
            along = 4.0 * wide[0] / radius.mid  # a shift the same way
            error = off(wide, eps) + gamma(8) * (4.0 + math.sqrt(d))
            tuned = displacement(normed(wide, eps, gain=0.5, shift=along), np.zeros_like(wide), error=error)
            offset = shifted * displacement(along[np.newaxis], np.zeros_like(wide))
            yield equals(tuned, 0.5 * longest(radius, d, eps) + offset, eps=eps, d=d, part="gain, outputs")
            yield at_most(tuned, 0.5 * reach * Interval.exactly(d).sqrt() + offset, d=d, part="gain, outputs")
            for gain in (1.0, 0.5):
                own = layer_norm_bound(eps, d, gain=gain, shift=offset.mid)(radius.mid)
                stated = Interval.within(own.constant, gamma(8) * own.constant)
                yield equals(stated, gain * share * root, eps=eps, d=d, part="constant")
                stated = Interval.within(own.radius, gamma(32) * own.radius)
                yield equals(stated, gain * longest(radius, d, eps) + offset, eps=eps, d=d, part="radius")
        alone = normed(np.array([[0.3], [-2.0]]), eps)
        yield equals(displacement(alone, np.zeros((2, 1))), 0, scale=1, eps=eps, part="one coordinate")
    for number, rng in enumerate(run.draws(quick=30, paper=500)):
        d, unit = int(rng.integers(2, 9)), UNITS[number % len(UNITS)]
        eps = unit**2 * float(rng.choice([1e-5, 1e-2, 1.0]))
        x = unit * (10.0 ** rng.uniform(-3.0, 1.0) * rng.normal(size=(1, d)) + rng.normal())
        y = x + 10.0 ** rng.uniform(-3.0, 1.0) * math.sqrt(eps) * rng.normal(size=(1, d))
        error = max(off(x, eps), off(y, eps))
        apart = displacement(normed(x, eps), normed(y, eps), error=error)
        yield at_most(apart, share * displacement(x, y) / Interval.exactly(eps).sqrt(), scale=1, d=d, eps=eps)
        gain, shift = rng.normal(size=d), rng.normal(size=d)
        largest, size = float(np.abs(gain).max()), float(np.abs(gain).max() + np.abs(shift).max())
        tuned = [normed(z, eps, gain=gain, shift=shift) for z in (x, y)]
        apart = displacement(*tuned, error=largest * error + gamma(4) * math.sqrt(d) * size)
        yield at_most(
            apart, share * largest * displacement(x, y) / Interval.exactly(eps).sqrt(), scale=1, d=d, part="gain"
        )
        image = displacement(tuned[0], np.zeros((1, d)), error=largest * error + gamma(4) * math.sqrt(d) * size)
        offset = shifted * displacement(shift[np.newaxis], np.zeros((1, d)))
        yield at_most(image, largest * reach * Interval.exactly(d).sqrt() + offset, d=d, part="gain, outputs")
        image = displacement(normed(x, eps), np.zeros((1, d)), error=error)
        yield at_most(image, longest(displacement(x, np.zeros((1, d))), d, eps), d=d, eps=eps, part="outputs")
