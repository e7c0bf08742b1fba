"""The two moons."""

import numpy as np
import pytest
from scipy import stats

from theory.evidence import stream
from theory.experiments.data.moons import draw_two_moons
from theory.experiments.tasks.moons import Moons
from theory.experiments.tasks.registry import make_task
from theory.experiments.tasks.task import Setting

ROWS = "train", "test", "accuracy_100", "noisy_1", "noisy_2"


def generator(case):
    return stream("tests.metric.moons", case)


def in_order(x, y):
    return np.array(sorted((int(label), *point) for point, label in zip(np.round(x, 12), y, strict=True)))


@pytest.mark.parametrize("points", [2, 7, 100])
def test_moons_of_scikit_learn_without_noise(points):
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = draw_two_moons(points, 0.0, generator(0))
    assert np.allclose(in_order(x, y), in_order(*datasets.make_moons(points, noise=None)), rtol=0.0, atol=1e-11)


def test_noise_of_scikit_learn():
    """Same law: in the two directions of each class, the two samples pass Kolmogorov and Smirnov's test."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = draw_two_moons(20000, 0.2, generator(1))
    theirs, labels = datasets.make_moons(20000, noise=0.2, random_state=3)
    for label in (0, 1):
        for direction in np.eye(2):
            p = stats.ks_2samp(x[y == label] @ direction, theirs[labels == label] @ direction).pvalue
            assert p > 1e-4


def test_noise_has_its_size_and_the_order_is_random():
    rng = generator(2)
    x, y = draw_two_moons(20001, 0.3, rng)
    upper = x[y == 0]
    assert (len(upper), len(x)) == (10000, 20001)
    # the mean square of a point of a unit circle with noise in two coordinates is 1 + 2 * 0.3**2; its variance from
    # the noise: 4 * 0.3**2 + 4 * 0.3**4
    error = np.sqrt((4 * 0.3**2 + 4 * 0.3**4) / len(upper))
    assert abs(np.mean(np.sum(upper**2, axis=1)) - 1.18) < 4.5 * error
    runs = np.count_nonzero(np.diff(y)) + 1
    assert abs(runs - 10001) < 4.5 * np.sqrt(5000)


@pytest.mark.parametrize("validation", [False, True])
def test_sets(validation):
    moons = Moons()
    sets = moons.sets(5, validation=validation)
    assert tuple(sets) == ROWS
    assert [x.shape for x, _ in sets.values()] == [(4, 100, 2), (10, 100, 2), (1, 100, 2), (10, 100, 2), (10, 100, 2)]
    assert all(x.shape[:-1] == y.shape for x, y in sets.values())
    assert sets["train"][1].sum() == 200
    assert (sets["test"][1].sum(axis=1) == 50).all()
    assert np.array_equal(sets["accuracy_100"][0], sets["test"][0][:1])
    noise = sets["noisy_1"][0] - sets["test"][0]
    assert np.allclose(sets["noisy_2"][0] - sets["test"][0], 3.0 * noise, rtol=1e-9, atol=1e-12)
    assert abs(noise.std() / 0.1 - 1.0) < 4.5 / np.sqrt(2 * noise.size)


def test_seeds_validation_and_root():
    moons = Moons()
    first, again, other = moons.sets(5), moons.sets(5), moons.sets(6)
    validation = moons.sets(5, validation=True)
    assert all(np.array_equal(first[name][0], again[name][0]) for name in ROWS)
    assert np.array_equal(first["train"][0], validation["train"][0])
    for name in ROWS[1:]:
        assert not np.isin(validation[name][0], first[name][0]).any()
    assert not np.isin(other["train"][0], first["train"][0]).any()
    assert not np.isin(Moons(root=1).sets(5)["train"][0], first["train"][0]).any()


def test_runs_of_a_seed_share_data_and_start():
    moons = Moons()
    runs = {}
    for attention in ("self", "l2", "metric", "again"):
        runs[attention] = moons.learner(Setting("moons", attention, 7, 1e-3))
    shared = 2 * 10 + 10 + 10 * 2 + 2
    for name in ("l2", "metric"):
        assert np.array_equal(runs[name].theta[:shared], runs["self"].theta[:shared])
    assert not np.isin(runs["again"].theta[:10], runs["self"].theta).any()
    assert runs["again"].parameters == runs["self"].parameters == 52 + 2 * 200
    for run in runs.values():
        assert np.array_equal(run._train[0], runs["self"]._train[0])
        assert np.array_equal(run.state()["order"], runs["self"].state()["order"])


def test_start_and_order_are_drawn_from_seed_and_root():
    def parts(seed=7, root=None, attention="self"):
        moons = Moons() if root is None else Moons(root=root)
        learner = moons.learner(Setting("moons", attention, seed, 1e-3))
        return {"start": learner.theta[:20], "order": learner.state()["order"]}

    first = parts()
    assert all(np.array_equal(part, again) for part, again in zip(first.values(), parts().values(), strict=True))
    for other in (parts(seed=8), parts(root=1), parts(seed=8, root=1)):
        for name, part in first.items():
            assert not np.array_equal(part, other[name])
    for root in (None, 1):  # another start, the same data in the same order
        again, own = parts(root=root, attention="again"), parts(root=root)
        assert not np.isin(again["start"], own["start"]).any()
        assert np.array_equal(again["order"], own["order"])


def test_labels_of_training_are_permuted_and_no_others():
    true, mixed = (Moons().learner(Setting("moons", "l2", 3, 1e-3, labels=name)) for name in ("true", "permuted"))
    assert np.array_equal(true._train[0], mixed._train[0])
    assert mixed._train[1].sum() == 200
    assert 120 < np.count_nonzero(mixed._train[1] != true._train[1]) < 280
    assert np.array_equal(true._test[1], mixed._test[1])
    assert np.array_equal(true.theta, mixed.theta)


def test_widths_match_parameters():
    sizes = {
        name: Moons().learner(Setting("moons", name, 0, 1e-3, "parameters")).parameters
        for name in ("self", "l2", "metric")
    }
    assert sizes["l2"] == sizes["self"]
    assert abs(sizes["metric"] - sizes["self"]) <= 21


def test_measures_its_columns_and_learns():
    moons = make_task("moons")
    ours = moons.learner(Setting("moons", "metric", 2_000_001, 1e-2, scale="quick"))
    before = ours.measure()
    assert list(before) == list(moons.columns)
    for _ in range(60):
        ours.advance()
    after = ours.measure()
    assert after["train_loss"] < 0.5 * before["train_loss"]
    assert after["accuracy"] > 0.85
    assert after["noisy_2"] < after["accuracy"]


def test_sizes():
    moons = Moons()
    assert (moons.name, moons.published_rate) == ("moons", 1e-3)
    assert moons.published_rate in moons.rates
    for scale in ("quick", "paper"):
        assert moons.epochs(scale) % moons.every(scale) == 0
        assert moons.seeds(scale) >= 16


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="data: expected none, since the moons are drawn, got "):
        Moons(data=tmp_path)
    with pytest.raises(ValueError, match="points: expected an integer of at least 2"):
        draw_two_moons(1, 0.1, generator(3))
    with pytest.raises(ValueError, match="noise: expected a number that is not negative"):
        draw_two_moons(4, -0.1, generator(3))
    with pytest.raises(ValueError, match="attention: expected one of self, l2, metric"):
        Moons().learner(Setting("moons", "entmax", 0, 1e-3))
