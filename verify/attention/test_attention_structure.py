"""What attention has because its rows are laws: contraction, convex hulls, a gradient, kernel regression."""

import numpy as np

from theory import Measure
from theory.attention import DotProduct, Softmatch, attend
from theory.attention.variants import attend_nystrom
from theory.evidence import (
    Claim,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from verify import inputs, textbook
from verify.textbook import balls

PLAIN = DotProduct(scale=1.0)
PAPER = ("recalled", "derived", "refereed on paper")


@verifies(
    Claim(
        "variant.contraction",
        "attention narrows the range of the values by the largest distance of two of its rows, and no more for all values",
        r"$\mathrm{range}(Px) \le \delta(P)\,\mathrm{range}(x)$, $\delta(P) = \frac12\max_{ij}\|P_i - P_j\|_1$, with equality for $x = \mathbf 1_{P_i > P_j}$",
        assumptions=("the rows are laws",),
        spec=("RA.G13",),
        cites=("dobrushin1956",),
        source_status=PAPER,
    ),
    constant("near", "the coefficient is two per cent smaller", factor=0.98),
    constant("doubled", "the distance is not halved", factor=2.0),
    hypothesis("unnormalised", "the rows are not divided by their sum", normalised=False),
    bug("average", "the distance is averaged over the pairs", average=True),
)
def test_contraction(run, *, factor=1.0, normalised=True, average=False):
    for rng in run.draws(quick=8, paper=100):
        m, n = int(rng.integers(2, 6)), int(rng.integers(2, 8))
        q, k = rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
        scores = textbook.dot_scores(q, k, beta=1.0)
        laws = textbook.laws(scores)
        apart = [(abs(a - b).sum() / 2, a, b) for i, a in enumerate(laws) for b in laws[:i]]
        delta, a, b = max(apart, key=lambda found: float(found[0].mid()))
        delta = (sum(found[0] for found in apart) / len(apart) if average else delta) * ball(factor)
        sharp = np.array([float((x - y).mid() > 0) for x, y in zip(a, b, strict=True)])
        for x in (sharp, rng.normal(size=n), rng.normal(size=n)):
            output = attend(exact(q), k, x[:, np.newaxis], score=PLAIN)[:, 0]
            if not normalised:
                output = output * hull(np.exp(scores).sum(axis=1))
            spread = np.ptp(output)
            yield at_most(spread, delta * np.ptp(exact(x)), scale=1, n=n)
            if x is sharp:
                yield equals(spread, delta, scale=1, part="attained", n=n)


# queries and keys of four tokens on the line, of which Nystrom attention through the first two has a weight of -3.767
LINE = (np.array([[1.0], [2.0], [-2.0], [-1.0]]), np.array([[1.0], [-2.0], [0.0], [2.0]]))


@verifies(
    Claim(
        "variant.hull",
        "every attention output lies in the convex hull of the values, by weights that show it",
        r"$o_i \in \mathrm{conv}\{v_j\}$: $o_i = \sum_j p_{ij}v_j$ with $p_i \ge 0$, $\sum_j p_{ij} = 1$, and $\langle u, o_i\rangle \le \max_j\langle u, v_j\rangle$ for every $u$",
        assumptions=("the rows are laws",),
        spec=("RA.G13",),
        source_status=PAPER,
    ),
    hypothesis("nystrom", "the output is that of Nystrom attention, whose weights may be negative", nystrom=True),
    constant("inner", "the hull is a hundredth smaller about the mean of the values", shrink=0.99),
    bug("shifted", "the weights belong to the next value", shift=1),
)
def test_hull(run, *, nystrom=False, shrink=1.0, shift=0):
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    clouds = [(*LINE, square), (40.0 * LINE[0], LINE[1], square)]  # the second reads vertices almost alone
    drawn = inputs.problems(run, quick=8, paper=200)
    clouds += [(p.queries, p.keys, p.values) for p in drawn if p.keys.shape[0] >= 2]
    for (q, k, v), rng in zip(clouds, run.streams(len(clouds)), strict=True):
        size = float(np.abs(v).max())
        output = attend(exact(q), k, v, score=PLAIN)
        if nystrom and q.shape == LINE[0].shape:
            output = attend_nystrom(exact(q), k, v, query_landmarks=q[:2], key_landmarks=k[:2], score=PLAIN)
        rows = np.roll(Softmatch(PLAIN, Measure(k)).rows(q), shift, axis=1)
        laws = balls(rows) / balls(rows).sum(axis=1, keepdims=True)  # made to sum to one exactly: the certificate
        yield equals(output, laws @ balls(v), scale=size, part="certificate", n=k.shape[0])
        centre = exact(v).mean(axis=0)
        for u in np.concatenate([np.eye(v.shape[1]), -np.eye(v.shape[1]), rng.normal(size=(2, v.shape[1]))]):
            corner = (shrink * (v - centre) @ u).max() + centre @ u
            scale = float(np.abs(u).sum()) * size
            yield at_most((output @ u).max(), corner, scale=scale, part="half-spaces", n=k.shape[0])


@verifies(
    Claim(
        "variant.lse-gradient",
        "attention whose values are its keys is the gradient of the log-partition at its temperature",
        r"$K^\top\mathrm{softmax}(Kq/\tau) = \nabla_q\,\tau\,\mathrm{lse}(Kq/\tau)$",
        assumptions=("values equal to keys", "positive temperature"),
        spec=("RA.G13",),
        cites=("ramsauer2021",),
        source_status=PAPER,
    ),
    constant("no-temperature", "the log-partition lacks the factor tau", power=0),
    hypothesis("other-values", "the values are not the keys", same=False),
    bug("mean", "the gradient of the mean score is taken", mean=True),
)
def test_lse_gradient(run, *, power=1, same=True, mean=False):
    for rng in run.draws(quick=12, paper=150):
        n = int(rng.integers(2, 20))
        tau = float(rng.uniform(0.3, 3.0))
        k, q, way = rng.normal(size=(n, 3)), rng.normal(size=3), rng.normal(size=3)
        t = ball(tau)
        series = balls(k) @ balls(q) / t + (balls(k) @ balls(way) / t) * variable(2)  # derivatives without differences
        energy = series.sum() / n if mean else textbook.log(textbook.exp(series).sum())
        values = k if same else k[::-1].copy()
        output = attend(exact(q)[np.newaxis] / tau, k, values, score=PLAIN)[0]
        yield equals(way @ output, coefficient(energy, 1) * t**power, scale=1, n=n, tau=tau)


CIRCLE = np.array([[3, 4], [4, 3], [-3, 4], [4, -3], [5, 0], [0, -5], [-5, 0], [-4, -3]]) / 4.0  # exactly of one norm


@verifies(
    Claim(
        "variant.kernel-regression",
        "with keys of one norm, dot-product attention is kernel regression with a Gaussian of the temperature as variance",
        r"$\mathrm{softmax}_j(\langle q, k_j\rangle/\tau) \propto e^{-|q - k_j|^2/2\tau}$ if all $|k_j|$ agree, and $\propto e^{|k_j|^2/2\tau}e^{-|q - k_j|^2/2\tau}$ always",
        assumptions=("positive temperature",),
        spec=("RA.G13",),
        cites=("nadaraya1964", "watson1964"),
        source_status=PAPER,
    ),
    hypothesis("unequal", "the keys have several norms, and no prior makes up for it", prior=0),
    constant("bandwidth", "the variance of the Gaussian is twice the temperature", width=4),
    bug("sign", "the prior has the wrong sign", prior=-1),
)
def test_kernel_regression(run, *, prior=1, width=2):
    for rng in run.draws(quick=10, paper=150):
        tau = float(rng.choice([0.25, 1.0, 2.0]))
        q = rng.normal(size=(2, 2))
        for name, k in (
            ("one norm", CIRCLE),
            ("several", rng.normal(size=(8, 2))),
            ("two", CIRCLE * ([[1.0], [0.5]] * 4)),
        ):
            t = ball(tau)
            scores = textbook.distance_scores(q, k, beta=1.0) / (width * t)
            tilt = (balls(k) ** 2).sum(axis=1) / (width * t)
            claimed = textbook.laws(scores + (prior * tilt if name != "one norm" else 0))
            score = DotProduct(scale=1.0 / tau)
            yield equals(attend(exact(q), k, np.eye(8), score=score), claimed, scale=1, part=name, tau=tau)
