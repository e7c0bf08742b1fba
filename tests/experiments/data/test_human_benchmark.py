"""The published segmentation data are read from their own folders and files, and refused by name where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from theory import _extra
from theory.evidence import stream
from theory.experiments.data import human_benchmark as benchmark
from theory.experiments.data.bodies import draw_body
from theory.experiments.data.faces import NAMES, describe_faces
from theory.experiments.tasks import segmentation
from theory.experiments.tasks.segmentation import TOKENS, Segmentation
from theory.experiments.tasks.task import ATTENTIONS, Setting

POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.5]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def off(points, faces):
    rows = [f"OFF\n{len(points)} {len(faces)} 0", *(" ".join(map(repr, p)) for p in np.asarray(points).tolist())]
    return "\n".join([*rows, *(f"3 {a} {b} {c}" for a, b, c in faces.tolist())]) + "\n"


def ply(points, faces):
    head = ["ply", "format ascii 1.0", f"element vertex {len(points)}", *(f"property float {x}" for x in "xyz")]
    head += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    rows = [" ".join(map(repr, p)) for p in points.tolist()] + [f"3 {a} {b} {c}" for a, b, c in faces.tolist()]
    return "\n".join(head + rows) + "\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """Return a collection of small bodies in the folders of the published one, of generated shapes."""
    rng = stream("tests.benchmark", 0)
    for place, labels in (
        ("train/adobe/ballerina.off", "train/adobe/ballerina.txt"),
        ("train/adobe/whale.off", "train/adobe/whale.txt"),
        ("train/faust/tr_reg_000.off", "train/faust/faust_corrected.txt"),
        ("train/faust/tr_reg_001.off", "train/faust/faust_corrected.txt"),
        ("train/scape/mesh000.off", "train/scape/scape_corrected.txt"),
        ("train/scape/mesh044.off", "train/scape/scape_corrected.txt"),
        ("train/MIT_animation/meshes_crane/meshes/mesh_0000.off", "train/mit/mit_crane_corrected.txt"),
        ("train/MIT_animation/meshes_squat1/meshes/mesh_0010.off", "train/mit/mit_squat1_corrected.txt"),
        ("test/shrec/1.off", "test/shrec/shrec_1_full.txt"),
        ("test/shrec/2.off", "test/shrec/shrec_2_full.txt"),
        ("test/shrec/12_fix_orientation.off", "test/shrec/shrec_12_full.txt"),
        ("test/shrec/20.off", "test/shrec/shrec_20_full.txt"),
    ):
        body = draw_body(rng)
        write(tmp_path / "meshes" / place, off(body.vertices, body.faces))
        write(tmp_path / "segs" / labels, "\n".join(str(label + 1) for label in body.labels) + "\n")
    return tmp_path


def test_meshes_find_their_labels(folder):
    pairs = [
        (e.mesh.relative_to(folder).as_posix(), e.labels.relative_to(folder).as_posix())
        for split in ("train", "test")
        for e in benchmark.entries(folder, split)
    ]
    assert len(pairs) == 12
    assert ("meshes/train/adobe/whale.off", "segs/train/adobe/whale.txt") in pairs
    assert ("meshes/train/faust/tr_reg_001.off", "segs/train/faust/faust_corrected.txt") in pairs
    crane = "meshes/train/MIT_animation/meshes_crane/meshes/mesh_0000.off"
    assert (crane, "segs/train/mit/mit_crane_corrected.txt") in pairs
    assert ("meshes/test/shrec/12_fix_orientation.off", "segs/test/shrec/shrec_12_full.txt") in pairs


def test_a_mesh_comes_back_as_it_was_written(folder):
    body = draw_body(stream("tests.benchmark", 0))
    read = benchmark.read(benchmark.entries(folder, "train")[0])
    assert np.array_equal(read.vertices, body.vertices)
    assert np.array_equal(read.faces, body.faces)
    assert np.array_equal(read.labels, body.labels)  # the file counts from 1


def obj(points, faces):
    rows = [
        "# made by hand",
        "mtllib none.mtl",
        *(f"v {x} {y} {z} 1.0" for x, y, z in points),
        "vt 0 0",
        "vn 0 0 1",
        "",
    ]
    texts = [f"f {a + 1}/1/1 {b + 1}/1/1 {c + 1}/1/1" for a, b, c in faces[:2]]
    texts += ["f " + " ".join(str(int(k) - len(points)) for k in face) for face in faces[2:]]  # back from the last
    return "\n".join([*rows, "g part", texts[0], "usemtl red", *texts[1:]])


def test_every_form_of_file_gives_the_same_mesh(tmp_path):
    pytest.importorskip("trimesh")
    coloured = off(POINTS, FACES).replace("OFF\n4 4 0", "# a comment\nOFF 4 4 6").replace("3 0 2 1", "3 0 2 1 255 0 0")
    texts = {"a.off": off(POINTS, FACES), "b.OFF": coloured, "c.obj": obj(POINTS, FACES), "d.ply": ply(POINTS, FACES)}
    for name, text in texts.items():
        write(tmp_path / name, text)
        points, faces = benchmark.read_mesh(tmp_path / name)
        assert np.allclose(points, POINTS, rtol=0.0, atol=1e-6), name
        assert np.array_equal(faces, FACES), name
        assert points.dtype == np.float64
        assert faces.dtype == np.int64


def test_the_forms_are_read_as_trimesh_reads_them(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    body = draw_body(stream("tests.benchmark", 1))
    write(tmp_path / "a.off", off(body.vertices, body.faces))
    points, faces = benchmark.read_mesh(tmp_path / "a.off")
    other = trimesh.load_mesh(tmp_path / "a.off", process=False)
    assert np.allclose(points, other.vertices, rtol=0.0, atol=1e-12)
    assert np.array_equal(faces, other.faces)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.off", "", r"a\.off: expected the vertices and triangles of an OFF file: it is empty"),
        ("a.off", "PLY\n", "the first word is 'PLY'"),
        ("a.off", "OFF\n", "OFF file"),
        ("a.off", off(POINTS, FACES)[:-8], "announces 4 vertices and 4 faces, and has 7 lines"),
        ("a.off", off(POINTS, FACES).replace("3 0 2 1", "4 0 2 1 3"), "a face has 4 corners"),
        ("a.off", off(POINTS, FACES).replace("1.5", "tall"), "OFF file: could not convert string to float"),
        ("a.off", off(POINTS, FACES).replace("1.5", "nan"), "expected finite vertices"),
        ("a.off", off(POINTS, FACES).replace("3 0 2 1", "3 0 2 9"), "expected finite vertices and triangles between"),
        ("a.obj", "v 0 0 0\nf 1 2\n", "OBJ file: a face has 2 corners"),
        ("a.obj", "v 0 0 0\nf 0 1 1\n", "OBJ file: a face has corner 0"),
        ("a.obj", "v 0 0\nf 1 1 1\n", r"expected finite vertices|OBJ file"),
        ("a.obj", "v 0 0 0\n", "got 1 vertices, 0 triangles"),
        ("a.stl", "solid", r"a\.stl: expected a file ending in \.off, \.obj, \.ply"),
    ],
)
def test_corrupt_meshes_are_refused_by_name(tmp_path, name, text, words):
    write(tmp_path / name, text)
    with pytest.raises(ValueError, match=words):
        benchmark.read_mesh(tmp_path / name)


@pytest.mark.parametrize("text", ["", "ply\nformat ascii 1.0\nelement vertex 4\n", "\x00\x01\x02"])
def test_corrupt_ply_files_are_refused_by_name(tmp_path, text):
    pytest.importorskip("trimesh")
    write(tmp_path / "a.ply", text)
    with pytest.raises(ValueError, match=r"a\.ply: expected"):
        benchmark.read_mesh(tmp_path / "a.ply")


def test_ply_without_trimesh_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path / "a.ply", ply(POINTS, FACES))

    def none(name, package=None):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extra, "import_module", none)
    with pytest.raises(ModuleNotFoundError, match=r'trimesh.*pip install "attention-theory\[learn\]"'):
        benchmark.read_mesh(tmp_path / "a.ply")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\n9\n4\n", r"a\.txt: expected numbers from 1 to 8, got 9\.0 at face 2"),
        ("0\n", r"expected numbers from 1 to 8, got 0\.0 at face 0"),
        ("1.5\n", r"expected numbers from 1 to 8, got 1\.5 at face 0"),
        ("head\n", r"a\.txt: expected a number from 1 to 8 for every face"),
    ],
)
def test_corrupt_labels_are_refused_by_name(tmp_path, text, words):
    write(tmp_path / "a.txt", text)
    with pytest.raises(ValueError, match=words):
        benchmark.read_labels(tmp_path / "a.txt")


def test_labels_may_be_written_as_floats(tmp_path):
    write(tmp_path / "a.txt", "1.000000e+00\n8.000000e+00 3\n")
    assert benchmark.read_labels(tmp_path / "a.txt").tolist() == [0, 7, 2]


def test_what_is_missing_is_named(folder):
    with pytest.raises(ValueError, match="split: expected one of train, test, got 'validation'"):
        benchmark.entries(folder, "validation")
    (folder / "segs/train/faust/faust_corrected.txt").unlink()
    with pytest.raises(
        ValueError, match=r"faust_corrected\.txt: expected the labels of tr_reg_000\.off, found no such"
    ):
        Segmentation(folder)
    for mesh in (folder / "meshes/train/scape").iterdir():
        mesh.unlink()
    with pytest.raises(ValueError, match=r"scape: expected meshes ending in \.off, \.obj, \.ply, found none"):
        benchmark.entries(folder, "train")
    write(folder / "meshes/test/shrec/extra.off", off(POINTS, FACES))
    with pytest.raises(ValueError, match=r"extra\.off: expected a name that starts with a number"):
        benchmark.entries(folder, "test")
    with pytest.raises(ValueError, match=r"adobe: expected this folder of the human segmentation data, found none"):
        Segmentation(folder / "meshes")


def test_labels_must_belong_to_their_mesh(folder):
    entry = benchmark.entries(folder, "train")[0]
    write(entry.labels, "1\n2\n")
    with pytest.raises(ValueError, match=r"ballerina\.txt: expected 408 labels, one for each face of .*, got 2"):
        benchmark.read(entry)


# --- the task ---


def test_published_meshes_give_sampled_faces_as_tokens(folder):
    task = Segmentation(folder)
    sets, again = task.sets(0, "quick"), task.sets(0, "quick")
    assert set(sets) == {"train", "test", "noisy_1", "noisy_2"}
    for name, (x, y) in sets.items():
        assert x.shape == (4, segmentation.TOKENS, len(NAMES))
        assert y.shape == (4, segmentation.TOKENS)
        assert np.isfinite(x).all()
        assert np.array_equal(again[name][0], x)
    assert np.array_equal(sets["test"][1], sets["noisy_1"][1])
    learner = task.learner(Setting("segmentation", "metric", 0, 1e-3, scale="quick"))
    learner.advance()
    assert set(learner.measure()) == set(task.columns)


def test_published_meshes_that_do_not_fit_are_refused_by_name(folder, monkeypatch):
    monkeypatch.setattr(segmentation, "TRAIN", {"quick": 6})
    with pytest.raises(ValueError, match="data: expected at least 10 meshes in meshes/train, got 8"):
        Segmentation(folder).bodies(0, "quick")
    monkeypatch.setattr(segmentation, "TRAIN", {"quick": 4})
    monkeypatch.setattr(segmentation, "TOKENS", 409)
    with pytest.raises(ValueError, match=r"\.off: expected at least 409 faces, got 408"):
        Segmentation(folder).bodies(0, "quick")
    monkeypatch.setattr(segmentation, "TOKENS", 400)
    for mesh in (folder / "meshes/test/shrec").iterdir():
        body = draw_body(stream("tests.benchmark", 2))
        write(mesh, off(body.vertices, np.concatenate([body.faces[:1, ::-1], body.faces[1:]])))
    with pytest.raises(ValueError, match=r"shrec/.*\.off: faces: expected every edge in at most two faces"):
        Segmentation(folder).bodies(0, "quick")


def test_generated_bodies_are_fresh_for_every_seed_and_purpose():
    task = Segmentation()
    train, test = task.bodies(3, "quick")
    again, validation = task.bodies(3, "quick", validation=True)
    other, _ = task.bodies(4, "quick")
    assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(train, again, strict=True))
    drawn = [body.vertices[0].tobytes() for part in (train, test, validation, other) for body in part]
    assert len(set(drawn)) == 16
    sets = task.sets(3, "quick")
    described = [describe_faces(body.vertices, body.faces) for body in train]
    centre = np.concatenate(described).mean(axis=0)
    scales = np.concatenate(described).std(axis=0)
    for x, y, faces, body in zip(*sets["train"], described, train, strict=True):
        places = [int(np.abs((faces - centre) / scales - token).max(axis=1).argmin()) for token in x]
        assert len(set(places)) == TOKENS
        assert np.allclose(x, ((faces - centre) / scales)[places], rtol=0.0, atol=1e-12)
        assert np.array_equal(y, body.labels[places])
    spread = [np.abs(sets[name][0] - sets["test"][0]).mean() for name in ("noisy_1", "noisy_2")]
    assert 0.0 < spread[0] < spread[1]


@pytest.mark.parametrize("attention", [kind for kind in ATTENTIONS if kind != "entmax"])
def test_every_attention_learns(attention):
    task = Segmentation()
    learner = task.learner(Setting("segmentation", attention, 1, 3e-3, scale="quick"))
    before = learner.measure()
    for _ in range(2):
        learner.advance()
    after = learner.measure()
    assert set(after) == set(task.columns)
    assert after["train_loss"] < before["train_loss"]
    assert 0.0 <= after["accuracy"] <= 1.0


def test_permuted_labels_stay_within_their_mesh(monkeypatch):
    seen = []
    monkeypatch.setattr(segmentation, "PropagationLearner", lambda *sets, **_: seen.append(sets))
    for labels in ("true", "permuted"):
        Segmentation().learner(Setting("segmentation", "self", 5, 1e-3, labels=labels, scale="quick"))
    (_, (x, y), test, _), (_, (x_, y_), test_, _) = seen
    assert np.array_equal(x, x_)
    assert np.array_equal(test[1], test_[1])
    assert not np.array_equal(y, y_)
    assert np.array_equal(np.sort(y, axis=1), np.sort(y_, axis=1))
    assert (y == y_).mean() < 0.3


def test_all_attentions_see_the_same_data_and_order_and_again_starts_elsewhere(monkeypatch):
    seen = []
    monkeypatch.setattr(segmentation, "PropagationLearner", lambda *sets, **rest: seen.append((sets, rest)))
    for attention in ("self", "metric", "again"):
        Segmentation().learner(Setting("segmentation", attention, 6, 1e-3, scale="quick"))
    assert all(np.array_equal(seen[0][0][1][0], sets[1][0]) for sets, _ in seen)
    assert len({rest["order"].random() for _, rest in seen}) == 1
    starts = [rest["start"].random() for _, rest in seen]
    assert starts[0] == starts[1] != starts[2]
    assert all(rest["rate"] == 1e-3 for _, rest in seen)
    assert all(rest["decay"] == 1e-4 for _, rest in seen)


def test_the_task_states_its_budget():
    task = Segmentation()
    assert task.name == "segmentation"
    assert task.published_rate in task.rates
    for scale in ("quick", "paper"):
        assert task.epochs(scale) % task.every(scale) == 0
        assert task.seeds(scale) >= 16
    with pytest.raises(ValueError, match="attention: expected one of"):
        task.learner(Setting("segmentation", "entmax", 0, 1e-3, scale="quick"))
