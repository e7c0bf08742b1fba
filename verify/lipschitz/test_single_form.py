"""The exponent of the constant of one form, which is not that of its norm: a quarter of it if the form is positive."""

import numpy as np

from theory.attention import DotProduct, Measure
from theory.evidence import Claim, Interval, at_least, at_most, constant, exact, hypothesis, verifies
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import norm_at
from theory.lipschitz.certificate import largest_detour
from verify.inputs import draw_cloud

LIGHT = 2.0**-60  # mass of the atom at which the answers of all others are counted, in units of the exponential
SIZES = (0.25, 1.0, 4.0, 100.0)
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def mass(points, weights, form, y):
    """How much of the weights of all queries the unit mass at y attracts."""
    x, w = exact(points), exact(weights)
    gaps = (x @ exact(form)) @ (x - exact(y)).T
    return (w / (np.exp(gaps) * w).sum(axis=1)).sum()


def forms(rng):
    """Draw a form with the answers of its kind: the exponent at y, and in the ball, and the query where it is."""
    d = int(rng.integers(1, 4))
    size = float(rng.choice(SIZES[:3]))
    if d == 2 and rng.uniform() < 0.7:
        return turned(size, float(rng.uniform(-np.pi, np.pi)))
    return positive(rng.normal(size=(d, d)), size)


def positive(root, size):
    """A positive form of a norm."""
    form = root @ root.T
    return (form + form.T) * (0.5 * size / np.linalg.norm(form, 2)), "positive"


def turned(size, angle):
    """A multiple of a rotation: its symmetric part is a multiple of the identity, of any sign."""
    return size * (np.cos(angle) * np.eye(2) + np.sin(angle) * TURN), "turned"


def exponent(form, kind, y, radius, quarter, part=4.0):
    """The largest <m, B(y - m)> over the ball; with y None also over y."""
    alpha = spectral_norm(exact(form)) * radius**2
    if kind == "positive" or quarter:
        return alpha / part if y is None or quarter else (exact(y) @ (exact(form) @ exact(y))) / part
    s, length = form[0, 0], radius if y is None else np.sqrt((exact(y) ** 2).sum())
    side = spectral_norm(exact(form)) * length  # |By|
    inside = (
        s > 0.0 and float(np.linalg.norm(form[:, 0])) * (radius if y is None else np.linalg.norm(y)) <= 2 * s * radius
    )
    return side * side / (4.0 * exact(s)) if inside else side * radius - exact(s) * radius**2


def certified(form, radius):
    """What certificates take for the exponent; the entries of forms on small balls are large."""
    return Interval.exactly(largest_detour(np.eye(len(form)), form).hi) * radius**2


def largest_stretch(end, alpha, p, linear):
    """The constants of W_1 and W_2."""
    factor = 1.0 + linear * alpha if p == 1 else np.sqrt(1.0 + (linear * alpha / 2.0) * (linear * alpha / 2.0))
    return np.exp(end / float(p)) * factor + alpha


def best_query(form, kind, y, radius):
    """Where <m, B(y - m)> is largest, in floats."""
    way = form @ y
    if kind == "positive":
        return y / 2.0
    s = form[0, 0]
    length = np.linalg.norm(way)
    return way / (2.0 * s) if s > 0.0 and length <= 2.0 * s * radius else way * (radius * (1.0 - 1e-12) / length)


