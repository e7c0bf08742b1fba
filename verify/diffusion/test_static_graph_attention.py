"""Graph attention with an increasing activation prefers the same keys for every query; an even one is a distance."""

from fractions import Fraction

import numpy as np

from theory.attention import DotProduct, SquaredDistance, attend
from theory.diffusion.similarity import GraphScore, biased_weights, defects
from theory.evidence import Claim, at_least, at_most, ball, bug, constant, equals, exact, hypothesis, limit, verifies
from verify import textbook
from verify.textbook import balls

BRODY = ("ruan2024", "velickovic2018", "brody2022")
CIRCLE = np.column_stack([np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6)])
LEFT, RIGHT = np.array([1.0, -0.5]), np.array([0.5, 1.0])


def clouds(run, *, quick=3, paper=40):
    """Queries, keys, and both halves of the score's weights; a circle first."""
    yield CIRCLE, CIRCLE, LEFT, RIGHT
    for rng in run.draws(quick=quick, paper=paper):
        yield rng.normal(size=(20, 3)), rng.normal(size=(8, 3)), rng.normal(size=3), rng.normal(size=3)


@verifies(
    Claim(
        "pipeline.static-graph-attention",
        "the key that graph attention prefers does not depend on the query, while dot products tell queries apart",
        r"for an increasing $\sigma$, $\arg\max_y\sigma(\alpha_1\cdot x + \alpha_2\cdot y) = \arg\max_y\alpha_2\cdot y$: one favourite key for all queries; on twelve points of a circle dot products have twelve",
        assumptions=("LeakyReLU with a positive slope", "no ties"),
        spec=("DL.A5",),
        cites=BRODY,
        source_status=("derived", "recalled"),
    ),
    hypothesis("even", "the activation is even", slope=None),
    constant("dynamic", "there is a favourite for every query", least=2),
    bug("mixed", "the weights of query and key are a bilinear form", bilinear=True),
    constant("half", "dot products tell six of the twelve queries apart", told=6),
)
def test_static(run, *, slope=0.2, least=1, bilinear=False, told=12):
    for q, k, left, right in clouds(run):
        score = GraphScore(left, right, slope=slope)
        if bilinear:
            score = DotProduct(scale=1.0, form=np.outer(left, right) + np.eye(left.size))
        favourites = biased_weights(q, k, score).argmax(axis=1)
        yield equals(len(set(favourites.tolist())), least, scale=1, n=len(k), part="favourites")
        best = descending(balls(k) @ balls(right))[0]
        yield equals(int((favourites == best).sum()), len(q), scale=1, n=len(k), part="the largest key")
    own = biased_weights(CIRCLE, CIRCLE, DotProduct(scale=1.0)).argmax(axis=1)
    yield equals(len(set(own.tolist())), told, scale=1, part="dot product")


def descending(values):
    """The places of some balls, the largest first."""
    return sorted(range(len(values)), key=lambda j: -float(values[j].mid()))


@verifies(
    Claim(
        "pipeline.static-limit",
        "as the bandwidth shrinks all queries of graph attention read the same value; those of dot products do not",
        r"$|\mathrm{Att}(x) - v_{j^*}| \le 2(n - 1)\max|v|\,e^{-\lambda g/\tau}$ for every query, $j^* = \arg\max_j\alpha_2\cdot y_j$, g the gap to the second key, $\lambda = 0.2$ the slope",
        assumptions=("LeakyReLU of slope 0.2 below zero",),
        spec=("DL.A5",),
        cites=BRODY,
        source_status=("derived",),
    ),
    constant("one", "the slope is one throughout", slope=1.0),
    bug("query", "the favourite is the one of the query's weights", swapped=True),
    hypothesis("dot", "dot products do so too", dot=True),
)
def test_static_limit(run, *, slope=0.2, swapped=False, dot=False):
    witness = np.array([[-3.0], [0.5]]), np.array([[0.0], [1.0], [-0.5]]), np.array([1.0]), np.array([1.0])
    circle = (2.0 * CIRCLE, CIRCLE, LEFT, RIGHT)
    for q, k, left, right in (witness, circle, *list(clouds(run))[1:]):
        keys = balls(k) @ balls(left if swapped else right)
        values = np.eye(len(k))
        first, second = descending(keys)[:2]
        gap = keys[first] - keys[second]
        for temperature in (0.25, 0.03125):
            score = DotProduct(scale=1.0 / temperature) if dot else GraphScore(left, right, 0.2, temperature)
            output = attend(exact(q), k, values, score=score)
            bound = 2 * (len(k) - 1) * np.exp(-gap * ball(slope) / ball(temperature))
            yield at_most(abs(output - values[first]).max(), bound, scale=1, n=len(k), temperature=temperature)


