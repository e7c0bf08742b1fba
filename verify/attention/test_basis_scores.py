"""Scores that are linear in a summary of the data, or bounded: what the weights then can and cannot be."""

from fractions import Fraction

import numpy as np

from theory import Measure
from theory.attention import Additive, DotProduct, Softmatch
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.spectra import exact_rank
from theory.maxent import LinearScores
from verify import textbook
from verify.textbook import balls

FAMILY = ("wainwright2008",)
RECALLED = ("recalled", "derived")
GRID = np.arange(6.0)[:, np.newaxis]
THIRD = np.array([[1, -3, 3, -1, 0, 0], [0, 1, -3, 3, -1, 0], [0, 0, 1, -3, 3, -1]])  # vanish on 1, x and x^2


@verifies(
    Claim(
        "layer.basis",
        "weights of scores that are linear in parameters are an exponential family with the basis for statistics",
        r"$A(w) = \tau\log\sum_i e^{(Bw)_i/\tau}$: $\nabla A = B^\top p$, $\nabla^2 A = \frac1\tau B^\top(\mathrm{diag}\,p - pp^\top)B$, $p = \mathrm{softmax}(Bw/\tau)$",
        assumptions=("positive temperature",),
        spec=("RA.G1",),
        cites=FAMILY,
        source_status=("seen", *RECALLED),
    ),
    bug("no-temperature", "the Hessian is not divided by the temperature", power=0),
    bug("uncentred", "the Hessian is the second moment of the basis", centred=False),
    constant("near", "the gradient is one in a thousand larger", factor=1.001),
    hypothesis("cold", "the weights are those at temperature one", own=False),
)
def test_basis(run, *, power=1, centred=True, factor=1.0, own=True):
    for rng in run.draws(quick=15, paper=200):
        n = int(rng.integers(2, 12))
        k = int(rng.integers(1, 4))
        tau = float(rng.uniform(0.3, 3.0))
        basis, w, way = rng.normal(size=(n, k)), rng.normal(size=k), rng.normal(size=k)
        t = ball(tau)
        here, along = balls(basis) @ balls(w) / t, balls(basis) @ balls(way) / t
        energy = textbook.log(textbook.exp(here + along * variable(3)).sum()) * t
        family = LinearScores(basis, tau=tau if own else 1.0)
        at = exact(w)
        size, reach = float(np.abs(basis).max()), float(np.abs(way).sum())
        slope = family.gradient(at) @ way
        yield equals(slope, ball(factor) * coefficient(energy, 1), scale=reach * size, part="gradient", n=n)
        second = family.hessian(at)
        if not centred:
            second = second + np.outer(family.gradient(at), family.gradient(at)) / tau
        claimed = 2 * coefficient(energy, 2) * t ** (1 - power)
        yield equals(way @ second @ way, claimed, scale=reach**2 * size**2, part="Hessian", n=n)
        size = float((np.abs(basis) @ np.abs(w)).max()) + tau * np.log(n)
        yield equals(family.value(at), coefficient(energy, 0), scale=size, part="value", n=n)


@verifies(
    Claim(
        "layer.basis-span",
        "the logarithms of the weights lie in the span of the basis and the constants, and only such laws are reached",
        r"$\log p \in \mathrm{span}[B, \mathbf 1]$ for $p = \mathrm{softmax}(Bw/\tau)$; conversely $\tau\log p = Bw + c$ is reached at $w$",
        spec=("RA.G1",),
        cites=FAMILY,
        source_status=RECALLED,
    ),
    hypothesis("any-law", "the law is drawn at random", drawn=True),
    bug("no-constant", "the logarithms are taken to lie in the span of the basis alone", centred=False),
    hypothesis("cubic", "the logarithms have a third power of one in a thousand", cubic=1e-3),
)
def test_basis_span(run, *, drawn=False, centred=True, cubic=0.0):
    for rng in run.draws(quick=10, paper=100):
        tau = float(rng.uniform(0.3, 3.0))
        w = rng.normal(size=2)
        family = LinearScores(np.column_stack([GRID, GRID**2]) / 8.0, tau=tau)
        law = exact(rng.dirichlet(np.ones(6))) if drawn else family.weights(exact(w))
        logs = np.log(law) + cubic * GRID[:, 0] ** 3
        # of x and x^2, but not of 1, this combination is zero; the others vanish on all three
        rows = THIRD if centred else np.vstack([THIRD, [0, 0, 6, -8, 3, 0]])
        for row in rows:
            yield equals(row @ logs, 0, scale=1.0, row=row.tolist(), part="in the span")
        quadratic = balls(GRID[:, 0]) * ball(w[0]) + balls(GRID[:, 0] ** 2) * ball(w[1])
        quadratic = (quadratic + balls(cubic * GRID[:, 0] ** 3)) / (8 * ball(tau)) + 1
        claimed = textbook.laws(quadratic[np.newaxis])[0]
        yield equals(family.weights(exact(w)), claimed, scale=1, part="reached")


