"""One layer on a long context: at which inverse temperature tokens collapse, and gradients with them."""

import math
from functools import cache

from theory.evidence import Claim, Interval, ball, bug, constant, equals, hypothesis, limit, order, verifies
from theory.evidence.roundoff import U
from theory.particles import studies
from theory.particles.exact import layer_statistics
from verify.textbook import hull

SOURCES = ("chen2025",)
SEEN = ("seen", "derived", "refereed")
LAYER = r"$y_i = \sum_jP_{ij}x_j$, $P_{ij} \propto e^{\beta\langle x_i, x_j\rangle}$, $\langle x_i, x_j\rangle = \rho$ for $i \ne j$"
SCALING = (
    r"unit tokens with one overlap $\rho \in (0, 1)$",
    r"$\beta = \gamma\log n$, $\gamma > 0$",
    "one layer, no skip connection",
)
ENGINE = ("as attention computes it from four tokens and the mean of all others",)


def attention(n, rho, beta, *, own=1):
    """The weights p of a token on itself and q on each other, and tau = 1 + (n - 1) rho; balls."""
    p = 1 / (1 + (n - 1) * (-own * beta * (1 - rho)).exp())
    return p, (1 - p) / (n - 1), 1 + (n - 1) * rho


def cosine(n, rho, beta, *, own=1):
    """The cosine of two outputs as it is printed."""
    p, q, tau = attention(n, rho, beta, own=own)
    c = p - q
    both = 2 * c * q * tau + n * q**2 * tau
    return (c**2 * rho + both) / (c**2 + both)


def jacobian(n, rho, beta, *, tangential=True, own=1):
    r"""The mean of the squared entries of the Jacobian, d = n, times its number of rows over n d.

    With :math:`g = x_i - M`, M the mean of the others, and :math:`\Pi` the projection to the differences of the others,
    the covariance of the tokens under the weights of i is :math:`C = q(1 - \rho)\Pi + p(1 - p)gg^\top`.
    """
    p, q, _ = attention(n, rho, beta, own=own)
    square, along = (1 - rho) * n / (n - 1), 1 - rho  # |g|^2 and <g, x_i>
    own_overlap, other = p + (1 - p) * rho, p * rho + q + (n - 2) * q * rho  # of y_i with x_i, and with x_k
    length = p * own_overlap + (1 - p) * other
    apart = 1 - 2 * other + length  # |x_k - y_i|^2
    if tangential:
        trace = (n - 2) * q * (1 - rho) + p * (1 - p) * (square - along**2)
        squares = (n - 2) * q**2 * (1 - rho) ** 2 + (p * (1 - p)) ** 2 * square * (square - along**2)
        mine = p**2 * (n - 1) + 2 * p * beta * trace + beta**2 * squares
        others = q**2 * (n - 1 + 2 * beta * (rho * other - own_overlap) + beta**2 * apart * (1 - rho**2))
    else:
        trace = (n - 2) * q * (1 - rho) + p * (1 - p) * square
        squares = (n - 2) * q**2 * (1 - rho) ** 2 + (p * (1 - p) * square) ** 2
        cross = 2 * beta * p * (1 - p) * (p * along + beta * p * (1 - p) * square * along)
        mine = p**2 * n + 2 * p * beta * trace + beta**2 * squares + cross + (beta * p * (1 - p)) ** 2 * square
        others = q**2 * (n + 2 * beta * (rho - own_overlap) + beta**2 * apart)
    return (mine + (n - 1) * others) / n


def of_floats(form, n, rho, beta, **changes):
    """A form at numbers as they are stored."""
    return hull(form(*(ball(value) for value in (n, rho, beta)), **changes))


def decimal(text):
    """The ball of an exact decimal."""
    whole, _, part = str(text).partition(".")
    return ball(int(whole + part)) / 10 ** len(part)


def chosen(run, *quantities):
    """Rows of the table of the study that speak of these quantities."""
    table = run.study(studies.critical)
    for quantity in quantities:
        part = table.where(quantity=quantity)
        columns = (part[name].tolist() for name in ("way", "n", "overlap", "scaled", "beta"))
        yield from ((quantity, *row) for row in zip(*columns, part.intervals("value"), strict=True))


@verifies(
    Claim(
        "context.forms",
        "the outputs of equal overlaps have equal overlaps, in closed form for every number of tokens",
        rf"{LAYER}: $p = [1 + (n - 1)e^{{-\beta(1 - \rho)}}]^{{-1}}$, $q = \frac{{1 - p}}{{n - 1}}$, $c = p - q$, $\tau = 1 + (n - 1)\rho$: $\langle y_i, y_j\rangle = c^2\rho + 2cq\tau + nq^2\tau$, $|y_i|^2 = c^2 + 2cq\tau + nq^2\tau$",
        assumptions=("unit tokens with one overlap",),
        spec=("FR.F22",),
        cites=SOURCES,
        source_status=SEEN,
    ),
    constant("half", "the gap of the scores is half as large", own=0.5),
    bug("overlap", "the outputs have the overlap of the tokens", kept=True),
)
def test_forms(run, *, own=1, kept=False):
    for _, way, n, rho, scaled, beta, value in chosen(run, "cosine"):
        claimed = Interval.exactly(rho) if kept else of_floats(cosine, n, rho, beta, own=ball(own))
        yield equals(value, claimed, way=way, n=n, rho=rho, scaled=scaled)


