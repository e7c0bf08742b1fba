"""Layer norm: its Lipschitz constant, where that is attained, and the size of its outputs."""

import math

import numpy as np

from theory.evidence import Claim, Interval, at_most, bug, constant, equals, exact, hypothesis, norm, verifies
from theory.lipschitz.depth import layer_norm, layer_norm_bound
from verify.inputs import UNITS


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
        source_status=("derived", "refereed on paper"),
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
        return reach * size / np.sqrt(size**2 / d + eps)

    for eps in (2.0**-16, 2.0**-6, 1.0):
        slope = share / np.sqrt(exact(eps))
        for d in (2, 3, 8):
            h = 2.0**-30 * math.sqrt(eps)
            y = exact(h * (np.eye(1, d) - np.eye(1, d, k=1)))
            ratio = norm(normed(y, eps) - normed(-y, eps)) / norm(2 * y)
            curved = Interval(1.0, 1.0 + 2.0 * h * h / eps)  # the map is odd, with curvature 1 / eps
            yield equals(ratio * curved, slope, eps=eps, d=d, part="attained at zero")
            wide = 64.0 * math.sqrt(eps) * y / h  # of mean zero: the bound of the outputs is attained
            yield equals(norm(normed(wide, eps)), longest(norm(wide), d, eps), eps=eps, d=d, part="outputs")
            along = 4.0 * wide[0].mid / norm(wide).mid  # a shift the same way
            offset = shifted * norm(exact(along))
            tuned = norm(normed(wide, eps, gain=0.5, shift=along))
            yield equals(tuned, 0.5 * longest(norm(wide), d, eps) + offset, eps=eps, d=d, part="gain, outputs")
            yield at_most(tuned, 0.5 * reach * np.sqrt(exact(d)) + offset, d=d, part="gain, outputs")
            for gain in (1.0, 0.5):
                own = layer_norm_bound(exact(eps), d, gain=gain, shift=offset)(norm(wide))
                yield equals(own.constant, gain * slope, eps=eps, d=d, part="constant")
                yield equals(own.radius, gain * longest(norm(wide), d, eps) + offset, eps=eps, d=d, part="radius")
        alone = normed(exact([[0.3], [-2.0]]), eps)
        yield equals(norm(alone), 0, scale=1, eps=eps, part="one coordinate")
    for number, rng in enumerate(run.draws(quick=30, paper=500)):
        d = int(rng.integers(2, 9))
        unit = UNITS[number % len(UNITS)]
        eps = unit**2 * float(rng.choice([1e-5, 1e-2, 1.0]))
        x = unit * (10.0 ** rng.uniform(-3.0, 1.0) * rng.normal(size=(1, d)) + rng.normal())
        y = exact(x + 10.0 ** rng.uniform(-3.0, 1.0) * math.sqrt(eps) * rng.normal(size=(1, d)))
        x = exact(x)
        gain = rng.normal(size=d)
        shift = rng.normal(size=d)
        most = share * norm(x - y) / np.sqrt(exact(eps))
        yield at_most(norm(normed(x, eps) - normed(y, eps)), most, scale=1, d=d, eps=eps)
        yield at_most(norm(normed(x, eps)), longest(norm(x), d, eps), d=d, eps=eps, part="outputs")
        largest = float(np.abs(gain).max())
        offset = shifted * norm(exact(shift))
        first, second = (normed(z, eps, gain=gain, shift=shift) for z in (x, y))
        yield at_most(norm(first - second), largest * most, scale=1, d=d, part="gain")
        yield at_most(norm(first), largest * reach * np.sqrt(exact(d)) + offset, d=d, part="gain, outputs")
