"""Tokens under Sinkhorn attention: weights that are right over queries and over keys."""

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.evidence import Claim, balls, bug, constant, equals, exact, hypothesis, verifies
from theory.particles import SinkhornField, SoftmaxField
from verify.textbook import dot_scores

PAIR = np.array([[-1.0, 0.5], [0.75, 1.0]])


def sinkhorn(score, weights):
    """The field under test."""
    return SinkhornField(score, weights=weights)


def softmax(score, weights):
    """Rows that are right, and columns that are not."""
    return SoftmaxField(score, weights=weights)


def of_pair(x, *, share=1):
    """The velocities of two tokens of equal weight: each keeps the share s of itself, s / (1 - s) a root of scores."""
    s = dot_scores(x, x, beta=1)
    odds = ((s[0, 0] + s[1, 1] - s[0, 1] - s[1, 0]) * share / 2).exp()
    kept = odds / (1 + odds)
    return np.array([[kept, 1 - kept], [1 - kept, kept]]) @ balls(x)


@verifies(
    Claim(
        "particle.sinkhorn",
        "under Sinkhorn attention the mean of the tokens moves by itself, and symmetric scores give symmetric weights",
        r"$\dot x_i = \sum_jP_{ij}x_j/m_i$: $\sum_im_i\dot x_i = \sum_im_ix_i$, and $\sum_im_ix_i\dot x_i^\top$ is symmetric if $a(x, y) = a(y, x)$; two tokens of equal weight keep $\frac{s}{1 + s}$ of themselves, $s = e^{(a_{11} + a_{22} - a_{12} - a_{21})/2}$",
        assumptions=(r"$\sum_jP_{ij} = m_i$, $\sum_iP_{ij} = m_j$, the limit of the iteration",),
        cites=("sander2022",),
    ),
    bug("rows", "the rows are right and the columns are not", field=softmax),
    hypothesis("asymmetric", "the form of the scores is not symmetric", skew=1.0),
    constant("whole", "two tokens keep the share of softmax over the whole difference of scores", share=2),
)
def test_sinkhorn_field(run, *, field=sinkhorn, skew=0.0, share=1):
    claimed = of_pair(PAIR, share=share)
    yield equals(field(DotProduct(scale=1.0), np.ones(2))(exact(PAIR)), claimed, scale=1, part="two tokens")
    for number, rng in enumerate(run.draws(quick=6, paper=60)):
        n, d = int(rng.integers(3, 9)), int(rng.integers(2, 4))
        x = rng.normal(size=(n, d)) / 2.0
        weights = rng.dirichlet(np.full(n, 4.0))
        form = rng.normal(size=(d, d))
        turn = skew * np.triu(form, 1)
        score = SquaredDistance(0.5) if number % 3 == 2 else DotProduct(form=form + form.T + turn)
        velocity = field(score, weights)(exact(x))
        m = exact(weights) / exact(weights).sum()
        case = {"n": n, "d": d, "number": number}
        yield equals(m @ velocity, m @ x, scale=1, part="mean", **case)
        second = (m[:, np.newaxis] * x).T @ velocity
        yield equals(second - second.T, 0, scale=1, part="symmetric", **case)
