"""A prepared attention and a small call answer as the engine does, in every bit, and refuse in the same words."""

import copy
import pickle

import numpy as np
import pytest

from theory import engine
from theory.attention import Additive, DotProduct, SquaredDistance, TorusDistance, output, prepare, read
from theory.attention.score import pairs_of
from theory.evidence import exact, stream
from theory.particles import Overlap, SoftmaxField, UnnormalisedField


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Whichever backend the suite runs on, the short way is that of the compiled one."""
    monkeypatch.setenv("THEORY_BACKEND", "compiled")


class Tempered:
    """A score that only Python knows."""

    def matrix(self, x, y):
        """Return the scores."""
        return 0.5 * (x @ y.T)


SCORES = {
    "dot": DotProduct(), "scaled": DotProduct(3.0), "form": DotProduct(form=np.array([[1.0, 2.0], [-0.5, 0.25]])),
    "distance": SquaredDistance(0.7), "torus": TorusDistance(0.4), "overlap": Overlap(-1.5), "given": Tempered(),
    "additive": Additive(np.eye(2), np.eye(2), np.ones(2)),
}  # fmt: skip
WEIGHTS = {"none": None, "equal": np.full(7, 0.5), "some": np.arange(1.0, 8.0), "zero": np.arange(7.0)[::-1] + 0.0}


def through_the_engine(score, x, weights, causal):
    """Return the answer without any short way."""
    present = np.ones(len(x), dtype=bool) if weights is None else weights > 0.0
    seen = np.cumsum(present, dtype=np.int64) if causal else None
    keys = np.ascontiguousarray(x[present])
    logs = None if weights is None else np.log(weights[present])
    return engine.attention(pairs_of(score, x, keys), keys, log_weights=logs, visible=seen)


def assert_equal(a, b):
    assert a.output.tobytes() == b.output.tobytes()
    assert a.log_partition.tobytes() == b.log_partition.tobytes()


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_every_bit(score, weights, causal, backend, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", backend)
    x = stream("tests.attention.prepared", 0).normal(size=(7, 2))
    wanted = through_the_engine(score, x, weights, causal)
    given = {"score": score, "weights": weights, "causal": causal}
    assert_equal(read(x, x, x, **given), wanted)
    among, apart = prepare(**given), prepare(keys=x, values=x, **given)
    for _ in range(2):
        assert_equal(among.read(x), wanted)
        assert_equal(apart.read(x), wanted)
    assert among(x).tobytes() == wanted.output.tobytes()
    assert among(x.tolist()).tobytes() == wanted.output.tobytes()


@pytest.mark.parametrize("name", SCORES)
def test_the_short_way_is_taken_where_it_should_be(name):
    x = stream("tests.attention.prepared", 1).normal(size=(7, 2))
    known = name in ("dot", "scaled", "form", "distance", "overlap")
    assert (prepare(SCORES[name]).quick(x) is not None) == known
    found = output._quick(x, x, x, SCORES[name], None, False)
    assert (found is not None) == (known and name != "form")
    assert prepare(SCORES[name], weights=WEIGHTS["zero"]).quick(x) is None


def test_the_short_way_follows_the_environment(monkeypatch):
    x = stream("tests.attention.prepared", 2).normal(size=(7, 2))
    field = SoftmaxField(DotProduct())
    for backend in ("compiled", "reference", "compiled"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        assert (output._quick(x, x, x, DotProduct(), None, False) is None) == (backend == "reference")
        assert field(x).tobytes() == through_the_engine(DotProduct(), x, None, False).output.tobytes()


@pytest.mark.parametrize("kind", [SoftmaxField, UnnormalisedField])
def test_a_field_is_the_same_in_a_copy_and_on_other_numbers_of_tokens(kind):
    field = kind(DotProduct(form=np.eye(2)), causal=True)
    for n in (3, 7, 3):
        x = stream("tests.attention.prepared.field", n).normal(size=(n, 2))
        wanted = field(x)
        assert kind(DotProduct(form=np.eye(2)), causal=True)(x).tobytes() == wanted.tobytes()
        assert copy.deepcopy(field)(x).tobytes() == wanted.tobytes()
        assert pickle.loads(pickle.dumps(field))(x).tobytes() == wanted.tobytes()  # noqa: S301  made here


class Doubled(DotProduct):
    """Dot products, twice: it has pairs of its own, and what it inherits says nothing of them."""

    def pairs(self, x, y):
        """Return the scores."""
        return super().pairs(2.0 * x, y)


def test_a_score_that_is_derived_from_another_answers_for_itself():
    x = stream("tests.attention.prepared", 4).normal(size=(5, 2))
    wanted = through_the_engine(Doubled(1.0), x, None, False)
    assert_equal(wanted, through_the_engine(DotProduct(2.0), x, None, False))
    assert_equal(read(x, x, x, score=Doubled(1.0)), wanted)
    assert_equal(prepare(Doubled(1.0)).read(x), wanted)
    assert SoftmaxField(Doubled(1.0))(x).tobytes() == wanted.output.tobytes()


def test_a_prepared_attention_follows_the_environment(monkeypatch):
    x = stream("tests.attention.prepared", 5).normal(size=(5, 9))
    settled = prepare(DotProduct())
    for backend in ("reference", "compiled", "reference"):
        monkeypatch.setenv("THEORY_BACKEND", backend)
        assert_equal(settled.read(x), read(x, x, x))


def test_enclosures_are_enclosed():
    x = stream("tests.attention.prepared", 3).normal(size=(4, 2))
    found = prepare(DotProduct(1.0))(exact(x))
    plain = prepare(DotProduct(1.0))(x)
    assert ((found.lo <= plain) & (plain <= found.hi)).all()
    assert prepare(DotProduct(1.0), keys=exact(x))(x).lo.shape == (4, 2)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.full((7, 2), np.nan), "queries: expected finite numbers, got nan"),
        (np.full((7, 2), 1.5e308), "score: expected sizes that float64 can hold"),
        (np.ones((7, 3)), "keys: expected dimension"),
        (np.ones((6, 2)), "causal: expected as many queries as keys, got 6 and 7"),
        (np.ones(2), r"queries: expected shape \(n, d\), got shape \(2,\)"),
        (np.ones((0, 2)), "queries: expected at least one point"),
    ],
)
@pytest.mark.parametrize("score", [DotProduct(), DotProduct(form=np.eye(2)), SquaredDistance(1.0)])
def test_the_same_words(x, words, score):
    keys = np.ones((7, 2))
    if x.shape == (7, 3) and score is not SCORES["dot"] and getattr(score, "form", None) is not None:
        words = "form: expected shape"
    for ask in (prepare(score, keys=keys, causal=True).read, lambda x: read(x, keys, keys, score=score, causal=True)):
        with pytest.raises(ValueError, match=f"^{words}"):
            ask(x)


def test_values_without_keys_are_refused():
    with pytest.raises(ValueError, match=r"^values: expected none without keys, got some$"):
        prepare(values=np.ones((2, 2)))


def test_what_is_settled_is_copied():
    keys, weights = np.ones((3, 2)), np.arange(1.0, 4.0)
    keys[0] = 0.0
    settled = prepare(keys=keys, weights=weights)
    x = np.ones((2, 2))
    before = settled(x)
    keys[1], weights[0] = 7.0, 9.0
    assert np.array_equal(settled(x), before)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e150, 1e160, 1.7e308])
def test_strange_sizes_are_met_in_silence(size):
    x = np.array([[1.0, 0.0], [0.5, 0.25], [0.0, 1.0]])
    weights = size * np.array([0.5, 0.25, 0.25])
    with np.errstate(all="raise"):
        assert_equal(read(x, x, size * x, weights=weights), read(x, x, size * x, weights=weights.tolist()))
        assert_equal(prepare(weights=weights).read(x), read(x, x, x, weights=weights))
