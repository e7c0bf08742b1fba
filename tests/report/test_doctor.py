"""``python -m theory doctor`` in a small repository whose verdicts are known."""

import re
from pathlib import Path

import pytest

from tests.specimen import lay
from theory.report import archive, doctor

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the claims of the specimen, and the working directory in it."""
    lay(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "verify" / "conftest.py").touch()
    (tmp_path / "verify" / "test_sums.py").write_text("from tests.specimen import half, normal, two\n")
    monkeypatch.setattr(doctor, "CLAIMS", ("sums.two", "sums.half", "means.normal"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(text):
    return dict(line.split(maxsplit=1) for line in text.splitlines()[:3])


def test_every_claim_is_one_of_the_suite():
    for claim in doctor.CLAIMS:
        test = archive.find(ROOT / "verify" / "evidence", claim).test
        assert claim in (ROOT / test).read_text(encoding="utf-8")
    assert len(doctor.CLAIMS) == 12


def test_verdicts_as_recorded(repository, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "--record")  # no option of the user's own may write
    before = {path: path.read_bytes() for path in (repository / "verify" / "evidence").iterdir()}
    text, status = doctor.check_verdicts()
    assert status == 0
    assert text.endswith("\n3 of 3 claims as recorded\n")
    assert all(re.fullmatch(r"supported, as recorded, \d+\.\d\d s", row) for row in rows(text).values())
    assert {path: path.read_bytes() for path in (repository / "verify" / "evidence").iterdir()} == before


def test_what_is_not_as_recorded_is_said_without_paths(repository):
    (repository / "verify" / "test_sums.py").write_text(
        "from dataclasses import replace\n"
        "from tests.specimen import half, normal, two\n"
        "two = replace(two, twins=(replace(two.twins[0], breaks='another mistake'), two.twins[1]))\n"
    )
    (repository / "verify" / "evidence" / "means.normal.json").unlink()
    text, status = doctor.check_verdicts()
    found = rows(text)
    assert status == 1
    assert found["sums.two"].startswith("NOT AS RECORDED: sums.two is supported, but contradicts sums.two.json")
    assert found["sums.half"].startswith("supported, as recorded")
    assert found["means.normal"].startswith("NO GOOD RECORD: means.normal: expected the id of one of 2 claims in")
    assert "1 of 3 claims as recorded" in text
    assert str(repository) not in text


def test_what_keeps_pytest_from_deciding_is_shown(repository):
    (repository / "verify" / "test_sums.py").write_text("import no_such_module\n")
    text, status = doctor.check_verdicts()
    assert status == 1
    assert rows(text)["sums.half"] == "NOT AS RECORDED: pytest did not decide it"
    assert "0 of 3 claims as recorded\n\npytest said:\n" in text
    assert "No module named 'no_such_module'" in text


def test_without_the_suite_it_says_so(repository):
    (repository / "verify" / "conftest.py").unlink()
    assert doctor.check_verdicts() == (
        "no verdicts: verify/ is not at hand; a clone or the source distribution has it\n",
        2,
    )


def test_the_machine_is_described(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/somewhere/personal")
    home = Path.home()
    text = doctor.describe_machine(backend="reference", target="haswell", threads=7, cache=str(home / "kernels"))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert list(dict.fromkeys(line.split()[0] for line in text.splitlines() if not line.startswith("pool"))) == [
        "suite", "python", "processor", "threads", "vectors", "blas", "backend", "kernels", "packages", "switches",
    ]  # fmt: skip
    assert lines["threads"].startswith("7 of ")
    assert lines["vectors"].startswith("NumPy ")
    assert lines["vectors"].endswith("; kernels haswell")
    assert ", kernel " in lines["blas"]
    assert lines["kernels"] == "~/kernels"
    for package in ("numpy", "scipy", "numba", "llvmlite", "pytest", "threadpoolctl"):
        assert f"{package} " in lines["packages"]
    assert "NUMBA_CPU_NAME=haswell" in lines["switches"]
    assert "personal" not in text