BASES = {  # with a direction along which the parameters are not seen, if there is one
    "ramp": (GRID, None),
    "ramp and square": (np.hstack([GRID, GRID**2]), None),
    "constant": (np.hstack([GRID, np.ones((6, 1))]), np.array([0.0, 1.0])),
    "every location": (np.eye(6), np.ones(6)),
    "twice the ramp": (np.hstack([GRID, 2.0 * GRID]), np.array([2.0, -1.0])),
    "halves": (np.repeat(np.eye(2), 3, axis=0), np.ones(2)),
    "one half": (np.repeat([[0.0], [1.0]], 3, axis=0), None),
    "one location": (np.array([[2.0]]), np.array([1.0])),
}  # fmt: skip


@verifies(
    Claim(
        "layer.basis-identified",
        "the weights identify the parameters just when no combination of the basis is constant",
        r"$w \mapsto \mathrm{softmax}(Bw/\tau)$ is injective iff $\mathrm{rank}[B, \mathbf 1] = k + 1$",
        spec=("RA.G1",),
        cites=FAMILY,
        source_status=RECALLED,
    ),
    hypothesis("basis-alone", "the rank of the basis alone is asked to be k", beside=False),
    constant("one-less", "a rank of k is taken to be enough", wanted=0),
    bug("always", "different parameters are taken to give different weights", always=True),
)
def test_basis_identified(run, *, beside=True, wanted=1, always=False):
    for (name, (basis, unseen)), rng in zip(BASES.items(), run.streams(len(BASES)), strict=True):
        n, k = basis.shape
        full = exact_rank(np.hstack([basis, np.ones((n, 1))]) if beside else basis)
        identified = always or full == k + (wanted if beside else 0)
        family = LinearScores(basis, tau=0.5)
        w = rng.integers(-8, 9, size=k) / 8.0
        yield equals(int(family.is_identified()), int(identified), scale=1, basis=name, part="criterion")
        other = w + (0.25 * rng.choice([-1.0, 1.0], size=k) if unseen is None else unseen)
        # two laws are one if the logarithms of their weights differ by a constant
        seen = np.ptp(family.log_weights(exact(other)) - family.log_weights(exact(w)))
        if identified:
            yield at_least(seen, 0.05, scale=1, part="two laws", basis=name)
        else:
            yield equals(seen, 0, scale=1, part="one law", basis=name)


