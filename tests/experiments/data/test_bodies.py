"""Generated bodies are closed surfaces of plausible shape, and what is said about faces is right on known solids."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from theory.evidence import stream
from theory.experiments.data import anatomy, bodies, faces
from theory.experiments.data.bodies import LABELS, draw_bodies, draw_body
from theory.experiments.data.faces import NAMES, add_noise, describe_faces, normalise

BODIES = draw_bodies(stream("tests.humans", 0), 20)
FRACTIONS = {  # of the area: the rule of nines for burns, about, and twice as much or half of it
    "head": (0.05, 0.15), "torso": (0.16, 0.36), "upper arm": (0.07, 0.2), "forearm": (0.04, 0.1),
    "hand": (0.015, 0.07), "thigh": (0.13, 0.3), "shank": (0.1, 0.2), "foot": (0.04, 0.12),
}  # fmt: skip


def areas_of(body):
    a, b, c = (body.vertices[body.faces[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def cube(cuts=1):
    """Return the surface of the cube [0, 1]^3 in 12 cuts^2 triangles, by corner coordinates."""
    points, triangles = {}, []
    for axis, far in itertools.product(range(3), range(2)):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        for i, j in itertools.product(range(cuts), repeat=2):
            corners = []
            for u, v in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)):
                key = [0, 0, 0]
                key[axis], key[one], key[two] = far * cuts, u, v
                corners.append(points.setdefault(tuple(key), len(points)))
            corners = corners if far else corners[::-1]
            triangles += [corners[:3], [corners[0], corners[2], corners[3]]]
    return np.array(list(points)) / cuts, np.array(triangles)


def test_bodies_are_closed_surfaces_of_genus_zero():
    trimesh = pytest.importorskip("trimesh")
    for body in BODIES:
        mesh = trimesh.Trimesh(body.vertices, body.faces, process=False)
        assert mesh.is_watertight
        assert mesh.is_winding_consistent
        assert mesh.euler_number == 2
        assert mesh.body_count == 1
        assert mesh.volume > 0.0  # normals point outwards
        assert mesh.area_faces.min() > 1e-6 * mesh.area


def test_every_edge_has_two_faces_that_run_through_it_in_opposite_directions():
    body = BODIES[0]
    assert body.vertices.shape == (206, 3)
    assert body.faces.shape == (408, 3)
    runs = [(int(f[k]), int(f[(k + 1) % 3])) for f in body.faces for k in range(3)]
    assert len(set(runs)) == len(runs)
    assert {(b, a) for a, b in runs} == set(runs)


def test_bodies_have_the_size_and_the_shares_of_people():
    for body in BODIES:
        areas = areas_of(body)
        assert 0.3 < areas.sum() < 1.2  # about 1.9 m^2 at a stature of 1.75 m is 0.62
        for number, name in enumerate(LABELS):
            low, high = FRACTIONS[name]
            assert low < areas[body.labels == number].sum() / areas.sum() < high, name


def test_labels_are_connected_parts_of_which_limbs_have_two():
    trimesh = pytest.importorskip("trimesh")
    body = BODIES[3]
    for number, name in enumerate(LABELS):
        part = trimesh.Trimesh(body.vertices, body.faces[body.labels == number], process=False)
        pieces = trimesh.graph.connected_component_labels(part.face_adjacency, len(part.faces))
        assert len(set(pieces.tolist())) == (1 if name in ("head", "torso") else 2)


def test_chains_of_parts_meet_where_limbs_have_joints():
    body = BODIES[5]
    owners = {}
    for face, label in zip(body.faces, body.labels, strict=True):
        for a, b in itertools.combinations(sorted(face.tolist()), 2):
            owners.setdefault((a, b), set()).add(LABELS[label])
    met = {frozenset(pair) for pair in owners.values() if len(pair) == 2}
    joints = ("head torso", "torso upper_arm", "upper_arm forearm", "forearm hand", "torso thigh", "thigh shank")
    wanted = {frozenset(word.replace("_", " ") for word in joint.split()) for joint in (*joints, "shank foot")}
    assert met == wanted


def test_bodies_vary_and_repeat_with_the_stream():
    same = draw_body(stream("tests.humans", 0))
    assert np.array_equal(same.vertices, BODIES[0].vertices)
    shapes = [areas_of(body) for body in BODIES]
    assert np.std([areas.sum() for areas in shapes]) > 0.03
    assert len({tuple(body.vertices[0].round(6)) for body in BODIES}) == 20
    with pytest.raises(ValueError, match="count: expected an integer of at least 1, got 0"):
        draw_bodies(stream("tests.humans", 1), 0)


def test_no_limb_passes_through_another_part():
    hidden = np.zeros(len(LABELS), dtype=int)
    for body in BODIES:
        triangles = body.vertices[body.faces]
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        inside = np.abs(_winding(triangles, triangles.mean(axis=1) + 1e-3 * normals)) > 0.5
        hidden += np.bincount(body.labels[inside], minlength=len(LABELS))
    creases = [LABELS.index("torso"), LABELS.index("upper arm")]
    assert hidden[creases].sum() < 0.005 * 20 * 408
    assert np.delete(hidden, creases).sum() == 0


def test_a_pose_with_an_arm_through_the_chest_is_not_free():
    lengths, girths = dict(anatomy.LENGTHS), dict(anatomy.GIRTHS)
    rest = anatomy.Rotation.identity()
    still = anatomy.Limb(*[anatomy.Rotation.identity()] * 3)
    inward = anatomy.Limb(*[anatomy.Rotation.from_rotvec([0.0, math.pi, 0.0])] * 3)
    assert bodies._is_free(anatomy.Pose(rest, rest, (still, still), (still, still)), lengths, girths)
    assert not bodies._is_free(anatomy.Pose(rest, rest, (still, inward), (still, still)), lengths, girths)
    closed = anatomy.Limb(*[anatomy.Rotation.from_rotvec([0.0, 0.0, -0.4])] * 3)
    assert not bodies._is_free(anatomy.Pose(rest, rest, (still, still), (closed, closed)), lengths, girths)


def _winding(triangles, points):
    """Return the solid angle of the triangles over that of the sphere, by the formula of van Oosterom and Strackee."""
    a, b, c = (triangles[np.newaxis, :, k] - points[:, np.newaxis] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
    det = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
    dots = [np.einsum("ijk,ijk->ij", x, y) for x, y in ((a, b), (b, c), (c, a))]
    angle = 2.0 * np.arctan2(det, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)
    return angle.sum(axis=1) / (4.0 * math.pi)


def test_half_a_turn_is_half_the_angle():
    first = anatomy.Rotation.from_rotvec([0.0, 0.3, 0.0])
    second = anatomy.Rotation.from_rotvec([0.0, 1.1, 0.0])
    assert np.allclose(anatomy.middle_rotation(first, second).as_rotvec(), [0.0, 0.7, 0.0], rtol=0.0, atol=1e-12)
    assert set(anatomy.ANGLES) >= {"knee", "elbow"}
    assert all(low < high for low, high in anatomy.ANGLES.values())


# --- what is said about faces ---


def test_a_cube_is_described_as_one():
    points, triangles = cube()
    table = dict(zip(NAMES, describe_faces(7.0 * points + 3.0, triangles).T, strict=True))
    side = 1.0 / math.sqrt(6.0)
    centroids = np.stack([table[axis] for axis in "xyz"], axis=1)
    normals = np.stack([table[f"normal {axis}"] for axis in "xyz"], axis=1)
    assert np.allclose((centroids * normals).sum(axis=1), side / 2.0, rtol=1e-12, atol=0.0)
    assert np.allclose(np.abs(normals).max(axis=1), 1.0, rtol=1e-12, atol=0.0)
    assert np.allclose(table["size"], 0.0, rtol=0.0, atol=1e-12)  # twelve equal areas
    assert np.allclose(table["bend"], (0.0 + math.pi / 2 + math.pi / 2) / 3.0, rtol=1e-12, atol=0.0)


def test_a_dent_bends_the_other_way():
    points, triangles = cube(2)
    tip = int(np.flatnonzero((points == [0.5, 0.5, 1.0]).all(axis=1))[0])
    bends = []
    for height in (1.2, 0.8):
        moved = points.copy()
        moved[tip, 2] = height
        at = (triangles == tip).any(axis=1)
        bends.append(describe_faces(moved, triangles)[at, NAMES.index("bend")].min())
    assert bends[0] > 0.0 > bends[1]


def test_distances_on_a_cube_are_those_of_all_pairs():
    points, triangles = cube(2)  # 48 faces: the landmarks are most of them
    unit, _ = normalise(points, triangles)
    centroids = unit[triangles].mean(axis=1)
    distance = np.full((48, 48), np.inf)
    np.fill_diagonal(distance, 0.0)
    for i, j in itertools.combinations(range(48), 2):
        common = sorted(set(triangles[i].tolist()) & set(triangles[j].tolist()))
        if len(common) == 2:
            middle = unit[common].mean(axis=0)
            distance[i, j] = distance[j, i] = sum(np.linalg.norm(centroids[k] - middle) for k in (i, j))
    for k in range(48):  # Floyd and Warshall
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k])
    table = describe_faces(points, triangles)
    exact = distance.mean(axis=1)
    coarse = table[:, NAMES.index("mean distance")]
    step = distance[distance > 0.0].min()
    assert np.abs(coarse - exact).max() < step  # every face is a landmark or beside one
    assert table[:, NAMES.index("largest distance")].max() == pytest.approx(distance.max(), rel=1e-12, abs=0.0)


def test_features_are_finite_and_do_not_depend_on_place_and_unit():
    for body in BODIES[:5]:
        table = describe_faces(body.vertices, body.faces)
        assert table.shape == (408, len(NAMES))
        assert np.isfinite(table).all()
        moved = describe_faces(3.0 * body.vertices - [1.0, 2.0, 3.0], body.faces)
        assert np.allclose(moved, table, rtol=0.0, atol=1e-9)


def test_only_place_and_orientation_depend_on_how_a_body_is_turned():
    body = BODIES[1]
    turn = anatomy.Rotation.from_rotvec([0.3, -0.8, 1.1])
    table = describe_faces(body.vertices, body.faces)
    turned = describe_faces(turn.apply(body.vertices), body.faces)
    assert np.allclose(turned[:, 6:], table[:, 6:], rtol=0.0, atol=1e-9)
    assert np.allclose(turned[:, :3], turn.apply(table[:, :3]), rtol=0.0, atol=1e-9)
    assert np.allclose(turned[:, 3:6], turn.apply(table[:, 3:6]), rtol=0.0, atol=1e-9)


def test_features_follow_the_order_of_the_faces():
    body = BODIES[2]
    order = stream("tests.faces", 0).permutation(408)
    expected = describe_faces(body.vertices, body.faces)[order]
    assert np.allclose(describe_faces(body.vertices, body.faces[order]), expected, rtol=0.0, atol=1e-12)


def test_a_surface_with_a_boundary_is_described_too():
    points, triangles = cube(2)
    table = describe_faces(points, triangles[1:])
    assert np.isfinite(table).all()


def test_noise_has_its_level():
    body = BODIES[0]
    unit, _ = normalise(body.vertices, body.faces)
    moved = add_noise(body.vertices, body.faces, 0.02, stream("tests.faces", 1)) - unit
    assert 0.9 * 0.02 < moved.std() < 1.1 * 0.02


def test_a_unit_mesh_has_unit_area_about_its_centre():
    unit, corners = normalise(*cube(3))
    triangles = unit[corners]
    areas = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    assert areas.sum() == pytest.approx(1.0, rel=1e-12, abs=0.0)
    assert np.allclose(areas @ triangles.mean(axis=1), 0.0, rtol=0.0, atol=1e-12)


def test_meshes_that_are_no_surface_are_refused():
    points, triangles = cube(2)
    flat = points.copy()
    flat[triangles[0]] = flat[triangles[0][0]]
    two = np.concatenate([points, points + 5.0]), np.concatenate([triangles, triangles + len(points)])
    flipped = np.concatenate([triangles[:1, ::-1], triangles[1:]])
    bad = [
        (flat, triangles, ValueError, r"faces: expected triangles of positive area, got 0\.0 at face 0"),
        (*two, ValueError, "faces: expected one connected surface, got 2"),
        (points, flipped, ValueError, "faces: expected every edge in at most two faces, oppositely oriented"),
        (points, np.concatenate([triangles, triangles[:1]]), ValueError, "oppositely oriented, got faces 0 and 48"),
        (np.concatenate([points, [[9.0, 9.0, 9.0]]]), triangles, ValueError, "got none at vertex 26"),
        (points, triangles + 1, ValueError, "faces: expected corners from 0 to 25, got 1 to 26"),
        (points, triangles[:, :2], ValueError, r"faces: expected shape \(F, 3\), got shape \(48, 2\)"),
        (points, triangles[:0], ValueError, r"faces: expected shape \(F, 3\), got shape \(0, 3\)"),
        (points, triangles.astype(float), TypeError, "faces: expected integers, got dtype float64"),
        (points[:, :2], triangles, ValueError, r"vertices: expected shape \(n, 3\), got shape \(26, 2\)"),
        (np.where(points == 1.0, np.nan, points), triangles, ValueError, "vertices: expected finite numbers"),
    ]
    for vertices, corners, error, words in bad:
        with pytest.raises(error, match=words):
            describe_faces(vertices, corners)


def test_graphs_of_faces_have_the_indices_that_every_supported_scipy_takes(monkeypatch):
    seen = []

    def looking(graph, **options):
        seen.append({graph.indices.dtype, graph.indptr.dtype})
        return dijkstra(graph, **options)

    monkeypatch.setattr(faces, "dijkstra", looking)
    describe_faces(BODIES[0].vertices, BODIES[0].faces)
    assert seen
    assert all(each == {np.dtype(np.int32)} for each in seen)
