"""Training of an information propagation network."""

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments.tasks.propagation import PropagationLearner, permute_labels, propagation_network
from theory.experiments.tasks.task import Setting

NETWORK = propagation_network(Setting("moons", "metric", 0, 1e-3), 2, 3, dim=4, width=5)


def generator(case):
    return stream("tests.metric.propagation", case)


def data(sets, case, tokens=5):
    rng = generator(case)
    x = rng.normal(size=(sets, tokens, 2))
    return x, (x[..., 0] > 0.0).astype(int) + (x[..., 1] > 0.5)


def learner(*, attention="metric", train=None, rate=0.02, **options):
    network = propagation_network(Setting("moons", attention, 0, 1e-3), 2, 3, dim=4, width=5)
    noisy = {"noisy_1": data(2, 3), "single": data(1, 4)}
    tools = {"rate": rate, "decay": 0.01, "start": generator(10), "order": generator(11)} | options
    return PropagationLearner(network, train or data(6, 1), data(2, 2), noisy, **tools)


def bytes_of(state):
    return {name: (array.dtype.str, array.tobytes()) for name, array in state.items()}


@pytest.mark.parametrize("regroup", [False, True])
@pytest.mark.parametrize("kind", [np.random.Philox, np.random.PCG64, np.random.MT19937])
def test_resumed_is_uninterrupted(tmp_path, kind, regroup):
    def fresh():
        return learner(order=np.random.Generator(kind(7)), batch=4, regroup=regroup)

    whole, first, second = fresh(), fresh(), fresh()
    for _ in range(7):
        whole.advance()
    for _ in range(3):
        first.advance()
    np.savez(tmp_path / "state.npz", **first.state())
    first.advance()  # what is written stays what it was
    with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
        second.restore(dict(stored))
    for _ in range(4):
        second.advance()
    assert bytes_of(second.state()) == bytes_of(whole.state())
    assert second.measure() == whole.measure()


def test_steps_of_pytorch():
    """Adam of PyTorch, on a network written with its operations, whose order of data is that of the learner."""
    torch = pytest.importorskip("torch")
    x, y = data(6, 1)
    ours = learner(batch=4, regroup=True)
    order = generator(11)
    shapes = [(2, 4), (4,), (4, 3), (3,)] + 2 * [(4, 5), (5,), (5, 4), (4,)]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    initial = [a.reshape(s) for a, s in zip(np.split(ours.theta, cuts), shapes, strict=True)]
    start = [torch.nn.Parameter(torch.tensor(part)) for part in initial]
    adam = torch.optim.Adam(start, lr=0.02, weight_decay=0.01)

    def loss(points, classes):
        a, b, c, d, *blocks = start
        h = torch.tensor(points) @ a + b
        for k in (0, 4):
            g = h + torch.tanh(h @ blocks[k] + blocks[k + 1]) @ blocks[k + 2]  # the last bias changes no distance
            h = torch.softmax(-((g[..., :, None, :] - g[..., None, :, :]) ** 2).sum(-1), -1) @ h
        return torch.nn.functional.cross_entropy((h @ c + d).reshape(-1, 3), torch.tensor(classes).reshape(-1))

    for _ in range(10):
        places = order.permutation(30)
        for chosen in (places[:20].reshape(4, 5), places[20:].reshape(2, 5)):
            adam.zero_grad()
            loss(x.reshape(-1, 2)[chosen], y.ravel()[chosen]).backward()
            adam.step()
        ours.advance()
    theirs = np.concatenate([part.detach().numpy().ravel() for part in start])
    assert np.allclose(ours.theta, theirs, rtol=1e-9, atol=1e-11)
    measured = ours.measure()
    with torch.no_grad():
        assert measured["train_loss"] == pytest.approx(float(loss(x, y)), rel=1e-9, abs=0.0)
        assert measured["test_loss"] == pytest.approx(float(loss(*data(2, 2))), rel=1e-9, abs=0.0)


def test_accuracy_counts_tokens():
    trained = learner(rate=0.05)
    for _ in range(40):
        trained.advance()
    measured = trained.measure()
    assert list(measured) == ["train_loss", "test_loss", "accuracy", "noisy_1", "single"]
    network = trained._network
    for name, (x, y) in {"accuracy": data(2, 2), "noisy_1": data(2, 3), "single": data(1, 4)}.items():
        right = [int(network.predict(trained.theta, x)[s, i].argmax()) == y[s, i] for s, i in np.ndindex(y.shape)]
        assert measured[name] == sum(right) / len(right)
    assert measured["accuracy"] > 0.5


def test_measured_in_parts_as_at_once():
    many = data(11, 5)
    ours = learner(train=many)
    logs = ours._network.predict(ours.theta, many[0])
    logs -= np.log(np.exp(logs).sum(axis=-1, keepdims=True))
    expected = -np.mean([logs[s, i, many[1][s, i]] for s, i in np.ndindex(many[1].shape)])
    assert ours.measure()["train_loss"] == pytest.approx(expected, rel=1e-13, abs=0.0)


