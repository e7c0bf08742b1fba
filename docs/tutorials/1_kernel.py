r"""
1 Attention as a kernel
=======================

A sequence of tokens :math:`x_1, \dots, x_n \in \mathbb R^d` is read as a probability
measure :math:`\mu = \sum_i w_i\delta_{x_i}`. Without a mask attention does not see in which
order tokens come, and two equal tokens are one of twice the mass. A *score* :math:`a(x, y)`
says how much a query :math:`x` wants a key :math:`y`, and
:math:`S_\mu(x, dy) = e^{a(x, y)}\mu(dy) / \int e^{a(x, z)}\mu(dz)` is a Markov kernel:
a law for every :math:`x`.
"""
# %%
# The measure has masses, which sum to one. The score here is the dot product, times two.

import matplotlib.pyplot as plt
import numpy as np

from theory import Measure, attend, w1
from theory.attention import DotProduct, SelfAttention, Softmatch, step

points = np.array([[1.0, 0.0], [0.7, 0.7], [-0.2, 0.9], [-0.8, -0.5]])
mu = Measure(points, weights=[0.4, 0.2, 0.2, 0.2])
score = DotProduct(scale=2.0)
rows = Softmatch(score, mu).rows(mu.points)
print(rows.round(3))
print("sums:", rows.sum(axis=1).round(12))

# %%
# Row :math:`i` is the law of the key that token :math:`i` attends to. A layer of attention
# replaces a token by the mean of its law, the *barycentre* :math:`\Gamma_\mu(x) = \int
# y\,S_\mu(x, dy)`. ``attend`` gives the same without forming the matrix of weights, which
# matters when there are a hundred thousand tokens.

outputs = rows @ mu.points
same = attend(mu.points, mu.points, mu.points, score=score, weights=mu.weights)
print("largest difference below 1e-14:", bool(abs(outputs - same).max() < 1e-14))

# %%
# So a layer moves the measure: :math:`T\mu = (\Gamma_\mu)_\#\mu`. How far? The
# Wasserstein-1 distance is the least work that carries one measure into the other. It is
# *enclosed*: the true value of the distance between these two float clouds lies in the
# interval, which a plan and potentials certify together.

layer = SelfAttention(score)
image = step(layer, mu)
distance = w1(mu, image)
print(f"between {distance.lo:.6f} and {distance.hi:.6f}, {distance.kind.name.lower()}")

# %%
# Attention that reads a measure cannot tell two halves from a whole. Split the first token
# into two of half its mass: the atoms are other ones, and the measure is the same, and so
# is its image. (The width is that of rounding.)

split = Measure(np.vstack([points[:1], points]), weights=[0.2, 0.2, 0.2, 0.2, 0.2])
print("images apart by at most 1e-15:", w1(image, step(layer, split)).hi <= 1e-15)

# %%
# Two layers are two kernels, each taken at the measure that it meets. No layer leads out of
# the convex hull of the tokens, since an output is a mean of them (``variant.hull``).

states = [mu]
for _ in range(3):
    states.append(step(layer, states[-1]))
print("variance, layer by layer:", [f"{state.variance():.4f}" for state in states])

figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
for k, (before, after) in enumerate(zip(states[:-1], states[1:], strict=True)):
    move = after.points - before.points
    arrows = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004}
    axes.quiver(*before.points.T, *move.T, color=f"C{k}", **arrows)
    axes.scatter(
        *before.points.T, 300 * before.weights, color=f"C{k}", label=f"layers: {k}"
    )
axes.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
axes.set_title("what three layers do to a measure")
axes.legend(frameon=False)
plt.show()

# %%
# The variance falls in every layer. Whether it must, and how fast, are theorems with
# hypotheses: ``lipschitz.collapse``, ``consensus.rate``. The next tutorial asks where the
# exponential in the kernel comes from.
