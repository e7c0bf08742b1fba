"""Published data in a folder: what is read is checked before training and fingerprinted, and nothing else counts."""

import gzip
import json
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.evidence import stream  # noqa: E402
from theory.experiments.__main__ import main  # noqa: E402
from theory.experiments.arms import experiment, find_arm, folders, train  # noqa: E402
from theory.experiments.arms.folders import FILES, FolderLessons, open_folder, read_mnist  # noqa: E402
from theory.experiments.arms.lessons import MESHES  # noqa: E402
from theory.experiments.data.bodies import draw_body  # noqa: E402


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def images(case, count):
    rng = stream("tests.folders.images", case)
    return rng.integers(0, 256, size=(count, 4, 3), dtype=np.uint8), rng.integers(0, 10, size=count, dtype=np.uint8)


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """A relative of MNIST: 400 images for training, 200 for testing, of 4 x 3 pixels; two files are packed."""
    monkeypatch.setattr(folders, "IMAGES", {"held": 100, "train": 200, "test": 100})
    contents = [idx(array) for pair in (images(0, 400), images(1, 200)) for array in pair]
    folder = tmp_path / "mnist"
    folder.mkdir()
    for name, content, pack in zip(FILES, contents, (False, True, True, False), strict=True):
        (folder / (name + ".gz" if pack else name)).write_bytes(gzip.compress(content) if pack else content)
    yield folder
    read_mnist.cache_clear()


def write_mesh(folder, place, labels, body):
    rows = [f"OFF\n{len(body.vertices)} {len(body.faces)} 0", *(" ".join(map(repr, p)) for p in body.vertices.tolist())]
    rows += [f"3 {a} {b} {c}" for a, b, c in body.faces.tolist()]
    for path, text in ((folder / "meshes" / place, rows), (folder / "segs" / labels, map(str, body.labels + 1))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text) + "\n", encoding="utf-8")


@pytest.fixture
def humans(tmp_path, monkeypatch):
    """A collection of six bodies in the folders of the published one."""
    pytest.importorskip("trimesh")
    monkeypatch.setattr(folders, "HUMANS", {"held": 1, "train": 2, "test": 1})
    rng = stream("tests.folders.humans", 0)
    folder = tmp_path / "humans"
    for place, labels in (
        ("train/adobe/ballerina.off", "train/adobe/ballerina.txt"),
        ("train/faust/tr_reg_000.off", "train/faust/faust_corrected.txt"),
        ("train/scape/mesh000.off", "train/scape/scape_corrected.txt"),
        ("train/MIT_animation/meshes_crane/meshes/mesh_0000.off", "train/mit/mit_crane_corrected.txt"),
        ("test/shrec/1.off", "test/shrec/shrec_1_full.txt"),
        ("test/shrec/12_fix_orientation.off", "test/shrec/shrec_12_full.txt"),
    ):
        write_mesh(folder, place, labels, draw_body(rng))
    return folder


def rows_of(sets):
    return {part: set(map(bytes, points.reshape(-1, points.shape[-1]))) for part, (points, _) in sets.items()}


def test_images_are_drawn_and_those_of_validation_are_in_no_other_part(mnist):
    held, found = None, []
    for seed, validation in ((0, False), (0, True), (1, False), (1, True)):
        sets = FolderLessons("digits", (seed,), validation, folder=mnist).sets()
        assert {part: y.shape for part, (_, y) in sets.items()} == {
            "train": (1, 2, 100), "test": (1, 1, 100), "noisy": (1, 1, 100)
        }  # fmt: skip
        rows = rows_of(sets)
        assert not rows["train"] & rows["test"]
        assert len(rows["train"]) == 200
        found.append(rows)
        if validation:
            assert held in (None, rows["test"])
            held = rows["test"]
    assert not held & (found[0]["train"] | found[0]["test"] | found[2]["train"] | found[2]["test"])
    assert found[0]["train"] == found[1]["train"] != found[2]["train"]
    published = {bytes(row / 255.0) for row in images(1, 200)[0].reshape(200, 12)}
    assert found[0]["test"] | found[2]["test"] <= published


def test_labels_stay_with_their_images_and_are_permuted(mnist):
    pixels, labels = images(0, 400)
    known = {bytes(row / 255.0): label for row, label in zip(pixels.reshape(400, 12), labels.tolist(), strict=True)}
    plain, permuted = (FolderLessons("digits", (3,), labels=word, folder=mnist).sets() for word in ("true", "permuted"))
    x, y = (part.reshape(200, -1) for part in plain["train"])
    assert [known[bytes(row)] for row in x] == y.ravel().tolist()
    assert np.array_equal(x, permuted["train"][0].reshape(200, -1))
    assert np.mean(permuted["train"][1] == plain["train"][1]) < 0.3
    assert np.array_equal(np.sort(permuted["train"][1], axis=None), np.sort(y, axis=None))
    assert np.array_equal(plain["test"][1], permuted["test"][1])


def test_a_network_is_trained_on_them(mnist):
    lessons = FolderLessons("digits", (0, 1), folder=mnist)
    assert lessons.sizes.inputs == 12
    found = train(find_arm("published-dot"), lessons, rate=1e-3, epochs=10, decay=1e-4)
    assert found.parameters == 12 * 100 + 100 + 2 * 2 * 100 * 100 + 1010
    assert not found.diverged.any()


