"""Linear attention: its recurrence, and random features of the softmax kernel with their mean, variance and bias."""

import math
from fractions import Fraction

import numpy as np

from theory.attention import feature_study as study, gaussian
from theory.attention.variants import attend_linear, elu_features, linear_weights
from theory.evidence import (
    Claim,
    as_intervals,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    order,
    verifies,
)
from theory.evidence.once import once
from verify import textbook
from verify.textbook import balls, exp, hull

recurrence, weights_of = once(attend_linear), once(linear_weights)

PERFORMER = ("choromanski2021",)
RECALLED = ("recalled", "derived", "refereed")


def counted(points):
    """Features that are small positive integers: sums of their products are exact in float64."""
    return 1.0 + np.abs(np.round(4.0 * as_intervals(points).mid))


def quadratic(left, right, values, *, mask):
    """The masked quadratic form: scores of features, kept where the mask says, divided by their sum per row."""
    scores = (left @ right.T) * mask
    return (scores @ values) / scores.sum(axis=1, keepdims=True)


def masked_softmax(queries, keys, values, mask):
    """Softmax attention over the keys that the mask keeps."""
    law = textbook.laws(textbook.dot_scores(queries, keys)) * balls(mask.astype(int))
    return (law / law.sum(axis=1, keepdims=True)) @ balls(values)


@verifies(
    Claim(
        "variant.linear-recurrence",
        "causal linear attention by running sums is the masked quadratic form",
        r"$S_i = S_{i-1} + \phi(k_i)v_i^\top$, $c_i = c_{i-1} + \phi(k_i)$: $\frac{\phi(q_i)^\top S_i}{\phi(q_i)^\top c_i} = \frac{\sum_{j \le i}\langle\phi(q_i), \phi(k_j)\rangle v_j}{\sum_{j \le i}\langle\phi(q_i), \phi(k_j)\rangle}$; keys of mass $m_j$ count $m_j$ times, also without a mask",
        assumptions=("positive features",),
        spec=("RA.G9",),
        cites=("katharopoulos2020",),
        source_status=RECALLED,
    ),
    hypothesis("softmax", "it is taken to equal softmax attention", softmax=True),
    bug("late", "the sums hold the tokens before the query only, from the second on", own=1),
    bug("unmasked", "the quadratic form has no mask", masked=False),
    constant("near", "a token counts a thousandth less than the one after", decay="0.999"),
    hypothesis("even", "all keys are taken to have one mass", weighted=False),
)
def test_linear_recurrence(run, *, softmax=False, own=0, masked=True, decay="1", weighted=True):
    sizes = run.pick(quick=(5, 131), paper=(5, 20, 64, 65, 66, 131, 150))
    for n, rng in zip(sizes, run.streams(len(sizes)), strict=True):
        q = rng.normal(size=(n, 3))
        k = rng.normal(size=(n, 3))
        v = rng.integers(-9, 10, size=(n, 2)).astype(float)
        mask = np.tril(np.ones((n, n)), -own) if masked else np.ones((n, n))
        mask[0, 0] = 1.0  # the first query has nothing else to read
        masses = 1.0 + np.arange(n)[:, np.newaxis] % 3
        ages = np.subtract.outer(np.arange(n), np.arange(n)).clip(0)
        weighed = balls(mask.astype(int)) * balls([Fraction(decay) ** age for age in range(n)])[ages]
        for name, features in (("integers", counted), ("elu", elu_features)):
            left, right = (balls(features(x)) for x in (q, k))
            claimed = masked_softmax(q, k, v, mask) if softmax else quadratic(left, right, balls(v), mask=weighed)
            case = {"scale": 1, "features": name, "n": n}
            measured = recurrence(exact(q), k, v, features=features, causal=True)
            yield equals(measured, claimed, part="recurrence", **case)
            for part, kept in (("weighted", weighed), ("all keys", 0 * weighed + 1)):
                heavy = right * balls(masses if weighted else 1.0 + 0.0 * masses)
                claimed = quadratic(left, heavy, balls(v), mask=kept)
                how = {"features": features, "weights": masses[:, 0], "causal": part == "weighted"}
                yield equals(recurrence(exact(q), k, v, **how), claimed, part=part, **case)
                yield equals(weights_of(exact(q), k, **how) @ v, claimed, part=part, **case)


