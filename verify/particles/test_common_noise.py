"""Two tokens under one noise: their overlap is a diffusion, both ends of which may attract, and how likely each is."""

from functools import cache

import numpy as np
from scipy.integrate import cumulative_simpson, simpson

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    estimated,
    exact,
    hypothesis,
    limit,
    proportion,
    stream,
    verifies,
)
from theory.particles.exact import antipodal_probability, antipodal_threshold, common_noise_step
from theory.particles.studies import common_noise

FEDOROV = ("fedorov2026",)
HORIZON = 12.0
CHANCES = {
    (3, 1.0): "0.2224",
    (5, 1.5): "0.1137",
    (8, 2.0): "0.0929",
}  # by dimension and inverse temperature, of orthogonal tokens
probability = cache(antipodal_probability)


def pair(dim, apart):
    """Enclose two unit tokens by half their distance, squared: of overlap 1 - 2 apart."""
    half = exact(apart)
    sine, cosine = half.sqrt(), (1 - half).sqrt()
    zeros = exact(np.zeros(dim - 2))
    return [np.concatenate([np.stack([cosine, sign * sine]), zeros]) for sign in (1.0, -1.0)]


def generated(tokens, beta, *, own=False, second=True, uniform=False, correction=0.5):
    """Enclose drift and variance of the overlap, and the drift of a length, from the fields of every noise.

    ``own``: each token has a noise of its own. ``second``: that both move at once counts.
    """
    x = tokens
    dim = x[0].shape[0]
    overlap = (x[0] * x[1]).sum()
    p = 1 / (1 + np.exp(beta * (1 - overlap)))
    p = exact(0.5) if uniform else p
    y = [(1 - p) * x[i] + p * x[1 - i] for i in (0, 1)]
    project = [np.eye(dim) - x[i][:, np.newaxis] * x[i][np.newaxis] for i in (0, 1)]
    drifts = [-correction * (dim - 1) * (y[i] ** 2).sum() * x[i] for i in (0, 1)]
    drift = (drifts[0] * x[1]).sum() + (x[0] * drifts[1]).sum()
    growth = 2 * (drifts[0] * x[0]).sum() + (project[0] ** 2).sum() * (y[0] ** 2).sum()
    # what the noise in each entry of the matrix does to the overlap, through either token
    changes = [(project[i] @ x[1 - i])[:, np.newaxis] * y[i][np.newaxis] for i in (0, 1)]
    if own:
        return overlap, drift, (changes[0] ** 2 + changes[1] ** 2).sum(), growth
    if second:
        drift = drift + (project[0] * project[1]).sum() * (y[0] * y[1]).sum()
    variance = ((changes[0] + changes[1]) ** 2).sum()
    return overlap, drift, variance, growth


@verifies(
    Claim(
        "common-noise.overlap",
        "the overlap of two tokens under one noise is a diffusion in one variable, with simple coefficients",
        r"$dx_i = P_{x_i}dW\,y_i - \frac{d-1}2|y_i|^2x_idt$ on the unit sphere, $y_i$ the softmax mean: $r = \langle x_1, x_2\rangle$ has the drift $-(d-1)ar + (d - 2 + r^2)b$ and the variance $2(1 - r^2)^2(1 - c)$, $a = 1 - c(1-r)$, $b = r + c(1-r)$, $\frac1c = 2\cosh^2\frac{\beta(1-r)}2$",
        assumptions=("scores are beta times overlaps", "one matrix of independent Brownian motions for both tokens"),
        spec=("FN.N05",),
        cites=FEDOROV,
        source_status=("seen", "derived"),
    ),
    hypothesis("own-noise", "each token has its own noise", own=True),
    bug("first-order", "that both tokens move at once is forgotten", second=False),
    bug("uniform", "a token attends to itself as to the other", uniform=True),
    bug("uncorrected", "the noise is not corrected for the curvature of the sphere", correction=0.0),
    constant("one-more", "the drift is that of one dimension more", more=1),
)
def test_overlap(run, *, own=False, second=True, uniform=False, correction=0.5, more=0):
    for dim in (2, 3, 5):
        for beta in (0.5, 2.0):
            for apart in (0.125, 0.5, 0.75, 0.96875):
                tokens = pair(dim, apart)
                how = {"own": own, "second": second, "uniform": uniform, "correction": correction}
                r, drift, variance, growth = generated(tokens, beta, **how)
                d, half = dim + more, beta * (1 - r) / 2
                c = 2 / (np.exp(half) + np.exp(-half)) ** 2
                a, b = 1 - c * (1 - r), r + c * (1 - r)
                case = {"d": dim, "beta": beta, "apart": apart}
                yield equals(drift, -(d - 1) * a * r + (d - 2 + r**2) * b, scale=1, part="drift", **case)
                yield equals(variance, 2 * (1 - r**2) ** 2 * (1 - c), scale=1, part="variance", **case)
                yield equals(growth, 0, scale=1, part="length", **case)


