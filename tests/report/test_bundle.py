"""The archive for a DOI: the same bytes twice, whole, and made of what the list of figures names."""

import hashlib
import io
import json
import shutil
import zipfile

import pytest

import theory
from tests.specimen import lay
from theory.__main__ import main
from theory.report.bundle import pack

TOP = f"attention-theory-{theory.__version__}/"


@pytest.fixture
def root(tmp_path):
    """A repository with three claims, one figure and the files that an archive needs."""
    lay(tmp_path)
    for name in ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "requirements.lock", "stray.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    figures = tmp_path / "figures"
    figures.mkdir()
    for name in ("toy.csv", "toy.svg", "toy.png", "other.csv"):
        (figures / name).write_text(name)
    prints = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("toy.csv", "toy.svg")}
    entry = {"claims": ["sums.*"], "csv": prints["toy.csv"], "files": {"toy.svg": prints["toy.svg"]}}
    (figures / "manifest.json").write_text(json.dumps({"toy": entry}))
    return tmp_path


def bundle(root, out):
    return main(["bundle", "--zip", str(out), "--evidence", str(root / "verify" / "evidence")])


def test_the_same_bytes_twice_from_any_folder_at_any_time(root, tmp_path_factory, capsys):
    other = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(root, other, copy_function=shutil.copy)  # with times of their own
    (other / "LICENSE").chmod(0o600)
    assert bundle(root, root / "first.zip") == bundle(other, other / "second.zip") == 0
    first = (root / "first.zip").read_bytes()
    assert first == (other / "second.zip").read_bytes()
    assert f"first.zip: 16 files, 3 claims, sha256 {hashlib.sha256(first).hexdigest()}\n" in capsys.readouterr().out


def test_it_is_whole_and_holds_nothing_else(root):
    assert bundle(root, root / "out.zip") == 0
    with zipfile.ZipFile(root / "out.zip") as archive:
        names = archive.namelist()
        contents = {name.removeprefix(TOP): archive.read(name) for name in names}
        assert {about.date_time for about in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == sorted(names)
    assert set(contents) == {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "requirements.lock", "paper_notes.md", "SHA256SUMS",
        "all.bib", "results.json", "results.schema.json", "figures/manifest.json", "figures/toy.csv", "figures/toy.svg",
        *(f"verify/evidence/{claim}.json" for claim in ("means.normal", "sums.half", "sums.two")),
    }  # fmt: skip
    told = dict(line.split("  ")[::-1] for line in contents["SHA256SUMS"].decode().splitlines())
    assert told == {name: hashlib.sha256(c).hexdigest() for name, c in contents.items() if name != "SHA256SUMS"}
    assert contents["verify/evidence/sums.two.json"] == (root / "verify" / "evidence" / "sums.two.json").read_bytes()
    assert len(json.loads(contents["results.json"])["claims"]) == 3
    assert contents["all.bib"].startswith(b"@")


def test_order_of_what_is_packed_does_not_matter():
    assert pack({"a": b"1", "b": b"2"}) == pack({"b": b"2", "a": b"1"})
    assert zipfile.ZipFile(io.BytesIO(pack({"a": b"1"}))).testzip() is None


def test_what_is_missing_or_changed_is_named(root, capsys):
    def told(out="out.zip"):
        assert bundle(root, root / out) == 2
        assert not (root / "out.zip").exists()
        return capsys.readouterr().err

    assert "--zip: expected a file whose name ends in .zip, got" in told("out.tar")
    assert "--zip: expected a file that can be written, got" in told("none/out.zip")
    assert main(["bundle", "--evidence", str(root / "verify" / "evidence")]) == 2
    assert capsys.readouterr().err == "bundle: expected --paper OUT, --zip FILE.zip or both, got neither\n"
    (root / "figures" / "toy.svg").write_text("drawn by hand")
    assert "toy.svg: expected the file that manifest.json names, got another one" in told()
    (root / "figures" / "manifest.json").write_text("[]")
    assert "manifest.json: expected the list of figures" in told()
    (root / "requirements.lock").unlink()
    assert "bundle: expected a whole repository around" in told()
