"""What the networks of the comparison make of the variance between tokens before they are trained."""

import math
from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    balls,
    batch_mean,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    precision,
    run_mean,
    stream,
    verifies,
)
from theory.experiments import studies
from theory.metric import draw_parameters

DERIVED = ("derived",)
CITES = ("ruan2024", "dong2021")
TASKS = ("moons", "images", "meshes")
OTHERS = ("distance", "metric", "features")
NETWORKS = "networks before training, with the sizes, tokens and parameters of the comparison; normal tokens for the images of digits"
TOKENS = {  # of which the mean is zero, in the dimensions and for the widths that follow
    (2, 1): np.array([[2.0, 0.25], [-1.0, 0.5], [-1.5, -0.25], [0.5, -0.5]]),
    (2, 3): np.array([[1.0, 0.5], [-1.0, 0.5], [0.5, -1.5], [-0.5, 0.5]]),
    (4, 4): np.array([[1.0, 0.0, 0.5, 0.0], [-1.0, 0.5, 0.0, 0.0], [0.0, -1.0, 0.0, 0.5], [0.0, 0.5, -0.5, -0.5]]),
}


@cache
def drawn_variances(kind, d, width, count, law, root):
    """The variances over t^2 that layers with drawn parameters, scores times t, leave in the limit of small t."""
    tokens, rng = TOKENS[d, width], stream(f"start.means.{kind}.{d}.{width}", 0, root=root)
    n = len(tokens)
    shape = (d, count * width)
    size = 2 if kind == "dot" else 1
    flat = (
        rng.normal(size=size * d * count * width) / math.sqrt(3.0 * d)
        if law == "normal"
        else draw_parameters((shape,) * size, rng)
    )
    parts = [tokens @ part.reshape(shape) for part in np.split(flat, size)]
    query, key = (np.moveaxis(part.reshape(n, count, width), 1, 0) for part in (parts[0], parts[-1]))
    if kind == "dot":
        scores = query @ np.swapaxes(key, 1, 2) / math.sqrt(width)
    else:
        scores = -np.square(query[:, :, np.newaxis] - query[:, np.newaxis]).sum(axis=3)
    away = scores - scores.mean(axis=1, keepdims=True)
    away = away - away.mean(axis=2, keepdims=True)
    return np.square(away @ tokens / n).sum(axis=(1, 2)) / n


def mean_variance(kind, tokens, width, fourth):
    """The mean as it is claimed, in balls."""
    x = balls(tokens)
    n, d = tokens.shape
    c = x.T @ x / n
    square = c @ c
    total = c.trace() * square.trace()
    if kind == "distance":
        corner = (np.diagonal(c) * np.diagonal(square)).sum()
        total = 4 * width * ((width + 1) * (square @ c).trace() + total - balls(fourth).item() * corner)
    return hull(total / (9 * d**2))


