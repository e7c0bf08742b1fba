r"""
2 From softmax to sparsemax
===========================

Why an exponential? Of all laws :math:`p` over :math:`n` keys, softmax is the one that
maximises :math:`\langle p, s\rangle + H(p)`: the mean score and the entropy, which asks not
to bet on one key. Another entropy gives another map. With Tsallis's, of order
:math:`\alpha`, :math:`H_\alpha(p) = \frac{1}{\alpha(\alpha - 1)}\bigl(1 - \sum_j
p_j^\alpha\bigr)`, the maximiser is called *entmax*.
"""
# %%
# At order one it is softmax, at order two sparsemax, the projection of the scores on the
# simplex: it gives exact zeros.

import matplotlib.pyplot as plt
import numpy as np

from theory.evidence import exact
from theory.maxent import entmax, entmax_gap, softmax, sparsemax

scores = np.array([1.0, 0.5, -1.0])
for order in (1.0, 1.5, 2.0):
    print(f"order {order}:", entmax(scores, order).round(4))
print("softmax: ", softmax(scores).round(4))
print("sparsemax:", sparsemax(scores).round(4))

# %%
# A maximiser can be checked without trusting the code that found it. No law can do better
# than the one found by more than a *duality gap*, which is computed here in ball arithmetic
# from the answer alone. ``entmax_gap`` bounds it from above; a law that is off by a
# thousandth has a gap that shows.

law = entmax(scores, 1.5)
nudged = law + np.array([1e-3, -1e-3, 0.0])
small, large = entmax_gap(scores, law, 1.5), entmax_gap(scores, nudged, 1.5)
print("gap of the answer below 1e-14:", bool(small.hi < 1e-14))
print(f"gap of the other law: {large.hi:.1e}")

# %%
# Where does a key get no weight at all? For two scores with gap :math:`t`, entmax of order
# :math:`\alpha > 1` gives the lower one exactly zero as soon as :math:`t \ge 1/(\alpha -
# 1)`, and softmax never (``entmax.support`` is the theorem for any number of scores). Just
# before that gap the weight is positive, at it zero:

for order in (1.5, 2.0):
    edge = 1.0 / (order - 1.0)
    before, at = entmax([0.99 * edge, 0.0], order)[1], entmax([edge, 0.0], order)[1]
    print(f"order {order}: edge {edge}, weight {before:.1e} before and {at} at it")

# %%
# Asked with ``exact(x)``, floats as intervals without width, the functions answer
# intervals: the true weight, not the one that a float happened to be.

print(softmax(exact(scores))[0])

gaps = np.linspace(0.0, 3.0, 301)
figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
for order in (1.0, 1.25, 1.5, 2.0):
    axes.plot(
        gaps, [entmax([gap, 0.0], order)[1] for gap in gaps], label=rf"$\alpha = {order}$"
    )
axes.set(
    xlabel="gap of two scores",
    ylabel="weight of the lower",
    title="from softmax to sparsemax",
)
axes.legend(frameon=False)
plt.show()

# %%
# Curves of a higher order fall faster and touch zero sooner. A model that is trained
# through such weights needs their derivative: ``entmax_vjp`` and its relations in
# :doc:`/made/api/theory.maxent`.
