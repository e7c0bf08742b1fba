"""The published segmentation data are read from their own folders and files, and refused by name where they are not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("trimesh")

from theory import _extra
from theory.evidence import stream
from theory.experiments.data import human_benchmark as benchmark
from theory.experiments.data.bodies import draw_body

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


def obj(points, faces, form="{0}/1/1"):
    rows = [
        "# made by hand",
        "mtllib none.mtl",
        *(f"v {x} {y} {z} 1.0" for x, y, z in points),
        "vt 0 0",
        "vn 0 0 1",
        "",
    ]
    texts = ["f " + " ".join(form.format(corner + 1) for corner in face) for face in faces]
    return "\n".join([*rows, "g part", *texts])


def test_every_form_of_file_gives_the_same_mesh(tmp_path):
    coloured = off(POINTS, FACES).replace("OFF\n4 4 0", "# a comment\nOFF 4 4 6").replace("3 0 2 1", "3 0 2 1 255 0 0")
    texts = {"a.off": off(POINTS, FACES), "b.OFF": coloured, "c.obj": obj(POINTS, FACES), "d.ply": ply(POINTS, FACES),
             "e.obj": obj(POINTS, FACES, "{0}"), "f.obj": obj(POINTS, FACES, "{0}//1")}  # fmt: skip
    for name, text in [*texts.items(), *((f"marked-{name}", f"\ufeff{text}") for name, text in texts.items())]:
        write(tmp_path / name, text)
        points, faces = benchmark.read_mesh(tmp_path / name)
        assert np.allclose(points, POINTS, rtol=0.0, atol=1e-6), name
        assert np.array_equal(faces, FACES), name
        assert points.dtype == np.float64
        assert faces.dtype == np.int64


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.off", "", r"a\.off: expected a whole off file of triangles: ValueError"),
        ("a.off", "PLY\n", "a whole off file"),
        ("a.off", "OFF\n", "a whole off file"),
        (
            "a.off",
            off(POINTS, FACES).replace("1.5", "tall"),
            "could not convert string to float",
        ),
        ("a.off", off(POINTS, FACES).replace("1.5", "nan"), "expected triangles between finite vertices"),
        ("a.off", off(POINTS, FACES).replace("3 0 2 1", "3 0 2 9"), "a whole off file"),
        ("a.obj", "v 0 0 0\nf 1 2\n", "a whole obj file"),
        ("a.obj", "v 0 0\nf 1 1 1\n", "expected triangles between finite vertices|a whole obj file"),
        ("a.obj", "v 0 0 0\n", "got 0 triangles"),
        ("a.ply", "", "a whole ply file"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 4\n", "a whole ply file"),
        ("a.ply", "\x00\x01\x02", "a whole ply file"),
    ],
)
def test_corrupt_meshes_are_refused_by_name(tmp_path, name, text, words):
    write(tmp_path / name, text)
    with pytest.raises(ValueError, match=words):
        benchmark.read_mesh(tmp_path / name)


def test_without_trimesh_it_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path / "a.off", off(POINTS, FACES))

    def none(name, package=None):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extra, "import_module", none)
    with pytest.raises(ModuleNotFoundError, match=r'trimesh.*pip install "attention-theory\[learn\]"'):
        benchmark.read_mesh(tmp_path / "a.off")


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


def test_labels_may_be_written_as_floats_behind_a_byte_order_mark(tmp_path):
    write(tmp_path / "a.txt", "\ufeff1.000000e+00\n8.000000e+00 3\n")
    assert benchmark.read_labels(tmp_path / "a.txt").tolist() == [0, 7, 2]


def test_what_is_missing_is_named(folder):
    with pytest.raises(ValueError, match="split: expected one of train, test, got 'validation'"):
        benchmark.entries(folder, "validation")
    (folder / "segs/train/faust/faust_corrected.txt").unlink()
    with pytest.raises(
        ValueError, match=r"faust_corrected\.txt: expected the labels of tr_reg_000\.off, found no such"
    ):
        benchmark.entries(folder, "train")
    for mesh in (folder / "meshes/train/scape").iterdir():
        mesh.unlink()
    with pytest.raises(ValueError, match=r"scape: expected meshes ending in \.off, \.obj, \.ply, found none"):
        benchmark.entries(folder, "train")
    write(folder / "meshes/test/shrec/extra.off", off(POINTS, FACES))
    with pytest.raises(ValueError, match=r"extra\.off: expected a name that starts with a number"):
        benchmark.entries(folder, "test")
    with pytest.raises(ValueError, match=r"adobe: expected this folder of the human segmentation data, found none"):
        benchmark.entries(folder / "meshes", "train")


def test_faces_that_are_left_out_or_cut_in_two_do_not_fit_their_labels(folder):
    entry = benchmark.entries(folder, "train")[0]
    text = entry.mesh.read_text(encoding="utf-8")
    lines = text.splitlines()
    for other in ("\n".join(lines[:-1]), text.replace(lines[-1], f"4 {lines[-1][2:]} 0")):
        write(entry.mesh, other)
        with pytest.raises(ValueError, match=r"ballerina\.txt: expected 40[79] labels"):
            benchmark.read(entry)


def test_a_stray_file_changes_nothing(folder):
    before = [benchmark.entries(folder, split) for split in ("train", "test")]
    for place in (
        "",
        "train",
        "train/adobe",
        "train/MIT_animation",
        "train/MIT_animation/meshes_crane/meshes",
        "test/shrec",
    ):
        for name in (".DS_Store", "._whale.off", "readme.txt"):
            write(folder / "meshes" / place / name, "stray")
    assert [benchmark.entries(folder, split) for split in ("train", "test")] == before


def test_labels_must_belong_to_their_mesh(folder):
    entry = benchmark.entries(folder, "train")[0]
    write(entry.labels, "1\n2\n")
    with pytest.raises(ValueError, match=r"ballerina\.txt: expected 408 labels, one for each face of .*, got 2"):
        benchmark.read(entry)
