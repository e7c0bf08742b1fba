"""Heads are summed through their slices of the output matrix; the causal kernel sees what is not later."""

import numpy as np
import pytest

from tests.attention import exact
from theory import Measure, attend
from theory.attention import CausalKernel, DotProduct, Head, MultiHead, SquaredDistance, rounding
from theory.evidence import ball, stream
from theory.evidence.enclosure import balls, precision
from theory.maxent import entmax, softmax

PLAIN = DotProduct(scale=1.0)
EYE = np.eye(2)


def matrices(rng, heads, d_k, d_v, d):
    """Query, key, value and output matrices of ``heads`` heads on tokens of dimension ``d``."""
    shapes = (heads * d_k, d), (heads * d_k, d), (heads * d_v, d), (d, heads * d_v)
    return [rng.normal(size=shape) / 2.0 for shape in shapes]


@precision()
def multi_head(x, mu, w_query, w_key, w_value, w_out, heads, visible=None):
    """Multi-head attention as it is printed, in balls: block h of the rows belongs to head h."""
    d_k, d_v = w_query.shape[0] // heads, w_value.shape[0] // heads
    output = balls(np.zeros((x.shape[0], w_out.shape[0])))
    for h in range(heads):
        own, out = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        queries = balls(x) @ balls(w_query[own]).T
        keys = balls(mu.points) @ balls(w_key[own]).T
        laws = exact.laws(queries @ keys.T * ball(d_k).rsqrt(), mu.weights, visible)[0]
        output = output + laws @ (balls(mu.points) @ balls(w_value[out]).T) @ balls(w_out[:, out]).T
    return output


@pytest.mark.parametrize(("heads", "d_k", "d_v", "d"), [(1, 1, 1, 1), (1, 2, 3, 2), (2, 2, 1, 3), (3, 1, 2, 4)])
def test_multi_head_and_its_bound_against_balls(heads, d_k, d_v, d):
    for case in range(5):
        rng = stream(f"tests.heads.{heads}.{d_k}.{d_v}.{d}", case)
        weights = matrices(rng, heads, d_k, d_v, d)
        n = int(rng.integers(1, 12))
        mu = Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=(3, d))
        layer = MultiHead.from_matrices(*weights, heads=heads)
        bound = layer.rounding(x, mu)
        assert exact.apart(layer(x, mu), multi_head(x, mu, *weights, heads)) <= bound <= 1e-10
        causal = layer(mu.points, mu, causal=True)
        truth = multi_head(mu.points, mu, *weights, heads, np.arange(1, n + 1))
        assert exact.apart(causal, truth) <= layer.rounding(mu.points, mu)


def test_heads_take_blocks_of_rows_and_of_columns():
    rng = stream("tests.heads.blocks", 0)
    w_query, w_key, w_value, w_out = matrices(rng, 2, 3, 2, 4)
    first, second = MultiHead.from_matrices(w_query, w_key, w_value, w_out, heads=2).heads
    assert np.array_equal(first.w_query, w_query[:3])
    assert np.array_equal(second.w_query, w_query[3:])
    assert np.array_equal(second.w_key, w_key[3:])
    assert np.array_equal(second.w_value, w_value[2:])
    assert np.array_equal(first.w_out, w_out[:, :2])
    assert np.array_equal(second.w_out, w_out[:, 2:])


def test_identity_head_is_attention():
    rng = stream("tests.heads.identity", 0)
    mu = Measure(rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6)))
    x = rng.normal(size=(3, 2))
    head = Head(EYE, EYE, EYE, EYE)
    expected = attend(x, mu.points, mu.points, weights=mu.weights)
    assert np.array_equal(head.output(x, mu), expected)
    assert np.array_equal(MultiHead((head,))(x, mu), expected)
    distant = Head(EYE, EYE, EYE, EYE, SquaredDistance(0.5))
    assert np.array_equal(
        distant.output(x, mu), attend(x, mu.points, mu.points, score=SquaredDistance(0.5), weights=mu.weights)
    )


def test_matrices_are_read_only_copies():
    given = np.eye(2)
    head = Head(given, given, given, given)
    for array in (head.w_query, head.w_key, head.w_value, head.w_out):
        assert not array.flags.writeable
        assert not np.shares_memory(array, given)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 2), (2, 2), (2, 3), (2, 2)), r"w_value: expected shape \(n, 2\), got shape \(2, 3\)"),
        (((2, 2), (2, 2), (3, 2), (2, 2)), r"w_out: expected shape \(n, 3\), got shape \(2, 2\)"),
    ],
)
def test_head_of_shapes_that_do_not_fit(shapes, words):
    with pytest.raises(ValueError, match=rf"^{words}$"):
        Head(*(np.ones(shape) for shape in shapes))


def test_queries_and_keys_of_unlike_projections():
    """They may differ, since a score may take unlike dimensions; the dot product does not."""
    head = Head(np.ones((2, 2)), np.ones((3, 2)), EYE, EYE)
    with pytest.raises(ValueError, match=r"^[a-z_]+: expected .*2.*, got .*3"):
        head.output([[1.0, 2.0]], Measure([[1.0, 2.0]]))


@pytest.mark.parametrize("heads", [0, -1, 3])
def test_bad_number_of_heads(heads):
    with pytest.raises(
        ValueError, match=r"^(heads: expected an integer of at least 1, got|w_query: expected a multiple)"
    ):
        MultiHead.from_matrices(*[np.eye(4)] * 4, heads=heads)