def kernel(q, k, *, difference=False):
    """The kernel e^<q,k> of float vectors, |q + k|^2 (or |q - k|^2 in its place), and |q - k|^2, in balls."""
    x, y = balls(q), balls(k)
    apart, near = ((x - y) ** 2).sum(), ((x + y) ** 2).sum()
    return exp((x * y).sum()), (apart if difference else near), apart


def variance(name, q, k, *, difference=False, paired="1/2"):
    """The claimed variance of the estimate by one frequency."""
    value, z, apart = kernel(q, k, difference=difference)
    if name == "trigonometric":
        return exp(z) / value**2 * (1 - exp(-apart)) ** 2 / 2
    factor = ball(Fraction(paired)) * (1 - exp(-z)) if name == "paired" else 1
    return factor * value**2 * (exp(z) - 1)


@once
def moments_of(name, q, k, *, normed):
    """Mean and variance of the estimate by one frequency, by an integral; or without the factor of norms."""
    nodes = gaussian(np.zeros(2), np.eye(2), reach=study.REACH)
    envelope = float(np.exp((q @ q + k @ k) / 2.0))
    each = study.terms(name, nodes.points, q[np.newaxis], k[np.newaxis])[0]
    if normed:
        return study.moments(each, nodes.weights, envelope)
    return study.moments(each * envelope, nodes.weights, envelope**2)


STATEMENT = r"positive $K^2(e^Z - 1)$, paired $\frac12(1 - e^{-Z})K^2(e^Z - 1)$, trigonometric $\frac12 e^Z K^{-2}(1 - e^{-|q - k|^2})^2$, with $K = e^{\langle q, k\rangle}$ and $Z = |q + k|^2$, per frequency"


@verifies(
    Claim(
        "variant.feature-variance",
        "random features of the softmax kernel have mean K and these variances per frequency",
        f"mean $K$; variance: {STATEMENT}",
        assumptions=("standard normal frequencies",),
        spec=("RA.G9",),
        cites=PERFORMER,
        source_status=RECALLED,
    ),
    hypothesis("difference", "the sum of query and key is taken for their difference", difference=True),
    constant(
        "per-feature", "a pair of frequencies counts as two, so that the variance per feature is meant", paired="1"
    ),
    bug("uncentred", "the squared mean is not subtracted", centred=False),
    bug("unnormed", "the features lack the factor exp(-|x|^2 / 2)", normed=False),
)
def test_feature_variance(run, *, difference=False, paired="1/2", centred=True, normed=True):
    pairs = [(np.array([0.75, 0.25]), np.array([0.5, -0.5])), (np.array([1.0, 0.0]), np.array([-1.0, 0.25]))]
    for rng in run.draws(quick=4, paper=40):
        q, k = rng.normal(size=2), rng.normal(size=2)
        pairs.append((q / max(1.0, float(np.linalg.norm(q))), k / max(1.0, float(np.linalg.norm(k)))))
    for q, k in pairs:
        value, _, _ = kernel(q, k)
        for name in study.MAPS:
            mean, spread = moments_of(name, q, k, normed=normed)
            case = {"features": name, "q": q.tolist(), "k": k.tolist()}
            yield equals(mean, hull(value), part="mean", **case)
            spread = spread if centred else spread + mean**2
            claimed = hull(variance(name, q, k, difference=difference, paired=paired))
            yield equals(spread, claimed, scale=hull(value**2), part="variance", **case)


@verifies(
    Claim(
        "variant.feature-sampling",
        "drawn random features estimate the softmax kernel without bias and with the variances of the formulas",
        f"frequencies from the sampler: mean $K$; variance: {STATEMENT}; unit $q$, $k$ at 150 and 165 degrees (positive, paired) and at 15 to 165 (trigonometric); at all angles from $0$ to $\\pi$ by a lattice in the place of the sampler",
        assumptions=("standard normal frequencies",),
        spec=("RA.G9",),
        cites=PERFORMER,
        source_status=RECALLED,
    ),
    hypothesis("difference", "the sum of query and key is taken for their difference", difference=True),
    constant(
        "per-feature", "a pair of frequencies counts as two, so that the variance per feature is meant", paired="1"
    ),
    constant("inflated", "the variances are a half larger", factor="1.5"),
    bug("unnormed", "the features lack the factor exp(-|x|^2 / 2)", lacking=0),
)
def test_feature_sampling(run, *, difference=False, paired="1/2", factor="1", lacking=1):
    table = run.study(study.random_features)
    rows = zip(*(table[c] for c in ("part", "features", "angle", "method")), table.intervals("value"), strict=True)
    for part, name, angle, method, found in rows:
        if part == "output":
            continue
        turn = math.radians(angle)
        q = np.array([1.0, 0.0])
        k = np.array([math.cos(turn), math.sin(turn)])
        value, _, _ = kernel(q, k)
        claimed = variance(name, q, k, difference=difference, paired=paired) * ball(Fraction(factor))
        case = {"features": str(name), "angle": int(angle), "method": str(method), "part": str(part)}
        if part == "mean":
            yield equals(found, hull(value * ball(1 - lacking).exp()), **case)  # of unit vectors
        else:  # relative, but where a variance vanishes
            scale = value**2 if angle == (0 if name == "trigonometric" else 180) else variance(name, q, k)
            yield equals(found, hull(claimed), scale=hull(scale), **case)


