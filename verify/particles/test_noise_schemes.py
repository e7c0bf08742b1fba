"""Schemes for attention with noise, decided on linear equations, where mean and covariance have closed recursions."""

import math

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    batch_mean,
    bug,
    constant,
    equals,
    gamma,
    hypothesis,
    order,
    verifies,
)
from theory.evidence.quadrature import integral_over
from theory.particles import EULER_MARUYAMA, GEODESIC, PLATEN, PROJECTED, Diffusion, Noise, sample
from verify.textbook import balls, hull

FORM, SIGMA = np.array([[-1.0, 1.0], [0.0, -1.0]]), 2.0
START = np.array([1.0, 2.0])
KEY = Noise(1, 2)  # of no consequence where increments are given
FLAT_SCHEMES = (EULER_MARUYAMA, PLATEN)


def linear(form):
    return lambda x: x @ form.T


def one(value=1.0):
    return balls(value).item()


def read_off(scheme, form, step, *, carried=True):
    """The matrices of the affine step x -> M x + N dW, as the code makes it; exact, for all numbers are dyadic."""
    stepper = Diffusion(linear(form), SIGMA, step, KEY, scheme)
    unit, none = np.eye(form.shape[0]), np.zeros(form.shape)
    noise = stepper.moved(none, unit).T if carried else SIGMA * unit
    return balls(stepper.moved(unit, none).T), balls(noise)


def recursion(m, n, step, steps, *, variance=1):
    """Mean and covariance after so many steps from START, without spread at first."""
    mean, cov = balls(START), balls(np.zeros(m.shape))
    fresh = n @ n.T * one(step) ** variance
    for _ in range(steps):
        mean, cov = m @ mean, m @ cov @ m.T + fresh
    return mean, cov


def exact_moments(t):
    """Mean and covariance at time t: e^(At) = e^(-t) [[1, t], [0, 1]], and the integral of e^(As) e^(A's) sigma^2."""
    t = one(t)
    decay = (-t).exp()
    first, second, third = (1 - k * decay**2 for k in (one(), 1 + 2 * t, 1 + 2 * t + 2 * t**2))
    mean = np.array([(START[0] + t * START[1]) * decay, START[1] * decay], dtype=object)
    cov = np.array([[first / 2 + third / 4, second / 4], [second / 4, first / 2]], dtype=object)
    return mean, cov * one(SIGMA) ** 2


@verifies(
    Claim(
        "flow.weak-order",
        "with additive noise the scheme of Euler and Maruyama has weak order one and Platen's two, in mean and covariance",
        r"$|\mathbb E\,g(X_h(2)) - \mathbb E\,g(X(2))| \sim h^p$ for linear and quadratic $g$ and $dX = AX\,dt + \sigma\,dW$: $p = 1$ (Euler-Maruyama), $p = 2$ (Platen)",
        assumptions=("additive noise", "a linear drift"),
        cites=("kloeden1992",),
        provenance=("recalled", "derived"),
    ),
    constant("one-more", "each scheme has one order more", more=1),
    bug("not-carried", "the drift at the end of the step does not see the noise", carried=False),
    bug("variance", "increments have the variance of the square of the step", variance=2),
    hypothesis("colder", "the equation has nine tenths of the noise", cooled=0.9),
)
def test_weak_order(run, *, more=0, carried=True, variance=1, cooled=1.0):
    mean, cov = exact_moments(2.0)  # at time one the first order of an entry happens to vanish
    levels = run.pick(quick=(8, 16, 32, 64, 128), paper=(16, 32, 64, 128, 256, 512, 1024))
    for scheme in FLAT_SCHEMES:
        errors = {}
        for steps in levels:
            m, n = read_off(scheme, FORM, 1.0 / steps, carried=carried)
            found, spread = recursion(m, n, 1.0 / steps, 2 * steps, variance=variance)
            for k in range(2):
                errors.setdefault(f"mean {k}", []).append(hull(found[k] - mean[k]))
            for i, j in ((0, 0), (0, 1), (1, 1)):
                off = spread[i, j] - cov[i, j] * one(cooled) ** 2
                errors.setdefault(f"covariance {i}{j}", []).append(hull(off))
        for part, values in errors.items():
            yield equals(order(values), scheme.weak + more, scale=1, scheme=scheme.name, part=part)


