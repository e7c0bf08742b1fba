r"""
6 A theorem of your own
=======================

Softmax of equal scores is uniform and has the entropy :math:`\log n`. How much entropy can
:math:`n` scores of range :math:`\varrho` take away? Along :math:`p_t \propto e^{ts}` the loss
is :math:`\int_0^1 t\,\mathrm{Var}_{p_t}(s)\,dt`, and no variance exceeds :math:`\varrho^2/4`.
So it is at most :math:`\varrho^2/8`. Let us have that decided.
"""
# %%
# A *claim* says it in words and in TeX. The *check* measures, on cases that it draws and on
# named ones, and yields findings. The *twins* are the same check with something broken, and
# must be refuted: that is how we know that the check can see.

import inspect
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from theory.evidence import (
    Claim,
    Run,
    at_most,
    constant,
    decide,
    exact,
    hypothesis,
    verifies,
)
from theory.maxent import softmax


@verifies(
    Claim(
        "mine.entropy",
        "softmax takes at most an eighth of the squared range of the scores from the entropy",
        r"$\log n - H(p) \le \varrho^2/8$",
        assumptions=("temperature one",),
    ),
    constant("ninth", "a ninth instead of an eighth", share=1 / 9),
    hypothesis("cooler", "the temperature is 0.8", tau=0.8),
)
def test_entropy(run, *, share=1 / 8, tau=1.0):
    drawn = [rng.normal(size=6) for rng in run.draws(quick=50, paper=1000)]
    for scores in [*drawn, np.array([0.0, 0.25])]:  # there the bound is nearly attained
        s = exact(scores)
        p = softmax(s, tau=tau)
        lost = (p * np.log(len(scores) * p)).sum()
        yield at_most(lost, share * (s.max() - s.min()) ** 2, n=len(scores))


# %%
# ``exact`` asks with floats that are known exactly, so softmax answers intervals, and NumPy
# keeps their error: there is no tolerance to choose. One rule judges the findings.

found = decide(test_entropy, Run("mine.entropy"))
print(f"{found.verdict.value}, {found.kind.name.lower()}, on {found.cases} cases")
print(f"the largest loss is {found.tightness:.3f} of its bound")
for result in found.twins:
    print(
        f"{result.twin.id}: caught {result.catches}, by {result.departure.lo:.3f} of the bound"
    )

# %%
# Drawn scores are far from the bound: the pair of nearly equal ones is what makes it sharp, to
# a factor of 0.992, and what catches the wrong constant. Who claims a tenth is told:

tenth = replace(test_entropy, check=partial(test_entropy.check, share=1 / 10))
wrong = decide(tenth, Run("mine.entropy"))
print(
    f"{wrong.verdict.value} at case {wrong.number}, by {wrong.departure.lo:.2f} of the bound"
)

ranges = np.linspace(0.01, 4.0, 100)
figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
for n in (2, 6, 30):
    laws = [softmax(np.where(np.arange(n) < 1, r, 0.0)) for r in ranges]
    losses = [(p * np.log(n * p)).sum() for p in laws]
    axes.plot(ranges, losses, label=f"one of {n} scores is larger")
axes.plot(ranges, ranges**2 / 8, "k--", label=r"claimed: at most $\varrho^2/8$")
axes.set(xlabel=r"range $\varrho$", ylabel=r"$\log n - H(p)$", ylim=(0, 1.2))
axes.set_title("what softmax takes from the entropy")
axes.legend(frameon=False, fontsize="small")
plt.show()

# %%
# In a repository a claim is a test file. ``--record`` writes its evidence down: commit that, and
# later runs compare with it. ``explain`` and ``cite`` read it; the line of LaTeX has only digits
# that the evidence vouches for.

head = """import numpy as np
from theory.evidence import Claim, at_most, constant, exact, hypothesis, verifies
from theory.maxent import softmax

"""
folder = Path(tempfile.mkdtemp())
(folder / "test_mine.py").write_text(head + inspect.getsource(test_entropy.check))


def shell(*command):
    command = [sys.executable, "-m", *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


print("passed:", "1 passed" in shell("pytest", "test_mine.py", "--record"))
print("written:", *(path.name for path in folder.glob("evidence/*")))
print(shell("theory", "cite", "mine.entropy", "--format", "latex"))

# %%
# The rules for claims and twins are in :doc:`/made/contributing`. *Supported* speaks of the
# cases that were run: the short derivation above is what proves it, and what the check adds is
# that constant and hypotheses were written down right.