@verifies(
    Claim(
        "layer.initial-importance",
        "at parameters zero the weights are the prior, whatever the basis, and a geometric prior is a linear bias",
        r"$w = 0$: $p = p_0$ for every $B$; $p_0 \propto \gamma^{\mathrm{age}}$ adds $\mathrm{age}\cdot\log\gamma$ to $s/\tau$",
        spec=("RA.G1",),
        cites=FAMILY,
        source_status=("derived",),
    ),
    hypothesis("basis-alone", "the choice of the basis alone is to set the initial importance", with_prior=False),
    bug("cooled", "the logarithm of the prior is divided by the temperature too", power=1),
    constant("near", "the prior decays one per cent faster", factor=0.99),
    hypothesis("started", "the parameters are one in a hundred instead of zero", start=0.01),
)
def test_initial_importance(run, *, with_prior=True, power=0, factor=1.0, start=0.0):
    for rng in run.draws(quick=10, paper=100):
        n = int(rng.integers(2, 12))
        k = 2
        tau = float(rng.uniform(0.3, 0.8))
        decay = float(rng.uniform(0.5, 0.95))
        basis, w = rng.normal(size=(n, k)), rng.normal(size=k)
        plain = LinearScores(basis, tau=tau)
        even = balls(np.full(n, Fraction(1, n)))
        yield equals(plain.weights(exact(np.full(k, start))), even, scale=1, part="no prior", n=n)
        masses = decay ** np.arange(float(n))
        prior = masses / masses.sum()
        family = LinearScores(basis, prior=prior if with_prior else None, tau=tau)
        bias = balls(np.arange(float(n))) * (ball(decay) * ball(factor)).log()
        bias = bias / ball(tau) ** power
        rounded = np.log(balls(prior)) - np.arange(n) * np.log(ball(decay))  # what the powers and their sum round
        for at in (np.zeros(k), w):
            scores = balls(basis) @ balls(at) / ball(tau) + (rounded if with_prior else 0)
            claimed = textbook.laws((scores + bias)[np.newaxis])[0]
            yield equals(family.weights(exact(at)), claimed, scale=1, part="prior", n=n, tau=tau)


def extreme(n, v, tau, best):
    """Additive scores within 1e-34 of plus and minus the sum of |v| / tau: the first key is best, or worst, of all."""
    keys = np.full((n, 1), -40.0 if best else 40.0)
    keys[0] = -keys[0]
    return Additive(np.zeros((v.size, 1)), np.sign(v)[:, np.newaxis], v / tau), v, tau, np.ones((1, 1)), keys


@verifies(
    Claim(
        "layer.additive-bounds",
        "additive scores are bounded, so no weight can be larger or smaller than the stated values, which are sharp",
        r"$s_i = v^\top\tanh(Wq + Uk_i)$: $\frac{1}{1 + (n-1)e^{2\|v\|_1/\tau}} \le p_i \le \frac{1}{1 + (n-1)e^{-2\|v\|_1/\tau}}$, sharp as $s_i \to \pm\|v\|_1$",
        assumptions=("at least two keys",),
        spec=("RA.G2",),
        cites=("bahdanau2014",),
        source_status=("derived", "refereed on paper"),
    ),
    hypothesis("dot-product", "the scores are dot products", dot=True),
    constant("near", "the exponent is one per cent smaller", factor=0.99),
    bug("euclidean", "the Euclidean norm stands for the sum of sizes", euclidean=True),
)
def test_additive_bounds(run, *, dot=False, factor=1.0, euclidean=False):
    problems = []
    for rng in run.draws(quick=15, paper=200):
        n = int(rng.integers(2, 12))
        h = int(rng.integers(1, 5))
        tau = float(rng.choice([0.25, 0.5, 1.0, 2.0]))
        left = rng.normal(size=(h, 2)) * 2.0
        right = rng.normal(size=(h, 2)) * 2.0
        v = rng.normal(size=h)
        score = Additive(left, right, v / tau)  # exactly
        problems.append(((score, v, tau, rng.normal(size=(3, 2)), rng.normal(size=(n, 2))), None))
    for n, v, tau in ((2, np.array([0.5, -1.0]), 1.0), (5, np.array([1.0, 0.25, -0.75]), 0.5)):
        problems += [(extreme(n, v, tau, best), best) for best in (True, False)]
    for (score, v, tau, queries, keys), best in problems:
        n = keys.shape[0]
        kernel = Softmatch(DotProduct(scale=1.0 / tau) if dot else score, Measure(keys))
        rows = kernel.rows(exact(queries))
        size = (balls(v) ** 2).sum().sqrt() if euclidean else np.abs(balls(v)).sum()
        power = (2 * size / ball(tau) * ball(factor)).exp()
        low, high = 1 / (1 + (n - 1) * power), 1 / (1 + (n - 1) / power)
        smallest = rows.min()
        largest = rows.max()
        yield at_least(smallest, low, n=n, tau=tau, part="below")
        yield at_most(largest, high, n=n, tau=tau, part="above")
        if best is not None:
            yield equals(largest if best else smallest, high if best else low, n=n, tau=tau, part="sharp")
