"""Gaussians under distance attention and under Sinkhorn attention: one step, in closed form."""

import math

import numpy as np

from theory.attention import DotProduct, Measure, gaussian
from theory.attention.sinkhorn import doubly_normalised, sinkhorn_error
from theory.evidence import (
    Claim,
    Interval,
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
from theory.evidence.roundoff import U
from theory.particles.mean_field import DistanceAttention, DistanceClosure, sinkhorn_coupling
from verify.particles.normal import inverse, ring, root_of
from verify.textbook import balls, hull

CAP = ("castin2025",)
DERIVED = ("derived", "refereed")
SPEC = ("FR.F08",)
EYE = balls(np.eye(2))


def corners(mean, root):
    """The law with the same mean and covariance of which every coordinate is plus or minus one."""
    signs = np.array([[i, j] for i in (-1.0, 1.0) for j in (-1.0, 1.0)])
    return Measure(mean + signs @ root.T)


def posterior(mean, sigma, inner, key, x, *, cross=1):
    """Sigma_e (Sigma^-1 m + 2 K'Q x) of balls, multiplied through by the covariance; ``inner`` is K'Q, with a factor."""
    known = mean + 2 * ball(cross) * (x @ inner.T @ sigma.T)
    return known @ inverse(EYE + 2 * (sigma @ key.T @ key)).T


@verifies(
    Claim(
        "gaussian-flow.distance-field",
        "under a Gaussian, distance attention with any query and key matrices is a posterior mean",
        r"$\Gamma_\mu(x) = V\Sigma_e(\Sigma^{-1}m + 2K^\top Qx)$, $\Sigma_e = (\Sigma^{-1} + 2K^\top K)^{-1}$, for $e^{-|Qx - Ky|^2}$",
        assumptions=(r"$\mu = N(m, \Sigma)$",),
        spec=SPEC,
        provenance=DERIVED,
    ),
    constant("single", "the cross term lacks its factor two", cross=0.5),
    bug("transposed", "Q'K stands for K'Q", swapped=True),
    hypothesis("corners", "every coordinate is plus or minus one, with the same covariance", law=corners),
)
def test_distance_field(run, *, cross=1.0, swapped=False, law=gaussian):
    for rng in run.draws(quick=4, paper=40):
        mean, root, query, value = ring(rng, 2)
        key, x = 0.8 * ring(rng, 2)[2], rng.normal(size=(4, 2))
        kernel = DistanceAttention(law(mean, root), query, key, value)
        m, sigma = balls(mean), balls(root) @ balls(root).T
        pair = (balls(query), balls(key))
        inner = pair[0].T @ pair[1] if swapped else pair[1].T @ pair[0]
        claimed = posterior(m, sigma, inner, pair[1], balls(x), cross=cross) @ balls(value).T
        yield equals(kernel.enclosed(x, mean, root), claimed, scale=1, part="field")
        _, told = DistanceClosure(query, key, value).affine(exact(mean), exact(root) @ root.T)
        slope = 2 * ball(cross) * inverse(EYE + 2 * (sigma @ pair[1].T @ pair[1])) @ sigma
        yield equals(told, balls(value) @ slope @ inner, scale=1, part="closure")


@verifies(
    Claim(
        "gaussian-flow.scaled-cross",
        "scaling the cross term of distance attention alone is the kernel with scaled queries, and no other temperature",
        r"$V\Sigma_e(\Sigma^{-1}m + 2cK^\top Qx)$ with $\Sigma_e = (\Sigma^{-1} + 2K^\top K)^{-1}$ is the field of $e^{-|cQx - Ky|^2}$, not of $e^{-c|Qx - Ky|^2}$",
        assumptions=(r"$\mu = N(m, \Sigma)$", r"$c = 1/\sqrt d$"),
        spec=SPEC,
        provenance=("derived",),
    ),
    constant("no-kernel", "there is no kernel with this field", exists=False),
    bug("temperature", "the whole score is scaled", whole=True),
    hypothesis("keys", "the keys are scaled, not the queries", on_keys=True),
)
def test_scaled_cross(run, *, exists=True, whole=False, on_keys=False):
    c = math.sqrt(0.5)
    for number, rng in enumerate(run.draws(quick=3, paper=30)):
        mean, root, query, value = ring(rng, 2)
        key, x = 0.8 * ring(rng, 2)[2], rng.normal(size=(4, 2))
        if number == 0:  # a named witness
            mean, root, query, key, value, x = np.zeros(2), np.eye(2), np.eye(2), 0.8 * np.eye(2), np.eye(2), np.eye(2)
        mu, root_c = gaussian(mean, root), math.sqrt(c)
        pair = (root_c * query, root_c * key) if whole else (query, c * key) if on_keys else (c * query, key)
        kernel = DistanceAttention(mu, *pair, value)
        other = DistanceAttention(mu, root_c * query, root_c * key, value)
        sigma = balls(root) @ balls(root).T
        claimed = (
            posterior(balls(mean), sigma, balls(key).T @ balls(query), balls(key), balls(x), cross=c) @ balls(value).T
        )
        rounding = 256 * U * Interval(-1.0, 1.0)  # of the products with c
        output = kernel.enclosed(x, mean, root) + rounding
        if exists:
            yield equals(output, claimed, scale=1, part="queries scaled")
        else:
            yield at_least(abs(output - hull(claimed)).max(), 0.01, scale=1, part="queries scaled")
        if number == 0:
            between = abs(output - other.enclosed(x, mean, root) + rounding).max()
            yield at_least(between, 0.08, scale=1, part="another temperature")


def coupling(sigma, form):
    """C = S 2 (1 + (1 + 4 B B')^(1/2))^-1 B S, B = S A' S, S the root of Sigma, in balls: the same without singular values."""
    root = root_of(sigma)
    inner = root @ form.T @ root
    return root @ (2 * inverse(EYE + root_of(EYE + 4 * (inner @ inner.T)))) @ inner @ root


def residual(c, sigma, form):
    """Sigma^-1 C (Sigma - C' Sigma^-1 C)^-1 - A', which is minus what the precision of the coupling lacks of the scores."""
    prior = inverse(sigma)
    return prior @ c @ inverse(sigma - c.T @ prior @ c) - form.T


PLANE = np.array([[1.0, 0.5], [0.0, 0.75]])
WITNESS = (np.array([[1.0, 0.25], [0.25, 0.5]]), np.array([[0.5, 3.5], [-0.75, 0.25]]))  # covariance and form


@verifies(
    Claim(
        "gaussian-flow.sinkhorn-coupling",
        "Sinkhorn's coupling of a Gaussian with itself is Gaussian, with a covariance in closed form",
        r"$C = \Sigma^{1/2}U\,\mathrm{diag}\big(\frac{\sqrt{1 + 4\sigma^2} - 1}{2\sigma}\big)W^\top\Sigma^{1/2}$, $\Sigma^{1/2}A^\top\Sigma^{1/2} = U\mathrm{diag}(\sigma)W^\top$, solves $\Sigma^{-1}C(\Sigma - C^\top\Sigma^{-1}C)^{-1} = A^\top$",
        assumptions=(r"scores $\langle Ax, y\rangle$, $\mu = N(m, \Sigma)$",),
        spec=SPEC,
        cites=("sander2022", *CAP),
        provenance=DERIVED,
    ),
    bug("transposed", "C' stands for C", mirrored=True),
    constant("first-order", "C is Sigma A' Sigma, as for softmax", sinkhorn=False),
    hypothesis("unequal", "the keys have twice the covariance of the queries", share=2.0),
)
def test_coupling(run, *, mirrored=False, sinkhorn=True, share=1.0):
    cases = [WITNESS]
    for rng in run.draws(quick=4, paper=60):
        root, form = rng.normal(size=(2, 2, 2))
        spread = root @ root.T + 0.1 * np.eye(2)
        cases.append(((spread + spread.T) / 2.0, float(10.0 ** rng.uniform(-1.0, 1.0)) * form))
    for number, (covariance, form) in enumerate(cases):
        sigma, a = balls(covariance), balls(form)
        c = coupling(sigma, a) if sinkhorn else sigma @ a.T @ sigma
        c = c.T if mirrored else c
        prior = inverse(sigma)
        lacking = prior @ c @ inverse(ball(share) * sigma - c.T @ prior @ c) - a.T
        for entry in lacking.ravel():
            yield equals(hull(entry), 0, scale=1 + float(np.abs(form).max()), part="residual", number=number)
        told = sinkhorn_coupling(exact(covariance), exact(form))
        yield equals(told, c, scale=float(np.abs(covariance).max()), part="formula", number=number)
    given = coupling(*map(balls, WITNESS))
    given = residual(given if mirrored else given.T, *map(balls, WITNESS))
    largest = Interval.largest(abs(hull(entry)) for entry in given.ravel())
    yield at_least(largest, 3.4, scale=1, part="the transpose is far off")


def lattice(reach, count, root):
    """Equally spaced tokens, up to ``reach`` deviations out along each column of a root, with Gaussian masses; and z."""
    axis = np.linspace(-reach, reach, count)
    z = np.stack(np.meshgrid(*[axis] * len(root), indexing="ij"), axis=-1).reshape(-1, len(root))
    return Measure.normalised(z @ root.T, np.exp(-0.5 * (z * z).sum(axis=1))), z


def attended(reach, count, roots, strengths, form, *, sweeps=None):
    """The covariance of query and output under Sinkhorn attention to a Gaussian, and how far outputs are from affine.

    Queries and keys are lattices along two roots of one covariance, between which the scores are diagonal with the
    ``strengths``. The potential of the theorem, put on the keys, leaves a residual, which bounds how far the tokens' own
    limit is from it; what the tokens then read beside the affine field is seen. Fewer sweeps are what they are.
    """
    (mu, _), (nu, z) = (lattice(reach, count, root) for root in roots)
    law = {"score": DotProduct(form=form.T), "query_weights": mu.weights, "key_weights": nu.weights}
    found = doubly_normalised(
        mu.points, nu.points, **law, **({} if sweeps is None else {"sweeps": sweeps, "tolerance": 0.0})
    )
    rho = np.array([2.0 * part / (1.0 + math.sqrt(1.0 + 4.0 * part**2)) for part in strengths])
    start = -0.5 * (z * z) @ (rho * strengths)
    told = doubly_normalised(mu.points, nu.points, **law, start=start, sweeps=0, tolerance=1.0)
    affine = mu.points @ np.linalg.inv(roots[0]).T * rho @ roots[1].T
    left = told.output(nu.points) - affine
    rounding = 4000 * U * float(np.abs(nu.points).max())
    error = sinkhorn_error(told, nu.points) + math.sqrt(float(mu.weights @ (left**2).sum(axis=1))) + rounding
    if sweeps is None:
        error += sinkhorn_error(found, nu.points)
    size = math.sqrt(float((mu.weights @ mu.points**2).max()))
    output = found.output(nu.points)
    inner = (np.abs(mu.points @ np.linalg.inv(roots[0]).T) <= 4.0).all(axis=1)
    bent = abs(exact(output) - affine)[inner].max() + 12.0 * 4000 * U * Interval(-1.0, 1.0)
    covariance = mu.points.T @ (mu.weights[:, np.newaxis] * exact(output))
    return covariance + error * size * Interval(-1.0, 1.0), bent


@verifies(
    Claim(
        "gaussian-flow.sinkhorn-slope",
        "Sinkhorn attention to a Gaussian is affine: on 401 tokens it has the slope of the closed form, the golden ratio at one",
        r"$\Gamma_\mu(x) = V(m + C^\top\Sigma^{-1}(x - m))$; on the line the slope is $\frac{\sqrt{1 + 4\alpha^2s^2} - 1}{2\alpha s}$: $0.61803398875$ at $\alpha s = 1$, $0.7047$ at $1.4$",
        assumptions=("tokens that carry the masses of a Gaussian", r"scores $\langle Ax, y\rangle$"),
        spec=SPEC,
        cites=("sander2022", *CAP),
        provenance=DERIVED,
    ),
    constant("softmax", "the slope is alpha s, as for softmax", slope=lambda strength: strength),
    bug("transposed", "C stands for its transpose", mirrored=True),
    hypothesis("two-sweeps", "the columns are normalised twice only", sweeps=2),
)
def test_slope(run, *, slope=None, mirrored=False, sweeps=None):
    printed = {1.0: "0.61803398875", 1.4: "0.7047"}
    for alpha, s in run.pick(quick=((1.0, 1.0), (1.4, 1.0)), paper=((1.0, 1.0), (1.4, 1.0), (-0.5, 2.0), (0.25, 4.0))):
        roots, form = [np.array([[math.sqrt(s)]])] * 2, np.array([[alpha]])
        c, bent = attended(12.0, 401, roots, [alpha * s], form, sweeps=sweeps)
        measured = c[0, 0] / s
        strength = ball(alpha) * ball(s)
        claimed = ((1 + 4 * strength**2).sqrt() - 1) / (2 * strength) if slope is None else slope(strength)
        yield equals(measured, hull(claimed), scale=1, alpha=alpha, s=s, part="line")
        if s == 1.0:
            yield equals(measured, Interval.printed(printed[alpha]), scale=1, alpha=alpha, part="printed")
        if alpha * s == 1.0:
            golden = (ball(5).sqrt() - 1) / 2
            yield equals(measured, hull(golden), scale=1, alpha=alpha, s=s, part="golden ratio")
        yield at_most(bent, 3e-9, scale=1, alpha=alpha, part="not affine")
    turn, strengths = np.array([[0.6, -0.8], [0.8, 0.6]]), [0.5, 0.25]
    for root in run.pick(quick=(PLANE,), paper=(PLANE, np.array([[0.75, 0.0], [0.5, 0.5]]))):
        roots = [root, root @ turn]
        form = (np.linalg.inv(roots[0]).T * strengths @ np.linalg.inv(roots[1])).T
        c, _ = attended(7.0, 21, roots, strengths, form, sweeps=sweeps)
        sigma = balls(root) @ balls(root).T
        claimed = coupling(sigma, balls(form)) if slope is None else sigma @ balls(form).T @ sigma
        yield equals(c, claimed.T if mirrored else claimed, scale=1, part="plane")