@verifies(
    Claim(
        "start.means",
        "at a random start, the mean of the variance that a layer leaves has a closed form in the covariance of the tokens",
        r"$\lim_{t \to 0}t^{-2}\,\mathbb E\,V(S_tH) = \frac{\operatorname{tr}C\operatorname{tr}C^2}{9d^2}$ for scores $t\langle h_iQ, h_jK\rangle/\sqrt w$, and $\frac{4w}{9d^2}[(w + 1)\operatorname{tr}C^3 + \operatorname{tr}C\operatorname{tr}C^2 - \frac65\sum_aC_{aa}(C^2)_{aa}]$ for $-t|h_iW - h_jW|^2$; C is the covariance of the tokens",
        remark=r"so dot products leave a share of about $\operatorname{tr}C^2/9d^2$ of the variance",
        assumptions=(
            r"entries of Q, K and W independent and uniform on $[-d^{-1/2}, d^{-1/2}]$",
            "equal masses",
            "no skip connection",
        ),
        spec=("FR.F02", "DL.E2"),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("quarter", "a quarter more", factor=1.25),
    bug("normal", "fourth moments of normal entries of the same variance", fourth=0.0),
    hypothesis("normal-entries", "the entries are normal, of the same variance", law="normal"),
    bug("dimension", "d for its square", power=1),
)
def test_means(run, *, factor=1.0, fourth=1.2, law="uniform", power=2):
    count = run.pick(quick=25_600, paper=256_000)
    for (d, width), tokens in TOKENS.items():
        for kind in ("dot", "distance"):
            found = drawn_variances(kind, d, width, count, law, run.root)
            claimed = factor * d ** (2 - power) * mean_variance(kind, tokens, width, fourth)
            yield equals(batch_mean(found, among=6), claimed, part=kind, d=d, width=width)


@cache
def plain_shares(start, shared):
    """The share left after each of two blocks of dot products, as they are defined, in balls, of twenty tokens."""
    (first, *_) = studies.draw_starts("moons", "dot", 1, 2, start)
    shares = []
    with precision(400):
        h = balls(first.tokens[:20])
        least = spread_out(h)
        for query, key in first.parameters:
            left = h if shared else h - h.sum(axis=0) / len(h)
            scores = (left @ balls(query)) @ (h @ balls(key)).T / balls(query.shape[1]).item().sqrt()
            kernel = np.exp(scores)
            h = kernel @ h / kernel.sum(axis=1)[:, np.newaxis]
            shares.append(hull(spread_out(h) / least))
    return shares


def spread_out(tokens):
    """The variance between tokens in balls."""
    offsets = tokens - tokens.sum(axis=0) / len(tokens)
    return (offsets**2).sum() / len(tokens)


@verifies(
    Claim(
        "start.blocks",
        "every block of the networks at their start obeys the bounds of the variance, and in the second one the bound of dot products is no thirty times too large",
        r"$V(SH) \le \beta = \min(\frac1n\sum_i\chi^2(p_i\,|\,\pi)\,V_\pi(H), nV(H))$, $V(H + SH) \ge (\sqrt{V(H)} - \sqrt\beta)_+^2$ with $\pi$ the law that all queries share, and $V(SH) \ge \beta/30$ in the second block of dot products",
        assumptions=(NETWORKS, "the first starts of each task"),
        spec=("FR.F02", "DL.E2"),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("third", "a third of the bound", factor=1.0 / 3.0),
    hypothesis(
        "exchanged",
        "networks with skip connections are told from those without the wrong way round",
        ways=("residual", "published"),
    ),
    constant("nothing-lost", "the bound is attained", near=1.0),
    bug("unshared", "what all queries prefer alike is left out", shared=False),
)
def test_blocks(run, *, factor=1.0, ways=("published", "residual"), near=30.0, shared=True):
    table = run.study(studies.start_blocks)
    columns = [table.intervals(name) for name in ("before", "after", "means")]
    words = zip(table["task"], table["similarity"], table["way"], table["block"].tolist(), strict=True)
    for (task, kind, way, block), before, after, most in zip(words, *columns, strict=True):
        case = {"task": str(task), "similarity": str(kind), "block": block}
        if way == ways[0]:
            yield at_most(after / before, factor * most / before, part="averages", **case)
            if kind == "dot" and block == 2:
                yield at_least(after / before, most / before / near, part="near", **case)
        else:
            floor = np.maximum(1.0 - np.sqrt(most / before), 0.0) ** 2
            yield at_least(after / before, floor, scale=1, part="skip", **case)
    (start, *_) = studies.draw_starts("moons", "dot", 1, 2, run.root)
    few = list(studies.walk(start._replace(tokens=start.tokens[:20]), "dot", "published", enclosed=True))
    for found, claimed in zip(few, plain_shares(run.root, shared), strict=True):
        yield equals(found["after"] / few[0]["before"], claimed, part="definition")


@verifies(
    Claim(
        "start.shares",
        "at the start two blocks of dot products leave 1e-8 of the variance between tokens or less, 1e-18 for images; with skip connections it is kept, and other similarities keep 1e5 times as much",
        r"geometric means over starts of $V(H_2)/V(H_0)$: at most $10^{-8}$ for moons and meshes and $10^{-18}$ for images, dot products; at least $10^{-0.1}$ for $H \mapsto H + SH$ and every similarity; distances, distances of features and dot products of features leave $10^5$ times what dot products do",
        assumptions=(NETWORKS,),
        spec=("FR.F02", "DL.E2"),
        cites=CITES,
        source_status=DERIVED,
    ),
    constant("six-orders", "six orders of magnitude less are left", orders=-6.0),
    hypothesis("residual", "the networks have skip connections throughout", plain="residual"),
    hypothesis("published", "the networks have no skip connections at all", skip="published"),
    constant("twelve", "other similarities keep 1e12 times as much", more=12.0),
)
def test_shares(run, *, orders=0.0, plain="published", skip="residual", more=5.0):
    table = run.study(studies.starts).where(block=2)

    def share(task, kind, way):
        return table.where(task=task, similarity=kind, way=way)["share"]

    for task in TASKS:
        most = -18.0 if task == "images" else -8.0
        yield at_most(run_mean(share(task, "dot", plain), among=24), most + orders, scale=1, part="dot", task=task)
        for kind in ("dot", *OTHERS):
            yield at_least(
                run_mean(share(task, kind, skip), among=24), -0.1, scale=1, part="skip", task=task, similarity=kind
            )
        for kind in OTHERS:
            gain = share(task, kind, plain) - share(task, "dot", plain)
            yield at_least(run_mean(gain, among=24), more, scale=1, part="others", task=task, similarity=kind)
