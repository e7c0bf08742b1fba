"""How the output of a layer over N independent tokens spreads about its limit, decided without a draw."""

from fractions import Fraction
from functools import cache

import flint

from theory.diffusion import studies
from theory.diffusion.studies.sampling import sampled
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, limit, order, verifies
from verify.diffusion.tokens import (
    FUNCTION,
    PI,
    PLACES,
    at,
    centre,
    density,
    generator,
    gradient_squared,
    heavy,
    hessian,
    mass,
)  # fmt: skip
from verify.textbook import hull

SINGER = ("ruan2024", "singer2006")
SETTING = ("independent tokens of density p on the circle and the torus", "fixed query", "chordal kernel")
COUNTS = tuple(4**k for k in range(5, 13))
NEAR = {1: 0.05, 2: 0.1}


@cache
def exact(d, part, epsilon, counts, own=None):
    """Bias and variance for every number of tokens, by integrals."""
    return sampled(d, PLACES[part][d], epsilon).moments(counts, own=own)


def ladder(table, part, d):
    """The variances at halved bandwidths, with these."""
    rows = table.where(part=part, d=d)
    return rows["epsilon"].tolist(), rows.intervals("value")


@verifies(
    Claim(
        "rate.variance",
        "N times the variance of an output tends to a ratio of two integrals, at every bandwidth",
        r"$N\,\mathrm{Var}\,\hat P_\varepsilon h \to \frac{\mathbb E[K^2(h - P_\varepsilon h)^2]}{(\mathbb EK)^2}$ as $N \to \infty$, with an error of order $1/N$; $N = 4^5$ to $4^{12}$, $d = 1, 2$, and the ratio at eight bandwidths",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    bug("centre", "deviations are taken from h at the query, not from its average", centred=False),
    hypothesis("known", "the normaliser is known, not a sum over the tokens", known=True),
    constant("first", "the kernel is not squared", square=1),
    constant("root", "the error falls like the root of the number of tokens", power=Fraction(1, 2)),
)
def test_variance(run, *, centred=True, known=False, square=2, power=1):
    table = run.study(studies.variances)
    for d in (1, 2):
        for part, places in PLACES.items():
            place = places[d]

            def claimed(epsilon, d=d, place=place):
                about = None if centred else at(FUNCTION[d], place)
                if known:
                    c = centre(d, place, epsilon)
                    return hull(heavy(d, place, epsilon, 2, about=flint.arb(0)) - c**2)
                return hull(heavy(d, place, epsilon, 2, about=about, square=square))

            for epsilon, value in zip(*ladder(table, part, d), strict=True):
                yield equals(value * epsilon * epsilon, claimed(epsilon), d=d, at=part, epsilon=epsilon)
            found = [n * v for n, (_, v) in zip(COUNTS, exact(d, part, NEAR[d], COUNTS), strict=True)]
            yield equals(limit(found, ratio=4, order=1), claimed(NEAR[d]), d=d, at=part, part="limit")
            yield equals(
                order([v - hull(heavy(d, place, NEAR[d], 2)) for v in found], ratio=4),
                power,
                scale=1,
                d=d,
                at=part,
                part="order",
            )


@verifies(
    Claim(
        "rate.leading",
        "the variance of a step falls like one over the tokens and grows like the bandwidth to the power -(1 + d/2): the squared slope of the function over the density; where that vanishes one power less, with its constant",
        r"$N\,\mathrm{Var}\frac{\hat P_\varepsilon h - h}\varepsilon = \frac{|\nabla h|^2}{2p\,\varepsilon(4\pi\varepsilon)^{d/2}}(1 + O(\varepsilon))$, and $\frac{2\|\nabla^2h\|_F^2 + (\Delta h)^2}{16p\,(4\pi\varepsilon)^{d/2}}(1 + O(\varepsilon))$ where $\nabla h = 0$; so the standard deviation is $\Theta(N^{-1/2}\varepsilon^{-1/2 - d/4})$, or $\Theta(N^{-1/2}\varepsilon^{-d/4})$; corrections exactly of order 1, $d = 1, 2$",
        assumptions=(
            *SETTING, r"$N \to \infty$ first, then $\varepsilon \to 0$",
            "order of the corrections from the five finest of eight bandwidths: coarser ones are not yet asymptotic",
        ),
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("seen", "derived", "refereed"),
    ),
    constant("width", "the kernel of width two pi epsilon instead of four pi epsilon", width=2),
    constant("half", "without the two in the denominator", half=1),
    constant("weaker", "the older bound, a standard deviation of epsilon to the power -(1 + d/4)", extra=1),
    hypothesis("everywhere", "the exponent is the same where the function is flat", flat=1),
    hypothesis("uniform", "the density is constant", uniform=True),
    bug("trace", "at a critical point, the norm of the Hessian is the square of its trace", trace=True),
)  # fmt: skip
def test_leading(run, *, width=4, half=2, extra=0, flat=0, uniform=False, trace=False):
    table = run.study(studies.variances)
    for d in (1, 2):
        for part, places in PLACES.items():
            p = (2 * PI) ** -d if uniform else density(d, places[d])
            if part == "regular":
                constant_ = gradient_squared(d, places[d]) / (half * p)
            else:
                laplacian, squares = hessian(d, places[d])
                constant_ = (2 * (laplacian**2 if trace else squares) + laplacian**2) / (8 * half * p)
            ratios = []
            for epsilon, value in zip(*ladder(table, part, d), strict=True):
                e = ball(epsilon)
                law = constant_ / (width * PI * e) ** (ball(d) / 2) / e ** (extra + (flat if part == "critical" else 1))
                ratios.append(value / hull(law))
            yield equals(limit(ratios, order=1), 1, d=d, at=part)
            yield equals(order([r - 1 for r in ratios[-5:]]), 1, scale=1, d=d, at=part, part="order")


@verifies(
    Claim(
        "rate.bias",
        "an output over N tokens is off by a share of the generator on average, since it is a ratio",
        r"$N(\mathbb E\hat P_\varepsilon h - P_\varepsilon h) \to -\frac{\mathbb E[K^2(h - P_\varepsilon h)]}{(\mathbb EK)^2} = \varepsilon\frac{Lh}{4p(4\pi\varepsilon)^{d/2}}(1 + O(\varepsilon))$, $d = 1, 2$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    constant("sign", "the sign is the other one", sign=-1),
    constant("width", "the kernel of width two pi epsilon instead of four pi epsilon", width=2),
    hypothesis("drift", "the drift coefficient of the generator is one", drift=1),
    bug("centre", "deviations are taken from h at the query, not from its average", centred=False),
)
def test_bias(run, *, sign=1, width=4, drift=2, centred=True):
    for d in (1, 2):
        for part, places in PLACES.items():
            place = places[d]
            found = [n * b for n, (b, _) in zip(COUNTS, exact(d, part, NEAR[d], COUNTS), strict=True)]
            claimed = hull(-sign * heavy(d, place, NEAR[d], 1, about=None if centred else at(FUNCTION[d], place)))
            yield equals(limit(found, ratio=4, order=1), claimed, d=d, at=part, part="N")
            ratios = []
            for level in range(run.pick(quick=6, paper=8)):
                epsilon = 0.05 * 0.5**level
                e = ball(epsilon)
                law = e * generator(d, place, drift=drift) / (4 * density(d, place) * (width * PI * e) ** (ball(d) / 2))
                ratios.append(sampled(d, place, epsilon).bias() / hull(law))
            yield equals(limit(ratios, order=1), sign, d=d, at=part, part="epsilon")


@verifies(
    Claim(
        "rate.self",
        "a query among its own keys shortens the step by one over the number of keys in its reach",
        r"with $K(x, x) = 1$ and $x$ among the keys: $N\bigl(\frac{\mathbb E\hat P'_\varepsilon h - h}{\mathbb E\hat P_\varepsilon h - h} - 1\bigr) \to -\frac1{\mathbb EK}$ as $N \to \infty$, $\mathbb EK = p(2\pi\varepsilon)^{d/2}(1 + O(\varepsilon))$, $d = 1, 2$",
        assumptions=SETTING,
        spec=("DL.B6",),
        cites=SINGER,
        provenance=("derived", "refereed"),
    ),
    constant("width", "the reach of the squared kernel, four pi epsilon", width=4),
    hypothesis("uniform", "the density is constant", uniform=True),
    bug("lengthened", "the query lengthens the step", sign=-1),
)
def test_self(run, *, width=2, uniform=False, sign=1):
    for d in (1, 2):
        for part, places in PLACES.items():
            place = places[d]
            p = (2 * PI) ** -d if uniform else density(d, place)
            here = hull(at(FUNCTION[d], place))
            step = hull(centre(d, place, NEAR[d])) - here
            apart = exact(d, part, NEAR[d], COUNTS)
            among = exact(d, part, NEAR[d], COUNTS, here.mid)
            ratios = [n * ((step + b) / (step + a) - 1) for n, (a, _), (b, _) in zip(COUNTS, apart, among, strict=True)]
            law = hull(-sign / mass(d, place, NEAR[d]))
            yield equals(limit(ratios, ratio=4, order=1), law, d=d, at=part, part="N")
            masses = []
            for level in range(run.pick(quick=6, paper=8)):
                e = ball(0.05 * 0.5**level)
                reach = p * (width * PI * e) ** (ball(d) / 2)
                masses.append(hull(mass(d, place, 0.05 * 0.5**level) / reach))
            yield equals(limit(masses, order=1), 1, d=d, at=part, part="epsilon")
