"""Images of digits."""

import gzip
import struct

import numpy as np
import pytest

from theory.evidence import stream
from theory.experiments.tasks import digits
from theory.experiments.tasks.digits import FILES, Digits
from theory.experiments.tasks.registry import make_task
from theory.experiments.tasks.task import Setting


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def images(case, count):
    rng = stream("tests.metric.digits", case)
    return rng.integers(0, 256, size=(count, 4, 3), dtype=np.uint8), rng.integers(0, 10, size=count, dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """A relative of MNIST: 600 images for training, 200 for testing, of 4 x 3 pixels; two files are packed."""
    digits.read_mnist.cache_clear()
    contents = [idx(array) for pair in (images(0, 600), images(1, 200)) for array in pair]
    for name, content, pack in zip(FILES, contents, (False, True, True, False), strict=True):
        (tmp_path / (name + ".gz" if pack else name)).write_bytes(gzip.compress(content) if pack else content)
    yield tmp_path
    digits.read_mnist.cache_clear()


@pytest.mark.parametrize("validation", [False, True])
def test_small_images_are_split(validation):
    datasets = pytest.importorskip("sklearn.datasets")
    pixels, labels = datasets.load_digits(return_X_y=True)
    (x, y), (test, truth) = Digits().images(3, validation=validation)
    assert (x.shape, test.shape) == ((1000, 64), (297 if validation else 500, 64))
    known = {(*image.tolist(), int(label)) for image, label in zip(pixels, labels, strict=True)}
    train = {(*(16.0 * image).tolist(), int(label)) for image, label in zip(x, y, strict=True)}
    other = {(*(16.0 * image).tolist(), int(label)) for image, label in zip(test, truth, strict=True)}
    assert len(known) == 1797  # so that images can be told apart
    assert train <= known
    assert other <= known
    assert len(train) == 1000
    assert not train & other


def test_validation_is_no_test():
    pytest.importorskip("sklearn")
    test, validation, other = (Digits().images(s, validation=v)[1][0] for s, v in ((3, False), (3, True), (4, False)))
    assert not set(map(bytes, test)) & set(map(bytes, validation))
    assert set(map(bytes, test)) != set(map(bytes, other))


@pytest.mark.parametrize("validation", [False, True])
def test_small_learner(validation):
    pytest.importorskip("sklearn")
    small = make_task("digits")
    ours = small.learner(Setting("digits", "metric", 2_000_000, 1e-2, scale="quick"), validation=validation)
    assert ours._train[0].shape == (10, 100, 64)
    assert ours._test[0].shape == ((3, 99, 64) if validation else (5, 100, 64))
    noise = [ours._noisy[name][0] - ours._test[0] for name in ("noisy_1", "noisy_2")]
    assert np.allclose(noise[1], 2.5 * noise[0], rtol=1e-9, atol=1e-12)
    assert abs(noise[0].std() / 0.2 - 1.0) < 4.5 / np.sqrt(2 * noise[0].size)
    assert list(ours.measure()) == list(small.columns)
    for _ in range(20):
        ours.advance()
    assert ours.measure()["accuracy"] > 0.8


def test_runs_of_a_seed_share_data_and_start():
    pytest.importorskip("sklearn")
    runs = {name: Digits().learner(Setting("digits", name, 7, 1e-3)) for name in ("self", "l2", "metric", "again")}
    shared = 64 * 32 + 32 + 32 * 10 + 10
    for name in ("l2", "metric"):
        assert np.array_equal(runs[name].theta[:shared], runs["self"].theta[:shared])
    assert not np.array_equal(runs["again"].theta[:10], runs["self"].theta[:10])
    assert runs["again"].parameters == runs["self"].parameters == shared + 2 * 2 * 32 * 32
    for run in runs.values():
        assert np.array_equal(run._noisy["noisy_2"][0], runs["self"]._noisy["noisy_2"][0])


def test_labels_of_training_are_permuted_and_no_others():
    pytest.importorskip("sklearn")
    true, mixed = (Digits().learner(Setting("digits", "l2", 3, 1e-3, labels=name)) for name in ("true", "permuted"))
    assert np.array_equal(np.bincount(mixed._train[1].ravel()), np.bincount(true._train[1].ravel()))
    assert np.mean(mixed._train[1] == true._train[1]) < 0.2
    assert np.array_equal(true._test[1], mixed._test[1])


def test_mnist_is_read_and_split(folder):
    ours = Digits(data=folder)
    (pixels, labels), (test_pixels, test_labels) = images(0, 600), images(1, 200)
    (x, y), (test, truth) = ours.images(2)
    assert np.array_equal(test, test_pixels.reshape(200, 12) / 255.0)
    assert np.array_equal(truth, test_labels)
    (again, _), (kept, answers) = ours.images(2, validation=True)
    assert np.array_equal(again, x)
    together = np.concatenate([np.column_stack([x, y]), np.column_stack([kept, answers])])
    whole = np.column_stack([pixels.reshape(600, 12) / 255.0, labels])
    assert (len(x), len(kept)) == (500, 100)
    assert np.array_equal(together[np.lexsort(together.T)], whole[np.lexsort(whole.T)])
    assert not np.array_equal(ours.images(3, validation=True)[1][0], kept)


def test_learner_of_mnist(folder):
    ours = Digits(data=folder)
    learner = ours.learner(Setting("digits", "self", 0, 1e-4))
    assert learner._train[0].shape == (5, 100, 12)
    assert learner._test[0].shape == (2, 100, 12)
    assert learner.parameters == 12 * 100 + 100 + 2 * 2 * 100 * 100 + 1010
    learner.advance()
    assert set(learner.measure()) == set(ours.columns)
    assert ours.epochs("paper") < Digits().epochs("paper")


def test_missing_files_are_named(folder, tmp_path):
    (folder / FILES[3]).unlink()
    with pytest.raises(FileNotFoundError, match=f"{FILES[3]}: expected this file"):
        Digits(data=folder)
    with pytest.raises(FileNotFoundError, match=f"{FILES[0]}: expected this file"):
        Digits(data=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (0, b"no images", "expected IDX"),
        (0, idx(images(0, 599)[0]), r"a multiple of 600, got uint8 of shape \(599, 4, 3\)"),
        (0, idx(images(0, 600)[1]), r"expected bytes of shape \(n, rows, columns\)"),
        (0, idx(images(0, 600)[0])[:-1], "expected 7216 bytes"),
        (3, idx(images(0, 100)[1]), r"expected bytes of shape \(200,\) from 0 to 9, got uint8 of shape \(100,\)"),
        (3, idx(np.full(200, 10, dtype=np.uint8)), r"from 0 to 9, .*, up to 10"),
        (3, struct.pack(">HBBI", 0, 9, 1, 200) + bytes(200), r"expected bytes of shape \(200,\) .* got int8"),
    ],
)
def test_damaged_files_are_named(folder, at, content, what):
    (folder / FILES[at]).write_bytes(content)
    with pytest.raises(ValueError, match=what) as caught:
        Digits(data=folder).images(0)
    assert str(caught.value).startswith(str(folder / FILES[at]))


def test_images_of_different_sizes_are_named(folder):
    (folder / f"{FILES[2]}.gz").write_bytes(gzip.compress(idx(images(1, 200)[0][:, :, :2].copy())))
    with pytest.raises(ValueError, match=f"{FILES[2]}.gz: expected 12 pixels as for training, got 8"):
        Digits(data=folder).images(0)


def test_sizes():
    ours = Digits()
    assert (ours.name, ours.published_rate) == ("digits", 1e-4)
    assert ours.published_rate in ours.rates
    for scale in ("quick", "paper"):
        assert ours.epochs(scale) % ours.every(scale) == 0
        assert ours.seeds(scale) >= 16


def test_other_attentions_are_refused(folder):
    with pytest.raises(ValueError, match="attention: expected one of self, l2, metric"):
        Digits(data=folder).learner(Setting("digits", "entmax", 0, 1e-3))