@verifies(
    Claim(
        "lipschitz.single-form",
        "of one form the constants of W_1 and W_2 grow like exponentials of its largest detour, for a positive form a quarter of its norm",
        r"$\varepsilon = \max_{|x|, |y| \le R}\langle x, B(y - x)\rangle$, $\alpha = \|B\|R^2$: for every law $\mu$ in the ball $\int\rho_x(y)\mu(dx) \le e^\varepsilon$, where $\rho_x(y)$ is the density of the weights of the query $x$, so that $W_1(T\mu, T\nu) \le \|V\|(e^\varepsilon(1 + 2\alpha) + \alpha)W_1(\mu, \nu)$ and $W_2(T\mu, T\nu) \le \|V\|(e^{\varepsilon/2}\sqrt{1 + \alpha^2} + \alpha)W_2(\mu, \nu)$; with $V = I$ no constant is below $e^\varepsilon(1 + \varepsilon)$ in $W_1$, below $\frac12e^{\varepsilon/2}(1 + \frac\varepsilon2)$ in $W_2$; $\varepsilon = \min_{\tau > 0}\frac1{4\tau} + \lambda_{\max}(\tau R^2BB^\top - \frac12(B + B^\top))_+R^2$ lies in $[\frac\alpha4, 2\alpha]$ and is $\alpha/4$ for symmetric $B \ge 0$, $\alpha$ for skew $B$, $2\alpha$ for $-I$",
        assumptions=("dot product, no mask", "tokens in a ball of radius R"),
        spec=("MA.L6", "MA.L8"),
        cites=(),
        source_status=("derived",),
        remark="On instances the maximum is known in closed form for symmetric positive forms and for multiples of rotations of the plane, which have symmetric parts of both signs; the minimum that certificates compute is held against it there, and for any other form against laws drawn in the ball.",
    ),
    constant("near", "the exponent is two per cent smaller", share=0.98),
    constant("eighth", "for a positive form the exponent is an eighth of its norm", part=8.0),
    hypothesis("any-form", "the form need not be positive for a quarter of its norm", quarter=True),
    constant("plain", "the factors of the exponentials are one", linear=0.0),
    constant("slope", "no constant of W_1 is below two per cent more in the factor", floor=1.02),
    constant("double", "no constant of W_2 is below twice as much", strain=1.0),
)
def test_single_form(run, *, share=1.0, part=4.0, quarter=False, linear=2.0, floor=1.0, strain=0.5):
    for k, rng in enumerate(run.draws(quick=24, paper=240)):
        radius = (1.0, 2.0**-6, 2.0**5)[k % 3]
        form, kind = forms(rng)
        form = form / radius**2
        d, n = len(form), int(rng.integers(1, 6))
        case = {"draw": k, "kind": kind, "n": n, "d": d, "radius": radius}
        points, weights = draw_cloud(rng, n, d, radius), rng.dirichlet(np.full(n, 0.3)) + 2.0**-30
        y = draw_cloud(rng, 1, d, radius)[0]
        most = np.exp(share * exponent(form, kind, y, radius, quarter, part))
        yield at_most(mass(points, weights / weights.sum(), form, y), most, part="mass", **case)
        whole = share * exponent(form, kind, None, radius, quarter, part)
        alpha = spectral_norm(exact(form)) * radius**2
        law = Measure.normalised(points, weights)
        for p, name in ((1, "stretch"), (2, "squares")):
            bound = largest_stretch(whole, alpha, p, linear)
            yield at_most(norm_at(law, DotProduct(form=form), p), bound, part=name, **case)
        yield at_most(exponent(form, kind, None, radius, quarter), share * certified(form, radius), part="dual", **case)
        other = rng.normal(size=(d, d)) / radius**2
        above = np.exp(share * certified(other, radius))
        yield at_most(mass(points, weights / weights.sum(), other, y), above, part="any form", **case)
    for size in SIZES:
        for form, kind in (
            (np.diag([size, 0.0]), "positive"),
            *(turned(size, angle) for angle in (0.0, 0.75, np.pi / 2.0, 2.0, np.pi)),
        ):
            y = np.array([1.0, 0.0])
            case = {"kind": kind, "size": size, "form": str(form.round(3).tolist())}
            end = exponent(form, kind, None, 1.0, quarter, part)
            light = LIGHT * float(np.exp(-2.0 * size))
            places = np.array([best_query(form, kind, y, 1.0), y])
            points, weights = places, np.array([1.0 - light, light])
            found = mass(points, weights, form, y)
            yield at_most(found, np.exp(share * end), part="mass", **case)
            yield at_least(found, 0.999 * np.exp(end / share), part="attained", **case)
            yield at_most(found, np.exp(share * certified(form, 1.0)), part="any form", **case)
            yield at_most(share * certified(form, 1.0), end * (1.0 + 1e-7), part="dual, from above", **case)
            if size <= 4.0:  # a lighter atom would be lost
                alpha = spectral_norm(exact(form))
                score = DotProduct(form=form)
                local = norm_at(Measure(points, weights), score, 1)
                yield at_most(local, largest_stretch(share * end, alpha, 1, linear), part="stretch", **case)
                yield at_least(local, 0.999 * np.exp(end) * (1.0 + floor * end), part="reached", **case)
                even = 1.0 / (1.0 + float(np.exp(end.mid)))  # the query shares its attention equally
                local = norm_at(Measure(places, np.array([1.0 - even, even])), score, 2)
                yield at_most(local, largest_stretch(share * end, alpha, 2, linear), part="squares", **case)
                least = strain * np.exp(end / 2.0) * (1.0 + end / 2.0)
                yield at_least(local, 0.999 * least, part="strained", **case)
