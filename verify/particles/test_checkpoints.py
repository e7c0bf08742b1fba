"""Runs of fixed steps that are cut and go on: to the same bytes as if nothing had happened."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from theory.evidence import Claim, bug, equals, hypothesis, verifies
from theory.particles import RK4, SPHERE, Diffusion, Noise, RungeKutta, on_sphere, run_checkpointed, sample
from theory.particles.dynamics import BLOCK, EULER_MARUYAMA, GEODESIC, PLATEN, PROJECTED
from verify.inputs import draw_on_sphere

FIELD = on_sphere(2.0)
STEPS = 12


@dataclass(frozen=True)
class Sequence:
    """Normal numbers one after another, as of a generator that a process starts anew."""

    first: int
    second: int

    def __post_init__(self):
        object.__setattr__(self, "drawn", np.random.Generator(np.random.Philox(self.first)))

    def normals(self, _number, rows, columns, **_more):
        """The next numbers, whichever step they are asked for."""
        return self.drawn.standard_normal((rows, columns))


def changed(found, expected):
    """How many numbers differ in a bit."""
    return int((found.view(np.uint64) != expected.view(np.uint64)).sum())


def shorten(place):
    """Keep the state of a file in single precision."""
    with np.load(place) as stored:
        parts = dict(stored)
    parts["state"] = parts["state"].astype(np.float32).astype(np.float64)
    np.savez(place, **parts)


def resumed(stepper, x, cuts, *, halved):
    """The end of a run that was cut after these steps and went on from its file, each time in a new process."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "run.npz"
        for cut in cuts:
            run_checkpointed(stepper(), x, steps=cut, path=place)
            if halved:
                shorten(place)
        return run_checkpointed(stepper(), x, steps=STEPS, path=place)


@verifies(
    Claim(
        "flow.resumed",
        "a run of fixed steps that is cut and resumed, any number of times, ends in the same bytes as one that is not",
        r"$x_{k + 1} = \Phi_k(x_k)$, noise by key, step and row: $x_N$ from $x_0$ and from a stored $x_k$ agree bit by bit, and independent rows in blocks with all rows at once",
        assumptions=("one machine", "the state is stored in float64"),
    ),
    bug("sequence", "the noise is drawn one number after another, so that a new process starts anew", noise=Sequence),
    bug("recount", "a run that goes on counts its steps from zero", counted=False),
    bug("same-rows", "a block of rows draws what the first one draws", placed=False),
    hypothesis("single", "the state is stored in single precision", halved=True),
)
def test_resumed(run, *, noise=Noise, counted=True, placed=True, halved=False):
    for rng in run.draws(quick=2, paper=20):
        x = draw_on_sphere(rng, 5, 3)
        cuts = np.sort(rng.choice(np.arange(1, STEPS), size=3, replace=False)).tolist()
        key = Noise.drawn(rng)
        steppers = {"RK4": lambda: RungeKutta(FIELD, 0.1, RK4, SPHERE)}
        for scheme in (EULER_MARUYAMA, PLATEN, GEODESIC, PROJECTED):
            steppers[scheme.name] = lambda s=scheme, k=key: Diffusion(FIELD, 0.3, 0.05, noise(k.first, k.second), s)
        for name, stepper in steppers.items():
            whole = run_checkpointed(stepper(), x, steps=STEPS)
            again = resumed(stepper, x, cuts, halved=halved)
            yield equals(changed(again, whole), 0, scale=x.size, scheme=name, part="from a file")
            if name != "RK4":
                early = sample(stepper(), x, steps=cuts[0])
                late = sample(stepper(), early, steps=STEPS - cuts[0], first=cuts[0] if counted else 0)
                yield equals(changed(late, whole), 0, scale=x.size, scheme=name, part="from a state")
    rows = np.zeros((BLOCK + 8, 1))
    blocks = [(0, rows[:BLOCK]), (BLOCK if placed else 0, rows[BLOCK:])]
    whole = sample(Diffusion(None, 1.0, 0.1, Noise(1, 2)), rows, steps=3)
    parts = [sample(Diffusion(None, 1.0, 0.1, Noise(1, 2), above=k), x, steps=3) for k, x in blocks]
    yield equals(changed(np.vstack(parts)[-8:], whole[-8:]), 0, scale=8, part="in blocks")