LEVELS = (2.0**-6, 2.0**-7, 2.0**-8, 2.0**-9, 2.0**-10)


@cache
def exponent(dim, beta, end, *, own=False):
    """The limit of the drift of the logarithm of how far the overlap is from an end, 1 or -1."""
    found = []
    for near in LEVELS:
        r, drift, variance, _ = generated(pair(dim, near if end > 0 else 1.0 - near), beta, own=own)
        off = 1 - end * r
        found.append(-end * drift / off - variance / (2 * off**2))
    return limit(found, order=1)


def squared_tangent(dim):
    """The statement: where the square of tanh is this, opposite tokens begin to attract."""
    return (dim - 3) / (dim - 1)


@verifies(
    Claim(
        "common-noise.threshold",
        "one place always attracts two tokens under one noise, opposite places from a sharp inverse temperature on",
        r"$\frac1t\log(1 - r) \to -(d - 1)$ near $r = 1$; $\frac1t\log(1 + r) \to (d - 3) - (d - 1)\tanh^2\beta$ near $r = -1$, which is negative if and only if $\cosh2\beta > d - 2$",
        assumptions=("the tokens of the diffusion common-noise.overlap",),
        spec=("FN.N05",),
        cites=FEDOROV,
        remark="in two and three dimensions opposite places attract at every inverse temperature",
        source_status=("seen", "derived"),
    ),
    constant("next", "opposite places attract from tanh squared (d-2)/(d-1) on", threshold=lambda d: (d - 2) / (d - 1)),
    hypothesis("own-noise", "each token has its own noise", own=True),
    bug("half", "the variance is left out of the logarithm", factor=0.5),
)
def test_threshold(run, *, threshold=squared_tangent, own=False, factor=1.0):
    for dim in (3, 4, 8):
        for beta in (0.5, 1.0, 2.0):
            tangent = np.tanh(exact(beta))
            case = {"d": dim, "beta": beta}
            together, opposite = (exponent(dim, beta, end, own=own) for end in (1, -1))
            yield equals(together, -factor * (dim - 1), scale=dim, part="together", **case)
            claimed = (dim - 1) * (threshold(dim) - tangent**2)
            yield equals(opposite, factor * claimed, scale=dim, part="opposite", **case)
    for dim in (4, 5, 8, 64, 1000):
        found = np.tanh(antipodal_threshold(dim)) ** 2
        yield equals(found, factor * exact(float(threshold(dim))), scale=1, part="where", d=dim)
    table = run.study(common_noise.chances)
    for dim, beta in zip(*(table.where(part="threshold")[name].tolist() for name in ("dim", "beta")), strict=True):
        off = abs(np.tanh(exact(beta)) ** 2 - factor * exact(float(threshold(dim))))
        yield at_most(off, 1e-14, scale=1, part="table", d=dim)
    for dim, beta in zip(*(table.where(part="exact")[name].tolist() for name in ("dim", "beta")), strict=True):
        yield at_least(np.tanh(exact(beta)) ** 2, threshold(dim), scale=1, part="table, beyond", d=dim, beta=beta)


def as_computed(dim, beta):
    """The statement."""
    return probability(beta, dim)


def never(dim, beta):
    """Always one cluster."""
    return Interval.exactly(0.0)


def without_attention(dim, beta):
    """As if the inverse temperature were so large that tokens attend to themselves alone."""
    return Interval.exactly(0.5)


@cache
def in_floats(dim, beta):
    """The integral of the statement by Simpson's rule, for what decays slowest from -w = 300 on."""
    w = np.linspace(-300.0, 30.0, 330 * 64 + 1)
    inner = cumulative_simpson(1.0 / np.cosh(beta * (1.0 - np.tanh(w))), x=w, initial=0.0)
    zero = 300 * 64
    logarithm = -np.logaddexp(w, -w) - (dim - 2) * (inner - inner[zero])
    scale = np.exp(logarithm - logarithm.max())
    return float(simpson(scale[zero:], x=w[zero:]) / simpson(scale, x=w))


