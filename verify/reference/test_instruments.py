"""The suite's own functions against the files of known answers: enclosures hold them, floats keep within their bounds."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, Measure, partition_error, read, rounding
from theory.distance import w1
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    outcome,
    verifies,
)
from theory.evidence.roundoff import U
from theory.lipschitz import norm_at
from theory.lipschitz.constants import nearness_constant, query_constant, sharp_w1_constant
from theory.maxent import entmax, entmax_vjp, log_softmax, softmax, softmax_value, softmax_vjp
from theory.maxent.gibbs import softmax_spectrum
from theory.maxent.losses import law_error
from theory.maxent.sparse import entmax_alpha_derivative, entmax_norm, entmax_threshold
from theory.positions import rotate
from theory.precision import pass_error, stream_error
from verify import textbook
from verify.reference.test_digits import cases, filed, given, listed

WIDE = 2.25  # order above which a weight moves by a root of what its threshold does, so that enclosures are wide
LARGE = 2.0**1000  # gaps beyond the range of float64 are refused, and so are values of which a sum may overflow


def answer(case, name):
    """The published balls, in the shape of the answer."""
    return np.array(filed(case["answers"][name]), dtype=object).reshape(case["answers"][name]["shape"])


def scores_of(case, masked):
    """The scores, and whether the suite can say anything of them."""
    scores = given(case, "scores")
    seen = np.isfinite(scores)
    usable = seen.any() and np.abs(scores[seen]).max() < LARGE and not np.isposinf(scores).any()
    return scores if masked else np.where(seen, scores, 0.0), seen, usable


@listed
def rows(masked):
    """Softmax, its logarithm and logsumexp."""
    for case in cases("softmax"):
        scores, seen, usable = scores_of(case, masked)
        prior, tau = given(case, "prior"), exact(given(case, "tau", np.array(1.0))[()])
        if not usable or (prior is not None and (prior.sum() != 1.0)):
            continue
        law = softmax(scores, prior=prior, tau=tau)
        yield law, answer(case, "weights"), 1, "softmax", case
        value = softmax_value(scores, prior=prior, tau=tau) / tau
        size = 1.0 + np.abs(scores[seen] / tau.mid).max()
        claimed = answer(case, "log_partition")[()]
        if claimed != 0:
            yield value, claimed, size, "logsumexp", case
        if "log_weights" in case["answers"]:
            logs = np.array([x for x, s in zip(filed(case["answers"]["log_weights"]), seen, strict=True) if s])
            yield log_softmax(exact(scores[seen]), tau=tau), logs, size, "logarithm", case
    for case in cases("jacobian_products"):
        if "scores" in case["inputs"]:
            scores, seen, usable = scores_of(case, masked)
            if usable:
                product = softmax_vjp(softmax(scores, tau=exact(1.0)), given(case, "vector"))
                yield product, answer(case, "softmax"), 1, "products", case


@listed
def laws(masked, shift):
    """Entmax, its threshold and its derivatives."""
    for case in [*cases("entmax"), *cases("entmax_derivatives")]:
        scores, seen, usable = scores_of(case, masked)
        if not usable:
            continue
        alpha, s = float(given(case, "alpha")) + shift, exact(scores[np.isfinite(scores)])
        seen = np.isfinite(scores)
        law = entmax(s, alpha)
        if alpha <= WIDE:
            yield law, answer(case, "weights")[seen], 1, "entmax", case
        if "threshold" in case["answers"]:
            nu = entmax_threshold(s, alpha) + scores.max()
            size = 1.0 + np.abs(scores[seen]).max()
            yield nu, answer(case, "threshold")[()], size, "threshold", case
            continue
        if alpha > WIDE:
            continue
        product = entmax_vjp(law, given(case, "vector")[seen], alpha)
        claimed = answer(case, "product")[seen]
        yield product, claimed, _size(claimed), "slopes", case
        claimed = answer(case, "order_derivative")[seen]
        yield entmax_alpha_derivative(law, alpha), claimed, _size(claimed), "order", case


def _size(claimed):
    """The largest size of some balls, or one where all vanish."""
    size = float(abs(hull(claimed)).hi.max())
    return size if size > np.finfo(float).tiny else 1.0


def problems(*, causal=True):
    """Queries, keys, values and options of the attention that the suite has: all keys or earlier ones, and masses."""
    for case in cases("attention"):
        mask, n = given(case, "mask"), len(given(case, "keys"))
        triangle = mask is not None and mask.shape == (n, n) and (mask == np.tril(np.ones((n, n), dtype=bool))).all()
        if (mask is not None and not triangle) or {"bias", "sink"} & set(case["inputs"]):
            continue
        points = [given(case, name) for name in ("queries", "keys", "values")]
        if max(np.abs(points[2]).max(), float(given(case, "scale"))) < 2.0**100:
            score = DotProduct(scale=float(given(case, "scale")))
            masses = given(case, "masses")
            yield case, points, {"score": score, "weights": masses, "causal": bool(triangle and causal)}


@listed
def heads(causal):
    """Attention, in enclosures."""
    for case, points, options in problems(causal=causal):
        found = read(*map(exact, points), **options)
        yield found.output, answer(case, "output"), 2, "attention", case
        claimed = answer(case, "log_partition")
        yield found.log_partition, claimed, _size(claimed), "log-partition", case


@listed
def clouds():
    """Distances of clouds."""
    for case in cases("w1"):
        measures = [Measure.normalised(given(case, side), given(case, f"{side}_counts")) for side in ("left", "right")]
        size = max(float(np.abs(mu.points).max()) for mu in measures)
        yield w1(*measures), answer(case, "distance")[()], size, "w1", case


@listed
def constants():
    """Lipschitz constants, and norms of Jacobians."""
    for case in cases("lipschitz"):
        kind = case["name"].partition("-")[0]
        alpha = None if "alpha" not in case["inputs"] else float(given(case, "alpha"))
        found = {}
        if kind == "ball":
            found = {"w1_constant": sharp_w1_constant(exact(alpha)), "query_constant": query_constant(exact(alpha))}
        elif kind == "nearness":
            found = {"nearness": nearness_constant(exact(float(given(case, "tokens"))))}
        elif kind == "softmax":
            p = textbook.laws(textbook.balls(given(case, "scores")[np.newaxis]))[0]
            found = {"two_to_two": softmax_spectrum(p)[0]}
        elif kind == "entmax":
            law = entmax(given(case, "scores"), alpha)
            found = {"two_to_two": entmax_norm(law / law.sum(), alpha)}
        elif kind == "tokens":
            mu = Measure(given(case, "tokens"))
            score = DotProduct(scale=float(given(case, "scale")))
            found = {"frobenius": norm_at(mu, score, 2, causal="mask" in case["inputs"])}
        for name, value in found.items():
            claimed = answer(case, name)[()]
            size = 1 if claimed == 0 else abs(claimed)
            yield value, claimed, size, f"{kind} constants", case


@listed
def tolerances():
    """Bounds of kernels."""
    names = {"binary64": "float64", "binary32": "float32", "binary16": "float16"}
    for case in cases("tolerances"):
        form = case["name"].partition("-")[0]
        asked = {name: int(given(case, name)) for name in case["inputs"]}
        form = names.get(form, form)
        if "-gradients-" in case["name"]:
            found = pass_error(**{"length": 1, "rows": 1, "depth": 1, **asked}, form=form)
        else:
            found = stream_error(**{"length": 1, **asked}, form=form)
        for name in case["answers"]:
            claimed = answer(case, name)[()]
            yield getattr(found, name), claimed, 1 if claimed == 0 else abs(claimed), "tolerances", case


@listed
def turns():
    """Rotary positions: what becomes of the first vector of each plane."""
    for case in cases("rotary"):
        if "cosines" in case["answers"]:
            width, planes = int(given(case, "width")), given(case, "planes").astype(int)
            first = np.tile([1.0, 0.0], width // 2)[np.newaxis]
            found = rotate(first, [int(given(case, "position"))], float(given(case, "base")))[0]
            for name, start in (("cosines", 0), ("sines", 1)):
                yield found[start::2][planes], answer(case, name), 1, "rotary", case


@verifies(
    Claim(
        "reference.instruments",
        "the enclosures of the suite's own functions hold the known answers",
        r"softmax, its logarithm and products, logsumexp, entmax with threshold and derivatives, causal and weighted attention, $W_1$, Lipschitz constants, rotary positions and bounds of kernels, asked with enclosures, answer enclosures that hold the published values",
        assumptions=(
            "inputs that the functions take: finite gaps, priors of total one, a key for every query",
            "weights of entmax and their derivatives up to order two, thresholds at all orders",
        ),
    ),
    constant("sixth-digit", "every answer is off by one in its sixth digit", factor=1.0 + 1e-6),
    hypothesis("unmasked", "a masked score is zero", masked=False),
    hypothesis("sees-later-keys", "the causal mask is ignored", causal=False),
    bug("other-order", "the order of entmax is an eighth larger", shift=0.125),
)
def test_instruments(run, *, factor=1.0, masked=True, causal=True, shift=0.0):
    found = [*rows(masked), *laws(masked, shift), *heads(causal), *clouds(), *constants(), *tolerances(), *turns()]
    for measured, claimed, scale, part, case in found:
        yield equals(measured, claimed * ball(factor), scale=scale, part=part, case=case["name"])


# --- floats ---

FORMATS = {"binary64": (53, -1022), "binary32": (24, -126), "binary16": (11, -14), "bfloat16": (8, -126)}
DEEPEST = -1000  # decimal exponent
RESOLVED = 1e-18  # what files of twenty digits can tell, with room for sums
ROUNDED = ("softmax", "logsumexp", "attention", "streaming", "heads", "entmax", "float32", "float16", "bfloat16")


def halves(answers, *, truncated=False, flushed=False):
    """Enclose the largest distance of a nearest number from the published interval, in units of the last place."""
    bits, least = FORMATS[answers["format"]]
    most = Interval.exactly(0)
    for near, lo, hi in zip(answers["nearest"], answers["lo"], answers["hi"], strict=True):
        x = float.fromhex(near)
        if "inf" in lo + hi + near or int(lo.partition("e")[2] or 0) < DEEPEST:
            continue  # of these the nearest number is infinite, or zero
        ends = Fraction(lo), Fraction(hi)
        size = max(map(abs, ends))
        if size < Fraction(2) ** (least - bits):
            unit = Fraction(2) ** (least - bits + 1)
        else:
            unit = Fraction(2) ** (max(_exponent(size), least) - bits + 1)
        if truncated and abs(Fraction(x)) > size:
            x = Fraction(x) - (unit if x > 0 else -unit)
        if flushed and size < Fraction(2) ** least:
            x = 0
        off = [abs(Fraction(x) - end) / unit for end in ends]
        most = Interval.largest([most, Interval(min(off), max(off), Interval.exactly(0).kind)])
    return most


def _exponent(size):
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def charged(off, bound, share, **case):
    """An error is at most a share of its bound, which may come out otherwise on another processor."""
    charge = bound if bound > RESOLVED else RESOLVED
    return outcome(at_most(off / charge, share, scale=1, **case))


@verifies(
    Claim(
        "reference.rounding",
        "nearest numbers are half a unit away at most, and floats of attention and entmax within their published bounds",
        r"$|x_\mathrm{nearest} - x| \le \frac12\,\mathrm{ulp}$ in float64, float32, float16 and bfloat16; computed outputs and log-partitions are off by no more than `rounding` and `partition_error` say, weights of entmax by `law_error` in all and $(6 + 3\log n)u$ each up to order two",
        assumptions=("results that do not overflow the format",),
    ),
    bug("truncated", "numbers are rounded towards zero", truncated=True),
    hypothesis("flushed", "a subnormal number is taken for zero", flushed=True),
    constant("billionth", "the published bound is a billionth of what it is", share=1e-9),
    bug("single", "attention is computed in single precision", precision="single"),
)
def test_rounding(run, *, truncated=False, flushed=False, share=1.0, precision="double"):
    for subject in ROUNDED:
        for case in cases(subject):
            for name, answers in case["answers"].items():
                if answers["nearest"]:
                    off = halves(answers, truncated=truncated, flushed=flushed)
                    yield at_most(off, Fraction(1, 2), part=answers["format"], case=case["name"], answer=name)
    for case in cases("entmax"):
        scores, seen, usable = scores_of(case, masked=True)
        if usable:
            alpha, claimed = float(given(case, "alpha")), answer(case, "weights")[seen]
            off = abs(textbook.balls(entmax(scores[seen], alpha)) - claimed)
            weights = np.array([float(weight.mid()) for weight in claimed])
            if weights.max() < 1.0 - 1e-6 and (alpha > 1.0 or weights.min() > 1e-290):  # at a vertex nothing is charged
                total = law_error(scores[seen], alpha)
                yield charged(off.sum(), total, share, part="sums of entmax", case=case["name"])
            if alpha <= 2.0:
                bound = (6 + 3 * ball(seen.sum()).log()) * U
                yield charged(hull(off).max(), bound, share, part="entmax", case=case["name"])
    for case, points, options in problems():
        found = read(*points, **options, precision=precision)
        off = abs(exact(np.asarray(found.output, dtype=float)) - answer(case, "output")).max()
        bound = rounding(*points, **options)
        yield charged(off, bound, share, part="outputs", case=case["name"])
        if options["weights"] is None:
            off = abs(exact(np.asarray(found.log_partition, dtype=float)) - answer(case, "log_partition")).max()
            bound = partition_error(points[0], points[1], options["score"])
            yield charged(off, bound, share, part="log-partitions", case=case["name"])