def first_order(query, keys, values, *, covariance=True):
    """The coefficient of 1/m in the bias, from the moments of numerator and denominator of one frequency, in balls."""
    q = ball(query)
    k = balls(keys)
    v = balls(values)
    kernels = exp(q * k)
    n, d = (v * kernels).sum(), kernels.sum()
    left, right = k[:, np.newaxis], k[np.newaxis, :]
    both = exp((2 * q + left + right) ** 2 / 2 - q * q - (left**2 + right**2) / 2)  # E of two terms of one frequency
    spread, joint = both.sum() - d * d, (v[:, np.newaxis] * both).sum() - n * d
    return n / d, (n / d * spread - (joint if covariance else 0)) / d**2


@verifies(
    Claim(
        "variant.feature-bias",
        "attention with random features is biased, by its covariances over the number of frequencies",
        r"$\mathbb{E}\frac{\sum n_i}{\sum d_i} = o + \frac1m\,\frac{o\,\mathrm{Var}(d) - \mathrm{Cov}(n, d)}{(\mathbb{E}d)^2} + O(m^{-2})$, $o = \frac{\mathbb{E}n}{\mathbb{E}d}$ the softmax output; in one dimension, $q = \frac14$, $k = (1, -\frac12, \frac14)$, $v = (1, 0, -1)$",
        assumptions=("positive features", "independent frequencies"),
        spec=("RA.G9",),
        cites=PERFORMER,
        source_status=RECALLED,
    ),
    hypothesis("unbiased", "the quotient of unbiased estimates is taken as unbiased", biased=False),
    constant("slower", "the bias falls like the root of the number of frequencies", rate=0.5),
    bug("no-covariance", "the covariance of numerator and denominator is forgotten", covariance=False),
    hypothesis("elsewhere", "the query is one in a hundred off", query=study.QUERY + 0.01),
    bug("unnormed", "the features lack the factor exp(-k^2 / 2)", norms=0),
)
def test_feature_bias(run, *, biased=True, rate=1.0, covariance=True, query=study.QUERY, norms=1):
    table = run.study(study.random_features).where(part="output")
    exact, slope = first_order(query, study.KEYS, study.VALUES, covariance=covariance)
    softmax = table.where(method="exact").intervals("value")[0]
    scale = hull(abs(slope))
    yield equals(softmax, hull(exact), scale=1, part="softmax")
    integrals = dict(zip(study.COUNTS, table.where(method="integral").intervals("value"), strict=True))
    bias = {m: value - softmax for m, value in integrals.items()}
    fine = [m for m in study.COUNTS if m >= 256]
    yield equals(order([bias[m] for m in fine]), rate, scale=1, part="order")
    yield equals(
        limit([m * bias[m] for m in fine], order=1), hull(slope) if biased else 0, scale=scale, part="coefficient"
    )
    drawn = table.where(method="drawn")
    for m, found in zip(drawn["m"].tolist(), drawn.intervals("value"), strict=True):
        yield equals(found, integrals[m] if biased else softmax, scale=1, part="drawn output", m=m)
    yield equals(integrals[1], hull(mean_of_one(study.KEYS, study.VALUES, norms)), scale=1, part="one frequency")


def mean_of_one(keys, values, norms):
    """The mean output of a single frequency, whose query cancels: a softmax over e^(w k - k^2 / 2), on a lattice."""
    k = balls(keys)
    v = balls(values)
    top = ball(0)
    bottom = ball(0)
    for i in range(-112, 113):
        w = ball(Fraction(i, 8))  # the integrand is analytic in |Im w| < 2, so that the step costs e^-100
        mass = exp(-w * w / 2)
        law = exp(w * k - norms * k * k / 2)
        top, bottom = top + mass * (law * v).sum() / law.sum(), bottom + mass
    return top / bottom
