"""How sharp the weights of softmax can be if scores are bounded, in one layer and through many."""

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    norm,
    precision,
    verifies,
)
from theory.evidence.once import once
from theory.maxent.gibbs import Peaks, peak_entropy, tokens_to_disperse, weight_range
from theory.maxent.studies import spread as spread_study

BITS = 500  # of what is measured: entropies of 1e-80 and lacks of 1e-30 occur
MANY = 100_000


@once
def entropy_of(scores):
    """Enclose the norm of scores once they are centred, their entropy, and what it lacks of its maximum."""
    with precision(BITS):
        u = balls(np.sort(scores)[::-1])
        u = u - u.sum() / u.size
        below = u[0] - u
        masses = np.array([(-gap).exp() for gap in below], dtype=object)
        entropy = masses[1:].sum().log1p() + (masses * below).sum() / masses.sum()
        return hull((u * u).sum().sqrt()), hull(entropy), hull(ball(u.size).log() - entropy)


def either(one, other):
    """The least interval that holds two."""
    return Interval(min(one.lo, other.lo), max(one.hi, other.hi), one.kind)


def one_peak(size, length, *, peaks=1):
    """The statement: entropy, what it lacks, and the gap of one peak."""
    return peak_entropy(size, length, peaks=peaks)


def two_peaks(size, length):
    """Two equal peaks, of two scores one."""
    return peak_entropy(size, length, peaks=min(2, size - 1))


def with_gap(root):
    """The same formulas with another factor of the norm in the gap."""

    def law(size, length):
        with precision(BITS):
            gap = ball(length) * root(ball(size))
            small = (size - 1) * (-gap).exp()
            entropy = small.log1p() + gap * small / (1 + small)
            return Peaks(hull(entropy), hull(ball(size).log() - entropy), hull(gap))

    return law


def one_term(size, length):
    """Without the second term."""
    entropy, missing, gap = peak_entropy(size, length)
    second = gap * (size - 1) * np.exp(-gap) / (1 + (size - 1) * np.exp(-gap))
    return Peaks(entropy - second, missing + second, gap)


def at_peaks(size, peaks, gap):
    """Enclose the entropy of peaks above equal scores by its definition, given the gap of one peak of this norm."""
    gap = gap * (exact(size - 1.0) / (peaks * (size - peaks))).sqrt()
    others = (size - peaks) * np.exp(-gap)
    mass = peaks + others
    return (peaks * np.log(mass) + others * (np.log(mass) + gap)) / mass


def peaked(size, gap, peaks=1):
    """Scores of which the first stand above the others."""
    return np.concatenate([np.full(peaks, gap), np.zeros(size - peaks)])


def bounded_scores(run):
    """Yield names, scores, and whether one peak stands above equal scores."""
    for size in (2, 3, 10, 1000, *run.pick(quick=(MANY,), paper=(MANY,))):
        for gap in (2.0**-40, 1.0, 7.0, 40.0) if size < MANY else (2.0**-40, 12.0):
            yield f"one peak of {size}", peaked(size, gap), True
    yield "two peaks", peaked(9, 3.0, 2), False
    yield "one hole", -peaked(9, 3.0), False
    for rng in run.draws(quick=8, paper=100):
        scores = rng.normal(size=int(rng.integers(2, 40)))
        for scale in (1e-12, 1.0, 30.0, 1e12):
            yield f"random at {scale:g}", scale * scores, False


