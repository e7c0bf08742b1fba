"""The energy of several clusters climbs a staircase in log time, at the lifetimes of pairs."""

from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_least, at_most, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.particles import studies
from theory.particles.studies import STAIRCASE_ANGLES as ANGLES, STAIRCASE_BETAS as BETAS, STAIRCASE_WEIGHTS as MASSES
from verify.particles.lifetimes import equal, log_elapsed, near, ratio_of, travelled
from verify.textbook import hull

PAPER = ("geshkovski2024",)
DERIVED = ("derived",)

ROUNDED = Interval(1.0 - 2.0**-47, 1.0 + 2.0**-47)  # of the angles at which the study stops


@cache
def tree(beta, *, ratio=ratio_of, squares=True, added=True):
    """Per step the logarithm of the time at which the pair has half of its energy, if it were alone, and the law."""
    a, b, c, d = (ball(m) for m in MASSES)
    half = (1 - ball(2).log() / ball(beta)).acos()
    first, second = ball(ANGLES[1]), ball(ANGLES[3]) - ball(ANGLES[2])
    apart = ball(ANGLES[2]) + travelled(second, beta, (c, d), squares=squares)
    apart -= travelled(first, beta, (a, b), squares=squares)
    pairs = [(first, (a, b)), (second, (c, d)), (apart, (a + b, c + d) if added else (a, c))]
    alone = [log_elapsed(angle, half, beta, masses, ratio=ratio) for angle, masses in pairs]
    alone[2] = (alone[2].exp() + alone[1].exp()).log()
    laws = [ball(beta) * (1 - x.cos()) - (ratio(*masses) * ball(beta) * x.sin() ** 2).log() for x, masses in pairs]
    return list(zip(alone, laws, strict=True))


@verifies(
    Claim(
        "metastable.staircase",
        "the energy of four clusters climbs a staircase in log time, each step at the lifetime of a pair alone",
        r"masses $.3, .1, .4, .2$ at angles $0, .6, 1.6, 2.6$: $\log T_k$ is that of the pair alone, from where its clusters were formed, up to $e^{-\beta(\cos .6 - \cos 1)}$; until $T_k$ the energy, in units of its maximum, is $\sum_j m_j^2 + \theta e^{-\beta(1 - \cos\varphi)}$ with $2m_1m_2 \le \theta \le 1 - \sum_j m_j^2$",
        assumptions=(r"$\beta = 20, \dots, 320$", "SA on the circle"),
        spec=("FR.F18",),
        cites=PAPER,
        provenance=("derived", "seen"),
    ),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    hypothesis("lost", "a cluster that has formed has the mass of its first part", added=False),
    bug("barycentre", "pairs meet at their centre of mass", squares=False),
    constant("level", "a plateau lies lower by one part in a thousand", shift=0.999),
)
def test_staircase(run, *, ratio=ratio_of, squares=True, added=True, shift=1.0):
    table = run.study(studies.staircase)
    gap = hull(ball(ANGLES[1]).cos() - (ball(ANGLES[3]) - ball(ANGLES[2])).cos())
    a, b, c, d = (ball(m) for m in MASSES)
    held = [((a, b, c, d), 2 * a * b), ((a + b, c, d), 2 * c * d), ((a + b, c + d), 2 * (a + b) * (c + d))]
    for beta in BETAS:
        steps = tree(beta, ratio=ratio, squares=squares, added=added)
        for stage, ((claimed, _), (masses, pair)) in enumerate(zip(steps, held, strict=True), start=1):
            rows = table.where(beta=beta, stage=stage)
            (jump,) = rows.where(mark="jump").intervals("log_time")
            bound = np.exp(-beta * gap)
            yield from near(jump, hull(claimed), bound, beta=beta, stage=stage, part="time")
            level = hull(sum(m**2 for m in masses))
            for exponent, energy in zip(rows["exponent"].tolist(), rows.intervals("energy"), strict=True):
                lead = np.exp(-exponent * ROUNDED)
                where = {"beta": beta, "stage": stage, "exponent": exponent, "part": "plateau"}
                yield at_least(energy, shift * level + hull(pair) * lead, **where)
                yield at_most(energy, shift * level + (1 - level) * lead, **where)


@verifies(
    Claim(
        "metastable.steps",
        "each step comes at the asymptotic lifetime of its pair, and half of the time before it the energy has hardly moved",
        r"$\beta \to \infty$: $T_k\,r\beta\sin^2(\varphi_k)\,e^{-\beta(1 - \cos\varphi_k)} \to 1$ for the angle $\varphi_k$ at which the pair was formed; $e^{-\beta(1 - \cos\varphi)}$ has doubled at $T_k/2$, in the limit",
        assumptions=("the run of metastable.staircase",),
        spec=("FR.F18",),
        cites=PAPER,
        provenance=DERIVED,
    ),
    hypothesis("equal", "the masses are taken to be equal", ratio=equal),
    bug("barycentre", "pairs meet at their centre of mass", squares=False),
    constant("third", "it has doubled at two thirds of the time", left="1/3"),
)
def test_steps(run, *, ratio=ratio_of, squares=True, left="1/2"):
    table = run.study(studies.staircase)
    over, ages = {1: [], 2: [], 3: []}, {1: [], 2: [], 3: []}
    for beta in BETAS[1:]:
        for stage, (_, law) in enumerate(tree(beta, ratio=ratio, squares=squares), start=1):
            rows = table.where(beta=beta, stage=stage)
            (jump,), (half,) = (rows.where(mark=mark).intervals("log_time") for mark in ("jump", "doubled"))
            over[stage].append(np.exp(jump - hull(law)))
            ages[stage].append(np.exp(half - jump))
    for stage in (1, 2, 3):
        yield equals(limit(over[stage], order=1), 1, stage=stage, part="asymptote")
        yield equals(limit(ages[stage], order=1), hull(1 - ball(left)), stage=stage, part="doubled")
