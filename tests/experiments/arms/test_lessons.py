"""Data, orders and starts of the runs: paired between arms, apart between seeds, and no test data in the search."""

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments.arms import ARMS, Lessons, find_arm
from theory.experiments.arms.lessons import DIGITS, MOONS, SEARCH, SUBJECTS
from theory.experiments.data.bodies import draw_bodies
from theory.experiments.data.segments import segment_sets

TASKS = [pytest.param(task, id=task) for task in SUBJECTS]


def tokens(sets, part):
    """Return the tokens of a part, each as bytes."""
    points = sets[part][0]
    return set(map(bytes, points.reshape(-1, points.shape[-1])))


def lessons(task, *seeds, **options):
    if task == "digits":
        pytest.importorskip("sklearn")
    return Lessons(task, seeds, **options)


@pytest.mark.parametrize("task", TASKS)
def test_search_and_final_runs_share_no_test_data(task):
    final = lessons(task, 0).sets()
    search, same = (lessons(task, seed, validation=True).sets() for seed in (SEARCH, 0))
    assert tokens(search, "train") != tokens(final, "train")
    for part in ("test", "noisy"):
        for validation in (search, same):
            assert not tokens(validation, part) & tokens(final, part)
        assert not tokens(final, part) & tokens(final, "train")


def test_images_of_validation_are_in_no_final_run():
    held = tokens(lessons("digits", 0, validation=True).sets(), "test")
    assert held == tokens(lessons("digits", SEARCH, validation=True).sets(), "test")
    for seed in range(3):
        sets = lessons("digits", seed).sets()
        assert not held & (tokens(sets, "train") | tokens(sets, "test"))


@pytest.mark.parametrize("task", ["moons", "digits"])
def test_noise_moves_the_test_data_and_nothing_else(task):
    sets = lessons(task, 0).sets()
    noise = sets["noisy"][0] - sets["test"][0]
    assert noise.std() == pytest.approx({"moons": MOONS, "digits": DIGITS}[task]["more"], rel=0.1, abs=0.0)
    assert np.array_equal(sets["noisy"][1], sets["test"][1])


@pytest.mark.parametrize("task", TASKS)
def test_permuted_labels_are_the_same_labels_elsewhere(task):
    plain, permuted = (lessons(task, 3, labels=labels).sets() for labels in ("true", "permuted"))
    assert np.array_equal(plain["train"][0], permuted["train"][0])
    assert (plain["train"][1] == permuted["train"][1]).mean() < 0.6
    assert np.array_equal(np.sort(plain["train"][1], axis=None), np.sort(permuted["train"][1], axis=None))
    for part in ("test", "noisy"):
        assert np.array_equal(plain[part][1], permuted[part][1])


def test_orders_differ_between_seeds_and_epochs_and_not_between_arms():
    both = Lessons("moons", (0, 1))
    orders = both.orders()
    first, second = both.deal(orders, 4, 100), both.deal(orders, 4, 100)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])
    assert np.array_equal(first, Lessons("moons", (0, 1)).deal(Lessons("moons", (0, 1)).orders(), 4, 100))
    assert np.array_equal(np.sort(first.reshape(2, -1), axis=1), np.tile(np.arange(400), (2, 1)))


def test_sets_that_are_bodies_stay_together():
    both = Lessons("meshes", (0, 1))
    dealt = both.deal(both.orders(), 16, 200)
    assert {tuple(places) for places in dealt[0]} == {tuple(range(k, k + 200)) for k in range(0, 3200, 200)}
    assert not np.array_equal(dealt[0], dealt[1])


def test_starts_differ_by_seed_root_and_word_and_not_by_arm():
    metric, features = find_arm("block-metric"), find_arm("block-features")

    def drawn(*seeds, arm=metric, **options):
        own = Lessons("moons", seeds, **options)
        return [rng.random() for rng in own.starts()], [rng.random() for rng in own.inner(arm)]

    starts, inner = drawn(0, 1)
    assert drawn(0, 1, arm=features) == (starts, inner)
    assert all(drawn(0, 1, arm=arm)[0] == starts for arm in ARMS)
    others = (drawn(0, root=1), drawn(0, start="again"))
    numbers = [*starts, *inner, *(number for pair in others for part in pair for number in part)]
    assert len(set(numbers)) == len(numbers)


def test_standardisation_knows_the_training_data_alone():
    bodies = draw_bodies(stream("tests.lessons.bodies", 0), 5)
    train, one, other = bodies[:2], bodies[2:3], bodies[3:]
    sets = [
        segment_sets(train, test, {"noisy": 0.02}, 10**6, stream("tests.lessons.faces", 0)) for test in (one, other)
    ]
    assert np.array_equal(sets[0]["train"][0], sets[1]["train"][0])
    x = sets[0]["train"][0].reshape(-1, 10)
    assert x.mean(axis=0) == pytest.approx(np.zeros(10), rel=0.0, abs=1e-9)
    assert x.std(axis=0) == pytest.approx(np.ones(10), rel=1e-9, abs=0.0)


def test_faces_are_drawn_once_each_with_their_labels():
    (body,) = draw_bodies(stream("tests.lessons.bodies", 1), 1)
    whole, some = (
        segment_sets([body], [body], {}, count, stream("tests.lessons.faces", 1))["train"] for count in (10**6, 200)
    )
    known = {bytes(row): label for row, label in zip(whole[0][0], whole[1][0].tolist(), strict=True)}
    assert len({bytes(row) for row in some[0][0]}) == 200
    assert [known[bytes(row)] for row in some[0][0]] == some[1][0].tolist()


def test_refusals():
    for arguments, words in (
        (("translation", (0,)), "task: expected one of"),
        (("moons", ()), "seeds: expected at least one, got none"),
        (("moons", (-1,)), "seeds: expected"),
        (("moons", (0,), False, "shuffled"), "labels: expected one of true, permuted"),
        (("moons", (0,), False, "true", "anew"), "start: expected one of paired, again"),
    ):
        with pytest.raises(ValueError, match=words):
            Lessons(*arguments)
