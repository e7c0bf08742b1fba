"""Arrays in the IDX format."""

import gzip
import struct

import numpy as np
import pytest

from theory.experiments.data.idx import find_idx, read_idx

LABELS = b"\0\0\x08\x01" + struct.pack(">I", 3) + bytes([5, 0, 4])  # the first labels of MNIST's training file


def test_bytes_of_the_published_description(tmp_path):
    (tmp_path / "labels").write_bytes(LABELS)
    array = read_idx(tmp_path / "labels")
    assert array.dtype == np.uint8
    assert array.tolist() == [5, 0, 4]


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 3, 2)])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_shape_packed_or_not(tmp_path, shape, pack):
    head = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    (tmp_path / "file").write_bytes(pack(head + bytes([0, 1, 255, 7, 8, 9])))
    array = read_idx(tmp_path / "file")
    assert array.shape == shape
    assert array.ravel().tolist() == [0, 1, 255, 7, 8, 9]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "got 0 bytes after nothing"),
        (b"\0\0\x08", "00 00 08"),
        (b"\0\1" + LABELS[2:], "00 01 08 01"),
        (b"\0\0\x09" + LABELS[3:], "00 00 09 01"),
        (b"\0\0\x08\0", "00 00 08 00"),
        (b"not an array", "6e 6f 74 20"),
        (LABELS[:6], "got 6 bytes after 00 00 08 01 00 00"),
        (LABELS[:-1], "got 10 bytes after 00 00 08 01 00 00 00 03"),
        (LABELS + b"\0", "got 12 bytes after 00 00 08 01 00 00 00 03"),
        (gzip.compress(LABELS, mtime=0)[:-9], "a whole file packed by gzip"),
        (gzip.compress(LABELS, mtime=0)[:12] + b"\xff" * 20, "a whole file packed by gzip"),
        (b"\x1f\x8b and nothing of the kind", "a whole file packed by gzip"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, what):
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=what) as caught:
        read_idx(path)
    assert str(caught.value).startswith(f"{path}: expected a whole ")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"labels: expected this file, or the same with \.gz, got none"):
        find_idx(tmp_path, "labels")
    (tmp_path / "labels.gz").write_bytes(LABELS)
    assert find_idx(tmp_path, "labels") == tmp_path / "labels.gz"
    (tmp_path / "labels").write_bytes(LABELS)
    assert find_idx(tmp_path, "labels") == tmp_path / "labels"
