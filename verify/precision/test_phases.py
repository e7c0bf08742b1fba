"""Phases of rotary positions when frequencies are kept in few bits: what is lost grows with the position."""

from functools import cache

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    equals,
    hull,
    hypothesis,
    verifies,
)
from theory.precision import rotary_phases, round_to

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
HALF_LEAST = {"float16": 2.0**-25}  # of frequencies; in the other formats none of them is below the normal numbers
BASES, DIM = (1e4, 5e5), 128
POSITIONS = {"quick": (4095, 131071), "paper": (1, 255, 4095, 32767, 131071, 2**20)}
KINDS = (
    ("float64", "float64"), ("float64", "float32"), ("float32", "float32"), ("float16", "float32"),
    ("bfloat16", "float32"),
)  # fmt: skip
LARGEST = {
    ("float32", 4095): "1.37e-4", ("float32", 131071): "2.67e-3", ("float16", 4095): "0.990", ("float16", 131071): "31.7",
    ("bfloat16", 4095): "5.01", ("bfloat16", 131071): "160",
}  # fmt: skip  # radians, at the base 10000

WAVES = (lambda b: b.cos(), lambda b: b.sin())


@cache
def frequencies(base, dim=DIM):
    """The angles of one step, by exponentials of logarithms."""
    return np.array([(-2 * i * ball(base).log() / dim).exp() for i in range(dim // 2)], dtype=object)


@cache
def errors(base, position, kept, product, placed):
    """Phases that were computed, right ones, and how far they are apart."""
    read = int(round_to([position], "bfloat16")[0]) if placed else position
    found = balls(rotary_phases(base, DIM, [read], frequencies=kept, product=product)[0])
    right = position * frequencies(base)
    return found, right, np.abs(found - right)


@verifies(
    Claim(
        "rotary.phases",
        "the phase of a rotary position is off by the position times what rounding does to the frequency, and by the rounding of their product",
        r"$\theta_i = b^{-2i/d}$ rounded to a format with unit roundoff $u$ and half its least positive number $h$, the product with a whole $m$ to one with $w$: $|\hat\phi_i - m\theta_i| \le m(w\theta_i + (1 + w)\max(u\theta_i, h))$, of which $.93$ is attained in bfloat16 and $.9$ by products in float32; cosines and sines are off by at most $2\sin\frac{\min(\delta, \pi)}2$, $\delta$ that bound; at $b = 10^4$, $d = 128$ the largest error at $m = 4095$, $131071$ is $1.37\cdot10^{-4}$, $2.67\cdot10^{-3}$ in float32, $.990$, $31.7$ in float16 and $5.01$, $160$ in bfloat16",
        assumptions=(
            "roundings to nearest",
            "positions are exact; bases $10^4$ and $5\\cdot10^5$, products in float32 (float64)",
        ),
        spec=("FN.N08",),
        cites=("su2024",),
        remark="at dimension 32 and base 10000, in float16 throughout, position 1857 has the phase 1045 where 1044.268 is right",
        source_status=("derived",),
    ),
    constant("as-float32", "frequencies in few bits have the bound of those in float32", unit=2.0**-24),
    hypothesis("no-distance", "what rounding a frequency costs does not depend on the position", far=False),
    hypothesis("exact-product", "products are not rounded", product_rounds=False),
    hypothesis("no-subnormals", "frequencies have their relative precision however small they are", subnormal=False),
    constant("whole", "the bounds are attained", attained=1.0),
    bug("placed", "positions are read in bfloat16", placed=True),
)
def test_phases(run, *, unit=None, far=True, product_rounds=True, subnormal=True, attained=None, placed=False):
    for base in BASES:
        for position in POSITIONS[run.scale]:
            for kept, product in KINDS:
                found, right, off = errors(base, position, kept, product, placed)
                u = UNITS[kept] if unit is None else min(unit, UNITS[kept])
                w = ball(UNITS[product] if product_rounds else 0.0)
                least = HALF_LEAST.get(kept, 0.0) if subnormal else 0.0
                case = {"base": base, "position": position, "frequencies": kept, "product": product}
                steps = position if far else 1
                bounds = []
                for theta in frequencies(base):
                    rounded = max(u * theta, ball(least), key=lambda b: b.mid())
                    bounds.append(position * w * theta + steps * (1 + w) * rounded)
                shares = [hull(one / bound) for one, bound in zip(off, bounds, strict=True)]
                yield at_most(Interval.largest(shares), 1, part="phases", **case)
                moved = np.maximum(*(np.abs([f(a) - f(b) for a, b in zip(found, right, strict=True)]) for f in WAVES))
                chords = [2 * (bound / 2).sin() if bound < 3 else ball(2) for bound in bounds]
                for one, chord in zip(moved, chords, strict=True):
                    yield at_most(hull(one), hull(chord), part="cosines", **case)
                if base == BASES[0] and (kept, position) in LARGEST:
                    largest = hull(max(off, key=lambda b: b.mid()))
                    yield equals(largest, Interval.printed(LARGEST[kept, position]), part="largest", **case)
                if base == BASES[0] and kept == "bfloat16":
                    yield at_least(Interval.largest(shares), attained or 0.93, part="attained", **case)
    _, _, off = errors(5e5, 32767, "float64", "float32", placed)
    bound = 32767 * UNITS["float32"] * frequencies(5e5)[3]
    yield at_least(hull(off[3] / bound), attained or 0.9, part="attained", product="float32")
    read = int(round_to([1857], "bfloat16")[0]) if placed else 1857
    phase = rotary_phases(1e4, 32, [read], frequencies="float16", product="float16")[0, 1]
    yield equals(Interval.exactly(phase), 1045, part="in use", position=1857)
    yield equals(hull(1857 * frequencies(1e4, 32)[1]), Interval.printed("1044.268"), part="in use", position=1857)
