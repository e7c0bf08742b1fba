"""The locked environment holds what the package and its tests require, pinned and with hashes."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def pins():
    """Return the locked versions of every package, by name; another Python may have another one."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = {}
    for line in lines:
        requirement, *hashes = re.split(r"\s+--hash=", line)
        name, _, version = requirement.partition(";")[0].strip().partition("==")
        assert version, line
        assert hashes, line
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def required():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["test"], *extras["dask"], *extras["data"]]
    return [Requirement(line) for line in lines if not line.startswith(project["name"])]


@pytest.mark.parametrize("requirement", required(), ids=lambda requirement: requirement.name)
def test_lock_holds_what_is_required(requirement):
    versions = pins()[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)
