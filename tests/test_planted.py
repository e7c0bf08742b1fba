"""Plant a bug in an instrument, judge a claim with it, and see the claim fall.

Each bug is a textual edit of a copy of the package; the claim must then be refuted, vacuous or inconclusive. An
exception would be an error, not a catch, and a number that merely moved would not count either: the copy has no
committed evidence.

The second part plants bugs in widths: a radius dropped, half a gamma, one sweep fewer. Margins are large, so most claims
cannot notice; then a test must, at an instance where the truth lies near the edge, or of a coarsened instrument. The
plants of each room stand in ``planted_widths``.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CAUGHT = ("REFUTED", "VACUOUS", "INCONCLUSIVE")
BROKEN = re.compile(r"^E +(Name|Syntax|Import|ModuleNotFound|Attribute|UnboundLocal)Error", re.MULTILINE)  # no catch


class Bug(NamedTuple):
    """What is planted where, and the claim that must notice, or the test if it is a width."""

    name: str
    claim: str
    path: str
    edits: tuple[tuple[str, str], ...]
    backend: str = "reference"


def bug(name, claim, path, *edits, backend="reference"):
    return pytest.param(Bug(name, claim, f"theory/{path}", edits, backend), id=name)


ROWS = "problem.pairs(score), problem.values, log_weights=problem.log_weights, visible=problem.visible"
LATE = (
    "problem.pairs(score), problem.values * (1.0 if problem.log_weights is None else "
    "np.exp(problem.log_weights)[:, np.newaxis]), visible=problem.visible"
)
PUT = '"scores") / as_positive(tau, "tau")'

RAW = (  # the solver's own potentials, as they are
    ('dtype=np.float64), np.asarray(log["u"], dtype=np.float64)', 'dtype=np.float64), np.append(log["u"], log["v"])'),
    ("    u = potential if np.abs(potential).max() < _ABSURD else np.zeros_like(potential)\n",
     "    return potential[: cost.shape[0]], potential[cost.shape[0] :]\n    u = potential\n"),
)  # fmt: skip

BUGS = [
    # the seven that people make
    bug("unscaled", "markov.attention", "attention/score.py",
        ("return 1.0 / math.sqrt(dim) if self.form is None else 1.0", "return 1.0")),
    bug("wrong-axis", "markov.cross", "engine/reference.py",
        ("law.sum(axis=1, keepdims=True)", "law.sum(axis=0, keepdims=True)")),
    bug("not-averaged", "markov.equivalence", "attention/kernel.py", ("mass[own] / copies[own]", "mass[own]")),
    bug("weights-after", "markov.padding", "attention/output.py", (ROWS, LATE)),
    bug("frozen", "transport.composition", "attention/transport.py",
        ('        yield as_measure(mu, "mu")\n', '        start = as_measure(mu, "mu")\n        yield start\n'),
        ("            mu = step(layer, mu)", "            mu = as_law(layer(mu.points, start), mu.weights)")),
    bug("kl-sign", "maxent.gibbs", "maxent/gibbs/principle.py", ("concatenate([left, -right])", "concatenate([-left, right])")),
    bug("no-c-transform", "distance.stopped-early", "distance/dense.py", *RAW, ("(max(below, Fraction(0))", "(min(below, above)")),
    bug("turned-one-way", "certificate.local-rotary", "lipschitz/certificate/turned.py",
        ("-turns.sines if back", "turns.sines if back")),
    bug("angles-of-half", "certificate.local-rotary", "lipschitz/certificate/turned.py", ("(-2 * k * log", "(-k * log")),
    # measures
    bug("mean-unweighted", "transport.convex-order", "attention/measure.py",
        ("self.weights @ self.points\n", "self.points.mean(axis=0)\n")),
    bug("covariance-uncentred", "maxent.energy", "attention/measure.py",
        ("        centred = self.points - self.mean()\n        covariance", "        centred = self.points\n        covariance")),
    bug("variance-of-a-sample", "transport.convex-order", "attention/measure.py",
        ('np.einsum("ij,ij->i", centred, centred))', 'np.einsum("ij,ij->i", centred, centred)) * self.size / (self.size - 0.999)')),
    bug("push-forward-drops-weights", "markov.cross", "attention/measure.py", ("as_law(images, self.weights)", "as_law(images)")),
    # scores
    bug("root-of-scale", "markov.softmatch", "attention/score.py", ("            return self.scale\n", "            return math.sqrt(self.scale)\n")),
    bug("form-transposed", "markov.token-space", "attention/score.py",
        ("queries = x if form is None else x @ as_matrix(form, \"form\", shape=(x.shape[1], y.shape[1]))",
         "queries = x if form is None else x @ as_matrix(form, \"form\", shape=(x.shape[1], y.shape[1])).T")),
    bug("dimension-not-rooted", "markov.attention", "attention/score.py", ("1.0 / math.sqrt(dim)", "1.0 / dim")),
    bug("distance-doubled", "markov.softmatch", "attention/score.py",
        ("Pairs(Form.DISTANCE, x, y, np.array([self.scale]))", "Pairs(Form.DISTANCE, x, y, np.array([2.0 * self.scale]))")),
    bug("distance-is-dot", "markov.softmatch", "attention/score.py", ("Pairs(Form.DISTANCE, x, y", "Pairs(Form.DOT, x, y")),
    bug("additive-minus", "markov.softmatch", "attention/additive.py",
        ("np.ascontiguousarray(right), self.v)", "np.ascontiguousarray(-right), self.v)")),
    bug("additive-without-v", "markov.softmatch", "attention/additive.py",
        ("np.ascontiguousarray(right), self.v)", "np.ascontiguousarray(right), np.ones_like(self.v))")),
    # the engine, oracle and compiled
    bug("reference-weights-minus", "markov.padding", "engine/reference.py",
        ("scores(pairs, rows) + log_weights", "scores(pairs, rows) - log_weights")),
    bug("reference-mask-off-by-one", "markov.causal", "engine/reference.py",
        (">= visible[rows, np.newaxis]", "> visible[rows, np.newaxis]")),
    bug("reference-distance-sign", "markov.softmatch", "engine/reference.py",
        ("found = -c[0] * cdist", "found = c[0] * cdist")),
    bug("reference-partition", "maxent.energy", "engine/reference.py", ("(peak + np.log(mass))", "(peak + mass)")),
    bug("exponential-coefficient", "engine.exponential", "engine/exponential.py",
        ("_C10 = 7.074194297288521e-09", "_C10 = 7.074e-09"), backend="compiled"),
    bug("base-two-forgotten", "markov.attention", "engine/fold.py",
        ("float(coefficients[0]) * LOG2E", "float(coefficients[0])"), backend="compiled"),
    bug("fused-key-skipped", "markov.padding", "engine/fused.py",
        ("            for j in range(stop[i]):\n                s = log_weights[j] - top",
         "            for j in range(min(1, stop[i] - 1), stop[i]):\n                s = log_weights[j] - top"),
        backend="compiled"),
    bug("fused-distance-sign", "transport.gaussian-distance", "engine/fused.py",
        ("s -= factor * square\n                w", "s += factor * square\n                w"), backend="compiled"),
    bug("fused-tile-forgotten", "engine.merge", "engine/fused.py",
        ("mass[i] += total", "mass[i] = total"), backend="compiled"),
    bug("wide-tile-forgotten", "markov.attention", "engine/blocks.py",
        ("            w = exp2(row[j] - top)\n            row[j] = w\n            total += w\n        row[stop[i] :] = 0.0\n        mass[i] += total",
         "            w = exp2(row[j] - top)\n            row[j] = w\n            total += w\n        row[stop[i] :] = 0.0\n        mass[i] = total"),
        backend="compiled"),
    bug("compiled-partition", "maxent.energy", "engine/ends.py",
        ("(shift[i] + logs[i]) * LN2", "(shift[i] - logs[i]) * LN2"), backend="compiled"),
    bug("rows-distance-sign", "markov.softmatch", "engine/rows.py",
        ("if form == 0 else -coefficients[0]", "if form == 0 else coefficients[0]"), backend="compiled"),
    bug("rows-not-divided", "markov.rows", "engine/rows.py", ("        rows[i, :stop] /= mass\n", ""), backend="compiled"),
    bug("merge-even", "engine.merge", "engine/streaming.py", ("masses / total", "np.full_like(masses, 1.0 / len(parts))")),
    bug("covariance-not-rescaled", "engine.moments", "engine/covariance.py",
        ("                    covariance[i] *= shrink\n", ""), backend="compiled"),
    bug("covariance-tiles-apart", "engine.moments", "engine/covariance.py",
        (" + mass * share * apart", ""), backend="compiled"),
    bug("jacobian-uncentred", "engine.jacobian", "engine/tangents.py",
        ("tilt = w * (change[j] - middle)", "tilt = w * change[j]"),
        ("(gained[c] - left * out)", "gained[c]"), backend="compiled"),
    bug("adjoint-uncentred", "engine.jacobian", "engine/cotangents.py",
        ("pull = -centre", "pull = 0.0"), backend="compiled"),
    # kernels
    bug("reference-measure-dropped", "markov.boltzmann-gibbs", "attention/kernel.py",
        ("potential[present] + logs_of(weights[present])\n    masses", "potential[present]\n    masses")),
    bug("potential-damped", "markov.boltzmann-gibbs", "attention/kernel.py",
        ("logits = potential[present] + logs_of", "logits = 0.9 * potential[present] + logs_of")),
    bug("softmatch-weights-dropped", "markov.softmatch", "attention/kernel.py",
        ("engine.weights(pairs, log_weights=logs_of(weights[present]))", "engine.weights(pairs)")),
    bug("softmatch-push-uniform", "markov.rows", "attention/kernel.py",
        ("nu.weights @ self.rows(nu.points)", "self.rows(nu.points).mean(axis=0)")),
    bug("composition-swapped", "markov.rows", "attention/kernel.py",
        ("self.then.push(self.first.push(nu))", "self.first.push(self.then.push(nu))")),
    bug("lookup-by-first-coordinate", "markov.equivalence", "attention/kernel.py",
        ("np.unique(both, axis=0, return_inverse=True)", "np.unique(both[:, :1], axis=0, return_inverse=True)")),
    bug("moment-of-the-uniform-law", "markov.moment-projection", "attention/moments.py",
        ("return mu.integrate(self.feature)", "return Measure.normalised(mu.points, [1.0] * mu.size).integrate(self.feature)")),
    bug("projected-at-the-query", "markov.attention-kernel", "attention/moments.py",
        ('self.kernel.at(as_vector(x, "x"))', "Measure.dirac(x)")),
    # heads and masks
    bug("heads-interleaved", "markov.multi-head", "attention/heads.py", ("np.split(query, heads),", "[query[h::heads] for h in range(heads)],")),
    bug("last-head-only", "markov.multi-head", "attention/heads.py", ("output = output + head.output", "output = head.output")),
    bug("head-weights-dropped", "markov.multi-head", "attention/heads.py",
        ("score=self.score, weights=mu.weights, causal", "score=self.score, causal")),
    bug("causal-weights-unsorted", "markov.causal", "attention/heads.py",
        ("logs_of(self.nu.weights[order])\n", "logs_of(self.nu.weights[np.sort(order)])\n")),
    bug("causal-ignored", "markov.causal", "attention/output.py",
        ("np.cumsum(present, dtype=np.int64) if causal else None", "None"),
        ("np.arange(1, n + 1) if causal else None", "None")),
    # transport and lattice
    bug("residual-minus", "transport.composition", "attention/transport.py", ("moved: Array = x +", "moved: Array = x -")),
    bug("layers-reversed", "transport.composition", "attention/transport.py",
        ("for layer in self.layers:", "for layer in self.layers[::-1]:")),
    bug("lattice-variance", "transport.gaussian-distance", "attention/lattice.py", ("np.exp(-0.5 * np.einsum", "np.exp(-np.einsum")),
    bug("lattice-root-transposed", "transport.gaussian-dot", "attention/lattice.py", ("grid @ factor.T", "grid @ factor")),
    bug("lattice-coarse", "transport.gaussian-distance", "attention/lattice.py", ("STEP = 0.5 ", "STEP = 1.5 ")),
    # entropy
    bug("entropy-sign", "maxent.enclosures", "maxent/gibbs/principle.py", ("summands = -xlogy(p, p)", "summands = xlogy(p, p)")),
    bug("free-energy-without-tau", "maxent.enclosures", "maxent/gibbs/principle.py",
        ('as_positive(tau, "tau") * entropy(weights)', "entropy(weights)")),
    bug("softmax-times-tau", "softmax.prior", "maxent/gibbs/principle.py", (PUT, PUT.replace("/", "*"))),
    bug("partition-without-peak", "maxent.gibbs", "maxent/gibbs/principle.py", ("value = peak + math.log(mass)", "value = math.log(mass)")),
    bug("tilt-without-reference", "maxent.moment", "maxent/gibbs/moments.py",
        ("measure = boltzmann_gibbs(mu, given @ multiplier)", "measure = boltzmann_gibbs(Measure(mu.points), given @ multiplier)")),
    bug("multiplier-sign", "maxent.moment", "maxent/gibbs/moments.py", ("    return Tilt(multiplier,", "    return Tilt(-multiplier,")),
    # distance
    bug("cost-squared", "distance.translation", "distance/dense.py",
        ("    largest, top = math.frexp(", "    cost = cost**2\n    largest, top = math.frexp(")),
    bug("taxicab", "distance.translation", "distance/dense.py", ("np.ldexp(y, lift))", 'np.ldexp(y, lift), "cityblock")')),
    bug("line-without-weights", "distance.line", "distance/line.py", ("grid(mu.weights)[0]", "[1] * mu.size")),
    # maximum entropy: laws, losses, densities
    bug("cosine-of-sizes", "naive.cosine", "maxent/layers/naive.py", ("nnls(np.eye(s.size), s)", "nnls(np.eye(s.size), np.abs(s))")),
    bug("program-minimised", "naive.vertex", "maxent/layers/naive.py", ("linprog(-goal,", "linprog(goal,")),
    bug("weights-at-the-edge", "naive.cooling", "maxent/sparse/sorting.py", ("np.where(z > -1.0, np.maximum(z - theta, 0.0), 0.0)", "np.maximum(z - theta, 0.0)")),
    bug("multiplier-turned", "maxent.temperature-sign", "maxent/gibbs/moments.py", ("    return Tilt(multiplier,", "    return Tilt(-multiplier,")),
    bug("prior-forgotten", "softmax.prior", "maxent/gibbs/softmax.py",
        ("return raised, np.ldexp(prior, raised) * np.exp(near)", "return raised, np.exp(near)")),
    bug("value-without-tau", "softmax.hot", "maxent/gibbs/softmax.py",
        ("value = read.peak + temperature * (best + log_mass)", "value = read.peak + (best + log_mass)")),
    bug("log-softmax-unnormalised", "softmax.jeffreys", "maxent/gibbs/softmax.py",
        ("logits - best - log_mass, -np.inf)", "logits - best, -np.inf)")),
    bug("jacobian-diagonal", "softmax.jacobian", "maxent/gibbs/softmax.py",
        ("matrix[..., own, own] = -matrix.sum(axis=-1)", "matrix[..., own, own] = q")),
    bug("complement-not-reflected", "softmax.norms", "maxent/gibbs/norms.py",
        ("outside = outside[::-1]", "outside = outside")),
    bug("least-column", "softmax.norms-limit", "maxent/gibbs/norms.py",
        ("np.sqrt((image**2).sum(axis=0).max())", "np.sqrt((image**2).sum(axis=0).min())")),
    bug("gap-times-tau", "softmax.cold", "maxent/batch.py",
        ("np.where(present, gaps, 0.0) / tau", "np.where(present, gaps, 0.0) * tau")),
    bug("entmax-divided", "entmax.accuracy", "maxent/sparse/threshold.py",
        ("np.maximum(p - rest * (q / slope), 0.0), 0.0)", "np.maximum(p / (1.0 + rest), 0.0), 0.0)")),
    bug("entmax-slope-exponent", "entmax.jacobian", "maxent/sparse/entmax.py",
        ("** (2.0 - np.where(np.isinf(alpha), 2.0, alpha))", "** (np.where(np.isinf(alpha), 2.0, alpha) - 1.0)")),
    bug("entmax-phi-sign", "entmax.order-derivative", "maxent/sparse/entmax.py",
        ("(-1.0) ** (k + 1) * (k + 1) / (k + 2)", "(-1.0) ** k * (k + 1) / (k + 2)")),
    bug("entmax-support-exponent", "entmax.support", "maxent/sparse/entmax.py",
        ("sums = np.sum(lead ** (1.0 / e), axis=1", "sums = np.sum(lead ** e, axis=1")),
    bug("entmax15-not-halved", "entmax.sorted", "maxent/sparse/sorting.py",
        ("_mapped(_squares, scores, tau, axis, 1.5)", "_mapped(_squares, scores, tau, axis, 1.0)")),
    bug("compiled-exponential", "softmax.rounding", "engine/elementary.py",
        ("_T5 = 0.00019841269874850708", "_T5 = 0.0001984126"), backend="compiled"),
    bug("compiled-row-not-divided", "softmax.row-sum", "maxent/kernels/softmax.py",
        ("            divide(law, weigh(law))\n", "            weigh(law)\n"), backend="compiled"),
    bug("compiled-support-cut", "entmax.sorted", "maxent/kernels/entmax.py",
        ("_BEYOND = 1.0 + 2.0**-30", "_BEYOND = 0.9"), backend="compiled"),
    bug("compiled-surplus-kept", "entmax.edge", "maxent/kernels/settle.py",
        ("below[j] + (above[j] - below[j]) * way", "above[j]"), backend="compiled"),
    bug("compiled-sum-not-mended", "entmax.sorted", "maxent/kernels/settle.py",
        ("step = ((coarse - 1.0) + fine) / slope", "step = 0.0 * coarse / slope"), backend="compiled"),
    bug("tsallis-normalisation", "entmax.entropy", "maxent/sparse/tsallis.py",
        ("terms.sum(axis=1, keepdims=True) / alpha)", "terms.sum(axis=1, keepdims=True))")),
    bug("slope-counted-once", "entmax.steepest", "maxent/sparse/spectral.py", ("times[1:] * values[1:]", "values[1:]")),
    bug("halving-keeps-low", "entmax.bisection", "maxent/sparse/bisection.py",
        ("            low += width\n", "            low += 0.5 * width\n")),
    bug("surplus-kept", "entmax.edge", "maxent/sparse/threshold.py", ("least + (most - least) * way,", "most,")),
    bug("log-of-the-rounded-sum", "entmax.near-one", "maxent/sparse/tsallis.py",
        ("(np.log(base) + (x - (w - 1.0)) / base)", "(np.log(base))")),
    bug("runs-not-averaged", "fusedmax.jacobian", "maxent/sparse/fusedmax.py", ("_averaged(pull, cut), axis=1)", "pull, axis=1)")),
    bug("normmax-order", "normmax.law", "maxent/sparse/normmax.py", ("powers ** (1.0 / order)", "powers ** (1.0 / (order + 0.1))")),
    bug("budget-not-capped", "budget.law", "maxent/sparse/budget.py",
        ("p = np.clip(z - theta, 0.0, 1.0)", "p = np.maximum(z - theta, 0.0)")),
    bug("loss-far-without-scores", "loss.bregman", "maxent/losses/fenchel_young.py", ("- 1.0) / a - g), 0.0)", "- 1.0) / a), 0.0)")),
    bug("loss-gradient-sign", "loss.gradient", "maxent/losses/fenchel_young.py",
        ("layout.laws(found.laws - y)", "layout.laws(y - found.laws)")),
    bug("loss-square-undivided", "loss.norm-bound", "maxent/losses/fenchel_young.py",
        ("0.5 * delta**2 * series", "delta**2 * series")),
    bug("value-bend-sign", "loss.value", "maxent/sparse/entmax.py", ("read.tau * (threshold - bend)", "read.tau * (threshold + bend)")),
    bug("student-dimension", "density.student", "maxent/densities/beta_gaussian.py", ("if e > 0.0 else b - half", "if e > 0.0 else b - 0.5")),
    bug("escort-of-one-dimension", "density.escort", "maxent/densities/beta_gaussian.py",
        ("shrink = 1.0 + 0.5 * (self.alpha - 1.0) * self.dim", "shrink = 1.0 + 0.5 * (self.alpha - 1.0)")),
    bug("beta-without-one", "density.sampler", "maxent/densities/beta_gaussian.py", ("1.0 / e + 1.0, size", "1.0 / e, size")),
    bug("normaliser-without-peak", "density.conjugate", "maxent/densities/cells.py",
        ("peak + float(found.threshold[0, 0])", "float(found.threshold[0, 0])")),
    # layers and variants
    bug("basis-hessian-without-tau", "layer.basis", "maxent/layers/linear_scores.py",
        ("centred.T @ (law[:, np.newaxis] * centred) / self.tau", "centred.T @ (law[:, np.newaxis] * centred)")),
    bug("basis-without-constants", "layer.basis-identified", "maxent/layers/linear_scores.py",
        ("np.column_stack([scaled, np.ones(n)])) == k + 1", "scaled) == k")),
    bug("trace-from-the-largest", "layer.saturation", "attention/saturation.py",
        ("1.0 - (p**2).sum(axis=1)", "1.0 - p.max(axis=1)")),
    bug("dropout-not-inverted", "variant.dropout", "attention/variants/dropout.py", ("p / left, 0.0", "p, 0.0")),
    bug("top-k-one-fewer", "variant.top-k", "attention/variants/rows.py",
        ('kind="stable")[:, :count]', 'kind="stable")[:, : max(1, count - 1)]')),
    bug("window-one-more", "variant.window-reach", "attention/variants/window.py", ("(apart >= -before) & (apart <= after) & (mass[near] > 0.0)\n        if", "(apart >= -before - 1) & (apart <= after) & (mass[near] > 0.0)\n        if")),
    bug("window-unweighted", "variant.window-reach", "attention/variants/window.py", ("s + logs[near]", "s")),
    bug("rows-masked-as-the-first", "layer.prefix", "attention/variants/rows.py",
        ("np.arange(n) > np.arange(block.start, block.stop)", "np.arange(n) > np.arange(block.stop - block.start)")),
    bug("dropout-masked-as-the-first", "variant.dropout", "attention/variants/dropout.py",
        ("mass, visible[block])", "mass, visible[: block.stop - block.start])")),
    bug("set-ignored", "markov.boltzmann-gibbs", "attention/kernel.py", ("shape=present.shape)\n    if not", "shape=present.shape) | present\n    if not")),
    bug("linear-unweighted", "variant.linear-recurrence", "attention/variants/linear.py",
        (' * _halved(as_masses(weights, "weights", size=k.shape[0]))[:, np.newaxis]', "")),
    bug("linear-tiles-forgotten", "variant.linear-recurrence", "attention/variants/linear.py",
        ("state += right[tile].T @ v[tile]", "state = right[tile].T @ v[tile]")),
    bug("pairs-not-averaged", "variant.feature-variance", "attention/variants/features.py",
        ("len(signs) * along.shape[1])", "along.shape[1])")),
    bug("landmarks-transposed", "variant.nystrom-exact", "attention/variants/nystrom.py",
        ("before @ np.linalg.pinv(between) @ after", "before @ np.linalg.pinv(between).T @ after")),
    # Lipschitz constants
    bug("sampling-weights", "gibbs.fluctuation", "lipschitz/constants/gibbs.py", ("g * g * (off", "g * (off")),
    bug("share-odds", "gibbs.contamination", "lipschitz/constants/gibbs.py", ("(1.0 - part) * exponential(-o)", "(1.0 - part) * exponential(o)")),
    bug("logit-quarter", "gibbs.logits", "lipschitz/constants/gibbs.py",
        ('tanh(nonnegative(error, "error") / 2.0)', 'tanh(nonnegative(error, "error") / 4.0)')),
    bug("max-norm-slope", "lipschitz.max-norm", "lipschitz/constants/bounded.py",
        ('(1.0 + 2.0 * nonnegative(alpha, "alpha"))', '(1.0 + nonnegative(alpha, "alpha"))')),
    bug("interpolated-exponent", "lipschitz.interpolated", "lipschitz/constants/bounded.py",
        ("exponential(2.0 * a * inverse)", "exponential(a * inverse)")),
    bug("keys-stand-still", "lipschitz.joint-witness", "lipschitz/response.py", ("keys = moved[heavy]", "keys = points[heavy]")),
    bug("sweep-adds-up", "lipschitz.rows", "lipschitz/depth/hilbert.py",
        ("= -log(exp(s + columns).sum(axis=1))", "= f - log(exp(s + columns).sum(axis=1))")),
    bug("queries-move-backward", "lipschitz.search", "lipschitz/jacobian.py",
        ("blocks[at, at] = blocks[at, at] + by_own", "blocks[at, at] = blocks[at, at] - by_own")),
    bug("norm-weights-swapped", "lipschitz.sharp-w1", "lipschitz/local_norms.py",
        ("(w[:, np.newaxis] / w[np.newaxis]) ** power", "(w[np.newaxis] / w[:, np.newaxis]) ** power")),
    bug("schur-entry", "dot-product.frobenius", "lipschitz/constants/frobenius.py", ("** 2 / (8.0 * a)", "** 2 / (4.0 * a)")),
    bug("leader-all-weight", "dot-product.leader", "lipschitz/constants/frobenius.py", ("(1.0 + rest * g)", "(1.0 + g)")),
    bug("lambert-of-n", "distance-attention.growth", "lipschitz/constants/distance.py",
        ("(_count(n) - 1) / math.e", "_count(n) / math.e")),
    bug("squares-of-lengths", "depth.tokens", "lipschitz/displacement.py",
        ("lengths = norm(ways / size, axis=1)", "lengths = norm(ways / size, axis=1) ** 2")),
    bug("sharp-slope", "lipschitz.sharp-w1", "lipschitz/constants/refined.py", ("* (1.0 + 2.0 * a), ", "* (1.0 + 1.99 * a), ")),
    bug("refined-variance", "lipschitz.refined-w2", "lipschitz/constants/refined.py", ("(1.0 + 4.0 * a * a", "(1.0 + 3.9 * a * a")),
    bug("leg-counted-twice", "distance-attention.star", "lipschitz/witnesses.py",
        ("np.array([1.0, 1.0, n - 2.0])", "np.array([1.0, 1.0, n - 1.0])")),
    bug("input-radius", "depth.product", "lipschitz/depth/bounds.py",
        ('entering = finite(done[-1].radius, "radius")', 'entering = finite(radius, "radius")')),
    bug("heads-in-one-length", "depth.heads", "lipschitz/depth/bounds.py",
        ("_length(*own) + _length(*measure)", "_length(*both)")),
    bug("no-tail", "depth.equilibrium", "lipschitz/depth/fixed_points.py", (" / (1 - Interval.exactly(rate))).hi", ").hi")),
    bug("permanent", "depth.determinant", "lipschitz/depth/fixed_points.py", ("(-1) ** k * rows", "rows")),
    bug("stage-at-the-start", "flow.order", "particles/dynamics/runge_kutta.py",
        ("self.field(clock + self.step * float(node), point)", "self.field(clock, point)")),
    bug("flat-chart", "flow.order", "particles/dynamics/runge_kutta.py",
        ('length * (f - np.einsum("ij,ij->i", x, f)[:, np.newaxis] * y)', 'f - np.einsum("ij,ij->i", x, f)[:, np.newaxis] * x')),
    bug("nodes-of-the-next-stage", "flow.order", "particles/dynamics/runge_kutta.py",
        ('"1/6 1/3 1/3 1/6", "0 1/2 1/2 1"', '"1/6 1/3 1/3 1/6", "0 1/2 1 1"')),
    bug("not-retracted", "flow.order", "particles/dynamics/runge_kutta.py", ("moved = retracted(x, moved)", "moved = x + moved")),
    bug("quantiles-from-zero", "solvable.finite", "particles/exact/solvable.py", ("0.5 * (count + 1)) / count", "0.5 * count) / count")),
    bug("arc-for-chord", "solvable.radius", "particles/exact/solvable.py",
        ('halves = np.sin(as_points(theta, "theta", dim=1) / 2)', 'halves = as_points(theta, "theta", dim=1) / 2')),
    bug("whole-cotangent", "solvable.cross-ratios", "particles/exact/solvable.py",
        ("_tan((parts[i] - parts[j]) / 2)", "_tan(parts[i] - parts[j])")),
    bug("metric-without-row-sums", "energy.gradient", "particles/dynamics/energy.py",
        ('self._weights(x) * self.partitions(x) if as_flag(normalised, "normalised") else', "")),
    bug("value-forgotten", "energy.dissipation", "particles/dynamics/energy.py",
        ("kind(self.score, value=self.form, weights=self.weights)", "kind(self.score, weights=self.weights)")),
    bug("energy-not-halved", "energy.climb", "particles/dynamics/energy.py",
        ("(m * z).sum() / (2.0 * self.beta)", "(m * z).sum() / self.beta")),
    bug("pattern-unpaired", "cone.patterns", "particles/exact/cone.py", ("    return 2 * count\n", "    return count\n")),
    bug("chart-not-lifted", "cone.chart", "particles/exact/cone.py",
        ("plane: Array = x / heights[:, np.newaxis]", "plane: Array = x / heights.max()")),
    bug("margin-from-above", "cone.wendel", "particles/studies/cone.py",
        ("int((lower > 0.0).sum())", "int((upper > 0.0).sum())")),
    bug("field-masses-dropped", "particle.transport", "particles/dynamics/fields.py",
        ("score=field.score, weights=weights,", "score=field.score, weights=None,")),
    bug("tangent-doubled", "cone.monotone", "particles/dynamics/fields.py",
        ("return y - (x * y).sum(axis=1, keepdims=True) * x", "return y - 2.0 * (x * y).sum(axis=1, keepdims=True) * x")),
    bug("coupling-transposed", "gaussian-flow.eigenvectors", "particles/mean_field/gaussian.py",
        ("np.linalg.solve(covariance, coupling).astype(np.float64).T", "np.linalg.solve(covariance, coupling).astype(np.float64)")),
    bug("half-a-sweep", "particle.sinkhorn", "attention/sinkhorn/iteration.py",
        ("after = -up(log_a + f[moving])", "after = -up(log_a)")),
    bug("quarter", "gaussian-flow.sinkhorn-coupling", "particles/mean_field/gaussian.py",
        ("np.sqrt(1.0 + 4.0 * size * size)", "np.sqrt(1.0 + size * size)")),
    bug("response-of-half", "layers.interacting-rate", "diffusion/moving/chaos.py",
        ("return _held(np.stack(rows), z)", "return 0.5 * _held(np.stack(rows), z)")),
    bug("weights-of-the-first-layer", "layers.interacting-uniform", "diffusion/moving/chaos.py",
        ("places = first if kept else tokens", "places = first")),
    bug("repelled-once", "layers.interacting-stall", "diffusion/moving/chaos.py",
        ("1.0 - v + v * variance / (variance + width)", "1.0 + 0.5 * (v * variance / (variance + width) - v)")),
    bug("one-sided-form", "gaussian-flow.blow-up", "particles/mean_field/gaussian_exact.py",
        ("inner = lower.T @ _doubled(form) @ lower", "inner = lower.T @ (form + form) @ lower")),
    bug("masses-of-nodes", "gaussian-flow.field", "particles/mean_field/hermite.py",
        ("masses.append(1 / _polynomials(q, z)[0] ** 2)", "masses.append(1 / _polynomials(q, z)[0] ** 4)")),
    bug("precision-forgotten", "gaussian-flow.distance-field", "particles/mean_field/gaussian.py",
        ("np.eye(len(mean)) + 2.0 * covariance", "np.eye(len(mean)) + covariance")),
    bug("gap-projection-forgotten", "equiangular.field", "particles/exact/overlaps.py",
        ("outward = w.sum(axis=-1) - inward", "outward = w.sum(axis=-1)")),
    bug("own-weight-counted-once-more", "norm-flow.post", "particles/exact/equiangular.py",
        ("2.0 * spread / (np.exp(self.beta * g) + (self.tokens - 1))", "2.0 * spread / (np.exp(self.beta * g) + self.tokens)")),
    bug("turn-counted-n-times", "equiangular.time", "particles/exact/equiangular.py",
        ("return lag + (n - 1) * turn if", "return lag + n * turn if")),
    bug("nearest-pair-for-farthest", "equiangular.slowest", "particles/exact/comparison.py",
        ("ties = given == given.max()", "ties = given == given[given > 0.0].min()")),
    bug("pair-of-three", "equiangular.softmax-slowest", "particles/exact/comparison.py",
        ("Equiangular(2, beta).rate(g)", "Equiangular(3, beta).rate(g)")),
    bug("diagonal-not-rooted", "equiangular.concentration", "particles/studies/equiangular.py",
        ("np.sqrt(rng.chisquare(dim - np.arange(tokens), (draws, tokens)))", "rng.chisquare(dim - np.arange(tokens), (draws, tokens))")),
    bug("root-of-the-norm", "norm-flow.tokens", "particles/exact/overlaps.py",
        ("slower = np.exp(-given[..., -1:])", "slower = np.exp(-0.5 * given[..., -1:])")),
    bug("delay-not-rooted", "norm-flow.pre", "particles/exact/equiangular.py", ("** -1.5", "** -0.5")),
    bug("eigenvalue-lost", "onset.rates", "particles/mean_field/onset.py", ("- beta * (1 - u * u))", "- (1 - u * u))")),
    bug("mode-not-differentiated", "onset.tokens", "particles/mean_field/onset.py",
        ("(1j * ell * velocities[:, 0] * turns)", "(1j * velocities[:, 0] * turns)")),
    bug("interaction-without-beta", "noisy.threshold", "particles/mean_field/free_energy.py",
        ("((b * u).exp() - 1) / b, degree", "(b * u).exp() - 1, degree")),
    bug("harmonics-counted-once", "noisy.transition", "particles/mean_field/free_energy.py", ("[2 if dim == 2 else", "[1 if dim == 2 else")),
    bug("self-consistency-once", "noisy.bifurcation", "particles/mean_field/free_energy.py",
        ("first / (2.0 * self.weights[0] * overlaps[0])", "first / (self.weights[0] * overlaps[0])")),
    bug("sphere-measure", "noisy.uniform", "particles/mean_field/zonal.py",
        ("about.sin() ** (dim - 2), over.sin() ** (dim - 2)", "about.sin() ** (dim - 1), over.sin() ** (dim - 1)")),
    bug("others-miscounted", "context.forms", "particles/exact/critical.py", ("float(size - 4)", "float(size)")),
    bug("directions-miscounted", "context.jacobian", "particles/exact/critical.py", ("(x[1] - x[2], n - 2)", "(x[1] - x[2], n - 1)")),
    bug("meeting-masses-swapped", "merge.meeting-point", "particles/exact/metastable.py",
        ("return 1 / (((-y).exp() + a / b) * _pull(y, a / b)", "return 1 / (((-y).exp() + b / a) * _pull(y, a / b)")),
    bug("pull-of-one", "metastable.lifetime", "particles/exact/metastable.py",
        ("return 1 / (shown + c) + 1 / (shown + 1 / c)", "return 2 / (shown + c)")),
    bug("clock-not-frozen", "merge.frozen-clock", "particles/exact/merging.py",
        ("(square / 2.0 - self.missing)", "square / 2.0")),
    bug("mass-of-receiver", "merge.running-clock", "particles/exact/merging.py",
        ("attention = self.weights * np.where(self._itself", "attention = self.weights[:, np.newaxis] * np.where(self._itself")),
    bug("joined-mass-lost", "metastable.staircase", "particles/exact/merging.py",
        ("np.append(m[0] + m[1], m[2:])", "np.append(m[0], m[2:])")),
    bug("causal-mask-dropped", "consensus.causal", "particles/exact/half_sphere.py",
        ("        if self.causal:\n", "        if False:\n")),
    bug("chart-lengths-squared", "consensus.rate", "particles/exact/half_sphere.py",
        ("lengths = np.sqrt(1.0 + (y**2).sum(axis=1))\n        weights", "lengths = 1.0 + (y**2).sum(axis=1)\n        weights")),
    bug("usa-not-averaged", "consensus.rate", "particles/exact/half_sphere.py",
        ("else float(x.shape[0])", "else 1.0")),
    bug("sphere-projection-dropped", "consensus.spectrum", "particles/exact/spectra.py",
        ("        out[i, :, i, :] -= balls(np.eye(d - 1)) * (x[i] @ v @ sums[i])\n", "")),
    bug("kernel-slope-dropped", "consensus.twisted", "particles/exact/spectra.py",
        ("(np.outer(apart[j], x[i] @ b) + balls(np.eye(d)))", "balls(np.eye(d))")),
    bug("line-scores-scaled", "boolean.rate", "particles/exact/boolean.py",
        ("scores = self.score * np.where(", "scores = self.score / (1.0 + np.abs(x[:, np.newaxis])) * np.where(")),
    bug("row-selects-the-other-end", "boolean.limit", "particles/exact/boolean.py",
        ("np.where(x[:, np.newaxis] > 0.0, np.outer(x, down), np.outer(x, up))", "-np.where(x[:, np.newaxis] > 0.0, np.outer(x, down), np.outer(x, up))")),
    bug("runner-up-forgotten", "boolean.constant", "particles/exact/boolean.py",
        ("others = np.sort(self.log_weights(state)[row])[:-1]", "others = np.sort(self.log_weights(state)[row])[:-2]")),
    bug("tilted-once", "chaos.fluctuation-law", "particles/mean_field/fluctuation.py", ("_tilted(mu, 2.0 * scores)", "_tilted(mu, scores)")),
    bug("across-and-along", "chaos.fluctuation", "particles/mean_field/self_normalised.py", ("(second - bias * bias - participation) * outer", "(second - bias * bias) * outer")),
    bug("weights-once", "chaos.effective-tokens", "particles/mean_field/fluctuation.py", ("mass + 2.0 * log_zeta - zeta", "mass + log_zeta - zeta")),
    bug("farthest-first", "pipeline.nearest-neighbours", "diffusion/similarity/instances.py", ("np.argsort(-s, axis=1", "np.argsort(s, axis=1")),
    bug("degree-sign", "pipeline.diffusion-maps", "diffusion/similarity/instances.py", ("bias=-power * degrees", "bias=power * degrees")),
    bug("one-degree", "pipeline.order", "diffusion/similarity/pipeline.py", ("s / degrees[:, np.newaxis] / degrees", "s / degrees[:, np.newaxis]")),
    bug("no-leak", "pipeline.graph", "diffusion/similarity/graphs.py", ("chosen(s, self.slope * s)", "chosen(s, 0.0 * s)")),
    bug("unsquared-chord", "pipeline.axioms", "diffusion/similarity/axioms.py", ("0.5 * distances(_directions(points)) ** 2", "0.5 * distances(_directions(points))")),
    bug("no-partition", "pipeline.soft-k-means", "diffusion/similarity/instances.py", ("weights = -r * there.log_partition", "weights = 0.0 * there.log_partition")),
    bug("log-slack", "pipeline.fuzzy-c-means", "diffusion/similarity/instances.py", ("-self.power * np.log(base)", "-1.001 * self.power * np.log(base)")),
    bug("spectrum-of-rows-added", "layers.spectrum", "diffusion/layers/equilibrium.py", ("np.sqrt(p * p.T)", "0.5 * (p + p.T)")),
    bug("potential-halved", "layers.slowest", "diffusion/layers/equilibrium.py", ("near = -_ball(b) * m**2 / 2", "near = -_ball(b) * m**2 / 4")),
    bug("pivot-not-squared", "layers.clusters", "diffusion/layers/equilibrium.py", ("            pivot = pivot - second**2 / pivots[-2]\n", "            pivot = pivot - second / pivots[-2]\n")),
    bug("measure-of-the-sphere", "layers.sphere-step", "diffusion/layers/self_dynamics.py", ("roots_gegenbauer(n, 0.5 * (d - 1))", "roots_gegenbauer(n, 0.5 * d)")),
    bug("gaussian-variances-rooted", "layers.gaussian-collapse", "diffusion/layers/self_dynamics.py",
        ("(x[:, np.newaxis] - m) ** 2 / s) / np.sqrt(s)", "(x[:, np.newaxis] - m) ** 2 / np.sqrt(s)) / np.sqrt(s)")),
    bug("zonal-without-density", "layers.sphere", "diffusion/layers/stacking.py", ("kernel = spread @ (basis.T * (weights * p))", "kernel = spread @ (basis.T * weights)")),
    bug("keys-multiplied", "layers.forward-corrected", "diffusion/moving/forward.py", ("np.exp(-self.alpha *", "np.exp(self.alpha *")),
    bug("noise-of-half-the-variance", "layers.forward-noise", "diffusion/moving/forward.py", ("-self.noise * self.layer.epsilon", "-0.5 * self.noise * self.layer.epsilon")),
    bug("outward-part-dropped", "layers.forward-negative", "diffusion/moving/forward.py", ("outward = 1.0 + (moved * points).sum(axis=1)", "outward = 1.0 + 0.0 * (moved * points).sum(axis=1)")),
    bug("context-not-centred", "layers.forward-context", "diffusion/moving/forward.py", ("score=self._score) - points", "score=self._score)")),
    bug("moved-unweighted", "layers.curvature", "diffusion/layers/self_dynamics.py", ("cloud, epsilon, weights=weights)", "cloud, epsilon)"), ("cloud, epsilon, weights=loose)", "cloud, epsilon)")),
    bug("keys-weighted-twice", "normaliser.drift", "diffusion/limits/normalisers.py", ("p * _smoothed(grid, p, multiplier) ** -power", "p * _smoothed(grid, p, multiplier) ** (-2.0 * power)")),
    bug("half-a-scaling", "normaliser.sweeps-fixed", "diffusion/limits/normalisers.py",
        ("law = divided_by_average(divided_by_average(law))", "law = np.sqrt(p * divided_by_average(law))")),
    bug("potential-doubled", "normaliser.mean-shift", "diffusion/studies/normalisers.py", ("masses = law * np.exp(scaled.g)", "masses = law * np.exp(2.0 * scaled.g)")),
    bug("keys-do-not-answer", "normaliser.truncated", "diffusion/layers/gradient_flow.py", ("p, ds + dg[np.newaxis, :, :])", "p, ds)")),
    bug("columns-sign", "normaliser.gradient", "diffusion/layers/gradient_flow.py", ("p.T @ by_row - by_column", "p.T @ by_row + by_column")),
    bug("key-slope-lost", "normaliser.potential", "diffusion/layers/gradient_flow.py", ("as_query, as_key = x @ a.T, x @ a", "as_query, as_key = x @ a.T, 0 * (x @ a)")),
    bug("ball-unweighted", "edge.knn", "diffusion/similarity/neighbours.py",
        ("self.density * values, r) / self.masses(self.density, r)", "values, r) / self.masses(np.ones_like(self.density), r)")),
    bug("square-ball", "edge.knn-radius", "diffusion/similarity/neighbours.py", ("2.0 * math.pi * r**2 * np.where", "4.0 * 2.0 * r**2 * np.where")),
    bug("laplace-density-dropped", "score.first-order", "diffusion/limits/laplace.py", ("masses = density(keys)", "masses = np.ones(len(keys))")),
    bug("laplace-cubic-once", "score.cubic-tensor", "diffusion/limits/laplace.py", ("inverse @ (cubic * inverse[:, :, np.newaxis]).sum(axis=(0, 1))", "(cubic * inverse[:, :, np.newaxis]).sum(axis=(0, 1))")),
    bug("bilinear-antipode", "score.minimiser", "diffusion/similarity/bilinear.py", ("return point / np.sqrt(point @ pull)", "return -point / np.sqrt(point @ pull)")),
    bug("manifold-volume-once", "score.volume", "diffusion/similarity/minimisers.py", ("even = even + 2.0 * inverse", "even = even + inverse")),
    bug("radial-inverse", "score.off-manifold", "diffusion/similarity/bilinear.py", ("as_positive(radius, \"radius\") / as_positive", "1.0 / as_positive(radius, \"radius\") / as_positive")),
    bug("hot-uncentred", "score.high-temperature", "diffusion/similarity/bilinear.py", ("s, centre = s - w @ s, w @ v", "s, centre = s, w @ v")),
    bug("median-of-the-query", "limit.metric", "diffusion/geometry/curves.py", ("(0.5 * (x + y) if self.symmetric else x)[..., 0]", "x[..., 0]")),
    bug("features-not-moved", "limit.pull-back", "diffusion/geometry/curves.py", ("        turned = x + self.strength * np.sin(x)", "        turned = x")),
    bug("factor-not-transposed", "limit.linear", "diffusion/geometry/curves.py", ("mode=\"r\")).T", "mode=\"r\"))")),
    bug("root-forgotten", "limit.distance", "diffusion/geometry/curves.py", ("np.sqrt(curve.dissimilarity(x[:-1], x[1:]))", "curve.dissimilarity(x[:-1], x[1:])")),
    bug("density-not-divided", "limit.order", "diffusion/limits/operators.py",
        ("grid.multiply(weighed, multiplier) / mass", "grid.multiply(weighed, multiplier) / mass.mean()")),
    bug("recurrence-of-the-sphere", "limit.tokens", "diffusion/limits/operators.py",
        ("twice = 2.0 * (k + least)", "twice = 2.0 * (k + 0.5)")),
    bug("tail-of-the-line", "limit.kernels", "diffusion/limits/kernels.py", ("(-0.5 * (dim + 1))", "-1.0")),
    bug("half-the-waves", "limit.tokens", "diffusion/limits/densities.py",
        ("mass: Array = coefficients[0].real * x + 2.0 *", "mass: Array = coefficients[0].real * x + 1.0 *")),
    bug("extrapolation-once", "limit.heads", "diffusion/limits/extrapolation.py",
        ("(power * values[1:] - values[:-1]) / (power - 1)", "(power * values[1:] - values[:-1]) / power")),
    bug("drift-once", "heat.conserved", "diffusion/limits/generators.py", ("drift = 2.0 * kappa *", "drift = kappa *")),
    bug("circle-not-squared", "heat.lifted", "diffusion/geometry/conformal.py",
        ("sympy.exp(power * u)), (*x, theta)", "sympy.exp(power * u / 2)), (*x, theta)")),
    bug("areas-forgotten", "heat.surface", "diffusion/geometry/revolution.py",
        ("return Tokens(xs, points, radii * (_TURN / n) * (_TURN / m))", "return Tokens(xs, points, np.ones(radii.size))")),
    bug("no-wall", "edge.half-line", "diffusion/geometry/boundary.py", ("max(0.0, place - _REACH)", "place - _REACH")),
    bug("not-at-the-root", "edge.layer", "diffusion/geometry/boundary.py", ("query = np.array([[place * unit]])", "query = np.array([[place * epsilon]])")),
    bug("masses-forgotten", "edge.stack", "diffusion/geometry/boundary.py", ("hidden = TokenLayer(centred, epsilon, weights=masses)", "hidden = TokenLayer(centred, epsilon)")),
    bug("weights-forgotten", "edge.defect", "diffusion/geometry/boundary.py", ("density(tokens[:, 0]) * weights", "density(tokens[:, 0]) + 0.0 * weights")),
    bug("delta-unsquared", "rate.variance", "diffusion/limits/sampling.py", ("heavy = self.w * self.k**2 / self.mean**2", "heavy = self.w * self.k / self.mean**2")),
    bug("own-weight", "rate.finite", "diffusion/limits/sampling.py", ("kept = -t if own is not None else np.zeros(t.size)", "kept = np.zeros(t.size)")),
    bug("no-cross-term", "rate.finite", "diffusion/limits/sampling.py", ("n * (n - 1) * beta**2 * t * before", "0.0 * beta**2 * t * before")),
    bug("one-sided-sum", "rate.normal", "diffusion/limits/sampling.py", ("x = self.k * (self.off - reach)", "x = self.k * (self.off - abs(reach))")),
    bug("deficit-sign", "rate.bandwidth", "diffusion/limits/bandwidth.py", ("total = total + own - e * total * own", "total = total + own + e * own * own")),
    bug("skewed-draw", "rate.million", "diffusion/limits/sampling.py", ("angles[heights < density(angles)]", "angles[heights < density(angles) ** 2 * 3.0]")),
    bug("score-unhalved", "metric.protocol", "metric/score.py", ("return SquaredDistance(0.5 / self.epsilon)", "return SquaredDistance(1.0 / self.epsilon)")),
    bug("pull-back-transposed", "metric.pull-back", "metric/score.py", ("np.swapaxes(jacobian, 1, 2) @ jacobian", "jacobian @ np.swapaxes(jacobian, 1, 2)")),
    bug("jacobian-slope", "metric.pull-back", "metric/features.py",
        ("slope = 1.0 - self._hidden(as_points(x, \"x\", dim=self.dim)) ** 2", "slope = 1.0 - self._hidden(as_points(x, \"x\", dim=self.dim))")),
    bug("gradient-no-sums", "metric.gradient", "metric/layer.py", ("    bar = bar - contract_rows(rows, bar)[..., np.newaxis]\n", "")),
    bug("gradient-no-values", "metric.gradient", "metric/layer.py", ("return tokens + np.swapaxes(rows, -1, -2) @ cotangent, slopes", "return tokens, slopes")),
    bug("gradient-query-only", "metric.differences", "metric/similarity.py", ("both = cotangent + _transposed(cotangent)", "both = cotangent + cotangent")),
    bug("graph-zero-score", "metric.graph", "metric/layer.py", ("    if mask is not None:\n        kernel = np.where(mask, kernel, 0.0)\n", "")),
    bug("layer-columns", "metric.layer", "metric/layer.py", ("kernel / kernel.sum(axis=-1, keepdims=True)", "kernel / kernel.sum(axis=-2, keepdims=True)")),
    bug("features-no-bias", "metric.layer", "metric/features.py", ("hidden: Array = np.tanh(x @ self.inner + self.inner_bias)", "hidden: Array = np.tanh(x @ self.inner)")),
    bug("constants-radius", "metric.constants", "metric/score.py", ("diameter = 2.0 * slope * as_positive", "diameter = slope * as_positive")),
    bug("variance-bound-sixth", "lipschitz.variance-spread", "lipschitz/depth/variance.py", ("share = smaller(reach / 2.0, ", "share = smaller(reach / 3.0, ")),
    bug("variance-uncentred", "lipschitz.variance-spread", "lipschitz/depth/variance.py", (" - (weights * scaled).sum(axis=0) / total", "")),
    bug("floor-unsquared", "lipschitz.variance-skip", "lipschitz/depth/variance.py", ("(1.0 + ratio)) ** 2", "(1.0 + ratio))")),
    bug("centred-no-norm", "start.blocks", "metric/centred.py", ("return softmax_rows(c)", "return np.exp(c - c.max())")),
    bug("centred-half", "start.blocks", "metric/centred.py", ("away = law * np.expm1(own)", "away = 0.5 * law * np.expm1(own)")),
    bug("divergence-unsquared", "start.blocks", "metric/centred.py", ("np.square((away - mean) / (1.0 + mean))", "np.square(away - mean) / 4.0")),
    bug("stationary-inverse", "metric.reversible", "metric/spectrum.py", ("law = sums / sums.sum()", "law = 1.0 / sums / (1.0 / sums).sum()")),
    bug("spectrum-rows-twice", "metric.spectrum", "metric/spectrum.py", ("/ root[:, np.newaxis] / root", "/ root[:, np.newaxis] / root[:, np.newaxis]")),
    bug("fibre-unweighted", "metric.fold", "metric/fibres.py", ("weights = density_there / steepness", "weights = density_there")),
    bug("sphere-unweighted", "metric.multipliers", "metric/half_bandwidth.py", ("np.repeat(masses, 2 * n)", "np.ones(2 * n * n)")),
    bug("metric-for-inverse", "trained.small-bandwidth", "metric/plane/arcs.py", ("inverse = np.linalg.inv(metric)", "inverse = metric")),
    bug("whole-score", "trained.small-bandwidth", "metric/plane/arcs.py", ("exponent = 0.5 * np.einsum(\"na,na->n\", apart, apart)", "exponent = np.einsum(\"na,na->n\", apart, apart)")),
    bug("largest-stretch", "trained.embedding", "metric/plane/embedding.py", ("(a + c) / 2.0 - np.hypot", "(a + c) / 2.0 + np.hypot")),
    bug("flow-backwards", "trained.semigroup", "metric/plane/semigroup.py", ("@ sparse.diags_array(1.0 / root)) * time", "@ sparse.diags_array(1.0 / root)) * -time")),
    bug("after-before", "trained.stretch", "experiments/studies/trained.py",
        ("return chart_of_first_layer(made.network, made.before), chart_of_first_layer(made.network, made.after)", "return chart_of_first_layer(made.network, made.after), chart_of_first_layer(made.network, made.before)")),
    bug("scaled-twice", "trained.segmented-bodies", "experiments/analysis/example.py", ("- self.centre) / self.scales", "- self.centre) * self.scales")),
    bug("least-likely", "trained.segmented-bodies", "experiments/analysis/example.py", (".argmax(axis=-1)", ".argmin(axis=-1)")),
    bug("unnormalised", "trained.segmented-bodies", "experiments/data/faces.py", ("(points - centre) / np.sqrt(areas.sum())", "(points - centre)")),
    bug("half-squares", "trained.segmented-bodies", "metric/similarity.py", ("2.0 * (f @ _transposed(f))", "1.0 * (f @ _transposed(f))")),
    # positions and precision
    bug("seen-by-later-only", "influence.powers", "positions/influence.py", ("np.arange(1, count + 1)", "np.arange(2, count + 2)")),
    bug("residual-forgotten", "influence.residual", "positions/influence.py", ("row = kept * row + taken", "row = taken")),
    bug("horizon-one-short", "influence.window", "positions/influence.py", ("last - 1 - sum", "last - 2 - sum")),
    bug("angles-shifted", "rotary.islands", "positions/rotary.py", ("(-2 * i * log / dim)", "(-2 * (i + 1) * log / dim)")),
    bug("one-plane-turned", "rotary.favoured", "positions/rotary.py", ("np.cos(angles) * even - np", "np.cos(angles) * even + np")),
    bug("other-half-of-a-rise", "rotary.least-base", "positions/pieces.py", ("(middle, hi) if rises else (lo, middle)", "(lo, middle)")),
    bug("other-half-of-a-fall", "rotary.pieces", "positions/pieces.py", ("(lo, middle) if rises else (middle, hi)", "(lo, middle)")),
    bug("one-side-only", "quantised.distortion", "precision/quantiser.py", ("1 - 2 * (moments**2", "1 - (moments**2")),
    bug("signs-unscaled", "quantised.drawn", "precision/quantiser.py", ("math.sqrt(math.pi / 2.0) * size", "size")),
    bug("sums-not-rescaled", "streaming.forward", "precision/streaming.py", ("total = factor * state.total", "total = state.total")),
    bug("mean-added", "streaming.gradients", "precision/backward.py", ("axis=1)[:, -1] - mean[i])", "axis=1)[:, -1] + mean[i])")),
    bug("logarithms-halved", "streaming.passes", "precision/passes.py", ("width(most) + own", "width(most) + own / 2")),
    bug("slopes-too-large", "streaming.eight-bits", "precision/backward.py", ("10 - exponent - (share", "11 - exponent - (share")),
    bug("next-planes", "rotary.phases", "precision/rotary.py", ("ball(-2 * i) / size", "ball(-2 * i - 2) / size")),
    bug("left-unscaled", "streaming.invariance", "precision/streaming.py", ("one * left.total + other", "left.total + other")),
    bug("worth-without-its-tail", "descent.oblique", "maxent/gibbs/ascent.py", ("(1 + (-evaluated(gap)).exp()) ** 2", "(1 + (-evaluated(gap)).exp())")),
    bug("one-worth-for-all", "descent.oblique", "maxent/gibbs/ascent.py", ("shares.append(worth * evaluated(rest)", "shares.append(evaluated(rest)")),
    bug("pattern-of-half-length", "descent.load", "maxent/gibbs/gaussian_retrieval.py", ("score, step = ball(factor) * d,", "score, step = ball(factor) * d / 2,")),
    bug("rounded-down", "streaming.weights", "precision/formats.py", ("np.rint", "np.floor")),
    bug("ties-to-odd", "streaming.bias", "precision/formats.py",
        ("np.ldexp(np.rint(np.ldexp(x, -place)), place)", "np.ldexp(np.floor(np.ldexp(x, -place) + 0.5), place)")),
    bug("coordinates-stretched", "quantised.bias", "precision/quantiser.py", ("_cells_of(coordinates, book", "_cells_of(1.2 * coordinates, book")),
    bug("sine-turned", "selection.width", "positions/selection.py", ("-2 * re, 2 * im", "-2 * re, -2 * im")),
    bug("larger-side", "selection.width", "positions/selection.py", ("len(above) <= len(below)", "len(above) >= len(below)")),
    bug("ceiling-of-one-more", "selection.margin", "positions/selection.py", ("* (m - 1) * (m - k)", "* m * (m - k)")),
    bug("squares-of-one", "softmax.gaussian-entropy", "maxent/gibbs/gaussian_scores.py", ("scale * (n - 1) * apart", "scale * n * apart")),
    bug("another-gumbel-mean", "softmax.gaussian-entropy", "maxent/gibbs/gaussian_scores.py", ("+ ball(1).digamma()", "- ball(1).digamma()")),
    bug("density-of-half", "softmax.gaussian-participation", "maxent/gibbs/gaussian_scores.py", ("** 2) / 2).exp() for i in range(-inner", "** 2)).exp() for i in range(-inner")),
    bug("rank-of-gaps", "softmax.gap-counting", "maxent/gibbs/gap_counting.py", ("np.arange(2.0, s.size + 1.0)", "np.arange(1.5, s.size + 0.5)")),
    bug("trace-of-one", "common-noise.antipodal", "particles/exact/common_noise.py", ("low, high = -(1 + power) / 2, ball(d - 3) / 2", "low, high = -(1 + power) / 2, ball(d - 1) / 2")),
    bug("threshold-of-beta", "common-noise.threshold", "particles/exact/common_noise.py", (".log() / 2)", ".log())")),
    bug("noise-of-one", "common-noise.antipodal", "particles/exact/common_noise.py", ("moved = seen @ turns", "moved = x @ turns")),
    # least entropies and ranges of weights
    bug("walk-that-ends-elsewhere", "initial.bound", "maxent/gibbs/noise_spectrum.py", ("back = rows[1:] + rows[:1]", "back = rows[1:] + rows[-1:]")),
    bug("columns-with-return", "initial.bound", "maxent/gibbs/noise_spectrum.py", ("math.perm(columns, j)", "columns**j")),
    bug("rows-of-four", "initial.bound", "maxent/gibbs/noise_spectrum.py", ("if 1 not in uses.values():", "if 1 not in uses.values() and (max(rows + columns) < 3 or max(rows) + max(columns) > power - 2):")),
    bug("risk-of-one-row", "initial.bound", "maxent/gibbs/noise_spectrum.py", ("(2 * ball(size) / ball(risk))", "(2 / ball(risk))")),
    bug("rows-without-doubt", "initial.bound", "maxent/gibbs/noise_spectrum.py", ("(size * (1 - below))", "(2 * size)")),
    bug("gap-of-one-side", "softmax.least-entropy", "maxent/gibbs/spread.py", ("(k * (n - k))", "(n - k)"), ("(ball(n) /", "(ball(n - 1) /")),
    bug("others-with-the-token", "softmax.dispersion", "maxent/gibbs/spread.py", ('as_count(size, "size") - 1', 'as_count(size, "size")')),
    bug("one-token-short", "softmax.dispersion", "maxent/gibbs/spread.py", ("unique_fmpz()) + 1", "unique_fmpz())")),
]  # fmt: skip


WIDTHS = [
    pytest.param(Bug(name, caught_by, f"theory/{path}", ((old, new),)), id=f"{room.stem}-{name}")
    for room in sorted((Path(__file__).parent / "planted_widths").glob("[!_]*.py"))
    for name, caught_by, path, old, new in importlib.import_module(f"tests.planted_widths.{room.stem}").WIDTHS
]


def planted(bug, folder, parts=("theory", "verify")):
    """Copy the project into ``folder`` and plant the bug; each text must stand there exactly once."""
    for part in parts:
        shutil.copytree(
            ROOT / part,
            folder / part,
            ignore=shutil.ignore_patterns("__pycache__", "evidence" if part == "verify" else ""),
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / bug.path
    text = path.read_text(encoding="utf-8")
    for old, new in bug.edits:
        assert text.count(old) == 1, f"{bug.path}: {old!r} stands there {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def judged(claim, folder, backend):
    """Decide one claim in ``folder`` and return the exit code with what was printed."""
    test = next(p for p in (folder / "verify").rglob("test_*.py") if f'"{claim}"' in p.read_text(encoding="utf-8"))
    return run_test(f"{test.relative_to(folder)}::{claim}", folder, backend)


def run_test(node, folder, backend):
    """Run one test in ``folder`` and return the exit code with what was printed."""
    # without other people's plugins, which take half a second to load
    options = ["-q", "-p", "no:cacheprovider", "-p", "theory.evidence.plugin"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", node, *options],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": str(folder), "THEORY_BACKEND": backend, "NUMBA_DISABLE_JIT": "1",
             "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug, tmp_path):
    planted(bug, tmp_path)
    code, text = judged(bug.claim, tmp_path, bug.backend)
    assert code == 1, text
    assert any(f"{bug.claim} is {verdict}" in text for verdict in CAUGHT), text


@pytest.mark.parametrize("bug", WIDTHS)
def test_a_planted_width_is_caught(bug, tmp_path):
    if "::" not in bug.claim:
        test_a_planted_bug_is_caught(bug, tmp_path)
        return
    planted(bug, tmp_path, ("theory", "verify", "tests"))
    code, text = run_test(bug.claim, tmp_path, bug.backend)
    assert code == 1, text
    assert "failed" in text, text
    assert not BROKEN.search(text), text


def test_raw_potentials_contradict_the_plan(tmp_path):
    """Without the c-transform and unclipped, the ends of the interval are reversed, which no interval accepts."""
    planted(Bug("raw", "distance.stopped-early", "theory/distance/dense.py", RAW), tmp_path)
    code, text = judged("distance.stopped-early", tmp_path, "reference")
    assert code == 1, text
    assert "expected lo <= hi" in text


def test_the_planted_copy_is_the_one_that_is_judged(tmp_path):
    planted(Bug("none", "distance.line", "theory/py.typed", ()), tmp_path)
    (tmp_path / "where.py").write_text("import theory; print(theory.__file__)", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "where.py"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert Path(done.stdout.strip()) == tmp_path / "theory" / "__init__.py"
    code, text = judged("distance.line", tmp_path, "reference")
    assert code == 0, text