@verifies(
    Claim(
        "flow.strong-order",
        "with additive noise both schemes follow the path of the noise to first order of the step",
        r"$(\mathbb E|X_h(1) - X(1)|^2)^{1/2} \sim h$ for $dX = -X\,dt + \sigma\,dW$ on one Brownian path",
        assumptions=("additive noise", "a linear drift"),
        cites=("kloeden1992",),
        provenance=("recalled", "derived"),
    ),
    constant("half", "order one half, that of Euler and Maruyama under noise that depends on the state", rate=0.5),
    constant("three-halves", "order three halves", rate=1.5),
    bug("another-path", "the scheme is driven by noise of its own", coupled=False),
)
def test_strong_order(run, *, rate=1, coupled=True):
    levels = run.pick(quick=(16, 32, 64, 128, 256), paper=(32, 64, 128, 256, 512, 1024, 2048))
    for scheme in FLAT_SCHEMES:
        errors = []
        for steps in levels:
            m, n = (part.item() for part in read_off(scheme, -np.eye(1), 1.0 / steps))
            h, sigma = one(1.0 / steps), one(SIGMA)
            decay = (-h).exp()
            fresh = sigma**2 * (1 - decay**2) / 2  # the variance of the exact increment
            shared = sigma * n * (1 - decay) if coupled else 0 * h  # its covariance with the scheme's
            square, cross, own = 0 * h, 0 * h, one()  # E e^2, E e X, E X^2 for the error e = X_h - X
            for _ in range(steps):
                gap, mixed = m - decay, shared - fresh
                square = m**2 * square + 2 * m * gap * cross + gap**2 * own + n**2 * h - 2 * shared + fresh
                cross, own = decay * (m * cross + gap * own) + mixed, decay**2 * own + fresh
            errors.append(hull(square).sqrt())
        yield equals(order(errors), rate, scale=1, scheme=scheme.name)


@verifies(
    Claim(
        "flow.sampler",
        "samples of both schemes have the mean and the second moments that their recursions say",
        r"$m_{k+1} = Mm_k$, $C_{k+1} = MC_kM^\top + hNN^\top$ for the step $x \mapsto Mx + N\,\Delta W$, 102 400 samples or more",
        assumptions=("a linear drift", "rows are independent"),
        cites=("kloeden1992",),
    ),
    constant("exact", "samples have the moments of the equation itself, whatever the step", exact=True),
    bug("variance", "increments have the variance of the square of the step", variance=2),
    bug("swapped", "the recursion is that of the other scheme", swapped=True),
)
def test_sampler(run, *, exact=False, variance=1, swapped=False):
    rows, step = run.pick(quick=102_400, paper=1_638_400), 0.5
    for rng, scheme in zip(run.streams(2), FLAT_SCHEMES, strict=True):
        stepper = Diffusion(linear(FORM), SIGMA, step, Noise.drawn(rng), scheme)
        states = sample(stepper, np.broadcast_to(START, (rows, 2)), steps=2)
        said = PLATEN if swapped and scheme is EULER_MARUYAMA else EULER_MARUYAMA if swapped else scheme
        mean, cov = recursion(*read_off(said, FORM, step), step, 2, variance=variance)
        if exact:
            mean, cov = exact_moments(1.0)
        for k in range(2):
            yield equals(
                batch_mean(states[:, k], among=10), hull(mean[k]), scale=1, scheme=scheme.name, part=f"mean {k}"
            )
        for i, j in ((0, 0), (0, 1), (1, 1)):
            products = batch_mean(states[:, i] * states[:, j], among=10)
            claimed = hull(mean[i] * mean[j] + cov[i, j])
            yield equals(products, claimed, scale=1, scheme=scheme.name, part=f"product {i}{j}")