def test_meshes_are_drawn_and_those_of_validation_are_in_no_other_part(humans, monkeypatch):
    read, seen = folders.human_benchmark.read, []
    monkeypatch.setattr(folders.human_benchmark, "read", lambda entry: seen.append(entry.mesh.name) or read(entry))
    parts = {}
    for validation in (False, True):
        for seed in range(3):
            seen.clear()
            sets = FolderLessons("meshes", (seed,), validation, folder=humans).sets()
            assert sets["train"][0].shape == (1, 2, MESHES["tokens"], 10)
            assert sets["test"][0].shape == sets["noisy"][0].shape == (1, 1, MESHES["tokens"], 10)
            parts[seed, validation] = seen[:2], seen[2:]
    assert all(parts[seed, False][0] == parts[seed, True][0] for seed in range(3))
    assert all(set(parts[seed, False][1]) <= {"1.off", "12_fix_orientation.off"} for seed in range(3))
    held = {name for seed in range(3) for name in parts[seed, True][1]}
    assert len(held) == 1
    assert not held & {name for seed in range(3) for name in parts[seed, False][0]}


@pytest.mark.parametrize("task", ["digits", "meshes"])
def test_only_files_that_are_read_count(task, mnist, humans):
    folder = mnist if task == "digits" else humans
    first = open_folder(task, folder)
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        for name in (".DS_Store", "._1.off", "readme.txt"):
            (place / name).write_bytes(b"\0stray")
    assert open_folder(task, folder) == first
    read = folder / FILES[0] if task == "digits" else folder / "segs/test/shrec/shrec_1_full.txt"
    content = read.read_bytes()
    read.write_bytes(b"\xef\xbb\xbf" + content if task == "meshes" else content[:-1] + bytes([content[-1] ^ 1]))
    assert open_folder(task, folder).sha256 != first.sha256


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (0, b"no images", "expected a whole IDX file"),
        (0, idx(images(0, 299)[0]), r"expected at least 300 images \(n, rows, columns\), got shape \(299, 4, 3\)"),
        (0, idx(images(0, 400)[1]), r"expected at least 300 images"),
        (3, idx(images(0, 100)[1]), r"expected 200 labels from 0 to 9, got others, of shape \(100,\)"),
        (3, idx(np.full(200, 10, dtype=np.uint8)), "expected 200 labels from 0 to 9"),
        (2, idx(images(1, 200)[0][:, :, :2].copy()), "expected at least 100 images of 12 pixels"),
    ],
)
def test_damaged_images_are_named_before_training(mnist, at, content, what):
    place = mnist / FILES[at]
    place.with_suffix(".gz").unlink(missing_ok=True)
    place.write_bytes(content)
    with pytest.raises(ValueError, match=what) as caught:
        open_folder("digits", mnist)
    assert str(caught.value).startswith(str(place))


def test_every_mesh_is_checked_before_training(humans, monkeypatch):
    body = draw_body(stream("tests.folders.humans", 1))
    place = humans / "meshes/train/scape/mesh000.off"
    for faces, what in (
        (np.concatenate([body.faces[:1, ::-1], body.faces[1:]]), "faces: expected every edge in at most two faces"),
        (body.faces[:199], "expected 200 faces or more, got 199"),
    ):
        broken = body._replace(faces=faces, labels=body.labels[: len(faces)])
        write_mesh(humans, "train/scape/mesh000.off", "train/scape/scape_corrected.txt", broken)
        with pytest.raises(ValueError, match=what) as caught:
            open_folder("meshes", humans)
        assert str(caught.value).startswith(str(place))
    write_mesh(humans, "train/scape/mesh000.off", "train/scape/scape_corrected.txt", body)
    monkeypatch.setattr(folders, "HUMANS", {"held": 1, "train": 4, "test": 1})
    with pytest.raises(ValueError, match=r"expected at least 5 meshes in meshes/train, got 4"):
        open_folder("meshes", humans)


def test_what_has_no_data_or_no_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="data: expected none for moons, which draws its own"):
        open_folder("moons", tmp_path)
    with pytest.raises(ValueError, match="data: expected a folder, found none at"):
        open_folder("digits", tmp_path / "none")
    with pytest.raises(ValueError, match=f"{FILES[0]}: expected this file"):
        open_folder("digits", tmp_path)


def test_the_command_reads_a_folder_and_its_manifest_tells_the_files(mnist, tmp_path, capsys):
    options = ["--arms", "linear", "--out", str(tmp_path / "out"), "--data", str(mnist)]
    assert main(["digits", *options]) == 0
    manifest = json.loads((tmp_path / "out" / "arms-digits-manifest.json").read_text())
    assert manifest["data"] == open_folder("digits", mnist).sha256
    plain = experiment.Setting("digits", "quick", 1, tmp_path).identity()
    assert manifest["sources"] != plain["sources"]
    assert "data" not in plain
    (mnist / FILES[0]).write_bytes(b"no images")
    assert main(["digits", *options]) == 2
    assert "expected a whole IDX file" in capsys.readouterr().err
