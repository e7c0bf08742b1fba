"""Which entries entmax gives weight: the rule that needs no solving, nesting, saturation, and who gains by the order."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np

from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import balls, hull
from theory.maxent import entmax, studies
from theory.maxent.sparse import entmax_support
from verify import textbook
from verify.maxent.test_entmax import definition, weight_bound

SOURCES = ("peters2019", "blondel2020")
DERIVED = ("derived", "refereed")
OFF = float(weight_bound(14))  # of a weight of order at most two, of as many scores as there are here
EXACT = {2.0: 1, 1.5: 2, 1.25: 4, 1.125: 8}  # orders whose power 1 / (alpha - 1) is an integer: rational arithmetic


def leads(s, alpha, tau, power):
    """The sums of [(alpha - 1)(s_j - s_i)/tau]_+ ** power in rational numbers, one for each i."""
    z = [Fraction(alpha - 1.0) * Fraction(x) / Fraction(tau) for x in s.tolist()]
    return [sum(max(a - b, Fraction(0)) ** power for a in z) for b in z]


def supports(run):
    """Yield scores and temperatures: named rows at two of them, then random ones."""
    for row in ([1.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0], [4.0, 0.0]):
        for tau in (1.0, 0.5):
            yield np.array(row), tau
    for rng in run.draws(quick=8, paper=150):
        yield rng.normal(size=int(rng.integers(2, 12))), float(rng.choice([0.25, 0.5, 1.0, 2.0]))


def broken(rule, s, alpha, tau):
    """Where a rule for the support contradicts the instruments or the definition, by part."""
    computed = entmax(s, alpha, tau=tau)
    law = definition(tuple(s.tolist()), alpha, tau)
    some, much = (np.array([weight.lower() > x for weight in law]) for x in (0, OFF))
    never = np.array([weight.upper() <= 0 for weight in law])
    return {
        "without solving": rule != (entmax_support(s, alpha, tau=tau) > 0.0),
        "definition": (some & ~rule) | (never & rule),
        # a weight below its rounding is left open
        "solved": ((computed > OFF) & ~rule) | ((computed == 0.0) & rule & much),
    }


@verifies(
    Claim(
        "entmax.support",
        "an entry has weight if and only if a sum of powers of the leads over it is below one; so all have down to a known temperature",
        r"$p_i > 0 \iff \sum_j[(\alpha-1)(s_j - s_i)/\tau]_+^{1/(\alpha-1)} < 1$; all: $\tau > (\alpha - 1)\|s - \min s\|_{1/(\alpha-1)}$",
        assumptions=(r"$\alpha > 1$",),
        spec=("RA.D4", "RA.A4"),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    constant("half", "the sum is below one half", limit=Fraction(1, 2)),
    bug("closed", "the sum may equal one", closed=True),
    bug("exponent", "the exponent is one for every order", plain=True),
    hypothesis("temperature", "the leads are not divided by the temperature", cooled=False),
)
def test_support(run, *, limit=Fraction(1), closed=False, plain=False, cooled=True):
    for s, tau in supports(run):
        for alpha, power in EXACT.items():
            sums = leads(s, alpha, tau if cooled else 1.0, 1 if plain else power)
            rule = np.array([x < limit or (closed and x == limit) for x in sums])
            for part, wrong in broken(rule, s, alpha, tau).items():
                yield equals(int(wrong.sum()), 0, scale=s.size, part=part, alpha=alpha, tau=tau, n=s.size)
        if (s == s[0]).all() or tau != 1.0:
            continue
        for alpha in (*EXACT, 3.0):  # on either side of the temperature at which the smallest score loses its weight
            e = ball(alpha) - 1
            power = e * 0 + 1 if plain else 1 / e
            apart = sum(x**power for x in balls(s) - ball(s.min()) if x > 0) ** (1 / power)
            threshold = hull(e * apart / ball(limit) ** (1 / power)).mid
            for share, check in ((1.001, at_least), (0.999, at_most)):
                law = definition(tuple(s.tolist()), alpha, share * threshold)
                kept = sum(bool(x > 0 if share > 1.0 else not x <= 0) for x in law)
                every = s.size if share > 1.0 else s.size - int(np.count_nonzero(s == s.min()))
                yield check(kept, every, alpha=alpha, n=s.size, share=share, part="all")


@cache
def decided(s, alpha, tau, trailing=False):
    """Which of these scores have weight by the sums of their leads, in balls; None where a ball cannot tell."""
    e = ball(alpha) - 1
    z = [ball(x) * e / ball(tau) for x in s]
    sums = []
    for own in z:
        apart = [own - x if trailing else x - own for x in z]
        sums.append(sum((x ** (1 / e) for x in apart if x > 0), ball(0)))
    return [True if x < 1 else False if x >= 1 else None for x in sums]


@verifies(
    Claim(
        "entmax.nested",
        "the support holds the larger scores, grows with the temperature, and shrinks as the order grows",
        r"$s_i \ge s_j$, $\tau' \ge \tau$, $\alpha' \le \alpha$: $p_j(\tau, \alpha) > 0 \Rightarrow p_i(\tau', \alpha') > 0$",
        assumptions=(r"$\alpha, \alpha' > 1$",),
        spec=("RA.D4",),
        cites=SOURCES,
        source_status=DERIVED,
    ),
    bug("colder", "it grows as the temperature falls", warmer=-1),
    hypothesis("both", "the temperature grows along with the order", along=1.5),
    bug("trailing", "what counts is how far an entry leads the others, not they it", trailing=True),
)
def test_nested(run, *, warmer=1, along=0.0, trailing=False):
    orders = (1.05, 1.4, 1.75, 2.0, 2.5, 4.0, 10.0)
    temperatures = (0.1, 0.3, 1.0, 3.0)[::warmer]
    rows = [np.array([1.0, 0.9, 0.0])]
    rows += [rng.normal(size=int(rng.integers(3, 10))) for rng in run.draws(quick=10, paper=300)]
    for s in rows:
        falling = tuple(np.sort(s)[::-1].tolist())
        grid = [[decided(falling, a, t * (a - 1.0) ** along, trailing) for a in orders] for t in temperatures]
        steps = {  # from an entry that has weight to one that must have it then
            "scores": [(b, a) for line in grid for kept in line for a, b in itertools.pairwise(kept)],
            "temperature": [
                pair
                for a, b in itertools.pairwise(grid)
                for x, y in zip(a, b, strict=True)
                for pair in zip(x, y, strict=True)
            ],
            "order": [pair for line in grid for a, b in itertools.pairwise(line) for pair in zip(b, a, strict=True)],
        }
        for part, pairs in steps.items():
            lost = sum(here is True and there is False for here, there in pairs)
            yield equals(lost, 0, scale=len(pairs), part=part, n=s.size)


@verifies(
    Claim(
        "entmax.majorised",
        "as the order grows the law becomes more concentrated: the k largest weights together never lose",
        r"$\alpha < \beta \Rightarrow \sum_{i\le k}p_{(i)}(\alpha) \le \sum_{i\le k}p_{(i)}(\beta)$; $\partial_\alpha p_i = q_i(h_i - \bar h)$, $h = (x - (1 + x)\log(1 + x))/(\alpha-1)^2$ increasing in $p_i = (1 + x)^{1/(\alpha-1)}$",
        assumptions=("fixed scores and temperature", r"$\frac12 \le \alpha < \beta \le 2$"),
        spec=("RA.D4",),
        cites=("peters2019",),
        source_status=("derived",),
    ),
    hypothesis("each", "each weight but the largest loses by itself", together=False),
    bug("reversed", "the k smallest weights together never lose", descending=False),
    constant("faster", "the k largest weights together gain one in a thousand each time", gain=1e-3),
)
def test_majorised(run, *, together=True, descending=True, gain=0.0):
    orders = np.array([0.5, 0.8, 1.0, 1.0 + 1e-9, 1.1, 1.25, 1.5, 1.75, 2.0])
    rows = [
        np.array([1.0, 0.9, 0.0]),
        *(rng.normal(size=int(rng.integers(2, 15))) for rng in run.draws(quick=20, paper=500)),
    ]
    for s in rows:
        ordered = exact(np.sort(s)[::-1] if descending else np.sort(s))
        lower = np.tril(np.ones((s.size, s.size)))
        laws = [entmax(ordered, float(alpha)) for alpha in orders]
        sums = [lower @ law if together else 1.0 - law[1:] for law in laws]
        for alpha, (before, after) in zip(orders, itertools.pairwise(sums), strict=False):
            yield at_least((after - before).min() - gain, 0, scale=1, alpha=float(alpha), n=s.size)


PRINTED = {1.0: ".398", 1.25: ".417", 1.5: ".442", 2.0: ".450", 3.0: ".400", 5.0: ".204", 8.0: ".050"}


@verifies(
    Claim(
        "entmax.losing-weight",
        "a losing coordinate may gain by a higher order: the second weight of (1, .9, 0) rises, then falls",
        r"$s = (1, .9, 0)$: $p_2 = .398, .417, .442, .450, .400, .204, .050$ at $\alpha = 1, 1.25, 1.5, 2, 3, 5, 8$; $p_2(2) - p_2(1) \ge .05$",
        spec=("RA.D4",),
        cites=("peters2019",),
        source_status=DERIVED,
    ),
    hypothesis("far", "the weight is that of the score that lies a whole unit behind", entry=3),
    constant("more", "it gains twice as much", least=0.1),
)
def test_losing_weight(run, *, entry=2, least=0.05):
    table = run.study(studies.weights).where(scores="three")
    found = dict(zip(table["alpha"].tolist(), table.intervals(f"p{entry}"), strict=True))
    for alpha, digits in PRINTED.items():
        law = textbook.entmax(np.array(studies.THREE), alpha)[1]
        yield equals(found[alpha], law, scale=1, alpha=alpha, part="weight")
        yield at_most(abs(found[alpha] - Fraction(digits)), 0.0005, scale=1, alpha=alpha, part="printed")
    yield at_least(found[2.0] - found[1.0], least, scale=1, part="gain")


@verifies(
    Claim(
        "entmax.saturation",
        "entmax is exactly uniform on the m largest scores as soon as the others lie a finite gap below",
        r"$p = \mathbf 1_M/m \iff \delta \ge \tau\frac{m^{1-\alpha}}{\alpha-1}$, $\delta = \max s - \max_{i\notin M}s_i$; $m = 1$: $\delta \ge \tau/(\alpha-1)$",
        assumptions=(r"$\alpha > 1$", "$m < n$"),
        spec=("RA.D5", "FR.F06"),
        cites=SOURCES,
        source_status=("derived", "refereed"),
    ),
    bug("ties-ignored", "the gap is tau/(alpha - 1) however many scores are largest", tied=0),
    constant("smaller", "the gap is one in ten thousand smaller", factor=1.0 - 1e-4),
    bug("temperature", "the temperature is missing", cooled=False),
    constant("unit", "the gap of a single largest score is tau at every order", unit=True),
    hypothesis("uneven", "the largest scores are not quite equal", uneven=2.0**-10),
)
def test_saturation(run, *, tied=1, factor=1.0, cooled=True, unit=False, uneven=0.0):
    cases = [(3, 4, 1.5, 1.0), (4, 5, 1.5, 1.0), (2, 4, 2.0, 1.0), (1, 2, 1.5, 0.5), (999, 1000, 2.0, 1.0)]
    for rng in run.draws(quick=12, paper=200):
        m = int(rng.integers(1, 9))
        cases.append(
            (m, m + int(rng.integers(1, 5)), float(rng.choice([1.2, 1.5, 2.0, 3.0, 5.0])), float(rng.uniform(0.2, 3.0)))
        )
    for m, n, alpha, tau in cases:
        case = {"m": m, "n": n, "alpha": alpha, "tau": tau}
        power = ball(m) ** (tied * (1 - ball(alpha)))
        order = ball(alpha) - 1 if m > 1 or not unit else ball(1)
        gap = factor * float(hull((ball(tau) if cooled else 1) * power / order).mid)
        for part, near, size in (("saturated", 1.0 + 1e-9, m), ("not yet", 1.0 - 1e-9, n)):
            s = np.where(
                np.arange(n) < m, -uneven * (np.arange(n) == 0), -gap * near
            )  # all others tie, so all enter at once
            yield equals(int(entmax_support(s, alpha, tau=tau).sum()), size, scale=n, part=part, **case)
            if part == "saturated":
                law = exact(entmax(s, alpha, tau=tau))
                uneven_by = np.concatenate([law[:m] - law[0], law[m:]])
                yield equals(uneven_by, 0, scale=1, part="uniform", **case)
    for m, alpha, gap in ((4, 1.5, 1.0), (2, 2.0, 0.5), (1, 2.0, 1.0)):  # thresholds that are floats
        s = np.append(np.zeros(m), -gap * factor)
        yield equals(int(np.count_nonzero(entmax(s, alpha))), m, scale=m, part="attained", m=m, alpha=alpha)
    s = np.append(np.zeros(3), -0.99 * factor * 2.0 * 3.0 ** (-0.5 * tied))
    claimed = textbook.entmax(np.append(np.zeros(3), -0.99 * 2.0 * 3.0**-0.5), 1.5)[3]
    yield equals(entmax(exact(s), 1.5)[3], claimed, scale=1, part="at 0.99")