@verifies(
    Claim(
        "pipeline.static-rate",
        "how fast: what is left for the other keys falls at the gap of the keys, times the slope where scores are negative",
        r"$-\tau\log(1 - p_{j^*}) \to \sigma(s_1) - \sigma(s_2)$: $g$ if the two largest $s = \alpha_1\cdot x + \alpha_2\cdot y$ are positive, $0.2g$ if they are negative",
        assumptions=("LeakyReLU of slope 0.2 below zero", "one largest and one second key"),
        spec=("DL.A5",),
        cites=BRODY,
        source_status=("derived",),
    ),
    constant("one", "the slope is one throughout", slope=Fraction(1)),
    bug("third", "the gap is the one to the third key", other=2),
    hypothesis("relu", "the activation is constant below zero, not increasing", activation=0.0),
)
def test_static_rate(run, *, slope=Fraction(1, 5), other=1, activation=0.2):
    keys = np.array([[0.0], [1.0], [-2.0]])
    one = np.ones(1)
    gap = {1: 1, 2: 3}[other]
    for part, query, share in (("negative", -3.0, slope), ("positive", 0.5, Fraction(1))):
        rates = []
        for temperature in (2.0 ** -(4 + level) for level in range(run.pick(quick=5, paper=6))):
            law = biased_weights(exact([[query]]), keys, GraphScore(one, one, activation, temperature))[0]
            left = law[[0, 2]].sum()  # all but the largest, which is the second one
            rates.append(-np.log(left) * temperature)
        yield equals(limit(rates, order=1), share * gap, scale=1, part=part)


@verifies(
    Claim(
        "pipeline.even-activation",
        "graph attention is attention by a distance for the activation -s^2, opposite weights and one dimension; LeakyReLU does not qualify",
        r"$f(x, y) = -\sigma(\alpha(x - y)) = \alpha^2|x - y|^2$ for $\sigma(s) = -s^2$, $\alpha_1 = -\alpha_2$, $d = 1$",
        remark=r"for $\sigma = \mathrm{LeakyReLU}$ f is negative and asymmetric; in two dimensions f vanishes across $\alpha$",
        assumptions=(r"$\alpha_1 = -\alpha_2$",),
        spec=("DL.A5",),
        cites=BRODY,
        source_status=("seen", "derived"),
    ),
    hypothesis("leaky", "LeakyReLU qualifies too", slope=0.2),
    bug("equal", "both weights are equal", sign=1.0),
    constant("factor", "the factor is the size of the weight, not its square", power=1),
    hypothesis("not-across", "the two tokens are not quite apart across the weight", across=1.01),
    hypothesis("even-too", "LeakyReLU is taken for the even activation", leaky=None),
)
def test_even_activation(run, *, slope=None, sign=-1.0, power=2, across=1.0, leaky=0.2):
    line = np.array([[0.0], [1.0], [3.0]])
    for x in (line, *(rng.normal(size=(6, 1)) for rng in run.draws(quick=3, paper=40))):
        tokens = exact(x)
        n = len(x)
        for alpha in (1.5, 0.75):
            score = GraphScore([alpha], [sign * alpha], slope)
            law = biased_weights(tokens, tokens, score)
            claimed = textbook.laws(textbook.distance_scores(x, x, beta=alpha**power))
            yield equals(law, claimed, scale=1, alpha=alpha, n=n, part="law")
            found = defects(-score.matrix(tokens, tokens))._asdict()
            for axiom in ("negative", "diagonal", "asymmetry"):
                yield at_most(found[axiom], 0, scale=1, part=axiom, n=n)
            by_distance = biased_weights(tokens, tokens, SquaredDistance(alpha**2))
            yield equals(law - by_distance, np.zeros((n, n)), scale=1, part="distance attention", n=n)
    plane = np.array([[0.0, 0.0], [2.0, across]])  # apart across (1, -2)
    flat = -GraphScore([1.0, -2.0], [-1.0, 2.0], None).matrix(plane, plane)[0, 1]
    yield equals(exact(flat), 0, scale=1, part="two dimensions")
    found = defects(-GraphScore([1.0], [-1.0], leaky).matrix(line, line))
    yield at_least(exact(found.negative), Fraction(5, 2), scale=1, part="LeakyReLU is negative")
    yield at_least(exact(found.asymmetry), Fraction(5, 2), scale=1, part="LeakyReLU is asymmetric")
