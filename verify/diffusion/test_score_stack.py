"""Stacks of layers with scores that are least elsewhere: what is carried along, for how many layers, and orbits."""

from fractions import Fraction
from functools import cache

from flint import acb, acb_mat

from theory.diffusion import studies
from theory.diffusion.limits import largest_errors, read_levels
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, limit, order, verifies

RUAN = ("ruan2024",)
CIRCLE = r"$p \propto e^{0.8\cos x + 0.3\sin 2x}$, $h = \sin x + \frac12\cos 2x$ on the circle"
COSINE, SINE = (ball("0.8"), 1), (ball("0.3"), 2)  # sizes and frequencies of the waves of log p
MODES = 16
CARRIED_TIMES = (0.5, 1.0)
TURNS = (2, 3)
ORBIT_TURN = 3


def moved(x, t, speed):
    """The place in which the flow of 1 + b sin x ends, as a point of the plane: a linear fractional map, in balls."""
    b = ball(speed)
    turn = acb(0, 1) / 2
    slopes = acb_mat([[turn, acb(-b / 2)], [acb(-b / 2), -turn]])
    x = ball(x)
    start = acb_mat([[acb(x.cos(), x.sin())], [acb(1)]])
    top, bottom = ((slopes * acb(ball(t))).exp() * start).entries()
    return top / bottom


def wave_at(z):
    """The function sin x + cos(2x) / 2 at a point of the circle in the plane."""
    return z.imag + (z * z).real / 2


def reading(table, **chosen):
    """Places and the values of the stacks there, coarse to fine."""
    part = table.where(**chosen)
    epsilons, levels = read_levels(part, "value")
    return part.where(epsilon=epsilons[0])["place"].tolist(), epsilons.tolist(), levels


