r"""
4 Tokens as particles
=====================

With a residual connection a layer moves a token a little, :math:`x_i \leftarrow x_i +
\eta\,\Gamma_\mu(x_i)`. In the limit of many small layers depth becomes time, and tokens are
particles that pull at each other. On the unit sphere, where a normalisation keeps them,
:math:`\dot x_i = P^\perp_{x_i}\sum_j p_{ij}x_j` with weights :math:`p_{ij} \propto
e^{\beta\langle x_i, x_j\rangle}`.
"""
# %%
# Thirty-two tokens on the circle, all of them in one half of it, and :math:`\beta = 4`.

import matplotlib.pyplot as plt
import numpy as np

from theory.particles import flow, on_sphere

rng = np.random.default_rng(1)
angles = rng.uniform(-1.4, 1.4, size=32)
start = np.column_stack([np.cos(angles), np.sin(angles)])
times = np.linspace(0.0, 16.0, 65)
run = flow(on_sphere(beta=4.0), start, times)

# %%
# The integrator runs twice, at tolerances a hundred times apart, so whatever is observed is
# an interval. We observe the *diameter*, the largest distance of two tokens.


def diameter(x):
    """Return the largest distance of two tokens."""
    return np.linalg.norm(x[:, None] - x[None], axis=2).max()


seen = run.observe(diameter)
for k in (0, 8, 32, 64):
    print(
        f"time {times[k]:4.1f}: {seen[k].mid:.2e}, known to {seen[k].hi - seen[k].lo:.0e}"
    )

# %%
# They meet: that is *consensus*. At what rate? ``consensus.rate`` says that from a
# half-sphere the diameter in the end decays like :math:`e^{-t}`, whatever :math:`\beta` is.
# The slope of its logarithm over the last eight units of time:

slope = (np.log(seen[64].mid) - np.log(seen[32].mid)) / (times[64] - times[32])
print(f"slope: {slope:.4f}")

# %%
# Before consensus, there are groups. With a large :math:`\beta` a token sees only its
# neighbours, and tokens on the whole circle gather in clusters that stay for a long time
# (``metastable.lifetime`` says for how long).

around = rng.uniform(0.0, 2.0 * np.pi, size=32)
circle = np.column_stack([np.cos(around), np.sin(around)])
when = np.linspace(0.0, 4.0, 81)
paths = flow(on_sphere(beta=16.0), circle, when).states
final = np.sort(np.arctan2(paths[-1, :, 1], paths[-1, :, 0]))
spaces = np.diff(np.append(final, final[0] + 2.0 * np.pi))
print("clusters at the end:", int((spaces > 0.3).sum()))

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
left.semilogy(times, [gap.mid for gap in seen], label="diameter")
left.semilogy(times, seen[32].mid * np.exp(times[32] - times), "k:", label="$e^{-t}$")
left.set(xlabel="time (depth)", title="in a half-circle: consensus")
left.legend(frameon=False)
angle = np.unwrap(np.arctan2(paths[:, :, 1], paths[:, :, 0]), axis=0)
right.plot(when, angle, color="C0", lw=0.8)
right.set(xlabel="time (depth)", ylabel="angle", title="on the whole circle: clusters")
plt.show()

# %%
# An observation is of the kind ``estimated``: a multiple of the difference of two runs is
# taken to bound the error. What a kind allows to conclude is said in :doc:`what a verdict
# means </verdict>`.