@verifies(
    Claim(
        "softmax.least-entropy",
        "scores of bounded norm leave attention at least the entropy of one peak above equal scores",
        r"$n \ge 2$ scores $u$, $|u - \bar u| \le s$, $g = s\sqrt{\frac n{n-1}}$, $x = (n-1)e^{-g}$: $H \ge \log(1 + x) + \frac{gx}{1 + x}$, with equality for one score above $n - 1$ equal ones; it lies between $\frac{(1 + g)x}{1 + x}$ and $(1 + g)x$",
        assumptions=("temperature one",),
        spec=("FN.N07",),
        cites=("zhai2023",),
        remark="the norm of a row of scores is at most that of their matrix; the exponent is not the norm itself: at n = 2 it is larger by a factor of root two",
        source_status=("recalled", "derived"),
    ),
    constant("inverted", "the gap is s times the root of (n-1)/n", law=with_gap(lambda n: ((n - 1) / n).sqrt())),
    constant("plain", "the gap is s", law=with_gap(lambda _: ball(1))),
    constant("two-peaks", "two equal peaks have the least entropy", law=two_peaks),
    constant("near", "one per cent less is lacking, and the upper end is one per cent less", factor=0.99),
    bug("one-term", "the second term is forgotten", law=one_term),
    hypothesis(
        "largest", "s bounds the largest centred score instead of the norm", length=lambda u: abs(u - u.mean()).max()
    ),
)
def test_least_entropy(run, *, law=one_peak, factor=1.0, length=None):
    for name, scores, extreme in bounded_scores(run):
        reach, entropy, missing = entropy_of(scores)
        ends = (reach.hi, reach.lo) if length is None else (float(length(scores)),) * 2
        claimed, other = (law(scores.size, end) for end in ends)
        case = {"input": name}
        yield at_most(missing, factor * claimed.missing, part="bound", **case)
        if extreme:
            yield equals(missing, factor * either(claimed.missing, other.missing), part="attained", **case)
        if "1e+12" not in name:  # where it is less than the balls resolve
            yield at_least(entropy, claimed.entropy, part="entropy", **case)
        gap = either(claimed.gap, other.gap)
        if extreme:
            small = (scores.size - 1) * np.exp(-gap)
            yield at_most(entropy, factor * (1 + gap) * small, part="above", **case)
            yield at_least(entropy, (1 + gap) * small / (1 + small), part="below", **case)
    table = run.study(spread_study.least_entropies)
    rows = zip(*(table[name].tolist() for name in ("part", "size", "peaks", "norm")), strict=True)
    for (kind, size, number, s), entropy in zip(rows, table.intervals("entropy"), strict=True):
        claimed, case = law(size, s), {"row": kind, "n": size, "number": number, "norm": s}
        yield at_least(entropy, claimed.entropy, part="table", **case)
        if kind == "peaks":
            yield equals(entropy, at_peaks(size, number, claimed.gap), part="table, peaks", **case)


def by_range(size, spread):
    """The statement."""
    return weight_range(size, spread)


def by_all(size, spread):
    """A bound that is printed: all scores are counted where the others are meant, and the range counts twice."""
    return np.exp(-2 * exact(spread)) / size, np.exp(2 * exact(spread)) / size


def without_the_token(size, spread):
    """The token itself is counted among the others."""
    return weight_range(size + 1, spread)


@verifies(
    Claim(
        "softmax.dispersion",
        "no weight of bounded scores stays away from zero as they grow in number, and how many it takes is exact",
        r"$n$ scores in an interval of length $\delta$: $\frac1{1 + (n-1)e^\delta} \le p_i \le \frac1{1 + (n-1)e^{-\delta}}$, both attained; all weights are less than $\epsilon < 1$ for all such scores if and only if $n > 1 + (\frac1\epsilon - 1)e^\delta$",
        assumptions=("temperature one",),
        spec=("FN.N14",),
        cites=("velickovic2025",),
        remark="unit queries and keys at inverse temperature b have scores in an interval of length 2b",
        source_status=("seen", "derived"),
    ),
    constant("near", "the ends are one per cent nearer to each other", factor=0.99),
    constant("printed", "the ends are those of a bound that counts the range twice", law=by_all),
    bug("self", "the token is one of the others", law=without_the_token),
    bug("one-fewer", "one token fewer disperses", fewer=1),
    hypothesis("wider", "the range of scores is twice as long", times=2.0),
    hypothesis("later", "with twice as many tokens weights may still be as large", later=2),
)
def test_dispersion(run, *, law=by_range, factor=1.0, fewer=0, later=1, times=1.0):
    for place, rng in enumerate(run.draws(quick=8, paper=60)):
        for size in (2, int(rng.integers(3, 40)), *((MANY,) if place == 0 else ())):
            spread = float(rng.choice([1e-12, 0.5, 4.0, 12.0]))
            for name, shares in (("top", peaked(size, 1.0)), ("low", peaked(size, -1.0)), ("random", rng.random(size))):
                scores = times * spread * shares
                masses = np.exp(exact(scores - scores.max()))
                weights = masses / masses.sum()
                least, largest = law(size, spread)
                case = {"input": name, "n": size, "spread": spread}
                yield at_most(weights.max(), factor * largest, part="largest", **case)
                yield at_least(weights.min(), least / factor, part="least", **case)
                if name != "random":
                    seen, bound = (weights[0], largest) if name == "top" else (weights[0], least)
                    yield equals(seen, bound, part=f"{name}, attained", **case)
    for weight in (0.5, 0.1, 0.01):
        for spread in (0.0, 1.0, 6.0, 40.0):
            enough = tokens_to_disperse(weight, spread)
            with precision(BITS):
                most = [hull(1 / (1 + (n - 1) * (-ball(spread)).exp())) for n in (enough - fewer, later * enough - 1)]
            yield at_most(most[0], weight, part="enough", weight=weight, spread=spread)
            yield at_least(most[1], weight, part="not before", weight=weight, spread=spread)