@cache
def opposite_ends(root, dim, beta, *, pairs):
    """Count which of drawn pairs, orthogonal at first, end with a negative overlap: with half the step, and only with one.

    Both schemes see the same noise. A pair has ended where both have an overlap within 1e-4 of one or 1e-6 of minus one.
    """
    step = 1.0 / (4.0 * dim)
    rng = stream("common-noise.antipodal", dim, root=root)
    tokens = np.zeros((2, pairs, 2, dim))
    tokens[:, :, 0, 0] = tokens[:, :, 1, 1] = 1.0
    left = np.arange(pairs)
    for _ in range(int(HORIZON / step)):
        halves = rng.normal(size=(2, len(left), dim, dim)) * np.sqrt(step / 2.0)
        tokens[0, left] = common_noise_step(tokens[0, left], beta, step, halves.sum(axis=0))
        for noise in halves:
            tokens[1, left] = common_noise_step(tokens[1, left], beta, step / 2.0, noise)
        overlaps = (tokens[:, left, 0] * tokens[:, left, 1]).sum(axis=-1)
        left = left[((overlaps < 1.0 - 1e-4) & (overlaps > -1.0 + 1e-6)).any(axis=0)]
    coarse, fine = (tokens[:, :, 0] * tokens[:, :, 1]).sum(axis=-1) < 0.0
    return int(fine.sum()), int((fine & ~coarse).sum()), int((coarse & ~fine).sum())


def share_opposite(root, dim, beta, *, pairs):
    """Enclose the probability: half the step, off by no more than the two steps are apart, since errors are of first order."""
    fine, up, down = (proportion(hits, pairs, among=6) for hits in opposite_ends(root, dim, beta, pairs=pairs))
    return fine + estimated(0.0, up - down, times=1.0)


@verifies(
    Claim(
        "common-noise.antipodal",
        "two orthogonal tokens under one noise end opposite to each other with a probability that is an integral",
        r"from $r = 0$: $\mathbb P(r \to -1) = \int_0^\infty s\,/\int_{-\infty}^\infty s$, $s(w) = \frac1{\cosh w}\exp(-(d-2)\int_0^w\frac{dv}{\cosh\beta(1 - \tanh v)})$: $.2224$ at $d = 3$, $\beta = 1$, $.1137$ at $d = 5$, $\beta = \frac32$, $.0929$ at $d = 8$, $\beta = 2$; zero for $\cosh2\beta \le d - 2$; drawn pairs agree at the first and the last",
        assumptions=(
            "for pairs that are drawn: Euler's scheme up to time 12, with steps 1/8d, off by no more than steps 1/4d are from it",
        ),
        spec=("FN.N05",),
        cites=FEDOROV,
        source_status=("seen", "derived"),
    ),
    hypothesis("never", "they always end in one place", law=never),
    constant("even", "both ends are equally likely", law=without_attention),
    bug("threshold", "opposite places attract from tanh squared (d-3)/d on", moved=True),
)
def test_antipodal(run, *, law=as_computed, moved=False):
    for (dim, beta), digits in CHANCES.items():
        yield equals(law(dim, beta), Interval.printed(digits), scale=1, part="values", d=dim, beta=beta)
    for dim, beta, pairs in ((3, 1.0, 8000), (8, 2.0, 4000)):
        found = share_opposite(run.root, dim, beta, pairs=run.pick(quick=pairs, paper=8 * pairs))
        yield equals(found, law(dim, beta), scale=1, part="drawn", d=dim, beta=beta)
    for dim in (4,) if moved else (4, 6, 20):
        beta = antipodal_threshold(dim).lo if not moved else float(np.arctanh(np.sqrt((dim - 3) / dim)) + 0.5)
        yield equals(probability(beta, dim), 0, scale=1, part="zero", d=dim)
    table = run.study(common_noise.chances)
    rows = zip(*(table[name].tolist() for name in ("part", "dim", "beta")), strict=True)
    for (part, dim, beta), found in zip(rows, table.intervals("value"), strict=True):
        if part == "exact":
            again = in_floats(dim, beta) if law is as_computed else law(dim, beta)
            yield at_most(abs(found - again), 1e-6, scale=1, part="table", d=dim, beta=beta)
        elif part == "drawn":
            yield equals(found, law(dim, beta), scale=1, part="table, drawn", d=dim, beta=beta)
