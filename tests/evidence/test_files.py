"""Files are whole or not there, whoever writes at once and whenever a process dies."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from theory.evidence import files
from theory.evidence.files import locked, write_together, write_whole

COUNT = """
import json, sys
from pathlib import Path
from theory.evidence.files import locked, write_whole
path, name = Path(sys.argv[1]), sys.argv[2]
for k in range(40):
    with locked(path):
        whole = json.loads(path.read_text()) if path.exists() else {}
        whole[f"{name}{k}"] = k
        write_whole(path, json.dumps(whole))
"""


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_text_and_bytes_are_written_as_they_are_and_nothing_is_left_beside(tmp_path):
    write_whole(tmp_path / "a.txt", "\N{GREEK SMALL LETTER ALPHA}\n2\r\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xce\xb1\n2\r\n"
    write_whole(tmp_path / "a.txt", b"\x00")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
def test_a_new_file_may_be_read_by_whom_the_user_lets(tmp_path):
    old = os.umask(0o022)
    try:
        write_whole(tmp_path / "a.txt", "a")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o644


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    pipe, link, other = tmp_path / "pipe", tmp_path / "link", tmp_path / "other"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    other.write_text("old")
    for path in (pipe, link):
        with pytest.raises(OSError, match=f"expected a regular file: '.*{path.name}'$"):
            write_together({other: "new", path: "a"})
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert other.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [link, other, pipe]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path, monkeypatch, step):
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    monkeypatch.setattr(*{"fsync": (files.os, "fsync"), "replace": (files.Path, "replace")}[step], full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'$") as caught:
        write_whole(path, "new")
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_of_several_files_all_are_written_or_none(tmp_path, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    write_together({one: "1", two: b"2"})
    assert (one.read_text(), two.read_text()) == ("1", "2")
    calls = []
    sync = os.fsync

    def full_at_second(number):
        calls.append(number)
        full() if len(calls) == 2 else sync(number)

    monkeypatch.setattr(files.os, "fsync", full_at_second)
    with pytest.raises(OSError, match=r"No space left on device: '.*two'$"):
        write_together({one: "a", two: "b"})
    assert (one.read_text(), two.read_text()) == ("1", "2")
    assert sorted(tmp_path.iterdir()) == [one, two]


def test_a_folder_that_is_missing_is_named_by_its_file(tmp_path):
    for work in (lambda path: write_whole(path, "a"), lambda path: locked(path).__enter__()):
        with pytest.raises(FileNotFoundError, match=r"none.a\.txt"):
            work(tmp_path / "none" / "a.txt")


def test_an_interrupt_leaves_nothing_beside(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", "a")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_long_ago_is_removed(tmp_path):
    killed, fresh, other = (tmp_path / f".{name}.part" for name in ("a.0123456789abcdef", "a.f123456789abcdef", "ab.c"))
    for part in (killed, fresh, other):
        part.write_text("half")
    for part in (killed, other):
        os.utime(part, (time.time() - 2e4, time.time() - 2e4))
    write_whole(tmp_path / "a", "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a", fresh.name, other.name])


def test_a_process_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    code = (
        "import sys; from pathlib import Path; from theory.evidence.files import write_whole\n"
        "print(flush=True)\n"
        "while True:\n    for letter in 'ab': write_whole(Path(sys.argv[1]), letter * 3_000_000)"
    )
    path = tmp_path / "a.txt"
    for wait in (0.01, 0.023, 0.037):
        with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:  # noqa: S603
            process.stdout.readline()
            while not path.exists():
                time.sleep(0.001)
            time.sleep(wait)
            process.kill()
        assert path.read_text() in ("a" * 3_000_000, "b" * 3_000_000)


def test_two_processes_lose_nothing_of_each_other(tmp_path):
    path = tmp_path / "a.json"
    both = [subprocess.Popen([sys.executable, "-c", COUNT, path, name]) for name in "ab"]  # noqa: S603
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert len(json.loads(path.read_text())) == 80
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_one_at_a_time_is_inside(tmp_path, monkeypatch, has_fcntl):
    if not has_fcntl:
        monkeypatch.setattr(files, "fcntl", None)
    inside, most = [], []

    def work():
        for _ in range(20):
            with locked(tmp_path / "a"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_open_again_after_an_error(tmp_path):
    for _ in range(2):
        with pytest.raises(ValueError, match="inside"), locked(tmp_path / "a"):
            raise ValueError("inside")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_the_lock_of_a_killed_process_stops_nobody(tmp_path, monkeypatch, has_fcntl):
    lock = tmp_path / ".a.lock"
    lock.write_text("")
    os.utime(lock, (time.time() - 2e4, time.time() - 2e4))
    if not has_fcntl:
        monkeypatch.setattr(files, "fcntl", None)
    with locked(tmp_path / "a"):
        pass
    assert not lock.exists()
