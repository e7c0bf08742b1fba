r"""
5 From layers to diffusion
==========================

Let the score be minus a squared distance, :math:`a(x, y) = -|x - y|^2/2\varepsilon`, and
let the tokens be so many that they are a density :math:`p`. A layer then averages a
function :math:`h` over a neighbourhood of width :math:`\sqrt\varepsilon`:

.. math:: P_\varepsilon h(x) =
   \frac{\int e^{-|x - y|^2/2\varepsilon} h(y)p(y)\,dy}{\int e^{-|x - y|^2/2\varepsilon} p(y)\,dy} .

For small bandwidths :math:`\varepsilon` the layer hardly changes the function, and

.. math:: \frac{P_\varepsilon h - h}{\varepsilon} \to \frac12\bigl(h'' + 2(\log p)'h'\bigr) .
"""
# %%
# The limit is a diffusion with a drift towards where tokens are dense. Take the circle, the
# density :math:`p \propto e^{0.8\cos x}`, the function :math:`h = \sin`, and two thousand
# tokens that lie as :math:`p` says.

import matplotlib.pyplot as plt
import numpy as np

from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    chordal,
    chordal_multiplier,
    convolve,
    drift_diffusion,
    propagate,
)

p, grid = CircleDensity([0.8], [0.0]), PeriodicGrid((256,))
x = grid.axes[0]
limit = drift_diffusion(grid, p(x), np.sin(x)) / 2.0
tokens = p.tokens(2000)


def change(epsilon):
    """Return what one layer changes, per bandwidth, at the nodes of the grid."""
    values, score = np.sin(tokens[:, 0]), chordal(epsilon)
    layer = propagate(grid.nodes, tokens, values, epsilon, score=score)
    return (layer - np.sin(x)) / epsilon


# %%
# The error should be of order :math:`\varepsilon`: half of it for half the bandwidth
# (``limit.order``).

for epsilon in (0.08, 0.04, 0.02, 0.01):
    error = abs(change(epsilon) - limit).max()
    print(f"bandwidth {epsilon}: error {error:.5f}, over it {error / epsilon:.3f}")

# %%
# How many tokens does that take? At a bandwidth that is too small for their number a query
# sees one token only, the next one, and the layer copies its value. Compare a hundred
# tokens with the density itself, ``convolve``, at the last bandwidth and a hundredth of it:

few = p.tokens(100)
for epsilon in (0.01, 0.0001):
    exact = convolve(grid, p(x), np.sin(x), chordal_multiplier(epsilon))
    layer = propagate(grid.nodes, few, np.sin(few[:, 0]), epsilon, score=chordal(epsilon))
    off = abs(layer - exact).max()
    print(f"bandwidth {epsilon}: a hundred tokens are off by {off:.1e}")

# %%
# Keys that are weighted by one over a smoothed density have no drift (``normaliser.drift``).
# As it is, softmax has it, and unless the density is constant no metric makes a heat
# equation of its limit (``heat.no-metric``). The picture shows the limit, and the layers
# that approach it.

figure, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for epsilon in (0.3, 0.1, 0.03):
    axes.plot(x, change(epsilon), lw=1.0, label=rf"layer, $\varepsilon = {epsilon}$")
axes.plot(x, limit, "k--", lw=1.2, label=r"$\frac{1}{2}(h'' + 2(\log p)'h')$")
axes.plot(x, -np.sin(x) / 2.0, color="0.6", lw=1.0, label=r"$\frac{1}{2}h''$, no drift")
axes.set(xlabel="angle", ylabel="change by a layer, over the bandwidth")
axes.set_title("a layer tends to a drift-diffusion")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %%
# What many layers make of it, in learned metrics and among tokens that move themselves, is
# in ``theory.diffusion`` (:doc:`/made/api/theory.diffusion`) and under ``layers.stack`` and
# its neighbours.