def unit(tokens):
    """Enclose tokens over their norms."""
    return tokens / norm(tokens, axis=1)[:, np.newaxis]


def as_they_are(tokens):
    """No normalisation."""
    return tokens


@verifies(
    Claim(
        "softmax.dispersion-in-depth",
        "neither residual connections nor feed-forward parts keep attention sharp where tokens are normalised",
        r"layers $x_i \mapsto \nu(x_i + \sum_jp_{ij}Vx_j + F(x_i))$ with $\nu(x) = x/|x|$, scores $b\langle x_i, x_j\rangle$ among $n$ tokens: in every layer $\frac1{1 + (n-1)e^{2b}} \le p_{ij} \le \frac1{1 + (n-1)e^{-2b}}$, whatever $V$ and $F$; the upper end is attained by a token whose opposite all others are",
        assumptions=("tokens are normalised before each layer", "no layer maps a token to zero"),
        spec=("FN.N14",),
        cites=("velickovic2025",),
        remark="tokens that are not normalised may grow from layer to layer, and the range of scores with them",
        source_status=("seen", "derived"),
    ),
    hypothesis("growing", "tokens are not normalised", normalise=as_they_are),
    hypothesis("scaled", "scores are multiplied by log n over log 8", scaled=True),
    constant("half", "the range of scores is b", spread=1.0),
    constant("near", "the ends are one per cent nearer to each other", factor=0.99),
    bug("self", "the token is one of the others", law=without_the_token),
)
def test_dispersion_in_depth(run, *, law=by_range, normalise=unit, scaled=False, spread=2.0, factor=1.0):
    temperature, depth = 3.0, 4
    for rng in run.draws(quick=4, paper=30):
        for size in (8, 1000, MANY):
            matrices = rng.normal(size=(3, 4, 4)) * np.array([2.0, 1.0, 2.0])[:, np.newaxis, np.newaxis]
            axis = np.array([[1.0, 0.0, 0.0, 0.0]])
            for name, kinds, counts in (
                ("opposite", np.concatenate([axis, -axis]), np.array([1.0, size - 1.0])),
                ("random", rng.normal(size=(3, 4)), np.array([1.0, 2.0, size - 3.0])),
            ):
                tokens = unit(exact(kinds))
                inverse = temperature * (np.log(exact(float(size))) / np.log(exact(8.0)) if scaled else 1.0)
                least, largest = law(size, spread * temperature)
                for layer in range(depth):
                    scores = inverse * (tokens @ tokens.T)
                    masses = np.exp(scores - scores.mid.max(axis=1, keepdims=True))
                    weights = masses / (masses * counts).sum(axis=1)[:, np.newaxis]
                    case = {"input": name, "n": size, "layer": layer}
                    yield at_most(weights.max(), factor * largest, part="largest", **case)
                    yield at_least(weights.min(), least / factor, part="least", **case)
                    if name == "opposite" and layer == 0:
                        yield equals(weights[0, 0], largest, part="attained", **case)
                    moved = (weights * counts) @ (tokens @ matrices[0])
                    tokens = normalise(tokens + moved + np.tanh(tokens @ matrices[1]) @ matrices[2])
