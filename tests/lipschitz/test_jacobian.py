"""The block Jacobian against power series of the definition in balls, and against the products of the engine."""

from __future__ import annotations

import numpy as np
import pytest

from theory import engine
from theory.attention import DotProduct, Head, Measure, MultiHead, SquaredDistance
from theory.attention.score import pairs_of
from theory.evidence.enclosure import ball, balls, coefficient, ends, exp, precision, variable
from theory.lipschitz import block_jacobian, dot_form, enclosed_jacobian, multihead_jacobian

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 2))
W = RNG.dirichlet(np.ones(4))
B, V = RNG.normal(size=(2, 2)), RNG.normal(size=(3, 2))
MU = Measure(X, W)


def pushed(score, j, k, *, value=None, queries=None, causal=False):
    """Return the derivative of the outputs when coordinate k of atom j moves, in balls."""
    with precision():
        move = np.zeros(X.shape)
        move[j, k] = 1.0
        y = balls(X) + balls(move) * variable(2)
        x = y if queries is None else balls(queries) + balls(np.zeros(queries.shape)) * variable(2)
        if isinstance(score, DotProduct):
            scores = x @ balls(score.form) @ y.T
        else:
            apart = x[:, np.newaxis] - y[np.newaxis]
            scores = (apart * apart).sum(axis=2) * -ball(score.scale)
        outputs = []
        for i in range(x.shape[0]):
            seen = i + 1 if causal else X.shape[0]
            raw = exp(scores[i, :seen]) * balls(W[:seen])
            mean = (raw @ y[:seen]) / raw.sum(keepdims=True)  # a bare series would be read as a sequence
            outputs.append(mean if value is None else balls(value) @ mean)
        return np.array([[coefficient(entry, 1) for entry in row] for row in outputs], dtype=object)


@pytest.mark.parametrize("score", [DotProduct(form=B), SquaredDistance(0.7)])
@pytest.mark.parametrize("options", [{}, {"value": V}, {"causal": True}, {"queries": RNG.normal(size=(5, 2))}])
def test_blocks_are_derivatives_of_the_definition(score, options):
    floats = block_jacobian(MU, score, **options)
    enclosed = enclosed_jacobian(MU, score, **options)
    for j in range(4):
        for k in range(2):
            claimed, width = ends(pushed(score, j, k, **options))
            np.testing.assert_allclose(floats[:, j, :, k], claimed, rtol=0, atol=1e-13)
            middle, radius = ends(enclosed[:, j, :, k])
            assert (np.abs(middle - claimed) <= width + radius).all()
            assert radius.max() < 1e-14


def test_products_with_the_jacobian_are_those_of_the_engine():
    h, g = RNG.normal(size=X.shape), RNG.normal(size=X.shape)
    for score in (DotProduct(form=B), SquaredDistance(0.7)):
        pairs = pairs_of(score, X, X)
        jacobian = block_jacobian(MU, score)
        of_queries, of_keys, of_values, _ = engine.vjp(pairs, X, g, log_weights=np.log(W))
        folded = of_queries @ B.T if isinstance(score, DotProduct) else of_queries
        pulled = np.einsum("ijab,ia->jb", jacobian, g)
        np.testing.assert_allclose(pulled, folded + of_keys + of_values, rtol=0, atol=1e-13)
        assert np.einsum("ijab,ia,jb->", jacobian, g, h) == pytest.approx(float((pulled * h).sum()), rel=1e-12, abs=0)


def test_heads_add_up():
    heads = [
        Head(*(RNG.normal(size=shape) for shape in ((3, 2), (3, 2), (2, 2), (4, 2)))),
        Head(
            *(RNG.normal(size=shape) for shape in ((1, 2), (1, 2), (2, 2), (4, 2))),
            score=DotProduct(2.0, [[0.5]]),
        ),
    ]
    many = MultiHead(tuple(heads))
    step = 1e-5
    jacobian = multihead_jacobian(MU, many)
    assert jacobian.shape == (4, 4, 4, 2)
    for j, k in np.ndindex(X.shape):
        move = np.zeros(X.shape)
        move[j, k] = step
        ahead, behind = (many(X + m, Measure(X + m, W)) for m in (move, -move))
        np.testing.assert_allclose(jacobian[:, j, :, k], (ahead - behind) / (2 * step), rtol=0, atol=1e-8)
    masked = multihead_jacobian(MU, many, causal=True)
    assert not masked[0, 1:].any()


def test_known_values():
    # tokens 0, t, -t under the plain product: the first output moves by (2 t**2 + 1) / 3
    tokens = Measure([[0.0], [10.0], [-10.0]])
    assert block_jacobian(tokens, DotProduct(1.0))[0, 0, 0, 0] == pytest.approx(67.0, rel=1e-14, abs=0)
    # one token is copied; so are equal ones, on average
    np.testing.assert_array_equal(block_jacobian(Measure([[3.0, 1.0]]), SquaredDistance())[0, 0], np.eye(2))
    assert dot_form(DotProduct(), 4)[0, 0] == 0.5
    assert dot_form(DotProduct(3.0, [[2.0]]), 1)[0, 0] == 6.0


def test_bad_input():
    with pytest.raises(ValueError, match="mu: expected positive weights"):
        block_jacobian(Measure([[0.0], [1.0]], [1.0, 0.0]), SquaredDistance())
    with pytest.raises(TypeError, match="mu: expected a Measure"):
        block_jacobian(X, SquaredDistance())
    with pytest.raises(TypeError, match="score: expected DotProduct or SquaredDistance"):
        block_jacobian(MU, 1.0)
    with pytest.raises(ValueError, match="queries: expected none with a causal mask"):
        block_jacobian(MU, SquaredDistance(), queries=X, causal=True)
    with pytest.raises(ValueError, match="value: expected shape"):
        block_jacobian(MU, SquaredDistance(), value=np.eye(3))
    with pytest.raises(ValueError, match=r"score\.form: expected shape"):
        block_jacobian(MU, DotProduct(form=np.eye(3)))
    with pytest.raises(TypeError, match="heads: expected MultiHead"):
        multihead_jacobian(MU, DotProduct())
    distance = MultiHead((Head(np.eye(2), np.eye(2), np.eye(2), np.eye(2), score=SquaredDistance()),))
    with pytest.raises(TypeError, match="heads: expected scores DotProduct"):
        multihead_jacobian(MU, distance)