def test_matrices_that_do_not_split():
    for which, name in enumerate(("w_query", "w_key", "w_value")):
        weights = [np.ones((4, 2)), np.ones((4, 2)), np.ones((4, 2)), np.ones((2, 4))]
        weights[which] = np.ones((3, 2))
        if name == "w_value":
            weights[3] = np.ones((2, 3))
        with pytest.raises(ValueError, match=rf"^{name}: expected a multiple of 2 rows, got 3$"):
            MultiHead.from_matrices(*weights, heads=2)


def test_heads_that_do_not_fit_together():
    with pytest.raises(ValueError, match=r"^heads: expected at least one, all of the same dimensions, got \[\]$"):
        MultiHead(())
    other = Head(np.ones((2, 3)), EYE, EYE, EYE)
    with pytest.raises(
        ValueError, match=r"^heads: expected at least one, all of the same dimensions, got \[\(2, 2, 2\)"
    ):
        MultiHead((Head(EYE, EYE, EYE, EYE), other))


def test_tokens_of_another_dimension():
    layer = MultiHead((Head(EYE, EYE, EYE, EYE),))
    with pytest.raises(ValueError, match=r"^x: expected shape \(n, 2\), got shape \(1, 3\)$"):
        layer([[1.0, 2.0, 3.0]], Measure(EYE))
    with pytest.raises(ValueError, match=r"^mu: expected shape \(n, 2\), got shape \(1, 3\)$"):
        layer([[1.0, 2.0]], Measure([[1.0, 2.0, 3.0]]))


def test_bound_of_a_score_other_than_the_dot_product():
    head = Head(EYE, EYE, EYE, EYE, SquaredDistance())
    with pytest.raises(TypeError, match=r"^score: expected DotProduct, got SquaredDistance$"):
        head.rounding(EYE, Measure(EYE))


# the causal kernel


@pytest.mark.parametrize("case", range(6))
def test_causal_kernel_against_balls(case):
    """Unsorted times with ties, atoms without mass: a query averages what is not later than itself."""
    rng = stream("tests.heads.causal", case)
    n = int(rng.integers(2, 15))
    times = rng.integers(0, 4, size=n) / 4.0
    masses = rng.integers(0, 3, size=n) + (times == times.min())
    nu = Measure.normalised(np.column_stack([times, rng.normal(size=(n, 2))]), masses)
    asked = np.column_stack([rng.permutation(np.repeat([0.1, 0.5, 2.0], 2)) + times.min(), rng.normal(size=(6, 2))])
    for score in (PLAIN, SquaredDistance(0.5)):
        output = CausalKernel(score, nu).output(asked)
        assert np.array_equal(output[:, 0], asked[:, 0])
        for z, moved in zip(asked, output, strict=True):
            seen = (times <= z[0]) & (nu.weights > 0.0)
            keys = nu.points[seen, 1:]
            scores = exact.scores(score, z[np.newaxis, 1:], keys)
            error = rounding(asked[:, 1:], nu.points[:, 1:], nu.points[:, 1:], score=score, weights=nu.weights)
            assert exact.apart(moved[np.newaxis, 1:], exact.average(scores, keys, nu.weights[seen])) <= error


def test_causal_kernel_is_the_causal_mask_of_a_sequence():
    rng = stream("tests.heads.sequence", 0)
    x = rng.normal(size=(9, 2))
    nu = Measure(np.column_stack([np.arange(9.0), x]))
    moved = CausalKernel(PLAIN, nu).push(nu)
    assert np.abs(moved.points[:, 1:] - attend(x, x, x, score=PLAIN, causal=True)).max() <= 2.0 * rounding(
        x, x, x, score=PLAIN, weights=nu.weights
    )
    assert np.array_equal(moved.points[:, 0], np.arange(9.0))
    assert np.array_equal(moved.weights, nu.weights)


def test_tokens_of_one_time_see_each_other():
    nu = Measure([[0.5, 1.0], [0.5, 3.0]])
    output = CausalKernel(PLAIN, nu).output([[0.5, 0.0], [0.7, 0.0]])
    assert np.array_equal(output, [[0.5, 2.0], [0.7, 2.0]])


def test_order_of_the_atoms_does_not_matter():
    rng = stream("tests.heads.order", 0)
    points = np.column_stack([rng.permutation(8) / 8.0, rng.normal(size=(8, 2))])
    weights = rng.dirichlet(np.ones(8))
    order = rng.permutation(8)
    here, there = (CausalKernel(PLAIN, Measure(points[k], weights[k])) for k in (np.arange(8), order))
    assert np.array_equal(here.output(points), there.output(points))


def test_a_blind_query_is_refused():
    nu = Measure([[0.25, 1.0], [0.5, 3.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"^z: expected queries that see some mass, got none at or before time 0\.25$"):
        CausalKernel(PLAIN, nu).output([[0.75, 1.0], [0.25, 1.0]])
    with pytest.raises(ValueError, match=r"^z: expected queries that see some mass"):
        CausalKernel(PLAIN, nu).push(Measure([[0.4, 0.0]]))


def test_rows_that_see_nothing():
    """Heads refuse a query whose keys have no mass; a law over nothing is zero, never a NaN."""
    x = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    masses = np.array([0.0, 0.5, 0.5])
    head = Head(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match=r"^weights: expected a key of positive weight at or before every query"):
        MultiHead((head,))(x, Measure(x, masses), causal=True)
    nothing = np.full((2, 3), -np.inf)
    assert np.array_equal(softmax(nothing), np.zeros((2, 3)))
    assert np.array_equal(entmax(nothing, 1.5), np.zeros((2, 3)))


def test_a_token_is_a_time_and_a_point():
    with pytest.raises(ValueError, match=r"^nu: expected "):
        CausalKernel(DotProduct(), Measure([[0.0], [1.0]])).output([[0.0]])