@verifies(
    Claim(
        "context.jacobian",
        "the Jacobian of a layer on equal overlaps has a closed form, along the sphere and off it",
        rf"{LAYER}, $d = n$: $\frac1{{nd}}\|\nabla\|_F^2 = \frac1n\big[p^2(n - 1) + 2p\beta\,\mathrm{{tr}}\,PC + \beta^2\|CP\|_F^2 + (n - 1)q^2(n - 1 + 2\beta(\rho\langle y_i, x_k\rangle - \langle y_i, x_i\rangle) + \beta^2|x_k - y_i|^2(1 - \rho^2))\big]$ for motions on the sphere, $C = q(1 - \rho)\Pi + p(1 - p)gg^\top$; at $\gamma(1 - \rho) = 0.6, 1, 1.6$, $\rho = \frac12$: $0.028366, 0.28233, 0.90246$ for $n = 128$, or $0.033489, 0.35102, 0.92294$ if tokens leave the sphere, and $0.0048498, 0.25597, 0.96905$ for $n = 1024$",
        assumptions=("unit tokens with one overlap", r"$d = n$"),
        spec=("FR.F22",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("half", "the gap of the scores is half as large", own=0.5),
    bug("frozen", "the weights do not move with the tokens", frozen=True),
    hypothesis("euclidean", "tokens leave the sphere", leave=True),
)
def test_jacobian(run, *, own=1, frozen=False, leave=False):
    for quantity, way, n, rho, scaled, beta, value in chosen(run, "tangential", "euclidean"):
        sphere = quantity == "tangential" and not leave
        if frozen:
            claimed = of_floats(without_scores, n, rho, beta)
        else:
            claimed = of_floats(jacobian, n, rho, beta, tangential=sphere, own=ball(own))
        yield equals(value, claimed, quantity=quantity, way=way, n=n, rho=rho, scaled=scaled)
    printed = {
        (128, True): ("0.028366", "0.28233", "0.90246"),
        (128, False): ("0.033489", "0.35102", "0.92294"),
        (1024, True): ("0.0048498", "0.25597", "0.96905"),
    }
    for (n, sphere), digits in printed.items():
        for scaled, quoted in zip(("0.6", "1", "1.6"), digits, strict=True):
            size, gap = ball(n), ball(0.5)
            value = hull(jacobian(size, gap, decimal(scaled) / gap * size.log(), tangential=sphere and not leave))
            yield equals(value, Interval.printed(quoted), n=n, scaled=scaled, part="printed")


def without_scores(n, rho, beta):
    """What is left of the Jacobian along the sphere if the weights are held."""
    p, q, _ = attention(n, rho, beta)
    return (n - 1) * (p**2 + (n - 1) * q**2) / n


@cache
def layer(n, rho, threshold, part, own=1.0):
    """What attention makes of n tokens at gamma = ``part`` of a threshold; beta is rounded, which moves a score."""
    beta = own * part * threshold * math.log(n)
    found = layer_statistics(n, rho, beta)
    off = 16 * U * (1.0 + beta)
    slip = Interval(1.0 - off, 1.0 + off)
    return found.cosine * slip, found.jacobian * slip * slip


def sizes_for(rate):
    """Numbers of tokens at which n^-rate is one thousandth to one millionth, and their ratio."""
    return [round(10 ** (k / rate)) for k in (3, 4, 5, 6)], 10 ** (1 / rate)


@verifies(
    Claim(
        "context.limits",
        "in a long context outputs collapse below a critical scale of the temperature and stay apart above it",
        rf"{LAYER}, $\beta = \gamma\log n$: the cosine tends to $1$, $\frac{{4\rho}}{{1 + 3\rho}}$, $\rho$ for $\gamma <, =, > \frac1{{1 - \rho}}$, and misses it by the orders $n^{{-2(1 - \gamma(1 - \rho))}}$, $n^{{-1}}$, $n^{{-(\gamma(1 - \rho) - 1)}}$; at $\rho = \frac12$, $n = 10^6$ it is $0.999999, 0.8, 0.5005$ for $\gamma(1 - \rho) = 0.5, 1, 1.5$",
        assumptions=(*SCALING, *ENGINE),
        spec=("FR.F22",),
        cites=SOURCES,
        source_status=SEEN,
    ),
    constant("two", "the critical value is 2 rho / (1 + rho)", critical=lambda rho: 2 * rho / (1 + rho)),
    hypothesis("one", "the threshold is at gamma = 1 whatever the overlap", threshold=lambda _rho: 1.0),
    constant("orders", "every correction is of order 1/n", first=True),
)
def test_limits(run, *, critical=lambda rho: 4 * rho / (1 + 3 * rho), threshold=lambda rho: 1 / (1 - rho), first=False):
    for rho in run.pick(quick=(0.5, 0.2), paper=(0.5, 0.2, 0.8, 0.05)):
        overlap = ball(rho)
        for part in (0.6, 0.75, 1.0, 1.25, 1.6):  # of the threshold that is claimed
            target = 1 if part < 1.0 else hull(overlap if part > 1.0 else critical(overlap))
            rate = 2 * (1 - part) if part < 1.0 else part - 1 if part > 1.0 else 1.0
            sizes, ratio = sizes_for(rate)
            values = [layer(n, rho, threshold(rho), part)[0] for n in sizes]
            case = {"rho": rho, "part": f"{part:g}"}
            yield equals(limit(values, ratio=ratio, order=rate), target, **case)
            misses = order([value - target for value in values], ratio=ratio)
            yield equals(misses, 1.0 if first else rate, scale=1, **case)
    for scaled, digits in ((0.5, "0.999999"), (1.0, "0.800000"), (1.5, "0.5005")):
        value = layer(10**6, 0.5, threshold(0.5), scaled)[0]
        yield equals(value, Interval.printed(digits), scale=1, scaled=scaled, part="printed")


@verifies(
    Claim(
        "context.threshold",
        "the critical scale is 1 / (1 - rho), found where the cosine crosses its critical value",
        rf"{LAYER}, $\beta = \gamma_n\log n$ with cosine $\frac{{4\rho}}{{1 + 3\rho}}$: $\gamma_n(1 - \rho) \to 1$ like $1 + O(\frac1{{n\log n}})$",
        assumptions=(*SCALING, *ENGINE),
        spec=("FR.F22",),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("one", "the threshold is at gamma = 1 whatever the overlap", power=0),
    constant("square", "it is at 1 / (1 - rho)^2", power=2),
    bug("half", "half of the gap of the scores", own=0.5),
)
def test_threshold(run, *, power=1, own=1.0):
    for rho in run.pick(quick=(0.5, 0.2), paper=(0.5, 0.2, 0.8, 0.05)):
        found = [crossing(10**k, rho, own=own) for k in (2, 3, 4, 5, 6)]
        claimed = (1 - ball(rho)) ** -power
        yield equals(limit(found, ratio=10.0, order=1), hull(claimed), rho=rho)


@cache
def crossing(n, rho, *, own=1.0):
    """Enclose the gamma at which the cosine of n outputs is 4 rho / (1 + 3 rho); the cosine falls with gamma."""
    target = hull(4 * ball(rho) / (1 + 3 * ball(rho)))
    low = 0.0
    high = 8 / (1 - rho)
    for _ in range(80):
        middle = (low + high) / 2
        value = layer(n, rho, 1.0, middle, own)[0] - target
        if value.lo > 0.0:
            low = middle
        elif value.hi < 0.0:
            high = middle
        else:  # what cannot be told apart: step away from it until it can
            break
    return Interval(edge(n, rho, own, target, middle, low), edge(n, rho, own, target, middle, high))


def edge(n, rho, own, target, near, far):
    """A gamma between ``near``, where the sign of the cosine less its target is not certain, and ``far``, where it is."""
    for _ in range(60):
        middle = (near + far) / 2
        if middle in (near, far) or abs(near - far) < 1e-13:
            break
        if 0.0 in layer(n, rho, 1.0, middle, own)[0] - target:
            near = middle
        else:
            far = middle
    return far


@verifies(
    Claim(
        "context.gradients",
        "in a long context gradients vanish below the critical scale, are a quarter at it and whole above it",
        rf"{LAYER}, $\beta = \gamma\log n$, $d = n$: $\frac1{{nd}}\|\nabla\|_F^2 \to 0, \frac14, 1$ for $\gamma <, =, > \frac1{{1 - \rho}}$",
        assumptions=(*SCALING, r"$d = n$", *ENGINE),
        spec=("FR.F22",),
        cites=SOURCES,
        source_status=SEEN,
    ),
    constant("half", "the critical value is one half", critical=0.5),
    hypothesis("one", "the threshold is at gamma = 1 whatever the overlap", threshold=lambda _rho: 1.0),
    hypothesis("square", "the threshold is at 1 / (1 - rho)^2", threshold=lambda rho: 1 / (1 - rho) ** 2),
    bug("root", "the norm is not squared at the critical scale", critical=0.25**0.25),
)
def test_gradients(run, *, critical=0.25, threshold=lambda rho: 1 / (1 - rho)):
    sizes = [10**k for k in (6, 9, 12, 15, 18)]
    for rho in run.pick(quick=(0.5, 0.2), paper=(0.5, 0.2, 0.8)):
        for part, target in ((0.6, 0.0), (1.0, critical), (1.6, 1.0)):
            values = [layer(n, rho, threshold(rho), part)[1] for n in sizes]
            rate = 2 * (1 - part) if part < 1.0 else part - 1 if part > 1.0 else 1.0  # up to squares of log n
            yield equals(limit(values, ratio=1e3, order=rate), target, scale=1, rho=rho, part=f"{part:g}")