class Watch:
    """A network that tells what it was given."""

    def __init__(self, network):
        self.network, self.seen = network, []

    def objective(self, theta, x, y):
        """Return what the network does."""
        self.seen.append((x, y))
        return self.network.objective(theta, x, y)


@pytest.mark.parametrize("regroup", [False, True])
def test_every_point_has_its_turn_in_every_epoch(regroup):
    ours, (x, y) = learner(regroup=regroup, batch=4), data(6, 1)
    watch = ours._network = Watch(ours._network)
    for _ in range(2):
        watch.seen.clear()
        ours.advance()
        assert [len(part) for part, _ in watch.seen] == [4, 2]
        found, classes = (np.concatenate(parts) for parts in zip(*watch.seen, strict=True))
        pairs = {(*point, label) for point, label in zip(found.reshape(-1, 2), classes.ravel(), strict=True)}
        assert pairs == {(*point, label) for point, label in zip(x.reshape(-1, 2), y.ravel(), strict=True)}
        groups = {frozenset(map(tuple, part)) for part in found}
        assert (groups == {frozenset(map(tuple, part)) for part in x}) is not regroup


def test_starts_are_paired():
    shared = 2 * 4 + 4 + 4 * 3 + 3
    starts = {name: learner(attention=name).theta for name in ("self", "again", "l2", "metric")}
    assert len({theta.size for theta in starts.values()}) == 3
    for theta in starts.values():
        assert np.array_equal(theta[:shared], starts["self"][:shared])


def test_parameters_are_counted():
    assert learner(attention="self").parameters == 27 + 2 * 2 * 4 * 5
    assert learner(attention="l2").parameters == 27 + 2 * 4 * 5
    assert learner(attention="metric").parameters == 27 + 2 * (4 * 5 + 5 + 5 * 4 + 4)


def test_divergence_is_told():
    ours = learner(rate=1e300)
    for _ in range(3):
        ours.advance()
    measured = ours.measure()
    assert measured["train_loss"] == measured["test_loss"] == np.inf
    assert measured["accuracy"] == 0.0
    theta = ours.theta
    ours._theta = np.full_like(theta, np.nan)
    ours.advance()
    assert np.isnan(ours.theta).all()
    assert ours.measure()["train_loss"] == np.inf


def test_permuted_labels():
    y = np.arange(40).reshape(4, 10)
    mixed = permute_labels(y, generator(20))
    assert mixed.shape == y.shape
    assert np.array_equal(np.sort(mixed.ravel()), y.ravel())
    assert {int(label) // 10 for label in mixed[0]} != {0}  # across sets


@pytest.mark.parametrize(
    ("change", "error", "what"),
    [
        (
            {"train": (np.zeros((3, 2)), np.zeros(3, int))},
            ValueError,
            r"train: expected points of shape \(sets, tokens",
        ),
        ({"train": (np.zeros((1, 3, 4)), np.zeros((1, 3), int))}, ValueError, "train: expected points of shape"),
        ({"train": (np.zeros((0, 3, 2)), np.zeros((0, 3), int))}, ValueError, "train: expected points of shape"),
        ({"train": (np.full((1, 3, 2), np.nan), np.zeros((1, 3), int))}, ValueError, "train: expected finite numbers"),
        ({"train": (np.zeros((1, 3, 2)), np.zeros((1, 3)))}, TypeError, "train: expected integers for classes"),
        ({"train": (np.zeros((1, 3, 2)), np.zeros((3, 1), int))}, ValueError, r"expected classes of shape \(1, 3\)"),
        ({"train": (np.zeros((1, 3, 2)), np.full((1, 3), 3))}, ValueError, "expected classes from 0 to 2, got 3 to 3"),
        ({"train": (np.zeros((1, 3, 2)), np.full((1, 3), -1))}, ValueError, "expected classes from 0 to 2, got -1"),
        ({"batch": 0}, ValueError, "batch: expected an integer of at least 1"),
        ({"rate": 0.0}, ValueError, "rate: expected a positive"),
        ({"decay": -1.0}, ValueError, "decay: expected a number that is not negative"),
    ],
)
def test_bad_input(change, error, what):
    with pytest.raises(error, match=what):
        learner(**change)


def test_bad_columns_attentions_and_states():
    with pytest.raises(ValueError, match="noisy: expected names of columns that are free, got accuracy"):
        PropagationLearner(
            NETWORK,
            data(1, 1),
            data(1, 2),
            {"accuracy": data(1, 3)},
            rate=1.0,
            decay=0.0,
            start=generator(0),
            order=generator(1),
        )
    with pytest.raises(ValueError, match="attention: expected one of self, l2, metric, got 'entmax'"):
        propagation_network(Setting("moons", "entmax", 0, 1e-3), 2, 2, dim=4, width=5)
    with pytest.raises(ValueError, match=r"state\['theta'\]: expected shape \(125,\), got shape \(67,\)"):
        learner().restore(learner(attention="l2").state())
    with pytest.raises(ValueError, match="expected a place in a stream of Philox, got PCG64"):
        learner().restore(learner(order=np.random.default_rng(1)).state())
