"""Training of the published network in NumPy: PyTorch's steps, pairs by seed, and that it learns."""

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments.published import (
    DECAY,
    measure_network,
    moon_sets,
    published_network,
    train_moons,
    train_network,
)
from theory.metric import InformationPropagation, make_similarity

NETWORK = InformationPropagation(make_similarity("metric", 4, 5), 2, 3)


def generator(case):
    return stream("tests.published", case)


def data(sets=6, tokens=5):
    x = generator(1).normal(size=(sets, tokens, 2))
    return x, (x[..., 0] > 0.0).astype(int) + (x[..., 1] > 0.5)


def trained(**options):
    given = {"rate": 0.02, "epochs": 10, "order": generator(11), "regroup": True, **options}
    return train_network(NETWORK, NETWORK.initial(generator(10)), data(), **given)


@pytest.mark.parametrize("regroup", [False, True])
def test_steps_of_pytorch(regroup):
    """Adam of PyTorch, on a network written with its operations, which sees the data in the same order."""
    torch = pytest.importorskip("torch")
    x, y = data()
    order = generator(11)
    shapes = [(2, 4), (4,), (4, 3), (3,)] + 2 * [(4, 5), (5,), (5, 4), (4,)]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = np.split(NETWORK.initial(generator(10)), cuts)
    start = [torch.nn.Parameter(torch.tensor(a.reshape(s))) for a, s in zip(parts, shapes, strict=True)]
    adam = torch.optim.Adam(start, lr=0.02, weight_decay=DECAY)

    def loss(points, classes):
        a, b, c, d, *blocks = start
        h = torch.tensor(points) @ a + b
        for k in (0, 4):
            g = h + torch.tanh(h @ blocks[k] + blocks[k + 1]) @ blocks[k + 2]  # the last bias changes no distance
            h = torch.softmax(-((g[..., :, None, :] - g[..., None, :, :]) ** 2).sum(-1), -1) @ h
        return torch.nn.functional.cross_entropy((h @ c + d).reshape(-1, 3), torch.tensor(classes).reshape(-1))

    for _ in range(10):
        places = order.permutation(30).reshape(6, 5) if regroup else np.arange(30).reshape(6, 5)[order.permutation(6)]
        for chosen in places:
            adam.zero_grad()
            loss(x.reshape(-1, 2)[chosen][None], y.ravel()[chosen][None]).backward()
            adam.step()
    theirs = np.concatenate([part.detach().numpy().ravel() for part in start])
    ours = trained(regroup=regroup)
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-11)
    with torch.no_grad():
        assert measure_network(NETWORK, ours, data())[0] == pytest.approx(float(loss(x, y)), rel=1e-9, abs=0.0)


def test_what_is_measured_counts_tokens():
    x, y = data()
    theta = trained()
    loss, accuracy = measure_network(NETWORK, theta, (x, y))
    scores = NETWORK.predict(theta, x)
    assert accuracy == np.mean([scores[s, i].argmax() == y[s, i] for s, i in np.ndindex(y.shape)])
    logs = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    assert loss == pytest.approx(-np.mean([logs[s, i, y[s, i]] for s, i in np.ndindex(y.shape)]), rel=1e-12, abs=0.0)


def test_moons_are_cut_into_sets():
    (x, y), (test, truth) = moon_sets(5)
    assert (x.shape, test.shape) == ((4, 100, 2), (10, 100, 2))
    assert y.sum() == 200
    assert (truth.sum(axis=1) == 50).all()
    assert not np.isin(test, x).any()
    assert np.array_equal(moon_sets(5)[0][0], x)
    for other in (moon_sets(6), moon_sets(5, root=1)):
        assert not np.isin(other[0][0], x).any()


def test_runs_of_a_seed_share_data_and_start():
    runs = {name: train_moons(name, 7, epochs=1) for name in ("self", "l2", "metric")}
    shared = 2 * 10 + 10 + 10 * 2 + 2
    for run in runs.values():
        assert np.array_equal(run.before[:shared], runs["self"].before[:shared])
        assert run.before.size == run.network.size
        assert not np.array_equal(run.before, run.after)
    other = train_moons("self", 7, epochs=1, root=1)
    assert not np.isin(other.before[:20], runs["self"].before).any()


def test_it_learns_the_moons():
    made = train_moons("metric", 2_000_001, rate=1e-2, epochs=60)
    before, _ = measure_network(made.network, made.before, moon_sets(2_000_001)[0])
    assert made.train_loss < 0.5 * before
    assert made.accuracy > 0.85


def test_refusals():
    with pytest.raises(ValueError, match="attention: expected one of self, l2, metric, got 'entmax'"):
        published_network("entmax", 2, 2, width=3)
    with pytest.raises(RuntimeError, match="rate: expected one at which training stays finite, got 1e"):
        trained(rate=1e300)
    for name, change in {"rate": 0.0, "epochs": 0}.items():
        with pytest.raises(ValueError, match=f"{name}: expected"):
            trained(**{name: change})
