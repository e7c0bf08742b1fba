r"""
3 How far attention moves a measure
===================================

A layer sends a measure :math:`\mu` to :math:`T\mu`. If an input is disturbed, how much is
the output? The best answer is a Lipschitz constant: the least :math:`L` with
:math:`W_1(T\mu, T\nu) \le L\,W_1(\mu, \nu)` for all measures on a ball of radius :math:`R`.
Without a radius attention as a rule has none: the score of a token with itself grows like
its square.
"""
# %%
# Take weights: here drawn ones of dimension four, as a network would have before it is
# trained. Put your own in their place; queries, keys and values are ``w @ x``, and scores
# are divided by the root of the dimension.

import matplotlib.pyplot as plt
import numpy as np

from theory import Measure, w1
from theory.attention import DotProduct, SelfAttention, step
from theory.lipschitz import certify, certify_at

rng = np.random.default_rng(7)
query, key, value = rng.normal(size=(3, 4, 4)) / 2.0
certificate = certify(query, key, value, radius=1.0)
for row in certificate.rows[:3]:
    print(f"{row.metric}: between {row.lower:.2f} and {row.constant:.2f} ({row.claim})")

# %%
# The upper end is a theorem, rounding included, and the name in brackets is the claim that
# decides it; the lower end is reached by a pair of measures that a search found. Between
# the two lies the best constant. Does the theorem hold for two measures that nobody chose?
# Draw some, and compare their distance before and after the layer.

layer = SelfAttention(DotProduct(scale=0.5, form=query.T @ key), value)


def cloud(radius):
    """Draw six tokens in the ball."""
    x = rng.normal(size=(6, 4))
    return Measure(radius * x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)))


def stretch(mu, nu):
    """Return how many times their distance the layer puts two measures apart, at most."""
    return w1(step(layer, mu), step(layer, nu)).hi / w1(mu, nu).lo


drawn = [stretch(cloud(1.0), cloud(1.0)) for _ in range(50)]
print(f"of 50 drawn pairs the largest stretch is {max(drawn):.2f}")

# %%
# Drawn pairs come nowhere near: the worst case is a corner that chance does not find. That
# is why a certificate needs a theorem above and a search below. The constant grows with the
# radius, exponentially in its square:

radii = np.linspace(0.25, 2.0, 8)
rows = [certify(query, key, value, radius=r).row("W1") for r in radii]
figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
below, above = [row.lower for row in rows], [row.constant for row in rows]
axes.fill_between(radii, below, above, alpha=0.3, label="where the best constant lies")
pairs = [(r, stretch(cloud(r), cloud(r))) for r in radii for _ in range(10)]
axes.scatter(*np.transpose(pairs), s=8, color="black", label="pairs of drawn measures")
axes.set(yscale="log", xlabel="radius of the ball", ylabel="stretch in $W_1$")
axes.set_title("how far a layer can move measures")
axes.legend(frameon=False)
plt.show()

# %%
# Often the tokens are known, and nothing worse than small moves of them is asked for.
# ``certify_at`` encloses the norm of the derivative there: no search and no gap, only
# rounding.

tokens = cloud(1.0).points
there = certify_at(tokens, query, key, value, reach=0.01).row("frobenius")
print(f"derivative at these tokens: {there.norm.lo:.4f} to {there.norm.hi:.4f}")
print(f"if no token moves further than {there.reach}: at most {there.bound:.4f}")

# %%
# From the command line, for a file of weights: ``python -m theory certify weights.npz
# --radius 1``. The :doc:`page on certificates </certificates>` goes through trained layers,
# and ``lipschitz.sharp-w1`` has the theorem.