def overlap(scheme, angle):
    """How far a step by that length along a tangent keeps to its start, as it is printed."""
    return angle.cos() if scheme is GEODESIC else (1 + angle**2) ** -one(0.5)


def shrinking(scheme, step, sigma, dim):
    """The mean overlap after one step: tangent increments have the length of dim - 1 normal numbers, here two."""
    if dim != 3:
        raise ValueError(f"dim: expected 3, for which the density is r exp(-r^2 / 2), got {dim}")
    size = one(sigma) * one(step).sqrt()

    def density(r):
        return r * (-(r**2) / 2).exp()

    tail = hull((-(one(12.0) ** 2) / 2).exp())  # an overlap is at most one
    return hull(integral_over(lambda r: overlap(scheme, size * r) * density(r), 0.0, 12.0)) + Interval(
        -tail.hi, tail.hi
    )


@verifies(
    Claim(
        "flow.walk",
        "walks along geodesics and projected walks lose their overlap with the start like Brownian motion on the sphere, to weak order one",
        r"$\mathbb E\langle X_0, X_h(1)\rangle = \kappa(h)^{1/h}$, $\kappa = \mathbb E\cos(\sigma\sqrt h\,\chi_{d-1})$ or $\mathbb E(1 + \sigma^2h\chi_{d-1}^2)^{-1/2}$; $|\kappa(h)^{1/h} - e^{-\sigma^2(d-1)/2}| \sim h$",
        assumptions=("no drift", "d = 3"),
        cites=("hsu2002",),
        provenance=("derived",),
    ),
    constant("ambient", "overlaps decay at the rate d / 2 of a noise with d components", components=3),
    constant("second", "weak order two", rate=2),
    bug("no-tangent", "the noise is not projected before the step", tangent=False),
)
def test_walk(run, *, components=2, rate=1, tangent=True):
    sigma, dim = 0.5, 3
    limit = hull((-(one(sigma) ** 2) * one(components / 2.0)).exp())
    for scheme in (GEODESIC, PROJECTED):
        stepper = Diffusion(None, sigma, 1.0, KEY, scheme)
        for length in (0.0, 0.5, 1.0, 3.0):
            pole = np.array([[0.0, 0.0, 1.0]])
            kick = np.array([[0.6 * length, 0.8 * length, 4.0]])  # the normal part has no effect
            moved = float(stepper.moved(pole, kick)[0, 2])
            size = one(sigma) * one(length) if tangent else (one(sigma) ** 2 * (one(length) ** 2 + 16)).sqrt()
            claimed = hull(overlap(scheme, size))
            yield equals(Interval.within(moved, gamma(24)), claimed, scale=1, scheme=scheme.name, length=length)
        steps = run.pick(quick=(8, 16, 32, 64, 128), paper=(8, 16, 32, 64, 128, 256))
        errors = [shrinking(scheme, 1.0 / k, sigma, dim) ** k - limit for k in steps]
        yield equals(order(errors), rate, scale=1, scheme=scheme.name, part="order")
    for rng, scheme in zip(run.streams(2), (GEODESIC, PROJECTED), strict=True):
        rows = run.pick(quick=25_600, paper=409_600)
        stepper = Diffusion(None, 1.0, 0.25, Noise.drawn(rng), scheme)
        start = np.broadcast_to([0.6, 0.0, 0.8], (rows, 3))
        found = batch_mean(sample(stepper, start, steps=4) @ start[0], among=2)
        size = shrinking(scheme, 0.25, 1.0, dim) if components == 2 else hull((-one(0.25 * components / 2)).exp())
        yield equals(found + Interval.within(0.0, math.ulp(64.0)), size**4, scale=1, scheme=scheme.name, part="samples")