@verifies(
    Claim(
        "score.stack",
        "a stack whose score is least a little ahead of the query transports along that drift, to first order in the step",
        r"$f = 2 - 2\cos v - 2\delta b(x)\sin v$, $v = y - x$, which is not symmetric, $\varepsilon = \delta^2$: $P_\varepsilon^{t/\delta}h = h\circ\phi_t + O(\delta)$ with $\dot\phi = b(\phi)$; order exactly 1",
        remark=r"$b = 1 + \frac12\sin x$, "
        + CIRCLE
        + r"; $t = \frac12, 1$; the flow is a linear fractional map of $e^{ix}$",
        assumptions=(
            "averaging layers, weights computed once",
            r"the bandwidth is $\delta^2$: with $\varepsilon = \delta$ the limit is another",
            "p positive and analytic, d = 1",
        ),
        spec=("DL.D1", "DL.D2"),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("half", "the speed is half as large", clock=Fraction(1, 2)),
    hypothesis("wide", "the bandwidth is the step, and not its square", study=(("wide", True),)),
    hypothesis("steady", "the drift is the same everywhere", speed=0),
    bug("backward", "the function is carried against the drift", clock=-1),
)
def test_stack(run, *, clock=1, study=(), speed=Fraction(1, 2)):
    table = run.study(studies.score_stack, **dict(study))
    for t in CARRIED_TIMES:
        places, _, levels = reading(table, part="carried", case=t)
        truth = [wave_at(moved(x, Fraction(t) * clock, speed)) for x in places]
        errors = largest_errors(levels, truth)[-4:]
        yield equals(limit(errors, order=1), 0, scale=1, t=t, part="largest error")
        yield equals(order(errors), 1, scale=1, t=t, part="order")


@cache
def averaged(q, all_waves):
    """The drift-diffusion of the density whose logarithm is averaged over q turns, at time 1/4, in Fourier modes."""
    modes = range(-MODES, MODES + 1)
    start, generator = acb_mat(len(modes), 1), acb_mat(len(modes), len(modes))
    for k, value in {1: acb(0, -0.5), -1: acb(0, 0.5), 2: acb(0.25), -2: acb(0.25)}.items():
        start[k + MODES, 0] = value
    halves = {1: acb(COSINE[0] / 2), -1: acb(COSINE[0] / 2), 2: acb(0, -SINE[0] / 2), -2: acb(0, SINE[0] / 2)}
    for at, k in enumerate(modes):
        generator[at, at] = -k * k
        for wave, size in halves.items():
            if (all_waves or wave % q == 0) and 0 <= at + wave < len(modes):
                generator[at + wave, at] += -2 * size * (wave * k)
    return (generator / 4).exp() * start


def at_places(coefficients, places):
    """Values of a function of these Fourier coefficients, in balls."""
    modes = range(-MODES, MODES + 1)
    waves = [[acb((k * ball(x)).cos(), (k * ball(x)).sin()) for k in modes] for x in places]
    return [value.real for value in (acb_mat(waves) * coefficients).entries()]


@verifies(
    Claim(
        "score.averaged",
        "a score that turns averages the density over its turns: a stack runs the drift-diffusion of the averaged log-density, and the heat equation if nothing is left of it",
        r"$f = 2 - 2\cos(y - x - \frac{2\pi}q)$: $P_\varepsilon^{2t/\varepsilon}h = e^{t\bar L}h + O(\varepsilon)$ if q divides the layers, $\bar L = \partial^2 + 2\bar u'\partial$, $\bar u(x) = \frac1q\sum_j\log p(x + \frac{2\pi j}q)$; order exactly 1",
        remark=CIRCLE
        + r"; $q = 2$, where $\bar u = 0.3\sin 2x$, and $q = 3$, where $\bar u$ is constant; $t = \frac14$. Seven levels, as slopes for $q = 2$ rise to 1.009 before they fall to one, and do not settle on five",
        assumptions=("averaging layers, weights computed once", "p positive and analytic, d = 1"),
        spec=("DL.D2",),
        cites=RUAN,
        source_status=("derived",),
    ),
    hypothesis("kept", "the density is the one of the tokens, as for a score that is least on the diagonal", kept=True),
    hypothesis("flat", "nothing of the density is left for any q", flat=True),
    bug("turned", "one turn is forgotten", turns=1),
)
def test_averaged(run, *, kept=False, flat=False, turns=0):
    table = run.study(studies.score_stack)
    for q in TURNS:
        places, _, levels = reading(table, part="turned", case=q)
        ahead = [ball(x) + turns * 2 * ball(-1).acos() / q for x in places]
        truth = at_places(averaged(MODES if flat else q, kept), ahead)
        errors = largest_errors(levels, truth)[-4:]
        yield equals(limit(errors, order=1), 0, scale=1, q=q, part=f"q = {q}")
        yield equals(order(errors), 1, scale=1, q=q, part="order")


def log_slope(x):
    """(log p)' in balls."""
    (even, k), (odd, m) = COSINE, SINE
    return odd * m * (m * x).cos() - even * k * (k * x).sin()


@verifies(
    Claim(
        "score.orbit",
        "tokens that attend by a rotation go around together, are back after q layers, and drift by the slope of the density that they had one turn ahead",
        r"scores $\langle x, Ay\rangle/2\varepsilon$ with A the rotation by $-\frac{2\pi}q$: after j layers the token of angle x is at $x + \frac{2\pi j}q + 2j\varepsilon(\log p)'(x + \frac{2\pi}q) + O(\varepsilon^2)$; order of the rest exactly 2",
        remark=r"$p \propto e^{0.8\cos x + 0.3\sin 2x}$ by quantile tokens, $q = 3$, j to 3. The rest over the bandwidth is of order one below $\varepsilon = 2^{-10}$; between $2^{-7}$ and $2^{-10}$ its slopes after three layers pass one, 1.0021, before they fall to it, since the next two terms cancel near $2^{-8}$: so levels start there. Layers whose weights are kept average the drift over the turns instead (score.averaged)",
        assumptions=(
            "unit circle; every output takes the place of its token and is divided by its length",
            "weights computed again in every layer",
            "largest error of the drift over 16 tokens out of all",
        ),
        spec=("DL.D2", "DL.D3"),
        cites=RUAN,
        source_status=("derived",),
    ),
    constant("once", "the drift of the density is taken once", drift=1),
    bug("here", "the slope is that at the token, not one turn ahead", ahead=0),
    hypothesis("kept", "the density stays where it was", carried=1),
)
def test_orbit(run, *, drift=2, ahead=1, carried=0):
    table = run.study(studies.score_stack)
    turn = 2 * ball(-1).acos() / ORBIT_TURN
    for layers in range(1, ORBIT_TURN + 1):
        places, _, levels = reading(table, part="orbit", layers=layers)
        claimed = []
        for x in places:
            slopes = [log_slope(ball(x) + (ahead + carried * j) * turn) for j in range(layers)]
            claimed.append(drift * sum(slopes, ball(0)))
        apart = largest_errors(levels, claimed)[-4:]
        yield equals(limit(apart, order=1), 0, scale=1, layers=layers)
        yield equals(order(apart), 1, scale=1, layers=layers, part="order")


@verifies(
    Claim(
        "score.horizon",
        "what is carried lasts for 1 / eps layers if the score turns, for log(1 / eps) / log 4 if it doubles, and is off by the bandwidth only after 1 / eps at a place that attracts",
        r"f least at $x + \frac\pi2$, $P_\varepsilon^{1/\varepsilon}h \to e^{\partial^2/2}h$, not h; at $2x$, $P_\varepsilon^k\cos \to e^{-\frac16}$ at 0 with $4^k\varepsilon = 1$, not 1; at $x - \frac12\sin x$, $\frac1\varepsilon P_\varepsilon^{1/\varepsilon}(1 - \cos) \to \frac23$ at 0",
        remark=r"$h = \sin x + \frac12\cos 2x$; tokens of the circle, equal for the first two, of $p \propto e^{0.8\cos x + 0.3\sin 2x}$ for the third; one over the slope squared, summed over layers: $\frac12\sum_j4^{-j} = \frac23$ and $\frac12\sum_{j\ge1}4^{-j} = \frac16$",
        assumptions=("averaging layers, weights computed once", "circle"),
        spec=("DL.D1",),
        cites=RUAN,
        source_status=("derived",),
    ),
    hypothesis("for-good", "layers only carry and spread nothing, in all three", spread=0),
    constant("twice", "a layer spreads by twice as much", spread=2),
    bug("last", "only the last layer spreads", summed=False),
)
def test_horizon(run, *, spread=1, summed=True):
    table = run.study(studies.score_stack)
    places, _, levels = reading(table, part="turning")
    for at, x in enumerate(places):
        wide = ball(Fraction(spread * summed, 2))
        claimed = (-wide).exp() * ball(x).sin() + (-4 * wide).exp() * (2 * ball(x)).cos() / 2
        yield equals(limit(levels[-4:, at], order=1), claimed, scale=1, x=round(x, 3), part="turning")
    _, _, levels = reading(table, part="doubling")
    wide = Fraction(spread, 6) if summed else Fraction(spread, 8)
    yield equals(limit(levels[-4:, 0], ratio=4, order=1), (-ball(wide)).exp(), part="doubling")
    _, epsilons, levels = reading(table, part="attracting")
    apart = [value / epsilon for value, epsilon in zip(levels[:, 0], epsilons, strict=True)]
    wide = Fraction(2 * spread, 3) if summed else Fraction(spread, 2)
    yield equals(limit(apart[-4:], order=1), wide, scale=1, part="attracting")
